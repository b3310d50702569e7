"""Flash 10 as a game of ticks: deal, ask, mask, resolve, score. Rules T1-T17 and readings TA1-TA20 are cited.

In each tick every ready seat chooses from the same state: a seat with a card in hand lays it on a slot of its row, an
empty-handed one draws, stops or waits. What a seat does keeps it busy for some ticks. Action ids: 0..9 lay the held
card on that slot, then DRAW, STOP, WAIT. When the round has ended, whoever still holds a card lays it (T8).
"""

import numpy as np

from ..core.bits import count_bits, nth_bit_of_byte, put_bits
from ..core.kernel import helper, routine
from ..core.rewards import mark_leaders, pay_margin, pay_places
from ..core.rng import GAMMA, HALF, LOW, mix, random_below, scale_down
from ..core.spec import COMMON_REASONS, FIRST_OWN_REASON, RUNNING, game_dtype
from .rows import FACES, NONE, THUNDER, give_back, lay, may_be_stopped, score_row, take_card, turn_up
from .rules import MAX_NUMBERS, MAX_PLAYERS, MAX_ROW, MAX_THUNDERS, MISREAD_UNIT

VERSION = 0

MAX_CARDS = MAX_NUMBERS + MAX_THUNDERS
DRAW, STOP, WAIT = range(MAX_ROW, MAX_ROW + 3)
NUM_ACTIONS = MAX_ROW + 3

RUN, FINAL_PLACE = range(2)  # phase
RIGHT, FALSE = 1, -1  # a Stop that was called

# Indices of the choices in rules.py, in their order there.
MATCH, ROUND = range(2)
FAIR, FASTEST, SEAT_ROTATING = range(3)
DRAW_AND_PLACE, AUTO_DRAW = range(2)
LIMITED, FORBIDDEN, FREE = range(3)
MARGIN, POINTS, WIN = range(3)
FIRST, ALL_VALID = range(2)
SHARED, EXTRA_ROUND = range(2)

END_REASONS = (*COMMON_REASONS, "goal", "max_rounds", "stop", "exhausted", "max_ticks")
GOAL, MAX_ROUNDS, STOPPED, EXHAUSTED, MAX_TICKS = range(FIRST_OWN_REASON, len(END_REASONS))

EVENT = np.uint64(12)  # bits of one seat's event in the history
DREW, CALLED, WAITED = 1021, 1022, 1023  # events beside placements, which are below

GAME = game_dtype(
    MAX_PLAYERS,
    [
        ("history", np.uint64),  # a running hash of all that everybody has seen
        ("seen", np.uint64, (2,)),  # bit n % 64 of word n // 64: number card n has been face up in this round
        ("tick", np.int32),  # of the running round, from 1
        ("phase", np.int32),
        ("left", np.int32),  # cards in the middle
        ("idle", np.int32),  # idle ticks in a row
        ("ready_at", np.int32, (MAX_PLAYERS,)),  # the tick from which the seat may choose
        ("held", np.int32, (MAX_PLAYERS,)),  # card in hand, or NONE
        ("busy", np.int32, (MAX_PLAYERS,)),  # mean duration of what the seat did last
        ("thunders", np.int8, (MAX_PLAYERS,)),  # Thunders visible in the row
        ("stoppable", np.int8, (MAX_PLAYERS,)),  # the row may be stopped
        ("check", np.int8, (MAX_PLAYERS,)),  # what the seat itself believes of that
        ("told", np.int8, (MAX_PLAYERS,)),  # others can tell what it believes
        ("called", np.int8, (MAX_PLAYERS,)),  # RIGHT or FALSE, once it has called Stop
        ("row", np.int8, (MAX_PLAYERS, MAX_ROW)),
        ("shown", np.int8, (2 * MAX_PLAYERS * FACES * MAX_ROW,)),  # all rows as observations show them, twice over
        ("deck", np.int8, (MAX_CARDS,)),  # the first `left` are the middle, in no order
        ("first", np.int32),  # who goes first under priority "seat_rotating"
        ("order", np.int32, (MAX_PLAYERS,)),  # scratch: who goes first in a tick
        ("cause", np.int32),  # what ended the round
        ("last_taker", np.int32),  # who took the last card of the middle
        ("rounds", np.int32),  # finished rounds
        ("overtime", np.int32),  # somebody has reached the target
        ("gains", np.int32, (MAX_PLAYERS,)),  # points of the last finished round
    ],
)


