"""N games seen from one learner's seat each: opponents move inside, rewards wait for the learner's next decision.

What `gym_single`, `gym_vector` and the trainers' adapters share; it knows no API library.
"""

import numpy as np

from ..core.params import refuse, whole
from ..core.rng import AGENT, MAX_SEED, RowStreams
from ..core.spec import OFFENCE, RUNNING, UNDEALT, UNSET
from .aec import illegal_message
from .blocks import RowBlocks
from .memory import Memories, memory_of
from .setup import check_seed, fresh_seed, legal_stand_in, row_seeds

MAX_DEALS = 10_000  # deals in a row that end before the learner's first decision, until that is an error


class SeatView:
    """What an agent that declares `needs_view` may ask beside its observation; the record itself stays hidden.

    Args:
        setup: the game and its rules.
        games: the (1,) record of the game; what the seat cannot know is redrawn before it is kept.
        seat: the acting seat.
    """

    def __init__(self, setup, games, seat):
        self.setup, self.seat = setup, seat
        self._key = setup.game.information_state(games[0], setup.rules, seat)
        self._games = self._redraw(games.copy(), np.zeros(1, np.int64))

    def _redraw(self, games, seeds):
        setup, mask = self.setup, np.zeros(self.setup.num_actions, np.int8)
        setup.loops.determinize(games, setup.params, setup.seats, 0, len(games), self.seat, seeds, mask)
        return games

    def information_state(self):
        """A bytes key of all that the seat has ever seen."""
        return self._key

    def determinize(self, n, seed):
        """`n` games that the seat cannot tell from the true one, as records (n,), each with a generator of its own.

        A prior over what is hidden, not a posterior; see the AEC environment's `determinize`.
        """
        n = whole("n", n, 1, 2**20)
        seeds = np.random.SeedSequence(check_seed(seed)).generate_state(n, np.uint64).astype(np.int64) & MAX_SEED
        return self._redraw(np.repeat(self._games, n), seeds)

    def observe(self, setup):
        """int8 (D,): what the seat would observe under a `Setup` that differs in what observations show alone."""
        observation = np.zeros((1, setup.layout.size), np.int8)
        seat, active = np.array([self.seat]), np.ones(1, bool)
        setup.loops.observe_seats(self._games, setup.params, setup.seats, seat, active, observation)
        return observation[0]


def legal_choices(agent, chosen, mask):
    """An agent's choices as int64 (N,).

    Raises:
        ValueError: not one whole number a row, or one outside the row's mask; names the agent and the choice.
    """
    name = getattr(agent, "name", type(agent).__name__)
    chosen = np.asarray(chosen)
    if chosen.shape != (len(mask),) or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError(f"agent {name!r} must choose whole numbers ({len(mask)},), not {chosen.dtype} {chosen.shape}")
    inside = (chosen >= 0) & (chosen < mask.shape[1])
    legal = inside & (mask[np.arange(len(mask)), np.where(inside, chosen, 0)] == 1)
    if not legal.all():
        raise ValueError(f"agent {name!r} chose an illegal action: {chosen[~legal].tolist()[0]}")
    return chosen.astype(np.int64)


def check_seat(setup, seat):
    """A learner's seat: a number, "random" or "rotate"."""
    if seat in ("random", "rotate") and isinstance(seat, str):
        return seat
    if isinstance(seat, str):
        refuse("seat", seat, f"0..{setup.num_players - 1}, 'random' or 'rotate'")
    return whole("seat", seat, 0, setup.num_players - 1)


