"""The cards of Flinch and where they lie: Stack, hands, Stockpiles, Reserve Piles.

A card is its rank; a wild is rank 0. The Stack has no order: a card is drawn from it at random, which is the same as
shuffling it before. Stockpiles and Reserve Piles are linked lists of nodes, so that no pile needs room for all cards.
"""

import numpy as np

from ..core.bits import clipped, first_bit, has, natural, put_word
from ..core.kernel import helper, routine
from ..core.rng import GAMMA, HALF, random_below
from .rules import MAX_PACKS, MAX_RANK, MAX_RESERVES, MAX_SERIES, MAX_WILDS

WILD = 0
RANKS = MAX_RANK + 1  # and the wild
NONE = -1  # no seat, no card
EMPTY = 31  # the rank shown by an empty pile: in no set of ranks
KNOWN = 32  # added to the rank of a Stockpile card that is public although it is not the top
CARD_BITS = 6  # of a node: a card and its mark; above them the node beneath
CARD = (1 << CARD_BITS) - 1
BOTTOM = 0  # the node beneath all piles: it holds EMPTY, lies on itself, and spares every look at a top a question
MAX_CARDS = MAX_PACKS * (MAX_RANK * MAX_SERIES + MAX_WILDS)
WORD = 8  # cards of the Stack that are written at once, a literal
EACH_BYTE = np.uint64(0x0101010101010101)

LAZY, EAGER, IMMEDIATE = range(3)  # recycle, in the order of rules.py

# Places of a seat's entries in `s.shown`, what observations say of it: lanes of 16 bits with the top card's rank as
# one bit, Reserve Piles first; then bytes with counts.
STOCK_LANE = MAX_RESERVES
COUNTS = 2  # the word of the counts
STOCK_BYTE, HAND_BYTE, RESERVE_BYTE = 0, 1, 2
LANE, BYTE, ONE = np.uint64(0xFFFF), np.uint64(0xFF), np.uint64(1)
EACH_LANE = np.uint64(0x0001000100010001)
LANE_TOPS, GATHER_LANES, GATHERED_LANES = np.uint64(0x8000800080008000), np.uint64(0x0000200040008001), np.uint64(60)
BYTE_TOPS, GATHER_BYTES, GATHERED_BYTES = np.uint64(0x8080808080808080), np.uint64(0x0002040810204081), np.uint64(56)


# --- The Stack --------------------------------------------------------------------------------------------------------


@routine
def take_all_cards(s, params):
    """Put the whole deck into the Stack and clear all other places (F8)."""
    s.left = 0
    set_node(s, BOTTOM, EMPTY, BOTTOM)
    s.fresh = BOTTOM + 1
    s.freed = BOTTOM
    s.removed_piles = 0
    for rank in range(1, params.num_ranks + 1):
        put_into_stack(s, rank, params.copies)
    put_into_stack(s, WILD, params.wilds)
    s.removed[:] = 0


@helper
def put_into_stack(s, rank, count):
    """Add some cards of one rank to the Stack; a store may reach beyond them, where none lie."""
    left = np.int64(s.left)
    for k in range(0, count, WORD):
        put_word(s.deck, left + k, np.uint64(rank) * EACH_BYTE, WORD)
    s.left = left + count


@helper
def draw_card(s):
    """Take a random card out of the Stack."""
    k = random_below(s, s.left)
    s.left -= 1
    card = natural(s.deck[k])
    s.deck[k] = s.deck[natural(s.left)]
    return card


@routine
def sort_stack(s):
    """Put the Stack in ascending order."""
    low, high = np.uint64(0), np.uint64(0)  # how many of each rank, a byte each
    for k in range(s.left):
        rank = np.uint64(s.deck[k])
        one = ONE << (rank << np.uint64(3) & np.uint64(63))
        low += one * np.uint64(rank < 8)
        high += one * np.uint64(rank >= 8)
    k = 0
    for rank in range(RANKS):
        counts = low if rank < 8 else high
        for _ in range(np.int64(counts >> np.uint64(8 * (rank & 7)) & BYTE)):
            s.deck[k] = rank
            k += 1


