"""Any game as a Gymnasium environment for one learner; the opponents move inside reset and step."""

import gymnasium
import numpy as np

from .aec import whole_action
from .seats import SeatBatch
from .setup import RENDER_MODES, check_render_mode, open_snapshot, take_snapshot


def seat_spaces(setup, dtype=np.int8):
    """(Box (D,), Discrete(A)) of one learner."""
    high = setup.layout.high().astype(dtype)
    observation_space = gymnasium.spaces.Box(np.zeros_like(high), high, dtype=dtype)
    return observation_space, gymnasium.spaces.Discrete(setup.num_actions)


class SeatEnv(gymnasium.Env):
    """One game from one seat. The observation is int8 (D,), the legal ids are `info["action_mask"]`, int8 (A,).

    The reward is the sum of all that the learner earned from its action to its next decision or the end; what it earned
    before its first decision comes with its first step. Where the game asks it, it is asked, be there but one legal id.
    `action_masks()` serves sb3-contrib.

    Args:
        setup: the game and its rules.
        render_mode: None | "ansi" | "human".
        opponents: P - 1 agents, clockwise from the learner's left.
        seat: 0..P-1 | "random" | "rotate".
    """

    def __init__(self, setup, render_mode=None, opponents=(), seat=0):
        self.setup = setup
        self.render_mode = check_render_mode(render_mode)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}
        self.observation_space, self.action_space = seat_spaces(setup)
        self._batch = SeatBatch(setup, 1, opponents, seat)

    def reset(self, *, seed=None, options=None):
        """Deal episode 0 of `seed`, or the next episode, up to the learner's first decision; (observation, info).

        `info["skipped_games"]` counts deals that ended before it.
        """
        if seed is not None:
            seed = int(seed) if isinstance(seed, np.integer) else seed
            self._batch.check_seeds(seed)
        super().reset(seed=seed)
        if seed is None and not self._batch.dealt:
            seed = int(self.np_random.integers(2**31))
        self._batch.reset(seed)
        return self._batch.observation[0].copy(), self._info()

    def step(self, action):
        """Make the learner's action and play on; (observation, reward, terminated, truncated, info).

        Raises:
            ValueError: under illegal_action="raise", an illegal id; nothing has changed then.
        """
        batch = self._batch
        if not batch.dealt or batch.terminated[0] or batch.truncated[0]:
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: call reset() before step()")
        action = whole_action(self.setup, self.setup.agents[batch.seats[0]], action)
        batch.step(np.array([action if -1 <= action < 2**62 else -1]))
        terminated, truncated = bool(batch.terminated[0]), bool(batch.truncated[0])
        info = self._info()
        if batch.illegal_action[0]:
            info["illegal_action"] = int(action)
        if terminated or truncated:
            info |= batch.final_info_of(0)
        return batch.observation[0].copy(), float(batch.rewards[0]), terminated, truncated, info

    def _info(self):
        batch = self._batch
        return {
            "action_mask": batch.action_mask[0].copy(),
            "seat": int(batch.seats[0]),
            "skipped_games": int(batch.skipped_games[0]),
        }

    def action_masks(self):
        """The legal ids, bool (A,); sb3-contrib asks for them by this name."""
        return self._batch.action_mask[0].astype(bool)

    def snapshot(self):
        """The game as it stands; see `Snapshot`. The opponents' streams of random numbers are not part of it."""
        self._need_reset("snapshot()")
        return take_snapshot(self.setup, self._batch.games)

    def restore(self, snapshot):
        """Go on from a snapshot of any API of the same id and rules; (observation, info) at the next decision."""
        self._batch.put_games(open_snapshot(self.setup, snapshot, 1))
        self._batch.dealt = True
        return self._batch.observation[0].copy(), self._info()

    def _need_reset(self, what):
        if not self._batch.dealt:
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: call reset() before {what}")

    def render(self):
        """The table as the learner sees it: returned for "ansi", printed for "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called, but no render_mode was given to make()")
            return None
        self._need_reset("render()")
        batch = self._batch
        text = self.setup.game.render_text(batch.games[0], self.setup.rules, viewer=int(batch.seats[0]))
        if self.render_mode == "ansi":
            return text
        print(text)
