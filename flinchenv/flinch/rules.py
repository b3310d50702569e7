"""Flinch: the rules in numbers, their settings and the named presets.

F1   Whoever first plays all cards of the own Stockpile wins.
F2   Two to eight play.
F3   For more players two packs are put together (`packs`).
F4   A pack holds nine series of 1 to 15, or ten in the 150-card game.
F5   Wild cards stay out of the game, but for a house rule (`n_wild`).
F6   Suits and colours mean nothing; only ranks count.
F7   The Stack lies in groups of five.
F8   One player deals; all cards are shuffled.
F9   The first ten cards of each are its Stockpile, face down; its top card is turned up.
F10  The next five are its hand, seen by their owner alone.
F11  All others are the Stack, face down.
F12  Up to five Reserve Piles a player grow during play: one card each time a turn ends.
F13  An empty place among them must be filled before another pile grows.
F14  Only their tops can be played; nobody looks beneath.
F15  No card moves from one Reserve Pile to another.
F16  A 1 never goes on a Reserve Pile.
F17  Reserve Piles may be emptied and started again any number of times.
F18  Play Piles belong to all; each is built from 1 to 15 and taken away when complete; a 1 starts a new one.
F19  The player on the dealer's left begins: seat 0.
F20  A 1 on the Stockpile is played to the centre, and so is the next top card if it is a 1.
F21  Otherwise a 1 in the hand is played, and the turn goes on with what fits.
F22  Another opening: all turn up their top cards in turn, and 1s go to the centre (`opening` "encyclopedia").
F23  If nobody has a 1, all lay their hands down as Reserve Piles and draw new ones, until somebody has.
F24  Only after the first 1 does each turn end with a card to a Reserve Pile.
F25  The Stockpile's top card comes first whenever it can be played.
F26  Then all 1s in the hand must be played; other cards may be kept.
F27  Tops of Reserve Piles may be played after that, never must.
F28  Any number of cards may be played on the piles in a turn.
F29  Who runs out of hand cards during the turn draws five and goes on.
F30  Who can or will play no more puts a hand card on a Reserve Pile, which ends the turn.
F31  Advice: build Reserve Piles downwards.
F32  When the Stack is used up, the piles taken away are shuffled and become the new Stack.
F33  Whoever does not play a playable Stockpile card may be called by an opponent.
F34  The one rightly called gets a card of the caller's Stockpile under the own one.
F35  A 1 kept back in the hand can be called too; a wrong call costs the caller the same.
F36  The turn of a player so punished ends, without a card to a Reserve Pile.
F37  Of several callers the one nearest to the left of the called player counts.
F38  A hand card once shown must be played; if it cannot be, the turn ends without a discard.
F39  A card shown out of turn must be played first in the next turn; if it cannot be, that turn is passed.
F40  When the Stack is used up and all refuse to play, the first of those who can, from the dealer's left, must.
F41  Variant: piles start with 1s and go up, or with 15s and go down (`center` "both_ends").
F42  Variant: piles start with 8s and grow both ways (`center` "eights").
F43  All other rules hold in these.
F44  Partners sit opposite; each may also play from the other's Stockpile and Reserve Piles, its own Stockpile first.
F45  When one of their Stockpiles is used up they go on with the other, and win when that is empty too.
F46  Partners are called for either Stockpile. Talking, peeking and playing out of turn cannot happen here.
F47  The wild card game's own rules are unknown; `n_wild` is a house rule.
F48  The game ends the moment the last Stockpile card is played.
"""

import dataclasses

from ..core.params import check_rules, choice, flag, integer, refuse, special

MAX_PLAYERS = 8
MAX_RANK = 15
MAX_SERIES = 20
MAX_PACKS = 2
MAX_WILDS = 27
MAX_STOCK = 20
MAX_HAND = 5
MAX_RESERVES = 5
CHANCE_UNIT = 2**30  # kernels know a probability as so many parts of it

# Fields that only calls read, and others that the chosen settings may leave unread (name, whether unread, because of).
_CALL_FIELDS = (
    "challenge_window",
    "call_kinds",
    "call_priority",
    "penalty_card",
    "empty_by_penalty_wins",
    "mask_false_stock_calls",
    "reveal_on_false_call",
)
_OTHER_UNREAD = (
    ("mask_false_stock_calls", "stock_duty", lambda r: r.stock_duty == "none"),
    ("reveal_on_false_call", "call_kinds", lambda r: r.call_kinds == "stock_only"),
    ("stock_duty", "duty_mode", lambda r: r.duty_mode == "honour"),
    ("eights_removal", "center", lambda r: r.center != "eights"),
    ("starter_duty", "center", lambda r: r.center == "up"),
    ("first_laydown", "opening", lambda r: r.opening == "encyclopedia"),
    ("offturn_exposure_discard", "p_expose", lambda r: r.p_expose == 0),
    ("shaping_gamma", "shaping", lambda r: r.shaping == 0),
)