# --- The round's course -----------------------------------------------------------------------------------------------


@helper
def deal(s, params, seats):
    """Take all cards (T1) and open the first round."""
    for k in range(params.numbers):
        s.deck[k] = k
    for k in range(params.thunders):
        s.deck[params.numbers + k] = THUNDER
    for k in range(params.numbers + params.thunders, MAX_CARDS):
        s.deck[k] = NONE
    s.history = np.uint64(0)
    s.rounds = 0
    s.overtime = 0
    for p in range(len(seats)):
        s.gains[p] = 0
    open_round(s, params, seats)
    s.current_player = first_asked(s, params, seats)


@routine
def open_round(s, params, seats):
    """Deal every seat its row (T4), all turn it over (T5), and go to the first tick that asks somebody."""
    s.phase = RUN
    s.tick = 0
    s.idle = 0
    s.cause = RUNNING
    s.last_taker = NONE
    s.left = params.numbers + params.thunders
    s.seen[:] = np.uint64(0)
    s.shown[:] = 0
    for p in range(len(seats)):
        s.held[p] = NONE
        s.called[p] = 0
        s.thunders[p] = 0
        for i in range(MAX_ROW):
            s.row[p, i] = 0
        for i in range(params.row_len):
            turn_up(s, params, seats, p, i, take_card(s))
        s.stoppable[p] = may_be_stopped(s, params, p)
        s.check[p] = s.stoppable[p]
        s.told[p] = 1
        remember_row(s, p)
    s.first = random_below(s, len(seats)) if params.priority == SEAT_ROTATING else 0
    for p in range(len(seats)):
        s.busy[p] = params.t_flip[p]
        s.ready_at[p] = duration(s, params, params.t_flip[p])
        if params.waits == FREE:  # else chance could let nobody be ready before max_ticks
            s.ready_at[p] = min(s.ready_at[p], max(params.max_ticks, params.t_flip[p]))
    go_on(s, params, seats)


@helper
def remember_row(s, p):
    """A dealt row is seen by all."""
    cards = np.uint64(0)
    for i in range(MAX_ROW):
        cards = cards * np.uint64(THUNDER + 1) + np.uint64(s.row[p, i])
    write_history(s, cards)


@helper
def write_history(s, word):
    """Add what everybody sees to the running hash."""
    s.history = (s.history ^ word) * GAMMA + np.uint64(s.tick)
    s.history ^= s.history >> HALF


@helper
def go_on(s, params, seats):
    """Go to the next tick that asks somebody, or to the end of the round; ticks that ask nobody play themselves."""
    go_to_next_tick(s, params, seats)
    if params.pace == AUTO_DRAW:
        while s.phase == RUN and not asks_somebody(s, params, seats):
            draw_unasked(s, params, seats)
            if s.phase == RUN:
                go_to_next_tick(s, params, seats)


@helper
def go_to_next_tick(s, params, seats):
    """The next tick in which a seat is ready; under idle "free" the round ends after tick max_ticks (TA12)."""
    tick = s.ready_at[0]
    for p in range(1, len(seats)):
        tick = min(tick, s.ready_at[p])
    tick = max(tick, s.tick + 1)
    late = params.waits == FREE and tick > params.max_ticks
    if late:
        tick = params.max_ticks
    s.length += tick - s.tick
    s.tick = tick
    if late:
        end_round(s, seats, MAX_TICKS)


@routine
def draw_unasked(s, params, seats):
    """A tick of pace "auto_draw" in which every ready seat draws without being asked."""
    resolve_tick(s, params, seats)


@helper
def end_round(s, seats, cause):
    """No more draws; who holds a card lays it in a tick of its own (T8, TA7)."""
    s.phase = FINAL_PLACE
    s.cause = cause
    if somebody_holds(s, seats):
        s.tick += 1
        s.length += 1


