"""Flip It by its numbered rules: one test a rule (P1-P16), a reading (PA1-PA16) or a decision, in rulebook order."""

import itertools
import math
import random

import numpy as np
import pytest

import flinchenv
from flinchenv.flip_it.rules import FlipItRules
from table import Table, guesses, plays, plays_for

SPOTS = {
    2: {0: 4, 1: 3, 2: 2, 8: 2, 9: 3, 10: 4},
    3: {0: 4, 1: 3, 2: 2, 13: 2, 14: 3, 15: 4},
    4: {0: 4, 1: 3, 2: 2, 18: 2, 19: 3, 20: 4},
}
MOST = {2: 23, 3: 28, 4: 33}
ALL_PLAYS = [0, 1, 2, 3, 4, 5]
MODES = [{}, {"actions": "joint"}, {"flip_order": "sequential"}]
mode = pytest.mark.parametrize("mode", MODES, ids=["phased", "joint", "sequential"])


def capture(**rules):
    """A three-player table with capture scoring and no goal in reach."""
    return Table("flip_it-capture-v0", **{"num_players": 3, "reward": "points", "goal": ("score", 1000), **rules})


# --- The rules --------------------------------------------------------------------------------------------------------


def test_p1_each_player_has_a_set_of_play_cards_and_a_set_of_guess_cards():
    table = Table(num_players=4)
    assert len(table.guess_cards) == len(table.play_cards) == 4
    assert all(table.guess_cards)
    assert all(table.play_cards)


@pytest.mark.parametrize(("players", "top"), [(2, 10), (3, 15), (4, 20)])
def test_p2_guess_cards_run_from_0_to_five_times_the_players(players, top):
    table = Table(num_players=players)
    assert table.guess_cards == [list(range(top + 1))] * players
    for seat in range(players):
        assert table.moves(seat) == guesses(*range(top + 1))
        assert table.sees(seat)["guess_cards"] == table.guess_cards


def test_p2_guess_max_cuts_the_top_cards():
    assert Table(guess_max=4).guess_cards == [[0, 1, 2, 3, 4]] * 2
    assert Table(guess_max=1, goal="hands:9").moves(0) == guesses(0, 1)
    assert Table(play_values=(0, 3), goal="hands:9").guess_cards == [list(range(7))] * 2


def test_p3_the_total_is_the_sum_of_the_flipped_play_cards():
    for flipped in [(5, 3, 0), (0, 4, 4), (2, 1, 5)]:
        assert Table(num_players=3, reward="points").hand([8, 7, 9], flipped) == [1, 0, 0]


def test_p4_the_closest_guess_wins_only_where_the_rules_say_so():
    assert Table(reward="points").hand([6, 3], [5, 0]) == [0, 0]
    assert Table("flip_it-closest-v0", reward="points").hand([6, 3], [5, 0]) == [1, 0]


def test_p5_first_each_sets_a_guess_card_aside():
    table = Table()
    assert table.moves(0) == table.moves(1) == guesses(*range(11))
    table.choose("guess 7", "guess 3")
    assert table.hands == 0
    assert table.sees(0)["own_guess"] == 7
    assert table.sees(1)["own_guess"] == 3


def test_p6_then_each_selects_a_play_card_and_pass_counts_as_zero():
    table = Table(reward="points")
    table.choose("guess 7", "guess 5")
    assert table.moves(0) == table.moves(1) == plays(*ALL_PLAYS)
    assert table.choose("play 0", "play 5").rewards == [0, 1]


def test_p7_all_play_cards_are_flipped_together():
    table = Table(num_players=3)
    table.choose(*guesses(1, 2, 3))
    before = [table.sees(seat) for seat in range(3)]
    table.choose("play 4", "play 0")
    assert [table.sees(seat) for seat in range(3)] == before
    table.choose("play 2")
    assert [table.sees(seat)["past_plays"] for seat in range(3)] == [[[4, 0, 2]], [[0, 2, 4]], [[2, 4, 0]]]


def test_p8_guess_cards_are_revealed_when_the_total_is_known():
    table = Table(num_players=3)
    table.choose(*guesses(1, 2, 3), "play 4", "play 0")
    assert table.sees(0)["past_guesses"] == [[None, None, None]]
    table.choose("play 2")
    assert [table.sees(seat)["past_guesses"] for seat in range(3)] == [[[1, 2, 3]], [[2, 3, 1]], [[3, 1, 2]]]


def test_p9_a_guess_equal_to_the_total_wins():
    table = Table(reward="points")
    assert table.hand([7, 6], [3, 4]) == [1, 0]
    assert table.points == [1, 0]
    assert table.hand([6, 5], [3, 2]) == [0, 1]
    assert table.points == [1, 1]


@pytest.mark.parametrize("scoring", ["basic", "capture"])
def test_p10_nobody_right_nobody_wins_and_nothing_changes(scoring):
    table = Table(scoring=scoring)
    cards = table.guess_cards
    assert table.hand([7, 6], [0, 0]) == [0, 0]
    assert (table.points, table.guess_cards, table.play_cards) == ([0, 0], cards, [ALL_PLAYS] * 2)
    assert (table.win_piles, table.spent) == ([[], []], [[], []])


