"""A turn of Flinch: plays, discards, calls, the turn's end (F25-F40)."""

import numpy as np

from ..core.bits import has, natural
from ..core.kernel import helper, routine
from ..core.rng import random_below
from ..core.spec import RUNNING
from .calls import is_right, note_offences, open_window, settle_call
from .cards import (
    NONE,
    RANKS,
    WILD,
    expose,
    fill_hand,
    leave_hand,
    pop_reserve,
    pop_stock,
    push_reserve,
    remember_own,
    write_history,
)
from .center import play_to_center
from .ending import (
    GOAL,
    MAX_PLAYS,
    MAX_TURNS,
    cut_game,
    end_game,
    find_empty_sides,
    find_goal,
    is_dead,
    meet_dead_end,
)
from .moves import (
    BY_CALLS,
    DOWN,
    END_TURN,
    ENFORCED,
    HAND,
    MATE,
    MATE_DOWN,
    NAME,
    NO_CALL,
    PLAY,
    RESERVE,
    STOCK,
    WILD_PLAY,
    discard_rank,
    discard_slot,
    has_play,
    is_discard,
    is_stock_play,
    mate,
)
from .rules import CHANCE_UNIT, MAX_RANK

# Indices of the choices in rules.py, in their order there.
AT_ONCE = 1  # refill
JUMP, WAIT, OFF = range(3)  # blocked
EVERY_ACTION = 1  # challenge_window

HIDDEN_WORD = 255  # stands in the public history for an announced discard


@helper
def set_turn(s, p):
    """Seat p holds the turn."""
    s.turn = p
    s.current_player = p
    s.turn_actions = 0
    s.played = 0
    s.forced = 0
    s.nonstock = 0
    s.skipped_own = 0
    s.skipped_mate = 0
    s.plain = 0
    s.excused = 0


@helper
def begin_turn(s, params, seats, p):
    """Seat p's turn: a Stockpile emptied by a penalty wins (FA22), an empty hand is filled (F29)."""
    set_turn(s, p)
    s.phase = PLAY
    if s.stock_left[p] == 0 and find_goal(s, params, seats, p):
        end_game(s, GOAL)
    elif s.hand_cards[p] == 0:
        fill_hand(s, params, p)


@helper
def act_in_turn(s, params, seats, action):
    """A play, a discard or the turn's end (F25-F30)."""
    s.turn_actions += 1
    note_offences(s, params, seats, action)
    if params.can_expose:
        meet_shown_card(s, action)
    if is_discard(action) or action == END_TURN or (params.can_expose and is_exposing(s, action)):
        if params.duty_mode == BY_CALLS:
            announce_end(s, params, seats, action)
        else:
            finish_turn(s, params, seats, action)
    else:
        play_card(s, params, seats, action)
        if s.phase == PLAY:
            after_play(s, params, seats, action)
        else:
            cap_turn(s, params)


@routine
def announce_end(s, params, seats, action):
    """The turn's end is announced, and the others may call before it counts; a card shown by mistake is shown now."""
    s.announced = action
    if is_discard(action):
        remember_own(s, natural(s.turn), action)
        write_history(s, HIDDEN_WORD)
    else:
        write_history(s, action)
    if is_exposing(s, action):
        expose(s, natural(s.turn), action - HAND)
    open_window(s, params, seats, 1)


@routine
def meet_shown_card(s, action):
    """F39 is met by the turn's first action: the card shown out of turn is played, or the turn is passed."""
    s.excused |= s.due[s.turn] != NONE and (is_discard(action) or action == END_TURN)
    s.due[s.turn] = NONE


@helper
def is_exposing(s, action):
    """F38: whether a hand card is named that fits no pile."""
    fits = np.int64(s.playable_up | s.playable_down)
    return HAND < action <= MAX_RANK and not has(fits, action - HAND)


@helper
def play_card(s, params, seats, action):
    """A card goes to the centre; a wild waits for its name first (FA20)."""
    write_history(s, action)
    owner, place, down = find_card(seats, natural(s.turn), action)
    rank = card_at(s, owner, place)
    if params.wilds > 0 and rank == WILD:
        s.naming = action
        s.phase = NAME
    else:
        move_card(s, params, owner, place, rank, down, 0)


@helper
def find_card(seats, p, action):
    """Whose card a play takes, its place as the owner's up id, and whether it goes on a descending pile."""
    if MATE <= action < WILD_PLAY:
        down = action >= MATE_DOWN
        k = action - MATE_DOWN if down else action - MATE
        return mate(seats, p), (STOCK if k == 0 else RESERVE + k - 1), down
    if DOWN <= action < MATE:
        return p, action - DOWN, True
    return p, action, False


@helper
def card_at(s, owner, place):
    """The rank of the card in a place."""
    if place == STOCK:
        return np.int64(s.stock_rank[owner])
    if place == WILD_PLAY:
        return np.int64(WILD)
    return np.int64(s.top[owner, place - RESERVE]) if place >= RESERVE else place - HAND


@helper
def move_card(s, params, owner, place, rank, down, wild):
    """Take a card from its place and lay it on its pile, a wild as that rank."""
    if place == STOCK:
        pop_stock(s, owner)
        write_history(s, s.stock_rank[owner])
    elif RESERVE <= place < WILD_PLAY:
        pop_reserve(s, owner, place - RESERVE)
    else:
        leave_hand(s, owner, WILD if wild else rank)
        s.holds_starter &= ~((has(np.int64(params.duty_starters), rank) & (wild == 0)) << owner)
    s.opened = 1
    s.played = 1
    s.forced = 0
    play_to_center(s, params, rank, down, wild)


