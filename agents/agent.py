"""What an agent is: a function from observations and masks to actions, batched, that may be asked for its probabilities."""

from typing import Protocol

import numpy as np


class Agent(Protocol):
    """A player of one game under one set of rules.

    Attributes:
        name: how tables call it.
        needs_view: whether `act` wants `view`, one `SeatView` a row, beside the observations.
    """

    name: str
    needs_view: bool

    def act(self, observation, action_mask, rng, view=None):
        """Choose one legal action a row.

        Args:
            observation: int8 (N, D).
            action_mask: int8 (N, A), at least one 1 in each row.
            rng: anything with `random(size)`, uniform in [0, 1); row i's numbers should decide row i alone.
            view: None, or a list of N `SeatView`.

        Returns:
            int64 (N,).
        """

    def probs(self, observation, action_mask, view=None):
        """The probabilities that `act` draws from, float64 (N, A), 0 where the mask is 0."""


class ProbabilisticAgent:
    """An agent that is defined by its `probs`; `act` draws from them with one number a row."""

    name = "agent"
    needs_view = False

    def act(self, observation, action_mask, rng, view=None):
        """Draw from `probs`; see `Agent.act`."""
        return sample(self.probs(observation, action_mask, view), rng)


def sample(probs, rng):
    """One index a row, drawn from its probabilities by inversion with one number of `rng` a row.

    Raises:
        ValueError: a row without a positive probability.
    """
    total = probs.cumsum(1)
    if not (total[:, -1] > 0).all():
        row = int(np.flatnonzero(~(total[:, -1] > 0))[0])
        raise ValueError(f"row {row} has no legal action: its action_mask is all zero")
    draw = rng.random(len(probs)) * total[:, -1]
    return np.minimum((total <= draw[:, None]).sum(1), last_positive(probs))


def last_positive(probs):
    """The last index with a positive probability in each row."""
    return probs.shape[1] - 1 - (probs[:, ::-1] > 0).argmax(1)
