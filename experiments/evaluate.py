"""How good is one agent: its place on the ladder, by seat, by number of players, and against what nobody trains with.

**The ladder** is "random" and every rule bot of the game, each met on the same deals; more by `Args.ladder`. Deals,
seats, intervals and forfeits are those of `tournament`. A row tells of the agent's games against that opponent: its
wins, its win rate, its mean return; only `rating` is the opponent's own.
**Place.** One more than the opponents that score more than it does in their games. The best and the worst place that
the win rates' 95 % intervals allow stand beside it, each opponent's taken alone.
**Held out.** The same rows against the family "held_out", which trainers refuse; they count for no place and no rating.
**Exploitability** is exact, of the agent's `probs`, where the game is small enough; else null, with the reason.
"""

import dataclasses
import sys

import numpy as np

from flinchenv.agents.held_out import HELD_OUT
from flinchenv.agents.load import FAMILIES
from flinchenv.core.params import RulesError, refuse, whole
from flinchenv.envs.setup import make_setup

from .exploitability import SMALL, exploitability
from .ratings import openskill_rows, rate_pairs, rating_against
from .scores import ending_row, fault_row, side_row, win_interval
from .sequence_form import sequence_form
from .tables import evaluation_markdown, evaluation_table
from .tournament import (
    EVALUATION_SEED,
    Match,
    Result,
    check_deals,
    check_running,
    load_agents,
    play_match,
    write_markdown,
)

MAX_PLAYERS = 8
MOST_RUNGS = 16  # numbers of a family that all stand on the ladder; of a larger one its default does
LADDER = ("rule",)
ROUNDING = 1e-6  # of thirds of wins and the like, added up


@dataclasses.dataclass(frozen=True)
class Args:
    """What an evaluation plays.

    Attributes:
        agent: a name, a path or an Agent object.
        env: an environment's id.
        games: games against each opponent, rounded up to whole seeds and at least two of them.
        seed: the first seed, 2**31 and up.
        rules: {field: value} laid over the id's preset.
        opponents: names, paths or Agent objects; None is the ladder, but for the agent itself.
        batch_size, seconds, workers, ray, out, markdown: as in `tournament.Args`.
        ladder: words of families whose agents stand on the ladder, beside "random".
        players: numbers of players to play too, or "all" that the rules allow; each with as many games, and with a
            results file of its own, FILE-3p.json beside FILE.json, where there is one.
        held_out: whether to meet the held-out opponents.
        exact: whether to work out the exploitability.
    """

    agent: object
    env: str
    games: int = 10_000
    seed: int = EVALUATION_SEED
    rules: dict = dataclasses.field(default_factory=dict)
    opponents: tuple | None = None
    batch_size: int = 4096
    seconds: float = 0.0
    workers: int = 1
    ray: str | None = None
    out: str | None = None
    markdown: str | None = None
    ladder: tuple = LADDER
    players: tuple | str = ()
    held_out: bool = True
    exact: bool = True


def run(args, progress=None):
    """Play the agent against each opponent.

    Args:
        args: `Args`.
        progress: None, or called as progress(games done, games in all), anew for each number of players.

    Raises:
        ValueError: no opponents, no games, a training seed; an unknown id, rule, agent, family or number of players; a
            results file of other settings; all before anything is played.
    """
    match, num_rungs = prepare(args)
    setup, names, agents = match.setup, match.names, match.agents
    others = other_counts(setup, args)
    file, played = play_match(match, progress)
    ladder = {pair: games for pair, games in played.items() if pair[1] <= num_rungs}
    ratings, intervals = rate_pairs(ladder, 1 + num_rungs)
    skills = openskill_rows(setup, ladder, 1 + num_rungs)
    rows = []
    for (_, k), games in played.items():
        row = {"name": names[k], **side_row([games.sides[0]]), **fault_row([games.faults[0]])}
        row["opponent_forfeits"] = sum(games.faults[1].values())
        if k <= num_rungs:
            row |= {"rating": float(ratings[k]), "rating_ci95": intervals[k].tolist(), "openskill": skills[k]}
        else:
            row["rating"] = rating_against(float(ratings[0]), games)
        rows.append({**row, **ending_row(setup, [games])})
    rungs, held_out = rows[:num_rungs], rows[num_rungs:]
    data = {
        "env": setup.id,
        "players": setup.num_players,
        "agent": names[0],
        "rating": float(ratings[0]),
        "rating_ci95": intervals[0].tolist(),
        "openskill": skills[0],
        "place": 1 + sum(is_behind(games) for games in ladder.values()),
        "place_ci95": [1 + sum(row["ci95"][k] < 0.5 for row in rungs) for k in (1, 0)],
        "seeds": [args.seed, args.seed + match.num_seeds - 1],
        "seconds": args.seconds,
        "forfeits": sum(row["forfeits"] for row in rungs),
        "opponents": rungs,
        "held_out": held_out,
        "per_seat": own_seat_rows(ladder),
        **ending_row(setup, list(played.values())),
        **exact_row(setup, agents[0], args.exact),
    }
    data["per_players"] = sorted(
        [count_row(data, ladder), *(row_at(other, progress) for other in others)], key=lambda row: row["players"]
    )
    data["verdict"] = verdict(data)
    file.write(data)
    write_markdown(args.markdown, evaluation_markdown(data))
    return Result(data, evaluation_table(data))


def evaluate(agent, env, **options):
    """The JSON contract of one agent in one environment; options as in `Args`."""
    return run(Args(agent, env, **options)).data


