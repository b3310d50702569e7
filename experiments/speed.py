"""How fast one environment is: the core alone, each API, the time to the first step, memory and threads.

A decision is a seat asked with at least two legal ids; rates are decisions a second, medians of several runs. Actions
are fresh uniform legal ones, drawn by a compiled sampler outside the timed part. AEC times are microseconds a decision
of last() and step(), reset() at the games' ends included. What is compared is measured in turn in one process, as other
work on a machine slows both alike (`alternate`); the benchmarks/ folder and the slow tests use the same functions.
"""

import dataclasses
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

import flinchenv
from flinchenv.core.kernel import STAMP, kernel
from flinchenv.core.params import refuse, rules_to_json, whole
from flinchenv.core.rng import BOT, GAMMA, RowStreams, below, mix
from flinchenv.envs.aec import AECGame, RawAECGame
from flinchenv.envs.blocks import RowBlocks
from flinchenv.envs.setup import make_setup

SIZES = (1, 64, 1024, 8192)
ROLLOUT_GAMES = 1024
ACTIONS = "uniform random legal, fresh for every step, drawn by a compiled sampler outside the timed part"
MEASURED = ("numpy", "numba", "llvmlite", "gymnasium", "pettingzoo")  # whose versions are told
FIRST_STEP = """
import json, sys, time
import flinchenv
id, api, rules = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
env = flinchenv.make(id, api, rules=rules)
env.reset(seed=0)
if api == "vector":
    env.step(env.action_mask.argmax(-1))
else:
    env.step(int(env.last()[0]["action_mask"].argmax()))
print(time.time())
"""
PEAK = """
import json, sys
from flinchenv.experiments.speed import play_and_weigh
print(play_and_weigh(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])))
"""
PEAK_STEPS = 3000  # enough for nearly every game of random players to end, which touches the last views


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
    for name, start in (("warm_start_s", warm_start), ("cold_start_s", cold_start)):
        tasks += [(name, lambda start=start: statistics.median(start(setup, args.starts)) if args.starts else None)]
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


def alternate(measures, runs, seconds):
    """The rates of several things measured in turn, {name: [a rate a run]}, after a run of each that warms up.

    Args:
        measures: {name: measure}; measure(seconds) -> (decisions, seconds spent).
    """
    for measure in measures.values():
        measure(min(seconds, 0.05))
    rates: dict = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            decisions, spent = measure(seconds)
            rates[name].append(decisions / spent)
    return rates


def spread(values):
    """{"median", "low", "high"} of numbers."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def median(args, measure):
    """The median rate of several runs."""
    return statistics.median(alternate({"it": measure}, args.runs, args.seconds)["it"])


@kernel
def spin(start, stop, turns):
    """Pure arithmetic, `turns` mixings for each of start..stop-1: what a core and a second thread are worth."""
    x = np.uint64(0)
    for i in range(start, stop):
        for _ in range(turns):
            x = mix(x + np.uint64(i))
    return x


def spin_rate(threads=1, rows=1024, turns=200):
    """Mixings a second of `spin`, cut into blocks of rows as the vector API cuts its games."""
    blocks = RowBlocks(rows, threads)

    def measure(seconds):
        done, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            blocks.run(lambda start, stop: spin(start, stop, turns))
            done += rows * turns
        return done, time.perf_counter() - begin

    return measure


@kernel
def draw_cards(records, counters, shown):
    """A fixed piece of work of a card game's kind: in each row draw and swap a card, branch on it, write 64 bytes.

    Args:
        records: int8 (N, 64 * K), K decks, of which a random one is played with.
    """
    for i in range(records.shape[0]):
        counters[i] = counters[i] + GAMMA
        first = below(counters[i], records.shape[1] // 64) * 64
        deck = records[i, first : first + 64]
        counters[i] = counters[i] + GAMMA
        card = below(counters[i], 64)
        held = deck[card]
        deck[card] = deck[0]
        deck[0] = held
        rising = 0
        for k in range(1, 64):
            if deck[k] > deck[k - 1]:
                rising += 1
            shown[i, k] = deck[k] if held > deck[k] else rising


def reference_rate(record_bytes=512, rows=1024):
    """Cards a second of `draw_cards`: the yardstick that games are held against in one run.

    Args:
        record_bytes: about those of the game's record, as other work on a machine takes the caches away from both.
    """
    records = np.tile(np.arange(64, dtype=np.int8), (rows, record_bytes // 64))
    counters = RowStreams(np.arange(rows), np.zeros(rows), BOT).counters
    shown = np.zeros((rows, 64), np.int8)

    def measure(seconds):
        done, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            draw_cards(records, counters, shown)
            done += rows
        return done, time.perf_counter() - begin

    return measure


def core_rollout(setup, threads=1):
    """Uniform random play inside one compiled call, many games in turn."""
    games = setup.new_games(ROLLOUT_GAMES)
    games["seed"] = np.arange(ROLLOUT_GAMES)
    deal(setup, games)
    counters = RowStreams(games["seed"], np.zeros(ROLLOUT_GAMES), BOT).counters
    decisions, finished = np.zeros(ROLLOUT_GAMES, np.int64), np.zeros(ROLLOUT_GAMES, np.int64)
    returns, rewards = np.zeros((2, ROLLOUT_GAMES, setup.num_players), np.float32)
    blocks, caps = RowBlocks(ROLLOUT_GAMES, threads), (16, 0, True)
    sums = (counters, decisions, finished, returns, rewards)

    def measure(seconds):
        decisions[:] = 0
        spent = 0.0
        while spent < seconds:
            begin = time.perf_counter()
            blocks.run(
                lambda start, stop: setup.loops.rollout(games, setup.params, setup.seats, start, stop, *caps, *sums)
            )
            spent += time.perf_counter() - begin
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


def vector_rate(setup, num_envs, threads=1):
    """step() of the vector API."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=num_envs, threads=threads)
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


