"""Flash 10, rule level 3: lays cards as level 2 does, and chooses when to call Stop.

With a finished row it draws on for Flash cards where that promises more than the two points risk: nearly always alone,
seldom where somebody else may stop. Where the round's points are paid as a margin it also weighs a false Stop: that
gives it nothing, but the others only what lies before them now, which is less than what they may be about to get.
"""

import numpy as np

from flinchenv.core.bits import has
from flinchenv.core.kernel import helper, routine
from flinchenv.flash10.game import DRAW, MARGIN, STOP, WAIT
from flinchenv.flash10.observe import FULL
from flinchenv.flash10.rows import THUNDER
from flinchenv.flash10.rules import FLASH

from .flash10_count import (
    HORIZONS,
    STOP_POINTS,
    SWING,
    count_unseen,
    is_done,
    lay_card,
    others_last,
    rate_of,
    row_points,
    row_worth,
)
from .flash10_table import PolicyAgent, copy_row, scratch

TRUST = 0.7  # how much of the margin that `outlook` expects comes true on average (measured in play of equals)
CAUTION = 0.6  # points by which a false Stop must be better: one that is put off may be needless
DRIFT = 0.4  # points that another's row gains with each of its draws
REPAIR = 4.0  # draws to cover a Thunder and have the row finished again


@routine
def outlook(s, params, seats, player, below, unseen):
    """The margin to expect if all draw on, and the others' mean points as their rows lie.

    For each horizon every seat has a chance to be done by then and points to show if it is not; the first to be done
    stops the round.
    """
    n, length = len(seats), np.int64(params.row_len)
    row, worth = scratch(10, np.int64), scratch(11, np.float64)
    done, points, now = scratch(5, np.float64), scratch(5, np.float64), scratch(5, np.float64)
    chance, full = scratch(5, np.float64), scratch(5, np.float64)
    last = s.left / n
    others = 0.0
    for p in range(n):
        copy_row(s, p, row)
        done[p] = is_done(row, params)
        now[p] = row_points(row, params)
        full[p] = length + count_flashes(row, params)
        others += now[p] * (p != player)
    margin, running = 0.0, 1.0
    for horizon in range(1, len(HORIZONS)):
        draws = min(HORIZONS[horizon], last)
        rate = rate_of(draws, unseen)
        still, first, total = 1.0, 0.0, 0.0
        for p in range(n):
            copy_row(s, p, row)
            finished = min(row_worth(row, params, below, rate, worth, 0.0, 1.0), 0.999)
            expected = row_worth(row, params, below, rate, worth, 1.0, 0.0)
            points[p] = max((expected - finished * full[p]) / (1 - finished), 0.0)
            chance[p] = max(finished - done[p], 0.0) / (1.001 - done[p])
            done[p] = finished
            still *= 1 - finished
            first += chance[p]
            total += points[p]
        ended = max(running - still, 0.0)
        over = draws >= last or horizon == len(HORIZONS) - 1
        level = points[player] - (total - points[player]) / (n - 1)
        for p in range(n):
            if first > 0:
                prize = full[p] + STOP_POINTS - points[p]
                margin += ended * chance[p] / first * (level + (prize if p == player else -prize / (n - 1)))
        running = min(running, still)
        if over:
            margin += running * level
            break
    return margin, others / (n - 1)


@helper
def count_flashes(row, params):
    """Flash cards visible."""
    count = 0
    for i in range(params.row_len):
        count += row[i] != THUNDER and row[i] % FLASH == 0
    return count


@routine
def gain_of_drawing(s, params, seats, player, below, unseen):
    """What one more draw, and then Stop, promises over Stop now with a finished row."""
    n = len(seats)
    row, other, worth = copy_row(s, player, scratch(10, np.int64)), scratch(10, np.int64), scratch(11, np.float64)
    if s.left <= n or not is_done(row, params):
        return -1.0  # the next card may be the last, and then nobody stops
    rate = rate_of(s.left / n - 1, unseen)
    numbers = below[params.numbers]
    hope = 0.0
    for card in range(params.numbers + 1):
        chance = below[card + 1] - below[card]
        if card == params.numbers:
            card = THUNDER
            chance = unseen - numbers
        if chance > 0:
            hope += chance * after_laying(row, params, below, rate, worth, card)
    gain = hope / unseen - row_points(row, params) - STOP_POINTS
    if n > 1:
        lost = 1 - others_last(s, params, seats, player, below, unseen, 1.0, other, worth)
        cost = lost * STOP_POINTS
        if params.reward == MARGIN:
            cost += lost * SWING / (n - 1) + DRIFT
        gain -= cost * (1 + REPAIR * (unseen - numbers) / unseen)
    return gain


@routine
def after_laying(row, params, below, rate, worth, card):
    """The best value of a finished row after a card: with Stop if it still is finished, else what it may become."""
    best = -100.0
    for i in range(params.row_len):
        covered = row[i]
        row[i] = card
        if is_done(row, params):
            value = np.float64(row_points(row, params) + STOP_POINTS)
        else:
            value = row_worth(row, params, below, rate, worth, 1.0, np.float64(STOP_POINTS))
        row[i] = covered
        best = max(best, value)
    return best


@routine
def timing_policy(s, params, seats, player, mask, draw):
    """Lay cards by count; weigh Stop, right or false, against drawing on."""
    if mask[0]:
        return lay_card(s, params, seats, player, len(seats) == 1)
    if not mask[DRAW]:
        return STOP if mask[STOP] and has(s.checked, player) else WAIT
    if not mask[STOP]:
        return DRAW
    below = scratch(201, np.int64)
    unseen = count_unseen(s, params, player, below)
    if has(s.checked, player):
        return DRAW if gain_of_drawing(s, params, seats, player, below, unseen) > 0 else STOP
    if params.reward == MARGIN and params.obs_opponents == FULL and len(seats) > 1:
        margin, others = outlook(s, params, seats, player, below, unseen)
        if -others > TRUST * margin + CAUTION:
            return STOP
    return DRAW


class TimingAgent(PolicyAgent):
    """The Stop-timing bot."""

    name = "rule:3"
    policy = timing_policy
    uses_seen = True