def _number(default, low, high, doc):
    """A field of real numbers low..high."""

    def check(name, value, rules):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            refuse(name, value, f"a number in {low}..{high}")
        return float(value)

    return special(default, check, float, f"{low}..{high}", doc)


def _check_packs(name, value, rules):
    if value == "auto" or (value in (1, 2) and not isinstance(value, (bool, float))):
        return value
    refuse(name, value, "'auto', 1 or 2")


@dataclasses.dataclass(frozen=True)
class FlinchRules:
    """All settings of a Flinch game; every field is checked when the object is made.

    Raises:
        RulesError: names the field, the value and what is allowed.
    """

    num_players: int = integer(2, 2, MAX_PLAYERS, "players (F2)")
    packs: str | int = special(
        "auto",
        _check_packs,
        lambda text: text if text == "auto" else int(text),
        "auto / 1 / 2",
        "packs of cards; auto is 1 for up to four players, else 2 (FA1)",
    )
    num_ranks: int = integer(15, 3, MAX_RANK, "the highest rank (F4)")
    series_per_pack: int = integer(9, 1, MAX_SERIES, "cards of each rank in a pack (FA2)")
    n_wild: int = integer(0, 0, MAX_WILDS, "wild cards in a pack, a house rule (FA20)")
    stock_size: int = integer(10, 1, MAX_STOCK, "cards of a Stockpile (F9)")
    hand_size: int = integer(5, 1, MAX_HAND, "cards of a hand (F10)")
    reserve_piles: int = integer(5, 1, MAX_RESERVES, "Reserve Piles of a player (F12)")
    center: str = choice("up", "both_ends", "eights", doc="how Play Piles are built (F18, F41, F42)")
    starter_duty: str = choice("all_starters", "ones_only", doc="which starters must be played (FA28)")
    eights_removal: str = choice("both_ends", "on_15", doc="what completes a pile of the eights game (FA30)")
    partnership: bool = flag(False, "partners sit opposite (F44)")
    opening: str = choice("official", "sequential", "encyclopedia", doc="how the first starter is found (FA5)")
    first_laydown: str = choice("spread", "free", doc="where the first hand laid down goes (FA6)")
    duty_mode: str = choice("enforced", "challenge", "honour", doc="duties masked, open to calls, or none (1.3)")
    stock_duty: str = choice("always", "turn_start", "none", doc="when the Stockpile must be played first (FA9)")
    refill: str = choice("turn_start", "immediate", doc="when a hand used up by a discard is filled (FA11)")
    recycle: str = choice("lazy", "eager", "immediate", doc="when complete piles become the Stack (FA12)")
    deadlock: str = choice("draw", "fewest_stock", "reshuffle_reserves", doc="what a dead game is (FA13)")
    blocked: str = choice("jump", "wait", "off", doc="how a blocked game is resolved (F40, FA16)")
    challenge_window: str = choice("turn_end", "every_action", doc="when others may call (FA25)")
    call_kinds: str = choice("both", "stock_only", doc="what may be called (FA25)")
    call_priority: str = choice("left", "random", doc="in which order others are asked (FA26)")
    penalty_card: str = choice("top", "hidden_random", "bottom", doc="which card a penalty moves (FA21)")
    empty_by_penalty_wins: bool = flag(True, "a Stockpile emptied by a penalty wins at once (FA22)")
    mask_false_stock_calls: bool = flag(False, "a stock call that is wrong is not offered (FA23)")
    reveal_on_false_call: bool = flag(False, "a hand wrongly called is shown (FA24)")
    illegal_move: str = choice("mask", "exposure", doc="unplayable hand cards masked, or shown by mistake (FA35)")
    p_expose: float = _number(0.0, 0, 1, "probability of showing a card out of turn (FA35)")
    offturn_exposure_discard: bool = flag(True, "who must pass for such a card discards (FA18)")
    obs_reserve: str = choice("tops", "full", doc="the table as it lies, or all that was public (FA19)")
    auto_forced: bool = flag(False, "single legal actions are played without asking (1.3)")
    reward: str = choice("win", "stock_margin", doc="places, or stock cards ahead of the other sides")
    shaping: float = _number(0.0, 0, 10, "weight of the potential-based shaping (1.3)")
    shaping_gamma: float = _number(1.0, 0, 1, "its discount")
    max_turns: int = integer(1000, 1, 1_000_000, "turns after which the game is cut")
    max_plays_per_turn: int = integer(500, 10, 10_000, "actions in one turn after which the game is cut")

    def __post_init__(self):
        check_rules(self)
        needed = self.num_players * (self.stock_size + self.hand_size) + self.hand_size
        if self.deck_size < needed:
            names = ("num_players", "packs", "num_ranks", "series_per_pack", "n_wild", "stock_size", "hand_size")
            values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            refuse("stock_size", self.stock_size, f"{values} need {needed} cards; the deck has {self.deck_size}")
        if self.partnership and (self.num_players < 4 or self.num_players % 2):
            refuse("partnership", True, f"4, 6 or 8 players; num_players={self.num_players}")
        if self.center == "eights" and self.num_ranks % 2 == 0:
            refuse("num_ranks", self.num_ranks, "an odd number where center='eights', which needs a middle rank")
        if self.starter_duty == "ones_only" and self.center == "eights":
            allowed = "'all_starters' where center='eights', or a hand of 1s could not be played or discarded"
            refuse("starter_duty", "ones_only", allowed)
        if self.stock_duty == "none" and self.call_kinds == "stock_only":
            refuse("call_kinds", "stock_only", "'both' where stock_duty='none', or no call would be left")
        self._refuse_unread_fields()

    def _refuse_unread_fields(self):
        """A setting that changes nothing is a mistake."""
        unread = [(name, "duty_mode", lambda r: r.duty_mode != "challenge") for name in _CALL_FIELDS]
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        for name, because, is_unread in (*unread, *_OTHER_UNREAD):
            value = getattr(self, name)
            if value != defaults[name] and is_unread(self):
                refuse(name, value, f"{defaults[name]!r}, since {because}={getattr(self, because)!r} never reads it")

    @property
    def num_packs(self):
        """`packs` as a number (FA1)."""
        if self.packs == "auto":
            return 1 if self.num_players <= 4 else 2
        return int(self.packs)

    @property
    def copies(self):
        """Cards of each rank in the deck."""
        return self.series_per_pack * self.num_packs

    @property
    def wilds(self):
        """Wild cards in the deck."""
        return self.n_wild * self.num_packs

    @property
    def deck_size(self):
        """All cards in play."""
        return self.num_ranks * self.copies + self.wilds

    @property
    def team_size(self):
        """Members of a side."""
        return 2 if self.partnership else 1

    @property
    def starters(self):
        """The ranks that may start a Play Pile."""
        if self.center == "eights":
            return ((self.num_ranks + 1) // 2,)
        return (1, self.num_ranks) if self.center == "both_ends" else (1,)

    @property
    def duty_starters(self):
        """The starters that must be played and never lie on a Reserve Pile (FA28)."""
        return (1,) if self.starter_duty == "ones_only" else self.starters

    @property
    def can_expose(self):
        """Whether a hand card may come to be shown (F38, F39)."""
        return self.illegal_move == "exposure" or self.p_expose > 0

    def kernel_values(self):
        """What kernels need beyond the plain fields."""
        return {
            "copies": self.copies,
            "wilds": self.wilds,
            "all_slots": (1 << self.reserve_piles) - 1,
            "middle": (self.num_ranks + 1) // 2,
            "starters": sum(1 << rank for rank in self.starters),
            "duty_starters": sum(1 << rank for rank in self.duty_starters),
            "can_expose": int(self.can_expose),
            "expose_parts": round(self.p_expose * CHANCE_UNIT),
            "shaping_weight": self.shaping,
            "shaping_discount": self.shaping_gamma,
        }


PRESETS = {
    "flinch": {},
    "flinch-challenge": {"duty_mode": "challenge"},
    "flinch-partnership": {"partnership": True, "num_players": 4},
    "flinch-both_ends": {"center": "both_ends"},
    "flinch-eights": {"center": "eights"},
    "flinch-classic150": {"series_per_pack": 10, "packs": 1, "opening": "encyclopedia", "refill": "immediate"},
    "flinch-exposure": {"duty_mode": "challenge", "illegal_move": "exposure", "p_expose": 0.02},
    "flinch-wild": {"n_wild": 9},
    "flinch-tiny": {
        "num_ranks": 4,
        "series_per_pack": 3,
        "packs": 1,
        "stock_size": 1,
        "hand_size": 2,
        "reserve_piles": 2,
    },
}
