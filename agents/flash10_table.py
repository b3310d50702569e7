"""What the rule bots of Flash 10 share: the record as a seat sees it, scratch space for kernels, one agent class.

A bot is a compiled policy(s, params, seats, player, mask, draw) -> action, as `VectorGame.rollout` takes it, that reads
of the record `s` only what `player` may see. Its agent makes such records out of observations and runs the same policy
on them, so that both faces are one and the observation is proof that the policy sees no more.
"""

import functools

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from flinchenv.core.kernel import helper
from flinchenv.core.params import refuse
from flinchenv.core.spec import RUNNING
from flinchenv.flash10.observe import seen_numbers
from flinchenv.flash10.rows import NONE
from flinchenv.flash10.rules import MAX_NUMBERS, MAX_ROW

from .agent import ProbabilisticAgent, check_mask

WORDS = np.arange(MAX_NUMBERS) // 64  # where `s.seen` keeps each number
NO_DRAW = np.uint64(0)
BITS = np.uint64(1) << (np.arange(MAX_NUMBERS) % 64).astype(np.uint64)


def _scratch(size, dtype):
    """An array that lives as long as the kernel's call: kernels cannot allocate. Not cleared."""
    return np.empty(size, dtype)


def _compiled_scratch(typingctx, size, dtype):
    array_type = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, sig, args):
        item = context.get_data_type(dtype.dtype)
        count = ir.IntType(64)(size.literal_value)
        stride = context.get_constant(types.intp, context.get_abi_sizeof(item))
        array = context.make_array(array_type)(context, builder)
        array.data = cgutils.alloca_once(builder, item, size=count)
        array.shape = cgutils.pack_array(builder, [count])
        array.strides = cgutils.pack_array(builder, [stride])
        array.itemsize = stride
        array.nitems = count
        return array._getvalue()

    return array_type(size, dtype), codegen


scratch = _scratch if config.DISABLE_JIT else intrinsic(prefer_literal=True)(_compiled_scratch)


@helper
def copy_row(s, p, row):
    """Write a seat's row into `row`, int64 (10,); it is returned."""
    for i in range(MAX_ROW):
        row[i] = s.row[p, i]
    return row


class PolicyAgent(ProbabilisticAgent):
    """The agent of a compiled policy that does not roll dice.

    Args:
        setup: the game and its rules.
    """

    policy = None  # policy(s, params, seats, player, mask, draw) -> action
    uses_seen = False  # whether the policy reads `s.seen`

    def __init__(self, setup):
        self.setup = setup
        self.needs_view = self.uses_seen and not setup.rules.obs_seen

    def act(self, observation, action_mask, rng=None, view=None):
        """What the policy chooses in each row; `rng` is not asked. See `Agent.act`."""
        check_mask(action_mask)
        games = records(self.setup, observation, view if self.needs_view else None, self.needs_view)
        actions = np.zeros(len(games), np.int64)
        mask = np.ascontiguousarray(action_mask, np.int8)
        chooser(type(self).policy)(games, self.setup.params, self.setup.seats, mask, actions)
        return actions

    def probs(self, observation, action_mask, view=None):
        """1 for what `act` chooses, 0 for the rest."""
        return np.eye(self.setup.num_actions)[self.act(observation, action_mask, view=view)]


def bot_kernel(py_func):
    """Compile a function of the bots that Python calls.

    Not kept on the disk: the cache would not notice an edit of what it calls in other files outside the package.
    """
    return py_func if config.DISABLE_JIT else njit(nogil=True, _nrt=False, error_model="numpy")(py_func)


@functools.cache
def chooser(policy):
    """A compiled loop that asks the policy in every row for seat 0."""

    def choose(games, rules, seats, mask, actions):
        for i in range(len(games)):
            actions[i] = policy(games[i], rules[0], seats, 0, mask[i], NO_DRAW)

    return bot_kernel(choose)


def records(setup, observation, views=None, need_views=False):
    """GAME records (N,) that hold what int8 (N, D) observations show, seats counted from the observer; the rest is 0.

    Args:
        views: one `SeatView` a row, for the numbers seen where the rules do not show them.
        need_views: refuse to do without.
    """
    observation = np.asarray(observation)
    rules, n, rows = setup.rules, setup.num_players, len(observation)
    if need_views and views is None:
        refuse("view", None, "one SeatView a row, for an agent that remembers cards where obs_seen is False")

    def field(name):
        f = setup.layout[name]
        return observation[:, f.entries].reshape(rows, *f.shape).astype(np.int64)

    def seats_set(name):
        return field(name) @ (1 << np.arange(n))

    games = setup.new_games(rows)
    games["end_reason"] = RUNNING
    games["phase"] = field("phase").argmax(1)
    games["left"], games["tick"] = field("middle"), field("tick")
    games["ready_at"][:, :n] = games["tick"][:, None] + np.maximum(field("ready_in"), field("cooling"))
    games["holding"] = seats_set("holding")
    games["checked"] = field("own_check")
    games["held"] = NONE
    games["held"][:, 0] = np.where(field("holding")[:, 0], field("held"), NONE)
    row = field("row")
    games["row"][:, : row.shape[1]] = row
    shown = np.concatenate([field("row_thunder"), field("row_flash")], 2)
    games["marks"][:, : row.shape[1]] = shown @ (1 << np.arange(2 * MAX_ROW))
    if rules.obs_seen:
        seen = np.zeros((rows, MAX_NUMBERS), bool)
        seen[:, : rules.numbers] = field("seen")
        for word in range(2):
            games["seen"][:, word] = (seen * BITS)[:, word == WORDS].sum(1)
    elif views is not None:
        for i, view in enumerate(views):
            seen = np.isin(np.arange(MAX_NUMBERS), list(seen_numbers(view.information_state())))
            games["seen"][i] = [(seen * BITS)[word == WORDS].sum() for word in range(2)]
    return games
