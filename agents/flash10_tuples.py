"""Flash 10, learnt: a row's value as a sum of weights, one for each pair of near slots and what lies there.

An n-tuple network (Bledsoe and Browning 1959; Lucas 2008) on afterstates: the value of a row is how many more draws it
takes to finish it, less than zero. `experiments/train_td.py` learns the weights.
"""

import numpy as np

from flinchenv.core.kernel import helper, kernel
from flinchenv.core.params import kernel_params, refuse
from flinchenv.flash10.game import DRAW, STOP, WAIT
from flinchenv.flash10.rows import THUNDER, may_be_stopped, take_card, turn_up

from .agent import DeterministicAgent

NEAR = 3  # pairs of slots up to so far apart
BINS = 20  # numbers are told apart by their share of the deck's; Thunders have a bin of their own


def tuples_shape(rules):
    """The weights' shape: (distance - 1, left slot, left bin, right bin)."""
    return (NEAR, rules.row_len - 1, BINS + 1, BINS + 1)


def first_tuples(rules):
    """Weights to start from, float32: rows are better in order and with each number near its share of the slots."""
    shape = tuples_shape(rules)
    _, slot, left, right = np.meshgrid(*map(np.arange, shape), indexing="ij")
    weights = np.zeros(shape, np.float32)
    share = BINS / rules.row_len
    misplaced = np.abs(left + 0.5 - (slot + 0.5) * share) + np.abs(right + 0.5 - (slot + 1.5) * share)
    rising = np.where(left < right, 0, np.where(left == right, 1, 2))
    if rules.row_shape == "mountain":
        peak = rules.row_len // 2
        rising = np.where(slot < peak, rising, rising[:, :, ::-1, ::-1])
        misplaced = np.zeros(shape)
    thunder = (left == BINS) | (right == BINS)
    weights[0] = -np.where(thunder, 2, rising + 0.15 * misplaced)[0]
    return weights


@helper
def bin_of(card, params):
    """Which bin a card falls into."""
    return BINS if card == THUNDER else card * BINS // params.numbers


@helper
def row_value(row, params, weights):
    """The value of a row (L,)."""
    value = np.float32(0)
    for near in range(NEAR):
        for i in range(params.row_len - 1 - near):
            value += weights[near, i, bin_of(row[i], params), bin_of(row[i + 1 + near], params)]
    return value


@helper
def learn_row(row, params, weights, change):
    """Add `change` to every weight that the row's value is the sum of."""
    for near in range(NEAR):
        for i in range(params.row_len - 1 - near):
            weights[near, i, bin_of(row[i], params), bin_of(row[i + 1 + near], params)] += change


@helper
def best_slot(row, params, weights, card):
    """The slot that leaves the best row; the lowest of equals. `row` is (L,) and is written to for a while."""
    best, chosen = np.float32(-1e30), 0
    for slot in range(params.row_len):
        covered = row[slot]
        row[slot] = card
        value = row_value(row, params, weights)
        row[slot] = covered
        if value > best:
            best, chosen = value, slot
    return chosen


@kernel
def choose_slots(rows, held, rules, weights, slots):
    """The best slot of each row: int64 (N, L), (N,) -> (N,); the rows are left as they were."""
    for i in range(len(rows)):
        slots[i] = best_slot(rows[i], rules[0], weights, held[i])


@kernel
def learn_alone(games, rules, weights, rate, num_games, before, row):
    """Play `num_games` rounds alone, greedily, and learn from each by TD(0) (Sutton 1988); the draws they took.

    Every draw costs 1. The record's own deck, cards and rules are used; the round's clock is left out. A draw that
    can finish the row does.

    Args:
        games: one record, dealt. before, row: int64 (L,), scratch.
    """
    s, params = games[0], rules[0]
    draws = 0
    for _ in range(num_games):
        s.left = params.numbers + params.thunders
        for i in range(params.row_len):
            turn_up(s, 0, i, take_card(s))
            row[i] = s.row[0, i]
        placed = False
        finished = False
        while s.left > 0 and not finished:
            card = take_card(s)
            draws += 1
            slot = finishing_slot(s, params, card)
            finished = slot >= 0
            if not finished:
                slot = best_slot(row, params, weights, card)
            turn_up(s, 0, slot, card)
            row[slot] = card
            if placed:
                value = np.float32(0) if finished else row_value(row, params, weights)
                learn_row(before, params, weights, rate * (value - 1 - row_value(before, params, weights)))
            for i in range(params.row_len):
                before[i] = row[i]
            placed = True
    return draws


@helper
def finishing_slot(s, params, card):
    """The slot on which the card finishes the row, or -1."""
    found = -1
    for slot in range(params.row_len):
        covered = np.int64(s.row[0, slot])
        turn_up(s, 0, slot, card)
        if found < 0 and may_be_stopped(s, params, 0):
            found = slot
        turn_up(s, 0, slot, covered)
    return found


class TupleAgent(DeterministicAgent):
    """Lays each card where the row is worth most, stops as soon as its own check allows, else draws.

    Args:
        setup: the game and its rules.
        weights: float32, of `tuples_shape`.
        name: how tables call it.
    """

    def __init__(self, setup, weights, name="tuples"):
        shape = tuples_shape(setup.rules)
        if weights.shape != shape:
            refuse("checkpoint's tuples", weights.shape, f"{setup.id} under these rules has {shape}")
        self.setup, self.weights, self.name = setup, weights, name
        layout = setup.layout
        self._row = layout["row"].entries[: setup.rules.row_len]
        self._held, self._check = layout["held"].start, layout["own_check"].start

    def choose(self, observation, action_mask, view):
        """See `DeterministicAgent.choose`."""
        rows = np.ascontiguousarray(observation[:, self._row], np.int64)
        slots = np.zeros(len(rows), np.int64)
        choose_slots(
            rows, observation[:, self._held].astype(np.int64), kernel_params(self.setup.rules), self.weights, slots
        )
        idle = np.where(action_mask[:, DRAW] == 1, DRAW, WAIT)
        idle = np.where((action_mask[:, STOP] == 1) & (observation[:, self._check] == 1), STOP, idle)
        return np.where(action_mask[:, 0] == 1, slots, idle)