def test_p11_several_right_each_puts_its_card_into_its_win_pile():
    table = Table(num_players=3, reward="points")
    assert table.hand([8, 8, 3], [5, 3, 0]) == [1, 1, 0]
    assert table.win_piles == [[8], [8], []]
    assert [8 in cards for cards in table.guess_cards] == [False, False, True]


def test_p12_basic_scoring_a_card_is_a_point_and_leaves_the_hand():
    table = Table(reward="points", goal=("score", 3))
    for total in (3, 4):
        assert table.hand([total, 10], plays_for(total, 2)) == [1, 0]
    assert table.win_piles == [[3, 4], []]
    assert table.moves(0) == guesses(0, 1, 2, 5, 6, 7, 8, 9, 10)
    assert not table.over
    table.hand([5, 10], [5, 0])
    assert table.end == ("goal", [0])
    assert table.points == [3, 0]


def test_p12_or_until_all_guess_cards_of_a_player_are_gone():
    table = Table(goal=("guess_cards_gone", 0))
    for total in range(11):
        assert not table.over
        table.hand([total, 10 if total < 10 else 9], plays_for(total, 2))
    assert table.end == ("goal", [0])
    assert table.guess_cards[0] == []
    assert table.points == [23, 0]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_p13_p14_spots_of_every_total(players):
    for total in range(5 * players + 1):
        table = Table(num_players=players, reward="points")
        others = [(total + 1) % (5 * players + 1)] * (players - 1)
        gains = table.hand([total, *others], plays_for(total, players))
        assert gains == [SPOTS[players].get(total, 1)] + [0] * (players - 1), total
        assert table.points == gains


def test_p13_low_cards_carry_three_two_and_one_spots():
    for total, worth in [(0, 4), (1, 3), (2, 2), (3, 1)]:
        assert Table(reward="points").hand([7, total], [0, total]) == [0, worth]


def test_p14_high_spots_belong_to_their_number_of_players():
    assert Table(num_players=3, reward="points").hand([8, 1, 1], [4, 4, 0]) == [1, 0, 0]
    assert Table(num_players=3, reward="points").hand([9, 1, 1], [4, 4, 1]) == [1, 0, 0]
    assert Table(num_players=4, reward="points").hand([15, 1, 1, 1], [5, 5, 5, 0]) == [1, 0, 0, 0]
    assert Table(num_players=3, reward="points").hand([1, 15, 1], [5, 5, 5]) == [0, 4, 0]


def test_p14_fewer_play_values_move_the_high_spots():
    worth = []
    for total in (0, 1, 2):
        table = Table("flip_it-tiny-v0", reward="points")
        worth.append(table.hand([total, 1 if total != 1 else 0], [min(1, total), max(0, total - 1)])[0])
    assert worth == [4, 3, 4]  # 1 + the spots 3, 2, 3
    assert Table(play_values=(0, 1, 2), reward="points").hand([2, 1], [1, 1]) == [2, 0]


def test_p14_guess_max_does_not_move_the_high_spots():
    assert Table(guess_max=7, reward="points").hand([7, 1], [5, 2]) == [1, 0]
    assert Table(guess_max=8, reward="points").hand([8, 1], [5, 3]) == [2, 0]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_p14_the_most_points_of_basic_scoring(players):
    top = 5 * players
    table = Table(num_players=players, goal=("score", MOST[players]), no_guess_cards="continue")
    for total in range(top + 1):
        assert not table.over
        table.hand([total] + [(total + 1) % (top + 1)] * (players - 1), plays_for(total, players))
    assert table.points[0] == MOST[players]
    assert table.end == ("goal", [0])
    with pytest.raises(ValueError, match=f"1..{MOST[players]}"):
        Table(num_players=players, goal=("score", MOST[players] + 1))


@mode
def test_p15_example_in_basic_scoring(mode):
    table = Table(num_players=3, reward="points", **mode)
    assert table.hand([10, 13, 11], [4, 5, 4]) == [0, 2, 0]
    assert table.points == [0, 2, 0]
    assert table.win_piles == [[], [13], []]
    assert [len(cards) for cards in table.guess_cards] == [16, 15, 16]
    assert 13 not in table.guess_cards[1]


@mode
def test_p16_example_in_capture_scoring(mode):
    table = capture(**mode)
    assert table.hand([10, 13, 11], [4, 5, 4]) == [0, 3, 0]
    assert table.points == [0, 3, 0]
    assert table.win_piles == [[], [10, 11], []]
    assert 10 not in table.guess_cards[0]
    assert table.guess_cards[1] == list(range(16))
    assert 11 not in table.guess_cards[2]


def test_p16_capture_leaves_the_opponents_fewer_options():
    table = Table("flip_it-capture-v0", num_players=3)
    table.hand([10, 13, 11], [4, 5, 4])
    assert [len(table.moves(seat)) for seat in range(3)] == [15, 16, 15]


# --- The readings -----------------------------------------------------------------------------------------------------


