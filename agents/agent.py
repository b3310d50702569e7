"""What an agent is: a batched function from observations and masks to actions, which also tells its probabilities."""

from typing import Protocol

import numpy as np

from flinchenv.core.params import refuse


class Agent(Protocol):
    """A player of one game under one set of rules.

    Attributes:
        name: how tables call it.
        needs_view: whether `act` wants `view`, one `SeatView` a row, beside the observations.
        memory: how many units it remembers from one decision of a seat to the next; without it or at 0, none, and
            `act` need not know the argument.
    """

    name: str
    needs_view: bool
    memory: int

    def act(self, observation, action_mask, rng, view=None, memory=None):
        """Choose one legal action a row.

        Args:
            observation: int8 (N, D).
            action_mask: int8 (N, A), at least one 1 in each row.
            rng: anything with `random(size)`, uniform in [0, 1); row i's numbers should decide row i alone.
            view: None, or a list of N `SeatView`.
            memory: None, or float32 (N, memory), what the acting seats remember, edited; zero where a game begins.

        Returns:
            int64 (N,).

        Raises:
            ValueError: a row without a legal action; names the row. No number has been drawn then.
        """

    def probs(self, observation, action_mask, view=None):
        """The probabilities that `act` draws from, float64 (N, A), 0 where the mask is 0."""


class ProbabilisticAgent:
    """An agent that is defined by its `probs`; `act` draws from them with one number a row."""

    name = "agent"
    needs_view = False
    memory = 0

    def act(self, observation, action_mask, rng, view=None):
        """Draw from `probs`; see `Agent.act`."""
        check_mask(action_mask)
        return sample(self.probs(observation, action_mask, view), rng)

    def probs(self, observation, action_mask, view=None):
        """See `Agent.probs`."""
        raise NotImplementedError


class RememberingAgent(ProbabilisticAgent):
    """An agent that may have a memory, defined by its `recall`: so many units in `memory`, 0 for none.

    A row with a single legal action leaves no trace: whether agents are asked there is up to who runs the games.
    """

    def act(self, observation, action_mask, rng, view=None, memory=None):
        """Draw from the probabilities of `recall` and remember; see `Agent.act`."""
        check_mask(action_mask)
        memory = self.checked(memory, len(action_mask))
        probs, after = self.recall(observation, action_mask, memory)
        actions = sample(probs, rng)
        memory[:] = np.where(np.count_nonzero(action_mask, 1)[:, None] > 1, after, memory)
        return actions

    def probs(self, observation, action_mask, view=None, memory=None):
        """What `act` draws from, the memory left as it is; see `Agent.probs`."""
        check_mask(action_mask)
        return self.recall(observation, action_mask, self.checked(memory, len(action_mask)))[0]

    def recall(self, observation, action_mask, memory):
        """Probabilities, float64 (N, A), and what is remembered then, float32 (N, memory); edits nothing."""
        raise NotImplementedError

    def checked(self, memory, rows):
        """The memory, which only an agent without one need not be told.

        Raises:
            ValueError: none, or one of another shape; names the agent.
        """
        if memory is None and not self.memory:
            return np.zeros((rows, 0), np.float32)
        if np.shape(memory) != (rows, self.memory):
            found = "none" if memory is None else f"shape {np.shape(memory)}"
            refuse(f"memory of agent {self.name!r}", found, f"float32 ({rows}, {self.memory}), kept for each seat")
        return memory


class DeterministicAgent:
    """An agent that does not roll dice: it is defined by its `choose`."""

    name = "agent"
    needs_view = False
    memory = 0

    def choose(self, observation, action_mask, view):
        """The action in each row, int64 (N,); `view` is None for an agent that does not need it."""
        raise NotImplementedError

    def act(self, observation, action_mask, rng=None, view=None):
        """What `choose` says; `rng` is not asked. See `Agent.act`."""
        check_mask(action_mask)
        if self.needs_view and view is None:
            refuse("view", None, "one SeatView a row, for an agent that must know more than the observation shows")
        return self.choose(np.asarray(observation), np.asarray(action_mask), view if self.needs_view else None)

    def probs(self, observation, action_mask, view=None):
        """1 for what `act` chooses, 0 for the rest."""
        return np.eye(np.shape(action_mask)[1])[self.act(observation, action_mask, view=view)]


def check_mask(action_mask):
    """Refuse a batch in which a row has no legal action.

    Raises:
        ValueError: names the first such row.
    """
    legal = np.asarray(action_mask).any(1)
    if not legal.all():
        raise ValueError(f"row {int(legal.argmin())} has no legal action: its action_mask is all zero")


def sample(probs, rng):
    """One index a row, int64 (N,), drawn from `probs` (N, A) by inversion with one number of `rng` a row."""
    total = probs.cumsum(1)
    draw = rng.random(len(probs)) * total[:, -1]
    return np.minimum((total <= draw[:, None]).sum(1), last_positive(probs))


def last_positive(probs):
    """The last index with a positive probability in each row."""
    return probs.shape[1] - 1 - (probs[:, ::-1] > 0).argmax(1)
