"""Flinch by its rules: the rules F1-F48, the readings FA1-FA37, then the decisions."""

import dataclasses
import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from table_flinch import Table, assert_as_often, assert_share, discards

import flinchenv
from flinchenv.flinch.rules import FlinchRules

CALLS = {"no call", "call stock", "call 1"}
SMALL = {"num_ranks": 5, "series_per_pack": 6, "stock_size": 2, "hand_size": 2, "reserve_piles": 2}
PLAIN = [9, 10, 11, 11, 12]  # a hand that fits nowhere and holds no starter


def challenge(**rules):
    return Table("flinch-challenge-v0", **rules)


def partners(**rules):
    return Table("flinch-partnership-v0", **rules)


def slots(first, last):
    return range(first, last + 1)


def each(players, cards):
    """The same cards for every seat."""
    return dict.fromkeys(range(players), cards)


def silent(table):
    """Nobody calls, until the window is closed."""
    while "no call" in table.moves():
        table.play("no call")
    return table


def play_random(table, rng, actions=10**9):
    """Random legal moves; yields after each."""
    for _ in range(actions):
        if table.over:
            return
        table.play(rng.choice(sorted(table.moves())))
        yield table


# --- The rules --------------------------------------------------------------------------------------------------------


def test_f1_who_has_played_all_ten_stockpile_cards_first_wins():
    table = Table().put(stocks={0: list(range(1, 11))})
    for left in range(9, 0, -1):
        table.play("stock")
        assert len(table.stock(0)) == left
        assert not table.over
    table.play("stock")
    assert table.end == ("goal", [0])
    assert table.phase == "over"


@pytest.mark.parametrize("players", [2, 3, 4, 8])
def test_f2_two_to_eight_play(players):
    table = Table(num_players=players)
    assert table.agents == [f"player_{p}" for p in range(players)]
    assert [len(table.stock(p)) for p in table.seats] == [10] * players
    table.put(phase="open", hands=each(players, [2, 3]))
    for p in range(1, players):
        assert table.play("end turn").asked == p
    with pytest.raises(ValueError, match="num_players"):
        Table(num_players=1)
    with pytest.raises(ValueError, match="num_players"):
        Table(num_players=9)


def test_f3_two_packs_for_more_than_four():
    assert [FlinchRules(num_players=n).deck_size for n in range(2, 9)] == [135, 135, 135, 270, 270, 270, 270]


@pytest.mark.parametrize(("series", "cards"), [(9, 135), (10, 150)])
def test_f4_nine_or_ten_series_of_1_to_15(series, cards):
    table = Table(series_per_pack=series)
    assert table.everything() == Counter(dict.fromkeys(range(1, 16), series))
    assert table.everything().total() == cards


def test_f5_wild_cards_stay_out():
    for seed in range(10):
        assert Table(seed=seed).everything()["W"] == 0
    assert FlinchRules().n_wild == 0


def test_f6_only_ranks_count():
    table = Table().put(hands={0: [6, 6, 6, 9, 9]})
    assert table.moves() == {"discard 6 to 0", "discard 9 to 0"}


def test_f7_cards_come_from_the_stack_in_fives():
    table = Table().put(hands={0: [4]}, centre=[3])
    left = table.stack.total()
    table.play("hand 4")
    assert (table.hand(0).total(), table.stack.total()) == (5, left - 5)


def test_f8_all_cards_are_shuffled():
    env = flinchenv.make("flinch-v0", "vector", num_envs=4000)
    env.reset(seed=0)
    games = env.snapshot().games
    assert_as_often(np.bincount(games["stock_rank"][:, 0], minlength=16)[1:])
    assert_as_often(np.bincount(games["stock_rank"][:, 1], minlength=16)[1:])
    assert_as_often(games["hand"][:, 1].sum(axis=0)[1:])
    both = (games["stock_rank"][:, 0] == 1) & (games["stock_rank"][:, 1] == 1)
    assert_share(both, 9 / 135 * 8 / 134)
    assert len({str(Table(seed=seed).record.hand) for seed in range(30)}) == 30


def test_f9_ten_cards_are_the_stockpile_and_its_top_is_turned_up():
    table = Table(seed=5)
    tops = [table.stock(p)[0] for p in (0, 1)]
    assert table.sees(0)["stock_top"] == tops
    assert table.sees(1)["stock_top"] == tops[::-1]
    assert table.sees(0)["stock_left"] == [10, 10]
    table.put(stocks={0: [4, 12, 9]}, centre=[3]).play("stock")
    assert table.stock(0) == [12, 9]
    assert table.sees(1)["stock_top"][1] == 12


@pytest.mark.parametrize("size", [1, 20])
def test_f9_other_sizes(size):
    table = Table(stock_size=size)
    assert [len(table.stock(p)) for p in (0, 1)] == [size, size]


def test_f9_nobody_knows_what_lies_beneath():
    table = Table()
    looks = [
        table.put(stocks={0: [14, *own], 1: [15, *other]}).looks(0)
        for own, other in [((2, 3), (5, 6)), ((3, 2), (6, 5)), ((7, 7), (8, 9))]
    ]
    assert len(set(looks)) == 1


def test_f10_five_hand_cards_that_only_their_owner_sees():
    table = Table()
    assert [table.hand(p).total() for p in (0, 1)] == [5, 5]
    looks = set()
    for other in ([1, 2, 3, 4, 5], PLAIN):
        table.put(hands={0: [3, 3, 6, 8, 9], 1: other})
        seen = table.sees(0)
        assert {r: seen["hand"][r] for r in range(16) if seen["hand"][r]} == {3: 2, 6: 1, 8: 1, 9: 1}
        assert seen["hand_cards"] == [5, 5]
        looks.add(table.looks(0))
    assert len(looks) == 1


@pytest.mark.parametrize("size", [1, 3])
def test_f10_other_sizes(size):
    table = Table(hand_size=size)
    assert [table.hand(p).total() for p in (0, 1)] == [size, size]
    table.put(hands={0: [4]}, centre=[3]).play("hand 4")
    assert table.hand(0).total() == size


@pytest.mark.parametrize("players", [2, 3, 4])
def test_f11_all_others_are_the_stack(players):
    table = Table(num_players=players)
    assert table.stack.total() == 135 - 15 * players
    seen = table.sees(0)
    assert seen["stack_hundreds"] * 100 + seen["stack_rest"] == 135 - 15 * players
    assert table.everything() == table.deck()


def test_f12_places_are_filled_side_by_side_and_then_any_pile_grows():
    table = Table()
    for k in range(6):
        table.put(hands={0: PLAIN}, reserves={0: [8, 7, 6, 5, 4][:k]})
        assert table.moves() == discards({9, 10, 11, 12}, [k] if k < 5 else slots(0, 4))
    table.play("discard 11 to 3")
    assert table.reserves(0) == [[8], [7], [6], [11, 5], [4]]
    assert table.hand(0) == Counter([9, 10, 11, 12])
    assert table.asked == 1


@pytest.mark.parametrize("piles", [1, 3])
def test_f12_fewer_piles(piles):
    table = Table(reserve_piles=piles).put(hands={0: PLAIN}, reserves={0: [8, 7, 6][:piles]})
    assert table.moves() == discards({9, 10, 11, 12}, slots(0, piles - 1))


def test_f13_an_emptied_place_is_filled_first():
    table = Table().put(hands={0: PLAIN}, reserves={0: [8, 7, 4, 5, 6]}, centre=[3])
    table.play("reserve 2")
    assert table.reserves(0) == [[8], [7], [], [5], [6]]
    table.play("reserve 3")
    assert table.moves() == {"reserve 4"} | discards({9, 10, 11, 12}, [2])
    table.play("discard 9 to 2")
    assert table.reserves(0) == [[8], [7], [9], [], [6]]
    table.put(hands={0: PLAIN}, reserves={0: [8, 7, 9, [], 6]})
    assert table.moves() == discards({9, 10, 11, 12}, [3])


def test_f14_only_the_tops_are_played_and_nobody_looks_beneath():
    table = Table().put(hands={0: PLAIN}, reserves={0: [[8, 4], [7, 1], [4, 12], 6, 13]}, centre=[3])
    assert table.moves() == {"reserve 2"} | discards({9, 10, 11, 12}, slots(0, 4))
    looks = {Table().put(reserves={0: [[8, x]], 1: [[9, x, 3]]}).looks(0) for x in (4, 12)}
    assert len(looks) == 1
    assert Table().put(reserves={0: [[8, 4], 7]}).sees(1)["reserve_top"][1] == [8, 7, None, None, None]
    assert Table().put(reserves={0: [[8, 4], 7]}).sees(1)["reserve_cards"][1] == [2, 1, 0, 0, 0]


def test_f15_no_card_moves_between_reserve_piles():
    table = Table().put(hands={0: [12]}, reserves={0: [[4, 9], [8, 3]]}, centre=[3, 7])
    assert table.moves() == {"reserve 0", "reserve 1", "discard 12 to 2"}
    table.play("reserve 0")
    assert table.reserves(0) == [[9], [8, 3], [], [], []]
    assert table.centre == [(1, 4), (1, 7)]


@pytest.mark.parametrize("mode", ["challenge", "honour"])
def test_f16_a_1_is_never_put_on_a_reserve_pile(mode):
    table = Table(duty_mode=mode).put(hands={0: [1, 9, 10, 11, 12]})
    assert table.moves() == {"hand 1"} | discards({9, 10, 11, 12}, [0])


def test_f17_piles_are_used_up_and_started_again():
    table = Table(hand_size=1)
    table.put(hands={0: [9], 1: [10]}, reserves={0: [4]}, centre=[3])
    for rank in (4, 5):
        table.play("reserve 0")
        assert table.reserves(0)[0] == []
        table.play("discard 9 to 0")
        assert table.reserves(0)[0] == [9]
        table.put(hands={0: [9], 1: [10]}, reserves={0: [rank + 1]}, centre=[rank])


def test_f18_built_from_1_to_15_and_taken_away():
    table = Table().put(hands={0: [13, 14, 15, 12, 12]}, stocks={0: [11, 9]}, centre=[12, 4])
    table.play("hand 13", "hand 14")
    assert table.removed[0] == 0
    assert table.centre == [(1, 4), (1, 14)]
    table.play("hand 15")
    assert table.centre == [(1, 4)]
    assert table.removed == (1, Counter(range(1, 16)))
    assert table.sees(1)["removed"] == 1
    assert table.everything() == table.deck()


def test_f18_piles_are_common_and_a_1_starts_another_without_limit():
    table = Table().put(hands={0: [1, 1, 1, 1, 1]}, centre=[1, 1, 1, 2])
    for k in range(4, 9):
        table.play("hand 1")
        assert len(table.centre) == k + 1
    assert table.centre.count((1, 1)) == 8
    table.put(centre=[3], hands={1: [4, 9]}, turn=1).play("hand 4")
    assert table.centre == [(1, 4)]


def test_f18_other_last_ranks():
    table = Table(num_ranks=4, series_per_pack=10).put(hands={0: [4, 3]}, centre=[3]).play("hand 4")
    assert (table.centre, table.removed[0]) == ([], 1)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_f19_left_of_the_dealer_begins(players):
    table = Table(num_players=players)
    assert (table.asked, table.turn, table.phase) == (0, 0, "open")
    for p in range(players):
        assert table.put(phase="open", turn=p).asked == p
        assert table.put(phase="open", turn=p, hands={p: [1]}).moves() == {"hand 1"}


def test_f20_stock_1s_are_played_one_after_the_other():
    table = Table().put(phase="open", stocks={0: [1, 1, 7]}, hands={0: [1, *PLAIN[1:]]})
    assert table.moves() == {"stock"}
    table.play("stock")
    assert (table.stock(0), table.centre, table.moves()) == ([1, 7], [(1, 1)], {"stock"})
    table.play("stock")
    assert (table.stock(0), table.centre) == ([7], [(1, 1), (1, 1)])
    assert table.asked == 0


def test_f21_otherwise_a_hand_1_and_a_2_from_hand_or_stock():
    table = Table().put(phase="open", stocks={0: [7, 9]}, hands={0: [1, 2, 3, 11, 12]})
    assert table.moves() == {"hand 1"}
    table.play("hand 1")
    assert table.moves() == {"hand 2"} | discards({2, 3, 11, 12}, [0])
    table.play("hand 2", "hand 3")
    assert (table.centre, table.asked) == ([(1, 3)], 0)


def test_f21_hand_1_then_the_stock_2_is_forced():
    table = Table().put(phase="open", stocks={0: [2, 9]}, hands={0: [1, 2, 3, 11, 12]})
    table.play("hand 1")
    assert table.moves() == {"stock"}
    table.play("stock")
    assert table.centre == [(1, 2)]


def test_f22_the_reveal_round():
    table = Table(num_players=3, opening="encyclopedia")
    table.put(
        phase="open", stocks={0: [9, 1], 1: [1, 1, 8], 2: [7, 7]}, hands={p: [1, 2, 11, 11, 12] for p in (0, 1, 2)}
    )
    assert table.moves() == {"end turn"}, "hand 1s wait"
    table.play("end turn")
    assert table.moves() == {"stock"}
    table.play("stock", "stock")
    assert table.moves() == {"end turn"}, "no 2 is played in this round"
    table.play("end turn")
    assert (table.asked, table.phase) == (2, "open")
    table.play("end turn")
    assert (table.asked, table.phase, table.centre) == (0, "play", [(1, 1), (1, 1)])
    assert table.moves() == {"hand 1"}


def test_f22_discards_come_from_the_first_turn_on():
    table = Table(opening="encyclopedia").put(phase="open", hands={0: PLAIN})
    table.play("end turn", "end turn")
    assert (table.asked, table.phase, table.centre) == (0, "play", [])
    assert table.moves() == discards({9, 10, 11, 12}, [0])
    table.play("discard 9 to 0")
    assert table.reserves(0)[0] == [9]


def no_1_in_hand(table):
    return all(1 not in table.hand(p) for p in table.seats)


def test_f23_nobody_has_a_1_all_lay_five_cards_down_and_draw():
    table = Table(num_players=3)
    hands = {0: [12, 2, 9, 3, 3], 1: PLAIN, 2: [2, 2, 2, 2, 8]}
    table.put(phase="open", hands=hands)
    left = table.stack.total()
    assert table.moves() == {"end turn"}
    table.play("end turn", "end turn", "end turn")
    assert [table.reserves(p) for p in table.seats] == [[[c] for c in sorted(hands[p])] for p in table.seats]
    assert [table.hand(p).total() for p in table.seats] == [5, 5, 5]
    assert table.stack.total() == left - 15
    assert (table.asked, table.phase) == (0, "open")
    assert table.everything() == table.deck()


def test_f23_the_second_time_they_place_them_as_they_wish():
    table = Table().put(phase="open", hands={0: PLAIN, 1: PLAIN})
    table.play("end turn").play_where("end turn", no_1_in_hand)
    table.play("end turn", "end turn")
    assert (table.asked, table.phase) == (0, "laydown")
    before = table.reserves(0)
    cards = sorted(table.hand(0).elements())
    assert table.moves() == discards(cards, slots(0, 4))
    for card in cards:
        table.play(f"discard {card} to 0")
    assert table.reserves(0) == [[*reversed(cards), *before[0]], *before[1:]]
    assert table.asked == 1
    cards = sorted(table.hand(1).elements())
    for j, card in enumerate(cards[:4]):
        table.play(f"discard {card} to {j}")
    assert table.hand(0).total() == 0, "hands are drawn when all have laid theirs down"
    table.play(f"discard {cards[4]} to 4")
    assert [table.hand(p).total() for p in (0, 1)] == [5, 5]
    assert [len(pile) for pile in table.reserves(1)] == [2] * 5
    assert (table.asked, table.phase) == (0, "open")


def test_f24_a_card_goes_to_a_reserve_pile_only_after_the_first_1():
    table = Table().put(phase="open", hands={0: PLAIN, 1: [1, *PLAIN[1:]]}).play("end turn")
    assert table.reserves(0) == [[]] * 5
    assert table.hand(0).total() == 5
    table.play("hand 1")
    assert table.moves() == discards({10, 11, 12}, [0])
    table.play("discard 10 to 0")
    assert table.moves() == discards({9, 10, 11, 12}, [0])


def test_f25_the_stock_card_comes_first_at_every_moment():
    table = Table().put(stocks={0: [4, 6, 9]}, hands={0: [1, 4, 5, 12, 12]}, reserves={0: [4]}, centre=[3])
    assert table.moves() == {"stock"}
    table.play("stock").play("hand 1").play("hand 5")
    assert table.moves() == {"stock"}
    table.play("stock")
    assert table.stock(0) == [9]


def test_f26_then_all_1s_then_what_one_likes():
    table = Table().put(stocks={0: [9, 9]}, hands={0: [1, 1, 4, 12, 12]}, reserves={0: [4]}, centre=[3])
    for _ in range(2):
        assert table.moves() == {"hand 1"}
        table.play("hand 1")
    assert table.moves() == {"hand 4", "reserve 0"} | discards({4, 12}, [1])


def test_f27_reserve_tops_are_played_after_the_1s_and_never_must():
    table = Table().put(hands={0: [1, *PLAIN[1:]]}, reserves={0: [[4, 5], 8]}, centre=[3])
    assert table.moves() == {"hand 1"}
    table.play("hand 1")
    assert table.moves() == {"reserve 0"} | discards({10, 11, 12}, [2])
    table.play("reserve 0", "reserve 0")
    assert table.centre == [(1, 1), (1, 5)]
    table.put(hands={0: PLAIN}, reserves={0: [4]}, centre=[3]).play("discard 9 to 1")
    assert table.reserves(0)[0] == [4]


