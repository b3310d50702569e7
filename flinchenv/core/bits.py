"""Sets as bits of an int, and the helpers that write observations piece by piece.

The `put_` helpers write at entry `at` of an int8 row and return the entry after what they wrote, so an encoder reads
like its layout. Those that write many entries are generated code, because a loop over bytes costs ten times as much;
with NUMBA_BOUNDSCHECK=1 or NUMBA_DISABLE_JIT=1 they are plain loops.
"""

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from .kernel import helper, literal_helper

MOST = 127  # the largest count an int8 entry can show
WORD = 64  # bits
VECTOR = 32  # entries a store; 64 is no faster, since rows begin anywhere and such a store spans two lines

# The position of the k-th set bit of a byte b, at 8 * b + k.
_BIT_OF_BYTE = np.zeros(8 * 256, np.int8)
for _byte in range(256):
    for _k, _position in enumerate(k for k in range(8) if _byte >> k & 1):
        _BIT_OF_BYTE[8 * _byte + _k] = _position


def _put_bits(row, at, bits, width):
    """Write `width` entries (a literal, at most 64), 1 for each set bit."""
    for k in range(width):
        row[at + k] = (bits >> k) & 1
    return at + width


def _put_pairs(row, at, major, num_major, minor, num_minor):
    """Write num_major * num_minor entries (literals; at most 32 and 8): 1 where both bits of a pair are set."""
    for i in range(num_major):
        for j in range(num_minor):
            row[at + num_minor * i + j] = (major >> i) & (minor >> j) & 1
    return at + num_major * num_minor


def _put_seats(row, at, sets, first, seats, width):
    """Write every seat's set, `width` entries each (a literal), clockwise from seat `first`."""
    for k in range(len(seats)):
        for j in range(width):
            row[at + j] = (sets[(first + k) % len(seats)] >> j) & 1
        at += width
    return at


def _put_seats_onehot(row, at, values, first, seats, width):
    """As `put_seats`, for one value a seat, negative for none."""
    for k in range(len(seats)):
        for j in range(width):
            row[at + j] = values[(first + k) % len(seats)] == j
        at += width
    return at


def _put_views(rows, at, sets, seats, width):
    """As `put_seats`, into every seat's own row of `rows` (P, D), each clockwise from itself."""
    for p in range(len(seats)):
        _put_seats(rows[p], at, sets, p, seats, width)
    return at + len(seats) * width


def _put_views_count(rows, at, counts, seats):
    """Write every seat's count, clipped to 127, into every seat's row, clockwise from itself."""
    for p in range(len(seats)):
        for k in range(len(seats)):
            rows[p, at + k] = min(counts[(p + k) % len(seats)], MOST)
    return at + len(seats)


def _put_word(row, at, word, width):
    """Write `width` entries (a literal, at most 8): entry k is byte k of the word, a uint64."""
    for k in range(width):
        row[at + k] = (word >> np.uint64(8 * k)) & np.uint64(MOST)
    return at + width


def _get_word(row, at, width):
    """`width` entries (a literal, at most 8) of an int8 array as a uint64: entry k is byte k."""
    word = np.uint64(0)
    for k in range(width):
        word |= np.uint64(row[at + k]) << np.uint64(8 * k)
    return word


def _get_bits(row, at, width):
    """The set of the entries that are not 0 among `width` (a literal: 8, 16, 32 or 64) of an int8 array."""
    found = 0
    for k in range(width):
        found |= int(row[at + k] != 0) << k
    return found


def _put_run(row, at, source, start, size):
    """Copy `size` entries of an int8 array, from `start` on."""
    for k in range(size):
        row[at + k] = source[start + k]
    return at + size


def _count_bits(x):
    """How many bits of a whole number from 0 are set."""
    return int(x).bit_count()


# --- The same as generated code ---------------------------------------------------------------------------------------


