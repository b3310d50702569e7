"""The loops that every game shares: deal, carry out a round, observe, redeal; on one record and over rows of many.

`loops(kernels)` compiles them around one game's kernels. `seats` is a tuple of P zeros, so that the number of players
is known to the compiler; `rules` is the one-element record array of `core.params.kernel_params`.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from .bits import natural
from .kernel import helper, kernel, routine
from .prefetch import prefetch
from .rng import GAME, GAMMA, REDRAW, mix, random_below, stream
from .spec import FORFEIT, MAX_STEPS, OFFENCE, RUNNING, UNDEALT, UNSET

AHEAD = 2  # rows; thousands of records lie in no cache, and asking for them early halves a round


class Loops(NamedTuple):
    """The compiled loops of one game."""

    advance: Any
    advance_and_redeal: Any
    observe: Any
    observe_seats: Any
    observe_state: Any
    rollout: Any
    rollout_policy: Any
    all_legal: Any
    determinize: Any
    play_round: Any  # a helper, for kernels outside


@helper
def rows(start, stop):
    """Row numbers start..stop-1, unsigned, so that no index is tested for counting from the end."""
    return range(np.uint64(start), np.uint64(stop))


@helper
def count_ones(mask):
    """How many ids a mask allows."""
    ones = 0
    for a in range(len(mask)):
        ones += mask[a]
    return ones


@functools.cache
def loops(game):
    """The shared loops around one game's `Kernels`."""
    deal, is_asked = game.deal, game.is_asked
    fill_action_mask, masks_change = game.fill_action_mask, game.masks_change
    fill_observation, fill_observations, fill_state = (
        game.fill_observation,
        game.fill_observations,
        game.fill_state,
    )
    apply_actions, same_side, settle = game.apply_actions, game.same_side, game.settle
    redraw_hidden, random_actions = game.redraw_hidden, game.random_actions
    front, turn_based = np.array(game.front), game.turn_based

    @routine
    def start_episode(s, params, seats):
        """A fresh game from (seed, episode)."""
        s.rng = stream(np.uint64(s.seed), np.uint64(s.episode), GAME)
        s.end_reason = RUNNING
        s.truncated = 0
        s.steps = 0
        s.length = 0
        for p in range(len(seats)):
            s.scores[p] = 0
            s.winners[p] = 0
            s.returns[p] = 0.0
            s.pending[p] = UNSET
        deal(s, params, seats)

    @helper
    def start_next_episode(s, params, seats):
        """A fresh game of the same seed."""
        s.episode += 1
        start_episode(s, params, seats)

    @helper
    def has_offence(s, seats):
        """Whether a pending choice is an illegal one that ends the game."""
        if turn_based:
            return s.pending[natural(s.current_player)] == OFFENCE
        found = False
        for p in range(len(seats)):
            found |= s.pending[p] == OFFENCE
        return found

    @helper
    def clear_choices(s, seats, player):
        """No choice is pending any more; `player` was the one to act."""
        if turn_based:
            s.pending[player] = UNSET
        else:
            for p in range(len(seats)):
                s.pending[p] = UNSET

    @routine
    def forfeit(s, params, seats, rewards):
        """End the game for all: the k seats of offending sides get -1, the others share +k; if all offend, 0 each."""
        n = len(seats)
        k = 0
        for p in range(n):
            s.winners[p] = True
            for q in range(n):
                if s.pending[q] == OFFENCE and same_side(params, seats, p, q):
                    s.winners[p] = False
            k += not s.winners[p]
        for p in range(n):
            if k < n:
                rewards[p] += k / (n - k) if s.winners[p] else -1.0
        s.end_reason = FORFEIT
        settle(s, params, seats, rewards)

    @helper
    def play_round(s, params, seats, max_steps, rewards):
        """Carry out the pending choices, or the forfeit among them, and cut the game at max_steps (0: no cap).

        Returns whether anything may have been paid.
        """
        paid = True
        player = natural(s.current_player)
        if has_offence(s, seats):
            forfeit(s, params, seats, rewards)
        else:
            paid = apply_actions(s, params, seats, rewards)
        s.steps += 1
        if s.end_reason == RUNNING and max_steps > 0 and s.steps >= max_steps:
            s.end_reason = MAX_STEPS
            s.truncated = 1
            settle(s, params, seats, rewards)
            paid = True
        clear_choices(s, seats, player)
        if paid:  # seldom, and adding zeros would cost a tenth of a round
            for p in range(len(seats)):
                s.returns[p] += rewards[p]
        return paid

    @routine
    def end_episode(s, ended, params, seats, final_observation):
        """Keep the ended record and each seat's last view, and deal the next episode."""
        for p in range(len(seats)):
            fill_observation(s, params, seats, p, final_observation[p])
        ended[0] = s
        start_next_episode(s, params, seats)

    @helper
    def earn_round(s, params, seats, max_steps, rewards, returns):
        """`play_round` with rewards of zero before it, and what it pays added to `returns`."""
        if play_round(s, params, seats, max_steps, rewards):
            for p in range(len(seats)):
                returns[p] += rewards[p]

    @helper
    def fill_masks(s, params, seats, action_mask):
        """The mask of each seat (K == P), or of the seat to act (K == 1), of a running game."""
        if len(action_mask) == len(seats):
            for p in range(len(seats)):
                fill_action_mask(s, params, seats, p, action_mask[p])
        else:
            fill_action_mask(s, params, seats, np.int64(s.current_player), action_mask[0])

    @helper
    def fill_views(s, params, seats, observation):
        """The observation of each seat (K == P), or of the seat to act (K == 1)."""
        if len(observation) == len(seats):
            fill_observations(s, params, seats, observation)
        else:
            fill_observation(s, params, seats, np.int64(s.current_player), observation[0])

    @helper
    def fill_row(s, params, seats, observation, action_mask, asked):
        """Masks and observations, all masks empty once the game is over; who is asked, if wanted."""
        for p in range(len(asked)):
            asked[p] = s.end_reason == RUNNING and is_asked(s, params, seats, p)
        if s.end_reason != RUNNING:
            action_mask[:] = 0
        else:
            fill_masks(s, params, seats, action_mask)
        fill_views(s, params, seats, observation)

    @helper
    def take_round(s, params, seats, max_steps, actions, rewards):
        """Carry out the actions of one row, (P,), or (1,) of the seat to act; what they pay goes to `rewards`."""
        for p in range(len(seats)):
            rewards[p] = 0
        if len(actions) == len(seats):
            for p in range(len(seats)):
                s.pending[p] = actions[p]
        else:
            s.pending[natural(s.current_player)] = actions[0]
        play_round(s, params, seats, max_steps, rewards)

    @kernel
    def advance(
        games, rules, seats, start, stop, max_steps, actions,
        observation, action_mask, asked, current_player, rewards, terminated, truncated, active,
    ):  # fmt: skip
        """Deal the undealt rows, carry out one round in the others, then observe; active rows among start..stop-1.

        A row whose game is over stays over and must not be stepped. `asked` is (N, P), or (N, 0) where nobody wants it.
        """
        params = rules[0]
        for i in rows(start, stop):
            if not active[i]:
                continue
            s = games[i]
            if s.end_reason == UNDEALT:
                rewards[i, :] = 0
                start_episode(s, params, seats)
            else:
                take_round(s, params, seats, max_steps, actions[i], rewards[i])
            terminated[i] = s.end_reason != RUNNING and s.truncated == 0
            truncated[i] = s.truncated != 0
            current_player[i] = s.current_player
            fill_row(s, params, seats, observation[i], action_mask[i], asked[i])

    @kernel
    def advance_and_redeal(
        games, ended, rules, seats, start, stop, max_steps, actions,
        observation, action_mask, current_player, rewards, terminated, truncated, final_observation,
    ):  # fmt: skip
        """Deal the undealt rows, carry out one round in the others, then observe; rows start..stop-1.

        Where the game ends the record goes to `ended`, each seat's last view to `final_observation`, and the next
        episode is dealt. Masks that a round leaves as they were are not written again: the rows must hold them.
        """
        params = rules[0]
        for i in rows(start, stop):
            s = games[i]
            prefetch(games, np.int64(i) + AHEAD, front[len(seats)])
            if not turn_based:  # the views of all seats are long
                prefetch(observation, np.int64(i) + AHEAD, observation.shape[1] * observation.shape[2])
            dealt = s.end_reason == UNDEALT
            terminated[i] = False
            truncated[i] = False
            if dealt:
                rewards[i, :] = 0
                start_episode(s, params, seats)
            else:
                take_round(s, params, seats, max_steps, actions[i], rewards[i])
                if s.end_reason != RUNNING:
                    terminated[i] = s.truncated == 0
                    truncated[i] = s.truncated != 0
                    end_episode(s, ended[i : i + 1], params, seats, final_observation[i])
                    dealt = True
            current_player[i] = s.current_player
            if dealt or masks_change(s, params, seats):
                fill_masks(s, params, seats, action_mask[i])
            fill_views(s, params, seats, observation[i])

    @kernel
    def observe(games, rules, seats, start, stop, observation, action_mask, asked, current_player):
        """Write observations, masks and who is asked, without touching the games; rows start..stop-1."""
        params = rules[0]
        for i in rows(start, stop):
            current_player[i] = games[i].current_player
            fill_row(games[i], params, seats, observation[i], action_mask[i], asked[i])

    @kernel
    def observe_seats(games, rules, seats, players, active, observation):
        """Write the observation of seat players[i] into row i, in active rows."""
        for i in range(len(games)):
            if active[i]:
                fill_observation(games[i], rules[0], seats, players[i], observation[i])

    @kernel
    def observe_state(games, rules, seats, state):
        """Write the referee's view of every row."""
        params = rules[0]
        for i in range(len(games)):
            fill_state(games[i], params, seats, state[i])

    @kernel
    def rollout(
        games, rules, seats, start, stop, num_steps, max_steps, auto_reset, counters, decisions, finished, returns,
        rewards,
    ):  # fmt: skip
        """Uniform random legal play inside the kernel, at most num_steps rounds a row; rows start..stop-1.

        Args:
            counters: uint64 (N,), the rows' own random streams, which move on.
            decisions, finished: int64 (N,), added to: seats asked with two or more legal ids, games ended.
            returns: float32 (N, P), added to: all rewards paid.
            rewards: float32 (N, P), scratch space.
        """
        params = rules[0]
        for i in rows(start, stop):
            s = games[i]
            prefetch(games, np.int64(i) + 1, front[len(seats)])
            counter, decided = counters[i], np.int64(0)
            for _ in range(num_steps):
                if s.end_reason != RUNNING:
                    break
                for p in range(len(seats)):
                    rewards[i, p] = 0
                decided += random_actions(s, params, seats, counter)
                counter = counter + GAMMA * np.uint64(len(seats))
                earn_round(s, params, seats, max_steps, rewards[i], returns[i])
                if s.end_reason != RUNNING:
                    finished[i] += 1
                    if auto_reset:
                        start_next_episode(s, params, seats)
            counters[i] = counter
            decisions[i] += decided

    @kernel
    def rollout_policy(
        games, rules, seats, start, stop, num_steps, max_steps, auto_reset, counters, decisions, finished, returns,
        rewards, policy, masks,
    ):  # fmt: skip
        """As `rollout`, by a compiled policy(s, params, seats, player, mask, draw) -> action.

        `masks` is int8 (N, A), scratch space. An action outside the mask forfeits the game.
        """
        params = rules[0]
        for i in rows(start, stop):
            s = games[i]
            prefetch(games, np.int64(i) + 1, front[len(seats)])
            mask = masks[i]
            for _ in range(num_steps):
                if s.end_reason != RUNNING:
                    break
                for p in range(len(seats)):
                    rewards[i, p] = 0
                for p in range(len(seats)):
                    if is_asked(s, params, seats, p):
                        fill_action_mask(s, params, seats, p, mask)
                        decisions[i] += count_ones(mask) > 1
                        counters[i] = counters[i] + GAMMA
                        action = policy(s, params, seats, p, mask, mix(counters[i]))
                        inside = 0 <= action < len(mask)
                        s.pending[p] = action if inside and mask[action] else OFFENCE
                earn_round(s, params, seats, max_steps, rewards[i], returns[i])
                if s.end_reason != RUNNING:
                    finished[i] += 1
                    if auto_reset:
                        start_next_episode(s, params, seats)

    @kernel
    def all_legal(actions, action_mask):
        """Whether every action stands in its mask."""
        for i in rows(0, len(actions)):
            for k in range(actions.shape[1]):
                action = np.uint64(actions[i, k])  # a negative one becomes a large one
                if action >= np.uint64(action_mask.shape[2]) or action_mask[i, k, action] == 0:
                    return False
        return True

    @kernel
    def determinize(games, rules, seats, start, stop, player, seeds, mask):
        """Give each row a generator of its own and redraw what `player` cannot know, pending choices included."""
        params = rules[0]
        for i in rows(start, stop):
            s = games[i]
            # A purpose of its own: with the true game's seed the copy must not share its future either.
            s.rng = stream(np.uint64(seeds[i]), np.uint64(0), REDRAW)
            s.seed = np.int64(stream(np.uint64(seeds[i]), np.uint64(1), REDRAW) >> np.uint64(1))
            s.episode = 0
            redraw_hidden(s, params, seats, player)
            for p in range(len(seats)):
                if p != player and s.pending[p] != UNSET:
                    fill_action_mask(s, params, seats, p, mask)
                    k = random_below(s, count_ones(mask))
                    for a in range(len(mask)):
                        if mask[a]:
                            if k == 0:
                                s.pending[p] = a
                            k -= 1

    return Loops(
        advance, advance_and_redeal, observe, observe_seats, observe_state, rollout, rollout_policy, all_legal,
        determinize, play_round,
    )  # fmt: skip
