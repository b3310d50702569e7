"""Train one network by MaskablePPO against a league of bots and of its own past selves, from one seat of each game.

    python -m flinchenv.experiments.train_maskable_ppo flip_it-v0 --set seed=1 --set total_steps=1000000
    python -m flinchenv.experiments.train_maskable_ppo flip_it-v0 --resume

A run is a folder: `state/` (what `resume` goes on from), `agent-<steps>.safetensors` and `.json` (for `agents.load`),
`curve.png`, `curve.json` and TensorBoard's event files. On one thread a resumed run ends with the same parameters, bit
for bit, as a run that was never stopped.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read once by torch; spinning threads cost 100x on a busy machine

import collections
import dataclasses
import random
import sys
import time
from collections.abc import Mapping

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from flinchenv.adapters.sb3 import SeatVecEnv
from flinchenv.agents.checkpoint import make_card, save_checkpoint
from flinchenv.agents.inputs import Inputs, scaled
from flinchenv.agents.load import load
from flinchenv.core.params import choice, refuse, whole
from flinchenv.envs.vector import MAX_ENVS

from .curve import measure
from .imitate import imitate
from .league import SELF, League, PolicyAgent
from .settings import checked, command
from .state import save_state
from .training import (
    TrainerArgs,
    adam_arrays,
    by_head,
    check_agents,
    check_opponents,
    load_adam,
    prepare,
    settings_of,
    train,
)

RECENT = 100  # episodes whose mean return and length are logged


def _check_batch_size(name, value, args):
    rows = args.num_envs * args.n_steps
    value = whole(name, value, 2, rows)
    if rows % value:
        refuse(name, value, f"a divisor of num_envs * n_steps = {rows}")
    return value


@dataclasses.dataclass(frozen=True)
class Args(TrainerArgs):
    """All settings of a training run."""

    trainer: str = choice("maskable_ppo", doc="this one")
    batch_size: int = checked(4096, _check_batch_size, "a divisor of num_envs * n_steps", "decisions a minibatch")
    opponents: Mapping = checked(
        {"random": 1, "rule": 2, "rule:2": 1, SELF: 2},
        check_opponents,
        "names and weights",
        "who plays the other seats of an episode, and how often; 'self' is a past self",
    )
    eval_against: tuple = checked(
        ("random", "rule", "rule:2"), check_agents, "agents' names", "the curve's opponents, in all other seats"
    )


class Extractor(BaseFeaturesExtractor):
    """`agents.inputs.Inputs` in torch."""

    def __init__(self, observation_space, bins, bin_width):
        inputs = Inputs(observation_space.high, bins, bin_width)
        super().__init__(observation_space, inputs.size)
        for number, part in enumerate(inputs.parts):
            self.register_buffer(f"part{number}", torch.from_numpy(part), persistent=False)

    def forward(self, observations):
        """(N, D) -> (N, size), 0..1."""
        return torch.cat([part.flatten(1) for part in scaled(observations, *self.buffers())], 1)


class Training:
    """One run's model, environment, league and curve: everything that a saved state holds."""

    def __init__(self, args, setup, folder):
        self.args, self.setup, self.folder = args, setup, folder
        self.rivals = {name: load(name, setup) for name in args.eval_against}
        inputs = Inputs(setup.layout.high(), args.bins, args.bin_width)
        self.league = League(setup, args.opponents, args.past_selves, args.activation, inputs)
        self.env = SeatVecEnv(setup, args.num_envs, self.league.pool, "rotate")
        self.model = make_model(args, self.env)
        self.updates, self.seconds, self.curve = 0, 0.0, []

    @property
    def steps(self):
        """The learner's decisions so far."""
        return self.model.num_timesteps

    @property
    def playing(self):
        """(N,) the keys of the league that rows play against."""
        return self.env.batch.playing

    def imitate(self):
        """Learn to play as `imitate` does, and what that brings."""
        args = self.args
        if args.imitate:
            teacher = load(args.imitate, self.setup)
            env = SeatVecEnv(self.setup, args.num_envs, [teacher] * (self.setup.num_players - 1), "rotate")
            env.seed(self._first_seed(1))
            began = time.monotonic()
            imitate(self.model, env, teacher, args.imitate_steps, args.batch_size, args.progress)
            self.seconds += time.monotonic() - began

    def _first_seed(self, stream):
        seeds = np.random.SeedSequence(self.args.seed).generate_state(2)
        return int(seeds[stream]) % (2**31 - MAX_ENVS)  # rows add their number and stay below 2**31

    def start(self):
        """Deal the first games, against the bots and the self as it is: untrained, or an imitator."""
        self.league.add_self(policy_tensors(self.model), self.playing)
        self.env.seed(self._first_seed(0))
        self.model._last_obs = self.env.reset()
        self.model._last_episode_starts = np.ones(self.args.num_envs, bool)

    def update(self):
        """Play one rollout and learn from it; {name: value} for the log."""
        args, model = self.args, self.model
        model.learn(args.num_envs * args.n_steps, log_interval=None, reset_num_timesteps=False)
        self.updates += 1
        if self.updates % args.self_every == 0:
            self.league.add_self(policy_tensors(model), self.playing)
        scalars = dict(model.logger.name_to_value)
        model.logger.dump()
        if model.ep_info_buffer:
            scalars["rollout/return"] = np.mean([episode["r"] for episode in model.ep_info_buffer])
            scalars["rollout/length"] = np.mean([episode["l"] for episode in model.ep_info_buffer])
        if not all(np.isfinite(value) for value in scalars.values()):
            raise FloatingPointError(f"training broke down at step {self.steps}: {scalars}; try a lower learning_rate")
        return scalars

    def add_point(self):
        """How the network does against each of `eval_against`: {name: what `curve.measure` returned}."""
        agent = PolicyAgent(policy_tensors(self.model), self.args.activation, self.league.inputs)
        return {name: measure(agent, rival, self.setup, self.args.eval_games) for name, rival in self.rivals.items()}

    def save(self):
        """Save everything that decides how the run goes on."""
        model = self.model
        arrays = {f"model.{name}": tensor.numpy() for name, tensor in model.policy.state_dict().items()}
        arrays |= adam_arrays(model.policy.optimizer)
        arrays |= {f"league.{name}": array for name, array in self.league.arrays().items()}
        games = self.env.snapshot()
        arrays |= {f"env.{name}": array.view(np.uint8) if array.dtype.names else array for name, array in games.items()}
        arrays["last_obs"], arrays["last_starts"] = model._last_obs, model._last_episode_starts
        arrays["torch_rng"] = torch.get_rng_state().numpy()
        name, arrays["numpy_rng"], *numpy_rng = np.random.get_state()
        facts = {
            "settings": settings_of(self.args),
            "card": self.card(),
            "steps": self.steps,
            "updates": self.updates,
            "n_updates": model._n_updates,
            "seconds": self.seconds,
            "curve": self.curve,
            "episodes": list(model.ep_info_buffer),
            "next_key": self.league.next_key,
            "numpy_rng": [name, *numpy_rng],
            "python_rng": random.getstate(),
        }
        save_state(self.folder / "state", self.steps, arrays, facts)

    def restore(self, arrays, facts):
        """Go on from a saved state."""
        model = self.model
        part = by_head(arrays)
        model.policy.load_state_dict({name: torch.from_numpy(array) for name, array in part["model"].items()})
        load_adam(model.policy.optimizer, part.get("adam", {}))
        games = part["env"] | {"games": part["env"]["games"].view(self.setup.game.dtype)}
        self.league.restore(part.get("league", {}), facts["next_key"], games["playing"])
        self.env.restore(games)
        model._last_obs, model._last_episode_starts = arrays["last_obs"], arrays["last_starts"]
        model.num_timesteps, model._n_updates = facts["steps"], facts["n_updates"]
        model.ep_info_buffer.extend(facts["episodes"])
        self.updates, self.seconds, self.curve = facts["updates"], facts["seconds"], facts["curve"]
        name, *numpy_rng = facts["numpy_rng"]
        np.random.set_state((name, arrays["numpy_rng"], *numpy_rng))
        version, words, gauss = facts["python_rng"]
        random.setstate((version, tuple(words), gauss))
        torch.set_rng_state(torch.from_numpy(arrays["torch_rng"]))

    def export(self):
        """Write the agent for `agents.load`; the path of its weights."""
        path = self.folder / f"agent-{self.steps}.safetensors"
        save_checkpoint(path, all_tensors(self.model), self.card())
        return str(path)

    def card(self):
        """What the network plays, its shape and how it was trained."""
        network = {name: getattr(self.args, name) for name in ("hidden", "activation", "bins", "bin_width")}
        training = {"settings": settings_of(self.args), "steps": self.steps, "seconds": round(self.seconds, 1)}
        return make_card(self.setup, network, training)


