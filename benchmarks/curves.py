"""How training goes from several seeds: a shipped config trained with each of them, its curves, steps and minutes.

    python benchmarks/curves.py flip_it-ppo
    python benchmarks/curves.py flinch-ppo --seeds 3 --set total_steps=2000000

Runs go on where they were broken off. Writes docs/results/curves/CONFIG.json and CONFIG.png.
"""

import argparse
import json
from pathlib import Path

from flinchenv.core.params import refuse, whole
from flinchenv.experiments import train
from flinchenv.experiments.curve import draw_seeds
from flinchenv.experiments.speed import facts

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "results" / "curves"
SEEDS = 3


def run(config, seeds=SEEDS, overrides=(), runs=None):
    """Train every seed, or go on with it; {"config", "overrides", "facts", "rows"}.

    Args:
        config: a config's name or file. seeds: how many, from 0 on, 1..100.
        overrides: ("key=value", ...). runs: the folder of the runs, one a seed; None is runs/<config>.

    Raises:
        ValueError: refused settings, or a trainer without curves of play.
    """
    whole("seeds", seeds, 1, 100)
    stem = Path(config).stem
    rows = []
    for seed in range(seeds):
        folder = Path(runs or f"runs/{stem}") / str(seed)
        wanted = [*overrides, f"seed={seed}", f"run={folder}"]
        trainer, args = train.read(config, wanted)
        if not hasattr(args, "resume"):
            refuse("config", config, "one whose trainer draws a curve of play: maskable_ppo or ppo")
        trained = trainer.run(train.read(config, [*wanted, "resume=true"])[1])
        curve = json.loads(Path(trained.run, "curve.json").read_text())
        rows.append({"seed": seed, "steps": trained.steps, "minutes": trained.seconds / 60, "curve": curve})
    return {"config": stem, "overrides": list(overrides), "facts": facts(), "rows": rows}


def table(data):
    """The runs' ends as a Markdown table."""
    opponents = list(data["rows"][0]["curve"][-1]["against"])
    lines = ["| seed | steps | minutes | " + " | ".join(f"against {name}" for name in opponents) + " |"]
    lines += ["|" + "---|" * (3 + len(opponents))]
    for row in data["rows"]:
        last = [row["curve"][-1]["against"][name] for name in opponents]
        rates = [f"{end['win_rate']:.3f} [{end['ci95'][0]:.3f}, {end['ci95'][1]:.3f}]" for end in last]
        lines.append(f"| {row['seed']} | {row['steps']:,} | {row['minutes']:.1f} | " + " | ".join(rates) + " |")
    return "\n".join(lines)


def main():
    """Train, print the table and write both files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("config", help="a TOML file, or the name of one in flinchenv.configs")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many, from 0 on ({SEEDS})")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a setting; repeatable")
    parser.add_argument("--runs", help="where the runs' folders go, one a seed (runs/CONFIG)")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder of the JSON file and the picture")
    options = parser.parse_args()
    data = run(options.config, options.seeds, options.set, options.runs)
    print(table(data))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{data['config']}.json").write_text(json.dumps(data, indent=1) + "\n")
    curves = {row["seed"]: row["curve"] for row in data["rows"]}
    draw_seeds(curves, data["config"], options.out / f"{data['config']}.png")


if __name__ == "__main__":
    main()
