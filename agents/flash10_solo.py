"""Flash 10 alone, solved: the best expected score of a round with one seat and a small deck, and how to play for it.

What lies before a lone seat is its row and the cards left in the middle. It stops, or draws one of these at random and
lays it where that is worth most; with no card left the row counts as it lies. So the values of a middle follow from
those of middles with one card fewer. A false Stop, where it is legal, ends the round with nothing. To wait gains
nothing and is left out.

Every card has a number of its own here, Thunders those from `numbers` up. A middle is a set of cards, a row the index
of its cards among all sequences of row_len cards.
"""

from typing import NamedTuple

import numpy as np

from flinchenv.core.bits import count_bits, first_bit
from flinchenv.core.kernel import kernel, routine
from flinchenv.core.params import kernel_params, refuse
from flinchenv.flash10.game import DRAW, STOP
from flinchenv.flash10.rows import THUNDER, may_be_stopped, score_row, turn_up

from .agent import DeterministicAgent
from .flash10_count import STOP_POINTS
from .flash10_table import records

MOST_VALUES = 2**25  # 256 MiB of float64
NEVER = -1000.0  # less than any score


class Solution(NamedTuple):
    """A solved round with R sequences of cards.

    Attributes:
        value: the best expected score, before the deal.
        values: float64 (2**cards, R), the best expected score from each middle and row; where a card would be in both,
            or twice in the row, the entry means nothing.
        stops: float64 (R,), the score of a Stop, `NEVER` where it is not legal.
    """

    value: float
    values: np.ndarray
    stops: np.ndarray


def solve(setup):
    """The `Solution` of a setup.

    Raises:
        RulesError: more than one seat, a match, a chance to misread, idle "free", or a deck too large.
    """
    rules = setup.rules
    cards = rules.numbers + rules.thunders
    if rules.num_players != 1 or rules.episode != "round":
        refuse("env", setup.id, "a single round with num_players 1")
    if rules.p_misread > 0 or rules.waits == "free":
        refuse("env", setup.id, "p_misread 0, and an idle other than 'free'")
    if cards**rules.row_len << cards > MOST_VALUES:
        refuse("numbers", rules.numbers, f"cards**row_len * 2**cards of at most {MOST_VALUES}")
    rows = np.indices([cards] * rules.row_len).reshape(rules.row_len, -1).T.copy()
    places = place_values(rules)
    dealt = (np.diff(np.sort(rows)) > 0).all(1)  # no card twice
    sets = np.where(dealt, (1 << rows).sum(1), -1)
    points = np.zeros(len(rows), np.int64)
    done = np.zeros(len(rows), bool)
    judge_rows(setup.new_games(1), kernel_params(setup.rules), rows, points, done)
    if rules.floor_zero:
        points = np.maximum(points, 0)
    values = np.zeros((1 << cards, len(rows)))
    values[0] = points + STOP_POINTS * (done & rules.last_card_stop)
    stops = np.where(done, points + STOP_POINTS, NEVER if setup.params[0]["checked_stop"] else 0.0)
    solve_middles(rows, sets, places, stops, values)
    first = np.flatnonzero(dealt)
    deck = (1 << cards) - 1
    return Solution(values[deck - sets[first], first].mean(), values, stops)


def place_values(rules):
    """What a slot's card is multiplied by in the index of a row, int64 (row_len,)."""
    return (rules.numbers + rules.thunders) ** np.arange(rules.row_len)[::-1]


@kernel
def judge_rows(games, rules, rows, points, done):
    """Write down the points (R,) of rows (R, L) without Stop, and whether each may be stopped.

    Args:
        games: one record, for scratch.
    """
    s, params = games[0], rules[0]
    for r in range(len(rows)):
        for i in range(params.row_len):
            turn_up(s, 0, i, rows[r, i] if rows[r, i] < params.numbers else THUNDER)
        points[r] = score_row(s, params, 0)
        done[r] = may_be_stopped(s, params, 0)


@routine
def draw_value(rows, places, values, middle, r):
    """The value of drawing from a middle with row r."""
    total, left = 0.0, middle
    while left:
        card = first_bit(left)
        left &= left - 1
        best = NEVER
        for i in range(len(places)):
            best = max(best, values[middle - (1 << card), r + (card - rows[r, i]) * places[i]])
        total += best
    return total / count_bits(middle)


@kernel
def solve_middles(rows, sets, places, stops, values):
    """Fill in the values of all middles but the empty one; a set comes after those it holds, since its bits do."""
    for middle in range(1, len(values)):
        for r in range(len(rows)):
            if sets[r] & middle == 0:
                values[middle, r] = max(stops[r], draw_value(rows, places, values, middle, r))


class SoloAgent(DeterministicAgent):
    """Plays alone as well as can be.

    Args:
        setup: the game and its rules, as `solve` takes them.
    """

    name = "solo"

    def __init__(self, setup):
        self.setup = setup
        self.solution = solve(setup)
        self.needs_view = not setup.rules.obs_seen

    def choose(self, observation, action_mask, view):
        """The best action in each row; see `DeterministicAgent.choose`."""
        _, values, stops = self.solution
        row, held, middle = numbered(self.setup.rules, records(self.setup, observation, view))
        places = place_values(self.setup.rules)
        index = row @ places
        laid = values[middle[:, None], index[:, None] + (held[:, None] - row) * places]
        idle = np.where(stops[index] >= values[middle, index], STOP, DRAW)
        return np.where(action_mask[:, 0] == 1, laid.argmax(1), idle)


def numbered(rules, games):
    """(rows (N, L), cards in hand (N,), middles (N,)), int64, of seat 0 in GAME records (N,), as `solve` has them.

    Of the Thunders, all alike, the row takes the first numbers, then the middle, then the hand.
    """
    held = games["held"][:, 0].astype(np.int64)
    row = games["row"][:, 0, : rules.row_len].astype(np.int64)
    shown = (row == THUNDER).cumsum(1)
    row = np.where(row == THUNDER, rules.numbers - 1 + shown, row)
    numbers = np.arange(rules.numbers)
    seen = games["seen"][:, :1] >> numbers.astype(np.uint64) & np.uint64(1) == 1  # decks solved fit one word
    unseen = ~seen & (numbers != held[:, None])
    first = rules.numbers + shown[:, -1]  # Thunder of the middle
    thunders = games["left"] - unseen.sum(1)
    middle = unseen @ (1 << numbers) + (((1 << thunders) - 1) << first)
    return row, np.where(held == THUNDER, first + thunders, held), middle
