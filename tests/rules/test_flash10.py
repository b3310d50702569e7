"""Flash 10 by its rules: the rules T1-T17, the readings TA1-TA20, the order of things 1-8, then the decisions."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from table_flash10 import (
    Table,
    assert_as_often,
    assert_geometric,
    assert_mean,
    assert_share,
    contents,
    places,
)

import flinchenv
from flinchenv.flash10.rules import Flash10Rules

ANNA = [3, 12, 21, 34, 46, 52, 63, 71, 88, 97]
BERND = [17, 29, 43, 62, 86, 41, 12, 9, 77, 33]
CHRISTINE = [7, 18, 25, 41, 56, 70, 33, 60, 12, 95]
UWE = [7, 15, "T", 30, 44, "T", 61, 73, 20, 90]
WOLFGANG = [4, 19, 38, 62, 91, 77, 53, 30, 11]
THUNDER_ROW = ["T", 4, 12, 21, 36, 48, 59, 66, 82, 97]

# Rows of one's own, without Flash cards; all but ALMOST may lie on one table.
RISING = [11, 13, 22, 33, 44, 54, 66, 76, 87, 98]  # in order: worth 10
SECOND = [14, 18, 27, 38, 47, 57, 68, 78, 86, 97]  # in order, too
THIRD = [3, 21, 31, 36, 49, 51, 63, 71, 82, 94]  # in order, too
ALMOST = [*RISING[:9], 1]  # 98 on the last slot puts it in order: worth 9
NINE = [6, 17, 26, 37, 46, 56, 67, 77, 89, 2]  # worth 9
FIVE = [16, 28, 42, 61, 84, 39, 12, 8, 79, 32]  # worth 5, with 99 on slot 5 worth 6
LIKE = [19, 29, 43, 62, 83, 41, 9, 7, 74, 34]  # worth 5, too
ROWS = {0: RISING, 1: FIVE, 2: NINE}
LOWEST_FIRST = {"priority": "fastest", "t_place": (1, 2, 3, 4, 5)}
HIGHEST_FIRST = {"priority": "fastest", "t_place": (5, 4, 3, 2, 1)}
SMALL = {"numbers": 12, "thunders": 1, "row_len": 3}
MANY = 20_000


def scored(row, stop=False, **rules):
    """A row's points at the end of a round: its own seat calls Stop, or the other one, falsely."""
    table = Table(row_len=len(row), reward="points", **rules).put(rows={0: row})
    table.play({0: "stop", 1: "wait"} if stop else {0: "wait", 1: "stop"})
    assert table.rounds == 1 or table.over
    assert table.rewards == table.gained
    return table.gained[0]


def everybody(table, move):
    """The same move for every seat that is asked."""
    return dict.fromkeys(table.asked, move)


def mountain(**rules):
    return Table("flash10-mountain-v0", **{"reward": "points", **rules})


# --- The rules --------------------------------------------------------------------------------------------------------


def test_t1_a_hundred_numbers_and_twenty_thunders():
    for seed in range(20):
        table = Table(seed=seed)
        cards = Counter([*table.rows[0], *table.rows[1]]) + table.middle
        assert cards == Counter({**dict.fromkeys(range(100), 1), "T": 20})
        assert cards.total() == 120


@pytest.mark.parametrize(("numbers", "thunders"), [(10, 0), (10, 20), (12, 1), (64, 5), (65, 0), (100, 0), (99, 20)])
def test_t1_other_decks(numbers, thunders):
    table = Table(numbers=numbers, thunders=thunders, row_len=3)
    cards = Counter([*table.rows[0], *table.rows[1]]) + table.middle
    assert cards == Counter(range(numbers)) + Counter("T" * thunders)


def test_t2_a_card_is_laid_on_one_of_the_ten_and_no_card_ever_moves():
    for slot in range(10):
        table = Table().put(rows={0: BERND}, held={0: 50})
        assert table.moves(0) == places(10)
        table.play({0: f"place {slot}", 1: "wait"})
        assert table.rows[0] == [*BERND[:slot], 50, *BERND[slot + 1 :]]


@pytest.mark.parametrize("length", [3, 4, 7, 10])
def test_t2_a_shorter_row_has_fewer_slots(length):
    table = Table(row_len=length).put(held={0: 50})
    assert table.moves(0) == places(length)
    assert [len(row) for row in table.rows] == [length, length]


def test_t3_an_ascending_row_calls_stop_and_ends_the_round_and_rounds_go_up_to_fifty_points():
    table = Table(reward="points")
    for k in range(1, 5):
        table.put(rows={0: RISING, 1: FIVE}).play({0: "stop", 1: "wait"})
        assert (table.rounds, table.points, table.over) == (k, [12 * k, 5 * k], False)
    table.put(rows={0: RISING, 1: FIVE}).play({0: "stop", 1: "wait"})
    assert table.end == ("goal", [0])
    assert table.points == [60, 25]


@pytest.mark.parametrize(("players", "length", "middle"), [
    (1, 10, 110), (2, 10, 100), (3, 10, 90), (4, 10, 80), (5, 10, 70),
    (1, 9, 111), (2, 9, 102), (3, 9, 93), (4, 9, 84), (5, 9, 75), (5, 8, 80),
])  # fmt: skip
def test_t4_ten_cards_each_and_the_rest_in_the_middle(players, length, middle):
    table = Table(num_players=players, row_len=length)
    assert [len(row) for row in table.rows] == [length] * players
    assert table.middle.total() == middle == 120 - players * length
    assert [table.sees(seat)["middle"] for seat in range(players)] == [middle] * players


def test_t4_all_cards_are_shuffled():
    env = flinchenv.make("flash10-v0", "vector", num_envs=MANY)
    env.reset(seed=0)
    games = env.snapshot().games
    for seat, slot in [(0, 0), (0, 9), (1, 0), (1, 9)]:
        assert_as_often(np.bincount(games["row"][:, seat, slot], minlength=101), [1] * 100 + [20])
    both = (games["row"][:, 0, 0] == 100) & (games["row"][:, 1, 9] == 100)
    assert_share(both, 20 / 120 * 19 / 119)


def test_t4_seeds_deal_different_rounds():
    assert len({str(Table(seed=seed).rows) for seed in range(50)}) == 50


def test_t5_all_turn_their_cards_over_at_once_where_they_lie():
    table = Table(num_players=3)
    assert (table.tick, table.asked) == (1, [0, 1, 2])
    numbers = [[100 if card == "T" else card for card in row] for row in table.rows]
    for seat in range(3):
        assert table.sees(seat)["row"] == [numbers[(seat + k) % 3] for k in range(3)]
        assert table.moves(seat) == ["draw", "stop", "wait"]
    rows = table.rows
    table.play(everybody(table, "draw"))
    assert table.rows == rows


def test_t6_a_card_is_taken_and_laid_and_at_once_the_next():
    table = Table(seed=3).put(rows={0: LIKE, 1: FIVE})
    for k in range(10):
        assert (table.tick, table.held, table.asked) == (1 + 2 * k, [None, None], [0, 1])
        middle = table.middle
        table.play({0: "draw", 1: "draw"})
        assert table.middle + Counter(table.held) == middle
        assert (table.tick, table.asked) == (2 + 2 * k, [0, 1])
        assert table.moves(0) == table.moves(1) == places(10)
        cards = table.held
        table.play({0: f"place {k}", 1: "place 0"})
        assert (table.rows[0][k], table.rows[1][0]) == tuple(cards)
    assert table.rounds == 0


def test_t7_drawn_cards_never_go_back_and_piles_have_any_height():
    table = Table(num_players=1, seed=4, numbers=40, thunders=6, row_len=4)
    everything = Counter(table.rows[0]) + table.middle
    covered = Counter()
    for _ in range(41):
        table.play({0: "draw"})
        covered[table.rows[0][0]] += 1
        table.play({0: "place 0"})
        assert not any(covered[n] and table.middle[n] for n in range(40))
        assert covered + Counter(table.rows[0]) + table.middle == everything
    assert (table.phase, table.middle.total()) == ("run", 1)
    assert covered.total() == 41


def test_t8_a_stop_ends_the_round_and_a_card_in_hand_must_be_laid():
    table = Table(num_players=3, reward="points").put(rows=ROWS, held={1: 99})
    table.put(ready_at={1: 5})
    table.play({0: "stop", 2: "wait"})
    assert (table.phase, table.asked, table.gained) == ("final_place", [1], [0, 0, 0])
    assert [table.moves(seat) for seat in range(3)] == [["wait"], places(10), ["wait"]]
    table.play({1: "place 5"})  # 16 28 42 61 84 99
    assert table.gained == [12, 6, 9]
    assert table.rounds == 1


def test_t8_nobody_holds_a_card_the_round_is_scored_at_once():
    table = Table(num_players=3, reward="points").put(rows=ROWS)
    table.play({0: "stop", 1: "wait", 2: "wait"})
    assert (table.gained, table.rounds, table.tick) == ([12, 5, 9], 1, 1)


@pytest.mark.parametrize("k", range(1, 10))
def test_t9_a_point_for_every_number_of_the_ascending_start(k):
    small = [1, 2, 3, 4, 6, 7, 8, 9, 11]
    assert scored(RISING[:k] + [n for n in small if n not in RISING[:k]][: 10 - k]) == k


def test_t9_a_whole_row_and_two_more_for_the_caller():
    assert scored(RISING) == 10
    assert scored(RISING, stop=True) == 12


def test_t9_example_anna():
    assert scored(ANNA, stop=True) == 12
    assert scored([20 if n == 21 else n for n in ANNA], stop=True) == 13  # a Flash card more


def test_t9_example_bernd():
    assert scored(BERND) == 5


def test_t9_the_two_points_are_for_the_caller_alone():
    table = Table(reward="points").put(rows={0: RISING, 1: SECOND}).play({0: "wait", 1: "stop"})
    assert table.gained == [10, 12]


def test_t10_the_round_ends_when_the_last_card_is_taken():
    table = Table("flash10-round-v0", reward="points").put(rows={0: RISING, 1: FIVE}, middle=[99])
    table.play({0: "wait", 1: "draw"})
    assert (table.phase, table.asked, table.sees(0)["middle"]) == ("final_place", [1], 0)
    table.play({1: "place 9"})
    assert table.end == ("exhausted", [0])
    assert table.points == [10, 5]


def test_t11_a_false_caller_gets_nothing_and_the_others_score_normally():
    flashes = [5, 10, 20, 30, 40, 50, 60, 70, 90, 80]  # 9 and ten Flash cards
    table = Table(num_players=3, reward="points").put(rows={0: flashes, 1: FIVE, 2: NINE})
    table.play({0: "stop", 1: "wait", 2: "wait"})
    assert table.gained == [0, 5, 9]
    assert scored(flashes) == 19


def test_t12_flash_cards_are_the_multiples_of_five_zero_among_them():
    table = Table()
    flash = []
    for first in range(0, 100, 10):
        table.put(rows={0: range(first, first + 10)})
        assert table.sees(0)["row_flash"][0] == table.sees(1)["row_flash"][1]
        flash += [first + slot for slot in table.sees(0)["row_flash"][0]]
    assert flash == list(range(0, 100, 5))
    assert len(flash) == 20


def test_t12_a_point_more_for_each_visible_flash_card():
    falling = [98, 97, 96, 94, 93, 92, 91, 89, 88, 87]
    for k in range(10):
        assert scored([98, *range(0, 5 * k, 5), *falling[k + 1 :]]) == 1 + k  # the first card and the Flash cards
        assert scored([98, *range(5 * k - 5, -5, -5), *falling[k + 1 :]]) == 1 + k


def test_t12_example_christine():
    assert scored(CHRISTINE) == 10
    assert len([n for n in CHRISTINE if n % 5 == 0]) == 4


def test_t13_a_thunder_lies_on_any_card_also_on_a_thunder():
    row = [7, "T", 15, 30, "T", 44, 61, 73, 20, 90]
    for slot in range(10):
        table = Table().put(rows={0: row}, held={0: "T"})
        assert table.moves(0) == places(10)
        table.play({0: f"place {slot}", 1: "wait"})
        assert table.rows[0] == [*row[:slot], "T", *row[slot + 1 :]]
        assert table.sees(0)["row_thunder"][0] == sorted({1, 4, slot})


