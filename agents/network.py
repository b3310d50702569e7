"""A trained network as an agent: the forward pass in numpy, without torch."""

import numpy as np

from flinchenv.core.params import refuse, rules_to_json
from flinchenv.envs.setup import make_setup

from .afterstates import afterstates_of
from .agent import RememberingAgent
from .checkpoint import check_tensors, layers_of, layout_of
from .inputs import inputs_of

# The rule of each game by which observations show the table, or all that was ever public.
PUBLIC = {"flinch": ("obs_reserve", "tops", "full"), "flash10": ("obs_seen", False, True)}


class NetworkAgent(RememberingAgent):
    """A multilayer perceptron over the scaled observation whose outputs are the logits of the legal actions.

    With a memory its last layer is also fed the state of a GRU (Cho et al. 2014) over what the layer before puts out.
    It may weigh some choices by layers of their own, see `afterstates`.

    A network that was trained where observations show all that was ever public (Flinch's obs_reserve="full", Flash 10's
    obs_seen=True) plays also where they show the table alone: it asks for views. Without these it knows no more than
    the table.

    Args:
        setup: the game and rules to play; they must have the layout of the card, but for that.
        tensors: {"policy.0.weight": float32 (out, in), "policy.0.bias": (out,), ...}, the numbers ascending, and
            perhaps "value.0.weight" and so on; with afterstates "afterstate.0.weight" and so on; with a memory also
            "memory.0", the GRU's layer from its input, and "memory.1", that from its state, with the gates reset,
            update and new in this order.
        card: what `make_card` or `load_checkpoint` returned.
        name: how tables call it.
        greedy: always take the most probable action; None is as the card says.
        any_rules: play rules other than those it was trained for, where the layout allows.

    Attributes:
        setup, tensors, card, name: as given.

    Raises:
        ValueError: another game, version or layout than the card's, or tensors that are not the card's network.
    """

    def __init__(self, setup, tensors, card, name="network", greedy=None, any_rules=False):
        self._told = told = told_setup(setup, card)
        self.needs_view = told is not setup
        check_match(told, card, any_rules)
        check_tensors(name, tensors, card)
        self.setup, self.tensors, self.card, self.name = setup, tensors, card, name
        self.greedy = card["network"].get("greedy", False) if greedy is None else greedy
        self._policy = layers_of(name, tensors, "policy")
        self._value = layers_of(name, tensors, "value")
        self.memory = card["network"].get("memory", 0)
        self._memory = layers_of(name, tensors, "memory")
        # Inputs are scaled as they were in training, whatever other rules allow as highest count.
        self._inputs = inputs_of(make_setup(card["env"], card["rules"]), card["network"])
        self._afterstates = afterstates_of(told, card["network"], self._inputs)
        self._weighing = layers_of(name, tensors, "afterstate")

    def act(self, observation, action_mask, rng, view=None, memory=None):
        """See `Agent.act`."""
        return super().act(self._seen(observation, view), action_mask, rng, None, memory)

    def probs(self, observation, action_mask, view=None, memory=None):
        """See `Agent.probs`."""
        return super().probs(self._seen(observation, view), action_mask, None, memory)

    def _seen(self, observation, view):
        """The observations that the network is fed, int8 (N, D)."""
        if not self.needs_view:
            return observation
        if view is not None:
            return np.stack([each.observe(self._told) for each in view])
        seen = np.zeros((len(observation), self._told.layout.size), np.int8)
        for field in self.setup.layout.fields:
            seen[:, self._told.layout[field.name].entries] = observation[:, self.setup.layout[field.name].entries]
        return seen

    def recall(self, observation, action_mask, memory):
        """Softmax of the logits over the legal actions, exactly 1 where only one is legal, and the memory after it."""
        outputs, after = self._policy_outputs(observation, memory)
        action_mask = np.asarray(action_mask)
        if self._afterstates:
            rows, told = self._afterstates(observation, action_mask)
            worth = self._head(self._weighing, self._hidden(self._weighing, told))[..., 0]
            outputs = self._afterstates.weigh(outputs, rows, self._finite(worth), action_mask)
        logits = np.where(action_mask == 1, outputs, -np.inf)
        if self.greedy:
            return np.eye(logits.shape[1])[logits.argmax(1)], after
        weights = np.exp(logits - logits.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True), after

    def logits(self, observation, memory=None):
        """The policy's outputs for observations of the card's layout, without afterstates, float64 (N, A).

        `memory` is as in `probs`.

        Raises:
            ValueError: an output that is not finite.
        """
        return self._policy_outputs(observation, self.checked(memory, len(observation)))[0]

    def values(self, observation, memory=None):
        """What the value head expects for the acting seat, float32 (N,), by observations of the card's layout.

        `memory` is as in `probs`.

        Raises:
            ValueError: the network has no value head.
        """
        if not self._value:
            raise ValueError(f"{self.name}: the network has no 'value' tensors")
        memory = self.checked(memory, len(observation))
        after = self._remember(self._trunk(self._policy, observation), memory)
        return self._head(self._value, self._trunk(self._value, observation), after)[:, 0]

    def _policy_outputs(self, observation, memory):
        x = self._trunk(self._policy, observation)
        after = self._remember(x, memory)
        return self._finite(self._head(self._policy, x, after)), after

    def _finite(self, outputs):
        if not np.isfinite(outputs).all():
            raise ValueError(f"{self.name}: the network's outputs are not finite")
        return outputs.astype(float)

    # One row a product, (..., 1, D): the sums of a row are then the same, bit for bit, in a batch of any size.

    def _trunk(self, layers, observation):
        return self._hidden(layers, self._inputs(observation))

    def _hidden(self, layers, inputs):
        x = inputs[..., None, :]
        for weight, bias in layers[:-1]:
            x = x @ weight.T + bias
            x = np.tanh(x) if self.card["network"]["activation"] == "tanh" else np.maximum(x, 0)
        return x

    def _head(self, layers, x, memory=None):
        weight, bias = layers[-1]
        x = x if memory is None else np.concatenate([x, memory[:, None, :]], 2)
        return (x @ weight.T + bias)[..., 0, :]

    def _remember(self, x, memory):
        """The GRU's next state, float32 (N, memory)."""
        if not self.memory:
            return memory
        before = memory[:, None, :]
        told, kept = (part @ weight.T + bias for part, (weight, bias) in zip((x, before), self._memory))
        (reset, update, new), (reset_, update_, new_) = (np.split(part, 3, 2) for part in (told, kept))
        update = _sigmoid(update + update_)
        new = np.tanh(new + _sigmoid(reset + reset_) * new_)
        return ((1 - update) * new + update * before)[:, 0]


def _sigmoid(x):
    return (1 + np.tanh(x / 2)) / 2  # exp() of a large number would overflow


def told_setup(setup, card):
    """The setup whose observations a card's network is fed: this one, or the same with all shown that was public."""
    game, rules = setup.game.name, rules_to_json(setup.rules)
    if card["game"] != game or game not in PUBLIC:
        return setup
    option, table, everything = PUBLIC[game]
    if (rules[option], card["rules"].get(option)) != (table, everything):
        return setup
    return make_setup(setup.id, rules | {option: everything})


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
