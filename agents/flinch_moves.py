"""What the bots of Flinch have in common: what is due first, tidy discards, answers outside their own turn.

All functions are compiled. They take the legal ids of the seat to act as `mask`, int8 (A,), and of the record `s` read
the open cards and the seat's own hand.
"""

import numpy as np

from flinchenv.core.bits import clipped, has
from flinchenv.core.kernel import helper, routine
from flinchenv.flinch.cards import EMPTY, NONE, WILD
from flinchenv.flinch.center import EIGHTS
from flinchenv.flinch.moves import (
    CHALLENGE,
    DISCARD,
    DOWN,
    END_TURN,
    HAND,
    LAYDOWN,
    MATE,
    MATE_DOWN,
    NAME,
    NO_CALL,
    RESERVE,
    STOCK,
    WILD_DISCARD,
)
from flinchenv.flinch.rules import MAX_RANK, MAX_RESERVES

# The scores of GREEDY's discards (rules 1.3 Table settings): a card goes one below a top if it can, else on its equal,
# else on a higher card, the nearer the better; the rank below the own Stockpile's is kept.
ONE_BELOW, EQUAL, HIGHER, KEPT = 100, 60, 20, 30
LAST_CHOICE = -1000  # a wild is discarded only if nothing else can be


@routine
def first_legal(mask):
    """The lowest legal id."""
    for action in range(len(mask)):
        if mask[action]:
            return action
    return NONE


@helper
def stock_play(mask):
    """A play of the own Stockpile's card, else of the partner's, or NONE."""
    if mask[STOCK]:
        return STOCK
    if mask[DOWN]:
        return DOWN
    if mask[MATE]:
        return MATE
    return MATE_DOWN if mask[MATE_DOWN] else NONE


@helper
def hand_play(s, mask, rank):
    """A play of a hand card, not one that only shows it (FA35), or NONE."""
    if mask[HAND + rank] and has(s.playable_up, rank):
        return HAND + rank
    return DOWN + rank if mask[DOWN + rank] else NONE


@helper
def reserve_play(mask, slot):
    """A play of an own Reserve Pile's top, else of the partner's in the same place, or NONE."""
    if mask[RESERVE + slot]:
        return RESERVE + slot
    if mask[DOWN + RESERVE + slot]:
        return DOWN + RESERVE + slot
    if mask[MATE + 1 + slot]:
        return MATE + 1 + slot
    return MATE_DOWN + 1 + slot if mask[MATE_DOWN + 1 + slot] else NONE


@routine
def starter_play(s, params, mask):
    """A play of a starter that must be played (F26), or NONE."""
    for rank in range(1, MAX_RANK + 1):
        if has(params.duty_starters, rank):
            action = hand_play(s, mask, rank)
            if action != NONE:
                return action
    return NONE


@helper
def due_play(s, params, mask):
    """What F25 and F26 ask for first, in every duty mode, or NONE."""
    action = stock_play(mask)
    return action if action != NONE else starter_play(s, params, mask)


@routine
def greedy_play(s, mask):
    """The highest place whose top can be played, else the highest hand rank, or NONE."""
    for k in range(MAX_RESERVES):
        action = reserve_play(mask, MAX_RESERVES - 1 - k)
        if action != NONE:
            return action
    for k in range(MAX_RANK):
        action = hand_play(s, mask, MAX_RANK - k)
        if action != NONE:
            return action
    return NONE


@helper
def discard_id(rank, slot):
    """The id that lays a hand card on a place."""
    return WILD_DISCARD + slot if rank == WILD else DISCARD + MAX_RESERVES * (rank - 1) + slot


@helper
def discard_score(s, p, rank, slot):
    """How well a rank lies on a Reserve Pile; F31 advises descending piles."""
    top = np.int64(s.top[p, slot])
    if top == EMPTY:
        score = rank
    elif top == rank + 1:
        score = ONE_BELOW
    elif top == rank:
        score = EQUAL
    elif top > rank:
        score = HIGHER - (top - rank)
    else:
        score = top - rank - clipped(s.pile_cards[p, slot])
    return score - KEPT * (rank == s.stock_rank[p] - 1)


@routine
def first_discard(mask):
    """The discard of the lowest rank to the lowest place; END_TURN or any other id if there is none."""
    for rank in range(1, MAX_RANK + 1):
        for slot in range(MAX_RESERVES):
            if mask[discard_id(rank, slot)]:
                return discard_id(rank, slot)
    return END_TURN if mask[END_TURN] else first_legal(mask)


@routine
def greedy_discard(s, p, mask):
    """The discard of the highest score, ranks then places ascending; END_TURN or any other id if there is none."""
    best, chosen = 0, NONE
    for rank in range(MAX_RANK + 1):
        for slot in range(MAX_RESERVES):
            if mask[discard_id(rank, slot)]:
                score = LAST_CHOICE - slot if rank == WILD else discard_score(s, p, rank, slot)
                if chosen == NONE or score > best:
                    best, chosen = score, discard_id(rank, slot)
    if chosen != NONE:
        return chosen
    return END_TURN if mask[END_TURN] else first_legal(mask)


@routine
def rank_to_name(s, params, p, mask):
    """A wild becomes the card before the own Stockpile's, else the highest that it can be."""
    target = np.int64(s.stock_rank[p])
    if 1 < target <= MAX_RANK and mask[target - 1] and (params.center != EIGHTS or target > params.middle):
        return target - 1
    if target < MAX_RANK and params.center == EIGHTS and mask[target + 1] and target < params.middle:
        return target + 1
    if target < MAX_RANK and mask[DOWN + target + 1]:
        return DOWN + target + 1
    for k in range(MAX_RANK):
        if mask[MAX_RANK - k]:
            return MAX_RANK - k
    return first_legal(mask)


@routine
def act_elsewhere(s, params, p, mask):
    """Outside the own turn's plays: never call, open when it can be done, lay hands down tidily, name wilds."""
    if s.phase == CHALLENGE:
        return NO_CALL
    if s.phase == NAME:
        return rank_to_name(s, params, p, mask)
    if s.phase == LAYDOWN:
        return greedy_discard(s, p, mask)
    for action in range(len(mask)):
        if mask[action] and action != END_TURN:
            return action
    return END_TURN
