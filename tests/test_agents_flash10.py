"""The rule bots of Flash 10: legal, the same in both faces, fitting as by hand, strong as told; alone, the solver."""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest

import flinchenv
from flinchenv.agents.flash10_count import CELLS, CHANCE, count_policy, count_unseen, row_worth
from flinchenv.agents.flash10_fit import fit_policy, fit_slot, row_value
from flinchenv.agents.flash10_solo import SoloAgent, place_values, solve
from flinchenv.agents.flash10_table import copy_row, scratch
from flinchenv.agents.flash10_timing import timing_policy
from flinchenv.agents.load import load
from flinchenv.agents.policy import bot_kernel
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments import tournament
from flinchenv.flash10.game import DRAW, FINAL_PLACE, RUN, STOP, WAIT
from flinchenv.flash10.rows import THUNDER
from reference import flash10 as reference

POLICIES = {"rule:1": fit_policy, "rule:2": count_policy, "rule:3": timing_policy}
CASES = [
    ("flash10-v0", {}),
    ("flash10-round-v0", {"obs_seen": True, "reward": "points"}),
    ("flash10-mountain-v0", {"obs_seen": True}),
    ("flash10-mountain-v0", {"peak_score": "both_sides", "row_len": 5, "flash_scope": "prefix", "obs_seen": True}),
    ("flash10-thunder_stop-v0", {"obs_seen": True}),
    ("flash10-thunder_stop-v0", {"row_shape": "mountain", "row_len": 3, "numbers": 20, "floor_zero": True}),
    ("flash10-race-v0", {"obs_seen": True}),
    ("flash10-race-v0", {"speed_noise": False, "idle": "forbidden", "priority": "fastest"}),
    ("flash10-devir-v0", {"num_players": 3, "false_stop": "masked", "obs_opponents": "none", "obs_seen": True}),
    ("flash10-v0", {"obs_opponents": "counts", "p_misread": 0.3, "obs_seen": True}),
    ("flash10-v0", {"p_misread": 0.5, "false_stop": "masked", "idle": "forbidden", "obs_opponents": "counts"}),
    ("flash10-v0", {"pace": "auto_draw", "obs_seen": True}),
    ("flash10-v0", {"pace": "auto_draw", "obs_opponents": "none", "t_check": 3, "row_len": 4, "numbers": 30}),
    ("flash10-v0", {"idle": "free", "max_ticks": 30, "reward": "win", "obs_seen": True}),
    (
        "flash10-v0",
        {"numbers": 10, "thunders": 0, "row_len": 3, "last_card_stop": True, "stop_resolution": "all_valid"},
    ),
    ("flash10-v0", {"numbers": 33, "thunders": 20, "row_len": 7, "priority": "seat_rotating", "tie": "extra_round"}),
    ("flash10-tiny-v0", {"obs_seen": True}),
    ("flash10-tiny-v0", {"num_players": 1}),
]


@functools.cache
def asker(policy):
    """A compiled loop that asks a policy for its choices on the true records, seat by seat."""

    @bot_kernel
    def ask(games, rules, seats, mask, actions):
        for i in range(len(games)):
            for p in range(len(seats)):
                actions[i, p] = policy(games[i], rules[0], seats, p, mask[i, p], np.uint64(0))

    return ask


def positions(env, steps, seed):
    """Yield (mask (N, P, A), {name: the policies' choices (N, P)}) over steps in which rows play in different ways.

    A row's seats play at random, or by one of the bots, or now this, now that.
    """
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    n, p, _ = env.action_mask.shape
    habit = rng.integers(5, size=n)
    for _ in range(steps):
        mask = env.action_mask.copy()
        choices = {name: np.zeros((n, p), np.int64) for name in POLICIES}
        for name, policy in POLICIES.items():
            asker(policy)(env._games, env.setup.params, env.setup.seats, mask, choices[name])
        yield mask, choices
        tables = [np.where(mask, rng.random(mask.shape), -1).argmax(2), *choices.values()]
        way = np.where(habit == 4, rng.integers(4, size=n), habit)
        env.step(np.choose(way[:, None], tables))


