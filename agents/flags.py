"""Helpers that write what networks are told of a game, entry by entry: flags of int8 rows."""

from flinchenv.core.kernel import helper


@helper
def put_steps(out, at, count, width):
    """A thermometer of `width` entries."""
    for k in range(width):
        out[at + k] = count > k
    return at + width


@helper
def put_one(out, at, count, width):
    """One-hot of 1..width; what lies outside is none."""
    for k in range(width):
        out[at + k] = count == k + 1
    return at + width


@helper
def sign(x):
    return (x > 0) - (x < 0)
