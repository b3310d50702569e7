"""What many games of Flash 10 come to: the slot-fitting bot's tables (rules 3.3), untouched rows, fair seats.

The ordinary forms are short; `pytest -m slow tests/test_statistics_flash10.py` plays as many rounds as the tables did.
"""

import importlib.util
import itertools
import math
import sys

import numpy as np
import pytest
from numba import njit

import flinchenv
from flinchenv.agents.flash10_fit import fit_policy, fit_slot
from flinchenv.core.bits import has
from flinchenv.core.play import loops
from flinchenv.core.rng import random_below
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.flash10 import SPEC, game, rows

# n, row_len: (figure, its standard error in units of its last digit) of draws, exhausted %, stopper, others, rounds
TICKS = {
    (1, 10): [("20.67", 2), ("0", 0), ("14.10", 1), None, ("4.00", 1)],
    (2, 10): [("16.65", 1), ("0.00", 1), ("14.05", 1), ("7.31", 1), ("4.58", 1)],
    (3, 10): [("14.90", 1), ("0.20", 1), ("14.03", 1), ("7.07", 1), ("4.87", 1)],
    (4, 10): [("13.46", 1), ("5.45", 5), ("14.02", 1), ("6.84", 1), ("5.12", 1)],
    (5, 10): [("11.24", 1), ("39.28", 9), ("14.01", 1), ("6.32", 1), ("5.65", 1)],
    (5, 8): [("9.11", 1), ("0.81", 2), ("11.60", 1), ("5.47", 1), ("6.37", 1)],
    (5, 9): [("10.60", 1), ("9.54", 6), ("12.80", 1), ("6.03", 1), ("5.83", 1)],
    (2, 9): [("14.15", 1), ("0", 0), ("12.80", 1), ("6.56", 1), ("5.02", 1)],
}
ATOMIC = {
    (1, 10): [("20.67", 2), ("0", 0), ("14.10", 1), None, ("4.00", 1)],
    (2, 10): [("16.13", 1), ("0.00", 1), ("14.05", 1), ("6.76", 1), ("4.66", 1)],
    (3, 10): [("14.24", 1), ("0.14", 1), ("14.04", 1), ("6.55", 1), ("4.99", 1)],
    (4, 10): [("12.87", 1), ("3.52", 4), ("14.02", 1), ("6.35", 1), ("5.25", 1)],
    (5, 10): [("10.93", 1), ("27.99", 9), ("14.01", 1), ("5.97", 1), ("5.74", 1)],
    (5, 8): [("8.34", 1), ("0.32", 2), ("11.60", 1), ("4.95", 1), ("6.67", 1)],
    (5, 9): [("10.00", 1), ("5.38", 5), ("12.80", 1), ("5.55", 1), ("6.02", 1)],
    (2, 9): [("13.66", 1), ("0", 0), ("12.80", 1), ("6.03", 1), ("5.10", 1)],
}
NAMES = ("draws", "exhausted", "stopper", "others", "rounds")
LINES = [pytest.param(*line, id=f"{line[0]} players, {line[1]} cards") for line in TICKS]
CHUNK = 50_000


def rounds_of(n, row_len, rounds, seed):
    """(draws a seat, stopped, points (N, P), who stopped (N, P)) of single rounds in ticks, slot-fitting bots."""
    parts = []
    for start in range(0, rounds, CHUNK):
        env = flinchenv.make("flash10-round-v0", "vector", num_envs=min(CHUNK, rounds - start), num_players=n,
                             row_len=row_len)  # fmt: skip
        env.reset(seed=seed + start)
        env.rollout(fit_policy)
        parts.append(ended(env._games, n, row_len))
    return [np.concatenate(part) for part in zip(*parts)]


def ended(games, n, row_len):
    """The same of records whose round is over."""
    called = games["right"][:, None] >> np.arange(n) & 1 == 1
    return (120 - n * row_len - games["left"]) / n, games["cause"] == game.STOPPED, games["gains"][:, :n], called