FACES = CASES + [(id, {**options, "num_players": 3}) for id, options in CASES if "num_players" not in options]


@pytest.mark.parametrize(("id", "options"), FACES, ids=str)
def test_both_faces_choose_the_same_and_legally(id, options):
    """The agent knows the observation alone, so a policy that read more of the record would be found out."""
    env = flinchenv.make(id, "vector", num_envs=15, **options)
    setup = env.setup
    bots = [load(name, setup) for name in POLICIES]
    assert [bot.needs_view for bot in bots] == [False, not setup.rules.obs_seen, not setup.rules.obs_seen]
    asked = 0
    for mask, choices in positions(env, 40, 3):
        row, seat = np.nonzero(mask.sum(2) > 1)
        asked += len(row)
        views = [SeatView(setup, env._games[i : i + 1], int(p)) for i, p in zip(row, seat)]
        for bot in bots:
            view = views if bot.needs_view else None
            actions = bot.act(env.observation[row, seat], mask[row, seat], None, view)
            assert actions.dtype == np.int64 and mask[row, seat, actions].all()
            assert (actions == choices[bot.name][row, seat]).all(), bot.name
            probs = bot.probs(env.observation[row, seat], mask[row, seat], view)
            assert probs.dtype == np.float64 and (probs == np.eye(13)[actions]).all()
    assert asked > 300


@pytest.mark.parametrize("name", ["rule:1", "rule:2", "rule:3"])
def test_a_bot_chooses_the_same_in_the_true_records(name):
    setup = make_setup("flash10-round-v0", None, {"num_players": 3})
    bot, env, rng = load(name, setup), VectorGame(setup, 8), np.random.default_rng(2)
    env.reset(seed=4)
    for _ in range(25):
        rows, seats = np.nonzero(env.action_mask.sum(2) > 1)
        observation, mask, games = env.observation[rows, seats], env.action_mask[rows, seats], env.snapshot().games
        views = [SeatView(setup, games[i : i + 1], int(p)) for i, p in zip(rows, seats)] if bot.needs_view else None
        wanted = bot.act(observation, mask, rng, views)
        assert bot.choose_in(games, rows, seats, mask).tolist() == wanted.tolist()
        env.step(np.where(rng.random((8, 3)) < 0.3, env.action_mask.argmax(2), _spread(wanted, rows, seats, env)))


def _spread(chosen, rows, seats, env):
    actions = env.action_mask.argmax(2)
    actions[rows, seats] = chosen
    return actions


@pytest.mark.parametrize("name", POLICIES)
def test_a_row_alone_plays_as_in_its_batch_and_always_the_same(name):
    env = flinchenv.make("flash10-v0", "vector", num_envs=8, obs_seen=True)
    bot = load(name, env)
    for mask, _ in positions(env, 12, 5):
        observation, mask = env.observation.reshape(16, -1), mask.reshape(16, -1)
        actions = bot.act(observation, mask)
        assert (bot.act(observation, mask, np.random.default_rng(1)) == actions).all()
        for i in range(16):
            assert bot.act(observation[i : i + 1], mask[i : i + 1]) == actions[i]


def test_what_an_agent_cannot_do_without_is_named():
    env = flinchenv.make("flash10-v0", "vector", num_envs=2)
    env.reset(seed=1)
    observation, mask = env.observation[:, 0], env.action_mask[:, 0].copy()
    with pytest.raises(ValueError, match="view="):
        load("rule:2", env).act(observation, mask)
    mask[1] = 0
    for name in POLICIES:
        with pytest.raises(ValueError, match="row 1 has no legal action"):
            load(name, env).act(observation, mask)