def parallel_rate(setup):
    """step() of one game through the parallel API, and reset() at its end; a simultaneous game."""
    env = flinchenv.make(setup.id, "parallel", rules=setup.rules)
    counters = RowStreams(np.zeros(1), np.zeros(1), BOT).counters
    actions = np.zeros((1, setup.num_players), np.int64)
    observations = env.reset(seed=0)[0]

    def measure(seconds):
        nonlocal observations
        decisions, spent = 0, 0.0
        while spent < seconds:
            masks = np.stack([observations[agent]["action_mask"] for agent in env.possible_agents])
            decisions += draw_actions(masks[None], counters, actions)
            chosen = dict(zip(env.possible_agents, actions[0].tolist()))
            start = time.perf_counter()
            observations = env.step(chosen)[0]
            if not env.agents:
                observations = env.reset()[0]
            spent += time.perf_counter() - start
        return decisions, spent

    return measure


def gym_vector_rate(setup, num_envs):
    """step() of the Gymnasium vector API for one learner a row; only the learner's own decisions are counted.

    The other seats play at random inside step(), seats rotate, finished rows are dealt anew in the next step.
    """
    env = flinchenv.make(setup.id, "gym_vector", rules=setup.rules, num_envs=num_envs, seat="rotate")
    counters = RowStreams(np.arange(num_envs), np.zeros(num_envs), BOT).counters
    actions = np.zeros((num_envs, 1), np.int64)
    mask = env.reset(seed=0)[1]["action_mask"]

    def measure(seconds):
        nonlocal mask
        decisions, spent = 0, 0.0
        while spent < seconds:
            decisions += draw_actions(mask[:, None], counters, actions)
            start = time.perf_counter()
            mask = env.step(actions[:, 0])[4]["action_mask"]
            spent += time.perf_counter() - start
        return decisions, spent

    return measure


def publish(measure, out):
    """The end of a benchmark's command line: measure, print the page, write it and its JSON file.

    Args:
        measure: measure() -> a result with `data` and `text`.
        out: the path of the JSON file; the page stands beside it.

    Returns:
        The exit code, 2 for refused settings.
    """
    try:
        result = measure()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result.data, indent=1) + "\n")
    out.with_suffix(".md").write_text(result.text)
    print(result.text)
    return 0


def run_child(program, *words, **environment):
    """What an interpreter of its own prints.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a measured process failed: {done.stderr.strip()}")
    return done.stdout


def first_step(setup, api="aec", **environment):
    """Seconds from starting an interpreter to the end of its first step."""
    rules = json.dumps(rules_to_json(setup.rules))
    start = time.time()
    return float(run_child(FIRST_STEP, setup.id, api, rules, **environment)) - start


def warm_start(setup, starts, api="aec"):
    """Seconds to the first step with compiled kernels on the disk, [one a start]."""
    first_step(setup, api)
    return [first_step(setup, api) for _ in range(starts)]


def cold_start(setup, starts, api="aec"):
    """Seconds to the first step with an empty NUMBA_CACHE_DIR, [one a start]; less `warm_start`, the compiler's."""
    times = []
    for _ in range(starts):
        with tempfile.TemporaryDirectory() as folder:
            times.append(first_step(setup, api, NUMBA_CACHE_DIR=folder))
    return times


def peak_memory(setup, num_envs):
    """The most bytes that an interpreter which plays `num_envs` games at random through the vector API ever held."""
    rules = json.dumps(rules_to_json(setup.rules))
    run_child(PEAK, setup.id, rules, 1)  # leaves the kernels on the disk: the compiler takes more than the games
    return int(run_child(PEAK, setup.id, rules, num_envs))


def play_and_weigh(id, rules, num_envs):
    """Play until every row has ended a game, or PEAK_STEPS, and tell this process's `peak_bytes`."""
    env = flinchenv.make(id, "vector", rules=rules, num_envs=num_envs)
    env.reset(seed=0)
    mask = env.action_mask.reshape(num_envs, -1, env.num_actions)
    counters = RowStreams(np.arange(num_envs), np.zeros(num_envs), BOT).counters
    actions, ended = np.zeros(mask.shape[:2], np.int64), np.zeros(num_envs, bool)
    sent = actions if env.setup.simultaneous else actions[:, 0]
    for _ in range(PEAK_STEPS):
        draw_actions(mask, counters, actions)
        ended |= env.step(sent).terminated
        if ended.all():
            break
    return peak_bytes()


def peak_bytes():
    """The most memory that this process ever held.

    getrusage's figure alone will not do on Linux: a child begins with that of the process that started it.
    """
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def facts():
    """{"machine", "versions", "commit", "kernels"}: what figures depend on; a commit is None outside a clone."""
    info = pathlib.Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    here = pathlib.Path(__file__).resolve().parent
    try:
        git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
        commit = git.stdout.strip() or None
    except OSError:
        commit = None
    return {
        "machine": {
            "processor": names[0] if names else platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "system": platform.platform(),
        },
        "versions": {
            "flinchenv": flinchenv.__version__,
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in MEASURED},
        },
        "commit": commit,
        "kernels": STAMP,
    }


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