def test_t13_a_number_lies_on_a_thunder():
    table = Table().put(rows={0: ["T", *RISING[1:]]}, held={0: 11})
    table.play({0: "place 0", 1: "wait"})
    assert table.checks == [True, False]
    assert table.sees(0)["row_thunder"][0] == []


def test_t13_a_thunder_does_not_interrupt_and_costs_a_point():
    assert scored([11, "T", 22, "T", "T", 54, 66, 76, 87, 98]) == 7 - 3
    assert scored(["T", 22, 11, 54, 66, 76, 87, 98, 99, "T"]) == 1 - 2
    assert scored(["T"] * 10) == -10
    assert scored([22, "T", 11, 54, 66, 76, 87, 98, 99, 97]) == 1 - 1


def test_t13_example_uwe():
    assert scored(UWE) == 8


@pytest.mark.parametrize("slot", range(10))
def test_t13_no_stop_while_a_thunder_is_visible(slot):
    row = [*RISING[:slot], "T", *RISING[slot + 1 :]]
    assert Table(false_stop="masked").put(rows={0: row}).moves(0) == ["draw", "wait"]
    assert Table(false_stop="masked").put(rows={0: RISING}).moves(0) == ["draw", "stop", "wait"]
    assert scored(row, stop=True) == 0
    assert scored(row) == 8


def test_t14_points_are_noted_and_all_cards_are_dealt_again():
    table = Table(num_players=3, reward="points").put(rows=ROWS, middle=[1, "T"], tick=7)
    table.play({0: "wait", 1: "wait", 2: "stop"})
    assert (table.points, table.rounds, table.tick, table.asked) == ([10, 5, 0], 1, 1, [0, 1, 2])
    assert table.middle.total() == 90
    cards = Counter(itertools.chain(*table.rows)) + table.middle
    assert cards == Counter({**dict.fromkeys(range(100), 1), "T": 20})
    assert table.rows[:2] != [RISING, FIVE]
    for seat in range(3):
        seen = table.sees(seat)
        assert seen["points"] == [[10, 5, 0][(seat + k) % 3] for k in range(3)]
        assert seen["last_gain"] == seen["points"]
        assert (seen["rounds"], seen["called"]) == (1, [0, 0, 0])


@pytest.mark.parametrize(("before", "over"), [([37, 0], False), ([38, 0], True), ([39, 0], True)])
def test_t15_fifty_points_or_more_end_the_match(before, over):
    table = Table().put(rows={0: RISING, 1: FIVE}, scores=before).play({0: "stop", 1: "wait"})
    assert table.over == over
    if over:
        assert table.end == ("goal", [0])
        assert table.env.terminations == {"player_0": True, "player_1": True}
        assert table.env.truncations == {"player_0": False, "player_1": False}


def test_t15_of_several_with_fifty_the_most_points_win():
    table = Table().put(rows={0: RISING, 1: FIVE}, scores=[40, 48]).play({0: "stop", 1: "wait"})
    assert (table.points, table.end) == ([52, 53], ("goal", [1]))


def test_t15_fifty_points_count_at_the_end_of_a_round_only():
    table = Table().put(rows={0: RISING, 1: FIVE}, scores=[60, 70])
    assert not table.play({0: "draw", 1: "wait"}).over
    assert not table.play({0: "place 0", 1: "wait"}).over
    assert table.play({0: "wait", 1: "stop"}).end == ("goal", [1])


@pytest.mark.parametrize("target", [1, 12, 13, 1000])
def test_t15_other_targets(target):
    table = Table(target_score=target).put(rows={0: RISING, 1: FIVE}).play({0: "stop", 1: "wait"})
    assert table.over == (target <= 12)


def test_t16_nine_cards_rise_to_the_fifth_and_fall_after_it():
    table = mountain()
    assert [len(row) for row in table.rows] == [9, 9]
    falls = [
        [19, 4, 38, 62, 91, 77, 53, 30, 11],
        [4, 19, 62, 38, 91, 77, 53, 30, 11],
        [4, 19, 38, 92, 91, 77, 53, 30, 11],
        [4, 19, 38, 62, 76, 77, 53, 30, 11],
        [4, 19, 38, 62, 91, 53, 77, 30, 11],
        [4, 19, 38, 62, 91, 77, 53, 11, 30],
        [4, 11, 19, 30, 38, 53, 62, 77, 91],
    ]
    for row in falls:
        table.put(rows={0: row})
        assert not table.checks[0]
    assert table.put(rows={0: WOLFGANG}).checks[0]
    assert table.put(rows={0: [9, 19, 38, 62, 91, 77, 53, 30, 4]}).checks[0]


def test_t16_example_wolfgang():
    assert scored(WOLFGANG, row_shape="mountain") == 10
    assert scored(WOLFGANG, row_shape="mountain", stop=True) == 12


def test_t16_points_up_to_the_first_break():
    points = [scored(row, row_shape="mountain") for row in (
        [19, 4, 38, 62, 91, 77, 53, 31, 11],
        [4, 19, 38, 62, 61, 77, 53, 31, 11],
        [4, 19, 38, 62, 91, 92, 53, 31, 11],
        [4, 19, 38, 62, 91, 77, 53, 54, 11],
        [4, 19, 38, 62, 91, 77, 53, 31, 32],
    )]  # fmt: skip
    assert points == [1, 4, 5, 7, 8]


def test_t16_nothing_else_changes():
    row = [4, 20, "T", 62, 91, 77, "T", 30, 11]
    assert scored(row, row_shape="mountain") == 7 + 2 - 2
    assert scored(row, row_shape="mountain", stop=True) == 0
    table = mountain().put(rows={0: row}, held={0: 55})
    assert table.moves(0) == places(9)
    assert scored([19, 4, 38, 62, 91, 77, 53, 31, 11], row_shape="mountain", stop=True) == 0


@pytest.mark.parametrize("length", [3, 5, 7])
def test_t16_shorter_rows_have_their_peak_in_the_middle(length):
    up = [1, 11, 21][: length // 2]
    down = [32, 12, 4][: length // 2]
    assert mountain(row_len=length).put(rows={0: [*up, 99, *down]}).checks[0]
    assert not mountain(row_len=length).put(rows={0: [*up, down[0] - 1, *down]}).checks[0]
    assert scored([*up, 99, *down], row_shape="mountain", stop=True) == length + 2


def test_t17_example_stop_with_thunder():
    assert scored(THUNDER_ROW, stop=True, stop_with_thunder=True) == 10
    assert scored(THUNDER_ROW, stop=True) == 0
    assert scored(THUNDER_ROW, stop_with_thunder=True) == scored(THUNDER_ROW) == 8


def test_t17_the_numbers_must_be_in_order_all_the_same():
    table = Table("flash10-thunder_stop-v0", false_stop="masked").put(rows={0: THUNDER_ROW, 1: UWE})
    assert table.moves(0) == ["draw", "stop", "wait"]
    assert table.moves(1) == ["draw", "wait"]
    assert scored(UWE, stop=True, stop_with_thunder=True) == 0
    assert scored(["T"] * 10, stop=True, stop_with_thunder=True) == -8


def test_t17_in_the_mountain_variant():
    row = [4, "T", 38, 62, 91, "T", 53, 31, 11]
    assert scored(row, stop=True, row_shape="mountain", stop_with_thunder=True) == 7 - 2 + 2
    assert scored(row, stop=True, row_shape="mountain") == 0


# --- The readings -----------------------------------------------------------------------------------------------------


def test_ta1_thunders_lie_in_the_middle_too():
    for seed in range(20):
        table = Table(seed=seed)
        assert table.middle["T"] == 20 - sum(row.count("T") for row in table.rows) > 0
    table = Table().put(middle=["T", 50])
    assert table.play({0: "draw", 1: "wait"}, drawn={0: "T"}).moves(0) == places(10)
    assert (table.sees(0)["held"], table.sees(0)["held_thunder"], table.sees(0)["held_flash"]) == (100, 1, 0)


def test_ta1_every_card_of_the_middle_comes_as_often():
    table = Table(**SMALL).put(rows={0: [1, 2, 3], 1: [4, 5, 6]}, middle=[7, 8, 9, "T"])
    held = table.after({0: "draw"}, MANY)["held"][:, 0]
    assert_as_often([(held == card).sum() for card in (7, 8, 9, 100)])
    held = table.after({0: "draw", 1: "draw"}, MANY)["held"]
    cards = [7, 8, 9, 100]
    pairs = [((held[:, 0] == a) & (held[:, 1] == b)).sum() for a in cards for b in cards if a != b]
    assert_as_often(pairs)
    assert sum(pairs) == MANY


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5])
def test_ta2_one_to_five_players(players):
    table = Table(num_players=players, reward="points")
    assert table.agents == [f"player_{p}" for p in range(players)]
    assert table.asked == list(range(players))
    table.put(rows={players - 1: RISING})
    table.play({**everybody(table, "wait"), players - 1: "stop"})
    assert table.gained == [1] * (players - 1) + [12]


def test_ta2_no_other_numbers_of_players():
    for players in (0, 6):
        with pytest.raises(ValueError, match="num_players"):
            Table(num_players=players)


def test_ta3_flash_scope_visible_or_only_in_the_prefix():
    assert scored(CHRISTINE) == scored(CHRISTINE, flash_scope="visible") == 10
    assert scored(CHRISTINE, flash_scope="prefix") == 6 + 2
    assert scored(UWE, flash_scope="visible") == 8
    assert scored(UWE, flash_scope="prefix") == 6 + 2 - 2
    assert scored([5, 10, 20, 35, 40, 50, 65, 70, 80, 95], flash_scope="prefix", stop=True) == 10 + 10 + 2
    assert scored([3, 2, 5, 10, 20, 35, 40, 50, "T", "T"], flash_scope="prefix") == 1 - 2


def test_ta3_flash_scope_prefix_counts_either_run_of_both_sides():
    row = [10, 21, 5, 40, 62, 70, 50, 31, 20]
    rules = {"row_shape": "mountain", "flash_scope": "prefix"}
    assert scored(row, **rules) == 2 + 1
    assert scored(row, peak_score="both_sides", **rules) == 6 + 4
    assert scored(row, peak_score="both_sides", row_shape="mountain") == 6 + 6


def test_ta4_thunders_cost_a_point_on_both_sides_of_the_break():
    assert scored([11, "T", 22, 21, "T", "T", 2, 1, 3, 4]) == 2 - 3
    assert scored([11, 13, 22, 21, "T", "T", 2, 1, 3, 4]) == 3 - 2


def test_ta5_a_round_may_cost_points_unless_floor_zero():
    row = [22, 11, "T", "T", "T", 2, 1, 3, 4, 6]
    assert scored(row) == -2
    assert scored(row, floor_zero=True) == 0
    assert scored(row[:2] + row[3:] + [7], floor_zero=True) == 0
    table = Table(reward="points").put(rows={0: row}, scores=[1, 0]).play({0: "wait", 1: "stop"})
    assert table.points == [-1, 0]
    assert (table.sees(0)["points"], table.sees(0)["debt"]) == ([0, 0], [1, 0])
    assert (table.sees(1)["last_gain"], table.sees(1)["last_loss"]) == ([0, 0], [0, 2])


def test_ta5_floor_zero_comes_after_the_two_points():
    row = ["T"] * 9 + [50]
    for floor_zero, points in ((False, 1 + 1 - 9 + 2), (True, 0)):
        assert scored(row, stop=True, stop_with_thunder=True, floor_zero=floor_zero) == points


@pytest.mark.parametrize("last_card_stop", [False, True])
def test_ta6_the_taker_of_the_last_card_may_complete_its_row(last_card_stop):
    table = Table(num_players=3, last_card_stop=last_card_stop, reward="points")
    table.put(rows={0: NINE, 1: ALMOST, 2: FIVE}, middle=[98])
    table.play({0: "wait", 1: "draw", 2: "wait"})
    assert table.moves(1) == places(10)  # no decision but this
    table.play({1: "place 9"})
    assert table.gained == [9, 12 if last_card_stop else 10, 5]


