"""Games between two agents: who sits where, whole seeds of them, and forfeits.

A seed is played once for each way of seating the pair: one A among B's in every seat and, with more than two players,
one B among A's in every seat. So each side sits everywhere equally often, on the same deals.

An agent draws from a stream keyed by (seed, seating, seat): an agent that is a function of what it is asked and of
that stream plays the same games at any batch size, in any process. The one exception are limits on time.
"""

import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from flinchenv.core.rng import AGENT, RowStreams
from flinchenv.core.spec import FORFEIT, OFFENCE, RUNNING
from flinchenv.envs.memory import Memories, ask, memory_of
from flinchenv.envs.seats import SeatView

SEATING_STREAM = 1024  # streams from AGENT + 1024 up belong to seats of seatings
OVERRUN = "overrun"


class Side(NamedTuple):
    """What one agent got in a pair's games, by seed: (S, M) with M seatings."""

    shares: np.ndarray
    returns: np.ndarray


class Games(NamedTuple):
    """Finished games (N,), or those of a pair (S, M): S seeds in M seatings.

    Attributes:
        winners: bool (..., P); none where nobody has won.
        returns: float64 (..., P).
        reasons: int8 (...), indices of the game's `end_reasons`.
        truncated: bool (...).
        faults: for each of the two sides, a Counter {reason: games forfeited}.
    """

    winners: np.ndarray
    returns: np.ndarray
    reasons: np.ndarray
    truncated: np.ndarray
    faults: tuple

    @property
    def shares(self):
        """Each seat's share of the win, float64 (..., P): 1/k for k winners; all alike where nobody won or failed."""
        alike = ~self.winners.any(-1) & (self.reasons != FORFEIT)
        winners = self.winners | alike[..., None]
        return winners / winners.sum(-1, keepdims=True).clip(1)

    @property
    def dead(self):
        """Which games are over by the rules and without a winner, bool (...)."""
        return ~self.winners.any(-1) & ~self.truncated & (self.reasons != FORFEIT)

    @property
    def sides(self):
        """Both agents' `Side`s, of a pair's games."""
        seats, shares, sides = seatings(self.winners.shape[2]), self.shares, []
        for k in range(2):
            mine = seats == k
            sides.append(Side((shares * mine).sum(2), (self.returns * mine).sum(2) / mine.sum(1)))
        return tuple(sides)


def seatings(num_players):
    """Who sits where, int (M, P), 0 for A and 1 for B; each row is one game of a seed."""
    lone = 1 - np.eye(num_players, dtype=np.int64)
    return lone if num_players == 2 else np.concatenate([lone, 1 - lone])