@routine
def recycle(s, params):
    """The piles taken away become part of the Stack (F32, FA12)."""
    for rank in range(1, params.num_ranks + 1):
        put_into_stack(s, rank, np.int64(s.removed[rank]))
    put_into_stack(s, WILD, np.int64(s.removed[WILD]))
    s.removed[:] = 0
    s.removed_piles = 0


@helper
def recycle_if_due(s, params):
    """Under "eager" an empty Stack is filled at once, under "immediate" any complete pile goes into it (FA12)."""
    if s.removed_piles > 0 and (params.recycle == IMMEDIATE or (params.recycle == EAGER and s.left == 0)):
        recycle(s, params)


# --- Hands ------------------------------------------------------------------------------------------------------------


@routine
def fill_hand(s, params, p):
    """An empty hand draws from the Stack, as many as there are up to hand_size (F29, FA11, FA12)."""
    if s.left == 0 and s.removed_piles > 0:
        recycle(s, params)
    draws = min(np.int64(params.hand_size), np.int64(s.left))
    if draws:
        draw_hand(s, p, draws)
        s.starter_free &= ~(1 << p)
        recycle_if_due(s, params)


@routine
def redraw(s, params, seats):
    """Every empty hand is drawn anew, in seat order (FA6)."""
    for p in range(len(seats)):
        if s.hand_cards[p] == 0:
            fill_hand(s, params, p)


@helper
def draw_hand(s, p, draws):
    """Cards come from the Stack to a hand, seen by its owner alone."""
    drawn = np.int64(0)
    for _ in range(draws):
        rank = draw_card(s)
        s.hand[p, rank] += 1
        s.hand_set[p] |= 1 << rank
        drawn = drawn * RANKS + rank
    s.hand_cards[p] += draws
    s.shown[p, COUNTS] += np.uint64(draws) << np.uint64(8 * HAND_BYTE)
    remember_own(s, p, drawn)


@helper
def leave_hand(s, p, rank):
    """A card leaves a hand: a shown one if there is one of that rank."""
    s.hand[p, rank] -= 1
    s.hand_set[p] &= ~((s.hand[p, rank] == 0) << rank)
    s.hand_cards[p] -= 1
    s.shown[p, COUNTS] -= ONE << np.uint64(8 * HAND_BYTE)
    if s.any_known:
        forget_shown(s, p, rank)


@routine
def forget_shown(s, p, rank):
    """One shown card less."""
    s.known[p, rank] -= s.known[p, rank] > 0
    s.exposed[p, rank] -= s.exposed[p, rank] > 0


@routine
def expose(s, p, rank):
    """A hand card is shown to all (F38, F39); of two equal cards the other one, if one is shown already."""
    s.any_known = 1
    s.exposed[p, rank] += s.exposed[p, rank] < s.hand[p, rank]
    s.known[p, rank] = max(s.known[p, rank], s.exposed[p, rank])


@routine
def show_hand(s, p):
    """A hand wrongly called is shown to all (FA24)."""
    s.any_known = 1
    for rank in range(RANKS):
        s.known[p, rank] = s.hand[p, rank]
        write_history(s, np.int64(s.hand[p, rank]))


@helper
def remember_own(s, p, word):
    """Add what one seat alone sees to its running hash."""
    s.private[p] = (s.private[p] ^ np.uint64(word + 1)) * GAMMA
    s.private[p] ^= s.private[p] >> HALF


@helper
def write_history(s, word):
    """Add what everybody sees to the running hash."""
    s.history = (s.history ^ np.uint64(word + 1)) * GAMMA + np.uint64(s.length)
    s.history ^= s.history >> HALF


