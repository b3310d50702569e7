"""Playing determinised games on from a choice, and what they are then worth: what every search stands on."""

import functools
from typing import Any, NamedTuple

import numpy as np

from flinchenv.core.kernel import helper, routine
from flinchenv.core.params import kernel_params, one_of
from flinchenv.core.rng import BOT, GAMMA, RowStreams, mix
from flinchenv.core.spec import OFFENCE, RUNNING, UNSET

from .policy import NO_DRAW, bot_kernel
from .rule_bots import RULE_BOTS

RANDOM = "random"
NONE = -1  # no seat

# What a game that is cut may still pay: nothing beyond what it has paid, a win, or the Stockpile cards ahead.
NOTHING, WIN, STOCK_MARGIN = range(3)
OUTLOOKS = {"win": WIN, "stock_margin": STOCK_MARGIN}

# Flinch: a side's strength falls with its Stockpile cards as (cards + 1) ** -STOCK_POWER; the chances of winning are
# as the strengths. Found by logistic regression on 6,000 games of rule:4 against itself, 2 players.
STOCK_POWER = 1.7
POINTS = 2.0  # other games: so many points more make a side e times as strong (a guess)


class Playouts:
    """Determinised games played on by a quick policy to a horizon.

    Args:
        setup: the game and its rules.
        rollout: "random", or the name of a compiled rule bot: it plays all seats.
        horizon: rounds after which a game is cut and valued as it stands, 1 or more.

    Attributes:
        params, seats: what kernels take; `seats` is an array, so that all numbers of players share one compilation.
        policy: the compiled policy, or None.
    """

    def __init__(self, setup, rollout, horizon):
        policies = rollout_policies(setup)
        self.policy = policies[one_of("rollout", rollout, tuple(policies))]
        self.setup, self.horizon = setup, horizon
        self.params = horizon_params(setup)
        self.seats = np.zeros(setup.num_players, np.int64)
        self.outlook = OUTLOOKS.get(setup.rules.reward, NOTHING)
        self.point = 1 / getattr(setup.rules, "stock_size", 1)  # what a Stockpile card is worth as margin
        self.kernels = playout_kernels(setup.game.kernels, setup.loops, self.policy, setup.game.name == "flinch")

    def scratch(self, n):
        """(rewards, mask): room for what kernels write by the way."""
        p, a = self.setup.num_players, self.setup.num_actions
        return np.zeros((n, p), np.float32), np.zeros((n, a), np.int8)

    def counters(self, seeds):
        """uint64 (n,): the start of the policy's own draws in each game; equal seeds give equal draws."""
        return RowStreams(seeds, np.zeros(len(seeds)), BOT).counters

    def play(self, games, seat, actions, counters):
        """Play games (n,) on, in place, with a seat's first action given.

        Returns:
            float64 (n,): what the seat has been paid at the end, and what it may still expect.
        """
        values = np.zeros((len(games), self.setup.num_players))
        self.kernels.play(
            games, self.params, self.seats, seat, self.horizon, self.setup.max_steps, self.outlook, self.point, actions,
            counters, values, *self.scratch(1),
        )  # fmt: skip
        return values[:, seat]

    def policy_action(self, games, seat, legal):
        """What the policy does for a seat with these legal ids in the first of some games; UNSET for uniform play."""
        mask = np.zeros(self.setup.num_actions, np.int8)
        mask[legal] = 1
        return self.kernels.ask(games, self.params, self.seats, seat, mask)


def rollout_policies(setup):
    """{name: compiled policy, None for uniform legal play} of the quick players of a game."""
    return {RANDOM: None} | {bot.name: bot.policy for bot in RULE_BOTS[setup.game.name] if hasattr(bot, "policy")}


def horizon_params(setup):
    """The rules as kernels take them; a match of Flash 10 is looked at to the end of its running round."""
    params = kernel_params(setup.rules)
    if setup.game.name == "flash10":
        params = params.copy()
        params["episode"] = 1  # "round"
    return params


class PlayoutKernels(NamedTuple):
    """play: `Playouts.play`. ask: `Playouts.policy_action`. run, choose, draw_round: helpers for tree searches."""

    play: Any
    ask: Any
    run: Any
    choose: Any
    draw_round: Any


