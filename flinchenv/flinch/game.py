"""Flinch as a game of turns: deal, opening, turn, calls, end. Rules F1-F48 and readings FA1-FA37 are cited.

The turn-holder plays as many cards as it likes, one an action, and ends its turn with a discard. Where calls are on,
the others are asked before the turn's end counts. What may be done is in moves.py, the cards are in cards.py and
center.py, calls in calls.py.
"""

import numpy as np

from ..core.bits import has
from ..core.kernel import helper, routine
from ..core.rewards import pay_places
from ..core.rng import random_below
from ..core.spec import COMMON_REASONS, FIRST_OWN_REASON, FORFEIT, RUNNING, game_dtype
from .calls import is_right, note_offences, open_window, settle_call
from .cards import (
    EMPTY,
    MAX_CARDS,
    NONE,
    RANKS,
    WILD,
    deal_stock,
    draw_card,
    expose,
    fill_hand,
    lay_down_spread,
    leave_hand,
    pop_reserve,
    pop_stock,
    push_reserve,
    remember_own,
    reserves_into_stack,
    take_all_cards,
    take_into_hand,
    write_history,
)
from .center import ARM, MAX_PILES, clear_center, play_to_center
from .moves import (
    CHALLENGE,
    DOWN,
    ENCYCLOPEDIA,
    END_TURN,
    ENFORCED,
    HAND,
    LAYDOWN,
    MATE,
    MATE_DOWN,
    NAME,
    NO_CALL,
    OPEN,
    PLAY,
    RESERVE,
    STOCK,
    WILD_PLAY,
    all_plays,
    discard_rank,
    discard_slot,
    is_discard,
    is_stock_play,
    mate,
    only_action,
)
from .rules import CHANCE_UNIT, MAX_PLAYERS, MAX_RANK, MAX_RESERVES

VERSION = 0

# Indices of the choices in rules.py, in their order there.
OFFICIAL, SEQUENTIAL = range(2)
SPREAD, FREE = range(2)
BY_CALLS = 1
AT_TURN_START, AT_ONCE = range(2)
DRAW, FEWEST_STOCK, RESHUFFLE_RESERVES = range(3)
JUMP, WAIT, OFF = range(3)
TURN_END, EVERY_ACTION = range(2)
WIN, STOCK_MARGIN = range(2)

END_REASONS = (*COMMON_REASONS, "goal", "dead", "max_turns", "max_plays_per_turn")
GOAL, DEAD, MAX_TURNS, MAX_PLAYS = range(FIRST_OWN_REASON, len(END_REASONS))

HIDDEN_WORD = 255  # stands in the public history for an announced discard

