"""Ratings out of the games of pairs: Bradley-Terry on the Elo scale, and Plackett-Luce of whole tables by openskill.

**Bradley-Terry.** By maximum likelihood on the Elo scale (400 points: ten to one), mean 1500; every pair gets one drawn
game more, so that ratings stay finite. Intervals: 95 %, normal, from the larger of two variances, that of independent
games and that over seeds (the sandwich estimator, clustered by seed).
**openskill** (Weng and Lin 2011, as openskill has it): a game's sides are teams of the ratings in their seats, in
order of their share of the win and then of their returns. An agent in several seats goes on with the mean of what
became of its copies. Games count one after the other: by seed, then pair, then seating, up to `MAX_RATED` of them.
"""

import functools
import itertools

import numpy as np

from flinchenv.agents.policy import bot_kernel
from flinchenv.core.rewards import every_seat_alone

from .games import Games, seatings
from .scores import Z95

MAX_RATED = 10_000  # each takes about a seventh of a millisecond between two players
SCALE = 400 / np.log(10)


def rate(points, met):
    """Ratings (K,) from points (K, K), what i won of its games against j, of the pairs that met, bool (K, K)."""
    points = points + 0.5 * met
    games = points + points.T
    strength = np.ones(len(points))
    for _ in range(10_000):
        stronger = points.sum(1) / (games / (strength[:, None] + strength)).sum(1)
        stronger /= np.exp(np.log(stronger).mean())
        moved = np.abs(np.log(stronger / strength)).max()
        strength = stronger
        if moved < 1e-10:
            break
    return 1500 + 400 * np.log10(strength)


def rate_pairs(played, num_agents):
    """(ratings (K,), their intervals (K, 2)) of {(a, b): `Games`}, all on the same seeds."""
    points, met = np.zeros((2, num_agents, num_agents))
    sides = {pair: games.sides for pair, games in played.items()}
    for (a, b), (first, second) in sides.items():
        points[a, b], points[b, a] = first.shares.sum(), second.shares.sum()
        met[a, b] = met[b, a] = 1
    ratings = rate(points, met)
    information = np.zeros((num_agents, num_agents))
    residuals = np.zeros((len(next(iter(sides.values()))[0].shares), num_agents))
    for (a, b), (first, second) in sides.items():
        p = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        between = np.zeros(num_agents)
        between[[a, b]] = 1, -1
        information += (1 + points[a, b] + points[b, a]) * p * (1 - p) * np.outer(between, between)
        surprise = (1 - p) * first.shares.sum(1) - p * second.shares.sum(1)
        residuals += surprise[:, None] * between
    inverse = np.linalg.pinv(information)
    seeds = len(residuals)
    clustered = inverse @ (residuals.T @ residuals * seeds / (seeds - 1)) @ inverse
    half = Z95 * SCALE * np.sqrt(np.maximum(np.diag(inverse), np.diag(clustered)))
    return ratings, np.stack([ratings - half, ratings + half], 1)


def rating_against(rating, games):
    """The rating of a pair's second agent, whom nobody else has met, from the first one's."""
    won, lost = (side.shares.sum() + 0.5 for side in games.sides)
    return float(rating - 400 * np.log10(won / lost))


def openskill_rows(setup, played, num_agents):
    """[{"mu", "sigma", "ordinal"}] of every agent, or [None] * K where the package openskill is not installed."""
    try:
        from openskill.models import PlackettLuce
    except ImportError:
        return [None] * num_agents
    model = PlackettLuce()
    seats, sides = seatings(setup.num_players), sides_of(setup)
    ratings = [model.rating() for _ in range(num_agents)]
    for pair, seating, order in _games_in_order(played, sides):
        who = np.array(pair)[seats[seating]]
        copies = {p: model.create_rating([ratings[k].mu, ratings[k].sigma]) for p, k in enumerate(who)}
        after = model.rate([[copies[p] for p in side] for side in sides], ranks=order)
        told = dict(zip([p for side in sides for p in side], [rating for team in after for rating in team]))
        for k in pair:
            mine = [told[p] for p in np.flatnonzero(who == k)]
            ratings[k].mu = sum(one.mu for one in mine) / len(mine)
            ratings[k].sigma = sum(one.sigma for one in mine) / len(mine)
    return [{"mu": one.mu, "sigma": one.sigma, "ordinal": one.ordinal()} for one in ratings]


def rated_games(played):
    """How many games `openskill_rows` counts."""
    return min(MAX_RATED, sum(games.reasons.size for games in played.values()))


def sides_of(setup):
    """The sides of a table as lists of seats: teams, or every seat by itself."""
    seats, same_side = range(setup.num_players), setup.game.kernels.same_side
    if same_side is every_seat_alone:
        return [[p] for p in seats]
    together = np.zeros((len(seats), len(seats)), bool)
    _side_filler(same_side)(setup.params, setup.seats, together)
    return [np.flatnonzero(row).tolist() for p, row in enumerate(together) if row.argmax() == p]


@functools.cache
def _side_filler(same_side):
    def fill(params, seats, together):
        for p in range(len(seats)):
            for q in range(len(seats)):
                together[p, q] = same_side(params[0], seats, p, q)

    return bot_kernel(fill)


def _games_in_order(played, sides):
    """(pair, seating, ranks of the sides) of every game that counts."""
    num_seeds, num_seatings = next(iter(played.values())).reasons.shape
    num_seeds = min(num_seeds, -(-MAX_RATED // (num_seatings * len(played))))
    ranks = {}
    for pair, games in played.items():
        first = Games(*(part[:num_seeds] for part in games[:4]), games.faults)
        standing = np.stack([first.shares, first.returns.round(6)])
        standing = np.stack([standing[..., side].mean(-1) for side in sides], -1)
        shares, returns = standing[..., None, :] - standing[..., :, None]  # (S, M, side, every other side)
        ranks[pair] = ((shares > 1e-9) | (np.abs(shares) <= 1e-9) & (returns > 1e-9)).sum(-1)
    order = ((seed, pair, m) for seed in range(num_seeds) for pair in played for m in range(num_seatings))
    for seed, pair, seating in itertools.islice(order, MAX_RATED):
        yield pair, seating, [float(rank) for rank in ranks[pair][seed, seating]]
