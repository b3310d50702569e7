"""Any simultaneous game as a PettingZoo parallel environment: one step is one round, chosen by all seats at once."""

from pettingzoo.utils.env import ParallelEnv

from ..core.params import refuse
from ..core.spec import RUNNING
from .aec import AECGame, whole_action


class ParallelGame(ParallelEnv):
    """A simultaneous game, every seat in every step; a seat with nothing to choose has exactly one legal id.

    Beside PettingZoo's contract: `snapshot`, `restore`, `determinize`. Inside it is an `AECGame` whose seats are all
    served in one call.

    Raises:
        ValueError: the game is turn based under these rules.
    """

    def __init__(self, setup, render_mode=None):
        if not setup.simultaneous:
            refuse("api", "parallel", f"{setup.id} is turn based under these rules; use api='aec'")
        self._aec = AECGame(setup, render_mode)
        self.setup = setup
        self.render_mode = render_mode
        self.metadata = self._aec.metadata
        self.possible_agents = setup.agents
        self.observation_spaces = self._aec.observation_spaces
        self.action_spaces = self._aec.action_spaces
        self.agents = []

    def observation_space(self, agent):
        """Dict of "observation" int8 (D,) and "action_mask" int8 (A,)."""
        return self.observation_spaces[agent]

    def action_space(self, agent):
        """Discrete(A), the same for all agents."""
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        """Deal episode 0 of `seed`, or the next episode; ({agent: observation}, {agent: info})."""
        self._aec.reset(seed, options)
        self.agents = self.possible_agents[:]
        return self._observations(), self._infos()

    def step(self, actions):
        """Carry out one round.

        Args:
            actions: {agent: id} with an id for every agent.

        Returns:
            ({agent: observation}, {agent: reward}, {agent: terminated}, {agent: truncated}, {agent: info}).

        Raises:
            ValueError: an agent without an action, or under illegal_action="raise" an illegal one; nothing has changed.
        """
        if not self.agents:
            self._aec.step(None)  # tells that a reset is due
        if not isinstance(actions, dict) or set(actions) != set(self.agents):
            names = sorted(actions, key=str) if isinstance(actions, dict) else actions
            refuse("actions", names, "a dict with one action for each of " + ", ".join(self.agents))
        chosen = [whole_action(self.setup, agent, actions[agent]) for agent in self.possible_agents]
        rewards = self._aec.step_all(chosen)
        over = bool(self._aec._games[0].end_reason != RUNNING)
        truncated = bool(self._aec._games[0].truncated)
        result = (
            self._observations(),
            dict(zip(self.possible_agents, rewards)),
            dict.fromkeys(self.possible_agents, over and not truncated),
            dict.fromkeys(self.possible_agents, over and truncated),
            self._infos(),
        )
        if over:
            self.agents = []
        return result

    def _observations(self):
        observations, masks = self._aec._observation[0].copy(), self._aec._mask[0].copy()
        return {
            agent: {"observation": observations[p], "action_mask": masks[p]}
            for p, agent in enumerate(self.possible_agents)
        }

    def _infos(self):
        return {agent: dict(info) for agent, info in self._aec.infos.items()}

    def state(self):
        """The referee's view, int8 (S,)."""
        return self._aec.state()

    def render(self):
        """The open table as text: returned for "ansi", printed for "human"."""
        return self._aec.render()

    def close(self):
        """Nothing to release."""

    def snapshot(self):
        """The game as it stands; see `Snapshot`."""
        return self._aec.snapshot()

    def restore(self, snapshot):
        """Go on from a snapshot of any API; choices of a running AEC round are dropped, every seat chooses anew."""
        self._aec.restore(snapshot)
        self._aec.drop_choices()
        self.agents = self.possible_agents[:] if self._aec._games[0].end_reason == RUNNING else []

    def determinize(self, agent, seed):
        """A new, independent environment in a state that `agent` cannot tell from this one; see `RawAECGame`."""
        other = type(self)(self.setup, self.render_mode)
        other.restore(self._aec.determinize(agent, seed).snapshot())
        return other
