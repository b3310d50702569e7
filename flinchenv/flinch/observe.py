"""What a seat of Flinch may see: its fields, the kernels that write them, the information state.

Other seats are listed relative to the observer: entry 0 is the seat itself, entry 1 the next one clockwise. Vectors by
rank have 16 entries: entry 0 is the wild, entry r rank r.
"""

import struct

import numpy as np

from ..core.bits import MOST, as_byte, clipped, has, natural, put_bits, put_run, put_word
from ..core.fields import make_layout
from ..core.kernel import helper, routine
from ..core.spec import RUNNING
from .cards import BOTTOM, COUNTS, KNOWN, RANKS, WILD, below_node, card_in, rank_of
from .center import ARM, BOTH_ENDS, EIGHTS
from .moves import CHALLENGE
from .rules import MAX_RESERVES

FULL = 1  # obs_reserve
OVER = 5  # the phase that is shown of a finished game

HEAD, TABLE = 8, 4  # entries, literals for `put_word`
SEATS_WIDE = 8  # MAX_PLAYERS, a literal
SEAT_COUNTS = 7  # entries of a seat's counts
FOUR_LANES, TWO_LANES = 64, 32  # entries of a seat's top cards, literals
DEPTH = 40  # cards of a pile that are listed one by one, from the top
WILD_SHOWN = 16  # a wild in such a list, where 0 is no card or an unknown one

_PUBLIC = [
    ("phase", (6,), "onehot", "public", 1, "open, laydown, play, name, challenge, over"),
    ("opened", (), "flag", "public", 1, "a starter has been played to the centre"),
    ("forced", (), "flag", "public", 1, "the turn-holder must play a card (F40)"),
    ("window_at_end", (), "flag", "public", 1, "calls are asked for at the turn's end"),
    ("stack_hundreds", (), "count", "public", MOST, "cards in the Stack, hundreds"),
    ("stack_rest", (), "count", "public", 99, "and the rest"),
    ("removed", (), "count", "public", MOST, "complete piles that wait to be recycled"),
]


def observation_layout(rules):
    """The observation's fields in the order in which `fill_observation` writes them."""
    n = rules.num_players
    pieces = [
        *_public(rules),
        ("hand", (RANKS,), "count", "own", MOST, "the own hand by rank"),
        *_seats(n),
    ]
    if rules.can_expose:
        pieces += [
            ("exposed", (n, RANKS), "count", "public", MOST, "hand cards shown by mistake, by rank (F38, F39)"),
            ("due", (n, RANKS), "onehot", "public", 1, "the card shown out of turn, to be played first (F39)"),
        ]
    if rules.obs_reserve == "full":
        pieces += [
            (
                ("starter_free", (n,), "flag", "public", 1, "proved to hold no starter"),
                ("holds_starter", (n,), "flag", "public", 1, "proved to hold a starter"),
            ),
            ("known_hand", (n, RANKS), "count", "public", MOST, "hand cards that all know, by rank"),
            *_piles(n),
            ("stock_known", (n, DEPTH), "count", "public", WILD_SHOWN, "public Stockpile cards from the top"),
            ("unseen", (RANKS,), "count", "belief", MOST, "cards by rank that may be anywhere hidden"),
        ]
    return make_layout(pieces)


def state_layout(rules):
    """The referee's fields, in absolute seats, in the order in which `fill_state` writes them."""
    n = rules.num_players
    return make_layout(
        [
            *_public(rules),
            *_seats(n),
            ("all_hands", (n, RANKS), "count", "oracle", MOST, "every hand by rank"),
            *_piles(n),
            ("stock_cards", (n, DEPTH), "count", "oracle", WILD_SHOWN, "Stockpile cards from the top"),
            ("stack_cards", (RANKS,), "count", "oracle", MOST, "the Stack by rank"),
            ("removed_cards", (RANKS,), "count", "oracle", MOST, "cards that wait to be recycled, by rank"),
        ]
    )


