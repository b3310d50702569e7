"""How near self-play comes to an equilibrium of a hand of Flip It: PPO by seed, its last policy and its average.

Run it as `python benchmarks/flip_it_ppo.py`; it trains the shipped config, prints the table and writes
docs/results/flip_it_ppo.json. The answers are exact: `flinchenv exploitability`.
"""

import argparse
import json
import time
from pathlib import Path

from flinchenv.experiments import exploitability, train

CONFIG = "flip_it-hand-ppo"
SEEDS = 3
FILE = Path(__file__).parent.parent / "docs" / "results" / "flip_it_ppo.json"


def run(seed, folder):
    """Train with one seed; the row of the table."""
    began = time.process_time()
    trainer, settings = train.read(CONFIG, [f"seed={seed}", f"run={folder}/{seed}"])
    trained = trainer.run(settings)
    cpu = time.process_time() - began
    data = exploitability.run(exploitability.Args(settings.env_id, (trained.run,), rules=settings.rules)).data
    alone = [row["exploitability"] for row in data["agents"]]
    return {
        "seed": seed,
        "steps": trained.steps,
        "minutes": trained.seconds / 60,
        "cpu_minutes": cpu / 60,
        "policies": len(alone),
        "average": data["exploitability"],
        "last": alone[-1],
        "lowest": min(alone),
        "highest": max(alone),
    }


def table(rows):
    """A Markdown table."""
    lines = [
        "| seed | steps | minutes | of the processor | average | last policy | those averaged, one by one |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['seed']} | {row['steps']:,} | {row['minutes']:.1f} | {row['cpu_minutes']:.1f} | "
            f"{row['average']:.3f} | {row['last']:.3f} | {row['policies']}: {row['lowest']:.3f}-{row['highest']:.3f} |"
        )
    return "\n".join(lines)


def main():
    """Train, print the table and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many, from 0 on ({SEEDS})")
    parser.add_argument("--runs", default=f"runs/{CONFIG}", help="where the runs' folders go, one a seed")
    parser.add_argument("--out", type=Path, default=FILE, help="the JSON file")
    options = parser.parse_args()
    rows = [run(seed, options.runs) for seed in range(options.seeds)]
    print(table(rows))
    options.out.write_text(json.dumps({"config": CONFIG, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