def test_levels_1_and_2_stop_by_their_own_check_alone_and_never_wait():
    env = flinchenv.make("flash10-v0", "vector", num_envs=64, p_misread=0.2, row_len=5)
    seen = set()
    for mask, choices in positions(env, 60, 9):
        ready = (mask[..., DRAW] == 1) & (env._games["phase"] == RUN)[:, None]
        checked = env._games["checked"][:, None] >> np.arange(2) & 1 == 1
        done = env._games["stoppable"][:, None] >> np.arange(2) & 1 == 1
        for name in ("rule:1", "rule:2"):
            assert (choices[name][ready] == np.where(checked, STOP, DRAW)[ready]).all()
        assert (choices["rule:3"][ready] != WAIT).all()
        seen |= set(zip(checked[ready].tolist(), done[ready].tolist()))
    assert len(seen) == 4


# --- Level 1 ----------------------------------------------------------------------------------------------------------


SMALL = make_setup("flash10-v0", None, {"numbers": 10, "row_len": 3})
SMALL_MOUNTAIN = make_setup("flash10-v0", None, {"numbers": 10, "row_len": 3, "row_shape": "mountain"})
T = THUNDER


def slot_of(row, card, setup=SMALL):
    return fit_kernel()(np.array(row), setup.params, card)


def value_of(row, setup=SMALL):
    """The row's value in the rules' own units."""
    return Fraction(int(value_kernel()(np.array(row), setup.params)), 2 * setup.rules.numbers)


@functools.cache
def fit_kernel():
    return bot_kernel(lambda row, rules, card: fit_slot(row, rules[0], card))


@functools.cache
def value_kernel():
    return bot_kernel(lambda row, rules: row_value(row, rules[0]))


def test_slots_fitted_by_hand():
    """Ten numbers, three slots: slot i is made for (i + 1/2) 10/3 - 1/2; a number v there is worth 100 less
    2 |(v + 1/2) 3/10 - 1/2 - i|.

    In slot 0: 0 99.3, 2 99.5, 4 98.3, 5 97.7, 6 97.1. In slot 1: 1 97.9, 4 99.7, 5 99.7, 8 97.9.
    In slot 2: 4 97.7, 5 98.3, 7 99.5, 8 99.9, 9 99.3.
    """
    # 5 and 1 cannot both stay; 1 and 9 are worth 97.9 + 99.3 and 5 and 9 only 97.7 + 99.3.
    assert value_of([5, 1, 9]) == Fraction("197.2")
    # A 4: on slot 0 it and 9 are 98.3 + 99.3; on slot 1 it and 9 are 99.7 + 99.3; on slot 2 1 and it 97.9 + 97.7.
    assert slot_of([5, 1, 9], 4) == 1
    # A Thunder covers the number that is worth least: 5 and 8 are 199.6, 2 and 8 199.4, 2 and 5 199.2.
    assert value_of([2, 5, 8]) == Fraction("299.1") and slot_of([2, 5, 8], T) == 0
    # A Thunder on either Thunder leaves the same; the lower slot.
    assert slot_of([T, T, 5], T) == 0
    # 9 is too high for slot 0 and 0 too low for slot 2: nothing stays. An 8 has no room in slot 0, in slot 1 it is
    # worth 97.9 and half a point for the Thunder, in slot 2 99.9.
    assert value_of([9, T, 0]) == 0 and slot_of([9, T, 0], 8) == 2
    # Between 6 and 7 there is no number for slot 1: one of them stays.
    assert value_of([6, T, 7]) == Fraction("99.5")
    # 5 on slot 0 is worth 97.7 and half a point, on slot 1 99.7 without.
    assert slot_of([T, 0, T], 5) == 1
    # The half point decides: 6 in slot 0 is 97.1 + 0.5; 4 there, with 9, is no better than what lies there.
    assert slot_of([T, T, T], 6) == 1  # 1.95 - 1.5: 99.1, the best of its three
    assert slot_of([5, T, T], 5) == 1  # 97.7 + 0.5 against 99.7 + 0.5 and 98.3 + 0.5


