"""N games of one kind in one call, on numpy arrays that the environment owns; no API library."""

from typing import NamedTuple

import numpy as np

from ..core.kernel import COMPILED, direct
from ..core.params import refuse, whole
from ..core.rng import BOT, RowStreams
from ..core.spec import OFFENCE, RUNNING, UNDEALT, UNSET
from .aec import illegal_message
from .blocks import RowBlocks
from .setup import check_seed, fresh_seed, legal_stand_in, open_snapshot, row_seeds, take_snapshot

DTYPES = ("int8", "float32")
MAX_ENVS = 2**22


def check_dtype(dtype):
    """The numpy dtype of observations, from "int8", "float32" or the like."""
    try:
        name = np.dtype(dtype).name if dtype is not None else "None"
    except TypeError:
        name = "no dtype"
    if name not in DTYPES:
        refuse("dtype", dtype, "one of " + ", ".join(repr(n) for n in DTYPES))
    return np.dtype(name)


class Step(NamedTuple):
    """What reset and step return: the environment's own arrays, overwritten by the next call.

    Attributes:
        observation: (N, D), or (N, P, D) in a simultaneous game.
        action_mask: int8 (N, A), or (N, P, A).
        current_player: int32 (N,); -1 in a simultaneous game.
        rewards: float32 (N, P), earned in this step.
        terminated, truncated: bool (N,), games that ended in this step and have been dealt anew.
        final_observation: (N, P, D), each seat's last view, valid where a game ended in this step.
        final_info: {"scores", "winners", "end_reason", "length", "returns"}, arrays, valid where a game ended; an
            `end_reason` is an index of the environment's `end_reasons`, and `final_info_of(row)` gives plain values.
        illegal_action: bool (N,) or (N, P), ids that were illegal and were replaced or forfeited the game.
    """

    observation: np.ndarray
    action_mask: np.ndarray
    current_player: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    final_observation: np.ndarray
    final_info: dict
    illegal_action: np.ndarray


class Rollout(NamedTuple):
    """What `rollout` did, by row: decisions (N,), games finished (N,), rewards summed (N, P)."""

    decisions: np.ndarray
    finished: np.ndarray
    returns: np.ndarray