# --- Piles ------------------------------------------------------------------------------------------------------------


@helper
def card_in(s, node):
    """The card of a node, a Stockpile's with its mark."""
    return np.int64(s.nodes[node]) & CARD


@helper
def below_node(s, node):
    """The node beneath, or BOTTOM."""
    return np.int64(s.nodes[node]) >> CARD_BITS


@helper
def set_node(s, node, card, below):
    """Put a card and what lies beneath it into a node: one word, so that a pile's end is one place in memory."""
    s.nodes[node] = below << CARD_BITS | card


@helper
def new_node(s, card, below):
    """A node for a card that lies on the node `below`."""
    freed, fresh = natural(s.freed), natural(s.fresh)
    node = fresh if freed == BOTTOM else freed
    s.freed = below_node(s, freed)
    s.fresh = fresh + (freed == BOTTOM)
    set_node(s, node, card, below)
    return node


@helper
def free_node(s, node):
    """Give a node back; the node below it."""
    below = below_node(s, node)
    set_node(s, node, 0, np.int64(s.freed))
    s.freed = node
    return below


@helper
def show_top(s, p, lane, rank):
    """Note for observations which card lies on top."""
    word, shift = lane // 4, np.uint64(16 * (lane % 4))
    s.shown[p, word] = s.shown[p, word] & ~(LANE << shift) | (ONE << np.uint64(rank) & LANE) << shift


@helper
def show_count(s, p, place, count):
    """Note for observations how many cards there are."""
    shift = np.uint64(8 * place)
    s.shown[p, COUNTS] = s.shown[p, COUNTS] & ~(BYTE << shift) | np.uint64(clipped(count)) << shift


@helper
def rank_of(card):
    """A Stockpile card without its mark."""
    return card & (KNOWN - 1)


@routine
def deal_stock(s, p, size):
    """Deal a Stockpile (F9); the last card dealt is its top."""
    for _ in range(size):
        s.stock[p] = new_node(s, draw_card(s), np.int64(s.stock[p]))
    turn_up(s, p, size)


@helper
def turn_up(s, p, left):
    """A Stockpile has `left` cards, and its top one shows (F9)."""
    s.stock_left[p] = left
    s.scores[p] = -left
    top = natural(s.stock[p])
    s.stock_rank[p] = rank_of(card_in(s, top))
    show_top(s, p, STOCK_LANE, s.stock_rank[p])
    show_count(s, p, STOCK_BYTE, left)


@helper
def pop_stock(s, p):
    """Take the top card of a Stockpile and turn up the next; its rank."""
    rank = np.int64(s.stock_rank[p])
    s.stock[p] = free_node(s, natural(s.stock[p]))
    turn_up(s, p, s.stock_left[p] - 1)
    return rank


@routine
def put_under_stock(s, p, card):
    """Put a card at the bottom of a Stockpile (F34)."""
    node = new_node(s, card, BOTTOM)
    if s.stock_left[p] == 0:
        s.stock[p] = node
    else:
        lowest = node_above(s, p, 0)
        set_node(s, lowest, card_in(s, lowest), node)
    turn_up(s, p, s.stock_left[p] + 1)


@helper
def node_above(s, p, k):
    """The node of a Stockpile that has k cards beneath it."""
    node = np.int64(s.stock[p])
    for _ in range(s.stock_left[p] - 1 - k):
        node = below_node(s, node)
    return node


@routine
def pull_from_stock(s, p, k):
    """Take out the card that has k others beneath it, not the top; the card with its mark."""
    over = node_above(s, p, k + 1)
    node = below_node(s, over)
    card = card_in(s, node)
    set_node(s, over, card_in(s, over), free_node(s, node))
    turn_up(s, p, s.stock_left[p] - 1)
    return card


