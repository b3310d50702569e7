"""One learner's seat a row as a batched VecEnv of Stable-Baselines3, against fixed opponents or a pool of them."""

import time

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from ..core.params import refuse, whole
from ..core.rng import AGENT, RowStreams
from ..envs.gym_single import seat_spaces
from ..envs.seats import SeatBatch
from ..envs.setup import fresh_seed, row_seeds
from ..envs.vector import MAX_ENVS

POOL = AGENT + np.uint64(8)  # the stream that draws an episode's opponent


class OpponentPool:
    """Agents of which one, drawn at an episode's start, plays all the other seats of that episode.

    Attributes:
        agents: {key: Agent}, whole-number keys.
        weights: {key: chance of being drawn, up to a factor}; 0 for an agent that only ends its running episodes.
    """

    def __init__(self):
        self.agents, self.weights = {}, {}

    def add(self, key, agent, weight):
        """Take an agent in under a new key.

        Raises:
            ValueError: the key is taken, or the weight is no finite number of at least 0.
        """
        if key in self.agents:
            refuse("key", key, f"a key that is not among {sorted(self.agents)}")
        if not 0 <= weight < float("inf"):
            refuse("weight", weight, "a finite number of at least 0")
        self.agents[key], self.weights[key] = agent, weight

    def forget(self, playing):
        """Drop the agents of weight 0 that no row plays; `playing` holds every row's key."""
        for key in [k for k, weight in self.weights.items() if weight == 0 and k not in playing]:
            del self.agents[key], self.weights[key]

    def draw(self, numbers):
        """A key for each of some uniform numbers in [0, 1).

        Raises:
            ValueError: no agent has a weight above 0.
        """
        keys = np.array([k for k, weight in self.weights.items() if weight > 0], np.int64)
        if not len(keys):
            refuse("opponents", self.weights, "at least one weight above 0")
        edges = np.cumsum([self.weights[k] for k in keys])
        return keys[np.searchsorted(edges[:-1], numbers * edges[-1], side="right")]


class PoolBatch(SeatBatch):
    """A SeatBatch whose opponents come from a pool: one agent for all other seats, the same for a whole episode.

    Attributes:
        playing: int64 (N,), the key of the agent that plays each row's episode. It is drawn from a stream of (seed,
            episode), so a row meets the same opponent whatever its neighbours do.
    """

    def __init__(self, setup, num_envs, pool, seat="rotate"):
        super().__init__(setup, num_envs, [None] * (setup.num_players - 1), seat)
        self.pool = pool
        self.playing = np.full(num_envs, -1, np.int64)

    def _choose_seats(self, rows):
        super()._choose_seats(rows)
        numbers = RowStreams(self.games["seed"][rows], self.games["episode"][rows], POOL).random()
        self.playing[rows] = self.pool.draw(numbers)

    def _choose_for_others(self, rows):
        for key in np.unique(self.playing[rows]):
            self.opponents = [self.pool.agents[key]] * len(self.opponents)
            super()._choose_for_others(rows & (self.playing == key))

    def snapshot(self):
        """See `SeatBatch.snapshot`; the pool itself is the caller's to keep."""
        return super().snapshot() | {"playing": self.playing.copy()}

    def restore(self, snapshot):
        """See `SeatBatch.restore`."""
        super().restore(snapshot)
        self.playing[:] = snapshot["playing"]