def test_a_mountain_fitted_by_hand():
    """Three slots: the ends share the lower places, (1/2 + 1/2) of 3, the peak has the last, 2.

    At the ends v is worth 100 - 2 |(v + 1/2) 3/10 - 1|, at the peak 100 - 2 |(v + 1/2) 3/10 - 5/2|.
    """
    # Ends 2 and 3: 99.5 and 99.9; the peak 8: 99.9.
    assert value_of([2, 8, 3], SMALL_MOUNTAIN) == Fraction("299.3")
    # A peak of 1 would keep no end above 0 (97.9 alone); without it the ends stay, 8 at an end is worth 96.9.
    assert value_of([2, 1, 8], SMALL_MOUNTAIN) == Fraction("99.5") + Fraction("96.9")
    # A 9 goes to the peak.
    assert slot_of([2, 1, 3], 9, SMALL_MOUNTAIN) == 1


def value_by_the_rules(row, rules):
    """The value of a row as rules 3.3 define it, over all subsets; for a mountain as `flash10_fit` extends it."""
    length, numbers = rules.row_len, rules.numbers
    peak = length // 2 if rules.row_shape == "mountain" else length - 1
    slots = [i for i in range(length) if row[i] != T]
    best = Fraction(0)
    for size in range(1, len(slots) + 1):
        for kept in itertools.combinations(slots, size):
            arms = [
                [i for i in kept if i <= peak],
                [length - 1 - i for i in kept if i > peak or i == peak < length - 1],
            ]
            cards = [[row[i] for i in arms[0]], [row[length - 1 - d] for d in arms[1]]]
            fits = all(
                all(v >= d and numbers - 1 - v >= peak - d for d, v in zip(arm, values))
                and all(w - v >= e - d for (d, v), (e, w) in itertools.pairwise(sorted(zip(arm, values))))
                for arm, values in zip(arms, cards)
            )
            if fits:
                value = Fraction(0)
                for i in kept:
                    place = Fraction(i)
                    if rules.row_shape == "mountain":
                        place = Fraction(length - 1) if i == peak else 2 * min(i, length - 1 - i) + Fraction(1, 2)
                    here = (row[i] + Fraction(1, 2)) * length / numbers - Fraction(1, 2)
                    value += 100 - 2 * abs(here - place)
                best = max(best, value)
    return best


@pytest.mark.parametrize(
    ("numbers", "row_len", "row_shape"),
    [(100, 10, "ascending"), (12, 3, "ascending"), (37, 8, "ascending"), (100, 9, "mountain"), (23, 5, "mountain")],
)
def test_rows_are_worth_what_the_rules_say(numbers, row_len, row_shape):
    setup = make_setup("flash10-v0", None, {"numbers": numbers, "row_len": row_len, "row_shape": row_shape})
    rng = np.random.default_rng(5)
    deck = np.array([*range(numbers), *[T] * 20])
    for k in range(40):
        row = rng.permutation(deck)[: row_len + 1]
        card, row = int(row[row_len]), row[:row_len].copy()
        if k % 2:
            row.sort()
        assert value_of(row, setup) == value_by_the_rules(row.tolist(), setup.rules)
        values = []
        for i in range(row_len if k < 10 else 0):
            new = row.tolist()
            new[i] = card
            values.append(value_by_the_rules(new, setup.rules) + Fraction(1, 2) * (row[i] == T))
        if values:
            assert slot_of(row, card, setup) == values.index(max(values))


# --- Levels 2 and 3 ---------------------------------------------------------------------------------------------------


@bot_kernel
def worth_of(games, rules, draws, points, prize, below):
    """What level 2 makes of seat 0's row, so many draws before the end."""
    s, params = games[0], rules[0]
    unseen = count_unseen(s, params, 0, below)
    row = copy_row(s, 0, scratch(10, np.int64))
    return row_worth(row, params, below, draws / unseen, points, prize)