def make_model(args, env):
    """An untrained MaskablePPO; seeds torch, numpy and random."""

    def rate(_):
        # `learn` is called once an update, so what SB3 hands over says nothing about the whole run.
        left = 1 - (model.num_timesteps - args.num_envs * args.n_steps) / args.total_steps
        return args.learning_rate * (left if args.anneal else 1)

    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=args.learning_rate,
        n_steps=args.n_steps,
        batch_size=args.batch_size,
        n_epochs=args.n_epochs,
        gamma=args.gamma,
        gae_lambda=args.gae_lambda,
        clip_range=args.clip_range,
        ent_coef=args.ent_coef,
        vf_coef=args.vf_coef,
        max_grad_norm=args.max_grad_norm,
        policy_kwargs={
            "net_arch": {"pi": list(args.hidden), "vf": list(args.hidden)},
            "activation_fn": {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[args.activation],
            "features_extractor_class": Extractor,
            "features_extractor_kwargs": {"bins": args.bins, "bin_width": args.bin_width},
            "optimizer_kwargs": {"eps": 1e-5},
        },
        seed=args.seed,
        device="cpu",
    )
    model.lr_schedule = rate
    model.ep_info_buffer = collections.deque(maxlen=RECENT)
    model.ep_success_buffer = collections.deque(maxlen=RECENT)
    model.set_logger(Logger(None, []))
    return model