def _entry(context, builder, kind, array, at):
    """A pointer to entry `at` of a one-dimensional array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _entries(builder, word, lanes):
    """A vector of `lanes` int8 entries: entry k is bit k of the word, an int64."""
    word = builder.trunc(word, ir.IntType(lanes)) if lanes < WORD else word
    flags = builder.bitcast(word, ir.VectorType(ir.IntType(1), lanes))
    return builder.zext(flags, ir.VectorType(ir.IntType(8), lanes))


def _pick(builder, entries, indices):
    """A vector of the entries at these indices."""
    picked = ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), [*indices])
    return builder.shuffle_vector(entries, ir.Constant(entries.type, ir.Undefined), picked)


def _pieces(width):
    """(start, size) of stores that cover `width` entries exactly; sizes are powers of two, the last may overlap."""
    pieces = [(start, VECTOR) for start in range(0, width - VECTOR + 1, VECTOR)]
    left = width % VECTOR
    if left:
        size = 1 << (left - 1).bit_length()  # at least `left`
        if size > width:
            size //= 2
            pieces.append((width - left, size))
        pieces.append((width - size, size))
    return pieces


def _store(builder, target, at, entries):
    start = builder.gep(target, [ir.Constant(ir.IntType(64), at)])
    builder.store(entries, builder.bitcast(start, entries.type.as_pointer()), align=1)


def _store_words(builder, target, words, width):
    """Store `width` int8 entries at the pointer: entry k is bit k of the words."""
    int64 = ir.IntType(64)
    for start, size in _pieces(width):
        number, shift = divmod(start, WORD)
        bits = builder.lshr(words[number], int64(shift)) if shift else words[number]
        if shift + size > WORD:
            bits = builder.or_(bits, builder.shl(words[number + 1], int64(WORD - shift)))
        entries = _entries(builder, bits, max(8, size))
        _store(builder, target, start, entries if size >= 8 else _pick(builder, entries, range(size)))


# The literal width stays in each signature: numba keeps one implementation a signature.


def _compiled_put_bits(typingctx, row, at, bits, width):
    def codegen(context, builder, sig, args):
        target = _entry(context, builder, row, args[0], args[1])
        _store_words(builder, target, [args[2]], width.literal_value)
        return builder.add(args[1], args[1].type(width.literal_value))

    return types.int64(row, types.int64, types.int64, width), codegen


def _compiled_put_pairs(typingctx, row, at, major, num_major, minor, num_minor):
    n, m = num_major.literal_value, num_minor.literal_value

    def codegen(context, builder, sig, args):
        majors, minors = _entries(builder, args[2], 32), _entries(builder, args[4], 8)
        target = _entry(context, builder, row, args[0], args[1])
        for start, size in _pieces(n * m):
            ids = range(start, start + size)
            pair = builder.and_(
                _pick(builder, majors, [k // m for k in ids]), _pick(builder, minors, [k % m for k in ids])
            )
            _store(builder, target, start, pair)
        return builder.add(args[1], ir.IntType(64)(n * m))

    return types.int64(row, types.int64, types.int64, num_major, types.int64, num_minor), codegen


def _load_set(context, builder, kind, array, seat, onehot):
    """A seat's set as an int64, from an array of sets or of single values."""
    int64 = ir.IntType(64)
    value = builder.load(_entry(context, builder, kind, array, seat))
    if value.type != int64:
        value = builder.sext(value, int64)
    if onehot:
        none = builder.icmp_signed("<", value, int64(0))
        value = builder.select(none, int64(0), builder.shl(int64(1), value))
    return value


