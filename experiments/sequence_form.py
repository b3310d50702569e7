"""A small two-player game as a whole, in sequence form (Koller, Megiddo and von Stengel 1994).

A sequence is an information set of a seat and one of its actions there, or the empty one; with perfect recall it tells
all that the seat has done before. A policy gives each sequence the probability of its action, a plan the product of
these from the start on. What a pair of plans earns is bilinear in them, so simultaneous choices need no order.

The tree is built round by round on the compiled core, one batch of records a round; information sets are told apart by
the game's `information_state`.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from flinchenv.core.params import refuse, whole
from flinchenv.core.spec import RUNNING

MAX_HISTORIES = 2**24
MAX_RECORDS = 2**21  # kept at a time
BLOCK = 2**15  # records stepped at a time
ZERO = 1e-6  # float32 rewards, added up
NUM_DEALS = 16  # deals that must be alike for a game without chance


class Side:
    """One seat's information sets I and sequences S; sequence 0 is the empty one.

    Args:
        counts: int (I,), the number of actions in each information set; those of one round lie together, in order.
        parents: int (I,), the sequence that leads to each.
        rounds: information sets of each round, adding up to I.
        actions: int (S - 1,), the action ids, or None.
        games: one record (I,) of each information set, or None.

    Attributes:
        first: (I + 1,), the first sequence of each information set and S.
        owner: (S - 1,), the information set of each sequence but the empty one.
    """

    def __init__(self, counts, parents, rounds, actions=None, games=None):
        self.counts, self.parents = np.asarray(counts, np.int64), np.asarray(parents, np.int64)
        self.first = 1 + np.concatenate([[0], self.counts.cumsum()])
        self.owner = np.repeat(np.arange(len(self.counts)), self.counts)
        self.actions, self.games = actions, games
        self._rounds = []  # (its information sets, its sequences, where in these each information set begins)
        stop = 0
        for size in rounds:
            start, stop = stop, stop + size
            if size:
                a, b = self.first[start], self.first[stop]
                self._rounds.append((slice(start, stop), slice(a, b), self.first[start:stop] - a))

    @property
    def num_information_sets(self):
        """I."""
        return len(self.counts)

    def uniform(self):
        """The policy (S,) that takes every action alike."""
        return np.concatenate([[1.0], 1 / self.counts[self.owner]])

    def normalise(self, weights):
        """The policy (S,) proportional to weights (S,), all at least 0; uniform where they are all 0.

        Of a plan it is the policy.
        """
        totals = np.bincount(self.owner, weights[1:], self.num_information_sets)[self.owner]
        policy = self.uniform()
        np.divide(weights[1:], totals, out=policy[1:], where=totals > 0)
        return policy

    def plan(self, policy):
        """The plan (S,) of a policy (S,)."""
        plan = policy.copy()
        for sets, sequences, _ in self._rounds:
            plan[sequences] *= np.repeat(plan[self.parents[sets]], self.counts[sets])
        return plan

    def values(self, gradient, policy):
        """What each sequence (S,) and each information set (I,) earns when the seat goes on by `policy` (S,).

        Args:
            gradient: (S,), what plays that end for this seat with a sequence earn, weighted by all others' choices.
        """
        values, at = gradient.copy(), np.zeros(self.num_information_sets)
        for sets, sequences, starts in reversed(self._rounds):
            at[sets] = np.add.reduceat(values[sequences] * policy[sequences], starts)
            values += np.bincount(self.parents[sets], at[sets], len(values))
        return values, at

    def best_response(self, gradient):
        """(value, policy (S,)): the most that the seat can earn against `gradient`, and how; ties to the lowest id."""
        values, at = gradient.copy(), np.zeros(self.num_information_sets)
        for sets, sequences, starts in reversed(self._rounds):
            at[sets] = np.maximum.reduceat(values[sequences], starts)
            values += np.bincount(self.parents[sets], at[sets], len(values))
        hits = np.flatnonzero(values[1:] == at[self.owner])
        _, lowest = np.unique(self.owner[hits], return_index=True)
        policy = np.zeros(len(values))
        policy[0] = policy[1 + hits[lowest]] = 1
        return float(values[0]), policy


class SequenceForm(NamedTuple):
    """A two-player zero-sum game.

    Attributes:
        sides: two `Side`.
        rows, columns: int (Z,), the last sequences of seat 0 and seat 1 in each play that pays.
        payoffs: float64 (Z,), what it pays seat 0, times the probability of its chance events.
        histories: how many histories were met, plays to the end included.
    """

    sides: tuple
    rows: np.ndarray
    columns: np.ndarray
    payoffs: np.ndarray
    histories: int = 0

    @property
    def num_information_sets(self):
        """Those of both seats."""
        return sum(side.num_information_sets for side in self.sides)

    def gradient(self, player, plan):
        """What each sequence of `player` earns at the end against the other seat's plan; (S,)."""
        own, other = (self.rows, self.columns) if player == 0 else (self.columns, self.rows)
        payoffs = self.payoffs if player == 0 else -self.payoffs
        return np.bincount(own, payoffs * plan[other], len(self.sides[player].owner) + 1)

    def value(self, plans):
        """What seat 0 earns when both follow their plans."""
        return float(self.payoffs @ (plans[0][self.rows] * plans[1][self.columns]))

    def best_responses(self, plans):
        """[the most that each seat can earn against the other's plan]; they add up to NashConv."""
        return [self.sides[p].best_response(self.gradient(p, plans[1 - p]))[0] for p in range(2)]


