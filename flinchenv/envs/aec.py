"""Any game as a PettingZoo AEC environment.

In a simultaneous game the seats of a round are asked in ascending order and nothing changes until the last of them has
chosen: observations, masks, rewards and `state()` stay as they were, and all agents end in the same step.
"""

import copy
import operator

import gymnasium
import numpy as np
from pettingzoo.utils.env import AECEnv

from ..core.kernel import direct
from ..core.params import refuse
from ..core.spec import OFFENCE, RUNNING, UNDEALT, UNSET
from .setup import (
    RENDER_MODES,
    check_render_mode,
    check_seed,
    fresh_seed,
    legal_stand_in,
    open_snapshot,
    take_snapshot,
)


def agent_spaces(setup):
    """({agent: Dict(observation, action_mask)}, {agent: Discrete}) for the PettingZoo APIs."""
    high = setup.layout.high()
    observation_spaces = {
        agent: gymnasium.spaces.Dict(
            {
                "observation": gymnasium.spaces.Box(np.zeros_like(high), high, dtype=np.int8),
                "action_mask": gymnasium.spaces.Box(0, 1, (setup.num_actions,), np.int8),
            }
        )
        for agent in setup.agents
    }
    action_spaces = {agent: gymnasium.spaces.Discrete(setup.num_actions) for agent in setup.agents}
    return observation_spaces, action_spaces