def test_pa1_one_play_card_of_each_value():
    assert Table().play_cards == [ALL_PLAYS] * 2
    table = Table(play_values=(0, 2, 5), goal="hands:3")
    assert table.play_cards == [[0, 2, 5]] * 2
    table.choose(*guesses(1, 2))
    assert table.moves(1) == plays(0, 2, 5)


def test_pa2_play_cards_are_flipped_before_the_guesses_are_shown():
    table = Table("flip_it-sequential-v0")
    table.choose(*guesses(9, 8), "play 3")
    assert table.sees(1)["flips"] == [None, 3]
    assert table.sees(1)["past_guesses"] == [[None, None]]


@mode
def test_pa3_closest_every_seat_at_the_least_distance_wins(mode):
    table = Table("flip_it-closest-v0", num_players=3, reward="points", **mode)
    assert table.hand([10, 13, 11], [4, 4, 4]) == [0, 2, 1]  # 13 carries one spot of its own
    assert table.win_piles == [[], [13], [11]]


def test_pa3_closest_with_an_exact_guess_and_with_a_lone_far_one():
    assert Table("flip_it-closest-v0", reward="points").hand([5, 6], [3, 2]) == [1, 0]
    assert Table("flip_it-closest-v0", reward="points").hand([10, 9], [0, 0]) == [0, 3]
    assert Table("flip_it-closest-v0", reward="points").hand([10, 10], [0, 0]) == [4, 4]


def test_pa4_both_presets():
    assert flinchenv.spec("flip_it-v0").rules.scoring == "basic"
    assert flinchenv.spec("flip_it-capture-v0").rules.scoring == "capture"


def test_pa4_basic_handicaps_the_winner_and_capture_the_losers():
    basic, taken = Table(), Table("flip_it-capture-v0")
    for table in (basic, taken):
        table.hand([7, 6], [3, 4])
    assert [len(cards) for cards in basic.guess_cards] == [10, 11]
    assert [len(cards) for cards in taken.guess_cards] == [11, 10]


def test_pa5_discard_spends_the_used_cards_that_won_nothing():
    table = Table(num_players=3, loser_guess="discard")
    table.hand([10, 13, 11], [4, 5, 4])
    assert table.spent == [[10], [], [11]]
    table.hand([9, 12, 15], [0, 0, 0])
    assert table.spent == [[9, 10], [12], [11, 15]]
    assert [len(cards) for cards in table.guess_cards] == [14, 14, 14]


def test_pa5_discard_in_capture_only_where_nobody_won():
    table = capture(loser_guess="discard")
    table.hand([10, 13, 11], [4, 5, 4])
    assert table.spent == [[], [], []]
    assert table.win_piles == [[], [10, 11], []]
    table.hand([9, 12, 15], [0, 0, 0])
    assert table.spent == [[9], [12], [15]]


@pytest.mark.parametrize("capture_multi", ["keep_own", "share", "none"])
def test_pa5_discard_spends_nothing_where_several_won_in_capture(capture_multi):
    table = capture(loser_guess="discard", capture_multi=capture_multi)
    table.hand([13, 13, 10], [4, 5, 4])
    assert table.spent == [[], [], []]


def test_pa5_discard_empties_every_hand_after_guess_max_and_one_hands():
    table = Table(loser_guess="discard", guess_max=4, no_guess_cards="continue", goal="hands:50")
    for k in range(5):
        assert not table.over
        table.hand([k, (k + 1) % 5], [0, 0] if k % 2 else [1, 3])
    assert (table.end[0], table.hands) == ("guess_cards", 5)
    assert table.guess_cards == [[], []]


def test_pa6_captured_cards_count_one_or_one_and_their_spots():
    assert capture().hand([13, 10, 14], [4, 5, 4]) == [3, 0, 0]
    assert capture(capture_spots=True).hand([13, 10, 14], [4, 5, 4]) == [5, 0, 0]


@mode
def test_pa7_keep_own_pays_the_winners_and_spares_the_losers(mode):
    table = capture(**mode)
    assert table.hand([13, 13, 10], [4, 5, 4]) == [2, 2, 0]
    assert table.win_piles == [[13], [13], []]
    assert [13 in cards for cards in table.guess_cards] == [False, False, True]
    assert 10 in table.guess_cards[2]


@mode
def test_pa7_share_gives_each_losers_card_to_the_next_winner_clockwise(mode):
    table = capture(capture_multi="share", **mode)
    assert table.hand([13, 13, 10], [4, 5, 4]) == [2, 1, 0]
    assert table.win_piles == [[10], [], []]
    assert 13 in table.guess_cards[0]
    assert 13 in table.guess_cards[1]
    assert 10 not in table.guess_cards[2]


@mode
def test_pa7_none_nobody_scores_and_nothing_moves(mode):
    table = capture(capture_multi="none", **mode)
    assert table.hand([13, 13, 10], [4, 5, 4]) == [0, 0, 0]
    assert table.win_piles == [[], [], []]
    assert table.guess_cards == [list(range(16))] * 3


def test_pa7_share_with_a_captured_card_that_has_spots():
    assert capture(capture_multi="share").hand([13, 13, 14], [4, 5, 4]) == [2, 1, 0]
    assert capture(capture_multi="share", capture_spots=True).hand([13, 13, 14], [4, 5, 4]) == [4, 1, 0]