def test_f28_any_number_of_cards_from_hand_and_reserve():
    table = Table().put(hands={0: [4, 6, 8, 12, 12]}, reserves={0: [[5, 7], 9]}, centre=[3])
    table.play("hand 4", "reserve 0", "hand 6", "reserve 0", "hand 8", "reserve 1")
    assert (table.centre, table.asked, table.turns) == ([(1, 9)], 0, 0)


def test_f29_an_empty_hand_draws_five_and_goes_on():
    table = Table().put(hands={0: [4, 5]}, centre=[3]).play("hand 4")
    assert table.hand(0).total() == 1
    table.play("hand 5")
    assert (table.hand(0).total(), table.asked) == (5, 0)
    for cards in itertools.count():
        if cards == 3 or not any(move.startswith("hand") for move in table.moves()):
            break
        table.play(min(move for move in table.moves() if move.startswith("hand")))
    table.put(hands={0: [4, 5], 1: []}, stack=[2, 2, 6, 7, 8], centre=[3]).play("hand 4", "hand 5", "hand 6", "hand 7")
    assert table.hand(0) == Counter([2, 2, 8])


def test_f30_one_hand_card_to_a_reserve_pile_ends_the_turn():
    table = Table().put(hands={0: [4, *PLAIN[1:]]}, centre=[3])
    table.play("discard 4 to 0")
    assert (table.reserves(0)[0], table.asked, table.turns) == ([4], 1, 1)
    assert table.hand(0).total() == 4


def test_f31_piles_in_reverse_sequence_are_played_off_in_one_run():
    table = Table().put(hands={0: [12, 12]}, reserves={0: [[4, 5, 6, 7]]}, centre=[3])
    table.play(*["reserve 0"] * 4)
    assert table.centre == [(1, 7)]


def test_f32_piles_taken_away_become_the_new_stack():
    table = Table().put(hands={0: [4]}, centre=[3], removed=2, stack=[])
    table.play("hand 4")
    assert table.removed[0] == 0
    assert table.stack.total() == 25
    assert table.stack + table.hand(0) == Counter(dict.fromkeys(range(1, 16), 2))
    assert table.everything() == table.deck()


def test_f32_every_card_comes_as_often():
    table = Table().put(hands={0: [4]}, centre=[3], removed=1, stack=[])
    hands = table.after("hand 4", 3000)["hand"][:, 0]
    assert_as_often(hands.sum(axis=0)[1:])


def skipped_stock(**rules):
    """Seat 0 has announced a discard while its Stockpile's 4 fitted."""
    table = challenge(**rules)
    table.put(stocks={0: [4, 9, 8], 1: [7, 6, 5]}, hands={0: PLAIN}, centre=[3])
    return table.play("discard 9 to 0")


def kept_1(**rules):
    """Seat 0 has announced a discard with a 1 in its hand."""
    table = challenge(**rules)
    table.put(stocks={0: [4, 9, 8], 1: [7, 6, 5]}, hands={0: [1, *PLAIN[1:]]}, centre=[8])
    return table.play("discard 10 to 0")


def innocent(**rules):
    """Seat 0 has announced a discard, and owed nothing."""
    table = challenge(**rules)
    table.put(stocks={0: [4, 9, 8], 1: [7, 6, 5]}, hands={0: PLAIN, 1: PLAIN}, centre=[8])
    return table.play("discard 11 to 0")


def test_f33_a_playable_stock_card_passed_over_may_be_called():
    table = challenge().put(stocks={0: [4, 9, 8]}, hands={0: PLAIN}, centre=[3])
    assert table.moves() == {"stock"} | discards({9, 10, 11, 12}, [0])
    table.play("discard 9 to 0")
    assert (table.asked, table.turn, table.phase) == (1, 0, "challenge")
    assert table.moves() == CALLS


def test_f34_the_top_of_the_callers_stock_goes_under_the_offenders():
    table = skipped_stock().play("call stock")
    assert (table.stock(0), table.stock(1)) == ([4, 9, 8, 7], [6, 5])
    assert (table.turn, table.asked, table.phase) == (1, 1, "play")


def test_f35_a_1_kept_back_rightly_called():
    table = kept_1().play("call 1")
    assert (table.stock(0), table.stock(1), table.turn) == ([4, 9, 8, 7], [6, 5], 1)


def test_f35_a_wrong_call_costs_the_caller_the_same():
    table = innocent().play("call 1")
    assert (table.stock(0), table.stock(1)) == ([9, 8], [7, 6, 5, 4])
    assert table.reserves(0)[0] == [11]


@pytest.mark.parametrize(("start", "call"), [(skipped_stock, "call stock"), (kept_1, "call 1")])
def test_f36_the_turn_ends_without_a_discard(start, call):
    table = start()
    hand = table.hand(0)
    table.play(call)
    assert table.reserves(0) == [[]] * 5
    assert table.hand(0) == hand
    assert (table.turn, table.turns) == (1, 1)


def four_callers(turn, **rules):
    table = challenge(num_players=4, **rules)
    table.put(stocks={p: [8, 7, 6] for p in range(4)} | {turn: [4, 9, 9]}, hands={turn: PLAIN}, centre=[3], turn=turn)
    return table.play("discard 9 to 0")


@pytest.mark.parametrize("turn", range(4))
def test_f37_the_nearest_to_the_left_gets_the_credit(turn):
    order = [(turn + k) % 4 for k in (1, 2, 3)]
    table = four_callers(turn)
    for p in order[:2]:
        assert table.asked == p
        table.play("no call")
    assert table.asked == order[2]
    for k in range(3):
        table = four_callers(turn).play(*["no call"] * k, "call stock")
        assert table.turn == order[0], "nobody after the first caller is asked"
        assert [len(table.stock(p)) for p in order] == [2 if j == k else 3 for j in range(3)]
        assert len(table.stock(turn)) == 4


def test_f37_or_the_penalty():
    table = four_callers(1).play("no call", "call 1")
    assert [len(table.stock(p)) for p in range(4)] == [3, 2, 3, 4]
    assert table.turn == 2


def exposing(**rules):
    return Table("flinch-exposure-v0", **{"p_expose": 0.0, **rules})


def test_f38_a_card_once_shown_must_be_played_or_goes_back_and_ends_the_turn():
    table = exposing().put(hands={0: [4, 9, 9, 11, 12]}, centre=[3])
    assert {"hand 4", "hand 9", "hand 11", "hand 12"} <= table.moves()
    table.play("hand 9")
    silent(table)
    assert (table.turn, table.turns) == (1, 1)
    assert table.hand(0) == Counter([4, 9, 9, 11, 12])
    assert table.reserves(0) == [[]] * 5
    assert table.sees(1)["exposed"][1][9] == 1
    table = exposing().put(hands={0: [4, 9, 9, 11, 12]}, centre=[3]).play("hand 4")
    assert (table.centre, table.turn) == ([(1, 4)], 0)


@pytest.mark.parametrize("mode", ["enforced", "challenge", "honour"])
def test_f38_in_every_mode_and_a_right_call_leaves_the_card_in_hand(mode):
    table = exposing(duty_mode=mode).put(hands={0: [9, 9, 12], 1: [9, 9]}).play("hand 9")
    assert (table.phase, table.sees(1)["exposed"][1][9]) == ("challenge" if mode == "challenge" else "play", 1)
    silent(table)
    assert (table.turn, table.hand(0), table.reserves(0)[0]) == (1, Counter([9, 9, 12]), [])
    table = exposing().put(hands={0: [1, 9, 12]}).play("hand 9", "call 1")
    assert (table.turn, table.hand(0), table.sees(1)["exposed"][1][9]) == (1, Counter([1, 9, 12]), 1)


def shown_out_of_turn(**rules):
    return Table(**{"p_expose": 0.5, **rules})


def test_f39_a_card_shown_out_of_turn_is_played_first():
    table = shown_out_of_turn()
    table.put(stocks={0: [4, 9]}, hands={0: [1, 4, 12, 12, 12]}, centre=[3], due={0: 4})
    assert table.moves() == {"hand 4"}
    table.play("hand 4")
    assert table.moves() == {"hand 1"}


def test_f39_if_it_does_not_fit_the_turn_is_passed():
    table = shown_out_of_turn()
    table.put(stocks={0: [4, 9]}, hands={0: [1, 4, 8, 12, 12]}, centre=[3], due={0: 8})
    assert table.moves() == discards({4, 8, 12}, [0])
    table.play("discard 12 to 0")
    assert table.turn == 1


def test_f39_the_duty_is_over_with_that_turn():
    table = shown_out_of_turn(offturn_exposure_discard=False)
    table.put(hands={0: [8, 12], 1: [9, 12]}, due={0: 8}).play_where("end turn", lambda t: t.sees(0)["due"][1] is None)
    assert table.sees(0)["due"] == [None, None]
    assert table.sees(1)["exposed"][1][8] == 1


def blocked_game(holders, turn=3, idle=3, **rules):
    """Seat `turn` is about to end the last of n turns without a play; `holders` have a hand 4 that fits."""
    table = Table(num_players=4, packs=2, **rules)
    hands = {p: [4 if p in holders else 9, 9, 9] for p in range(4)}
    return table.put(hands=hands, centre=[3, 3], stack=[], turn=turn, idle_turns=idle)


def end_turn(table):
    """A 9 is discarded, and nobody calls."""
    table.play(min(move for move in table.moves() if move.startswith("discard 9")))
    return silent(table)


@pytest.mark.parametrize("mode", ["enforced", "challenge", "honour"])
@pytest.mark.parametrize(("holders", "first"), [((1, 2, 3), 1), ((2,), 2), ((0, 3), 0), ((2, 3), 2), ((3,), 3)])
def test_f40_the_first_from_the_dealers_left_who_can_play_must(holders, first, mode):
    table = blocked_game(holders, duty_mode=mode)
    end_turn(table)
    assert (table.turn, table.forced) == (first, True)
    assert table.moves() == {"hand 4"}
    assert table.sees(0)["forced"] == 1


def both_ends(**rules):
    return Table("flinch-both_ends-v0", **rules)


def eights(**rules):
    return Table("flinch-eights-v0", **rules)


def test_f41_up_on_the_1s_and_down_on_the_15s():
    table = both_ends().put(hands={0: [15, 1, 14, 2, 8]}, stocks={0: [7, 7]})
    assert table.moves() == {"hand 15 down", "hand 1"}
    table.play("hand 15 down", "hand 1")
    assert table.centre == [(1, 1), (15, 15)]
    assert table.moves() == {"hand 14 down", "hand 2"} | discards({2, 8, 14}, [0])
    table.play("hand 14 down", "hand 2")
    assert table.centre == [(1, 2), (14, 15)]


def test_f41_both_kinds_are_complete_with_fifteen_cards():
    table = both_ends().put(hands={0: [15, 8]}, centre=[(1, 14)]).play("hand 15")
    assert (table.centre, table.removed) == ([], (1, Counter(range(1, 16))))
    table = both_ends().put(hands={0: [1, 8]}, centre=[(2, 15)]).play("hand 1 down")
    assert (table.centre, table.removed) == ([], (1, Counter(range(1, 16))))


def test_f41_stock_and_reserve_go_down_too():
    table = both_ends().put(stocks={0: [5, 7, 7]}, hands={0: [8, 8]}, reserves={0: [4]}, centre=[(6, 15)])
    assert table.moves() == {"stock down"}
    table.play("stock down")
    assert table.moves() == {"reserve 0 down", "discard 8 to 1"}
    table.play("reserve 0 down")
    assert table.centre == [(4, 15)]


def test_f42_from_each_8_up_and_down():
    table = eights().put(hands={0: [8, 9, 7, 10, 1]}, stocks={0: [3, 3]})
    assert table.moves() == {"hand 8"}
    table.play("hand 8")
    assert table.moves() == {"hand 9", "hand 7"} | discards({1, 7, 9, 10}, [0])
    table.play("hand 9", "hand 7", "hand 10")
    assert table.centre == [(7, 10)]
    assert table.moves() == {"discard 1 to 0"}, "a 1 is no starter here"


def test_f42_a_second_8_starts_another_pile():
    table = eights().put(hands={0: [8, 3]}, centre=[(5, 11)]).play("hand 8")
    assert table.centre == [(5, 11), (8, 8)]


@pytest.mark.parametrize("id", ["flinch-both_ends-v0", "flinch-eights-v0"])
def test_f43_all_other_rules_apply(id):
    starters, centre = ([1, 15], [(1, 3)]) if "both" in id else ([8], [(5, 8)])
    fits = 4
    table = Table(id).put(
        stocks={0: [fits, 6, 6]}, hands={0: [*starters, fits, 11, 11]}, reserves={0: [10]}, centre=centre
    )
    assert table.moves() == {"stock"}
    table.play("stock")
    assert {name.split()[1] for name in table.moves()} == {str(card) for card in starters}
    table = Table(id).put(phase="open", hands={0: [6, 6], 1: [6, 6]}).play("end turn", "end turn")
    assert table.reserves(0) == [[6], [6], [], [], []]
    table = Table(id, duty_mode="challenge").put(hands={0: [*starters, 11]}, stocks={0: [6, 6]})
    table.play("discard 11 to 0", "call 1")
    assert len(table.stock(0)) == 3


def test_f44_the_partners_stock_and_reserve_piles_are_played_from_too():
    table = partners().put(stocks={0: [9, 9], 2: [4, 8]}, hands={0: [7, 7]}, centre=[3])
    assert table.moves() == {"partner stock"}
    table.play("partner stock")
    assert (table.stock(2), table.centre, table.turn) == ([8], [(1, 4)], 0)
    table.put(hands={0: [7, 7]}, reserves={0: [[4, 9]], 2: [8, [4, 5]], 1: [4], 3: [4]}, centre=[3])
    assert table.moves() == {"reserve 0", "partner reserve 1", "discard 7 to 1"}
    table.play("partner reserve 1", "partner reserve 1")
    assert (table.reserves(2), table.centre) == ([[8], [], [], [], []], [(1, 5)])


def test_f44_the_own_stock_comes_before_the_partners():
    table = partners().put(stocks={0: [4, 9], 2: [4, 9]}, hands={0: [1, 7]}, centre=[3, 3])
    assert table.moves() == {"stock"}
    table.play("stock")
    assert table.moves() == {"partner stock"}
    table.play("partner stock")
    assert table.moves() == {"hand 1"}


def test_f44_the_opponents_piles_are_not():
    table = partners().put(stocks={1: [4, 9], 3: [4, 9]}, hands={0: [7, 7]}, reserves={1: [4], 3: [4]}, centre=[3])
    assert table.moves() == {"discard 7 to 0"}


def test_f45_both_go_on_with_the_other_stock_and_win_when_it_is_empty():
    table = partners().put(stocks={0: [4], 2: [5, 9]}, hands={0: [7, 7], 2: [7, 9]}, centre=[3])
    table.play("stock")
    assert not table.over
    assert table.stock(0) == []
    assert table.moves() == {"partner stock"}
    table.play("partner stock")
    assert (table.over, table.stock(2)) == (False, [9])
    table.put(stocks={0: [], 2: [4]}, hands={2: [7, 7]}, centre=[3], turn=2).play("stock")
    assert table.end == ("goal", [0, 2])
    table = partners().put(stocks={0: [], 2: [4]}, hands={0: [7, 7]}, centre=[3]).play("partner stock")
    assert table.end == ("goal", [0, 2])


@pytest.mark.parametrize(("own", "mates", "hand", "call"), [
    ([4, 9], [8, 8], [7, 7], "call stock"),
    ([9, 9], [4, 8], [7, 7], "call stock"),
    ([9, 9], [8, 8], [1, 7], "call 1"),
])  # fmt: skip
def test_f46_what_partners_are_called_for(own, mates, hand, call):
    table = partners(duty_mode="challenge").put(stocks={0: own, 2: mates}, hands={0: hand}, centre=[3])
    table.play("discard 7 to 0", call)
    assert (len(table.stock(0)), table.turn) == (3, 1)


def test_f46_playing_the_partners_stock_before_the_own_is_one_too():
    for moves, right in ((["partner stock"], True), (["stock", "partner stock"], False)):
        table = partners(duty_mode="challenge")
        table.put(stocks={0: [4, 9], 2: [4, 9]}, hands={0: [7, 7]}, centre=[3, 3])
        table.play(*moves, "discard 7 to 0", "call stock")
        assert (table.turn == 1 and len(table.stock(1)) == 9) == right


def test_f47_wilds_are_a_house_rule():
    table = Table("flinch-wild-v0")
    assert table.everything() == Counter({**dict.fromkeys(range(1, 16), 9), "W": 9})
    assert table.everything().total() == 144


def test_f48_the_game_ends_the_moment_the_last_card_is_played():
    table = challenge(challenge_window="every_action")
    table.put(stocks={0: [4]}, hands={0: [1, 5]}, centre=[3]).play("stock")
    assert table.end == ("goal", [0])
    assert table.moves(0) == table.moves(1) == set()
    assert set(table.env.terminations.values()) == {True}


# --- The readings -----------------------------------------------------------------------------------------------------


def test_fa1_packs():
    for packs, cards in (("auto", [135] * 3 + [270] * 4), (1, [135] * 7), (2, [270] * 7)):
        assert [FlinchRules(num_players=n, packs=packs).deck_size for n in range(2, 9)] == cards
    for packs, copies in (("auto", 9), (1, 9), (2, 18)):
        assert Table(packs=packs).everything() == Counter(dict.fromkeys(range(1, 16), copies))
    assert Table(num_players=8, packs=1).stack.total() == 15