@routine
def name_wild(s, params, seats, action):
    """The wild played before goes to the centre as the rank that is named (FA20)."""
    s.turn_actions += 1
    write_history(s, action)
    played = np.int64(s.naming)
    owner, place, _ = find_card(seats, natural(s.turn), played)
    down = action >= DOWN
    s.phase = PLAY
    s.naming = NONE
    move_card(s, params, owner, place, action - DOWN if down else action, down, 1)
    after_play(s, params, seats, played)


@helper
def after_play(s, params, seats, action):
    """The game may be won (F48); else others may call, or the turn goes on."""
    if is_stock_play(action) and find_goal(s, params, seats, natural(s.turn)):
        end_game(s, GOAL)
    elif params.challenge_window == EVERY_ACTION:
        cap_turn(s, params)
        if s.end_reason == RUNNING:
            open_window(s, params, seats, 0)
    else:
        go_on_with_turn(s, params, seats)


@helper
def cap_turn(s, params):
    """A turn of too many actions is cut."""
    if s.turn_actions >= params.max_plays_per_turn:
        cut_game(s, MAX_PLAYS)


@helper
def go_on_with_turn(s, params, seats):
    """The turn goes on; an empty hand is filled (F29)."""
    if s.turn_actions >= params.max_plays_per_turn:
        cut_game(s, MAX_PLAYS)
    elif s.hand_cards[s.turn] == 0:
        fill_hand(s, params, natural(s.turn))


# --- Calls ------------------------------------------------------------------------------------------------------------


@routine
def answer(s, params, seats, action):
    """A seat asked calls or does not (F33-F37)."""
    write_history(s, action + HIDDEN_WORD * s.current_player)
    called = action != NO_CALL
    if called:
        right = is_right(s, params, action)
        settle_call(s, params, seats, right, action)
        write_history(s, right)
        for p in range(len(seats)):
            write_history(s, s.stock_rank[p])
        if params.empty_by_penalty_wins and find_empty_sides(s, params, seats):
            end_game(s, GOAL)
            return
        if right:
            s.phase = PLAY
            s.announced = NONE
            end_turn(s, params, seats)
            return
    s.polled += 1
    if not called and s.polled < s.polls:
        s.current_player = s.poll_order[s.polled]
        return
    s.phase = PLAY
    s.current_player = s.turn
    if s.ending:
        action = np.int64(s.announced)
        s.announced = NONE
        finish_turn(s, params, seats, action)
    else:
        go_on_with_turn(s, params, seats)


# --- The turn's end ---------------------------------------------------------------------------------------------------


@helper
def finish_turn(s, params, seats, action):
    """The turn ends: a discard is laid down (F30), a card shown by mistake stays in hand (F38), others may show one."""
    p = natural(s.turn)
    if is_discard(action):
        write_history(s, action)
        rank = discard_rank(action)
        leave_hand(s, p, rank)
        push_reserve(s, p, discard_slot(action), rank)
    elif params.duty_mode != BY_CALLS:
        write_history(s, action)
        if params.can_expose and is_exposing(s, action):
            expose(s, p, action - HAND)
    if params.duty_mode == ENFORCED and not s.excused:
        s.starter_free |= 1 << p
    if params.refill == AT_ONCE and s.hand_cards[p] == 0:
        fill_hand(s, params, p)
    if params.expose_parts > 0:
        expose_out_of_turn(s, params, seats)
    end_turn(s, params, seats)


@routine
def expose_out_of_turn(s, params, seats):
    """Each other seat, clockwise, may show a card by accident (F39, FA35)."""
    for k in range(1, len(seats)):
        q = (s.turn + k) % len(seats)
        if s.hand_cards[q] > 0 and s.due[q] == NONE and random_below(s, CHANCE_UNIT) < params.expose_parts:
            j = random_below(s, np.int64(s.hand_cards[q]))
            rank = 1
            while rank < RANKS and j >= s.hand[q, rank]:
                j -= s.hand[q, rank]
                rank += 1
            rank = rank if rank < RANKS else WILD
            s.due[q] = rank
            expose(s, q, rank)
            write_history(s, q * RANKS + rank)


@helper
def end_turn(s, params, seats):
    """Another turn is over: the game may be at its end or blocked (F40); else the next seat's turn begins."""
    if not close_turn(s, params, seats):
        return
    n = len(seats)
    player = (s.turn + 1) % n
    blocked = NONE
    if s.idle_turns >= n and s.left == 0 and s.removed_piles == 0:
        blocked = find_blocker(s, params, seats)
    if blocked != NONE and params.blocked == JUMP:
        player = blocked
        s.idle_turns = 0
    begin_turn(s, params, seats, player)
    s.forced = blocked == player and s.end_reason == RUNNING
    if s.forced:
        write_history(s, player)


@helper
def close_turn(s, params, seats):
    """Count a finished turn; the game may be dead (FA13) or cut. Whether it goes on."""
    s.turns += 1
    s.idle_turns = 0 if s.played else s.idle_turns + 1
    if s.left == 0 and s.removed_piles == 0 and is_dead(s, params, seats):
        meet_dead_end(s, params, seats)
    if s.end_reason == RUNNING and s.turns >= params.max_turns:
        cut_game(s, MAX_TURNS)
    return s.end_reason == RUNNING


@routine
def find_blocker(s, params, seats):
    """FA16: the first seat from the dealer's left that can play, or NONE."""
    if params.blocked == OFF:
        return NONE
    for p in range(len(seats)):
        if has_play(s, params, seats, p):
            return p
    return NONE