def test_pa7_share_clockwise_with_four_players():
    table = capture(num_players=4, capture_multi="share")
    assert table.hand([3, 7, 4, 7], [2, 5, 0, 0]) == [0, 1, 0, 1]  # 3 goes to seat 1, 4 to seat 3
    assert table.win_piles == [[], [3], [], [4]]
    table = capture(num_players=4, capture_multi="share")
    assert table.hand([7, 3, 4, 7], [2, 5, 0, 0]) == [0, 0, 0, 2]  # both go to seat 3
    assert table.win_piles == [[], [], [], [3, 4]]


def test_pa8_all_right_in_basic_scoring_all_win():
    table = Table(reward="points")
    assert table.hand([0, 0], [0, 0]) == [4, 4]
    assert table.win_piles == [[0], [0]]


@pytest.mark.parametrize("capture_multi", ["keep_own", "share"])
def test_pa8_all_right_in_capture_is_keep_own(capture_multi):
    table = Table("flip_it-capture-v0", reward="points", capture_multi=capture_multi)
    assert table.hand([0, 0], [0, 0]) == [4, 4]
    assert table.guess_cards == [list(range(1, 11))] * 2
    assert table.win_piles == [[0], [0]]


def test_pa8_all_right_in_capture_with_none_nobody_scores():
    table = Table("flip_it-capture-v0", reward="points", capture_multi="none")
    assert table.hand([0, 0], [0, 0]) == [0, 0]
    assert table.guess_cards == [list(range(11))] * 2
    assert table.win_piles == [[], []]


def test_pa8_all_pass_and_one_guesses_0():
    assert Table(num_players=4, reward="points").hand([0, 5, 6, 7], [0, 0, 0, 0]) == [4, 0, 0, 0]


@mode
def test_pa9_consumed_play_cards_return_when_the_set_is_empty(mode):
    table = Table(play_cards="consumed", goal="hands:50", **mode)
    for k in range(6):
        assert table.play_cards == [ALL_PLAYS[k:], ALL_PLAYS[: 6 - k]]
        assert table.sees(1)["play_cards"] == table.play_cards[::-1]
        table.hand([10, 10], [k, 5 - k])
    assert table.play_cards == [ALL_PLAYS] * 2


def test_pa9_returned_play_cards_are_all_there_in_every_hand():
    table = Table(goal="hands:50")
    for _ in range(3):
        table.choose(*guesses(9, 8))
        assert table.moves(0) == plays(*ALL_PLAYS)
        table.choose(*plays(2, 2))
    assert "play_cards" not in table.sees(0)


def test_pa10_several_reach_the_score_the_higher_total_wins():
    table = Table(goal=("score", 3)).put(0, points=1).put(1, points=2)
    table.hand([1, 1], [0, 1])
    assert table.points == [4, 5]
    assert table.end == ("goal", [1])


def test_pa10_several_reach_the_score_and_a_tie_is_shared():
    table = Table(num_players=3, goal=("score", 4))
    table.hand([0, 0, 5], [0, 0, 0])
    assert table.end == ("goal", [0, 1])


def test_pa10_a_score_just_below_the_goal_plays_on():
    table = Table(goal=("score", 5))
    table.hand([0, 5], [0, 0])
    assert (table.points, table.over) == ([4, 0], False)


def test_pa10_goal_of_hands():
    table = Table(goal=("hands", 3))
    for k in range(3):
        assert (table.hands, table.over) == (k, False)
        table.hand([9, 8], [0, 0])
    assert table.end == ("goal", [0, 1])


@pytest.mark.parametrize("no_guess_cards", ["end", "continue"])
def test_pa10_goal_of_guess_cards_gone_whatever_no_guess_cards_says(no_guess_cards):
    table = Table(goal=("guess_cards_gone", 0), no_guess_cards=no_guess_cards)
    table.put(1, guess_cards=[3])
    table.hand([5, 3], [3, 0])
    assert table.end == ("goal", [1])


@pytest.mark.parametrize("scoring", ["basic", "capture"])
@pytest.mark.parametrize("loser_guess", ["return", "discard"])
def test_pa11_end_the_game_ends_when_any_seat_has_no_guess_card(scoring, loser_guess):
    table = Table(scoring=scoring, loser_guess=loser_guess, goal="score:9").put(0, guess_cards=[5])
    if loser_guess == "discard":
        table.hand([5, 6], [0, 0])
        assert table.spent[0] == [5]
    elif scoring == "basic":
        table.hand([5, 6], [2, 3])
    else:
        table.hand([5, 6], [3, 3])
    assert table.guess_cards[0] == []
    assert table.end[0] == "guess_cards"


def test_pa11_end_with_nobody_empty_plays_on():
    table = Table("flip_it-capture-v0").put(0, guess_cards=[5])
    table.hand([5, 6], [2, 3])
    assert table.guess_cards[0] == [5]
    assert not table.over


