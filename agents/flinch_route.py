"""Flinch, rule levels 1 to 3: plays anything; plays and discards tidily; builds up to the own Stockpile's card.

A *route* leads from a pile in the centre to a Stockpile's card: the ranks that must be played before that card fits.
Of all piles the nearest one has the shortest route, and the ranks of the others' routes include those of it.
"""

import numpy as np

from flinchenv.core.bits import count_bits, first_bit, has
from flinchenv.core.kernel import helper, routine
from flinchenv.flinch.cards import NONE, WILD
from flinchenv.flinch.center import BOTH_ENDS, EIGHTS
from flinchenv.flinch.moves import DOWN, HAND, MATE, MATE_DOWN, NAME, PLAY, RESERVE, WILD_PLAY, mate
from flinchenv.flinch.rules import MAX_RANK, MAX_RESERVES

from .flinch_moves import act_elsewhere, due_play, first_discard, greedy_play, tidy_action
from .flinch_table import FlinchAgent

# --- Routes -----------------------------------------------------------------------------------------------------------


@helper
def ranks_below(rank):
    """The set of the ranks 1..rank-1."""
    return (1 << rank) - 2


@helper
def last_rank(ranks):
    """The highest of a set of ranks, 0 for none."""
    highest = 0
    for rank in range(1, MAX_RANK + 1):
        highest = rank if has(ranks, rank) else highest
    return highest


@helper
def way_from(start, target):
    """The ranks from the highest of the set `start` up to `target`, without it; empty if the set is."""
    nearest = last_rank(start)
    return ranks_below(target) & ~ranks_below(nearest) if nearest > 0 else np.int64(0)


@helper
def ascending_route(s, params, target):
    """The ranks from the nearest pile that ascends to `target`, without it; empty if it fits or nothing leads to it."""
    start = np.int64(s.playable_up) & ranks_below(target + 1)
    if params.center == EIGHTS:
        start &= ~ranks_below(params.middle)
    return way_from(start, target)


@helper
def descending_route(s, params, target):
    """The same of piles that descend."""
    start = np.int64(s.playable_down)
    if params.center == EIGHTS:
        start = np.int64(s.playable_up) & ranks_below(params.middle + 1)
    start &= ~ranks_below(target) & ~(1 << WILD)
    return ranks_below(first_bit(start) + 1) & ~ranks_below(target + 1) if start else np.int64(0)


@helper
def is_number(rank):
    """Whether the top of a pile is a card, and no wild."""
    return WILD < rank <= MAX_RANK


@routine
def route(s, params, target, ranks):
    """(its ranks, whether it descends) of the route to `target` on which fewest cards are missing from `ranks`."""
    if not is_number(target):
        return np.int64(0), False
    if params.center == EIGHTS:
        if target < params.middle:
            return descending_route(s, params, target), True
        return ascending_route(s, params, target), False
    up = ascending_route(s, params, target)
    if params.center != BOTH_ENDS:
        return up, False
    down = descending_route(s, params, target)
    if count_bits(down & ~ranks) < count_bits(up & ~ranks):
        return down, True
    return up, False


@helper
def tops_of(s, p):
    """The ranks of a seat's Reserve tops; bit 0 is a wild."""
    tops = np.int64(0)
    for j in range(MAX_RESERVES):
        tops |= np.int64(s.top[p, j] <= MAX_RANK) << (s.top[p, j] & 31)
    return tops


@routine
def own_ranks(s, params, seats, p):
    """The ranks that a seat can play from: its hand, its Reserve tops and its partner's."""
    ranks = np.int64(s.hand_set[p]) | tops_of(s, p)
    return ranks | tops_of(s, mate(seats, p)) if params.partnership else ranks


# --- Plays ------------------------------------------------------------------------------------------------------------


@helper
def first_id(params, descending):
    """What is added to ids of plays on a pile that ascends or descends; in the eights game they are the same."""
    return DOWN if descending and params.center == BOTH_ENDS else 0


