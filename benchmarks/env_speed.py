"""Decisions a second of every environment, API, batch size and number of threads; start, compile time and memory.

    python benchmarks/env_speed.py                     # everything, half an hour or more
    python benchmarks/env_speed.py --quick             # the three games alone, in short runs
    python benchmarks/env_speed.py --only flash10 --out flash10.json

It measures with the functions of experiments/speed.py, writes a JSON file after every row and goes on from that file
when started again, and ends with a Markdown page beside it. A decision is a seat asked with at least two legal ids;
actions are fresh random legal ones, drawn outside the timed part. The columns of the first table are also what

    flinchenv speed flinch-v0 --players 4
    flinchenv speed flip_it-v0 --players 4 --set actions=joint
    flinchenv speed flash10-v0 --players 4 --set false_stop=masked

measure. Flash 10's pace is draw_and_place and its durations are 1 by default; with false Stops allowed random players
stop at once, so that dealing is most of what is measured: that is the row of flash10-v0 among all presets.
"""

import argparse
import dataclasses
import json
import os
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import flinchenv
from flinchenv.core.params import refuse, rules_to_json, whole
from flinchenv.envs.aec import AECGame, RawAECGame
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import speed

FILE = Path(__file__).parent.parent / "docs" / "results" / "speed.json"
COLUMNS = {  # the first table: one core, four players
    "Flinch": ("flinch-v0", {"num_players": 4}),
    "Flip It, joint": ("flip_it-v0", {"num_players": 4, "actions": "joint"}),
    "Flash 10": ("flash10-v0", {"num_players": 4, "false_stop": "masked"}),
}
THREADS = (1, 2)
THREADED = (1024, 8192)
BATCH = 1024  # games a call where one size stands for all
MEMORY = {1024: 200e6, 8192: 250e6}  # games: bytes at most
SLOWER_AT_8192 = 1.3  # time a decision at most, against that of 1,024 games
GAIN_KEPT = 0.85  # two threads: of what pure arithmetic gains
CONTROL_GAINS = (1.6, 2.2)  # below, the machine has no second core to spare; above, the one-thread runs were disturbed
THREAD_RUNS = 9
HALF = 0.5  # of the four-player figure, for calls and for eight players
PAIRS = {  # name: (id, rules) held against Flinch's column
    "flinch-challenge-v0, 4 players": ("flinch-challenge-v0", {"num_players": 4}),
    "flinch-v0, 8 players": ("flinch-v0", {"num_players": 8}),
}


@dataclasses.dataclass(frozen=True)
class Args:
    """What is measured.

    Attributes:
        runs: timed runs of each number, 1..100; their median, lowest and highest are told.
        seconds: about how long a run takes, 0.01..60.
        starts: processes started for each start time, 0..20; 0 leaves start times and memory out.
        presets: whether all registered ids are measured, or the three columns alone.
        only: a part of the ids that are measured; "" for all.
        out: the JSON file that rows are kept in, or None.
        fresh: whether to drop what the file holds.
    """

    runs: int = 5
    seconds: float = 0.5
    starts: int = 3
    presets: bool = True
    only: str = ""
    out: Path | None = None
    fresh: bool = False


class Result(NamedTuple):
    """`data` is {"settings", "rows"}; `text` the Markdown page."""

    data: dict
    text: str


class Task(NamedTuple):
    """One row: `key` says what is measured, `measure()` gives the rest of the row."""

    key: dict
    measure: object


