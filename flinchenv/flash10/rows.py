"""The cards of Flash 10: the middle, a row and what it is worth. Rules and readings are cited where they act."""

import numpy as np

from ..core.bits import count_bits, natural, with_bit
from ..core.kernel import helper, routine
from ..core.rng import random_below
from .rules import FLASH, MAX_NUMBERS, MAX_ROW

THUNDER = MAX_NUMBERS  # the value of every Thunder card
NONE = -1  # no card, no seat

# Indices of the choices in rules.py, in their order there.
ASCENDING, MOUNTAIN = range(2)
VISIBLE, PREFIX = range(2)
LEFT_PREFIX, BOTH_SIDES = range(2)

# What a card in slot 0 adds to `s.marks`.
_MARKS = np.array([1 << MAX_ROW if card % FLASH == 0 else 0 for card in range(MAX_NUMBERS)] + [1], np.int64)


@helper
def take_card(s):
    """Take a random card from the middle, which has no order: the same as a shuffled one."""
    k = random_below(s, s.left)
    s.left -= 1
    left = natural(s.left)
    card = natural(s.deck[k])
    s.deck[k] = s.deck[left]
    s.deck[left] = card
    return card


@helper
def give_back(s, card):
    """Put a card in hand back among the middle."""
    k = s.left
    while s.deck[k] != card:
        k += 1
    s.deck[k] = s.deck[s.left]
    s.deck[s.left] = card
    s.left += 1


@routine
def sort_deck(s, start, stop):
    """Put the places start..stop-1 of the deck in ascending order."""
    low, high, last = np.uint64(0), np.uint64(0), np.int64(stop)
    for k in range(start, stop):
        card = np.int64(s.deck[k])
        bit = np.uint64(1) << np.uint64(card & 63)
        low |= bit * np.uint64(card < 64)
        high |= bit * np.uint64(64 <= card < THUNDER)
        last -= card == THUNDER
    at = start
    for card in range(MAX_NUMBERS):
        here = (low if card < 64 else high) >> np.uint64(card & 63) & np.uint64(1)
        if here:
            s.deck[at] = card
            at += 1
    for k in range(last, stop):
        s.deck[k] = THUNDER


@helper
def lay(s, params, p, slot):
    """The held card covers the slot's card; whether the row may be stopped now."""
    turn_up(s, p, slot, natural(s.held[p]))
    s.held[p] = NONE
    s.holding &= ~(1 << p)
    done = may_be_stopped(s, params, p)
    s.stoppable = with_bit(s.stoppable, p, done)
    return done


@helper
def turn_up(s, p, slot, card):
    """A card lies face up on a slot."""
    s.row[p, slot] = card
    s.marks[p] = s.marks[p] & ~((1 | 1 << MAX_ROW) << slot) | _MARKS[card] << slot
    s.seen[card >> 6] |= np.uint64(1) << np.uint64(card & 63)  # THUNDER's bit means nothing; a branch would cost more


@helper
def thunders(s, p):
    """Bits of the slots that show a Thunder."""
    return np.int64(s.marks[p]) & (1 << MAX_ROW) - 1


@helper
def flashes(s, p):
    """Bits of the slots that show a Flash card."""
    return np.int64(s.marks[p]) >> MAX_ROW


@helper
def is_flash(card):
    """T12: multiples of 5, 0 among them."""
    return card != THUNDER and card % FLASH == 0


@helper
def may_be_stopped(s, params, p):
    """T3, T13, T17: all numbers in order, and no Thunder visible unless the variant allows it."""
    if thunders(s, p) == 0 and params.row_shape == ASCENDING:
        return ascends(s, params, p)
    if thunders(s, p) != 0 and not params.stop_with_thunder:
        return False
    return run_end(s, params, p) == params.row_len


@helper
def ascends(s, params, p):
    """T2, for a row of numbers alone: `run_end` without a branch."""
    breaks = 0
    for i in range(MAX_ROW - 1):
        breaks |= (s.row[p, i] >= s.row[p, i + 1]) << i
    return breaks & (1 << params.row_len - 1) - 1 == 0


@helper
def run_end(s, params, p):
    """The slot at which the run from the left breaks, or row_len: Thunders never break it (T9, T13, TA14)."""
    if params.row_shape == MOUNTAIN:
        return mountain_end(s, params, p)
    last = NONE
    for i in range(params.row_len):
        card = s.row[p, i]
        if card != THUNDER:
            if card <= last:
                return i
            last = card
    return params.row_len


@routine
def mountain_end(s, params, p):
    """T16: up to the middle card, then down; a Thunder there leaves both sides without a limit (TA17)."""
    peak = params.row_len // 2
    last = NONE
    for i in range(params.row_len):
        card = s.row[p, i]
        if card != THUNDER:
            if (card <= last) if i <= peak else (card >= last):
                return i
            last = card
        elif i == peak:
            last = THUNDER
    return params.row_len


@helper
def right_run_start(s, params, p):
    """TA16: the first slot of the run that ascends from the right end inwards, which ends before the peak."""
    last = NONE
    for i in range(params.row_len - 1, params.row_len // 2, -1):
        card = s.row[p, i]
        if card != THUNDER:
            if card <= last:
                return i + 1
            last = card
    return params.row_len // 2 + 1


@routine
def score_row(s, params, p):
    """A row's points without Stop (T9, T12, T13): the numbers that count, Flash cards, less the Thunders."""
    slots = counts(s, params, p)
    counted = flashes(s, p) & slots if params.flash_scope == PREFIX else flashes(s, p)
    return count_bits(slots & ~thunders(s, p)) + count_bits(counted) - count_bits(thunders(s, p))


@routine
def counts(s, params, p):
    """Bits of the slots that a run covers: the one from the left, and under "both_sides" that from the right."""
    end = run_end(s, params, p)
    if params.row_shape == MOUNTAIN and params.peak_score == BOTH_SIDES:
        end = min(end, params.row_len // 2 + 1)
        start = right_run_start(s, params, p)
        return (1 << end) - 1 | (1 << params.row_len) - (1 << start)
    return (1 << end) - 1
