"""Opponents that training never meets: each rule bot of a game, with now and then a uniform action.

Trainers refuse them as opponents and teachers, so that an evaluation against them tells what a policy does against
play that it was not fitted to.
"""

import numpy as np

from flinchenv.core.params import refuse

from .agent import ProbabilisticAgent

HELD_OUT = "held_out"  # the family's word: "held_out:2" is made of "rule:2"
SLIP = 0.2


class HeldOutAgent(ProbabilisticAgent):
    """A rule bot that plays a uniform legal action with the chance `SLIP` instead of its own.

    Args:
        bot: the bot.
        name: how tables call it.
    """

    def __init__(self, bot, name):
        self.bot, self.name = bot, name
        self.needs_view = bot.needs_view

    def probs(self, observation, action_mask, view=None):
        """(1 - SLIP) of the bot's probabilities and SLIP of the uniform ones, float64 (N, A)."""
        mask = np.asarray(action_mask).astype(float)
        own = self.bot.probs(observation, action_mask, view)
        return (1 - SLIP) * own + SLIP * mask / mask.sum(1, keepdims=True)


def check_not_held_out(setting, name):
    """Refuse an agent that training must not meet.

    Raises:
        RulesError: names the setting.
    """
    if name.partition(":")[0] == HELD_OUT:
        refuse(setting, name, "agents that training may meet; these are kept for evaluation")
