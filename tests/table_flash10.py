"""Words -> position -> words for Flash 10: builds a table, plays ticks, tells rows, hands, points and moves by name."""

import math
from collections import Counter

import numpy as np

import flinchenv
from reference.flash10 import full_deck, is_flash, may_be_stopped

THUNDER, NONE, NO_CARD = 100, -1, -1  # in records; in words a Thunder is "T", an empty hand None
ROW = 10  # slots of a row in records


class Table:
    """One game of Flash 10 through the AEC API, played and read in the words of the rules.

    Args:
        id: an environment id.
        seed: of the game.
        **rules: rule overrides.
    """

    def __init__(self, id="flash10-v0", seed=1, **rules):
        self.env = flinchenv.make(id, **rules)
        self.env.reset(seed=seed)
        self.setup = self.env.setup
        self.rules = self.setup.rules
        self.seats = range(self.rules.num_players)
        self.agents = self.env.possible_agents
        self.rewards = [0.0 for _ in self.seats]
        self.gained = [0 for _ in self.seats]

    # -- positions -----------------------------------------------------------------------------------------------------

    def put(
        self, rows=None, held=None, middle=None, scores=None, rounds=None, tick=None, ready_at=None, checks=None,
        idle=None,
    ):  # fmt: skip
        """Lay the running round anew; what is left out stays as it is.

        Once a row, a hand or the middle is given, all cards are laid anew: rows that are left out become fillers that
        are worth a point and are in no order, and hands that are left out are empty.

        Args:
            rows: {seat: cards from the left}.
            held: {seat: card in hand}.
            middle: the cards that are left, which come in any order; by default all that lie nowhere else. Cards that
                then lie nowhere have been covered.
            scores: points by seat; observations show them from the next finished round on.
            rounds: finished rounds.
            tick: of the round.
            ready_at: {seat: the tick from which it may choose}; who is left out stays, or is ready with a new `tick`.
            checks: {seat: whether it believes that its row may be stopped}; by default the truth.
            idle: idle ticks in a row.
        """
        snapshot = self.env.snapshot()
        s = snapshot.games[0]
        if not (rows is None and held is None and middle is None):
            self._lay(s, rows or {}, held or {}, middle)
        for seat, believes in (checks or {}).items():
            s.checked = int(s.checked) & ~(1 << seat) | int(believes) << seat
        if scores is not None:
            s.scores[: len(scores)] = scores
        if rounds is not None:
            s.rounds = rounds
        if idle is not None:
            s.idle = idle
        if tick is not None:
            s.length += tick - s.tick
            s.tick = tick
            s.ready_at[: len(self.seats)] = tick
        for seat, when in (ready_at or {}).items():
            s.ready_at[seat] = when
        s.asked = sum(1 << p for p in self.seats if s.ready_at[p] <= s.tick)
        if self.rules.pace == "auto_draw":
            s.asked = int(s.asked) & (int(s.holding) | int(s.checked))
        assert s.asked, "a position asks somebody"
        s.current_player = min(p for p in self.seats if int(s.asked) >> p & 1)
        self.env.restore(snapshot)
        return self

    def _lay(self, s, rows, held, middle):
        free = full_deck(self.rules)
        for cards in [*rows.values(), held.values(), middle or []]:
            free.subtract(cards)
        assert min(free.values()) >= 0, f"no such cards: {-free}"
        rows = {p: list(rows[p]) if p in rows else self._filler(free) for p in self.seats}
        middle = list(free.elements()) if middle is None else list(middle)
        s.deck[:] = NONE
        s.row[:] = 0
        s.marks[:] = 0
        s.held[:] = NO_CARD
        for p in self.seats:
            assert len(rows[p]) == self.rules.row_len
            for i, card in enumerate(rows[p]):
                s.row[p, i] = _number(card)
                s.marks[p] |= (card == "T") << i | is_flash(card) << ROW + i
            if held.get(p) is not None:
                s.held[p] = _number(held[p])
        s.holding = sum(1 << p for p in self.seats if held.get(p) is not None)
        s.stoppable = sum(1 << p for p in self.seats if may_be_stopped(self.rules, rows[p]))
        s.checked = s.stoppable
        out = full_deck(self.rules)
        out.subtract(middle)
        cards = [_number(card) for card in [*middle, *out.elements()]]
        s.deck[: len(cards)] = cards
        s.left = len(middle)
        hidden = [*middle, *held.values()]
        s.seen[:] = 0
        for card in range(self.rules.numbers):
            if card not in hidden:
                s.seen[card // 64] |= np.uint64(1 << card % 64)

    def _filler(self, free):
        """The highest cards that are no Flash cards, falling: worth a point, which is its first card."""
        cards = [card for card in free.elements() if card != "T" and not is_flash(card)]
        cards = sorted(cards, reverse=True)[: self.rules.row_len]
        others = free - Counter(cards)
        cards += list(others.elements())[: self.rules.row_len - len(cards)]
        free.subtract(cards)
        return cards

    # -- play ----------------------------------------------------------------------------------------------------------

    def play(self, moves, drawn=None, where=None):
        """Carry out one tick.

        Args:
            moves: {seat: the name of its move}, for every seat that is asked.
            drawn: {seat: the card in its hand afterwards}, and
            where: what shall hold of the table afterwards, a function of it; where one is given, chance is what makes
                it so.
        """
        if drawn is None and where is None:
            return self._play(moves)
        snapshot = self.env.snapshot()
        for rng in range(3000):
            snapshot.games["rng"] = np.uint64(rng * 0x5851F42D4C957F2D % 2**64)
            self.env.restore(snapshot)
            self._play(moves)
            held = self.held
            if all(held[seat] == card for seat, card in (drawn or {}).items()) and (where is None or where(self)):
                return self
        raise AssertionError("chance cannot make it so")

    def _play(self, moves):
        assert sorted(moves) == self.asked, f"{moves}, but asked are {self.asked}"
        before = self.points
        for seat in sorted(moves):
            self.env.step(self.setup.game.parse_action(self.rules, moves[seat]))
        self.rewards = [self.env.rewards[agent] for agent in self.agents]
        self.gained = [now - then for now, then in zip(self.points, before)]
        return self

    def ids(self, moves):
        """An id for every seat; those without a move wait."""
        return [self.setup.game.parse_action(self.rules, moves.get(p, "wait")) for p in self.seats]

    def copies(self, n, seed=0):
        """A vector environment of n games in this position, each with a generator of its own."""
        env = flinchenv.make(self.setup.id, "vector", num_envs=n, rules=self.setup.rules)
        snapshot = self.env.snapshot()
        games = snapshot.games.repeat(n)
        games["rng"] = np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)
        env.restore(snapshot._replace(games=games))
        return env

    def after(self, moves, n, seed=0):
        """The records of n games that have gone on by these moves, by chance each in its own way."""
        env = self.copies(n, seed)
        env.step(np.tile(self.ids(moves), (n, 1)))
        return env.snapshot().games

    # -- what lies on the table ----------------------------------------------------------------------------------------

    @property
    def record(self):
        """The game's record, a copy."""
        return self.env.snapshot().games[0]

    @property
    def rows(self):
        """Every seat's row, from the left."""
        s = self.record
        return [[_card(card) for card in s.row[p, : self.rules.row_len]] for p in self.seats]

    @property
    def held(self):
        """Every seat's card in hand, or None."""
        return [_card(card) for card in self.record.held[: len(self.seats)]]

    @property
    def middle(self):
        """The cards that are left, as a bag."""
        s = self.record
        return Counter(_card(card) for card in s.deck[: s.left])

    @property
    def points(self):
        """Points by seat."""
        return self.record.scores[: len(self.seats)].tolist()

    @property
    def rounds(self):
        """Finished rounds."""
        return int(self.record.rounds)

    @property
    def tick(self):
        """Of the running round."""
        return int(self.record.tick)

    @property
    def wait(self):
        """Ticks until each seat is ready."""
        s = self.record
        return [max(0, int(s.ready_at[p] - s.tick)) for p in self.seats]

    @property
    def checks(self):
        """Who believes that its row may be stopped."""
        return [bool(int(self.record.checked) >> p & 1) for p in self.seats]

    @property
    def phase(self):
        """What the game is at: "run", "final_place" or "over"."""
        return "over" if self.over else ("run", "final_place")[self.sees(0)["phase"]]

    @property
    def asked(self):
        """The seats that are still to choose in this tick."""
        if self.over:
            return []
        first = self.agents.index(self.env.agent_selection)
        return [p for p in self.seats if p >= first and int(self.record.asked) >> p & 1]

    @property
    def over(self):
        """Whether the game has ended."""
        return int(self.record.end_reason) != 0

    @property
    def end(self):
        """(end_reason, winners) of a finished game, as every agent's infos tell them."""
        ends = [(info["end_reason"], info["winners"]) for info in self.env.infos.values()]
        assert all(end == ends[0] for end in ends)
        return ends[0]

    @property
    def result(self):
        """The end-of-game infos."""
        return self.setup.final_info(self.record)

    def moves(self, seat):
        """The names of a seat's legal moves."""
        mask = self.env.observe(self.agents[seat])["action_mask"]
        return [self.setup.game.action_name(self.rules, a) for a in np.flatnonzero(mask).tolist()]

    def sees(self, seat):
        """A seat's observation in words: {field: value}, seats clockwise from itself."""
        return self.setup.layout.decode(self.env.observe(self.agents[seat])["observation"])


