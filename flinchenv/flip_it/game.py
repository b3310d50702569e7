"""Flip It as a game: deal, ask, mask, apply, pay. Rules P1-P17 and readings PA1-PA16 are cited where they act.

Action ids are fixed whatever the rules: a guess g is id g (0..20), a play of value v is id 21 + v, and a joint action
is 6 * g + v. A seat that has no Guess Card left has no guess: it sends guess 0, which then plays no card (PA11).
"""

import numpy as np

from ..core.bits import count_bits, nth_bit, nth_bit_of_byte, one_bit, put_bits, put_pairs
from ..core.kernel import helper, routine
from ..core.rewards import mark_leaders, pay_margin, pay_places
from ..core.rng import GAMMA, HALF, LOW, mix, random_below, scale_down
from ..core.spec import COMMON_REASONS, FIRST_OWN_REASON, RUNNING, game_dtype
from .rules import MAX_GUESS, MAX_PLAY, MAX_PLAYERS

VERSION = 0

NUM_GUESSES = MAX_GUESS + 1
NUM_PLAYS = MAX_PLAY + 1
PLAY = NUM_GUESSES  # id of playing the value 0
NUM_PHASED = NUM_GUESSES + NUM_PLAYS
NUM_JOINT = NUM_GUESSES * NUM_PLAYS

NONE = -1  # no guess, or nothing flipped yet
MAX_HISTORY = 8

GUESSING, PLAYING = range(2)  # phase

# Indices of the choices in rules.py, in their order there.
PHASED, JOINT = range(2)
GOAL_SCORE, GOAL_HANDS, GOAL_GUESS_CARDS_GONE = range(3)
MARGIN, POINTS, WIN = range(3)
EXACT, CLOSEST = range(2)
BASIC, CAPTURE = range(2)
RETURN, DISCARD = range(2)
KEEP_OWN, SHARE, NOBODY = range(3)
RETURNED, CONSUMED = range(2)
END, CONTINUE = range(2)
SIMULTANEOUS, SEQUENTIAL = range(2)

END_REASONS = (*COMMON_REASONS, "goal", "guess_cards", "max_hands")
GOAL, GUESS_CARDS, MAX_HANDS = range(FIRST_OWN_REASON, len(END_REASONS))

SIX = np.uint64(NUM_PLAYS)

GAME = game_dtype(
    MAX_PLAYERS,
    [  # what every hand touches first, the rest at the end: fewer cache lines
        ("history", np.uint64),  # a running hash of every finished hand
        ("guess_cards", np.int32, (MAX_PLAYERS,)),  # bit g: Guess Card g is in the hand
        ("play_cards", np.int32, (MAX_PLAYERS,)),  # bit v: Play Card v is in the hand
        ("guess", np.int32, (MAX_PLAYERS,)),  # set aside in the running hand, or NONE
        ("play", np.int32, (MAX_PLAYERS,)),  # flipped in the running hand, or NONE
        ("hands", np.int32),  # finished hands
        ("phase", np.int32),
        ("won", np.int8, (MAX_PLAYERS,)),  # who won the last finished hand
        ("past", np.int32, (MAX_HISTORY, MAX_PLAYERS)),  # hand h in row h & past_mask: the phased ids chosen, as bits
        ("gains", np.int32, (MAX_PLAYERS,)),  # points won in the last hand that had a winner
        ("spent", np.int32, (MAX_PLAYERS,)),  # bit g: Guess Card g was discarded (PA5)
        ("win_pile", np.int8, (MAX_PLAYERS, NUM_GUESSES)),  # how many of each Guess Card
    ],
)
FRONT = (GAME.itemsize,) * (MAX_PLAYERS + 1)


