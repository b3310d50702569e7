"""The action ids of Flinch and which of them are legal (1.3 Actions, Phases; FA8b, FA14, FA15, FA35).

Ids: 0 the Stockpile's top, 1..15 a hand card by rank, 16..20 a Reserve Pile's top, each on an ascending pile;
21..95 discard rank r to place j as 21 + 5(r - 1) + j; then END_TURN, NO_CALL, CALL_STOCK, CALL_STARTER; 100..120 as
0..20 on a descending pile; 121..126 and 127..132 the partner's Stockpile and Reserve Piles, up and down; 133 a wild
from the hand, 134..138 discard a wild.

Legal ids are kept as a set of plays, a set of ranks and a set of places: every one of these ranks may be discarded to
every one of these places. In the set of plays all ids but discards follow each other in their order (`id_of`).
"""

import numpy as np

from ..core.bits import count_bits, natural, nth_bit, put_bits, put_pairs
from ..core.kernel import helper, routine
from ..core.rng import GAMMA, HALF, LOW, mix, scale_down
from .cards import NONE, WILD, can_play, discard_slots, laydown_slots, open_ranks, slots_showing
from .rules import MAX_RANK, MAX_RESERVES

STOCK, HAND, RESERVE, DISCARD = 0, 0, 16, 21  # HAND + rank, RESERVE + slot, DISCARD + 5 * (rank - 1) + slot
END_TURN, NO_CALL, CALL_STOCK, CALL_STARTER = range(96, 100)
DOWN = 100  # added to the ids of plays on a descending pile
MATE = 121  # the partner's Stockpile, then its Reserve Piles
MATE_DOWN = 127
WILD_PLAY, WILD_DISCARD = 133, 134
NUM_ACTIONS = 139

OPEN, LAYDOWN, PLAY, NAME, CHALLENGE = range(5)  # phase

# Where ids stand in the set of plays.
DISCARDS = END_TURN - DISCARD  # ids that are not in it
END_BIT, CALLS_BIT, DOWN_BIT, MATE_BIT, MATE_DOWN_BIT, WILD_BIT, WILD_DISCARD_BIT = (
    first - DISCARDS for first in (END_TURN, NO_CALL, DOWN, MATE, MATE_DOWN, WILD_PLAY, WILD_DISCARD)
)
FIRST_IDS, LAST_IDS = END_BIT, NUM_ACTIONS - END_TURN  # before and after the discards; literals for `put_bits`

ENFORCED, BY_CALLS, HONOUR = range(3)  # duty_mode
ALWAYS, TURN_START, NEVER = range(3)  # stock_duty
ENCYCLOPEDIA = 2  # opening
STOCK_ONLY = 1  # call_kinds
EXPOSURE = 1  # illegal_move


@helper
def id_of(bit):
    """The action id of a bit in the set of plays."""
    return bit + DISCARDS * (bit >= END_BIT)


