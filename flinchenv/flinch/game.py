"""Flinch as a game of turns: deal, opening, turn, calls, end. Rules F1-F48 and readings FA1-FA37 are cited.

The turn-holder plays as many cards as it likes, one an action, and ends its turn with a discard. Where calls are on,
the others are asked before the turn's end counts. What may be done is in moves.py, the cards are in cards.py and
center.py, calls in calls.py.
"""

import numpy as np

from ..core.bits import has, natural
from ..core.kernel import helper, routine
from ..core.spec import RUNNING, game_dtype
from .calls import note_offences
from .cards import (
    BOTTOM,
    EMPTY,
    MAX_CARDS,
    NONE,
    RANKS,
    WORD,
    deal_stock,
    fill_hand,
    lay_down_spread,
    leave_hand,
    push_reserve,
    redraw,
    take_all_cards,
    write_history,
)
from .center import ARM, MAX_PILES, clear_center
from .ending import GOAL, end_game, find_goal, is_dead, meet_dead_end, pay_end, pay_shaping, potential, side_left
from .moves import (
    BY_CALLS,
    ENCYCLOPEDIA,
    END_TURN,
    LAYDOWN,
    NAME,
    OPEN,
    PLAY,
    discard_rank,
    discard_slot,
    is_stock_play,
    only_action,
)
from .rules import MAX_PLAYERS, MAX_RESERVES, FlinchRules
from .turn import (
    act_in_turn,
    answer,
    begin_turn,
    cap_turn,
    close_turn,
    go_on_with_turn,
    name_wild,
    play_card,
    set_turn,
)

VERSION = 0

SEQUENTIAL = 1  # opening
SPREAD = 0  # first_laydown

GAME = game_dtype(
    MAX_PLAYERS,
    [
        ("history", np.uint64),  # a running hash of all that everybody has seen
        ("turns", np.int32),  # finished turns
        ("turn_actions", np.int32),
        ("idle_turns", np.int32),  # turns without a centre play, in a row
        ("phase", np.int8),
        ("turn", np.int8),  # whose turn it is; current_player is asked
        ("opened", np.int8),  # a starter has been played to the centre
        ("forced", np.int8),  # the turn-holder must play a card (F40)
        ("played", np.int8),  # a card has been played to the centre in this turn
        # what calls are about, of the running turn
        ("nonstock", np.int8),  # an action that was no Stockpile play has been taken
        ("skipped_own", np.int8),  # a playable Stockpile card, still the top, has been passed over
        ("skipped_mate", np.int8),  # the same of the partner's
        ("plain", np.int8),  # the last action was neither a Stockpile play nor a starter's
        ("excused", np.int8),  # the turn is passed for a card shown out of turn (F39)
        ("ending", np.int8),  # the window is at the turn's end
        ("polls", np.int8),
        ("polled", np.int8),
        ("any_known", np.int8),  # some hand card has been shown
        ("announced", np.int16),  # the discard that a window keeps waiting, or NONE
        ("naming", np.int16),  # in NAME: the action that plays the wild
        # the Stack
        ("left", np.int32),
        ("removed_piles", np.int32),  # complete piles that wait to be recycled
        # the centre
        ("playable_up", np.int32),  # the set of ranks that fit by up ids
        ("playable_down", np.int32),
        ("up_tops", np.int32),  # the set of tops of ascending piles
        ("down_tops", np.int32),
        ("ups", np.int8, (RANKS,)),  # ascending piles by top
        ("downs", np.int8, (RANKS,)),
        # hands, and what is public of them
        ("starter_free", np.int32),  # the set of seats proved to hold no starter
        ("holds_starter", np.int32),  # and of those proved to hold one
        ("hand_set", np.int32, (MAX_PLAYERS,)),  # the set of ranks in hand
        ("hand_cards", np.int8, (MAX_PLAYERS,)),
        # Stockpiles and Reserve Piles
        ("stock_rank", np.int8, (MAX_PLAYERS,)),  # the top card, or EMPTY
        ("stock_left", np.int16, (MAX_PLAYERS,)),
        ("stock", np.int16, (MAX_PLAYERS,)),  # the top card's node
        ("shown", np.uint64, (MAX_PLAYERS, 3)),  # tops and counts of each seat as observations show them (cards.py)
        ("top", np.int8, (MAX_PLAYERS, MAX_RESERVES)),  # the Reserve Piles' top cards, or EMPTY
        ("pile_cards", np.int16, (MAX_PLAYERS, MAX_RESERVES)),
        ("pile", np.int16, (MAX_PLAYERS, MAX_RESERVES)),  # the top cards' nodes
        ("private", np.uint64, (MAX_PLAYERS,)),  # a running hash of what one seat alone has seen
        ("fresh", np.int16),  # nodes never used begin here
        ("freed", np.int16),  # the first node given back
        ("hand", np.int8, (MAX_PLAYERS, RANKS)),  # cards by rank
        ("nodes", np.uint16, (MAX_CARDS + 1,)),  # of Stockpiles and Reserve Piles (cards.py)
        ("deck", np.int8, (MAX_CARDS + WORD - 1,)),  # the first `left` are the Stack, in no order
        # what is seldom needed
        ("removed", np.int16, (RANKS,)),  # cards that wait to be recycled, by rank
        ("passes", np.int32),  # seats that have passed, or turned up, in this round of the opening
        ("laid", np.int32),  # the set of seats that have laid a hand down before
        ("poll_order", np.int8, (MAX_PLAYERS,)),
        ("due", np.int8, (MAX_PLAYERS,)),  # the rank shown out of turn, to be played first (F39), or NONE
        ("known", np.int8, (MAX_PLAYERS, RANKS)),  # cards that all know to be in hand, by rank
        ("exposed", np.int8, (MAX_PLAYERS, RANKS)),  # those of them that were shown by mistake (F38, F39)
        ("last_left", np.int16, (MAX_PLAYERS,)),  # the side's Stockpile cards after the seat's last action, for shaping
        ("eights", np.int8, (ARM, ARM)),  # F42: piles by how far their high and low ends are from the middle
        # with wilds, the open piles in the order in which they were started
        ("num_piles", np.int32),
        ("pile_low", np.int8, (MAX_PILES + 1,)),
        ("pile_high", np.int8, (MAX_PILES + 1,)),
        ("pile_wilds", np.uint16, (MAX_PILES + 1,)),  # the set of ranks for which a wild stands
    ],
)
# Stockpiles and Reserve Piles seldom hold more than the cards of the usual deck.
FRONT = (0, 0, *(GAME.fields["nodes"][1] + 2 * FlinchRules(n).deck_size for n in range(2, MAX_PLAYERS + 1)))