@helper
def pop_reserve(s, p, slot):
    """Take the top card of a Reserve Pile (F14); its rank."""
    rank = np.int64(s.top[p, slot])
    node = free_node(s, natural(s.pile[p, slot]))
    s.pile[p, slot] = node
    s.pile_cards[p, slot] -= 1
    s.top[p, slot] = card_in(s, natural(node))
    show_top(s, p, slot, s.top[p, slot])
    show_count(s, p, RESERVE_BYTE + slot, s.pile_cards[p, slot])
    return rank


@helper
def push_reserve(s, p, slot, rank):
    """Lay a card on a Reserve Pile (F12)."""
    s.pile[p, slot] = new_node(s, rank, np.int64(s.pile[p, slot]))
    s.pile_cards[p, slot] += 1
    s.top[p, slot] = rank
    show_top(s, p, slot, rank)
    show_count(s, p, RESERVE_BYTE + slot, s.pile_cards[p, slot])


@helper
def open_ranks(s, p):
    """The set of the ranks that a seat's Stockpile and Reserve Piles show, out of the lanes of `shown`."""
    ranks = s.shown[p, 0] | s.shown[p, 1]
    ranks |= ranks >> np.uint64(32)
    return np.int64((ranks | ranks >> np.uint64(16)) & LANE)


@helper
def slots_showing(s, p, ranks):
    """The set of a seat's Reserve places whose top card is of one of these ranks, out of the lanes of `shown`."""
    lanes = s.shown[p, 0] & np.uint64(ranks) * EACH_LANE
    # A lane that is not 0 carries into its highest bit; the product gathers the four of them.
    found = (lanes | (lanes & ~LANE_TOPS) + ~LANE_TOPS) & LANE_TOPS
    last = s.shown[p, 1] & np.uint64(ranks) & LANE
    return np.int64(found * GATHER_LANES >> GATHERED_LANES) | np.int64(last != 0) << STOCK_LANE - 1


@helper
def empty_slots(s, params, p):
    """The set of a seat's Reserve places that hold no pile."""
    # A byte that is not 0, at most 127, carries into its highest bit; the product gathers them.
    filled = s.shown[p, COUNTS] + ~BYTE_TOPS & BYTE_TOPS
    filled = np.int64(filled * GATHER_BYTES >> GATHERED_BYTES) >> RESERVE_BYTE
    return params.all_slots & ~filled


@helper
def discard_slots(s, params, p):
    """Where a discard may go: the first empty place if there is one (F13), else any pile."""
    empty = empty_slots(s, params, p)
    return empty & -empty if empty else np.int64(params.all_slots)


@helper
def laydown_slots(s, params, p):
    """Where a card of a hand laid down may go: any pile or the first empty place (FA6)."""
    empty = empty_slots(s, params, p)
    return params.all_slots & ~empty | empty & -empty


@routine
def lay_down_spread(s, p):
    """The first lay-down: one card a place, in ascending order, wilds last (FA6)."""
    slot = 0
    while s.hand_set[p]:
        numbers = np.int64(s.hand_set[p]) & ~(1 << WILD)
        rank = first_bit(numbers) if numbers else WILD
        leave_hand(s, p, rank)
        push_reserve(s, p, slot, rank)
        write_history(s, rank)
        slot += 1


@routine
def reserves_into_stack(s, params, seats):
    """All Reserve Piles, shuffled, become the Stack (FA13, a house rule); how many cards that were."""
    counts = s.removed  # nothing waits there in a dead game
    for p in range(len(seats)):
        for j in range(params.reserve_piles):
            while s.top[p, j] != EMPTY:
                counts[pop_reserve(s, p, j)] += 1
    recycle(s, params)
    return np.int64(s.left)


@helper
def holds(s, p, ranks):
    """Whether a hand has a card of one of these ranks."""
    return np.int64(s.hand_set[p]) & ranks != 0


@helper
def can_play(ranks, rank):
    """Whether a rank, EMPTY perhaps, is in a set of ranks; 1 or 0."""
    return has(ranks, np.int64(rank))