GAME = game_dtype(
    MAX_PLAYERS,
    [
        ("history", np.uint64),  # a running hash of all that everybody has seen
        ("private", np.uint64, (MAX_PLAYERS,)),  # and of what one seat alone has seen
        ("phase", np.int32),
        ("turn", np.int32),  # whose turn it is; current_player is asked
        ("turns", np.int32),  # finished turns
        ("opened", np.int32),  # a starter has been played to the centre
        ("forced", np.int32),  # the turn-holder must play a card (F40)
        ("passes", np.int32),  # seats that have passed, or turned up, in this round of the opening
        ("laid", np.int32),  # the set of seats that have laid a hand down before
        ("turn_actions", np.int32),
        ("idle_turns", np.int32),  # turns without a centre play, in a row
        ("played", np.int32),  # a card has been played to the centre in this turn
        # what calls are about, of the running turn
        ("nonstock", np.int32),  # an action that was no Stockpile play has been taken
        ("skipped_own", np.int32),  # a playable Stockpile card, still the top, has been passed over
        ("skipped_mate", np.int32),  # the same of the partner's
        ("plain", np.int32),  # the last action was neither a Stockpile play nor a starter's
        ("excused", np.int32),  # the turn is passed for a card shown out of turn (F39)
        ("announced", np.int32),  # the discard that a window keeps waiting, or NONE
        ("ending", np.int32),  # the window is at the turn's end
        ("polls", np.int32),
        ("polled", np.int32),
        ("poll_order", np.int32, (MAX_PLAYERS,)),
        ("naming", np.int32),  # in NAME: the action that plays the wild
        # the Stack
        ("left", np.int32),
        ("removed_piles", np.int32),  # complete piles that wait to be recycled
        ("removed", np.int32, (RANKS,)),  # their cards by rank
        # the centre
        ("playable_up", np.int32),  # the set of ranks that fit by up ids
        ("playable_down", np.int32),
        ("up_tops", np.int32),  # the set of tops of ascending piles
        ("down_tops", np.int32),
        ("ups", np.int8, (RANKS,)),  # ascending piles by top
        ("downs", np.int8, (RANKS,)),
        ("eights", np.int8, (ARM, ARM)),  # F42: piles by how far their high and low ends are from the middle
        # hands, and what is public of them
        ("hand_set", np.int32, (MAX_PLAYERS,)),  # the set of ranks in hand
        ("hand_cards", np.int32, (MAX_PLAYERS,)),
        ("hand", np.int8, (MAX_PLAYERS, RANKS)),  # cards by rank
        ("any_known", np.int32),  # some hand card has been shown
        ("known", np.int8, (MAX_PLAYERS, RANKS)),  # cards that all know to be in hand, by rank
        ("exposed", np.int8, (MAX_PLAYERS, RANKS)),  # those of them that were shown by mistake (F38, F39)
        ("due", np.int32, (MAX_PLAYERS,)),  # the rank shown out of turn, to be played first (F39), or NONE
        ("starter_free", np.int32),  # the set of seats proved to hold no starter
        ("holds_starter", np.int32),  # and of those proved to hold one
        # Stockpiles and Reserve Piles
        ("stock_left", np.int32, (MAX_PLAYERS,)),
        ("stock_rank", np.int32, (MAX_PLAYERS,)),  # the top card, or EMPTY
        ("stock", np.int32, (MAX_PLAYERS,)),  # its node
        ("top", np.int8, (MAX_PLAYERS, MAX_RESERVES)),  # the Reserve Piles' top cards, or EMPTY
        ("pile_cards", np.int16, (MAX_PLAYERS, MAX_RESERVES)),
        ("pile", np.int16, (MAX_PLAYERS, MAX_RESERVES)),  # their nodes
        ("last_left", np.int32, (MAX_PLAYERS,)),  # the side's Stockpile cards after the seat's last action, for shaping
        ("fresh", np.int32),  # nodes never used begin here
        ("freed", np.int32),  # the first node given back
        ("below", np.int16, (MAX_CARDS,)),
        ("card", np.int8, (MAX_CARDS,)),
        ("deck", np.int8, (MAX_CARDS,)),  # the first `left` are the Stack, in no order
        # with wilds, the open piles in the order in which they were started
        ("num_piles", np.int32),
        ("pile_low", np.int8, (MAX_PILES + 1,)),
        ("pile_high", np.int8, (MAX_PILES + 1,)),
        ("pile_wilds", np.int32, (MAX_PILES + 1,)),  # the set of ranks for which a wild stands
    ],
)


# --- The deal ---------------------------------------------------------------------------------------------------------


@helper
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
    s.pile[:] = NONE
    s.pile_cards[:] = 0
    s.announced = NONE
    s.naming = NONE
    s.polls = 0
    s.polled = 0
    s.ending = 0
    for p in range(MAX_PLAYERS):
        s.hand_set[p] = 0
        s.hand_cards[p] = 0
        s.stock[p] = NONE
        s.stock_rank[p] = EMPTY
        s.stock_left[p] = 0
        s.due[p] = NONE
        s.private[p] = np.uint64(0)
    for p in range(len(seats)):
        deal_stock(s, p, np.int64(params.stock_size))
    for p in range(len(seats)):
        s.last_left[p] = side_left(s, params, seats, p)
        for _ in range(params.hand_size):
            take_into_hand(s, p, draw_card(s))
        write_history(s, s.stock_rank[p])
    s.phase = OPEN
    set_turn(s, 0)


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
def side_left(s, params, seats, p):
    """Stockpile cards that a seat's side has left."""
    left = np.int64(s.stock_left[p])
    return left + s.stock_left[mate(seats, p)] if params.partnership else left


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
def same_side(params, seats, p, q):
    """Whether two seats are one side (F44)."""
    return p == q or (params.partnership != 0 and q == mate(seats, p))


