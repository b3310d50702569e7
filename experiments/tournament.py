"""Who is stronger: a round robin over agents on the same deals, seats rotated, with intervals and ratings.

**Deals.** Every pair plays the same seeds, `Args.seed` and up; seeds start at 2**31, where nobody trains. Each seed is
played in all seatings of the pair: see `games`.
**Points of a game.** The win is shared: with k winners each gets 1/k, in a game without one every seat the same; a side
gets what its seats got. Equal agents thus have a win rate of 1/2 at any number of players. A game is won if all its
winners are of one side, drawn if both sides have some or nobody has won. A side's return is the mean over its seats.
**Intervals** are those of `scores`, **ratings** those of `ratings`.
**Forfeits.** An agent that raises, acts illegally or overruns `Args.seconds` in any of its seats ends that game, with
the returns that illegal_action="forfeit" pays, and its side has lost it; such games are counted by reason.
**Long runs.** With `Args.out` the games are kept in the results file, and the same call goes on where it was stopped.
Results depend neither on that nor on workers or the batch size, but for what overruns a limit on time.
"""

import dataclasses
import hashlib
import os
import sys
from typing import Any, NamedTuple

from flinchenv.agents.checkpoint import SUFFIXES, stem_of, write_whole
from flinchenv.agents.load import seated
from flinchenv.core.params import RulesError, refuse, rules_to_json, whole
from flinchenv.core.rng import MAX_SEED
from flinchenv.envs.setup import make_setup
from flinchenv.version import __version__

from .games import play_pair, seatings, seeds_at_once
from .ratings import openskill_rows, rate, rate_pairs, rated_games
from .results_file import ResultsFile, check_file
from .scores import difference_row, ending_row, fault_row, seat_rows, side_row, win_interval
from .tables import tournament_markdown, tournament_table
from .workers import Chunk, play_chunks

__all__ = [
    "EVALUATION_SEED",
    "Args",
    "Result",
    "main",
    "play_pair",
    "rate",
    "run",
    "seatings",
    "side_row",
    "win_interval",
]

EVALUATION_SEED = 2**31
MAX_WORKERS = 1024
MAX_SECONDS = 86_400
CHUNKS_A_WORKER = 4  # at least, so that none waits long for the last one


@dataclasses.dataclass(frozen=True)
class Args:
    """What a tournament plays.

    Attributes:
        env: an environment's id.
        agents: names, paths or Agent objects, at least two, each with a name of its own.
        games: games of each pair, rounded up to whole seeds and at least two of them.
        seed: the first seed, 2**31 and up.
        rules: {field: value} laid over the id's preset.
        batch_size: games played at once, in whole seeds; it changes memory and speed only.
        seconds: what an agent may take for a decision, 0 for no limit; see `games.play`.
        workers: processes that play; with more than one, agents must be picklable and functions of what they are asked.
        ray: the address of a Ray cluster that plays instead, as `ray.init` takes it.
        out: the results file, JSON; one with the same settings is gone on with, "games" may have grown.
        plot: STEM of STEM-heat.svg, STEM-heat.png, STEM-ratings.svg and STEM-ratings.png.
        markdown: a file for the tables.
    """

    env: str
    agents: tuple
    games: int = 1000
    seed: int = EVALUATION_SEED
    rules: dict = dataclasses.field(default_factory=dict)
    batch_size: int = 4096
    seconds: float = 0.0
    workers: int = 1
    ray: str | None = None
    out: str | None = None
    plot: str | None = None
    markdown: str | None = None


class Result(NamedTuple):
    """`data` is the JSON contract; `text` the table."""

    data: dict
    text: str


class Match(NamedTuple):
    """What is played: everything checked and loaded.

    Attributes:
        kind: the command. setup, names, agents: who plays what.
        pairs: [(a, b), ...], indices of agents. num_seeds: of every pair. args: `Args`, or those of `evaluate`.
    """

    kind: str
    setup: Any
    names: list
    agents: list
    pairs: list
    num_seeds: int
    args: Any

    @property
    def seatings(self):
        return len(seatings(self.setup.num_players))

    @property
    def settings(self):
        """What decides the games, as JSON."""
        setup, args = self.setup, self.args
        return {
            "command": self.kind,
            "env": setup.id,
            "game_version": setup.game.version,
            "flinchenv": __version__,
            "rules": rules_to_json(setup.rules),
            "agents": self.names,
            "checkpoints": {name: sums for name in self.names if (sums := _file_sums(name))},
            "games": self.num_seeds * self.seatings,
            "seed": args.seed,
            "seconds": args.seconds,
        }


