"""What trainers of networks share: checks of settings, a run's folder, the loop of updates, Ctrl-C.

A run is a folder: `state/` (what `resume` goes on from), `agent-<steps>.safetensors` and `.json` (for `agents.load`),
`curve.png`, `curve.json` and TensorBoard's event files.
"""

import contextlib
import dataclasses
import json
import pathlib
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch.utils.tensorboard import SummaryWriter

from flinchenv.agents.held_out import check_not_held_out
from flinchenv.agents.load import load
from flinchenv.agents.network import check_match
from flinchenv.core.params import check_rules, choice, flag, integer, refuse, rules_to_json, whole
from flinchenv.envs.memory import memory_of
from flinchenv.envs.setup import MAX_STEPS, make_setup
from flinchenv.envs.vector import MAX_ENVS

from .curve import draw_curve
from .league import SELF
from .progress import Progress
from .settings import check_env_id, check_mapping, check_text, checked, real
from .state import newest_state

MAX_TRAINING_STEPS = 10**12
MAX_COMPARED = 64  # each with each: two thousand pairs
FREE_ON_RESUME = ("run", "resume", "progress", "total_steps", "torch_threads", "save_every", "eval_every", "eval_games")


class Result(NamedTuple):
    """What a run left.

    Attributes:
        run: its folder. checkpoint: the trained agent's weights, for `agents.load`. curve: the PNG.
        steps: the learner's decisions. seconds: of all sessions together. env: the id.
    """

    run: str
    checkpoint: str
    steps: int
    seconds: float
    curve: str
    env: str


# --- Settings ---------------------------------------------------------------------------------------------------------


def check_hidden(name, value, args):
    """Sizes of a network's layers."""
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= 8:
        refuse(name, value, "a list of 1 to 8 layer sizes")
    return tuple(whole(name, size, 1, 4096) for size in value)


def check_opponents(name, value, args):
    """Who plays the other seats, and how often."""
    allowed = 'a table of names and weights above 0, "self" for past selves among the names'
    if not isinstance(value, dict) or not value:
        refuse(name, value, allowed)
    for weight in value.values():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
            refuse(name, value, allowed)
    return dict(value)


def check_compare(name, value, args):
    """Fields, and how many of their entries."""
    if not isinstance(value, Mapping):
        refuse(name, value, "a table of fields and numbers of entries")
    return {field: whole(f"{name}.{field}", count, 1, MAX_COMPARED) for field, count in value.items()}


def check_agents(name, value, args):
    """Different agents' names, at least one."""
    if not isinstance(value, (list, tuple)) or not value or len(set(value)) != len(value):
        refuse(name, value, "a list of different agents' names")
    return tuple(check_text(name, v, args) for v in value)