def test_ta6_last_card_stop_is_for_a_row_that_may_be_stopped_and_for_nobody_else():
    table = Table(last_card_stop=True, reward="points")
    table.put(rows={0: SECOND, 1: ALMOST}, middle=[99]).play({0: "wait", 1: "draw"}).play({1: "place 8"})
    assert table.gained == [10, 9]
    table.put(rows={0: RISING, 1: NINE}, middle=[99]).play({0: "draw", 1: "wait"}).play({0: "place 9"})
    assert table.gained == [12, 9]  # in order before and after
    table.put(rows={0: RISING, 1: NINE}, middle=["T"], scores=[0, 0]).play({0: "draw", 1: "wait"}).play({0: "place 9"})
    assert table.gained == [8, 9]
    table = Table("flash10-thunder_stop-v0", last_card_stop=True, reward="points")
    table.put(rows={0: RISING, 1: NINE}, middle=["T"]).play({0: "draw", 1: "wait"}).play({0: "place 9"})
    assert table.gained == [10, 9]


def test_ta6_another_holder_who_completes_its_row_has_not_taken_the_last_card():
    table = Table(last_card_stop=True, reward="points")
    table.put(rows={0: FIVE, 1: ALMOST}, held={1: 98}, middle=[99], ready_at={1: 4})
    table.play({0: "draw"}).play({0: "place 5", 1: "place 9"})
    assert table.gained == [6, 10]


def test_ta6_after_a_stop_nobody_gets_it():
    table = Table(last_card_stop=True, reward="points").put(rows={0: FIVE, 1: ALMOST}, held={1: 98}, ready_at={1: 4})
    table.play({0: "stop"}).play({1: "place 9"})
    assert table.gained == [0, 10]


def test_ta7_every_card_in_hand_is_laid_by_choice_after_stop_and_after_the_last_card():
    for cause in ("stop", "draw"):
        table = Table(num_players=4, reward="points")
        table.put(rows={1: FIVE, 2: NINE, 3: LIKE}, held={1: 99, 2: 98}, middle=[1], ready_at={1: 9, 2: 3})
        table.play({0: cause, 3: "wait"})
        holders = [1, 2] if cause == "stop" else [0, 1, 2]
        assert (table.phase, table.asked) == ("final_place", holders)
        assert [table.moves(p) for p in range(4)] == [places(10) if p in holders else ["wait"] for p in range(4)]
        table.play({1: "place 5", 2: "place 9", **({0: "place 0"} if cause == "draw" else {})})
        assert table.gained[1:] == [6, 10, 5]


def test_ta8_first_only_the_first_stop_of_a_tick_counts():
    for order, gains in ((LOWEST_FIRST, [12, 10]), (HIGHEST_FIRST, [10, 12])):
        table = Table(reward="points", **order).put(rows={0: RISING, 1: SECOND})
        assert table.play({0: "stop", 1: "stop"}).gained == gains


def test_ta8_all_valid_every_right_caller_of_the_tick_gets_two_points():
    table = Table(num_players=3, reward="points", stop_resolution="all_valid")
    table.put(rows={0: RISING, 1: SECOND, 2: NINE})
    assert table.play({0: "stop", 1: "stop", 2: "stop"}).gained == [12, 12, 0]


@pytest.mark.parametrize("floor_zero", [False, True])
@pytest.mark.parametrize("row", [["T"] * 10, NINE, [5, 10, 20, 30, 40, 50, 60, 70, 90, 80]])
def test_ta9_a_false_stop_ends_the_round_and_is_worth_exactly_nothing(row, floor_zero):
    table = Table(num_players=3, floor_zero=floor_zero).put(rows={0: row, 1: FIVE, 2: LIKE})
    table.play({0: "stop", 1: "wait", 2: "wait"})
    assert (table.rounds, table.gained) == (1, [0, 5, 5])
    assert table.rewards == [-5, 5 - 2.5, 5 - 2.5]


def test_ta10_allowed_any_ready_empty_hand_may_stop():
    table = Table(num_players=3).put(rows={0: RISING, 1: FIVE, 2: NINE}, held={2: 99})
    assert [table.moves(p) for p in (0, 1)] == [["draw", "stop", "wait"]] * 2
    assert table.moves(2) == places(10)


def test_ta10_masked_stop_is_legal_while_the_own_check_says_so():
    table = Table(num_players=3, false_stop="masked").put(rows={0: RISING, 1: FIVE, 2: NINE})
    assert [table.moves(p) for p in range(3)] == [["draw", "stop", "wait"], ["draw", "wait"], ["draw", "wait"]]
    table.put(checks={0: False, 1: True})
    assert [table.moves(p) for p in range(3)] == [["draw", "wait"], ["draw", "stop", "wait"], ["draw", "wait"]]


def test_ta10_masked_a_row_that_is_no_longer_in_order_may_not_be_stopped():
    table = Table(false_stop="masked").put(rows={0: RISING, 1: FIVE}, held={0: "T"})
    table.play({0: "place 3", 1: "wait"})
    assert table.moves(0) == ["draw", "wait"]


def test_ta11_no_stop_while_holding_a_card():
    for rules in ({}, {"stop_with_thunder": True}, {"false_stop": "masked"}):
        table = Table(**rules).put(rows={0: RISING}, held={0: 99})
        assert table.moves(0) == places(10)
        with pytest.raises(ValueError, match="stop"):
            table.env.step(11)


def test_ta12_drawing_is_allowed_at_any_time_also_with_a_finished_row():
    for rules in ({}, {"idle": "forbidden"}, {"idle": "free"}, {"pace": "auto_draw"}):
        table = Table(reward="points", **rules).put(rows={0: RISING, 1: FIVE}, held={1: 1})
        table.play({0: "draw", 1: "place 9"}, drawn={0: 15})
        table.play({0: "place 1", 1: "draw"} if not rules.get("pace") else {0: "place 1"})
        assert table.checks[0]
        assert "stop" in table.moves(0)


def test_ta12_limited_every_ready_empty_hand_may_wait():
    table = Table().put(rows={0: RISING, 1: FIVE})
    assert "wait" in table.moves(0)
    assert "wait" in table.moves(1)
    assert Flash10Rules().max_idle_ticks == 20


@pytest.mark.parametrize("idle", ["limited", "forbidden"])
@pytest.mark.parametrize("limit", [0, 1, 20])
def test_ta12_after_so_many_idle_ticks_one_is_made_to_draw(idle, limit):
    table = Table(idle=idle, max_idle_ticks=limit)
    for _ in range(2):
        table.put(rows={0: RISING, 1: SECOND})
        for k in range(limit):
            assert table.sees(0)["idle"] == table.sees(1)["idle"] == k
            table.play({0: "wait", 1: "wait"})
            assert table.held == [None, None]
        assert table.sees(0)["idle"] == limit
        table.play({0: "wait", 1: "wait"}, where=lambda table: table.held[0] is not None)
        assert (table.held[1], table.sees(0)["idle"]) == (None, 0)
        assert (table.asked, table.moves(0)) == ([0, 1], places(10))


def test_ta12_only_idle_ticks_in_a_row_count():
    table = Table().put(rows={0: RISING, 1: FIVE}, idle=20)
    table.play({0: "draw", 1: "wait"})
    assert table.sees(0)["idle"] == 0
    table.put(idle=20).play({0: "place 0", 1: "wait"})
    assert table.sees(0)["idle"] == 0


def test_ta12_every_waiting_ready_seat_is_made_to_draw_as_often():
    table = Table(num_players=4).put(rows={}, held={2: 50}, ready_at={2: 9}, idle=20)
    games = table.after({0: "wait", 1: "wait", 3: "wait"}, MANY)
    assert set(games["holding"].tolist()) == {0b0101, 0b0110, 0b1100}
    assert_as_often([(games["holding"] == holders).sum() for holders in (0b0101, 0b0110, 0b1100)])
    assert (games["idle"] == 0).all()


def test_ta12_forbidden_only_a_row_that_may_be_stopped_may_wait():
    table = Table(num_players=3, idle="forbidden").put(rows={0: RISING, 1: FIVE, 2: ["T", *SECOND[1:]]})
    assert table.moves(0) == ["draw", "stop", "wait"]
    assert table.moves(1) == table.moves(2) == ["draw", "stop"]
    table = Table(idle="forbidden", false_stop="masked").put(rows={0: FIVE})
    assert table.moves(0) == ["draw"]


def test_ta12_free_has_no_limit_but_the_ticks_of_a_round():
    table = Table(idle="free", max_idle_ticks=0, max_ticks=50, reward="points").put(rows={0: RISING, 1: FIVE})
    assert Flash10Rules().max_ticks == 2000
    for k in range(1, 51):
        assert (table.tick, table.rounds, table.sees(0)["idle"]) == (k, 0, 0)
        assert "wait" in table.moves(0) and "wait" in table.moves(1)
        table.play({0: "wait", 1: "wait"})
    assert (table.tick, table.rounds, table.gained) == (1, 1, [10, 5])
    table = Table(idle="free", reward="points").put(rows={0: RISING, 1: FIVE}, tick=1999)
    for rounds in (0, 0, 1):
        assert table.rounds == rounds
        table.play({0: "wait", 1: "wait"})


def test_ta13_a_row_in_order_at_the_deal_may_be_stopped_at_once():
    paid = 0
    for seed in range(60):
        table = Table(seed=seed, numbers=10, thunders=0, row_len=3, false_stop="masked")
        row = table.rows[0]
        for p in range(2):
            assert ("stop" in table.moves(p)) == table.checks[p] == (table.rows[p] == sorted(table.rows[p]))
        if table.checks[0]:
            table.play({0: "stop", 1: "wait"})
            assert table.gained[0] == 3 + 2 + len([n for n in row if n % 5 == 0])
            paid += 1
    assert paid >= 4


def test_ta14_neighbours_may_be_one_apart_and_must_ascend():
    assert scored([1, 2, 3, 4, 11, 12, 13, 14, 16, 17], stop=True) == 12
    assert scored([2, 1, 3, 4, 11, 12, 13, 14, 16, 17], stop=True) == 0
    assert scored([1, 2, 3, 4, 11, 12, 13, 14, 17, 16]) == 9


@pytest.mark.parametrize("tie", ["shared", "extra_round"])
def test_ta15_a_shared_lead_at_fifty(tie):
    table = Table(num_players=3, tie=tie, reward="points").put(rows={0: LIKE, 1: FIVE}, scores=[45, 45, 20])
    table.play({0: "wait", 1: "wait", 2: "stop"})
    assert table.points == [50, 50, 20]
    if tie == "shared":
        assert table.end == ("goal", [0, 1])
        return
    assert not table.over
    assert [table.sees(p)["overtime"] for p in range(3)] == [1, 1, 1]
    table.put(rows={0: FIVE, 1: LIKE, 2: RISING}).play({0: "wait", 1: "wait", 2: "stop"})
    assert (table.points, table.over) == ([55, 55, 32], False)
    table.put(rows={0: FIVE, 1: NINE, 2: RISING}).play({0: "wait", 1: "wait", 2: "stop"})
    assert table.end == ("goal", [1])


def test_ta15_extra_rounds_end_with_one_seat_ahead_be_it_with_less_than_the_target():
    table = Table(tie="extra_round", target_score=6, num_players=3)
    table.put(rows={0: LIKE, 1: FIVE, 2: NINE}, scores=[1, 1, 0]).play({0: "wait", 1: "wait", 2: "stop"})
    assert (table.points, table.over) == ([6, 6, 0], False)
    two, three = [2, 1, "T", "T", "T", 3, 4, 6, 7, 9], [82, 81, "T", "T", "T", "T", 11, 13, 14, 18]
    table.put(rows={0: two, 1: three, 2: FIVE}).play({0: "wait", 1: "wait", 2: "stop"})
    assert table.points == [4, 3, 0]
    assert table.end == ("goal", [0])


def test_ta15_extra_rounds_end_at_max_rounds_with_a_shared_lead():
    table = Table(num_players=3, tie="extra_round", max_rounds=9)
    table.put(rows={0: LIKE, 1: FIVE}, scores=[45, 45, 20], rounds=7).play({0: "wait", 1: "wait", 2: "stop"})
    assert not table.over
    table.put(rows={0: LIKE, 1: FIVE}).play({0: "wait", 1: "wait", 2: "stop"})
    assert table.end == ("max_rounds", [0, 1])


def test_ta15_extra_round_with_one_leader_ends_the_match_at_once():
    table = Table(tie="extra_round").put(rows={0: RISING, 1: FIVE}, scores=[40, 40]).play({0: "stop", 1: "wait"})
    assert table.end == ("goal", [0])