def run(args, progress=None):
    """Play every pair.

    Args:
        args: `Args`.
        progress: None, or called as progress(games done, games in all).

    Raises:
        ValueError: one agent, two of one name, no games, a training seed; an unknown id, rule or agent; a results file
            of other settings; whatever else is refused, before anything is played.
    """
    setup = make_setup(args.env, None, args.rules)
    if not isinstance(args.agents, (list, tuple)) or len(args.agents) < 2:
        refuse("agents", args.agents, "two or more")
    num_seeds = check_deals(setup, args.games, args.seed)
    names, agents = load_agents(args.agents, setup)
    check_running(args)
    check_file("plot", args.plot)
    if args.plot is not None:
        from .tournament_plot import draw_tournament  # now, since matplotlib may be missing
    pairs = [(a, b) for a in range(len(agents)) for b in range(a + 1, len(agents))]
    match = Match("tournament", setup, names, agents, pairs, num_seeds, args)
    file, played = play_match(match, progress)
    sides = {pair: games.sides for pair, games in played.items()}
    ratings, intervals = rate_pairs(played, len(agents))
    skills = openskill_rows(setup, played, len(agents))
    rows = []
    for i, name in enumerate(names):
        mine = [(pair, pair.index(i)) for pair in pairs if i in pair]
        rows.append(
            {
                "name": name,
                **side_row([sides[pair][k] for pair, k in mine]),
                "rating": float(ratings[i]),
                "rating_ci95": intervals[i].tolist(),
                "openskill": skills[i],
                **fault_row([played[pair].faults[k] for pair, k in mine]),
                **ending_row(setup, [played[pair] for pair, _ in mine]),
            }
        )
    rows.sort(key=lambda row: -row["rating"])
    data = {
        "env": setup.id,
        "players": setup.num_players,
        "games": num_seeds * match.seatings * len(pairs),
        "games_per_pair": num_seeds * match.seatings,
        "seeds": [args.seed, args.seed + num_seeds - 1],
        "seconds": args.seconds,
        "agents": rows,
        "pairs": [
            {
                "a": names[a],
                "b": names[b],
                **side_row(sides[a, b][:1]),
                "mean_return_b": float(sides[a, b][1].returns.mean()),
                **difference_row(sides[a, b]),
                "forfeits": [sum(games.faults[0].values()), sum(games.faults[1].values())],
                **ending_row(setup, [games]),
            }
            for (a, b), games in played.items()
        ],
        "seats": seat_rows(sum(games.shares for games in played.values()) / len(pairs)),
        **ending_row(setup, list(played.values())),
        "openskill_games": rated_games(played),
    }
    file.write(data)
    if args.plot is not None:
        draw_tournament(data, args.plot)
    write_markdown(args.markdown, tournament_markdown(data))
    return Result(data, tournament_table(data))


def main():
    """`flinchenv tournament`, for `python -m flinchenv.experiments.tournament`."""
    from flinchenv.cli import main as command

    sys.exit(command(["tournament", *sys.argv[1:]]))


def load_agents(given, setup):
    """(names, agents) of names, paths and Agent objects.

    Raises:
        RulesError: an agent that cannot be loaded, or two of one name.
    """
    names, agents = [], []
    for one in given:
        named = isinstance(one, (str, os.PathLike))
        name = os.fspath(one) if named else getattr(one, "name", None)
        if not named and not (isinstance(name, str) and callable(getattr(one, "act", None))):
            refuse("agents", one, "names, paths, or objects with `name` and `act`")
        if name in names:
            refuse("agents", name, "each name once")
        try:
            agents.append(seated(one, setup))
        except RulesError:
            raise
        except ValueError as error:
            raise RulesError(str(error)) from error
        names.append(name)
    return names, agents


def check_deals(setup, games, seed):
    """The number of seeds for `games` games a pair."""
    if setup.num_players < 2:
        refuse("num_players", setup.num_players, "2 or more: agents are compared by the games in which they meet")
    whole("games", games, 1, 10**9)
    num_seeds = max(2, -(-games // len(seatings(setup.num_players))))
    whole("seed", seed, EVALUATION_SEED, MAX_SEED - num_seeds)
    return num_seeds


def check_running(args):
    """Refuse bad settings of how games are run and where results go."""
    whole("batch_size", args.batch_size, 1, 2**20)
    whole("workers", args.workers, 1, MAX_WORKERS)
    seconds = args.seconds
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= MAX_SECONDS:
        refuse("seconds", seconds, f"a number in 0..{MAX_SECONDS}, 0 for no limit")
    if args.ray is not None and (not isinstance(args.ray, str) or not args.ray):
        refuse("ray", args.ray, "the address of a Ray cluster")
    if args.ray is not None and args.workers > 1:
        refuse("workers", args.workers, "1 with a Ray cluster, whose processors are the workers")
    check_file("markdown", args.markdown)


def play_match(match, progress=None):
    """(the `ResultsFile`, {pair of indices: `Games`}) of all pairs, those games left out that the file has already."""
    setup, args, names = match.setup, match.args, match.names
    by_name = {(names[a], names[b]): (a, b) for a, b in match.pairs}
    file = ResultsFile(args.out, match.settings, list(by_name), match.num_seeds, setup.num_players)
    total = len(match.pairs) * match.num_seeds
    most = seeds_at_once(args.batch_size, setup.num_players)
    if args.workers > 1:
        most = min(most, -(-total // (CHUNKS_A_WORKER * args.workers)))
    chunks = [
        Chunk(by_name[pair], args.seed + start, count)
        for pair, games in file.pairs.items()
        for start, count in games.missing(most)
    ]
    done = total - sum(chunk.count for chunk in chunks)
    try:
        for chunk, games in play_chunks(setup, names, match.agents, chunks, args.seconds, args.workers, args.ray):
            a, b = chunk.pair
            file.add((names[a], names[b]), chunk.first - args.seed, games)
            done += chunk.count
            if progress is not None:
                progress(done * match.seatings, total * match.seatings)
    except BaseException:
        file.write()
        raise
    return file, {by_name[pair]: games.games for pair, games in file.pairs.items()}


def write_markdown(path, text):
    """Put the text at the path, if there is one."""
    if path is not None:
        write_whole(path, text.encode())


def _file_sums(name):
    """The sha256 of a checkpoint's two files, or None where the name means none."""
    files = [stem_of(name) + suffix for suffix in SUFFIXES]
    if not all(os.path.isfile(file) for file in files):
        return None
    sums = []
    for file in files:
        with open(file, "rb") as stream:
            sums.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return sums


if __name__ == "__main__":
    main()
