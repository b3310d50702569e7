"""Flash 10: the rules in numbers, their settings and the named presets.

T1   There are 100 number cards, 0 to 99, and 20 Thunder cards.
T2   In a round everybody works on a row of ten cards that is to ascend from left to right; no card in it ever moves.
T3   Whoever has an ascending row calls "Stop" and ends the round; rounds are played up to 50 points.
T4   All cards are shuffled, everybody gets ten face down in a row, the rest lie face down in the middle.
T5   Everybody plays at the same time; all turn their ten cards over where they lie.
T6   Then each takes a card from the middle and puts it on one of the ten, again and again.
T7   A drawn card never goes back; the row becomes ten small piles.
T8   A Stop ends the round at once; whoever holds a card must still place it.
T9   Every number card of the ascending run from the left is a point; a right Stop is two more.
T10  The round also ends when the last card of the middle is taken.
T11  Whoever calls Stop without a row in order gets nothing; the others score as usual.
T12  Multiples of 5 are Flash cards; each that is visible is a point more.
T13  A Thunder has no number and does not interrupt a run; each that is visible costs a point and forbids Stop.
T14  Points are noted and the next round is dealt.
T15  The match ends after a round in which somebody has reached 50 points; the most points win.
T16  Variant: the row ascends up to its middle card and descends after it (`row_shape` "mountain").
T17  Variant: Stop is allowed while Thunders are visible (`stop_with_thunder`).
"""

import dataclasses
import math

from ..core.params import RulesError, check_rules, choice, flag, integer, refuse, special, whole

MAX_PLAYERS = 5
MAX_NUMBERS = 100
MAX_THUNDERS = 20
MAX_ROW = 10
FLASH = 5  # multiples of it are Flash cards (T12)
MAX_DURATION = 1000
MISREAD_UNIT = 2**30  # kernels know a probability as so many parts of it


def _check_durations(name, value, rules):
    allowed = f"a whole number in 1..{MAX_DURATION}, or 2 to {MAX_PLAYERS} of them, one for each seat"
    if not isinstance(value, (tuple, list)):
        return _duration(name, value, value, allowed)
    if not 2 <= len(value) <= MAX_PLAYERS:
        refuse(name, value, allowed)
    if len(value) < rules.num_players:
        refuse(name, value, f"one duration for each of num_players={rules.num_players} seats")
    return tuple(_duration(name, v, value, allowed) for v in value)


def _duration(name, value, given, allowed):
    try:
        return whole(name, value, 1, MAX_DURATION)
    except RulesError:
        refuse(name, given, allowed)


def _parse_durations(text):
    values = tuple(int(v) for v in text.split(","))
    return values if len(values) > 1 else values[0]


def _check_misread(name, value, rules):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 0.5:
        refuse(name, value, "a number in 0..0.5")
    return float(value)


def _durations(doc):
    return special(1, _check_durations, _parse_durations, "1..1000, or one for each seat", doc)


