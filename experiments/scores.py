"""What games add up to: win rates, returns, intervals, forfeits, endings.

**Intervals.** 95 %; games of one seed are not independent, seeds are. Mean returns: normal over seeds. Win rates:
Wilson at the number of games that would be as uncertain as the seeds are, at most the number of games played.
"""

from collections import Counter

import numpy as np

Z95 = 1.959964
MAX_REASONS = 5  # reasons for forfeits that are listed for each agent


def side_row(sides):
    """The numbers of one agent over its pairs, each on the same seeds."""
    shares = np.concatenate([side.shares for side in sides], 1)
    returns = np.concatenate([side.returns for side in sides], 1)
    return {
        "games": int(shares.size),
        "wins": int((shares > 1 - 1e-9).sum()),
        "draws": int(((shares > 1e-9) & (shares < 1 - 1e-9)).sum()),
        "losses": int((shares < 1e-9).sum()),
        "win_rate": float(shares.mean()),
        "ci95": win_interval(shares),
        "mean_return": float(returns.mean()),
        "mean_return_ci95": mean_interval(returns.mean(1)),
    }


def difference_row(sides):
    """What side A got beyond side B: win rate and mean return, each with its interval over seeds."""
    shares, returns = (a.mean(1) - b.mean(1) for a, b in zip(*sides))
    low, high = win_interval(sides[0].shares)
    return {
        "win_rate_difference": float(shares.mean()),
        "win_rate_difference_ci95": [
            2 * low - 1,
            2 * high - 1,
        ],  # the two win rates add up to 1, forfeits of both apart
        "mean_return_difference": float(returns.mean()),
        "mean_return_difference_ci95": mean_interval(returns),
    }


def fault_row(faults):
    """{"forfeits": games, "reasons": [[reason, games], ...]} of one agent, the most frequent reasons."""
    both = sum(faults, Counter())
    listed = sorted(both.items(), key=lambda item: (-item[1], item[0]))[:MAX_REASONS]
    return {"forfeits": sum(both.values()), "reasons": [list(item) for item in listed]}


def ending_row(setup, pairs):
    """{"dead": games over without a winner, "truncated": games, "end_reasons": {reason: games}} of pairs' games."""
    reasons = np.concatenate([games.reasons.ravel() for games in pairs])
    counts = np.bincount(reasons, minlength=len(setup.game.end_reasons))
    return {
        "dead": int(sum(games.dead.sum() for games in pairs)),
        "truncated": int(sum(games.truncated.sum() for games in pairs)),
        "end_reasons": {name: int(count) for name, count in zip(setup.game.end_reasons, counts) if count},
    }


def seat_rows(shares):
    """Each seat's win rate, whoever sat there; shares (S, M, P)."""
    return [
        {"seat": p, "win_rate": float(shares[..., p].mean()), "ci95": win_interval(shares[..., p])}
        for p in range(shares.shape[2])
    ]


def mean_interval(units):
    """[low, high] of the mean of independent units, normal, 95 %."""
    half = Z95 * units.std(ddof=1) / np.sqrt(len(units))
    return [float(units.mean() - half), float(units.mean() + half)]


def win_interval(shares):
    """[low, high] of the win rate in shares (S, M) of S independent seeds: Wilson, 95 %, at the effective size."""
    rate, num_seeds = shares.mean(), len(shares)
    spread = shares.mean(1).var(ddof=1)
    if not 0 < rate < 1:
        effective = num_seeds
    elif spread * shares.size <= rate * (1 - rate) * num_seeds:
        effective = shares.size
    else:
        effective = rate * (1 - rate) * num_seeds / spread
    middle = (rate + Z95**2 / (2 * effective)) / (1 + Z95**2 / effective)
    half = Z95 / (1 + Z95**2 / effective) * np.sqrt(rate * (1 - rate) / effective + Z95**2 / (4 * effective**2))
    return [float(max(middle - half, 0)), float(min(middle + half, 1))]