@helper
def apply_actions(s, params, seats, rewards):
    """Carry out the action of the seat to act, and under `auto_forced` those that leave no choice (1.3)."""
    carry_out(s, params, seats, np.int64(s.pending[s.current_player]), rewards)
    if params.auto_forced:
        play_forced_actions(s, params, seats, rewards)


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
    actor = np.int64(s.current_player)
    s.length += 1
    if s.phase == PLAY:
        act_in_turn(s, params, seats, action, rewards)
    else:
        act_elsewhere(s, params, seats, action, rewards)
    if params.shaping_weight > 0 and s.end_reason == RUNNING:
        pay_shaping(s, params, seats, actor, -potential(s, params, seats, actor), rewards)


@routine
def act_elsewhere(s, params, seats, action, rewards):
    """An action in OPEN, LAYDOWN, NAME or CHALLENGE."""
    if s.phase == OPEN:
        if action == END_TURN:
            write_history(s, action)
            pass_opening(s, params, seats, rewards)
        else:
            open_center(s, params, seats, action, rewards)
    elif s.phase == LAYDOWN:
        write_history(s, action)
        lay_down_card(s, params, seats, action, rewards)
    elif s.phase == NAME:
        name_wild(s, params, seats, action, rewards)
    else:
        answer(s, params, seats, action, rewards)


# --- The opening (FA5-FA8) --------------------------------------------------------------------------------------------


@routine
def open_center(s, params, seats, action, rewards):
    """A starter goes to the centre (F20-F22); but in the encyclopedia's round the ordinary first turn begins with it."""
    s.turn_actions += 1
    note_offences(s, params, seats, action)
    if params.opening != ENCYCLOPEDIA:
        s.phase = PLAY
    play_card(s, params, seats, action)
    if is_stock_play(action) and find_goal(s, params, seats, np.int64(s.turn)):
        end_game(s, params, seats, GOAL, rewards)
    elif s.phase == PLAY:
        go_on_with_turn(s, params, seats, rewards)
    else:
        cap_turn(s, params, seats, rewards)


@routine
def pass_opening(s, params, seats, rewards):
    """A seat without a starter passes; when all have, or in "sequential" at once, hands are laid down (F23)."""
    p = np.int64(s.turn)
    n = len(seats)
    s.passes += 1
    if params.opening != ENCYCLOPEDIA:
        s.starter_free |= 1 << p
    if params.opening == SEQUENTIAL:
        start_laydown(s, params, seats, p, p, rewards)
        return
    dead = is_dead(s, params, seats)
    if not close_turn(s, params, seats, rewards):
        return
    if dead:
        open_again(s, params, seats, 0, rewards)
    elif s.passes < n:
        set_turn(s, (p + 1) % n)
    elif params.opening == ENCYCLOPEDIA:
        s.phase = PLAY
        begin_turn(s, params, seats, 0, rewards)
    else:
        start_laydown(s, params, seats, 0, n - 1, rewards)


@routine
def start_laydown(s, params, seats, first, last, rewards):
    """Seats first..last lay their hands down (FA6), by themselves the first time under "spread"."""
    s.phase = LAYDOWN
    for p in range(first, last + 1):
        spread = params.first_laydown == SPREAD and params.reserve_piles >= params.hand_size
        if spread and not has(s.laid, p):
            lay_down_spread(s, p)
        s.laid |= 1 << p
    s.current_player = first
    go_on_with_laydown(s, params, seats, last, rewards)


@routine
def lay_down_card(s, params, seats, action, rewards):
    """One card of a hand laid down."""
    p = np.int64(s.current_player)
    leave_hand(s, p, discard_rank(action))
    push_reserve(s, p, discard_slot(action), discard_rank(action))
    last = p if params.opening == SEQUENTIAL else len(seats) - 1
    go_on_with_laydown(s, params, seats, last, rewards)


@routine
def go_on_with_laydown(s, params, seats, last, rewards):
    """Ask the next seat that still has cards; when there is none, new hands are drawn (FA6-FA8)."""
    p = np.int64(s.current_player)
    while p < last and s.hand_cards[p] == 0:
        p += 1
    s.current_player = p
    s.turn = p
    if s.hand_cards[p] > 0:
        return
    s.phase = OPEN
    if params.opening == SEQUENTIAL:
        fill_hand(s, params, p)
        dead = is_dead(s, params, seats)
        if close_turn(s, params, seats, rewards):
            open_again(s, params, seats, 0 if dead else (p + 1) % len(seats), rewards)
    else:
        redraw(s, params, seats)
        open_again(s, params, seats, 0, rewards)


