"""Games that a learner plays with itself or against a pool of opponents, and its decisions with their advantages.

A step of a seat lasts from one of its own decisions to its next: what it earns in between belongs to the first, and
advantages run over its own decisions only. Rows with a single legal action are played without the network.
"""

from typing import NamedTuple

import numpy as np
import torch

from flinchenv.core.kernel import kernel
from flinchenv.envs.memory import Memories
from flinchenv.envs.vector import VectorGame

from .memory import sequences

MIRROR = -1  # the key of a row in which the learner plays all seats


class Batch(NamedTuple):
    """An update's decisions: tensors over B of them."""

    observation: torch.Tensor  # int8 (B, D)
    mask: torch.Tensor  # int8 (B, A)
    view: torch.Tensor  # int8 (B, S + P), what a central critic sees, or (B, 0)
    action: torch.Tensor  # int64 (B,)
    log_prob: torch.Tensor  # float32 (B,), when it was chosen
    advantage: torch.Tensor  # float32 (B,)
    target: torch.Tensor  # float32 (B,), of the value

    def rows(self, rows):
        """The same for some of them."""
        return Batch(*(part[rows] for part in self))


@kernel
def fill_advantages(rewards, ended, cut_values, seats, chosen, values, last_values, gamma, gae_lambda, advantages):
    """GAE (Schulman et al. 2016) over each seat's own decisions, backwards through T steps of N games.

    Args:
        rewards: float32 (T, N, P). ended: bool (T, N). seats: (T, N, K), who is asked. chosen: bool (T, N, K), whether
            it was a decision to learn from. values: float32 (T, N, K).
        cut_values: float32 (T, N, P), of a game that ended in this step: 0 unless it was truncated.
        last_values: float32 (N, P), after the last step.
        advantages: float32 (T, N, K), filled in where `chosen`.
    """
    num_steps, num_games, num_seats = rewards.shape
    for i in range(num_games):
        for p in range(num_seats):
            following = last_values[i, p]  # the value of the seat's next decision
            advantage = np.float32(0)  # and its advantage
            earned = np.float32(0)  # since the decision that is looked for
            for t in range(num_steps - 1, -1, -1):
                if ended[t, i]:
                    following, advantage, earned = cut_values[t, i, p], np.float32(0), np.float32(0)
                earned += rewards[t, i, p]
                for k in range(seats.shape[2]):
                    if chosen[t, i, k] and seats[t, i, k] == p:
                        value = values[t, i, k]
                        advantage = np.float32(earned + gamma * following - value + gamma * gae_lambda * advantage)
                        advantages[t, i, k] = advantage
                        following, earned = value, np.float32(0)


