"""What a seat of Flash 10 may see: its fields, the kernels that write them, the information state.

Other seats are listed relative to the observer: entry 0 is the seat itself, entry 1 the next one clockwise.
"""

import struct

import numpy as np

from ..core.bits import MOST, as_byte, put_count, put_run, put_turned, put_word
from ..core.fields import make_layout
from ..core.kernel import helper, routine
from ..core.spec import RUNNING
from .game import FINAL_PLACE, RUN
from .rows import FACES, NONE, THUNDER, count_flashes, count_run, is_flash
from .rules import MAX_NUMBERS

FULL, COUNTS, NOTHING = range(3)  # obs_opponents, in the order of rules.py

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
        ("held", (), "count", "own", rules.numbers - 1, "number of the card in hand"),
        ("held_thunder", (), "flag", "own", 1, "the card in hand is a Thunder"),
        ("held_flash", (), "flag", "own", 1, "the card in hand is a Flash card"),
        ("own_check", (), "flag", "own", 1, "the seat believes that its row may be stopped"),
        *_seats(rules, n, n if not rules.speed_noise else 1),
        *_rows(rules, rows, length),
    ]
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
    n, length = rules.num_players, rules.row_len
    return make_layout(
        [
            *_PUBLIC,
            *_seats(rules, n, n),
            *_rows(rules, n, length),
            ("all_held", (n,), "count", "oracle", rules.numbers - 1, "number of each card in hand"),
            ("all_held_thunder", (n,), "flag", "oracle", 1, "each card in hand that is a Thunder"),
            ("checks", (n,), "flag", "oracle", 1, "who believes that its row may be stopped"),
            ("face_down", (rules.numbers,), "set", "oracle", 1, "numbers in the middle"),
            ("face_down_thunders", (), "count", "oracle", rules.thunders or 1, "Thunders in the middle"),
        ]
    )


def _seats(rules, n, clocks):
    return [
        ("holding", (n,), "flag", "public", 1, "who has a card in hand"),
        ("cooling", (n,), "flag", "public", 1, "who is still busy"),
        ("called", (n,), "flag", "public", 1, "who has called Stop"),
        ("points", (n,), "count", "public", MOST, "points of the match, 0 to 127"),
        ("debt", (n,), "count", "public", MOST, "points below 0"),
        ("ready_in", (clocks,), "count", "own" if clocks < n else "public", MOST, "ticks until ready, up to 127"),
    ]


def _rows(rules, rows, length):
    return [
        [
            ("row", (rows, length), "count", "public", rules.numbers - 1, "numbers of the row, left to right"),
            ("row_thunder", (rows, length), "flag", "public", 1, "slots that show a Thunder"),
            ("row_flash", (rows, length), "flag", "public", 1, "slots that show a Flash card"),
        ]
    ]


@routine
def fill_observation(s, params, seats, player, observation):
    """Write what `player` sees now. Nothing of the others' hands, checks or running choices is read."""
    fill_view(s, params, seats, player, public_word(s), seat_words(s, seats), observation)


@helper
def fill_observations(s, params, seats, rows):
    """Write what every seat sees now, (P, D)."""
    public, words = public_word(s), seat_words(s, seats)
    for p in range(len(seats)):
        fill_view(s, params, seats, p, public, words, rows[p])


@helper
def fill_view(s, params, seats, player, public, words, observation):
    """One seat's view, the parts that all share given."""
    n = len(seats)
    at = put_word(observation, 0, public, 8)
    at = put_word(observation, at, own_word(s, player), 4)
    at = put_seat_words(observation, at, words, player, seats)
    if params.speed_noise and n > 1:
        at = put_count(observation, at, max(s.ready_at[player] - s.tick, 0))
    else:
        at = put_turned(observation, at, clock_word(s, seats), player, seats)
    size = FACES * params.row_len
    at = put_run(observation, at, s.shown, size * player, size * (n if params.obs_opponents == FULL else 1))
    if params.obs_opponents == COUNTS and n > 1:
        at = put_counts(s, params, seats, player, observation, at)
    if params.obs_seen:
        put_seen(s, params, seats, player, observation, at)