@dataclasses.dataclass(frozen=True)
class TrainerArgs:
    """The settings that the trainers of networks share; every field is checked when the object is made.

    Raises:
        RulesError: names the setting, the value and what is allowed.
    """

    # the game
    env_id: str = checked("flip_it-v0", check_env_id, "one of list_envs()", "the environment")
    rules: Mapping = checked({}, check_mapping, "rule overrides", "rules laid over the id's preset, say num_players")
    max_steps: int = integer(0, 0, MAX_STEPS, "rounds after which a game is truncated; 0 for no cap")
    # the run
    seed: int = integer(0, 0, 2**31 - 1, "of the network, the minibatches, the actions and the deals")
    total_steps: int = integer(4_500_000, 1, MAX_TRAINING_STEPS, "the learner's decisions; the last update may pass it")
    run: str = checked("", check_text, "a folder that can be written", "the run's folder; '' is runs/<env_id>-<seed>")
    resume: bool = flag(False, "go on from the folder's newest state, if there is one")
    save_every: int = integer(10, 1, 10**6, "updates between saved states")
    progress: bool = flag(True, "show how far the run is, on stderr")
    torch_threads: int = integer(1, 1, 256, "threads of torch; one makes equal runs equal")
    # PPO
    num_envs: int = integer(256, 1, MAX_ENVS, "games played at a time, in each process")
    n_steps: int = integer(64, 1, 2**20, "steps of every game between updates")
    n_epochs: int = integer(4, 1, 1000, "passes over the decisions of an update")
    learning_rate: float = real(1e-3, 0, 1, "of Adam", above=True)
    anneal: bool = flag(True, "let the learning rate fall linearly to zero over total_steps")
    gamma: float = real(1.0, 0, 1, "discount from one's own decision to the next; games end, so 1")
    gae_lambda: float = real(0.95, 0, 1, "of the generalised advantage estimate")
    clip_range: float = real(0.2, 0, 10, "how far a probability ratio may leave 1", above=True)
    ent_coef: float = real(0.01, 0, 10, "weight of the entropy bonus")
    vf_coef: float = real(0.5, 0, 100, "weight of the value loss")
    max_grad_norm: float = real(0.5, 0, 1e6, "gradients are scaled down to this norm", above=True)
    # the network
    hidden: tuple = checked((64, 64), check_hidden, "1 to 8 sizes", "layers before the heads")
    activation: str = choice("relu", "tanh", doc="between layers")
    bins: int = integer(0, 0, 64, "entries of a thermometer that each count of the observation is also fed as")
    bin_width: int = integer(0, 0, 127, "what such an entry stands for; 0 shares the whole range out among them")
    # imitation, before everything else
    imitate: str = checked("", check_text, "an agent's name", "the agent that is imitated first; '' for none")
    imitate_steps: int = integer(2_000_000, 1, MAX_TRAINING_STEPS, "decisions of that agent to learn from")
    # opponents
    opponents: Mapping = checked(
        {"rule": 1, SELF: 2},
        check_opponents,
        "names and weights",
        "who plays the other seats where the learner does not, and how often; 'self' is a past self",
    )
    past_selves: int = integer(4, 1, 64, "past selves that are kept; the oldest goes first")
    self_every: int = integer(15, 1, 10**6, "updates between new past selves; the first is the untrained network")
    # the curve
    eval_against: tuple = checked(
        ("random", "rule"), check_agents, "agents' names", "the curve's opponents, in all other seats"
    )
    eval_every: int = integer(250_000, 1, MAX_TRAINING_STEPS, "steps between points of the curve")
    eval_games: int = integer(400, 2, 100_000, "games a point and opponent")

    def __post_init__(self):
        check_rules(self)


def settings_of(args):
    """The settings as plain JSON values."""
    return rules_to_json(args)


def needs_only_observations(agent):
    """Whether an agent plays by the observation alone."""
    return not agent.needs_view


def prepare(args, states="state", can_ask=needs_only_observations):
    """(setup, folder, newest state or None): everything that can be refused is refused here, before training.

    Args:
        args: a trainer's Args with env_id, rules, max_steps, opponents, eval_against, imitate, run, resume.
        states: the folder of this process's states.
        can_ask: can_ask(agent), whether the trainer can ask an agent in its games.

    Raises:
        ValueError: rules that the game refuses, a folder that cannot be written, or one that holds a run and `resume`
            is not set, or a run with other settings or of another version of the game.
    """
    setup = make_setup(args.env_id, None, args.rules, "raise", args.max_steps or None)
    asked = {"opponents": args.opponents, "eval_against": args.eval_against, "imitate": filter(None, [args.imitate])}
    for field, names in asked.items():
        for name in names:
            check_not_held_out(field, name)
            if name != SELF:
                load(name, setup)
    teacher = load(args.imitate, setup) if args.imitate else None
    if teacher is not None and (not can_ask(teacher) or memory_of(teacher)):
        refuse("imitate", args.imitate, "an agent that plays by the observation alone")
    folder = pathlib.Path(args.run or f"runs/{args.env_id}-{args.seed}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        refuse("run", str(folder), f"a folder that can be written ({error.strerror})")
    state = newest_state(folder / states)
    if state is None:
        return setup, folder, None
    if not args.resume:
        refuse("run", str(folder), "a folder without a run; resume=True goes on with the one in it")
    before = settings_of(type(args)()) | state[1]["settings"]  # what is younger than the run was as usual in it
    for name, value in settings_of(args).items():
        if name not in FREE_ON_RESUME and value != before.get(name):
            refuse(name, value, f"the run in {folder} has {before.get(name)!r}")
    check_match(setup, state[1]["card"])
    return setup, folder, state


# --- The loop ---------------------------------------------------------------------------------------------------------


class Interrupt:
    """Turns Ctrl-C into a flag, `asked`, that is read between updates; a second Ctrl-C works as ever."""

    def __enter__(self):
        self.asked = False
        self._catches = threading.current_thread() is threading.main_thread()
        if self._catches:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number, frame):
        self.asked = True
        signal.signal(signal.SIGINT, self._before)
        print("stopping after this update; Ctrl-C again stops at once", file=sys.stderr)

    def __exit__(self, *error):
        if self._catches:
            signal.signal(signal.SIGINT, self._before)