@functools.cache
def playout_kernels(game, loops, policy, is_flinch):
    """The `PlayoutKernels` of one game and policy (None: uniform legal play)."""
    is_asked, fill_action_mask, same_side = game.is_asked, game.fill_action_mask, game.same_side
    random_actions, play_round = game.random_actions, loops.play_round
    uniform = policy is None
    policy = random_actions if uniform else policy

    @helper
    def choose(s, params, seats, player, mask, draw):
        """The policy's action in a filled mask; of uniform play the one that `random_actions` left pending."""
        if uniform:
            return np.int64(s.pending[player])
        action = policy(s, params, seats, player, mask, draw)
        return np.int64(action) if 0 <= action < len(mask) and mask[action] else np.int64(OFFENCE)

    @helper
    def draw_round(s, params, seats, counter):
        """Uniform play draws for all seats at once; where the counter goes on."""
        if uniform:
            random_actions(s, params, seats, counter)
            return counter + GAMMA * np.uint64(len(seats))
        return counter

    @routine
    def strength(s, params, seats, p):
        """How strong the side of a seat stands."""
        points = 0
        for q in range(len(seats)):
            points += s.scores[q] if same_side(params, seats, p, q) else 0
        return (1.0 - points) ** -STOCK_POWER if is_flinch else np.exp(points / POINTS)

    @routine
    def expect(s, params, seats, outlook, point, values):
        """Add what a running game may still pay to (P,) values."""
        if outlook == NOTHING:
            return
        n = len(seats)
        for p in range(n):
            mates, total, own, others = 0, 0.0, 0.0, 0.0
            for q in range(n):
                mate = same_side(params, seats, p, q)
                mates += mate
                if outlook == WIN:
                    total += strength(s, params, seats, q)
                elif mate:
                    own += s.scores[q]
                else:
                    others += s.scores[q]
            sides = n // mates
            if outlook == WIN:  # a win pays 1, a loss -1 / (sides - 1)
                share = strength(s, params, seats, p) * mates / total
                values[p] += (sides * share - 1) / max(1, sides - 1)
            else:
                values[p] += point * (own - others / max(1, sides - 1)) / mates

    @helper
    def play_on(s, params, seats, player, action, max_steps, counter, rewards, mask):
        """One round: `player` takes `action`, the policy chooses for all others (and all, for a player of NONE)."""
        counter = draw_round(s, params, seats, counter)
        first, last = 0, len(seats)
        if game.turn_based:  # nobody else is asked
            first = np.int64(s.current_player)
            last = first + 1
        for p in range(first, last):
            if p == player:
                s.pending[p] = action
            elif not uniform and is_asked(s, params, seats, p):
                fill_action_mask(s, params, seats, p, mask)
                counter = counter + GAMMA
                s.pending[p] = choose(s, params, seats, p, mask, mix(counter))
        for p in range(len(seats)):
            rewards[p] = 0
        play_round(s, params, seats, max_steps, rewards)
        return counter

    @routine
    def run(s, params, seats, player, action, steps, max_steps, outlook, point, counter, values, rewards, mask):
        """Play a game on by the policy for at most so many rounds; (P,) values are what it is worth then.

        In the first of them `player` takes `action`; NONE for nobody.
        """
        for _ in range(steps):
            if s.end_reason != RUNNING:
                break
            counter = play_on(s, params, seats, player, action, max_steps, counter, rewards, mask)
            player = NONE
        for p in range(len(seats)):
            values[p] = s.returns[p]
        if s.end_reason == RUNNING:
            expect(s, params, seats, outlook, point, values)

    def play(
        games, rules, seats, player, horizon, max_steps, outlook, point, actions, counters, values, rewards, mask
    ):  # fmt: skip
        params = rules[0]
        for i in range(len(games)):
            run(
                games[i], params, seats, player, actions[i], horizon, max_steps, outlook, point, counters[i], values[i],
                rewards[0], mask[0],
            )  # fmt: skip

    def ask(games, rules, seats, player, mask):
        return UNSET if uniform else choose(games[0], rules[0], seats, player, mask, NO_DRAW)

    return PlayoutKernels(bot_kernel(play), bot_kernel(ask), run, choose, draw_round)