@pytest.mark.parametrize("series", [3, 20])
def test_fa2_any_number_of_series(series):
    assert Table(series_per_pack=series).everything() == Counter(dict.fromkeys(range(1, 16), series))


def test_fa2_144_cards_are_135_and_nine_wilds():
    assert Table("flinch-wild-v0").deck().total() == 144
    assert FlinchRules(n_wild=27).deck_size == 162


def test_fa3_a_pile_leaves_when_it_has_15_cards_and_15_piles_do_not():
    table = Table(packs=2).put(centre=[1] * 14, hands={0: [1, 9]}).play("hand 1")
    assert table.centre == [(1, 1)] * 15
    assert table.removed[0] == 0


def test_fa4_a_hand_1_starts_a_pile():
    table = Table().put(centre=[1], hands={0: [1, 9]}).play("hand 1")
    assert table.centre == [(1, 1), (1, 1)]


def test_fa5_official_seats_pass_until_one_with_a_1_takes_an_ordinary_turn():
    table = Table(num_players=3)
    table.put(phase="open", hands={0: PLAIN, 1: [1, 2, *PLAIN[:3]], 2: [1, *PLAIN[1:]]})
    assert table.moves() == {"end turn"}
    table.play("end turn")
    assert (table.asked, table.phase, table.turns) == (1, "open", 1)
    assert table.moves() == {"hand 1"}
    table.play("hand 1")
    assert (table.phase, table.sees(2)["opened"]) == ("play", 1)
    table.play("hand 2", "discard 9 to 0")
    assert (table.asked, table.moves()) == (2, {"hand 1"})
    table.play("hand 1", "discard 12 to 0")
    assert (table.asked, table.phase) == (0, "play")


def test_fa5_official_n_passes_in_a_row_then_again_from_seat_0():
    table = Table(num_players=3, first_laydown="free")
    table.put(phase="open", turn=2, passes=2, hands=each(3, PLAIN)).play("end turn")
    assert (table.phase, table.asked) == ("laydown", 0)


def test_fa5_sequential_each_lays_down_on_its_own_turn():
    table = Table(num_players=3, opening="sequential")
    table.put(phase="open", hands=each(3, PLAIN))
    table.play_where("end turn", lambda t: t.hand(0)[1] > 0)
    assert table.reserves(0) == [[card] for card in PLAIN]
    assert (table.reserves(1), table.hand(0).total()) == ([[]] * 5, 5)
    assert (table.asked, table.phase, table.turns) == (1, "open", 1), "a 1 just drawn waits"
    table.play("end turn").play("end turn")
    assert (table.asked, table.phase) == (0, "open")
    assert {"hand 1", "stock"} & table.moves()


def test_fa5_sequential_a_second_lay_down_is_placed_at_will():
    table = Table(opening="sequential").put(phase="open", hands={0: PLAIN, 1: PLAIN})
    table.play_where("end turn", lambda t: t.hand(0)[1] == 0).play_where("end turn", lambda t: t.hand(0)[1] == 0)
    table.play("end turn")
    assert (table.asked, table.phase) == (0, "laydown")
    for card in sorted(table.hand(0).elements()):
        table.play(f"discard {card} to 3")
    assert (len(table.reserves(0)[3]), table.asked, table.phase) == (6, 1, "open")


@pytest.mark.parametrize("opening", ["official", "sequential", "encyclopedia"])
def test_fa5_the_opening_is_played_and_reset_never_ends_a_game(opening):
    for seed in range(40):
        table = Table("flinch-tiny-v0", seed=seed, opening=opening)
        assert (table.over, table.phase, table.asked) == (False, "open", 0)
        if table.stock(0) == [1]:
            assert table.moves() == {"stock"}
            assert table.play("stock").end == ("goal", [0])
            break
    else:
        raise AssertionError("no such deal")


def test_fa5_encyclopedia_later_tops_show_and_hands_are_not_played_from():
    table = Table(opening="encyclopedia").put(phase="open", stocks={0: [9, 9], 1: [1, 9]}, hands={0: [1, *PLAIN[1:]]})
    assert table.sees(0)["stock_top"] == [9, 1]
    assert table.moves() == {"end turn"}
    table.play("end turn", "stock", "end turn")
    assert (table.asked, table.phase, table.moves()) == (0, "play", {"hand 1"})


def test_fa6_spread_ascending_wilds_last_without_a_decision():
    table = Table("flinch-wild-v0").put(phase="open", hands={0: ["W", 2, 12, "W", 2], 1: PLAIN})
    table.play("end turn", "end turn")
    assert table.reserves(0) == [[2], [2], [12], ["W"], ["W"]]
    assert (table.phase, table.asked) == ("open", 0)


def test_fa6_free_asks_from_the_first_time_on():
    table = Table(first_laydown="free").put(phase="open", hands={0: PLAIN, 1: PLAIN}).play("end turn", "end turn")
    assert (table.phase, table.asked) == ("laydown", 0)
    assert table.moves() == discards({9, 10, 11, 12}, [0])
    table.play("discard 10 to 0")
    assert table.sees(1)["reserve_top"][1][0] == 10
    assert table.moves() == discards({9, 11, 12}, [0, 1])
    table.play("discard 11 to 1")
    assert table.moves() == discards({9, 11, 12}, [0, 1, 2]), "a pile may grow beside an empty place"
    table.play("discard 9 to 0", "discard 11 to 0", "discard 12 to 0")
    assert table.reserves(0) == [[12, 11, 9, 10], [11], [], [], []]
    assert table.asked == 1


def test_fa6_who_has_no_hand_is_not_asked():
    table = Table(first_laydown="free").put(phase="open", turn=1, passes=1, hands={0: [], 1: [9, 9]})
    table.play("end turn")
    assert (table.phase, table.asked) == ("laydown", 1)


def test_fa6_spread_asks_too_where_places_are_too_few():
    table = Table(reserve_piles=4).put(phase="open", hands={0: PLAIN, 1: PLAIN}).play("end turn", "end turn")
    assert (table.phase, table.asked, table.moves()) == ("laydown", 0, discards({9, 10, 11, 12}, [0]))


@pytest.mark.parametrize("opening", ["official", "sequential"])
def test_fa7_after_a_lay_down(opening):
    table = Table(num_players=3, opening=opening)
    table.put(phase="open", turn=2, passes=2, hands=each(3, PLAIN)).play("end turn")
    assert (table.asked, table.phase) == (0, "open")
    table.put(phase="open", turn=1, hands=each(3, PLAIN)).play("end turn")
    assert (table.asked, table.phase) == (2, "open")


def test_fa8_who_cannot_redraw_gets_no_hand():
    table = Table(num_players=3).put(phase="open", turn=2, passes=2, hands=each(3, PLAIN), stack=[2] * 7)
    table.play("end turn")
    assert [table.hand(p).total() for p in range(3)] == [5, 2, 0]
    assert (table.asked, table.phase) == (0, "open")


def test_fa8_nobody_could_redraw_and_ordinary_turns_start():
    table = Table("flinch-wild-v0").put(phase="open", turn=1, passes=1, hands={0: ["W", 9], 1: [9]}, stack=[])
    table.play("end turn")
    assert (table.over, table.asked, table.phase) == (False, 0, "play")
    assert table.moves() == {"reserve 1", "end turn"}


def test_fa8_in_a_sequential_opening():
    table = wild(opening="sequential").put(phase="open", hands={0: ["W", 9], 1: [9]}, stack=[]).play("end turn")
    assert (table.asked, table.phase, table.hand(0).total()) == (1, "open", 0)
    table.play("end turn")
    assert (table.asked, table.phase) == (0, "play")


def test_fa8_or_the_game_is_dead():
    table = Table("flinch-wild-v0", first_laydown="free")
    table.put(phase="open", turn=1, passes=1, hands={0: ["W", 9], 1: [9]}, reserves={1: [13]}, stack=[])
    table.play("end turn", "discard wild to 0", "discard 9 to 0")
    assert not table.over
    table.play("discard 9 to 1")
    assert table.end == ("dead", [])


@pytest.mark.parametrize("mode", ["enforced", "challenge", "honour"])
def test_fa8b_the_mask_enforces_the_opening_in_every_mode(mode):
    table = partners(duty_mode=mode)
    starters = {0: [1, 9], 2: [1, 9]}
    assert table.put(phase="open", stocks=starters, hands={0: [1, 9]}).moves() == {"stock"}
    assert table.put(phase="open", stocks={2: [1, 9]}, hands={0: [1, 9]}).moves() == {"partner stock"}
    assert table.put(phase="open", hands={0: [1, 9]}).moves() == {"hand 1"}
    assert table.put(phase="open", hands={0: PLAIN}).moves() == {"end turn"}
    table.play("end turn")
    assert (table.asked, table.phase) == (1, "open"), "no window opens"


def test_fa8b_partners_open_with_the_others_stock():
    table = partners().put(phase="open", stocks={2: [1, 9]}, hands={0: PLAIN}).play("partner stock")
    assert (table.stock(2), table.phase, table.turn) == ([9], "play", 0)


def test_fa8b_no_window_after_the_play_that_opens():
    table = challenge(challenge_window="every_action")
    table.put(phase="open", stocks={0: [2, 9]}, hands={0: [1, 1, 12]}).play("hand 1")
    assert (table.phase, table.moves()) == ("play", {"stock", "hand 1", "discard 12 to 0"})
    assert table.play("discard 12 to 0").moves() == CALLS
    table.play("call stock")
    assert table.turn == 1, "the duties of an ordinary turn"


def test_fa8b_no_window_in_a_lay_down_and_a_laid_hand_holds_no_starter():
    table = challenge(challenge_window="every_action", first_laydown="free")
    table.put(phase="open", hands={0: PLAIN, 1: PLAIN}).play("end turn", "end turn")
    for card in PLAIN + PLAIN:
        assert table.phase == "laydown"
        table.play(f"discard {card} to 0")
    assert table.phase == "open"


@pytest.mark.parametrize(("duty", "start", "later"), [
    ("always", {"stock"}, {"stock"}),
    ("turn_start", {"stock"}, None),
    ("none", None, None),
])  # fmt: skip
def test_fa9_stock_duty(duty, start, later):
    free = {"stock", "hand 4"} | discards({4, 11, 12}, [0])
    table = Table(stock_duty=duty).put(stocks={0: [4, 9]}, hands={0: [4, 11, 12]}, centre=[3])
    assert table.moves() == (start or free)
    table.put(stocks={0: [4, 9]}, hands={0: [3, 4, 11, 12]}, centre=[2])
    table.play("hand 3")
    assert table.moves() == (later or free)


def test_fa9_turn_start_holds_until_another_card_was_played():
    table = Table(stock_duty="turn_start").put(stocks={0: [4, 5, 7, 9]}, hands={0: [6, 12, 12]}, centre=[3])
    table.play("stock")
    assert table.moves() == {"stock"}
    table.play("stock", "hand 6")
    assert table.moves() == {"stock"} | discards({12}, [0])


def test_fa9_turn_start_in_the_turn_that_opens():
    for duty, moves in (("always", {"stock"}), ("turn_start", {"stock", "discard 12 to 0"})):
        table = Table(stock_duty=duty).put(phase="open", stocks={0: [2, 9]}, hands={0: [1, 12]}).play("hand 1")
        assert table.moves() == moves


@pytest.mark.parametrize("duty", ["always", "turn_start", "none"])
def test_fa9_starters_are_due_whatever_the_stock_duty(duty):
    table = Table(stock_duty=duty).put(stocks={0: [4, 9]}, hands={0: [1, 12, 12]}, centre=[3])
    assert table.moves() == ({"hand 1"} if duty == "none" else {"stock"})


@pytest.mark.parametrize(("duty", "first", "later"), [
    ("always", True, True), ("turn_start", True, False), ("none", None, None),
])  # fmt: skip
def test_fa9_stock_guilt(duty, first, later):
    for hand, centre, moves, right in (
        ([11, 12], [3], ["discard 11 to 0"], first),
        ([3, 12], [2], ["hand 3", "discard 12 to 0"], later),
    ):
        table = challenge(stock_duty=duty).put(stocks={0: [4, 9]}, hands={0: hand}, centre=centre).play(*moves)
        if right is None:
            assert table.moves() == {"no call", "call 1"}
        else:
            table.play("call stock")
            assert len(table.stock(0)) == (3 if right else 1)


def test_fa10_stock_then_starters_then_the_rest():
    table = Table().put(stocks={0: [4, 9]}, hands={0: [1, 4, 12]}, reserves={0: [4]}, centre=[3, 3])
    assert table.moves() == {"stock"}
    assert table.play("stock").moves() == {"hand 1"}
    assert table.play("hand 1").moves() == {"hand 4", "reserve 0"} | discards({4, 12}, [1])


@pytest.mark.parametrize("refill", ["turn_start", "immediate"])
def test_fa11_when_a_hand_is_filled(refill):
    table = Table(refill=refill).put(hands={0: [9], 1: []}, stocks={0: [15, 15], 1: [15, 15]})
    table.play("discard 9 to 0")
    assert table.hand(0).total() == (5 if refill == "immediate" else 0)
    assert table.hand(1).total() == 5, "at the start of the own turn"
    table.put(hands={0: [9, 10], 1: [9]}, turn=1).play("discard 9 to 0")
    assert table.hand(1).total() == (5 if refill == "immediate" else 0)
    assert table.hand(0) == Counter([9, 10]), "a hand that is not empty draws nothing"


@pytest.mark.parametrize("refill", ["turn_start", "immediate"])
def test_fa11_a_penalised_player_fills_its_empty_hand_in_its_next_turn(refill):
    table = challenge(challenge_window="every_action", refill=refill)
    table.put(stocks={0: [4, 9], 1: [9, 9]}, hands={0: [6], 1: [12, 12]}, centre=[3, 5]).play("hand 6")
    assert table.hand(0).total() == 0
    table.play("call stock")
    assert (table.turn, table.hand(0).total()) == (1, 0)
    silent(table.play("discard 12 to 0"))
    assert (table.turn, table.hand(0).total()) == (0, 5)


def test_fa11_an_empty_hand_found_after_a_play_is_filled():
    table = Table().put(hands={0: []}, reserves={0: [15]}, centre=[14], stack=[])
    assert table.moves() == {"reserve 0", "end turn"}
    table.play("reserve 0")
    assert table.hand(0).total() == 5
    assert table.removed[0] == 0


@pytest.mark.parametrize(("recycle", "piles", "stack"), [("lazy", 2, 0), ("eager", 0, 30), ("immediate", 0, 30)])
def test_fa12_recycle_with_an_empty_stack(recycle, piles, stack):
    table = Table(recycle=recycle)
    table.put(hands={0: [15, 9]}, centre=[14], removed=1, stack=[]).play("hand 15")
    assert (table.removed[0], table.stack.total()) == (piles, stack)
    assert table.everything() == table.deck()


@pytest.mark.parametrize(("recycle", "piles", "stack"), [("lazy", 1, 3), ("eager", 1, 3), ("immediate", 0, 18)])
def test_fa12_recycle_with_cards_in_the_stack(recycle, piles, stack):
    table = Table(recycle=recycle).put(hands={0: [15, 9]}, centre=[14], stack=[2, 2, 2]).play("hand 15")
    assert (table.removed[0], table.stack.total()) == (piles, stack)


@pytest.mark.parametrize(("recycle", "piles", "stack"), [("lazy", 1, 0), ("eager", 0, 15)])
def test_fa12_a_draw_empties_the_stack(recycle, piles, stack):
    table = Table(recycle=recycle).put(hands={0: [4]}, centre=[3], stack=[2, 6, 7, 8, 9], removed=1).play("hand 4")
    assert (table.removed[0], table.stack.total()) == (piles, stack)
    assert table.hand(0) == Counter([2, 6, 7, 8, 9])


@pytest.mark.parametrize("recycle", ["lazy", "eager"])
def test_fa12_a_draw_takes_what_is_left_without_a_reshuffle(recycle):
    table = Table(recycle=recycle).put(hands={0: [4]}, centre=[3], stack=[2, 7], removed=1).play("hand 4")
    assert table.hand(0) == Counter([2, 7])


def dead_end(**rules):
    """Two seats who can play nothing any more, one discard before it counts."""
    table = Table(**{"deadlock": "draw", **rules})
    stocks = {0: [15] * 3, 1: [14] * 4}
    return table.put(stocks=stocks, hands={0: [9], 1: [10]}, reserves={0: [11], 1: [12]}, stack=[])


@pytest.mark.parametrize("mode", ["enforced", "challenge", "honour"])
def test_fa13_draw(mode):
    table = silent(dead_end(duty_mode=mode).play("discard 9 to 1"))
    assert table.end == ("dead", [])
    assert table.paid == [0, 0]


def test_fa13_is_tested_after_the_windows_and_the_discard():
    table = dead_end(duty_mode="challenge").play("discard 9 to 1")
    assert (table.over, table.phase) == (False, "challenge")
    table.play("call 1")
    assert table.end == ("dead", []), "though the call has moved a stock top"
    assert len(table.stock(0)) == 2
    table = Table(hand_size=1).put(hands={0: [4], 1: [10]}, reserves={0: [6]}, centre=[3], stack=[])
    table.play("discard 4 to 1")
    assert not table.over, "a reserve top fits"


