"""What a seat of Flinch cannot know, and drawing it anew (1.3 Public hand facts).

Hidden are the other hands but for what was shown of them, the face-down cards of all Stockpiles that are not public,
the Stack's order, a discard that is only announced, and who will be asked next under call_priority "random".
"""

import numpy as np

from ..core.bits import count_bits, has, natural, nth_bit
from ..core.kernel import helper, routine
from ..core.rng import random_below
from .calls import RANDOM
from .cards import (
    BOTTOM,
    KNOWN,
    RANKS,
    WILD,
    below_node,
    card_in,
    discard_slots,
    draw_card,
    holds,
    set_node,
    sort_stack,
)
from .moves import CHALLENGE, DISCARD, WILD_DISCARD, has_play, is_discard
from .rules import MAX_RESERVES


@routine
def redraw_hidden(s, params, seats, player):
    """Deal what `player` cannot know anew, uniformly over what agrees with the public facts."""
    gather_stocks(s, seats)
    gather_hands(s, seats, player)
    sort_stack(s)  # what is drawn from here on does not depend on where the cards lay
    while not deal_hands(s, params, seats, player):
        gather_hands(s, seats, player)
    for p in range(len(seats)):
        node = face_down(s, p)
        while node != BOTTOM:
            below = below_node(s, node)
            if card_in(s, node) < KNOWN:
                set_node(s, node, draw_card(s), below)
            node = below
    if s.phase == CHALLENGE:
        redraw_window(s, params, seats, player)


@helper
def face_down(s, p):
    """The node beneath the top of a Stockpile."""
    return below_node(s, s.stock[p])


@helper
def put_back(s, rank):
    """A hidden card goes among the Stack's."""
    s.deck[s.left] = rank
    s.left += 1


@routine
def gather_stocks(s, seats):
    """Take up the face-down cards of all Stockpiles that are not public."""
    for p in range(len(seats)):
        node = face_down(s, p)
        while node != BOTTOM:
            if card_in(s, node) < KNOWN:
                put_back(s, card_in(s, node))
            node = below_node(s, node)


@routine
def gather_hands(s, seats, player):
    """Take up the cards of all other hands that are not public."""
    for p in range(len(seats)):
        if p != player:
            s.hand_set[p] = 0
            for rank in range(RANKS):
                for _ in range(s.hand[p, rank] - s.known[p, rank]):
                    put_back(s, rank)
                s.hand[p, rank] = s.known[p, rank]
                s.hand_set[p] |= (s.known[p, rank] > 0) << rank


@routine
def deal_hands(s, params, seats, player):
    """Deal the other hands; whether they agree with what is public of them.

    Hands without a starter are dealt first, so that each way to deal the rest has the same chance.
    """
    starters = np.int64(params.duty_starters)
    for free in range(1, -1, -1):
        for p in range(len(seats)):
            if p != player and has(s.starter_free, p) == free:
                shown = 0
                for rank in range(RANKS):
                    shown += s.known[p, rank]
                for _ in range(s.hand_cards[p] - shown):
                    rank = draw_other(s, starters) if free else draw_card(s)
                    s.hand[p, rank] += 1
                    s.hand_set[p] |= 1 << rank
    fits = True
    for p in range(len(seats)):
        if p != player and has(s.holds_starter, p):
            fits &= holds(s, p, starters)
    if s.turn != player:
        if s.phase == CHALLENGE and is_discard(s.announced):
            fits &= holds(s, natural(s.turn), ~starters)
        if s.forced:
            fits &= has_play(s, params, seats, natural(s.turn))
    return fits


@helper
def draw_other(s, ranks):
    """Take a random card that is of none of these ranks out of the Stack."""
    k = random_below(s, s.left)
    while has(ranks, s.deck[k]):
        k = random_below(s, s.left)
    card = np.int64(s.deck[k])
    s.left -= 1
    s.deck[k] = s.deck[s.left]
    return card


@routine
def redraw_window(s, params, seats, player):
    """An announced discard is any legal one of its seat; the order of those not yet asked is any."""
    p = natural(s.turn)
    if p != player and is_discard(s.announced):
        ranks = np.int64(s.hand_set[p]) & ~np.int64(params.duty_starters)
        slots = discard_slots(s, params, p)
        rank = nth_bit(ranks, random_below(s, count_bits(ranks)))
        slot = nth_bit(slots, random_below(s, count_bits(slots)))
        s.announced = WILD_DISCARD + slot if rank == WILD else DISCARD + MAX_RESERVES * (rank - 1) + slot
    if params.call_priority == RANDOM:
        for k in range(s.polls - 1, s.polled + 1, -1):
            j = s.polled + 1 + random_below(s, k - s.polled)
            s.poll_order[k], s.poll_order[j] = s.poll_order[j], s.poll_order[k]