MOUNTAINS = [
    # row, points of numbers: from the left, from both sides
    ([10, 21, 5, 40, 62, 70, 50, 31, 20], 2, 6),
    ([1, 2, 3, 4, 50, 60, 44, 33, 22], 5, 9),  # no cross check of the right run with the peak
    (WOLFGANG, 9, 9),
    ([4, "T", 38, 62, 91, 77, 53, 30, 11], 8, 8),
    ([4, 19, 38, 62, 91, "T", "T", 30, 11], 7, 7),
    ([4, 19, 38, 62, 91, 77, 78, 30, 11], 6, 5 + 3),
    ([4, 3, 38, 62, 91, 77, 53, 30, 11], 1, 1 + 4),  # the peak belongs to the left run
    ([4, 19, 38, 62, 61, 60, 53, 30, 11], 4, 4 + 4),
    ([9, 8, 7, 6, 4, 11, 12, 13, 14], 1, 1 + 1),
    ([1, 2, 3, 4, 99, 12, "T", 13, 11], 6, 5 + 2),
    (["T"] * 9, 0, 0),
]


@pytest.mark.parametrize(("row", "left", "both"), MOUNTAINS)
def test_ta16_peak_score(row, left, both):
    flash, thunders = len([n for n in row if n != "T" and n % 5 == 0]), row.count("T")
    assert scored(row, row_shape="mountain") == left + flash - thunders
    assert scored(row, row_shape="mountain", peak_score="left_prefix") == left + flash - thunders
    assert scored(row, row_shape="mountain", peak_score="both_sides") == both + flash - thunders


def test_ta16_stop_asks_for_the_same_rows_under_either_score():
    for row, left, both in MOUNTAINS:
        done = "T" not in row and left == both == 9
        for peak_score in ("left_prefix", "both_sides"):
            assert mountain(peak_score=peak_score).put(rows={0: row}).checks[0] == done
    assert scored(WOLFGANG, row_shape="mountain", peak_score="both_sides", stop=True) == 12


def test_ta17_a_thunder_at_the_peak_binds_nothing():
    row = [1, 2, 3, 4, "T", 99, 8, 7, 6]
    for peak_score in ("left_prefix", "both_sides"):
        rules = {"row_shape": "mountain", "peak_score": peak_score}
        assert scored(row, **rules) == 8 - 1
        assert scored(row, stop=True, stop_with_thunder=True, **rules) == 8 - 1 + 2
        assert scored(row, stop=True, **rules) == 0
        assert scored([1, 2, 3, 96, "T", 99, 8, 7, 6], stop=True, stop_with_thunder=True, **rules) == 9
        assert scored([1, 2, 3, 4, 98, "T", 99, 8, 7], stop=True, stop_with_thunder=True, **rules) == 0
        assert scored([1, 3, 2, 4, "T", 99, 8, 7, 6], stop=True, stop_with_thunder=True, **rules) == 0
        assert scored([1, 2, 3, 4, "T", 99, 7, 8, 6], stop=True, stop_with_thunder=True, **rules) == 0


def test_ta18_any_number_of_players_with_enough_cards():
    for players, length, shape in itertools.product((1, 2, 3, 4, 5), (3, 9), ("ascending", "mountain")):
        table = Table(num_players=players, row_len=length, row_shape=shape)
        assert table.middle.total() == 120 - players * length
    table = Table(num_players=5, numbers=10, thunders=6, row_len=3)
    assert table.middle.total() == 1
    with pytest.raises(ValueError, match="row_len"):
        Table(num_players=5, numbers=10, thunders=5, row_len=3)


def test_ta19_row_len_is_ten_eight_in_the_devir_preset_and_nine_in_the_mountain():
    lengths = {id: len(Table(id).rows[0]) for id in ("flash10-v0", "flash10-devir-v0", "flash10-mountain-v0")}
    assert lengths == {"flash10-v0": 10, "flash10-devir-v0": 8, "flash10-mountain-v0": 9}
    assert len(Table("flash10-devir-v0").rows) == 5
    assert Table("flash10-devir-v0").middle.total() == 80
    for length in (2, 11):
        with pytest.raises(ValueError, match="row_len"):
            Table(row_len=length)


def test_ta20_a_covered_card_is_out_and_public():
    table = Table(obs_seen=True).put(rows={0: LIKE, 1: FIVE}, held={0: 50}, middle=[98, 99])
    assert 50 in table.sees(0)["seen"]
    assert 50 not in table.sees(1)["seen"]
    table.play({0: "place 0", 1: "wait"})
    assert {17, 50} <= set(table.sees(0)["seen"]) & set(table.sees(1)["seen"])
    assert table.middle == Counter([98, 99])
    table.play({0: "draw", 1: "wait"}).play({0: "place 0", 1: "wait"})
    assert (table.rows[0][0] in (98, 99), table.middle.total()) == (True, 1)
    assert {17, 50} <= set(table.sees(1)["seen"])


# --- Order of things --------------------------------------------------------------------------------------------------


def test_order_1_nothing_shows_before_the_tick_is_resolved():
    for seed in range(4):
        table = Table(num_players=4, seed=seed, obs_seen=True)
        rng = random.Random(seed)
        for _ in range(15):
            shown = [table.sees(p) for p in table.seats], [table.moves(p) for p in table.seats]
            state, chance = table.env.state().tolist(), int(table.record.rng)
            asked = table.asked
            for k, seat in enumerate(asked):
                assert table.asked == asked[k:]
                assert ([table.sees(p) for p in table.seats], [table.moves(p) for p in table.seats]) == shown
                assert table.env.state().tolist() == state
                assert int(table.record.rng) == chance, "the order is drawn when the tick is resolved"
                move = rng.choice([move for move in table.moves(seat) if move != "stop"])
                table.env.step(table.setup.game.parse_action(table.rules, move))


def test_order_1_all_ready_seats_choose_from_the_same_state():
    table = Table(num_players=3).put(rows=ROWS, middle=[99])
    assert [table.moves(p) for p in range(3)] == [["draw", "stop", "wait"]] * 3
    assert table.asked == [0, 1, 2]


@pytest.mark.parametrize(("drawers", "cards"), [(2, 1), (3, 1), (3, 2), (5, 1), (5, 2), (5, 4)])
def test_order_2_fair_every_drawer_gets_a_card_equally_often(drawers, cards):
    table = Table(num_players=drawers, row_len=8).put(rows={}, middle=range(1, 1 + cards))
    games = table.after(everybody(table, "draw"), MANY)
    sets = [sum(1 << p for p in holders) for holders in itertools.combinations(range(drawers), cards)]
    assert_as_often([(games["holding"] == holders).sum() for holders in sets])
    assert np.isin(games["holding"], sets).all()
    for p in range(drawers):
        assert_share(games["holding"] >> p & 1, cards / drawers)


def test_order_2_fair_is_the_default_and_stops_come_in_any_order_too():
    table = Table(num_players=3).put(rows={0: RISING, 1: SECOND, 2: FIVE}, held={2: 1}, ready_at={2: 9})
    games = table.after({0: "stop", 1: "stop"}, MANY)
    assert set(games["right"].tolist()) == {1, 2}
    assert_share(games["right"] == 1, 1 / 2)
    assert Flash10Rules().priority == "fair"


def test_order_2_fair_is_drawn_anew_each_tick():
    table = Table(num_players=2).put(rows={}, middle=[99])
    first = table.after({0: "draw", 1: "draw"}, 100)["holding"]
    table.put(tick=9)
    assert (table.after({0: "draw", 1: "draw"}, 100)["holding"] == first).mean() > 0.9, "by chance alone"
    table.play({0: "wait", 1: "wait"})
    assert set(table.after({0: "draw", 1: "draw"}, 100)["holding"].tolist()) == {1, 2}


@pytest.mark.parametrize(
    ("times", "order"),
    [
        ({"t_place": (1, 2, 3)}, [0, 1, 2]),
        ({"t_place": (3, 2, 1)}, [2, 1, 0]),
        ({"t_draw": (2, 1, 3)}, [1, 0, 2]),
        ({"t_draw": (4, 1, 1), "t_place": (1, 2, 3)}, [1, 2, 0]),
        ({"t_flip": (3, 2, 1), "t_check": (9, 8, 1), "t_place": (1, 2, 3)}, [0, 1, 2]),
        ({"t_place": (2, 3, 1), "speed_noise": True}, [2, 0, 1]),
    ],
)
def test_order_2_fastest_the_smaller_sum_of_draw_and_place_comes_first(times, order):
    for cards in (1, 2):
        table = Table(num_players=3, priority="fastest", **times).put(rows={}, middle=range(1, 1 + cards), tick=20)
        games = table.after({0: "draw", 1: "draw", 2: "draw"}, 200)
        assert set(games["holding"].tolist()) == {sum(1 << p for p in order[:cards])}


def test_order_2_fastest_ties_are_uniform():
    table = Table(num_players=5, row_len=8, priority="fastest", t_draw=(2, 1, 9, 1, 3), t_place=(2, 3, 9, 3, 1))
    table.put(rows={}, middle=[99], tick=20)
    games = table.after(everybody(table, "draw"), MANY)
    assert_as_often([(games["holding"] == 1 << p).sum() for p in (0, 1, 3, 4)])
    assert (games["holding"] != 1 << 2).all()
    table.put(rows={}, middle=[97, 98, 99, 1])
    assert set(table.after(everybody(table, "draw"), 100)["holding"].tolist()) == {0b11011}


def first_seat(table):
    """Who would go first in this tick, in which all are ready with empty hands: it gets the last card."""
    order = []
    while len(order) < len(table.seats):
        again = Table(table.setup.id, **_changed(table.rules))
        again.env.restore(table.env.snapshot())
        again.put(middle=range(90, 91 + len(order)), rows={})
        again.play(everybody(again, "draw"))
        order += [p for p in again.seats if again.held[p] is not None and p not in order]
    assert order == [(order[0] + k) % len(order) for k in range(len(order))], "ascending from the first seat"
    return order[0]


def _changed(rules):
    return {name: getattr(rules, name) for name in rules.__dataclass_fields__}


def rotating(players, seed=1):
    return Table(num_players=players, row_len=3, priority="seat_rotating", seed=seed)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_order_2_seat_rotating_moves_on_when_two_or_more_seats_drew(players):
    table = rotating(players)
    first = first_seat(table)
    for _ in range(2 * players):
        table.play(everybody(table, "draw"))
        table.play(everybody(table, "place 0"))
        first = (first + 1) % players
        assert first_seat(table) == first


def test_order_2_seat_rotating_stays_when_one_seat_drew_or_none():
    table = rotating(3)
    first = first_seat(table)
    for seat in (0, 1, 2):
        table.play({**everybody(table, "wait"), seat: "draw"})
        table.play({**everybody(table, "wait"), seat: "place 1"})
        table.play(everybody(table, "wait"))
        assert first_seat(table) == first
    table.play({0: "draw", 1: "wait", 2: "draw"})
    table.play({0: "place 1", 1: "draw", 2: "place 2"})
    table.play({0: "wait", 1: "place 1", 2: "wait"})
    assert first_seat(table) == (first + 1) % 3


def test_order_2_seat_rotating_stays_when_one_is_made_to_draw():
    table = rotating(2).put(idle=20)
    first = first_seat(table)
    table.play({0: "wait", 1: "wait"})
    holder = 0 if table.held[0] is not None else 1
    table.play({holder: "place 0", 1 - holder: "wait"})
    assert first_seat(table) == first


@pytest.mark.parametrize("players", [2, 3, 5])
def test_order_2_seat_rotating_the_first_seat_is_drawn_at_each_deal(players):
    env = flinchenv.make("flash10-v0", "vector", num_envs=3000, num_players=players, priority="seat_rotating")
    env.reset(seed=0)
    table = Table(num_players=players, priority="seat_rotating")
    games = env.snapshot().games
    deals = [first_seats(table, games)]
    stopped = np.tile(table.ids({0: "stop"}), (3000, 1))
    env.step(stopped)
    deals.append(first_seats(table, env.snapshot().games))
    for deal in deals:
        assert_as_often(np.bincount(deal, minlength=players))
    pairs = np.bincount(deals[0] * players + deals[1], minlength=players**2)
    assert_as_often(pairs)


