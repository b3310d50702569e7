"""Flash 10, rule level 2: remembers every card and lays each where the unseen ones promise most.

Some numbers of the row stay; between two that stay is a gap: so many slots to fill, from the numbers between the two
that are still unseen. With x of these expected among the cards still to be drawn, `CHANCE[slots, x]` is the chance that
the gap gets filled. A row is worth the best choice of what stays: the points expected from the left at the round's end,
each gap counting only if all before it are filled, and a prize for the finished row. When the round will end is read
off the others' rows in the same way, or guessed where they are not shown: early, points in hand count; late, finishing.
"""

import numpy as np

from flinchenv.core.bits import count_bits, has
from flinchenv.core.kernel import helper, routine
from flinchenv.flash10.game import DRAW, FINAL_PLACE, STOP, WAIT
from flinchenv.flash10.observe import FULL
from flinchenv.flash10.rows import BOTH_SIDES, MOUNTAIN, PREFIX, THUNDER
from flinchenv.flash10.rules import FLASH, MAX_ROW

from .flash10_table import PolicyAgent, copy_row, scratch

HORIZONS = np.array([0.0, 1, 2, 3, 4, 6, 8, 11, 15, 20])  # draws of each seat until the round ends
STOP_POINTS = 2
SWING = 12.0  # what a Stop is worth beyond its points, since it keeps another from it; shared among the others
PACE = 2.0  # draws by which an unseen opponent is done, in row lengths
SPREAD = 0.4  # and how much that varies
PRESENT = 0.01  # what a point in hand counts for however late it is, to choose among equals
UNLIKELY = 0.02  # ends of the round less likely than this are left out
SEEN_MOST = 0.9  # more of the unseen cards than this are never expected in one hand

CELLS = 4  # of the table, for each card expected
MOST_EXPECTED = 40


def fill_chances(size=MAX_ROW, most=MOST_EXPECTED, cells=CELLS, shares=64):
    """The chance (size + 1, most * cells + 1) that k slots get filled in order when x fitting cards are expected.

    Cards come as a Poisson stream, each anywhere in the gap, and are laid where the two gaps that they leave are filled
    most likely, or not used; the chance f of k slots then obeys f'(x) = mean over the card's place of
    max(f(x), best split) - f(x).
    """
    grid = np.arange(most * cells + 1) / cells
    share = (np.arange(shares) + 0.5) / shares
    chance = np.zeros((size + 1, len(grid)))
    chance[0] = 1
    for k in range(1, size + 1):
        splits = [
            np.interp(np.outer(grid, share), grid, chance[j])
            * np.interp(np.outer(grid, 1 - share), grid, chance[k - 1 - j])
            for j in range(k)
        ]
        split = np.max(splits, 0)
        for i in range(1, len(grid)):  # Heun's rule
            here = chance[k, i - 1]
            slope = np.maximum(split[i - 1], here).mean() - here
            there = here + slope / cells
            slope += np.maximum(split[i], there).mean() - there
            chance[k, i] = here + slope / cells / 2
    return chance


CHANCE = fill_chances()


@helper
def chance_of(slots, expected):
    """The chance that a gap gets filled."""
    y = min(expected, MOST_EXPECTED - 0.001) * CELLS
    i = np.int64(y)
    return CHANCE[slots, i] + (CHANCE[slots, i + 1] - CHANCE[slots, i]) * (y - i)


# --- What a row counts now --------------------------------------------------------------------------------------------


@helper
def step_up(params, slot, card, last):
    """Whether a number goes on in order from the number left of it; a mountain turns after its middle slot."""
    return card < last if params.row_shape == MOUNTAIN and slot > params.row_len // 2 else card > last


@routine
def run_length(row, params):
    """The slot at which the run from the left breaks; Thunders do not break it."""
    last, middle = -1, np.int64(params.row_len) // 2
    for i in range(params.row_len):
        card = np.int64(row[i])
        if card != THUNDER:
            if not step_up(params, i, card, last):
                return i
            last = card
        elif params.row_shape == MOUNTAIN and i == middle:
            last = THUNDER
    return np.int64(params.row_len)


