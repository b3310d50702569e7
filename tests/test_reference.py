"""The reference Flip It against every worked example and test vector of rules/flip_it.md."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import pytest

from reference.flip_it import FlipIt, highest_total, most_basic_points, spots

DEFAULTS = {
    "num_players": 2,
    "play_values": (0, 1, 2, 3, 4, 5),
    "guess_max": None,
    "actions": "phased",
    "goal": ("score", 10),
    "reward": "margin",
    "win_rule": "exact",
    "scoring": "basic",
    "loser_guess": "return",
    "capture_spots": False,
    "capture_multi": "keep_own",
    "play_cards": "returned",
    "no_guess_cards": "end",
    "flip_order": "simultaneous",
    "max_hands": 200,
    "obs_history": 1,
}


def rules(**options):
    return SimpleNamespace(**{**DEFAULTS, **options})


def game(**options):
    return FlipIt(rules(**options))


def hand(table, guesses, plays):
    """Play one hand in asked order. A guess of None is a seat without Guess Cards."""
    before = table.hands
    while table.hands == before and not table.over:
        seat = table.asked()[0]
        word = "guess 0" if guesses[seat] is None else f"guess {guesses[seat]}"
        if table.rules.actions == "joint":
            table.choose(seat, f"{word} play {plays[seat]}")
        elif table.phase == "guess":
            table.choose(seat, word)
        else:
            table.choose(seat, f"play {plays[seat]}")
    return table.history[-1]


def plays_for(total, players):
    """Any Play Cards 0..5 that add up to the total."""
    plays = []
    for _ in range(players):
        plays.append(min(5, total))
        total -= plays[-1]
    return plays


# -- set-up and turn order ------------------------------------------------------------------------


@pytest.mark.parametrize(("players", "top"), [(2, 10), (3, 15), (4, 20)])
def test_p2_guess_cards_run_from_0_to_5n(players, top):
    table = game(num_players=players)
    assert table.guess_cards == [set(range(top + 1))] * players
    assert table.play_cards == [{0, 1, 2, 3, 4, 5}] * players


def test_p2_guess_max_cuts_the_top_cards():
    assert game(guess_max=4).guess_cards == [{0, 1, 2, 3, 4}] * 2
    assert game(play_values=(0, 3), goal=("hands", 9)).guess_cards == [set(range(7))] * 2


@pytest.mark.parametrize("bad", [0, 11])
def test_p2_guess_max_out_of_range_is_refused(bad):
    with pytest.raises(ValueError):
        game(guess_max=bad)


@pytest.mark.parametrize("bad", [(0,), (1, 2), (0, 1, 1), (0, 6), ()])
def test_pa1_bad_play_values_are_refused(bad):
    with pytest.raises(ValueError):
        game(play_values=bad)


@pytest.mark.parametrize("bad", [1, 5])
def test_pa13_players_are_two_to_four(bad):
    with pytest.raises(ValueError):
        game(num_players=bad)


def test_p5_p6_all_guess_then_all_play():
    table = game(num_players=3)
    assert (table.phase, table.asked()) == ("guess", [0, 1, 2])
    table.choose(0, "guess 7")
    assert table.asked() == [1, 2]
    table.choose(1, "guess 8")
    table.choose(2, "guess 9")
    assert (table.phase, table.asked()) == ("play", [0, 1, 2])
    for seat in (0, 1, 2):
        table.choose(seat, "play 1")
    assert (table.phase, table.hands, table.asked()) == ("guess", 1, [0, 1, 2])


def test_p5_moves_out_of_turn_or_unknown_are_refused():
    table = game()
    for seat, move in [(1, "guess 1"), (0, "guess 11"), (0, "play 1"), (0, "guess 1 play 1")]:
        with pytest.raises(ValueError):
            table.choose(seat, move)
    table.choose(0, "guess 1")
    with pytest.raises(ValueError):
        table.choose(0, "guess 1")


def test_p7_legal_moves_stay_until_the_last_seat_has_chosen():
    table = game()
    before = [table.legal(0), table.legal(1)]
    table.choose(0, "guess 3")
    assert [table.legal(0), table.legal(1)] == before
    assert before[0] == {f"guess {card}" for card in range(11)}


def test_pa16_an_impossible_guess_is_legal():
    table = game()
    table.choose(0, "guess 10")
    table.choose(1, "guess 0")
    table.choose(0, "play 0")
    table.choose(1, "play 5")
    assert table.history[-1]["winners"] == []


# -- the worked example ---------------------------------------------------------------------------


def test_p15_basic_example():
    table = game(num_players=3)
    last = hand(table, [10, 13, 11], [4, 5, 4])
    assert last == {
        "guesses": [10, 13, 11],
        "plays": [4, 5, 4],
        "total": 13,
        "winners": [1],
        "gains": [0, 2, 0],
    }
    assert table.points == [0, 2, 0]
    assert 13 not in table.guess_cards[1]
    assert table.guess_cards[0] == table.guess_cards[2] == set(range(16))
    assert table.win_pile == [[], [13], []]


def test_p16_capture_example():
    table = game(num_players=3, scoring="capture")
    assert hand(table, [10, 13, 11], [4, 5, 4])["gains"] == [0, 3, 0]
    assert table.guess_cards[0] == set(range(16)) - {10}
    assert table.guess_cards[1] == set(range(16))
    assert table.guess_cards[2] == set(range(16)) - {11}
    assert sorted(table.win_pile[1]) == [10, 11]
    assert table.spent == [[], [], []]


@pytest.mark.parametrize(
    ("players", "table_of_spots"),
    [
        (2, {0: 4, 1: 3, 2: 2, 8: 2, 9: 3, 10: 4}),
        (3, {0: 4, 1: 3, 2: 2, 13: 2, 14: 3, 15: 4}),
        (4, {0: 4, 1: 3, 2: 2, 18: 2, 19: 3, 20: 4}),
    ],
)
def test_p13_p14_spot_tables(players, table_of_spots):
    for card in range(5 * players + 1):
        worth = table_of_spots.get(card, 1)
        assert 1 + spots(rules(num_players=players), card) == worth
        table = game(num_players=players)
        others = 0 if card else 1
        guesses = [card] + [others] * (players - 1)
        gains = hand(table, guesses, plays_for(card, players))["gains"]
        assert gains == [worth] + [0] * (players - 1)


@pytest.mark.parametrize(
    ("players", "total", "worth"),
    [
        (3, 8, 1),
        (2, 8, 2),
        (2, 9, 3),
        (2, 10, 4),
        (4, 15, 1),
        (4, 18, 2),
        (4, 19, 3),
        (4, 20, 4),
    ],
)
def test_p14_vectors(players, total, worth):
    table = game(num_players=players)
    hand(table, [total] + [0] * (players - 1), plays_for(total, players))
    assert table.points == [worth] + [0] * (players - 1)


def test_p13_four_pass_and_one_guesses_0():
    table = game(num_players=4)
    assert hand(table, [3, 0, 5, 9], [0, 0, 0, 0])["gains"] == [0, 4, 0, 0]


def test_p11_both_pass_both_guess_0():
    table = game()
    last = hand(table, [0, 0], [0, 0])
    assert (last["winners"], last["gains"]) == ([0, 1], [4, 4])
    assert table.win_pile == [[0], [0]]
    assert table.guess_cards == [set(range(1, 11))] * 2


def test_p10_nobody_right_changes_nothing():
    table = game()
    last = hand(table, [1, 2], [5, 5])
    assert (last["winners"], last["gains"], table.points) == ([], [0, 0], [0, 0])
    assert table.guess_cards == [set(range(11))] * 2
    assert table.play_cards == [{0, 1, 2, 3, 4, 5}] * 2
    assert table.win_pile == table.spent == [[], []]


def test_spots_general_tiny_values():
    tiny = rules(play_values=(0, 1))
    assert highest_total(tiny) == 2
    assert [spots(tiny, card) for card in (0, 1, 2)] == [3, 2, 3]
    assert most_basic_points(tiny) == 11
    game(play_values=(0, 1), goal=("score", 11))
    with pytest.raises(ValueError):
        game(play_values=(0, 1), goal=("score", 12))
    game(play_values=(0, 1), goal=("score", 12), scoring="capture")


def test_spots_general_small_values_take_the_larger_end_not_the_sum():
    small = rules(play_values=(0, 1, 2))
    assert [spots(small, card) for card in range(5)] == [3, 2, 1, 2, 3]
    assert most_basic_points(small) == 16


def test_spots_do_not_follow_guess_max():
    cut = rules(guess_max=4)
    assert [spots(cut, card) for card in range(5)] == [3, 2, 1, 0, 0]
    assert most_basic_points(cut) == 11


def test_spots_only_possible_totals_count_towards_the_maximum():
    assert most_basic_points(rules(play_values=(0, 5))) == 4 + 1 + 4


@pytest.mark.parametrize(("players", "most"), [(2, 23), (3, 28), (4, 33)])
def test_p12_basic_maximum_can_be_played_out_and_no_more(players, most):
    table = game(num_players=players, goal=("score", most))
    for total in range(5 * players + 1):
        assert not table.over
        hand(table, [total] + [0 if total else 1] * (players - 1), plays_for(total, players))
    assert table.points == [most] + [0] * (players - 1)
    assert (table.over, table.end_reason, table.winners) == (True, "goal", [0])
    with pytest.raises(ValueError):
        game(num_players=players, goal=("score", most + 1))


# -- ambiguities ----------------------------------------------------------------------------------


def test_pa3_closest_two_at_the_same_distance():
    table = game(num_players=3, win_rule="closest")
    last = hand(table, [10, 13, 11], [4, 4, 4])
    assert (last["winners"], last["gains"]) == ([1, 2], [0, 2, 1])
    assert table.win_pile == [[], [13], [11]]


def test_pa3_closest_exact_guess_beats_near_ones():
    table = game(num_players=3, win_rule="closest")
    assert hand(table, [11, 12, 13], [4, 4, 4])["winners"] == [1]


def test_pa3_closest_bonus_is_of_the_own_card():
    table = game(win_rule="closest")
    assert hand(table, [0, 10], [3, 1])["gains"] == [4, 0]


def test_pa3_closest_in_capture():
    table = game(num_players=3, win_rule="closest", scoring="capture")
    assert hand(table, [10, 14, 0], [4, 5, 4])["gains"] == [0, 2 + 2, 0]
    assert table.win_pile[1] == [10, 0]


def test_pa5_basic_discard_in_every_hand():
    table = game(num_players=3, loser_guess="discard")
    hand(table, [10, 13, 11], [4, 5, 4])
    assert table.spent == [[10], [], [11]]
    assert table.win_pile == [[], [13], []]
    hand(table, [1, 2, 3], [0, 0, 0])
    assert table.spent == [[10, 1], [2], [11, 3]]
    assert table.guess_cards[1] == set(range(16)) - {13, 2}


def test_pa5_capture_discards_only_without_a_winner():
    table = game(num_players=3, scoring="capture", loser_guess="discard")
    hand(table, [10, 11, 12], [0, 0, 0])
    assert table.spent == [[10], [11], [12]]
    hand(table, [13, 13, 9], [4, 5, 4])
    assert table.spent == [[10], [11], [12]]
    assert 9 in table.guess_cards[2]


@pytest.mark.parametrize("capture_multi", ["share", "none"])
def test_pa5_capture_discards_nothing_with_several_winners(capture_multi):
    table = game(num_players=3, scoring="capture", loser_guess="discard", capture_multi=capture_multi)
    hand(table, [13, 13, 10], [4, 5, 4])
    assert table.spent == [[], [], []]


def test_pa5_basic_discard_empties_every_hand_after_guess_max_plus_one_hands():
    table = game(loser_guess="discard")
    for card in range(11):
        assert not table.over
        hand(table, [card, card], [5, 0] if card != 5 else [0, 0])
    assert (table.over, table.end_reason, table.hands) == (True, "guess_cards", 11)


def test_pa6_capture_spots():
    for capture_spots, gain in [(False, 3), (True, 5)]:
        table = game(num_players=3, scoring="capture", capture_spots=capture_spots)
        assert hand(table, [13, 10, 14], [4, 5, 4])["gains"] == [gain, 0, 0]


def test_pa7_keep_own():
    table = game(num_players=3, scoring="capture", capture_multi="keep_own")
    assert hand(table, [13, 13, 10], [4, 5, 4])["gains"] == [2, 2, 0]
    assert 13 not in table.guess_cards[0] | table.guess_cards[1]
    assert table.guess_cards[2] == set(range(16))
    assert table.win_pile == [[13], [13], []]


def test_pa7_share():
    table = game(num_players=3, scoring="capture", capture_multi="share")
    assert hand(table, [13, 13, 10], [4, 5, 4])["gains"] == [2, 1, 0]
    assert table.guess_cards == [set(range(16)), set(range(16)), set(range(16)) - {10}]
    assert table.win_pile == [[10], [], []]


def test_pa7_share_with_capture_spots():
    for capture_spots, gains in [(False, [2, 1, 0]), (True, [4, 1, 0])]:
        table = game(num_players=3, scoring="capture", capture_multi="share", capture_spots=capture_spots)
        assert hand(table, [13, 13, 14], [4, 5, 4])["gains"] == gains


def test_pa7_share_goes_clockwise_from_the_loser():
    table = game(num_players=4, scoring="capture", capture_multi="share")
    assert hand(table, [12, 9, 8, 12], [3, 3, 3, 3])["gains"] == [0, 0, 0, 2]
    assert table.win_pile == [[], [], [], [9, 8]]
    table = game(num_players=4, scoring="capture", capture_multi="share")
    assert hand(table, [9, 12, 8, 12], [3, 3, 3, 3])["gains"] == [0, 1, 0, 1]
    assert table.win_pile == [[], [9], [], [8]]


def test_pa7_none():
    table = game(num_players=3, scoring="capture", capture_multi="none")
    last = hand(table, [13, 13, 10], [4, 5, 4])
    assert (last["winners"], last["gains"]) == ([0, 1], [0, 0, 0])
    assert table.guess_cards == [set(range(16))] * 3
    assert table.win_pile == table.spent == [[], [], []]


@pytest.mark.parametrize("capture_multi", ["keep_own", "share"])
def test_pa8_all_right(capture_multi):
    table = game(scoring="capture", capture_multi=capture_multi)
    assert hand(table, [0, 0], [0, 0])["gains"] == [4, 4]
    assert table.guess_cards == [set(range(1, 11))] * 2
    assert table.win_pile == [[0], [0]]


def test_pa8_all_right_under_none():
    table = game(scoring="capture", capture_multi="none")
    assert hand(table, [0, 0], [0, 0])["gains"] == [0, 0]
    assert table.guess_cards == [set(range(11))] * 2


def test_pa9_play_cards_consumed_and_the_set_comes_back():
    table = game(play_values=(0, 1, 2), play_cards="consumed", goal=("score", 16))
    hand(table, [0, 0], [0, 2])
    assert table.play_cards == [{1, 2}, {0, 1}]
    hand(table, [0, 0], [1, 1])
    assert table.play_cards == [{2}, {0}]
    table.choose(0, "guess 0")
    table.choose(1, "guess 0")
    assert (table.legal(0), table.legal(1)) == ({"play 2"}, {"play 0"})
    table.choose(0, "play 2")
    table.choose(1, "play 0")
    assert table.play_cards == [{0, 1, 2}] * 2


def test_pa10_goal_score_ends_after_the_hand():
    table = game(goal=("score", 4))
    hand(table, [0, 1], [0, 0])
    assert (table.over, table.phase, table.end_reason) == (True, "over", "goal")
    assert table.winners == [0]
    assert table.asked() == [] and table.legal(0) == table.legal(1) == set()
    with pytest.raises(ValueError):
        table.choose(0, "guess 1")


def test_pa10_both_reach_the_score_higher_total_wins_tie_shared():
    table = game(goal=("score", 7))
    hand(table, [0, 0], [0, 0])
    assert not table.over
    hand(table, [1, 1], [0, 1])
    assert (table.points, table.winners) == ([7, 7], [0, 1])
    table = game(goal=("score", 4))
    hand(table, [1, 0], [0, 1])
    hand(table, [0, 0], [0, 0])
    assert (table.points, table.winners) == ([7, 4], [0])


def test_pa10_goal_hands():
    table = game(goal=("hands", 2))
    hand(table, [1, 1], [0, 0])
    hand(table, [1, 4], [0, 1])
    assert (table.end_reason, table.winners, table.hands) == ("goal", [0], 2)


def test_pa10_goal_before_max_hands_and_before_guess_cards():
    table = game(goal=("hands", 1), max_hands=1)
    hand(table, [1, 1], [0, 0])
    assert table.end_reason == "goal"
    table = game(guess_max=1, goal=("score", 7), max_hands=2)
    hand(table, [0, 1], [0, 0])
    hand(table, [1, 0], [0, 1])
    assert (table.guess_cards[0], table.end_reason) == (set(), "goal")


@pytest.mark.parametrize("no_guess_cards", ["end", "continue"])
def test_pa10_guess_cards_gone_is_a_goal(no_guess_cards):
    table = game(guess_max=1, goal=("guess_cards_gone", 0), no_guess_cards=no_guess_cards)
    hand(table, [0, 1], [0, 0])
    assert not table.over
    hand(table, [1, 0], [0, 1])
    assert (table.over, table.end_reason, table.winners) == (True, "goal", [0])


def test_pa11_end_when_one_seat_is_out():
    table = game(guess_max=1, scoring="capture", max_hands=2)
    hand(table, [0, 1], [0, 0])
    hand(table, [1, 0], [0, 1])
    assert table.guess_cards == [{0, 1}, set()]
    assert (table.over, table.end_reason, table.winners) == (True, "guess_cards", [0])


def seat_one_without_cards(**options):
    """Two players, two Guess Cards each: seat 0 captures both of seat 1's."""
    table = game(guess_max=1, scoring="capture", no_guess_cards="continue", goal=("score", 90), **options)
    hand(table, [0, 1], [0, 0])
    hand(table, [1, 0], [0, 1])
    assert (table.guess_cards, table.points) == ([{0, 1}, set()], [1 + 3 + 1 + 2, 0])
    assert not table.over
    return table


