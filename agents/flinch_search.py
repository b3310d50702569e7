"""Flinch, rule level 4: the whole turn planned over its own open cards, and nothing played that helps others.

In this order: what is due; the route to a Stockpile's card; a way to play the whole hand, since an empty hand draws
five new cards; any other play. Of the last two only plays that bring no opponent's Stockpile card near, or that the
own open cards can follow up until they do not. Discards put equal cards together and keep the route's cards open.
"""

import numpy as np

from flinchenv.core.bits import clipped, count_bits, has, last_bit
from flinchenv.core.kernel import helper, routine
from flinchenv.flinch.cards import NONE, WILD
from flinchenv.flinch.center import EIGHTS, UP
from flinchenv.flinch.ending import same_side
from flinchenv.flinch.moves import DOWN, MATE, MATE_DOWN, PLAY
from flinchenv.flinch.rules import MAX_RANK, MAX_RESERVES

from .flinch_moves import (
    discard_score,
    due_play,
    fits_now,
    greedy_play,
    hand_id,
    hand_ranks,
    reserve_play,
    reserve_rank,
    reserve_slots,
    scored_discard,
)
from .flinch_route import act_outside_turn, is_number, own_ranks, play_of, ranks_below, route, route_play, tops_of
from .flinch_table import FlinchAgent

# Found by play against itself, 2 players, 40,000 games a value or more. All but the first are scores of discards, and
# the other scores are GREEDY's.
NEAR = 2  # cards that an opponent may lack on its route, and its Stockpile's card counts as near
EQUAL = 120  # on a card of the same rank
DEEP = 3  # for each card beneath, on a lower card
BURIED = 50  # a card of the route is buried, not under its equal or the one below it
HIGH = 2  # for each rank: low cards are played sooner


@routine
def search_policy(s, params, seats, player, mask, draw):
    """What is due, the route, the whole hand, harmless plays, a tidy discard."""
    if s.phase != PLAY:
        return act_outside_turn(s, params, seats, player, mask)
    action = due_play(s, params, mask)
    return action if action != NONE else free_action(s, params, seats, player, mask, 0)


@routine
def free_action(s, params, seats, p, mask, kept):
    """What level 4 does where nothing is due; hand cards of the ranks `kept` leave it by the first two ways alone."""
    action = route_play(s, params, seats, p, mask)
    if action == NONE:
        action = hand_emptying_play(s, params, seats, p, mask)
    if action == NONE:
        action = harmless_play(s, params, seats, p, mask, kept)
    if action == NONE and s.forced:
        action = greedy_play(s, params, mask)
    return action if action != NONE else best_discard(s, params, seats, p, mask)


# --- What a play leaves to others -------------------------------------------------------------------------------------


@routine
def is_harmless(s, params, seats, p, rank, descending):
    """Whether a rank, or the run of own open cards that follows it, can end where no opponent comes near."""
    ranks = own_ranks(s, params, seats, p)
    step = -1 if descending else 1
    while has(ranks, rank) and is_number(rank):
        if not helps_others(s, params, seats, p, rank, descending):
            return True
        rank += step
    return False


@helper
def helps_others(s, params, seats, p, rank, descending):
    """Whether a pile that ends with this rank brings an opponent's Stockpile card nearer, and near."""
    if rank == (1 if descending else params.num_ranks):
        return False  # the pile is complete
    helps = False
    for q in range(len(seats)):
        target = np.int64(s.stock_rank[q])
        ahead = is_number(target) and (target < rank if descending else target > rank)
        if ahead and not same_side(params, seats, p, q) and not fits_now(s, target):
            tops = tops_of(s, q)
            low, high = min(rank, target), max(rank, target)
            lacks = count_bits(ranks_below(high) & ~ranks_below(low + 1) & ~tops)
            way, _ = route(s, params, target, tops)
            helps |= lacks <= NEAR and lacks < count_bits(way & ~tops)
    return helps


@helper
def goes_down(params, action, rank):
    """Whether the play of a rank continues a pile downwards."""
    if params.center == EIGHTS:
        return rank < params.middle
    return DOWN <= action < MATE or action >= MATE_DOWN


@routine
def harmless_play(s, params, seats, p, mask, kept):
    """The first harmless play, the hand's high ranks but those `kept` first, then Reserve Piles, or NONE."""
    up, down = hand_ranks(s, mask)
    ranks = (up | down) & ~kept
    while ranks:
        rank = last_bit(ranks)
        ranks ^= 1 << rank
        action = hand_id(up, rank)
        if is_harmless(s, params, seats, p, rank, goes_down(params, action, rank)):
            return action
    slots = reserve_slots(params, mask)
    while slots:
        slot = last_bit(slots)
        slots ^= 1 << slot
        action = reserve_play(mask, slot)
        rank = reserve_rank(s, seats, p, action, slot)
        if is_number(rank) and is_harmless(s, params, seats, p, rank, goes_down(params, action, rank)):
            return action
    return NONE


# --- The whole hand ---------------------------------------------------------------------------------------------------


@routine
def hand_emptying_play(s, params, seats, p, mask):
    """The first play of a way to play all hand cards on ascending piles, if there is one and it is harmless, or NONE.

    From the highest rank down: of each rank as many must be played as are in the hand, and as many as the cards of
    the next rank need beneath them beyond the piles that wait for them.
    """
    if params.center != UP or has(s.hand_set[p], WILD):
        return NONE
    needed, lowest = 0, 0
    for k in range(MAX_RANK):
        rank = MAX_RANK - k
        needed = max(np.int64(s.hand[p, rank]), needed - np.int64(s.ups[rank]))
        if needed > np.int64(s.hand[p, rank]) + tops_of_rank(s, p, rank):
            return NONE
        lowest = rank if needed > 0 and has(s.playable_up, rank) else lowest
    if lowest == 0 or not is_harmless(s, params, seats, p, lowest, False):
        return NONE
    return play_of(s, params, seats, p, mask, lowest, False)


@helper
def tops_of_rank(s, p, rank):
    """How many of a seat's Reserve Piles show a rank."""
    count = 0
    for j in range(MAX_RESERVES):
        count += s.top[p, j] == rank
    return count


# --- Discards ---------------------------------------------------------------------------------------------------------


@routine
def best_discard(s, params, seats, p, mask):
    """What lies best and keeps the route's cards open, but for the card before the Stockpile's."""
    target = np.int64(s.stock_rank[p])
    way, descending = route(s, params, target, own_ranks(s, params, seats, p))
    before = target + 1 if descending else target - 1
    return scored_discard(s, p, mask, route_score, way, before)


@helper
def route_score(s, p, rank, slot, way):
    """How well a rank lies on a Reserve Pile; `way` are the ranks of the own route."""
    top = np.int64(s.top[p, slot])
    score = HIGH * rank + discard_score(top, clipped(s.pile_cards[p, slot]), rank, EQUAL, DEEP)
    return score - BURIED * (has(way, top) and top != rank and top != rank + 1)


class SearchAgent(FlinchAgent):
    """Plans its turn over all its open cards and gives nothing away."""

    name = "rule:4"
    policy = search_policy