@helper
def somebody_holds(s, seats):
    """Whether a seat has a card in hand."""
    found = False
    for p in range(len(seats)):
        found |= s.held[p] != NONE
    return found


# --- Who is asked, and for what ---------------------------------------------------------------------------------------


@helper
def is_ready(s, p):
    """Whether what the seat did last keeps it busy no longer."""
    return s.ready_at[p] <= s.tick


@helper
def draws_unasked(s, params, p):
    """Whether an empty-handed seat draws by itself: pace "auto_draw", and its row may not be stopped."""
    return params.pace == AUTO_DRAW and s.check[p] == 0


@helper
def is_asked(s, params, seats, player):
    """Whether `player` chooses in this tick: if ready, or after the round's end if it holds a card."""
    if s.phase == FINAL_PLACE:
        return s.held[player] != NONE
    return is_ready(s, player) and (s.held[player] != NONE or not draws_unasked(s, params, player))


@helper
def asks_somebody(s, params, seats):
    """Whether any seat is asked."""
    found = False
    for p in range(len(seats)):
        found |= is_asked(s, params, seats, p)
    return found


@helper
def legal_ids(s, params, seats, player):
    """Bits of the ids open to a seat (3.3, TA10-TA12): WAIT alone for one that is not asked."""
    if not is_asked(s, params, seats, player):
        return 1 << WAIT
    if s.held[player] != NONE:
        return (1 << params.row_len) - 1
    ids = 1 << DRAW
    if s.check[player] or not params.checked_stop:
        ids |= 1 << STOP
    if s.check[player] or params.waits != FORBIDDEN:
        ids |= 1 << WAIT
    return ids


@helper
def fill_action_mask(s, params, seats, player, mask):
    """Mark the ids open to `player` in this tick."""
    put_bits(mask, 0, legal_ids(s, params, seats, player), NUM_ACTIONS)


@helper
def masks_change(s, params, seats):
    """Nearly every tick changes a mask."""
    return True


# --- A tick -----------------------------------------------------------------------------------------------------------


@helper
def apply_actions(s, params, seats, rewards):
    """Carry out the choices in `s.pending`, then go on to the next tick that asks somebody, or to the next deal."""
    if s.phase == RUN:
        resolve_tick(s, params, seats)
        if s.phase == RUN:
            go_on(s, params, seats)
        over = s.phase == FINAL_PLACE and not somebody_holds(s, seats)
    else:
        place_last_cards(s, params, seats)
        over = True
    if over:
        finish_round(s, params, seats, rewards)
    s.current_player = first_asked(s, params, seats)


@helper
def first_asked(s, params, seats):
    """The lowest seat that is asked."""
    first = 0
    for p in range(len(seats) - 1, -1, -1):
        if is_asked(s, params, seats, p):
            first = p
    return first


@helper
def resolve_tick(s, params, seats):
    """Carry out one tick's choices in its order (3.3, Order of things 1 to 6)."""
    draws = 0
    stops = 0
    acts = 0
    for p in range(len(seats)):
        if not is_asked(s, params, seats, p):
            s.pending[p] = DRAW if is_ready(s, p) else WAIT
        draws += s.pending[p] == DRAW
        stops += s.pending[p] == STOP
        acts += s.pending[p] != WAIT
    if acts > 0:
        s.idle = 0
    elif params.waits != FREE:
        s.idle += 1
        if s.idle > params.max_idle_ticks:
            s.idle = 0
            s.pending[random_ready_seat(s, seats)] = DRAW
            draws = 1
    events = np.uint64(0)
    if stops > 0 or draws >= s.left:
        events |= resolve_last_tick(s, params, seats)
    else:  # nothing can end the round, and the cards are drawn at random: the order makes no difference
        for p in range(len(seats)):
            events |= act(s, params, seats, p, np.int64(s.pending[p])) << (EVENT * np.uint64(p))
        if params.priority == SEAT_ROTATING and draws > 1:
            s.first = (s.first + 1) % len(seats)
    write_history(s, events)


@routine
def random_ready_seat(s, seats):
    """Who is made to draw when all have waited too long (TA12)."""
    ready = 0
    for p in range(len(seats)):
        ready += is_ready(s, p)
    k = random_below(s, ready)
    for p in range(len(seats)):
        if is_ready(s, p):
            if k == 0:
                return p
            k -= 1
    return 0


