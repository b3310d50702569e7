"""A teacher of Flinch whose choice between a play and the end of the turn is checked by playouts.

Expert iteration (Anthony et al. 2017) of that one choice. A decision in which a seat may play and may lay down is
played on by the teacher after its best play and after its best lay-down: in determinised games, each with the same
cards and draws after the one as after the other. It is what a policy's gate learns from.
"""

from typing import NamedTuple

import numpy as np

from flinchenv.agents.flinch_turn import sides
from flinchenv.agents.load import load
from flinchenv.agents.search_playouts import STOCK_POWER, Playouts
from flinchenv.core.params import refuse

from .ratings import sides_of

HORIZON = 20  # rounds: what it finds holds in whole games, docs/results/flinch.md
BLOCK = 8192  # games played on at a time


class Lesson(NamedTuple):
    """What N decisions teach.

    Attributes:
        action: int64 (N,), the better action by the playouts.
        play, lay: int64 (N,), the teacher's choices among the plays and among the lay-downs; where there are not both,
            its only choice, twice.
        worth: float32 (N,), how much more the lay-down is worth, in Stockpile cards; 0 where there are not both.
    """

    action: np.ndarray
    play: np.ndarray
    lay: np.ndarray
    worth: np.ndarray


class Expert:
    """A rule bot of Flinch and its playouts.

    Args:
        setup: the game and its rules.
        teacher: the bot's name.
        playouts: how many each action of a checked decision is given.
        rng: a numpy Generator: of the determinised games.

    Raises:
        RulesError: another game, a reward other than "win", or a teacher that cannot play games on.
    """

    def __init__(self, setup, teacher, playouts, rng):
        if setup.game.name != "flinch" or setup.rules.reward != "win":
            refuse("imitate_playouts", playouts, "0 but for Flinch with reward 'win'")
        self.setup, self.size, self.rng = setup, playouts, rng
        self.bot, self.greedy = load(teacher, setup), load("rule", setup)
        if not hasattr(self.bot, "policy"):
            refuse("imitate", teacher, f"a rule bot of {setup.id} where playouts are asked for")
        self.playouts = Playouts(setup, teacher, HORIZON)
        teams = sides_of(setup)
        self.teams = np.zeros((setup.num_players, len(teams)), np.int64)
        for team, seats in enumerate(teams):
            self.teams[seats, team] = 1

    def teach(self, games, rows, seats, mask):
        """The `Lesson` of what seats (N,) do in some rows (N,) of GAME records with int8 masks (N, A)."""
        inside, outside = sides(mask)
        choice = self.bot.choose_in(games, rows, seats, mask)
        lesson = Lesson(choice, choice.copy(), choice.copy(), np.zeros(len(rows), np.float32))
        both = np.flatnonzero(inside.any(1) & outside.any(1))
        if len(both):
            asked = rows[both], seats[both]
            lesson.play[both] = play = self._choose(games, *asked, outside[both])
            lesson.lay[both] = lay = self._choose(games, *asked, inside[both])
            cards = -games["scores"][asked[0], : self.setup.num_players]
            gain = self._gain(games[asked[0]], asked[1], play, lay)
            lesson.worth[both] = gain / card_worth(cards @ self.teams, self.teams[asked[1]])
        return lesson._replace(action=np.where(lesson.worth > 0, lesson.lay, lesson.play))

    def _choose(self, games, rows, seats, mask):
        """The teacher's choice, or a greedy one where it wants none of what the mask allows."""
        actions = self.bot.choose_in(games, rows, seats, mask)
        wrong = np.flatnonzero(mask[np.arange(len(rows)), actions] == 0)
        actions[wrong] = self.greedy.choose_in(games, rows[wrong], seats[wrong], mask[wrong])
        return actions

    def _gain(self, games, seats, play, lay):
        """How much more the actions `lay` bring, (N,)."""
        gain = np.zeros(len(games))
        for seat in range(self.setup.num_players):
            mine = np.flatnonzero(seats == seat)
            for some in np.array_split(mine, -(-2 * self.size * len(mine) // BLOCK) or 1):
                copies = np.repeat(games[some], self.size)
                self._redraw(copies, seat)
                counters = np.repeat(self.playouts.counters(self._seeds(len(copies))), 2)
                actions = np.repeat(np.stack([play[some], lay[some]], 1), self.size, 0)
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