@mode
def test_pa11_continue_a_seat_without_guess_cards_plays_on_and_cannot_win(mode):
    table = Table(num_players=3, no_guess_cards="continue", reward="points", **mode).put(1, guess_cards=[])
    assert table.hand([5, None, 6], [0, 5, 0]) == [1, 0, 0]  # its card counts
    assert table.sees(1)["past_guesses"] == [[None, 6, 5]]
    assert table.hand([9, None, 6], [0, 0, 0]) == [0, 0, 0]  # total 0: it has no 0 to win with
    assert table.points == [1, 0, 0]
    assert table.win_piles == [[5], [], []]
    assert not table.over


def test_pa11_continue_the_game_ends_when_no_seat_has_one():
    table = Table(no_guess_cards="continue", goal="score:9").put(0, guess_cards=[]).put(1, guess_cards=[4])
    table.hand([None, 4], [3, 2])
    assert not table.over
    table.hand([None, 4], [3, 1])
    assert table.end == ("guess_cards", [1])


@pytest.mark.parametrize("capture_multi", ["keep_own", "share", "none"])
@mode
def test_pa11_continue_nothing_can_be_captured_from_a_seat_without_a_guess(capture_multi, mode):
    table = capture(no_guess_cards="continue", capture_multi=capture_multi, **mode).put(0, guess_cards=[])
    assert table.hand([None, 13, 11], [4, 5, 4]) == [0, 2, 0]  # one spot and the 11
    assert table.win_piles == [[], [11], []]
    assert table.guess_cards[0] == []


@mode
def test_pa11_continue_it_cannot_be_closest(mode):
    table = Table("flip_it-closest-v0", no_guess_cards="continue", reward="points", **mode).put(0, guess_cards=[])
    assert table.hand([None, 10], [0, 0]) == [0, 4]
    assert table.win_piles == [[], [10]]


@mode
def test_pa11_continue_discard_spends_nothing_of_it(mode):
    table = Table(no_guess_cards="continue", loser_guess="discard", **mode).put(0, guess_cards=[])
    table.hand([None, 10], [0, 0])
    assert table.spent == [[], [10]]


def test_pa11_continue_phased_aec_skips_its_guess():
    table = Table(num_players=3, no_guess_cards="continue").put(0, guess_cards=[]).put(2, guess_cards=[])
    assert table.asked == 1
    table.choose("guess 4")
    assert (table.phase, table.asked) == ("play", 0)
    assert table.sees(0)["own_guess"] is None
    table.choose("play 0")
    assert table.asked == 1


def test_pa11_continue_sequential_skips_its_guess():
    table = Table("flip_it-sequential-v0", num_players=3, no_guess_cards="continue").put(1, guess_cards=[])
    assert table.asked == 0
    table.choose("guess 4")
    assert table.asked == 2
    table.choose("guess 4")
    assert (table.phase, table.asked) == ("play", 0)


def test_pa11_continue_parallel_shows_guess_0_alone_and_plays_no_card():
    table = Table(api="parallel", num_players=3, no_guess_cards="continue", reward="points").put(1, guess_cards=[])
    assert table.moves(1) == ["guess 0"]
    table.round("guess 9", "guess 0", "guess 6")
    assert table.moves(1) == plays(*ALL_PLAYS)
    assert table.round(*plays(0, 0, 0)).rewards == [0, 0, 0]
    assert table.sees(1)["past_guesses"] == [[None, 6, 9]]
    assert table.guess_cards[1] == []


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_pa11_continue_joint_shows_the_plays_with_guess_0(api):
    rules = {"play_values": (0, 1, 4), "play_cards": "consumed", "goal": "hands:9", "reward": "points"}
    table = Table(api=api, actions="joint", no_guess_cards="continue", **rules)
    table.put(1, guess_cards=[], play_cards=[0, 4])
    assert table.moves(1) == ["guess 0 play 0", "guess 0 play 4"]
    assert table.hand([5, None], [0, 0]) == [0, 0]
    assert table.sees(1)["past_guesses"] == [[None, 5]]
    assert table.moves(1) == ["guess 0 play 4"]


def test_pa12_simultaneous_nothing_shows_before_all_have_chosen():
    table = Table(num_players=3)
    views = [table.observed(seat) for seat in range(3)]
    table.choose("guess 3", "guess 4")
    for seat in range(3):
        assert all(np.array_equal(table.observed(seat)[key], views[seat][key]) for key in views[seat])


def test_pa12_sequential_each_flip_is_public_at_once_and_guesses_stay_hidden():
    table = Table("flip_it-sequential-v0", num_players=3)
    table.choose(*guesses(7, 8, 9))
    assert [table.sees(seat)["own_guess"] for seat in range(3)] == [7, 8, 9]
    table.choose("play 4")
    assert [table.sees(seat)["flips"] for seat in range(3)] == [[4, None, None], [None, None, 4], [None, 4, None]]
    table.choose("play 0")
    assert table.sees(2)["flips"] == [None, 4, 0]
    assert table.sees(2)["past_guesses"] == [[None, None, None]]
    table.choose("play 5")
    assert table.sees(2)["past_guesses"] == [[9, 7, 8]]
    assert table.sees(2)["flips"] == [None, None, None]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_pa12_sequential_guesses_ascend_and_flips_start_one_seat_later_each_hand(players):
    table = Table("flip_it-sequential-v0", num_players=players, goal="hands:9")
    for hand in range(2 * players):
        first = hand % players
        asked = []
        while table.hands == hand:
            asked.append((table.phase, table.asked))
            assert table.sees(0)["first"] == first
            table.choose(table.moves(table.asked)[-1])
        flips = [(first + k) % players for k in range(players)]
        assert asked == [("guess", p) for p in range(players)] + [("play", p) for p in flips]


