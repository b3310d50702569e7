"""The two faces of Flinch's bots: compiled policies, and agents that run them on what an observation shows.

A bot is a compiled policy(s, params, seats, player, mask, draw) -> action, as `VectorGame.rollout` takes it, that reads
of the record `s` only what `player` may see. Its agent makes such records out of observations and runs the same policy
on them, so that both faces are one and the observation is proof that the policy sees no more.
"""

import functools

import numpy as np
from numba import config, njit

from flinchenv.core.spec import RUNNING
from flinchenv.flinch.cards import EMPTY, NONE, RANKS
from flinchenv.flinch.center import find_playable

from .agent import ProbabilisticAgent, check_mask

NO_DRAW = np.uint64(0)
BY_RANK = 1 << np.arange(RANKS)


def bot_kernel(py_func):
    """Compile a function of the bots that Python calls.

    Not kept on the disk: the cache would not notice an edit of what it calls in other files outside the package.
    """
    return py_func if config.DISABLE_JIT else njit(nogil=True, _nrt=False, error_model="numpy")(py_func)


@functools.cache
def chooser(policy):
    """A compiled loop that asks the policy in every row for seat 0; `seats` is an array, for any number of players."""

    def choose(games, rules, seats, mask, actions):
        for i in range(len(games)):
            find_playable(games[i], rules[0])
            actions[i] = policy(games[i], rules[0], seats, 0, mask[i], NO_DRAW)

    return bot_kernel(choose)


class FlinchAgent(ProbabilisticAgent):
    """The agent of a compiled policy that does not roll dice.

    Args:
        setup: the game and its rules.
    """

    policy = None  # policy(s, params, seats, player, mask, draw) -> action

    def __init__(self, setup):
        self.setup = setup

    def act(self, observation, action_mask, rng=None, view=None):
        """What the policy chooses in each row; `rng` and `view` are not asked. See `Agent.act`."""
        check_mask(action_mask)
        games = records(self.setup, observation)
        actions = np.zeros(len(games), np.int64)
        mask = np.ascontiguousarray(action_mask, np.int8)
        seats = np.zeros(self.setup.num_players, np.int64)
        chooser(type(self).policy)(games, self.setup.params, seats, mask, actions)
        return actions

    def probs(self, observation, action_mask, view=None):
        """1 for what `act` chooses, 0 for the rest."""
        return np.eye(self.setup.num_actions)[self.act(observation, action_mask)]


def records(setup, observation):
    """GAME records (N,) that hold what int8 (N, D) observations show, seats counted from the observer; the rest is 0.

    Which ranks fit the centre is left to `find_playable`.
    """
    observation = np.asarray(observation)
    rules, n, rows = setup.rules, setup.num_players, len(observation)

    def field(name):
        f = setup.layout[name]
        return observation[:, f.entries].reshape(rows, *f.shape).astype(np.int64)

    def rank_of(name, nothing):
        shown = field(name)
        return np.where(shown.any(-1), shown.argmax(-1), nothing)

    games = setup.new_games(rows)
    games["end_reason"] = RUNNING
    games["phase"] = field("phase").argmax(1)
    games["turn"] = field("turn").argmax(1)
    games["opened"], games["forced"], games["ending"] = field("opened"), field("forced"), field("window_at_end")
    games["left"] = 100 * field("stack_hundreds") + field("stack_rest")
    games["removed_piles"] = field("removed")
    if rules.center == "eights":
        games["eights"] = field("eights")
    else:
        games["ups"] = field("ups")
        games["up_tops"] = (games["ups"] > 0) @ BY_RANK
    if rules.center == "both_ends":
        games["downs"] = field("downs")
        games["down_tops"] = (games["downs"] > 0) @ BY_RANK
    games["hand"][:, 0] = field("hand")
    games["hand_set"][:, 0] = (games["hand"][:, 0] > 0) @ BY_RANK
    games["hand_cards"][:, :n] = field("hand_cards")
    games["stock_left"][:, :n] = field("stock_left")
    games["stock_rank"][:, :n] = rank_of("stock_top", EMPTY)
    games["top"][:, :n] = rank_of("reserve_top", EMPTY)
    games["pile_cards"][:, :n] = field("reserve_cards")
    games["due"] = NONE
    if rules.can_expose:
        games["exposed"][:, :n] = field("exposed")
        games["due"][:, :n] = rank_of("due", NONE)
    return games