def _public(rules):
    pieces = [*_PUBLIC]
    if rules.center == "eights":
        meaning = "piles by how far their high and their low end are from the middle rank"
        pieces += [("eights", (ARM, ARM), "count", "public", MOST, meaning)]
    else:
        pieces += [("ups", (RANKS,), "count", "public", MOST, "ascending piles by top")]
    if rules.center == "both_ends":
        pieces += [("downs", (RANKS,), "count", "public", MOST, "descending piles by top")]
    return pieces


def _seats(n):
    return [
        ("turn", (n,), "flag", "public", 1, "whose turn it is, and who may be called"),
        ("asked", (n,), "flag", "public", 1, "who is to act"),
        [
            ("stock_left", (n,), "count", "public", MOST, "Stockpile cards left"),
            ("hand_cards", (n,), "count", "public", MOST, "cards in hand"),
            ("reserve_cards", (n, MAX_RESERVES), "count", "public", MOST, "cards in each Reserve Pile"),
        ],
        [
            ("reserve_top", (n, MAX_RESERVES, RANKS), "onehot", "public", 1, "the Reserve Piles' top cards"),
            ("stock_top", (n, RANKS), "onehot", "public", 1, "the Stockpiles' top cards"),
        ],
    ]


def _piles(n):
    shape = (n, MAX_RESERVES)
    return [
        ("reserve_ranks", (*shape, RANKS), "count", "public", MOST, "each Reserve Pile by rank"),
        ("reserve_order", (*shape, DEPTH), "count", "public", WILD_SHOWN, "each Reserve Pile from the top"),
    ]


@routine
def fill_observation(s, params, seats, player, observation):
    """Write what `player` sees now. Of others' hands and of face-down cards only what is public is read."""
    at = put_public(s, params, observation, 0)
    at = put_run(observation, at, s.hand[player], 0, RANKS)
    at = put_table(s, seats, player, observation, at)
    if params.can_expose:
        at = put_exposed(s, seats, player, observation, at)
    if params.obs_reserve == FULL:
        put_remembered(s, params, seats, player, observation, at)


@helper
def fill_observations(s, params, seats, observations):
    """Write what every seat sees now, (P, D)."""
    for p in range(len(seats)):
        fill_observation(s, params, seats, p, observations[p])


