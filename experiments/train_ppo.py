"""Train one network by PPO in self-play: it plays all seats, or one seat against a league of bots and past selves.

    python -m flinchenv.experiments.train_ppo flinch-ppo --set seed=1
    torchrun --nproc-per-node 2 -m flinchenv.experiments.train_ppo flinch-ppo    (--resume goes on)

Schulman et al. 2017, on the vector API. A step of a seat lasts from one of its own decisions to its next: what it earns
in between belongs to the first, and advantages (GAE) run over its own decisions only. Rows with a single legal action
are played without the network, and neither learnt from nor remembered. Under torchrun every process plays games of its
own and the gradients are averaged (gloo). The run's folder is described in `training`.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read once by torch; spinning threads cost 100x on a busy machine

import contextlib
import dataclasses
import itertools
import pathlib
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy, softplus
from torch.nn.utils.rnn import PackedSequence

from flinchenv.adapters.sb3 import OpponentPool
from flinchenv.agents.afterstates import afterstates_of
from flinchenv.agents.checkpoint import make_card, save_checkpoint
from flinchenv.agents.flinch_turn import LAY_DOWN
from flinchenv.agents.gate import ILLEGAL
from flinchenv.agents.inputs import Inputs, inputs_of, scaled
from flinchenv.agents.load import load
from flinchenv.agents.network import NetworkAgent, check_match
from flinchenv.core.params import choice, flag, integer, kernel_params, refuse
from flinchenv.envs.setup import take_snapshot

from .curve import measure
from .expert import Expert, Lesson
from .league import League, PolicyAgent
from .progress import Progress
from .self_play import SelfPlay
from .settings import check_text, checked, command, real
from .state import load_state, newest_state, save_state
from .training import (
    TrainerArgs,
    adam_arrays,
    by_head,
    check_compare,
    load_adam,
    prepare,
    settings_of,
    train,
)


@dataclasses.dataclass(frozen=True)
class Args(TrainerArgs):
    """All settings of a training run."""

    trainer: str = choice("ppo", doc="this one")
    shaping: float = real(0.0, 0, 10, "weight of the potential-based shaping at the start (Flinch)")
    shaping_until: float = real(0.5, 0, 1, "the share of total_steps after which it is gone", above=True)
    keep: int = integer(0, 0, 1000, "agents written on the way, evenly over the second half of total_steps")
    minibatches: int = integer(4, 1, 10_000, "parts of an update's decisions, a gradient step each")
    ent_end: float = real(1.0, 0, 1, "the share of the entropy bonus that is left at the end; it falls linearly")
    compare: Mapping = checked(
        {},
        check_compare,
        "fields and whole numbers",
        "fields of the observation, and how many of their first entries are compared with each other",
    )
    relations: bool = flag(False, "the network is also told how cards stand to each other, or what rows promise")
    memory: int = integer(0, 0, 1024, "units of a GRU that remembers what a seat has seen; 0 for none")
    afterstates: bool = flag(
        False, "layers of their own weigh what choices leave: the turn's end or all that it can bring, each placement"
    )
    greedy: bool = flag(False, "the agents that are measured and kept take the most probable action")
    critic: str = choice(
        "own",
        "apart",
        "central",
        doc="the value by the policy's trunk, by a network apart, or by one of the referee's view",
    )
    start: str = checked(
        "",
        check_text,
        "a run's folder or an agent's name",
        "a run whose network, or a trained agent whose policy, is gone on with by these settings; '' for none",
    )
    bf16: str = choice("auto", "on", "off", doc="products in bfloat16; auto: where the processor multiplies it")
    imitate_rate: float = real(2e-3, 0, 1, "the learning rate of imitation; it falls linearly to zero", above=True)
    imitate_playouts: int = integer(
        8, 0, 1000, "playouts after the imitated play and after the lay-down, to teach Flinch's afterstates; 0: none"
    )
    imitate_batch: int = integer(512, 1, 10**6, "about how many imitated decisions a gradient step is made of")
    mirror: float = real(0.5, 0, 1, "the share of games in which the learner plays all seats")


SHAPE = ("hidden", "activation", "bins", "bin_width", "compare", "relations", "memory", "afterstates")  # settings


def network_of(args):
    """The network, as cards have it."""
    return {name: getattr(args, name) for name in (*SHAPE, "greedy")}


# --- The network ------------------------------------------------------------------------------------------------------


class Network(nn.Module):
    """A trunk over the scaled observation with a head for logits and one for the value, or a critic of its own.

    Args:
        setup: the game and its rules.
        args: `Args`. A critic apart has layers like the trunk's, over the observation or, if it is central, over the
            referee's view and the seat. A memory is a GRU over what the trunk puts out; the heads are fed both, but
            not a critic apart.
    """

    def __init__(self, setup, args):
        super().__init__()
        hidden = args.hidden
        self.apart, self.central = args.critic != "own", args.critic == "central"
        self.activation = {"tanh": torch.tanh, "relu": torch.relu}[args.activation]
        self.inputs = inputs_of(setup, network_of(args))
        self.trunk = _linears(self.inputs.size, hidden)
        self.gru = _gru(hidden[-1], args.memory) if args.memory else None
        self.policy = _linear(hidden[-1] + args.memory, setup.num_actions, 0.01)
        self.afterstates = afterstates_of(setup, network_of(args), self.inputs)
        self.weighing = _linears(self.afterstates.size, [*hidden, 1]) if args.afterstates else None
        if self.apart:
            high = np.append(setup.state_layout.high(), np.ones(setup.num_players))
            self.critic_inputs = Inputs(high, args.bins, args.bin_width) if self.central else self.inputs
            self.critic = _linears(self.critic_inputs.size, hidden)
        self.value = _linear(hidden[-1] + (0 if self.apart else args.memory), 1, 1.0)

    def forward(self, observation, mask, view, memory, sizes=None):
        """Logits, float32 (N, A), `ILLEGAL` where the mask is 0, values, float32 (N,), and the memory after them.

        Args:
            observation: int8 (N, D). mask: int8 (N, A). view: int8 (N, S + P) for a central critic, else (N, 0).
            memory: float32 (S, M). sizes: None for one decision of each of S seats, so S is N, or those of a `Part`.
        """
        x, memory = self._remember(self._through(self.trunk, self.inputs, observation), memory, sizes)
        logits = self.policy(x).float()
        if self.afterstates:
            rows, told = self.afterstates(observation.numpy(), mask.numpy())
            worth = self.weighing[-1](self._activate(self.weighing[:-1], torch.from_numpy(told))).float()
            logits = self.afterstates.weigh(logits, rows, worth[..., 0], mask, torch)
        logits = logits.masked_fill(mask == 0, ILLEGAL)
        return logits, self._value(self._criticise(observation, view) if self.apart else x), memory

    def value_of(self, observation, view, memory):
        """Values alone, float32 (N,)."""
        if self.apart:
            return self._value(self._criticise(observation, view))
        return self._value(self._remember(self._through(self.trunk, self.inputs, observation), memory)[0])

    def _criticise(self, observation, view):
        return self._through(self.critic, self.critic_inputs, view if self.central else observation)

    def _remember(self, x, memory, sizes=None):
        """What the heads are fed, (N, H + M), and what is remembered at last, (S, M)."""
        if self.gru is None:
            return x, memory
        sizes = torch.tensor([len(x)]) if sizes is None else sizes
        with torch.autocast("cpu", enabled=False):  # what adds up over a game keeps its digits
            states, last = self.gru(PackedSequence(x.float(), sizes), memory[None])
        return torch.cat([x.float(), states.data], 1), last[0]

    def _through(self, layers, inputs, x):
        parts = scaled(x[:, torch.from_numpy(inputs.told)].float(), *map(torch.from_numpy, inputs.parts))
        if inputs.relations:
            parts.append(torch.from_numpy(inputs.relations(x.numpy())).float())
        return self._activate(layers, torch.cat([part.flatten(1) for part in parts], 1))

    def _activate(self, layers, x):
        for layer in layers:
            x = self.activation(layer(x))
        return x

    def _value(self, x):
        return self.value(x).float()[:, 0]

    def tensors(self):
        """{"policy.0.weight": float32 (out, in), ...}, copies, as `NetworkAgent` has them; no critic apart."""
        return {name: parameter.detach().numpy().copy() for name, parameter in self._named().items()}

    @torch.no_grad()
    def take_over(self, tensors):
        """Become what `tensors` of another network had; what has no name there stays as it is."""
        for name, parameter in self._named().items():
            if name in tensors:
                parameter.copy_(torch.from_numpy(tensors[name]))

    def _named(self):
        heads = {"policy": [*self.trunk, self.policy]} | ({} if self.apart else {"value": [*self.trunk, self.value]})
        heads |= {"afterstate": self.weighing} if self.weighing else {}
        memory = {} if self.gru is None else gru_parameters(self.gru)
        return memory | {
            f"{head}.{i}.{part}": getattr(layer, part)
            for head, layers in heads.items()
            for i, layer in enumerate(layers)
            for part in ("weight", "bias")
        }


def _linears(inputs, sizes):
    return nn.ModuleList(_linear(a, b, 2**0.5) for a, b in itertools.pairwise([inputs, *sizes]))


def _gru(inputs, units):
    gru = nn.GRU(inputs, units)
    for weight in (gru.weight_ih_l0, gru.weight_hh_l0):
        for gate in weight.chunk(3):
            nn.init.orthogonal_(gate)
    nn.init.zeros_(gru.bias_ih_l0)
    nn.init.zeros_(gru.bias_hh_l0)
    return gru


def gru_parameters(gru):
    """{"memory.0.weight": (3 M, in), ...}, a GRU's parameters by the names that `NetworkAgent` has for them."""
    return {
        f"memory.{i}.{part}": getattr(gru, f"{part}_{layer}_l0")
        for i, layer in enumerate(("ih", "hh"))
        for part in ("weight", "bias")
    }


