"""How large a small Flip It is: its information sets, counted on the core itself."""

import dataclasses
import itertools
import math

import numpy as np

from ..core.params import fixed_params
from ..core.play import loops
from ..core.spec import RUNNING, UNDEALT

POSITION = ("scores", "guess_cards", "play_cards")  # what tells positions after equally many hands apart
MAX_TRANSITIONS = 200_000  # joint choices that a count may try before it gives up


def count_information_sets(game, rules):
    """The pairs of a player and all it has seen so far, its own guess included, that play can reach.

    A player has one for each public history at which it guesses and one for each own guess at which it plays. Histories
    that lead to the same position are counted together. None for games too large to count and for sequential flips.

    Args:
        game: the GameSpec. rules: its rules.
    """
    if rules.flip_order == "sequential":
        return None
    rules = dataclasses.replace(rules, actions="joint", obs_history=0)
    table = _Table(game, rules)
    level, total, tried = [(table.first(), 1)], 0, 0  # positions after the same number of hands, with their histories
    while level:
        merged = {}
        for position, histories in level:
            cards = [int(bits).bit_count() for bits in position["guess_cards"][0, : rules.num_players]]
            total += histories * sum(1 + c if c else 1 for c in cards)
            legal = table.legal_ids(position)
            tried += math.prod(len(ids) for ids in legal)
            if tried > MAX_TRANSITIONS:
                return None
            after = table.after(position, np.array(list(itertools.product(*legal)), np.int64))
            running = after[after["end_reason"] == RUNNING]
            first, which = distinct_positions(running)
            for at, count in zip(first, np.bincount(which)):
                position = running[at : at + 1]
                key = b"".join(position[name].tobytes() for name in POSITION)
                known = merged.get(key, (None, 0))
                merged[key] = (position, known[1] + int(count) * histories)
        level = list(merged.values())
    return total


def distinct_positions(games):
    """Where each position first stands among games (N,) after equally many hands, and which each game has, (N,)."""
    columns = np.hstack([games[name] for name in POSITION])
    found: dict[bytes, int] = {}
    which = np.array([found.setdefault(row.tobytes(), len(found)) for row in columns], np.int64)
    return np.unique(which, return_index=True)[1], which


class _Table:
    """Legal ids and what follows from joint choices, on the compiled core."""

    def __init__(self, game, rules):
        self.params, self.seats, self.loops = fixed_params(rules), (0,) * rules.num_players, loops(game.kernels)
        self.num_actions, self.dtype = game.num_actions(rules), game.dtype
        self.size = game.layout(rules).size

    def first(self):
        games = np.zeros(1, self.dtype)
        games["end_reason"] = UNDEALT
        self._advance(games, np.zeros((1, len(self.seats)), np.int64))
        return games

    def legal_ids(self, position):
        return [np.flatnonzero(row) for row in self._advance(position.copy(), None)[0]]

    def after(self, position, choices):
        games = np.repeat(position, len(choices))
        self._advance(games, choices)
        return games

    def _advance(self, games, actions):
        """Carry out one round where there are actions, none otherwise; the masks then."""
        n, p = len(games), len(self.seats)
        observation, mask = np.zeros((n, p, self.size), np.int8), np.zeros((n, p, self.num_actions), np.int8)
        asked, current = np.zeros((n, 0), np.int8), np.zeros(n, np.int32)
        if actions is None:
            self.loops.observe(games, self.params, self.seats, 0, n, observation, mask, asked, current)
            return mask
        self.loops.advance(
            games, self.params, self.seats, 0, n, 0, actions, observation, mask, asked, current,
            np.zeros((n, p), np.float32), np.zeros(n, bool), np.zeros(n, bool), np.ones(n, bool),
        )  # fmt: skip
        return mask