# --- The deal ---------------------------------------------------------------------------------------------------------


@routine
def deal(s, params, seats):
    """Shuffle all cards and deal Stockpiles and hands (F8-F11); the opening begins with seat 0 (F19)."""
    take_all_cards(s, params)
    clear_center(s, params)
    s.history = np.uint64(0)
    s.turns = 0
    s.opened = 0
    s.passes = 0
    s.laid = 0
    s.idle_turns = 0
    s.starter_free = 0
    s.holds_starter = 0
    s.any_known = 0
    s.known[:] = 0
    s.exposed[:] = 0
    s.hand[:] = 0
    s.top[:] = EMPTY
    s.pile[:] = BOTTOM
    s.pile_cards[:] = 0
    s.shown[:] = np.uint64(0)
    s.announced = NONE
    s.naming = NONE
    s.polls = 0
    s.polled = 0
    s.ending = 0
    for p in range(MAX_PLAYERS):
        s.hand_set[p] = 0
        s.hand_cards[p] = 0
        s.stock[p] = BOTTOM
        s.stock_rank[p] = EMPTY
        s.stock_left[p] = 0
        s.due[p] = NONE
        s.private[p] = np.uint64(0)
    for p in range(len(seats)):
        deal_stock(s, p, np.int64(params.stock_size))
    for p in range(len(seats)):
        s.last_left[p] = side_left(s, params, seats, p)
        fill_hand(s, params, p)
        write_history(s, s.stock_rank[p])
    s.phase = OPEN
    set_turn(s, 0)


# --- Who is asked, and what an action does ----------------------------------------------------------------------------


@helper
def is_asked(s, params, seats, player):
    """One seat is asked at a time."""
    return player == s.current_player


@helper
def masks_change(s, params, seats):
    """Every action changes a mask."""
    return True


@helper
def apply_actions(s, params, seats, rewards):
    """Carry out the action of the seat to act, and under `auto_forced` those that leave no choice (1.3).

    Returns whether it may have paid anything.
    """
    carry_out(s, params, seats, np.int64(s.pending[s.current_player]), rewards)
    if params.auto_forced:
        play_forced_actions(s, params, seats, rewards)
    return s.end_reason != RUNNING or params.shaping_weight > 0


@routine
def play_forced_actions(s, params, seats, rewards):
    """Play single legal actions until somebody has a choice."""
    while s.end_reason == RUNNING:
        action = only_action(s, params, seats)
        if action == NONE:
            break
        carry_out(s, params, seats, action, rewards)


