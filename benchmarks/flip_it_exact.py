"""Exact answers of Flip It for two: values of small games, and how exploitable each bot is in them.

Run it as `python benchmarks/flip_it_exact.py`; it prints the tables and writes docs/results/flip_it.json. flip_it-small
takes most of the time; `--rows` picks others.
"""

import argparse
import dataclasses
import json
import time
from pathlib import Path

from flinchenv.envs.setup import make_setup
from flinchenv.experiments import solve
from flinchenv.experiments.evaluate import rivals
from flinchenv.experiments.exploitability import exploitability
from flinchenv.experiments.sequence_form import sequence_form
from flinchenv.experiments.tournament import Result

ONE_HAND = {"goal": ("hands", 1)}
ROWS = {  # name: id, rules laid over it
    "hand": ("flip_it-hand-v0", {}),
    "hand, closest": ("flip_it-closest-v0", ONE_HAND),
    "hand, sequential": ("flip_it-sequential-v0", ONE_HAND),
    "tiny": ("flip_it-tiny-v0", {}),
    "small": ("flip_it-small-v0", {}),
}
FILE = Path(__file__).parent.parent / "docs" / "results" / "flip_it.json"


@dataclasses.dataclass(frozen=True)
class Args:
    """What is solved.

    Attributes:
        rows: names of `ROWS`.
        iterations, target: as in `solve.Args`.
    """

    rows: tuple = tuple(ROWS)
    iterations: int = 1000
    target: float = 1e-4


def run(args, progress=None):
    """Solve the rows and ask every bot.

    Args:
        args: `Args`.
        progress: None, or called as progress(row's name, iterations done, iterations at most).
    """
    rows = []
    for name in args.rows:
        id, rules = ROWS[name]
        setup, started = make_setup(id, None, rules), time.perf_counter()
        form = sequence_form(setup)
        built = time.perf_counter() - started
        tell = None if progress is None else lambda done, of, name=name: progress(name, done, of)
        solved = solve.run(solve.Args(id, args.iterations, args.target, rules=rules), tell, form).data
        bots = {agent: exploitability(setup, agent, form).exploitability for agent in rivals(setup)}
        rows.append({"name": name, "rules": rules, **solved, "build_seconds": built, "bots": bots})
    return Result({"rows": rows}, table(rows))


def table(rows):
    """Two Markdown tables."""
    bots = list(rows[0]["bots"])
    lines = [
        "| game | information sets | histories | value of player_0 | NashConv | iterations | build + solve, s |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {row['name']} | {row['information_sets']:,} | {row['histories']:,} | "
            f"{round(row['value'], 5) + 0.0:+.5f} | {row['nash_conv']:.5f} | {row['iterations']} | "
            f"{row['build_seconds']:.1f} + {row['seconds']:.1f} |"
            for row in rows
        ),
        "",
        "| game | solved | " + " | ".join(bots) + " |",
        "|---" * (2 + len(bots)) + "|",
        *(
            f"| {row['name']} | {row['exploitability']:.5f} | "
            + " | ".join(f"{row['bots'][bot]:.3f}" for bot in bots)
            + " |"
            for row in rows
        ),
    ]
    return "\n".join(lines)


def main():
    """Solve, print the tables and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=tuple(ROWS), help="which games")
    parser.add_argument("--iterations", type=int, default=Args.iterations, help="of CFR+, at most")
    parser.add_argument("--target", type=float, default=Args.target, help="the NashConv at which to stop")
    parser.add_argument("--out", type=Path, default=FILE, help="the JSON file")
    options = parser.parse_args()

    def tell(name, done, of):
        if done % 100 == 0:
            print(f"{name}: {done} of {of} iterations", flush=True)

    result = run(Args(tuple(options.rows), options.iterations, options.target), tell)
    print(result.text)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result.data, indent=1) + "\n")


if __name__ == "__main__":
    main()
