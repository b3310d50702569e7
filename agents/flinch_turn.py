"""Flinch: the table as it will lie when the turn is over, after a lay-down now or after all that can be planned.

What a network is told of the choice between a play and the end of the turn: what either leaves to the others, instead
of the table as it lies before. The plan is level 4's, over the open cards. It ends where a card that nobody knows is
turned up: the next of a Stockpile, or new cards for an empty hand. What lies beneath a Reserve Pile's top is unknown
where observations do not show all that was public.
"""

import numpy as np

from flinchenv.core.kernel import helper, kernel, routine
from flinchenv.core.params import kernel_params, refuse
from flinchenv.flinch.cards import EMPTY, NONE, RANKS, RESERVE_BYTE, STOCK_LANE, leave_hand, show_count, show_top
from flinchenv.flinch.center import find_playable, raise_pile
from flinchenv.flinch.moves import (
    DISCARD,
    END_TURN,
    HAND,
    RESERVE,
    STOCK,
    discard_rank,
    discard_slot,
    fill_action_mask,
)
from flinchenv.flinch.rules import MAX_RESERVES

from .flinch_moves import greedy_play
from .flinch_search import search_policy
from .flinch_table import records
from .policy import NO_DRAW

LAY_DOWN = (DISCARD, END_TURN)  # the ids that lay a card on a Reserve Pile and end the turn
UNKNOWN = EMPTY - 1  # a top that nobody knows, in no set of ranks
FIELDS = (
    "turn",
    "asked",
    "ups",
    "removed",
    "forced",
    "hand",
    "hand_cards",
    "stock_left",
    "reserve_cards",
    "reserve_top",
    "stock_top",
)


class TurnEnds:
    """The ends of turns, out of observations.

    Args:
        setup: Flinch with ascending piles alone, without wilds and partners.

    Raises:
        RulesError: other rules.
    """

    def __init__(self, setup):
        rules = setup.rules
        if rules.center != "up" or rules.n_wild or rules.partnership:
            refuse("afterstates", True, "False but for center='up', n_wild=0 and partnership=False")
        self.setup = setup
        self._seats = np.zeros(setup.num_players, np.int64)
        self._places = [setup.layout[name].entries.reshape(setup.layout[name].shape) for name in FIELDS]
        self._order = np.zeros((1, MAX_RESERVES, 0), np.int64)
        if rules.obs_reserve == "full":
            self._order = setup.layout["reserve_order"].entries.reshape(setup.layout["reserve_order"].shape)

    def __call__(self, observation, action_mask):
        """Where a seat may both play and lay down, the table after a lay-down now and after a turn played out.

        Args:
            observation: int8 (N, D). action_mask: int8 (N, A).

        Returns:
            (rows, kept, played): int64 (K,), int8 (K, D), int8 (K, D). The fields of `FIELDS` are as they will be, but
            for what others do before the next turn; all others are as they were.
        """
        inside, outside = sides(action_mask)
        rows = np.flatnonzero(inside.any(1) & outside.any(1))
        seen = np.ascontiguousarray(observation[rows], np.int8)
        games, ends, rules = records(self.setup, seen), [], kernel_params(self.setup.rules)
        for mask in (inside[rows], outside[rows]):
            ends.append(seen.copy())
            end_turns(games.copy(), rules, self._seats, mask, *self._places, self._order, ends[-1])
        return rows, *ends


def sides(action_mask):
    """int8 (N, A) masks of the legal lay-downs and of all else."""
    inside, outside = np.array(action_mask, np.int8), np.array(action_mask, np.int8)
    first, last = LAY_DOWN
    inside[:, :first] = inside[:, last:] = outside[:, first:last] = 0
    return inside, outside


@routine
def planned(s, params, seats, p, mask):
    """What level 4 does, or, if that is not allowed, a play that level 1 makes."""
    action = search_policy(s, params, seats, p, mask, NO_DRAW)
    return action if mask[action] else greedy_play(s, params, mask)


@kernel
def end_turns(
    games, rules, seats, masks, turn, asked, ups, removed, forced, hand, hand_cards, left, pile_cards, tops, stock,
    order, rows,
):  # fmt: skip
    """Play out the turns of seat 0, in records as observations make them, and note in (N, D) rows what lies there then.

    The plays come first out of the masks (N, A), which are overwritten.
    """
    params = rules[0]
    for i in range(len(games)):
        s, mask, row = games[i], masks[i], rows[i]
        action = planned(s, params, seats, 0, mask)
        while NONE < action < DISCARD and not make_play(s, params, action, row, pile_cards, order):
            fill_action_mask(s, params, seats, 0, mask)
            action = search_policy(s, params, seats, 0, mask, NO_DRAW)
        if DISCARD <= action < END_TURN:
            lay_down(s, discard_rank(action), discard_slot(action))
            row[turn[0]], row[turn[1]] = 0, 1
            row[asked[0]], row[asked[1]] = 0, 1
        for rank in range(RANKS):
            row[ups[rank]] = s.ups[rank]
            row[hand[rank]] = s.hand[0, rank]
            row[stock[0, rank]] = s.stock_rank[0] == rank
            for j in range(MAX_RESERVES):
                row[tops[0, j, rank]] = s.top[0, j] == rank
        for j in range(MAX_RESERVES):
            row[pile_cards[0, j]] = s.pile_cards[0, j]
        row[removed], row[forced] = s.removed_piles, s.forced
        row[hand_cards[0]], row[left[0]] = s.hand_cards[0], s.stock_left[0]


@routine
def make_play(s, params, action, row, pile_cards, order):
    """Play a card of seat 0; whether a card that nobody knows is turned up then."""
    if action == STOCK:
        rank = np.int64(s.stock_rank[0])
        s.stock_left[0] -= 1
        s.stock_rank[0] = UNKNOWN if s.stock_left[0] else EMPTY
        show_top(s, 0, STOCK_LANE, s.stock_rank[0])
    elif action < RESERVE:
        rank = action - HAND
        leave_hand(s, 0, rank)
    else:
        slot = action - RESERVE
        rank = np.int64(s.top[0, slot])
        s.pile_cards[0, slot] -= 1
        show_pile(s, slot, next_top(s, slot, row, pile_cards, order) if s.pile_cards[0, slot] else EMPTY)
    raise_pile(s, params, rank)
    s.removed_piles += rank == params.num_ranks
    find_playable(s, params)
    s.forced = 0
    return action == STOCK or s.hand_cards[0] == 0


@helper
def next_top(s, slot, row, pile_cards, order):
    """What lies open now that the top has been played."""
    depth = np.int64(row[pile_cards[0, slot]]) - s.pile_cards[0, slot]
    rank = np.int64(row[order[0, slot, depth]]) if depth < order.shape[2] else 0
    return rank if rank else UNKNOWN


@helper
def lay_down(s, rank, slot):
    """Lay a hand card of seat 0 on a Reserve Pile."""
    leave_hand(s, 0, rank)
    s.pile_cards[0, slot] += 1
    show_pile(s, slot, rank)


@helper
def show_pile(s, slot, rank):
    """Note what lies open now on a Reserve Pile of seat 0, and how many cards it has."""
    s.top[0, slot] = rank
    show_top(s, 0, slot, rank)
    show_count(s, 0, RESERVE_BYTE + slot, s.pile_cards[0, slot])