def test_pa11_continue_a_seat_without_guess_still_plays_and_cannot_win():
    table = seat_one_without_cards()
    assert table.asked() == [0]
    assert table.legal(1) == {"guess 0"}
    with pytest.raises(ValueError):
        table.choose(1, "guess 0")
    table.choose(0, "guess 1")
    assert (table.phase, table.asked()) == ("play", [0, 1])
    table.choose(0, "play 0")
    table.choose(1, "play 0")
    last = table.history[-1]
    assert (last["guesses"], last["winners"], last["total"]) == ([1, None], [], 0)
    last = hand(table, [1, None], [0, 1])
    assert (last["winners"], last["gains"]) == ([0], [2, 0])
    assert table.guess_cards == [{0, 1}, set()]


def test_pa11_continue_in_joint():
    table = seat_one_without_cards(actions="joint")
    assert table.asked() == [0, 1]
    assert table.legal(1) == {f"guess 0 play {value}" for value in range(6)}
    last = hand(table, [1, None], [0, 0])
    assert (last["guesses"], last["plays"], last["winners"]) == ([1, None], [0, 0], [])


def test_pa11_continue_in_sequential_skips_the_guess():
    table = seat_one_without_cards(flip_order="sequential")
    assert (table.asked(), table.legal(1)) == ([0], set())
    table.choose(0, "guess 1")
    assert (table.phase, table.asked()) == ("play", [0])
    assert table.seen_by(1)["own_guess"] is None


