"""Flinch held against what a user would otherwise take, in turn, in one call: ratios of decisions a second.

    python -m venv benchmarks/.peers
    benchmarks/.peers/bin/pip install open_spiel rlcard "pettingzoo[classic]" envpool pgx "jax[cpu]"
    python benchmarks/peers.py

A peer runs in that interpreter of its own (`--python PATH` for another place) and is measured by peer_worker.py on
request, so that its runs and ours take turns and other work on the machine slows both alike. Both sides play random
legal actions that are drawn outside the timed part; OpenSpiel's state loop draws its chance nodes inside it, as they
deal the cards. Both run on the same one core where the system can pin processes. A decision is a seat asked with at
least two legal ids. No peer has these games: what an observation holds and how long a game is stands beside each ratio.
"""

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import flinchenv
from flinchenv.core.params import refuse, whole
from flinchenv.envs.aec import AECGame, RawAECGame
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import speed

HERE = Path(__file__).resolve().parent
PYTHON = HERE / ".peers" / "bin" / "python"
FILE = HERE.parent / "docs" / "results" / "speed_peers.json"


class Peer(NamedTuple):
    """One row.

    Attributes:
        kind: a function of peer_worker.py. game: what it opens. batch: its games a call.
        api: what of ours it is held against. num_envs: our games a call.
        at_least: the ratio that is asked for, or None.
    """

    kind: str
    game: str
    batch: int
    api: str
    num_envs: int
    at_least: float | None = None


PEERS = (
    Peer("pgx", "leduc_holdem", 1024, "vector", 1024, 6),
    Peer("envpool", "LeducHoldem-v1", 1024, "vector", 1024, 30),
    Peer("openspiel_rl", "leduc_poker", 1, "vector", 1024, 100),
    Peer("rlcard", "uno", 1, "vector", 1024, 100),
    Peer("pettingzoo", "leduc_holdem_v4:raw_env", 1, "raw_env", 1, 5),
    Peer("pettingzoo", "leduc_holdem_v4:env", 1, "env", 1),
    Peer("rlcard", "leduc-holdem", 1, "raw_env", 1),
    Peer("rlcard", "uno", 1, "raw_env", 1),
    Peer("openspiel_rl", "leduc_poker", 1, "raw_env", 1),
    Peer("openspiel_rl", "crazy_eights", 1, "raw_env", 1),
    Peer("openspiel_state", "leduc_poker", 1, "raw_env", 1),
    Peer("openspiel_state", "crazy_eights", 1, "raw_env", 1),
    *(Peer("envpool", "LeducHoldem-v1", n, "vector", n) for n in (1, 64, 8192)),
    *(Peer("pgx", "leduc_holdem", n, "vector", n) for n in (1, 64, 8192)),
)


@dataclasses.dataclass(frozen=True)
class Args:
    """What is measured.

    Attributes:
        python: the peers' interpreter.
        env, rules: our side, an id and {field: value} laid over it.
        runs: runs of each side, 1..100. seconds: about how long a run takes, 0.01..60.
        only: a part of the kinds or games that are measured; "" for all.
        pin: whether both sides are kept on one core.
    """

    python: str = str(PYTHON)
    env: str = "flinch-v0"
    rules: dict = dataclasses.field(default_factory=lambda: {"num_players": 4})
    runs: int = 7
    seconds: float = 0.5
    only: str = ""
    pin: bool = True


class Result(NamedTuple):
    """`data` is {"settings", "ours", "rows"}; `text` the Markdown page."""

    data: dict
    text: str


