"""A trained network as an agent: the forward pass in numpy, without torch."""

import numpy as np

from flinchenv.core.params import refuse, rules_to_json
from flinchenv.envs.setup import make_setup

from .agent import ProbabilisticAgent, check_mask
from .checkpoint import check_tensors, layers_of, layout_of
from .inputs import Inputs


class NetworkAgent(ProbabilisticAgent):
    """A multilayer perceptron over the scaled observation whose outputs are the logits of the legal actions.

    Args:
        setup: the game and rules to play; they must have the layout of the card.
        tensors: {"policy.0.weight": float32 (out, in), "policy.0.bias": (out,), ...}, the numbers ascending, and
            perhaps "value.0.weight" and so on.
        card: what `make_card` or `load_checkpoint` returned.
        name: how tables call it.
        greedy: always take the most probable action.
        any_rules: play rules other than those it was trained for, where the layout allows.

    Raises:
        ValueError: another game, version or layout than the card's, or tensors that are not the card's network.
    """

    def __init__(self, setup, tensors, card, name="network", greedy=False, any_rules=False):
        check_match(setup, card, any_rules)
        check_tensors(name, tensors, card)
        self.setup, self.card, self.name, self.greedy = setup, card, name, greedy
        self._policy = layers_of(name, tensors, "policy")
        self._value = layers_of(name, tensors, "value")
        # Inputs are scaled as they were in training, whatever other rules allow as highest count.
        high = make_setup(card["env"], card["rules"]).layout.high()
        self._inputs = Inputs(high, card["network"].get("bins", 0))

    def probs(self, observation, action_mask, view=None):
        """Softmax of the logits over the legal actions; exactly 1 where only one is legal."""
        check_mask(action_mask)
        logits = np.where(np.asarray(action_mask) == 1, self.logits(observation), -np.inf)
        if self.greedy:
            return np.eye(logits.shape[1])[logits.argmax(1)]
        weights = np.exp(logits - logits.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    def logits(self, observation):
        """The policy's outputs, float64 (N, A).

        Raises:
            ValueError: an output that is not finite.
        """
        outputs = self._forward(self._policy, observation).astype(float)
        if not np.isfinite(outputs).all():
            raise ValueError(f"{self.name}: the network's outputs are not finite")
        return outputs

    def values(self, observation):
        """What the value head expects for the acting seat, float32 (N,).

        Raises:
            ValueError: the network has no value head.
        """
        if not self._value:
            raise ValueError(f"{self.name}: the network has no 'value' tensors")
        return self._forward(self._value, observation)[:, 0]

    def _forward(self, layers, observation):
        # One row a product: the sums of a row are then the same, bit for bit, in a batch of any size.
        x = self._inputs(observation)[:, None, :]
        for i, (weight, bias) in enumerate(layers):
            x = x @ weight.T + bias
            if i < len(layers) - 1:
                x = np.tanh(x) if self.card["network"]["activation"] == "tanh" else np.maximum(x, 0)
        return x[:, 0]


def check_match(setup, card, any_rules=False):
    """Refuse a card of another game or version, of another layout, or, but for the reward, of other rules.

    Raises:
        RulesError: names what differs.
    """
    wanted = {
        "game": setup.game.name,
        "game_version": setup.game.version,
        "layout": layout_of(setup),
        "num_actions": setup.num_actions,
    }
    for key, value in wanted.items():
        if card[key] != value:
            refuse(f"checkpoint's {key}", card[key], f"{setup.id} under these rules has {value!r}")
    for name, value in rules_to_json(setup.rules).items():
        if not any_rules and name != "reward" and card["rules"][name] != value:
            allowed = f"{setup.id} is played with {value!r} here; load it with any_rules=True to play it all the same"
            refuse(f"checkpoint's rule {name}", card["rules"][name], allowed)
