"""Simultaneous choice: every seat learns its own mixture over plans by regret matching, and the searcher's is played.

A plan is what a seat does until choices are shown: a guess with a play in Flip It, a single action elsewhere. All seats
learn at once (decoupled regret matching, Hart and Mas-Colell 2000; Lanctot, Lisy and Winands 2013), regrets below 0
are forgotten and later mixtures count for more (Tammelin 2014). Where two seats meet without chance and the budget pays
for it, every pair of plans is played once and both learn from the whole table; else the seats take turns to learn, all
plans of one against plans that the others draw, in a fresh deal each time.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from flinchenv.core.kernel import helper, routine
from flinchenv.core.rng import GAMMA, mix
from flinchenv.core.spec import RUNNING
from flinchenv.flip_it.counting import distinct_positions
from flinchenv.flip_it.game import GUESSING, NONE, PLAYING

from .policy import bot_kernel
from .search_playouts import playout_kernels

TABLE_STEPS = 500  # of regret matching in a table
AHEAD_STEPS = 150  # in the tables of the hands that may follow
# What the next hand is worth stands for so many hands, if there are: cards that pay there go on to pay. Measured.
NEXT_HANDS = 3


class MatrixSearch:
    """Decoupled regret matching over the plans of all seats.

    Args:
        playouts: `Playouts`.
    """

    def __init__(self, playouts):
        self.playouts, self.setup = playouts, playouts.setup
        self.rounds = rounds_of_hand(self.setup)
        self.is_certain = self.setup.game.name == "flip_it" and playouts.horizon <= self.rounds  # what plans lead to
        self._kernels = matrix_kernels(
            self.setup.game.kernels, self.setup.loops, playouts.policy, self.setup.game.name == "flinch"
        )

    def search(self, view, legal, budget):
        """The seat's average mixture; see `FlatSearch.search`."""
        budget.stage(1)
        now = view.determinize(1, budget.next_seed())
        start = at_hand_start(now) if self.rounds > 1 else now
        plans = self._plans(start)
        if self.is_certain and len(plans.sizes) == 2 and budget.fits(plans.cells):
            mixture = self._learn_table(start, plans, budget)[0][view.seat]
        else:
            mixture = self._learn_by_draws(view, plans, budget)[view.seat]
        own = plans.actions[view.seat, : plans.sizes[view.seat]]
        chosen, step = np.ones(len(own), bool), 0
        if self.rounds > 1 and now["phase"][0] == PLAYING:
            chosen, step = own[:, 0] == max(now["guess"][0, view.seat], 0), 1
        weights = np.bincount(own[chosen, step], mixture[: len(own)][chosen], self.setup.num_actions)[legal]
        return weights / weights.sum()

    def _plans(self, start):
        """The `Plans` of a game (1,) at the start of a hand."""
        masks = [self._masks(start)]
        if self.rounds > 1:
            later = start.copy()
            later["phase"] = PLAYING
            masks.append(self._masks(later))
        seats = range(self.setup.num_players)
        legal = [[np.flatnonzero(mask[p]) if mask[p].any() else np.zeros(1, int) for mask in masks] for p in seats]
        each = [np.stack(np.meshgrid(*ids, indexing="ij"), -1).reshape(-1, self.rounds) for ids in legal]
        actions = np.zeros((len(seats), max(map(len, each)), self.rounds), np.int64)
        for p in seats:
            actions[p, : len(each[p])] = each[p]
        return Plans(actions, np.array([len(plans) for plans in each]))

    def _masks(self, games):
        """What each seat may do, int8 (P, A)."""
        setup, n = self.setup, self.setup.num_players
        observation, mask = np.zeros((1, n, setup.layout.size), np.int8), np.zeros((1, n, setup.num_actions), np.int8)
        nothing, current = np.zeros((1, 0), np.int8), np.zeros(1, np.int32)
        setup.loops.observe(games, setup.params, setup.seats, 0, 1, observation, mask, nothing, current)
        return mask[0]

    # --- Two seats, no chance -----------------------------------------------------------------------------------------

    def _learn_table(self, start, plans, budget):
        """Both seats' mixtures float64 (2, K), and what a hand so played is worth to them, (2,)."""
        games, values = self._play_all(start, plans, budget)
        running = np.flatnonzero(games["end_reason"] == RUNNING)
        if len(running):
            self._look_ahead(games[running], values.reshape(2, -1), running, budget)  # edits the values
        return self._match(values, TABLE_STEPS)

    def _play_all(self, start, plans, budget):
        """The records (K0 K1,) after each pair of plans, and what they are worth, float64 (2, K0, K1)."""
        out = self.playouts
        games = np.repeat(start, plans.cells)
        values = np.zeros((plans.cells, 2))
        self._kernels.play_all(
            games, plans.actions, plans.sizes, out.params, out.seats, out.horizon, self.setup.max_steps, out.outlook,
            out.point, out.counters(np.zeros(1, np.int64)), np.zeros(2, np.int64), values, *out.scratch(1),
        )  # fmt: skip
        budget.spend(plans.cells)
        return games, values.T.reshape(2, *plans.sizes)

    def _look_ahead(self, games, values, cells, budget):
        """Where the budget pays for all hands that may follow, add what they are worth to the values (2, K0 K1)."""
        first, which = distinct_positions(games)
        starts = [games[k : k + 1] for k in first]
        plans = [self._plans(start) for start in starts]
        if not budget.fits(sum(each.cells for each in plans)):
            return
        worth = np.array(
            [self._match(self._play_all(start, each, budget)[1], AHEAD_STEPS)[1] for start, each in zip(starts, plans)]
        )
        hands = min(NEXT_HANDS, most_hands(self.setup.rules) - int(games["hands"][0]))
        values[:, cells] += hands * (worth[which].T - values[:, cells])

    def _match(self, values, steps):
        """Average mixtures (2, K) for payoffs (2, K0, K1) after so many steps, and what both then expect, (2,)."""
        sizes = values.shape[1:]
        by_rival = np.ascontiguousarray(values[0].T), np.ascontiguousarray(values[1])
        room = np.zeros((3, 2, max(sizes)))
        self._kernels.match(*by_rival, steps, *room, np.zeros(max(sizes)))
        mixtures = room[2] / room[2].sum(1, keepdims=True)
        x, y = (mixtures[p, : sizes[p]] for p in (0, 1))
        return mixtures, np.array([x @ values[p] @ y for p in (0, 1)])

    # --- Any number of seats ------------------------------------------------------------------------------------------

    def _learn_by_draws(self, view, plans, budget):
        """All seats' average mixtures, float64 (P, K)."""
        out, width = self.playouts, plans.actions.shape[1]
        room = np.zeros((3, len(plans.sizes), width))
        chosen, turn = np.zeros(len(plans.sizes), np.int64), np.zeros(1, np.int64)
        values, (rewards, mask) = np.zeros(len(plans.sizes)), out.scratch(1)
        while n := budget.chunk(width):
            seed = budget.next_seed()
            games = view.determinize(n, seed)
            if self.rounds > 1:
                games = at_hand_start(games)
            done = self._kernels.learn(
                games, games[:1].copy(), plans.actions, plans.sizes, out.params, out.seats, out.horizon,
                self.setup.max_steps, out.outlook, out.point, out.counters(seed // 2 + np.arange(n)), turn, *room,
                chosen, np.zeros(width), values, rewards[0], mask[0],
            )  # fmt: skip
            budget.spend(done)
        room[2] += np.arange(width) < plans.sizes[:, None]  # so that none is empty
        return room[2] / room[2].sum(1, keepdims=True)


class Plans(NamedTuple):
    """What each seat may do in a hand.

    Attributes:
        actions: int64 (P, K, R), the actions of R rounds.
        sizes: int64 (P,), how many of the K plans each seat has.
    """

    actions: np.ndarray
    sizes: np.ndarray

    @property
    def cells(self):
        """How many combinations there are."""
        return int(self.sizes.prod())


def rounds_of_hand(setup):
    """Rounds from the first choice of a hand of Flip It until all choices are shown; elsewhere it is the same round."""
    if setup.game.name != "flip_it":
        return 1
    choices = 2 if setup.rules.actions == "phased" else 1
    return choices if setup.simultaneous else choices * setup.num_players


def most_hands(rules):
    """After how many hands of Flip It a game is over at the latest."""
    kind, number = rules.goal
    return min(rules.max_hands, number) if kind == "hands" else rules.max_hands


def at_hand_start(games):
    """Games of phased Flip It as they were before the guesses of the running hand, which nobody has seen."""
    games = games.copy()
    games["steps"] -= games["phase"] == PLAYING
    games["phase"], games["guess"], games["current_player"] = GUESSING, NONE, 0
    return games


class MatrixKernels(NamedTuple):
    """play_all: every pair of two seats' plans. match: regret matching in a table. learn: the same by draws."""

    play_all: Any
    match: Any
    learn: Any


@functools.cache
def matrix_kernels(game, loops, policy, is_flinch):
    """The `MatrixKernels` of one game and policy (None: uniform legal play)."""
    is_asked, play_round = game.is_asked, loops.play_round
    run = playout_kernels(game, loops, policy, is_flinch).run

    @routine
    def play_hand(
        s, params, seats, actions, chosen, horizon, max_steps, outlook, point, counter, values, rewards, mask
    ):  # fmt: skip
        """Carry out the chosen plans and play on; (P,) values are what the game is worth then."""
        rounds = min(actions.shape[2], horizon)
        for r in range(rounds):
            if s.end_reason == RUNNING:
                for p in range(len(seats)):
                    rewards[p] = 0
                    if is_asked(s, params, seats, p):
                        s.pending[p] = actions[p, chosen[p], r]
                play_round(s, params, seats, max_steps, rewards)
        run(s, params, seats, NONE, NONE, horizon - rounds, max_steps, outlook, point, counter, values, rewards, mask)

    @routine
    def find_mixture(regrets, size, mixture):
        """Regret matching: the parts of the positive regrets, or all alike."""
        total = 0.0
        for k in range(size):
            total += regrets[k]
        for k in range(size):
            mixture[k] = regrets[k] / total if total > 0 else 1.0 / size

    @routine
    def expect(payoffs, mixture, worth):
        """What each plan is worth against the other seat's mixture: payoffs (rival's plans, own plans)."""
        for k in range(payoffs.shape[1]):
            worth[k] = 0.0
        for j in range(len(payoffs)):
            part, row = mixture[j], payoffs[j]
            if part > 0:
                for k in range(len(row)):
                    worth[k] += part * row[k]

    @routine
    def learn_from(worth, size, weight, regrets, mixture, sums):
        """A seat learns what its plans were worth: its mixture is noted and its regrets move on."""
        average = 0.0
        for k in range(size):
            average += mixture[k] * worth[k]
        for k in range(size):
            sums[k] += weight * mixture[k]
            regrets[k] = max(0.0, regrets[k] + worth[k] - average)

    @helper
    def draw_plan(mixture, size, draw):
        """The plan where the running sum passes a uniform number."""
        left = np.float64(draw >> np.uint64(11)) * 2.0**-53
        k = 0
        while k < size - 1 and left >= mixture[k]:
            left -= mixture[k]
            k += 1
        return k

    def play_all(
        games, actions, sizes, rules, seats, horizon, max_steps, outlook, point, counters, chosen, values, rewards, mask
    ):  # fmt: skip
        for i in range(len(games)):
            chosen[0], chosen[1] = i // sizes[1], i % sizes[1]
            play_hand(
                games[i], rules[0], seats, actions, chosen, horizon, max_steps, outlook, point, counters[0], values[i],
                rewards[0], mask[0],
            )  # fmt: skip

    def match(to_first, to_second, steps, regrets, mixtures, sums, worth):
        a, b = to_second.shape
        for t in range(steps):
            find_mixture(regrets[0], a, mixtures[0])
            find_mixture(regrets[1], b, mixtures[1])
            expect(to_first, mixtures[1], worth)
            learn_from(worth, a, t + 1.0, regrets[0], mixtures[0], sums[0])
            find_mixture(regrets[0], a, mixtures[0])
            expect(to_second, mixtures[0], worth)
            learn_from(worth, b, t + 1.0, regrets[1], mixtures[1], sums[1])

    def learn(
        games, work, actions, sizes, rules, seats, horizon, max_steps, outlook, point, counters, turn, regrets,
        mixtures, sums, chosen, worth, values, rewards, mask,
    ):  # fmt: skip
        n, done = len(seats), 0
        for i in range(len(games)):
            learner = turn[0] % n
            counter = counters[i]
            for p in range(n):
                find_mixture(regrets[p], sizes[p], mixtures[p])
                counter = counter + GAMMA
                chosen[p] = draw_plan(mixtures[p], sizes[p], mix(counter))
            for k in range(sizes[learner]):
                work[0] = games[i]
                chosen[learner] = k
                play_hand(
                    work[0], rules[0], seats, actions, chosen, horizon, max_steps, outlook, point, counter, values,
                    rewards, mask,
                )  # fmt: skip
                worth[k] = values[learner]
            weight = turn[0] // n + 1.0
            learn_from(worth, sizes[learner], weight, regrets[learner], mixtures[learner], sums[learner])
            turn[0] += 1
            done += sizes[learner]
        return done

    return MatrixKernels(bot_kernel(play_all), bot_kernel(match), bot_kernel(learn))
