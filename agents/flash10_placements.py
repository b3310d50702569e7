"""Flash 10: what a network is told of the rows, as they lie and as each placement of the card in hand leaves them.

The counting bot (`flash10_count`) says what a row is worth at some ends of the round, and how likely it is finished by
then; it looks at the own row alone, and takes the others to be as fast as level 1. Here the same is said of every row,
so that a network can learn which end is how likely, and what the points are worth beside those of the others.
"""

import numpy as np

from flinchenv.core.kernel import helper, kernel, routine
from flinchenv.core.params import kernel_params, refuse
from flinchenv.flash10.game import FINAL_PLACE
from flinchenv.flash10.rows import THUNDER, may_be_stopped, score_row
from flinchenv.flash10.rules import MAX_ROW

from .flash10_count import (
    ENDS,
    HEIGHTS,
    MOST_ASKED,
    STOP_POINTS,
    count_unseen,
    look_ahead,
    others_last,
    row_worths,
)
from .flash10_table import copy_row, records, scratch

# Trained agents know these entries by their order: whoever changes one must train anew whoever was told of it.
LOOKS = len(ENDS)
ROW_ENTRIES = 4 + 2 * LOOKS  # for each row
COMMON_ENTRIES = 6
CHANCE = 4 + LOOKS + 2  # of a row's entries the one by which the others' rows are sorted
FEW_THUNDERS, FEW_DRAWS = 3, 4  # entries are near 1 there


class Rows:
    """What there is to tell of the rows as they lie, out of observations: the own one, then the others.

    Args:
        setup: Flash 10 with all rows in view.

    Attributes:
        size: how many entries tell it.

    Raises:
        RulesError: rows that are not shown.
    """

    def __init__(self, setup):
        if setup.num_players > 1 and setup.rules.obs_opponents != "full":
            refuse("obs_opponents", setup.rules.obs_opponents, "'full' where a network is told what rows promise")
        self.setup = setup
        self.size = setup.num_players * ROW_ENTRIES + COMMON_ENTRIES
        self._seats = np.zeros(setup.num_players, np.int64)

    def __call__(self, observation):
        """int8 (N, D) -> float32 (N, size)."""
        told = np.zeros((len(observation), self.size), np.float32)
        fill_rows(records(self.setup, observation), kernel_params(self.setup.rules), self._seats, told)
        return told


class Placements:
    """The placements of cards in hand, out of observations; see `afterstates`.

    Args:
        setup: as `Rows` takes it.

    Attributes:
        size: how many entries a placement has: those of `Rows` if it were made.
    """

    def __init__(self, setup):
        self.setup, self.size = setup, Rows(setup).size
        self._seats = np.zeros(setup.num_players, np.int64)

    def __call__(self, observation, action_mask):
        """The rows (K,) in which a card is laid, int64, and what each slot promises, float32 (K, row_len, size)."""
        rows = np.flatnonzero(np.asarray(action_mask)[:, 0])
        told = np.zeros((len(rows), self.setup.rules.row_len, self.size), np.float32)
        fill_placements(records(self.setup, observation[rows]), kernel_params(self.setup.rules), self._seats, told)
        return rows, told

    def weigh(self, logits, rows, worth, action_mask, xp=np):
        """A placement's logit is what it is worth; where one is legal, nothing else is."""
        placed = xp.zeros_like(logits[:, :MAX_ROW])
        placed[rows, : self.setup.rules.row_len] = worth
        return xp.concatenate([placed, logits[:, MAX_ROW:]], 1)


@kernel
def fill_rows(games, rules, seats, told):
    """Write what the rows promise, (N, size), in records as observations make them; the own row is seat 0's."""
    params = rules[0]
    for i in range(len(games)):
        below = scratch(HEIGHTS, np.int64)
        unseen = put_others(games[i], params, seats, below, told[i])
        put_row(games[i], params, 0, len(seats), below, unseen, told[i])