def test_pa12_sequential_shows_moves_to_the_asked_seat_alone():
    table = Table("flip_it-sequential-v0", num_players=3)
    assert [len(table.moves(seat)) for seat in range(3)] == [16, 0, 0]
    table.choose("guess 3")
    assert [len(table.moves(seat)) for seat in range(3)] == [0, 16, 0]


def test_pa12_sequential_has_no_parallel_api_and_no_joint_actions():
    with pytest.raises(ValueError, match="api='parallel'"):
        Table("flip_it-sequential-v0", api="parallel")
    with pytest.raises(ValueError, match="actions='joint'"):
        Table("flip_it-sequential-v0", actions="joint")


def test_pa13_two_to_four_players():
    assert [Table(num_players=n).players for n in (2, 3, 4)] == [2, 3, 4]
    assert Table().players == 2
    for n in (1, 5):
        with pytest.raises(ValueError, match="num_players"):
            Table(num_players=n)


def test_pa14_cards_in_hand_and_used_guesses_are_public():
    table = Table("flip_it-capture-v0", num_players=3, obs_history=2)
    table.hand([10, 13, 11], [4, 5, 4])
    table.hand([9, 8, 7], [0, 0, 0])
    for seat in range(3):
        seen, order = table.sees(seat), [(seat + k) % 3 for k in range(3)]
        assert seen["guess_cards"] == [table.guess_cards[p] for p in order]
        assert seen["past_guesses"] == [[[9, 8, 7][p] for p in order], [[10, 13, 11][p] for p in order]]
        assert seen["past_plays"] == [[0, 0, 0], [[4, 5, 4][p] for p in order]]
        assert seen["points"] == [[0, 3, 0][p] for p in order]
        assert seen["hands"] == 2


@pytest.mark.parametrize("history", [0, 1, 3, 8])
def test_pa14_as_many_past_hands_are_shown_as_obs_history_says(history):
    table = Table(obs_history=history, goal="hands:50")
    shown = [[None, None]] * history
    for k in range(10):
        table.hand([k, 10 - k], [k % 6, 0])
        shown = [[k, 10 - k], *shown][:history]
        assert table.sees(0).get("past_guesses", []) == shown


def test_pa15_max_hands_the_most_points_win():
    table = Table(max_hands=3)
    table.hand([7, 5], [5, 0])
    table.hand([7, 6], [0, 0])
    assert not table.over
    table.hand([7, 6], [0, 0])
    assert table.end == ("max_hands", [1])
    assert table.env.terminations == {"player_0": True, "player_1": True}
    assert table.env.truncations == {"player_0": False, "player_1": False}


def test_pa15_max_hands_a_tie_is_shared_and_the_default_is_200():
    assert FlipItRules().max_hands == 200
    table = Table(actions="joint")
    for k in range(200):
        assert (table.hands, table.over) == (k, False)
        table.hand([7, 6], [0, 0])
    assert table.end == ("max_hands", [0, 1])


def test_pa16_an_impossible_guess_is_legal():
    table = Table(play_values=(0, 5), reward="points", goal="hands:3")
    assert table.moves(0) == guesses(*range(11))
    assert table.hand([3, 0], [5, 0]) == [0, 0]


# --- The decisions ----------------------------------------------------------------------------------------------------


def test_presets_are_the_ones_the_rules_name():
    rules = {id: flinchenv.spec(id).rules for id in flinchenv.list_envs()}
    assert rules["flip_it-v0"] == FlipItRules()
    assert rules["flip_it-capture-v0"] == FlipItRules(scoring="capture")
    assert rules["flip_it-closest-v0"] == FlipItRules(win_rule="closest")
    assert rules["flip_it-sequential-v0"] == FlipItRules(flip_order="sequential")
    assert rules["flip_it-hand-v0"] == FlipItRules(goal=("hands", 1), reward="margin")
    assert (rules["flip_it-tiny-v0"].num_players, rules["flip_it-tiny-v0"].play_values) == (2, (0, 1))
    assert (rules["flip_it-small-v0"].num_players, rules["flip_it-small-v0"].play_values) == (2, (0, 1, 2))


def test_first_values_are_the_defaults():
    assert FlipItRules() == FlipItRules(
        num_players=2,
        play_values=(0, 1, 2, 3, 4, 5),
        guess_max=None,
        actions="phased",
        goal=("score", 10),
        reward="margin",
        win_rule="exact",
        scoring="basic",
        loser_guess="return",
        capture_spots=False,
        capture_multi="keep_own",
        play_cards="returned",
        no_guess_cards="end",
        flip_order="simultaneous",
        max_hands=200,
        obs_history=1,
    )