class SeatVecEnv(VecEnv):
    """N games seen from one learner's seat each, as SB3 and sb3-contrib want them.

    The reward is the sum of all that the learner earned from its action to its next decision or the end. A row whose
    game ends is dealt anew in the same step; its info then holds `terminal_observation` (D,), `TimeLimit.truncated`,
    `episode` {"r": return, "l": decisions, "t": seconds}, the seat, scores, winners, end_reason, length and returns.

    Args:
        setup: the game and its rules.
        num_envs: N.
        opponents: a list of P - 1 agents, clockwise from the learner's left, or an OpponentPool.
        seat: 0..P-1 | "random" | "rotate".
    """

    def __init__(self, setup, num_envs, opponents, seat="rotate"):
        num_envs = whole("num_envs", num_envs, 1, MAX_ENVS)
        batch = PoolBatch if isinstance(opponents, OpponentPool) else SeatBatch
        self.setup, self.batch = setup, batch(setup, num_envs, opponents, seat)
        self.render_mode = None
        self._episode_returns = np.zeros(num_envs)
        self._episode_lengths = np.zeros(num_envs, np.int64)
        self._started = time.time()
        super().__init__(num_envs, *seat_spaces(setup))

    def seed(self, seed=None):
        """The seeds of the next reset: row i plays seed + i; None draws one.

        Raises:
            ValueError: a seed outside 0..2**63 - 1.
        """
        first = fresh_seed() if seed is None else seed
        self._seeds = row_seeds(first, self.num_envs).tolist()
        return self._seeds

    def reset(self):
        """Deal every row: episode 0 of the seeds that `seed(s)` announced (s + row), or each row's next episode."""
        announced = self._seeds[0] is not None
        self.batch.reset(np.array(self._seeds, np.int64) if announced else None)
        self._reset_seeds()
        self._episode_returns[:] = 0
        self._episode_lengths[:] = 0
        return self.batch.observation.copy()

    def step_async(self, actions):
        """Take the actions, whole numbers (N,)."""
        self._actions = np.asarray(actions).reshape(-1)

    def step_wait(self):
        """Play on to each learner's next decision; (observations (N, D), rewards (N,), dones (N,), infos), all copies.

        Raises:
            ValueError: under illegal_action="raise", an illegal id; no row has changed then.
        """
        batch = self.batch
        batch.step(self._actions)
        rewards = batch.rewards.copy()
        dones = batch.terminated | batch.truncated
        self._episode_returns += rewards
        self._episode_lengths += 1
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(dones):
            infos[row] = self._end_of_episode(row)
        if dones.any():
            batch.reset(rows=dones)
        return batch.observation.copy(), rewards, dones, infos

    def _end_of_episode(self, row):
        info = self.batch.final_info_of(row) | {
            "seat": int(self.batch.seats[row]),
            "terminal_observation": self.batch.observation[row].copy(),
            "TimeLimit.truncated": bool(self.batch.truncated[row]),
            "episode": {
                "r": float(self._episode_returns[row]),
                "l": int(self._episode_lengths[row]),
                "t": round(time.time() - self._started, 6),
            },
        }
        self._episode_returns[row] = 0
        self._episode_lengths[row] = 0
        return info

    def action_masks(self):
        """The legal ids, bool (N, A)."""
        return self.batch.action_mask.astype(bool)

    def snapshot(self):
        """Everything that decides how the games go on, as a dict of arrays; see `restore`."""
        returns, lengths = self._episode_returns.copy(), self._episode_lengths.copy()
        return self.batch.snapshot() | {"episode_returns": returns, "episode_lengths": lengths}

    def restore(self, snapshot):
        """Go on from a snapshot of an environment of the same setup, size and opponents."""
        self.batch.restore(snapshot)
        self._episode_returns[:] = snapshot["episode_returns"]
        self._episode_lengths[:] = snapshot["episode_lengths"]

    def close(self):
        """End the worker threads."""
        self.batch.close()

    def has_attr(self, attr_name):
        """Whether there is such an attribute; MaskablePPO asks for `action_masks`."""
        return hasattr(self, attr_name)

    def get_attr(self, attr_name, indices=None):
        """The attribute, once for each of the rows."""
        return [getattr(self, attr_name)] * len(self._rows(indices))

    def set_attr(self, attr_name, value, indices=None):
        """Refused: rows share one batch, so no row has attributes of its own."""
        refuse("attr_name", attr_name, "no attribute: the rows of a SeatVecEnv cannot be set one by one")

    def env_method(self, method_name, *method_args, indices=None, **method_kwargs):
        """`action_masks` of the rows as bool (len, A); no other method exists a row."""
        if method_name != "action_masks":
            refuse("method_name", method_name, "'action_masks'")
        return self.action_masks()[self._rows(indices)]

    def env_is_wrapped(self, wrapper_class, indices=None):
        """False for each of the rows."""
        return [False] * len(self._rows(indices))

    def _rows(self, indices):
        return list(self._get_indices(indices))
