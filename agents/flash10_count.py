"""Flash 10, rule level 2: counts the cards that are still to come, and lays each where they promise most.

Some numbers of the row stay. Between two that stay is a gap: so many slots, and so many unseen numbers that would fit.
Some of these will be drawn in time; `CHANCE[slots, drawn]` is the chance that the gap then gets filled. A row is worth
the best choice of what stays: its points from the left, each gap counting only if it and all before it are filled, and
a prize for the finished row. That is worked out for several ends of the round: now, when only the points in hand count,
and after so many draws more of each seat. How likely each is, the cards gone from the middle tell: opponents are taken
to finish as level 1 does. So early the bot builds its row, and late it takes points instead.
"""

import numpy as np

from flinchenv.core.bits import count_bits, has
from flinchenv.core.kernel import helper, routine
from flinchenv.flash10.game import DRAW, FINAL_PLACE, STOP, WAIT
from flinchenv.flash10.rows import MOUNTAIN, THUNDER, may_be_stopped, score_row, turn_up
from flinchenv.flash10.rules import FLASH, MAX_NUMBERS, MAX_ROW

from .flash10_table import Flash10Agent, copy_row, scratch

ENDS = (1, 2, 4, 8, 16)  # draws of each seat until the round's end that are looked at, beside none
PACE = 2.0  # draws in which level 1 finishes its row half of the time, in row lengths
SPREAD = 0.4  # how sharply its chance rises there: the scale of a logistic curve, in row lengths
STOP_POINTS = 2
EQUAL = 1e-9  # values closer than this are rounding apart
SWING = 12.0  # what a Stop is worth beside its points for keeping another from it; shared among the others (tuned)
HEIGHTS = 2 * MAX_NUMBERS + 1  # entries of `below`, see `count_unseen`
MOST_ASKED = 2 * len(ENDS)
WORTHS = (MAX_ROW + 1) * MOST_ASKED  # slots, and the end of the row; `scratch` takes a name or a number, no sum

MOST_DRAWN = max(ENDS)  # of the numbers that fit a gap, on average
CELLS = 4  # of the table, for each card drawn
PLACES = 64  # in a gap where a card may come, for the mean over all


def fill_chances():
    """The chance (11, 16 * CELLS + 1) that k slots get in order when x fitting cards are drawn on average.

    Cards come as a Poisson stream, each anywhere in the gap, and are laid where the two gaps that they leave are filled
    most likely, or not used; the chance f of k slots then obeys f'(x) = mean over the card's place of
    max(f(x), best split) - f(x).
    """
    grid = np.arange(MOST_DRAWN * CELLS + 1) / CELLS
    share = (np.arange(PLACES) + 0.5) / PLACES
    chance = np.zeros((MAX_ROW + 1, len(grid)))
    chance[0] = 1
    for k in range(1, MAX_ROW + 1):
        splits = [
            np.interp(np.outer(grid, share), grid, chance[j])
            * np.interp(np.outer(grid, 1 - share), grid, chance[k - 1 - j])
            for j in range(k)
        ]
        split = np.max(splits, 0)
        for i in range(1, len(grid)):  # Heun's rule
            here = chance[k, i - 1]
            slope = np.maximum(split[i - 1], here).mean() - here
            there = here + slope / CELLS
            slope += np.maximum(split[i], there).mean() - there
            chance[k, i] = here + slope / CELLS / 2
    return chance


CHANCE = fill_chances()


@helper
def chance_of(slots, drawn):
    """The chance that a gap is filled, between the table's cells."""
    y = min(drawn, MOST_DRAWN - 0.001) * CELLS  # there is no cell after the last
    i = np.int64(y)
    return CHANCE[slots, i] + (CHANCE[slots, i + 1] - CHANCE[slots, i]) * (y - i)


# --- What is unseen ---------------------------------------------------------------------------------------------------


@routine
def count_unseen(s, params, player, below):
    """How many cards are unseen; `below`, int64 (HEIGHTS,), is filled in: unseen numbers less than each height.

    A number's height is itself. To the right of a mountain's peak it is mirrored, so that the row ascends there, too.
    """
    count = 0
    for height in range(2 * params.numbers):
        below[height] = count
        card = mirrored(params, height) if height >= params.numbers else height
        seen = (s.seen[card >> 6] >> np.uint64(card & 63)) & np.uint64(1)
        count += seen == 0 and card != s.held[player]
    below[2 * params.numbers] = count
    return np.int64(s.left) + count_bits(np.int64(s.holding) & ~(1 << player))


@helper
def mirrored(params, height):
    """The same number's height on the other side of a mountain's peak."""
    return 2 * np.int64(params.numbers) - 1 - height


# --- What a row may become --------------------------------------------------------------------------------------------


