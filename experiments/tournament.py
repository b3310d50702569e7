"""Who is stronger: a round robin over agents on the same deals, seats rotated, with intervals and a rating.

**Deals.** Every pair plays the same seeds, `Args.seed` and up; seeds start at 2**31, where nobody trains.
**Seats.** A seed is played once for each way of seating the pair: one A among B's in every seat and, with more than two
players, one B among A's in every seat. So each side sits everywhere equally often.
**Points of a game.** The win is shared: with k winners each gets 1/k, in a game without one every seat the same; a side
gets what its seats got. Equal agents thus have a win rate of 1/2 at any number of players. A game is won if all its
winners are of one side, drawn if both sides have some or nobody has won. A side's return is the mean over its seats.
**Luck.** An agent draws from a stream keyed by (seed, seating, seat); results do not depend on the batch size.
**Intervals.** 95 %; games of one seed are not independent, seeds are. Mean returns: normal over seeds. Win rates:
Wilson at the number of games that would be as uncertain as the seeds are, at most the number of games played.
**Rating.** Bradley-Terry by maximum likelihood on the Elo scale (400 points: ten to one), mean 1500; every pair gets
one drawn game more, so that ratings stay finite.
**Forfeits.** An agent that raises or acts illegally in any of its seats ends that game, with the returns that
illegal_action="forfeit" pays, and its side has lost it; such games are counted by reason.
"""

import dataclasses
import os
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from flinchenv.agents.load import seated
from flinchenv.core.params import RulesError, refuse, whole
from flinchenv.core.rng import AGENT, MAX_SEED, RowStreams
from flinchenv.core.spec import OFFENCE, RUNNING
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup

EVALUATION_SEED = 2**31
Z95 = 1.959964
MAX_REASONS = 5  # reasons for forfeits that are listed for each agent
SEATING_STREAM = 1024  # streams from AGENT + 1024 up belong to seats of seatings


@dataclasses.dataclass(frozen=True)
class Args:
    """What a tournament plays.

    Attributes:
        env: an environment's id.
        agents: names, paths or Agent objects, at least two, each with a name of its own.
        games: games of each pair, rounded up to whole seeds and at least two of them.
        seed: the first seed, 2**31 and up.
        rules: {field: value} laid over the id's preset.
        batch_size: games played at once; it changes memory and speed only.
    """

    env: str
    agents: tuple
    games: int = 1000
    seed: int = EVALUATION_SEED
    rules: dict = dataclasses.field(default_factory=dict)
    batch_size: int = 4096


class Result(NamedTuple):
    """`data` is the JSON contract; `text` the table."""

    data: dict
    text: str


class Games(NamedTuple):
    """N finished games.

    Attributes:
        shares: float64 (N, P), each seat's share of the win. returns: float64 (N, P).
        faults: {agent's index: Counter of reasons}, games forfeited.
    """

    shares: np.ndarray
    returns: np.ndarray
    faults: dict


class Side(NamedTuple):
    """What one agent got in a pair's games, by seed: (S, M) with M seatings."""

    shares: np.ndarray
    returns: np.ndarray


class Pair(NamedTuple):
    """A pair's games: both sides, the seats' shares of the wins (S, M, P) and the faults of each side."""

    sides: tuple
    seats: np.ndarray
    faults: tuple


