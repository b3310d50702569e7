"""Flash 10, rule level 1: fits cards into the slots where their numbers would stand in an even row.

A row is worth the best set of its numbers that could stay to the end (rules, "Slot-fitting bot"): each counts 100 less
twice its distance, in slots, from the slot that is made for it. All values here are `2 * numbers` times those, so that
they are whole and ties are exact.

In a mountain row numbers that stay ascend up to the peak and descend after it, with the same room between them on
either side. The slot of depth d from its end is made for the same share of the numbers on both sides: of the row's
cards in order it has place 2 d + 1/2, since the sides share them, and the peak has the last one.
"""

import numpy as np

from flinchenv.core.bits import has
from flinchenv.core.kernel import helper, routine
from flinchenv.flash10.game import DRAW, STOP, WAIT
from flinchenv.flash10.rows import MOUNTAIN, THUNDER
from flinchenv.flash10.rules import MAX_ROW

from .flash10_table import Flash10Agent, copy_row, scratch

NO_ROOM = -1


@helper
def peak_of(params):
    """The slot of the row's highest card."""
    return params.row_len // 2 if params.row_shape == MOUNTAIN else params.row_len - 1


@helper
def weight(params, number, slot):
    """What a number that stays in a slot is worth, times 2 * numbers."""
    length, numbers = np.int64(params.row_len), np.int64(params.numbers)
    twice_place = 2 * slot
    if params.row_shape == MOUNTAIN:
        depth = min(slot, length - 1 - slot)
        twice_place = 4 * depth + (slot != peak_of(params))
    return 200 * numbers - 2 * abs((2 * number + 1) * length - numbers * (1 + twice_place))


@routine
def arm_value(row, params, end, step, size, most):
    """The best sum of numbers that stay in the `size` slots from `end` inwards; 0 for none.

    A number in the slot of depth d has `number - d` numbers to spare below it. They grow inwards, and none exceeds
    `most`.
    """
    spare, best = scratch(MAX_ROW, np.int64), scratch(MAX_ROW, np.int64)
    top = 0
    for d in range(size):
        number = np.int64(row[end + step * d])
        spare[d] = number - d
        if number == THUNDER or number < d or number - d > most:
            spare[d] = NO_ROOM
            continue
        inner = 0
        for k in range(d):
            if spare[k] != NO_ROOM and spare[k] <= spare[d] and best[k] > inner:
                inner = best[k]
        best[d] = inner + weight(params, number, end + step * d)
        top = max(top, best[d])
    return top


@routine
def row_value(row, params):
    """The value of a row (L,), times 2 * numbers."""
    peak = np.int64(peak_of(params))
    last = np.int64(params.row_len) - 1
    most = params.numbers - 1 - peak
    value = arm_value(row, params, 0, 1, peak, most) + arm_value(row, params, last, -1, last - peak, most)
    number = np.int64(row[peak])
    if number != THUNDER and number >= peak:
        most = number - peak
        sides = arm_value(row, params, 0, 1, peak, most) + arm_value(row, params, last, -1, last - peak, most)
        value = max(value, sides + weight(params, number, peak))
    return value


@routine
def fit_slot(row, params, card):
    """The slot that a card is best laid on; the lowest of equals. `row` is (L,) and may be written to."""
    best, chosen = -1, 0
    for slot in range(params.row_len):
        covered = row[slot]
        row[slot] = card
        value = row_value(row, params) + params.numbers * (covered == THUNDER)
        row[slot] = covered
        if value > best:
            best, chosen = value, slot
    return chosen


@routine
def fit_policy(s, params, seats, player, mask, draw):
    """Fit cards; STOP as soon as the own check allows, else draw."""
    if mask[0]:
        return fit_slot(copy_row(s, player, scratch(MAX_ROW, np.int64)), params, np.int64(s.held[player]))
    if mask[STOP] and has(s.checked, player):
        return STOP
    return DRAW if mask[DRAW] else WAIT


class FitAgent(Flash10Agent):
    """The slot-fitting bot."""

    name = "rule:1"
    policy = fit_policy
