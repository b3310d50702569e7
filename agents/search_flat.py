"""Flat Monte Carlo: the legal actions played on in the same determinised games, the weaker half dropped in turn.

Sequential halving (Karnin, Koren, Somekh 2013) over the legal actions, with common random numbers: in one determinised
game all actions meet the same cards and draws. The policy that plays the games on is given up only for an action that
was better by more than its standard error, so that a search with few simulations plays as its policy does.
"""

import numpy as np

CONFIDENCE = 1.0  # standard errors by which an action must beat the policy's


class FlatSearch:
    """Flat Monte Carlo over one seat's actions; all other choices are the rollout policy's.

    Args:
        playouts: `Playouts`.
    """

    def __init__(self, playouts):
        self.playouts = playouts

    def search(self, view, legal, budget):
        """Probabilities float64 (K,) of K legal ids: 1 for one of them.

        Args:
            view: `SeatView`.
            legal: int64 (K,), two or more.
            budget: `Budget`, spent.
        """
        first = int(np.flatnonzero(legal == self._policy_action(view, legal, budget)).max(initial=-1))
        order = np.roll(np.arange(len(legal)), -max(first, 0))  # with few simulations: the policy's action, then others
        alive = np.sort(order[: budget.most(len(legal))])
        values = np.zeros((0, len(legal)))
        for stages in range(max(1, int(len(alive) - 1).bit_length()), 0, -1):
            budget.stage(stages)
            while n := budget.chunk(len(alive)):
                values = np.concatenate([values, self._try(view, legal, alive, n, budget)])
            means = np.array([values[:, k].mean() for k in alive]) if len(values) else np.zeros(len(alive))
            ranked = alive[np.argsort(-means, kind="stable")]
            if stages > 1:
                kept = ranked[: (len(alive) + 1) // 2]
                alive = np.union1d(kept, [first]) if first >= 0 else np.sort(kept)
        best = int(ranked[0])
        if first >= 0 and best != first and not better(values[:, best] - values[:, first]):
            best = first
        return np.eye(len(legal))[best]

    def _policy_action(self, view, legal, budget):
        return self.playouts.policy_action(view.determinize(1, budget.next_seed()), view.seat, legal)

    def _try(self, view, legal, alive, n, budget):
        """The values (n, K) of the actions still alive in n determinised games; NaN for the others."""
        seed = budget.next_seed()
        games = np.repeat(view.determinize(n, seed), len(alive))
        counters = np.repeat(self.playouts.counters(seed // 2 + np.arange(n)), len(alive))
        values = np.full((n, len(legal)), np.nan)
        actions = np.tile(legal[alive], n)
        values[:, alive] = self.playouts.play(games, view.seat, actions, counters).reshape(n, len(alive))
        budget.spend(len(games))
        return values


def better(differences):
    """Whether paired differences (n,) lie above 0 by more than CONFIDENCE standard errors."""
    n = len(differences)
    return n > 1 and differences.mean() > CONFIDENCE * differences.std(ddof=1) / np.sqrt(n)
