"""Counter-based random numbers: a game's own stream, held in its record, and per-row streams for agents.

The generator is splitmix64 (Steele, Lea, Flood 2014): a 64-bit counter and a mixing function. A stream is started
from words, (seed, episode) for a game, so that a game depends on them alone and never on batch size, row or threads.
"""

import numpy as np

from .kernel import helper

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
HALF = np.uint64(32)  # the shift to a draw's upper half
LOW = np.uint64(0xFFFFFFFF)  # the mask of its lower half

MAX_SEED = 2**63 - 1
GAME, AGENT, REPAIR, BOT, REDRAW = (np.uint64(k) for k in range(1, 6))  # what a stream is for


@helper
def mix(x):
    """splitmix64's output function on a uint64; also a good hash step."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@helper
def stream(seed, episode, purpose):
    """The first counter of the stream of (seed, episode) for a purpose; all uint64."""
    return mix(mix(mix(seed + GAMMA) + episode * GAMMA) ^ purpose)


@helper
def scale_down(half, n):
    """A whole number in 0..n-1 from 32 random bits in a uint64 (bias under n / 2**32)."""
    return np.int64((half * np.uint64(n)) >> HALF)


@helper
def below(counter, n):
    """A whole number in 0..n-1 from an already advanced counter."""
    return scale_down(mix(counter) >> HALF, n)


@helper
def random_below(s, n):
    """A whole number in 0..n-1 from the record's own generator, which moves on."""
    s.rng = s.rng + GAMMA
    return below(s.rng, n)


class RowStreams:
    """One independent stream a row, with the `random(size)` of numpy's Generator.

    Row i's numbers depend on its key and on how often row i was asked, never on the other rows, so a batch of agents
    plays each row as it would play it alone.

    Args:
        seeds: (N,) seeds of the rows.
        episodes: (N,) episode numbers.
        purpose: which stream of that episode.
    """

    def __init__(self, seeds, episodes, purpose=AGENT):
        with np.errstate(over="ignore"):
            seeds = np.asarray(seeds).astype(np.uint64)
            episodes = np.asarray(episodes).astype(np.uint64)
            self.counters = _start(seeds, episodes, purpose)

    def __getitem__(self, rows):
        """The streams of some rows; drawing from them moves those rows on."""
        return _SomeRows(self, rows)

    def restart(self, rows, seeds, episodes, purpose=AGENT):
        """Begin the streams of new episodes in some rows."""
        self.counters[rows] = RowStreams(seeds, episodes, purpose).counters

    def random(self, size=None):
        """Uniform float64 in [0, 1): one a row for `size` N or None, k a row for `(N, k)`."""
        return self._draw(slice(None), size)

    def _draw(self, rows, size):
        start = self.counters[rows]
        k = size[1] if isinstance(size, tuple) and len(size) > 1 else 1
        with np.errstate(over="ignore"):
            counters = start[:, None] + GAMMA * np.arange(1, k + 1, dtype=np.uint64)
            self.counters[rows] = counters[:, -1]
            values = (_mix(counters) >> _S11) * 2.0**-53
        return values if isinstance(size, tuple) and len(size) > 1 else values[:, 0]


class _SomeRows:
    def __init__(self, streams, rows):
        self._streams, self._rows = streams, rows

    def random(self, size=None):
        return self._streams._draw(self._rows, size)


# The same functions on plain numpy, whatever the JIT switch.
_mix = getattr(mix, "py_func", mix)


def _start(seeds, episodes, purpose):
    return _mix(_mix(_mix(seeds + GAMMA) + episodes * GAMMA) ^ purpose)
