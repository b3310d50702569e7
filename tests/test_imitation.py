"""Inputs as thermometers, and the warm start by imitation."""

import json

import numpy as np
import pytest
import torch

from flinchenv.adapters.sb3 import SeatVecEnv
from flinchenv.agents.inputs import Inputs, inputs_of
from flinchenv.agents.load import load
from flinchenv.core.params import RulesError
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import imitate, training
from flinchenv.experiments.train_maskable_ppo import Args, Extractor, Training, run


def test_thermometers_by_hand():
    inputs = Inputs([1, 4, 10], 4)
    assert inputs.size == 3 + 2 * 4
    wanted = [[1, 0.5, 0.25, 1, 1, 0, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]
    wanted[0][7:] = [1, 0, 0, 0]
    assert inputs(np.array([[1, 2, 2.5], [0, 4, 10]])).tolist() == wanted


def test_without_bins_the_observation_is_only_scaled():
    inputs = Inputs([1, 4], 0)
    assert inputs.size == 2
    assert inputs(np.array([[1, 1]])).tolist() == [[1, 0.25]]


def test_thermometers_of_a_given_width_by_hand():
    inputs = Inputs([1, 127], 3, bin_width=2)
    rows = inputs(np.array([[1, 3], [0, 5], [0, 127]]))
    assert np.allclose(rows[:, 1], np.array([3, 5, 127]) / 127)
    assert rows[:, 2:].tolist() == [[1, 0.5, 0], [1, 1, 0.5], [1, 1, 1]]


def test_comparisons_by_hand():
    inputs = Inputs([100, 1, 100, 40], compared=[0, 2, 3])
    rows = inputs(np.array([[10, 1, 13, 30], [70, 0, 70, 3]]))
    assert inputs.size == rows.shape[1] == 4 + 2 * 3
    assert rows[:, 4:7].tolist() == [[1, 1, 1], [0, -1, -1]]  # the third less the first, the fourth less each
    assert np.allclose(rows[:, 7:], [[0.3, 1, 1], [0, -1, -1]])


def test_fields_to_compare_are_named():
    setup = make_setup("flash10-v0")
    inputs = inputs_of(setup, {"compare": {"row": 10, "held": 1}})
    row, held = setup.layout["row"].entries[:10], setup.layout["held"].start
    assert inputs.size == setup.layout.size + 2 * 55
    observation = np.zeros((1, setup.layout.size), np.int8)
    observation[0, row], observation[0, held] = np.arange(10) * 10, 35
    told = inputs(observation)[0, setup.layout.size :].reshape(2, 55)
    is_last = np.triu_indices(11, 1)[1] == 10
    assert told[0, is_last].tolist() == [1] * 4 + [-1] * 6
    assert (told[0, ~is_last] == 1).all()
    for wrong in ({"rows": 1}, {"row": 21}, {"held": 0}):
        with pytest.raises(RulesError, match=r"compare=.*'row': 20"):
            inputs_of(setup, {"compare": wrong})


@pytest.mark.parametrize(("bins", "bin_width"), [(0, 0), (1, 0), (7, 0), (3, 2)])
def test_torch_is_fed_the_same_inputs(bins, bin_width):
    env = SeatVecEnv(make_setup("flip_it-v0"), 16, [load("random")])
    env.seed(3)
    observation = env.reset()
    extractor = Extractor(env.observation_space, bins, bin_width)
    inputs = Inputs(env.setup.layout.high(), bins, bin_width)
    assert extractor.features_dim == inputs.size
    assert np.array_equal(extractor(torch.from_numpy(observation).float()).numpy(), inputs(observation))


class Script:
    """An environment of two rows with a script of (rewards, over)."""

    num_envs = 2

    def __init__(self, script):
        self.script, self.at = script, 0

    def action_masks(self):
        return np.ones((2, 1), bool)

    def step(self, actions):
        rewards, over = self.script[self.at]
        self.at += 1
        return np.zeros((2, 3)), np.float32(rewards), np.array(over), None


def test_returns_run_to_the_end_of_the_game_and_unfinished_games_are_not_known(monkeypatch):
    monkeypatch.setattr(imitate, "HORIZON", 4)
    script = [([1, 2], [0, 0]), ([3, 4], [1, 0]), ([5, 6], [0, 0]), ([7, 8], [0, 1])]
    script = [(rewards, np.array(over, bool)) for rewards, over in script]
    _, games = imitate._play(Script(script), load("random"), np.zeros((2, 3)), np.random.default_rng(0))
    returns, known = (part.reshape(4, 2) for part in games[3:])
    assert known.tolist() == [[True, True], [True, True], [False, True], [False, True]]
    assert returns[:2, 0].tolist() == [4, 3]
    assert returns[:, 1].tolist() == [20, 18, 14, 8]


def settings(tmp_path, **changes):
    common = {"env_id": "flash10-tiny-v0", "run": str(tmp_path), "progress": False, "num_envs": 64, "n_steps": 16}
    common |= {"batch_size": 512, "hidden": (64,), "bins": 6, "imitate": "rule", "imitate_steps": 150_000}
    common |= {"eval_against": ("random",), "opponents": {"random": 1}, "learning_rate": 3e-3, "total_steps": 1024}
    return Args(**common | changes)


def test_an_imitator_plays_and_expects_what_its_teacher_does(tmp_path):
    args = settings(tmp_path)
    setup = make_setup(args.env_id)
    training = Training(args, setup, tmp_path)
    teacher = load("rule", setup)
    env = SeatVecEnv(setup, 512, [teacher])
    env.seed(12)
    rng = np.random.default_rng(0)
    _, games = imitate._play(env, teacher, env.reset(), rng)

    def agreement():
        observations, actions, masks, returns, known = games
        with torch.no_grad():
            policy = training.model.policy
            values, log_prob, _ = policy.evaluate_actions(*map(torch.from_numpy, (observations, actions, masks)))
        error = np.square(values.numpy()[known, 0] - returns[known]).mean() / returns[known].var()
        return log_prob.exp().mean().item(), error

    before, _ = agreement()
    training.imitate()
    after, error = agreement()
    assert before < 0.6
    assert after > 0.85
    assert error < 0.9


def test_a_run_that_imitates_saves_an_agent_that_is_fed_thermometers(tmp_path):
    result = run(settings(tmp_path, imitate_steps=20_000))
    card = json.loads((tmp_path / f"agent-{result.steps}.json").read_text())
    agent = load(result.checkpoint, "flash10-tiny-v0")
    assert card["network"]["bins"] == 6
    assert card["network"]["inputs"] == Inputs(agent.setup.layout.high(), 6).size
    env = SeatVecEnv(agent.setup, 8, [load("random")])
    env.seed(1)
    assert agent.probs(env.reset(), env.action_masks().astype(np.int8)).sum(1) == pytest.approx(np.ones(8))


def test_imitation_refuses_an_agent_that_plays_by_more_than_the_observation(tmp_path, monkeypatch):
    class Viewer:
        needs_view = True

    monkeypatch.setattr(training, "load", lambda name, setup: Viewer())
    with pytest.raises(ValueError, match="imitate="):
        run(settings(tmp_path))