class SeatBatch:
    """N games with a learner in one seat of each.

    Opponents draw from streams of their own, keyed by (seed, episode, seat), so the cards stay the seed's whatever they
    do, and row i of a batch plays as the same seed would play alone.

    Args:
        setup: the game and its rules.
        num_envs: N.
        opponents: a list of P - 1 agents, in clockwise order from the learner's left.
        seat: 0..P-1, "rotate" ((seed + episode) mod P) or "random" (drawn for each episode).
        threads: worker threads over blocks of rows.

    Attributes:
        observation: int8 (N, D), the learner's. action_mask: int8 (N, A), all zero once a game is over.
        rewards: float32 (N,), earned from the last action to this decision or the end.
        terminated, truncated: bool (N,). seats: (N,) the learner's seat. skipped_games: (N,) since the last reset.
    """

    def __init__(self, setup, num_envs, opponents, seat=0, threads=1):
        n, p, d, a = num_envs, setup.num_players, setup.layout.size, setup.num_actions
        self.setup, self.num_envs = setup, n
        self.opponents = list(opponents)
        self.seat = check_seat(setup, seat)
        self._blocks = RowBlocks(n, threads)
        views = p if setup.simultaneous else 1
        self.games = setup.new_games(n)
        self._actions = np.zeros((n, views), np.int64)
        self._observation = np.zeros((n, views, d), np.int8)
        self._mask = np.zeros((n, views, a), np.int8)
        self._asked = np.zeros((n, p), np.int8)
        self._current = np.zeros(n, np.int32)
        self._rewards = np.zeros((n, p), np.float32)
        self._terminated, self._truncated = np.zeros(n, bool), np.zeros(n, bool)
        self._streams = [RowStreams(np.zeros(n), np.zeros(n)) for _ in self.opponents]
        self._memories = Memories(n, p)
        self._row = np.arange(n)
        self._carried = np.zeros(n, np.float32)  # earned before the first decision
        self.seats = np.zeros(n, np.int64)
        self.observation = np.zeros((n, d), np.int8)
        self.action_mask = np.zeros((n, a), np.int8)
        self.rewards = np.zeros(n, np.float32)
        self.terminated, self.truncated = np.zeros(n, bool), np.zeros(n, bool)
        self.illegal_action = np.zeros(n, bool)
        self.skipped_games = np.zeros(n, np.int64)
        self.dealt = False

    def reset(self, seed=None, rows=None):
        """Deal some rows (None: all), up to the learner's first decision in each.

        Args:
            seed: row i gets episode 0 of seed + i, or of seed[i]; None deals each row's next episode.
            rows: bool (N,) or None.
        """
        rows = np.ones(self.num_envs, bool) if rows is None else rows
        games = self.games
        if seed is not None:
            seeds = self.check_seeds(seed)
            games["seed"][rows], games["episode"][rows] = seeds[rows], 0
        elif not self.dealt:
            games["seed"] = fresh_seed() + np.arange(self.num_envs)
        else:
            games["episode"][rows] += 1
        self.dealt = True
        self.skipped_games[rows] = 0
        self.illegal_action[rows] = False
        self._deal(rows)

    def check_seeds(self, seed):
        return row_seeds(seed, self.num_envs)

    def _deal(self, rows):
        """Deal and let others move; games over before the learner's first decision are dealt anew."""
        for _ in range(MAX_DEALS):
            self.games["end_reason"][rows] = UNDEALT
            self._memories.forget(rows)
            self._choose_seats(rows)
            self.rewards[rows] = 0
            self._advance(rows)
            self._play_to_decision(rows)
            ready = rows & (self.games["end_reason"] == RUNNING)
            self._carried[ready] = self.rewards[ready]
            self.rewards[ready] = 0
            self._show(ready)
            rows = rows & ~ready
            if not rows.any():
                return
            self.skipped_games[rows] += 1
            self.games["episode"][rows] += 1
        cap = f" (max_steps={self.setup.max_steps} may be too few)" if self.setup.max_steps else ""
        raise RuntimeError(
            f"{self.setup.id}: {MAX_DEALS} deals in a row ended before the learner's first decision{cap}"
        )

    def _choose_seats(self, rows):
        n = self.setup.num_players
        seeds, episodes = self.games["seed"][rows], self.games["episode"][rows]
        if self.seat == "rotate":
            self.seats[rows] = (seeds % n + episodes % n) % n
        elif self.seat == "random":
            self.seats[rows] = (RowStreams(seeds, episodes, AGENT).random() * n).astype(np.int64)
        else:
            self.seats[rows] = self.seat
        for k, streams in enumerate(self._streams):
            streams.restart(rows, seeds, episodes, AGENT + np.uint64(16 + k))

    def step(self, actions, rows=None):
        """Make the learner's actions in some rows (None: all) and play on to its next decision or the end.

        Args:
            actions: whole numbers (N,); those of other rows are not looked at.
            rows: bool (N,), rows whose game is running.

        Raises:
            ValueError: under illegal_action="raise", an illegal id; no row has changed then.
        """
        rows = np.ones(self.num_envs, bool) if rows is None else rows
        chosen = self._check_actions(actions, rows)
        view = self.seats if self.setup.simultaneous else 0
        if self.setup.simultaneous:
            self._choose_for_others(rows)
        self._actions[self._row, view] = np.where(rows, chosen, self._actions[self._row, view])
        self.rewards[rows] = self._carried[rows]
        self._carried[rows] = 0
        self._advance(rows)
        self._play_to_decision(rows)
        self._show(rows)

    def _check_actions(self, actions, rows):
        setup = self.setup
        chosen = np.array(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            refuse("actions", f"{chosen.dtype} {chosen.shape}", f"whole numbers of shape ({self.num_envs},)")
        inside = (chosen >= 0) & (chosen < setup.num_actions)
        chosen = np.where(inside, chosen, -1).astype(np.int64)
        legal = inside & (self.action_mask[self._row, np.where(inside, chosen, 0)] == 1)
        illegal = rows & ~legal
        if illegal.any() and setup.illegal_action == "raise":
            row = int(np.flatnonzero(illegal)[0])
            agent = setup.agents[self.seats[row]]
            message = illegal_message(setup, agent, int(np.asarray(actions)[row]), self.action_mask[row])
            raise ValueError(message if self.num_envs == 1 else f"row {row}, {message}")
        for row in np.flatnonzero(illegal).tolist():
            if setup.illegal_action == "forfeit":
                chosen[row] = OFFENCE
            else:
                chosen[row] = legal_stand_in(self.action_mask[row], self.games[row], int(self.seats[row]))
        self.illegal_action[rows] = illegal[rows]
        return chosen

    def _play_to_decision(self, rows):
        """Let others move until the learner is asked or the game is over, in each of the rows."""
        while True:
            running = rows & (self.games["end_reason"] == RUNNING)
            go = running & (self._asked[self._row, self.seats] == 0)
            if not go.any():
                return
            self._choose_for_others(go)
            if self.setup.simultaneous:
                idle = self._mask[self._row, self.seats].argmax(1)  # the learner's one legal id
                self._actions[go, self.seats[go]] = idle[go]
            self._advance(go)

    def _choose_for_others(self, rows):
        """Put the opponents' actions of this round into `_actions`."""
        setup = self.setup
        for k, agent in enumerate(self.opponents):
            seat = (self.seats + 1 + k) % setup.num_players
            asked = rows & (self._asked[self._row, seat] == 1)
            view = seat if setup.simultaneous else np.zeros_like(seat)
            if setup.simultaneous:
                idle = rows & ~asked
                self._actions[idle, view[idle]] = self._mask[idle, view[idle]].argmax(1)
            if not asked.any():
                continue
            at = np.flatnonzero(asked)
            mask = self._mask[at, view[at]]
            views = None
            if getattr(agent, "needs_view", False):
                views = [SeatView(setup, self.games[i : i + 1], int(seat[i])) for i in at]
            observation, streams = self._observation[at, view[at]], self._streams[k][at]
            chosen = self._memories.ask(agent, at, seat[at], observation, mask, streams, views)
            self._actions[at, view[at]] = legal_choices(agent, chosen, mask)

    def _advance(self, rows):
        setup = self.setup

        def block(start, stop):
            setup.loops.advance(
                self.games, setup.params, setup.seats, start, stop, setup.max_steps, self._actions, self._observation,
                self._mask, self._asked, self._current, self._rewards, self._terminated, self._truncated, rows,
            )  # fmt: skip

        self._blocks.run(block)
        self.rewards[rows] += self._rewards[self._row, self.seats][rows]

    def _show(self, rows):
        """Put the learner's observation, mask and end flags of the rows into the public arrays."""
        setup = self.setup
        over = self.games["end_reason"] != RUNNING
        cut = self.games["truncated"] != 0
        self.terminated[rows] = (over & ~cut)[rows]
        self.truncated[rows] = (over & cut)[rows]
        if setup.simultaneous:
            self.observation[rows] = self._observation[rows, self.seats[rows]]
            self.action_mask[rows] = self._mask[rows, self.seats[rows]]
            return
        self.observation[rows] = self._observation[rows, 0]
        self.action_mask[rows] = self._mask[rows, 0]
        setup.loops.observe_seats(self.games, setup.params, setup.seats, self.seats, rows & over, self.observation)

    def close(self):
        """End the worker threads."""
        self._blocks.close()

    def final_info_of(self, row):
        """The end-of-game facts of a row whose game is over, as plain values."""
        return self.setup.final_info(self.games[row])

    def put_games(self, games):
        """Go on from these records (N,), up to the learner's next decision in each.

        Its seats stay as they are; before the first reset they are chosen as a deal would.

        Raises:
            ValueError: an opponent with a memory, since records do not tell what it has seen.
        """
        for agent in self.opponents:
            if memory_of(agent):
                name = getattr(agent, "name", type(agent).__name__)
                refuse("opponents", name, "agents without a memory where a game is gone on with; deal one by reset()")
        rows, setup = np.ones(self.num_envs, bool), self.setup
        self.games[:] = games
        if not self.dealt:
            self._choose_seats(rows)
        self.games["pending"] = UNSET
        setup.loops.observe(
            self.games, setup.params, setup.seats, 0, self.num_envs,
            self._observation, self._mask, self._asked, self._current,
        )  # fmt: skip
        self.rewards[:] = self._carried[:] = 0
        self.illegal_action[:] = False
        self._play_to_decision(rows)
        self._carried[:] = self.rewards
        self._show(rows)

    def snapshot(self):
        """Everything that decides how the batch goes on, as arrays; see `restore`."""
        kept = {name: getattr(self, name).copy() for name in _KEPT}
        kept |= {f"stream_{k}": streams.counters.copy() for k, streams in enumerate(self._streams)}
        return kept | {"memory": self._memories.kept.copy()}

    def restore(self, snapshot):
        """Go on from what `snapshot` returned, of a batch of the same setup, size and opponents."""
        for name in _KEPT:
            getattr(self, name)[:] = snapshot[name]
        for k, streams in enumerate(self._streams):
            streams.counters[:] = snapshot[f"stream_{k}"]
        if "memory" in snapshot:  # saved states of before there were memories have none
            self._memories.kept = snapshot["memory"].copy()
        self.dealt = True


_KEPT = (
    "games", "_actions", "_observation", "_mask", "_asked", "_current", "_carried", "seats", "observation",
    "action_mask", "rewards", "terminated", "truncated", "illegal_action", "skipped_games",
)  # fmt: skip
