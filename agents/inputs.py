"""What a network is fed: the observation scaled to 0..1, and, if wished, its counts as thermometers.

A plain first layer sees a count as one number and learns slowly what depends on its size; thermometers make it a
piecewise linear function of each count from the start.
"""

import numpy as np


class Inputs:
    """The inputs that a network makes of observations.

    Args:
        high: (D,) the largest value of each entry.
        bins: entries of the thermometer of each count, that is of each entry above 1; 0 for none.
        bin_width: what such an entry stands for; 0 shares the whole range out among them.

    Attributes:
        size: how many inputs there are.
    """

    def __init__(self, high, bins, bin_width=0):
        self.high = np.asarray(high, np.float32)
        self.counts = np.flatnonzero(self.high > 1) if bins else np.zeros(0, np.int64)
        widths = np.full_like(self.high, bin_width) if bin_width else self.high / max(1, bins)
        self.widths = widths[self.counts, None]
        self.steps = np.arange(bins, dtype=np.float32)
        self.size = len(self.high) + bins * len(self.counts)

    def __call__(self, observation):
        """(N, D) -> float32 (N, size)."""
        parts = scaled(np.asarray(observation, np.float32), self.high, self.counts, self.widths, self.steps)
        return np.concatenate([part.reshape(len(part), -1) for part in parts], 1)


def scaled(observation, high, counts, widths, steps):
    """[(N, D), (N, C, B)], or the first alone without steps; numpy arrays or torch tensors alike."""
    x = observation / high
    return [x, (observation[:, counts, None] / widths - steps).clip(0, 1)] if len(steps) else [x]