@njit
def play_atomically(games, rules, seats, draws):
    """In a random seat order each seat draws, lays and, if its row may then be stopped, stops, until one does."""
    params, n = rules[0], len(seats)
    order, row = np.arange(n), np.zeros(10, np.int64)
    for i in range(len(games)):
        s = games[i]
        for k in range(n - 1, 0, -1):
            j = random_below(s, k + 1)
            order[k], order[j] = order[j], order[k]
        turn = 0
        s.cause = game.EXHAUSTED
        while s.left > 0 and s.cause == game.EXHAUSTED:
            p = order[turn % n]
            s.held[p] = rows.take_card(s)
            draws[i] += 1
            for k in range(10):
                row[k] = s.row[p, k]
            if rows.lay(s, params, p, fit_slot(row, params, np.int64(s.held[p]))):
                s.cause = game.STOPPED
                s.right = 1 << p
            turn += 1
        for p in range(n):
            s.gains[p] = rows.score_row(s, params, p) + 2 * has(s.right, p)


def atomic_rounds(n, row_len, rounds, seed):
    """As `rounds_of`, by the atomic driver on the core's own deal and scoring."""
    parts = []
    for start in range(0, rounds, CHUNK):
        env = flinchenv.make("flash10-round-v0", "vector", num_envs=min(CHUNK, rounds - start), num_players=n,
                             row_len=row_len)  # fmt: skip
        env.reset(seed=seed + start)
        play_atomically(env._games, env.setup.params, env.setup.seats, np.zeros(env.num_envs, np.int64))
        parts.append(ended(env._games, n, row_len))
    return [np.concatenate(part) for part in zip(*parts)]


def mean_of(values):
    return values.mean(), values.std() / math.sqrt(len(values))


def figures(played):
    """{name: (mean, standard error)} of the table's columns but the last."""
    draws, stopped, points, called = played
    share = stopped.mean()
    found = {"draws": mean_of(draws[stopped]), "stopper": mean_of(points[stopped][called[stopped]])}
    found["exhausted"] = 100 * (1 - share), 100 * math.sqrt(share * (1 - share) / len(stopped))
    if points.shape[1] > 1:
        others = np.where(called, 0, points)[stopped].sum(1) / (points.shape[1] - 1)
        found["others"] = mean_of(others)
    return found


def match_lengths(points):
    """Rounds of matches to 50 points, the played rounds taken one after the other."""
    lengths, total, first = [], np.zeros(points.shape[1]), 0
    for k, row in enumerate(points):
        total += row
        if total.max() >= 50:
            lengths.append(k + 1 - first)
            total[:] = 0
            first = k + 1
    return np.array(lengths)


def check(played, line):
    """Every column within 4 combined standard errors and half a unit of the last printed digit."""
    found = figures(played) | {"rounds": mean_of(match_lengths(played[2]))}
    off = {}
    for name, wanted in zip(NAMES, line):
        if wanted is not None:
            text, error = wanted
            unit = 10.0 ** -len(text.partition(".")[2])
            mean, own = found[name]
            if abs(mean - float(text)) > 4 * math.hypot(own, error * unit) + unit / 2:
                off[name] = (mean, own, wanted)
    assert not off, off


@pytest.mark.parametrize(("n", "row_len"), [(2, 10), (4, 10), (5, 8)])
def test_slot_fitting_bots_in_ticks(n, row_len):
    check(rounds_of(n, row_len, 10_000, 2**31), TICKS[n, row_len])


@pytest.mark.parametrize(("n", "row_len"), [(2, 10), (4, 10), (5, 8)])
def test_slot_fitting_bots_one_after_the_other(n, row_len):
    check(atomic_rounds(n, row_len, 10_000, 2**31), ATOMIC[n, row_len])


def test_the_tables_are_told_apart():
    with pytest.raises(AssertionError):
        check(atomic_rounds(2, 10, 10_000, 2**31), TICKS[2, 10])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "row_len"), LINES)
def test_slot_fitting_bots_in_ticks_for_long(n, row_len):
    check(rounds_of(n, row_len, 300_000, 2**32), TICKS[n, row_len])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "row_len"), LINES)
def test_slot_fitting_bots_one_after_the_other_for_long(n, row_len):
    check(atomic_rounds(n, row_len, 300_000, 2**32), ATOMIC[n, row_len])


@njit
def score_dealt(games, rules, points):
    for i in range(len(games)):
        for p in range(points.shape[1]):
            points[i, p] = rows.score_row(games[i], rules[0], p)


