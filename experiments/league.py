"""The opponents of a training run: bots with fixed weights and a bounded number of the learner's past selves."""

import numpy as np
import torch
from torch.nn.functional import linear

from flinchenv.adapters.sb3 import OpponentPool
from flinchenv.agents.agent import RememberingAgent
from flinchenv.agents.checkpoint import layers_of
from flinchenv.agents.inputs import Inputs
from flinchenv.agents.load import load

SELF = "self"


class PolicyAgent(RememberingAgent):
    """A policy network, frozen, with all rows in one product: fast, and equal to `NetworkAgent` but for rounding.

    Args:
        tensors: {"policy.0.weight": float32 (out, in), "policy.0.bias": (out,), "policy.1.weight": ...}, as a
            `NetworkAgent` has them; with afterstates or a memory those too.
        activation: "tanh" | "relu".
        inputs: the `Inputs` that it is fed.
        name: how tables call it.
        greedy: always take the most probable action.
        afterstates: what tells them, see `agents.afterstates`.
    """

    def __init__(self, tensors, activation, inputs, name="policy", greedy=False, afterstates=None):
        self.tensors, self.name, self.greedy, self._afterstates = tensors, name, greedy, afterstates
        self._layers, self._weighing, gates = (
            [tuple(map(torch.from_numpy, layer)) for layer in layers_of(name, tensors, head)]
            for head in ("policy", "afterstate", "memory")
        )
        self._gates = [part for parts in zip(*gates) for part in parts]  # as `torch.gru_cell` takes them
        self.memory = self._gates[1].shape[1] if gates else 0
        self._activation = {"tanh": torch.tanh, "relu": torch.relu}[activation]
        self._inputs = inputs

    @torch.no_grad()
    def recall(self, observation, action_mask, memory):
        """Softmax of the logits over the legal actions, or its peak, and the memory after it."""
        mask = torch.from_numpy(action_mask)
        x = self._through(self._layers, torch.from_numpy(self._inputs(observation)))
        if self.memory:
            memory = torch.gru_cell(x, torch.from_numpy(memory), *self._gates)
            x = torch.cat([x, memory], 1)
        logits = linear(x, *self._layers[-1]).double()
        if self._afterstates:
            rows, told = self._afterstates(observation, action_mask)
            worth = linear(self._through(self._weighing, torch.from_numpy(told)), *self._weighing[-1])
            logits = self._afterstates.weigh(logits, rows, worth[..., 0].double(), mask, torch)
        logits = logits.masked_fill(mask == 0, -torch.inf)
        if self.greedy:
            return np.eye(logits.shape[1])[logits.argmax(1).numpy()], np.asarray(memory)
        return torch.softmax(logits, 1).numpy(), np.asarray(memory)

    def _through(self, layers, x):
        for weight, bias in layers[:-1]:
            x = self._activation(linear(x, weight, bias))
        return x


class League:
    """An OpponentPool of named agents and past selves; the past selves share one weight evenly.

    Keys: agents have 0, 1, ... in the order of `weights`; past selves go on from there and are never used twice.

    Args:
        setup: the game and its rules.
        weights: {name: weight}; a name for `agents.load`, or "self" for the past selves.
        past_selves: how many stay; the oldest one goes first, after its running episodes.
        activation: the networks' "tanh" | "relu".
        inputs: the `Inputs` that they are fed; None for the scaled observation.
        afterstates: what tells theirs, see `agents.afterstates`; None without.
    """

    def __init__(self, setup, weights, past_selves, activation, inputs=None, afterstates=None):
        self.past_selves, self.activation, self.afterstates = past_selves, activation, afterstates
        self.inputs = inputs or Inputs(setup.layout.high())
        self.pool = OpponentPool()
        names = [name for name in weights if name != SELF]
        for key, name in enumerate(names):
            self.pool.add(key, load(name, setup), weights[name])
        self.self_weight = weights.get(SELF, 0)
        self.first_self = self.next_key = len(names)

    def add_self(self, tensors, playing):
        """Take the learner in as it is now; `playing` (N,) are the keys that rows play against."""
        if self.self_weight == 0:
            return
        self._put(self.next_key, tensors)
        self.next_key += 1
        self._share(playing)

    def _put(self, key, tensors):
        name = f"self {key - self.first_self}"
        self.pool.add(key, PolicyAgent(tensors, self.activation, self.inputs, name, afterstates=self.afterstates), 0)

    def _share(self, playing):
        """Give the newest past selves their weights and drop the older ones that nobody plays."""
        drawn = range(self.first_self, self.next_key)[-self.past_selves :]
        for key in self.pool.weights:
            if key >= self.first_self:
                self.pool.weights[key] = self.self_weight / len(drawn) if key in drawn else 0
        self.pool.forget(set(playing.tolist()))

    def arrays(self):
        """{"<key>.policy.0.weight": ...} of all past selves, those included that only end their episodes."""
        selves = [(key, agent) for key, agent in self.pool.agents.items() if key >= self.first_self]
        return {f"{key}.{name}": tensor for key, agent in selves for name, tensor in agent.tensors.items()}

    def restore(self, arrays, next_key, playing):
        """Go on, in a League without past selves, from what `arrays`, `next_key` and a batch's `playing` were."""
        selves = {}
        for name, tensor in arrays.items():
            key, _, rest = name.partition(".")
            selves.setdefault(int(key), {})[rest] = tensor
        for key in sorted(selves):
            self._put(key, selves[key])
        self.next_key = next_key
        if selves:
            self._share(playing)