@routine
def resolve_last_tick(s, params, seats):
    """A tick in which a Stop, or the draw of the last card, may end the round: then the order counts (TA8, T10)."""
    n = len(seats)
    draw_order(s, params, seats)
    cause = RUNNING
    moves = 0
    events = np.uint64(0)
    for k in range(n):
        p = s.order[k]
        action = np.int64(s.pending[p])
        if action == STOP and (cause == RUNNING or (cause == STOPPED and params.stop_resolution == ALL_VALID)):
            s.called[p] = RIGHT if s.stoppable[p] else FALSE
            cause = STOPPED
            events |= np.uint64(CALLED) << (EVENT * np.uint64(p))
        elif action == WAIT or (action != STOP and cause == RUNNING):
            events |= act(s, params, seats, p, action) << (EVENT * np.uint64(p))
            if action == DRAW and s.left == 0:
                cause = EXHAUSTED
                s.last_taker = p
        moves += action in (DRAW, STOP)
    if cause != RUNNING:
        end_round(s, seats, cause)
    elif params.priority == SEAT_ROTATING and moves > 1:
        s.first = (s.first + 1) % n
    return events


@helper
def draw_order(s, params, seats):
    """Put into `s.order` who goes before whom among the ready seats; the others follow, and do nothing."""
    n = len(seats)
    ready = 0
    for k in range(n):
        p = (s.first + k) % n if params.priority == SEAT_ROTATING else k
        if is_ready(s, p):
            s.order[ready] = p
            ready += 1
    k = ready
    for p in range(n):
        if not is_ready(s, p):
            s.order[k] = p
            k += 1
    if params.priority != SEAT_ROTATING:
        for k in range(ready - 1, 0, -1):
            j = random_below(s, k + 1)
            s.order[k], s.order[j] = s.order[j], s.order[k]
    if params.priority == FASTEST:
        for k in range(1, ready):
            for j in range(k, 0, -1):
                if cycle(params, s.order[j]) < cycle(params, s.order[j - 1]):
                    s.order[j], s.order[j - 1] = s.order[j - 1], s.order[j]


@helper
def cycle(params, p):
    """Mean ticks from one draw of a seat to its next."""
    return params.t_draw[p] + params.t_place[p]


@helper
def act(s, params, seats, p, action):
    """Draw, lay or wait; what the others see of it, as an event of `s.history`."""
    event = np.uint64(0)
    if action < MAX_ROW:
        event = np.uint64(action * (THUNDER + 1) + s.held[p])
        place_card(s, params, seats, p, action)
        s.busy[p] = params.t_place[p]
    elif action == DRAW:
        event = np.uint64(DREW)
        s.held[p] = take_card(s)
        s.busy[p] = params.t_draw[p]
        s.ready_at[p] = s.tick + duration(s, params, params.t_draw[p])
    elif is_ready(s, p):
        event = np.uint64(WAITED)
        s.ready_at[p] = s.tick + 1
        if params.waits == FORBIDDEN:
            s.told[p] = 1
    return event


@helper
def duration(s, params, mean):
    """Ticks that something takes: its mean, or with speed_noise 1 + a geometric number of mean `mean` - 1."""
    if params.speed_noise:
        return noisy(s, mean)
    return np.int64(mean)


@routine
def noisy(s, mean):
    """1 + the failures before a success of probability 1 / mean."""
    ticks = 1
    while random_below(s, mean) != 0:
        ticks += 1
    return ticks


@helper
def place_card(s, params, seats, p, slot):
    """Lay the held card on a slot (T6, T7) and look whether the row may be stopped now."""
    was = s.stoppable[p]
    lay(s, params, seats, p, slot)
    s.check[p] = s.stoppable[p]
    s.told[p] = 1
    if params.misread > 0:
        s.check[p] ^= random_below(s, MISREAD_UNIT) < params.misread
        s.told[p] = 0
    ticks = duration(s, params, params.t_place[p])
    if s.stoppable[p] and not was:
        ticks += duration(s, params, params.t_check[p]) - 1
    s.ready_at[p] = s.tick + ticks


