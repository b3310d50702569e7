"""The gate of a policy: layers of their own say whether to take one of a group of actions, the policy which one.

A policy of one logit an action must learn apart for every action of a group whether now is the time for it. The gate
learns it once: whether to end the turn, whatever card is laid down. It is the worth of the table that is left by a
lay-down now, less that of the table after a turn played out (`flinch_turn.TurnEnds`).
"""

import numpy as np

from .flinch_turn import LAY_DOWN, TurnEnds

ILLEGAL = -1e9  # less than any logit and finite; its probability is exactly 0


def gated(logits, gate, action_mask, group, xp=np):
    """Logits counted from the best legal one inside or outside the group, and inside the gate above it.

    So the most probable action is the best one inside the group where the gate is above 0, else the best one outside.

    Args:
        logits: (N, A). gate: (N, 1). action_mask: (N, A), 0 or 1.
        group: (first, last), the ids first..last-1.
        xp: numpy or torch, whose arrays the three are.

    Returns:
        (N, A): of illegal actions anything.
    """
    first, last = group
    inside = xp.zeros_like(logits[:1], dtype=bool)
    inside[:, first:last] = True
    legal = action_mask == 1

    def best(side):
        return xp.amax(xp.where(legal & side, logits, ILLEGAL), axis=1, keepdims=True)

    return logits - xp.where(inside, best(inside) - gate, best(~inside))


class TurnGate:
    """The gate of Flinch's turns; see `afterstates`.

    Args:
        setup: as `TurnEnds` takes it. inputs: what the network makes of observations, and of the tables that are left.
    """

    def __init__(self, setup, inputs):
        self._ends, self._inputs, self.size = TurnEnds(setup), inputs, inputs.size

    def __call__(self, observation, action_mask):
        """The tables after a lay-down now and after the turn played out, float32 (K, 2, size), in their rows (K,)."""
        rows, kept, played = self._ends(observation, action_mask)
        return rows, np.stack([self._inputs(kept), self._inputs(played)], 1)

    def weigh(self, logits, rows, worth, action_mask, xp=np):
        """The gate is what the first table is worth less what the second is."""
        gate = xp.zeros_like(logits[:, :1])
        gate[rows, 0] = worth[:, 0] - worth[:, 1]
        return gated(logits, gate, action_mask, LAY_DOWN, xp)