@pytest.mark.parametrize("form", [("score", 11), ["score", 11], "score:11"])
def test_goal_forms_and_the_highest_score_of_tiny(form):
    assert Table("flip_it-tiny-v0", goal=form).rules.goal == ("score", 11)


@pytest.mark.parametrize("form", [("score", 12), ["score", 12], "score:12"])
def test_goal_score_12_is_refused_for_tiny(form):
    with pytest.raises(ValueError, match=r"1\.\.11"):
        Table("flip_it-tiny-v0", goal=form)
    assert Table("flip_it-tiny-v0", goal=form, scoring="capture").rules.goal == ("score", 12)


def test_action_ids_are_fixed_whatever_the_rules():
    for rules in ({}, {"num_players": 4}, {"play_values": (0, 3), "goal": "hands:1"}):
        phased, joint = Table(**rules), Table(actions="joint", **rules)
        assert phased.env.action_space("player_0").n == 27
        assert joint.env.action_space("player_0").n == 126
        for guess, play in itertools.product(range(21), range(6)):
            assert phased.setup.game.parse_action(phased.rules, f"guess {guess}") == guess
            assert phased.setup.game.parse_action(phased.rules, f"play {play}") == 21 + play
            assert joint.setup.game.parse_action(joint.rules, f"guess {guess} play {play}") == 6 * guess + play


def test_joint_moves_are_all_pairs_of_own_guess_and_play_cards():
    table = Table(actions="joint", play_values=(0, 3, 5), play_cards="consumed", goal="hands:9")
    table.put(0, guess_cards=[0, 4, 10], play_cards=[3, 5])
    assert table.moves(0) == [f"guess {g} play {v}" for g in (0, 4, 10) for v in (3, 5)]


def test_joint_moves_for_every_guess_card():
    table = Table(actions="joint", num_players=4)
    for card in range(21):
        table.put(0, guess_cards=[card])
        assert table.moves(0) == [f"guess {card} play {v}" for v in ALL_PLAYS]


def test_reward_margin_is_the_gain_minus_the_mean_of_the_others():
    assert Table(num_players=3).hand([10, 13, 11], [4, 5, 4]) == [-1, 2, -1]
    assert Table(num_players=3).hand([13, 13, 11], [4, 5, 4]) == [1, 1, -2]
    assert Table(num_players=4).hand([0, 5, 6, 7], [0, 0, 0, 0]) == pytest.approx([4, -4 / 3, -4 / 3, -4 / 3])
    assert Table().hand([0, 0], [0, 0]) == [0, 0]


def test_reward_points_is_raw():
    assert Table(num_players=3, reward="points").hand([13, 13, 11], [4, 5, 4]) == [2, 2, 0]


@pytest.mark.parametrize(
    ("guessed", "paid"),
    [
        ([13, 1, 1], [1, -1 / 2, -1 / 2]),
        ([13, 13, 1], [1 / 4, 1 / 4, -1 / 2]),
        ([13, 13, 13], [0, 0, 0]),
        ([1, 1, 1], [0, 0, 0]),
        ([1, 1, 13], [-1 / 2, -1 / 2, 1]),
    ],
)
@mode
def test_reward_win_is_paid_once_at_the_end(mode, guessed, paid):
    table = Table(num_players=3, reward="win", goal=("hands", 2), **mode)
    assert table.hand(guessed, [4, 5, 4]) == [0, 0, 0]
    assert table.hand([7, 8, 9], [0, 0, 0]) == paid


def test_reward_win_of_two_and_of_four():
    assert Table("flip_it-hand-v0", reward="win").hand([3, 4], [2, 1]) == [1, -1]
    one = Table("flip_it-hand-v0", reward="win", num_players=4).hand([3, 4, 4, 4], [2, 1, 0, 0])
    assert one == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    three = Table("flip_it-hand-v0", reward="win", num_players=4).hand([3, 3, 3, 4], [2, 1, 0, 0])
    assert three == pytest.approx([1 / 9, 1 / 9, 1 / 9, -1 / 3])


def test_ends_are_tested_in_order_goal_guess_cards_max_hands():
    def last_hand(**rules):
        table = Table(**rules).put(0, guess_cards=[0])
        table.hand([0, 5], [0, 0])
        return table.end

    assert last_hand(goal="score:4", max_hands=1) == ("goal", [0])
    assert last_hand(goal="hands:1", max_hands=1) == ("goal", [0])
    assert last_hand(goal="guess_cards_gone:0", max_hands=1) == ("goal", [0])
    assert last_hand(goal="score:5", max_hands=1) == ("guess_cards", [0])
    assert last_hand(goal="hands:2", max_hands=1) == ("guess_cards", [0])
    assert last_hand(goal="score:5", max_hands=1, no_guess_cards="continue") == ("max_hands", [0])


