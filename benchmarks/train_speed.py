"""Where a training step's time goes: environment, opponents, forward pass, update; with 1 and 2 threads.

    python benchmarks/train_speed.py
    python benchmarks/train_speed.py --trainer maskable_ppo --set env_id=flash10-v0 --set num_envs=1024

Every trainer with its own defaults, or with the settings given; whole updates, thread counts in turn. A trainer is one
row of `TRAINERS`. Only the trainer's calls are timed, from outside, so the figures are those of a real run without its
curve and its saved states.
"""

import argparse
import dataclasses
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flinchenv.agents.flash10_tuples import choose_slots, first_tuples
from flinchenv.core.params import kernel_params, one_of, refuse, rules_to_json, whole
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import speed, train, train_maskable_ppo, train_ppo, train_td

import torch  # isort: skip  # after the trainers, which quieten its threads

FILE = Path(__file__).resolve().parent.parent / "docs" / "results" / "train_speed.json"
PARTS = ("env", "opponents", "forward", "update", "env and update", "other")


class Parts:
    """Seconds by part of an update; a call inside another part's call is taken off that one."""

    def __init__(self):
        self.seconds = Counter()
        self._inner = [0.0]

    def time(self, owner, name, part):
        """Count what `owner.name(...)` takes, in place, as `part`."""
        call = getattr(owner, name)

        def timed(*args, **kwargs):
            self._inner.append(0.0)
            begin = time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                spent = time.perf_counter() - begin
                self.seconds[part] += spent - self._inner.pop()
                self._inner[-1] += spent

        setattr(owner, name, timed)


def maskable_ppo(args, threads, folder):
    """update() -> (steps, seconds by part) of MaskablePPO; `env` has the other seats' moves taken off."""
    args = dataclasses.replace(args, torch_threads=threads, progress=False, run=str(folder))
    training = train_maskable_ppo.Training(args, make_setup(args.env_id, None, args.rules), folder)
    training.start()
    parts, model = Parts(), training.model
    parts.time(training.env, "step_wait", "env")
    parts.time(training.env, "env_method", "env")  # the masks
    parts.time(model.policy, "forward", "forward")
    parts.time(model.policy, "predict_values", "forward")
    parts.time(model, "train", "update")
    return timed_updates(training, parts, threads)


def ppo(args, threads, folder):
    """update() -> (steps, seconds by part) of PPO in self-play, as one process."""
    args = dataclasses.replace(args, torch_threads=threads, progress=False, run=str(folder))
    setup = make_setup(args.env_id, None, args.rules)
    training = train_ppo.Training(args, setup, folder, train_ppo.Processes(0, 1))
    training.start()
    parts = Parts()
    parts.time(training.play.env, "step", "env")
    parts.time(training, "_act", "forward")
    parts.time(training, "_value_of", "forward")
    parts.time(training, "_learn", "update")
    return timed_updates(training, parts, threads)


def timed_updates(training, parts, threads):
    """update() -> (steps, seconds by part) of a training with a league; what nobody timed is `other`."""
    watched = set()

    def update():
        for key, agent in training.league.pool.agents.items():
            if key not in watched:  # past selves come in as it goes on
                parts.time(agent, "act", "opponents")
                watched.add(key)
        torch.set_num_threads(threads)
        parts.seconds.clear()
        before, begin = training.steps, time.perf_counter()
        training.update()
        total = time.perf_counter() - begin
        return training.steps - before, dict(parts.seconds) | {"other": total - sum(parts.seconds.values())}

    return update


def td(args, threads, folder):
    """update() -> (cards laid, seconds by part) of TD: one loop, of which choosing slots is timed by itself."""
    rules = make_setup(args.env_id, None, args.rules).rules
    params, weights = kernel_params(rules), first_tuples(rules)

    def update():
        begin = time.thread_time()  # what is told by difference must not hold other processes' time
        _, draws = train_td.learn(rules, args.seed, train_td.CHUNK, args.learning_rate)
        total, steps = time.thread_time() - begin, round(float(draws.sum() * train_td.CHUNK))
        rng = np.random.default_rng(0)
        rows = rng.integers(rules.numbers, size=(steps, rules.row_len))
        held, slots = rng.integers(rules.numbers, size=steps), np.zeros(steps, np.int64)
        begin = time.thread_time()
        choose_slots(rows, held, params, weights, slots)
        forward = time.thread_time() - begin
        return steps, {"forward": forward, "env and update": total - forward}

    return update


class Trainer(NamedTuple):
    """How a trainer is measured.

    Attributes:
        start: start(args, threads, folder) -> update, called as update() -> (steps, {part: seconds}).
        threads: the numbers of threads that make a difference to it.
    """

    start: Any
    threads: tuple


