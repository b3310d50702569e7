"""Flash 10 as a game of ticks: deal, ask, mask, resolve, score. Rules T1-T17 and readings TA1-TA20 are cited.

In each tick every ready seat chooses from the same state: a seat with a card in hand lays it on a slot of its row, an
empty-handed one draws, stops or waits. What a seat does keeps it busy for some ticks. Action ids: 0..9 lay the held
card on that slot, then DRAW, STOP, WAIT. When the round has ended, whoever still holds a card lays it (T8).
"""

import numpy as np

from ..core.bits import (
    as_byte,
    clipped,
    count_bits,
    first_bit,
    has,
    natural,
    nth_bit,
    put_bits,
    where_equal,
    where_less,
    with_bit,
)
from ..core.kernel import helper, routine
from ..core.rewards import mark_leaders, pay_margin, pay_places
from ..core.rng import GAMMA, HALF, LOW, mix, random_below, scale_down
from ..core.spec import COMMON_REASONS, FIRST_OWN_REASON, RUNNING, game_dtype
from .rows import NONE, THUNDER, give_back, lay, may_be_stopped, score_row, sort_deck, take_card, turn_up
from .rules import MAX_NUMBERS, MAX_PLAYERS, MAX_ROW, MAX_THUNDERS, MISREAD_UNIT

VERSION = 0

MAX_CARDS = MAX_NUMBERS + MAX_THUNDERS
DRAW, STOP, WAIT = range(MAX_ROW, MAX_ROW + 3)
NUM_ACTIONS = MAX_ROW + 3

RUN, FINAL_PLACE = range(2)  # phase

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

PLACEMENT = np.uint64(12)  # bits of a seat's placement in the history

GAME = game_dtype(
    MAX_PLAYERS,
    [
        ("history", np.uint64),  # a running hash of all that everybody has seen
        ("seen", np.uint64, (2,)),  # bit n % 64 of word n // 64: number card n has been face up in this round
        # sets of seats, bit p for seat p
        ("asked", np.int32),  # who chooses in this tick
        ("holding", np.int32),  # who has a card in hand
        ("stoppable", np.int32),  # whose row may be stopped
        ("checked", np.int32),  # who believes that of its own row
        ("told", np.int32),  # of whom the others can tell what it believes
        ("right", np.int32),  # who has called Stop, rightly
        ("false", np.int32),  # or not
        ("ledger", np.uint64, (MAX_PLAYERS,)),  # points and last points as observations show them, in the upper bytes
        ("tick", np.int32),  # of the running round, from 1
        ("phase", np.int32),
        ("left", np.int32),  # cards in the middle
        ("idle", np.int32),  # idle ticks in a row
        ("ready_at", np.int32, (MAX_PLAYERS,)),  # the tick from which the seat may choose
        ("held", np.int32, (MAX_PLAYERS,)),  # card in hand, or NONE
        ("marks", np.int32, (MAX_PLAYERS,)),  # bit i: slot i shows a Thunder; bit MAX_ROW + i: a Flash card
        ("row", np.int8, (MAX_PLAYERS, MAX_ROW)),
        ("deck", np.int8, (MAX_CARDS,)),  # the first `left` are the middle, in no order
        # under speed_noise, for `redraw_hidden`:
        ("busy", np.int32, (MAX_PLAYERS,)),  # the mean duration of what the seat did last
        ("busy_since", np.int32, (MAX_PLAYERS,)),  # the tick in which it did so
        ("noticing", np.int32),  # the seats that t_check keeps busy, too
        ("beliefs", np.uint64, (MAX_PLAYERS,)),  # under p_misread, a running hash of the seat's own checks
        ("first", np.int32),  # who goes first under priority "seat_rotating"
        ("order", np.int32, (MAX_PLAYERS,)),  # scratch: who goes first in a tick
        ("cause", np.int32),  # what ended the round
        ("last_taker", np.int32),  # who took the last card of the middle
        ("rounds", np.int32),  # finished rounds
        ("overtime", np.int32),  # somebody has reached the target
        ("gains", np.int32, (MAX_PLAYERS,)),  # points of the last finished round
    ],
)
FRONT = (GAME.itemsize,) * (MAX_PLAYERS + 1)


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
        s.ledger[p] = np.uint64(0)
        s.beliefs[p] = np.uint64(0)
    open_round(s, params, seats)
    ask(s, params, seats)


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
    s.holding = 0
    s.stoppable = 0
    s.right = 0
    s.false = 0
    for p in range(len(seats)):
        s.held[p] = NONE
        s.marks[p] = 0
        for i in range(params.row_len):
            turn_up(s, p, i, take_card(s))
        for i in range(params.row_len, MAX_ROW):
            s.row[p, i] = 0
        s.stoppable |= may_be_stopped(s, params, p) << p
        remember_row(s, p)
    s.checked = s.stoppable
    s.told = (1 << len(seats)) - 1
    s.first = random_below(s, len(seats)) if params.priority == SEAT_ROTATING else 0
    for p in range(len(seats)):
        s.ready_at[p] = duration(s, params, params.t_flip[p])
        keep_busy(s, params, p, params.t_flip[p], 0)
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
        while s.phase == RUN and asked_seats(s, params, seats) == 0:
            draw_unasked(s, params, seats)
            if s.phase == RUN:
                go_to_next_tick(s, params, seats)


