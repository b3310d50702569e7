"""Flip It: the rules in numbers, their settings and the named presets.

P1   Every player owns a set of Play Cards and a set of Guess Cards.
P2   Guess Cards run from 0 to five times the number of players (10, 15 or 20).
P3   The game is played in hands; a hand's total is the sum of the Play Cards flipped in it.
P4   The headline speaks of the closest guess; P9 and P10 ask for the exact one (`win_rule`).
P5   First every player sets a Guess Card aside, face down.
P6   Then every player chooses a Play Card, 0 (Pass) to 5, hoping to make the total match.
P7   All Play Cards are flipped at once (or in turn: `flip_order`).
P8   The total is added up, then the Guess Cards are shown.
P9   A Guess Card equal to the total wins the hand.
P10  If no guess is right, nobody wins the hand.
P11  If several are right, each keeps its winning card.
P12  Basic scoring: a winning card goes to the winner's pile for one point; the game is played to a `goal`.
P13  The guesses 0, 1 and 2 carry three, two and one spots, each worth a point more.
P14  So do the three highest possible totals: the highest carries three, the next two, the next one.
P15  Example: three players guess 10, 13, 11 and play 4, 5, 4: the total is 13, player_1 wins.
P16  In the example the winner takes the others' Guess Cards and takes its own back (`scoring` "capture").
P17  A legal notice; it has no effect on play.
"""

import dataclasses
import itertools

from ..core.params import (
    RulesError,
    check_rules,
    choice,
    flag,
    integer,
    one_of,
    refuse,
    special,
    whole,
)

MAX_PLAYERS = 4
MAX_PLAY = 5
MAX_GUESS = MAX_PLAYERS * MAX_PLAY
GOALS = ("score", "hands", "guess_cards_gone")


def _check_play_values(name, value, rules):
    allowed = "2 to 6 different whole numbers in 0..5, 0 among them"
    if not isinstance(value, (tuple, list)):
        refuse(name, value, allowed)
    try:
        values = tuple(sorted(whole(name, v, 0, MAX_PLAY) for v in value))
    except RulesError:
        refuse(name, value, allowed)
    if len(set(values)) != len(values) or not 2 <= len(values) <= 6 or values[0] != 0:
        refuse(name, value, allowed)
    return values


def _check_guess_max(name, value, rules):
    if value is None:
        return None
    return whole(name, value, 1, highest_total(rules))


def _check_goal(name, value, rules):
    allowed = '("score", 1..1000000), ("hands", 1..10000) or ("guess_cards_gone", 0)'
    given = value
    if isinstance(value, str):
        try:
            value = _parse_goal(value)
        except ValueError:
            refuse(name, given, allowed)
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        refuse(name, given, allowed)
    kind, number = value
    low, high = {"score": (1, 10**6), "hands": (1, 10**4)}.get(kind if isinstance(kind, str) else "", (0, 0))
    try:
        return (one_of(name, kind, GOALS), whole(name, number, low, high))
    except RulesError:
        refuse(name, given, allowed)


def _parse_goal(text):
    kind, _, number = text.partition(":")
    return (kind, int(number or 0))


@dataclasses.dataclass(frozen=True)
class FlipItRules:
    """All settings of a Flip It game; every field is checked when the object is made.

    Raises:
        RulesError: names the field, the value and what is allowed.
    """

    num_players: int = integer(2, 2, MAX_PLAYERS, "players (PA13)")
    play_values: tuple = special(
        (0, 1, 2, 3, 4, 5),
        _check_play_values,
        lambda text: tuple(int(v) for v in text.split(",")),
        "2 to 6 of 0..5 with 0",
        "the Play Cards, one of each (PA1)",
    )
    guess_max: int | None = special(
        None,
        _check_guess_max,
        lambda text: None if text == "None" else int(text),
        "None / 1..highest total",
        "highest Guess Card; None is the highest possible total (P2)",
    )
    actions: str = choice("phased", "joint", doc="guess, then play; or both in one action")
    goal: tuple = special(
        ("score", 10),
        _check_goal,
        _parse_goal,
        "score:K / hands:K / guess_cards_gone:0",
        "what ends the game (P12, PA10)",
    )
    reward: str = choice("margin", "points", "win", doc="what is paid: gain minus the others' mean; gain; places")
    win_rule: str = choice("exact", "closest", doc="which guesses win a hand (P9, PA3)")
    scoring: str = choice("basic", "capture", doc="keep the own card, or take the others' (P12, P16)")
    loser_guess: str = choice("return", "discard", doc="what becomes of used guesses that nobody takes (PA5)")
    capture_spots: bool = flag(False, "a captured card pays its spots too (PA6)")
    capture_multi: str = choice("keep_own", "share", "none", doc="capture with several winners (PA7)")
    play_cards: str = choice("returned", "consumed", doc="Play Cards come back at once, or when all are used (PA9)")
    no_guess_cards: str = choice("end", "continue", doc="a seat without Guess Cards ends the game, or plays on (PA11)")
    flip_order: str = choice("simultaneous", "sequential", doc="Play Cards flipped together or in turn (PA12)")
    max_hands: int = integer(200, 1, 10_000, "hands after which the most points win (PA15)")
    obs_history: int = integer(1, 0, 8, "finished hands shown in the observation")

    def __post_init__(self):
        check_rules(self)
        if self.flip_order == "sequential" and self.actions == "joint":
            refuse("actions", "joint", "'phased' where flip_order is 'sequential'")
        if self.scoring == "basic" and self.goal[0] == "score" and self.goal[1] > most_points(self):
            refuse("goal", self.goal, f"a score in 1..{most_points(self)}, the most that basic scoring can pay")

    def kernel_values(self):
        """What kernels need beyond the plain fields."""
        return {
            "highest_guess": highest_guess(self),
            "all_guesses": (2 << highest_guess(self)) - 1,
            "all_plays": sum(1 << v for v in self.play_values),
            "goal_kind": GOALS.index(self.goal[0]),
            "goal_number": self.goal[1],
            "past_mask": (1 << max(self.obs_history - 1, 0).bit_length()) - 1,
            "spots": [spots(self, g) for g in range(MAX_GUESS + 1)],
        }


def highest_total(rules):
    """The highest total that the players can reach (P14)."""
    return rules.num_players * max(rules.play_values)


def highest_guess(rules):
    """The highest Guess Card of each set (P2)."""
    return highest_total(rules) if rules.guess_max is None else rules.guess_max


def spots(rules, guess):
    """Spots on a Guess Card (P13, P14): the larger of its two ends, never their sum."""
    return max(0, 3 - guess, 3 - (highest_total(rules) - guess) if guess <= highest_total(rules) else 0)


def most_points(rules):
    """The most points that one seat can earn under basic scoring: each card that can win, once, with its spots."""
    totals = {sum(plays) for plays in itertools.product(rules.play_values, repeat=rules.num_players)}
    if rules.win_rule == "closest":
        totals = set(range(highest_guess(rules) + 1))
    return sum(1 + spots(rules, g) for g in range(highest_guess(rules) + 1) if g in totals)


PRESETS = {
    "flip_it": {},
    "flip_it-capture": {"scoring": "capture"},
    "flip_it-closest": {"win_rule": "closest"},
    "flip_it-sequential": {"flip_order": "sequential"},
    "flip_it-hand": {"goal": ("hands", 1)},
    "flip_it-tiny": {"play_values": (0, 1), "goal": ("score", 3), "max_hands": 3},
    "flip_it-small": {"play_values": (0, 1, 2), "goal": ("score", 8), "max_hands": 3},
}