@pytest.mark.parametrize(("row_len", "mean"), [(10, 1.718229), (9, 1.718089), (8, 1.717609)])
def test_a_dealt_row_scores_as_computed(row_len, mean):
    env = flinchenv.make("flash10-round-v0", "vector", num_envs=200_000, row_len=row_len)
    env.reset(seed=7)
    points = np.zeros((env.num_envs, 2), np.int64)
    score_dealt(env._games, env.setup.params, points)
    found, error = mean_of(points.ravel())
    assert abs(found - mean) < 4.5 * error
    if row_len == 10:
        assert abs((points < 0).mean() - 0.125) < 0.002


@njit
def lay_anywhere(s, params, seats, player, mask, draw):
    return np.int64(draw >> np.uint64(33)) % params.row_len if mask[0] else game.DRAW


def test_laying_without_a_look_leaves_a_row_a_random_sample():
    env = flinchenv.make("flash10-round-v0", "vector", num_envs=40_000, num_players=4)
    env.reset(seed=11)
    env.rollout(lay_anywhere)
    assert (env._games["cause"] == game.EXHAUSTED).all()
    found, error = mean_of(env._games["gains"][:, :4].ravel())
    assert abs(found - 1.718229) < 4.5 * error


# --- Equal chances by seat --------------------------------------------------------------------------------------------


def unfair_pairs(played, bound):
    """Pairs of seats whose mean points or shares of Stops differ by more than `bound` paired standard errors."""
    _, _, points, called = played
    unfair = []
    for name, values in (("points", points), ("stops", called)):
        for p, q in itertools.combinations(range(points.shape[1]), 2):
            mean, error = mean_of(values[:, p].astype(float) - values[:, q])
            if abs(mean) > bound * error:
                unfair.append((name, p, q, mean, error))
    return unfair


def fair_rounds(n, rounds, seed, kernels=None, **changes):
    """Single rounds of independent deals, slot-fitting bots in all seats."""
    setup = make_setup("flash10-round-v0", None, {"num_players": n, **changes})
    if kernels is not None:
        setup = setup._replace(loops=loops(kernels))
    parts = []
    for start in range(0, rounds, CHUNK):
        env = VectorGame(setup, min(CHUNK, rounds - start))
        env.reset(seed=seed + start)
        env.rollout(fit_policy)
        parts.append(ended(env._games, n, 10))
    return [np.concatenate(part) for part in zip(*parts)]


def lowest_seat_first():
    """The game's kernels, built anew without the random order of a tick."""
    spec = importlib.util.find_spec("flinchenv.flash10.game")
    with open(spec.origin) as file:
        source = file.read()
    shuffle = "    if params.priority != SEAT_ROTATING:\n        for k in range(num_ready - 1, 0, -1):"
    assert source.count(shuffle) == 1
    source = source.replace(shuffle, shuffle.replace("!= SEAT_ROTATING", "> SEAT_ROTATING"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("flinchenv.flash10.lowest_first", None))
    sys.modules[module.__name__] = module
    exec(compile(source, "lowest_first.py", "exec"), module.__dict__)
    return SPEC.kernels._replace(deal=module.deal, apply_actions=module.apply_actions)


PRIORITIES = ("fair", "seat_rotating", "fastest")


@pytest.mark.parametrize(("n", "priority"), [(2, "fair"), (3, "seat_rotating"), (4, "fastest")])
def test_no_seat_is_better(n, priority):
    assert not unfair_pairs(fair_rounds(n, 20_000, 2**31, priority=priority), 4)


def test_a_lowest_seat_that_goes_first_is_found_out():
    unfair = unfair_pairs(fair_rounds(3, 20_000, 2**31, lowest_seat_first()), 4)
    assert ("points", 0, 2) in [pair[:3] for pair in unfair]


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("priority", PRIORITIES)
def test_no_seat_is_better_for_long(n, priority):
    """120 pairs are tested in all, hence 4.5."""
    assert not unfair_pairs(fair_rounds(n, 200_000, 2**33, priority=priority), 4.5)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "edge"), [(2, 0.35), (3, 0.42), (4, 0.43), (5, 0.28)])
def test_a_lowest_seat_that_goes_first_is_found_out_for_long(n, edge):
    played = fair_rounds(n, 200_000, 2**33, lowest_seat_first())
    found, error = mean_of(played[2][:, 0].astype(float) - played[2][:, n - 1])
    assert abs(found - edge) < 4 * math.hypot(error, 0.02) + 0.005
    assert unfair_pairs(played, 4.5)