def run(args, progress=None):
    """Measure all rows that the file does not hold yet.

    Args:
        args: `Args`.
        progress: None, or called as progress(rows done, rows in all, the row).

    Raises:
        ValueError: a refused number, `only` without a match, or a file of other settings.
    """
    whole("runs", args.runs, 1, 100)
    whole("starts", args.starts, 0, 20)
    if isinstance(args.seconds, bool) or not 0.01 <= args.seconds <= 60:
        refuse("seconds", args.seconds, "a number in 0.01..60")
    settings = speed.facts() | {"runs": args.runs, "seconds": args.seconds, "starts": args.starts}
    tasks = [task for task in all_tasks(args) if args.only in task.key["id"]]
    if not tasks:
        refuse("only", args.only, "a part of one of " + ", ".join(flinchenv.list_envs()))
    rows = [] if args.out is None or args.fresh else kept_rows(args.out, settings)
    done = [key_of(row) for row in rows]
    for task in tasks:
        if task.key not in done:
            rows.append(task.key | task.measure() | {"load": os.getloadavg()[0]})
            if args.out is not None:
                write(args.out, json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")
        if progress is not None:
            progress(tasks.index(task) + 1, len(tasks), task.key)
    data = {"settings": settings, "rows": rows}
    return Result(data, page(data))


def key_of(row):
    """The part of a row that says what was measured."""
    return {name: row[name] for name in ("id", "rules", "measure", "num_envs", "threads")}


def kept_rows(path, settings):
    """The rows of an earlier call.

    Raises:
        ValueError: the file is of another machine, other code or other settings, or is no such file.
    """
    if not path.exists():
        return []
    try:
        data = json.loads(path.read_text())
        before, rows = data["settings"], data["rows"]
    except (OSError, ValueError, TypeError, KeyError):
        refuse("out", str(path), "a file that this command has written")
    other = [name for name in settings if before.get(name) != settings[name]]
    if other:
        refuse("out", str(path), f"a file with the same {', '.join(other)}; `--fresh` drops what it holds")
    return rows


def write(path, text):
    """Replace a file in one go, so that a stopped run leaves a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def all_tasks(args):
    """Every row, in the order of the page."""
    tasks = []
    for id, rules in COLUMNS.values():
        tasks += column_tasks(args, make_setup(id, None, rules))
    for id, rules in ratio_sides():
        tasks += ratio_tasks(args, id, rules)
    if args.presets:
        for setup in preset_setups():
            tasks += preset_tasks(args, setup)
    return list({json.dumps(task.key): task for task in tasks}.values())


def preset_setups():
    """Every id at four players, or at its own number where it cannot have four, and Flinch at eight."""
    setups = []
    for id in flinchenv.list_envs():
        try:
            setups.append(make_setup(id, None, {"num_players": 4}))
        except ValueError:
            setups.append(make_setup(id))
    return [*setups, make_setup("flinch-v0", None, {"num_players": 8})]


def own_rules(setup):
    """The rules that are not its preset's, as JSON values."""
    preset = rules_to_json(flinchenv.spec(setup.id).rules)
    return {name: value for name, value in rules_to_json(setup.rules).items() if value != preset[name]}


def a_task(setup, measure, num_envs, threads, get):
    """A Task of one environment."""
    facts = {
        "players": setup.num_players,
        "observation_bytes": setup.layout.size,
        "mask_width": setup.num_actions,
    }
    key = {
        "id": setup.id,
        "rules": own_rules(setup),
        "measure": measure,
        "num_envs": num_envs,
        "threads": threads,
    }
    return Task(key, lambda: facts | get())


def rate_task(args, setup, measure, num_envs, threads, make_measure):
    """A Task of decisions a second."""

    def get():
        rates = speed.alternate({"it": make_measure()}, args.runs, args.seconds)["it"]
        return {"unit": "decisions/s"} | speed.spread(rates)

    return a_task(setup, measure, num_envs, threads, get)


def column_tasks(args, setup):
    """All that is measured of a game's column."""
    rate, games = rate_task, speed.ROLLOUT_GAMES
    tasks = [rate(args, setup, "core_rollout", games, t, lambda t=t: speed.core_rollout(setup, t)) for t in THREADS]
    for n in speed.SIZES:
        for t in THREADS if n in THREADED else (1,):
            tasks.append(rate(args, setup, "vector", n, t, lambda n=n, t=t: speed.vector_rate(setup, n, t)))
    for n in speed.SIZES:
        tasks.append(rate(args, setup, "gym_vector", n, 1, lambda n=n: speed.gym_vector_rate(setup, n)))
    tasks.append(rate(args, setup, "raw_env", 1, 1, lambda: speed.aec_rate(RawAECGame(setup))))
    tasks.append(rate(args, setup, "env", 1, 1, lambda: speed.aec_rate(AECGame(setup))))
    if setup.simultaneous:
        tasks.append(rate(args, setup, "parallel", 1, 1, lambda: speed.parallel_rate(setup)))
    if args.starts:
        tasks += [a_task(setup, f"start {api}", 1, 1, lambda api=api: starts(args, setup, api)) for api in APIS]
    return tasks + memory_tasks(args, setup)


APIS = ("aec", "vector")  # whose first step is waited for


def starts(args, setup, api):
    """Seconds to the first step, warm and cold, and what the compiler takes of it."""
    warm, cold = speed.warm_start(setup, args.starts, api), speed.cold_start(setup, args.starts, api)
    compiler = statistics.median(cold) - statistics.median(warm)
    return {"unit": "s", "warm": speed.spread(warm), "cold": speed.spread(cold), "compile": compiler}


def memory_tasks(args, setup):
    """The peak memory at the sizes that have a bound."""
    if not args.starts:
        return []

    def weigh(n):
        peak = speed.peak_memory(setup, n)
        return {"unit": "bytes", "peak": peak, "bound": MEMORY[n], "holds": peak <= MEMORY[n]}

    return [a_task(setup, "memory", n, 1, lambda n=n: weigh(n)) for n in MEMORY]


def preset_tasks(args, setup):
    """What is measured of every preset."""
    return [
        rate_task(args, setup, "core_rollout", speed.ROLLOUT_GAMES, 1, lambda: speed.core_rollout(setup)),
        rate_task(args, setup, "vector", BATCH, 1, lambda: speed.vector_rate(setup, BATCH)),
        rate_task(args, setup, "raw_env", 1, 1, lambda: speed.aec_rate(RawAECGame(setup))),
        *memory_tasks(args, setup),
    ]


def ratio_sides():
    """(id, rules) of everything that is held against something in one run."""
    return [*COLUMNS.values(), *PAIRS.values()]


def ratio_tasks(args, id, rules):
    """The bounds on ratios, each measured in turn in one run."""
    setup = make_setup(id, None, rules)
    if (id, rules) in PAIRS.values():
        return [a_task(setup, "against 4 players", BATCH, 1, lambda: half(args, setup))]
    return [
        a_task(setup, "8192 against 1024", 8192, 1, lambda: size_ratio(args, setup)),
        a_task(setup, "two threads", 8192, 2, lambda: thread_gain(args, setup)),
    ]


def ratios(rates, above, below):
    """The spread of one thing's rate over another's, run by run."""
    return speed.spread([a / b for a, b in zip(rates[above], rates[below])])


def size_ratio(args, setup):
    """Time a decision with 8,192 games a call over that with 1,024."""
    sizes = {n: speed.vector_rate(setup, n) for n in (1024, 8192)}
    ratio = ratios(speed.alternate(sizes, args.runs, args.seconds), 1024, 8192)
    return {"unit": "ratio"} | ratio | {"bound": SLOWER_AT_8192, "holds": ratio["median"] <= SLOWER_AT_8192}


def half(args, setup):
    """The rate with 1,024 games a call over that of Flinch with four players."""
    four = make_setup(COLUMNS["Flinch"][0], None, COLUMNS["Flinch"][1])
    sides = {"it": speed.vector_rate(setup, BATCH), "four": speed.vector_rate(four, BATCH)}
    ratio = ratios(speed.alternate(sides, args.runs, args.seconds), "it", "four")
    return {"unit": "ratio"} | ratio | {"bound": HALF, "holds": ratio["median"] >= HALF}


def thread_gain(args, setup):
    """What two threads gain, best of nine in turn, over what they gain in pure arithmetic; None: not measurable."""
    sides = {("spin", t): speed.spin_rate(t) for t in THREADS}
    sides |= {("game", t): speed.vector_rate(setup, 8192, t) for t in THREADS}
    rates = speed.alternate(sides, THREAD_RUNS, args.seconds)
    gain = {what: max(rates[what, 2]) / max(rates[what, 1]) for what in ("spin", "game")}
    share = gain["game"] / gain["spin"]
    low, high = CONTROL_GAINS
    holds = share >= GAIN_KEPT if low <= gain["spin"] <= high else None
    row = {"unit": "ratio", "median": share, "low": share, "high": share, "bound": GAIN_KEPT, "holds": holds}
    return row | {"gain": gain["game"], "control_gain": gain["spin"]}


def short(value):
    """A rate with two or three digits: 15.8 M, 940 k."""
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.{1 if value < 100 * size else 0}f}{unit}"
    return f"{value:.0f}"