def first_seats(table, games):
    """`first_seat` of many games: all draw, the middle has one card."""
    twin = flinchenv.make(table.setup.id, "vector", num_envs=len(games), rules=table.rules)
    games = games.copy()
    games["left"] = 1
    twin.restore(table.env.snapshot()._replace(games=games))
    twin.step(np.tile(table.ids(dict.fromkeys(table.seats, "draw")), (len(games), 1)))
    holding = twin.snapshot().games["holding"]
    assert (np.bitwise_count(holding) == 1).all()
    return np.log2(holding).astype(int)


def test_order_3_a_stop_cancels_the_later_draws_and_earlier_ones_stand():
    table = Table(reward="points", **LOWEST_FIRST).put(rows={0: RISING, 1: FIVE})
    table.play({0: "stop", 1: "draw"})
    assert (table.rounds, table.gained) == (1, [12, 5]), "the drawer stays empty-handed"
    table = Table(reward="points", **HIGHEST_FIRST).put(rows={0: RISING, 1: FIVE}, middle=[96, 99], tick=9)
    table.play({0: "stop", 1: "draw"})
    assert (table.phase, table.asked, table.middle.total()) == ("final_place", [1], 1)
    table.play({1: "place 5"})
    assert table.gained == [12, 6]


def test_order_3_a_stop_cancels_the_later_placements_and_earlier_ones_stand():
    table = Table(reward="points", **LOWEST_FIRST).put(rows={0: RISING, 1: FIVE}, held={1: 99})
    table.play({0: "stop", 1: "place 0"})
    assert (table.phase, table.asked, table.held) == ("final_place", [1], [None, 99])
    assert table.rows[1] == FIVE
    assert table.moves(1) == places(10)
    table.play({1: "place 5"})
    assert table.gained == [12, 6], "it is chosen anew"
    table = Table(reward="points", **HIGHEST_FIRST).put(rows={0: RISING, 1: FIVE}, held={1: 99}, tick=9)
    table.play({0: "stop", 1: "place 0"})
    assert (table.rounds, table.gained) == (1, [12, 1])


def test_order_3_the_last_card_cancels_the_later_draws_and_placements():
    rows = {0: RISING, 1: FIVE, 2: NINE}
    table = Table(num_players=3, **LOWEST_FIRST).put(rows=rows, held={2: 96}, middle=[99])
    table.play({0: "draw", 1: "draw", 2: "place 0"})
    assert (table.phase, table.asked, table.held) == ("final_place", [0, 2], [99, None, 96])
    assert table.rows == [RISING, FIVE, NINE]
    table = Table(num_players=3, **HIGHEST_FIRST).put(rows=rows, held={2: 96}, middle=[99], tick=9)
    table.play({0: "draw", 1: "draw", 2: "place 0"})
    assert (table.phase, table.asked, table.held) == ("final_place", [1], [None, 99, None])
    assert table.rows == [RISING, FIVE, [96, *NINE[1:]]]


def test_order_3_either_order_comes_half_the_time():
    table = Table().put(rows={0: RISING, 1: FIVE}, held={1: 99})
    games = table.after({0: "stop", 1: "place 0"}, MANY)
    assert_share(games["rounds"] == 0, 1 / 2)
    table = Table().put(rows={0: RISING, 1: FIVE})
    assert_share(table.after({0: "stop", 1: "draw"}, MANY)["rounds"] == 0, 1 / 2)


