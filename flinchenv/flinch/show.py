"""Flinch for people: action names and back, and the table as text."""

from ..core.params import refuse
from ..core.spec import RUNNING
from .cards import BOTTOM, CARD, CARD_BITS, EMPTY, KNOWN, WILD, rank_of
from .ending import END_REASONS
from .moves import (
    CALL_STARTER,
    CALL_STOCK,
    CHALLENGE,
    DISCARD,
    DOWN,
    END_TURN,
    LAYDOWN,
    MATE,
    MATE_DOWN,
    NAME,
    NO_CALL,
    NUM_ACTIONS,
    OPEN,
    RESERVE,
    STOCK,
    WILD_DISCARD,
    WILD_PLAY,
)
from .rules import MAX_RANK, MAX_RESERVES

_WORDS = {
    END_TURN: "end turn",
    NO_CALL: "no call",
    CALL_STOCK: "call stock",
    CALL_STARTER: "call 1",
    WILD_PLAY: "hand wild",
}
_PHASES = {OPEN: "opening", LAYDOWN: "hands are laid down", NAME: "a wild is named", CHALLENGE: "calls"}
_plain_rank = getattr(rank_of, "py_func", rank_of)


def num_actions(rules):
    """Discrete(139), whatever the rules."""
    return NUM_ACTIONS


def action_name(rules, action):
    """Such as "stock", "hand 7", "reserve 2 down", "discard 7 to 2", "end turn" or "call 1"; places count from 0."""
    action = int(action)
    if action in _WORDS:
        return _WORDS[action]
    if action >= WILD_DISCARD:
        return f"discard wild to {action - WILD_DISCARD}"
    if DISCARD <= action < END_TURN:
        rank, slot = divmod(action - DISCARD, MAX_RESERVES)
        return f"discard {rank + 1} to {slot}"
    down = DOWN <= action < MATE or action >= MATE_DOWN
    return _source_name(action) + (" down" if down else "")


def _source_name(action):
    if action >= MATE:
        k = (action - MATE) % (MATE_DOWN - MATE)
        return f"partner reserve {k - 1}" if k else "partner stock"
    k = action % DOWN
    if k == STOCK:
        return "stock"
    return f"hand {k}" if k <= MAX_RANK else f"reserve {k - RESERVE}"


def parse_action(rules, text):
    """The id of an action's name.

    Raises:
        RulesError: no such action.
    """
    for action in range(NUM_ACTIONS):
        if action_name(rules, action) == " ".join(text.split()):
            return action
    refuse("action", text, "a name as in `flinchenv layout`, such as 'stock', 'hand 7', 'discard 7 to 2' or 'end turn'")


def action_table(rules):
    """The action ids as a Markdown table."""
    rows = [
        "| 0 | play the top card of the own Stockpile |",
        "| 1-15 | play a hand card of that rank; in NAME, call the wild that rank |",
        "| 16-20 | play the top card of Reserve Pile 0-4 |",
        "| 21-95 | discard a card of rank r to Reserve Pile j: 21 + 5 (r - 1) + j |",
        "| 96 | end the turn without a discard, or pass |",
        "| 97, 98, 99 | no call; call a Stockpile card passed over; call a starter kept back |",
        "| 100-120 | as 0-20, on a descending pile |",
        "| 121, 122-126 | play the top card of the partner's Stockpile, of its Reserve Piles |",
        "| 127, 128-132 | the same on a descending pile |",
        "| 133 | play a wild from the hand |",
        "| 134-138 | discard a wild to Reserve Pile 0-4 |",
    ]
    return "\n".join(["| ids | meaning |", "|---|---|", *rows])


def card_name(card):
    """A rank, W for a wild, - for an empty pile."""
    return {WILD: "W", EMPTY: "-"}.get(int(card), str(int(card)))


def pile_cards(s, node):
    """The cards from a node down, those of a Stockpile with their marks."""
    cards = []
    while node != BOTTOM:
        word = int(s.nodes[node])
        cards.append(word & CARD)
        node = word >> CARD_BITS
    return cards


def stock_cards(s, p):
    """[(rank, whether it is public beneath the top)] of a Stockpile, from the top."""
    return [(_plain_rank(card), card >= KNOWN) for card in pile_cards(s, s.stock[p])]


def reserve_cards(s, p, slot):
    """The ranks of a Reserve Pile, from the top."""
    return pile_cards(s, s.pile[p, slot])


def open_piles(s, rules):
    """[(lowest rank, highest rank)] of the piles in the centre."""
    if rules.center == "eights":
        middle = (rules.num_ranks + 1) // 2
        states = [(middle - j, middle + i, int(s.eights[i, j])) for i in range(middle) for j in range(middle)]
    else:
        states = [(1, top, int(s.ups[top])) for top in range(1, rules.num_ranks)]
        states += [(top, rules.num_ranks, int(s.downs[top])) for top in range(2, rules.num_ranks + 1)]
    return [(low, high) for low, high, count in states for _ in range(count)]


def render_text(s, rules, viewer=None):
    """The table as text.

    Args:
        s: one GAME record, read only.
        viewer: a seat, which is shown what it may see; None is the referee, who sees all cards.
    """
    piles = ", ".join(f"{low}-{high}" if low < high else f"{low}" for low, high in open_piles(s, rules)) or "empty"
    head = f"turn {s.turns + 1} of player_{s.turn}"
    if int(s.phase) in _PHASES:
        head += f", {_PHASES[int(s.phase)]}"
    if s.forced:
        head += ", must play a card"
    lines = [f"{head}; {s.left} in the Stack, {s.removed_piles} piles taken away", f"centre: {piles}"]
    if s.end_reason != RUNNING:
        names = ", ".join(f"player_{p}" for p in range(rules.num_players) if s.winners[p])
        reason = END_REASONS[s.end_reason]
        lines[0] = f"over after {s.turns} turns and {s.length} actions: {reason}; won by {names or 'nobody'}"
    for p in range(rules.num_players):
        lines.append(_seat_line(s, rules, viewer, p))
    return "\n".join(lines)


def _seat_line(s, rules, viewer, p):
    seen = viewer in (None, p)
    counts = s.hand[p] if seen else s.known[p]
    cards = [card_name(rank) for rank in (*range(1, rules.num_ranks + 1), WILD) for _ in range(int(counts[rank]))]
    cards += ["?"] * (int(s.hand_cards[p]) - len(cards))
    piles = []
    for j in range(rules.reserve_piles):
        beneath = int(s.pile_cards[p, j]) - 1
        piles.append(card_name(s.top[p, j]) + (f"+{beneath}" if beneath > 0 else ""))
    mark = "*" if s.end_reason == RUNNING and s.current_player == p else " "
    stock = f"{card_name(s.stock_rank[p]):>2} of {s.stock_left[p]:>2}"
    return (
        f"{mark}player_{p}  stock {stock}  reserve {' '.join(f'{x:>4}' for x in piles)}  hand {' '.join(cards) or '-'}"
    )