@routine
def redraw(s, params, seats):
    """Every empty hand is drawn anew, in seat order (FA6)."""
    for p in range(len(seats)):
        if s.hand_cards[p] == 0:
            fill_hand(s, params, p)


@routine
def open_again(s, params, seats, p, rewards):
    """The opening goes on with seat p; when no hand could be drawn it is over (FA8)."""
    s.passes = 0
    set_turn(s, p)
    if not has_hands(s, seats):
        if is_dead(s, params, seats):
            meet_dead_end(s, params, seats, rewards)
            set_turn(s, 0)
        else:
            begin_turn(s, params, seats, 0, rewards)


@helper
def has_hands(s, seats):
    """Whether anybody has a card in hand."""
    cards = 0
    for p in range(len(seats)):
        cards += s.hand_cards[p]
    return cards > 0


# --- A turn -----------------------------------------------------------------------------------------------------------


@routine
def begin_turn(s, params, seats, p, rewards):
    """Seat p's turn: a Stockpile emptied by a penalty wins (FA22), an empty hand is filled (F29)."""
    set_turn(s, p)
    s.phase = PLAY
    if s.stock_left[p] == 0 and find_goal(s, params, seats, p):
        end_game(s, params, seats, GOAL, rewards)
    elif s.hand_cards[p] == 0:
        fill_hand(s, params, p)


@helper
def act_in_turn(s, params, seats, action, rewards):
    """A play, a discard or the turn's end (F25-F30)."""
    p = np.int64(s.turn)
    s.turn_actions += 1
    if params.duty_mode != ENFORCED or params.stock_duty != 0:
        note_offences(s, params, seats, action)
    if params.can_expose:
        meet_shown_card(s, action)
    if is_discard(action) or action == END_TURN:
        s.announced = action
        if params.duty_mode == BY_CALLS:
            remember_own(s, p, action)
            write_history(s, HIDDEN_WORD if is_discard(action) else END_TURN)
            open_window(s, params, seats, 1)
        else:
            finish_turn(s, params, seats, rewards)
    elif params.can_expose and is_exposing(s, action):
        write_history(s, action)
        expose(s, p, action - HAND)
        s.announced = NONE
        if params.duty_mode == BY_CALLS:
            open_window(s, params, seats, 1)
        else:
            finish_turn(s, params, seats, rewards)
    else:
        play_card(s, params, seats, action)
        if s.phase == PLAY:
            after_play(s, params, seats, action, rewards)
        else:
            cap_turn(s, params, seats, rewards)


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
    rank, down = source(s, params, seats, action)
    if rank == WILD:
        s.naming = action
        s.phase = NAME
    else:
        move_card(s, params, seats, action, rank, down, 0)


@helper
def source(s, params, seats, action):
    """The rank of the card that an action plays, and whether it goes on a descending pile."""
    p = np.int64(s.turn)
    down = False
    if action == WILD_PLAY:
        return np.int64(WILD), False
    if action >= MATE:
        down = action >= MATE_DOWN
        action = action - MATE_DOWN if down else action - MATE
        p = mate(seats, p)
        if action > 0:
            return np.int64(s.top[p, action - 1]), down
    elif action >= DOWN:
        down = True
        action -= DOWN
    if action == STOCK:
        return np.int64(s.stock_rank[p]), down
    if action >= RESERVE:
        return np.int64(s.top[p, action - RESERVE]), down
    return action - HAND, down


@helper
def move_card(s, params, seats, action, rank, down, wild):
    """Take a card from where the action finds it and lay it on its pile."""
    p = np.int64(s.turn)
    if action == WILD_PLAY:
        leave_hand(s, p, WILD)
    else:
        if action >= MATE:
            action = action - MATE_DOWN if action >= MATE_DOWN else action - MATE
            action = STOCK if action == 0 else RESERVE + action - 1
            p = mate(seats, p)
        elif action >= DOWN:
            action -= DOWN
        if action == STOCK:
            pop_stock(s, p)
            write_history(s, s.stock_rank[p])
        elif action >= RESERVE:
            pop_reserve(s, p, action - RESERVE)
        else:
            leave_hand(s, p, rank)
            s.holds_starter &= ~(has(np.int64(params.duty_starters), rank) << p)
    s.opened = 1
    s.played = 1
    s.forced = 0
    play_to_center(s, params, rank, down, wild)


