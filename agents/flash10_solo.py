"""Flash 10 alone, solved: the best expected score of a round with one seat and a small deck, and how to play for it.

What lies before a lone seat is its row and the cards left in the middle. From there it stops, or draws one of these
cards at random and lays it; a false Stop ends the round with nothing, where the rules allow it, and to wait is
pointless. With one card fewer each time, values follow from those of fewer cards left.
"""

import functools
from typing import NamedTuple

import numpy as np

from flinchenv.core.bits import count_bits, has
from flinchenv.core.kernel import helper, routine
from flinchenv.core.params import refuse
from flinchenv.flash10.game import DRAW, FINAL_PLACE, NUM_ACTIONS, RUN, STOP, WAIT
from flinchenv.flash10.rows import NONE, THUNDER

from .agent import check_mask
from .flash10_count import is_done, row_points
from .flash10_table import NO_DRAW, PolicyAgent, bot_kernel, records, scratch

MOST_VALUES = 2**25  # 256 MiB of float64
NO_ROW = -1


class Solution(NamedTuple):
    """A solved round.

    Attributes:
        value: the best expected score, before the deal.
        starts: int64 (R,), where the values of each row begin, `NO_ROW` for what is no row.
        values: float64, of every row and every middle; see `place_of`.
    """

    value: float
    starts: np.ndarray
    values: np.ndarray


@functools.cache
def solve(setup):
    """The `Solution` of a setup.

    Raises:
        RulesError: more than one seat, a match, a chance to misread, idle "free", or a deck too large.
    """
    starts, size = row_starts(setup)
    values = np.zeros(size)
    solve_middles(setup.params, starts, values)
    return Solution(deal_value(setup.params, starts, values), starts, values)


def policy_value(setup, policy):
    """The exact expected score of a compiled policy that does not roll dice, alone."""
    starts, size = row_starts(setup)
    games = setup.new_games(1)
    games["end_reason"] = 0
    mask = np.zeros(NUM_ACTIONS, np.int8)
    return policy_walk(policy)(games, setup.params, setup.seats, mask, starts, np.zeros(size))