def test_pa11_continue_closest_needs_a_guess():
    table = seat_one_without_cards(win_rule="closest")
    assert hand(table, [1, None], [5, 0])["winners"] == [0]


def test_pa11_continue_ends_when_no_seat_has_a_card():
    table = game(guess_max=1, no_guess_cards="continue", goal=("score", 7), loser_guess="discard")
    hand(table, [1, 1], [0, 0])
    assert not table.over
    hand(table, [0, 0], [1, 1])
    assert (table.over, table.end_reason, table.winners) == (True, "guess_cards", [0, 1])


def test_pa11_continue_basic_one_seat_out_of_cards():
    table = game(guess_max=1, no_guess_cards="continue", goal=("hands", 5))
    hand(table, [0, 1], [0, 0])
    hand(table, [1, 0], [1, 0])
    assert (table.guess_cards, table.over) == ([set(), {0, 1}], False)
    assert table.asked() == [1]
    last = hand(table, [None, 0], [0, 0])
    assert (last["winners"], last["gains"]) == ([1], [0, 4])


def test_pa12_sequential_order_rotates_and_flips_are_public():
    table = game(num_players=3, flip_order="sequential")
    for first in (0, 1, 2, 0):
        assert table.seen_by(0)["first"] == first
        for seat in (0, 1, 2):
            assert table.asked() == [seat]
            assert table.legal((seat + 1) % 3) == set()
            table.choose(seat, "guess 15")
            expected = 15 if table.phase == "play" else None
            assert table.seen_by(seat)["own_guess"] == expected
        flips = [None, None, None]
        for step in range(3):
            seat = (first + step) % 3
            assert table.asked() == [seat]
            assert all(table.seen_by(other)["flips"] == flips for other in range(3))
            table.choose(seat, f"play {seat}")
            flips[seat] = seat
        assert table.seen_by(0)["flips"] == [None, None, None]


