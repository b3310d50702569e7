"""Flinch, rule level 5: level 4 that calls, and bluffs as long as a caller like itself would not call.

A starter opens a pile for all, so it is kept in the hand until it lies on the own route, the whole hand can be played,
or nothing else is left. A Stockpile card that could be played when the turn ended is seen by all, so that call is safe.
Whether a hand still holds a starter is reckoned from public counts: how many starters are hidden among how many hidden
cards. Outside challenge mode it plays as level 4.
"""

import numpy as np

from flinchenv.core.bits import clipped, count_bits, has
from flinchenv.core.kernel import helper, routine
from flinchenv.flinch.cards import NONE, RANKS
from flinchenv.flinch.center import ARM, EIGHTS
from flinchenv.flinch.moves import ALWAYS, BY_CALLS, CALL_STARTER, CALL_STOCK, CHALLENGE, NO_CALL, PLAY, mate
from flinchenv.flinch.rules import MAX_RANK

from .flinch_moves import fits_now, starter_play, stock_play
from .flinch_route import act_outside_turn
from .flinch_search import free_action, search_policy
from .flinch_table import FlinchAgent

KEEPERS = 0.5  # the share of hands with a starter out of which none is played


@routine
def call_policy(s, params, seats, player, mask, draw):
    """Calls where it pays; plays as level 4, but may keep starters back."""
    if params.duty_mode != BY_CALLS:
        return search_policy(s, params, seats, player, mask, draw)
    if s.phase == CHALLENGE:
        return answer(s, params, seats, player, mask)
    if s.phase != PLAY:
        return act_outside_turn(s, params, seats, player, mask)
    action = stock_play(mask)
    if action != NONE:
        return action
    if is_suspect(s, params, seats, np.int64(s.hand_cards[player]) - 1, NONE):
        action = starter_play(s, params, mask)
    return action if action != NONE else free_action(s, params, seats, player, mask, np.int64(params.duty_starters))


# --- Calls ------------------------------------------------------------------------------------------------------------


@routine
def answer(s, params, seats, player, mask):
    """The call that is more likely right than wrong, or NO_CALL."""
    offender = np.int64(s.turn)
    if mask[CALL_STOCK] and passed_stock_over(s, params, seats, offender):
        return CALL_STOCK
    tested = s.ending and exposed_cards(s, offender) == 0
    if mask[CALL_STARTER] and tested and is_suspect(s, params, seats, np.int64(s.hand_cards[offender]) - 1, player):
        return CALL_STARTER
    return NO_CALL


@helper
def passed_stock_over(s, params, seats, q):
    """Whether a turn ended with a Stockpile card that could be played, surely an offence (F33)."""
    if not s.ending or params.stock_duty != ALWAYS or exposed_cards(s, q) > 0:
        return False
    found = fits_now(s, s.stock_rank[q])
    if params.partnership:
        found |= fits_now(s, s.stock_rank[mate(seats, q)])
    return found != 0


@helper
def exposed_cards(s, q):
    """Hand cards of a seat that were shown by mistake; a turn passed for one is no offence (F39)."""
    cards = 0
    for rank in range(RANKS):
        cards += s.exposed[q, rank]
    return cards


@routine
def is_suspect(s, params, seats, cards, observer):
    """Whether so many hidden cards of a hand more likely than not hold a starter that was kept back.

    A hand with a starter is kept so by KEEPERS of the players; the others would have played it.

    Args:
        cards: the hand's hidden cards less the discard that ends the turn, which is never a starter.
        observer: the seat from which it is told what is hidden, or NONE to tell it from the open cards alone.
    """
    hidden = np.int64(s.left)
    starters = np.int64(params.copies) * count_bits(np.int64(params.duty_starters)) - starters_in_center(s, params)
    for q in range(len(seats)):
        hidden += max(clipped(s.stock_left[q]) - 1, 0)
        starters -= has(params.duty_starters, s.stock_rank[q])
        if q != observer:
            hidden += np.int64(s.hand_cards[q])
        else:
            for rank in range(1, MAX_RANK + 1):
                starters -= np.int64(s.hand[q, rank]) * has(params.duty_starters, rank)
    starters = max(starters, 0)
    none = 1.0  # the chance that none of the cards is a starter
    for k in range(cards):
        none *= max(hidden - starters - k, 0) / max(hidden - k, 1)
    return (1 - none) * KEEPERS > none


@helper
def starters_in_center(s, params):
    """Starters that must be played, in the centre and in the piles that wait to be recycled; wilds count as cards."""
    both = count_bits(np.int64(params.duty_starters)) > 1
    found = np.int64(s.removed_piles) * (1 + both)
    if params.center == EIGHTS:
        for i in range(ARM):
            for j in range(ARM):
                found += s.eights[i, j]
    else:
        for rank in range(1, MAX_RANK + 1):
            found += s.ups[rank] + both * np.int64(s.downs[rank])
    return found


class CallAgent(FlinchAgent):
    """Calls when it is more likely right than wrong, and keeps starters back when nobody should suspect it."""

    name = "rule:5"
    policy = call_policy