def position(setup, row, gone=(), left=None):
    """A lone seat's record: its row, and `gone`, which lies covered, are all that it has seen."""
    games = setup.new_games(1)
    games["row"][0, 0, : len(row)] = row
    for card in {*row, *gone} - {T}:
        games["seen"][0, card // 64] |= np.uint64(1 << card % 64)
    games["left"] = setup.rules.numbers + setup.rules.thunders - len(row) - len(gone) if left is None else left
    games["held"] = -1
    return games


def choice(policy, setup, games, ids):
    """What a policy chooses for seat 0 among some ids."""
    mask = np.zeros((1, len(setup.seats), 13), np.int8)
    mask[0, :, list(ids)] = 1
    actions = np.zeros((1, len(setup.seats)), np.int64)
    asker(policy)(games, setup.params, setup.seats, mask, actions)
    return int(actions[0, 0])


def worth(row, draws, points=1.0, prize=10.0, gone=(), **options):
    setup = make_setup("flash10-tiny-v0", None, {"num_players": 1, "numbers": 20, "thunders": 4, **options})
    return worth_of(position(setup, row, gone), setup.params, draws, points, prize, np.zeros(201, np.int64))


def one_of(drawn):
    """The chance that any card comes where so many are expected; the table's steps make it about half a percent off."""
    return 1 - np.exp(-drawn)


@pytest.mark.parametrize("players", [2, 3])
def test_level_2_weighs_what_the_row_is_worth_at_each_end_by_how_likely_it_is(players):
    """Its constants are tuned: a race of 2 row lengths, give or take 0.4, and 12 points of the others for a Stop."""
    setup = make_setup("flash10-round-v0", None, {"num_players": players, "obs_seen": True})
    env, bot, prize = VectorGame(setup, 20), load("rule:2", setup), 2 + 12 / (players - 1)
    env.reset(seed=4)
    compared = 0
    for _ in range(60):
        games, mask = env.snapshot().games, env.action_mask.copy()
        actions = mask.argmax(2)
        rows, seats = np.nonzero(mask.sum(2) > 1)
        actions[rows, seats] = bot.choose_in(games, rows, seats, mask[rows, seats])
        for i in np.flatnonzero(mask[:, 0, 0]):
            game, left = games[i : i + 1].copy(), games["left"][i] / players
            drawn = 120 / players - 10 - left

            def lasts(draws, game=game, drawn=drawn):
                still = 1 / (1 + np.exp((drawn + draws - 20) / 4))
                return 0.0 if game["phase"][0] == FINAL_PLACE else still ** (players - 1)

            def value(slot, game=game, left=left, lasts=lasts):
                game = game.copy()
                game["row"][0, 0, slot] = game["held"][0, 0]
                words = [reference.THUNDER if card == THUNDER else int(card) for card in game["row"][0, 0]]
                running = lasts(0)
                total = (1 - running) * reference.score_row(setup.rules, words)
                for end in (1, 2, 4, 8, 16):
                    draws = min(end, left)
                    later = 0.0 if draws == left or end == 16 else lasts(draws)
                    below = np.zeros(201, np.int64)
                    if running > later:
                        total += (running - later) * worth_of(game, setup.params, draws, 1.0, prize, below)
                    running = later
                return total

            values = [value(slot) for slot in range(10)]
            assert values[actions[i, 0]] == pytest.approx(max(values), abs=1e-8)
            compared += 1
        env.step(actions)
    assert compared > 200


def test_a_row_is_worth_its_points_and_what_its_gaps_promise():
    """20 numbers, 4 Thunders, three slots: 21 cards are unseen, so with 2.1 draws each comes with a tenth."""
    assert worth([1, 7, 12], 0) == 13 and worth([5, 7, 12], 0) == 14  # in order; with a Flash card
    assert worth([7, 1, 12], 0) == 1  # 7, 1 or 12 stays, and no hope
    # 1 and 12 stay: 2 to 11 fit between them.
    assert worth([1, T, 12], 2.1) == pytest.approx(1 + one_of(1) * (1 + 1 + 10), rel=0.01)
    # The finish alone: the same chance without points.
    assert worth([1, T, 12], 2.1, points=0.0, prize=1.0) == pytest.approx(one_of(1), rel=0.01)
    # 2 to 11 are gone: 1 stays, and of 13 to 19 half will come.
    gone = range(2, 12)
    assert worth([1, T, 12], 5.5, gone=gone) == pytest.approx(1 + CHANCE[2, round(3.5 * CELLS)] * (2 + 10))
    # Where a Thunder may stay it fills its slot and costs a point.
    assert worth([1, T, 7], 0, stop_with_thunder=True) == 1 + 1 + 10 - 1


def test_a_mountain_descends_after_its_peak():
    assert worth([1, 17, 3], 0, row_shape="mountain") == 13
    assert worth([1, 3, 17], 0, row_shape="mountain") == 2
    # After the peak 17 any lower number fits; but for 1 all are unseen, and an eighth of them will come.
    assert worth([1, 17, T], 21 / 8, row_shape="mountain") == pytest.approx(2 + one_of(2) * (1 + 10), rel=0.01)
    # On the peak 4 to 19 fit.
    assert worth([1, T, 3], 21 / 8, row_shape="mountain") == pytest.approx(1 + one_of(2) * (1 + 1 + 10), rel=0.01)


def test_cards_that_are_gone_change_where_a_card_is_laid():
    """An 8 over 3, Thunder, 2: on the Thunder, with room for 9 to 19 after it; with those gone, at the end."""
    setup = make_setup("flash10-tiny-v0", None, {"num_players": 1, "numbers": 20, "thunders": 4, "obs_seen": True})
    found = []
    for gone in ([], [*range(9, 20)]):
        games = position(setup, [3, T, 2], gone, left=10)
        games["held"], games["holding"], games["marks"][0, 0] = 8, 1, 2
        found.append(choice(count_policy, setup, games, range(3)))
    assert found == [1, 2]


def test_level_3_draws_on_alone_until_the_last_card():
    setup = make_setup("flash10-tiny-v0", None, {"num_players": 1})
    games = position(setup, [1, 4, 7])
    games["checked"] = games["stoppable"] = 1
    assert choice(timing_policy, setup, games, (DRAW, STOP, WAIT)) == DRAW
    assert choice(count_policy, setup, games, (DRAW, STOP, WAIT)) == STOP
    games["left"] = 1
    assert choice(timing_policy, setup, games, (DRAW, STOP, WAIT)) == STOP


@pytest.mark.parametrize(
    ("options", "swapped", "wanted"),
    [
        ({}, False, STOP),
        ({}, True, DRAW),
        ({"reward": "points"}, False, DRAW),
        ({"obs_opponents": "none"}, False, DRAW),
    ],
)
def test_level_3_calls_a_false_stop_on_who_is_about_to_finish(options, swapped, wanted):
    """One row descends; the other shows a single point, but any of 0 to 13 on its first slot finishes it."""
    setup = make_setup("flash10-round-v0", None, options)
    rows = [[98, 87, 76, 63, 52, 41, 33, 21, 16, 3], [97, 14, 23, 34, 42, 56, 62, 71, 83, 94]]
    games = position(setup, rows[0], rows[1], left=100)
    games["row"][0, :2] = rows[::-1] if swapped else rows
    assert choice(timing_policy, setup, games, (DRAW, STOP, WAIT)) == wanted


def test_the_chance_of_a_gap_is_that_of_play():
    """Two slots, either of which may be filled first: a card is laid so that most of the gap is left to the other."""
    rng = np.random.default_rng(6)
    for drawn in (1, 3, 8):
        counts = rng.poisson(drawn, 20_000)
        filled = 0
        for count in counts:
            low, high = 0.0, 1.0
            slots = 2
            for card in rng.random(count):
                if slots == 2:
                    slots, (low, high) = 1, ((card, 1.0) if card < 0.5 else (0.0, card))
                elif low < card < high:
                    slots = 0
                    break
            filled += slots == 0
        share = filled / len(counts)
        assert abs(share - CHANCE[2, drawn * CELLS]) < 4 * np.sqrt(share * (1 - share) / len(counts)) + 0.01
    assert (np.diff(CHANCE[1:], axis=0) <= 1e-12).all() and (np.diff(CHANCE, axis=1) >= 0).all()


def test_the_last_card_is_laid_for_points():
    env = flinchenv.make("flash10-devir-v0", "vector", num_envs=64, numbers=60, obs_seen=True)
    rules, found = env.setup.rules, 0
    for mask, choices in positions(env, 60, 4):
        for i, p in np.argwhere(mask[..., 0] * (env._games["phase"] == FINAL_PLACE)[:, None]):
            row = [c if c != T else "T" for c in env._games["row"][i, p, : rules.row_len].tolist()]
            held = int(env._games["held"][i, p])
            points = []
            for slot in range(rules.row_len):
                new = [*row]
                new[slot] = held if held != T else "T"
                points.append(reference.score_row(rules, new))
            assert choices["rule:2"][i, p] == choices["rule:3"][i, p] == points.index(max(points))
            found += 1
    assert found > 50


def margin(better, worse, num_players, games, id="flash10-round-v0", **rules):
    """(low, high), 95 %, of what a round pays `better` against `worse`, seats rotated on the same deals."""
    data = tournament.run(tournament.Args(id, (better, worse), games, rules={"num_players": num_players, **rules})).data
    return next(row["mean_return_ci95"] for row in data["agents"] if row["name"] == better)


@pytest.mark.parametrize("name", ["rule:2", "rule:3"])
def test_each_level_beats_the_first(name):
    assert margin(name, "rule:1", 2, 400)[0] > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [2, 4])