@kernel
def fill_placements(games, rules, seats, told):
    """Write what each slot of seat 0 promises, (N, L, size), in records as observations make them."""
    params = rules[0]
    for i in range(len(games)):
        s = games[i]
        below, row = scratch(HEIGHTS, np.int64), scratch(MAX_ROW, np.int64)
        unseen = put_others(s, params, seats, below, told[i, 0])
        card = np.int64(s.held[0])
        copy_row(s, 0, row)
        for j in range(params.row_len):
            for k in range(ROW_ENTRIES, told.shape[2]):
                told[i, j, k] = told[i, 0, k]
            points, done = look_ahead(s, params, 0, j, card)
            covered = row[j]
            row[j] = card
            put_state(s, params, 0, points, done, told[i, j])
            put_worths(s, params, len(seats), row, below, unseen, told[i, j])
            row[j] = covered


@routine
def put_others(s, params, seats, below, out):
    """All but the own row; how many cards are unseen, as `count_unseen` has it."""
    n = len(seats)
    unseen = count_unseen(s, params, 0, below)
    for p in range(1, n):
        put_row(s, params, p, n, below, unseen, out[p * ROW_ENTRIES : (p + 1) * ROW_ENTRIES])
    sort_rows(out, n)
    put_common(s, params, seats, below, unseen, out[n * ROW_ENTRIES :])
    return unseen


@routine
def put_row(s, params, p, n, below, unseen, out):
    """A row as it lies."""
    row = copy_row(s, p, scratch(MAX_ROW, np.int64))
    put_state(s, params, p, score_row(s, params, p), may_be_stopped(s, params, p), out)
    put_worths(s, params, n, row, below, unseen, out)


@helper
def put_state(s, params, p, points, done, out):
    """What a row has, and its seat's match."""
    out[0] = points / params.row_len
    out[1] = done
    out[2] = s.scores[p] / params.target_score


@routine
def put_worths(s, params, n, row, below, unseen, out):
    """What a row (L,) may become by each end, with some points for the Stop, and how likely it is finished then."""
    thunders = 0
    for i in range(params.row_len):
        thunders += row[i] == THUNDER
    out[3] = thunders / FEW_THUNDERS
    share, worths = scratch(MOST_ASKED, np.float64), scratch(MOST_ASKED, np.float64)
    points, prize = scratch(MOST_ASKED, np.float64), scratch(MOST_ASKED, np.float64)
    for k in range(LOOKS):
        share[k] = share[LOOKS + k] = min(ENDS[k], s.left / n) / max(unseen, 1)
        points[k], prize[k] = 1.0, STOP_POINTS
        points[LOOKS + k], prize[LOOKS + k] = 0.0, 1.0
    row_worths(row, params, below, share[:MOST_ASKED], points[:MOST_ASKED], prize[:MOST_ASKED], worths)
    for k in range(LOOKS):
        out[4 + k] = worths[k] / params.row_len
        out[4 + LOOKS + k] = worths[LOOKS + k]


@routine
def sort_rows(told, n):
    """The others' rows in the order of their chances: it does not matter whose they are."""
    for last in range(n - 1, 1, -1):
        for p in range(1, last):
            a, b = p * ROW_ENTRIES, (p + 1) * ROW_ENTRIES
            if told[a + CHANCE] < told[b + CHANCE]:
                for k in range(ROW_ENTRIES):
                    told[a + k], told[b + k] = told[b + k], told[a + k]


@helper
def put_common(s, params, seats, below, unseen, out):
    """How far the round is."""
    draws = s.left / len(seats)
    out[0] = draws / (2 * params.row_len)
    out[1] = s.phase == FINAL_PLACE
    out[2] = min(draws, FEW_DRAWS) / FEW_DRAWS
    out[3] = others_last(s, params, seats, 0)
    out[4] = others_last(s, params, seats, FEW_DRAWS)
    out[5] = below[params.numbers] / max(unseen, 1)
