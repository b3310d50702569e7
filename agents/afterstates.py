"""Layers of their own that weigh what choices leave: afterstates (Sutton and Barto 2018, 6.8).

A policy's head has one logit an action, and learns for each apart what it leads to. Where a game can tell what some of
its choices leave, the same layers weigh it for all of them. What tells it is an object with

    size: how many numbers tell what a choice leaves
    __call__(observation, action_mask) -> (rows (K,), told (K, C, size)): in which rows there is such a choice, and what
        each of C choices leaves there
    weigh(logits, rows, worth, action_mask, xp) -> logits (N, A), with what the layers have put out, (K, C)

for int8 observations (N, D) and masks (N, A). What `weigh` is given may be arrays of numpy or torch, as `xp` is.
"""

from flinchenv.core.params import refuse

from .flash10_placements import Placements
from .gate import TurnGate


def afterstates_of(setup, network, inputs):
    """What tells the afterstates of a network's game, or None where it does not weigh them.

    Args:
        network: as in cards. inputs: the `Inputs` that it makes of observations.

    Raises:
        RulesError: a game or rules that nothing tells them of.
    """
    if not network.get("afterstates"):
        return None
    if setup.game.name == "flash10":
        return Placements(setup)
    if setup.game.name == "flinch":
        return TurnGate(setup, inputs)
    refuse("afterstates", True, f"False: {setup.id} is neither Flinch nor Flash 10")
