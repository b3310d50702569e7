"""What a seat of Flash 10 may see: its fields, the kernels that write them, the information state.

Other seats are listed relative to the observer: entry 0 is the seat itself, entry 1 the next one clockwise.
"""

import struct

import numpy as np

from ..core.bits import (
    MOST,
    as_byte,
    clipped,
    count_bits,
    get_word,
    has,
    put_bits,
    put_run,
    put_seats,
    put_views,
    put_word,
)
from ..core.fields import make_layout
from ..core.kernel import helper, routine
from ..core.spec import RUNNING
from .rows import NONE, THUNDER, counts, flashes, thunders
from .rules import FLASH, MAX_NUMBERS, MAX_ROW

FULL, COUNTS, NOTHING = range(3)  # obs_opponents, in the order of rules.py

PUBLIC_ENTRIES, OWN_ENTRIES = 8, 4
SEATS = PUBLIC_ENTRIES + OWN_ENTRIES  # where the entries of the seats begin
SEAT_ENTRIES = 8  # for each seat
MARKS = 20  # entries of a row that tell which slots show a Thunder, then which a Flash card: 2 * MAX_ROW, a literal

_PUBLIC = [
    ("phase", (3,), "onehot", "public", 1, "run, final_place, over"),
    ("middle", (), "count", "public", MOST, "cards left in the middle"),
    ("tick", (), "count", "public", MOST, "tick of the round, up to 127"),
    ("idle", (), "count", "public", MOST, "idle ticks in a row, up to 127"),
    ("rounds", (), "count", "public", MOST, "finished rounds, up to 127"),
    ("overtime", (), "flag", "public", 1, "somebody has reached the target, and the lead is shared"),
]


def observation_layout(rules):
    """The observation's fields in the order in which `fill_observation` writes them."""
    n, length = rules.num_players, rules.row_len
    rows = n if rules.obs_opponents == "full" else 1
    pieces = [
        *_PUBLIC,
        ("held", (), "count", "own", MAX_NUMBERS, "the card in hand; 100 is a Thunder"),
        ("held_thunder", (), "flag", "own", 1, "the card in hand is a Thunder"),
        ("held_flash", (), "flag", "own", 1, "the card in hand is a Flash card"),
        ("own_check", (), "flag", "own", 1, "the seat believes that its row may be stopped"),
        _seats(n, "ticks until ready; under speed_noise the own alone"),
        *_rows(rows),
    ]
    if rules.last_card_stop:
        pieces += [("took_last", (n,), "flag", "public", 1, "who took the last card of the middle")]
    if rules.obs_opponents == "counts" and n > 1:
        pieces += [
            ("others_run", (n - 1,), "count", "public", length, "numbers that count in each other row"),
            ("others_flash", (n - 1,), "count", "public", length, "Flash cards visible in each other row"),
            ("others_thunder", (n - 1,), "count", "public", length, "Thunders visible in each other row"),
        ]
    if rules.obs_seen:
        pieces += [
            ("seen", (rules.numbers,), "set", "own", 1, "numbers that this seat has seen in the round"),
            ("seen_thunders", (), "count", "own", rules.thunders or 1, "Thunders that this seat has seen in the round"),
        ]
    return make_layout(pieces)


def state_layout(rules):
    """The referee's fields, in absolute seats, in the order in which `fill_state` writes them."""
    n = rules.num_players
    return make_layout(
        [
            *_PUBLIC,
            _seats(n, "ticks until ready"),
            *_rows(n),
            ("all_held", (n,), "count", "oracle", MAX_NUMBERS, "each card in hand; 100 is a Thunder"),
            ("all_held_thunder", (n,), "flag", "oracle", 1, "each card in hand that is a Thunder"),
            ("checks", (n,), "flag", "oracle", 1, "who believes that its row may be stopped"),
            ("face_down", (rules.numbers,), "set", "oracle", 1, "numbers in the middle"),
            ("face_down_thunders", (), "count", "oracle", rules.thunders or 1, "Thunders in the middle"),
        ]
    )