@helper
def public_word(s):
    """The first eight entries, one a byte: the phase's three, middle, tick, idle ticks, rounds, overtime."""
    over = s.end_reason != RUNNING and s.truncated == 0
    word = as_byte(not over and s.phase == RUN, 0) | as_byte(not over and s.phase == FINAL_PLACE, 1) | as_byte(over, 2)
    word |= as_byte(s.left, 3) | as_byte(s.tick, 4) | as_byte(s.idle, 5)
    return word | as_byte(s.rounds, 6) | as_byte(s.overtime, 7)


@helper
def own_word(s, player):
    """The card in hand and the seat's own check of its row, one entry a byte."""
    card = np.int64(s.held[player])
    word = as_byte(0 if card == THUNDER else card, 0) | as_byte(card == THUNDER, 1)
    return word | as_byte(card != NONE and is_flash(card), 2) | as_byte(s.check[player], 3)


@helper
def seat_words(s, seats):
    """What all see of the seats: holding, cooling, called, points, debt; a word each, byte p for seat p."""
    holding = cooling = called = points = debt = np.uint64(0)
    for p in range(len(seats)):
        holding |= as_byte(s.held[p] != NONE, p)
        cooling |= as_byte(s.ready_at[p] > s.tick, p)
        called |= as_byte(s.called[p] != 0, p)
        points |= as_byte(s.scores[p], p)
        debt |= as_byte(-s.scores[p], p)
    return holding, cooling, called, points, debt


@helper
def clock_word(s, seats):
    """Ticks until each seat is ready, byte p for seat p."""
    word = np.uint64(0)
    for p in range(len(seats)):
        word |= as_byte(s.ready_at[p] - s.tick, p)
    return word


@helper
def put_seat_words(row, at, words, first, seats):
    """Write the words of `seat_words`, clockwise from seat `first`."""
    for word in words:
        at = put_turned(row, at, word, first, seats)
    return at


@routine
def put_counts(s, params, seats, player, row, at):
    """What "counts" tells of the others' rows."""
    n = len(seats)
    for k in range(1, n):
        p = (player + k) % n
        row[at + k - 1] = count_run(s, params, p)
        row[at + n - 1 + k - 1] = count_flashes(s, params, p, False)
        row[at + 2 * (n - 1) + k - 1] = s.thunders[p]
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
    at = put_word(state, 0, public_word(s), 8)
    at = put_seat_words(state, at, seat_words(s, seats), 0, seats)
    at = put_turned(state, at, clock_word(s, seats), 0, seats)
    at = put_run(state, at, s.shown, 0, FACES * params.row_len * n)
    for p in range(n):
        state[at + p] = s.held[p] if s.held[p] not in (NONE, THUNDER) else 0
        state[at + n + p] = s.held[p] == THUNDER
        state[at + 2 * n + p] = s.check[p]
    at += 3 * n
    for k in range(params.numbers + 1):
        state[at + k] = 0
    for k in range(s.left):
        card = np.int64(s.deck[k])
        state[at + (params.numbers if card == THUNDER else card)] += 1


_KEY = struct.Struct("<QQQiibhb")


def information_state(s, rules, player):
    """A key of all that `player` has ever seen: a hash of all that was public, its card in hand, its own check.

    Args:
        s: one GAME record, read only.
    """
    seen = (int(w) for w in s.seen)
    return _KEY.pack(int(s.history), *seen, int(s.end_reason), int(s.phase), int(player), int(s.held[player]),
                     int(s.check[player]))  # fmt: skip


def seen_numbers(key):
    """The set of number cards that have been face up in the running round, out of an information state's key."""
    _, low, high, *_ = _KEY.unpack(key)
    bits = low | high << 64
    return {k for k in range(MAX_NUMBERS) if bits >> k & 1}