def places(length=ROW):
    """The names of the placements."""
    return [f"place {slot}" for slot in range(length)]


def contents(env):
    """All that a snapshot holds, as bytes to compare (without the record's padding, which is arbitrary)."""
    snapshot = env.snapshot()
    fields = [snapshot.games[name].tobytes() for name in snapshot.games.dtype.names if not name.startswith("gap_")]
    return b"".join([*fields, snapshot.waiting.tobytes()])


def assert_as_often(counts, weights=None):
    """Chi-square: the counts follow the weights (by default alike), at most six standard deviations above its mean."""
    counts = np.asarray(counts)
    weights = np.ones(len(counts)) if weights is None else np.asarray(weights)
    expected = counts.sum() * weights / weights.sum()
    assert expected.min() >= 5, "too few for chi-square"
    chi = ((counts - expected) ** 2 / expected).sum()
    freedom = len(counts) - 1
    assert chi <= freedom + 6 * math.sqrt(2 * freedom), (chi, freedom, counts.tolist())


def assert_mean(values, mean):
    """The mean of independent values, within 4 standard errors."""
    values = np.asarray(values, float)
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert abs(values.mean() - mean) <= 4 * error, (values.mean(), mean, error)


def assert_share(flags, share):
    """How often something is so, within 4 standard errors."""
    flags = np.asarray(flags, float)
    error = math.sqrt(share * (1 - share) / len(flags))
    assert abs(flags.mean() - share) <= 4 * error, (flags.mean(), share, error)


def assert_geometric(ticks, mean):
    """The ticks are 1 + a geometric number of mean `mean` - 1: chi-square over their values."""
    ticks = np.asarray(ticks)
    assert ticks.min() >= 1
    if mean == 1:
        assert (ticks == 1).all()
        return
    stay = 1 - 1 / mean
    last = 1
    while len(ticks) * stay**last / mean >= 10:
        last += 1
    counts = np.bincount(np.minimum(ticks, last), minlength=last + 1)[1:]
    weights = [stay ** (k - 1) / mean for k in range(1, last)] + [stay ** (last - 1)]
    assert_as_often(counts, weights)
    assert_mean(ticks, mean)


def _number(card):
    return THUNDER if card == "T" else card


def _card(number):
    return {THUNDER: "T", NO_CARD: None}.get(int(number), int(number))
