"""The Play Piles in the centre (F18, F41, F42): which ranks fit, and what a card played does.

A pile is known by its lowest and its highest rank. Piles in equal state are interchangeable, so the centre is a count
for each state; only with wilds the piles themselves are kept, since then they differ in what goes back to the Stack.
"""

import numpy as np

from ..core.kernel import helper, routine
from .cards import WILD, recycle_if_due
from .rules import MAX_PACKS, MAX_RANK, MAX_SERIES, MAX_WILDS

UP, BOTH_ENDS, EIGHTS = range(3)  # center
REMOVED_AT_BOTH_ENDS, REMOVED_ON_15 = range(2)  # eights_removal

ARM = (MAX_RANK + 1) // 2  # states of one end of a pile in the eights game
MAX_PILES = MAX_PACKS * (2 * MAX_SERIES + MAX_WILDS)  # every open pile has a starter of its own


@helper
def clear_center(s, params):
    """No pile lies in the centre."""
    s.ups[:] = 0
    s.downs[:] = 0
    s.up_tops = 0
    s.down_tops = 0
    if params.center == EIGHTS:
        s.eights[:] = 0
    s.num_piles = 0
    find_playable(s, params)


@helper
def find_playable(s, params):
    """Note the ranks that can be played by up ids and by down ids; a wild always can."""
    if params.center == EIGHTS:
        find_playable_eights(s, params)
    else:
        s.playable_up = s.up_tops << 1 | 1 << 1 | 1 << WILD
        if params.center == BOTH_ENDS:
            s.playable_down = s.down_tops >> 1 | 1 << params.num_ranks
        else:
            s.playable_down = 0


@routine
def find_playable_eights(s, params):
    """F42: an 8, the rank above a pile's high end and the one below its low end; only up ids."""
    ranks = 1 << params.middle | 1 << WILD
    for i in range(params.middle):
        for j in range(params.middle):
            if s.eights[i, j]:
                ranks |= 1 << (params.middle + i + 1)
                ranks |= 1 << (params.middle - j - 1)
    s.playable_up = ranks & (2 << params.num_ranks) - 1 & ~(1 << WILD) | 1 << WILD
    s.playable_down = 0


@helper
def play_to_center(s, params, rank, down, wild):
    """Lay a card, or a wild as that rank, on the pile it fits, or start one; take a complete pile away (F18)."""
    if params.center == EIGHTS:
        play_eights(s, params, rank, wild)
    elif params.center == BOTH_ENDS and down:
        play_down(s, params, rank, wild)
    else:
        play_up(s, params, rank, wild)
    find_playable(s, params)
    recycle_if_due(s, params)


@helper
def raise_pile(s, params, rank):
    """Note the new top of a pile that ascends."""
    if rank > 1:
        s.ups[rank - 1] -= 1
        s.up_tops &= ~((s.ups[rank - 1] == 0) << (rank - 1))
    if rank < params.num_ranks:
        s.ups[rank] += 1
        s.up_tops |= 1 << rank


@helper
def play_up(s, params, rank, wild):
    """A pile that ascends: a 1 starts it, the last rank completes it."""
    raise_pile(s, params, rank)
    if rank < params.num_ranks:
        keep_pile(s, params, rank, 1, rank - 1, 1, rank, wild)
    else:
        take_away(s, params, rank, 1, rank - 1, 1, rank, wild)


@routine
def play_down(s, params, rank, wild):
    """F41: a pile that descends: the last rank starts it, a 1 completes it."""
    last = np.int64(params.num_ranks)
    if rank < last:
        s.downs[rank + 1] -= 1
        s.down_tops &= ~((s.downs[rank + 1] == 0) << (rank + 1))
    if rank > 1:
        s.downs[rank] += 1
        s.down_tops |= 1 << rank
        keep_pile(s, params, rank, rank + 1, last, rank, last, wild)
    else:
        take_away(s, params, rank, rank + 1, last, rank, last, wild)


@routine
def play_eights(s, params, rank, wild):
    """F42, FA31: of the piles that a card fits, the one whose other end is most advanced, a finished one above all."""
    middle = np.int64(params.middle)
    high = low = 0  # how far the pile's ends are from the middle
    if rank > middle:
        high = rank - middle - 1
        for k in range(middle):
            low = k if s.eights[high, k] else low
    elif rank < middle:
        low = middle - rank - 1
        for k in range(middle):
            high = k if s.eights[k, low] else high
    new_high, new_low = max(high, rank - middle), max(low, middle - rank)
    if rank != middle:
        s.eights[high, low] -= 1
    complete = middle + new_high == params.num_ranks
    if params.eights_removal == REMOVED_AT_BOTH_ENDS:
        complete &= middle - new_low == 1
    old = (middle - low, middle + high) if rank != middle else (middle + 1, middle)
    if complete:
        take_away(s, params, rank, old[0], old[1], middle - new_low, middle + new_high, wild)
    else:
        s.eights[new_high, new_low] += 1
        keep_pile(s, params, rank, old[0], old[1], middle - new_low, middle + new_high, wild)


@helper
def keep_pile(s, params, rank, low, high, new_low, new_high, wild):
    """With wilds: the oldest pile of ranks low..high grows to new_low..new_high; low > high starts one."""
    if params.wilds > 0:
        grow_pile(s, rank, low, high, new_low, new_high, wild)


@routine
def grow_pile(s, rank, low, high, new_low, new_high, wild):
    """The place of the pile that grew, in the list of all in the order in which they were started."""
    k = 0
    if low > high:
        k = np.int64(s.num_piles)
        s.num_piles += 1
        s.pile_wilds[k] = 0
    else:
        while s.pile_low[k] != low or s.pile_high[k] != high:
            k += 1
    s.pile_low[k] = new_low
    s.pile_high[k] = new_high
    s.pile_wilds[k] |= wild << rank
    return k


@routine
def take_away(s, params, rank, low, high, new_low, new_high, wild):
    """A complete pile leaves the centre; its cards wait to be recycled (F18, F32)."""
    wilds = 0
    if params.wilds > 0:
        k = grow_pile(s, rank, low, high, new_low, new_high, wild)
        wilds = np.int64(s.pile_wilds[k])
        s.num_piles -= 1
        for j in range(k, s.num_piles):
            s.pile_low[j] = s.pile_low[j + 1]
            s.pile_high[j] = s.pile_high[j + 1]
            s.pile_wilds[j] = s.pile_wilds[j + 1]
    for r in range(new_low, new_high + 1):
        s.removed[WILD if wilds >> r & 1 else r] += 1
    s.removed_piles += 1