class RawAECGame(AECEnv):
    """One game, asked seat by seat; actions are checked against the mask and nothing else is.

    `AECGame` adds the checks of use. Beside PettingZoo's contract: `snapshot`, `restore`, `determinize`.

    Args:
        setup: the game and its rules.
        render_mode: None | "ansi" | "human".
    """

    def __init__(self, setup, render_mode=None):
        self.setup = setup
        self.render_mode = check_render_mode(render_mode)
        self.metadata = {
            "name": setup.id,
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": setup.simultaneous,
            "render_fps": 2,
        }
        self.possible_agents = setup.agents
        self.observation_spaces, self.action_spaces = agent_spaces(setup)
        n, views = setup.num_players, setup.num_players if setup.simultaneous else 1
        self._games = setup.new_games(1)
        self._choices = np.full((1, views), UNSET, np.int64)
        self._observation = np.zeros((1, views, setup.layout.size), np.int8)
        self._mask = np.zeros((1, views, setup.num_actions), np.int8)
        self._asked = np.zeros((1, n), np.int8)
        self._current = np.zeros(1, np.int32)
        self._rewards = np.zeros((1, n), np.float32)
        self._ended = np.zeros(1, bool)
        self._truncated = np.zeros(1, bool)
        self._seat_of = {agent: p for p, agent in enumerate(self.possible_agents)}
        self._dealt = False
        self._paid = False
        self._arm()
        self._offences = {}  # seat: illegal id, in the running round
        self._told = {}  # seat: its last illegal id, until it chooses again; turn-based games
        self.agents = []
        self.rewards, self._cumulative_rewards, self.infos = {}, {}, {}
        self.terminations, self.truncations = {}, {}

    def _arm(self):
        """What every call needs, gathered once: the kernel's arguments, and each view's rows."""
        setup = self.setup
        self._rows = list(zip(self._observation[0], self._mask[0]))
        self._chosen, self._paid_now = self._choices[0], self._rewards[0]
        # Entries of memoryviews are Python's own numbers: faster than numpy's.
        self._legal = [mask.data for mask in self._mask[0]]
        self._seat, self._over = self._current.data, (self._ended.data, self._truncated.data)
        self._simultaneous, self._num_actions = setup.simultaneous, setup.num_actions
        self._orders = {}  # who is asked, as bytes: their seats
        self._call = setup.loops.advance
        self._arguments = (
            self._games, setup.params, setup.seats, 0, 1, setup.max_steps, self._choices, self._observation, self._mask,
            self._asked, self._current, self._rewards, self._ended, self._truncated, np.ones(1, bool),
        )  # fmt: skip

    def observation_space(self, agent):
        """Dict of "observation" int8 (D,) and "action_mask" int8 (A,)."""
        return self.observation_spaces[agent]

    def action_space(self, agent):
        """Discrete(A), the same for all agents."""
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        """Deal episode 0 of `seed`, or without a seed the next episode of the one in use."""
        s = self._games[0]
        if seed is not None:
            s.seed, s.episode = check_seed(seed), 0
        elif s.end_reason == UNDEALT:
            s.seed = fresh_seed()
        else:
            s.episode += 1
        s.end_reason = UNDEALT
        self._dealt = True
        self._call(*self._arguments)
        self._call = direct(self._call, self._arguments)
        self._start_agents()

    def _start_agents(self):
        """Publish a position with every agent alive and nothing earned."""
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": self._no_mask()} for agent in self.agents}
        self._skip_agent_selection = None
        self._paid = False
        self._choices[:] = UNSET
        self._offences, self._told = {}, {}
        self._publish()

    def _no_mask(self):
        return np.zeros(self.setup.num_actions, np.int8)

    def _publish(self):
        """Show the new round's masks and select the first seat that it asks."""
        if self._simultaneous:
            for agent, mask in zip(self.possible_agents, self._mask[0].copy()):
                self.infos[agent] = {"action_mask": mask}
            asked = self._asked.tobytes()
            if asked not in self._orders:
                self._orders[asked] = [p for p, flag in enumerate(asked) if flag]
            self._order = self._orders[asked]
        else:
            p = self._seat[0]
            info = self.infos[self.possible_agents[p]] = {"action_mask": self._rows[0][1].copy()}
            if self._told and p in self._told:
                info["illegal_action"] = self._told[p]
            self._order = [p]
        self._place = 0
        self.agent_selection = self.possible_agents[self._order[0] if self._order else 0]

    def observe(self, agent):
        """{"observation": int8 (D,), "action_mask": int8 (A,)} of any agent at any time; copies."""
        seat = self._seat_of[agent]
        if self._simultaneous or seat == self._order[0]:
            observation, mask = self._rows[seat if self._simultaneous else 0]
            return {"observation": observation.copy(), "action_mask": mask.copy()}
        setup, observation = self.setup, np.empty((1, self.setup.layout.size), np.int8)
        setup.loops.observe_seats(
            self._games, setup.params, setup.seats, np.array([seat]), np.ones(1, bool), observation
        )
        return {"observation": observation[0], "action_mask": self._no_mask()}

    def step(self, action):
        """Make `action` for `agent_selection`.

        Raises:
            ValueError: under illegal_action="raise", an action outside the mask; nothing has changed then.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            return self._was_dead_step(action)
        seat = self._order[self._place]
        view = seat if self._simultaneous else 0
        action = operator.index(action)
        if not (0 <= action < self._num_actions) or not self._legal[view][action]:
            action = self._illegal(agent, seat, view, action)
        self._chosen[view] = action
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self._clear_rewards()
            self._paid = False
        self._place += 1
        if self._place < len(self._order):
            self.agent_selection = self.possible_agents[self._order[self._place]]
            return None
        if not self._simultaneous:
            self.infos[agent] = {"action_mask": self._no_mask()}
            if self._told:
                self._told.pop(seat, None)
        self._finish_round()

    def step_all(self, actions):
        """One round of a simultaneous game with every seat's action, by seat; the rewards, by seat.

        Raises:
            ValueError: under illegal_action="raise", before anything has changed.
        """
        mask = self._mask[0]
        for seat, action in enumerate(actions):
            if not (0 <= action < self.setup.num_actions) or not mask[seat, action]:
                try:
                    action = self._illegal(self.possible_agents[seat], seat, seat, action)
                except ValueError:
                    self.drop_choices()
                    raise
            self._choices[0, seat] = action
        self._finish_round()
        self._cumulative_rewards = dict.fromkeys(self.possible_agents, 0.0)  # all are told at once
        return self._rewards[0].tolist()

    def drop_choices(self):
        """Open the running round anew."""
        self._choices[:] = UNSET
        self._offences = {}
        self._place = 0
        if self._order:
            self.agent_selection = self.possible_agents[self._order[0]]

    def _illegal(self, agent, seat, view, action):
        """What stands for an illegal choice; the agent's info tells of it."""
        setup = self.setup
        if setup.illegal_action == "raise":
            raise ValueError(illegal_message(setup, agent, action, self._mask[0, view]))
        self._offences[seat] = int(action)
        if setup.illegal_action == "forfeit":
            return OFFENCE
        return legal_stand_in(self._mask[0, view], self._games[0], seat)

    def _finish_round(self):
        self._call(*self._arguments)
        self._choices.fill(UNSET)
        rewards = self._paid_now.tolist()
        if any(rewards):
            self._paid = True
            for agent, reward in zip(self.possible_agents, rewards):
                self.rewards[agent] = reward
                self._cumulative_rewards[agent] += reward
        self._publish()
        if self._offences:
            for seat, action in self._offences.items():
                self.infos[self.possible_agents[seat]]["illegal_action"] = action
            if not self._simultaneous:
                self._told |= self._offences
            self._offences = {}
        if self._over[0][0] or self._over[1][0]:
            self._finish_game()

    def _finish_game(self):
        truncated = bool(self._games[0].truncated)
        final = self.setup.final_info(self._games[0])
        for agent in self.agents:
            self.terminations[agent] = not truncated
            self.truncations[agent] = truncated
            self.infos[agent] = {**self.infos[agent], **copy.deepcopy(final)}
        self._deads_step_first()

    def state(self):
        """The referee's view, int8 (S,); see `state_layout`. It holds no choice of a running round."""
        state = np.zeros((1, self.setup.state_layout.size), np.int8)
        self.setup.loops.observe_state(self._games, self.setup.params, self.setup.seats, state)
        return state[0]

    def render(self):
        """The open table as text: returned for "ansi", printed for "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called, but no render_mode was given to make()")
            return None
        text = self.setup.game.render_text(self._games[0], self.setup.rules, viewer=-1)
        if self.render_mode == "ansi":
            return text
        print(text)

    def close(self):
        """Nothing to release."""

    def snapshot(self):
        """The game as it stands, choices of the running round included; see `Snapshot`."""
        games = self._games.copy()
        games["pending"] = UNSET
        if self._simultaneous:
            games["pending"][0, : self.setup.num_players] = self._choices[0]
        waiting = [[self._cumulative_rewards.get(a, 0.0) for a in self.possible_agents]]
        illegal = [[self._offences.get(p, UNSET) for p in range(self.setup.num_players)]]
        return take_snapshot(self.setup, games, waiting, illegal)

    def restore(self, snapshot):
        """Go on from a snapshot of any API of the same id and rules."""
        self._load(open_snapshot(self.setup, snapshot, 1), snapshot.waiting[0], snapshot.illegal[0])

    def _load(self, games, waiting, illegal):
        self._games[:] = games
        self._dealt = True
        pending = games["pending"][0, : self.setup.num_players].tolist()
        self._games["pending"] = UNSET
        setup = self.setup
        setup.loops.observe(
            self._games, setup.params, setup.seats, 0, 1,
            self._observation, self._mask, self._asked, self._current,
        )  # fmt: skip
        self._start_agents()
        if self._simultaneous:
            while self._place < len(self._order) and pending[self._order[self._place]] != UNSET:
                seat = self._order[self._place]
                self._choices[0, seat] = pending[seat]
                if illegal[seat] != UNSET:
                    self._offences[seat] = int(illegal[seat])
                self._place += 1
            if self._place < len(self._order):
                self.agent_selection = self.possible_agents[self._order[self._place]]
        for agent, reward in zip(self.possible_agents, waiting):
            self._cumulative_rewards[agent] = float(reward)
        if self._games[0].end_reason > RUNNING:
            self._finish_game()

    def determinize(self, agent, seed):
        """A new, independent environment in a state that `agent` cannot tell from this one.

        All that is hidden from `agent` is drawn anew: others' unrevealed choices uniformly over their legal ids (a
        prior, not a posterior: it does not weigh how likely a player was to choose them), and the generator, so that
        nothing of this game's future can be read from the copy.

        Args:
            agent: whose knowledge is kept.
            seed: 0..2**63 - 1; the same seed gives the same copy.
        """
        seat = seat_number(self.setup, agent)
        games = self.snapshot().games
        setup = self.setup
        setup.loops.determinize(
            games, setup.params, setup.seats, 0, 1, seat,
            np.array([check_seed(seed)]), np.zeros(setup.num_actions, np.int8),
        )  # fmt: skip
        other = type(self)(setup, self.render_mode)
        waiting = [self._cumulative_rewards.get(a, 0.0) for a in self.possible_agents]
        own = [self._offences.get(p, UNSET) if p == seat else UNSET for p in range(setup.num_players)]
        other._load(games, waiting, own)
        return other

    def __getstate__(self):
        state = self.__dict__.copy()
        for name in ("_call", "_arguments", "_rows", "_chosen", "_paid_now", "_legal", "_seat", "_over", "_orders"):
            del state[name]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._arm()


class AECGame(RawAECGame):
    """`RawAECGame` with every promise checked inside the call, at a fraction of what wrappers cost.

    Out of order (before reset, after the end), of an unknown agent, or with an action that is no whole number: a clear
    error, and nothing has changed.
    """

    def reset(self, seed=None, options=None):
        """Deal episode 0 of `seed`, or without a seed the next episode of the one in use."""
        if options is not None and not isinstance(options, dict):
            refuse("options", options, "None or a dict")
        super().reset(seed, options)

    def step(self, action):
        """Make `action` for `agent_selection`; None for an agent whose game is over."""
        if not self.agents:
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: call reset() before step()")
        agent = self.agent_selection
        if type(action) is not int and not (self.terminations[agent] or self.truncations[agent]):
            action = whole_action(self.setup, agent, action)
        super().step(action)

    def observe(self, agent):
        """{"observation": int8 (D,), "action_mask": int8 (A,)} of any agent at any time after reset; copies."""
        if agent not in self._seat_of:
            refuse("agent", agent, "one of " + ", ".join(self.possible_agents))
        self._need_reset("observe()")
        return super().observe(agent)

    def last(self, observe=True):
        """(observation, reward since its last action, terminated, truncated, info) of `agent_selection`."""
        self._need_reset("last()")
        if not self.agents:
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: the game is over; call reset()")
        return super().last(observe)

    def agent_iter(self, max_iter=2**63):
        """Yield `agent_selection` until the game is over and every agent has been told so."""
        self._need_reset("agent_iter()")
        return super().agent_iter(max_iter)

    def state(self):
        """The referee's view, int8 (S,)."""
        self._need_reset("state()")
        return super().state()

    def snapshot(self):
        """The game as it stands, choices of the running round included; see `Snapshot`."""
        self._need_reset("snapshot()")
        return super().snapshot()

    def determinize(self, agent, seed):
        """A new, independent environment in a state that `agent` cannot tell from this one; see `RawAECGame`."""
        self._need_reset("determinize()")
        return super().determinize(agent, seed)

    def render(self):
        """The open table as text: returned for "ansi", printed for "human"."""
        self._need_reset("render()")
        return super().render()

    def _need_reset(self, what):
        if not self._dealt:
            raise gymnasium.error.ResetNeeded(f"{self.setup.id}: call reset() before {what}")


def whole_action(setup, agent, action):
    """The action as an int.

    Raises:
        ValueError: it is not a whole number.
    """
    if not isinstance(action, (bool, np.bool_)):
        try:
            return operator.index(action)
        except TypeError:
            pass
    raise ValueError(f"{agent}: action={action!r} is not a whole number in 0..{setup.num_actions - 1}")


def illegal_message(setup, agent, action, mask):
    """Who may not do what, and why."""
    if not 0 <= action < setup.num_actions:
        return f"{agent}: action={action!r} is not in 0..{setup.num_actions - 1} ({setup.id})"
    legal = np.flatnonzero(mask)
    names = [f"{a} ({setup.game.action_name(setup.rules, a)})" for a in legal[:4]]
    more = f" and {len(legal) - 4} more" if len(legal) > 4 else ""
    name = setup.game.action_name(setup.rules, action)
    return f"{agent}: action={action!r} ({name}) is not legal now; legal are {', '.join(names)}{more} ({setup.id})"


def seat_number(setup, agent):
    """An agent's seat.

    Raises:
        ValueError: no such agent.
    """
    if agent not in setup.agents:
        refuse("agent", agent, "one of " + ", ".join(setup.agents))
    return setup.agents.index(agent)