@helper
def go_to_next_tick(s, params, seats):
    """The next tick in which a seat is ready; under idle "free" the round ends after tick max_ticks (TA12)."""
    tick = np.int64(s.ready_at[0])
    for p in range(1, len(seats)):
        if s.ready_at[p] < tick:  # numba compiles this faster than `min`
            tick = np.int64(s.ready_at[p])
    if tick <= s.tick:
        tick = np.int64(s.tick) + 1
    late = params.waits == FREE and tick > params.max_ticks
    if late:
        tick = np.int64(params.max_ticks)
    s.length += tick - s.tick
    s.tick = tick
    if late:
        end_round(s, seats, MAX_TICKS, ready_seats(s, seats))


@routine
def draw_unasked(s, params, seats):
    """A tick of pace "auto_draw" in which every ready seat draws without being asked."""
    s.asked = 0
    resolve_tick(s, params, seats)


@routine
def end_round(s, seats, cause, waiting):
    """No more draws; who holds a card lays it in a tick of its own (T8, TA7). `waiting` is who waited to the end."""
    s.phase = FINAL_PLACE
    s.cause = cause
    for p in range(len(seats)):
        if has(waiting, p):
            s.ready_at[p] = s.tick + 1
    if s.holding:
        s.tick += 1
        s.length += 1


# --- Who is asked, and for what ---------------------------------------------------------------------------------------


@helper
def ready_seats(s, seats):
    """The seats which what they did last keeps busy no longer."""
    return where_less(s.ready_at, s.tick + 1, seats)


@helper
def asked_seats(s, params, seats):
    """The seats that choose in this tick: the ready ones, and after the round's end those that hold a card.

    Under pace "auto_draw" an empty-handed seat whose row may not be stopped draws without being asked.
    """
    if s.phase == FINAL_PLACE:
        return np.int64(s.holding)
    asked = ready_seats(s, seats)
    if params.pace == AUTO_DRAW:
        asked &= s.holding | s.checked
    return asked


@helper
def ask(s, params, seats):
    """Note who chooses in this tick."""
    s.asked = asked_seats(s, params, seats)
    s.current_player = first_bit(s.asked) if s.asked else 0


@helper
def is_asked(s, params, seats, player):
    """Whether `player` chooses in this tick."""
    return has(s.asked, player) != 0


@helper
def legal_ids(s, params, seats, player):
    """Bits of the ids open to a seat (3.3, TA10-TA12): WAIT alone for one that is not asked."""
    checked = has(s.checked, player)
    ids = 1 << DRAW
    ids |= (checked | (params.checked_stop == 0)) << STOP
    ids |= (checked | (params.waits != FORBIDDEN)) << WAIT
    if has(s.holding, player):
        ids = (1 << np.int64(params.row_len)) - 1
    return ids if has(s.asked, player) else 1 << WAIT


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
    """Carry out the choices in `s.pending`, then go on to the next tick that asks somebody, or to the next deal.

    Returns whether the round has ended.
    """
    if s.phase == RUN:
        resolve_tick(s, params, seats)
        if s.phase == RUN:
            go_on(s, params, seats)
        over = s.phase == FINAL_PLACE and not s.holding
    else:
        place_last_cards(s, params, seats)
        over = True
    if over:
        finish_round(s, params, seats, rewards)
    ask(s, params, seats)
    return over


