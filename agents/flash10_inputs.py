"""What a network of Flash 10 can be told beside the observation: which of its numbers can stay.

A row is finished by keeping numbers that ascend, with room between them for the slots between. These entries, all from
the observation alone, say how many could be kept of each row, and for each slot how many if the card in hand went
there, and between which two it would lie. They look at ascending rows.
"""

import numpy as np

from flinchenv.core.kernel import helper, kernel, routine
from flinchenv.flash10.rules import MAX_NUMBERS, MAX_ROW

from .flags import put_steps, sign
from .flash10_table import scratch

FIELDS = ("held", "held_thunder", "holding", "row", "row_thunder")
ROOMS = 6  # thermometer of the numbers that are left between two: 0, 1, 3, 7, 15, 31
SLOTS = 5  # and of the slots between them
MOST = 2048  # more entries than five players need


class Relations:
    """The relations of observations of one layout.

    Args:
        layout: a `Layout` with `FIELDS`.

    Attributes:
        size: how many there are.
    """

    def __init__(self, layout):
        held, thunder, holding, row, row_thunder = (layout[name] for name in FIELDS)
        self._places = [np.array([held.start, thunder.start, holding.entries[0]])]
        self._places += [part.entries.reshape(-1, MAX_ROW) for part in (row, row_thunder)]
        self.size = fill_relations(np.zeros((1, layout.size), np.int8), *self._places, np.zeros((1, MOST), np.int8))

    def __call__(self, observation):
        """int8 (N, D) -> int8 (N, size), each -1, 0 or 1."""
        out = np.zeros((len(observation), self.size), np.int8)
        fill_relations(np.ascontiguousarray(observation, np.int8), *self._places, out)
        return out


@kernel
def fill_relations(rows, hand, row, thunder, out):
    """Write the relations of each row, by the places of its fields; how many there are of a row."""
    at = 0
    for i in range(len(rows)):
        at = put_relations(rows[i], hand, row, thunder, out[i])
    return at


@routine
def put_relations(seen, hand, row, thunder, out):
    cards, left, right = scratch(MAX_ROW, np.int64), scratch(MAX_ROW, np.int64), scratch(MAX_ROW, np.int64)
    at = 0
    for p in range(len(row) - 1, -1, -1):  # the own row comes last and stays in `cards`
        thunders = 0
        for i in range(MAX_ROW):
            thunders += seen[thunder[p, i]]
            cards[i] = -1 if seen[thunder[p, i]] else np.int64(seen[row[p, i]])
        run = 1
        while run < MAX_ROW and cards[run] > cards[run - 1]:
            run += 1
        fill_chains(cards, left, right)
        at = put_steps(out, at, run, MAX_ROW)
        at = put_steps(out, at, longest(left, right), MAX_ROW)
        at = put_steps(out, at, thunders, SLOTS)
    number = np.int64(seen[hand[0]]) if seen[hand[2]] and not seen[hand[1]] else -1
    best = longest(left, right)
    for i in range(MAX_ROW):
        through = left[i] + right[i] - 1
        out[at] = left[i] > 0 and through == best
        at = put_steps(out, at + 1, through, MAX_ROW)
        at = put_slot(cards, left, right, number, i, best, out, at)
    return at


@routine
def fill_chains(cards, left, right):
    """The most numbers that can stay up to each slot, its own the last, and from it on; 0 where it cannot stay."""
    for i in range(MAX_ROW):
        left[i] = 1 if cards[i] >= i else 0
        for j in range(i):
            if left[i] and left[j] and cards[i] - cards[j] >= i - j:
                left[i] = max(left[i], left[j] + 1)
    for k in range(MAX_ROW):
        i = MAX_ROW - 1 - k
        right[i] = 1 if left[i] else 0
        for j in range(i + 1, MAX_ROW):
            if left[i] and left[j] and cards[j] - cards[i] >= j - i:
                right[i] = max(right[i], right[j] + 1)


@helper
def longest(left, right):
    """The most numbers of a row that can stay."""
    best = 0
    for i in range(MAX_ROW):
        best = max(best, left[i] + right[i] - 1)
    return best


@routine
def put_slot(cards, left, right, number, i, best, out, at):
    """What would stay with a number, -1 for none, on slot i: how many, beside `best`, and the room on both sides."""
    before, after = -1, MAX_ROW  # the slots of the nearest ones that would stay
    most_before = most_after = 0
    if number >= i:
        for j in range(i):
            if left[j] >= max(1, most_before) and number - cards[j] >= i - j:
                most_before, before = left[j], j
        for k in range(1, MAX_ROW - i):
            j = MAX_ROW - k
            if right[j] >= max(1, most_after) and cards[j] - number >= j - i:
                most_after, after = right[j], j
    stay = most_before + 1 + most_after if number >= i else 0
    at = put_steps(out, at, stay, MAX_ROW)
    out[at] = sign(stay - best)
    out[at + 1] = sign(stay - best + 1)
    low = cards[before] if before >= 0 else -1
    high = cards[after] if after < MAX_ROW else MAX_NUMBERS
    at = put_room(out, at + 2, number - low - 1, i - before - 1)
    return put_room(out, at, high - number - 1, after - i - 1)


@helper
def put_room(out, at, numbers, slots):
    """How many numbers lie between two beyond what the slots between them need, and how many slots these are."""
    for k in range(ROOMS):
        out[at + k] = numbers - slots >= 1 << k
    return put_steps(out, at + ROOMS, slots, SLOTS)