@pytest.mark.parametrize("where", ["stock", "hand", "reserve"])
@pytest.mark.parametrize("seat", [0, 1])
def test_fa13_a_card_of_anybody_that_fits_keeps_the_game_alive(where, seat):
    hands, stocks, reserves = {0: [9, 9], 1: [10, 10]}, {0: [15, 15], 1: [15, 15]}, {0: [11], 1: [12]}
    place = {"stock": stocks, "hand": hands, "reserve": reserves}[where]
    place[seat] = [*place[seat], 4] if where == "reserve" else [4, *place[seat]]
    table = Table(duty_mode="honour").put(stocks=stocks, hands=hands, reserves=reserves, centre=[3], stack=[])
    table.play("discard 9 to 1" if where != "reserve" or seat == 1 else "discard 9 to 2")
    assert not table.over


def test_fa13_removed_piles_keep_it_alive():
    table = Table().put(hands={0: [9], 1: [10]}, stack=[], removed=1).play("discard 9 to 0")
    assert not table.over


@pytest.mark.parametrize(("left", "winners"), [((3, 4), [0]), ((4, 3), [1]), ((4, 4), [0, 1])])
def test_fa13_fewest_stock(left, winners):
    table = Table(deadlock="fewest_stock")
    table.put(stocks={p: [15] * left[p] for p in (0, 1)}, hands={0: [9], 1: [10]}, stack=[]).play("discard 9 to 0")
    assert table.end == ("dead", winners)
    assert table.paid == {(0,): [1, -1], (1,): [-1, 1], (0, 1): [0, 0]}[tuple(winners)]


def test_fa13_fewest_stock_of_teams():
    table = partners(deadlock="fewest_stock")
    stocks = {0: [15] * 4, 1: [14] * 1, 2: [15] * 1, 3: [14] * 5}
    table.put(stocks=stocks, hands=each(4, [9, 9]), stack=[]).play("discard 9 to 0")
    assert table.end == ("dead", [0, 2])


def test_fa13_reshuffle_reserves():
    table = dead_end(deadlock="reshuffle_reserves")
    reserves = sum((Counter(pile) for p in (0, 1) for pile in table.reserves(p)), Counter([9]))
    table.play("discard 9 to 1")
    assert (table.over, table.turn, table.phase) == (False, 1, "play")
    assert table.stack == reserves
    assert [table.reserves(p) for p in (0, 1)] == [[[]] * 5] * 2
    assert table.everything() == table.deck()


def test_fa13_reshuffle_reserves_in_the_opening_with_a_redraw_in_seat_order():
    table = Table(deadlock="reshuffle_reserves")
    table.put(phase="open", hands={0: [], 1: []}, reserves={0: [11], 1: [12]}, stack=[]).play("end turn")
    assert (table.over, table.phase) == (False, "open")
    assert [table.hand(p).total() for p in (0, 1)] == [5, 5]
    assert [table.reserves(p) for p in (0, 1)] == [[[]] * 5] * 2


def test_fa13_reshuffle_reserves_without_a_reserve_card_is_a_draw():
    table = Table(**SMALL, deadlock="reshuffle_reserves")
    stocks = {0: [5, *[4] * 6, *[3] * 6], 1: [*[5] * 5, *[2] * 6, *[1] * 6]}
    table.put(stocks=stocks, hands={0: [], 1: []}).play("end turn")
    assert table.end == ("dead", [])


def test_fa14_nothing_to_discard_ends_the_turn_without():
    table = Table().put(hands={0: [], 1: [4]}, centre=[3], stack=[])
    assert table.moves() == {"end turn"}
    table.play("end turn")
    assert (table.asked, table.reserves(0)) == (1, [[]] * 5)


@pytest.mark.parametrize("mode", ["challenge", "honour"])
def test_fa15_a_hand_of_1s_alone_must_play_one(mode):
    table = Table(duty_mode=mode).put(hands={0: [1, 1]}, stocks={0: [9, 9]})
    assert table.moves() == {"hand 1"}
    assert table.put(hands={0: [1, 1]}, stocks={0: [4, 9]}, centre=[3]).moves() == {"hand 1", "stock"}


def test_fa16_jump_is_a_full_turn_and_play_goes_on_at_its_left():
    table = blocked_game((1, 2), turn=3)
    end_turn(table)
    assert (table.turn, table.forced) == (1, True)
    table.play("hand 4")
    assert not table.forced
    assert table.moves() == discards({9}, [0])
    end_turn(table)
    assert (table.turn, table.forced) == (2, False)


def test_fa16_jump_restarts_the_count():
    table = blocked_game((0,), turn=1)
    table.put(hands={0: [4, 9], 1: [9, 9], 2: [5, 9, 9], 3: [9, 9, 9]}, centre=[3], stack=[], turn=3, idle_turns=3)
    end_turn(table)
    assert (table.turn, table.forced) == (0, True)
    end_turn(table.play("hand 4"))
    for p in (1, 2, 3):
        assert (table.turn, table.forced) == (p, False)
        end_turn(table)
    assert table.forced is False, "seat 0's turn with its play was the first of four"


@pytest.mark.parametrize("idle", [0, 1, 2])
def test_fa16_only_after_n_turns_without_a_play(idle):
    table = blocked_game((1,), turn=3, idle=idle)
    end_turn(table)
    assert (table.turn, table.forced) == (0, False)


@pytest.mark.parametrize("more", [{"stack": [2]}, {"stack": [], "removed": 1}])
def test_fa16_only_without_anything_to_draw(more):
    table = Table(num_players=4)
    hands = {0: [9, 9], 1: [4, 9], 2: [9, 9], 3: [9, 9]}
    table.put(hands=hands, centre=[3], turn=3, idle_turns=3, **more)
    end_turn(table)
    assert (table.turn, table.forced) == (0, False)


def test_fa16_a_penalised_turn_counts():
    table = blocked_game((2,), turn=3, duty_mode="challenge")
    table.put(
        stocks={3: [4, 9]}, hands={0: [9, 9], 1: [9, 9], 2: [4, 9], 3: [9, 9]}, centre=[3], stack=[], turn=3,
        idle_turns=3,
    )  # fmt: skip
    table.play("discard 9 to 1", "call stock")
    assert (table.turn, table.forced) == (2, True)


def test_fa16_wait():
    table = blocked_game((1, 2), turn=3, blocked="wait")
    end_turn(table)
    assert (table.turn, table.forced) == (0, False)
    end_turn(table)
    assert (table.turn, table.forced, table.moves()) == (1, True, {"hand 4"})


def test_fa16_wait_is_cancelled_by_a_play_of_anyone_else():
    table = blocked_game((2,), turn=3, blocked="wait")
    table.put(hands={0: [9, 9], 1: [9, 9], 2: [4, 9], 3: [9, 9, 9]}, centre=[3], stack=[], turn=0, idle_turns=4)
    end_turn(table)
    assert (table.turn, table.forced) == (1, False)
    table.put(
        hands={0: [4, 9], 1: [4, 9], 2: [4, 9], 3: [9, 9]}, stocks={3: [4, 9]}, centre=[3, 3, 3], stack=[], turn=3,
        idle_turns=5,
    )  # fmt: skip
    table.play("stock")
    end_turn(table)
    assert (table.turn, table.forced) == (0, False)


def test_fa16_off_forces_nobody():
    table = blocked_game((0, 1), turn=3, blocked="off")
    for turn in (0, 1, 2, 3, 0):
        end_turn(table)
        assert (table.turn, table.forced) == (turn, False)
        table.put(hands={0: [4, 9], 1: [9] * 2, 2: [9] * 2, 3: [9] * 2}, centre=[3], stack=[], turn=turn, idle_turns=9)


def test_fa16_the_partners_piles_count():
    table = partners(duty_mode="honour")
    table.put(
        stocks={2: [4, 9]}, hands=each(4, [9, 9]), reserves={0: [12], 2: [4]}, centre=[3], stack=[],
        turn=1, idle_turns=3,
    )  # fmt: skip
    end_turn(table)
    assert (table.turn, table.forced) == (0, True)
    assert table.moves() == {"partner stock", "partner reserve 0"}


@pytest.mark.parametrize("discard", [True, False])
def test_fa16_being_forced_overrides_the_pass_for_a_shown_card(discard):
    table = blocked_game((1,), turn=3, p_expose=0.001, offturn_exposure_discard=discard)
    table.put(
        hands={0: [9, 9], 1: [4, 11], 2: [9, 9], 3: [9, 9]}, centre=[3], stack=[], turn=3, idle_turns=3, due={1: 11}
    )
    table.play_where("discard 9 to 1", lambda t: t.turn == 1)
    assert (table.forced, table.moves()) == (True, {"hand 4"})


def test_fa16_no_exposing_while_forced():
    table = blocked_game((1,), turn=3, illegal_move="exposure")
    table.play("discard 9 to 1")
    assert (table.forced, table.moves()) == (True, {"hand 4"})


@pytest.mark.parametrize(("position", "moves"), [
    ({"stocks": {1: [4, 8]}}, {"stock"}),
    ({"hands": {1: [4, 9]}}, {"hand 4"}),
    ({"reserves": {1: [12, [4, 8]]}}, {"reserve 1"}),
    ({"stocks": {1: [4, 8]}, "hands": {1: [4, 9]}, "reserves": {1: [4]}}, {"stock", "hand 4", "reserve 0"}),
    ({"hands": {1: ["W", 9]}}, {"hand wild"}),
    ({"reserves": {1: ["W"]}}, {"reserve 0"}),
])  # fmt: skip
def test_fa17_any_playable_card_does(position, moves):
    table = Table(num_players=3, n_wild=3, duty_mode="honour")
    hands = each(3, [9, 9]) | position.get("hands", {})
    table.put(**{**position, "hands": hands}, centre=[3], stack=[], turn=2, idle_turns=2)
    end_turn(table)
    assert (table.turn, table.forced, table.moves()) == (1, True, moves)


@pytest.mark.parametrize(("discard", "moves"), [(True, discards({8, 11, 12}, [1])), (False, {"end turn"})])
def test_fa18_passing_for_a_shown_card_with_or_without_a_discard(discard, moves):
    table = shown_out_of_turn(offturn_exposure_discard=discard)
    table.put(stocks={0: [4, 9]}, hands={0: [1, 8, 11, 12]}, reserves={0: [4]}, centre=[3], due={0: 8})
    assert table.moves() == moves
    table.play("discard 8 to 1" if discard else "end turn")
    assert table.turn == 1
    assert table.hand(0) == Counter([1, 11, 12] if discard else [1, 8, 11, 12])


REMEMBERED = {
    "starter_free", "holds_starter", "known_hand", "reserve_ranks", "reserve_order", "stock_known", "unseen",
}  # fmt: skip


def test_fa19_tops_or_full():
    tops, full = Table(obs_reserve="tops"), Table(obs_reserve="full")
    assert set(full.sees(0)) - set(tops.sees(0)) == REMEMBERED
    full.put(hands={1: [9, 9]}, reserves={0: [[8, 4, 4], 7], 1: [[12, 2]]})
    seen = full.sees(1)
    assert [row[:4] for row in seen["reserve_order"][1][:2]] == [[8, 4, 4, 0], [7, 0, 0, 0]]
    assert seen["reserve_order"][0][0][:3] == [12, 2, 0]
    assert {r: seen["reserve_ranks"][1][0][r] for r in range(16) if seen["reserve_ranks"][1][0][r]} == {4: 2, 8: 1}
    hidden = full.stack + full.hand(0)
    hidden += Counter(full.stock(0)[1:]) + Counter(full.stock(1)[1:])
    assert seen["unseen"] == [hidden[r] if r else 0 for r in range(16)]
    looks = {tops.put(reserves={1: [[9, x, 3]]}).looks(0) for x in (4, 12)}
    assert len(looks) == 1
    assert len({full.put(reserves={1: [[9, x, 3]]}).looks(0) for x in (4, 12)}) == 2


def wild(**rules):
    return Table("flinch-wild-v0", **rules)


@pytest.mark.parametrize(("packs", "wilds"), [(1, 9), (2, 18)])
def test_fa20_n_wilds_a_pack(packs, wilds):
    assert wild(packs=packs).everything()["W"] == wilds
    assert Table(n_wild=27).everything()["W"] == 27


def test_fa20_a_wild_is_any_rank_that_a_number_could_be():
    table = wild().put(hands={0: ["W", 9, 9]}, centre=[3, 3, 7])
    assert table.moves() == {"hand wild", "discard 9 to 0", "discard wild to 0"}
    table.play("hand wild")
    assert (table.asked, table.phase) == (0, "name")
    assert table.moves() == {"hand 1", "hand 4", "hand 8"}
    assert table.hand(0)["W"] == 1, "it stays where it is until it is named"
    table.play("hand 8")
    assert (table.centre, table.hand(0), table.phase) == ([(1, 3), (1, 3), (1, 8)], Counter([9, 9]), "play")
    assert table.moves() == {"hand 9", "discard 9 to 0"}
    assert table.everything() == table.deck()
    table.put(hands={0: ["W", 9, 9]}).play("hand wild", "hand 1")
    assert table.centre == [(1, 1)]


def test_fa20_a_wild_taken_away_goes_back_as_a_wild():
    table = wild().put(hands={0: ["W", 9]}, centre=[14]).play("hand wild", "hand 15")
    assert table.removed == (1, Counter({"W": 1, **dict.fromkeys(range(1, 15), 1)}))
    table = wild().put(hands={0: [15, 9]}, centre=[(1, 14, [2, 5])]).play("hand 15")
    assert table.removed[1]["W"] == 2
    assert table.removed[1][2] == table.removed[1][5] == 0
    assert table.everything() == table.deck()


def test_fa20_not_in_the_opening_but_laid_down_and_reserved():
    table = wild().put(phase="open", stocks={0: ["W", 9]}, hands={0: ["W", 9]})
    assert table.moves() == {"end turn"}
    table = wild(opening="encyclopedia").put(phase="open", stocks={0: ["W", 9]}, hands={0: ["W", 9]})
    assert table.moves() == {"end turn"}
    table = wild().put(hands={0: ["W", 9]}).play("discard wild to 0")
    assert table.reserves(0)[0] == ["W"]
    table = wild(first_laydown="free").put(phase="open", turn=1, passes=1, hands={0: ["W", 9], 1: [9]})
    assert table.play("end turn").moves() == discards({"wild", 9}, [0])


def test_fa20_on_a_stockpile_it_is_due_and_the_next_card_is_turned_when_it_is_named():
    table = wild().put(stocks={0: ["W", 9, 8]}, hands={0: [1, 9]}, centre=[3])
    assert table.moves() == {"stock"}
    table.play("stock")
    assert table.stock(0) == ["W", 9, 8]
    assert table.sees(1)["stock_top"][1] == 0
    table.play("hand 4")
    assert table.stock(0) == [9, 8]
    table = challenge(n_wild=9).put(stocks={0: ["W", 9]}, hands={0: [9, 9]}).play("discard 9 to 0", "call stock")
    assert len(table.stock(0)) == 3


def test_fa20_the_last_stock_card_wins_when_it_is_named():
    table = wild().put(stocks={0: ["W"]}).play("stock")
    assert not table.over
    assert table.play("hand 1").end == ("goal", [0])


def test_fa20_in_hand_or_reserve_it_is_never_compulsory_but_under_f40():
    table = wild().put(hands={0: ["W", 9]}, reserves={0: ["W"]})
    assert table.moves() == {"hand wild", "reserve 0"} | discards({"wild", 9}, [1])
    table = Table(num_players=3, n_wild=3)
    table.put(hands={0: ["W", 9], 1: [9, 9], 2: [9, 9]}, stack=[], turn=2, idle_turns=2).play("discard 9 to 1")
    assert (table.turn, table.forced, table.moves()) == (0, True, {"hand wild"})


def test_fa20_it_is_never_a_1_for_calls():
    table = challenge(n_wild=9).put(hands={0: ["W", 9]}).play("discard 9 to 0", "call 1")
    assert (len(table.stock(0)), len(table.stock(1))) == (9, 11)


def test_fa20_hands_are_filled_and_windows_opened_after_the_naming():
    table = wild().put(hands={0: ["W"]}, centre=[3]).play("hand wild")
    assert table.hand(0) == Counter(["W"])
    assert table.play("hand 4").hand(0).total() == 5
    table = challenge(n_wild=9, challenge_window="every_action").put(hands={0: ["W", 9]}, centre=[3])
    table.play("hand wild")
    assert (table.asked, table.phase) == (0, "name")
    assert table.play("hand 4").moves() == CALLS


def test_fa20_from_reserve_piles_and_the_partners():
    table = partners(n_wild=3).put(hands={0: [9, 9]}, reserves={0: [["W", 8]], 2: [["W", 8]]}, centre=[3])
    table.play("partner reserve 0", "hand 4", "reserve 0", "hand 5")
    assert (table.centre, table.reserves(0)[0], table.reserves(2)[0]) == ([(1, 5)], [8], [8])
    table.put(stocks={2: ["W", 9]}, hands={0: [9, 9]}, centre=[3])
    assert table.moves() == {"partner stock"}
    table.play("partner stock", "hand 4")
    assert table.stock(2) == [9]


