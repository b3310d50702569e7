"""What a seat of Flip It may see: its fields, the kernel that writes them, the information state.

Other seats are listed relative to the observer: entry 0 is the seat itself, entry 1 the next one clockwise.
"""

import struct

from ..core.bits import (
    MOST,
    put_count,
    put_onehot,
    put_seats,
    put_seats_count,
    put_seats_onehot,
    put_views,
    put_views_count,
)
from ..core.fields import make_layout
from ..core.kernel import helper, routine
from ..core.spec import RUNNING
from .game import (
    CONSUMED,
    JOINT,
    NUM_GUESSES,
    NUM_PHASED,
    NUM_PLAYS,
    PLAYING,
    SEQUENTIAL,
)
from .rules import most_points

OVER = PLAYING + 1  # shown as a phase
NUM_PHASES = OVER + 1


_PHASE = ("phase", (3,), "onehot", "public", 1, "guess, play, over")
_OVER = ("over", (), "flag", "public", 1, "the game is over")  # joint actions know no phases


def observation_layout(rules):
    """The observation's fields in the order in which `fill_observation` writes them."""
    n = rules.num_players
    own_guess = ("own_guess", (NUM_GUESSES,), "onehot", "own", 1, "the guess set aside, once all have guessed")
    pieces = [_PHASE, own_guess] if rules.actions == "phased" else [_OVER]
    return make_layout(pieces + _table(rules, n) + _flips(rules, n))


def state_layout(rules):
    """The referee's fields, in absolute seats, in the order in which `fill_state` writes them."""
    n = rules.num_players
    set_aside = ("set_aside", (n, NUM_GUESSES), "onehot", "oracle", 1, "each seat's guess of the running hand")
    pieces = [_PHASE, set_aside] if rules.actions == "phased" else [_OVER]
    return make_layout(pieces + _table(rules, n) + _flips(rules, n))


def _table(rules, n):
    most = most_points(rules) if rules.scoring == "basic" else MOST
    last = rules.goal[1] if rules.goal[0] == "hands" else rules.max_hands
    k = rules.obs_history
    consumed = rules.play_cards == "consumed"  # otherwise all seats always hold all of them
    pieces = [
        ("guess_cards", (n, NUM_GUESSES), "set", "public", 1, "each seat's Guess Cards in hand"),
        ("points", (n,), "count", "public", min(most, MOST), "each seat's points, up to 127"),
        ("hands", (), "count", "public", min(last, rules.max_hands, MOST), "finished hands, up to 127"),
        ("play_cards", (n * consumed, NUM_PLAYS), "set", "public", 1, "each seat's Play Cards in hand"),
    ]
    past = [
        ("past_guesses", (k, n, NUM_GUESSES), "onehot", "public", 1, "guesses of the last hands, newest first"),
        ("past_plays", (k, n, NUM_PLAYS), "onehot", "public", 1, "plays of the last hands, newest first"),
    ]
    return [piece for piece in pieces if 0 not in piece[1]] + ([past] if k else [])


def _flips(rules, n):
    if rules.flip_order != "sequential":
        return []
    return [
        ("flips", (n, NUM_PLAYS), "onehot", "public", 1, "Play Cards flipped in the running hand"),
        ("first", (n,), "onehot", "public", 1, "the seat that flips first in this hand"),
    ]


@routine
def fill_observation(s, params, seats, player, observation):
    """Write what `player` sees now. Nothing of the others' running choices is read but public flips."""
    if params.actions == JOINT:
        at = put_count(observation, 0, is_over(s))
    else:
        at = put_own(s, player, observation)
    at = put_table(s, params, seats, player, observation, at)
    if params.flip_order == SEQUENTIAL:
        put_flips(s, seats, player, observation, at)


@helper
def fill_observations(s, params, seats, rows):
    """Write what every seat sees now, (P, D): as `fill_observation` for each, at a third of the cost.

    For simultaneous flips only; a turn-based game asks one seat at a time.
    """
    if params.actions == JOINT:
        over = is_over(s)
        at = 1
        for p in range(len(seats)):
            rows[p, 0] = over
    else:
        at = NUM_PHASES + NUM_GUESSES
        for p in range(len(seats)):
            put_own(s, p, rows[p])
    at = put_views(rows, at, s.guess_cards, seats, NUM_GUESSES)
    at = put_views_count(rows, at, s.scores, seats)
    hands = s.hands if s.hands < MOST else MOST
    for p in range(len(seats)):
        rows[p, at] = hands
    at += 1
    if params.play_cards == CONSUMED:
        at = put_views(rows, at, s.play_cards, seats, NUM_PLAYS)
    for back in range(1, params.obs_history + 1):
        at = put_views(rows, at, s.past[(s.hands - back) & params.past_mask], seats, NUM_PHASED)


@routine
def fill_state(s, params, seats, state):
    """Write the referee's view; guesses appear once all have guessed, or in turn under sequential flips."""
    if params.actions == JOINT:
        at = put_count(state, 0, is_over(s))
    else:
        at = put_onehot(state, 0, OVER if is_over(s) else s.phase, NUM_PHASES)
        at = put_seats_onehot(state, at, s.guess, 0, seats, NUM_GUESSES)
    at = put_table(s, params, seats, 0, state, at)
    if params.flip_order == SEQUENTIAL:
        put_flips(s, seats, 0, state, at)


@helper
def put_own(s, player, observation):
    """The phase and the seat's own guess, the start of its observation; joint actions know no phases but the end."""
    at = put_onehot(observation, 0, OVER if is_over(s) else s.phase, NUM_PHASES)
    return put_onehot(observation, at, s.guess[player] if s.phase == PLAYING else -1, NUM_GUESSES)


@helper
def is_over(s):
    """Whether the game shows as over; one cut short by a cap does not."""
    return s.end_reason != RUNNING and s.truncated == 0


@helper
def put_table(s, params, seats, first, observation, at):
    """All that lies open, seats in clockwise order from `first`."""
    at = put_seats(observation, at, s.guess_cards, first, seats, NUM_GUESSES)
    at = put_seats_count(observation, at, s.scores, first, seats)
    at = put_count(observation, at, s.hands)
    if params.play_cards == CONSUMED:
        at = put_seats(observation, at, s.play_cards, first, seats, NUM_PLAYS)
    for back in range(1, params.obs_history + 1):
        at = put_seats(observation, at, s.past[(s.hands - back) & params.past_mask], first, seats, NUM_PHASED)
    return at


@helper
def put_flips(s, seats, first, observation, at):
    """The running hand's public flips (PA12) and who flipped, or will flip, first."""
    n = len(seats)
    at = put_seats_onehot(observation, at, s.play, first, seats, NUM_PLAYS)
    put_onehot(observation, at, (s.hands % n + n - first) % n, n)


def information_state(s, rules, player):
    """A key of all that `player` has ever seen: a hash of every finished hand, and the running one as it sees it.

    Args:
        s: one GAME record, read only.
    """
    guess = s.guess[player] if s.phase == PLAYING or rules.flip_order == "sequential" else -1
    flips = [s.play[p] for p in range(rules.num_players)]
    return struct.pack(
        f"<Qiibbb{rules.num_players}b",
        int(s.history), int(s.hands), int(s.end_reason), int(player), int(s.phase), int(guess), *map(int, flips)
    )  # fmt: skip