@helper
def mate(seats, p):
    """The partner, who sits opposite (FA32)."""
    return (p + len(seats) // 2) % len(seats)


@helper
def is_stock_play(action):
    """Whether an id plays the top card of a Stockpile, the own or the partner's."""
    return action in (STOCK, DOWN, MATE, MATE_DOWN)


@helper
def hand_rank(action):
    """The rank of the hand card that an id plays, or NONE."""
    if action == WILD_PLAY:
        return WILD
    rank = action - DOWN if action > DOWN else action
    return rank if HAND < rank <= MAX_RANK else NONE


@helper
def is_discard(action):
    """Whether an id lays a card on a Reserve Pile."""
    return (DISCARD <= action < END_TURN) or action >= WILD_DISCARD


@helper
def discard_rank(action):
    """The rank that a discard lays down."""
    return WILD if action >= WILD_DISCARD else (action - DISCARD) // MAX_RESERVES + 1


@helper
def discard_slot(action):
    """The place that a discard names."""
    return action - WILD_DISCARD if action >= WILD_DISCARD else (action - DISCARD) % MAX_RESERVES


# --- Which plays fit --------------------------------------------------------------------------------------------------


@helper
def stock_plays(s, p):
    """Plays of the own Stockpile's top card."""
    rank = s.stock_rank[p]
    return can_play(s.playable_up, rank) | can_play(s.playable_down, rank) << DOWN_BIT


@helper
def mate_stock_plays(s, params, seats, p):
    """Plays of the partner's Stockpile's top card (F44)."""
    if not params.partnership:
        return np.int64(0)
    rank = s.stock_rank[mate(seats, p)]
    return can_play(s.playable_up, rank) << MATE_BIT | can_play(s.playable_down, rank) << MATE_DOWN_BIT


@helper
def hand_plays(s, ranks):
    """Plays of hand cards of these ranks."""
    up, down = np.int64(s.playable_up), np.int64(s.playable_down)
    numbers = ranks & ~(1 << WILD)
    return numbers & up | (numbers & down) << DOWN_BIT | (ranks & up & 1 << WILD) << WILD_BIT


@helper
def reserve_plays(s, p):
    """Plays of the own Reserve Piles' tops (F27)."""
    plays = slots_showing(s, p, np.int64(s.playable_up)) << RESERVE
    if s.playable_down:
        plays |= slots_showing(s, p, np.int64(s.playable_down)) << DOWN_BIT + RESERVE
    return plays


@helper
def mate_reserve_plays(s, params, seats, p):
    """Plays of the partner's Reserve Piles' tops (F44)."""
    if not params.partnership:
        return np.int64(0)
    q = mate(seats, p)
    up, down = np.int64(s.playable_up), np.int64(s.playable_down)
    return slots_showing(s, q, up) << MATE_BIT + 1 | slots_showing(s, q, down) << MATE_DOWN_BIT + 1


@helper
def has_play(s, params, seats, p):
    """Whether a seat has any play that fits, duties ignored."""
    ranks = s.hand_set[p] | open_ranks(s, p)
    if params.partnership:
        ranks |= open_ranks(s, mate(seats, p))
    return ranks & (s.playable_up | s.playable_down) != 0


# --- Which actions are legal ------------------------------------------------------------------------------------------


@helper
def legal(s, params, seats):
    """(plays, ranks, slots): the legal actions of the seat to act."""
    if s.phase == PLAY:
        if params.can_expose and s.due[s.turn] != NONE:
            return legal_with_shown_card(s, params, seats)
        return legal_in_turn(s, params, seats)
    return legal_elsewhere(s, params, seats)


@helper
def legal_in_turn(s, params, seats):
    """1.3 "Enforced mask": stock, partner's stock, starters, then all else; without enforced duties all at once."""
    p = natural(s.turn)
    nothing = np.int64(0)
    stock = stock_plays(s, p)
    mate_stock = mate_stock_plays(s, params, seats, p)
    hand = np.int64(s.hand_set[p])
    if params.duty_mode == ENFORCED:
        if stock_is_due(s, params):
            if stock:
                return stock, nothing, nothing
            if mate_stock:
                return mate_stock, nothing, nothing
        starters = hand & params.duty_starters
        if starters:
            return hand_plays(s, starters), nothing, nothing
    plays = stock | mate_stock | hand_plays(s, hand)
    plays |= reserve_plays(s, p) | mate_reserve_plays(s, params, seats, p)
    if s.forced:  # F40
        return plays, nothing, nothing
    if hand == 0:
        return plays | 1 << END_BIT, nothing, nothing  # FA14
    if params.illegal_move == EXPOSURE:
        plays |= hand & ~(1 << WILD) & ~np.int64(s.playable_up | s.playable_down)  # FA35
    return plays, hand & ~params.duty_starters, discard_slots(s, params, p)


@helper
def stock_is_due(s, params):
    """FA9: whether a playable Stockpile card must be played now."""
    return params.stock_duty == ALWAYS or (params.stock_duty == TURN_START and not s.nonstock)


@routine
def legal_with_shown_card(s, params, seats):
    """F39, FA35: the card shown out of turn comes first; where it does not fit the turn is passed (FA18)."""
    p = natural(s.turn)
    nothing = np.int64(0)
    plays = hand_plays(s, np.int64(1) << s.due[p])
    if plays:
        return plays, nothing, nothing
    if s.forced:  # F40 comes before the pass
        return legal_in_turn(s, params, seats)
    if params.offturn_exposure_discard:
        return nothing, np.int64(s.hand_set[p]) & ~params.duty_starters, discard_slots(s, params, p)
    return np.int64(1) << END_BIT, nothing, nothing


@routine
def legal_elsewhere(s, params, seats):
    """Legal actions in OPEN, LAYDOWN, NAME and CHALLENGE."""
    nothing = np.int64(0)
    if s.phase == OPEN:
        return legal_opening(s, params, seats), nothing, nothing
    if s.phase == LAYDOWN:
        p = natural(s.current_player)
        return nothing, np.int64(s.hand_set[p]), laydown_slots(s, params, p)
    if s.phase == NAME:  # the ranks a number card could be played as (FA20)
        up = np.int64(s.playable_up) & ~(1 << WILD)
        return up | np.int64(s.playable_down) << DOWN_BIT, nothing, nothing
    calls = 1 << CALLS_BIT
    if params.stock_duty != NEVER and not (params.mask_false_stock_calls and not stock_guilt(s)):
        calls |= 1 << CALLS_BIT + 1
    if params.call_kinds != STOCK_ONLY:
        calls |= 1 << CALLS_BIT + 2
    return np.int64(calls), nothing, nothing


@helper
def stock_guilt(s):
    """F33: some other action was taken while the Stockpile's card, still the top, could be played."""
    return (s.skipped_own | s.skipped_mate) and not s.excused


@routine
def legal_opening(s, params, seats):
    """FA8b: starters come first in every duty mode: the own stock's, the partner's, the hand's; else END_TURN.

    Under "ones_only" the last rank is a starter that may be kept (FA28). In "encyclopedia" only the own Stockpile is
    looked at (F22).
    """
    p = natural(s.turn)
    due, starters = np.int64(params.duty_starters), np.int64(params.starters)
    own = can_play(starters, s.stock_rank[p]) * stock_plays(s, p)
    if can_play(due, s.stock_rank[p]):
        return own
    if params.opening == ENCYCLOPEDIA:
        return own | 1 << END_BIT
    mates = np.int64(0)
    if params.partnership:
        rank = s.stock_rank[mate(seats, p)]
        mates = can_play(starters, rank) * mate_stock_plays(s, params, seats, p)
        if can_play(due, rank):
            return mates
    hand = np.int64(s.hand_set[p])
    if hand & due:
        return hand_plays(s, hand & due)
    return own | mates | hand_plays(s, hand & starters) | 1 << END_BIT


@helper
def fill_action_mask(s, params, seats, player, mask):
    """Mark the legal ids of `player`; none for a seat that is not asked."""
    plays, ranks, slots = legal(s, params, seats)
    if player != s.current_player:
        plays, ranks, slots = np.int64(0), np.int64(0), np.int64(0)
    plays |= slots * (ranks & 1) << WILD_DISCARD_BIT
    at = put_bits(mask, 0, plays, FIRST_IDS)
    at = put_pairs(mask, at, ranks >> 1, MAX_RANK, slots, MAX_RESERVES)
    put_bits(mask, at, plays >> END_BIT, LAST_IDS)


# k * _PART[n] >> 16 is k // n for the few k there are; a division would take ten times as long.
_PART = np.array([0] + [(1 << 16) // n + 1 for n in range(1, MAX_RESERVES + 1)], np.int64)


@helper
def choose(plays, ranks, slots, draw):
    """A uniform legal action from 64 random bits, and how many there are."""
    num_plays, num_slots = count_bits(plays), count_bits(slots)
    total = num_plays + count_bits(ranks) * num_slots
    k = scale_down(draw >> HALF, total)
    if k < num_plays:
        low = count_bits(plays & np.int64(LOW))
        bit = nth_bit(plays & np.int64(LOW), k) if k < low else 32 + nth_bit(plays >> 32, k - low)
        return id_of(bit), total
    k -= num_plays
    row = k * _PART[num_slots] >> 16
    rank = nth_bit(ranks, row)
    slot = nth_bit(slots, k - row * num_slots)
    return (WILD_DISCARD + slot if rank == WILD else DISCARD + MAX_RESERVES * (rank - 1) + slot), total


@helper
def random_actions(s, params, seats, counter):
    """Fill in a uniform legal action of the seat to act; 1 if it had two or more legal ids."""
    plays, ranks, slots = legal(s, params, seats)
    action, total = choose(plays, ranks, slots, mix(counter + GAMMA))
    s.pending[natural(s.current_player)] = action
    return np.int64(total > 1)


@helper
def only_action(s, params, seats):
    """The one legal action of the seat to act, or NONE if it has a choice (auto_forced)."""
    plays, ranks, slots = legal(s, params, seats)
    action, total = choose(plays, ranks, slots, np.uint64(0))
    return action if total == 1 else NONE