def cell(row):
    """A row's number with its spread."""
    if row is None:
        return "-"
    if row["unit"] == "decisions/s":
        if row["measure"] in ("raw_env", "env", "parallel"):
            return f"{1e6 / row['median']:.1f} us ({1e6 / row['high']:.1f}-{1e6 / row['low']:.1f})"
        return f"{short(row['median'])} ({short(row['low'])}-{short(row['high'])})"
    if row["unit"] == "bytes":
        return f"{row['peak'] / 1e6:.0f} MB"
    warm, cold = row["warm"]["median"], row["cold"]["median"]
    return f"{warm:.2f} s / {cold:.1f} s / {row['compile']:.1f} s"


NAMES = {
    "core_rollout": "core rollout",
    "raw_env": "`raw_env`, time a decision",
    "env": "`env`, time a decision",
    "parallel": "`parallel`, time a decision",
    "start aec": "to the first step of `aec`: warm / cold / compiler",
    "start vector": "to the first step of `vector`: warm / cold / compiler",
}


def name_of(measure, num_envs, threads):
    """The first cell of a table's line."""
    if measure in ("vector", "gym_vector", "memory"):
        name = f"{'peak memory' if measure == 'memory' else f'`{measure}`'}, {num_envs:,} game{'s' * (num_envs > 1)}"
    else:
        name = NAMES[measure]
    return name + f", {threads} threads" * (threads > 1)


