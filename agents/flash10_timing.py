"""Flash 10, rule level 3: lays cards as level 2 does, and chooses when to call Stop.

With a finished row it draws on for Flash cards where that promises more than the Stop it risks: nearly always alone,
hardly ever where somebody else may stop. Where the round pays the margin and all rows are seen, it also weighs a false
Stop: it gets nothing then, but the others only what their rows are worth now, less than what they may be about to get.
"""

import numpy as np

from flinchenv.core.bits import has
from flinchenv.core.kernel import routine
from flinchenv.flash10.game import DRAW, MARGIN, STOP, WAIT
from flinchenv.flash10.observe import FULL
from flinchenv.flash10.rows import THUNDER, may_be_stopped, score_row
from flinchenv.flash10.rules import MAX_ROW

from .flash10_count import (
    ENDS,
    HEIGHTS,
    STOP_POINTS,
    best_slot,
    count_unseen,
    look_ahead,
    others_last,
    row_worth,
    stop_worth,
    worth_with,
)
from .flash10_table import Flash10Agent, copy_row, scratch

CAUTION = 1.0  # points by which a false Stop must be better: one that is put off may be needless (tuned)


@routine
def outlook(s, params, seats, player, below, unseen):
    """(the margin to expect if all draw on, the margin of a false Stop now).

    For each end of the round that level 2 looks at, all rows are valued as it values its own: for the chance that the
    first of them is done by then, and for the points that each seat will have. The last end is certain.
    """
    n = len(seats)
    row = scratch(MAX_ROW, np.int64)
    now = 0.0
    for p in range(n):
        now -= score_row(s, params, p) * (p != player) / (n - 1)
    margin, running = 0.0, 1.0
    for k in range(len(ENDS)):
        draws = min(ENDS[k], s.left / n)
        share = draws / unseen
        level, still = 0.0, 1.0
        for p in range(n):
            copy_row(s, p, row)
            still *= 1 - row_worth(row, params, below, share, 0.0, 1.0)
            points = row_worth(row, params, below, share, 1.0, STOP_POINTS)
            level += points if p == player else -points / (n - 1)
        if draws == s.left / n or k == len(ENDS) - 1:
            still = 0.0
        margin += max(running - still, 0.0) * level
        running = min(running, still)
    return margin, now


@routine
def gain_of_drawing(s, params, seats, player, below, unseen):
    """What one more draw, and then Stop, promises over a right Stop now."""
    n = len(seats)
    if s.left <= n or not may_be_stopped(s, params, player):
        return -1.0  # the next card may be the last, and then nobody stops
    row = copy_row(s, player, scratch(MAX_ROW, np.int64))
    share = (s.left / n - 1) / unseen
    hope = 0.0  # summed over the unseen cards
    for card in range(params.numbers):
        if below[card + 1] > below[card]:
            hope += laid_worth(s, params, player, row, card, below, share)
    thunders = unseen - below[params.numbers]
    if thunders > 0:
        hope += thunders * laid_worth(s, params, player, row, THUNDER, below, share)
    lost = 1 - others_last(s, params, seats, 1) / others_last(s, params, seats, 0)
    risk = lost * stop_worth(seats)
    return hope / unseen - score_row(s, params, player) - STOP_POINTS - risk


@routine
def laid_worth(s, params, player, row, card, below, share):
    """What a row (L,), Stop included, is worth with a card on the slot that is best for it; see `row_worth`."""
    best = -np.inf
    for i in range(params.row_len):
        points, done = look_ahead(s, params, player, i, card)
        if done:
            value = np.float64(points + STOP_POINTS)
        else:
            value = worth_with(row, i, card, params, below, share, 1.0, STOP_POINTS)
        best = max(best, value)
    return best


@routine
def timing_policy(s, params, seats, player, mask, draw):
    """Lay cards by count; weigh Stop, right or false, against drawing on."""
    if mask[0]:
        return best_slot(s, params, seats, player)
    if not mask[DRAW] or not mask[STOP]:
        return DRAW if mask[DRAW] else WAIT
    below = scratch(HEIGHTS, np.int64)
    unseen = count_unseen(s, params, player, below)
    if has(s.checked, player):
        return DRAW if gain_of_drawing(s, params, seats, player, below, unseen) > 0 else STOP
    if params.reward == MARGIN and params.obs_opponents == FULL and len(seats) > 1:
        margin, now = outlook(s, params, seats, player, below, unseen)
        if now > margin + CAUTION:
            return STOP
    return DRAW


class TimingAgent(Flash10Agent):
    """The Stop-timing bot."""

    name = "rule:3"
    policy = timing_policy
    uses_seen = True