def sequence_form(setup, max_histories=MAX_HISTORIES):
    """Build the whole tree of a game.

    Args:
        setup: a `flinchenv.envs.setup.Setup`.
        max_histories: histories at which to give up, plays to the end included.

    Raises:
        ValueError: not two players, chance, a larger game, or pay that does not add up to 0.
    """
    whole("max_histories", max_histories, 1, 2**31)
    if setup.num_players != 2:
        refuse("num_players", setup.num_players, "2: exact answers are for two-player zero-sum games")
    games, histories = _first(setup), 1
    last = np.zeros((1, 2), np.int64)  # each seat's sequence on the way here
    seats, ends = [_Seat(setup, p) for p in range(2)], []
    while len(games):
        legal, asked = _choices(setup, games)
        counts = legal.sum(2)
        histories += int(counts.prod(1).sum())
        if histories > max_histories or len(games) > MAX_RECORDS:
            most = f"at most {max_histories:,} histories, {MAX_RECORDS:,} of them running in one round"
            refuse("env", setup.id, f"a game of {most}; these rules have more")
        keys = information_states(setup, games, asked)
        first = [seat.add(games, keys[p], last[:, p], legal[:, p], asked[:, p]) for p, seat in enumerate(seats)]
        onward = []
        for rows, chosen in _products(counts):
            sequences = np.stack([first[p][rows] + chosen[p] for p in range(2)], 1)
            actions = np.stack([_ids(legal[:, p], rows, chosen[p]) for p in range(2)], 1)
            after = games[rows]
            _advance(setup, after, actions if setup.simultaneous else actions[asked[rows]][:, None])
            if (after["rng"] != games["rng"][rows]).any():
                _refuse_chance(setup)
            over = after["end_reason"] != RUNNING
            ends.append(_end(after[over], sequences[over]))
            onward.append((after[~over], sequences[~over]))
        after, last = (np.concatenate(part) for part in zip(*onward))
        games = after.view(setup.game.dtype)  # concatenate drops np.record
    rows, columns, payoffs = (np.concatenate(part) for part in zip(*ends))
    return SequenceForm(tuple(seat.side() for seat in seats), rows, columns, payoffs, histories)


class _Seat:
    """The information sets of one seat, as they are found."""

    def __init__(self, setup, player):
        self.setup, self.player = setup, player
        self.rounds, self.counts, self.parents, self.actions, self.games = [], [], [], [], []
        self.known = set()
        self.num_sequences = 1

    def add(self, games, keys, last, legal, asked):
        """Number this round's information sets; int (M,), the first sequence in each history's, `last` where not asked.

        Args:
            games: records (M,). keys: the information states where the seat is asked.
            last: int (M,), the sequences that led there. legal: (M, A). asked: bool (M,).
        """
        rows = np.flatnonzero(asked)
        numbers = {}
        own = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
        _, heads = np.unique(own, return_index=True)
        heads = rows[heads]  # the first history of each
        if (last[rows] != last[heads][own]).any() or not self.known.isdisjoint(numbers):
            raise ValueError(f"{self.setup.id}: player_{self.player} forgets what it has seen or done")
        if (legal[rows] != legal[heads][own]).any():
            raise ValueError(f"{self.setup.id}: player_{self.player} has other actions in one information set")
        self.known.update(numbers)
        counts = legal[heads].sum(1)
        first = self.num_sequences + counts.cumsum() - counts
        self.num_sequences += int(counts.sum())
        self.rounds.append(len(heads))
        self.counts.append(counts)
        self.parents.append(last[heads])
        self.actions.append(np.nonzero(legal[heads])[1])
        self.games.append(games[heads])
        sequences = last.copy()
        sequences[rows] = first[own]
        return sequences

    def side(self):
        """All of them."""
        parts = (self.counts, self.parents, self.actions, self.games)
        counts, parents, actions, games = (np.concatenate(part) for part in parts)
        return Side(counts, parents, self.rounds, actions, games.view(self.setup.game.dtype))


