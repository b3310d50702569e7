"""What agents remember between their decisions: kept by whoever runs the games, so that agents stay functions.

An agent that declares `memory`, a number of units above 0, is told what its seat remembers and leaves there what it
will remember. Every seat of every game has a memory of its own, all zero when the game begins.
"""

import numpy as np


def memory_of(agent):
    """How many units an agent remembers, 0 for one that plays by what it is asked alone."""
    return getattr(agent, "memory", 0)


def ask(agent, observation, action_mask, rng, views, memory):
    """What an agent's `act` answers; `memory` float32 (K, M) is edited, and untold where M is 0."""
    told = (memory,) if memory.shape[1] else ()
    return agent.act(observation, action_mask, rng, views, *told)


class Memories:
    """The memories of all seats of N games, whoever plays them.

    Attributes:
        kept: float32 (N, P, M), M the most units that anybody has been asked with so far.
    """

    def __init__(self, num_games, num_players):
        self.kept = np.zeros((num_games, num_players, 0), np.float32)

    def forget(self, rows):
        """Begin new games in some rows."""
        self.kept[rows] = 0

    def recall(self, units, rows, seats):
        """A copy of the first units of some seats, float32 (..., units)."""
        more = units - self.kept.shape[2]
        if more > 0:
            self.kept = np.pad(self.kept, ((0, 0), (0, 0), (0, more)))
        return self.kept[rows, seats, :units]

    def keep(self, rows, seats, memory):
        """Take in what those seats remember now."""
        self.kept[rows, seats, : memory.shape[-1]] = memory

    def ask(self, agent, rows, seats, observation, action_mask, rng, views=None):
        """An agent's choices in some seats (K,), which remember them."""
        memory = self.recall(memory_of(agent), rows, seats)
        chosen = ask(agent, observation, action_mask, rng, views, memory)
        self.keep(rows, seats, memory)
        return chosen