def run(args, progress=None):
    """Play every pair.

    Args:
        args: `Args`.
        progress: None, or called as progress(games done, games in all).

    Raises:
        ValueError: one agent, two of one name, no games, a training seed; an unknown id, rule or agent.
    """
    setup = make_setup(args.env, None, args.rules)
    if not isinstance(args.agents, (list, tuple)) or len(args.agents) < 2:
        refuse("agents", args.agents, "two or more")
    num_seeds = check_deals(setup, args.games, args.seed)
    names, agents = load_agents(args.agents, setup)
    whole("batch_size", args.batch_size, 1, 2**20)
    games = num_seeds * len(seatings(setup.num_players))
    pairs = [(a, b) for a in range(len(agents)) for b in range(a + 1, len(agents))]
    played = {}
    for k, (a, b) in enumerate(pairs):
        tell = None if progress is None else lambda done, k=k: progress(k * games + done, len(pairs) * games)
        played[a, b] = play_pair(setup, agents[a], agents[b], num_seeds, args.seed, args.batch_size, tell)
    points = np.zeros((len(agents), len(agents)))
    for (a, b), pair in played.items():
        points[a, b], points[b, a] = (side.shares.sum() for side in pair.sides)
    ratings = rate(points, ~np.eye(len(agents), dtype=bool))
    rows = []
    for i, name in enumerate(names):
        mine = [(pair, (a, b).index(i)) for (a, b), pair in played.items() if i in (a, b)]
        row = {"name": name, **side_row([pair.sides[k] for pair, k in mine])}
        rows.append({**row, "rating": float(ratings[i]), **fault_row([pair.faults[k] for pair, k in mine])})
    rows.sort(key=lambda row: -row["rating"])
    data = {
        "env": setup.id,
        "players": setup.num_players,
        "games": games * len(pairs),
        "games_per_pair": games,
        "seeds": [args.seed, args.seed + num_seeds - 1],
        "agents": rows,
        "pairs": [
            {
                "a": names[a],
                "b": names[b],
                **side_row([pair.sides[0]]),
                "mean_return_b": float(pair.sides[1].returns.mean()),
                "forfeits": [sum(pair.faults[0].values()), sum(pair.faults[1].values())],
            }
            for (a, b), pair in played.items()
        ],
        "seats": seat_rows(np.mean([pair.seats for pair in played.values()], 0)),
    }
    return Result(data, table(data))


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


def seatings(num_players):
    """Who sits where, int (M, P), 0 for A and 1 for B; each row is one game of a seed."""
    lone = 1 - np.eye(num_players, dtype=np.int64)
    return lone if num_players == 2 else np.concatenate([lone, 1 - lone])