def _pack(builder, sets, width):
    """The sets, `width` bits each, one after the other in words."""
    int64 = ir.IntType(64)
    words = [int64(0)] * -(-len(sets) * width // WORD)
    for k, value in enumerate(sets):
        word, shift = divmod(k * width, WORD)
        words[word] = builder.or_(words[word], builder.shl(value, int64(shift)))
        if shift + width > WORD:
            rest = builder.lshr(value, int64(WORD - shift))
            words[word + 1] = builder.or_(words[word + 1], rest)
    return words


def _compiled_put_seats(onehot):
    def put_seats(typingctx, row, at, sets, first, seats, width):
        size, n = width.literal_value, len(seats)

        def codegen(context, builder, sig, args):
            int64 = ir.IntType(64)
            values = []
            for k in range(n):
                seat = builder.add(args[3], int64(k))
                over = builder.icmp_signed(">=", seat, int64(n))
                seat = builder.select(over, builder.sub(seat, int64(n)), seat)
                values.append(_load_set(context, builder, sets, args[2], seat, onehot))
            target = _entry(context, builder, row, args[0], args[1])
            _store_words(builder, target, _pack(builder, values, size), n * size)
            return builder.add(args[1], int64(n * size))

        return types.int64(row, types.int64, sets, types.int64, seats, width), codegen

    return put_seats


def _compiled_put_views(typingctx, rows, at, sets, seats, width):
    size, n = width.literal_value, len(seats)

    def codegen(context, builder, sig, args):
        int64 = ir.IntType(64)
        array = context.make_array(rows)(context, builder, args[0])
        row_size = builder.extract_value(array.shape, 1)
        values = [_load_set(context, builder, sets, args[2], int64(p), onehot=False) for p in range(n)]
        for p in range(n):
            start = builder.add(builder.mul(row_size, int64(p)), args[1])
            words = _pack(builder, values[p:] + values[:p], size)
            _store_words(builder, builder.gep(array.data, [start]), words, n * size)
        return builder.add(args[1], int64(n * size))

    return types.int64(rows, types.int64, sets, seats, width), codegen


def _compiled_put_views_count(typingctx, rows, at, counts, seats):
    n = len(seats)

    def codegen(context, builder, sig, args):
        int64 = ir.IntType(64)
        array = context.make_array(rows)(context, builder, args[0])
        row_size = builder.extract_value(array.shape, 1)
        clipped = []
        for p in range(n):
            count = builder.load(_entry(context, builder, counts, args[2], int64(p)))
            above = builder.icmp_signed(">", count, count.type(MOST))
            count = builder.select(above, count.type(MOST), count)
            clipped.append(builder.trunc(count, ir.IntType(8)))
        for p in range(n):
            start = builder.add(builder.mul(row_size, int64(p)), args[1])
            for k in range(n):
                entry = builder.gep(array.data, [builder.add(start, int64(k))])
                builder.store(clipped[(p + k) % n], entry)
        return builder.add(args[1], int64(n))

    return types.int64(rows, types.int64, counts, seats), codegen


def _compiled_put_word(typingctx, row, at, word, width):
    def codegen(context, builder, sig, args):
        target = _entry(context, builder, row, args[0], args[1])
        size = ir.IntType(8 * width.literal_value)
        entries = args[2] if size.width == WORD else builder.trunc(args[2], size)
        builder.store(entries, builder.bitcast(target, size.as_pointer()), align=1)
        return builder.add(args[1], args[1].type(width.literal_value))

    return types.int64(row, types.int64, types.uint64, width), codegen


def _compiled_get_word(typingctx, row, at, width):
    def codegen(context, builder, sig, args):
        size = ir.IntType(8 * width.literal_value)
        start = builder.bitcast(_entry(context, builder, row, args[0], args[1]), size.as_pointer())
        word = builder.load(start, align=1)
        return word if size.width == WORD else builder.zext(word, ir.IntType(WORD))

    return types.uint64(row, types.int64, width), codegen


def _compiled_get_bits(typingctx, row, at, width):
    def codegen(context, builder, sig, args):
        lanes = width.literal_value
        kind = ir.VectorType(ir.IntType(8), lanes)
        start = builder.bitcast(_entry(context, builder, row, args[0], args[1]), kind.as_pointer())
        flags = builder.icmp_unsigned("!=", builder.load(start, align=1), ir.Constant(kind, None))
        bits = builder.bitcast(flags, ir.IntType(lanes))
        return bits if lanes == WORD else builder.zext(bits, ir.IntType(WORD))

    return types.int64(row, types.int64, width), codegen


def _compiled_put_run(typingctx, row, at, source, start, size):
    def codegen(context, builder, sig, args):
        target = _entry(context, builder, row, args[0], args[1])
        cgutils.raw_memcpy(builder, target, _entry(context, builder, source, args[2], args[3]), args[4], 1)
        return builder.add(args[1], args[4])

    return types.int64(row, types.int64, source, types.int64, types.int64), codegen


def _compiled_count_bits(typingctx, x):
    def codegen(context, builder, sig, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


if config.DISABLE_JIT:
    put_bits, put_pairs, count_bits = _put_bits, _put_pairs, _count_bits
    put_seats, put_seats_onehot = _put_seats, _put_seats_onehot
    put_views, put_views_count = _put_views, _put_views_count
    put_word, get_word, get_bits, put_run = _put_word, _get_word, _get_bits, _put_run
else:
    count_bits = intrinsic(_compiled_count_bits)
    if config.BOUNDSCHECK:
        put_bits, put_pairs = helper(_put_bits), helper(_put_pairs)
        put_seats, put_seats_onehot = helper(_put_seats), helper(_put_seats_onehot)
        _put_seats, _put_seats_onehot = put_seats, put_seats_onehot
        put_views, put_views_count = helper(_put_views), helper(_put_views_count)
        put_word, get_word, put_run = helper(_put_word), helper(_get_word), helper(_put_run)
        get_bits = helper(_get_bits)
    else:
        literal = intrinsic(prefer_literal=True)
        put_bits = literal(_compiled_put_bits)
        put_pairs = literal(_compiled_put_pairs)
        put_seats = literal(_compiled_put_seats(onehot=False))
        put_seats_onehot = literal(_compiled_put_seats(onehot=True))
        put_views = literal(_compiled_put_views)
        put_views_count = literal(_compiled_put_views_count)
        put_word, get_word = literal(_compiled_put_word), literal(_compiled_get_word)
        get_bits = literal(_compiled_get_bits)
        put_run = intrinsic(_compiled_put_run)


# --- Built on them ----------------------------------------------------------------------------------------------------


@helper
def nth_bit_anywhere(x, k):
    """As `nth_bit`, on any processor."""
    byte = 0 + (k >= count_bits(x & 0xFF)) + (k >= count_bits(x & 0xFFFF)) + (k >= count_bits(x & 0xFFFFFF))
    k -= count_bits(x & ((1 << 8 * byte) - 1))
    return 8 * byte + _BIT_OF_BYTE[(x >> 8 * byte & 0xFF) * 8 + k]


def _deposits_bits_fast():
    """Whether the processor numba compiles for has a quick PDEP; AMD's before Zen 3 have a slow one."""
    if config.DISABLE_JIT or config.CPU_NAME or config.CPU_FEATURES:
        return False
    slow = ("bdver4", "znver1", "znver2")
    return get_host_cpu_features().get("bmi2", False) and get_host_cpu_name() not in slow


if _deposits_bits_fast():

    @intrinsic
    def nth_bit(typingctx, x, k):
        """The position of the k-th set bit (from 0) among the lower 32; k must be less than `count_bits(x)`."""

        def codegen(context, builder, sig, args):
            int32 = ir.IntType(32)
            x, k = (builder.trunc(arg, int32) for arg in args)
            kind = ir.FunctionType(int32, [int32, int32])
            deposit = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.bmi.pdep.32")
            bit = builder.call(deposit, [builder.shl(int32(1), k), x])
            return builder.zext(builder.cttz(bit, ir.IntType(1)(0)), ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

else:
    nth_bit = nth_bit_anywhere


@helper
def nth_bit_of_byte(x, k):
    """As `nth_bit`, for sets of the lower 8 bits."""
    return _BIT_OF_BYTE[x * 8 + k]


@helper
def one_bit(value):
    """The set of one value, or the empty set for a negative one."""
    return (1 << value) if value >= 0 else 0


@literal_helper
def put_onehot(row, at, value, width):
    """Write `width` entries, 1 at `value`, all zero for a negative value."""
    return put_bits(row, at, one_bit(value), width)


@helper
def put_count(row, at, value):
    """Write one entry, a count clipped to 127."""
    row[at] = clipped(value)
    return at + 1


@helper
def put_seats_count(row, at, values, first, seats):
    """Write every seat's count, clipped to 127, clockwise from seat `first`."""
    for k in range(len(seats)):
        put_count(row, at + k, values[(first + k) % len(seats)])
    return at + len(seats)


@helper
def natural(x):
    """A whole number of 32 bits known not to be negative, so that no index is tested for counting from the end."""
    return np.int64(np.uint32(x))


@helper
def first_bit(x):
    """The least member of a set that is not empty."""
    return count_bits((x & -x) - 1)


@helper
def last_bit(x):
    """The greatest member of a set of numbers below 32 that is not empty."""
    for k in (1, 2, 4, 8, 16):
        x |= x >> k
    return count_bits(x) - 1


@helper
def has(x, k):
    """Whether k is in a set, 1 or 0."""
    return np.int64(x) >> k & 1


@helper
def with_bit(x, k, value):
    """The set with k in it where `value` is 1, without k where it is 0."""
    return x & ~(1 << k) | value << k


@helper
def where_equal(values, value, seats):
    """The set of the seats whose entry is `value`."""
    found = 0
    for p in range(len(seats)):
        found |= (values[p] == value) << p
    return found


@helper
def where_less(values, bound, seats):
    """The set of the seats whose entry is less than `bound`."""
    found = 0
    for p in range(len(seats)):
        found |= (values[p] < bound) << p
    return found


@helper
def as_byte(value, place):
    """A count in 0..127 as byte `place` of a uint64."""
    return np.uint64(value) << np.uint64(8 * place)


@helper
def clipped(value):
    """A count clipped to 0..127."""
    value = value if value > 0 else 0  # numba compiles this faster than `max`
    return value if value < MOST else MOST