@helper
def deal(s, params, seats):
    """Give every seat its full sets (P1, P2); there is no chance in this game."""
    for p in range(len(seats)):
        s.guess_cards[p] = params.all_guesses
        s.play_cards[p] = params.all_plays
        s.spent[p] = 0
        s.guess[p] = NONE
        s.play[p] = NONE
        s.gains[p] = 0
        s.won[p] = 0
    s.win_pile[:] = 0
    s.past[:] = 0
    s.hands = 0
    s.phase = GUESSING
    s.current_player = 0
    s.history = np.uint64(0)


@helper
def is_asked(s, params, seats, player):
    """Whether `player` chooses in this round: all do, but for a seat without a guess to make, or out of turn."""
    if params.flip_order == SEQUENTIAL:
        return player == s.current_player
    return s.phase == PLAYING or params.actions == JOINT or s.guess_cards[player] != 0


@helper
def legal_guesses(s, player):
    """Bits of the guess ids open to a seat: its Guess Cards, or 0 alone for 'no guess' (PA11)."""
    return s.guess_cards[player] if s.guess_cards[player] != 0 else 1


@helper
def fill_action_mask(s, params, seats, player, mask):
    """Mark the ids open to `player` in this round (P5, P6, PA16: impossible guesses are legal)."""
    if params.actions == JOINT:
        put_pairs(mask, 0, legal_guesses(s, player), NUM_GUESSES, s.play_cards[player], NUM_PLAYS)
    elif params.flip_order == SEQUENTIAL and player != s.current_player:
        put_bits(mask, 0, 0, NUM_PHASED)
    elif s.phase == GUESSING:
        put_bits(mask, 0, legal_guesses(s, player), NUM_PHASED)
    else:
        put_bits(mask, 0, s.play_cards[player] << PLAY, NUM_PHASED)


@helper
def masks_change(s, params, seats):
    """Whether the last round moved cards, or opened another phase: joint masks change with the cards alone."""
    change = params.actions != JOINT or params.loser_guess == DISCARD or params.play_cards == CONSUMED
    for p in range(len(seats)):
        change |= s.won[p] != 0
    return change