def train(training, a_update, leads=True, agreed=bool):
    """Update until `total_steps`, with points of the curve, saved states and a log; Result.

    Args:
        training: args, setup, folder, steps, updates, seconds, curve; update(), add_point(), save(), export().
        a_update: the steps that every update makes, 1 where they differ; the progress counts on it.
        leads: False for a process that only trains along: it measures, shows and logs nothing; None is returned.
        agreed: agreed(whether Ctrl-C was pressed here) -> whether it was pressed in any process.

    Raises:
        KeyboardInterrupt: after Ctrl-C, once the state and the agent have been saved.
    """
    args = training.args
    began = time.monotonic() - training.seconds
    progress = Progress(-(-args.total_steps // a_update) * a_update, training.steps, args.progress and leads)
    log = SummaryWriter(training.folder, purge_step=training.steps or None) if leads else None

    def write(scalars):
        for name, value in scalars.items() if leads else ():
            log.add_scalar(name, value, training.steps)

    def point():
        if not leads:
            return
        against = training.add_point()
        training.curve.append({"step": training.steps, "against": against})
        pairs = [(name, key, row[key]) for name, row in against.items() for key in ("mean_return", "win_rate")]
        write({f"{key}/{name}": value for name, key, value in pairs})
        draw(training)
        words = [f"{name} {row['win_rate']:.2f}" for name, row in against.items()]
        progress.update(min(training.steps, progress.total), "wins against " + ", ".join(words), line=True)
        training.seconds = time.monotonic() - began

    with contextlib.ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        for shown in filter(None, (progress, log)):
            stack.enter_context(contextlib.closing(shown))
        if not training.curve:
            point()
            training.save()  # minutes of imitation are not lost
        stopped = agreed(interrupt.asked)
        while training.steps < args.total_steps and not stopped:
            points = training.steps // args.eval_every
            write(training.update())
            training.seconds = time.monotonic() - began
            progress.update(min(training.steps, progress.total))
            write({"time/steps_per_second": progress.rate()})
            if training.steps // args.eval_every > points and training.steps < args.total_steps:
                point()
            if training.updates % args.save_every == 0:
                training.save()
            stopped = agreed(interrupt.asked)
        if not stopped and (not training.curve or training.curve[-1]["step"] < training.steps):
            point()
        training.save()
        result = None
        if leads:
            checkpoint, curve = training.export(), draw(training)
            seconds = round(training.seconds, 1)
            result = Result(str(training.folder), checkpoint, training.steps, seconds, curve, args.env_id)
    if stopped:
        if leads:
            print(f"stopped at step {training.steps}; saved {checkpoint}; resume goes on from here", file=sys.stderr)
        raise KeyboardInterrupt
    return result


def draw(training):
    """Write curve.json and curve.png; the PNG's path."""
    setup, path = training.setup, training.folder / "curve.png"
    (training.folder / "curve.json").write_text(json.dumps(training.curve, indent=1) + "\n")
    title = f"{setup.id}, {setup.num_players} players, seed {training.args.seed} (bands: 95 % intervals)"
    draw_curve(training.curve, title, path)
    return str(path)


# --- Saved states ----------------------------------------------------------------------------------------------------


def adam_arrays(optimizer):
    """{"adam.<parameter>.<slot>": array} of all that an optimiser remembers."""
    state = optimizer.state_dict()["state"]
    return {f"adam.{i}.{name}": tensor.numpy() for i, slots in state.items() for name, tensor in slots.items()}


def by_head(arrays):
    """{head: {rest: array}} of {"head.rest": array}."""
    parts = {}
    for name, array in arrays.items():
        head, _, rest = name.partition(".")
        parts.setdefault(head, {})[rest] = array
    return parts


def load_adam(optimizer, arrays):
    """Give an optimiser the memory of `adam_arrays`, its head taken off."""
    state = {
        int(i): {name: torch.from_numpy(array) for name, array in slots.items()} for i, slots in by_head(arrays).items()
    }
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