def test_pa12_simultaneous_shows_no_flips():
    table = game()
    table.choose(0, "guess 1")
    table.choose(1, "guess 2")
    table.choose(0, "play 3")
    for seat in (0, 1):
        assert table.seen_by(seat)["flips"] == [None, None]
        assert table.seen_by(seat)["first"] == 0


def test_pa12_joint_and_sequential_are_refused_together():
    with pytest.raises(ValueError):
        game(actions="joint", flip_order="sequential")


def test_pa15_max_hands_most_points_tie_shared():
    table = game(max_hands=3)
    for _ in range(3):
        assert not table.over
        hand(table, [1, 1], [0, 0])
    assert (table.end_reason, table.winners, table.hands) == ("max_hands", [0, 1], 3)
    table = game(max_hands=1)
    hand(table, [1, 0], [1, 0])
    assert (table.end_reason, table.winners) == ("max_hands", [0])


# -- formal model ---------------------------------------------------------------------------------


def test_joint_and_phased_give_the_same_game():
    phased, joint = game(num_players=3), game(num_players=3, actions="joint")
    assert len(joint.legal(0)) == 16 * 6
    assert "guess 7 play 3" in joint.legal(2)
    for guesses, plays in [([10, 13, 11], [4, 5, 4]), ([0, 0, 1], [0, 0, 0]), ([3, 4, 5], [1] * 3)]:
        assert hand(phased, guesses, plays) == hand(joint, guesses, plays)
        assert phased.take_rewards() == joint.take_rewards()
        assert phased.guess_cards == joint.guess_cards
        assert joint.phase == "guess"


