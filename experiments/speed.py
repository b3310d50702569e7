"""How fast one environment is: the core alone, the vector API, one game through AEC, and the time to the first step.

A decision is a seat asked with at least two legal ids; rates are decisions a second, medians of several runs. Actions
are fresh uniform legal ones, drawn by a compiled sampler outside the timed part. AEC times are microseconds a decision
of last() and step(), reset() at the games' ends included.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

import flinchenv
from flinchenv.core.kernel import kernel
from flinchenv.core.params import refuse, rules_to_json, whole
from flinchenv.core.rng import BOT, GAMMA, RowStreams, below
from flinchenv.envs.aec import AECGame, RawAECGame
from flinchenv.envs.setup import make_setup

SIZES = (1, 64, 1024, 8192)
ROLLOUT_GAMES = 1024
ACTIONS = "uniform random legal, fresh for every step, drawn by a compiled sampler outside the timed part"
FIRST_STEP = """
import json, sys, time
import flinchenv
env = flinchenv.make(sys.argv[1], **json.loads(sys.argv[2]))
env.reset(seed=0)
observation = env.last()[0]
env.step(int(observation["action_mask"].argmax()))
print(time.time())
"""


@dataclasses.dataclass(frozen=True)
class Args:
    """What is measured.

    Attributes:
        env: an environment's id.
        rules: {field: value} laid over the id's preset.
        runs: timed runs of each number, 1..100; their median counts.
        seconds: about how long a run takes, 0.01..60.
        starts: processes started for each start time, 0..20; 0 leaves them out (None).
    """

    env: str
    rules: dict = dataclasses.field(default_factory=dict)
    runs: int = 5
    seconds: float = 0.5
    starts: int = 3


class Result(NamedTuple):
    """`data` is the JSON contract; `text` the table."""

    data: dict
    text: str


def run(args, progress=None):
    """Measure.

    Args:
        args: `Args`.
        progress: None, or called as progress(numbers measured, numbers in all).

    Raises:
        ValueError: an unknown id or rule, or a refused number.
    """
    setup = make_setup(args.env, None, args.rules)
    whole("runs", args.runs, 1, 100)
    whole("starts", args.starts, 0, 20)
    if isinstance(args.seconds, bool) or not 0.01 <= args.seconds <= 60:
        refuse("seconds", args.seconds, "a number in 0.01..60")
    load = os.getloadavg()[0]
    tasks = [("core_rollout", lambda: median(args, core_rollout(setup)))]
    tasks += [(n, lambda n=n: median(args, vector_rate(setup, n))) for n in SIZES]
    tasks += [("aec_raw_us", lambda: 1e6 / median(args, aec_rate(RawAECGame(setup))))]
    tasks += [("aec_env_us", lambda: 1e6 / median(args, aec_rate(AECGame(setup))))]
    tasks += [("warm_start_s", lambda: warm_start(args)), ("cold_start_s", lambda: cold_start(args))]
    found = {}
    for k, (name, task) in enumerate(tasks):
        found[name] = task()
        if progress is not None:
            progress(k + 1, len(tasks))
    data = {
        "id": setup.id,
        "players": setup.num_players,
        "core_rollout": found["core_rollout"],
        "vector": {str(n): found[n] for n in SIZES},
        **{name: found[name] for name in ("aec_raw_us", "aec_env_us", "warm_start_s", "cold_start_s")},
        "actions": ACTIONS,
        "threads": 1,
        "load": load,
    }
    return Result(data, table(data))


def main():
    """`flinchenv speed`, for `python -m flinchenv.experiments.speed`."""
    from flinchenv.cli import main as command

    sys.exit(command(["speed", *sys.argv[1:]]))


@kernel
def draw_actions(mask, counters, actions):
    """Uniform legal ids of (N, K, A) masks into int64 (N, K), 0 where a mask is empty; the number of decisions."""
    decisions = 0
    for i in range(mask.shape[0]):
        for k in range(mask.shape[1]):
            legal = 0
            for a in range(mask.shape[2]):
                legal += mask[i, k, a]
            decisions += legal > 1
            counters[i] = counters[i] + GAMMA
            left = below(counters[i], legal)
            actions[i, k] = 0
            for a in range(mask.shape[2]):
                if mask[i, k, a]:
                    if left == 0:
                        actions[i, k] = a
                    left -= 1
    return decisions


def median(args, measure):
    """The median rate of several runs after one that warms up; measure(seconds) -> (decisions, seconds)."""
    measure(min(args.seconds, 0.05))
    rates = []
    for _ in range(args.runs):
        decisions, seconds = measure(args.seconds)
        rates.append(decisions / seconds)
    return statistics.median(rates)


def core_rollout(setup):
    """Uniform random play inside one compiled call, many games in turn."""
    games = setup.new_games(ROLLOUT_GAMES)
    games["seed"] = np.arange(ROLLOUT_GAMES)
    deal(setup, games)
    counters = RowStreams(games["seed"], np.zeros(ROLLOUT_GAMES), BOT).counters
    decisions, finished = np.zeros(ROLLOUT_GAMES, np.int64), np.zeros(ROLLOUT_GAMES, np.int64)
    returns, rewards = np.zeros((2, ROLLOUT_GAMES, setup.num_players), np.float32)

    def measure(seconds):
        decisions[:] = 0
        spent, steps = 0.0, 16
        while spent < seconds:
            start = time.perf_counter()
            setup.loops.rollout(
                games,
                setup.params,
                setup.seats,
                0,
                ROLLOUT_GAMES,
                steps,
                0,
                True,
                counters,
                decisions,
                finished,
                returns,
                rewards,
            )
            spent += time.perf_counter() - start
        return int(decisions.sum()), spent

    return measure


def deal(setup, games):
    """Deal every record of `games`."""
    n, p, d, a = len(games), setup.num_players, setup.layout.size, setup.num_actions
    views = p if setup.simultaneous else 1
    setup.loops.advance(
        games, setup.params, setup.seats, 0, n, 0, np.zeros((n, views), np.int64),
        np.zeros((n, views, d), np.int8), np.zeros((n, views, a), np.int8), np.zeros((n, 0), np.int8),
        np.zeros(n, np.int32), np.zeros((n, p), np.float32), np.zeros(n, bool), np.zeros(n, bool),
        np.ones(n, bool),
    )  # fmt: skip


def vector_rate(setup, num_envs):
    """step() of the vector API."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=num_envs)
    env.reset(seed=0)
    mask = env.action_mask.reshape(num_envs, -1, setup.num_actions)
    counters = RowStreams(np.arange(num_envs), np.zeros(num_envs), BOT).counters
    actions = np.zeros(mask.shape[:2], np.int64)
    sent = actions if setup.simultaneous else actions[:, 0]

    def measure(seconds):
        decisions, spent = 0, 0.0
        while spent < seconds:
            decisions += draw_actions(mask, counters, actions)
            start = time.perf_counter()
            env.step(sent)
            spent += time.perf_counter() - start
        return decisions, spent

    return measure