def test_fa20_in_both_ends_and_eights():
    table = both_ends(n_wild=9).put(hands={0: ["W", 9]}, centre=[(1, 3), (13, 15)]).play("hand wild")
    assert table.moves() == {"hand 1", "hand 4", "hand 15 down", "hand 12 down"}
    table.play("hand 12 down")
    assert table.centre == [(1, 3), (12, 15)]
    table = eights(n_wild=9).put(hands={0: ["W", 9]}, centre=[(6, 9)]).play("hand wild")
    assert table.moves() == {"hand 8", "hand 5", "hand 10"}
    assert table.play("hand 5").centre == [(5, 9)]


def test_fa20_shown_out_of_turn():
    table = wild(p_expose=0.001).put(stocks={0: [4, 9]}, hands={0: ["W", 1]}, centre=[3], due={0: "W"})
    assert table.moves() == {"hand wild"}
    assert table.play("hand wild", "hand 4").moves() == {"hand 1"}


def test_fa20_played_as_a_1_it_is_no_starter_for_calls_within_a_turn():
    table = challenge(n_wild=9, challenge_window="every_action").put(stocks={0: [9, 9]}, hands={0: ["W", 1, 9]})
    table.play("hand wild", "hand 1", "call 1")
    assert (table.turn, len(table.stock(0))) == (1, 3)


def test_fa21_top_is_public():
    table = skipped_stock(penalty_card="top").play("call stock")
    assert table.stock_public(0) == [(4, False), (9, False), (8, False), (7, True)]
    table = skipped_stock(penalty_card="top", obs_reserve="full").play("call stock")
    assert table.sees(1)["stock_known"][1][:5] == [4, 0, 0, 7, 0]
    assert table.sees(1)["stock_known"][0][:3] == [6, 0, 0]


def test_fa21_hidden_random_is_any_face_down_card():
    table = challenge(penalty_card="hidden_random")
    table.put(stocks={0: [4, 9, 8], 1: [2, 5, 6, 7]}, hands={0: PLAIN}, centre=[3]).play("discard 9 to 0")
    games = table.after("call stock", 1200)
    assert (games["stock_rank"][:, 1] == 2).all()
    cards = []
    for s in games:
        node = s.stock[0]
        while s.nodes[node] >> 6:
            node = s.nodes[node] >> 6
        cards.append(int(s.nodes[node]) & 63)
    assert set(cards) == {5, 6, 7}, "unmarked: nobody has seen it"
    assert_as_often([cards.count(card) for card in (5, 6, 7)])


def test_fa21_hidden_random_with_the_top_alone():
    table = challenge(penalty_card="hidden_random", empty_by_penalty_wins=False)
    table.put(stocks={0: [4, 9, 8], 1: [7]}, hands={0: PLAIN}, centre=[3]).play("discard 9 to 0", "call stock")
    assert table.stock_public(0)[-1] == (7, True)


def test_fa21_after_a_hidden_draw_what_was_known_of_the_pile_is_not():
    table = challenge(penalty_card="hidden_random")
    table.put(stocks={0: [4, 9], 1: [15, 9, 8, 8]}, hands={0: PLAIN}, centre=[3])
    snapshot = table.env.snapshot()
    s = snapshot.games[0]
    node = s.stock[1]
    for _ in range(3):  # all cards beneath the top are public
        node = s.nodes[node] >> 6
        s.nodes[node] += 32
    table.env.restore(snapshot)
    assert [known for _, known in table.stock_public(1)] == [False, True, True, True]
    table.play("discard 9 to 0", "call stock")
    assert not any(known for p in (0, 1) for _, known in table.stock_public(p))


def test_fa21_bottom_is_unseen_unless_it_was_public_before():
    table = skipped_stock(penalty_card="bottom").play("call stock")
    assert (table.stock(1), table.stock_public(0)) == ([7, 6], [(4, False), (9, False), (8, False), (5, False)])
    table = challenge(penalty_card="bottom", empty_by_penalty_wins=False, num_players=3)
    stocks = {0: [4, 9], 1: [4, 9], 2: [7]}
    table.put(stocks=stocks, hands=each(3, PLAIN), centre=[3])
    table.play("discard 9 to 0", "no call", "call stock")
    assert table.stock_public(0) == [(4, False), (9, False), (7, True)], "a top that is left alone is seen"
    table.play("discard 9 to 0", "no call", "call stock")
    assert table.stock_public(0) == [(4, False), (9, False)]
    assert table.stock_public(1) == [(4, False), (9, False), (7, True)]


def emptied(wins, **rules):
    """Seat 1 has given its last card to seat 0."""
    table = challenge(empty_by_penalty_wins=wins, num_players=3, **rules)
    table.put(stocks={0: [4, 9], 1: [7], 2: [8, 8]}, hands=each(3, PLAIN), centre=[3])
    return table.play("discard 9 to 0", "call stock")


def test_fa22_a_stock_emptied_by_a_penalty_wins_at_once():
    table = emptied(True)
    assert table.end == ("goal", [1])
    assert table.paid == [-0.5, 1, -0.5]


def test_fa22_a_wrong_call_can_empty_the_stock_of_the_one_called():
    table = challenge().put(stocks={0: [9]}, hands={0: PLAIN}).play("discard 9 to 0", "call 1")
    assert table.end == ("goal", [0])


def test_fa22_of_a_team():
    for wins in (True, False):
        table = partners(duty_mode="challenge", empty_by_penalty_wins=wins)
        table.put(stocks={3: [4, 9], 0: [7], 2: []}, hands=each(4, [9, 9]), centre=[3], turn=3)
        table.play("discard 9 to 0", "call stock")
        assert table.end == ("goal", [0, 2])


def test_fa22_or_when_its_owner_starts_a_turn():
    table = challenge(empty_by_penalty_wins=False, num_players=3)
    table.put(stocks={0: [4, 9], 1: [7, 7], 2: [7]}, hands=each(3, PLAIN), centre=[3])
    table.play("discard 9 to 0", "no call", "call stock")
    assert (table.over, table.turn, table.stock(2)) == (False, 1, [])
    table.play("discard 9 to 0", "no call", "no call")
    assert table.end == ("goal", [2])


def test_fa22_at_once_if_the_next_turn_is_its_own():
    assert emptied(False).end == ("goal", [1])


def test_fa22_a_card_received_before_cancels_it():
    table = challenge(empty_by_penalty_wins=False, num_players=3)
    table.put(stocks={1: [7, 7], 2: []}, hands=each(3, PLAIN), turn=1)
    table.play("discard 9 to 0", "call 1")
    assert (table.over, table.turn, table.stock(2)) == (False, 2, [7])


def test_fa22_an_empty_pile_pays_nothing_and_the_turn_still_ends():
    table = challenge(empty_by_penalty_wins=False, num_players=3)
    table.put(stocks={0: [4, 9], 2: []}, hands=each(3, PLAIN), centre=[3])
    table.play("discard 9 to 0", "no call", "call stock")
    assert (table.turn, table.stock(0), table.stock(2), table.reserves(0)[0]) == (1, [4, 9], [], [])
    table = challenge(empty_by_penalty_wins=False, challenge_window="every_action")
    table.put(stocks={0: [9], 1: [8, 8]}, hands={0: [4, 5, 12]}, centre=[3]).play("hand 4", "call 1")
    assert (table.stock(0), table.stock(1), table.over, table.turn) == ([], [8, 8, 9], False, 0)
    table.play("hand 5", "call 1")
    assert (table.stock(0), table.stock(1), table.over, table.turn) == ([], [8, 8, 9], False, 0)


@pytest.mark.parametrize("deadlock", ["draw", "fewest_stock", "reshuffle_reserves"])
def test_fa22_a_dead_game_is_the_owners(deadlock):
    table = challenge(empty_by_penalty_wins=False, num_players=3, deadlock=deadlock)
    table.put(stocks={0: [15, 9], 1: [15, 9], 2: []}, hands=each(3, [9, 9]), stack=[])
    table.play("discard 9 to 0", "no call", "no call")
    assert table.end == ("dead", [2])
    assert table.paid == [-0.5, -0.5, 1]


def test_fa23_false_stock_calls_are_legal_and_cost_the_same():
    table = innocent(mask_false_stock_calls=False)
    assert table.moves() == CALLS
    table.play("call stock")
    assert (table.stock(0), table.stock(1), table.reserves(0)[0]) == ([9, 8], [7, 6, 5, 4], [11])


def test_fa23_or_masked():
    assert innocent(mask_false_stock_calls=True).moves() == {"no call", "call 1"}
    assert skipped_stock(mask_false_stock_calls=True).moves() == CALLS
    assert kept_1(mask_false_stock_calls=True).moves() == {"no call", "call 1"}


@pytest.mark.parametrize("reveal", [False, True])
def test_fa24_a_wrong_1_call_and_the_hand(reveal):
    table = innocent(reveal_on_false_call=reveal, obs_reserve="full", illegal_move="exposure").play("call 1")
    known = table.sees(1)["known_hand"][1]
    assert {r: known[r] for r in range(16) if known[r]} == ({9: 1, 10: 1, 11: 1, 12: 1} if reveal else {})
    assert table.sees(1)["exposed"][1] == [0] * 16, "never F38"
    assert table.sees(1)["starter_free"][1] == 1


def test_fa23_with_stock_calls_alone_there_may_be_nothing_to_call():
    for auto in (False, True):
        table = innocent(mask_false_stock_calls=True, call_kinds="stock_only", auto_forced=auto)
        assert (table.phase, table.turn) == (("play", 1) if auto else ("challenge", 0))
        assert table.moves() == {"no call"} or auto


def test_fa24_a_wrong_stock_call_or_a_right_1_call_shows_nothing():
    for table in (innocent(reveal_on_false_call=True, obs_reserve="full").play("call stock"),
                  kept_1(reveal_on_false_call=True, obs_reserve="full").play("call 1")):  # fmt: skip
        assert table.sees(1)["known_hand"][1] == [0] * 16


def test_fa25_turn_end_asks_once_a_turn():
    table = challenge(challenge_window="turn_end")
    table.put(stocks={0: [4, 9]}, hands={0: [1, 9, 9]}, centre=[3, 5], reserves={0: [6]})
    table.play("reserve 0")
    assert table.phase == "play"
    table.play("discard 9 to 0")
    assert table.moves() == CALLS


def test_fa25_every_action_asks_after_each_play_and_at_the_end():
    table = challenge(challenge_window="every_action")
    table.put(stocks={0: [4, 9]}, hands={0: [1, 9, 9]}, centre=[3, 5], reserves={0: [6]})
    for name in ("stock", "hand 1", "reserve 0", "discard 9 to 0"):
        table.play(name)
        assert (table.asked, table.moves()) == (1, CALLS)
        assert table.sees(1)["window_at_end"] == (name == "discard 9 to 0")
        table.play("no call")
    assert table.turn == 1


@pytest.mark.parametrize(("kinds", "moves"), [("both", CALLS), ("stock_only", {"no call", "call stock"})])
def test_fa25_call_kinds(kinds, moves):
    assert innocent(call_kinds=kinds).moves() == moves


@pytest.mark.parametrize("turn", [0, 2])
def test_fa26_left_is_the_smallest_clockwise_distance(turn):
    table = four_callers(turn, call_priority="left")
    order = []
    while table.phase == "challenge":
        order.append(table.asked)
        table.play("no call")
    assert order == [(turn + k) % 4 for k in (1, 2, 3)]


def test_fa26_random_is_one_order_a_window_and_the_first_caller_wins():
    table = challenge(num_players=4, call_priority="random")
    table.put(stocks={1: [4, 9]}, hands={1: PLAIN}, centre=[3], turn=1)
    games = table.after("discard 9 to 0", 1200)
    orders = Counter(tuple(s.poll_order[:3].tolist()) for s in games)
    assert set(orders) == set(itertools.permutations((0, 2, 3)))
    assert_as_often(list(orders.values()))
    assert (games["current_player"] == games["poll_order"][:, 0]).all()
    for first in (0, 2, 3):
        table.put(stocks={1: [4, 9]}, hands={1: PLAIN}, centre=[3], turn=1)
        table.play_where("discard 9 to 0", lambda t, first=first: t.asked == first).play("call stock")
        assert (table.turn, len(table.stock(first))) == (2, 9)


def test_fa27_a_wrong_call_does_not_end_the_turn():
    table = challenge(challenge_window="every_action").put(hands={0: [4, 5, 9]}, centre=[3]).play("hand 4", "call 1")
    assert (table.turn, table.asked, table.phase) == (0, 0, "play")
    assert table.hand(0) == Counter([5, 9])
    table.play("hand 5")
    assert table.moves() == CALLS, "later windows still open"


def test_fa27_nobody_is_asked_after_a_wrong_caller():
    table = four_callers(0).play("call 1")
    assert (table.turn, table.phase) == (1, "play")


def test_fa28_all_starters():
    table = both_ends(starter_duty="all_starters").put(hands={0: [1, 15, 9]}, stocks={0: [7, 7]})
    assert table.moves() == {"hand 1", "hand 15 down"}
    table = both_ends(duty_mode="challenge").put(hands={0: [1, 15, 9]}, stocks={0: [7, 7]})
    assert table.moves() == {"hand 1", "hand 15 down", "discard 9 to 0"}
    table.put(hands={0: [15, 9]}, stocks={0: [7, 7]}).play("discard 9 to 0", "call 1")
    assert len(table.stock(0)) == 3


def test_fa28_ones_only():
    table = both_ends(starter_duty="ones_only").put(hands={0: [1, 15, 9]}, stocks={0: [7, 7]})
    assert table.moves() == {"hand 1"}
    table.play("hand 1")
    assert table.moves() == {"hand 15 down"} | discards({9, 15}, [0])
    table.play("discard 15 to 0")
    assert table.reserves(0)[0] == [15]
    table = both_ends(starter_duty="ones_only", duty_mode="challenge").put(hands={0: [15, 9]}, stocks={0: [7, 7]})
    table.play("discard 9 to 0", "call 1")
    assert len(table.stock(0)) == 1, "a 15 is no offence"


def test_fa28_ones_only_in_the_opening():
    table = both_ends(starter_duty="ones_only")
    table.put(phase="open", hands={0: [15, 9], 1: [15, 9]})
    assert table.moves() == {"hand 15 down", "end turn"}
    table.play("end turn")
    assert table.moves() == {"hand 15 down", "end turn"}
    table.play("end turn")
    assert table.reserves(0) == [[9], [15], [], [], []], "the blank round counts passes"
    assert table.put(phase="open", hands={0: [1, 15]}).moves() == {"hand 1"}
    assert table.put(phase="open", hands={0: [15, 9]}).play("hand 15 down").phase == "play"


def test_fa29_a_1_closes_a_down_pile_and_a_15_an_up_pile_by_choice():
    table = both_ends().put(hands={0: [1, 15, 9]}, stocks={0: [7, 7]}, centre=[(1, 14), (2, 15)])
    assert table.moves() == {"hand 1", "hand 1 down", "hand 15", "hand 15 down"}
    assert table.play("hand 1 down").centre == [(1, 14)]
    table.put(stocks={0: [1, 7]}, centre=[(2, 15)])
    assert table.moves() == {"stock", "stock down"}
    table = both_ends().put(hands={0: [9, 9]}, stocks={0: [7, 7]}, centre=[(1, 8), (10, 15)])
    assert table.moves() == {"hand 9", "hand 9 down", "discard 9 to 0"}


@pytest.mark.parametrize("pile", [(1, 14), (4, 14)])
def test_fa30_both_ends_or_on_15(pile):
    table = eights(eights_removal="both_ends").put(hands={0: [15, 9]}, centre=[pile]).play("hand 15")
    assert table.removed[0] == (pile[0] == 1)
    assert table.centre == ([] if pile[0] == 1 else [(4, 15)])
    table = eights(eights_removal="on_15").put(hands={0: [15, 9]}, centre=[pile]).play("hand 15")
    assert (table.centre, table.removed) == ([], (1, Counter(range(pile[0], 16))))


def test_fa30_the_1_completes_a_pile_only_under_both_ends():
    table = eights(eights_removal="both_ends").put(hands={0: [1, 9]}, centre=[(2, 15)]).play("hand 1")
    assert table.removed == (1, Counter(range(1, 16)))
    table = eights(eights_removal="on_15").put(hands={0: [1, 9]}, centre=[(2, 14)]).play("hand 1")
    assert (table.centre, table.removed[0]) == ([(1, 14)], 0)


@pytest.mark.parametrize("removal", ["both_ends", "on_15"])
def test_fa31_the_pile_whose_other_end_is_most_advanced(removal):
    table = eights(eights_removal=removal).put(hands={0: [10, 6, 3]}, centre=[(8, 9), (5, 9), (7, 9)]).play("hand 10")
    assert table.centre == [(5, 10), (7, 9), (8, 9)]
    table.put(hands={0: [6, 3]}, centre=[(7, 8), (7, 13), (7, 10)]).play("hand 6")
    assert table.centre == [(6, 13), (7, 8), (7, 10)]
    table.put(hands={0: [10, 3]}, centre=[(1, 9), (2, 9)]).play("hand 10")
    assert table.centre == [(1, 10), (2, 9)], "a finished end counts most"


def test_fa31_a_15_goes_to_that_pile_under_on_15():
    table = eights(eights_removal="on_15").put(hands={0: [15, 3]}, centre=[(7, 14), (3, 14), (5, 14)]).play("hand 15")
    assert (table.centre, table.removed[1]) == ([(5, 14), (7, 14)], Counter(range(3, 16)))