class VectorGame:
    """N games a call. Turn based: (N, D), (N, A), an action a row; simultaneous: (N, P, D), (N, P, A), P actions a row.

    Finished games are dealt anew in the same step (episode + 1 of their seed). Arrays are overwritten by the next call:
    copy what is to be kept, and write nothing into them (a mask that stays the same is not written again);
    `torch.from_numpy` works on them.

    Args:
        setup: the game and its rules.
        num_envs: N, 1..2**22.
        threads: worker threads over blocks of rows, 1..256; results do not depend on it.
        dtype: "int8" or "float32" (the same numbers) of observations.
    """

    def __init__(self, setup, num_envs=1, threads=1, dtype="int8"):
        n = whole("num_envs", num_envs, 1, MAX_ENVS)
        self._blocks = RowBlocks(n, threads)
        self.dtype = check_dtype(dtype)
        self.setup, self.num_envs = setup, n
        self.num_players, self.num_actions = setup.num_players, setup.num_actions
        self.agents = setup.agents
        views = setup.num_players if setup.simultaneous else 1
        p, d, a = setup.num_players, setup.layout.size, setup.num_actions
        self._games, self._ended = setup.new_games(n), setup.new_games(n)
        self._actions = np.zeros((n, views), np.int64)
        self._observation = np.zeros((n, views, d), np.int8)
        self._mask = np.zeros((n, views, a), np.int8)
        self._current = np.zeros(n, np.int32)
        self._asked = np.zeros((n, 0), np.int8)
        self._final = np.zeros((n, p, d), np.int8)
        self.rewards = np.zeros((n, p), np.float32)
        self.terminated, self.truncated = np.zeros(n, bool), np.zeros(n, bool)
        self._shown, self._shown_final = self._observation, self._final
        if self.dtype != np.int8:
            self._shown = self._observation.astype(self.dtype)
            self._shown_final = self._final.astype(self.dtype)
        flat = not setup.simultaneous
        self.observation = self._shown[:, 0] if flat else self._shown
        self.action_mask = self._mask[:, 0] if flat else self._mask
        self.current_player = self._current if flat else np.full(n, -1, np.int32)
        self.final_observation = self._shown_final
        ended = self._ended
        self.final_info = {
            "scores": ended["scores"][:, :p],
            "winners": ended["winners"][:, :p].view(bool),
            "end_reason": ended["end_reason"],
            "length": ended["length"],
            "returns": ended["returns"][:, :p],
        }
        self.end_reasons = setup.game.end_reasons
        self.illegal_action = np.zeros((n,) if flat else (n, views), bool)
        self._step = Step(
            self.observation,
            self.action_mask,
            self.current_player,
            self.rewards,
            self.terminated,
            self.truncated,
            self.final_observation,
            self.final_info,
            self.illegal_action,
        )
        self._all_legal, self._advance_rows = setup.loops.all_legal, setup.loops.advance_and_redeal
        self._had_illegal = False
        self._dealt = False
        self._over = False  # a rollout has left rows at their end

    def _need_reset(self, what):
        if not self._dealt:
            raise RuntimeError(f"{self.setup.id}: call reset() before {what}")

    def reset(self, seed=None):
        """Deal every row.

        Args:
            seed: s gives row i episode 0 of seed s + i; an (N,) array gives the seeds; None deals every row's next
                episode (of a seed of the system's, the first time).

        Raises:
            ValueError: a seed outside 0..2**63 - 1, or an array of another length.
        """
        games = self._games
        if seed is not None:
            seeds = row_seeds(seed, self.num_envs)
            games["seed"], games["episode"] = seeds, 0
        elif not self._dealt:
            games["seed"] = fresh_seed() + np.arange(self.num_envs)
        else:
            games["episode"] += 1
        games["end_reason"] = UNDEALT
        self._dealt, self._over = True, False
        self._advance(self._actions)
        self._all_legal(self._actions, self._mask)
        # Compiled they are: from now on without numba's look at every argument, a third of a step of few games.
        self._all_legal = direct(self._all_legal, (self._actions, self._mask))
        self._advance_rows = direct(self._advance_rows, self._arguments(0, 0, self._actions))
        return self._step

    def step(self, actions):
        """Carry out one round in every row.

        Args:
            actions: whole numbers, (N,) for `current_player`, or (N, P) in a simultaneous game, where a seat with
                nothing to choose sends its one legal id.

        Raises:
            ValueError: wrong shape or type, or under illegal_action="raise" an illegal id; no row has changed then.
        """
        self._need_reset("step()")
        if self._over:
            rows = np.flatnonzero(self._games["end_reason"] > RUNNING).tolist()
            raise RuntimeError(f"{self.setup.id}: a rollout has ended rows {rows}; reset() or restore() them")
        actions = np.asarray(actions)
        if actions.shape != self.illegal_action.shape or not np.issubdtype(actions.dtype, np.integer):
            given = f"{actions.dtype} {actions.shape}"
            refuse("actions", given, f"whole numbers of shape {self.illegal_action.shape}")
        flags = actions.flags
        if actions.dtype == np.int64 and flags.c_contiguous and flags.aligned and flags.writeable:
            chosen = actions.reshape(self._actions.shape)  # as it is: a copy would cost
        else:
            chosen = self._actions
            chosen[:] = actions.reshape(chosen.shape)
        if self._had_illegal:
            self.illegal_action[:] = self._had_illegal = False
        if not self._all_legal(chosen, self._mask):
            chosen = self._mend_actions(chosen)
        self._advance(chosen)
        return self._step

    def _mend_actions(self, chosen):
        """Refuse the step, or give a copy with what stands for illegal ids."""
        setup, actions = self.setup, chosen.copy()
        inside = (actions >= 0) & (actions < setup.num_actions)
        legal = np.take_along_axis(self._mask, np.where(inside, actions, 0)[..., None], 2)[..., 0] == 1
        illegal = ~(inside & legal)
        if setup.illegal_action == "raise":
            row, view = map(int, np.argwhere(illegal)[0])
            agent = self.agents[view if setup.simultaneous else int(self._current[row])]
            message = illegal_message(setup, agent, int(actions[row, view]), self._mask[row, view])
            raise ValueError(f"row {row}, {message}")
        for row, view in np.argwhere(illegal).tolist():
            seat = view if setup.simultaneous else int(self._current[row])
            if setup.illegal_action == "forfeit":
                actions[row, view] = OFFENCE
            else:
                actions[row, view] = legal_stand_in(self._mask[row, view], self._games[row], seat)
        self.illegal_action[:] = illegal.reshape(self.illegal_action.shape)
        self._had_illegal = True
        return actions

    def _arguments(self, start, stop, actions):
        """What `advance_and_redeal` takes."""
        setup = self.setup
        return (
            self._games, self._ended, setup.params, setup.seats, start, stop, setup.max_steps, actions,
            self._observation, self._mask, self._current, self.rewards, self.terminated, self.truncated, self._final,
        )  # fmt: skip

    def _advance(self, actions):
        self._blocks.run(lambda start, stop: self._advance_rows(*self._arguments(start, stop, actions)))
        if self.dtype != np.int8:
            self._shown[:] = self._observation
            if self.terminated.any() or self.truncated.any():
                self._shown_final[:] = self._final

    def _observe(self, rows):
        """Show the games as they stand; in the rows that were changed nothing has been earned and nothing has ended."""
        setup = self.setup
        setup.loops.observe(
            self._games, setup.params, setup.seats, 0, self.num_envs,
            self._observation, self._mask, self._asked, self._current,
        )  # fmt: skip
        if self.dtype != np.int8:
            self._shown[:] = self._observation
        self.rewards[rows] = 0
        self.terminated[rows] = self.truncated[rows] = self.illegal_action[rows] = False
        self._over = bool((self._games["end_reason"] > RUNNING).any())

    def final_info_of(self, row):
        """The end-of-game facts of a row whose game ended in the last step, as plain values, as in the other APIs."""
        return self.setup.final_info(self._ended[row])

    def state(self):
        """The referee's view of every row, int8 (N, S), a new array."""
        return self._states(self._games)

    def final_state(self):
        """The referee's view of the game that ended in the last step, int8 (N, S), valid where one did."""
        return self._states(self._ended)

    def _states(self, games):
        state = np.zeros((self.num_envs, self.setup.state_layout.size), np.int8)
        self.setup.loops.observe_state(games, self.setup.params, self.setup.seats, state)
        return state

    def observe(self, player):
        """What seat `player` sees now in every row, asked or not, int8 (N, D), a new array.

        Raises:
            ValueError: a seat outside 0..P-1.
        """
        self._need_reset("observe()")
        player = whole("player", player, 0, self.num_players - 1)
        observation = np.zeros((self.num_envs, self.setup.layout.size), np.int8)
        players, active = np.full(self.num_envs, player, np.int64), np.ones(self.num_envs, bool)
        self.setup.loops.observe_seats(self._games, self.setup.params, self.setup.seats, players, active, observation)
        return observation

    def copy_rows(self, src, dst):
        """Make rows `dst` the games of rows `src`, as they stand; observations and masks follow."""
        self._need_reset("copy_rows()")
        src, dst = self._rows(src, "src"), self._rows(dst, "dst")
        if len(src) != len(dst):
            refuse("dst", f"{len(dst)} rows", f"as many as src, {len(src)}")
        self._games[dst] = self._games[src]
        self._observe(dst)

    def snapshot(self, rows=None):
        """The games of `rows` (None: all) as they stand; see `Snapshot`."""
        self._need_reset("snapshot()")
        games = self._games if rows is None else self._games[self._rows(rows, "rows")]
        return take_snapshot(self.setup, games)

    def restore(self, snapshot, rows=None):
        """Put a snapshot of any API of the same id and rules into `rows` (None: all); one game fills all of them.

        Choices of a running AEC round are dropped: every seat chooses anew.
        """
        rows = np.arange(self.num_envs) if rows is None else self._rows(rows, "rows")
        games = open_snapshot(self.setup, snapshot, len(rows))
        if (games["end_reason"] > RUNNING).any():
            refuse("snapshot", "a game that is over", "running games; finished rows are dealt anew here")
        if (games["end_reason"] == UNDEALT).any():
            refuse("snapshot", "a game before its reset", "running games")
        self._games[rows] = games
        self._games["pending"][rows] = UNSET
        if not self._dealt:
            others = np.setdiff1d(np.arange(self.num_envs), rows)
            if len(others):
                refuse("rows", f"{len(rows)} of {self.num_envs}", "all rows before the first reset()")
            self._dealt = True
        self._observe(rows)

    def determinize(self, rows, player, seeds):
        """Redraw, in `rows`, all that `player` cannot know, each row from its own seed; then show them.

        Others' unrevealed choices are drawn uniformly over their legal ids (a prior, not a posterior), face-up and
        publicly known cards stay, the generator is redrawn. Use it on copies: `snapshot`, `restore` or `copy_rows`
        come first.

        Args:
            rows: row numbers, (K,).
            player: a seat, or its agent's name.
            seeds: (K,) whole numbers in 0..2**63 - 1.
        """
        self._need_reset("determinize()")
        rows = self._rows(rows, "rows")
        if isinstance(player, str) and player in self.agents:
            player = self.agents.index(player)
        player = whole("player", player, 0, self.num_players - 1)
        seeds = np.array([check_seed(s) for s in np.atleast_1d(seeds).tolist()], dtype=np.int64)
        if len(seeds) != len(rows):
            refuse("seeds", f"{len(seeds)} seeds", f"one for each of {len(rows)} rows")
        games, mask = self._games[rows], np.zeros(self.num_actions, np.int8)
        setup = self.setup
        setup.loops.determinize(games, setup.params, setup.seats, 0, len(rows), player, seeds, mask)
        self._games[rows] = games
        self._observe(rows)

    def _rows(self, rows, name):
        rows = np.atleast_1d(np.asarray(rows))
        if rows.dtype == bool and rows.shape == (self.num_envs,):
            return np.flatnonzero(rows)
        if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
            refuse(name, rows.tolist(), f"row numbers in 0..{self.num_envs - 1}")
        if len(rows) and not (rows.min() >= 0 and rows.max() < self.num_envs):
            refuse(name, rows.tolist(), f"row numbers in 0..{self.num_envs - 1}")
        return rows

    def rollout(self, policy="random", max_steps=None, *, auto_reset=False, seed=0):
        """Play every row on inside the kernels and say what was earned; then show where the rows stand.

        Args:
            policy: "random", uniform over legal ids, or a function compiled by numba with the signature
                `policy(s, params, seats, player, mask, draw) -> action`; mask is int8 (A,), draw a uniform uint64.
            max_steps: rounds a row at most; None plays every game to its end.
            auto_reset: deal ended rows anew and go on to max_steps, instead of leaving them at their end; a row that is
                left at its end is dealt anew by the next `reset` or by restoring into it.
            seed: of the policy's own random stream; the games' generators go on as in any play.

        Returns:
            Rollout(decisions, finished, returns).
        """
        self._need_reset("rollout()")
        if max_steps is None and auto_reset:
            refuse("max_steps", None, "a number of rounds where auto_reset is on")
        steps = 2**62 if max_steps is None else whole("max_steps", max_steps, 1, 2**62)
        setup, n = self.setup, self.num_envs
        with np.errstate(over="ignore"):
            counters = RowStreams(check_seed(seed) + np.arange(n), np.zeros(n), BOT).counters
        result = Rollout(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, self.num_players), np.float32))
        if policy == "random":
            loop, extra = setup.loops.rollout, []
        elif hasattr(policy, "py_func") or (not COMPILED and callable(policy)):
            loop, extra = setup.loops.rollout_policy, [policy, np.zeros((n, setup.num_actions), np.int8)]
        else:
            refuse("policy", policy, "'random' or a function compiled by numba")
        caps, sums = (steps, setup.max_steps, auto_reset), (*result, np.zeros_like(result.returns))
        self._blocks.run(
            lambda start, stop: loop(
                self._games, setup.params, setup.seats, start, stop, *caps, counters, *sums, *extra
            )
        )
        self._observe(np.arange(n))
        return result

    def close(self):
        """End the worker threads."""
        self._blocks.close()

    def __getstate__(self):
        arrays = {name: getattr(self, name).copy() for name in _KEPT}
        options = (self.num_envs, self._blocks.threads, str(self.dtype))
        return {"setup": self.setup, "options": options, "arrays": arrays, "state": (self._dealt, self._over)}

    def __setstate__(self, state):
        VectorGame.__init__(self, state["setup"], *state["options"])
        for name, array in state["arrays"].items():
            getattr(self, name)[:] = array
        self._dealt, self._over = state["state"]
        self._had_illegal = bool(self.illegal_action.any())


_KEPT = (
    "_games", "_ended", "_observation", "_mask", "_current", "_final", "_shown", "_shown_final",
    "rewards", "terminated", "truncated", "illegal_action",
)  # fmt: skip
