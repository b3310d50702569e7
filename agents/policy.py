"""Compiled policies as agents.

A bot is a compiled policy(s, params, seats, player, mask, draw) -> action, as `VectorGame.rollout` takes it, that reads
of the record `s` only what `player` may see. Its agent makes such records out of observations and runs the same policy
on them, so that both faces are one and the observation is proof that the policy sees no more.
"""

import functools

import numpy as np
from numba import config, njit

from flinchenv.core.kernel import kernel, names_held
from flinchenv.core.params import kernel_params

from .agent import DeterministicAgent

NO_DRAW = np.uint64(0)


class PolicyAgent(DeterministicAgent):
    """The agent of a compiled policy that does not roll dice.

    Args:
        setup: the game and its rules.
    """

    policy = None  # policy(s, params, seats, player, mask, draw) -> action

    def __init__(self, setup):
        self.setup = setup

    def records(self, observation, view):
        """GAME records (N,) that hold what int8 (N, D) observations show, seats counted from the observer."""
        raise NotImplementedError

    def choose(self, observation, action_mask, view):
        """What the policy chooses in each row; see `DeterministicAgent.choose`."""
        games = self.records(observation, view)
        return self.choose_in(games, np.arange(len(games)), np.zeros(len(games), np.int64), action_mask)

    def choose_in(self, games, rows, seats, action_mask):
        """What the policy chooses, int64 (K,), in seats (K,) of some rows (K,) of true GAME records, masks (K, A).

        As in `VectorGame.rollout`; for whoever holds the records anyway, and much faster than by `SeatView`s.
        """
        mask = np.ascontiguousarray(action_mask, np.int8)
        players = np.zeros(self.setup.num_players, np.int64)
        actions = np.zeros(len(rows), np.int64)
        chooser(type(self).policy)(games, kernel_params(self.setup.rules), players, rows, seats, mask, actions)
        return actions


def bot_kernel(py_func):
    """Compile a function of the bots that Python calls, kept on the disk if all that it holds is the package's own.

    A user's policy is compiled in every process: the cache would not notice an edit of what it calls in other folders.
    """
    if config.DISABLE_JIT or _is_own(names_held(py_func)):
        return kernel(py_func)
    return njit(nogil=True, _nrt=False, error_model="numpy")(py_func)


def _is_own(names):
    """Whether a function and the compiled ones in its closure belong to the package; `names` as in `names_held`."""
    name, *held = names
    return name.startswith("flinchenv.") and all(_is_own(inner) for inner in held if isinstance(inner, tuple))


@functools.cache
def chooser(policy):
    """A compiled loop that asks the policy for a seat in each of `rows`; `players` is an array, for any number."""

    def choose(games, rules, players, rows, seats, mask, actions):
        for i in range(len(rows)):
            actions[i] = policy(games[rows[i]], rules[0], players, seats[i], mask[i], NO_DRAW)

    return bot_kernel(choose)


def field_reader(setup, observation):
    """A function field(name) -> int64 (N, *its shape) that reads one field of int8 (N, D) observations."""

    def field(name):
        f = setup.layout[name]
        return observation[:, f.entries].reshape(len(observation), *f.shape).astype(np.int64)

    return field