@helper
def resolve_tick(s, params, seats):
    """Carry out one tick's choices in its order (3.3, Order of things 1 to 6)."""
    ready = np.int64(s.asked) if params.pace == DRAW_AND_PLACE else ready_seats(s, seats)
    places = where_less(s.pending, MAX_ROW, seats) & s.asked
    stops = where_equal(s.pending, STOP, seats) & s.asked
    draws = where_equal(s.pending, DRAW, seats) & s.asked
    if params.pace == AUTO_DRAW:
        draws |= ready & ~s.asked
    if places | draws | stops:
        s.idle = 0
    elif params.waits != FREE:
        s.idle += 1
        if s.idle > params.max_idle_ticks:
            s.idle = 0
            draws = 1 << nth_bit(ready, random_below(s, count_bits(ready)))  # TA12: one is made to draw
    if params.waits == FORBIDDEN:
        s.told |= ready & ~(places | draws | stops)  # waiting tells that a seat believes its row to be done
    if stops or count_bits(draws) >= s.left:
        resolve_last_tick(s, params, seats, ready, places, draws, stops)
        return
    # Nothing can end the round, and the cards are drawn at random: the order makes no difference.
    if params.priority == SEAT_ROTATING and count_bits(draws) > 1:
        s.first = (s.first + 1) % len(seats)
    word = public_acts(ready, draws, stops)
    while places:  # a walk over each set has fewer unforeseen branches than a look at each seat
        p = first_bit(places)
        places &= places - 1
        word ^= placement(s, p)
        place_card(s, params, p)
    while draws:
        p = first_bit(draws)
        draws &= draws - 1
        draw_card(s, params, p)
    write_history(s, word)


@helper
def public_acts(ready, draws, stops):
    """What all see of a tick beside the placements, for the history."""
    return np.uint64(ready | draws << MAX_PLAYERS | stops << 2 * MAX_PLAYERS) * GAMMA


@helper
def placement(s, p):
    """What all see of a placement, for the history."""
    return np.uint64(s.pending[p] * (THUNDER + 1) + s.held[p] + 1) << (PLACEMENT * np.uint64(p))


@routine
def resolve_last_tick(s, params, seats, ready, places, draws, stops):
    """A tick in which a Stop, or the draw of the last card, may end the round: then the order counts (TA8, T10)."""
    num_ready = draw_order(s, params, ready, len(seats))
    cause = RUNNING
    drawn = 0
    word = np.uint64(0)
    for k in range(num_ready):
        p = np.int64(s.order[k])
        if has(stops, p):
            if cause == RUNNING or (cause == STOPPED and params.stop_resolution == ALL_VALID):
                s.right |= has(s.stoppable, p) << p
                s.false |= (has(s.stoppable, p) ^ 1) << p
                cause = STOPPED
        elif cause == RUNNING and has(places, p):
            word ^= placement(s, p)
            place_card(s, params, p)
        elif cause == RUNNING and has(draws, p):
            draw_card(s, params, p)
            drawn |= 1 << p
            if s.left == 0:
                cause = EXHAUSTED
                s.last_taker = p
    write_history(s, word ^ public_acts(ready, drawn, np.int64(s.right | s.false)))
    write_history(s, np.uint64(s.last_taker + 1))
    if cause != RUNNING:
        end_round(s, seats, cause, ready & ~(places | draws | stops))
    elif params.priority == SEAT_ROTATING and count_bits(draws) > 1:
        s.first = (s.first + 1) % len(seats)


@helper
def draw_order(s, params, ready, n):
    """Put into `s.order` who goes before whom among the ready seats; their number."""
    num_ready = 0
    for k in range(n):
        p = (s.first + k) % n if params.priority == SEAT_ROTATING else k
        if has(ready, p):
            s.order[num_ready] = p
            num_ready += 1
    if params.priority != SEAT_ROTATING:
        for k in range(num_ready - 1, 0, -1):
            j = random_below(s, k + 1)
            s.order[k], s.order[j] = s.order[j], s.order[k]
    if params.priority == FASTEST:
        for k in range(1, num_ready):
            for j in range(k, 0, -1):
                if cycle(params, s.order[j]) < cycle(params, s.order[j - 1]):
                    s.order[j], s.order[j - 1] = s.order[j - 1], s.order[j]
    return num_ready


@helper
def cycle(params, p):
    """Mean ticks from one draw of a seat to its next."""
    return params.t_draw[p] + params.t_place[p]


@helper
def draw_card(s, params, p):
    """Take a card from the middle (T6)."""
    s.held[p] = take_card(s)
    s.holding |= 1 << p
    s.ready_at[p] = s.tick + duration(s, params, params.t_draw[p])
    keep_busy(s, params, p, params.t_draw[p], 0)