@routine
def name_wild(s, params, seats, action, rewards):
    """The wild played before goes to the centre as the rank that is named (FA20)."""
    s.turn_actions += 1
    write_history(s, action)
    down = action >= DOWN
    s.phase = PLAY
    played = np.int64(s.naming)
    s.naming = NONE
    move_card(s, params, seats, played, action - DOWN if down else action, down, 1)
    after_play(s, params, seats, played, rewards)


@helper
def after_play(s, params, seats, action, rewards):
    """The game may be won (F48); else others may call, or the turn goes on."""
    if is_stock_play(action) and find_goal(s, params, seats, np.int64(s.turn)):
        end_game(s, params, seats, GOAL, rewards)
    elif params.challenge_window == EVERY_ACTION:
        cap_turn(s, params, seats, rewards)
        if s.end_reason == RUNNING:
            open_window(s, params, seats, 0)
    else:
        go_on_with_turn(s, params, seats, rewards)


@helper
def cap_turn(s, params, seats, rewards):
    """A turn of too many actions is cut."""
    if s.turn_actions >= params.max_plays_per_turn:
        cut_game(s, params, seats, MAX_PLAYS, rewards)


@helper
def go_on_with_turn(s, params, seats, rewards):
    """The turn goes on; an empty hand is filled (F29)."""
    if s.turn_actions >= params.max_plays_per_turn:
        cut_game(s, params, seats, MAX_PLAYS, rewards)
    elif s.hand_cards[s.turn] == 0:
        fill_hand(s, params, np.int64(s.turn))


# --- Calls ------------------------------------------------------------------------------------------------------------


@routine
def answer(s, params, seats, action, rewards):
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
            end_game(s, params, seats, GOAL, rewards)
            return
        if right:
            s.phase = PLAY
            s.announced = NONE
            end_turn(s, params, seats, rewards)
            return
    s.polled += 1
    if not called and s.polled < s.polls:
        s.current_player = s.poll_order[s.polled]
        return
    s.phase = PLAY
    s.current_player = s.turn
    if s.ending:
        finish_turn(s, params, seats, rewards)
    else:
        go_on_with_turn(s, params, seats, rewards)


# --- The turn's end ---------------------------------------------------------------------------------------------------


@helper
def finish_turn(s, params, seats, rewards):
    """The turn ends as announced: the discard is laid down (F30) and others may drop a card (F39)."""
    p = np.int64(s.turn)
    action = np.int64(s.announced)
    if action != NONE:
        write_history(s, action)
        if is_discard(action):
            rank = discard_rank(action)
            leave_hand(s, p, rank)
            push_reserve(s, p, discard_slot(action), rank)
        s.announced = NONE
    if params.duty_mode == ENFORCED and not s.excused:
        s.starter_free |= 1 << p
    if params.refill == AT_ONCE and s.hand_cards[p] == 0:
        fill_hand(s, params, p)
    if params.expose_parts > 0:
        expose_out_of_turn(s, params, seats)
    end_turn(s, params, seats, rewards)


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
def end_turn(s, params, seats, rewards):
    """Another turn is over: the game may be at its end or blocked (F40); else the next seat's turn begins."""
    if not close_turn(s, params, seats, rewards):
        return
    n = len(seats)
    player = (s.turn + 1) % n
    blocked = NONE
    if s.idle_turns >= n and s.left == 0 and s.removed_piles == 0:
        blocked = find_blocker(s, params, seats)
    if blocked != NONE and params.blocked == JUMP:
        player = blocked
        s.idle_turns = 0
    begin_turn(s, params, seats, player, rewards)
    s.forced = blocked == player
    if s.forced:
        write_history(s, player)


@helper
def close_turn(s, params, seats, rewards):
    """Count a finished turn; the game may be dead (FA13) or cut. Whether it goes on."""
    s.turns += 1
    s.idle_turns = 0 if s.played else s.idle_turns + 1
    if s.left == 0 and s.removed_piles == 0 and is_dead(s, params, seats):
        meet_dead_end(s, params, seats, rewards)
    if s.end_reason == RUNNING and s.turns >= params.max_turns:
        cut_game(s, params, seats, MAX_TURNS, rewards)
    return s.end_reason == RUNNING


