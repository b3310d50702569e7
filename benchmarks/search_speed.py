"""How fast the parts of search are on one core: determinised games a second, games played on to their end a second.

    python benchmarks/search_speed.py
    python benchmarks/search_speed.py --env flash10-round-v0 --rollout rule:2

Determinisations are of one seat's view right after the deal, in batches. Playouts begin there too, each in another
deal, and are played by one rollout policy to the end. Of what is measured only the part that search itself calls is
timed.
"""

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import flinchenv
from flinchenv.agents.search_playouts import Playouts, rollout_policies
from flinchenv.core.params import one_of, whole
from flinchenv.core.spec import RUNNING
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import speed

FILE = Path(__file__).resolve().parent.parent / "docs" / "results" / "search_speed.json"
BATCH = 2048  # games
LONGEST = 10**6  # rounds; no game of a shipped preset takes as many


@dataclasses.dataclass(frozen=True)
class Args:
    """What is measured.

    Attributes:
        env: an environment's id. players: their number.
        rollout: the policies that play games on, "random" or names of compiled rule bots; () for all of the game's.
        runs: timed runs of each number, 1..100. seconds: about how long a run takes.
    """

    env: str = "flinch-v0"
    players: int = 2
    rollout: tuple = ()
    runs: int = 5
    seconds: float = 0.5


class Result(NamedTuple):
    """`data` is {"settings", "rows"}; `text` the Markdown page."""

    data: dict
    text: str


def run(args):
    """Measure, all numbers in turn.

    Args:
        args: `Args`.

    Raises:
        ValueError: an unknown id or policy, or a refused number.
    """
    setup = make_setup(args.env, None, {"num_players": args.players})
    whole("runs", args.runs, 1, 100)
    policies = tuple(rollout_policies(setup))
    chosen = [one_of("rollout", name, policies) for name in args.rollout or policies]
    measures = {"determinisations": determinize_rate(setup)}
    measures |= {f"games, {name}": playout_rate(setup, name) for name in chosen}
    rates = speed.alternate(measures, args.runs, args.seconds)
    rows = [{"what": name, "a_second": speed.spread(found)} for name, found in rates.items()]
    data = {"settings": speed.facts() | dataclasses.asdict(args), "rows": rows}
    return Result(data, page(data))


def determinize_rate(setup):
    """Games a second of `determinize`, in batches of BATCH, of the first seat's view."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=BATCH)
    env.reset(seed=0)
    env.copy_rows(np.zeros(BATCH, np.int64), np.arange(BATCH))
    dealt, seeds = env.snapshot().games, np.arange(BATCH)
    mask = np.zeros(setup.num_actions, np.int8)

    def measure(seconds):
        done, spent = 0, 0.0
        while spent < seconds:
            games = dealt.copy()
            begin = time.perf_counter()
            setup.loops.determinize(games, setup.params, setup.seats, 0, BATCH, 0, seeds, mask)
            spent += time.perf_counter() - begin
            done += BATCH
        return done, spent

    return measure


def playout_rate(setup, rollout):
    """Finished games a second of `Playouts.play` from fresh deals, BATCH of them at a time."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=BATCH)
    env.reset(seed=0)
    dealt, first = env.snapshot().games, env.action_mask.reshape(BATCH, -1, setup.num_actions)[:, 0].argmax(1)
    playouts = Playouts(setup, rollout, LONGEST)
    counters = playouts.counters(np.arange(BATCH))

    def measure(seconds):
        done, spent = 0, 0.0
        while spent < seconds:
            games = dealt.copy()
            begin = time.perf_counter()
            playouts.play(games, 0, first, counters)
            spent += time.perf_counter() - begin
            done += int((games["end_reason"] > RUNNING).sum())
        return done, spent

    return measure


def page(data):
    """The Markdown page."""
    settings = data["settings"]
    machine = settings["machine"]
    lines = [
        "# How fast the parts of search are",
        "",
        f"`python benchmarks/search_speed.py` makes this page and the JSON beside it. {machine['processor']}, "
        f"{machine['cores']} cores, one of them used; commit {settings['commit']}. {settings['env']}, "
        f"{settings['players']} players, {BATCH:,} games a call, medians of {settings['runs']} runs with the lowest "
        "and the highest. Determinisations are of one seat's view right after the deal; finished games are played on "
        "from there, in a deal of its own each, by one policy for all seats.",
        "",
        "| what | a second |",
        "| --- | --- |",
    ]
    for row in data["rows"]:
        rate = row["a_second"]
        lines.append(f"| {row['what']} | {rate['median']:,.0f} ({rate['low']:,.0f}-{rate['high']:,.0f}) |")
    return "\n".join(lines) + "\n"


def main():
    """Measure, print the page and write both files; the exit code, 2 for refused settings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--env", default=Args.env, help="an environment's id")
    parser.add_argument("--players", type=int, default=Args.players, help="their number (2)")
    parser.add_argument("--rollout", action="append", default=[], help="a policy; repeatable; all without it")
    parser.add_argument("--runs", type=int, default=Args.runs, help="timed runs of each number (5)")
    parser.add_argument("--out", type=Path, default=FILE, metavar="FILE.json", help="the JSON file")
    given = parser.parse_args()
    args = Args(given.env, given.players, tuple(given.rollout), given.runs)
    return speed.publish(lambda: run(args), given.out)


if __name__ == "__main__":
    sys.exit(main())