def test_order_3_with_fewer_cards_than_drawers_the_first_get_one():
    for cards, holders in ((1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (4, [0, 1, 2, 3])):
        table = Table(num_players=4, **LOWEST_FIRST).put(rows={}, middle=range(1, 1 + cards))
        table.play(everybody(table, "draw"))
        assert (table.phase, table.asked) == ("final_place", holders)
    table = Table(num_players=4, **LOWEST_FIRST).put(rows={}, middle=range(1, 6))
    assert table.play(everybody(table, "draw")).phase == "run"


STOPS = [
    # rows in the order of the tick, stop_resolution, points: 12 right, 10 and 9 without the call
    (["right", "right", "false"], "first", [12, 10, 9]),
    (["right", "false", "false"], "first", [12, 9, 9]),
    (["false", "right", "right"], "first", [0, 10, 10]),
    (["false", "false", "right"], "first", [0, 9, 10]),
    (["right", "right", "false"], "all_valid", [12, 12, 0]),
    (["right", "false", "right"], "all_valid", [12, 0, 12]),
    (["false", "right", "right"], "all_valid", [0, 12, 12]),
    (["false", "false", "right"], "all_valid", [0, 0, 12]),
    (["false", "false", "false"], "all_valid", [0, 0, 0]),
]


@pytest.mark.parametrize("order", [LOWEST_FIRST, HIGHEST_FIRST], ids=["lowest", "highest"])
@pytest.mark.parametrize(("callers", "resolution", "points"), STOPS)
def test_order_4_stops_of_one_tick(callers, resolution, points, order):
    right = [RISING, SECOND, THIRD]
    rows = [right[k] if caller == "right" else [*right[k][:9], (1, 2, 4)[k]] for k, caller in enumerate(callers)]
    if order is HIGHEST_FIRST:
        rows, points = rows[::-1], points[::-1]
    table = Table(num_players=3, stop_resolution=resolution, reward="points", **order)
    table.put(rows=dict(enumerate(rows)), tick=9)
    assert table.play({0: "stop", 1: "stop", 2: "stop"}).gained == points


@pytest.mark.parametrize("resolution", ["first", "all_valid"])
def test_order_4_after_the_last_card_no_stop_counts(resolution):
    table = Table("flash10-round-v0", num_players=3, stop_resolution=resolution, reward="points", **LOWEST_FIRST)
    table.put(rows={0: FIVE, 1: SECOND, 2: NINE}, middle=[99])
    table.play({0: "draw", 1: "stop", 2: "stop"})
    assert (table.phase, table.asked) == ("final_place", [0])
    assert [table.sees(p)["called"] for p in range(3)] == [[0, 0, 0]] * 3
    table.play({0: "place 5"})
    assert table.gained == [6, 10, 9]
    assert table.end[0] == "exhausted"


def test_order_4_a_stop_before_the_last_card_is_taken_counts_and_the_card_stays():
    table = Table("flash10-round-v0", reward="points", **LOWEST_FIRST).put(rows={0: RISING, 1: FIVE}, middle=[99])
    table.play({0: "stop", 1: "draw"})
    assert (table.gained, table.end) == ([12, 5], ("stop", [0]))


def test_order_4_a_stop_after_a_draw_that_is_not_the_last_counts():
    table = Table("flash10-round-v0", reward="points", **HIGHEST_FIRST)
    table.put(rows={0: RISING, 1: FIVE}, middle=[96, 99], tick=9)
    table.play({0: "stop", 1: "draw"}).play({1: "place 5"})
    assert (table.gained, table.end) == ([12, 6], ("stop", [0]))


def test_order_4_who_has_called_shows_until_the_round_is_scored():
    table = Table(num_players=3, stop_resolution="all_valid", reward="points")
    table.put(rows={0: RISING, 1: FIVE, 2: NINE}, held={2: 99}, ready_at={2: 5})
    table.play({0: "stop", 1: "stop"})
    assert [table.sees(p)["called"] for p in range(3)] == [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    table.play({2: "place 9"})
    assert (table.gained, table.sees(0)["called"]) == ([12, 0, 10], [0, 0, 0])


def test_order_5_a_card_is_held_from_the_tick_of_its_draw():
    table = Table(t_draw=4).put(rows={0: RISING, 1: FIVE}, tick=1)
    table.play({0: "wait", 1: "draw"})
    assert (table.tick, table.asked, table.wait) == (2, [0], [0, 3])
    assert table.held[1] is not None
    assert table.moves(1) == ["wait"]
    assert [table.sees(p)["holding"] for p in range(2)] == [[0, 1], [1, 0]]
    table.play({0: "stop"})
    assert (table.phase, table.asked, table.moves(1)) == ("final_place", [1], places(10))


@pytest.mark.parametrize("form", [(4, 1, 2), (1, 5, 3, 7, 9), 3])
def test_order_5_each_seat_has_its_own_durations(form):
    times = [form] * 3 if isinstance(form, int) else list(form)
    for name, moves, held in (("t_draw", "draw", {}), ("t_place", "place 9", {0: 1, 1: 2, 2: 3})):
        table = Table(num_players=3, **{name: form}).put(rows={}, held=held, tick=5)
        table.play(everybody(table, moves))
        soonest = min(times[:3])
        assert table.tick == 5 + soonest
        assert table.wait == [times[p] - soonest for p in range(3)]
        assert table.asked == [p for p in range(3) if times[p] == soonest]
    table = Table(num_players=3, t_flip=form)
    assert table.tick == min(times[:3])
    assert table.wait == [t - table.tick for t in times[:3]]


def test_order_5_a_seat_that_acts_in_tick_k_is_ready_again_in_k_plus_d():
    table = Table(num_players=1, t_draw=3, t_place=5, t_flip=7).put(rows={0: FIVE})
    asked = []
    for k in range(6):
        asked.append(table.tick)
        table.play({0: "place 9" if k % 2 else "draw"})
    assert asked == [7, 10, 15, 18, 23, 26]
    assert table.result["length"] == 31


def test_order_5_waiting_takes_one_tick_whatever_the_durations():
    table = Table(t_draw=5, t_place=6, t_check=7, t_flip=3)
    for k in range(5):
        assert (table.tick, table.asked) == (3 + k, [0, 1])
        table.play({0: "wait", 1: "wait"})


@pytest.mark.parametrize("times", [1, 4, (3, 9), 1000])
def test_order_5_t_check_is_added_when_a_placement_puts_the_row_in_order(times):
    own = times if isinstance(times, int) else times[0]

    def busy(row, card, move, **rules):
        table = Table(t_check=times, t_place=2, **rules).put(rows={0: row}, held={0: card}, tick=5, ready_at={1: 2000})
        table.play({0: move})
        return table.tick - 5

    assert busy(ALMOST, 98, "place 9") == 2 + own - 1
    assert busy(ALMOST, 98, "place 0") == 2, "not in order"
    assert busy(RISING, 99, "place 9") == 2, "it was in order before"
    assert busy(RISING, 1, "place 9") == 2, "no longer in order"
    assert busy([*RISING[:9], "T"], 98, "place 9") == 2 + own - 1, "no Thunder left"
    assert busy([*RISING[:9], "T"], 98, "place 9", stop_with_thunder=True) == 2, "it was in order before"
    assert busy(ALMOST, "T", "place 9", stop_with_thunder=True) == 2 + own - 1
    assert busy(ALMOST, "T", "place 9") == 2


def test_order_5_t_check_is_added_to_nothing_else():
    table = Table(t_check=50).put(rows={0: RISING, 1: FIVE}, tick=5)
    table.play({0: "draw", 1: "wait"})
    assert table.tick == 6
    assert Table(t_check=50).tick == 1


@pytest.mark.parametrize("t_flip", [1, 2, 12, (3, 5), (9, 4)])
def test_order_5_a_row_in_order_at_the_deal_may_be_stopped_in_tick_t_flip(t_flip):
    small = {"numbers": 10, "thunders": 0, "row_len": 3, "false_stop": "masked", "t_check": 9}
    own = [t_flip] * 2 if isinstance(t_flip, int) else t_flip
    found = 0
    for seed in range(40):
        table = Table(seed=seed, t_flip=t_flip, **small)
        assert (table.tick, table.asked) == (min(own), [p for p in range(2) if own[p] == min(own)])
        for p in table.asked:
            found += "stop" in table.moves(p)
            assert ("stop" in table.moves(p)) == (table.rows[p] == sorted(table.rows[p]))
    assert found


def test_order_6_a_ready_holder_has_placements_alone():
    for rules in ({}, {"idle": "free"}, {"idle": "forbidden"}, {"pace": "auto_draw"}, {"false_stop": "masked"}):
        for row in (RISING, FIVE):
            assert Table(**rules).put(rows={0: row}, held={0: 1}).moves(0) == places(10)


def test_order_6_an_idle_tick_is_one_in_which_all_ready_seats_waited():
    table = Table(num_players=3, t_draw=6)
    table.put(rows={}, tick=1)
    table.play({0: "draw", 1: "wait", 2: "wait"})
    assert table.sees(0)["idle"] == 0
    for k in range(1, 6):
        table.play({1: "wait", 2: "wait"})  # seat 0 is busy
        assert table.sees(0)["idle"] == k
    assert table.asked == [0, 1, 2]
    table.play({0: "place 0", 1: "wait", 2: "wait"})
    assert table.sees(0)["idle"] == 0


def test_order_6_ticks_with_nobody_ready_neither_count_nor_reset():
    table = Table(t_draw=30, t_place=30, max_idle_ticks=3)
    table.play({0: "draw", 1: "draw"})
    assert (table.tick, table.sees(0)["idle"]) == (31, 0)
    table.play({0: "place 0", 1: "place 0"})
    assert (table.tick, table.sees(0)["idle"]) == (61, 0)
    for k in range(3):
        table.play({0: "wait", 1: "wait"})
        assert table.sees(0)["idle"] == k + 1
    table.play({0: "wait", 1: "wait"})
    assert [card is None for card in table.held].count(False) == 1


def test_order_6_the_forced_draw_may_take_the_last_card():
    table = Table("flash10-round-v0", num_players=1, max_idle_ticks=0).put(rows={0: FIVE}, middle=[99])
    table.play({0: "wait"})
    assert (table.phase, table.held) == ("final_place", [99])
    assert table.play({0: "place 9"}).end == ("exhausted", [0])


def test_order_6_the_forced_draw_takes_its_time():
    table = Table(t_draw=5, max_idle_ticks=0).put(rows={}, tick=1, ready_at={1: 50}).play({0: "wait"})
    assert (table.tick, table.asked, table.moves(0)) == (6, [0], places(10))


def test_order_7_every_holder_cooling_or_not_lays_its_card_in_one_tick():
    table = Table(num_players=5, row_len=8, t_draw=9, **LOWEST_FIRST)
    rows = {0: RISING[:8]}
    table.put(rows=rows, held={1: 91, 3: 93, 4: 94}, tick=20, ready_at={3: 25, 4: 99})
    table.play({0: "stop", 1: "place 2", 2: "draw"})
    assert (table.phase, table.tick, table.asked) == ("final_place", 21, [1, 3, 4])
    assert [table.moves(p) for p in range(5)] == [places(8) if p in (1, 3, 4) else ["wait"] for p in range(5)]
    assert table.held == [None, 91, None, 93, 94]
    length = table.result["length"]
    table.play({1: "place 0", 3: "place 1", 4: "place 7"})
    assert table.rounds == 1
    assert table.result["length"] == length + 1, "the next deal's first tick"


def test_order_7_final_placements_take_no_time_and_no_turn():
    table = Table("flash10-round-v0", num_players=3, t_place=50).put(rows=ROWS, held={1: 99, 2: 96}, tick=5)
    table.put(ready_at={1: 8, 2: 300}).play({0: "stop"})
    assert table.tick == 6
    table.play({1: "place 0", 2: "place 0"})
    assert table.over
    assert table.result["length"] == 6


def test_order_7_a_caller_never_holds_a_card():
    table = Table(num_players=3, stop_resolution="all_valid").put(rows=ROWS, held={2: 99}, ready_at={2: 9})
    table.play({0: "stop", 1: "stop"})
    assert table.asked == [2]
    assert table.moves(0) == table.moves(1) == ["wait"]


def test_order_7_it_follows_max_ticks_too():
    table = Table("flash10-round-v0", idle="free", max_ticks=8, t_draw=5, reward="points")
    table.put(rows={0: RISING, 1: FIVE}, tick=7, middle=[96, 99]).play({0: "wait", 1: "draw"})
    assert (table.tick, table.asked) == (8, [0])
    table.play({0: "wait"})
    assert (table.phase, table.tick, table.asked, table.moves(0)) == ("final_place", 9, [1], ["wait"])
    table.play({1: "place 5"})
    assert table.gained == [10, 6]
    assert table.end == ("max_ticks", [0])
    assert table.result["length"] == 9


def test_order_7_max_ticks_may_come_while_nobody_is_ready():
    table = Table("flash10-round-v0", idle="free", max_ticks=20, t_draw=15, reward="points")
    table.put(rows={0: RISING, 1: FIVE}, tick=12, middle=[95, 96, 99]).play({0: "draw", 1: "draw"})
    assert (table.phase, table.tick, table.asked) == ("final_place", 21, [0, 1])


def test_order_8_score_is_prefix_and_flash_less_thunders_and_two_for_a_right_caller():
    row = [5, 12, "T", 40, 41, "T", 30, 95, 96, 97]
    assert scored(row) == 4 + 4 - 2
    assert scored([5, 12, 15, 40, 41, 60, 61, 95, 96, 97], stop=True) == 10 + 5 + 2


def test_order_8_the_next_deal_follows_in_the_step_that_scores():
    table = Table(num_players=3, t_flip=(4, 6, 5), reward="points").put(rows=ROWS, held={1: 99}, tick=10)
    table.put(ready_at={1: 30}).play({0: "stop", 2: "wait"}).play({1: "place 5"})
    assert (table.rounds, table.tick, table.asked, table.gained) == (1, 4, [0], [12, 6, 9])
    assert table.held == [None, None, None]
    assert table.wait == [0, 2, 1]


def test_order_8_max_ticks_ends_its_round_without_the_two_points_and_the_match_goes_on():
    table = Table(idle="free", max_ticks=5, reward="points").put(rows={0: RISING, 1: FIVE}, tick=5)
    table.play({0: "wait", 1: "wait"})
    assert (table.gained, table.rounds, table.tick, table.over) == ([10, 5], 1, 1, False)
    table.put(rows={0: RISING, 1: FIVE}, tick=5).play({0: "stop", 1: "wait"})
    assert table.gained == [12, 5], "a Stop in the last tick counts"


def test_order_8_max_ticks_under_free_alone():
    for rules in ({}, {"idle": "forbidden"}, {"pace": "auto_draw", "idle": "free"}):
        table = Table(max_ticks=5, **rules).put(rows={0: RISING, 1: SECOND}, tick=5)
        table.play({0: "wait", 1: "wait"})
        assert (table.rounds, table.tick) == (0, 6)


def test_order_8_the_match_ends_at_max_rounds_and_the_most_points_win():
    table = Table(max_rounds=3, reward="points").put(rows={0: RISING, 1: FIVE}, rounds=1, scores=[3, 20])
    assert not table.play({0: "stop", 1: "wait"}).over
    table.put(rows={0: RISING, 1: FIVE}).play({0: "stop", 1: "wait"})
    assert (table.end, table.points) == (("max_rounds", [1]), [27, 30])
    table = Table(max_rounds=1).put(rows={0: FIVE, 1: LIKE}, middle=[99])
    table.play({0: "draw", 1: "wait"}).play({0: "place 9"})
    assert table.end == ("max_rounds", [0, 1])
    table = Table(max_rounds=1).put(rows={0: RISING, 1: FIVE}, scores=[40, 0]).play({0: "stop", 1: "wait"})
    assert table.end == ("goal", [0])
    assert Flash10Rules().max_rounds == 50


# --- The decisions ----------------------------------------------------------------------------------------------------


def test_presets_are_the_ones_the_rules_name():
    rules = {id: flinchenv.spec(id).rules for id in flinchenv.list_envs() if id.startswith("flash10")}
    assert rules == {
        "flash10-v0": Flash10Rules(),
        "flash10-round-v0": Flash10Rules(episode="round"),
        "flash10-mountain-v0": Flash10Rules(row_shape="mountain", row_len=9),
        "flash10-thunder_stop-v0": Flash10Rules(stop_with_thunder=True),
        "flash10-race-v0": Flash10Rules(t_flip=12, t_draw=3, t_place=(2, 3, 2, 3, 2), t_check=1, speed_noise=True),
        "flash10-devir-v0": Flash10Rules(num_players=5, row_len=8),
        "flash10-tiny-v0": Flash10Rules(numbers=12, thunders=1, row_len=3, episode="round"),
    }


def test_first_values_are_the_defaults():
    assert Flash10Rules() == Flash10Rules(
        num_players=2,
        numbers=100,
        thunders=20,
        row_len=10,
        row_shape="ascending",
        stop_with_thunder=False,
        episode="match",
        target_score=50,
        max_rounds=50,
        t_flip=1,
        t_draw=1,
        t_place=1,
        t_check=1,
        speed_noise=False,
        priority="fair",
        pace="draw_and_place",
        idle="limited",
        max_idle_ticks=20,
        max_ticks=2000,
        false_stop="allowed",
        p_misread=0.0,
        reward="margin",
        flash_scope="visible",
        floor_zero=False,
        last_card_stop=False,
        stop_resolution="first",
        tie="shared",
        peak_score="left_prefix",
        obs_opponents="full",
        obs_seen=False,
    )


def test_thirteen_ids_whatever_the_rules():
    for rules in ({}, {"num_players": 5, "row_len": 3}, {"pace": "auto_draw"}):
        table = Table(**rules)
        assert [table.env.action_space(agent).n for agent in table.agents] == [13] * len(table.agents)
        names = [table.setup.game.action_name(table.rules, a) for a in range(13)]
        assert names == [*places(10), "draw", "stop", "wait"]


@pytest.mark.parametrize("idle", ["limited", "forbidden", "free"])
@pytest.mark.parametrize("false_stop", ["allowed", "masked"])
@pytest.mark.parametrize("pace", ["draw_and_place", "auto_draw"])
def test_a_seat_that_is_not_asked_has_wait_alone(idle, false_stop, pace):
    """Cooling seats, and in FINAL_PLACE those with empty hands; nobody's mask is empty."""
    table = Table(num_players=4, idle=idle, false_stop=false_stop, pace=pace)
    table.put(rows={0: RISING, 1: SECOND}, held={2: 96}, tick=5)
    table.put(ready_at={1: 9, 2: 9, 3: 9})
    assert table.moves(0) == ["draw", "stop", "wait"]
    assert [table.moves(p) for p in (1, 2, 3)] == [["wait"]] * 3
    for p in (1, 2, 3):
        for action in range(12):
            parallel = flinchenv.make("flash10-v0", "parallel", rules=table.rules)
            parallel.restore(table.env.snapshot())
            with pytest.raises(ValueError, match=f"player_{p}"):
                parallel.step({"player_0": 12, **{f"player_{q}": action if q == p else 12 for q in (1, 2, 3)}})
    table.play({0: "stop"})
    assert table.phase == "final_place"
    assert [table.moves(p) for p in range(4)] == [["wait"], ["wait"], places(10), ["wait"]]


def margins(gains):
    n = len(gains)
    return [gain - (sum(gains) - gain) / (n - 1) for gain in gains]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_reward_margin_is_the_points_less_the_mean_of_the_others(players):
    rows = dict(list({0: FIVE, 1: RISING, 2: NINE}.items())[:players])
    table = Table(num_players=players).put(rows=rows)
    table.play({**everybody(table, "wait"), 1: "stop"})
    gains = [5, 12, 9, 1, 1][:players]
    assert table.gained == gains
    assert table.rewards == pytest.approx(margins(gains))
    assert sum(table.rewards) == pytest.approx(0, abs=1e-5)


def test_reward_margin_with_one_seat_is_its_points():
    for reward in ("margin", "points"):
        table = Table(num_players=1, reward=reward).put(rows={0: RISING}).play({0: "stop"})
        assert table.rewards == [12]


def test_reward_points_is_raw_and_paid_when_the_round_is_scored():
    table = Table(num_players=3, reward="points").put(rows=ROWS, held={1: 99}, ready_at={1: 9})
    assert table.play({0: "stop", 2: "wait"}).rewards == [0, 0, 0]
    assert table.play({1: "place 5"}).rewards == [12, 6, 9]


@pytest.mark.parametrize(
    ("scores", "paid"),
    [
        ([50, 20, 20], [1, -1 / 2, -1 / 2]),
        ([20, 20, 60], [-1 / 2, -1 / 2, 1]),
        ([50, 50, 20], [1 / 4, 1 / 4, -1 / 2]),
        ([50, 50, 50], [0, 0, 0]),
    ],
)
def test_reward_win_is_paid_once_at_the_end_of_the_match(scores, paid):
    table = Table(num_players=3, reward="win").put(rows={0: RISING, 1: FIVE})
    assert table.play({0: "stop", 1: "wait", 2: "wait"}).rewards == [0, 0, 0]
    five = [LIKE, FIVE, [18, 27, 44, 64, 82, 38, 13, 6, 78, 31]]
    table.put(rows=dict(enumerate(five)), middle=[1], scores=[score - 5 for score in scores])
    assert table.play({0: "draw", 1: "wait", 2: "wait"}).rewards == [0, 0, 0]
    table.play({0: "place 9"})
    assert table.points == scores
    assert table.over
    assert table.rewards == pytest.approx(paid)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_reward_win_of_one_round(players):
    table = Table("flash10-round-v0", num_players=players, reward="win").put(rows={1: RISING})
    table.play({**everybody(table, "wait"), 1: "stop"})
    loss = -1 / (players - 1)
    assert table.rewards == pytest.approx([loss, 1, *[loss] * (players - 2)])
    assert table.end == ("stop", [1])
    table = Table("flash10-round-v0", num_players=players, reward="win").put(rows={})
    table.play({**everybody(table, "wait"), 0: "stop"})  # a false Stop: all others tie at 1 point
    assert table.end == ("stop", list(range(1, players)))
    share = (players / (players - 1) - 1) / (players - 1)
    assert table.rewards == pytest.approx([loss, *[share] * (players - 1)])


@pytest.mark.parametrize("reward", ["margin", "win"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"floor_zero": True},
        {"last_card_stop": True, "idle": "forbidden"},
        {"stop_resolution": "all_valid"},
        {"tie": "extra_round"},
        {"idle": "free", "max_ticks": 12},
        {"pace": "auto_draw"},
        {"p_misread": 0.3},
    ],
    ids=str,
)
def test_margin_and_win_are_zero_sum(options, reward):
    rng = random.Random(str(options))
    for players in (2, 3, 5):
        table = Table(num_players=players, **SMALL | {"numbers": 30}, target_score=8, reward=reward, **options)
        paid = np.zeros(players)
        while not table.over:
            table.play({p: rng.choice(table.moves(p)) for p in table.asked})
            assert sum(table.rewards) == pytest.approx(0, abs=1e-5)
            paid += table.rewards
        assert table.result["returns"] == pytest.approx(paid, abs=1e-5)


def test_a_false_caller_subtracts_the_others_mean_under_margin():
    table = Table(num_players=3).put(rows={0: NINE, 1: RISING, 2: FIVE}).play({0: "stop", 1: "wait", 2: "wait"})
    assert table.rewards == [-7.5, 10 - 2.5, 5 - 5]


def test_end_of_game_infos():
    table = Table("flash10-round-v0", num_players=3, reward="points").put(rows=ROWS, held={1: 99}, tick=4)
    table.put(ready_at={1: 9}).play({0: "stop", 2: "wait"}).play({1: "place 5"})
    for agent in table.agents:
        info = table.env.infos[agent]
        told = {name: info[name] for name in ("scores", "winners", "end_reason", "length", "returns")}
        assert told == {
            "scores": [12, 6, 9],
            "winners": [0],
            "end_reason": "stop",
            "length": 5,
            "returns": [12.0, 6.0, 9.0],
        }
    assert set(table.env.terminations.values()) == {True}
    assert set(table.env.truncations.values()) == {False}


def test_length_counts_the_ticks_of_all_rounds():
    table = Table(t_flip=7, max_rounds=2).put(rows={0: RISING, 1: FIVE})
    table.play({0: "stop", 1: "wait"})
    table.put(rows={0: RISING, 1: FIVE}).play({0: "wait", 1: "wait"})
    assert table.play({0: "wait", 1: "stop"}).result["length"] == 7 + 8


@pytest.mark.parametrize("id", ["flash10-v0", "flash10-round-v0"])
def test_a_forfeit_ends_a_match_or_a_round(id):
    env = flinchenv.make(id, num_players=3, illegal_action="forfeit")
    env.reset(seed=1)
    for action in (12, 3, 12):
        env.step(action)
    assert env.infos["player_0"]["end_reason"] == "forfeit"
    assert env.infos["player_0"]["winners"] == [0, 2]
    assert env.rewards == {"player_0": 0.5, "player_1": -1.0, "player_2": 0.5}
    assert set(env.terminations.values()) == {True}


# --- Pace -------------------------------------------------------------------------------------------------------------


def test_auto_draw_an_empty_hand_draws_without_being_asked():
    table = Table(pace="auto_draw", num_players=3, row_len=4, seed=2)
    assert (table.tick, table.asked) == (2, [0, 1, 2])
    assert None not in table.held
    assert [table.moves(p) for p in range(3)] == [places(4)] * 3
    table.play(everybody(table, "place 0"))
    assert (table.tick, table.asked) == (4, [0, 1, 2])


def test_auto_draw_a_row_that_may_be_stopped_is_asked_and_the_others_draw_all_the_same():
    table = Table(pace="auto_draw", num_players=3).put(rows={0: RISING, 1: FIVE, 2: NINE}, tick=5)
    assert (table.asked, table.moves(0)) == ([0], ["draw", "stop", "wait"])
    assert table.moves(1) == table.moves(2) == ["wait"]
    assert [table.sees(0)["cooling"], table.sees(0)["holding"]] == [[0, 0, 0], [0, 0, 0]]
    table.play({0: "wait"})
    assert (table.tick, table.asked) == (6, [0, 1, 2])
    assert (table.held[0], None in table.held[1:]) == (None, False)


def test_auto_draw_goes_through_the_same_priority_and_t_draw():
    table = Table(pace="auto_draw", num_players=3, t_draw=(4, 2, 3), priority="fastest", t_place=(1, 1, 1))
    table.put(rows={0: RISING, 1: FIVE, 2: NINE}, middle=[96, 99], tick=9)
    table.play({0: "draw"})
    assert (table.phase, table.asked) == ("final_place", [1, 2])
    table = Table(pace="auto_draw", num_players=3, t_draw=(4, 2, 3))
    table.put(rows={0: RISING, 1: FIVE, 2: NINE}, tick=9).play({0: "draw"})
    assert (table.tick, table.asked, table.wait) == (11, [1], [2, 0, 1])


def test_auto_draw_draws_through_the_fair_order():
    table = Table(pace="auto_draw", num_players=3).put(rows={0: RISING, 1: FIVE, 2: NINE}, middle=[99])
    games = table.after({0: "draw"}, MANY)
    assert_as_often([(games["holding"] == 1 << p).sum() for p in range(3)])
    games = table.after({0: "stop"}, MANY)
    assert_share(games["rounds"] == 1, 1 / 3)  # else the last card is taken first


@pytest.mark.parametrize("idle", ["limited", "forbidden", "free"])
@pytest.mark.parametrize("false_stop", ["allowed", "masked"])
def test_auto_draw_acts_as_forbidden_and_masked(idle, false_stop):
    table = Table(pace="auto_draw", idle=idle, false_stop=false_stop, max_ticks=5, max_idle_ticks=3)
    table.put(rows={0: RISING, 1: SECOND}, tick=4)
    for k in range(3):
        table.play({0: "wait", 1: "wait"})
        assert (table.rounds, table.sees(0)["idle"]) == (0, k + 1)
    table.play({0: "wait", 1: "wait"})
    assert [card is None for card in table.held].count(False) == 1


def test_auto_draw_plays_the_ticks_that_ask_nobody_up_to_the_end_of_the_round():
    table = Table("flash10-round-v0", pace="auto_draw", reward="points", t_draw=3)
    table.put(rows={0: FIVE, 1: NINE}, held={0: 99}, middle=[94, 96], tick=3, ready_at={1: 90})
    table.play({0: "place 0"})  # draws in tick 4
    assert (table.phase, table.tick, table.asked, table.middle.total()) == ("run", 7, [0], 1)
    table.play({0: "place 9"})  # draws the last card in tick 8
    assert (table.phase, table.tick, table.asked, table.middle.total()) == ("final_place", 9, [0], 0)
    table.play({0: "place 9"})
    assert (table.end, table.gained) == (("exhausted", [1]), [1, 9])


def choosers(env):
    """Who chooses under "auto_draw" of the seats that "draw_and_place" asks."""
    s = env._games[0]
    return [p for p in range(env.setup.num_players) if int(s.asked & (s.holding | s.stoppable)) >> p & 1]


def record(env):
    """All that a record holds but rounds carried out, running choices and whom the pace asks."""
    s = env._games[0]
    left_out = ("steps", "pending", "asked", "current_player")
    return {name: s[name].tolist() for name in s.dtype.names if name not in left_out and not name.startswith("gap_")}


def over(env):
    return env._games[0].end_reason != 0


def rules_of_a_race(rng, players, priority):
    """Small games of many kinds, so that rounds end in every way."""
    length = rng.choice([3, 3, 4, 5])
    times = {name: rng.choice([1, 2, tuple(rng.randint(1, 4) for _ in range(5))]) for name in TIMES}
    return {
        "num_players": players,
        "priority": priority,
        "row_len": length,
        "numbers": rng.choice([players * length + 2, 40]) if players * length >= 8 else 14,
        "thunders": rng.choice([0, 2, 6]),
        "stop_with_thunder": rng.random() < 0.3,
        "speed_noise": rng.random() < 0.5,
        "max_idle_ticks": rng.choice([0, 2, 20]),
        "stop_resolution": rng.choice(["first", "all_valid"]),
        "last_card_stop": rng.random() < 0.5,
        "target_score": 15,
        **times,
    }


TIMES = ("t_flip", "t_draw", "t_place", "t_check")


@pytest.mark.parametrize("priority", ["fair", "fastest", "seat_rotating"])
@pytest.mark.parametrize("players", [1, 2, 3, 4, 5])
def test_auto_draw_equals_draw_and_place_with_idle_forbidden_and_no_false_stops(players, priority):
    """The same seed and the same choices give equal records at every tick that both ask."""
    rng = random.Random(f"{players} {priority}")
    ends, ticks = Counter(), 0
    for seed in range(15):
        rules = rules_of_a_race(rng, players, priority)
        idle, false_stop = rng.choice(["limited", "forbidden", "free"]), rng.choice(["allowed", "masked"])
        auto = flinchenv.make("flash10-v0", pace="auto_draw", idle=idle, false_stop=false_stop, **rules)
        slow = flinchenv.make("flash10-v0", idle="forbidden", false_stop=rng.choice(["allowed", "masked"]), **rules)
        auto.reset(seed=seed)
        slow.reset(seed=seed)
        while True:
            while not over(slow) and not choosers(slow):
                for _ in range(int(slow._games[0].asked).bit_count()):
                    slow.step(10)
            assert record(auto) == record(slow)
            if over(auto):
                break
            asked = choosers(slow)
            assert int(auto._games[0].asked) == sum(1 << p for p in asked)
            chosen = {}
            for p in asked:
                mask = auto.observe(f"player_{p}")["action_mask"]
                assert (mask == slow.observe(f"player_{p}")["action_mask"]).all()
                chosen[p] = rng.choice(np.flatnonzero(mask).tolist() + [11] * 3 * int(mask[11]))
            auto_moves = [chosen[p] for p in sorted(chosen)]
            slow_moves = [chosen.get(p, 10) for p in range(players) if int(slow._games[0].asked) >> p & 1]
            for env, moves in ((auto, auto_moves), (slow, slow_moves)):
                for move in moves:
                    env.step(move)
            ticks += 1
            ends[int(slow._games[0].rounds)] += 1
        assert over(slow)
        assert _same_ends(auto, slow)
    assert ticks >= 200


def _same_ends(auto, slow):
    one, two = auto.infos["player_0"], slow.infos["player_0"]
    return all(one[name] == two[name] for name in ("scores", "winners", "end_reason", "length", "returns"))


# --- Speeds and misreading --------------------------------------------------------------------------------------------


def test_speed_noise_turning_the_row_over():
    env = flinchenv.make("flash10-race-v0", "vector", num_envs=MANY, t_flip=(12, 1), num_players=2)
    env.reset(seed=3)
    games = env.snapshot().games
    assert_geometric(games["ready_at"][:, 0], 12)
    assert_geometric(games["ready_at"][:, 1], 1)
    assert (games["tick"] == games["ready_at"][:, :2].min(1)).all()


@pytest.mark.parametrize(("name", "move", "held"), [("t_draw", "draw", {}), ("t_place", "place 9", {0: 1, 1: 2, 2: 3})])
def test_speed_noise_is_one_plus_a_geometric_number(name, move, held):
    table = Table(num_players=3, speed_noise=True, **{name: (1, 2, 7)}).put(rows={}, held=held, tick=5)
    games = table.after(everybody(table, move), MANY)
    for p, mean in enumerate((1, 2, 7)):
        ticks = games["ready_at"][:, p] - 5
        assert_geometric(ticks, mean)
        spread = mean * (mean - 1)
        assert ticks.var() == pytest.approx(spread, rel=0.1, abs=1e-9)
    both = np.corrcoef(games["ready_at"][:, 1], games["ready_at"][:, 2])[0, 1]
    assert abs(both) < 4 / MANY**0.5, "independently"


@pytest.mark.parametrize(("place", "check"), [(1, 4), (3, 1), (3, 5)])
def test_speed_noise_t_check_has_noise_of_its_own(place, check):
    table = Table(speed_noise=True, t_place=place, t_check=check)
    table.put(rows={0: ALMOST}, held={0: 98}, tick=5, ready_at={1: 10**6})
    ticks = table.after({0: "place 9"}, MANY)["ready_at"][:, 0] - 5
    assert_mean(ticks, place + check - 1)
    assert ticks.min() == 1
    assert ticks.var() == pytest.approx(place * (place - 1) + check * (check - 1), rel=0.1)
    if place == 1:
        assert_geometric(ticks, check)
    ticks = table.after({0: "place 0"}, MANY)["ready_at"][:, 0] - 5
    assert_geometric(ticks, place)


def test_speed_noise_waiting_takes_one_tick():
    table = Table(speed_noise=True, t_draw=9, t_place=9, t_check=9)
    for k in range(5):
        assert (table.tick, table.asked) == (1 + k, [0, 1])
        table.play({0: "wait", 1: "wait"})


def test_speed_noise_only_the_own_remaining_ticks_are_shown():
    table = Table(num_players=3, speed_noise=True, t_draw=50).put(rows={}, tick=5, ready_at={1: 9, 2: 30})
    assert [table.sees(p)["cooling"] for p in range(3)] == [[0, 1, 1], [1, 1, 0], [1, 0, 1]]
    assert [table.sees(p)["ready_in"] for p in range(3)] == [[0, 0, 0], [4, 0, 0], [25, 0, 0]]
    table = Table(num_players=3, t_draw=50).put(rows={}, tick=5, ready_at={1: 9, 2: 30})
    assert [table.sees(p)["ready_in"] for p in range(3)] == [[0, 4, 25], [4, 25, 0], [25, 0, 4]]


@pytest.mark.parametrize("p_misread", [0.0, 0.05, 0.3, 0.5])
def test_p_misread_after_a_placement_the_own_check_is_wrong_so_often(p_misread):
    table = Table(num_players=3, p_misread=p_misread).put(rows={0: ALMOST, 1: FIVE, 2: SECOND}, held={0: 98, 1: 99})
    games = table.after({0: "place 9", 1: "place 0", 2: "wait"}, MANY)
    done, open_, still = (games["checked"] >> p & 1 for p in range(3))
    if p_misread:
        assert_share(done == 0, p_misread)
        assert_share(open_ == 1, p_misread)
        assert_share((done == 0) & (open_ == 1), p_misread**2)
    else:
        assert (done == 1).all()
        assert (open_ == 0).all()
    assert (still == 1).all(), "no placement, no misreading"
    assert (games["stoppable"] == 0b101).all(), "the row is what it is"


def test_p_misread_nothing_but_a_placement_is_misread():
    table = Table(p_misread=0.5).put(rows={0: RISING, 1: FIVE})
    games = table.after({0: "draw", 1: "wait"}, 500)
    assert set(games["checked"].tolist()) == {1}
    for seed in range(30):
        dealt = Table(p_misread=0.5, numbers=10, thunders=0, row_len=3, seed=seed)
        assert dealt.checks == [row == sorted(row) for row in dealt.rows]


def misread(row, card, slot, **rules):
    """Seat 0 has laid its card and is wrong about its row."""
    table = Table(p_misread=0.5, reward="points", **rules).put(rows={0: row, 1: FIVE}, held={0: card}, tick=1)
    before = [*row[:slot], card, *row[slot + 1 :]]
    done = before == sorted(before, key=lambda n: (n == "T", n))
    table.play({0: f"place {slot}", 1: "draw"}, where=lambda table: table.checks[0] != done)
    assert table.sees(0)["own_check"] == (not done)
    numbers = [100 if n == "T" else n for n in before]
    assert table.sees(0)["row"][0] == table.sees(1)["row"][1] == numbers, "the row is shown truly"
    return table


def test_p_misread_rules_the_stop_mask_under_masked_and_the_referee_sees_the_row():
    table = misread(ALMOST, 99, 0, false_stop="masked")
    assert table.moves(0) == ["draw", "stop", "wait"]
    table.play({0: "stop", 1: "place 9"}, where=lambda table: table.rounds == 1)
    assert table.gained[0] == 0, "a false Stop all the same"
    table = misread(ALMOST, 98, 9, false_stop="masked")
    assert table.moves(0) == ["draw", "wait"]


def test_p_misread_under_allowed_every_stop_is_legal():
    table = misread(ALMOST, 98, 9)
    assert table.moves(0) == ["draw", "stop", "wait"]
    table.play({0: "stop", 1: "place 9"}, where=lambda table: table.rounds == 1)
    assert table.gained[0] == 12


def test_p_misread_rules_the_wait_mask_under_forbidden():
    assert misread(ALMOST, 99, 0, idle="forbidden").moves(0) == ["draw", "stop", "wait"]
    assert misread(ALMOST, 98, 9, idle="forbidden").moves(0) == ["draw", "stop"]
    assert misread(ALMOST, 98, 9, idle="forbidden", false_stop="masked").moves(0) == ["draw"]


def test_p_misread_the_time_to_notice_belongs_to_the_real_row():
    assert misread(ALMOST, 98, 9, t_check=9).wait[0] > 0
    assert misread(ALMOST, 99, 0, t_check=9).wait[0] == 0


def test_p_misread_lasts_until_the_next_placement():
    table = misread(ALMOST, 98, 9)
    table.play({0: "wait", 1: "place 9"}).play({0: "wait", 1: "wait"})
    assert table.checks[0] is False
    table.put(middle=[97], rows={0: RISING, 1: FIVE}, checks={0: False})
    assert table.play({0: "draw", 1: "wait"}).checks[0] is False


# --- What is seen -----------------------------------------------------------------------------------------------------


def test_the_observation_tells_what_the_rules_list():
    table = Table(num_players=3, t_draw=4).put(rows={0: UWE, 1: NINE, 2: SECOND}, held={1: 50}, tick=9, idle=3)
    table.put(ready_at={1: 11})
    numbers = [[100 if n == "T" else n for n in row] for row in (UWE, NINE, SECOND)]
    seen = table.sees(1)
    assert seen == {
        "phase": 0, "middle": 89, "tick": 9, "idle": 3, "rounds": 0, "overtime": 0,
        "held": 50, "held_thunder": 0, "held_flash": 1, "own_check": 0,
        "holding": [1, 0, 0], "cooling": [1, 0, 0], "called": [0, 0, 0], "ready_in": [2, 0, 0],
        "points": [0, 0, 0], "debt": [0, 0, 0], "last_gain": [0, 0, 0], "last_loss": [0, 0, 0],
        "row": [numbers[1], numbers[2], numbers[0]],
        "row_thunder": [[], [], [2, 5]], "row_flash": [[], [], [1, 3, 8, 9]],
    }  # fmt: skip
    assert (table.sees(2)["own_check"], table.sees(0)["own_check"]) == (1, 0)
    assert (table.sees(2)["held"], table.sees(2)["holding"]) == (0, [0, 0, 1])


@pytest.mark.parametrize("shape", ["ascending", "mountain"])
def test_obs_opponents(shape):
    rows = {0: [4, 20, "T", 62, 91, 77, 53, 30, 11], 1: [4 + 1, 19, 38, 61, 60, 70, 52, 29, 10], 2: ["T"] * 9}
    count = {"ascending": [4, 4, 0], "mountain": [8, 4, 0]}[shape]
    flash, thunders = [2, 4, 0], [1, 0, 9]
    full, counts, none = (
        Table(num_players=3, row_len=9, row_shape=shape, obs_opponents=form).put(rows=rows)
        for form in ("full", "counts", "none")
    )
    for seat in range(3):
        order = [(seat + k) % 3 for k in (1, 2)]
        own = full.sees(seat)["row"][0]
        assert len(full.sees(seat)["row"]) == 3
        assert counts.sees(seat)["row"] == none.sees(seat)["row"] == [own]
        seen = counts.sees(seat)
        assert seen["others_run"] == [count[p] for p in order]
        assert seen["others_flash"] == [flash[p] for p in order]
        assert seen["others_thunder"] == [thunders[p] for p in order]
        assert "others_run" not in none.sees(seat)
        assert full.moves(seat) == counts.moves(seat) == none.moves(seat)


def test_obs_seen_is_every_card_that_was_face_up_to_the_seat():
    table = Table(num_players=3, obs_seen=True, obs_opponents="none", seed=5, row_len=4)
    rng = random.Random(5)
    dealt = [card for row in table.rows for card in row]
    seen = [list(dealt) for _ in range(3)]
    for _ in range(30):
        for p in range(3):
            assert table.sees(p)["seen"] == sorted(n for n in seen[p] if n != "T")
            assert table.sees(p)["seen_thunders"] == seen[p].count("T")
        before = table.held
        table.play({p: rng.choice([m for m in table.moves(p) if m not in ("stop", "wait")]) for p in table.asked})
        for p, card in enumerate(table.held):
            if before[p] is None and card is not None:
                seen[p].append(card)
            if before[p] is not None and card is None:
                for q in {0, 1, 2} - {p}:
                    seen[q].append(before[p])
    table.put(rows={0: [1, 2, 3, 4]}).play({0: "stop", 1: "wait", 2: "wait"})
    dealt = sorted(n for row in table.rows for n in row if n != "T")
    assert [table.sees(p)["seen"] for p in range(3)] == [dealt] * 3, "a new round begins"


def test_the_middle_and_others_hands_are_not_shown():
    table = Table(num_players=3, obs_seen=True).put(rows=ROWS, held={1: 50, 2: "T"}, middle=[1, 92, 99, 91])
    twin = Table(num_players=3, obs_seen=True).put(rows=ROWS, held={1: 92, 2: 91}, middle=[50, 1, "T", 99])
    assert table.sees(0) == twin.sees(0)
    assert table.sees(1) != twin.sees(1)


# --- How it plays -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "expected"), [(10, 1.718229), (9, 1.718089), (8, 1.717609)])
def test_a_dealt_row_scores_what_the_rules_file_says(length, expected):
    rules = {"row_len": length, "idle": "free", "max_ticks": 1, "reward": "points"}
    env = flinchenv.make("flash10-round-v0", "vector", num_envs=MANY, **rules)
    env.reset(seed=0)
    step = env.step(np.full((MANY, 2), 12))
    assert step.terminated.all()
    gains = step.rewards.copy()
    assert_mean(gains.mean(1), expected)
    if length == 10:
        assert abs((gains < 0).mean() - 0.125) < 0.005


def test_random_placement_without_stops_exhausts_the_middle_and_scores_the_same():
    rules = {"false_stop": "masked", "idle": "forbidden", "reward": "points"}
    env = flinchenv.make("flash10-round-v0", "vector", num_envs=4000, **rules)
    env.reset(seed=0)
    played = env.rollout(seed=1)
    assert_mean(played.returns.mean(1), 1.718229)
    games = env.snapshot().games
    assert (games["left"] == 0).mean() > 0.999


def test_contents_tell_positions_apart():
    table = Table().put(rows={0: RISING, 1: FIVE})
    before = contents(table.env)
    table.put(rows={0: RISING, 1: FIVE})
    assert contents(table.env) == before
    assert contents(table.put(rows={0: RISING, 1: NINE}).env) != before