def _seats(n, clock):
    return (
        ("holding", (n,), "flag", "public", 1, "who has a card in hand"),
        ("cooling", (n,), "flag", "public", 1, "who is still busy"),
        ("called", (n,), "flag", "public", 1, "who has called Stop"),
        ("ready_in", (n,), "count", "public", MOST, clock),
        ("points", (n,), "count", "public", MOST, "points, up to 127"),
        ("debt", (n,), "count", "public", MOST, "points below 0"),
        ("last_gain", (n,), "count", "public", MOST, "points of the last round"),
        ("last_loss", (n,), "count", "public", MOST, "points of the last round below 0"),
    )


def _rows(rows):
    return [
        (
            "row",
            (rows, MAX_ROW),
            "count",
            "public",
            MAX_NUMBERS,
            "cards of the row; 100 is a Thunder; 0 beyond row_len",
        ),
        [
            ("row_thunder", (rows, MAX_ROW), "set", "public", 1, "slots that show a Thunder"),
            ("row_flash", (rows, MAX_ROW), "set", "public", 1, "slots that show a Flash card"),
        ],
    ]


@routine
def fill_observation(s, params, seats, player, observation):
    """Write what `player` sees now. Nothing of the others' hands, checks or running choices is read."""
    n = len(seats)
    put_word(observation, 0, public_word(s), PUBLIC_ENTRIES)
    put_word(observation, PUBLIC_ENTRIES, own_word(s, player), OWN_ENTRIES)
    for p in range(n):
        put_word(observation, place_of(p, player, n), seat_word(s, params, p, player), SEAT_ENTRIES)
    at = SEATS + SEAT_ENTRIES * n
    if params.obs_opponents == FULL:
        for k in range(n):
            at = put_run(observation, at, s.row[(player + k) % n], 0, MAX_ROW)
        at = put_seats(observation, at, s.marks, player, seats, MARKS)
    else:
        at = put_own_row(s, player, observation, at)
    put_options(s, params, seats, player, observation, at)


@helper
def fill_observations(s, params, seats, rows):
    """Write what every seat sees now, (P, D): as `fill_observation` for each, at half the cost."""
    n = len(seats)
    public = public_word(s)
    for p in range(n):
        put_word(rows[p], 0, public, PUBLIC_ENTRIES)
        put_word(rows[p], PUBLIC_ENTRIES, own_word(s, p), OWN_ENTRIES)
    for p in range(n):
        word = seat_word(s, params, p, p)
        others = seat_word(s, params, p, NONE)
        for q in range(n):
            put_word(rows[q], place_of(p, q, n), word if q == p else others, SEAT_ENTRIES)
    at = SEATS + SEAT_ENTRIES * n
    if params.obs_opponents == FULL:
        for p in range(n):
            left, right = get_word(s.row[p], 0, 8), get_word(s.row[p], 8, 2)
            for q in range(n):
                put_word(rows[q], at + MAX_ROW * ((n + p - q) % n), left, 8)
                put_word(rows[q], at + MAX_ROW * ((n + p - q) % n) + 8, right, 2)
        at = put_views(rows, at + MAX_ROW * n, s.marks, seats, MARKS)
    else:
        for p in range(n):
            put_own_row(s, p, rows[p], at)
        at += 3 * MAX_ROW
    if params.last_card_stop or params.obs_opponents == COUNTS or params.obs_seen:
        for p in range(n):
            put_options(s, params, seats, p, rows[p], at)


# What `own_word` shows of a card in hand, at card + 1: its number, whether it is a Thunder, whether a Flash card.
_CARDS = np.arange(NONE, THUNDER + 1)
_HELD = np.maximum(_CARDS, 0) | (_CARDS == THUNDER) << 8 | ((_CARDS % FLASH == 0) & (_CARDS != THUNDER)) << 16
_HELD = _HELD.astype(np.uint64)


@helper
def place_of(p, player, n):
    """Where the entries of seat p begin in the view of `player`."""
    return SEATS + SEAT_ENTRIES * ((n + p - player) % n)


@helper
def public_word(s):
    """The first entries, one a byte: the phase's three, middle, tick, idle ticks, rounds, overtime."""
    over = s.end_reason != RUNNING and s.truncated == 0
    phase = 2 if over else np.int64(s.phase)
    word = as_byte(1, 0) << np.uint64(8 * phase)
    word |= as_byte(s.left, 3) | as_byte(clipped(s.tick), 4) | as_byte(clipped(s.idle), 5)
    return word | as_byte(clipped(s.rounds), 6) | as_byte(s.overtime, 7)


