"""What a network of Flinch can be told beside the observation: how its cards stand to each other.

A network learns slowly what lies between two ranks. These entries, all from the observation alone, say it: the ranks
that still miss before each Stockpile's card, who has them open, which plays bring it nearer, what follows a card in the
own hand, and how hand cards lie on the own Reserve Piles. They look at ascending piles and know no partners.
"""

import numpy as np

from flinchenv.core.bits import count_bits, has
from flinchenv.core.kernel import helper, kernel, routine
from flinchenv.core.params import refuse
from flinchenv.flinch.rules import MAX_RANK, MAX_RESERVES

from .flinch_route import ranks_below, way_from

# Trained agents know these entries by their order: whoever changes one must train anew whoever was told of it.
FIELDS = ("ups", "hand", "reserve_top", "reserve_cards", "stock_top")
STEPS = 6  # of a number of missing cards
GAPS = 8  # between a pile's card and the nearest one in the hand
FEW = 3  # a card is near if fewer are missing
DEEP = 3  # cards beneath weigh as so many ranks where piles are compared
MOST = 4096  # more entries than eight players need


class Relations:
    """The relations of observations of one layout.

    Args:
        layout: a `Layout` of Flinch.

    Attributes:
        size: how many there are.

    Raises:
        RulesError: a layout without ascending piles by rank.
    """

    def __init__(self, layout):
        fields = [field.name for field in layout.fields]
        if not set(FIELDS) <= set(fields):
            refuse("relations", True, f"False where the observation lacks one of {FIELDS}")
        self._places = [layout[name].entries.reshape(layout[name].shape) for name in FIELDS]
        scratch = np.zeros((1, MOST), np.int8)
        self.size = fill_relations(np.zeros((1, layout.size), np.int8), *self._places, scratch)

    def __call__(self, observation):
        """int8 (N, D) -> int8 (N, size), each -1, 0 or 1."""
        out = np.zeros((len(observation), self.size), np.int8)
        fill_relations(np.ascontiguousarray(observation, np.int8), *self._places, out)
        return out


@kernel
def fill_relations(rows, ups, hand, top, cards, stock, out):
    """Write the relations of each row, by the places of its fields; how many there are of a row."""
    at = 0
    for i in range(len(rows)):
        at = put_relations(rows[i], ups, hand, top, cards, stock, out[i])
    return at


@routine
def put_relations(row, ups, hand, top, cards, stock, out):
    playable, held, own = 2, ranks_of(row, hand), tops_of(row, top[0])  # a 1 always starts a pile
    for rank in range(1, MAX_RANK):
        playable |= (row[ups[rank]] > 0) << (rank + 1)
    at = put_ranks(out, 0, held & playable)
    at = put_ranks(out, at, held & own)
    near = 0  # ranks after which another seat's Stockpile card is near
    for p in range(len(stock)):
        target, tops = rank_at(row, stock[p]), tops_of(row, top[p])
        have = tops | held if p == 0 else tops
        way = way_to(playable, target)
        for told in (way, way & held, way & own, way & tops, way & ~have):
            at = put_ranks(out, at, told)
        for told in (way, way & ~have, way & ~have & ~held & ~own):
            at = put_steps(out, at, count_bits(told))
        out[at] = has(playable, target)
        at = put_places(row, top[p], out, at + 1, playable)
        nearer = 0
        for few in range(FEW):
            nearer = ranks_nearer(target, have, count_bits(way & ~have), few)
            at = put_ranks(out, at, nearer)
        at = put_ranks(out, at, nearer & held & playable)
        near |= nearer if p > 0 else 0
    at = put_plays(row, top[0], out, at, playable, held | own, held, near)
    at = put_whole_hand(row, ups, hand, top[0], out, at, playable)
    target = rank_at(row, stock[0])
    at = put_ranks(out, at, held & (1 << target >> 1))
    at = put_places(row, top[0], out, at, way_to(playable, target))
    return put_discards(row, top[0], cards[0], out, at, held)


# --- Sets of ranks ----------------------------------------------------------------------------------------------------


@helper
def rank_at(row, places):
    """The rank of a one-hot vector, 0 for none and for a wild."""
    found = 0
    for rank in range(1, MAX_RANK + 1):
        found = rank if row[places[rank]] else found
    return found