def _linear(inputs, outputs, gain):
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


# --- Learning ---------------------------------------------------------------------------------------------------------


class Processes(NamedTuple):
    """The processes that train together, of which this one is number `rank`; alone without torchrun."""

    rank: int
    size: int

    def mean(self, parts):
        """Replace tensors by their means over all processes."""
        if self.size > 1:
            flat = torch.cat([part.flatten() for part in parts])
            dist.all_reduce(flat)
            for part, mean in zip(parts, flat.split([part.numel() for part in parts])):
                part.copy_((mean / self.size).view_as(part))

    def sum(self, number):
        """The sum of a number over all processes."""
        return round(self.gather(number).sum().item())

    def gather(self, number):
        """A number of every process, float64 (size,)."""
        numbers = torch.zeros(self.size, dtype=torch.float64)
        numbers[self.rank] = number
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers


@contextlib.contextmanager
def processes():
    """The `Processes` that torchrun has started, joined while the block runs."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield Processes(0, 1)
        return
    dist.init_process_group("gloo")
    try:
        yield Processes(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


class Start(NamedTuple):
    """What a run begins with.

    Attributes:
        arrays: {name: float32 array}: of the whole network as torch names it, or a policy's, as `NetworkAgent` does.
        whole: which of the two.
        origin: {"training": how it was trained} and, of an agent, its "sha256".
    """

    arrays: dict
    whole: bool
    origin: dict

    def give(self, network):
        """Make a fresh `Network` begin so."""
        if self.whole:
            network.load_state_dict({name: torch.from_numpy(array) for name, array in self.arrays.items()})
        else:
            network.take_over(self.arrays)


def find_start(args, setup):
    """The `Start` that `args.start` names: the newest state of a run, or an agent.

    Raises:
        ValueError: it is neither, or of another game or shape.
    """
    if args.imitate:
        refuse("start", args.start, f"'' where imitate={args.imitate!r} begins the run")
    if os.path.isdir(args.start):
        state = newest_state(pathlib.Path(args.start) / _states(Processes(0, 1)))
        if state is None:
            refuse("start", args.start, "a folder with a run's state")
        arrays, facts = state
        check_match(setup, facts["card"])
        _check_shape(args, facts["settings"], (*SHAPE, "critic"))
        return Start(by_head(arrays)["network"], True, {"training": facts["card"]["training"]})
    agent = load(args.start, setup)
    if not isinstance(agent, NetworkAgent) or agent.needs_view:
        refuse("start", args.start, "a run's folder or a trained network")
    _check_shape(args, agent.card["network"], SHAPE)
    return Start(agent.tensors, False, {key: agent.card[key] for key in ("sha256", "training")})


def _check_shape(args, found, names):
    usual, wanted = settings_of(type(args)()), settings_of(args)  # what is younger than what was found was as usual
    for name in names:
        value = found.get(name, usual[name])
        if wanted[name] != value:
            refuse(name, wanted[name], f"{value!r}, as start={args.start!r} has it")


def can_be_asked(agent):
    """Whether `SelfPlay` can ask an agent: it plays by the observation, or is a compiled bot."""
    return not agent.needs_view or hasattr(agent, "choose_in")


class Training:
    """One run's network, games, league and curve: everything that a saved state holds."""

    def __init__(self, args, setup, folder, team):
        self.args, self.setup, self.folder, self.team = args, setup, folder, team
        self.origin: dict | None = None  # how what it began with was trained
        self.rivals = {name: load(name, setup) for name in args.eval_against}
        torch.manual_seed(args.seed)  # one network for all processes
        self.network = network = Network(setup, args)
        self.league = League(
            setup, args.opponents, args.past_selves, args.activation, network.inputs, network.afterstates
        )
        for name, agent in zip(args.opponents, self.league.pool.agents.values()):
            if not can_be_asked(agent):
                refuse("opponents", name, "agents that play by the observation alone, and the package's bots")
        self.optimizer = torch.optim.Adam(self.network.parameters(), args.learning_rate, eps=1e-5, fused=True)
        torch.manual_seed(args.seed + 2**31 * team.rank)
        self.rng = np.random.default_rng([args.seed, team.rank])
        # Parameters of its own: the weight of the shaping changes. Whoever plays the trained agent knows no shaping.
        self.params = kernel_params(setup.rules).copy()
        self.play = SelfPlay(setup._replace(params=self.params), args, self.league.pool, self.rng)
        self.bf16 = {"on": True, "off": False, "auto": multiplies_bf16()}[args.bf16]
        self.steps, self.updates, self.seconds, self.curve = 0, 0, 0.0, []

    def start(self):
        """Take a trained network over or imitate, if that is wished, and deal the first games."""
        args, n = self.args, self.args.num_envs
        if args.start:
            begin = find_start(args, self.setup)
            begin.give(self.network)
            self.origin = begin.origin
        first = int(np.random.SeedSequence(args.seed).generate_state(1)[0]) % 2**30
        seed = first + self.team.rank * n  # training deals lie below 2**31
        if args.imitate:
            began = time.monotonic()
            self._imitate(load(args.imitate, self.setup), 2**30 + seed)
            self.seconds += time.monotonic() - began
        self.league.add_self(self._policy_tensors(), self.play.playing)
        self.play.env.reset(seed=seed)
        self.play.draw_opponents(np.arange(n))

    def _imitate(self, teacher, seed):
        """Fit the policy to a teacher's choices (cross-entropy), the value to what they earned (squared error).

        With playouts the gate learns what they say (`lesson_loss`), and the games go on by it.
        """
        args, team = self.args, self.team
        summed = dataclasses.replace(args, gamma=1.0, gae_lambda=1.0)  # advantages become what was earned to the end
        play = SelfPlay(self.setup, summed, OpponentPool(), self.rng)
        play.env.reset(seed=seed)
        shown = Progress(args.imitate_steps, 0, args.progress and team.rank == 0)
        expert = find_expert(args, self.setup, self.rng)
        done = 0

        def no_value(observation, view, memory):
            return np.zeros(len(observation), np.float32)

        def choose(observation, mask, view, memory):
            if args.memory:  # the learner watches
                memory = self._act(observation, mask, view, memory)[3]
            if expert:
                lessons.append(expert.teach(play.env.snapshot().games, *play.asked, mask))
                return lessons[-1].action, 0, 0, memory
            return play.ask(teacher, *play.asked, observation, mask), 0, 0, memory

        while done < args.imitate_steps:
            self._set_rate(args.imitate_rate * (1 - done / args.imitate_steps))
            lessons = []
            play.play(choose, no_value)
            lesson = Lesson(*(torch.from_numpy(np.concatenate(parts)) for parts in zip(*lessons))) if expert else None
            over = np.flip(np.maximum.accumulate(np.flip(play.ended, 0)), 0)  # whether the game's end is known
            known = torch.from_numpy(np.broadcast_to(over[:, :, None], play.chosen.shape)[play.chosen])
            batch = play.batch(play.chosen)
            sizes = team.gather(len(batch.action))
            # All processes make as many gradient steps, however many decisions each has.
            for part in play.sequences().parts(max(1, int(sizes.min()) // args.imitate_batch)):
                logits, values = self._forward(batch.rows(part.rows), part)
                error = ((values - batch.target[part.rows]) ** 2 * known[part.rows]).mean()
                if expert:
                    loss = lesson_loss(logits, Lesson(*(each[part.rows] for each in lesson)))
                else:
                    loss = cross_entropy(logits, batch.action[part.rows])
                self._step(args.vf_coef * error + loss)
            done += round(sizes.sum().item())
            shown.update(min(done, args.imitate_steps))
        shown.close()

    def update(self):
        """Play one rollout and learn from it; {name: value} for the log."""
        args, play = self.args, self.play
        if args.anneal:
            self._set_rate(args.learning_rate * max(0.0, 1 - self.steps / args.total_steps))
        if args.shaping:
            left = max(0.0, 1 - self.steps / (args.shaping_until * args.total_steps))
            self.params["shaping_weight"] = args.shaping * left
        play.play(self._act, self._value_of)
        batch = play.batch(play.chosen)
        scalars = self._learn(batch, play.sequences())
        kept = self._kept()
        self.steps += self.team.sum(len(batch.action))
        self.updates += 1
        if self._kept() > kept and self.team.rank == 0:
            self.export()
        if self.updates % args.self_every == 0:
            self.league.add_self(self._policy_tensors(), play.playing)
        scalars["train/explained_variance"] = float(1 - batch.advantage.var() / (batch.target.var() + 1e-8))
        if play.lengths:
            scalars["rollout/length"] = float(np.mean(play.lengths))
        if not all(np.isfinite(value) for value in scalars.values()):
            raise FloatingPointError(f"training broke down at step {self.steps}: {scalars}; try a lower learning_rate")
        return scalars

    def _kept(self):
        """How many of the `keep` agents are due by now."""
        return max(0, int((2 * self.steps / self.args.total_steps - 1) * self.args.keep))

    def _learn(self, batch, sequences):
        """PPO's passes over one batch and its `Sequences`; {name: value}."""
        args = self.args
        batch = batch._replace(advantage=(batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8))
        epochs = [sequences.parts(args.minibatches) for _ in range(args.n_epochs)]
        if self.bf16:  # products of another shape round otherwise: the ratio is to begin at 1
            batch = self._score(batch, epochs[0])
        ent_coef = args.ent_coef * (1 - min(self.steps / args.total_steps, 1) * (1 - args.ent_end))
        sums, first = torch.zeros(5), 0.0
        for epoch, parts in enumerate(epochs):
            for number, part in enumerate(parts):
                some = batch.rows(part.rows)
                log_prob, entropy, values = self._evaluate(some, part)
                change = log_prob - some.log_prob
                ratio = change.exp()
                if epoch == number == 0:
                    first = (ratio - 1).abs().max().item()
                clipped = ratio.clamp(1 - args.clip_range, 1 + args.clip_range)
                policy_loss = -torch.minimum(ratio * some.advantage, clipped * some.advantage).mean()
                value_loss = ((values - some.target) ** 2).mean()
                entropy = entropy.mean()
                self._step(policy_loss + args.vf_coef * value_loss - ent_coef * entropy)
                far = ((ratio - 1).abs() > args.clip_range).float().mean()
                numbers = (policy_loss, value_loss, entropy, (ratio - 1 - change).mean(), far)
                sums += torch.stack(numbers).detach()
        names = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
        means = dict(zip(names, (sums / (args.n_epochs * args.minibatches)).tolist()))
        return {f"train/{name}": value for name, value in (means | {"first_ratio_error": first}).items()}

    @torch.no_grad()
    def _score(self, batch, parts):
        """The batch with log-probabilities in the shapes in which they will be compared."""
        log_prob = batch.log_prob.clone()
        for part in parts:
            log_prob[part.rows] = self._evaluate(batch.rows(part.rows), part)[0]
        return batch._replace(log_prob=log_prob)

    def _evaluate(self, batch, part):
        """Log-probabilities of the chosen actions, entropies and values of a `Part` and its decisions."""
        logits, values = self._forward(batch, part)
        log_probs = torch.log_softmax(logits, 1)
        entropy = -(torch.softmax(logits, 1) * log_probs).sum(1)  # exp() is slow at log-probabilities of -1e9
        return log_probs.gather(1, batch.action[:, None])[:, 0], entropy, values

    def _forward(self, batch, part):
        """Logits and values of a `Part` and its decisions."""
        with torch.autocast("cpu", torch.bfloat16, self.bf16):
            return self.network(batch.observation, batch.mask, batch.view, part.memory, part.sizes)[:2]

    def _step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.team.mean([parameter.grad for parameter in self.network.parameters()])
        nn.utils.clip_grad_norm_(self.network.parameters(), self.args.max_grad_norm)
        self.optimizer.step()

    def _set_rate(self, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    @torch.no_grad()
    def _act(self, observation, mask, view, memory):
        """Actions drawn from the policy, their log-probabilities, the values and the memory; numpy arrays."""
        with torch.autocast("cpu", torch.bfloat16, self.bf16):
            logits, values, memory = self.network(*map(torch.from_numpy, (observation, mask, view, memory)))
        log_probs = torch.log_softmax(logits, 1)
        sums = torch.softmax(logits, 1).cumsum(1).double()
        # A draw lies below the last sum, and the first sum above it belongs to no action of probability 0.
        draws = torch.rand(len(sums), 1, dtype=torch.float64) * sums[:, -1:]
        actions = torch.searchsorted(sums, draws, right=True)
        return actions[:, 0].numpy(), log_probs.gather(1, actions)[:, 0].numpy(), values.numpy(), memory.numpy()

    @torch.no_grad()
    def _value_of(self, observation, view, memory):
        with torch.autocast("cpu", torch.bfloat16, self.bf16):
            return self.network.value_of(*map(torch.from_numpy, (observation, view, memory))).numpy()

    def _policy_tensors(self):
        return {name: tensor for name, tensor in self.network.tensors().items() if not name.startswith("value.")}

    # --- What is kept

    def add_point(self):
        """How the network does against each of `eval_against`: {name: what `curve.measure` returned}."""
        args = self.args
        agent = PolicyAgent(
            self._policy_tensors(),
            args.activation,
            self.league.inputs,
            greedy=args.greedy,
            afterstates=self.league.afterstates,
        )
        return {name: measure(agent, rival, self.setup, args.eval_games) for name, rival in self.rivals.items()}

    def save(self):
        """Save everything that decides how the run goes on."""
        play = self.play
        arrays = {f"network.{name}": tensor.numpy() for name, tensor in self.network.state_dict().items()}
        arrays |= adam_arrays(self.optimizer)
        arrays |= {f"league.{name}": array for name, array in self.league.arrays().items()}
        arrays |= {"games": play.env.snapshot().games.view(np.uint8), "playing": play.playing, "seat": play.seat}
        arrays["memory"] = play.memories.kept
        arrays["torch_rng"] = torch.get_rng_state().numpy()
        facts = {
            "settings": settings_of(self.args),
            "card": self.card(),
            "steps": self.steps,
            "updates": self.updates,
            "seconds": self.seconds,
            "curve": self.curve,
            "next_key": self.league.next_key,
            "rng": self.rng.bit_generator.state,
            "processes": self.team.size,
        }
        save_state(self.folder / _states(self.team), self.steps, arrays, facts)

    def restore(self, arrays, facts):
        """Go on from a saved state."""
        play = self.play
        part = by_head(arrays)
        self.network.load_state_dict({name: torch.from_numpy(array) for name, array in part["network"].items()})
        load_adam(self.optimizer, part.get("adam", {}))
        play.playing[:], play.seat[:] = arrays["playing"], arrays["seat"]
        if "memory" in arrays:  # runs of before there was one have none
            play.memories.kept = arrays["memory"].copy()
        self.league.restore(part.get("league", {}), facts["next_key"], play.playing)
        play.env.restore(take_snapshot(self.setup, arrays["games"].view(self.setup.game.dtype)))
        self.origin = facts["card"]["training"].get("begun_with")
        self.steps, self.updates = facts["steps"], facts["updates"]
        self.seconds, self.curve = facts["seconds"], facts["curve"]
        self.rng.bit_generator.state = facts["rng"]
        torch.set_rng_state(torch.from_numpy(arrays["torch_rng"]))

    def export(self):
        """Write the agent for `agents.load`; the path of its weights."""
        path = self.folder / f"agent-{self.steps}.safetensors"
        save_checkpoint(path, self.network.tensors(), self.card())
        return str(path)

    def card(self):
        """What the network plays, its shape and how it was trained."""
        training = {"settings": settings_of(self.args), "steps": self.steps, "seconds": round(self.seconds, 1)}
        if self.origin:
            training["begun_with"] = self.origin
        return make_card(self.setup, network_of(self.args), training)


def multiplies_bf16():
    """Whether the processor has products in bfloat16, so that they are faster than in float32."""
    asks = [getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile")]
    return any(ask is not None and ask() for ask in asks)


def find_expert(args, setup, rng):
    """The `Expert` that is imitated, or None where there is no gate of Flinch to teach, no teacher or no playout.

    Raises:
        RulesError: the teacher or the rules allow no playouts.
    """
    if not (args.afterstates and setup.game.name == "flinch" and args.imitate and args.imitate_playouts):
        return None
    return Expert(setup, args.imitate, args.imitate_playouts, rng)


def lesson_loss(logits, lesson):
    """How far a policy is from a `Lesson`, a mean: on both sides of the gate, and in whether to go through.

    The choices on either side count by cross-entropy, the gate by a logistic loss that weighs each decision by what it
    is worth: squared errors of the worth itself are spent on decisions that are clear anyway.
    """
    inside = torch.zeros(logits.shape[1], dtype=torch.bool)
    inside[slice(*LAY_DOWN)] = True

    def missed(side, action):
        log_probs = torch.log_softmax(logits.masked_fill(~side, ILLEGAL), 1)
        return torch.where(side[action], -log_probs.gather(1, action[:, None])[:, 0], 0.0)

    margin = logits[:, inside].amax(1) - logits[:, ~inside].amax(1)
    gate = lesson.worth.abs() * softplus(-margin * lesson.worth.sign())
    return (missed(~inside, lesson.play) + missed(inside, lesson.lay) + gate).mean()


def _states(team):
    """The folder of a process's states."""
    return "state" if team.rank == 0 else f"state-{team.rank}"


def _agreed(state, folder, team):
    """The newest state that every process has; None if there is none.

    Raises:
        ValueError: the run had another number of processes.
    """
    newest = state[1]["steps"] if state else -1
    common = int(team.gather(newest).min())
    if common < 0:
        if team.gather(newest).max() >= 0:
            refuse("processes", team.size, f"as many as the run in {folder} was begun with")
        return None
    if common != newest:
        state = load_state(folder / _states(team) / f"{common:015d}.safetensors")
    if state[1]["processes"] != team.size:
        refuse("processes", team.size, f"{state[1]['processes']}, as the run in {folder} was begun with")
    return state


def run(args):
    """Train as the settings say; Result, or None in the further processes of torchrun.

    Raises:
        ValueError: refused settings, before any training.
        KeyboardInterrupt: after Ctrl-C, once the state and the agent have been saved.
        FloatingPointError: a loss that is not finite.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(args.torch_threads)
    try:
        with processes() as team:
            setup, folder, state = prepare(args, _states(team), can_be_asked)
            if args.shaping and "shaping_weight" not in setup.params.dtype.names:
                refuse("shaping", args.shaping, f"0: {setup.id} has no potential")
            if args.memory and args.minibatches > args.num_envs:
                refuse("minibatches", args.minibatches, f"1..{args.num_envs}, of whole rows with a memory")
            make_card(setup, network_of(args), {})  # refuses what the game has not
            find_expert(args, setup, None)
            if args.start and state is None:
                find_start(args, setup)
            state = _agreed(state, folder, team)
            training = Training(args, setup, folder, team)
            if state is None:
                training.start()
            else:
                training.restore(*state)
            return train(training, 1, team.rank == 0, lambda asked: team.sum(asked) > 0)
    finally:
        torch.set_num_threads(threads)


def main(argv=None):
    """The command line; see `settings.command`."""
    return command("train_ppo", Args, run, __doc__.split("\n")[0], argv)


if __name__ == "__main__":
    sys.exit(main())
