"""Words -> position -> words for Flinch: lays a table, plays by name, tells piles, hands and legal moves by name."""

import math
from collections import Counter

import numpy as np

import flinchenv

WILD, NONE, EMPTY, KNOWN = 0, -1, 31, 32  # in records; in words a wild is "W", an empty pile None
BOTTOM = 0  # the node beneath all piles
PHASES = ("open", "laydown", "play", "name", "challenge")
FRESH = {  # what a turn that begins, in a game that runs, knows of itself
    "end_reason": 0, "truncated": 0, "winners": 0, "returns": 0, "length": 0, "turns": 0,
    "turn_actions": 0, "played": 0, "forced": 0, "nonstock": 0, "skipped_own": 0, "skipped_mate": 0, "plain": 0,
    "excused": 0, "announced": NONE, "naming": NONE, "ending": 0, "polls": 0, "polled": 0, "any_known": 0,
    "passes": 0, "laid": 0, "idle_turns": 0, "starter_free": 0, "holds_starter": 0, "known": 0, "exposed": 0,
    "due": NONE,
}  # fmt: skip


class Table:
    """One game of Flinch through the AEC API, played and read in the words of the rules.

    Args:
        id: an environment id.
        seed: of the game.
        **rules: rule overrides.
    """

    def __init__(self, id="flinch-v0", seed=1, **rules):
        self.env = flinchenv.make(id, **rules)
        self.env.reset(seed=seed)
        self.setup = self.env.setup
        self.rules = self.setup.rules
        self.seats = range(self.rules.num_players)
        self.agents = self.env.possible_agents
        self.paid = [0.0 for _ in self.seats]

    # -- positions -----------------------------------------------------------------------------------------------------

    def put(
        self, stocks=None, hands=None, reserves=None, centre=(), removed=0, stack=None, turn=0, phase="play", due=None,
        **fields,
    ):  # fmt: skip
        """Lay a position at the beginning of a turn; nothing is public of hands but `due`.

        Args:
            stocks: {seat: cards from the top}; the others get as many as a deal gives, of ranks that fit nowhere.
            hands: {seat: cards}; the others get as many as a deal gives, too.
            reserves: {seat: [piles, from their tops]}; the others have none. A pile may be one card.
            centre: piles as (lowest, highest), or (lowest, highest, ranks for which wilds stand); an ascending pile
                may be its top alone.
            removed: complete piles that wait to be recycled.
            stack: the cards of the Stack; by default all that lie nowhere else. Cards that then lie nowhere are put
                under the last seat's first Reserve Pile, which gets a top that fits nowhere if it has none.
            turn: whose turn it is.
            phase: "play" or "open".
            due: {seat: the card shown out of turn}.
            **fields: of the record, as they are.
        """
        rules = self.rules
        snapshot = self.env.snapshot()
        s = snapshot.games[0]
        stocks, hands, reserves, due = stocks or {}, hands or {}, reserves or {}, due or {}
        centre = [(1, pile, ()) if isinstance(pile, int) else (*pile, ())[:3] for pile in centre]
        piles = {p: [[x] if isinstance(x, int | str) else list(x) for x in reserves.get(p, [])] for p in self.seats}
        free = self.deck()
        for low, high, wilds in centre:
            free.subtract("W" if rank in wilds else rank for rank in range(low, high + 1))
        gone = Counter(dict.fromkeys(range(1, rules.num_ranks + 1), removed))
        free.subtract(gone)
        for cards in [*stocks.values(), *hands.values(), *(x for seat in piles.values() for x in seat), stack or []]:
            free.subtract(cards)
        assert min(free.values()) >= 0, f"no such cards: {-free}"
        fit = self._fitting(centre)
        stocks = {p: list(stocks[p]) if p in stocks else self._filler(free, fit, rules.stock_size) for p in self.seats}
        hands = {p: list(hands[p]) if p in hands else self._filler(free, fit, rules.hand_size) for p in self.seats}
        if stack is None:
            stack = list(free.elements())
        elif free.total():
            last = piles[rules.num_players - 1]
            if not last:
                last.append(self._filler(free, fit, 1))
            last[0] += free.elements()

        s.fresh, s.freed, s.removed_piles = BOTTOM + 1, BOTTOM, removed
        s.nodes[BOTTOM] = EMPTY
        s.removed[:] = [gone[rank] for rank in range(16)]
        self._lay_centre(s, centre)
        s.hand[:] = 0
        s.top[:], s.pile[:], s.pile_cards[:] = EMPTY, BOTTOM, 0
        for p in self.seats:
            for card in hands[p]:
                s.hand[p, _number(card)] += 1
            s.hand_cards[p] = len(hands[p])
            s.hand_set[p] = sum(1 << rank for rank in range(16) if s.hand[p, rank])
            s.stock[p] = self._lay_pile(s, stocks[p])
            s.stock_left[p], s.scores[p] = len(stocks[p]), -len(stocks[p])
            s.stock_rank[p] = _number(stocks[p][0]) if stocks[p] else EMPTY
            for j, pile in enumerate(piles[p]):
                s.top[p, j] = _number(pile[0]) if pile else EMPTY
                s.pile[p, j] = self._lay_pile(s, pile)
                s.pile_cards[p, j] = len(pile)
        s.left = len(stack)
        s.deck[: len(stack)] = [_number(card) for card in stack]
        for p in self.seats:
            mate = (p + len(self.seats) // 2) % len(self.seats)
            s.last_left[p] = len(stocks[p]) + (len(stocks[mate]) if rules.partnership else 0)
        for name, value in FRESH.items():
            s[name] = value
        for p, card in due.items():
            s.due[p] = _number(card)
            s.any_known = s.known[p, _number(card)] = s.exposed[p, _number(card)] = 1
        if "shown" in s.dtype.names:
            self._lay_shown(s)
        s.phase, s.opened = PHASES.index(phase), phase != "open"
        s.turn = s.current_player = turn
        for name, value in fields.items():
            s[name] = value
        self.env.restore(snapshot)
        return self

    def deck(self):
        """All cards of the game, as a bag."""
        rules = self.rules
        return Counter({**dict.fromkeys(range(1, rules.num_ranks + 1), rules.copies), "W": rules.wilds})

    def _fitting(self, centre):
        rules, fit = self.rules, {"W", *self.rules.starters}
        for low, high, _ in centre:
            fit |= {high + 1, low - 1} if rules.center == "eights" else {high + 1 if low == 1 else low - 1}
        return fit

    def _filler(self, free, fit, count):
        """Cards that fit nowhere: the ranks that are farthest from any starter come first."""
        far = {"up": lambda r: r, "both_ends": lambda r: -abs(2 * r - self.rules.num_ranks - 1)}
        key = far.get(self.rules.center, lambda r: abs(2 * r - self.rules.num_ranks - 1))
        ranks = sorted((r for r in free if r not in fit), key=key, reverse=True)
        cards = [r for r in ranks for _ in range(free[r])][:count]
        cards += list((free - Counter(cards)).elements())[: count - len(cards)]
        assert len(cards) == count, "too few cards are left"
        free.subtract(cards)
        return cards

    def _lay_shown(self, s):
        """What observations say of each seat, as the record keeps it: tops in lanes of 16 bits, counts in bytes."""
        s.shown[:] = 0
        for p in self.seats:
            tops = [*s.top[p].tolist(), int(s.stock_rank[p])]
            for lane, rank in enumerate(tops):
                if rank != EMPTY:
                    s.shown[p, lane // 4] |= np.uint64(1 << rank + lane % 4 * 16)
            counts = [s.stock_left[p], s.hand_cards[p], *s.pile_cards[p]]
            s.shown[p, 2] = sum(min(int(count), 127) << 8 * k for k, count in enumerate(counts))

    def _lay_pile(self, s, cards):
        node = BOTTOM
        for card in reversed(cards):
            s.nodes[s.fresh] = node << 6 | _number(card)
            node = int(s.fresh)
            s.fresh += 1
        return node

    def _lay_centre(self, s, centre):
        center, ranks = self.rules.center, self.rules.num_ranks
        middle = (ranks + 1) // 2
        s.ups[:], s.downs[:], s.eights[:] = 0, 0, 0
        for low, high, _ in centre:
            if center == "eights":
                s.eights[high - middle, middle - low] += 1
            elif low == 1:
                s.ups[high] += 1
            else:
                assert center == "both_ends" and high == ranks, f"no such pile: {low}-{high}"
                s.downs[low] += 1
        s.up_tops = sum(1 << r for r in range(16) if s.ups[r])
        s.down_tops = sum(1 << r for r in range(16) if s.downs[r])
        s.playable_up = 1 | 1 << 1 | int(s.up_tops) << 1
        s.playable_down = 1 << ranks | int(s.down_tops) >> 1 if center == "both_ends" else 0
        if center == "eights":
            s.playable_up = sum(1 << r for r in self._fitting(centre) if r != "W" and 1 <= r <= ranks) | 1
        s.num_piles = 0
        if self.rules.wilds:
            s.num_piles = len(centre)
            for k, (low, high, wilds) in enumerate(centre):
                s.pile_low[k], s.pile_high[k] = low, high
                s.pile_wilds[k] = sum(1 << rank for rank in wilds)

    # -- play ----------------------------------------------------------------------------------------------------------

    def play(self, *names):
        """Carry out actions by name, each by whoever is asked."""
        for name in names:
            assert name in self.moves(), f"{name!r} is not legal: {sorted(self.moves())}"
            self.env.step(self.setup.game.parse_action(self.rules, name))
            self.paid = [sum(pair) for pair in zip(self.paid, self.rewards)]
        return self

    def play_where(self, name, where):
        """Carry out one action under a chance that makes `where`, a function of the table, true afterwards."""
        snapshot = self.env.snapshot()
        for rng in range(3000):
            snapshot.games["rng"] = np.uint64(rng * 0x5851F42D4C957F2D % 2**64)
            self.env.restore(snapshot)
            self.play(name)
            if where(self):
                return self
        raise AssertionError("chance cannot make it so")

    def after(self, name, n, seed=0):
        """The records of n games that have gone on by one action, by chance each in its own way."""
        env = flinchenv.make(self.setup.id, "vector", num_envs=n, rules=self.rules)
        snapshot = self.env.snapshot()
        games = snapshot.games.repeat(n)
        games["rng"] = np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)
        env.restore(snapshot._replace(games=games))
        env.step(np.full(n, self.setup.game.parse_action(self.rules, name)))
        return env.snapshot().games

    def guesses(self, seat, n):
        """Tables that seat cannot tell from this one, n of them, drawn by `determinize`."""
        tables = []
        for seed in range(n):
            other = object.__new__(Table)
            other.__dict__ |= self.__dict__ | {"env": self.env.determinize(self.agents[seat], seed)}
            tables.append(other)
        return tables

    # -- what lies on the table ----------------------------------------------------------------------------------------

    @property
    def record(self):
        """The game's record, a copy."""
        return self.env.snapshot().games[0]

    def moves(self, seat=None):
        """The names of the legal moves of a seat, by default of the one that is asked."""
        agent = self.env.agent_selection if seat is None else self.agents[seat]
        mask = self.env.observe(agent)["action_mask"]
        return {self.setup.game.action_name(self.rules, a) for a in np.flatnonzero(mask).tolist()}

    @property
    def asked(self):
        """The seat that is to act."""
        return self.agents.index(self.env.agent_selection)

    @property
    def turn(self):
        """The seat whose turn it is."""
        return int(self.record.turn)

    @property
    def turns(self):
        """Finished turns."""
        return int(self.record.turns)

    @property
    def phase(self):
        """What the game is at, as everybody sees it."""
        shown = set(map(int, [self.sees(p)["phase"] for p in self.seats]))
        assert len(shown) == 1
        return (*PHASES, "over")[shown.pop()]

    def stock(self, seat):
        """A Stockpile's cards, from the top."""
        return [card for card, _ in self.stock_public(seat)]

    def stock_public(self, seat):
        """[(card, whether it is known to all beneath the top)] of a Stockpile, from the top."""
        s = self.record
        cards = self._pile(s, int(s.stock[seat]))
        assert len(cards) == s.stock_left[seat] == -s.scores[seat]
        assert s.stock_rank[seat] == (cards[0] % KNOWN if cards else EMPTY)
        return [(_card(card % KNOWN), card >= KNOWN) for card in cards]

    def hand(self, seat):
        """A hand, as a bag."""
        s = self.record
        cards = Counter({_card(rank): int(s.hand[seat, rank]) for rank in range(16) if s.hand[seat, rank]})
        assert cards.total() == s.hand_cards[seat]
        return cards

    def reserves(self, seat):
        """A seat's Reserve Piles by place, each from its top."""
        s = self.record
        piles = [[_card(card) for card in self._pile(s, int(s.pile[seat, j]))] for j in range(self.rules.reserve_piles)]
        assert [len(pile) for pile in piles] == s.pile_cards[seat, : len(piles)].tolist()
        return piles

    def _pile(self, s, node):
        cards = []
        while node != BOTTOM:
            word = int(s.nodes[node])
            cards.append(word & 63)
            node = word >> 6
        return cards

    @property
    def centre(self):
        """(lowest, highest) of every pile in the centre, sorted."""
        s, ranks = self.record, self.rules.num_ranks
        middle = (ranks + 1) // 2
        piles = [(1, r) for r in range(16) for _ in range(s.ups[r])]
        piles += [(r, ranks) for r in range(16) for _ in range(s.downs[r])]
        if self.rules.center == "eights":
            piles += [(middle - j, middle + i) for i in range(8) for j in range(8) for _ in range(s.eights[i, j])]
        return sorted(piles)

    @property
    def stack(self):
        """The Stack, as a bag."""
        s = self.record
        return Counter(_card(card) for card in s.deck[: s.left])

    @property
    def removed(self):
        """(piles, cards as a bag) that wait to be recycled."""
        s = self.record
        return int(s.removed_piles), Counter({_card(rank): int(s.removed[rank]) for rank in range(16)})

    def everything(self):
        """All cards wherever they lie, as a bag; a wild in the centre is counted as a wild."""
        s = self.record
        bag = self.stack + self.removed[1]
        for p in self.seats:
            bag += self.hand(p) + Counter(self.stock(p)) + Counter(card for pile in self.reserves(p) for card in pile)
        if self.rules.wilds:
            for k in range(s.num_piles):
                ranks = range(s.pile_low[k], s.pile_high[k] + 1)
                bag += Counter("W" if int(s.pile_wilds[k]) >> r & 1 else r for r in ranks)
        else:
            for low, high in self.centre:
                bag += Counter(range(low, high + 1))
        return bag

    @property
    def forced(self):
        """Whether the turn-holder must play a card (F40)."""
        return bool(self.record.forced)

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
    def rewards(self):
        """What the last action paid, by seat."""
        return [self.env.rewards[agent] for agent in self.agents]

    def sees(self, seat):
        """A seat's observation in words: {field: value}, seats clockwise from itself."""
        return self.setup.layout.decode(self.env.observe(self.agents[seat])["observation"])

    def looks(self, seat):
        """All that a seat is told: its observation, its mask and its information state, as bytes."""
        told = self.env.observe(self.agents[seat])
        key = self.setup.game.information_state(self.record, self.rules, seat)
        return told["observation"].tobytes() + told["action_mask"].tobytes() + key


def discards(ranks, slots):
    """The names of the discards of these ranks to these places."""
    return {f"discard {rank} to {slot}" for rank in ranks for slot in slots}


def assert_as_often(counts):
    """Chi-square: the counts are alike, at most six standard deviations above its mean."""
    counts = np.asarray(counts)
    expected = counts.sum() / len(counts)
    assert expected >= 5, "too few for chi-square"
    chi = ((counts - expected) ** 2 / expected).sum()
    freedom = len(counts) - 1
    assert chi <= freedom + 6 * math.sqrt(2 * freedom), (chi, freedom, counts.tolist())


def assert_share(flags, share):
    """How often something is so, within 4 standard errors."""
    flags = np.asarray(flags, float)
    error = math.sqrt(share * (1 - share) / len(flags))
    assert abs(flags.mean() - share) <= 4 * error, (flags.mean(), share, error)


def _number(card):
    return WILD if card == "W" else int(card)


def _card(number):
    return {WILD: "W", EMPTY: None}.get(int(number), int(number))
