"""Learn by TD(0) alone how few draws finish a row of Flash 10, as weights of an n-tuple network.

    python -m flinchenv.experiments.train_td --set env_id=flash10-round-v0
    python -m flinchenv.experiments.train_td flash10-td-4p

A run is a folder: `agent-<rounds>.safetensors` and `.json` (for `agents.load`), `curve.png` and `curve.json`. Equal
seeds give equal weights. What is learnt is the race to a row in order; points on the way and the others' rows are left
out.
"""

import dataclasses
import json
import pathlib
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot

from flinchenv.agents.checkpoint import TUPLES, make_card, save_checkpoint
from flinchenv.agents.flash10_tuples import TupleAgent, first_tuples, learn_alone
from flinchenv.agents.held_out import check_not_held_out
from flinchenv.agents.load import load
from flinchenv.core.params import check_rules, choice, flag, integer, kernel_params, refuse, rules_to_json
from flinchenv.envs.setup import make_setup

from .curve import measure
from .progress import Progress
from .settings import check_env_id, check_mapping, check_text, checked, command, real

CHUNK = 10_000  # rounds between two looks at the learning rate


@dataclasses.dataclass(frozen=True)
class Args:
    """All settings of a run; every field is checked when the object is made.

    Raises:
        RulesError: names the setting, the value and what is allowed.
    """

    trainer: str = choice("td", doc="this one")
    env_id: str = checked("flash10-round-v0", check_env_id, "an id of Flash 10", "the environment")
    rules: Mapping = checked({}, check_mapping, "rule overrides", "rules laid over the id's preset, say num_players")
    seed: int = integer(0, 0, 2**31 - 1, "of the deals")
    rounds: int = integer(2_000_000, 1, 10**9, "rounds to learn from, played alone; rounded up to whole 10,000s")
    learning_rate: float = real(0.003, 0, 1, "of each weight, falling linearly to a twentieth", above=True)
    run: str = checked(
        "", check_text, "a folder that can be written", "the run's folder; '' is runs/td-<env_id>-<seed>"
    )
    eval_against: str = checked("rule", check_text, "an agent's name", "whom the verdict is against; '' for no verdict")
    eval_games: int = integer(10_000, 2, 10**7, "games of the verdict")
    progress: bool = flag(True, "show how far the run is, on stderr")

    def __post_init__(self):
        check_rules(self)


class Result(NamedTuple):
    """What a run left.

    Attributes:
        run: its folder. checkpoint: the agent's weights, for `agents.load`. curve: the PNG.
        steps: cards laid. seconds: of learning. draws: mean draws of a round in the last tenth of it.
        verdict: what `curve.measure` returned, or None. env: the id.
    """

    run: str
    checkpoint: str
    steps: int
    seconds: float
    curve: str
    draws: float
    verdict: dict | None
    env: str


def learn(rules, seed, rounds, learning_rate, report=lambda done, draws: None):
    """The learnt weights, float32, and the mean draws of each chunk of rounds, float64 (rounds / 10,000,).

    Args:
        rules: a `Flash10Rules`; the row, the deck and what is in order are its own.
        report: called after each chunk with the rounds done and the chunk's mean draws.
    """
    alone = make_setup("flash10-v0", dataclasses.replace(rules, num_players=1, reward="points"))
    games, weights = alone.new_games(1), first_tuples(rules)
    games["rng"] = seed
    games["deck"][0, : rules.numbers + rules.thunders] = [*range(rules.numbers), *[100] * rules.thunders]
    params, chunks = kernel_params(alone.rules), -(-rounds // CHUNK)
    before, row, draws = np.zeros(rules.row_len, np.int64), np.zeros(rules.row_len, np.int64), np.zeros(chunks)
    for k in range(chunks):
        rate = np.float32(learning_rate * (1 - 0.95 * k / chunks))
        draws[k] = learn_alone(games, params, weights, rate, CHUNK, before, row) / CHUNK
        report((k + 1) * CHUNK, draws[k])
    return weights, draws


def run(args):
    """Learn as the settings say; Result.

    Raises:
        ValueError: refused settings, before any learning.
    """
    setup = make_setup(args.env_id, None, args.rules)
    if setup.game.name != "flash10":
        refuse("env_id", args.env_id, "an id of Flash 10")
    check_not_held_out("eval_against", args.eval_against)
    rival = load(args.eval_against, setup) if args.eval_against else None
    folder = pathlib.Path(args.run or f"runs/td-{args.env_id}-{args.seed}")
    folder.mkdir(parents=True, exist_ok=True)
    shown = Progress(-(-args.rounds // CHUNK) * CHUNK, 0, args.progress)
    began = time.monotonic()
    weights, draws = learn(
        setup.rules,
        args.seed,
        args.rounds,
        args.learning_rate,
        lambda done, mean: shown.update(done, f"{mean:.2f} draws a round"),
    )
    shown.close()
    seconds, rounds = round(time.monotonic() - began, 1), len(draws) * CHUNK
    training = {"trainer": "td", "settings": rules_to_json(args), "rounds": rounds, "seconds": seconds}
    path = folder / f"agent-{rounds}.safetensors"
    save_checkpoint(path, {TUPLES: weights}, make_card(setup, {"kind": TUPLES, "shape": list(weights.shape)}, training))
    curve = draw(draws, setup, folder)
    verdict = measure(TupleAgent(setup, weights), rival, setup, args.eval_games) if rival else None
    last = float(draws[-max(1, len(draws) // 10) :].mean())
    steps = round(float(draws.sum() * CHUNK))
    return Result(str(folder), str(path), steps, seconds, curve, round(last, 3), verdict, args.env_id)


def draw(draws, setup, folder):
    """Write curve.json and curve.png, mean draws over rounds; the PNG's path."""
    (folder / "curve.json").write_text(json.dumps([round(float(d), 3) for d in draws]) + "\n")
    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    axes.plot(np.arange(1, len(draws) + 1) * CHUNK, draws)
    axes.set(xlabel="rounds", ylabel="draws a round, alone", title=f"TD(0) on the rows of {setup.id}")
    figure.savefig(folder / "curve.png", dpi=120)
    pyplot.close(figure)
    return str(folder / "curve.png")


def main(argv=None):
    """The command line; see `settings.command`."""
    return command("train_td", Args, run, __doc__.split("\n")[0], argv)


if __name__ == "__main__":
    sys.exit(main())