def test_seen_by_own_guess_only_during_play():
    table = game()
    table.choose(0, "guess 3")
    assert table.seen_by(0)["own_guess"] is None
    table.choose(1, "guess 4")
    assert [table.seen_by(seat)["own_guess"] for seat in (0, 1)] == [3, 4]
    table.choose(0, "play 0")
    assert table.seen_by(1)["history"] == []
    table.choose(1, "play 0")
    seen = table.seen_by(1)
    assert seen["own_guess"] is None
    assert seen["history"] == [{"guesses": [3, 4], "plays": [0, 0]}]
    assert (seen["hands"], seen["points"], seen["phase"]) == (1, [0, 0], "guess")


def test_seen_by_does_not_tell_the_running_hand():
    def seen(guess, play):
        table = game()
        table.choose(0, f"guess {guess}")
        views = [table.seen_by(1)]
        table.choose(1, "guess 5")
        table.choose(0, f"play {play}")
        return [*views, table.seen_by(1), table.legal(1), table.take_rewards()]

    assert seen(1, 2) == seen(10, 5)


@pytest.mark.parametrize("obs_history", [0, 1, 2, 8])
def test_seen_by_history_newest_first(obs_history):
    table = game(obs_history=obs_history, goal=("hands", 9))
    for card in range(3):
        hand(table, [card + 5, card + 5], [0, 0])
    newest_first = [{"guesses": [card] * 2, "plays": [0, 0]} for card in (7, 6, 5)]
    assert table.seen_by(0)["history"] == newest_first[:obs_history]