@helper
def apply_actions(s, params, seats, rewards):
    """Carry out the choices in `s.pending`: guesses set aside, cards flipped, the hand settled when all are.

    Returns whether it was.
    """
    all_flipped = True
    if params.flip_order == SEQUENTIAL:
        all_flipped = apply_in_turn(s, seats)
    elif params.actions == JOINT:
        for p in range(len(seats)):
            guess = np.int64(np.uint64(s.pending[p]) // SIX)  # unsigned: a cheaper division
            set_aside(s, p, guess)
            s.play[p] = s.pending[p] - NUM_PLAYS * guess
    elif s.phase == GUESSING:
        for p in range(len(seats)):
            set_aside(s, p, np.int64(s.pending[p]))
        s.phase = PLAYING
        s.current_player = 0
        all_flipped = False
    else:
        for p in range(len(seats)):
            s.play[p] = s.pending[p] - PLAY
    if all_flipped:
        settle_hand(s, params, seats, rewards)
    return all_flipped


@routine
def apply_in_turn(s, seats):
    """PA12: guesses in ascending order without showing, then flips in turn from seat `hands` mod n, each public.

    Returns whether every seat has flipped.
    """
    p = np.int64(s.current_player)
    if s.phase == GUESSING:
        set_aside(s, p, np.int64(s.pending[p]))
        p = next_with_guess_cards(s, seats, p + 1)
        if p < len(seats):
            s.current_player = p
        else:
            s.phase = PLAYING
            s.current_player = s.hands % len(seats)
        return False
    s.play[p] = s.pending[p] - PLAY
    s.current_player = (p + 1) % len(seats)
    return s.play[s.current_player] != NONE


@helper
def set_aside(s, p, guess):
    """P5; a seat without Guess Cards sets nothing aside."""
    s.guess[p] = guess if s.guess_cards[p] != 0 else NONE


@helper
def next_with_guess_cards(s, seats, p):
    """The first seat from p upwards that has a Guess Card, or P."""
    while p < len(seats) and s.guess_cards[p] == 0:
        p += 1
    return p


@helper
def settle_hand(s, params, seats, rewards):
    """Add up, score, record and pay one hand, then end the game or open the next hand (P8-P16)."""
    total = np.int64(0)
    for p in range(len(seats)):
        total += s.play[p]
    num_winners = find_winners(s, params, seats, total)
    if num_winners > 0:
        for p in range(len(seats)):
            s.gains[p] = 0
        if params.scoring == BASIC:
            score_basic(s, params, len(seats))
        else:
            score_capture(s, params, len(seats), num_winners)
        pay_gains(s, params, seats, rewards)
    if params.loser_guess == DISCARD and (params.scoring == BASIC or num_winners == 0):
        discard_guesses(s, len(seats))
    if params.play_cards == CONSUMED:
        consume_play_cards(s, params, len(seats))
    remember_hand(s, params, seats)
    s.end_reason = find_end(s, params, seats, num_winners > 0 or params.loser_guess == DISCARD)
    if s.end_reason == RUNNING:
        s.phase = GUESSING
        s.current_player = next_with_guess_cards(s, seats, np.int64(0)) if params.actions == PHASED else 0
    else:
        mark_leaders(s, seats)
        if params.reward == WIN:
            pay_places(s.winners, seats, len(seats), rewards)


@helper
def find_winners(s, params, seats, total):
    """Mark in `s.won` who wins the hand and count them: the exact guesses (P9, P11), or the closest ones (PA3)."""
    if params.win_rule == CLOSEST:
        return find_closest(s, len(seats), total)
    num_winners = 0
    for p in range(len(seats)):
        s.won[p] = s.guess[p] == total
        num_winners += s.won[p]
    return num_winners


@routine
def find_closest(s, n, total):
    """PA3: every seat at the least distance from the total wins; a seat without a guess cannot."""
    least = 2 * MAX_GUESS
    for p in range(n):
        if s.guess[p] != NONE:
            least = min(least, abs(s.guess[p] - total))
    num_winners = 0
    for p in range(n):
        s.won[p] = s.guess[p] != NONE and abs(s.guess[p] - total) == least
        num_winners += s.won[p]
    return num_winners


@routine
def score_basic(s, params, n):
    """P11, P12: winners keep their own card for a point and its spots."""
    for p in range(n):
        if s.won[p]:
            keep_own(s, params, p)


@routine
def keep_own(s, params, p):
    """The winner's card goes to its pile for 1 + spots and leaves the hand."""
    guess = s.guess[p]
    s.guess_cards[p] &= ~(1 << guess)
    s.win_pile[p, guess] += 1
    s.gains[p] += 1 + params.spots[guess]


@routine
def score_capture(s, params, n, num_winners):
    """P16, PA7, PA8: the winner takes the others' used cards, scores its own spots and takes its own card back.

    Several winners keep their own cards, share the losers' cards (each to the next winner clockwise), or score nothing.
    """
    if num_winners > 1 and params.capture_multi == NOBODY:
        return
    everybody = num_winners == n
    keeping = num_winners > 1 and (params.capture_multi == KEEP_OWN or everybody)
    for p in range(n):
        if s.won[p] and keeping:
            keep_own(s, params, p)
        elif s.won[p]:
            s.gains[p] += params.spots[s.guess[p]]
        elif not keeping and s.guess[p] != NONE:
            winner = (p + 1) % n
            while not s.won[winner]:
                winner = (winner + 1) % n
            capture(s, params, p, winner)


@routine
def capture(s, params, loser, winner):
    """The loser's used card goes to the winner's pile for 1, or 1 + spots under capture_spots (PA6)."""
    guess = s.guess[loser]
    s.guess_cards[loser] &= ~(1 << guess)
    s.win_pile[winner, guess] += 1
    s.gains[winner] += 1
    if params.capture_spots:
        s.gains[winner] += params.spots[guess]


@helper
def pay_gains(s, params, seats, rewards):
    """Add the hand's gains to the scores and, but for reward "win", pay them."""
    for p in range(len(seats)):
        s.scores[p] += s.gains[p]
    if params.reward == MARGIN:
        pay_margin(s.gains, seats, rewards)
    elif params.reward == POINTS:
        for p in range(len(seats)):
            rewards[p] += s.gains[p]


@routine
def discard_guesses(s, n):
    """PA5: used cards that won nothing are spent; without this option they just stay in the hand."""
    for p in range(n):
        if s.guess[p] != NONE and not s.won[p]:
            s.guess_cards[p] &= ~(1 << s.guess[p])
            s.spent[p] |= 1 << s.guess[p]


@routine
def consume_play_cards(s, params, n):
    """PA9: a used Play Card is gone until the whole set is used up; by default none ever leaves the hand."""
    for p in range(n):
        s.play_cards[p] &= ~(1 << s.play[p])
        if s.play_cards[p] == 0:
            s.play_cards[p] = params.all_plays


@helper
def remember_hand(s, params, seats):
    """Write the hand into the public past and clear the table (PA14: all of it is public now)."""
    row = s.hands & params.past_mask  # no more rows in use than are shown
    packed = np.uint64(1)
    for p in range(len(seats)):
        s.past[row, p] = 1 << PLAY + s.play[p] | one_bit(s.guess[p])
        packed = (packed << np.uint64(8)) | np.uint64((s.guess[p] + 1) << 3 | s.play[p])
        s.guess[p] = NONE
        s.play[p] = NONE
    s.history = (s.history ^ packed) * GAMMA
    s.history ^= s.history >> HALF
    s.hands += 1
    s.length = s.hands


@helper
def find_end(s, params, seats, cards_moved):
    """The reason why the game ends after this hand, tested in the binding order, or RUNNING.

    Where no card has moved nobody can have reached a score or run out of cards: those need no look.
    """
    empty = 0
    most = 0
    if cards_moved:
        for p in range(len(seats)):
            empty += s.guess_cards[p] == 0
            if s.scores[p] > most:
                most = s.scores[p]
    if params.goal_kind == GOAL_SCORE and most >= params.goal_number:
        return GOAL
    if params.goal_kind == GOAL_HANDS and s.hands >= params.goal_number:
        return GOAL
    if params.goal_kind == GOAL_GUESS_CARDS_GONE and empty > 0:
        return GOAL
    if empty == len(seats) or (empty > 0 and params.no_guess_cards == END):
        return GUESS_CARDS
    if s.hands >= params.max_hands:
        return MAX_HANDS
    return RUNNING


@helper
def redraw_hidden(s, params, seats, player):
    """Draw anew the guesses that others have set aside in the running hand, uniformly over their Guess Cards."""
    for p in range(len(seats)):
        if p != player and s.guess[p] != NONE:
            s.guess[p] = nth_bit(s.guess_cards[p], random_below(s, count_bits(s.guess_cards[p])))


@helper
def random_actions(s, params, seats, counter):
    """Fill `s.pending` with uniform legal ids of the asked seats; the number of seats with two or more of them."""
    decisions = 0
    for p in range(len(seats)):
        counter = counter + GAMMA
        if is_asked(s, params, seats, p):
            draw = mix(counter)
            guesses = legal_guesses(s, p)
            plays = s.play_cards[p]
            num_guesses = count_bits(guesses)
            num_plays = count_bits(plays)
            g = nth_bit(guesses, scale_down(draw >> HALF, num_guesses))
            v = nth_bit_of_byte(plays, scale_down(draw & LOW, num_plays))
            if params.actions == JOINT:
                s.pending[p] = NUM_PLAYS * g + v
                decisions += num_guesses * num_plays > 1
            elif s.phase == GUESSING:
                s.pending[p] = g
                decisions += num_guesses > 1
            else:
                s.pending[p] = PLAY + v
                decisions += num_plays > 1
    return decisions
