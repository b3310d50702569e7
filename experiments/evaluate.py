"""How good is one agent: held against "random" and every rule bot of its game, each on the same deals.

Deals, seats, intervals and forfeits as in `tournament`. A row tells of the agent's games against that opponent: its
wins, its win rate, its mean return; only `rating` is the opponent's own.
"""

import dataclasses
import sys

import numpy as np

from flinchenv.agents.load import FAMILIES
from flinchenv.core.params import refuse, whole
from flinchenv.envs.setup import make_setup

from .tournament import (
    EVALUATION_SEED,
    Result,
    agent_lines,
    check_deals,
    fault_row,
    load_agents,
    play_pair,
    rate,
    seatings,
    side_row,
)


@dataclasses.dataclass(frozen=True)
class Args:
    """What an evaluation plays.

    Attributes:
        agent: a name, a path or an Agent object.
        env: an environment's id.
        games: games against each opponent, rounded up to whole seeds and at least two of them.
        seed: the first seed, 2**31 and up.
        rules: {field: value} laid over the id's preset.
        opponents: names, paths or Agent objects; None is "random" and every rule bot of the game, but for the agent.
        batch_size: games played at once; it changes memory and speed only.
    """

    agent: object
    env: str
    games: int = 10_000
    seed: int = EVALUATION_SEED
    rules: dict = dataclasses.field(default_factory=dict)
    opponents: tuple | None = None
    batch_size: int = 4096


def run(args, progress=None):
    """Play the agent against each opponent.

    Args:
        args: `Args`.
        progress: None, or called as progress(games done, games in all).

    Raises:
        ValueError: no opponents, no games, a training seed; an unknown id, rule or agent.
    """
    setup = make_setup(args.env, None, args.rules)
    opponents = rivals(setup, args.agent) if args.opponents is None else list(args.opponents)
    if not opponents:
        refuse("opponents", opponents, "one or more")
    num_seeds = check_deals(setup, args.games, args.seed)
    whole("batch_size", args.batch_size, 1, 2**20)
    (name, *names), (agent, *others) = load_agents([args.agent, *opponents], setup)
    games = num_seeds * len(seatings(setup.num_players))
    points = np.zeros((1 + len(others), 1 + len(others)))
    rows, forfeits = [], 0
    for k, other in enumerate(others):
        tell = None if progress is None else lambda done, k=k: progress(k * games + done, len(others) * games)
        pair = play_pair(setup, agent, other, num_seeds, args.seed, args.batch_size, tell)
        points[0, 1 + k], points[1 + k, 0] = (side.shares.sum() for side in pair.sides)
        rows.append({"name": names[k], **side_row([pair.sides[0]]), **fault_row([pair.faults[0]])})
        rows[-1]["opponent_forfeits"] = sum(pair.faults[1].values())
        forfeits += rows[-1]["forfeits"]
    met = np.zeros(points.shape, bool)
    met[0, 1:] = met[1:, 0] = True
    ratings = rate(points, met)
    for row, rating in zip(rows, ratings[1:]):
        row["rating"] = float(rating)
    data = {
        "env": setup.id,
        "players": setup.num_players,
        "agent": name,
        "rating": float(ratings[0]),
        "place": 1 + int((ratings[1:] > ratings[0]).sum()),
        "seeds": [args.seed, args.seed + num_seeds - 1],
        "forfeits": forfeits,
        "opponents": rows,
    }
    data["verdict"] = verdict(data)
    lines = [f"{data['env']}, {data['players']} players: {name} (rating {data['rating']:.0f}) against"]
    return Result(data, "\n".join([*lines, *agent_lines(rows, "opponent"), data["verdict"]]))


def evaluate(agent, env, **options):
    """The JSON contract of one agent in one environment; options as in `Args`."""
    return run(Args(agent, env, **options)).data


def main():
    """`flinchenv evaluate`, for `python -m flinchenv.experiments.evaluate`."""
    from flinchenv.cli import main as command

    sys.exit(command(["evaluate", *sys.argv[1:]]))


def rivals(setup, agent=None):
    """The names of "random" and of the game's rule bots, but for the agent's own."""
    family = FAMILIES.get(setup.game.name, {}).get("rule")
    own = ("rule", f"rule:{family.default}") if family and agent == "rule" else (agent,)
    names = ["random"] + [f"rule:{number}" for number in (family.numbers if family else ())]
    return [name for name in names if not (isinstance(agent, str) and name in own)]


def verdict(data):
    """One line in plain words."""
    parts = []
    for row in data["opponents"]:
        low, high = row["mean_return_ci95"]
        verb = "beats" if low > 0 else "loses to" if high < 0 else "is level with"
        paid = "mean return {:+.2f} [{:+.2f}, {:+.2f}]".format(row["mean_return"], *row["mean_return_ci95"])
        parts.append(f"{verb} {row['name']}: {paid}, win rate {row['win_rate']:.3f} over {row['games']:,} games")
    place = f"place {data['place']} of {len(data['opponents']) + 1}"
    return f"{data['agent']} in {data['env']} " + "; ".join(parts) + f"; {place}"


if __name__ == "__main__":
    main()
