"""How a game of Flinch ends and what it pays (F1, F45, F48, FA13, FA22, 1.3 Reward and End)."""

import numpy as np

from ..core.kernel import helper, routine
from ..core.rewards import pay_places
from ..core.spec import COMMON_REASONS, FIRST_OWN_REASON, FORFEIT
from .cards import redraw, reserves_into_stack
from .moves import OPEN, has_play, mate

END_REASONS = (*COMMON_REASONS, "goal", "dead", "max_turns", "max_plays_per_turn")
GOAL, DEAD, MAX_TURNS, MAX_PLAYS = range(FIRST_OWN_REASON, len(END_REASONS))

# Indices of the choices in rules.py, in their order there.
DRAW, FEWEST_STOCK, RESHUFFLE_RESERVES = range(3)
WIN, STOCK_MARGIN = range(2)


@helper
def same_side(params, seats, p, q):
    """Whether two seats are one side (F44)."""
    return p == q or (params.partnership != 0 and q == mate(seats, p))


@helper
def side_left(s, params, seats, p):
    """Stockpile cards that a seat's side has left."""
    left = np.int64(s.stock_left[p])
    return left + s.stock_left[mate(seats, p)] if params.partnership else left


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
def is_dead(s, params, seats):
    """FA13: nothing to draw, and nobody has a card that could be played, duties ignored."""
    if s.left > 0 or s.removed_piles > 0:
        return False
    alive = False
    for p in range(len(seats)):
        alive |= has_play(s, params, seats, p)
    return not alive


@routine
def meet_dead_end(s, params, seats):
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
    end_game(s, DEAD)


@helper
def end_game(s, reason):
    """The game is over; what it pays is paid once the action has been carried out."""
    s.end_reason = reason


@helper
def cut_game(s, reason):
    """A cap of the rules truncates the game."""
    s.end_reason = reason
    s.truncated = 1


@routine
def pay_end(s, params, seats, rewards):
    """Pay a finished game: places among the sides that won, and what is owed at any end (1.3 Reward)."""
    winners = 0
    for p in range(len(seats)):
        winners += s.winners[p]
    if params.reward == WIN and winners > 0:
        pay_places(s.winners, seats, num_sides(params, seats), rewards)
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