TRAINERS = {  # by a config's `trainer`
    "maskable_ppo": Trainer(maskable_ppo, (1, 2)),
    "ppo": Trainer(ppo, (1, 2)),
    "td": Trainer(td, (1,)),
}


@dataclasses.dataclass(frozen=True)
class Args:
    """What is measured.

    Attributes:
        trainers: names of TRAINERS.
        settings: ("key=value", ...) as `flinchenv train --set` takes them, for every trainer.
        updates: timed updates of each number of threads, after one that warms up, 1..1000.
    """

    trainers: tuple = tuple(TRAINERS)
    settings: tuple = ()
    updates: int = 5


class Result(NamedTuple):
    """`data` is {"settings", "rows"}; `text` the Markdown page."""

    data: dict
    text: str


def run(args, progress=None):
    """Measure every trainer.

    Args:
        args: `Args`.
        progress: None, or called as progress(rows done, rows in all).

    Raises:
        ValueError: an unknown trainer, or a refused setting or number.
    """
    whole("updates", args.updates, 1, 1000)
    if not args.trainers:
        refuse("trainers", args.trainers, "at least one of " + ", ".join(TRAINERS))
    for name in args.trainers:
        one_of("trainers", name, tuple(TRAINERS))
    chosen = {name: train.read(None, [f"trainer={name}", *args.settings])[1] for name in args.trainers}
    threads_before, rows = torch.get_num_threads(), []
    total = sum(len(TRAINERS[name].threads) for name in chosen)
    try:
        for name, settings in chosen.items():
            rows += measure(name, settings, args.updates)
            if progress is not None:
                progress(len(rows), total)
    finally:
        torch.set_num_threads(threads_before)
    facts = speed.facts() | {"updates": args.updates, "torch": torch.__version__}
    data = {"settings": facts, "rows": rows}
    return Result(data, page(data))


def measure(name, settings, updates):
    """A trainer's rows, one a number of threads; they take turns."""
    trainer = TRAINERS[name]
    with tempfile.TemporaryDirectory() as folder:
        sides = {t: trainer.start(settings, t, Path(folder)) for t in trainer.threads}
        for update in sides.values():
            update()
        found = {t: [] for t in sides}
        for _ in range(updates):
            for t, update in sides.items():
                found[t].append(update())
    rows = []
    for t, done in found.items():
        seconds = {part: statistics.median(s.get(part, 0.0) for _, s in done) for part in PARTS}
        rates = [steps / sum(s.values()) for steps, s in done]
        rows.append(
            {
                "trainer": name,
                "env_id": settings.env_id,
                "threads": t,
                "settings": rules_to_json(settings),
                "steps": done[0][0],
                "steps_a_second": speed.spread(rates),
                "seconds": {part: s for part, s in seconds.items() if s},
            }
        )
    return rows


def page(data):
    """The Markdown page."""
    settings = data["settings"]
    machine = settings["machine"]
    lines = [
        "# Where a training step's time goes",
        "",
        f"`python benchmarks/train_speed.py` makes this page and the JSON beside it. {machine['processor']}, "
        f"{machine['cores']} cores; torch {settings['torch']}; commit {settings['commit']}. Medians of "
        f"{settings['updates']} updates, numbers of threads in turn; the share of an update's time, and microseconds a "
        "step. TD is one compiled loop without threads, in CPU time; choosing slots is timed by itself, the rest is "
        "the difference.",
        "",
        "| trainer | game | threads | steps/s | " + " | ".join(PARTS) + " |",
        "|" + " --- |" * (4 + len(PARTS)),
    ]
    for row in data["rows"]:
        total, rate = sum(row["seconds"].values()), row["steps_a_second"]
        cells = [
            f"{100 * row['seconds'][part] / total:.0f} %, {1e6 * row['seconds'][part] / row['steps']:.2f} us"
            if part in row["seconds"]
            else "-"
            for part in PARTS
        ]
        found = f"{rate['median']:,.0f} ({rate['low']:,.0f}-{rate['high']:,.0f})"
        lines.append(f"| {row['trainer']} | {row['env_id']} | {row['threads']} | {found} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    """Measure, print the page and write both files; the exit code, 2 for refused settings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trainer", action="append", choices=TRAINERS, help="repeatable; all without it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a trainer's setting; repeatable"
    )
    parser.add_argument("--updates", type=int, default=Args.updates, help="timed updates of each number of threads (5)")
    parser.add_argument("--out", type=Path, default=FILE, metavar="FILE.json", help="the JSON file")
    given = parser.parse_args()
    args = Args(tuple(given.trainer or TRAINERS), tuple(given.set), given.updates)
    return speed.publish(lambda: run(args, lambda done, of: print(f"{done}/{of}", flush=True)), given.out)


if __name__ == "__main__":
    sys.exit(main())
