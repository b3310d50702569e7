"""The agent that knows nothing: uniform over legal actions."""

from .agent import ProbabilisticAgent


class UniformAgent(ProbabilisticAgent):
    """Every legal action with the same probability."""

    name = "random"

    def probs(self, observation, action_mask, view=None):
        """1 / (number of legal actions) for each of them."""
        mask = action_mask.astype(float)
        return mask / mask.sum(1, keepdims=True).clip(1)