def main():
    """`flinchenv evaluate`, for `python -m flinchenv.experiments.evaluate`."""
    from flinchenv.cli import main as command

    sys.exit(command(["evaluate", *sys.argv[1:]]))


def prepare(args):
    """(`Match`, how many of its opponents stand on the ladder), everything checked."""
    setup = make_setup(args.env, None, args.rules)
    opponents = rivals(setup, args.agent, args.ladder) if args.opponents is None else list(args.opponents)
    if not opponents:
        refuse("opponents", opponents, "one or more")
    num_seeds = check_deals(setup, args.games, args.seed)
    check_running(args)
    extra = [name for name in rungs_of(setup, HELD_OUT) if args.held_out and name not in (args.agent, *opponents)]
    names, agents = load_agents([args.agent, *opponents, *extra], setup)
    pairs = [(0, 1 + k) for k in range(len(agents) - 1)]
    return Match("evaluate", setup, names, agents, pairs, num_seeds, args), len(opponents)


def rivals(setup, agent=None, ladder=LADDER):
    """The names of "random" and of the ladder's families, but for the agent's own."""
    families = FAMILIES.get(setup.game.name, {})
    allowed = [word for word in families if word != HELD_OUT]
    if not isinstance(ladder, (list, tuple)) or not set(ladder) <= set(allowed):
        refuse("ladder", ladder, f"a list of families out of {', '.join(allowed)}")
    own = (agent, f"{agent}:{families[agent].default}") if agent in families else (agent,)
    names = ["random", *(name for word in dict.fromkeys(ladder) for name in rungs_of(setup, word))]
    return [name for name in names if not (isinstance(agent, str) and name in own)]


def rungs_of(setup, word):
    """The names of a family's agents, weakest first."""
    family = FAMILIES.get(setup.game.name, {}).get(word)
    numbers = family.numbers if family and len(family.numbers) <= MOST_RUNGS else [family.default] if family else []
    return [f"{word}:{number}" for number in numbers]


def is_behind(games):
    """Whether the first agent of a pair has scored less than the second."""
    own, other = (side.shares.sum() for side in games.sides)
    return bool(own < other - ROUNDING)


def own_seat_rows(ladder):
    """The agent's win rate in each seat, alone among its opponents, over all of them; equal agents win 1/P."""
    num_players = next(iter(ladder.values())).winners.shape[2]
    rows = []
    for seat in range(num_players):
        shares = np.stack([games.shares[:, seat, seat] for games in ladder.values()], 1)  # seating `seat` has it there
        rows.append(
            {"seat": seat, "games": shares.size, "win_rate": float(shares.mean()), "ci95": win_interval(shares)}
        )
    return rows


# --- Other numbers of players -----------------------------------------------------------------------------------------


def other_counts(setup, args):
    """`Args` for each other number of players that is asked for, without those that rules or agents cannot play."""
    counts, every = args.players, isinstance(args.players, str) and args.players == "all"
    if every:
        counts = range(2, MAX_PLAYERS + 1)
    elif not isinstance(counts, (list, tuple)):
        refuse("players", counts, f"'all', or a list of numbers in 2..{MAX_PLAYERS}")
    found = []
    for count in dict.fromkeys(counts):
        if whole("players", count, 2, MAX_PLAYERS) == setup.num_players:
            continue
        rules = {**args.rules, "num_players": int(count)}
        out = None if args.out is None else f"{str(args.out).removesuffix('.json')}-{count}p.json"
        other = dataclasses.replace(args, rules=rules, out=out, players=(), markdown=None, held_out=False, exact=False)
        try:
            prepare(other)
        except RulesError:
            if not every:
                raise
            continue
        found.append(other)
    return found


def row_at(args, progress):
    """The row of another number of players."""
    data = run(args, progress).data
    return data["per_players"][0]


def count_row(data, ladder):
    """One number of players: the agent over all opponents of the ladder, and its place; equal agents win one half."""
    sides = [games.sides[0] for games in ladder.values()]
    place = {key: data[key] for key in ("rating", "rating_ci95", "place", "place_ci95")}
    return {"players": data["players"], **side_row(sides), **place, "of": 1 + len(sides)}


# --- The verdict ------------------------------------------------------------------------------------------------------


def exact_row(setup, agent, asked):
    """{"exploitability": number or None, "exploitability_reason": why it is None, or None}."""
    if not asked:
        return {"exploitability": None, "exploitability_reason": "not asked for"}
    if not hasattr(agent, "probs"):
        return {"exploitability": None, "exploitability_reason": "the agent has no probs"}
    try:
        found = exploitability(setup, agent, sequence_form(setup, SMALL))
    except RulesError as error:
        return {"exploitability": None, "exploitability_reason": str(error)}
    return {"exploitability": float(found.exploitability), "exploitability_reason": None}


def verdict(data):
    """One line in plain words."""
    parts = []
    for row in data["opponents"]:
        low, high = row["mean_return_ci95"]
        verb = "beats" if low > 0 else "loses to" if high < 0 else "is level with"
        paid = "mean return {:+.2f} [{:+.2f}, {:+.2f}]".format(row["mean_return"], *row["mean_return_ci95"])
        parts.append(f"{verb} {row['name']}: {paid}, win rate {row['win_rate']:.3f} over {row['games']:,} games")
    place = "place {} of {} [{}, {}]".format(data["place"], len(data["opponents"]) + 1, *data["place_ci95"])
    return f"{data['agent']} in {data['env']} " + "; ".join(parts) + f"; {place}"


if __name__ == "__main__":
    main()