@helper
def own_word(s, player):
    """The card in hand and the seat's own check of its row, one entry a byte."""
    return _HELD[np.int64(s.held[player]) + 1] | as_byte(has(s.checked, player), 3)


@helper
def seat_word(s, params, p, viewer):
    """What `viewer` sees of a seat: holding, cooling, called, ticks until ready, then its ledger, one entry a byte.

    Under speed_noise only the seat itself knows how long it stays busy (3.3).
    """
    ticks = clipped(np.int64(s.ready_at[p]) - s.tick)
    word = as_byte(has(s.holding, p), 0) | as_byte(ticks > 0, 1) | as_byte(has(s.right | s.false, p), 2)
    if p == viewer or not params.speed_noise:
        word |= as_byte(ticks, 3)
    return word | s.ledger[p]


@helper
def put_own_row(s, player, row, at):
    """The seat's own cards."""
    at = put_run(row, at, s.row[player], 0, MAX_ROW)
    return put_bits(row, at, s.marks[player], MARKS)


@helper
def put_options(s, params, seats, player, row, at):
    """What only some rules show."""
    if params.last_card_stop:
        for k in range(len(seats)):
            row[at + k] = s.last_taker == (player + k) % len(seats)
        at += len(seats)
    if params.obs_opponents == COUNTS and len(seats) > 1:
        at = put_counts(s, params, seats, player, row, at)
    if params.obs_seen:
        put_seen(s, params, seats, player, row, at)


@routine
def put_counts(s, params, seats, player, row, at):
    """What "counts" tells of the others' rows."""
    n = len(seats)
    for k in range(1, n):
        p = (player + k) % n
        row[at + k - 1] = count_bits(counts(s, params, p) & ~thunders(s, p))
        row[at + n - 1 + k - 1] = count_bits(flashes(s, p))
        row[at + 2 * (n - 1) + k - 1] = count_bits(thunders(s, p))
    return at + 3 * (n - 1)


@routine
def put_seen(s, params, seats, player, row, at):
    """All that was ever face up to the seat in this round: what is neither in the middle nor in another hand."""
    for k in range(params.numbers):
        row[at + k] = (s.seen[k >> 6] >> np.uint64(k & 63)) & np.uint64(1)
    held = np.int64(s.held[player])
    if held != NONE and held != THUNDER:
        row[at + held] = 1
    thunders = params.thunders
    for k in range(s.left):
        thunders -= s.deck[k] == THUNDER
    for p in range(len(seats)):
        thunders -= p != player and s.held[p] == THUNDER
    row[at + params.numbers] = thunders
    return at + params.numbers + 1


@routine
def fill_state(s, params, seats, state):
    """Write the referee's view: all cards, but no choice of the running tick."""
    n = len(seats)
    at = put_word(state, 0, public_word(s), PUBLIC_ENTRIES)
    for p in range(n):
        at = put_word(state, at, seat_word(s, params, p, p), SEAT_ENTRIES)
    for p in range(n):
        at = put_run(state, at, s.row[p], 0, MAX_ROW)
    at = put_seats(state, at, s.marks, 0, seats, MARKS)
    for p in range(n):
        state[at + p] = s.held[p] if s.held[p] != NONE else 0
        state[at + n + p] = s.held[p] == THUNDER
        state[at + 2 * n + p] = has(s.checked, p)
    at += 3 * n
    for k in range(params.numbers + 1):
        state[at + k] = 0
    for k in range(s.left):
        card = np.int64(s.deck[k])
        state[at + (params.numbers if card == THUNDER else card)] += 1


_KEY = struct.Struct("<QQQQiiibhb")


def information_state(s, rules, player):
    """A key of all that `player` has ever seen: hashes of what was public and of its own checks, and its own present.

    Args:
        s: one GAME record, read only.
    """
    clock = max(0, int(s.ready_at[player]) - int(s.tick))
    words = (int(s.history), int(s.beliefs[player]), *map(int, s.seen))
    own = (int(player), int(s.held[player]), int(s.checked) >> player & 1)
    return _KEY.pack(*words, int(s.end_reason), int(s.phase), clock, *own)


def seen_numbers(key):
    """The set of number cards that have been face up in the running round, out of an information state's key."""
    _, _, low, high, *_ = _KEY.unpack(key)
    bits = low | high << 64
    return {k for k in range(MAX_NUMBERS) if bits >> k & 1}
