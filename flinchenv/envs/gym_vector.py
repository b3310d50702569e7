"""Any game as a natively batched Gymnasium vector environment for one learner a row."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ..core.params import refuse, whole
from .gym_single import seat_spaces
from .seats import SeatBatch
from .setup import RENDER_MODES, check_render_mode, open_snapshot, take_snapshot
from .vector import MAX_ENVS, check_dtype


def check_autoreset_mode(mode):
    """An AutoresetMode from itself or from "NextStep", "SameStep" or "Disabled"."""
    names = {m.value: m for m in AutoresetMode}
    if isinstance(mode, AutoresetMode):
        return mode
    if not isinstance(mode, str) or mode not in names:
        refuse("autoreset_mode", mode, "one of " + ", ".join(repr(n) for n in names))
    return names[mode]


class SeatVectorEnv(gymnasium.vector.VectorEnv):
    """N learners' seats a call; row i with seed s plays as `SeatEnv` with seed s + i.

    Legal ids are `info["action_mask"]`, int8 (N, A). At a game's end the info holds scores, winners, end_reason, length
    and returns of the rows that `_scores` and its like mark; in SAME_STEP they are in `final_info`, and the last
    observation in `final_obs`.

    Args:
        setup: the game and its rules.
        render_mode: None | "ansi" | "human".
        num_envs: N.
        threads: worker threads over blocks of rows; the opponents' moves are batched over rows in any case.
        dtype: "int8" | "float32" of observations.
        opponents: P - 1 agents, clockwise from the learner's left.
        seat: 0..P-1 | "random" | "rotate".
        autoreset_mode: "NextStep" | "SameStep" | "Disabled", or Gymnasium's enum.
    """

    def __init__(
        self,
        setup,
        render_mode=None,
        num_envs=1,
        threads=1,
        dtype="int8",
        opponents=(),
        seat=0,
        autoreset_mode="NextStep",
    ):
        self.setup = setup
        self.num_envs = whole("num_envs", num_envs, 1, MAX_ENVS)
        self.render_mode = check_render_mode(render_mode)
        self._mode = check_autoreset_mode(autoreset_mode)
        self._dtype = check_dtype(dtype)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2, "autoreset_mode": self._mode}
        self.single_observation_space, self.single_action_space = seat_spaces(setup, self._dtype)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._batch = SeatBatch(setup, self.num_envs, opponents, seat, threads)
        self._over = np.zeros(self.num_envs, bool)

    def reset(self, *, seed=None, options=None):
        """Deal rows; (observations (N, D), infos).

        Args:
            seed: s gives row i episode 0 of s + i, or one seed a row; None deals the next episodes.
            options: {"reset_mask": bool (N,)} deals those rows alone, as the "Disabled" mode needs.
        """
        rows = None
        if options is not None and "reset_mask" in options:
            rows = np.asarray(options["reset_mask"])
            if rows.shape != (self.num_envs,) or rows.dtype != bool or not rows.any():
                refuse("reset_mask", options["reset_mask"], f"bool of shape ({self.num_envs},), at least one True")
            if not self._batch.dealt and not rows.all():
                refuse("reset_mask", options["reset_mask"], "all True at the first reset")
        if seed is not None:
            seed = self._batch.check_seeds(seed)
        super().reset(seed=None if seed is None else int(seed[0]))
        if seed is None and not self._batch.dealt:
            seed = self._batch.check_seeds(int(self.np_random.integers(2**31)))
        self._batch.reset(seed, rows)
        self._over[:] = self._batch.terminated | self._batch.truncated
        return self._observation(), self._info(rows)

    def step(self, actions):
        """One decision of every learner; (observations, rewards float64 (N,), terminated, truncated, infos)."""
        batch = self._batch
        self._need_reset("step()")
        actions = np.asarray(actions)
        running = ~self._over
        if self._mode == AutoresetMode.DISABLED and self._over.any():
            rows = np.flatnonzero(self._over).tolist()
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: rows {rows} are over; reset them with reset_mask")
        batch.step(actions, running)
        rewards = np.where(running, batch.rewards, 0).astype(np.float64)
        if self._mode == AutoresetMode.NEXT_STEP and self._over.any():
            batch.reset(rows=self._over.copy())
        terminated, truncated = batch.terminated.copy(), batch.truncated.copy()
        self._over = terminated | truncated
        offended = batch.illegal_action & running
        illegal = {}
        if offended.any():
            illegal = {"illegal_action": np.where(offended, actions.astype(np.int64), -1), "_illegal_action": offended}
        info = self._info()
        if self._over.any():
            final = self._final_info(self._over)
            info |= self._next_games(final | illegal) if self._mode == AutoresetMode.SAME_STEP else final
        info |= illegal
        return self._observation(), rewards, terminated, truncated, info

    def _next_games(self, final):
        """Deal the finished rows anew and say how they ended."""
        over, batch = self._over.copy(), self._batch
        observations = np.full(self.num_envs, None, dtype=object)
        last = self._observation()
        for i in np.flatnonzero(over):
            observations[i] = last[i]
        final |= self._info(over)
        batch.reset(rows=over)
        self._over[:] = False
        ended = {"final_obs": observations, "_final_obs": over.copy(), "final_info": final, "_final_info": over}
        return ended | self._info()

    def _final_info(self, over):
        p = self.setup.num_players
        games = self._batch.games
        reasons = np.array(self.setup.game.end_reasons, dtype=object)
        info = {
            "scores": np.where(over[:, None], games["scores"][:, :p], 0),
            "winners": over[:, None] & (games["winners"][:, :p] == 1),
            "end_reason": np.where(over, reasons[np.where(over, games["end_reason"], 0)], ""),
            "length": np.where(over, games["length"], 0),
            "returns": np.where(over[:, None], games["returns"][:, :p], 0.0),
        }
        return info | {f"_{key}": over.copy() for key in list(info)}

    def _info(self, rows=None):
        batch, every = self._batch, np.ones(self.num_envs, bool) if rows is None else rows
        info = {
            "action_mask": batch.action_mask.copy(),
            "seat": batch.seats.copy(),
            "skipped_games": batch.skipped_games.copy(),
        }
        return info | {f"_{key}": every.copy() for key in list(info)}

    def _observation(self):
        return self._batch.observation.astype(self._dtype)

    def action_masks(self):
        """The legal ids, bool (N, A); sb3-contrib asks for them by this name."""
        return self._batch.action_mask.astype(bool)

    def snapshot(self):
        """The games as they stand, (N,); see `Snapshot`. Opponents' streams of random numbers are not part of it."""
        self._need_reset("snapshot()")
        return take_snapshot(self.setup, self._batch.games)

    def restore(self, snapshot):
        """Go on from a snapshot of any API of the same id and rules; (observations, infos) at the next decisions."""
        self._batch.put_games(open_snapshot(self.setup, snapshot, self.num_envs))
        self._batch.dealt = True
        self._over[:] = self._batch.terminated | self._batch.truncated
        return self._observation(), self._info()

    def _need_reset(self, what):
        if not self._batch.dealt:
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: call reset() before {what}")

    def render(self):
        """Each row's table as its learner sees it, a tuple of texts, for "ansi"."""
        if self.render_mode is None:
            return None
        self._need_reset("render()")
        game, rules, batch = self.setup.game, self.setup.rules, self._batch
        texts = tuple(game.render_text(s, rules, viewer=int(seat)) for s, seat in zip(batch.games, batch.seats))
        if self.render_mode == "ansi":
            return texts
        print("\n\n".join(texts))

    def close_extras(self, **kwargs):
        """End the worker threads."""
        self._batch.close()
