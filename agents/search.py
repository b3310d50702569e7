"""Determinised search for every game: flat Monte Carlo, information-set tree search, decoupled regret matching.

A search sees what its seat sees: it asks its `SeatView` for the information state and for games that the seat cannot
tell from the true one, and plays these on. Its random numbers come from its own seed and the information state, so
that the same knowledge gives the same choice, whatever cards are hidden.
"""

import functools
import hashlib
import time
from typing import NamedTuple

import numpy as np

from flinchenv.core.params import one_of, refuse, whole
from flinchenv.core.rng import MAX_SEED

from .agent import ProbabilisticAgent, check_mask
from .search_flat import FlatSearch
from .search_ismcts import TreeSearch
from .search_matrix import MatrixSearch, rounds_of_hand
from .search_playouts import Playouts

MOST_SIMULATIONS = 1_000_000
MOST_MILLISECONDS = 3_600_000
MOST_ROUNDS = 2**40
CHUNK = 512  # simulations in one call of a kernel
TIMED_CHUNK = 64  # between two looks at the clock
QUICK = 2_000_000  # simulations a second that a table of plans is taken to need, about what it takes on one core

METHODS = {"flat": FlatSearch, "ismcts": TreeSearch, "matrix": MatrixSearch}


class Default(NamedTuple):
    """What measured best for a game; see `Search`."""

    method: str
    rollout: str
    simulations: int


DEFAULTS = {
    "flinch": Default("flat", "rule:4", 200),
    "flip_it": Default("matrix", "random", 5000),  # a whole table for two
    "flash10": Default("flat", "rule:1", 200),
}
TURNS_AHEAD = 10  # of each player in Flinch


class Search(ProbabilisticAgent):
    """Searches anew at every decision.

    Args:
        setup: the game and its rules.
        simulations: games played on a decision, 1..1,000,000; it may spend a few fewer, never more.
        milliseconds: a time a decision instead, 1..3,600,000; what is chosen then depends on the machine.
        method: "flat" (all games), "ismcts" (turn-based play) or "matrix" (simultaneous play).
        rollout: who plays games on: "random" or a compiled rule bot's name.
        horizon: rounds after which they are cut and valued as they stand.
        seed: of its own randomness.
        name: how tables call it.

    What is None is what measured best for the game.

    Attributes:
        simulations_done: simulations of the last call of `act` or `probs`, all rows.

    Raises:
        ValueError: a setting outside its range, named.
    """

    needs_view = True

    def __init__(
        self, setup, simulations=None, milliseconds=None, *, method=None, rollout=None, horizon=None, seed=0, name=None
    ):
        best, player, usual = DEFAULTS[setup.game.name]
        if milliseconds is None:
            simulations = usual if simulations is None else simulations
            simulations = whole("simulations", simulations, 1, MOST_SIMULATIONS)
        elif simulations is not None:
            refuse("simulations", simulations, "None where milliseconds are given")
        else:
            milliseconds = whole("milliseconds", milliseconds, 1, MOST_MILLISECONDS)
        if best == "matrix" and not setup.simultaneous:
            best = "ismcts"
        method = best if method is None else one_of("method", method, tuple(METHODS))
        if method == "ismcts" and setup.simultaneous:
            refuse("method", method, "'flat' or 'matrix' where seats choose at the same time")
        if method == "matrix" and not setup.simultaneous:
            refuse("method", method, "'flat' or 'ismcts' where one seat chooses at a time")
        horizon = usual_horizon(setup) if horizon is None else horizon
        self.setup, self.simulations, self.milliseconds = setup, simulations, milliseconds
        self.method, self.rollout = method, player if rollout is None else rollout
        self.horizon = whole("horizon", horizon, 1, MOST_ROUNDS)
        self.seed = whole("seed", seed, 0, MAX_SEED)
        self.name = name or (f"search:{simulations}" if milliseconds is None else f"search:{milliseconds}ms")
        self.simulations_done = 0
        self._searcher = METHODS[method](Playouts(setup, self.rollout, self.horizon))

    def __reduce__(self):
        options = {name: getattr(self, name) for name in ("method", "rollout", "horizon", "seed", "name")}
        return functools.partial(Search, **options), (self.setup, self.simulations, self.milliseconds)

    def probs(self, observation, action_mask, view=None):
        """What each row's search plays, float64 (N, A); see `Agent.probs`."""
        check_mask(action_mask)
        if view is None:
            refuse("view", None, "one SeatView a row: a search asks it for determinised games")
        probs = np.zeros(np.shape(action_mask))
        self.simulations_done = 0
        for row, mask in enumerate(np.asarray(action_mask)):
            legal = np.flatnonzero(mask)
            if len(legal) == 1:
                probs[row, legal] = 1
                continue
            budget = Budget(self.simulations, self.milliseconds, self._key(view[row]))
            probs[row, legal] = self._searcher.search(view[row], legal, budget)
            self.simulations_done += budget.done
        return probs

    def _key(self, view):
        known = view.information_state() + self.seed.to_bytes(8, "little")
        return int.from_bytes(hashlib.blake2b(known, digest_size=8).digest(), "little")


def usual_horizon(setup):
    """Some turns of Flinch, the running hand of Flip It, the running round of Flash 10 to its end."""
    if setup.game.name == "flinch":
        return TURNS_AHEAD * setup.num_players
    return rounds_of_hand(setup) if setup.game.name == "flip_it" else MOST_ROUNDS


class Budget:
    """What one decision may cost, and the seeds of its determinisations.

    Args:
        simulations: how many, or None.
        milliseconds: how long from now on, where simulations is None.
        key: a whole number, where the seeds come from.
    """

    def __init__(self, simulations, milliseconds, key):
        self.done = 0
        self._simulations = simulations
        self._start = time.monotonic()
        self._seconds = None if milliseconds is None else milliseconds / 1000
        self._seeds = np.random.default_rng(key)

    def next_seed(self):
        """A seed for `SeatView.determinize`."""
        return int(self._seeds.integers(MAX_SEED))

    def spend(self, simulations):
        """Note simulations that were made."""
        self.done += simulations

    def most(self, width):
        """How many of `width` choices can be tried at all."""
        return width if self._simulations is None else min(width, self._simulations)

    def stage(self, stages):
        """Begin one of so many stages that are left; they share what is left."""
        self._limit = self._used() + (1 - self._used()) / stages

    def chunk(self, width):
        """How many determinised games to try next, each with `width` simulations; 0 at the end of the stage."""
        if self._simulations is None:
            return max(1, TIMED_CHUNK // width) if self._used() < self._limit or not self.done else 0
        left = round(self._limit * self._simulations) - self.done
        return min(left // width, max(1, CHUNK // width))

    def fits(self, simulations):
        """Whether so many more can be made, of a time about so."""
        if self._simulations is None:
            return self._start + self._seconds - time.monotonic() > simulations / QUICK
        return self.done + simulations <= self._simulations

    def _used(self):
        """The share of the budget that is spent."""
        if self._simulations is None:
            return min(1.0, (time.monotonic() - self._start) / self._seconds)
        return self.done / self._simulations
