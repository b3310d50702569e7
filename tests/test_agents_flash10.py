"""The rule bots of Flash 10: legal, the same in both faces, fitting as by hand, strong as told; alone, the solver."""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

import flinchenv
from flinchenv.agents.flash10_count import CELLS, CHANCE, count_policy, is_done, row_points
from flinchenv.agents.flash10_fit import fit_policy, fit_slot, row_value
from flinchenv.agents.flash10_solo import SoloAgent, policy_value, solve
from flinchenv.agents.flash10_table import bot_kernel
from flinchenv.agents.flash10_timing import timing_policy
from flinchenv.agents.load import load
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup
from flinchenv.flash10 import rows
from flinchenv.flash10.game import DRAW, FINAL_PLACE, RUN, STOP, WAIT
from flinchenv.flash10.rows import THUNDER
from flinchenv.flash10.rules import Flash10Rules
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


@pytest.mark.parametrize("num_players", [None, 2])
@pytest.mark.parametrize(("id", "options"), CASES, ids=str)
def test_both_faces_choose_the_same_and_legally(id, options, num_players):
    """The agent knows the observation alone, so a policy that read more of the record would be found out."""
    if num_players == 2 and "num_players" in options:
        pytest.skip("the case has its own number of players")
    options = options if num_players is None else {**options, "num_players": num_players}
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
    env = flinchenv.make("flash10-v0", "vector", num_envs=64, p_misread=0.3)
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


def test_chances_of_gaps():
    x = np.arange(CHANCE.shape[1]) / CELLS
    np.testing.assert_allclose(CHANCE[1], 1 - np.exp(-x), atol=2e-3)  # any card between fills one slot
    # Two slots: the first card leaves the larger part, on average 3/4 (more exactly, a uniform share from 1/2 to 1).
    assert 1 - np.exp(-1) * 2 < CHANCE[2, CELLS] < 1 - np.exp(-1)
    assert (np.diff(CHANCE, axis=0) <= 1e-12).all() and (np.diff(CHANCE, axis=1) >= 0).all()
    assert (CHANCE[:, 0] == [1] + [0] * 10).all()


@bot_kernel
def count_rows(games, rules, cards, points, done, ours, ours_done):
    """What the core and the bots make of the same rows: int64 (N, 10)."""
    s, params = games[0], rules[0]
    for k in range(len(cards)):
        for i in range(params.row_len):
            rows.turn_up(s, 0, i, cards[k, i])
        points[k], done[k] = rows.score_row(s, params, 0), rows.may_be_stopped(s, params, 0)
        ours[k], ours_done[k] = row_points(cards[k], params), is_done(cards[k], params)


@pytest.mark.parametrize("scope", ["visible", "prefix"])
@pytest.mark.parametrize("stop_with_thunder", [False, True])
@pytest.mark.parametrize(
    "shape", [("ascending", "left_prefix"), ("mountain", "left_prefix"), ("mountain", "both_sides")]
)
def test_the_bots_count_rows_as_the_game_does(shape, stop_with_thunder, scope):
    row_shape, peak_score = shape.split()
    setup = make_setup(
        "flash10-v0",
        Flash10Rules(row_shape=row_shape, peak_score=peak_score, flash_scope=scope, stop_with_thunder=stop_with_thunder,
                     row_len=7, numbers=30),
    )  # fmt: skip
    rng = np.random.default_rng(2)
    cards = np.array([rng.permutation([*range(30), *[T] * 8])[:10] for _ in range(4000)])
    half = cards[1000:]
    half.sort(1)
    half[1000:, 4:7] = half[1000:, 6:3:-1]
    cards[2000:, 2] = np.where(rng.random(2000) < 0.5, T, cards[2000:, 2])
    points, done, ours, ours_done = np.zeros((4, len(cards)), np.int64)
    count_rows(setup.new_games(1), setup.params, cards, points, done, ours, ours_done)
    assert (points == ours).all() and (done == ours_done).all() and 0 < done.mean() < 1


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


def match_up(better, worse):
    """A policy that plays `better` in the seat that the seed points at, `worse` in the others."""

    @njit
    def policy(s, params, seats, player, mask, draw):
        if player == s.seed % len(seats):
            return better(s, params, seats, player, mask, draw)
        return worse(s, params, seats, player, mask, draw)

    return policy


def margin(policy, num_players, rounds, id="flash10-round-v0", seed=2**31, **options):
    """95 % interval of the mean margin of `policy`'s first bot, its seat rotating."""
    env = flinchenv.make(id, "vector", num_envs=rounds, num_players=num_players, **options)
    env.reset(seed=seed)
    returns = env.rollout(policy).returns[np.arange(rounds), (seed + np.arange(rounds)) % num_players]
    half = 1.96 * returns.std() / np.sqrt(rounds)
    return returns.mean() - half, returns.mean() + half


def test_each_level_beats_the_one_below():
    assert margin(match_up(count_policy, fit_policy), 2, 2000)[0] > 2
    assert margin(match_up(timing_policy, fit_policy), 2, 2000)[0] > 2
    assert margin(match_up(timing_policy, count_policy), 2, 6000)[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [2, 4])