@routine
def play_of(s, params, seats, p, mask, rank, descending):
    """The play of a rank, from the hand if it is there, else from the first Reserve Pile, or NONE."""
    down = first_id(params, descending)
    if has(s.hand_set[p], rank):
        action = WILD_PLAY if rank == WILD else down + HAND + rank
        if mask[action]:
            return action
    for j in range(MAX_RESERVES):
        if s.top[p, j] == rank and mask[down + RESERVE + j]:
            return down + RESERVE + j
    if params.partnership:
        first = (MATE_DOWN if down else MATE) + 1
        for j in range(MAX_RESERVES):
            if s.top[mate(seats, p), j] == rank and mask[first + j]:
                return first + j
    return NONE


@routine
def route_play(s, params, seats, p, mask):
    """The next card of a route to the own Stockpile's card, else to the partner's, if no card is missing, or NONE.

    A wild stands for one card that is missing.
    """
    ranks = own_ranks(s, params, seats, p)
    for k in range(1 + (params.partnership != 0)):
        way, descending = route(s, params, np.int64(s.stock_rank[mate(seats, p) if k else p]), ranks)
        missing = count_bits(way & ~ranks)
        if way and missing <= has(ranks, WILD):
            rank = next_rank(way, descending)
            action = play_of(s, params, seats, p, mask, rank if has(ranks, rank) else WILD, descending)
            if action != NONE:
                return action
    return NONE


@helper
def next_rank(way, descending):
    """The rank of a route that is to be played first."""
    return last_rank(way) if descending else first_bit(way)


@routine
def name_on_route(s, params, seats, p, mask):
    """A wild becomes the next card of the route to the own Stockpile's card, if there is one, or NONE."""
    way, descending = route(s, params, np.int64(s.stock_rank[p]), own_ranks(s, params, seats, p))
    if way:
        action = first_id(params, descending) + next_rank(way, descending)
        if mask[action]:
            return action
    return NONE


@routine
def act_outside_turn(s, params, seats, p, mask):
    """As `act_elsewhere`, but a wild is named for the route."""
    if s.phase == NAME:
        action = name_on_route(s, params, seats, p, mask)
        if action != NONE:
            return action
    return act_elsewhere(s, params, p, mask)


# --- The levels -------------------------------------------------------------------------------------------------------


@routine
def first_policy(s, params, seats, player, mask, draw):
    """What is due, else any play, Reserve Piles first, else the first discard."""
    if s.phase != PLAY:
        return act_elsewhere(s, params, player, mask)
    action = due_play(s, params, mask)
    if action == NONE:
        action = greedy_play(s, params, mask)
    return action if action != NONE else first_discard(mask)


@routine
def tidy_policy(s, params, seats, player, mask, draw):
    """What is due, else any play, Reserve Piles first, else the discard that lies best."""
    if s.phase != PLAY:
        return act_elsewhere(s, params, player, mask)
    action = due_play(s, params, mask)
    return action if action != NONE else tidy_action(s, params, player, mask)


@routine
def route_policy(s, params, seats, player, mask, draw):
    """What is due, else the route, else as `tidy_policy`."""
    if s.phase != PLAY:
        return act_outside_turn(s, params, seats, player, mask)
    action = due_play(s, params, mask)
    if action == NONE:
        action = route_play(s, params, seats, player, mask)
    return action if action != NONE else tidy_action(s, params, player, mask)


class FirstAgent(FlinchAgent):
    """Plays whatever it can and discards the first card that it may."""

    name = "rule:1"
    policy = first_policy


class TidyAgent(FlinchAgent):
    """Plays whatever it can and discards in descending order."""

    name = "rule:2"
    policy = tidy_policy


class RouteAgent(FlinchAgent):
    """Builds up to its Stockpile's card first."""

    name = "rule:3"
    policy = route_policy
