"""The players of Flinch's tables of figures (rules 1.3 Table settings): GREEDY, PLANNER, BLOCKER, REFUSER.

Each is a compiled policy(s, params, seats, player, mask, draw) -> action, for `VectorGame.rollout`. The planners know
the own Reserve Piles to the bottom, as one who remembers does; all else that they read is open or the own hand. They
are made for the tables' rules and are legal under all others.
"""

import numpy as np

from flinchenv.core.bits import count_bits, has, last_bit, nth_bit
from flinchenv.core.kernel import helper, routine
from flinchenv.core.rng import HALF, LOW, scale_down
from flinchenv.flinch.cards import BOTTOM, EMPTY, NONE, RANKS, below_node, card_in
from flinchenv.flinch.center import EIGHTS
from flinchenv.flinch.ending import same_side
from flinchenv.flinch.moves import HAND, LAYDOWN, PLAY, RESERVE
from flinchenv.flinch.rules import MAX_RESERVES

from .flinch_moves import (
    act_elsewhere,
    discard_id,
    discard_slots,
    due_play,
    greedy_discard,
    hand_id,
    hand_ranks,
    no_discard,
    reserve_play,
    reserve_rank,
    reserve_slots,
    tidy_action,
)


@routine
def greedy_policy(s, params, seats, player, mask, draw):
    """GREEDY: plays all it can, reserves first, and discards tidily."""
    if s.phase != PLAY:
        return outside_turn(s, params, player, mask)
    action = due_play(s, params, mask)
    return action if action != NONE else tidy_action(s, params, player, mask)


@routine
def planner_policy(s, params, seats, player, mask, draw):
    """PLANNER: builds up to the own Stockpile's card if it has the cards for it; else as GREEDY."""
    if s.phase != PLAY:
        return outside_turn(s, params, player, mask)
    action = due_play(s, params, mask)
    if action == NONE:
        action = path_play(s, params, player, mask)
    return action if action != NONE else tidy_action(s, params, player, mask)


@routine
def blocker_policy(s, params, seats, player, mask, draw):
    """BLOCKER: as PLANNER, but plays nothing else that lets an opponent's Stockpile follow."""
    if s.phase != PLAY:
        return outside_turn(s, params, player, mask)
    action = due_play(s, params, mask)
    if action == NONE:
        action = path_play(s, params, player, mask)
    if action == NONE:
        action = harmless_play(s, params, seats, player, mask)
    return action if action != NONE else greedy_discard(s, player, mask)


@routine
def refuser_policy(s, params, seats, player, mask, draw):
    """REFUSER: plays only what it must, and discards a random card to a random place."""
    if s.phase != PLAY:
        return outside_turn(s, params, player, mask)
    action = due_play(s, params, mask)
    return action if action != NONE else random_discard(s, player, mask, draw)


@helper
def outside_turn(s, params, p, mask):
    """As the tables' players do: every hand laid down is spread in ascending order, as the first one is (FA6)."""
    if s.phase == LAYDOWN:
        slot = max(params.hand_size - s.hand_cards[p], 0)
        for rank in range(1, RANKS):
            if slot < MAX_RESERVES and mask[discard_id(rank, slot)]:
                return discard_id(rank, slot)
    return act_elsewhere(s, params, p, mask)


@routine
def path_play(s, params, p, mask):
    """The first card of the shortest way to the own Stockpile's card on an ascending pile, or NONE."""
    target = np.int64(s.stock_rank[p])
    if target == EMPTY or params.center == EIGHTS:
        return NONE
    for k in range(2, target):
        top = target - k
        if has(s.up_tops, top):
            action = first_of_path(s, p, top + 1, target - 1)
            if action != NONE and mask[action]:
                return action
    return NONE


@helper
def first_of_path(s, p, low, high):
    """The play of `low`, if all ranks low..high can follow each other from Reserve Piles and hand, else NONE."""
    used = np.int64(0)  # how many cards of each place, eight bits a place
    first = NONE
    for rank in range(low, high + 1):
        action = NONE
        for j in range(MAX_RESERVES):
            if action == NONE and card_beneath(s, p, j, used >> 8 * j & 255) == rank:
                action = RESERVE + j
                used += 1 << 8 * j
        if action == NONE:
            if not has(s.hand_set[p], rank):
                return NONE
            action = HAND + rank
        first = action if rank == low else first
    return first


@helper
def card_beneath(s, p, slot, depth):
    """The card of a Reserve Pile that has so many others on it, or EMPTY."""
    node = np.int64(s.pile[p, slot])
    while node != BOTTOM and depth > 0:
        node = below_node(s, node)
        depth -= 1
    return card_in(s, node)


@routine
def harmless_play(s, params, seats, p, mask):
    """The first of GREEDY's plays that completes a pile or that no opponent's Stockpile can follow, or NONE."""
    slots = reserve_slots(params, mask)
    while slots:
        slot = last_bit(slots)
        slots ^= 1 << slot
        action = reserve_play(mask, slot)
        if is_harmless(s, params, seats, p, reserve_rank(s, seats, p, action, slot)):
            return action
    up, down = hand_ranks(s, mask)
    ranks = up | down
    while ranks:
        rank = last_bit(ranks)
        ranks ^= 1 << rank
        if is_harmless(s, params, seats, p, rank):
            return hand_id(up, rank)
    return NONE


@helper
def is_harmless(s, params, seats, p, rank):
    """Whether a rank completes a pile or no opponent has the next one on its Stockpile."""
    followed = False
    for q in range(len(seats)):
        followed |= not same_side(params, seats, p, q) and s.stock_rank[q] == rank + 1
    return rank == params.num_ranks or not followed


@routine
def random_discard(s, p, mask, draw):
    """A random hand card to a random place; see `no_discard`."""
    ranks, slots, cards = 0, 0, 0
    for rank in range(RANKS):
        places = discard_slots(mask, rank)
        slots |= places
        if places:
            ranks |= 1 << rank
            cards += np.int64(s.hand[p, rank])
    if cards == 0:
        return no_discard(mask)
    k = scale_down(draw >> HALF, cards)
    chosen = 0
    while not has(ranks, chosen) or k >= s.hand[p, chosen]:
        k -= has(ranks, chosen) * np.int64(s.hand[p, chosen])
        chosen += 1
    return discard_id(chosen, nth_bit(slots, scale_down(draw & LOW, count_bits(slots))))
