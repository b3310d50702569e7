"""An update's decisions as sequences, for networks that remember: each seat's own in each game, in their order.

Truncated back-propagation through time: a sequence ends with its game or with the rollout, and one that goes on from
the rollout before starts from what the seat remembered then. Without a memory every decision is a sequence.
"""

from typing import NamedTuple

import numpy as np
import torch

from flinchenv.core.params import refuse


class Part(NamedTuple):
    """The decisions of some sequences, all the first ones, then all the second ones and so on, as torch packs them.

    Attributes:
        rows: int64 (B,), their numbers in the `Batch`, in each step those of the longest sequences first.
        sizes: int64 (L,), how many sequences have a first decision, a second one and so on.
        memory: float32 (S, M), what is remembered before the first.
    """

    rows: torch.Tensor
    sizes: torch.Tensor
    memory: torch.Tensor


class Sequences(NamedTuple):
    """All sequences of a `Batch`.

    Attributes:
        rows: int64 (B,), their decisions' numbers, one sequence after the other.
        lengths: int64 (S,).
        memory: float32 (S, M), what is remembered before the first decision.
    """

    rows: torch.Tensor
    lengths: torch.Tensor
    memory: torch.Tensor

    def parts(self, count):
        """A `Part` for each minibatch of an epoch: whole sequences, shuffled; as many in every process.

        Raises:
            RulesError: fewer sequences than minibatches.
        """
        if len(self.lengths) < count:
            refuse("minibatches", count, f"1..{len(self.lengths)}, what a rollout had to learn from; raise num_envs")
        return [self._part(some) for some in torch.randperm(len(self.lengths)).tensor_split(count)]

    def _part(self, some):
        """The `Part` of the sequences of these numbers."""
        lengths, order = self.lengths[some].sort(descending=True, stable=True)
        some = some[order]
        step = torch.arange(lengths[0])
        sizes = len(some) - torch.searchsorted(lengths.flip(0), step, right=True)
        place = torch.arange(lengths.sum()) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
        first = (self.lengths.cumsum(0) - self.lengths)[some]
        return Part(self.rows[first[place] + step.repeat_interleave(sizes)], sizes, self.memory[some])


def sequences(chosen, seats, ended, memory):
    """The `Sequences` of a rollout of T steps of N games.

    Args:
        chosen: bool (T, N, K), whether it was a decision to learn from. seats: (T, N, K), who is asked.
        ended: bool (T, N). memory: float32 (N, P, M), what every seat remembered before the first step.
    """
    t, row, k = np.nonzero(chosen)
    if memory.shape[2] == 0:
        return Sequences(torch.arange(len(t)), torch.ones(len(t), dtype=torch.int64), torch.zeros(len(t), 0))
    seat, game = seats[t, row, k], (ended.cumsum(0) - ended)[t, row]
    key = np.ravel_multi_index((row, seat, game), (*memory.shape[:2], len(ended) + 1))
    rows = np.argsort(key, kind="stable")  # in each seat and game by time
    first = np.flatnonzero(np.diff(key[rows], prepend=-1))
    start = rows[first]
    before = np.where(game[start, None] == 0, memory[row[start], seat[start]], 0)
    lengths = np.diff(first, append=len(rows))
    return Sequences(*map(torch.from_numpy, (rows, lengths, before.astype(np.float32))))