def page(data):
    """The Markdown page."""
    settings, rows = data["settings"], data["rows"]
    machine, loads = settings["machine"], [row["load"] for row in rows]
    versions = ", ".join(f"{name} {version}" for name, version in settings["versions"].items())
    parts = [
        "# Speed of the environments",
        f"`python benchmarks/env_speed.py` makes this page and the JSON beside it. {machine['processor']}, "
        f"{machine['cores']} cores, {machine['system']}; {versions}; commit {settings['commit']}; load average "
        f"{min(loads):.1f}-{max(loads):.1f} while it ran. Medians of {settings['runs']} runs of {settings['seconds']} s"
        " with the lowest and the highest. A decision is a seat asked with at least two legal ids. Actions: "
        f"{speed.ACTIONS}. `vector` includes observations (int8), masks and redealing; `gym_vector` counts the "
        "learner's own decisions alone, the other seats play at random inside.",
        "## The three games, four players",
        column_table(rows),
        "## Bounds",
        bound_table(rows),
        "## Every preset that was measured",
        preset_table(rows),
    ]
    return "\n\n".join(parts) + "\n"


def table(head, lines):
    """A Markdown table."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *lines])


def column_table(rows):
    """Measures down, games across."""
    columns = []
    for id, rules in COLUMNS.values():
        rules = own_rules(make_setup(id, None, rules))
        columns.append([row for row in rows if (row["id"], row["rules"]) == (id, rules) and row["unit"] != "ratio"])
    lines = {}
    for k, column in enumerate(columns):
        for row in column:
            name = name_of(row["measure"], row["num_envs"], row["threads"])
            lines.setdefault(name, [None] * len(columns))[k] = row
    peaks = [{row["num_envs"]: row["peak"] for row in column if row["unit"] == "bytes"} for column in columns]
    if all(peaks):
        few, many = MEMORY
        lines["memory of each further game"] = [f"{(p[many] - p[few]) / (many - few) / 1e3:.1f} kB" for p in peaks]
    for name in ("observation_bytes", "mask_width"):
        words = name.replace("_", " ")
        lines[words] = [column[0][name] if column else "-" for column in columns]
    filled = [[name, *(c if isinstance(c, (int, str)) else cell(c) for c in line)] for name, line in lines.items()]
    return table(["", *COLUMNS], filled)


def bound_table(rows):
    """Each bound, what was measured, whether it holds."""
    lines = []
    for row in rows:
        if "bound" not in row or row["unit"] == "bytes":
            continue
        where = f"{row['id']}, {row['players']} players"
        if row["measure"] == "two threads":
            words = f"two threads' gain {row['gain']:.2f} over arithmetic's {row['control_gain']:.2f}, {where}"
            lines.append((row, words, f"{row['median']:.2f}", "at least"))
        else:
            at = "at most" if row["measure"] == "8192 against 1024" else "at least"
            words = "time a decision, 8,192 games a call" if at == "at most" else f"rate, {BATCH:,} games a call"
            against = "1,024" if at == "at most" else "Flinch at four players"
            found = f"{row['median']:.2f} ({row['low']:.2f}-{row['high']:.2f})"
            lines.append((row, f"{words} against {against}, {where}", found, at))
    verdict = {True: "yes", False: "no", None: "not measurable here"}
    filled = [[what, found, f"{at} {row['bound']}", verdict[row["holds"]]] for row, what, found, at in lines]
    for n, bound in MEMORY.items():
        weighed = sorted((row for row in rows if (row["measure"], row["num_envs"]) == ("memory", n)), key=peak)
        for game in dict.fromkeys(flinchenv.spec(row["id"]).game for row in weighed):
            most = [row for row in weighed if flinchenv.spec(row["id"]).game == game][-1]
            what = f"peak memory of {n:,} games, the most of any {game} id: {changed(most)}, {most['players']} players"
            filled.append([what, cell(most), f"at most {bound / 1e6:.0f} MB", verdict[most["holds"]]])
    return table(["", "measured", "bound", "holds"], filled)


def peak(row):
    """A row's peak memory."""
    return row["peak"]