def row_starts(setup):
    """(starts, size): where the values of each row begin, and how many there are in all."""
    rules = setup.rules
    if rules.num_players != 1 or rules.episode != "round":
        refuse("env", setup.id, "a single round with num_players 1")
    if rules.p_misread > 0 or rules.waits == "free":
        refuse("env", setup.id, "p_misread 0 and an idle other than 'free'")
    base, starts, size = rules.numbers + 1, [], 0
    if base**rules.row_len * 2 ** max(rules.numbers - rules.row_len, 0) > 2 * MOST_VALUES:
        refuse("numbers", rules.numbers, f"a deck small enough for {MOST_VALUES} values")
    for code in range(base**rules.row_len):
        row = [code // base**i % base for i in range(rules.row_len)]
        numbers = [card for card in row if card < rules.numbers]
        spare = rules.thunders - (len(row) - len(numbers))
        if len(set(numbers)) < len(numbers) or spare < 0:
            starts.append(NO_ROW)
        else:
            starts.append(size)
            size += (spare + 1) << (rules.numbers - len(numbers))
    return np.array(starts), size


# --- Where a value stands ---------------------------------------------------------------------------------------------


@helper
def code_of(row, params):
    """A row's number; Thunders count as the digit `numbers`."""
    code = 0
    for i in range(params.row_len - 1, -1, -1):
        code = code * (params.numbers + 1) + min(np.int64(row[i]), np.int64(params.numbers))
    return code


@helper
def read_code(code, params, row):
    """Write the row of a number into `row`; the set of its number cards."""
    cards = 0
    for i in range(params.row_len):
        card = code % (params.numbers + 1)
        code //= params.numbers + 1
        row[i] = card if card < params.numbers else THUNDER
        if card < params.numbers:
            cards |= 1 << card
    return cards


@helper
def squeeze(middle, cards, numbers):
    """The bits of the set `middle`, without the places of the set `cards`."""
    squeezed, at = 0, 0
    for k in range(numbers):
        if not has(cards, k):
            squeezed |= has(middle, k) << at
            at += 1
    return squeezed


@helper
def spread(squeezed, cards, numbers):
    """The set that `squeeze` made these bits of."""
    middle, at = 0, 0
    for k in range(numbers):
        if not has(cards, k):
            middle |= has(squeezed, at) << k
            at += 1
    return middle


@helper
def cards_of(row, params):
    """The set of a row's number cards."""
    cards = 0
    for i in range(params.row_len):
        if row[i] != THUNDER:
            cards |= 1 << row[i]
    return cards


@routine
def place_of(row, params, middle, thunders, starts):
    """Where the value of a row stands, with a set of numbers and so many Thunders in the middle."""
    cards, numbers = cards_of(row, params), np.int64(params.numbers)
    return starts[code_of(row, params)] + (thunders << numbers - count_bits(cards)) + squeeze(middle, cards, numbers)


# --- The best play ----------------------------------------------------------------------------------------------------


@helper
def last_value(row, params):
    """The points of a row with the last card laid."""
    return row_points(row, params) + 2 * (params.last_card_stop and is_done(row, params))


@routine
def best_place(row, params, card, middle, thunders, starts, values):
    """(value, slot) of the best slot for a card, with this middle left; the lowest of equals."""
    best, chosen = -1e9, 0
    for i in range(params.row_len):
        covered = row[i]
        row[i] = card
        if middle == 0 and thunders == 0:
            value = np.float64(last_value(row, params))
        else:
            value = values[place_of(row, params, middle, thunders, starts)]
        row[i] = covered
        if value > best:
            best, chosen = value, i
    return best, chosen


@routine
def draw_value(row, params, middle, thunders, starts, values):
    """The value of drawing a card from this middle."""
    total = 0.0
    for k in range(params.numbers):
        if has(middle, k):
            total += best_place(row, params, k, middle & ~(1 << k), thunders, starts, values)[0]
    if thunders > 0:
        total += thunders * best_place(row, params, THUNDER, middle, thunders - 1, starts, values)[0]
    return total / (count_bits(middle) + thunders)


@helper
def stop_value(row, params):
    """The points of a Stop, right or false; less than any where it is not legal."""
    if is_done(row, params):
        return row_points(row, params) + 2.0
    return -1e9 if params.checked_stop else 0.0


@bot_kernel
def solve_middles(rules, starts, values):
    """Fill in the values of every row and middle, small middles first."""
    params = rules[0]
    numbers = np.int64(params.numbers)
    row = scratch(10, np.int64)
    for left in range(1, numbers + params.thunders - params.row_len + 1):
        for code in range(len(starts)):
            if starts[code] == NO_ROW:
                continue
            cards = read_code(code, params, row)
            size = count_bits(cards)
            stop = stop_value(row, params)
            for thunders in range(params.thunders - (params.row_len - size) + 1):
                for squeezed in range(1 << numbers - size):
                    if count_bits(squeezed) + thunders == left:
                        middle = spread(squeezed, cards, numbers)
                        value = max(stop, draw_value(row, params, middle, thunders, starts, values))
                        values[starts[code] + (thunders << numbers - size) + squeezed] = value


@helper
def deal_chance(params, size):
    """The chance of one dealt row with `size` numbers in it, and Thunders elsewhere."""
    chance, left, thunders = 1.0, np.int64(params.numbers + params.thunders), np.int64(params.thunders)
    for i in range(params.row_len):
        chance /= left - i
    for i in range(params.row_len - size):
        chance *= thunders - i
    return chance


@bot_kernel
def deal_value(rules, starts, values):
    """The mean value over all deals."""
    params = rules[0]
    numbers = np.int64(params.numbers)
    row = scratch(10, np.int64)
    total = 0.0
    for code in range(len(starts)):
        if starts[code] != NO_ROW:
            cards = read_code(code, params, row)
            size = count_bits(cards)
            thunders = params.thunders - (params.row_len - size)
            middle = (1 << numbers) - 1 & ~cards
            total += deal_chance(params, size) * values[place_of(row, params, middle, thunders, starts)]
    return total


# --- A policy's play --------------------------------------------------------------------------------------------------


@routine
def show(s, params, row, middle, thunders, held):
    """Make of the record what a lone seat sees: its row, the card in hand, and by what is left, all it has seen."""
    s.seen[:] = np.uint64(0)
    for k in range(params.numbers):
        if not has(middle, k) and k != held:
            s.seen[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    for i in range(params.row_len):
        s.row[0, i] = row[i]
    s.left = count_bits(middle) + thunders
    s.held[0] = held
    s.holding = held != NONE
    s.checked = is_done(row, params)
    s.phase = FINAL_PLACE if held != NONE and s.left == 0 else RUN


@routine
def set_mask(s, params, mask):
    """The ids open to the lone seat."""
    for a in range(NUM_ACTIONS):
        mask[a] = 0
    if s.holding:
        for a in range(params.row_len):
            mask[a] = 1
    else:
        mask[DRAW] = 1
        mask[STOP] = s.checked or not params.checked_stop
        mask[WAIT] = 1


@functools.cache
def policy_walk(policy):
    """A compiled walk over all that may happen to a lone seat with this policy."""

    @routine
    def lay(s, params, seats, mask, row, card, middle, thunders, chance, starts, chances):
        """The points of the last card laid; after any other card, the chance of what is left grows."""
        show(s, params, row, middle, thunders, card)
        set_mask(s, params, mask)
        slot = policy(s, params, seats, 0, mask, NO_DRAW)
        covered = row[slot]
        row[slot] = card
        points = 0.0
        if middle == 0 and thunders == 0:
            points = chance * last_value(row, params)
        else:
            chances[place_of(row, params, middle, thunders, starts)] += chance
        row[slot] = covered
        return points

    @routine
    def play(s, params, seats, mask, row, middle, thunders, chance, starts, chances):
        """The points of stopping; of drawing, those of the last card, and the chances of what is left grow."""
        show(s, params, row, middle, thunders, NONE)
        set_mask(s, params, mask)
        if policy(s, params, seats, 0, mask, NO_DRAW) == STOP:
            return chance * max(stop_value(row, params), 0.0)
        points = 0.0
        each = chance / (count_bits(middle) + thunders)
        for k in range(params.numbers):
            if has(middle, k):
                rest = middle & ~(1 << k)
                points += lay(s, params, seats, mask, row, k, rest, thunders, each, starts, chances)
        if thunders > 0:
            each *= thunders
            points += lay(s, params, seats, mask, row, THUNDER, middle, thunders - 1, each, starts, chances)
        return points

    def walk(games, rules, seats, mask, starts, chances):
        """The expected score; `chances` are all 0, one for each value."""
        s, params = games[0], rules[0]
        numbers = np.int64(params.numbers)
        row = scratch(10, np.int64)
        deal = numbers + params.thunders - params.row_len
        points = 0.0
        for left in range(deal, 0, -1):
            for code in range(len(starts)):
                if starts[code] == NO_ROW:
                    continue
                cards = read_code(code, params, row)
                size = count_bits(cards)
                for thunders in range(params.thunders - (params.row_len - size) + 1):
                    for squeezed in range(1 << numbers - size):
                        if count_bits(squeezed) + thunders == left:
                            chance = chances[starts[code] + (thunders << numbers - size) + squeezed]
                            if left == deal:
                                chance = deal_chance(params, size)
                            if chance > 0:
                                middle = spread(squeezed, cards, numbers)
                                points += play(s, params, seats, mask, row, middle, thunders, chance, starts, chances)
        return points

    return bot_kernel(walk)


# --- The agent --------------------------------------------------------------------------------------------------------


@bot_kernel
def choose_best(games, rules, starts, values, mask, actions):
    """The best action of the lone seat of each record."""
    params = rules[0]
    row = scratch(10, np.int64)
    for g in range(len(games)):
        s = games[g]
        for i in range(params.row_len):
            row[i] = s.row[0, i]
        middle = 0
        for k in range(params.numbers):
            seen = (s.seen[k >> 6] >> np.uint64(k & 63)) & np.uint64(1)
            middle |= (seen == 0 and k != s.held[0]) << k
        thunders = np.int64(s.left) - count_bits(middle)
        if mask[g, 0]:
            actions[g] = best_place(row, params, np.int64(s.held[0]), middle, thunders, starts, values)[1]
        elif mask[g, DRAW] and not mask[g, STOP]:
            actions[g] = DRAW
        else:
            drawing = draw_value(row, params, middle, thunders, starts, values)
            actions[g] = STOP if stop_value(row, params) >= drawing else DRAW


class SoloAgent(PolicyAgent):
    """Plays alone as well as can be; see `solve` for which setups."""

    name = "solo"
    uses_seen = True

    def __init__(self, setup):
        super().__init__(setup)
        self.solution = solve(setup)

    def act(self, observation, action_mask, rng=None, view=None):
        """The best action in each row. See `Agent.act`."""
        check_mask(action_mask)
        games = records(self.setup, observation, view, self.needs_view)
        actions = np.zeros(len(games), np.int64)
        mask = np.ascontiguousarray(action_mask, np.int8)
        choose_best(games, self.setup.params, self.solution.starts, self.solution.values, mask, actions)
        return actions
