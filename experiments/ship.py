"""Make a trained agent one that everybody has: measure it and put it, without its value network, into the package.

Networks are kept, and measured, in half precision.

    python -m flinchenv.experiments.ship runs/flinch-ppo/agent-10000000 flinch-2p

`load("flinch-2p", env)` then plays it, without torch. Its card keeps the training command, the steps, the minutes and
what the evaluation said.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys
import tempfile
from typing import NamedTuple

from flinchenv.agents.checkpoint import load_checkpoint, make_card, save_checkpoint
from flinchenv.agents.load import load
from flinchenv.agents.shipped import FOLDER
from flinchenv.core.params import refuse, rules_to_json
from flinchenv.envs.setup import make_setup

from .evaluate import evaluate
from .train import TRAINERS, read

OWN = ("run", "resume", "progress")  # settings that say nothing of the agent


@dataclasses.dataclass(frozen=True)
class Args:
    """What is shipped.

    Attributes:
        agent: the path of a checkpoint that a trainer wrote.
        name: what `load` is to call it: letters, digits, "-" and "_".
        games: games of the evaluation against each opponent.
        folder: where it goes; the package's own.
    """

    agent: str
    name: str
    games: int = 4000
    folder: str = str(FOLDER)


class Result(NamedTuple):
    """`data`: {"name", "checkpoint", "bytes", "rating", "place", "opponents"}."""

    data: dict


def run(args):
    """Measure and write it.

    Raises:
        ValueError: no such checkpoint, or a name that is none.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w-]*", args.name):
        refuse("name", args.name, "letters, digits, '-' and '_'")
    tensors, card = load_checkpoint(args.agent)
    setup = make_setup(card["env"], card["rules"])
    policy = {name: tensor for name, tensor in tensors.items() if not name.startswith("value.")}
    half = "kind" not in card["network"]
    with tempfile.TemporaryDirectory() as folder:  # what is measured is what will be there
        measured = pathlib.Path(folder) / args.name
        save_checkpoint(measured, policy, card, half)
        agent = load(measured, setup)
    verdict = evaluate(agent, card["env"], rules=card["rules"], games=args.games, held_out=False)
    training = card["training"]
    rows = [{key: row[key] for key in ("name", "games", "win_rate", "ci95")} for row in verdict["opponents"]]
    facts = {
        **effort(training),
        "rating": round(verdict["rating"], 1),
        "place": verdict["place"],
        "opponents": rows,
        "settings": told(training["settings"]),
    }
    path = pathlib.Path(args.folder) / args.name
    save_checkpoint(path, policy, make_card(setup, card["network"], facts), half)
    size = sum(file.stat().st_size for file in path.parent.glob(f"{args.name}.*"))
    shown = {key: facts[key] for key in ("rating", "place", "opponents")}
    return Result({"name": args.name, "checkpoint": str(path), "bytes": size, **shown})


def effort(training):
    """{"command", "steps", "minutes"} of a card's training, and the same of what it had "begun_with"."""
    if "command" in training:  # of an agent of the package
        return {key: training[key] for key in ("command", "steps", "minutes", "begun_with") if key in training}
    facts = {
        "command": command_of(training["settings"]),
        "steps": training.get("steps", training.get("rounds")),
        "minutes": round(training["seconds"] / 60, 1) if "seconds" in training else training["minutes"],
    }
    begun_with = training.get("begun_with")
    if begun_with:
        others = {key: value for key, value in begun_with.items() if key != "training"}
        facts["begun_with"] = others | effort(begun_with["training"])
    return facts


def told(settings):
    """The settings that say something of the agent; of the one it began with the file's name, not its folder."""
    return {
        key: pathlib.Path(value).name if key == "start" else value for key, value in settings.items() if key not in OWN
    }


def command_of(settings):
    """The command that trains with these settings, those that are the trainer's defaults left out."""
    _, args = read(None, [f"trainer={settings['trainer']}"])
    usual = rules_to_json(args)
    changed = [f"{key}={_toml(value)}" for key, value in told(settings).items() if value != usual[key]]
    words = " ".join(f"--set '{text}'" for text in changed)
    return f"python -m flinchenv.experiments.{TRAINERS[settings['trainer']]} {words}".strip()


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


def main(argv=None):
    """The command line; the exit code: 0, or 2 for what is refused."""
    parser = argparse.ArgumentParser(prog="python -m flinchenv.experiments.ship", description=__doc__.split("\n")[0])
    parser.add_argument("agent", help="the path of a checkpoint that a trainer wrote")
    parser.add_argument("name", help="what load() is to call it")
    parser.add_argument("--games", type=int, default=Args.games, help="games against each opponent")
    parser.add_argument("--folder", default=Args.folder, help="where it goes")
    given = parser.parse_args(argv)
    try:
        result = run(Args(**vars(given)))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(result.data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