@routine
def place_last_cards(s, params, seats):
    """FINAL_PLACE: every card in hand is laid (T8)."""
    events = np.uint64(0)
    for p in range(len(seats)):
        if s.held[p] != NONE:
            slot = np.int64(s.pending[p])
            events |= np.uint64(slot * (THUNDER + 1) + s.held[p]) << (EVENT * np.uint64(p))
            lay(s, params, seats, p, slot)
            s.check[p] = s.stoppable[p]
    write_history(s, events)


@routine
def finish_round(s, params, seats, rewards):
    """SCORE: note and pay the points (T9-T14), then end the game or deal again."""
    for p in range(len(seats)):
        s.gains[p] = round_points(s, params, p)
        s.scores[p] += s.gains[p]
    s.rounds += 1
    if params.reward == MARGIN:
        pay_margin(s.gains, seats, rewards)
    elif params.reward == POINTS:
        for p in range(len(seats)):
            rewards[p] += s.gains[p]
    s.end_reason = find_end(s, params, seats)
    if s.end_reason == RUNNING:
        open_round(s, params, seats)
    else:
        mark_leaders(s, seats)
        if params.reward == WIN:
            pay_places(s.winners, seats, rewards)


@helper
def round_points(s, params, p):
    """A seat's points of the round: a false caller has none (T11, TA9), a right one two more (T9)."""
    if s.called[p] == FALSE:
        return 0
    points = score_row(s, params, p)
    if s.called[p] == RIGHT:
        points += 2
    if params.last_card_stop and s.cause == EXHAUSTED and s.last_taker == p and s.stoppable[p]:
        points += 2
    if params.floor_zero:
        points = max(points, 0)
    return points


@helper
def find_end(s, params, seats):
    """The reason why the game ends after this round, or RUNNING (T15, TA15)."""
    if params.episode == ROUND:
        return s.cause
    most = s.scores[0]
    for p in range(1, len(seats)):
        most = max(most, s.scores[p])
    leaders = 0
    for p in range(len(seats)):
        leaders += s.scores[p] == most
    if most >= params.target_score:
        s.overtime = 1
    if s.overtime and (leaders == 1 or params.tie == SHARED):
        return GOAL
    if s.rounds >= params.max_rounds:
        return MAX_ROUNDS
    return RUNNING


# --- Chance and hidden cards ------------------------------------------------------------------------------------------


@helper
def random_actions(s, params, seats, counter):
    """Fill `s.pending` with uniform legal ids of the asked seats; the number of seats with two or more of them."""
    decisions = 0
    for p in range(len(seats)):
        counter = counter + GAMMA
        if is_asked(s, params, seats, p):
            draw = mix(counter) & LOW
            if s.held[p] != NONE:
                s.pending[p] = scale_down(draw, params.row_len)
                decisions += 1
            else:
                ids = legal_ids(s, params, seats, p) >> DRAW
                count = count_bits(ids)
                s.pending[p] = DRAW + nth_bit_of_byte(ids, scale_down(draw, count))
                decisions += count > 1
    return decisions


@helper
def redraw_hidden(s, params, seats, player):
    """Draw anew what `player` cannot know: others' cards in hand, their checks, and how long noise keeps them busy."""
    redraw_hands(s, seats, player)
    for p in range(len(seats)):
        if p != player:
            if params.misread > 0 and not s.told[p]:
                s.check[p] = s.stoppable[p] ^ (random_below(s, MISREAD_UNIT) < params.misread)
            if params.speed_noise and not is_ready(s, p):  # a geometric number has no memory
                s.ready_at[p] = s.tick + noisy(s, s.busy[p])


@routine
def redraw_hands(s, seats, player):
    """Redeal the middle and the others' hands among their places, uniformly: cards that `player` has never seen."""
    hands = 0
    for p in range(len(seats)):
        if p != player and s.held[p] != NONE:
            give_back(s, np.int64(s.held[p]))
            hands += 1
    for p in range(len(seats)):
        if p != player and s.held[p] != NONE:
            s.held[p] = take_card(s)
