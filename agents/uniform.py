"""The agent that knows nothing: uniform over legal actions."""

import numpy as np

from .agent import ProbabilisticAgent, check_mask


class UniformAgent(ProbabilisticAgent):
    """Every legal action with the same probability."""

    name = "random"

    def probs(self, observation, action_mask, view=None):
        """1 / (number of legal actions) for each of them."""
        check_mask(action_mask)
        mask = np.asarray(action_mask).astype(float)
        return mask / mask.sum(1, keepdims=True)