@helper
def put_public(s, params, row, at):
    """The phase, the Stack and the centre."""
    over = s.end_reason != RUNNING and s.truncated == 0
    phase = np.int64(OVER if over else s.phase)
    word = as_byte(1, 0) << np.uint64(8 * phase) | as_byte(s.opened, 6) | as_byte(s.forced, 7)
    at = put_word(row, at, word, HEAD)
    word = as_byte(s.ending & (phase == CHALLENGE), 0) | as_byte(s.left // 100, 1) | as_byte(s.left % 100, 2)
    at = put_word(row, at, word | as_byte(clipped(s.removed_piles), 3), TABLE)
    if params.center == EIGHTS:
        for i in range(ARM):
            at = put_run(row, at, s.eights[i], 0, ARM)
    else:
        at = put_run(row, at, s.ups, 0, RANKS)
    if params.center == BOTH_ENDS:
        at = put_run(row, at, s.downs, 0, RANKS)
    return at


@helper
def put_table(s, seats, player, row, at):
    """What lies before each seat. A store may reach beyond its entries, into those that are written next."""
    n = len(seats)
    asked = 0 if s.end_reason != RUNNING else 1 << (n + natural(s.current_player) - player) % n
    put_bits(row, at, np.int64(1) << (n + natural(s.turn) - player) % n, SEATS_WIDE)
    put_bits(row, at + n, np.int64(asked), SEATS_WIDE)
    at += 2 * n
    for k in range(n):
        put_word(row, at + SEAT_COUNTS * k, s.shown[(player + k) % n, COUNTS], SEATS_WIDE)
    at += SEAT_COUNTS * n
    for k in range(n):
        at = put_bits(row, at, np.int64(s.shown[(player + k) % n, 0]), FOUR_LANES)
        at = put_bits(row, at, np.int64(s.shown[(player + k) % n, 1]), TWO_LANES)
    return at


@routine
def put_exposed(s, seats, player, row, at):
    """Hand cards shown by mistake, and which must be played first."""
    n = len(seats)
    for k in range(n):
        at = put_run(row, at, s.exposed[(player + k) % n], 0, RANKS)
    for k in range(n):
        p = (player + k) % n
        for rank in range(RANKS):
            row[at + rank] = s.due[p] == rank
        at += RANKS
    return at


@routine
def put_remembered(s, params, seats, player, row, at):
    """All that was ever public (FA19), and what is left unseen."""
    n = len(seats)
    for k in range(n):
        p = (player + k) % n
        row[at] = has(s.starter_free, p)
        row[at + 1] = has(s.holds_starter, p)
        at += 2
    for k in range(n):
        at = put_run(row, at, s.known[(player + k) % n], 0, RANKS)
    at = put_piles(s, seats, player, row, at)
    for k in range(n):
        at = put_stock(s, (player + k) % n, False, row, at)
    return put_unseen(s, params, seats, player, row, at)


@routine
def put_piles(s, seats, player, row, at):
    """Every Reserve Pile, by rank and in its order."""
    n = len(seats)
    ranks = at
    order = at + n * MAX_RESERVES * RANKS
    for k in range(n * MAX_RESERVES):
        node = np.int64(s.pile[(player + k // MAX_RESERVES) % n, k % MAX_RESERVES])
        for j in range(RANKS):
            row[ranks + j] = 0
        for j in range(DEPTH):
            row[order + j] = 0
        j = 0
        while node != BOTTOM:
            rank = card_in(s, node)
            row[ranks + rank] += 1
            if j < DEPTH:
                row[order + j] = shown(rank)
            j += 1
            node = below_node(s, node)
        ranks += RANKS
        order += DEPTH
    return order


@helper
def shown(rank):
    """A card in a list."""
    return WILD_SHOWN if rank == WILD else rank


@routine
def put_stock(s, p, all_cards, row, at):
    """A Stockpile from the top: the public cards, or all."""
    for j in range(DEPTH):
        row[at + j] = 0
    node = np.int64(s.stock[p])
    for j in range(min(np.int64(s.stock_left[p]), DEPTH)):
        card = card_in(s, node)
        if all_cards or j == 0 or card >= KNOWN:
            row[at + j] = shown(rank_of(card))
        node = below_node(s, node)
    return at + DEPTH


@routine
def put_unseen(s, params, seats, player, row, at):
    """Cards by rank in the Stack, face down in Stockpiles and unknown in other hands."""
    for rank in range(RANKS):
        row[at + rank] = 0
    for k in range(s.left):
        row[at + natural(s.deck[k])] += 1
    for p in range(len(seats)):
        if p != player:
            for rank in range(RANKS):
                row[at + rank] += s.hand[p, rank] - s.known[p, rank]
        node = np.int64(s.stock[p])
        for j in range(s.stock_left[p]):
            card = card_in(s, node)
            if j > 0 and card < KNOWN:
                row[at + np.int64(card)] += 1
            node = below_node(s, node)
    return at + RANKS


@routine
def fill_state(s, params, seats, state):
    """Write the referee's view: all cards, but no discard that is only announced."""
    at = put_public(s, params, state, 0)
    at = put_table(s, seats, 0, state, at)
    for p in range(len(seats)):
        at = put_run(state, at, s.hand[p], 0, RANKS)
    at = put_piles(s, seats, 0, state, at)
    for p in range(len(seats)):
        at = put_stock(s, p, True, state, at)
    for rank in range(RANKS):
        state[at + rank] = 0
        state[at + RANKS + rank] = clipped(s.removed[rank])
    for k in range(s.left):
        state[at + natural(s.deck[k])] += 1


_KEY = struct.Struct("<QQiibbb16b")


def information_state(s, rules, player):
    """A key of all that `player` has ever seen: hashes of what was public and of its own draws, and its own present.

    Args:
        s: one GAME record, read only.
    """
    hashes = int(s.history), int(s.private[player])
    now = int(s.end_reason), int(s.phase), int(s.turn), int(s.current_player)
    return _KEY.pack(*hashes, *now, int(player), *map(int, s.hand[player]))