@routine
def row_worths(row, params, below, share, points, prize, worths):
    """Write what a row (L,) is worth at K ends of the round into `worths`, float64 (K,), K up to `MOST_ASKED`.

    Args:
        below: see `count_unseen`.
        share: (K,), how much of them this seat draws until then.
        points: (K,), what a number in order counts for. prize: (K,), what the finished row counts for beside that.
    """
    asked = len(share)
    worth = scratch(WORTHS, np.float64)  # K for slot i and all after it if its number stays; negative if it cannot
    length, numbers = np.int64(params.row_len), np.int64(params.numbers)
    peak = length // 2 if params.row_shape == MOUNTAIN else length
    for k in range(asked):
        worth[asked * length + k] = prize[k]
    for i in range(length - 1, -2, -1):
        card = np.int64(row[i]) if i >= 0 else -1
        if card == THUNDER:
            worth[asked * i] = -1.0
            continue
        low = mirrored(params, card) if i >= peak else card
        slots, thunders = 0, 0
        for k in range(asked):
            worths[k] = 0.0
        for j in range(i + 1, length + 1):
            if worth[asked * j] >= 0:
                if j == length:
                    high = 2 * numbers if peak < length else numbers
                else:
                    high = mirrored(params, np.int64(row[j])) if j > peak else np.int64(row[j])
                fitting = below[high] - below[low + 1] if high > low else -1
                if i < peak < j and peak < length:
                    fitting //= 2  # each number is counted on both sides of the peak
                if fitting >= slots:
                    for k in range(asked):
                        chance = chance_of(slots, share[k] * fitting)
                        filled = chance * (worth[asked * j + k] + slots * points[k]) - thunders * points[k]
                        worths[k] = max(worths[k], filled)
            if j < length and row[j] == THUNDER and params.stop_with_thunder:
                thunders += 1
            else:
                slots += 1
        if i >= 0:
            for k in range(asked):
                worth[asked * i + k] = worths[k] + points[k] * (1 + (card % FLASH == 0))


@helper
def row_worth(row, params, below, share, points, prize):
    """What a row (L,) is worth at one end of the round, see `row_worths`."""
    asked = scratch(4, np.float64)
    asked[0], asked[1], asked[2] = share, points, prize
    row_worths(row, params, below, asked[:1], asked[1:2], asked[2:3], asked[3:])
    return asked[3]


@helper
def worth_with(row, slot, card, params, below, share, points, prize):
    """`row_worth` with a card on a slot; the row is left as it was."""
    covered = row[slot]
    row[slot] = card
    worth = row_worth(row, params, below, share, points, prize)
    row[slot] = covered
    return worth


@helper
def others_last(s, params, seats, draws):
    """The chance that no other seat is done after so many draws more of each."""
    n = len(seats)
    drawn = (params.numbers + params.thunders - n * params.row_len - s.left) / n
    late = (drawn + draws - PACE * params.row_len) / (SPREAD * params.row_len)
    return (1 / (1 + np.exp(late))) ** (n - 1)


@helper
def stop_worth(seats):
    """What a right Stop is worth to a seat, its points and the others' loss."""
    return STOP_POINTS + SWING / max(1, len(seats) - 1)


# --- The bot ----------------------------------------------------------------------------------------------------------


@helper
def look_ahead(s, params, p, slot, card):
    """(a row's points without Stop, whether it may be stopped) with a card on a slot; the record is left as it was."""
    covered, marks, seen = np.int64(s.row[p, slot]), s.marks[p], s.seen[card >> 6]
    turn_up(s, p, slot, card)
    points, done = score_row(s, params, p), may_be_stopped(s, params, p)
    s.row[p, slot], s.marks[p], s.seen[card >> 6] = covered, marks, seen
    return max(points, 0) if params.floor_zero else points, done


@routine
def best_slot(s, params, seats, player):
    """The slot that the card in hand is best laid on; the lowest of equals."""
    card = np.int64(s.held[player])
    row = copy_row(s, player, scratch(MAX_ROW, np.int64))
    below = scratch(HEIGHTS, np.int64)
    unseen = count_unseen(s, params, player, below)
    left = s.left / len(seats)
    share, points, prize = (
        scratch(MOST_ASKED, np.float64),
        scratch(MOST_ASKED, np.float64),
        scratch(MOST_ASKED, np.float64),
    )
    weight, worths = scratch(MOST_ASKED, np.float64), scratch(MOST_ASKED, np.float64)
    running = 0.0 if s.phase == FINAL_PLACE else others_last(s, params, seats, 0)
    now, ends = 1 - running, 0
    for k in range(len(ENDS)):
        draws = min(ENDS[k], left)
        later = 0.0 if draws == left or k == len(ENDS) - 1 else min(running, others_last(s, params, seats, draws))
        if running > later:
            share[ends], points[ends], prize[ends] = draws / unseen, 1.0, stop_worth(seats)
            weight[ends] = running - later
            ends += 1
        running = later
    chosen, most = 0, -np.inf
    for i in range(params.row_len):
        value = now * look_ahead(s, params, player, i, card)[0]
        covered = row[i]
        row[i] = card
        row_worths(row, params, below, share[:ends], points[:ends], prize[:ends], worths)
        row[i] = covered
        for k in range(ends):
            value += weight[k] * worths[k]
        if value > most + EQUAL:
            chosen, most = i, value
    return chosen


@routine
def count_policy(s, params, seats, player, mask, draw):
    """Count cards; STOP as soon as the own check allows, else draw."""
    if mask[0]:
        return best_slot(s, params, seats, player)
    if mask[STOP] and has(s.checked, player):
        return STOP
    return DRAW if mask[DRAW] else WAIT


class CountAgent(Flash10Agent):
    """The counting bot."""

    name = "rule:2"
    policy = count_policy
    uses_seen = True