def aec_rate(env):
    """last() and step() of one game, and reset() at its end."""
    counters = RowStreams(np.zeros(1), np.zeros(1), BOT).counters
    actions = np.zeros((1, 1), np.int64)
    env.reset(seed=0)

    def measure(seconds):
        decisions, spent = 0, 0.0
        while spent < seconds:
            start = time.perf_counter()
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.reset()
                observation = env.last()[0]
            spent += time.perf_counter() - start
            decisions += draw_actions(observation["action_mask"][None, None], counters, actions)
            action = int(actions[0, 0])
            start = time.perf_counter()
            env.step(action)
            spent += time.perf_counter() - start
        return decisions, spent

    return measure


def first_step(args, **environment):
    """Seconds from starting an interpreter to the end of its first step."""
    rules = rules_to_json(make_setup(args.env, None, args.rules).rules)
    command = [sys.executable, "-c", FIRST_STEP, args.env, json.dumps({"rules": rules})]
    start = time.time()
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the first step failed: {done.stderr.strip()}")
    return float(done.stdout) - start


def warm_start(args):
    """The median time to the first step with compiled kernels on the disk."""
    if args.starts == 0:
        return None
    first_step(args)
    return statistics.median(first_step(args) for _ in range(args.starts))


def cold_start(args):
    """The median time to the first step with an empty NUMBA_CACHE_DIR."""
    if args.starts == 0:
        return None
    times = []
    for _ in range(args.starts):
        with tempfile.TemporaryDirectory() as folder:
            times.append(first_step(args, NUMBA_CACHE_DIR=folder))
    return statistics.median(times)


def table(data):
    """The numbers as text."""
    rows = [("core rollout", f"{data['core_rollout']:,.0f} decisions/s")]
    rows += [(f"vector, {int(n):,} games", f"{rate:,.0f} decisions/s") for n, rate in data["vector"].items()]
    rows += [("aec, raw_env", f"{data['aec_raw_us']:.2f} us a decision")]
    rows += [("aec, env", f"{data['aec_env_us']:.2f} us a decision")]
    for kind in ("warm", "cold"):
        seconds = data[f"{kind}_start_s"]
        rows.append((f"{kind} start", "not measured" if seconds is None else f"{seconds:.2f} s to the first step"))
    lines = [f"{name:<20}  {value}" for name, value in rows]
    head = f"{data['id']}, {data['players']} players, 1 thread, load {data['load']:.2f}; actions {data['actions']}"
    return "\n".join([head, *lines])


if __name__ == "__main__":
    main()