@pytest.mark.parametrize("players", [4, 6, 8])
def test_fa32_teams_of_two_sit_opposite(players):
    table = partners(num_players=players)
    for p in table.seats:
        mate = (p + players // 2) % players
        table.put(stocks={mate: [4, 9], p: [15, 15]}, hands={p: [9, 9]}, centre=[3], turn=p)
        assert table.moves() == {"partner stock"}
    table.put(stocks={1: [4], 1 + players // 2: []}, centre=[3], turn=1).play("stock")
    assert table.end == ("goal", [1, 1 + players // 2])


@pytest.mark.parametrize("players", [2, 3, 5, 7])
def test_fa32_other_numbers_are_refused(players):
    with pytest.raises(ValueError, match="partnership"):
        FlinchRules(num_players=players, partnership=True)


def test_fa33_the_partners_stock_takes_both_roles():
    table = partners(duty_mode="challenge")
    stocks = {0: [], 2: [4, 9], 1: [], 3: [7, 6, 5]}
    table.put(stocks=stocks, hands=each(4, [9, 9]), centre=[3])
    table.play("discard 9 to 0", "call stock")
    assert [table.stock(p) for p in range(4)] == [[], [], [4, 9, 7], [6, 5]]
    table.put(stocks={**stocks, 2: [8, 9]}, hands=each(4, [9, 9])).play("discard 9 to 0", "call 1")
    assert [table.stock(p) for p in range(4)] == [[], [], [9], [7, 6, 5, 8]]


def test_fa33_a_team_wins_only_when_both_are_empty():
    table = partners(duty_mode="challenge")
    table.put(stocks={0: [4, 9], 1: [7], 3: [8, 8]}, hands=each(4, [9, 9]), centre=[3])
    table.play("discard 9 to 0", "call stock")
    assert (table.over, table.stock(1)) == (False, [])
    table.put(stocks={0: [4, 9], 1: [], 3: [8]}, hands=each(4, [9, 9]), centre=[3])
    table.play("discard 9 to 0", "call stock")
    assert table.end == ("goal", [1, 3])


def test_fa34_no_discard_onto_the_partners_piles():
    table = partners().put(hands={0: PLAIN}, reserves={2: [8, 7]})
    assert table.moves() == discards({9, 10, 11, 12}, [0])
    table.play("discard 9 to 0")
    assert (table.reserves(0)[0], table.reserves(2)[:2]) == ([9], [[8], [7]])


@pytest.mark.parametrize("mode", ["enforced", "challenge", "honour"])
def test_fa35_exposing_is_legal_only_where_the_mask_is_free(mode):
    rules = {"duty_mode": mode, "illegal_move": "exposure"}
    table = Table(**rules).put(stocks={0: [4, 9]}, hands={0: [1, 8, 12]}, centre=[3])
    assert ("hand 8" in table.moves()) == (mode != "enforced")
    table.put(stocks={0: [9, 9]}, hands={0: [1, 8, 12]}, centre=[3])
    assert ("hand 8" in table.moves()) == (mode != "enforced")
    table.put(stocks={0: [9, 9]}, hands={0: [4, 8, 12]}, centre=[3])
    assert table.moves() == {"hand 4", "hand 8", "hand 12"} | discards({4, 8, 12}, [0])
    assert table.put(phase="open", hands={0: PLAIN}).moves() == {"end turn"}
    table = Table(**rules, first_laydown="free").put(phase="open", turn=1, passes=1, hands={0: PLAIN, 1: PLAIN})
    assert table.play("end turn").moves() == discards({9, 10, 11, 12}, [0])


def test_fa35_without_the_option_an_unplayable_card_is_masked():
    table = Table(illegal_move="mask").put(hands={0: [8, 12]}, centre=[3])
    assert table.moves() == discards({8, 12}, [0])


def test_fa35_only_a_card_that_none_of_its_ids_can_play_is_exposed():
    table = both_ends(illegal_move="exposure").put(hands={0: [12, 9]}, centre=[(13, 15)])
    assert table.moves() == {"hand 12 down", "hand 9"} | discards({9, 12}, [0])
    table = wild(illegal_move="exposure").put(hands={0: ["W", 12]})
    assert table.moves() == {"hand wild", "hand 12"} | discards({"wild", 12}, [0])


def test_fa35_an_exposed_card_creates_no_duty_later_and_stays_flagged_until_it_leaves():
    table = exposing(duty_mode="enforced").put(hands={0: [8, 8, 12], 1: [9, 9, 9]}).play("hand 8", "discard 9 to 0")
    assert table.moves() == {"hand 8", "hand 12"} | discards({8, 12}, [0])
    assert table.sees(1)["exposed"][1][8] == 1
    assert table.sees(0)["due"] == [None, None]
    table.play("discard 8 to 0")
    assert table.sees(1)["exposed"][1][8] == 0


def test_fa35_p_expose_after_each_end_of_a_turn_every_other_seat():
    table = Table(num_players=3, p_expose=0.3)
    table.put(hands={0: [9, 9, 9], 1: [2, 2, 2, 12], 2: [12, 12]})
    games = table.after("discard 9 to 0", 3000)
    assert (games["due"][:, 0] == -1).all()
    for p in (1, 2):
        assert_share(games["due"][:, p] != -1, 0.3)
    assert_share((games["due"][:, 1] != -1) & (games["due"][:, 2] != -1), 0.09)
    shown = games["due"][:, 1][games["due"][:, 1] != -1]
    assert_share(shown == 2, 3 / 4)
    assert (games["exposed"][:, 1].sum(axis=1) == (games["due"][:, 1] != -1)).all()


def test_fa35_p_expose_at_its_ends():
    table = Table(p_expose=1.0).put(hands={0: [9, 9], 1: [12, 12]}).play("discard 9 to 0")
    assert table.sees(0)["due"] == [None, 12]
    assert table.moves() == discards({12}, [0])
    table.play("discard 12 to 0")
    assert table.sees(0)["due"] == [9, None]
    table = Table(p_expose=0.0, illegal_move="exposure").put(hands={0: [9, 9], 1: [12, 12]}).play("discard 9 to 0")
    assert table.sees(0)["due"] == [None, None]


def test_fa35_no_other_card_while_one_is_outstanding():
    table = Table(num_players=3, p_expose=1.0).put(hands={0: [9, 9], 1: [9, 9], 2: [2, 12]}, due={2: 12})
    table.play("discard 9 to 0")
    assert table.record.due[:3].tolist() == [-1, 9, 12]
    assert table.record.exposed[2].sum() == 1


def test_fa35_nothing_is_exposed_in_the_opening_or_after_a_penalty():
    table = Table(p_expose=1.0).put(phase="open", hands={0: PLAIN, 1: [1, 9]}).play("end turn")
    assert table.moves() == {"hand 1"}
    assert table.sees(0)["due"] == [None, None]
    table = challenge(p_expose=1.0).put(stocks={0: [4, 9]}, hands={0: PLAIN, 1: PLAIN}, centre=[3])
    table.play("discard 9 to 0")
    assert table.sees(0)["due"] == [None, None], "the discard is not yet applied"
    table.play("call stock")
    assert table.sees(0)["due"] == [None, None]


@pytest.mark.parametrize("call", ["call stock", "call 1"])
@pytest.mark.parametrize("discard", [True, False])
def test_fa35_the_pass_is_no_offence(call, discard):
    table = challenge(p_expose=0.001, offturn_exposure_discard=discard)
    table.put(stocks={0: [4, 9]}, hands={0: [1, 8, 12], 1: PLAIN}, centre=[3], due={0: 8})
    table.play("discard 12 to 0" if discard else "end turn", call)
    assert (len(table.stock(0)), len(table.stock(1))) == (1, 11)


def test_fa35_the_card_comes_before_stock_and_starters():
    table = challenge(p_expose=0.001).put(stocks={0: [4, 9]}, hands={0: [1, 4, 12]}, centre=[3, 3], due={0: 4})
    assert table.moves() == {"hand 4"}
    table.play("hand 4")
    assert {"stock", "hand 1"} < table.moves()


def test_fa35_playing_the_card_first_is_no_offence():
    for call in ("call stock", "call 1"):
        table = challenge(p_expose=0.001, challenge_window="every_action")
        table.put(stocks={0: [4, 9]}, hands={0: [1, 4, 12]}, centre=[3, 3], due={0: 4}).play("hand 4", call)
        assert len(table.stock(0)) == 1
    table = challenge(p_expose=0.001, obs_reserve="full")
    table.put(stocks={0: [4, 9]}, hands={0: [4, 12]}, centre=[3, 3], due={0: 4})
    assert guilty(table, ["hand 4", "discard 12 to 0"], "call stock"), "what comes after it may be one"


def test_fa35_a_pass_proves_nothing_of_the_hand():
    table = Table(p_expose=0.001, obs_reserve="full").put(hands={0: [1, 8, 12], 1: [12, 12]}, due={0: 8})
    assert facts(table.play("discard 12 to 0"), 0) == (0, 0)


def test_fa35_a_card_is_exposed_after_a_shown_end_too():
    table = Table(p_expose=1.0, illegal_move="exposure").put(hands={0: [9, 12], 1: [11, 11]}).play("hand 9")
    assert table.record.due[:2].tolist() == [-1, 11]


def test_fa36_the_dealer_is_the_last_seat():
    for players in (2, 3, 4):
        for seed in range(3):
            assert Table(num_players=players, seed=seed).asked == 0


def test_fa37_no_setting_depends_on_the_year():
    assert not [f.name for f in dataclasses.fields(FlinchRules) if "year" in f.name or "190" in str(f.default)]


# --- The decisions ----------------------------------------------------------------------------------------------------


def test_presets_are_the_ones_the_rules_name():
    rules = {id: flinchenv.spec(id).rules for id in flinchenv.list_envs() if id.startswith("flinch")}
    assert rules == {
        "flinch-v0": FlinchRules(),
        "flinch-challenge-v0": FlinchRules(duty_mode="challenge"),
        "flinch-partnership-v0": FlinchRules(partnership=True, num_players=4),
        "flinch-both_ends-v0": FlinchRules(center="both_ends"),
        "flinch-eights-v0": FlinchRules(center="eights"),
        "flinch-classic150-v0": FlinchRules(series_per_pack=10, packs=1, opening="encyclopedia", refill="immediate"),
        "flinch-exposure-v0": FlinchRules(duty_mode="challenge", illegal_move="exposure", p_expose=0.02),
        "flinch-wild-v0": FlinchRules(n_wild=9),
        "flinch-tiny-v0": FlinchRules(
            num_players=2, num_ranks=4, series_per_pack=3, packs=1, stock_size=1, hand_size=2, reserve_piles=2
        ),
    }
    assert rules["flinch-tiny-v0"].deck_size == 12


def test_first_values_are_the_defaults():
    assert FlinchRules() == FlinchRules(
        num_players=2,
        packs="auto",
        num_ranks=15,
        series_per_pack=9,
        n_wild=0,
        stock_size=10,
        hand_size=5,
        reserve_piles=5,
        center="up",
        starter_duty="all_starters",
        eights_removal="both_ends",
        partnership=False,
        opening="official",
        first_laydown="spread",
        duty_mode="enforced",
        stock_duty="always",
        refill="turn_start",
        recycle="lazy",
        deadlock="draw",
        blocked="jump",
        challenge_window="turn_end",
        call_kinds="both",
        call_priority="left",
        penalty_card="top",
        empty_by_penalty_wins=True,
        mask_false_stock_calls=False,
        reveal_on_false_call=False,
        illegal_move="mask",
        p_expose=0.0,
        offturn_exposure_discard=True,
        obs_reserve="tops",
        auto_forced=False,
        reward="win",
        shaping=0.0,
        shaping_gamma=1.0,
        max_turns=1000,
        max_plays_per_turn=500,
    )
    assert len(dataclasses.fields(FlinchRules)) == 37


PLACES = range(5)
IDS = {
    0: "stock",
    **{r: f"hand {r}" for r in range(1, 16)},
    **{16 + j: f"reserve {j}" for j in PLACES},
    **{21 + 5 * (r - 1) + j: f"discard {r} to {j}" for r in range(1, 16) for j in PLACES},
    96: "end turn",
    97: "no call",
    98: "call stock",
    99: "call 1",
    100: "stock down",
    **{100 + r: f"hand {r} down" for r in range(1, 16)},
    **{116 + j: f"reserve {j} down" for j in PLACES},
    121: "partner stock",
    **{122 + j: f"partner reserve {j}" for j in PLACES},
    127: "partner stock down",
    **{128 + j: f"partner reserve {j} down" for j in PLACES},
    133: "hand wild",
    **{134 + j: f"discard wild to {j}" for j in PLACES},
}


def test_139_ids_whatever_the_rules():
    assert sorted(IDS) == list(range(139))
    ids = [id for id in flinchenv.list_envs() if id.startswith("flinch")]
    for id in ids:
        table = Table(id)
        assert {table.env.action_space(agent).n for agent in table.agents} == {139}
        assert {a: table.setup.game.action_name(table.rules, a) for a in range(139)} == IDS
        assert [table.setup.game.parse_action(table.rules, IDS[a]) for a in range(139)] == list(range(139))


def test_ids_beyond_the_ranks_and_places_are_never_legal():
    rng = random.Random(3)
    for seed in range(8):
        table = Table(**SMALL, n_wild=2, seed=seed, duty_mode="challenge", illegal_move="exposure")
        for _ in play_random(table, rng, 150):
            for name in table.moves():
                numbers = [int(word) for word in name.split() if word.isdigit()]
                if name.startswith("hand") and "wild" not in name:
                    assert numbers[0] <= 5
                if name.startswith("reserve"):
                    assert numbers[0] <= 1
                if name.startswith("discard"):
                    assert numbers[-1] <= 1
                assert "down" not in name
                assert "partner" not in name


def test_in_eights_the_rank_fixes_the_direction_and_only_up_ids_are_used():
    table = eights().put(stocks={0: [7, 3]}, hands={0: [5, 12]}, reserves={0: [6, 11]}, centre=[(8, 10)])
    assert table.moves() == {"stock"}
    assert table.play("stock").moves() == {"reserve 0", "reserve 1"} | discards({5, 12}, [2])
    assert table.play("reserve 0").moves() == {"hand 5", "reserve 1"} | discards({5, 12}, [0])


@pytest.mark.parametrize("ranks", [3, 5, 9])
def test_in_eights_the_middle_rank_starts(ranks):
    middle = (ranks + 1) // 2
    table = eights(num_ranks=ranks, series_per_pack=20).put(hands={0: [middle, 1]}, stocks={0: [ranks, 1]})
    assert table.moves() == {f"hand {middle}"}
    assert table.play(f"hand {middle}").centre == [(middle, middle)]


def test_in_both_ends_partners_piles_go_down_too():
    table = partners(center="both_ends")
    table.put(stocks={2: [6, 9]}, hands={0: [9, 9]}, reserves={2: [9, 5]}, centre=[(7, 15)])
    assert table.moves() == {"partner stock down"}
    table.play("partner stock down")
    assert table.moves() == {"partner reserve 1 down", "discard 9 to 0"}
    table.play("partner reserve 1 down")
    assert (table.centre, table.reserves(2)[:2]) == ([(5, 15)], [[9], []])


def test_both_ids_of_a_stock_card_where_both_are_legal():
    table = both_ends().put(stocks={0: [6, 9]}, centre=[(7, 15), (1, 5)])
    assert np.flatnonzero(table.env.observe("player_0")["action_mask"]).tolist() == [0, 100]


def test_phases():
    table = Table("flinch-wild-v0", duty_mode="challenge", first_laydown="free")
    table.put(phase="open", turn=1, passes=1, hands={0: ["W", 9], 1: [9]})
    assert (table.phase, table.play("end turn").phase) == ("open", "laydown")
    table.put(hands={0: ["W", 9, 9]})
    phases = [table.phase]
    for name in ("hand wild", "hand 1", "discard 9 to 0", "no call"):
        phases.append(table.play(name).phase)
    assert phases == ["play", "name", "play", "challenge", "play"]
    assert table.put(stocks={0: [4]}, centre=[3]).play("stock").phase == "over"


@pytest.mark.parametrize("mode", ["challenge", "honour"])
def test_without_enforced_duties_everything_is_legal_at_once(mode):
    table = Table(duty_mode=mode)
    table.put(stocks={0: [4, 9]}, hands={0: [1, 4, 12]}, reserves={0: [4, 9]}, centre=[3])
    assert table.moves() == {"stock", "hand 1", "hand 4", "reserve 0"} | discards({4, 12}, [2])


def test_honour_knows_no_calls_and_no_windows():
    table = Table(duty_mode="honour").put(stocks={0: [4, 9]}, hands={0: [1, 12]}, centre=[3]).play("discard 12 to 0")
    assert (table.phase, table.turn, table.reserves(0)[0]) == ("play", 1, [12])


def test_auto_forced_plays_single_ids_until_there_is_a_choice():
    table = Table(auto_forced=True).put(stocks={0: [4, 5, 9]}, hands={0: [3, 11, 12, 12]}, centre=[2])
    table.play("hand 3")
    assert (table.stock(0), table.turn, table.record.length) == ([9], 0, 3)
    assert table.moves() == discards({11, 12}, [0])
    table.put(hands={0: [9, 10], 1: [12, 12]}).play("discard 9 to 0")
    assert table.reserves(1)[0][-1] == 12, "another seat's single id, too"
    assert len(table.moves()) > 1


def test_auto_forced_never_acts_inside_reset():
    for seed in range(5):
        table = Table(auto_forced=True, seed=seed)
        assert (table.phase, table.asked, table.record.length) == ("open", 0, 0)
        assert len(table.moves()) == 1
        table.play(*table.moves())
        assert len(table.moves()) > 1


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"num_players": 3, "opening": "sequential"},
        {"opening": "encyclopedia", "shaping": 1.0},
        {"duty_mode": "challenge", "p_expose": 0.1, "num_players": 3},
        {"num_players": 4, "partnership": True, "center": "both_ends"},
    ],
    ids=str,
)
def test_auto_forced_is_the_same_game(rules):
    rng = random.Random(str(rules))
    for seed in range(3):
        auto, plain = Table(seed=seed, auto_forced=True, **rules), Table(seed=seed, **rules)
        while not auto.over:
            name = rng.choice(sorted(auto.moves()))
            auto.play(name)
            plain.play(name)
            while not plain.over and len(plain.moves()) == 1:
                plain.play(*plain.moves())
            now, then = auto.record, plain.record
            assert (now.length, now.turn, now.phase, now.current_player) == (
                then.length, then.turn, then.phase, then.current_player,
            )  # fmt: skip
        assert auto.end == plain.end
        assert auto.paid == pytest.approx(plain.paid, abs=1e-5)
        assert [auto.reserves(p) for p in auto.seats] == [plain.reserves(p) for p in plain.seats]


# Call windows


def test_a_window_opens_at_the_end_of_every_turn_guilty_or_not():
    for start in (innocent, kept_1, skipped_stock):
        assert start().phase == "challenge"
    table = challenge().put(hands={0: [], 1: [4]}, centre=[3], stack=[]).play("end turn")
    assert (table.phase, table.asked) == ("challenge", 1)
    table = exposing().put(hands={0: [8, 12]}, centre=[3]).play("hand 8")
    assert (table.phase, table.asked) == ("challenge", 1)
    assert table.sees(1)["exposed"][1][8] == 1, "shown at once"
    table = exposing(p_expose=0.001).put(hands={0: [8, 12]}, centre=[3], due={0: 8}).play("discard 12 to 0")
    assert (table.phase, table.asked) == ("challenge", 1)


@pytest.mark.parametrize("window", ["turn_end", "every_action"])
def test_no_window_after_a_penalty_or_the_end_of_the_game(window):
    table = skipped_stock(challenge_window=window).play("call stock")
    assert (table.phase, table.turn, table.asked) == ("play", 1, 1)


def test_every_action_asks_after_the_new_top_is_turned_and_before_any_refill():
    table = challenge(challenge_window="every_action").put(stocks={0: [4, 7]}, hands={0: [8]}, centre=[3, 7])
    table.play("stock")
    assert (table.phase, table.sees(1)["stock_top"][1]) == ("challenge", 7)
    table.play("no call", "hand 8")
    assert (table.phase, table.hand(0).total()) == ("challenge", 0)
    table.play("no call")
    assert (table.phase, table.hand(0).total()) == ("play", 5)


@pytest.mark.parametrize("turn", range(4))
def test_partners_are_not_asked(turn):
    table = partners(duty_mode="challenge").put(hands={turn: PLAIN}, turn=turn).play("discard 9 to 0")
    asked = []
    while table.phase == "challenge":
        asked.append(table.asked)
        table.play("no call")
    assert asked == [(turn + 1) % 4, (turn + 3) % 4]


def test_an_announced_discard_is_hidden_and_stays_so_after_a_right_call():
    looks, keys = {0: set(), 1: set(), 2: set()}, ("window", "afterwards")
    for name in ("discard 9 to 0", "discard 12 to 3", "discard 11 to 2"):
        table = challenge(num_players=3, obs_reserve="full")
        table.put(stocks={0: [4, 9]}, hands={0: [9, 11, 12]}, reserves={0: [6, 6, 6, 6, 6]}, centre=[3])
        table.play(name)
        game = table.setup.game
        for p in (1, 2):
            looks[p].add((keys[0], table.looks(p), game.render_text(table.record, table.rules, viewer=p)))
        looks[0].add((keys[0], table.env.state().tobytes(), game.render_text(table.record, table.rules, viewer=-1)))
        table.play("call stock")
        for p in (1, 2):
            looks[p].add((keys[1], table.looks(p), game.render_text(table.record, table.rules, viewer=p)))
        looks[0].add((keys[1], table.env.state().tobytes(), ""))
    assert [len(looks[p]) for p in (0, 1, 2)] == [2, 2, 2]


def test_a_discard_that_is_applied_is_seen():
    looks = {innocent().play("no call").looks(1)}
    table = challenge().put(stocks={0: [4, 9, 8], 1: [7, 6, 5]}, hands={0: PLAIN}, centre=[8])
    looks.add(table.play("discard 9 to 0", "no call").looks(1))
    assert len(looks) == 2


def guilty(table, moves, call):
    """Whether a call is right after these moves of a seat, nobody calling before."""
    for k, name in enumerate(moves):
        table.play(name)
        if k < len(moves) - 1:
            silent(table)
    offender = table.turn
    before = len(table.stock(offender))
    table.play(call)
    return len(table.stock(offender)) > before


def test_stock_guilt_ends_when_the_card_is_played_after_all():
    position = {"stocks": {0: [4, 9, 9]}, "hands": {0: [1, 8, 12]}, "centre": [3]}
    table = challenge()
    assert guilty(table.put(**position), ["discard 12 to 0"], "call stock")
    assert guilty(table.put(**position), ["hand 1", "discard 12 to 0"], "call stock")
    assert not guilty(table.put(**position), ["stock", "discard 12 to 0"], "call stock")
    assert not guilty(table.put(**position), ["hand 1", "stock", "discard 12 to 0"], "call stock")


def test_stock_guilt_stays_when_the_card_no_longer_fits():
    table = challenge().put(stocks={0: [4, 9]}, hands={0: [4, 12]}, centre=[3])
    assert guilty(table, ["hand 4", "discard 12 to 0"], "call stock")


def test_no_stock_guilt_for_a_card_that_came_to_fit_and_was_played():
    table = challenge().put(stocks={0: [4, 9]}, hands={0: [3, 12]}, centre=[2])
    assert not guilty(table, ["hand 3", "stock", "discard 12 to 0"], "call stock")
    table.put(stocks={0: [4, 9]}, hands={0: [3, 12]}, centre=[2])
    assert guilty(table, ["hand 3", "discard 12 to 0"], "call stock")


def test_stock_guilt_of_one_turn_is_none_of_the_next():
    table = silent(skipped_stock())
    table.put(stocks={0: [9, 9]}, hands={0: [9, 9], 1: [9, 9]}, turn=1)
    assert not guilty(table, ["discard 9 to 0"], "call stock")
    assert table.turn == 0


def test_stock_guilt_ends_when_a_penalty_takes_the_card_away():
    table = challenge(challenge_window="every_action")
    table.put(stocks={0: [4, 9, 9]}, hands={0: [6, 12]}, centre=[3, 5]).play("hand 6", "call 1")
    assert table.stock(0) == [9, 9]
    assert not guilty(table, ["discard 12 to 0"], "call stock")


def test_exposing_or_reserving_instead_of_the_stock_card_is_guilt():
    table = exposing().put(stocks={0: [4, 9]}, hands={0: [8, 12]}, centre=[3])
    assert guilty(table, ["hand 8"], "call stock")


def test_stock_guilt_for_the_partners_card_outlasts_a_play_of_the_own():
    for piles, moves, right in (
        ([3], ["hand 4", "stock", "discard 12 to 0"], True),
        ([3, 3], ["hand 4", "stock", "partner stock", "discard 12 to 0"], False),
        ([3, 4], ["partner stock", "stock", "discard 12 to 0"], False),
        ([3, 3], ["partner stock", "stock", "discard 12 to 0"], False),
    ):
        table = partners(duty_mode="challenge")
        table.put(stocks={0: [5, 9, 9], 2: [4, 9]}, hands={0: [4, 12], 1: [9, 9]}, centre=piles)
        assert guilty(table, moves, "call stock") == right


def test_1_guilt_within_a_turn_follows_neither_a_stock_nor_a_starter_play():
    table = challenge(challenge_window="every_action")
    position = {"stocks": {0: [4, 9, 9]}, "hands": {0: [1, 1, 6, 12]}, "reserves": {0: [6]}, "centre": [3, 5, 5]}
    assert not guilty(table.put(**position), ["stock"], "call 1")
    assert not guilty(table.put(**position), ["hand 1"], "call 1")
    assert guilty(table.put(**position), ["hand 6"], "call 1")
    assert guilty(table.put(**position), ["reserve 0"], "call 1")
    assert guilty(table.put(**position), ["stock", "discard 12 to 1"], "call 1")
    assert not guilty(table.put(**{**position, "hands": {0: [6, 12]}}), ["hand 6"], "call 1")


def test_1_guilt_at_the_turns_end_is_a_1_in_hand():
    table = challenge()
    position = {"stocks": {0: [9, 9]}, "hands": {0: [1, 1, 12]}}
    assert guilty(table.put(**position), ["hand 1", "discard 12 to 0"], "call 1")
    assert not guilty(table.put(**position), ["hand 1", "hand 1", "discard 12 to 0"], "call 1")


def test_earlier_plays_of_a_penalised_turn_stand():
    table = challenge().put(stocks={0: [9, 9]}, hands={0: [1, 4, 12]}, centre=[3])
    table.play("hand 4", "discard 12 to 0", "call 1")
    assert (table.centre, table.hand(0), table.turn) == ([(1, 4)], Counter([1, 12]), 1)


def test_opponents_masks_do_not_depend_on_a_hand():
    for masked in (False, True):
        looks = set()
        for hand in ([1, 9, 12], [9, 9, 12], [7, 7, 12]):
            table = challenge(mask_false_stock_calls=masked)
            table.put(stocks={0: [9, 9]}, hands={0: hand}).play("discard 12 to 0")
            looks.add(table.looks(1))
        assert len(looks) == 1


# What is seen


def test_a_seat_sees_the_table_from_its_own_place():
    table = Table(num_players=3)
    table.put(
        stocks={0: [2, 3], 1: [5, 6, 7], 2: [8]}, hands={0: [9], 1: [10, 10], 2: [11, 12]},
        reserves={0: [[7, 3]], 1: [4, [6, 2]], 2: []}, centre=[3, 3, 8], removed=2, turn=1,
    )  # fmt: skip
    seen = table.sees(1)
    assert seen["turn"] == seen["asked"] == [1, 0, 0]
    assert seen["stock_top"] == [5, 8, 2]
    assert seen["stock_left"] == [3, 1, 2]
    assert seen["hand_cards"] == [2, 2, 1]
    assert seen["reserve_top"][0] == [4, 6, None, None, None]
    assert seen["reserve_cards"] == [[1, 2, 0, 0, 0], [0] * 5, [2, 0, 0, 0, 0]]
    assert seen["hand"][10] == sum(seen["hand"]) == 2
    assert (seen["ups"][3], seen["ups"][8], sum(seen["ups"])) == (2, 1, 3)
    assert (seen["removed"], seen["stack_hundreds"] * 100 + seen["stack_rest"]) == (2, table.stack.total())
    assert (seen["opened"], seen["forced"]) == (1, 0)


def test_the_centre_of_the_variants_is_seen():
    seen = both_ends().put(centre=[(1, 3), (12, 15), (12, 15)]).sees(1)
    assert (seen["ups"][3], sum(seen["ups"])) == (1, 1)
    assert (seen["downs"][12], sum(seen["downs"])) == (2, 2)
    seen = eights().put(centre=[(6, 9), (8, 8), (6, 9)]).sees(1)["eights"]
    assert (seen[1][2], seen[0][0], sum(map(sum, seen))) == (2, 1, 3)


def test_who_is_challenged_and_who_is_asked():
    table = four_callers(2)
    assert table.sees(1)["turn"] == [0, 1, 0, 0]
    assert table.sees(1)["asked"] == [0, 0, 1, 0]


def facts(table, seat):
    """(proved to hold no starter, proved to hold one), as another seat is told."""
    seen = table.sees((seat + 1) % len(table.seats))
    return seen["starter_free"][-1], seen["holds_starter"][-1]


def test_hand_facts_after_an_enforced_turns_end_and_an_opening_pass():
    table = Table(obs_reserve="full").put(hands={0: PLAIN, 1: [12, 12]})
    assert facts(table, 0) == (0, 0)
    assert facts(table.play("discard 9 to 0"), 0) == (1, 0)
    table.put(phase="open", hands={0: PLAIN, 1: PLAIN})
    assert facts(table.play("end turn"), 0) == (1, 0)
    table = challenge(obs_reserve="full").put(hands={0: PLAIN})
    assert facts(silent(table.play("discard 9 to 0")), 0) == (0, 0), "no mask, no proof"


def test_hand_facts_are_cleared_by_a_refill():
    table = Table(obs_reserve="full").put(hands={0: [9], 1: [12, 12]}).play("discard 9 to 0")
    assert facts(table, 0) == (1, 0)
    table.play("discard 12 to 0")
    assert (facts(table, 0), table.hand(0).total()) == ((0, 0), 5)


def test_hand_facts_after_calls():
    assert facts(innocent(obs_reserve="full").play("call 1"), 0) == (1, 0)
    table = kept_1(obs_reserve="full").play("call 1")
    assert facts(table, 0) == (0, 1)
    table.put(hands={0: [1, 1, 9], 1: [9, 9]}, holds_starter=1)
    assert facts(table, 0) == (0, 1)
    assert facts(table.play("hand 1"), 0) == (0, 0), "until it plays one"
    assert facts(skipped_stock(obs_reserve="full").play("call stock"), 0) == (0, 0)


def test_a_wrong_1_call_proves_nothing_after_a_stock_play():
    table = challenge(challenge_window="every_action", obs_reserve="full")
    table.put(stocks={0: [4, 9, 9]}, hands={0: [1, 9]}, centre=[3]).play("stock", "call 1")
    assert facts(table, 0) == (0, 0)
    table.put(stocks={0: [9, 9]}, hands={0: [4, 9]}, centre=[3]).play("hand 4", "call 1")
    assert facts(table, 0) == (1, 0)


def test_of_a_cancelled_discard_nothing_is_kept():
    table = skipped_stock(obs_reserve="full").play("call stock")
    assert table.sees(1)["known_hand"][1] == [0] * 16


def test_guesses_meet_the_facts():
    table = challenge(obs_reserve="full").put(hands={0: [1, 9, 9, 12, 12], 1: PLAIN}, holds_starter=1, turn=1)
    assert all(guess.hand(0)[1] for guess in table.guesses(1, 30))
    table.put(hands={0: [3, 9, 9, 12, 12], 1: PLAIN}, starter_free=1, turn=1)
    hands = [guess.hand(0) for guess in table.guesses(1, 60)]
    assert not any(hand[1] for hand in hands)
    assert len({str(sorted(hand.elements())) for hand in hands}) > 50
    table = exposing().put(hands={0: [8, 9, 12], 1: [9, 9]}, centre=[3]).play("hand 8", "no call")
    assert all(guess.hand(0)[8] for guess in table.guesses(1, 30))
    table = innocent(reveal_on_false_call=True).play("call 1")
    assert all(guess.hand(0) == table.hand(0) for guess in table.guesses(1, 10))
    table = skipped_stock().play("call stock")
    assert all(guess.stock(0)[-1] == 7 for guess in table.guesses(1, 10))


def test_guesses_are_uniform_and_no_choice_weighs_in():
    table = Table(hand_size=1).put(hands={0: [9], 1: [9]}, turn=1)
    seen = table.sees(1)
    visible = Counter(top for top in seen["stock_top"]) + table.hand(1)
    ranks = Counter(*[[next(iter(guess.hand(0))) for guess in table.guesses(1, 1500)]])
    for rank in (1, 9, 14, 15):
        assert_share(
            [True] * ranks[rank] + [False] * (1500 - ranks[rank]), (9 - visible[rank]) / (135 - visible.total())
        )


@pytest.mark.parametrize(
    ("id", "rules"),
    [
        ("flinch-v0", {"obs_reserve": "full"}),
        ("flinch-exposure-v0", {"p_expose": 0.3, "challenge_window": "every_action", "call_priority": "random"}),
        ("flinch-challenge-v0", {"penalty_card": "hidden_random", "reveal_on_false_call": True, "obs_reserve": "full"}),
        ("flinch-challenge-v0", {"penalty_card": "bottom", "mask_false_stock_calls": True, "num_players": 3}),
        ("flinch-partnership-v0", {"duty_mode": "challenge", "obs_reserve": "full", "center": "both_ends"}),
        ("flinch-wild-v0", {"first_laydown": "free", "obs_reserve": "full"}),
    ],
    ids=str,
)
def test_nothing_hidden_shows_in_an_observation_or_mask(id, rules):
    rng = random.Random(str(rules))
    for seed in range(2):
        table = Table(id, seed=seed, **rules)
        for k, _ in enumerate(play_random(table, rng, 120)):
            if k % 5 == 0 and not table.over:
                for seat in table.seats:
                    for guess in table.guesses(seat, 1):
                        assert guess.looks(seat) == table.looks(seat)
                        assert guess.everything() == table.deck()
                        assert guess.asked == table.asked


def test_guesses_resample_all_that_is_hidden():
    table = Table()
    guesses = table.guesses(0, 5)
    for view in (
        lambda t: str(t.hand(1)),
        lambda t: str(t.stock(0)),
        lambda t: str(t.stock(1)),
        lambda t: str(t.stack),
    ):
        assert len({view(guess) for guess in guesses}) > 1
    assert {str(sorted(guess.hand(0).elements())) for guess in guesses} == {str(sorted(table.hand(0).elements()))}


# Reward and end


@pytest.mark.parametrize("players", [2, 3, 4])
def test_reward_win_is_paid_once_at_the_end(players):
    table = Table(num_players=players).put(stocks={1: [3, 4]}, hands={1: [9, 9]}, centre=[2], turn=1)
    assert table.play("stock").rewards == [0] * players
    table.play("stock")
    loss = -1 / (players - 1)
    assert table.rewards == pytest.approx([1 if p == 1 else loss for p in range(players)])


def test_reward_win_shared_and_of_teams():
    table = Table(num_players=3, deadlock="fewest_stock")
    table.put(stocks={0: [15] * 3, 1: [15] * 4, 2: [14] * 3}, hands=each(3, [9, 9]), stack=[]).play("discard 9 to 0")
    assert table.end == ("dead", [0, 2])
    assert table.rewards == pytest.approx([(3 / 2 - 1) / 2, -1 / 2, (3 / 2 - 1) / 2])
    table = partners().put(stocks={1: [4], 3: []}, centre=[3], turn=1).play("stock")
    assert table.rewards == [-1, 1, -1, 1]
    table = partners(num_players=6).put(stocks={1: [4], 4: []}, centre=[3], turn=1).play("stock")
    assert table.rewards == pytest.approx([-0.5, 1, -0.5, -0.5, 1, -0.5])


def test_reward_stock_margin():
    table = Table(num_players=3, reward="stock_margin")
    table.put(stocks={0: [4], 1: [9] * 6, 2: [15] * 3}, centre=[3]).play("stock")
    assert table.rewards == pytest.approx([(9 / 2 - 0) / 10, (3 / 2 - 6) / 10, (6 / 2 - 3) / 10])
    table = partners(reward="stock_margin")
    table.put(stocks={0: [4], 2: [], 1: [9] * 6, 3: [15] * 3}, centre=[3]).play("stock")
    assert table.rewards == pytest.approx([9 / 20, -9 / 20, 9 / 20, -9 / 20])
    table = dead_end(reward="stock_margin").play("discard 9 to 1")
    assert table.rewards == pytest.approx([0.1, -0.1])
    table = Table(reward="stock_margin", max_turns=1).put(stocks={0: [15] * 2, 1: [15] * 7}, hands={0: PLAIN})
    assert table.play("discard 9 to 0").rewards == pytest.approx([0.5, -0.5])


def test_reward_win_pays_nothing_for_a_dead_or_cut_game():
    assert dead_end().play("discard 9 to 1").paid == [0, 0]
    assert Table(max_turns=1).put(hands={0: PLAIN}).play("discard 9 to 0").paid == [0, 0]


@pytest.mark.parametrize("reward", ["win", "stock_margin"])
def test_a_forfeit_ends_the_game(reward):
    for rules, paid in (
        ({"num_players": 3}, [0.5, -1, 0.5]),
        ({"num_players": 4, "partnership": True}, [1, -1, 1, -1]),
    ):
        env = flinchenv.make("flinch-v0", illegal_action="forfeit", reward=reward, **rules)
        env.reset(seed=1)
        for _ in range(200):
            if env.agent_selection == "player_1":
                break
            env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
        env.step(138)
        info = env.infos["player_1"]
        assert info["end_reason"] == "forfeit"
        assert [env.rewards[agent] for agent in env.possible_agents] == pytest.approx(paid)
        assert set(env.terminations.values()) == {True}


ENDS = [
    {},
    {"num_players": 3, "deadlock": "fewest_stock"},
    {"num_players": 4, "partnership": True, "duty_mode": "challenge"},
    {"duty_mode": "challenge", "empty_by_penalty_wins": False, "stock_size": 2},
    {"num_players": 3, "duty_mode": "challenge", "challenge_window": "every_action", "stock_size": 1},
    {"max_turns": 9},
]


@pytest.mark.parametrize("reward", ["win", "stock_margin"])
@pytest.mark.parametrize("rules", ENDS, ids=str)
def test_rewards_are_zero_sum(rules, reward):
    rng = random.Random(str(rules))
    for seed in range(3):
        table = Table(seed=seed, reward=reward, **rules)
        for _ in play_random(table, rng):
            assert sum(table.rewards) == pytest.approx(0, abs=1e-5)
        assert table.env.infos["player_0"]["returns"] == pytest.approx(table.paid, abs=1e-5)


@pytest.mark.parametrize("rules", ENDS[:5], ids=str)
def test_shaping_sums_to_its_weight_whatever_the_outcome(rules):
    rng = random.Random(str(rules))
    for seed in range(4):
        table = Table(seed=seed, shaping=2.0, reward="win", **rules)
        for _ in play_random(table, rng):
            pass
        reason, winners = table.end
        plain = [0.0] * len(table.seats)
        if winners:
            T = len(table.seats) // (2 if table.rules.partnership else 1)
            k = len(winners) / len(table.seats) * T
            plain = [(T / k - 1) / (T - 1) if p in winners else -1 / (T - 1) for p in table.seats]
        assert table.paid == pytest.approx([x + 2 for x in plain], abs=1e-4), reason


def test_shaping_of_a_cut_game_keeps_its_potential():
    table = Table(shaping=3.0, max_turns=1).put(stocks={0: [4, *[15] * 7]}, hands={0: PLAIN}, centre=[3])
    table.play("stock", "discard 9 to 0")
    assert table.paid == pytest.approx([3 * (8 - 7) / 10, 0])


def test_shaping_is_paid_on_the_seats_own_steps():
    table = Table(shaping=2.0, shaping_gamma=0.5).put(
        stocks={0: [4, *[15] * 7]}, hands={0: PLAIN, 1: PLAIN}, centre=[3]
    )
    assert table.play("stock").rewards == pytest.approx([2 * (-0.5 * 0.7 + 0.8), 0])
    assert table.play("discard 9 to 0").rewards == pytest.approx([2 * (-0.5 * 0.7 + 0.7), 0])
    assert table.play("discard 9 to 0").rewards == pytest.approx([0, 2 * (-0.5 + 1)])
    table.put(stocks={0: [4], 1: [15] * 5}, centre=[3]).play("stock")
    assert table.rewards == pytest.approx([1 + 2 * 0.1, -1 + 2 * 0.5]), "at the end what is left, for all"


def test_shaping_of_a_team_counts_both_stocks():
    table = partners(shaping=1.0).put(stocks={0: [4, 9], 2: [9] * 4}, hands={0: [9, 9]}, centre=[3]).play("stock")
    assert table.rewards == pytest.approx([1 / 20, 0, 0, 0])


def test_truncation_and_termination():
    table = Table(max_turns=2).put(hands={0: PLAIN, 1: PLAIN}).play("discard 9 to 0", "discard 9 to 0")
    assert table.end == ("max_turns", [])
    assert set(table.env.truncations.values()) == {True}
    assert set(table.env.terminations.values()) == {False}
    table = dead_end().play("discard 9 to 1")
    assert set(table.env.truncations.values()) == {False}
    assert set(table.env.terminations.values()) == {True}


def test_opening_passes_count_towards_max_turns():
    table = Table(max_turns=1).put(phase="open", hands={0: PLAIN}).play("end turn")
    assert table.end == ("max_turns", [])


def test_what_a_turn_is():
    table = challenge(n_wild=9, num_players=3, first_laydown="free")
    table.put(phase="open", hands=each(3, [9, 12]))
    for turns in (1, 2, 3):
        assert table.play("end turn").turns == turns, "an opening pass"
    for card in [9, 12] * 3:
        assert table.play(f"discard {card} to 0").turns == 3, "no lay-down"
    table.put(hands={0: ["W", 9, 9]})
    for name in ("hand wild", "hand 1", "discard 9 to 0", "no call"):
        assert table.play(name).turns == 0, "neither NAME nor a call"
    assert table.play("no call").turns == 1


@pytest.mark.parametrize("before", [7, 8])
def test_max_plays_per_turn_counts_every_action_of_the_turn_holder(before):
    table = Table(n_wild=9, max_plays_per_turn=10)
    table.put(hands={0: ["W", 4, 9]}, centre=[3], turn_actions=before).play("hand wild", "hand 1")
    assert table.over == (before == 8)
    if not table.over:
        table.play("hand 4")
    assert table.end == ("max_plays_per_turn", [])
    assert set(table.env.truncations.values()) == {True}


def test_max_plays_per_turn_does_not_count_calls():
    table = challenge(challenge_window="every_action", max_plays_per_turn=10)
    table.put(hands={0: [4, 5, 6, 9]}, centre=[3], turn_actions=7)
    table.play("hand 4", "no call", "hand 5", "no call")
    assert not table.over
    assert table.play("hand 6").end == ("max_plays_per_turn", [])


def test_the_engines_own_cap():
    env = flinchenv.make("flinch-v0", max_steps=3)
    env.reset(seed=1)
    for _ in range(3):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert env.infos["player_0"]["end_reason"] == "max_steps"
    assert set(env.truncations.values()) == {True}


@pytest.mark.parametrize("id", ["flinch-v0", "flinch-partnership-v0"])
def test_end_of_game_infos(id):
    table = Table(id).put(stocks={0: [4], 1: [15] * 3, 2: []} if "partner" in id else {0: [4], 1: [15] * 3}, centre=[3])
    table.play("stock")
    team = "partner" in id
    for agent in table.agents:
        info = table.env.infos[agent]
        told = {name: info[name] for name in ("scores", "winners", "end_reason", "length", "returns")}
        assert told == {
            "scores": [0, -3, 0, -10] if team else [0, -3],
            "winners": [0, 2] if team else [0],
            "end_reason": "goal",
            "length": 1,
            "returns": [1.0, -1.0, 1.0, -1.0] if team else [1.0, -1.0],
        }


def test_length_counts_the_actions_of_all_seats():
    table = four_callers(0).play("no call", "no call", "no call")
    assert table.record.length == 4


def test_there_is_no_parallel_api():
    with pytest.raises(ValueError, match="parallel"):
        flinchenv.make("flinch-v0", "parallel")


# Arithmetic and properties


def test_the_stack_after_the_deal():
    for series, packs, expected in (
        (9, 1, [105, 90, 75, 60, 45, 30, 15]),
        (10, 1, [120, 105, 90, 75, 60, 45, 30]),
        (9, 2, [240, 225, 210, 195, 180, 165, 150]),
    ):
        rules = [FlinchRules(num_players=n, series_per_pack=series, packs=packs) for n in range(2, 9)]
        assert [r.deck_size - 15 * r.num_players for r in rules] == expected
    wilds = [FlinchRules(num_players=n, packs=1, n_wild=9).deck_size - 15 * n for n in range(2, 9)]
    assert wilds == [114, 99, 84, 69, 54, 39, 24]


@pytest.mark.parametrize(("players", "share"), [(2, 0.421), (3, 0.264), (4, 0.162)])
def test_how_often_nobody_has_a_1(players, share):
    exact = math.comb(126, 6 * players) / math.comb(135, 6 * players)
    assert exact == pytest.approx(share, abs=0.0006)
    env = flinchenv.make("flinch-v0", "vector", num_envs=3000, num_players=players)
    env.reset(seed=0)
    games = env.snapshot().games
    ones = (games["stock_rank"][:, :players] == 1).sum(axis=1) + games["hand"][:, :players, 1].sum(axis=1)
    assert_share(ones == 0, exact)


@pytest.mark.parametrize(
    ("id", "rules"),
    [
        ("flinch-v0", {}),
        ("flinch-challenge-v0", {"num_players": 3, "penalty_card": "hidden_random"}),
        ("flinch-partnership-v0", {"recycle": "immediate"}),
        ("flinch-both_ends-v0", {"recycle": "eager"}),
        ("flinch-eights-v0", {}),
        ("flinch-eights-v0", {"eights_removal": "on_15"}),
        ("flinch-classic150-v0", {"num_players": 3}),
        ("flinch-exposure-v0", {"p_expose": 0.2}),
        ("flinch-wild-v0", {"duty_mode": "challenge"}),
        ("flinch-v0", {**SMALL, "deadlock": "reshuffle_reserves", "num_players": 3, "max_turns": 150}),
    ],
    ids=str,
)
def test_what_holds_in_every_position(id, rules):
    rng = random.Random(f"{id} {rules}")
    for seed in range(2):
        table = Table(id, seed=seed, **rules)
        whole = table.rules.n_wild == 0 and table.rules.eights_removal == "both_ends" and "hand_size" not in rules
        stocks = sum(len(table.stock(p)) for p in table.seats)
        opened = False
        for _ in play_random(table, rng, 250):
            assert table.everything() == table.deck()
            assert all(table.hand(p).total() <= table.rules.hand_size for p in table.seats)
            tops = {card for p in table.seats for pile in table.reserves(p) for card in pile}
            assert not tops & set(table.rules.duty_starters)
            if whole:
                assert table.stack.total() % 5 == 0
            now = sum(len(table.stock(p)) for p in table.seats)
            assert now <= stocks
            stocks = now
            starters = sum(table.deck()[r] for r in table.rules.starters) + table.rules.wilds
            assert len(table.centre) <= starters
            opened |= bool(table.centre)
            assert [bool(table.moves(p)) for p in table.seats] == [
                not table.over and p == table.asked for p in table.seats
            ]
        assert opened


def test_refusers_end_in_a_dead_game():
    for seed in range(4):
        table = Table(seed=seed)
        rng = random.Random(seed)
        while not table.over:
            names = sorted(table.moves())
            ends = [name for name in names if name.startswith(("discard", "end"))]
            table.play(rng.choice(ends) if ends else names[0])
        assert table.end[0] in ("dead", "goal")
        assert table.turns < 300


# --- The situations straight from the text ----------------------------------------------------------------------------


def test_text_stock_1_then_new_top_1_two_piles():
    table = Table().put(phase="open", stocks={0: [1, 1, 9]}, hands={0: PLAIN}).play("stock", "stock")
    assert (table.centre, table.stock(0)) == ([(1, 1), (1, 1)], [9])


def test_text_hand_1_forced_then_a_stock_2_forced():
    table = Table().put(stocks={0: [2, 9]}, hands={0: [1, *PLAIN[1:]]}, centre=[7])
    assert table.moves() == {"hand 1"}
    assert table.play("hand 1").moves() == {"stock"}


def test_text_an_empty_hand_draws_five_in_mid_turn_and_goes_on():
    table = Table().put(hands={0: [4]}, centre=[3], stack=[5, 6, 7, 8, 9]).play("hand 4", "hand 5", "hand 6")
    assert (table.hand(0), table.turn) == (Counter([7, 8, 9]), 0)


def test_text_no_1_anywhere_five_piles_of_one_card_and_the_stack_less_5n():
    table = Table(num_players=4).put(phase="open", hands=each(4, [2, 3, 4, 5, 6]))
    left = table.stack.total()
    table.play(*["end turn"] * 4)
    assert [table.reserves(p) for p in range(4)] == [[[2], [3], [4], [5], [6]]] * 4
    assert table.stack.total() == left - 20


def test_text_a_second_lay_down_may_put_five_on_one_pile():
    table = Table().put(phase="open", turn=1, passes=1, hands={0: PLAIN, 1: PLAIN}, reserves={0: [2] * 5}, laid=3)
    table.play("end turn", *[f"discard {card} to 4" for card in PLAIN])
    assert [len(pile) for pile in table.reserves(0)] == [1, 1, 1, 1, 6]


def test_text_an_emptied_reserve_pile_is_filled_before_the_others():
    table = Table().put(hands={0: PLAIN}, reserves={0: [8, 8, 8, 4, 8]}, centre=[3]).play("reserve 3")
    assert table.moves() == discards({9, 10, 11, 12}, [3])


def test_text_a_15_removes_the_pile():
    table = Table().put(stocks={0: [15, 9]}, hands={0: PLAIN}, centre=[14]).play("stock")
    assert (table.centre, table.removed[0]) == ([], 1)


@pytest.mark.parametrize("piles", [1, 3])
def test_text_a_recycled_shuffle_holds_each_rank_alike(piles):
    table = Table().put(hands={0: [4]}, centre=[3], removed=piles, stack=[]).play("hand 4")
    assert table.stack + table.hand(0) == Counter(dict.fromkeys(range(1, 16), piles))


def test_text_a_right_call_moves_the_callers_top_to_the_offenders_bottom():
    table = skipped_stock().play("call stock")
    assert (table.stock(0)[-1], table.stock(1), table.reserves(0)[0]) == (7, [6, 5], [])


def test_text_a_wrong_1_call_mirrors_it():
    table = innocent().play("call 1")
    assert (table.stock(1)[-1], table.stock(0), table.reserves(0)[0]) == (4, [9, 8], [11])


def test_text_two_callers_the_nearest_left():
    table = four_callers(3)
    assert table.asked == 0
    table.play("call stock")
    assert [len(table.stock(p)) for p in range(4)] == [2, 3, 3, 4]


def test_text_several_releasing_cards_the_first_from_the_dealers_left():
    table = blocked_game((1, 3), turn=2)
    end_turn(table)
    assert (table.turn, table.moves()) == (1, {"hand 4"})


def test_text_the_own_stock_before_the_partners_and_the_game_goes_on_after_the_first_is_empty():
    table = partners().put(stocks={0: [4], 2: [4, 5, 9]}, hands={0: [9, 9]}, centre=[3, 3])
    assert table.moves() == {"stock"}
    assert table.play("stock").moves() == {"partner stock"}
    table.play("partner stock", "partner stock")
    assert (table.over, table.stock(0), table.stock(2)) == (False, [], [9])