def test_whatever_ends_the_game_the_most_points_win():
    table = Table(goal="guess_cards_gone:0").put(0, guess_cards=[5]).put(1, points=7)
    table.hand([5, 6], [2, 3])
    assert table.end == ("goal", [1])
    table = Table().put(0, guess_cards=[5]).put(1, points=1)
    table.hand([5, 6], [2, 3])
    assert table.end == ("guess_cards", [0, 1])


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_end_of_game_infos(api):
    table = Table(api=api, goal=("hands", 2))
    table.hand([8, 5], [4, 4])
    table.hand([7, 5], [0, 5])
    infos = table.infos if api == "parallel" else table.env.infos
    for agent in table.agents:
        info = infos[agent]
        assert info["scores"] == [2, 1]
        assert info["winners"] == [0]
        assert info["end_reason"] == "goal"
        assert info["length"] == 2
        assert info["returns"] == [1.0, -1.0]


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_end_of_game_infos_after_a_forfeit(api):
    table = Table(api=api, illegal_action="forfeit", num_players=3)
    table.hand([7, 0, 6], [0, 0, 0])
    if api == "aec":
        for id in (4, 26, 5):
            table.env.step(id)
        infos, rewards = table.env.infos, table.env.rewards
    else:
        *_, infos = step = table.env.step({"player_0": 4, "player_1": 26, "player_2": 5})
        rewards = step[1]
    assert list(rewards.values()) == [0.5, -1, 0.5]
    assert infos["player_0"]["end_reason"] == "forfeit"
    assert infos["player_0"]["winners"] == [0, 2]
    assert infos["player_0"]["length"] == 1
    assert infos["player_0"]["scores"] == [0, 4, 0]
    assert infos["player_0"]["returns"] == [-1.5, 3, -1.5]
    assert infos["player_1"]["illegal_action"] == 26
    assert "illegal_action" not in infos["player_0"]


def test_capture_bound_of_hands_with_one_winner_for_two_players():
    table = Table("flip_it-capture-v0", goal="score:1000")
    table.hand([5, 10], [5, 0])  # each loses to a 5 the card that the other is to win with
    table.hand([0, 5], [5, 0])
    for hand in range(2, 21):
        assert not table.over
        lowest, highest = table.guess_cards[0][0], table.guess_cards[1][-1]
        if hand % 2:
            table.hand([lowest, 0], [0, 0])
        else:
            table.hand([10, highest], [5, 5])
    assert (table.end[0], table.hands) == ("guess_cards", 21)
    assert table.guess_cards == [[10], []]


# --- The same game, and how it plays ----------------------------------------------------------------------------------


@pytest.mark.parametrize("api", ["aec", "parallel"])
@pytest.mark.parametrize("reward", ["margin", "points", "win"])
@pytest.mark.parametrize("scoring", ["basic", "capture"])
def test_phased_and_joint_are_the_same_game_for_the_same_choices(scoring, reward, api):
    rng = random.Random(f"{scoring} {reward} {api}")
    for players in (2, 3, 4):
        rules = {"num_players": players, "scoring": scoring, "reward": reward, "no_guess_cards": "continue"}
        rules |= {"play_cards": "consumed", "loser_guess": "discard", "guess_max": 6, "goal": "hands:30"}
        phased, joint = Table(api=api, **rules), Table(api=api, actions="joint", **rules)
        while not phased.over:
            guessed = [rng.choice(cards) if cards else None for cards in phased.guess_cards]
            flipped = [rng.choice(cards) for cards in phased.play_cards]
            assert phased.hand(guessed, flipped) == joint.hand(guessed, flipped)
            assert phased.points == joint.points
            assert phased.guess_cards == joint.guess_cards
            assert phased.play_cards == joint.play_cards
            assert phased.win_piles == joint.win_piles
            assert phased.spent == joint.spent
            seen, joint_seen = phased.sees(1), joint.sees(1)
            assert seen.pop("own_guess") is None
            assert (seen.pop("phase"), joint_seen.pop("over")) == ((2, 1) if phased.over else (0, 0))
            assert seen == joint_seen
        assert joint.over
        assert phased.result == joint.result


@pytest.mark.parametrize(("players", "expected"), [(2, 14 / 99), (3, 41 / 576), (4, 223 / 4536)])
@pytest.mark.parametrize("actions", ["phased", "joint"])
def test_uniform_play_earns_what_the_rules_file_says(players, expected, actions):
    rows, hands_a_row = 1000, 1000
    env = flinchenv.make(
        "flip_it-hand-v0", "vector", num_envs=rows, num_players=players, reward="points", actions=actions
    )
    env.reset(seed=0)
    rounds = hands_a_row * (2 if actions == "phased" else 1)
    played = env.rollout(max_steps=rounds, auto_reset=True, seed=1)
    assert played.finished.tolist() == [hands_a_row] * rows
    assert played.decisions.tolist() == [rounds * players] * rows
    returns = played.returns
    a_row = returns.astype(float).mean(1) / hands_a_row
    assert abs(a_row.mean() - expected) < 4 * a_row.std(ddof=1) / math.sqrt(rows)


def test_uniform_play_by_exact_count():
    for players, expected in [(2, 14 / 99), (3, 41 / 576), (4, 223 / 4536)]:
        worth = [SPOTS[players].get(sum(flips), 1) for flips in itertools.product(ALL_PLAYS, repeat=players)]
        assert sum(worth) / len(worth) / (5 * players + 1) == pytest.approx(expected)