@helper
def carry_out(s, params, seats, action, rewards):
    """One action of one seat, and what follows from it up to the next seat to act."""
    actor = natural(s.current_player)
    s.length += 1
    if s.phase == PLAY:
        act_in_turn(s, params, seats, action)
    else:
        act_elsewhere(s, params, seats, action)
    if s.end_reason != RUNNING:
        pay_end(s, params, seats, rewards)
    elif params.shaping_weight > 0:
        pay_shaping(s, params, seats, actor, -potential(s, params, seats, actor), rewards)


@routine
def act_elsewhere(s, params, seats, action):
    """An action in OPEN, LAYDOWN, NAME or CHALLENGE."""
    if s.phase == OPEN:
        if action == END_TURN:
            write_history(s, action)
            pass_opening(s, params, seats)
        else:
            open_center(s, params, seats, action)
    elif s.phase == LAYDOWN:
        write_history(s, action)
        lay_down_card(s, params, seats, action)
    elif params.wilds > 0 and s.phase == NAME:
        name_wild(s, params, seats, action)
    elif params.duty_mode == BY_CALLS:
        answer(s, params, seats, action)


# --- The opening (FA5-FA8) --------------------------------------------------------------------------------------------


@routine
def open_center(s, params, seats, action):
    """A starter goes to the centre (F20-F22); but in "encyclopedia" the ordinary first turn begins with it."""
    s.turn_actions += 1
    note_offences(s, params, seats, action)
    if params.opening != ENCYCLOPEDIA:
        s.phase = PLAY
    play_card(s, params, seats, action)
    if is_stock_play(action) and find_goal(s, params, seats, natural(s.turn)):
        end_game(s, GOAL)
    elif s.phase == PLAY:
        go_on_with_turn(s, params, seats)
    else:
        cap_turn(s, params)


@routine
def pass_opening(s, params, seats):
    """A seat without a starter passes; when all have, or in "sequential" at once, hands are laid down (F23)."""
    p = natural(s.turn)
    n = len(seats)
    s.passes += 1
    if params.opening != ENCYCLOPEDIA:
        s.starter_free |= 1 << p
    if params.opening == SEQUENTIAL:
        start_laydown(s, params, seats, p, p)
        return
    dead = is_dead(s, params, seats)
    if not close_turn(s, params, seats):
        return
    if dead:
        open_again(s, params, seats, 0)
    elif s.passes < n:
        set_turn(s, (p + 1) % n)
    elif params.opening == ENCYCLOPEDIA:
        s.phase = PLAY
        begin_turn(s, params, seats, 0)
    else:
        start_laydown(s, params, seats, 0, n - 1)


@routine
def start_laydown(s, params, seats, first, last):
    """Seats first..last lay their hands down (FA6), by themselves the first time under "spread"."""
    s.phase = LAYDOWN
    for p in range(first, last + 1):
        spread = params.first_laydown == SPREAD and params.reserve_piles >= params.hand_size
        if spread and not has(s.laid, p):
            lay_down_spread(s, p)
        s.laid |= 1 << p
    s.current_player = first
    go_on_with_laydown(s, params, seats, last)


@routine
def lay_down_card(s, params, seats, action):
    """One card of a hand laid down."""
    p = natural(s.current_player)
    leave_hand(s, p, discard_rank(action))
    push_reserve(s, p, discard_slot(action), discard_rank(action))
    last = p if params.opening == SEQUENTIAL else len(seats) - 1
    go_on_with_laydown(s, params, seats, last)


@routine
def go_on_with_laydown(s, params, seats, last):
    """Ask the next seat that still has cards; when there is none, new hands are drawn (FA6-FA8)."""
    p = natural(s.current_player)
    while p < last and s.hand_cards[p] == 0:
        p += 1
    if s.hand_cards[p] > 0:
        s.current_player = p
        s.turn = p
        return
    s.phase = OPEN
    if params.opening == SEQUENTIAL:
        fill_hand(s, params, p)
        dead = is_dead(s, params, seats)
        if close_turn(s, params, seats):
            open_again(s, params, seats, 0 if dead else (p + 1) % len(seats))
    else:
        redraw(s, params, seats)
        open_again(s, params, seats, 0)


@routine
def open_again(s, params, seats, p):
    """The opening goes on with seat p; when no hand could be drawn it is over (FA8)."""
    s.passes = 0
    if has_hands(s, seats):
        set_turn(s, p)
    elif not is_dead(s, params, seats):
        begin_turn(s, params, seats, 0)
    else:
        meet_dead_end(s, params, seats)
        if s.end_reason == RUNNING:
            set_turn(s, 0)


@helper
def has_hands(s, seats):
    """Whether anybody has a card in hand."""
    cards = 0
    for p in range(len(seats)):
        cards += s.hand_cards[p]
    return cards > 0