@routine
def is_dead(s, params, seats):
    """FA13: nothing to draw, and nobody has a card that could be played, duties ignored."""
    if s.left > 0 or s.removed_piles > 0:
        return False
    for p in range(len(seats)):
        if all_plays(s, params, seats, p):
            return False
    return True


@routine
def find_blocker(s, params, seats):
    """FA16: the first seat from the dealer's left that can play, or NONE."""
    if params.blocked == OFF:
        return NONE
    for p in range(len(seats)):
        if all_plays(s, params, seats, p):
            return p
    return NONE


# --- The game's end ---------------------------------------------------------------------------------------------------


@routine
def find_goal(s, params, seats, p):
    """Whether the side of seat p has no Stockpile card left (F1, F45); then its members are the winners."""
    if side_left(s, params, seats, p) > 0:
        return False
    for q in range(len(seats)):
        s.winners[q] = same_side(params, seats, p, q)
    return True


@routine
def find_empty_sides(s, params, seats):
    """Mark as winners the members of every side without a Stockpile card; whether there is one."""
    found = False
    for p in range(len(seats)):
        s.winners[p] = side_left(s, params, seats, p) == 0
        found |= s.winners[p] != 0
    return found


@routine
def meet_dead_end(s, params, seats, rewards):
    """FA13: a draw, a win of the fewest Stockpile cards, or a new Stack of all Reserve Piles."""
    if not find_empty_sides(s, params, seats):  # an empty Stockpile of FA22 wins
        if params.deadlock == RESHUFFLE_RESERVES and reserves_into_stack(s, params, seats) > 0:
            if s.phase == OPEN:
                redraw(s, params, seats)
            return
        if params.deadlock == FEWEST_STOCK:
            fewest = side_left(s, params, seats, 0)
            for p in range(1, len(seats)):
                fewest = min(fewest, side_left(s, params, seats, p))
            for p in range(len(seats)):
                s.winners[p] = side_left(s, params, seats, p) == fewest
    end_game(s, params, seats, DEAD, rewards)


@routine
def end_game(s, params, seats, reason, rewards):
    """The game is over: pay places or Stockpile cards (1.3 Reward)."""
    s.end_reason = reason
    winners = 0
    for p in range(len(seats)):
        winners += s.winners[p]
    if params.reward == WIN and winners > 0:
        pay_places(s.winners, seats, num_sides(params, seats), rewards)
    settle(s, params, seats, rewards)


@routine
def cut_game(s, params, seats, reason, rewards):
    """A cap of the rules truncates the game."""
    s.end_reason = reason
    s.truncated = 1
    settle(s, params, seats, rewards)


@routine
def settle(s, params, seats, rewards):
    """Pay what is owed at any end: Stockpile cards ahead, unless forfeited, and the rest of the shaping.

    The potential of a terminal state is 0, that of a truncated one is its own.
    """
    if params.reward == STOCK_MARGIN and s.end_reason != FORFEIT:
        pay_stock_margin(s, params, seats, rewards)
    if params.shaping_weight > 0:
        for p in range(len(seats)):
            rest = -potential(s, params, seats, p) if s.truncated else 0.0
            pay_shaping(s, params, seats, p, rest, rewards)


@helper
def num_sides(params, seats):
    """How many sides play."""
    return len(seats) // 2 if params.partnership else len(seats)


@helper
def pay_stock_margin(s, params, seats, rewards):
    """The mean of the other sides' Stockpile cards less the own side's, as a share of what a side begins with."""
    n = len(seats)
    members = n // num_sides(params, seats)
    total = 0
    for p in range(n):
        total += np.int64(s.stock_left[p])
    for p in range(n):
        own = side_left(s, params, seats, p)
        others = (total - own) / (num_sides(params, seats) - 1)
        rewards[p] += (others - own) / (params.stock_size * members)


@helper
def potential(s, params, seats, p):
    """The share of its Stockpile cards that a side still has: minus the potential of the shaping."""
    return side_left(s, params, seats, p) / (params.stock_size * (1 + params.partnership))


@routine
def pay_shaping(s, params, seats, p, now, rewards):
    """Add weight * (discount * potential now - potential after the seat's last action) (1.3 Reward)."""
    last = -s.last_left[p] / (params.stock_size * (1 + params.partnership))
    rewards[p] += params.shaping_weight * (params.shaping_discount * now - last)
    s.last_left[p] = side_left(s, params, seats, p)
