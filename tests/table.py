"""Words -> position -> words for Flip It: builds a table, plays hands, tells points, cards and moves by name."""

import numpy as np

import flinchenv


class Table:
    """One game of Flip It through the AEC or the parallel API, played and read in the words of the rules.

    Args:
        id: an environment id.
        api: "aec" or "parallel".
        **rules: rule overrides.
    """

    def __init__(self, id="flip_it-v0", api="aec", **rules):
        self.env = flinchenv.make(id, api, **rules)
        self.env.reset(seed=1)
        self.setup = self.env.setup
        self.rules = self.setup.rules
        self.players = self.rules.num_players
        self.agents = self.env.possible_agents
        self.parallel = api == "parallel"
        self.rewards = [0.0] * self.players

    # -- positions -----------------------------------------------------------------------------------------------------

    def put(self, seat, guess_cards=None, points=None, play_cards=None):
        """Give one seat other cards or points than it has, at the start of a hand."""
        snapshot = self.env.snapshot()
        s = snapshot.games[0]
        if guess_cards is not None:
            s.guess_cards[seat] = sum(1 << card for card in guess_cards)
        if play_cards is not None:
            s.play_cards[seat] = sum(1 << card for card in play_cards)
        if points is not None:
            s.scores[seat] = points
        held = [p for p in range(self.players) if s.guess_cards[p]]
        joint = self.rules.actions == "joint"
        s.current_player = 0 if joint else held[0]
        self.env.restore(snapshot)
        return self

    # -- play ----------------------------------------------------------------------------------------------------------

    def choose(self, *moves):
        """AEC: the next seats asked make these moves, each by its name."""
        for move in moves:
            self.env.step(self.setup.game.parse_action(self.rules, move))
            self.rewards = [self.env.rewards[agent] for agent in self.agents]
        return self

    def round(self, *moves):
        """Parallel: one move a seat, by name, in one step."""
        ids = [self.setup.game.parse_action(self.rules, move) for move in moves]
        self.seen, rewards, *_, self.infos = self.env.step(dict(zip(self.agents, ids)))
        self.rewards = [rewards[agent] for agent in self.agents]
        return self

    def hand(self, guesses, plays):
        """Play one hand: a guess and a play a seat; a guess of None is a seat without Guess Cards.

        Returns:
            The rewards paid for it, by seat.
        """
        words = [f"guess {0 if guess is None else guess}" for guess in guesses]
        flips = [f"play {play}" for play in plays]
        both = [f"{word} {flip}" for word, flip in zip(words, flips)]
        if self.parallel:
            for moves in [both] if self.rules.actions == "joint" else [words, flips]:
                self.round(*moves)
            return self.rewards
        before = self.hands
        while self.hands == before:
            move = {"guess": words, "play": flips, "joint": both}[self.phase][self.asked]
            self.choose(move)
        return self.rewards

    # -- what lies on the table ----------------------------------------------------------------------------------------

    @property
    def record(self):
        """The game's record, a copy."""
        return self.env.snapshot().games[0]

    @property
    def hands(self):
        """Finished hands."""
        return int(self.record.hands)

    @property
    def points(self):
        """Points by seat."""
        return self.record.scores[: self.players].tolist()

    @property
    def guess_cards(self):
        """Guess Cards in hand by seat, as sorted lists."""
        return [_cards(bits) for bits in self.record.guess_cards[: self.players]]

    @property
    def play_cards(self):
        """Play Cards in hand by seat, as sorted lists."""
        return [_cards(bits) for bits in self.record.play_cards[: self.players]]

    @property
    def spent(self):
        """Discarded Guess Cards by seat, as sorted lists."""
        return [_cards(bits) for bits in self.record.spent[: self.players]]

    @property
    def win_piles(self):
        """Cards won by seat, as sorted lists with repeats."""
        return [
            [card for card, count in enumerate(pile) for _ in range(count)]
            for pile in self.record.win_pile[: self.players]
        ]

    @property
    def phase(self):
        """What is asked: "guess", "play" or "joint"; "over" at the end."""
        if self.over:
            return "over"
        if self.rules.actions == "joint":
            return "joint"
        return ("guess", "play")[self.record.phase]

    @property
    def asked(self):
        """AEC: the seat to choose next; None at the end."""
        return None if self.over else self.agents.index(self.env.agent_selection)

    @property
    def over(self):
        """Whether the game has ended."""
        return int(self.record.end_reason) != 0

    @property
    def result(self):
        """The end-of-game infos."""
        return self.setup.final_info(self.record)

    @property
    def end(self):
        """(end_reason, winners) of a finished game, as the last agent's infos tell them."""
        info = self.infos[self.agents[-1]] if self.parallel else self.env.infos[self.agents[-1]]
        return info["end_reason"], info["winners"]

    def moves(self, seat):
        """The names of a seat's legal moves."""
        mask = self.observed(seat)["action_mask"]
        return [self.setup.game.action_name(self.rules, a) for a in np.flatnonzero(mask)]

    def sees(self, seat):
        """A seat's observation in words: {field: value}, seats clockwise from itself."""
        return self.setup.layout.decode(self.observed(seat)["observation"])

    def observed(self, seat):
        """A seat's observation and mask."""
        if not self.parallel:
            return self.env.observe(self.agents[seat])
        twin = flinchenv.make(self.setup.id, "aec", rules=self.rules)
        twin.reset(seed=0)
        twin.restore(self.env.snapshot())
        return twin.observe(self.agents[seat])


def contents(env):
    """All that a snapshot holds, as bytes to compare (without the record's padding, which is arbitrary)."""
    snapshot = env.snapshot()
    fields = [snapshot.games[name].tobytes() for name in snapshot.games.dtype.names]
    return b"".join([*fields, snapshot.waiting.tobytes()])


def guesses(*cards):
    """The names of guesses."""
    return [f"guess {card}" for card in cards]


def plays(*cards):
    """The names of plays."""
    return [f"play {card}" for card in cards]


def plays_for(total, players):
    """Play Cards 0..5, one a seat, that add up to the total."""
    chosen = []
    for _ in range(players):
        chosen.append(min(5, total))
        total -= chosen[-1]
    return chosen


def _cards(bits):
    return [card for card in range(21) if int(bits) >> card & 1]