@helper
def keep_busy(s, params, p, mean, noticing):
    """Note what keeps a seat busy; without noise its end is known to all."""
    if params.speed_noise:
        s.busy[p] = mean
        s.busy_since[p] = s.tick
        s.noticing = with_bit(s.noticing, p, noticing)


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
def place_card(s, params, p):
    """Lay the held card on the chosen slot (T6, T7) and look whether the row may be stopped now."""
    was = has(s.stoppable, p)
    done = lay(s, params, p, natural(s.pending[p]))
    s.checked = with_bit(s.checked, p, done)
    if params.misread > 0:
        s.checked ^= (random_below(s, MISREAD_UNIT) < params.misread) << p
        s.told &= ~(1 << p)
        s.beliefs[p] = (s.beliefs[p] ^ np.uint64(has(s.checked, p))) * GAMMA + np.uint64(1)
    ticks = duration(s, params, params.t_place[p])
    finishes = done and not was
    if finishes:
        ticks += duration(s, params, params.t_check[p]) - 1
    s.ready_at[p] = s.tick + ticks
    keep_busy(s, params, p, params.t_place[p], finishes)


@routine
def place_last_cards(s, params, seats):
    """FINAL_PLACE: every card in hand is laid (T8)."""
    word = np.uint64(0)
    for p in range(len(seats)):
        if has(s.holding, p):
            word ^= placement(s, p)
            s.checked = with_bit(s.checked, p, lay(s, params, p, np.int64(s.pending[p])))
    write_history(s, word)


@routine
def finish_round(s, params, seats, rewards):
    """SCORE: note and pay the points (T9-T14), then end the game or deal again."""
    for p in range(len(seats)):
        s.gains[p] = round_points(s, params, p)
        s.scores[p] += s.gains[p]
        s.ledger[p] = as_byte(clipped(s.scores[p]), 4) | as_byte(clipped(-s.scores[p]), 5)
        s.ledger[p] |= as_byte(clipped(s.gains[p]), 6) | as_byte(clipped(-s.gains[p]), 7)
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
            pay_places(s.winners, seats, len(seats), rewards)


@helper
def round_points(s, params, p):
    """A seat's points of the round: a false caller has none (T11, TA9), a right one two more (T9)."""
    if has(s.false, p):
        return 0
    points = score_row(s, params, p)
    points += 2 * has(s.right, p)
    if params.last_card_stop and s.cause == EXHAUSTED and s.last_taker == p and has(s.stoppable, p):
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
    """Fill `s.pending` with uniform legal ids; the number of seats with two or more of them."""
    decisions = 0
    draw = np.uint64(0)
    for p in range(len(seats)):
        if p % 2 == 0:  # each draw has two halves
            counter = counter + GAMMA
            draw = mix(counter)
        ids = legal_ids(s, params, seats, p)
        count = count_bits(ids)
        s.pending[p] = nth_bit(ids, scale_down(draw & LOW, count))
        draw = draw >> HALF
        decisions += count > 1
    return decisions


@helper
def redraw_hidden(s, params, seats, player):
    """Draw anew what `player` cannot know: others' hands and checks, how long noise keeps them busy, who goes first."""
    redraw_hands(s, params, seats, player)
    if params.priority == SEAT_ROTATING:
        s.first = random_below(s, len(seats))
    ready = ready_seats(s, seats)
    for p in range(len(seats)):
        if p != player:
            if params.misread > 0 and not has(s.told, p):
                wrong = random_below(s, MISREAD_UNIT) < params.misread
                s.checked = with_bit(s.checked, p, has(s.stoppable, p) ^ wrong)
            if params.speed_noise and not has(ready, p):
                s.ready_at[p] = s.tick + ticks_left(s, params, p)


@routine
def ticks_left(s, params, p):
    """How much longer a busy seat may take, given what it does and since when."""
    if not has(s.noticing, p):
        return noisy(s, s.busy[p])  # a geometric number has no memory
    gone = np.int64(s.tick) - s.busy_since[p]
    total = np.int64(0)
    while total <= gone:
        total = noisy(s, s.busy[p]) + noisy(s, params.t_check[p]) - 1
    return total - gone


@routine
def redraw_hands(s, params, seats, player):
    """Redeal the middle and the others' hands among their places, uniformly: cards that `player` has never seen."""
    hands = s.holding & ~(1 << player)
    for p in range(len(seats)):
        if has(hands, p):
            give_back(s, np.int64(s.held[p]))
    # what is drawn from here on does not depend on where the cards lay
    sort_deck(s, 0, np.int64(s.left))
    sort_deck(s, np.int64(s.left), np.int64(params.numbers + params.thunders))
    for p in range(len(seats)):
        if has(hands, p):
            s.held[p] = take_card(s)