@dataclasses.dataclass(frozen=True)
class Flash10Rules:
    """All settings of a Flash 10 game; every field is checked when the object is made.

    Raises:
        RulesError: names the field, the value and what is allowed.
    """

    num_players: int = integer(2, 1, MAX_PLAYERS, "players (TA2); 1 plays alone")
    numbers: int = integer(100, 10, MAX_NUMBERS, "number cards, 0 and up (T1)")
    thunders: int = integer(20, 0, MAX_THUNDERS, "Thunder cards (T1)")
    row_len: int = integer(10, 3, MAX_ROW, "cards in a row (TA19)")
    row_shape: str = choice("ascending", "mountain", doc="how a row is in order (T2, T16)")
    stop_with_thunder: bool = flag(False, "Stop while Thunders are visible (T17)")
    episode: str = choice("match", "round", doc="rounds up to target_score, or a single one")
    target_score: int = integer(50, 1, 1000, "points that end the match (T15)")
    max_rounds: int = integer(50, 1, 1000, "rounds after which the most points win")
    t_flip: int | tuple = _durations("ticks to turn the row over, before the first draw (T6)")
    t_draw: int | tuple = _durations("ticks to take a card and look at it")
    t_place: int | tuple = _durations("ticks to decide and lay it")
    t_check: int | tuple = _durations("ticks to notice that the row is in order")
    speed_noise: bool = flag(False, "durations are 1 + a geometric number of that mean")
    priority: str = choice("fair", "fastest", "seat_rotating", doc="who goes first in a tick")
    pace: str = choice("draw_and_place", "auto_draw", doc="seats choose to draw, or draw by themselves")
    idle: str = choice("limited", "forbidden", "free", doc="when a seat may wait (TA12)")
    max_idle_ticks: int = integer(20, 0, 1000, "ticks in which all ready seats may wait, in a row")
    max_ticks: int = integer(2000, 1, 1_000_000, "ticks of a round where idle is 'free'")
    false_stop: str = choice("allowed", "masked", doc="Stop at any time, or when the own check allows it (TA10)")
    p_misread: float = special(
        0.0, _check_misread, float, "0..0.5", "probability that after a placement a seat misjudges its own row"
    )
    reward: str = choice("margin", "points", "win", doc="what is paid: points minus the others' mean; points; places")
    flash_scope: str = choice("visible", "prefix", doc="which Flash cards are a point more (TA3)")
    floor_zero: bool = flag(False, "a round scores 0 at least (TA5)")
    last_card_stop: bool = flag(False, "the taker of the last card gets the Stop's two points if its row is done (TA6)")
    stop_resolution: str = choice("first", "all_valid", doc="which of several Stops in a tick count (TA8)")
    tie: str = choice("shared", "extra_round", doc="a shared lead at the end, or further rounds (TA15)")
    peak_score: str = choice("left_prefix", "both_sides", doc="how a mountain row is counted (TA16)")
    obs_opponents: str = choice("full", "counts", "none", doc="what is shown of the others' rows")
    obs_seen: bool = flag(False, "show every card that was ever face up in the round")

    def __post_init__(self):
        check_rules(self)
        if self.middle_size < 1:
            left = f"numbers + thunders - num_players * row_len is {self.middle_size}"
            refuse("row_len", self.row_len, f"at least 1 card for the middle; {left}")
        if self.row_shape == "mountain" and self.row_len % 2 == 0:
            refuse("row_len", self.row_len, "an odd number where row_shape is 'mountain'")
        if self.reward == "win" and self.num_players == 1:
            refuse("reward", "win", "'margin' or 'points' where num_players is 1")
        if self.pace == "auto_draw" and self.p_misread > 0:
            refuse("p_misread", self.p_misread, "0 where pace is 'auto_draw'")
        soonest = min(self.durations("t_flip"))
        if self.waits == "free" and soonest > self.max_ticks:
            refuse("max_ticks", self.max_ticks, f"at least {soonest}, the least t_flip, where idle is 'free'")

    @property
    def middle_size(self):
        """Cards left for the middle after the deal (T4)."""
        return self.numbers + self.thunders - self.num_players * self.row_len

    @property
    def waits(self):
        """`idle` as it acts: 'forbidden' under pace 'auto_draw'."""
        return "forbidden" if self.pace == "auto_draw" else self.idle

    def durations(self, name):
        """One of the t_ fields as a list with an entry for each seat."""
        value = getattr(self, name)
        return list(value[: self.num_players]) if isinstance(value, tuple) else [value] * self.num_players

    def kernel_values(self):
        """What kernels need beyond the plain fields."""
        durations = {
            name: self.durations(name) + [1] * (MAX_PLAYERS - self.num_players)
            for name in ("t_flip", "t_draw", "t_place", "t_check")
        }
        return durations | {
            "waits": ("limited", "forbidden", "free").index(self.waits),
            "checked_stop": int(self.pace == "auto_draw" or self.false_stop == "masked"),
            "misread": math.floor(self.p_misread * MISREAD_UNIT),
        }


PRESETS = {
    "flash10": {},
    "flash10-round": {"episode": "round"},
    "flash10-mountain": {"row_shape": "mountain", "row_len": 9},
    "flash10-thunder_stop": {"stop_with_thunder": True},
    "flash10-race": {"t_flip": 12, "t_draw": 3, "t_place": (2, 3, 2, 3, 2), "speed_noise": True},
    "flash10-devir": {"num_players": 5, "row_len": 8},
    "flash10-tiny": {"numbers": 12, "thunders": 1, "row_len": 3, "episode": "round"},
}