def preset_table(rows):
    """One line a preset."""
    found = {}
    for row in rows:
        if row["threads"] == 1 and row["measure"] in ("core_rollout", "vector", "raw_env"):
            line = found.setdefault(json.dumps([row["id"], row["rules"]]), {"first": row})
            if row["measure"] != "vector" or row["num_envs"] == BATCH:
                line[row["measure"]] = row
    lines = [
        [changed(r["first"]), *(r["first"][k] for k in ("players", "observation_bytes", "mask_width"))]
        + [cell(r.get(m)) for m in ("core_rollout", "vector", "raw_env")]
        for r in found.values()
    ]
    head = ["id", "players", "observation bytes", "mask width", "core rollout", f"`vector`, {BATCH:,} games", "raw_env"]
    return table(head, lines)


def changed(row):
    """A row's id and the rules, but for the number of players, that are not its preset's."""
    other = [f"{name}={value}" for name, value in row["rules"].items() if name != "num_players"]
    return ", ".join([row["id"], *other])


def main():
    """Measure, print the page and write both files; the exit code, 2 for refused settings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=Args.runs, help="timed runs of each number (5)")
    parser.add_argument("--seconds", type=float, default=Args.seconds, help="about how long a run takes (0.5)")
    parser.add_argument("--starts", type=int, default=Args.starts, help="processes for each start time; 0: none (3)")
    parser.add_argument("--only", default="", metavar="PART", help="measure ids with this part alone")
    parser.add_argument("--quick", action="store_true", help="the three columns alone, in short runs")
    parser.add_argument("--fresh", action="store_true", help="drop what the file holds")
    parser.add_argument("--out", type=Path, default=FILE, metavar="FILE.json", help="the JSON file")
    given = parser.parse_args()
    args = Args(given.runs, given.seconds, given.starts, not given.quick, given.only, given.out, given.fresh)
    if given.quick:
        args = dataclasses.replace(args, runs=min(args.runs, 3), seconds=min(args.seconds, 0.1), starts=1)
    try:
        result = run(args, lambda done, of, key: print(f"{done}/{of}", *list(key.values())[2:], flush=True))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    write(given.out.with_suffix(".md"), result.text)
    print(result.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