@helper
def ranks_of(row, places):
    """The set of the ranks that are there."""
    ranks = 0
    for rank in range(1, MAX_RANK + 1):
        ranks |= (row[places[rank]] > 0) << rank
    return ranks


@helper
def tops_of(row, places):
    """The set of the ranks on Reserve Piles."""
    ranks = 0
    for j in range(MAX_RESERVES):
        ranks |= ranks_of(row, places[j])
    return ranks


@helper
def way_to(playable, target):
    """The ranks to be played before `target` fits, by the nearest pile."""
    return way_from(playable & ranks_below(target + 1), target)


@routine
def ranks_nearer(target, have, now, few):
    """The ranks after which fewer than `now` are missing before `target`, and at most `few`."""
    ranks, missing = 0, 0
    for k in range(1, target):
        rank = target - k
        if missing < now and missing <= few:
            ranks |= 1 << rank
        missing += not has(have, rank)
    return ranks


# --- What is written --------------------------------------------------------------------------------------------------


@helper
def put_ranks(out, at, ranks):
    """A flag a rank."""
    for rank in range(1, MAX_RANK + 1):
        out[at + rank - 1] = has(ranks, rank)
    return at + MAX_RANK


@helper
def put_steps(out, at, count):
    """A thermometer."""
    for k in range(STEPS):
        out[at + k] = count > k
    return at + STEPS


@helper
def put_gap(out, at, gap):
    """One-hot; 0 and what is too wide is none."""
    for k in range(GAPS):
        out[at + k] = gap == k + 1
    return at + GAPS


@helper
def put_places(row, top, out, at, ranks):
    """A flag a Reserve Pile: whether its card is among the ranks."""
    for j in range(MAX_RESERVES):
        out[at + j] = has(ranks, rank_at(row, top[j]))
    return at + MAX_RESERVES


@routine
def put_plays(row, top, out, at, playable, cards, held, near):
    """What the own cards can follow up, and which plays can end where nobody comes near."""
    twice = cards & cards >> 1
    at = put_ranks(out, at, twice)
    at = put_ranks(out, at, twice & cards >> 2)
    harmless = 0
    for k in range(MAX_RANK):
        rank = MAX_RANK - k
        harmless |= (not has(near, rank) or has(cards & harmless, rank + 1)) << rank
    at = put_ranks(out, at, harmless)
    at = put_ranks(out, at, harmless & held & playable)
    return put_places(row, top, out, at, harmless & playable)


@routine
def put_whole_hand(row, ups, hand, top, out, at, playable):
    """The lowest rank of a way to play the whole hand; see `flinch_search.hand_emptying_play`."""
    needed, lowest = 0, 0
    for k in range(MAX_RANK):
        rank = MAX_RANK - k
        there = np.int64(row[hand[rank]])
        needed = max(there, needed - np.int64(row[ups[rank]]))
        for j in range(MAX_RESERVES):
            there += row[top[j, rank]]
        if needed > there:
            return put_ranks(out, at, 0)
        lowest = rank if needed > 0 and has(playable, rank) else lowest
    return put_ranks(out, at, 1 << lowest)


@routine
def put_discards(row, top, cards, out, at, held):
    """How the hand lies on the own Reserve Piles, and how these stand to each other."""
    own = tops_of(row, top)
    least = most = 0
    for rank in range(1, MAX_RANK + 1):
        if has(held, rank):
            most, least = rank, least if least else rank
        above = 0
        for k in range(1, MAX_RANK + 1 - rank):
            above = k if not above and has(own, rank + k) else above
        at = put_gap(out, at, above if has(held, rank) else 0)
    at = put_ranks(out, at, 1 << least)
    at = put_ranks(out, at, 1 << most)
    for j in range(MAX_RESERVES):
        rank = rank_at(row, top[j])
        at = put_ranks(out, at, held & 1 << rank)
        at = put_ranks(out, at, held & 1 << rank >> 1)
        below = above = 0
        for k in range(1, MAX_RANK + 1):
            below = k if not below and k < rank and has(held, rank - k) else below
            above = k if not above and rank > 0 and has(held, rank + k) else above
        at = put_gap(out, at, below)
        at = put_gap(out, at, above)
        for i in range(j):
            other = rank_at(row, top[i])
            out[at] = sign(rank - other)
            out[at + 1] = sign(rank - other - DEEP * (row[cards[j]] - row[cards[i]]))
            at += 2
    return at


@helper
def sign(x):
    return (x > 0) - (x < 0)
