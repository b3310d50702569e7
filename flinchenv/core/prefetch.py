"""A hint to the processor about what will be needed next."""

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 64  # bytes that a cache holds together
MOST_LINES = 20  # of a record: what rounds touch stands at its front (`core.spec.game_dtype`)
WRITE, KEEP, DATA = 1, 3, 1  # llvm.prefetch: for a store, in all caches, no code


def prefetch(games, i):
    """Ask for the front of the record games[i], a row that may lie beyond the end: nothing waits, nothing fails."""


if not config.DISABLE_JIT:

    @intrinsic
    def prefetch(typingctx, games, i):
        """As above."""

        def codegen(context, builder, sig, args):
            kind = sig.args[0]
            data = context.make_array(kind)(context, builder, args[0]).data
            byte, int32, int64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
            row = builder.gep(builder.bitcast(data, byte), [builder.mul(args[1], int64(kind.dtype.size))])
            ask_kind = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
            ask = cgutils.get_or_insert_function(builder.module, ask_kind, "llvm.prefetch.p0")
            for line in range(min(MOST_LINES, -(-kind.dtype.size // LINE))):
                place = builder.gep(row, [int64(LINE * line)])
                builder.call(ask, [place, int32(WRITE), int32(KEEP), int32(DATA)])
            return context.get_dummy_value()

        return types.void(games, types.int64), codegen
