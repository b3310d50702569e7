"""A teacher whose choice between two groups of actions is checked by playouts: what a policy's gate learns from.

Expert iteration (Anthony et al. 2017) of that one choice. A decision in which the teacher takes an action outside the
gate's group, and might take one inside, is played on by the teacher after both: in determinised games, each with the
same cards and draws after the one action as after the other. Flinch: is a card to be played, though none is due, or to
be kept by ending the turn?
"""

from typing import NamedTuple

import numpy as np

from flinchenv.agents.load import load
from flinchenv.agents.search_playouts import STOCK_POWER, Playouts
from flinchenv.core.params import refuse

from .ratings import sides_of

HORIZON = 20  # rounds: what it finds holds in whole games, docs/results/flinch.md
BLOCK = 8192  # games played on at a time
TOLD = 1.0  # the worth of a choice that is not checked


class Lesson(NamedTuple):
    """What N decisions teach.

    Attributes:
        action: int64 (N,), the better action by the playouts.
        outside, inside: int64 (N,), the teacher's choice outside and inside the group; its only choice in both, if it
            was not checked.
        worth: float32 (N,), how much more the one inside is worth, in Stockpile cards; +-`TOLD` where the teacher's
            choice was not checked, 0 where all legal actions are on one side.
    """

    action: np.ndarray
    outside: np.ndarray
    inside: np.ndarray
    worth: np.ndarray


class Expert:
    """A rule bot of Flinch and its playouts.

    Args:
        setup: the game and its rules.
        teacher: the bot's name.
        playouts: how many each action of a checked decision is given; 0 checks none.
        group: (first, last), the ids first..last-1.
        rng: a numpy Generator: of the determinised games.

    Raises:
        RulesError: another game, a reward other than "win", or a teacher that cannot play games on.
    """

    def __init__(self, setup, teacher, playouts, group, rng):
        if setup.game.name != "flinch" or setup.rules.reward != "win":
            refuse("imitate_playouts", playouts, "0 but for Flinch with reward 'win'")
        self.setup, self.size, self.group, self.rng = setup, playouts, group, rng
        self.bot = load(teacher, setup)
        if not hasattr(self.bot, "policy"):
            refuse("imitate", teacher, f"a rule bot of {setup.id} where playouts are asked for")
        self.playouts = Playouts(setup, teacher, HORIZON)
        sides = sides_of(setup)
        self.sides = np.zeros((setup.num_players, len(sides)), np.int64)
        for side, seats in enumerate(sides):
            self.sides[seats, side] = 1

    def teach(self, games, rows, seats, mask):
        """The `Lesson` of what seats (N,) do in some rows (N,) of GAME records with int8 masks (N, A)."""
        first, last = self.group
        choice = self.bot.choose_in(games, rows, seats, mask)
        held = mask.copy()
        held[:, :first] = held[:, last:] = 0
        within = (choice >= first) & (choice < last)
        lesson = Lesson(choice, choice.copy(), choice.copy(), np.zeros(len(rows), np.float32))
        both = held.any(1) & ((mask != held).any(1))
        lesson.worth[both] = np.where(within[both], TOLD, -TOLD)
        asked = np.flatnonzero(both & ~within)
        if len(asked) and self.size:
            games, seats = games[rows[asked]], seats[asked]
            lesson.inside[asked] = self.bot.choose_in(games, np.arange(len(asked)), seats, held[asked])
            gain = self._gain(games, seats, choice[asked], lesson.inside[asked])
            cards = -games["scores"][:, : self.setup.num_players]
            lesson.worth[asked] = gain / card_worth(cards @ self.sides, self.sides[seats])
        return lesson._replace(action=np.where(lesson.worth > 0, lesson.inside, lesson.outside))

    def _gain(self, games, seats, outside, inside):
        """How much more the actions `inside` bring, (N,)."""
        gain = np.zeros(len(games))
        for seat in range(self.setup.num_players):
            mine = np.flatnonzero(seats == seat)
            for some in np.array_split(mine, -(-2 * self.size * len(mine) // BLOCK) or 1):
                copies = np.repeat(games[some], self.size)
                self._redraw(copies, seat)
                counters = np.repeat(self.playouts.counters(self._seeds(len(copies))), 2)
                actions = np.repeat(np.stack([outside[some], inside[some]], 1), self.size, 0)
                values = self.playouts.play(np.repeat(copies, 2), seat, actions.ravel(), counters)
                gain[some] = np.diff(values.reshape(len(some), self.size, 2)).mean((1, 2))
        return gain

    def _redraw(self, games, seat):
        """Draw anew what a seat cannot know."""
        setup, (_, mask) = self.setup, self.playouts.scratch(1)
        seeds = self._seeds(len(games))
        setup.loops.determinize(games, setup.params, setup.seats, 0, len(games), seat, seeds, mask[0])

    def _seeds(self, n):
        return self.rng.integers(2**31 - 1, size=n)


def card_worth(cards, own):
    """What it changes in the expected result that a Stockpile card goes from the own side to each other one.

    Args:
        cards: int (N, S), the Stockpile cards of each side. own: (N, S), one-hot.

    Returns:
        float64 (N,): by the chances of winning that `STOCK_POWER` gives.
    """

    def value(cards):
        strength = (1.0 + cards) ** -STOCK_POWER
        share = (strength * own).sum(1) / strength.sum(1)
        return (cards.shape[1] * share - 1) / (cards.shape[1] - 1)

    return value(cards - own) - value(np.maximum(cards - (1 - own), 0))
