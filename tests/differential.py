"""What every differential test compares: an AEC environment and a slow reference that play the same game."""

import numpy as np
import pytest

MOST = 127  # counts are clipped to this in observations
WORD = 2**64 - 1


def _mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


class Generator:
    """A game's generator in plain Python: splitmix64 started from (seed, episode 0)."""

    GAMMA = 0x9E3779B97F4A7C15

    def __init__(self, seed):
        self.state = _mix(_mix(_mix((seed + self.GAMMA) & WORD)) ^ 1)

    def below(self, n):
        self.state = (self.state + self.GAMMA) & WORD
        return (_mix(self.state) >> 32) * n >> 32


def compare(env, game, decoded, expected_view):
    """Everything that the environment shows against the reference.

    Args:
        decoded: a list that keeps the last decoded row of each seat.
        expected_view: expected_view(game, seat), what the reference lets a seat see, in the observation's fields.

    Returns:
        What the last choice paid, by seat.
    """
    setup, agents = env.setup, env.possible_agents
    asked = game.asked()
    if asked:
        assert env.agent_selection == agents[asked[0]], "who is asked"
    for seat, agent in enumerate(agents):
        shown = env.observe(agent)
        mask = shown["action_mask"]
        names = {setup.game.action_name(setup.rules, a) for a in np.flatnonzero(mask).tolist()}
        assert names == game.legal(seat), f"legal moves of seat {seat}"
        assert np.array_equal(env.infos[agent]["action_mask"], mask), f"mask in the infos of seat {seat}"
        row = shown["observation"].tobytes()
        if decoded[seat][0] != row:
            decoded[seat] = row, setup.layout.decode(shown["observation"])
        expected = expected_view(game, seat)
        different = {k: (v, expected.get(k)) for k, v in decoded[seat][1].items() if expected.get(k) != v}
        assert not different, f"what seat {seat} sees and should: {different}"
    paid = game.take_rewards()
    assert [env.rewards[a] for a in agents] == pytest.approx(paid, abs=2e-5, rel=2e-5), "rewards"  # float32 sums
    cut = getattr(game, "truncated", False)
    assert set(env.terminations.values()) == {game.over and not cut}, "the end"
    assert set(env.truncations.values()) == {cut}
    return paid


def compare_end(env, game, returns):
    """The end-of-game infos of every agent."""
    for agent in env.possible_agents:
        info = env.infos[agent]
        assert info["end_reason"] == game.end_reason
        assert info["winners"] == game.winners
        assert info["scores"] == game.points
        assert info["length"] == game.length
        assert info["returns"] == pytest.approx(returns, abs=1e-4)