class Worker:
    """A peer's process; `facts` is what it said first, `measure` what `speed.alternate` calls."""

    def __init__(self, python, peer):
        command = [python, HERE / "peer_worker.py", peer.kind, peer.game, str(peer.batch)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.decisions = self.games = 0
        try:
            self.facts = self._answer()
        except RuntimeError as error:
            self.facts = {"failed": str(error)}

    @property
    def works(self):
        """Whether the peer can be measured."""
        return "missing" not in self.facts and "failed" not in self.facts

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with code {self._process.wait()}")
        return json.loads(line)

    def measure(self, seconds):
        """(decisions, seconds spent)."""
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        answer = self._answer()
        self.decisions += answer["decisions"]
        self.games += answer["games"]
        return answer["decisions"], answer["seconds"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def run(args, progress=None):
    """Measure every pair.

    Args:
        args: `Args`.
        progress: None, or called as progress(rows done, rows in all).

    Raises:
        ValueError: a refused number, id or rule, `only` without a match, or no such interpreter.
    """
    setup = make_setup(args.env, None, args.rules)
    whole("runs", args.runs, 1, 100)
    if isinstance(args.seconds, bool) or not 0.01 <= args.seconds <= 60:
        refuse("seconds", args.seconds, "a number in 0.01..60")
    peers = [peer for peer in PEERS if args.only in f"{peer.kind} {peer.game}"]
    if not peers:
        refuse("only", args.only, "a part of one of " + ", ".join(f"{peer.kind} {peer.game}" for peer in PEERS))
    if shutil.which(args.python) is None:
        refuse("python", args.python, "an interpreter that has the peers; the head of peers.py says how to make one")
    cores = os.sched_getaffinity(0) if args.pin and hasattr(os, "sched_setaffinity") else None
    if cores:
        os.sched_setaffinity(0, {max(cores)})
    try:
        rows = []
        for peer in peers:
            rows.append(peer._asdict() | compare(args, setup, peer) | {"load": os.getloadavg()[0]})
            if progress is not None:
                progress(len(rows), len(peers))
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
    ours = {
        "id": setup.id,
        "players": setup.num_players,
        "observation_bytes": setup.layout.size,
        "mask_width": setup.num_actions,
        "decisions_a_game": decisions_a_game(setup),
    }
    settings = speed.facts() | {"runs": args.runs, "seconds": args.seconds, "pinned": bool(cores)}
    data = {"settings": settings, "ours": ours, "rows": rows}
    return Result(data, page(data))


def compare(args, setup, peer):
    """One pair: both rates and their ratio, run by run.

    {"missing": why} where the peer is not installed, {"failed": why} where its process ended too early.
    """
    with Worker(args.python, peer) as worker:
        if not worker.works:
            return worker.facts
        sides = {"ours": our_measure(setup, peer), "theirs": worker.measure}
        try:
            rates = speed.alternate(sides, args.runs, args.seconds)
        except RuntimeError as error:
            return {"failed": str(error)}
        ratio = speed.spread([a / b for a, b in zip(rates["ours"], rates["theirs"])])
        row = worker.facts | {side: speed.spread(values) for side, values in rates.items()} | {"ratio": ratio}
        row["decisions_a_game"] = worker.decisions / worker.games if worker.games else None
        return row | {"holds": None if peer.at_least is None else ratio["median"] >= peer.at_least}


def our_measure(setup, peer):
    """What the peer is held against."""
    if peer.api == "vector":
        return speed.vector_rate(setup, peer.num_envs)
    return speed.aec_rate({"raw_env": RawAECGame, "env": AECGame}[peer.api](setup))


def decisions_a_game(setup):
    """Mean decisions of a game of random players, all seats together."""
    env = flinchenv.make(setup.id, "vector", rules=setup.rules, num_envs=256, max_steps=100_000)
    env.reset(seed=0)
    return float(env.rollout("random").decisions.mean())


def page(data):
    """The Markdown page."""
    settings, ours, rows = data["settings"], data["ours"], data["rows"]
    machine, loads = settings["machine"], [row["load"] for row in rows]
    head = (
        f"`python benchmarks/peers.py` makes this page and the JSON beside it. {machine['processor']}, "
        f"{machine['cores']} cores, {machine['system']}; commit {settings['commit']}; load average "
        f"{min(loads):.1f}-{max(loads):.1f} while it ran. Ours: {ours['id']}, {ours['players']} players, observation "
        f"{ours['observation_bytes']} bytes, mask {ours['mask_width']} wide, {ours['decisions_a_game']:.0f} decisions a"
        f" game. Both sides in turn, {settings['runs']} runs of {settings['seconds']} s each, "
        f"{'on the same one core' if settings['pinned'] else 'not pinned to a core'}; medians, and the lowest and "
        "highest ratio of a pair of runs. Random legal actions are drawn outside the timed part. Observation and mask "
        "are the peer's, for one seat; games are the peer's own, far smaller ones."
    )
    lines = ["peer|its game|games a call|observation bytes|mask|decisions a game|decisions/s|ours|ratio|asked|holds"]
    lines.append("|".join(["---"] * 11))
    for row in rows:
        name = f"{row['kind'].split('_')[0]} {row.get('version', '')}".strip()
        how = {"openspiel_rl": ", rl_environment", "openspiel_state": ", state loop"}.get(row["kind"], "")
        start = f"{name}{how}|{row['game']}|{row['batch']:,}"
        if "ratio" not in row:
            why = f"not installed: {row['missing']}" if "missing" in row else f"failed: {row['failed']}"
            lines.append(f"{start}|-|-|-|-|-|{why.replace('|', ' ')}|-|-")
            continue
        ratio, length = row["ratio"], row["decisions_a_game"]
        mine = f"`{row['api']}`" + (f", {row['num_envs']:,}" if row["api"] == "vector" else "")
        verdict = {True: "yes", False: "no", None: "-"}[row["holds"]]
        lines.append(
            f"{start}|{row['observation_bytes']}|{row['mask_width']}|{'-' if length is None else f'{length:.1f}'}"
            f"|{row['theirs']['median']:,.0f}|{mine}: {row['ours']['median']:,.0f}"
            f"|{ratio['median']:.3g} ({ratio['low']:.3g}-{ratio['high']:.3g})|{row['at_least'] or '-'}|{verdict}"
        )
    return "\n".join(["# Speed against other libraries", "", head, "", *(f"|{line}|" for line in lines)]) + "\n"


def main():
    """Measure, print the page and write both files; the exit code, 2 for refused settings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=Args.python, metavar="PATH", help="the peers' interpreter")
    parser.add_argument("--runs", type=int, default=Args.runs, help="runs of each side (7)")
    parser.add_argument("--seconds", type=float, default=Args.seconds, help="about how long a run takes (0.5)")
    parser.add_argument("--only", default="", metavar="PART", help="measure kinds or games with this part alone")
    parser.add_argument("--no-pin", action="store_true", help="leave the cores to the system")
    parser.add_argument("--out", type=Path, default=FILE, metavar="FILE.json", help="the JSON file")
    given = parser.parse_args()
    args = Args(given.python, runs=given.runs, seconds=given.seconds, only=given.only, pin=not given.no_pin)
    return speed.publish(lambda: run(args, lambda done, of: print(f"{done}/{of}", flush=True)), given.out)


if __name__ == "__main__":
    sys.exit(main())
