"""A hint to the processor about what will be needed next."""

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from .kernel import helper

LINE = 64  # bytes that a cache holds together
WRITE, KEEP, DATA = 1, 3, 1  # llvm.prefetch: for a store, in all caches, no code


def prefetch_line(array, i, at):
    """Ask for what lies `at` bytes behind the front of array[i], beyond the end perhaps: nothing waits or fails."""


if not config.DISABLE_JIT:

    @intrinsic
    def prefetch_line(typingctx, array, i, at):
        """As above."""

        def codegen(context, builder, sig, args):
            held = context.make_array(sig.args[0])(context, builder, args[0])
            byte, int32 = ir.IntType(8).as_pointer(), ir.IntType(32)
            size = cgutils.unpack_tuple(builder, held.strides)[0]
            place = builder.add(builder.mul(args[1], size), args[2])
            ask_kind = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
            ask = cgutils.get_or_insert_function(builder.module, ask_kind, "llvm.prefetch.p0")
            place = builder.gep(builder.bitcast(held.data, byte), [place])
            builder.call(ask, [place, int32(WRITE), int32(KEEP), int32(DATA)])
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), codegen


@helper
def prefetch(array, i, size):
    """Ask for the first `size` bytes of array[i]."""
    for at in range(0, size, LINE):
        prefetch_line(array, i, at)
