"""How fair the seats of Flinch are: each seat's share of wins among equal players, greedy and random, with intervals.

Run it as `python benchmarks/flinch_seats.py`; it prints the table and writes docs/results/flinch_seats.json. Every
started game counts; games without a winner (FA13) are nobody's win and are told beside. Packs are by the default rule.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

import flinchenv
from flinchenv.agents.flinch_policies import greedy_policy
from flinchenv.core.params import whole
from flinchenv.experiments.tournament import EVALUATION_SEED, win_interval

POLICIES = {"greedy": greedy_policy, "random": "random"}
BATCH = 10_000  # games played at once
FILE = Path(__file__).parent.parent / "docs" / "results" / "flinch_seats.json"


@dataclasses.dataclass(frozen=True)
class Args:
    """What is played.

    Attributes:
        games: games of each number of players and each policy.
        seed: the first seed.
        players: numbers of players.
    """

    games: int = 200_000
    seed: int = EVALUATION_SEED
    players: tuple = (2, 3, 4, 5, 6, 7, 8)


class Result(NamedTuple):
    """`data` is the JSON contract; `text` the table."""

    data: dict
    text: str


def run(args, progress=None):
    """Play all games.

    Args:
        args: `Args`.
        progress: None, or called as progress(rows done, rows in all).

    Raises:
        ValueError: a number out of its range.
    """
    whole("games", args.games, 2, 10**9)
    tasks = [(n, name) for n in args.players for name in POLICIES]
    rows = []
    for n, name in tasks:
        won = wins(n, POLICIES[name], args.games, args.seed)
        rows.append(
            {
                "players": n,
                "policy": name,
                "no_winner": float(1 - won.sum(1).mean()),
                "seats": [
                    {"seat": p, "win_rate": float(won[:, p].mean()), "ci95": win_interval(won[:, p : p + 1])}
                    for p in range(n)
                ],
            }
        )
        if progress is not None:
            progress(len(rows), len(tasks))
    data = {"env": "flinch-v0", "games": args.games, "seeds": [args.seed, args.seed + args.games - 1], "rows": rows}
    return Result(data, table(data))


def wins(num_players, policy, games, seed):
    """Who won, float64 (games, P)."""
    parts = []
    for start in range(0, games, BATCH):
        env = flinchenv.make("flinch-v0", "vector", num_envs=min(BATCH, games - start), num_players=num_players)
        env.reset(seed=seed + start)
        parts.append(env.rollout(policy, seed=seed + start).returns > 0)
    return np.concatenate(parts).astype(float)


def table(data):
    """The rows as text: percent by seat, half the width of the widest interval, games without a winner."""
    lines = [
        f"{data['env']}: {data['games']:,} games a row; wins by seat in percent",
        f"{'players':<8} {'policy':<7} {'no winner':>9}  {'+-':>4}  seats",
    ]
    for row in data["rows"]:
        shares = " ".join(f"{100 * seat['win_rate']:6.2f}" for seat in row["seats"])
        half = max(high - low for low, high in (seat["ci95"] for seat in row["seats"])) / 2
        lines.append(
            f"{row['players']:<8} {row['policy']:<7} {100 * row['no_winner']:>9.2f}  {100 * half:>4.2f} {shares}"
        )
    return "\n".join(lines)


def main():
    """Play, print the table and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=Args.games, help="games of each row")
    parser.add_argument("--seed", type=int, default=Args.seed, help="the first seed")
    parser.add_argument("--out", type=Path, default=FILE, help="the JSON file")
    options = parser.parse_args()
    result = run(Args(options.games, options.seed), lambda done, of: print(f"row {done} of {of}", flush=True))
    print(result.text)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result.data, indent=1) + "\n")


if __name__ == "__main__":
    main()