class SelfPlay:
    """N games, who plays which of their seats, and the decisions of an update.

    Args:
        setup: the game and its rules.
        args: `Args`.
        pool: the opponents, an `OpponentPool`; empty for none.
        rng: a numpy Generator that draws who plays and how opponents act.
    """

    def __init__(self, setup, args, pool, rng):
        t, n, p = args.n_steps, args.num_envs, setup.num_players
        k = p if setup.simultaneous else 1
        central = args.critic == "central"
        self.setup, self.args, self.pool, self.rng = setup, args, pool, rng
        self.env = VectorGame(setup, n)
        self.playing = np.full(n, MIRROR)  # the key of a row's opponents
        self.seat = np.zeros(n, np.int64)  # the learner's, where there are opponents
        self.observation = np.zeros((t, n, k, setup.layout.size), np.int8)
        self.mask = np.zeros((t, n, k, setup.num_actions), np.int8)
        self.view = np.zeros((t, n, k, setup.state_layout.size + p if central else 0), np.int8)
        self.seats = np.zeros((t, n, k), np.int64)
        self.chosen = np.zeros((t, n, k), bool)
        self.action = np.zeros((t, n, k), np.int64)
        self.log_prob, self.value, self.advantage = np.zeros((3, t, n, k), np.float32)
        self.rewards, self.cut_values = np.zeros((2, t, n, p), np.float32)
        self.ended = np.zeros((t, n), bool)
        self.lengths = []  # of the games that the last `play` finished
        self.asked = None  # rows and seats (K,) of the learner that are asked now
        self.memories = Memories(n, p)
        self.began = self._recall(np.arange(n))  # what was remembered before the first of the steps

    def draw_opponents(self, rows):
        """Who plays the next games of some rows."""
        draws, seats = self.rng.random((2, len(rows)))
        mirror = self.args.mirror if self.pool.weights else 1.0
        self.playing[rows] = MIRROR
        rest = draws >= mirror
        if rest.any():
            self.playing[rows[rest]] = self.pool.draw((draws[rest] - mirror) / (1 - mirror))
        self.seat[rows] = (seats * self.setup.num_players).astype(np.int64)

    def play(self, act, value_of):
        """Fill in `n_steps` steps of every game, and the advantages of the learner's decisions.

        Args:
            act: act(observation, mask, view, memory) -> actions, log-probabilities, values, memory after them.
            value_of: value_of(observation, view, memory) -> values.
        """
        env, everybody = self.env, np.arange(self.setup.num_players)
        self.cut_values[:] = 0
        self.lengths = []
        self.began = self._recall(np.arange(len(self.seat)))
        for t in range(len(self.seats)):
            self.seats[t] = everybody if self.setup.simultaneous else env.current_player[:, None]
            self.observation[t] = env.observation.reshape(self.observation[t].shape)
            self.mask[t] = env.action_mask.reshape(self.mask[t].shape)
            if self.view.shape[-1]:
                self.view[t] = self._views(env.state()[:, None], self.seats[t])
            self._choose(t, act)
            env.step(self.action[t].reshape(env.illegal_action.shape))
            self.rewards[t] = env.rewards
            self.ended[t] = env.terminated | env.truncated
            if env.truncated.any():
                cut = np.flatnonzero(env.truncated)
                seen = env.final_observation[cut], env.final_state()[cut], self._recall(cut)
                self.cut_values[t, cut] = self._values(*seen, value_of)
            if self.ended[t].any():
                over = np.flatnonzero(self.ended[t])
                self.lengths += env.final_info["length"][over].tolist()
                self.memories.forget(over)
                self.draw_opponents(over)
        now = np.stack([env.observe(p) for p in everybody], 1), env.state(), self._recall(np.arange(len(self.seat)))
        fill_advantages(
            self.rewards, self.ended, self.cut_values, self.seats, self.chosen, self.value,
            self._values(*now, value_of), self.args.gamma, self.args.gae_lambda, self.advantage,
        )  # fmt: skip

    def _choose(self, t, act):
        """Everybody's actions of step t."""
        observation, mask, seats, action = self.observation[t], self.mask[t], self.seats[t], self.action[t]
        action[:] = mask.argmax(-1)
        free = np.count_nonzero(mask, -1) > 1
        mine = (self.playing == MIRROR)[:, None] | (seats == self.seat[:, None])
        chosen = self.chosen[t] = free & mine
        if chosen.any():
            self.asked = asked = np.nonzero(chosen)[0], seats[chosen]
            memory = self.memories.recall(self.args.memory, *asked)
            made = act(observation[chosen], mask[chosen], self.view[t][chosen], memory)
            action[chosen], self.log_prob[t][chosen], self.value[t][chosen], memory = made
            self.memories.keep(*asked, memory)
        others = free & ~mine
        for key in np.unique(self.playing[others.any(1)]):
            asked = others & (self.playing == key)[:, None]
            rows, agent = np.nonzero(asked)[0], self.pool.agents[key]
            action[asked] = self.ask(agent, rows, seats[asked], observation[asked], mask[asked])

    def ask(self, agent, rows, seats, observation, mask):
        """Another agent's choices in some seats (K,); one that looks beyond the observation is a bot of ours."""
        if agent.needs_view:
            return agent.choose_in(self.env.snapshot().games, rows, seats, mask)
        return self.memories.ask(agent, rows, seats, observation, mask, self.rng)

    def _views(self, state, seat):
        """What a central critic sees: int8 (..., S) states and the seats (...), one-hot."""
        seat = np.eye(self.setup.num_players, dtype=np.int8)[seat]
        return np.concatenate([np.broadcast_to(state, (*seat.shape[:-1], state.shape[-1])), seat], -1)

    def _recall(self, rows):
        """What every seat of some rows remembers, float32 (R, P, M), M the learner's units."""
        return self.memories.recall(self.args.memory, rows[:, None], np.arange(self.setup.num_players))

    def _values(self, observation, state, memory, value_of):
        """The value of every seat, float32 (R, P), from int8 (R, P, D) observations, (R, S) states and memories."""
        shape = observation.shape[:2]
        view = np.zeros((*shape, 0), np.int8)
        if self.view.shape[-1]:
            view = self._views(state[:, None], np.broadcast_to(np.arange(shape[1]), shape))
        flat = (part.reshape(shape[0] * shape[1], part.shape[-1]) for part in (observation, view, memory))
        return value_of(*flat).reshape(shape)

    def batch(self, take):
        """The `Batch` of the decisions in bool (T, N, K)."""
        advantage = self.advantage[take]
        parts = (self.observation, self.mask, self.view, self.action, self.log_prob)
        parts = [*(part[take] for part in parts), advantage, advantage + self.value[take]]
        return Batch(*(torch.from_numpy(part) for part in parts))

    def sequences(self):
        """The `Sequences` of the learner's decisions, numbered as in the `Batch` of all of them."""
        return sequences(self.chosen, self.seats, self.ended, self.began)
