"""A hint to the processor about what will be needed next."""

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 64  # bytes that a cache holds together
RECORD_LINES = 20  # at most: what rounds touch stands at a record's front (`core.spec.game_dtype`)
ROW_LINES = 12  # of any other array
WRITE, KEEP, DATA = 1, 3, 1  # llvm.prefetch: for a store, in all caches, no code


def prefetch(array, i):
    """Ask for the front of array[i], a row that may lie beyond the end: nothing waits, nothing fails."""


if not config.DISABLE_JIT:

    @intrinsic
    def prefetch(typingctx, array, i):
        """As above."""

        def codegen(context, builder, sig, args):
            kind = sig.args[0]
            held = context.make_array(kind)(context, builder, args[0])
            byte, int32, int64 = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
            size = cgutils.unpack_tuple(builder, held.strides)[0]
            row = builder.gep(builder.bitcast(held.data, byte), [builder.mul(args[1], size)])
            ask_kind = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
            ask = cgutils.get_or_insert_function(builder.module, ask_kind, "llvm.prefetch.p0")
            record = isinstance(kind.dtype, types.Record)
            for line in range(min(RECORD_LINES, -(-kind.dtype.size // LINE)) if record else ROW_LINES):
                place = builder.gep(row, [int64(LINE * line)])
                builder.call(ask, [place, int32(WRITE), int32(KEEP), int32(DATA)])
            return context.get_dummy_value()

        return types.void(array, types.int64), codegen