def test_each_level_beats_the_first_clearly(num_players):
    for policy in (count_policy, timing_policy):
        assert margin(match_up(policy, fit_policy), num_players, 20_000)[0] > 2


@pytest.mark.slow
@pytest.mark.parametrize(("num_players", "rounds"), [(2, 40_000), (3, 100_000)])
def test_level_3_beats_level_2(num_players, rounds):
    assert margin(match_up(timing_policy, count_policy), num_players, rounds)[0] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("flash10-mountain-v0", {}),
        ("flash10-thunder_stop-v0", {}),
        ("flash10-race-v0", {}),
        ("flash10-devir-v0", {}),
        ("flash10-round-v0", {"obs_opponents": "none"}),
        ("flash10-round-v0", {"obs_opponents": "counts"}),
    ],
    ids=str,
)
def test_counting_pays_in_every_variant(id, options):
    num_players = 5 if id == "flash10-devir-v0" else 2
    policy = match_up(count_policy, fit_policy)
    assert margin(policy, num_players, 4000, id, episode="round", **options)[0] > 0.5


# --- Alone ------------------------------------------------------------------------------------------------------------


def best_alone(rules):
    """The best expected score by plain recursion over the twin's own rules; every Thunder is a "T"."""

    @functools.cache
    def value(row, middle):
        stop = reference.score_row(rules, list(row)) + 2 if reference.may_be_stopped(rules, list(row)) else 0
        total = 0.0
        for k, card in enumerate(middle):
            rest = middle[:k] + middle[k + 1 :]
            after = [(*row[:i], card, *row[i + 1 :]) for i in range(len(row))]
            total += max(value(new, rest) if rest else last(new) for new in after)
        return max(stop, total / len(middle))

    @functools.cache
    def last(row):
        return reference.score_row(rules, list(row))

    deck = [*range(rules.numbers), *["T"] * rules.thunders]
    deals = list(itertools.permutations(range(len(deck)), rules.row_len))
    values = []
    for deal in deals:
        middle = tuple(deck[k] for k in range(len(deck)) if k not in deal)
        values.append(value(tuple(deck[k] for k in deal), middle))
    return sum(values) / len(values)


def solo_setup(**options):
    return make_setup("flash10-tiny-v0", None, {"num_players": 1, **options})


SOLO_CASES = [
    {"numbers": 10, "thunders": 0},
    pytest.param({"numbers": 10, "thunders": 1}, marks=pytest.mark.slow),
    pytest.param({"numbers": 10, "thunders": 1, "stop_with_thunder": True}, marks=pytest.mark.slow),
    pytest.param({"numbers": 10, "thunders": 1, "row_shape": "mountain"}, marks=pytest.mark.slow),
    pytest.param({"numbers": 10, "thunders": 2, "flash_scope": "prefix"}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("options", SOLO_CASES, ids=str)
def test_the_solo_value_is_that_of_plain_recursion(options):
    setup = solo_setup(**options)
    assert solve(setup).value == pytest.approx(best_alone(setup.rules), abs=1e-9)


def play_alone(agent, setup, rounds, seed):
    """(mean, standard error) of the scores of rounds played through the vector API."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=rounds)
    env.reset(seed=seed)
    scores, left = np.zeros(rounds), np.ones(rounds, bool)
    while left.any():
        env.step(agent.act(env.observation[:, 0], env.action_mask[:, 0])[:, None])
        ended = left & env.terminated
        scores[ended] = env.final_info["scores"][ended, 0]
        left &= ~ended
    return scores.mean(), scores.std() / np.sqrt(rounds)


def test_nobody_does_better_alone_than_the_solver():
    setup = solo_setup(obs_seen=True)
    best = solve(setup).value
    mean, error = play_alone(SoloAgent(setup), setup, 20_000, 2**31)
    assert abs(mean - best) < 4 * error
    small = solo_setup(numbers=10, thunders=1, obs_seen=True)
    for name, policy in POLICIES.items():
        value = policy_value(small, policy)
        assert value < solve(small).value, name
        mean, error = play_alone(load(name, small), small, 20_000, 2**31)
        assert abs(mean - value) < 4 * error, name


def test_the_solver_refuses_what_it_does_not_solve():
    for options in ({"num_players": 2}, {"episode": "match"}, {"p_misread": 0.1}, {"idle": "free"}, {"numbers": 100}):
        with pytest.raises(ValueError):
            solve(make_setup("flash10-tiny-v0", None, {"num_players": 1, **options}))


# --- Names ------------------------------------------------------------------------------------------------------------


def test_names_load_what_they_say():
    for name in POLICIES:
        assert load(name, "flash10-v0").name == name
    assert load("rule", "flash10-v0").name == "rule:1"
    with pytest.raises(ValueError, match=r"'rule:1'..'rule:3'"):
        load("rule:4", "flash10-v0")


def test_bots_play_as_opponents_in_every_api():
    env = flinchenv.make("flash10-round-v0", "gym_vector", num_envs=8, opponents=["rule:2", "rule:3"], num_players=3)
    bot, (observation, info) = load("rule:1", env), env.reset(seed=4)
    for _ in range(80):
        observation, _, _, _, info = env.step(bot.act(observation, info["action_mask"], None))