def _first(setup):
    """The dealt record (1,); refused where deals of several seeds differ."""
    games = setup.new_games(NUM_DEALS)
    games["seed"] = np.arange(NUM_DEALS)
    _advance(setup, games, np.zeros((NUM_DEALS, 2 if setup.simultaneous else 1), np.int64))
    alike = games.copy()
    alike["seed"] = alike["rng"] = 0
    if (alike != alike[0]).any():
        _refuse_chance(setup)
    return games[:1]


def _refuse_chance(setup):
    refuse("env", setup.id, "a game without chance: all deals alike, and nothing drawn later")


def _advance(setup, games, actions):
    """Deal, or carry out one round, in every record (M,); actions (M, 2), or (M, 1) of the seat to act."""
    n, k = len(games), actions.shape[1]
    setup.loops.advance(
        games, setup.params, setup.seats, 0, n, setup.max_steps, actions, np.zeros((n, k, setup.layout.size), np.int8),
        np.zeros((n, k, setup.num_actions), np.int8), np.zeros((n, 0), np.int8), np.zeros(n, np.int32),
        np.zeros((n, 2), np.float32), np.zeros(n, bool), np.zeros(n, bool), np.ones(n, bool),
    )  # fmt: skip


def _choices(setup, games):
    """(bool (M, 2, A), bool (M, 2)): each seat's legal ids, and whether it is asked; one that is not has one id."""
    m, k = len(games), 2 if setup.simultaneous else 1
    mask, asked = np.zeros((m, k, setup.num_actions), np.int8), np.zeros((m, 2), np.int8)
    for start in range(0, m, BLOCK):
        rows = slice(start, start + BLOCK)
        n = len(games[rows])
        setup.loops.observe(
            games[rows], setup.params, setup.seats, 0, n, np.zeros((n, k, setup.layout.size), np.int8), mask[rows],
            asked[rows], np.zeros(n, np.int32),
        )  # fmt: skip
    legal, asked = np.repeat(mask, 2 // k, 1) == 1, asked == 1
    if not setup.simultaneous:
        legal[~asked] = np.arange(setup.num_actions) == 0
    return legal, asked


def information_states(setup, games, asked):
    """Keys of all that a seat has seen: two lists, each with one for every record (M,) where `asked` (M, 2) has it."""
    record = namedtuple("record", setup.game.dtype.names)  # a quarter of the time that numpy's takes
    keys = ([], [])
    for start in range(0, len(games), BLOCK):
        for values, row in zip(games[start : start + BLOCK].tolist(), asked[start : start + BLOCK].tolist()):
            s = record(*values)
            for p in range(2):
                if row[p]:
                    keys[p].append(setup.game.information_state(s, setup.rules, p))
    return keys


def _products(counts):
    """All pairs of choices, some histories at a time: (rows (B,), [chosen (B,) of each seat]), from counts (M, 2)."""
    sizes = counts.prod(1)
    stops = sizes.cumsum()
    start = 0
    while start < len(sizes):
        before = stops[start] - sizes[start]
        stop = max(int(np.searchsorted(stops, before + BLOCK, "right")), start + 1)
        rows = np.repeat(np.arange(start, stop), sizes[start:stop])
        place = np.arange(len(rows)) - (stops[rows] - sizes[rows] - before)
        yield rows, [place // counts[rows, 1], place % counts[rows, 1]]
        start = stop


def _ids(legal, rows, chosen):
    """The id of the chosen-th legal action, int64 (B,), in each of the ascending rows (B,) of legal (M, A)."""
    here = legal[rows[0] : rows[-1] + 1]
    counts = here.sum(1)
    return np.nonzero(here)[1][(counts.cumsum() - counts)[rows - rows[0]] + chosen]


def _end(games, sequences):
    """(rows, columns, payoffs) of the finished games that pay."""
    returns = games["returns"][:, :2]
    odd = np.flatnonzero(np.abs(returns.sum(1)) > ZERO)
    if len(odd):
        refuse("rules", f"a play that pays {returns[odd[0]].tolist()}", "a reward that adds up to 0 over both seats")
    pays = returns[:, 0] != 0
    return sequences[pays, 0], sequences[pays, 1], returns[pays, 0]