def play_pair(setup, a, b, num_seeds, seed, batch_size, tell=None):
    """The `Pair` of two agents over all seatings of `num_seeds` seeds; `tell(games done)` after every batch."""
    seats = seatings(setup.num_players)
    total = num_seeds * len(seats)
    parts = []
    for start in range(0, total, batch_size):
        number = np.arange(start, min(start + batch_size, total))
        parts.append(play(setup, (a, b), seats[number % len(seats)], seed + number // len(seats), number % len(seats)))
        if tell is not None:
            tell(int(number[-1]) + 1)
    shape = (num_seeds, len(seats), setup.num_players)
    shares = np.concatenate([part.shares for part in parts]).reshape(shape)
    returns = np.concatenate([part.returns for part in parts]).reshape(shape)
    sides = []
    for k in range(2):
        mine = seats == k
        sides.append(Side((shares * mine).sum(2), (returns * mine).sum(2) / mine.sum(1)))
    faults = tuple(sum((part.faults[k] for part in parts), Counter()) for k in range(2))
    return Pair(tuple(sides), shares, faults)


def play(setup, agents, seating, seeds, keys):
    """Play N games to their ends.

    Args:
        setup: the game and its rules.
        agents: a sequence of agents.
        seating: int (N, P), the index of the agent in each seat.
        seeds: (N,), episode 0 of each.
        keys: (N,) small numbers that tell the streams of equal seeds apart.
    """
    n, p = seating.shape
    views = p if setup.simultaneous else 1
    games = setup.new_games(n)
    games["seed"] = seeds
    actions = np.zeros((n, views), np.int64)
    observation = np.zeros((n, views, setup.layout.size), np.int8)
    mask = np.zeros((n, views, setup.num_actions), np.int8)
    asked, current = np.zeros((n, p), np.int8), np.zeros(n, np.int32)
    rewards, flags = np.zeros((n, p), np.float32), np.zeros((2, n), bool)
    purposes = AGENT + np.uint64(SEATING_STREAM) + (keys[:, None] * p + np.arange(p)).astype(np.uint64)
    streams = RowStreams(np.repeat(seeds, p), np.zeros(n * p), purposes.ravel())
    faults = {k: Counter() for k in range(len(agents))}
    lost = np.zeros((n, p), bool)  # seats of agents that forfeited
    active = np.ones(n, bool)
    while active.any():
        setup.loops.advance(
            games, setup.params, setup.seats, 0, n, setup.max_steps, actions, observation, mask, asked, current,
            rewards, flags[0], flags[1], active,
        )  # fmt: skip
        active = games["end_reason"] == RUNNING
        if setup.simultaneous:
            actions[:] = mask.argmax(2)  # seats that are not asked have one legal id
        rows, seats = np.nonzero(asked * active[:, None])
        for k, agent in enumerate(agents):
            mine = seating[rows, seats] == k
            if mine.any():
                asking = _Asking(setup, agent, games, streams, rows[mine], seats[mine], observation, mask)
                chosen, reasons = asking.answer()
                actions[asking.rows, asking.views] = chosen
                for row, reason in dict(reasons).items():  # one game is lost once, whatever the seats at fault
                    faults[k][reason] += 1
                    lost[row] |= seating[row] == k
    winners = np.where(lost.any(1, keepdims=True), ~lost, games["winners"][:, :p] != 0)
    winners |= ~(winners | lost).any(1, keepdims=True)  # nobody has won or failed: a draw of all
    shares = winners / winners.sum(1, keepdims=True).clip(1)
    return Games(shares, games["returns"][:, :p], faults)


class _Asking(NamedTuple):
    """One agent asked for its choices in some rows and seats."""

    setup: Any
    agent: Any
    games: np.ndarray
    streams: RowStreams
    rows: np.ndarray
    seats: np.ndarray
    observation: np.ndarray
    mask: np.ndarray

    @property
    def views(self):
        return self.seats if self.setup.simultaneous else np.zeros_like(self.seats)

    def answer(self):
        """(actions (K,) with OFFENCE for those that forfeit, [(row, reason), ...]).

        Where the agent raises, its streams are put back and the halves are asked anew, down to the rows at fault.
        """
        mask = self.mask[self.rows, self.views]
        flat = self.rows * self.setup.num_players + self.seats
        kept = self.streams.counters[flat]
        try:
            chosen = self._act(mask, flat)
        except Exception as error:
            if len(self.rows) == 1:
                text = " ".join(str(error).split())[:120]
                return np.array([OFFENCE]), [(int(self.rows[0]), f"{type(error).__name__}: {text}")]
            self.streams.counters[flat] = kept
            half = len(self.rows) // 2
            low, high = (self._replace(rows=self.rows[s], seats=self.seats[s]) for s in np.s_[:half, half:])
            (first, faults), (second, more) = low.answer(), high.answer()
            return np.concatenate([first, second]), faults + more
        inside = (chosen >= 0) & (chosen < mask.shape[1])
        legal = inside & (mask[np.arange(len(mask)), np.where(inside, chosen, 0)] == 1)
        faults = [(int(self.rows[i]), f"illegal action {chosen[i]}") for i in np.flatnonzero(~legal)]
        return np.where(legal, chosen, OFFENCE), faults

    def _act(self, mask, flat):
        views = None
        if getattr(self.agent, "needs_view", False):
            views = [SeatView(self.setup, self.games[i : i + 1], int(p)) for i, p in zip(self.rows, self.seats)]
        observation = self.observation[self.rows, self.views]
        chosen = np.asarray(self.agent.act(observation, mask.copy(), self.streams[flat], views))
        if chosen.shape != self.rows.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(f"act() returned {chosen.dtype} {chosen.shape}, not whole numbers {self.rows.shape}")
        return chosen


def side_row(sides):
    """The numbers of one agent over its pairs, each on the same seeds."""
    shares = np.concatenate([side.shares for side in sides], 1)
    returns = np.concatenate([side.returns for side in sides], 1)
    low, high = mean_interval(returns.mean(1))
    return {
        "games": int(shares.size),
        "wins": int((shares > 1 - 1e-9).sum()),
        "draws": int(((shares > 1e-9) & (shares < 1 - 1e-9)).sum()),
        "losses": int((shares < 1e-9).sum()),
        "win_rate": float(shares.mean()),
        "ci95": win_interval(shares),
        "mean_return": float(returns.mean()),
        "mean_return_ci95": [low, high],
    }


def fault_row(faults):
    """{"forfeits": games, "reasons": [[reason, games], ...]} of one agent."""
    both = sum(faults, Counter())
    return {"forfeits": sum(both.values()), "reasons": [list(item) for item in both.most_common(MAX_REASONS)]}


def seat_rows(shares):
    """Each seat's win rate over all games, whoever sat there; shares (S, M, P)."""
    return [
        {"seat": p, "win_rate": float(shares[..., p].mean()), "ci95": win_interval(shares[..., p])}
        for p in range(shares.shape[2])
    ]


def mean_interval(units):
    """[low, high] of the mean of independent units, normal, 95 %."""
    half = Z95 * units.std(ddof=1) / np.sqrt(len(units))
    return [float(units.mean() - half), float(units.mean() + half)]


def win_interval(shares):
    """[low, high] of the win rate in shares (S, M) of S independent seeds: Wilson, 95 %, at the effective size."""
    rate, num_seeds = shares.mean(), len(shares)
    spread = shares.mean(1).var(ddof=1)
    if not 0 < rate < 1:
        effective = num_seeds
    elif spread * shares.size <= rate * (1 - rate) * num_seeds:
        effective = shares.size
    else:
        effective = rate * (1 - rate) * num_seeds / spread
    middle = (rate + Z95**2 / (2 * effective)) / (1 + Z95**2 / effective)
    half = Z95 / (1 + Z95**2 / effective) * np.sqrt(rate * (1 - rate) / effective + Z95**2 / (4 * effective**2))
    return [float(max(middle - half, 0)), float(min(middle + half, 1))]


def rate(points, met):
    """Ratings (K,) from points (K, K), what i won of its games against j, of the pairs that met, bool (K, K)."""
    points = points + 0.5 * met
    games = points + points.T
    strength = np.ones(len(points))
    for _ in range(10_000):
        stronger = points.sum(1) / (games / (strength[:, None] + strength)).sum(1)
        stronger /= np.exp(np.log(stronger).mean())
        moved = np.abs(np.log(stronger / strength)).max()
        strength = stronger
        if moved < 1e-10:
            break
    return 1500 + 400 * np.log10(strength)


def table(data):
    """The agents' rows as text, best first, then the forfeits."""
    lines = [
        f"{data['env']}, {data['players']} players: {data['games_per_pair']:,} games a pair",
        *agent_lines(data["agents"]),
    ]
    return "\n".join(lines)


def agent_lines(rows, title="agent"):
    """Aligned lines of agents' rows."""
    width = max(len(title), *(len(row["name"]) for row in rows))
    lines = [
        f"{title:<{width}}  {'games':>8} {'wins':>8} {'draws':>8} {'losses':>8}  {'win rate, 95 %':<20}"
        f"  {'mean return, 95 %':<26}  rating"
    ]
    for row in rows:
        counts = " ".join(f"{row[key]:>8,}" for key in ("games", "wins", "draws", "losses"))
        won = "{:.3f} [{:.3f}, {:.3f}]".format(row["win_rate"], *row["ci95"])
        paid = "{:+.3f} [{:+.3f}, {:+.3f}]".format(row["mean_return"], *row["mean_return_ci95"])
        lines.append(f"{row['name']:<{width}}  {counts}  {won:<20}  {paid:<26}  {row['rating']:6.0f}")
    for row in rows:
        for reason, games in row["reasons"]:
            lines.append(f"{row['name']} forfeited {games:,} games: {reason}")
    return lines


if __name__ == "__main__":
    main()