def seeds_at_once(batch_size, num_players):
    """Whole seeds, at least one, in a batch of so many games."""
    return max(1, batch_size // len(seatings(num_players)))


def play_pair(setup, a, b, num_seeds, seed, batch_size, tell=None):
    """The `Games` (S, M) of two agents over all seatings of `num_seeds` seeds; `tell(games done)` after every batch."""
    step, parts = seeds_at_once(batch_size, setup.num_players), []
    for start in range(0, num_seeds, step):
        parts.append(play_seeds(setup, a, b, seed + start, min(step, num_seeds - start)))
        if tell is not None:
            tell(min(start + step, num_seeds) * parts[0].reasons.shape[1])
    return joined(parts)


def play_seeds(setup, a, b, first, count, seconds=0):
    """The `Games` (S, M) of two agents over `count` seeds from `first` up, all at once; `seconds` as in `play`."""
    seats = seatings(setup.num_players)
    number = np.arange(count * len(seats))
    games = play(setup, (a, b), seats[number % len(seats)], first + number // len(seats), number % len(seats), seconds)
    arrays = [part.reshape(count, len(seats), *part.shape[1:]) for part in games[:4]]
    return Games(*arrays, games.faults)


def joined(parts):
    """One pair's `Games` out of those of its seeds, in order."""
    arrays = [np.concatenate(arrays) for arrays in list(zip(*parts))[:4]]
    return Games(*arrays, tuple(sum((part.faults[k] for part in parts), Counter()) for k in range(2)))


def play(setup, agents, seating, seeds, keys, seconds=0):
    """Play N games to their ends.

    Args:
        setup: the game and its rules.
        agents: two agents.
        seating: int (N, P), the index of the agent in each seat.
        seeds: (N,), episode 0 of each.
        keys: (N,) small numbers that tell the streams of equal seeds apart.
        seconds: an agent that takes longer a decision forfeits, 0 for no limit. A call of `act` takes its wall time
            divided by its rows; one that is over the limit is asked once more, so that what is compiled or loaded at
            the first call counts for nothing. What is over depends on the machine and the batch size, and an agent
            that never returns is waited for.
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
    memories = Memories(n, p)
    faults = tuple(Counter() for _ in agents)
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
                asking = _Asking(
                    setup, agent, games, streams, memories, rows[mine], seats[mine], observation, mask, seconds
                )
                chosen, reasons = asking.answer()
                actions[asking.rows, asking.views] = chosen
                for row, reason in dict(reasons).items():  # one game is lost once, whatever the seats at fault
                    faults[k][reason] += 1
                    lost[row] |= seating[row] == k
    failed = lost.any(1)
    winners = np.where(failed[:, None], ~lost, games["winners"][:, :p] != 0)
    returns = games["returns"][:, :p].copy()
    return Games(winners, returns, games["end_reason"].astype(np.int8), games["truncated"] != 0, faults)


class _Asking(NamedTuple):
    """One agent asked for its choices in some rows and seats."""

    setup: Any
    agent: Any
    games: np.ndarray
    streams: RowStreams
    memories: Memories
    rows: np.ndarray
    seats: np.ndarray
    observation: np.ndarray
    mask: np.ndarray
    seconds: float

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
            chosen, taken, memory = self._act(mask, flat)
            if 0 < self.seconds < taken:
                self.streams.counters[flat] = kept
                chosen, taken, memory = self._act(mask, flat)
        except Exception as error:
            if len(self.rows) == 1:
                text = " ".join(str(error).split())[:120]
                return np.array([OFFENCE]), [(int(self.rows[0]), f"{type(error).__name__}: {text}")]
            self.streams.counters[flat] = kept
            half = len(self.rows) // 2
            low, high = (self._replace(rows=self.rows[s], seats=self.seats[s]) for s in np.s_[:half, half:])
            (first, faults), (second, more) = low.answer(), high.answer()
            return np.concatenate([first, second]), faults + more
        if 0 < self.seconds < taken:
            reason = f"{OVERRUN}: more than {self.seconds:g} s a decision"
            return np.full(len(self.rows), OFFENCE), [(int(row), reason) for row in self.rows]
        self.memories.keep(self.rows, self.seats, memory)
        inside = (chosen >= 0) & (chosen < mask.shape[1])
        legal = inside & (mask[np.arange(len(mask)), np.where(inside, chosen, 0)] == 1)
        faults = [(int(self.rows[i]), f"illegal action {chosen[i]}") for i in np.flatnonzero(~legal)]
        return np.where(legal, chosen, OFFENCE), faults

    def _act(self, mask, flat):
        """(choices (K,), seconds a row, what the seats remember then)."""
        views = None
        if getattr(self.agent, "needs_view", False):
            views = [SeatView(self.setup, self.games[i : i + 1], int(p)) for i, p in zip(self.rows, self.seats)]
        observation = self.observation[self.rows, self.views]
        mask, streams = mask.copy(), self.streams[flat]
        memory = self.memories.recall(memory_of(self.agent), self.rows, self.seats)
        began = time.perf_counter()
        chosen = np.asarray(ask(self.agent, observation, mask, streams, views, memory))
        taken = (time.perf_counter() - began) / len(self.rows)
        if chosen.shape != self.rows.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(f"act() returned {chosen.dtype} {chosen.shape}, not whole numbers {self.rows.shape}")
        return chosen, taken, memory