def test_reward_margin_is_points_minus_the_mean_of_the_others():
    table = game(num_players=3, reward="margin")
    hand(table, [10, 13, 11], [4, 5, 4])
    assert table.take_rewards() == [-1.0, 2.0, -1.0]
    assert table.take_rewards() == [0.0, 0.0, 0.0]


def test_reward_points_are_raw():
    table = game(reward="points", goal=("score", 23))
    hand(table, [0, 0], [0, 0])
    hand(table, [1, 1], [1, 0])
    assert table.take_rewards() == [7.0, 7.0]


@pytest.mark.parametrize(
    ("guesses", "paid"),
    [
        ([0, 1, 1], [1.0, -0.5, -0.5]),
        ([0, 0, 1], [0.25, 0.25, -0.5]),
        ([0, 0, 0], [0.0, 0.0, 0.0]),
        ([1, 1, 1], [0.0, 0.0, 0.0]),
    ],
)
def test_reward_win_with_three_seats(guesses, paid):
    table = game(num_players=3, reward="win", goal=("hands", 2))
    hand(table, guesses, [0, 0, 0])
    assert table.take_rewards() == [0.0, 0.0, 0.0]
    hand(table, [9, 9, 9], [0, 0, 0])
    assert table.take_rewards() == pytest.approx(paid)


