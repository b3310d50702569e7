"""Flip It, played slowly and by the book.

This is the twin that the fast game is compared with. It was written from rules/flip_it.md alone and
shares no code with the package. Cards are plain ints, hands are sets, piles are lists, moves are
words ("guess 7", "play 3", "guess 7 play 3"). Ids in docstrings (P9, PA7, ...) are those of the
rules file; "2.3" is its section on the formal model. Seats count from 0, clockwise is seat + 1.
"""

import copy
import itertools

OPTIONS = {
    "actions": ("phased", "joint"),
    "reward": ("margin", "points", "win"),
    "win_rule": ("exact", "closest"),
    "scoring": ("basic", "capture"),
    "loser_guess": ("return", "discard"),
    "capture_spots": (False, True),
    "capture_multi": ("keep_own", "share", "none"),
    "play_cards": ("returned", "consumed"),
    "no_guess_cards": ("end", "continue"),
    "flip_order": ("simultaneous", "sequential"),
}


class FlipIt:
    """One game of Flip It, from the first hand to the last."""

    def __init__(self, rules):
        """P1, P2: every player has one set of Play Cards and one set of Guess Cards."""
        refuse_bad_rules(rules)
        self.rules = rules
        players = rules.num_players
        self.points = [0 for _ in range(players)]
        self.guess_cards = [set(full_guess_cards(rules)) for _ in range(players)]
        self.play_cards = [set(rules.play_values) for _ in range(players)]
        self.win_pile = [[] for _ in range(players)]
        self.spent = [[] for _ in range(players)]
        self.hands = 0
        self.phase = "guess"
        self.history = []
        self.over = False
        self.end_reason = ""
        self.winners = []
        self._guesses = {}  # seat -> card (None: no guess), chosen in the running hand
        self._plays = {}  # seat -> card, chosen in the running hand
        self._unpaid = [0.0 for _ in range(players)]

    # -- whose turn, and what may be done ---------------------------------------------------------

    @property
    def length(self):
        """How long the game was: finished hands."""
        return self.hands

    def asked(self):
        """2.3: the seats still to choose in the running round, in the order they are asked.

        P5, P6: all choose a Guess Card, then all choose a Play Card. PA11: a seat without Guess
        Cards is not asked for one. PA12: in the sequential game one seat chooses at a time.
        """
        if self.over:
            return []
        if self._joint():
            waiting = [seat for seat in self._seats() if seat not in self._plays]
        elif self.phase == "guess":
            waiting = [seat for seat in self._seats() if seat not in self._guesses and self.guess_cards[seat]]
        else:
            waiting = [seat for seat in self._flip_round() if seat not in self._plays]
        if self._sequential():
            return waiting[:1]
        return waiting

    def legal(self, seat):
        """The named moves of a seat. PA16: any own Guess Card may be guessed, even in vain.

        P7, PA12: nothing is shown before everybody has chosen, so in the simultaneous game the
        moves of a seat that has chosen already stay what they were. 2.3: a seat without Guess Cards
        is left the one word "guess 0", which stands for no guess at all.
        """
        if self.over:
            return set()
        if self._sequential() and seat not in self.asked():
            return set()
        guesses = [f"guess {card}" for card in self.guess_cards[seat]] or ["guess 0"]
        plays = [f"play {card}" for card in self.play_cards[seat]]
        if self._joint():
            return {f"{guess} {play}" for guess in guesses for play in plays}
        if self.phase == "guess":
            return set(guesses)
        return set(plays)

    def choose(self, seat, move):
        """P5, P6: set a Guess Card aside, or a Play Card. After the last one the round is done."""
        if seat not in self.asked()[:1]:
            raise ValueError(f"seat {seat} is not asked next")
        if move not in self.legal(seat):
            raise ValueError(f"seat {seat} may not {move!r}")
        words = move.split()
        named = dict(zip(words[0::2], words[1::2], strict=True))
        if "guess" in named:
            self._guesses[seat] = int(named["guess"]) if self.guess_cards[seat] else None
        if "play" in named:
            self._plays[seat] = int(named["play"])
        if self.asked():
            return
        if self.phase == "guess" and not self._joint():
            self.phase = "play"
            return
        self._flip_it()

    # -- the end of a hand ------------------------------------------------------------------------

    def _flip_it(self):
        """P7, P8, PA2: all Play Cards are flipped and added, then the Guess Cards are revealed."""
        guesses = [self._guesses.get(seat) for seat in self._seats()]
        plays = [self._plays[seat] for seat in self._seats()]
        total = sum(plays)
        winners = self._right(guesses, total)
        if self.rules.scoring == "basic":
            gains = self._score_basic(guesses, winners)
        else:
            gains = self._score_capture(guesses, winners)
        for seat in self._seats():
            self.points[seat] += gains[seat]
        self._put_play_cards_away(plays)
        self.history.append(
            {
                "guesses": guesses,
                "plays": plays,
                "total": total,
                "winners": winners,
                "gains": gains,
            }
        )
        self.hands += 1
        self._guesses = {}
        self._plays = {}
        self.phase = "guess"
        self._test_the_end()
        self._pay(gains)

    def _right(self, guesses, total):
        """P9: the Guess Card that equals the total wins; P10: maybe nobody; P11: maybe several.

        PA3: under "closest" every seat at the least distance wins. PA11: a seat without a guess has
        nothing to win with, nor to be closest with.
        """
        guessing = [seat for seat in self._seats() if guesses[seat] is not None]
        if self.rules.win_rule == "exact":
            return [seat for seat in guessing if guesses[seat] == total]
        if not guessing:
            return []
        least = min(abs(guesses[seat] - total) for seat in guessing)
        return [seat for seat in guessing if abs(guesses[seat] - total) == least]

    def _score_basic(self, guesses, winners):
        """P12, PA4: each winner keeps its card in the win pile; PA5: the others' may be spent."""
        gains = [0 for _ in self._seats()]
        for seat in winners:
            gains[seat] = self._keep_own_card(seat, guesses[seat])
        losers = [seat for seat in self._seats() if seat not in winners]
        self._return_or_spend(losers, guesses)
        return gains

    def _score_capture(self, guesses, winners):
        """P16, PA4: the winner takes the opponents' Guess Cards and returns its own to the hand."""
        gains = [0 for _ in self._seats()]
        losers = [seat for seat in self._seats() if seat not in winners]

        if not winners:
            # PA5: discarding applies to capture only in hands without a winner.
            self._return_or_spend(losers, guesses)
            return gains

        if len(winners) == 1:
            winner = winners[0]
            gains[winner] = spots(self.rules, guesses[winner])
            for loser in losers:
                gains[winner] += self._take_card(winner, loser, guesses[loser])
            return gains

        if self.rules.capture_multi == "none":
            # PA7, PA8: all cards return and nobody scores.
            return gains

        if self.rules.capture_multi == "keep_own" or not losers:
            # PA7 as in P11, and PA8: all right, so there is nothing to capture.
            for seat in winners:
                gains[seat] = self._keep_own_card(seat, guesses[seat])
            return gains

        # PA7, "share": own spots, and each loser's card to the next winner clockwise from it.
        for seat in winners:
            gains[seat] = spots(self.rules, guesses[seat])
        for loser in losers:
            taker = (loser + 1) % self.rules.num_players
            while taker not in winners:
                taker = (taker + 1) % self.rules.num_players
            gains[taker] += self._take_card(taker, loser, guesses[loser])
        return gains

    def _keep_own_card(self, seat, card):
        """P11, P13: a winning card goes to the own win pile and is worth 1 + its spots."""
        self.guess_cards[seat].remove(card)
        self.win_pile[seat].append(card)
        return 1 + spots(self.rules, card)

    def _take_card(self, winner, loser, card):
        """P16, PA6: a captured card is worth 1, or 1 + its spots. PA11: no guess, nothing taken."""
        if card is None:
            return 0
        self.guess_cards[loser].remove(card)
        self.win_pile[winner].append(card)
        if self.rules.capture_spots:
            return 1 + spots(self.rules, card)
        return 1

    def _return_or_spend(self, losers, guesses):
        """PA5: a used Guess Card that nobody wins or takes returns to the hand or is spent."""
        if self.rules.loser_guess == "return":
            return
        for seat in losers:
            if guesses[seat] is not None:
                self.guess_cards[seat].remove(guesses[seat])
                self.spent[seat].append(guesses[seat])

    def _put_play_cards_away(self, plays):
        """PA9: Play Cards return, or are consumed until the set is empty and comes back whole."""
        if self.rules.play_cards == "returned":
            return
        for seat in self._seats():
            self.play_cards[seat].remove(plays[seat])
            if not self.play_cards[seat]:
                self.play_cards[seat] = set(self.rules.play_values)

    # -- the end of the game ----------------------------------------------------------------------

    def _test_the_end(self):
        """Decisions: goal, then no_guess_cards, then max_hands; PA10, PA15: most points win."""
        if self._goal_reached():
            self.end_reason = "goal"
        elif self._guess_cards_run_out():
            self.end_reason = "guess_cards"
        elif self.hands >= self.rules.max_hands:
            self.end_reason = "max_hands"
        else:
            return
        self.over = True
        self.phase = "over"
        most = max(self.points)
        self.winners = [seat for seat in self._seats() if self.points[seat] == most]

    def _goal_reached(self):
        """P12, PA10: a score, a number of hands, or until any seat's Guess Cards are gone."""
        kind, amount = self.rules.goal
        if kind == "score":
            return max(self.points) >= amount
        if kind == "hands":
            return self.hands >= amount
        return any(not cards for cards in self.guess_cards)

    def _guess_cards_run_out(self):
        """PA11: "end" when any seat has no Guess Card, "continue" until no seat has one."""
        empty = [not cards for cards in self.guess_cards]
        if self.rules.no_guess_cards == "end":
            return any(empty)
        return all(empty)

    # -- rewards ----------------------------------------------------------------------------------

    def _pay(self, gains):
        """Decisions, **reward**: paid to all seats in the step that resolves the hand."""
        seats = len(gains)
        for seat in self._seats():
            if self.rules.reward == "points":
                paid = float(gains[seat])
            elif self.rules.reward == "margin":
                others = [gains[other] for other in self._seats() if other != seat]
                paid = gains[seat] - sum(others) / len(others)
            elif not self.over:
                paid = 0.0
            elif seat in self.winners:
                paid = (seats / len(self.winners) - 1) / (seats - 1)
            else:
                paid = -1 / (seats - 1)
            self._unpaid[seat] += paid

    def take_rewards(self):
        """The rewards paid since the last call, one a seat."""
        paid = self._unpaid
        self._unpaid = [0.0 for _ in self._seats()]
        return paid

    # -- what a seat sees -------------------------------------------------------------------------

    def seen_by(self, seat):
        """2.3, PA14: all cards and finished hands are public; of the running hand only the own
        guess during PLAY and, in the sequential game, the flips made so far.
        """
        own_guess = None
        if self.phase == "play":
            own_guess = self._guesses.get(seat)
        flips = [None for _ in self._seats()]
        first = 0
        if self._sequential():
            flips = [self._plays.get(other) for other in self._seats()]
            first = self.hands % self.rules.num_players
        newest_first = self.history[::-1]
        return {
            "guess_cards": [sorted(cards) for cards in self.guess_cards],
            "play_cards": [sorted(cards) for cards in self.play_cards],
            "points": list(self.points),
            "hands": self.hands,
            "phase": self.phase,
            "own_guess": own_guess,
            "history": [
                {"guesses": list(hand["guesses"]), "plays": list(hand["plays"])}
                for hand in newest_first[: self.rules.obs_history]
            ],
            "flips": flips,
            "first": first,
        }

    def copy(self):
        """An independent game at the same point; only the rules are shared."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if name != "rules":
                setattr(twin, name, copy.deepcopy(value))
        return twin

    # -- small words ------------------------------------------------------------------------------

    def _seats(self):
        return range(self.rules.num_players)

    def _joint(self):
        return self.rules.actions == "joint"

    def _sequential(self):
        return self.rules.flip_order == "sequential"

    def _flip_round(self):
        """PA12, 2.3: sequential flips start at seat (hand number mod n), as a fixed start would
        leave the same seat blind; simultaneous ones are asked in ascending order.
        """
        players = self.rules.num_players
        start = self.hands % players if self._sequential() else 0
        return [(start + step) % players for step in range(players)]


def highest_total(rules):
    """T of the rules: every player flips the highest Play Card there is."""
    return rules.num_players * max(rules.play_values)


def full_guess_cards(rules):
    """P2: Guess Cards 0..5n with full sets; **guess_max** may cut the top ones."""
    highest = highest_total(rules) if rules.guess_max is None else rules.guess_max
    return range(highest + 1)


def spots(rules, card):
    """P13, P14: three, two, one spots at both ends of the possible totals, never added up."""
    low_end = 3 - card
    high_end = 3 - (highest_total(rules) - card)
    return max(0, low_end, high_end)


def most_basic_points(rules):
    """Arithmetic check: 1 + spots of every Guess Card that is a possible total (23/28/33)."""
    possible = {sum(plays) for plays in itertools.product(rules.play_values, repeat=rules.num_players)}
    return sum(1 + spots(rules, card) for card in full_guess_cards(rules) if card in possible)


def refuse_bad_rules(rules):
    """Decisions: what is refused at construction."""
    if rules.num_players not in (2, 3, 4):
        raise ValueError("num_players is 2, 3 or 4 (PA13)")
    values = list(rules.play_values)
    if len(values) not in range(2, 7) or len(set(values)) != len(values) or 0 not in values:
        raise ValueError("play_values are 2-6 different values, 0 among them (PA1)")
    if any(value not in range(6) for value in values):
        raise ValueError("play_values are ints in 0..5 (PA1)")
    if rules.guess_max is not None and rules.guess_max not in range(1, highest_total(rules) + 1):
        raise ValueError("guess_max is None or 1..highest total (P2)")
    for name, allowed in OPTIONS.items():
        if getattr(rules, name) not in allowed:
            raise ValueError(f"{name} is one of {allowed}")
    kind, amount = rules.goal
    if kind not in ("score", "hands", "guess_cards_gone"):
        raise ValueError("goal is a score, a number of hands or guess_cards_gone (PA10)")
    if kind != "guess_cards_gone" and amount < 1:
        raise ValueError("goal needs a number from 1 (PA10)")
    if kind == "score" and rules.scoring == "basic" and amount > most_basic_points(rules):
        raise ValueError("no seat can reach that score (arithmetic check)")
    if rules.max_hands < 1:
        raise ValueError("max_hands is at least 1 (PA15)")
    if rules.obs_history not in range(9):
        raise ValueError("obs_history is 0..8 (2.3)")
    if rules.actions == "joint" and rules.flip_order == "sequential":
        raise ValueError("joint actions cannot be sequential (2.3)")