def policy_tensors(model):
    """{"policy.0.weight": float32 (out, in), "policy.0.bias": (out,), ...}, copies."""
    return _layers("policy", [*model.policy.mlp_extractor.policy_net, model.policy.action_net])


def all_tensors(model):
    """`policy_tensors` and the value network's under "value."."""
    return policy_tensors(model) | _layers("value", [*model.policy.mlp_extractor.value_net, model.policy.value_net])


def _layers(head, modules):
    linears = [module for module in modules if isinstance(module, torch.nn.Linear)]
    parts = [(i, part, getattr(layer, part)) for i, layer in enumerate(linears) for part in ("weight", "bias")]
    return {f"{head}.{i}.{part}": tensor.detach().numpy().copy() for i, part, tensor in parts}


def run(args):
    """Train as the settings say; Result.

    Raises:
        ValueError: refused settings, before any training.
        KeyboardInterrupt: after Ctrl-C, once the state and the agent have been saved.
        FloatingPointError: a loss that is not finite.
    """
    setup, folder, state = prepare(args)
    threads = torch.get_num_threads()
    torch.set_num_threads(args.torch_threads)
    try:
        training = Training(args, setup, folder)
        if state is None:
            training.imitate()
            training.start()
        else:
            training.restore(*state)
        return train(training, args.num_envs * args.n_steps)
    finally:
        torch.set_num_threads(threads)


def main(argv=None):
    """The command line; see `settings.command`."""
    return command("train_maskable_ppo", Args, run, __doc__.split("\n")[0], argv)


if __name__ == "__main__":
    sys.exit(main())
