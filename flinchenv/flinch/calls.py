"""Challenges (F33-F37, 1.3 Call windows): what counts as an offence, who is asked, what a call moves."""

import numpy as np

from ..core.bits import has, natural
from ..core.kernel import helper, routine
from ..core.rng import random_below
from .cards import (
    KNOWN,
    NONE,
    WILD,
    below_node,
    card_in,
    holds,
    node_above,
    pop_stock,
    pull_from_stock,
    put_under_stock,
    rank_of,
    set_node,
    show_hand,
)
from .moves import (
    ALWAYS,
    CALL_STOCK,
    CHALLENGE,
    DOWN,
    ENFORCED,
    MATE,
    MATE_DOWN,
    OPEN,
    STOCK,
    hand_rank,
    mate,
    mate_stock_plays,
    stock_guilt,
    stock_is_due,
    stock_plays,
)

RANDOM = 1  # call_priority
TOP, _, BOTTOM = range(3)  # penalty_card


@helper
def note_offences(s, params, seats, action):
    """Note what an action leaves undone, where it matters."""
    if params.duty_mode != ENFORCED or params.stock_duty != ALWAYS:
        note_what_is_left(s, params, seats, action)


@routine
def note_what_is_left(s, params, seats, action):
    """What an action of the turn-holder leaves undone (F25, F33), and whether it is a play that no 1-call follows."""
    p = natural(s.turn)
    own = action in (STOCK, DOWN)
    mates = action in (MATE, MATE_DOWN)
    rank = hand_rank(action)
    shown_first = rank != NONE and rank == s.due[p]  # F39 comes before all else
    starter = rank != NONE and has(np.int64(params.duty_starters), rank)
    s.plain = not (own or mates or shown_first or starter)
    binding = stock_is_due(s, params) and not shown_first
    if own:
        s.skipped_own = 0
    elif binding and stock_plays(s, p) and may_be_played(s, p):
        s.skipped_own = 1
    if own or mates:
        s.skipped_mate &= own
    elif binding and mate_stock_plays(s, params, seats, p) and may_be_played(s, mate(seats, p)):
        s.skipped_mate = 1
    s.nonstock |= not (own or mates)


@helper
def may_be_played(s, p):
    """A wild on a Stockpile is not playable in OPEN (FA20)."""
    return s.phase != OPEN or s.stock_rank[p] != WILD


@helper
def starter_guilt(s, params):
    """F35: a starter is kept back in the hand; within a turn only after a play that is none of those due."""
    return hand_is_tested(s) and holds(s, natural(s.turn), np.int64(params.duty_starters))


@helper
def hand_is_tested(s):
    """Whether a starter kept back would be an offence in this window, so that a wrong call proves there is none."""
    return (s.ending or s.plain) and not s.excused


@routine
def open_window(s, params, seats, ending):
    """Ask the opponents, clockwise from the turn-holder's left or in a random order (F37, FA26)."""
    s.phase = CHALLENGE
    s.ending = ending
    s.polls = 0
    for k in range(1, len(seats)):
        q = (s.turn + k) % len(seats)
        if not (params.partnership and q == mate(seats, natural(s.turn))):
            s.poll_order[s.polls] = q
            s.polls += 1
    if params.call_priority == RANDOM:
        for k in range(s.polls - 1, 0, -1):
            j = random_below(s, k + 1)
            s.poll_order[k], s.poll_order[j] = s.poll_order[j], s.poll_order[k]
    s.polled = 0
    s.current_player = s.poll_order[0]


@routine
def is_right(s, params, action):
    """Whether a call is right."""
    return stock_guilt(s) if action == CALL_STOCK else starter_guilt(s, params)


@routine
def settle_call(s, params, seats, right, action):
    """Move the penalty card (F34, F35) and note what the call has told."""
    offender, caller = natural(s.turn), natural(s.current_player)
    if action != CALL_STOCK:
        if right:
            s.holds_starter |= 1 << offender
        else:
            s.starter_free |= hand_is_tested(s) << offender
            if params.reveal_on_false_call:
                show_hand(s, offender)
    if right:
        move_penalty(s, params, seats, caller, offender)
    else:
        move_penalty(s, params, seats, offender, caller)


@helper
def purse(s, params, seats, p):
    """The Stockpile that pays and takes for a seat: the partner's once the own one is empty (FA33)."""
    if params.partnership and s.stock_left[p] == 0 and s.stock_left[mate(seats, p)] > 0:
        return mate(seats, p)
    return p


@routine
def move_penalty(s, params, seats, giver, taker):
    """A card of the giver's Stockpile goes under the taker's (F34, FA21); an empty pile gives nothing (FA22)."""
    giver = purse(s, params, seats, giver)
    taker = purse(s, params, seats, taker)
    left = np.int64(s.stock_left[giver])
    if left == 0:
        return
    own, mates = s.stock[s.turn], s.stock[mate(seats, natural(s.turn))]
    if params.penalty_card == TOP or left == 1:
        card = pop_stock(s, giver) | KNOWN
    elif params.penalty_card == BOTTOM:
        card = pull_from_stock(s, giver, 0)
    else:
        card = rank_of(pull_from_stock(s, giver, random_below(s, left - 1)))
        forget_known(s, giver)
    put_under_stock(s, taker, card)
    # A card passed over counts only while it is the top.
    s.skipped_own &= s.stock[s.turn] == own
    s.skipped_mate &= s.stock[mate(seats, natural(s.turn))] == mates


@helper
def forget_known(s, p):
    """After a hidden card has left a Stockpile nobody knows what lies where in it (FA21)."""
    for k in range(s.stock_left[p] - 1):
        node = node_above(s, p, k)
        set_node(s, node, rank_of(card_in(s, node)), below_node(s, node))