@pytest.mark.parametrize(("players", "most_hands"), [(2, 21), (3, 23), (4, 27)])
def test_capture_bound_single_winner_hands(players, most_hands):
    """2.3: at most floor(5n^2/(n-1)) + 1 hands; letting the poorest seat win reaches it."""
    assert most_hands == 5 * players**2 // (players - 1) + 1
    table = game(num_players=players, scoring="capture", goal=("guess_cards_gone", 0))
    keeps = [5 + seat for seat in range(players)]  # the card each seat holds to the end
    while not table.over:
        held = table.guess_cards
        winner = min(range(players), key=lambda seat: len(held[seat]))
        losers = [seat for seat in range(players) if seat != winner]
        # A seat wins with the card it keeps once the others have lost theirs of that number,
        # which they lose first; until then with any card that nobody keeps.
        total = keeps[winner]
        if any(total in held[loser] for loser in losers):
            total = min(held[winner] - set(keeps))
        guesses = [total] * players
        for loser in losers:
            spare = held[loser] - {keeps[loser], total} or {keeps[loser]}
            guesses[loser] = max(spare, key=lambda card: (card in keeps, card))
        assert hand(table, guesses, plays_for(total, players))["winners"] == [winner]
    assert table.hands == most_hands


def points_of_every_first_hand(players, reward="points"):
    """Seat 0's reward for every own guess and every plays; the others guess 0."""
    start = game(num_players=players, goal=("hands", 1), reward=reward, actions="joint")
    for guess in range(5 * players + 1):
        for plays in itertools.product(range(6), repeat=players):
            table = start.copy()
            hand(table, [guess] + [0] * (players - 1), plays)
            yield guess, plays, table.take_rewards()[0]


@pytest.mark.parametrize(("players", "mean"), [(2, Fraction(14, 99)), (3, Fraction(41, 576))])
def test_uniform_play_earns_the_printed_points(players, mean):
    gains = [int(gain) for _, _, gain in points_of_every_first_hand(players)]
    assert Fraction(sum(gains), len(gains)) == mean
    assert Fraction(sum(gain > 0 for gain in gains), len(gains)) == Fraction(1, 5 * players + 1)


def test_uniform_play_of_four_earns_the_printed_points():
    four = rules(num_players=4)
    totals = [sum(plays) for plays in itertools.product(range(6), repeat=4)]
    worth = sum(1 + spots(four, total) for total in totals)
    assert Fraction(worth, 21 * len(totals)) == Fraction(223, 4536)


def test_best_response_to_a_uniform_opponent_earns_two_thirds():
    earned = {}
    for guess, plays, gain in points_of_every_first_hand(2):
        earned[plays[0], guess] = earned.get((plays[0], guess), 0) + Fraction(int(gain), 6)
    assert max(earned.values()) == Fraction(2, 3)
    best = {choice for choice, value in earned.items() if value == Fraction(2, 3)}
    assert best == {(0, 0), (5, 10)}


def test_two_player_solution_of_one_hand_has_the_printed_odds():
    """2.3: the LP mixture, weights out of 38; odds of one given player a hand."""
    mixture = {(0, 1): 4, (1, 1): 6, (2, 4): 9, (3, 6): 9, (4, 9): 6, (5, 9): 4}
    whole = sum(mixture.values())
    right = points = 0
    for (play, guess), weight in mixture.items():
        for (other, _), other_weight in mixture.items():
            if play + other == guess:
                right += weight * other_weight
                points += weight * other_weight * (1 + spots(rules(), guess))
    assert right / whole**2 == pytest.approx(0.179, abs=0.0005)
    assert points / whole**2 == pytest.approx(0.312, abs=0.0005)


def test_copy_is_independent():
    table = game()
    table.choose(0, "guess 0")
    twin = table.copy()
    twin.choose(1, "guess 0")
    twin.choose(0, "play 0")
    twin.choose(1, "play 0")
    assert (table.hands, table.points, table.asked()) == (0, [0, 0], [1])
    assert table.guess_cards == [set(range(11))] * 2
    assert twin.points == [4, 4]
    assert twin.rules is table.rules