@routine
def right_run(row, params):
    """The slot at which a mountain's run from the right end begins."""
    last = -1
    for i in range(params.row_len - 1, params.row_len // 2, -1):
        card = np.int64(row[i])
        if card != THUNDER:
            if card <= last:
                return i + 1
            last = card
    return params.row_len // 2 + 1


@routine
def row_points(row, params):
    """A row's points without Stop, as the game scores it."""
    end, start = run_length(row, params), np.int64(params.row_len)
    if params.row_shape == MOUNTAIN and params.peak_score == BOTH_SIDES:
        end, start = min(end, params.row_len // 2 + 1), right_run(row, params)
    points = 0
    for i in range(params.row_len):
        inside = i < end or i >= start
        if row[i] == THUNDER:
            points -= 1
        else:
            points += inside + (row[i] % FLASH == 0 and (inside or params.flash_scope != PREFIX))
    return max(points, 0) if params.floor_zero else points


@routine
def is_done(row, params):
    """Whether the row may be stopped."""
    for i in range(params.row_len):
        if row[i] == THUNDER and not params.stop_with_thunder:
            return False
    return run_length(row, params) == params.row_len


# --- What a row may become --------------------------------------------------------------------------------------------


@routine
def count_unseen(s, params, player, below):
    """Write into `below` (2 * 100 + 1,) how many unseen numbers are less than each height, and return all unseen cards.

    A mountain's right side has heights of its own, from `numbers` on, mirrored, so that its row ascends too.
    """
    count = 0
    for height in range(2 * params.numbers):
        below[height] = count
        card = height if height < params.numbers else 2 * params.numbers - 1 - height
        seen = (s.seen[card >> 6] >> np.uint64(card & 63)) & np.uint64(1)
        count += seen == 0 and card != s.held[player]
    below[2 * params.numbers] = count
    return np.int64(s.left) + count_bits(np.int64(s.holding) & ~(1 << player))


@helper
def height_of(params, slot, card, mirrored):
    """The height of a number that stays in a slot; slots -1 and row_len are the ends."""
    numbers = np.int64(params.numbers)
    if slot < 0:
        return np.int64(-1)
    if slot >= params.row_len:
        return 2 * numbers if params.row_shape == MOUNTAIN else numbers
    return 2 * numbers - 1 - card if mirrored else card


@helper
def extend(row, params, below, rate, worth, i, points):
    """What the row from slot i on is worth if its number stays, from `worth` of the slots after it.

    Args:
        below: see `count_unseen`.
        rate: cards of the gaps expected, for each unseen one.
        worth: (11,), negative where no number can stay; entry row_len is the prize of the finished row.
        points: what a number counts for.
    """
    length = np.int64(params.row_len)
    peak = length // 2 if params.row_shape == MOUNTAIN else length
    card = np.int64(row[i]) if i >= 0 else -1
    if card == THUNDER:
        return -1.0
    low = height_of(params, i, card, i >= peak)
    base = below[low] if low > 0 else 0
    best, slots = 0.0, 0
    for j in range(i + 1, length + 1):
        free = j < length and row[j] == THUNDER
        if worth[j] >= 0:
            high = height_of(params, j, np.int64(row[j]) if j < length else 0, j > peak)
            fitting, room = below[high] - base, high - low
            if i < peak < j and peak < length:  # across the peak each number has two heights
                fitting, room = fitting // 2, room // 2
            if room > slots and fitting >= slots:
                value = worth[j]
                if slots > 0:
                    value = chance_of(slots, rate * fitting) * (value + slots * points)
                best = max(best, value)
        slots += not (free and params.stop_with_thunder)
    return best + points * (1 + (card % FLASH == 0)) if i >= 0 else best


@routine
def row_worth(row, params, below, rate, worth, points, prize):
    """What a row is worth at a rate; `worth` is scratch space (11,)."""
    worth[params.row_len] = prize
    for i in range(params.row_len - 1, -1, -1):
        worth[i] = extend(row, params, below, rate, worth, i, points)
    return extend(row, params, below, rate, worth, -1, points)


@helper
def rate_of(draws, unseen):
    """The cards expected for each unseen one, counted so that the chance of none is exact, in so many draws."""
    return -np.log(1 - min(draws / max(unseen, 1), SEEN_MOST))


@routine
def others_last(s, params, seats, player, below, unseen, draws, row, worth):
    """The chance that no other seat finishes within so many draws of each."""
    n = len(seats)
    chance = 1.0
    if params.obs_opponents == FULL and n > 1:
        for k in range(1, n):
            p = (player + k) % n
            more = draws + has(s.holding, p)
            chance *= 1 - row_worth(copy_row(s, p, row), params, below, rate_of(more, unseen), worth, 0.0, 1.0)
        return chance
    drawn = (params.numbers + params.thunders - n * params.row_len - s.left) / n
    late = (drawn + draws - PACE * params.row_len) / (SPREAD * params.row_len)
    return (1 / (1 + np.exp(late))) ** max(1, n - 1)


@routine
def best_slot(s, params, seats, player, card, patient):
    """The slot that a card is best laid on; the patient take it that the round ends with the last card."""
    n, length = len(seats), np.int64(params.row_len)
    row, other = copy_row(s, player, scratch(10, np.int64)), scratch(10, np.int64)
    below, worth, base = scratch(201, np.int64), scratch(11, np.float64), scratch(11, np.float64)
    value = scratch(10, np.float64)
    prize = STOP_POINTS + SWING / max(1, n - 1)
    unseen = count_unseen(s, params, player, below)
    last = s.left / n
    before = 1.0
    for i in range(length):
        covered = row[i]
        row[i] = card
        value[i] = PRESENT * row_points(row, params)
        row[i] = covered
    for horizon in range(len(HORIZONS)):
        draws = min(HORIZONS[horizon], last)
        after = 0.0
        if patient:
            draws, after = last, 0.0
        elif draws < last and horizon < len(HORIZONS) - 1:
            after = min(before, others_last(s, params, seats, player, below, unseen, draws, other, worth))
        weight, before = before - after, after
        if weight <= UNLIKELY:
            continue
        rate = rate_of(draws, unseen)
        base[length] = prize
        for i in range(length - 1, -1, -1):  # slots right of i are worth what they are without the card
            covered = row[i]
            row[i] = card
            if draws == 0:
                now = row_points(row, params) + 0.5 * prize * is_done(row, params)  # another may stop first
            else:
                for j in range(i + 1, length + 1):
                    worth[j] = base[j]
                for j in range(i, -1, -1):
                    worth[j] = extend(row, params, below, rate, worth, j, 1.0)
                now = extend(row, params, below, rate, worth, -1, 1.0)
                if params.stop_with_thunder:
                    now -= count_thunders(row, params)
            value[i] += weight * now
            row[i] = covered
            base[i] = extend(row, params, below, rate, base, i, 1.0)
    chosen = 0
    for i in range(length):
        value[i] += 1e-6 * (row[i] == THUNDER)
        if value[i] > value[chosen] + 1e-9:
            chosen = i
    return chosen


@helper
def count_thunders(row, params):
    """Thunders visible."""
    count = 0
    for i in range(params.row_len):
        count += row[i] == THUNDER
    return count


@routine
def final_slot(s, params, player, card):
    """The slot that gives the round's last card most points."""
    row = copy_row(s, player, scratch(10, np.int64))
    best, chosen = -100, 0
    for i in range(params.row_len):
        covered = row[i]
        row[i] = card
        points = row_points(row, params)
        row[i] = covered
        if points > best:
            best, chosen = points, i
    return chosen


@helper
def lay_card(s, params, seats, player, patient):
    """The slot for the card in hand; see `best_slot`."""
    card = np.int64(s.held[player])
    if s.phase == FINAL_PLACE:
        return final_slot(s, params, player, card)
    return best_slot(s, params, seats, player, card, patient)


@routine
def count_policy(s, params, seats, player, mask, draw):
    """Count cards; STOP as soon as the own check allows, else draw."""
    if mask[0]:
        return lay_card(s, params, seats, player, False)
    if mask[STOP] and has(s.checked, player):
        return STOP
    return DRAW if mask[DRAW] else WAIT


class CountAgent(PolicyAgent):
    """The counting bot."""

    name = "rule:2"
    policy = count_policy
    uses_seen = True
