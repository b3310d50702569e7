"""What the bots of Flinch have in common: what is due first, tidy discards, answers outside their own turn.

All functions are compiled. They take the legal ids of the seat to act as `mask`, int8 (A,), and of the record `s` read
the open cards and the seat's own hand.
"""

import numpy as np

from flinchenv.core.bits import clipped, first_bit, get_bits, has, last_bit
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
    mate,
)
from flinchenv.flinch.rules import MAX_RANK, MAX_RESERVES

# The scores of GREEDY's discards (rules 1.3 Table settings).
ONE_BELOW = 100  # on a card one higher
EQUAL = 60  # on a card of the same rank
HIGHER = 20  # on a still higher card, less the difference
DEEP = 1  # for each card beneath, on a lower card
KEPT = 30  # the card before the Stockpile's is given away
LAST_CHOICE = -1000  # a wild is discarded only if nothing else can be

# Literals for `get_bits`.
RANK_IDS = 16  # a hand card's, and the one before them
SLOT_IDS = 8  # five places', and three before them: an entry that was just written is read at once, if all come so
LOW_DISCARDS, HIGH_DISCARDS = 64, 16  # the first and the last ids of number cards' discards


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
    for action in (STOCK, DOWN, MATE, MATE_DOWN):
        if mask[action]:
            return action
    return NONE


@helper
def slots_at(mask, first):
    """The set of the five places whose ids begin with `first`."""
    return get_bits(mask, first + MAX_RESERVES - SLOT_IDS, SLOT_IDS) >> SLOT_IDS - MAX_RESERVES


@helper
def hand_ranks(s, mask):
    """(up, down): the sets of ranks that the hand can play, not those that it can only show (FA35)."""
    numbers = ~(1 << WILD)
    return get_bits(mask, HAND, RANK_IDS) & s.playable_up & numbers, get_bits(mask, DOWN, RANK_IDS) & numbers


@helper
def hand_id(up, rank):
    """The play of a rank out of `hand_ranks`, upwards if it can."""
    return HAND + rank if has(up, rank) else DOWN + rank


@helper
def reserve_slots(params, mask):
    """The set of the places whose tops can be played, own ones or the partner's."""
    slots = slots_at(mask, RESERVE) | slots_at(mask, DOWN + RESERVE)
    return slots | slots_at(mask, MATE + 1) | slots_at(mask, MATE_DOWN + 1) if params.partnership else slots


@helper
def reserve_play(mask, slot):
    """The play of a place of `reserve_slots`, of the own pile if it can."""
    if mask[RESERVE + slot]:
        return RESERVE + slot
    if mask[DOWN + RESERVE + slot]:
        return DOWN + RESERVE + slot
    return MATE + 1 + slot if mask[MATE + 1 + slot] else MATE_DOWN + 1 + slot


@helper
def reserve_rank(s, seats, p, action, slot):
    """The rank that a `reserve_play` plays."""
    owner = mate(seats, p) if action >= MATE else p
    return np.int64(s.top[owner, slot])


@helper
def starter_play(s, params, mask):
    """A play of a starter that must be played (F26), or NONE."""
    up, down = hand_ranks(s, mask)
    due = (up | down) & params.duty_starters
    return hand_id(up, first_bit(due)) if due else NONE


@helper
def due_play(s, params, mask):
    """What F25 and F26 ask for first, in every duty mode, or NONE."""
    action = stock_play(mask)
    return action if action != NONE else starter_play(s, params, mask)


@helper
def greedy_play(s, params, mask):
    """The highest place whose top can be played, else the highest hand rank, or NONE."""
    slots = reserve_slots(params, mask)
    if slots:
        return reserve_play(mask, last_bit(slots))
    up, down = hand_ranks(s, mask)
    return hand_id(up, last_bit(up | down)) if up | down else NONE


@helper
def fits_now(s, rank):
    """Whether a rank, EMPTY perhaps, can be played already."""
    return has(np.int64(s.playable_up) | np.int64(s.playable_down), rank)


# --- Discards ---------------------------------------------------------------------------------------------------------


@helper
def discard_id(rank, slot):
    """The id that lays a hand card on a place."""
    return WILD_DISCARD + slot if rank == WILD else DISCARD + MAX_RESERVES * (rank - 1) + slot


@helper
def discard_slots(mask, rank):
    """The set of the places on which a hand card may be laid."""
    return slots_at(mask, discard_id(rank, 0))


@helper
def discard_score(top, beneath, rank, equal, deep):
    """How well a rank lies on a pile with `beneath` cards under a new one; F31 advises descending piles.

    Args:
        equal, deep: as EQUAL and DEEP.
    """
    if top == EMPTY:
        return rank
    if top == rank + 1:
        return ONE_BELOW
    if top == rank:
        return equal
    return HIGHER - (top - rank) if top > rank else top - rank - deep * beneath


@helper
def greedy_score(s, p, rank, slot, way):
    """GREEDY's score of a discard, whatever the `way`."""
    return discard_score(np.int64(s.top[p, slot]), clipped(s.pile_cards[p, slot]), rank, EQUAL, DEEP)


@helper
def no_discard(mask):
    """What to do where nothing can be discarded: END_TURN, else the lowest legal id."""
    return END_TURN if mask[END_TURN] else first_legal(mask)


@helper
def first_discard(mask):
    """The discard of the lowest rank to the lowest place; see `no_discard`."""
    discards = get_bits(mask, DISCARD, LOW_DISCARDS)
    if discards:
        return DISCARD + first_bit(discards)
    discards = get_bits(mask, END_TURN - HIGH_DISCARDS, HIGH_DISCARDS)
    return END_TURN - HIGH_DISCARDS + first_bit(discards) if discards else no_discard(mask)


@helper
def scored_discard(s, p, mask, score_of, way, kept):
    """The discard of the highest score, ranks then places ascending, a wild's last; see `no_discard`.

    Args:
        score_of: compiled score_of(s, p, rank, slot, way) -> int, for number cards.
        kept: a rank that is worth KEPT less as a discard.
    """
    best, chosen = 0, NONE
    ranks = np.int64(s.hand_set[p])
    while ranks:
        rank = first_bit(ranks)
        ranks &= ranks - 1
        slots = discard_slots(mask, rank)
        while slots:
            slot = first_bit(slots)
            slots &= slots - 1
            score = LAST_CHOICE if rank == WILD else score_of(s, p, rank, slot, way) - KEPT * (rank == kept)
            if chosen == NONE or score > best:
                best, chosen = score, discard_id(rank, slot)
    return chosen if chosen != NONE else no_discard(mask)


@routine
def greedy_discard(s, p, mask):
    """GREEDY's discard: what lies best, but for the card before the Stockpile's."""
    return scored_discard(s, p, mask, greedy_score, 0, np.int64(s.stock_rank[p]) - 1)


@helper
def tidy_action(s, params, p, mask):
    """Any play, Reserve Piles first, else the discard that lies best."""
    action = greedy_play(s, params, mask)
    return action if action != NONE else greedy_discard(s, p, mask)


# --- Outside the own turn ---------------------------------------------------------------------------------------------


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
