"""What the bots of Flash 10 share: the record as a seat sees it, and scratch space for kernels."""

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from flinchenv.core.kernel import helper
from flinchenv.core.spec import RUNNING
from flinchenv.flash10.observe import seen_numbers
from flinchenv.flash10.rows import NONE
from flinchenv.flash10.rules import MAX_ROW

from .policy import PolicyAgent, field_reader

SEEN_BITS = 128  # of `s.seen`, two words


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


class Flash10Agent(PolicyAgent):
    """The agent of a policy of Flash 10."""

    uses_seen = False  # whether the policy reads `s.seen`

    def __init__(self, setup):
        super().__init__(setup)
        self.needs_view = self.uses_seen and not setup.rules.obs_seen

    def records(self, observation, view):
        """See `PolicyAgent.records`."""
        return records(self.setup, observation, view)


def records(setup, observation, views=None):
    """GAME records (N,) that hold what int8 (N, D) observations show, seats counted from the observer; the rest is 0.

    Args:
        views: one `SeatView` a row, for the numbers seen where the rules do not show them; without, none are.
    """
    rules, n, rows = setup.rules, setup.num_players, len(observation)
    field = field_reader(setup, observation)

    def seats_set(name):
        return field(name) @ (1 << np.arange(n))

    games = setup.new_games(rows)
    games["end_reason"] = RUNNING
    games["phase"] = field("phase").argmax(1)
    games["left"] = field("middle")
    games["scores"][:, :n] = field("points") - field("debt")
    games["tick"] = field("tick")
    games["ready_at"][:, :n] = games["tick"][:, None] + np.maximum(field("ready_in"), field("cooling"))
    games["holding"] = seats_set("holding")
    games["checked"] = field("own_check")
    games["held"] = NONE
    games["held"][:, 0] = np.where(field("holding")[:, 0], field("held"), NONE)
    row = field("row")
    games["row"][:, : row.shape[1]] = row
    marks = np.concatenate([field("row_thunder"), field("row_flash")], 2)
    games["marks"][:, : row.shape[1]] = marks @ (1 << np.arange(2 * MAX_ROW))
    seen = np.zeros((rows, SEEN_BITS), bool)
    if rules.obs_seen:
        seen[:, : rules.numbers] = field("seen")
    elif views is not None:
        for i, view in enumerate(views):
            seen[i, list(seen_numbers(view.information_state()))] = True
    games["seen"] = np.packbits(seen, axis=1, bitorder="little").view("<u8")
    return games