@pytest.mark.parametrize("name", ["rule:2", "rule:3"])
def test_each_level_beats_the_first_clearly(name, num_players):
    assert margin(name, "rule:1", num_players, 20_000)[0] > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("flash10-mountain-v0", {}),
        ("flash10-thunder_stop-v0", {}),
        ("flash10-race-v0", {}),
        ("flash10-devir-v0", {}),
        ("flash10-round-v0", {"obs_opponents": "none"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["rule:2", "rule:3"])
def test_each_level_beats_the_first_in_every_variant(name, id, options):
    num_players = 5 if id == "flash10-devir-v0" else 2
    assert margin(name, "rule:1", num_players, 2000, id, episode="round", **options)[0] > 0


# --- Alone ------------------------------------------------------------------------------------------------------------


def solo_setup(**options):
    return make_setup("flash10-tiny-v0", None, {"num_players": 1, **options})


@functools.cache
def tiny():
    """(the preset's setup alone, its solver)."""
    setup = solo_setup(obs_seen=True)
    return setup, SoloAgent(setup)


def best_alone(rules):
    """value(row, middle): the best expected score by plain recursion over the twin's own rules; a Thunder is a "T"."""

    def score(row):
        points = reference.score_row(rules, list(row))
        return max(points, 0) if rules.floor_zero else points

    @functools.cache
    def value(row, middle):
        done = reference.may_be_stopped(rules, list(row))
        if not middle:
            return score(row) + 2 * (done and rules.last_card_stop)
        total = 0.0
        for k, card in enumerate(middle):
            rest = middle[:k] + middle[k + 1 :]
            total += max(value((*row[:i], card, *row[i + 1 :]), rest) for i in range(len(row)))
        stop = score(row) + 2 if done else 0 if rules.false_stop == "allowed" else -100
        return max(stop, total / len(middle))

    return value


def cards_of(setup):
    return [*range(setup.rules.numbers), *["T"] * setup.rules.thunders]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"thunders": 2},
        {"thunders": 2, "false_stop": "masked"},
        {"thunders": 2, "stop_with_thunder": True, "last_card_stop": True},
        {"thunders": 2, "row_shape": "mountain", "floor_zero": True},
        {"thunders": 2, "row_shape": "mountain", "peak_score": "both_sides"},
        {"thunders": 2, "flash_scope": "prefix", "pace": "auto_draw"},
    ],
    ids=str,
)
def test_the_solver_values_positions_as_plain_recursion_does(options):
    setup = solo_setup(**{"numbers": 10, **options})
    deck, value, rng = cards_of(setup), best_alone(setup.rules), np.random.default_rng(3)
    values = solve(setup).values
    for k in range(150):
        cards = rng.permutation(len(deck))[: 3 + 1 + k % 4]
        row, middle = cards[:3], np.sort(cards[3:])
        wanted = value(tuple(deck[c] for c in row), tuple(deck[c] for c in middle))
        found = values[(1 << middle).sum(), row @ place_values(setup.rules)]
        assert found == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("thunders", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_value_before_the_deal_is_that_of_plain_recursion(thunders):
    setup = solo_setup(numbers=10, thunders=thunders)
    deck, value = cards_of(setup), best_alone(setup.rules)
    wanted = [
        value(tuple(deck[k] for k in deal), tuple(deck[k] for k in range(len(deck)) if k not in deal))
        for deal in itertools.permutations(range(len(deck)), 3)
    ]
    assert solve(setup).value == pytest.approx(np.mean(wanted), abs=1e-9)


def play_alone(agent, setup, rounds):
    """(mean, standard error) of the scores of rounds played through the vector API."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=rounds)
    env.reset(seed=2**31)
    scores, left = np.zeros(rounds), np.ones(rounds, bool)
    while left.any():
        env.step(agent.act(env.observation[:, 0], env.action_mask[:, 0])[:, None])
        ended = left & env.terminated
        scores[ended] = env.final_info["scores"][ended, 0]
        left &= ~ended
    return scores.mean(), scores.std() / np.sqrt(rounds)


def test_the_solver_plays_up_to_its_value():
    setup, solver = tiny()
    mean, error = play_alone(solver, setup, 20_000)
    assert abs(mean - solver.solution.value) < 4 * error


@pytest.mark.parametrize("name", POLICIES)
def test_no_bot_does_better_alone_than_the_solver(name):
    setup, solver = tiny()
    mean, error = play_alone(load(name, setup), setup, 20_000)
    assert mean < solver.solution.value + 4 * error
    assert mean > 0.7 * solver.solution.value


def test_the_solver_refuses_what_it_does_not_solve():
    for options in ({"num_players": 2}, {"episode": "match"}, {"p_misread": 0.1}, {"idle": "free"}, {"numbers": 100}):
        with pytest.raises(ValueError):
            solve(solo_setup(**options))


# --- Names ------------------------------------------------------------------------------------------------------------


def test_names_load_what_they_say():
    for name in POLICIES:
        assert load(name, "flash10-v0").name == name
    assert load("rule", "flash10-v0").name == "rule:1"
    with pytest.raises(ValueError, match=r"'rule:1'..'rule:3'"):
        load("rule:4", "flash10-v0")


def test_bots_play_as_opponents_in_every_api():
    env = flinchenv.make("flash10-round-v0", "gym_vector", num_envs=8, opponents=["rule:2", "rule:3"], num_players=3,
                         autoreset_mode="SameStep")  # fmt: skip
    bot, (observation, info) = load("rule:1", env), env.reset(seed=4)
    for _ in range(80):
        observation, _, _, _, info = env.step(bot.act(observation, info["action_mask"], None))
