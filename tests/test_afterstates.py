"""Networks that weigh afterstates: the same in training, as frozen opponents and as agents; what cards say of them."""

import numpy as np
import pytest
import torch
from short_runs import SHORT_RUN

from flinchenv.agents.agent import sample
from flinchenv.agents.checkpoint import load_checkpoint, save_checkpoint
from flinchenv.agents.load import load
from flinchenv.core.params import RulesError
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments.train_ppo import Args, Processes, Training, run

GAMES = {
    "flinch": SHORT_RUN | {"env_id": "flinch-tiny-v0", "afterstates": True},
    "flash10": SHORT_RUN | {"env_id": "flash10-tiny-v0", "afterstates": True},
}


def softmax(logits, mask):
    weights = np.where(mask == 1, np.exp(logits - np.where(mask == 1, logits, -np.inf).max(1, keepdims=True)), 0)
    return weights / weights.sum(1, keepdims=True)


def asked_of(env):
    """Observations (N, D) and masks (N, A) of all seats that a batch tells of."""
    observation, mask = env.observation, env.action_mask
    return observation.reshape(-1, observation.shape[-1]), mask.reshape(-1, mask.shape[-1])


def act(env, actions):
    """Step a batch by actions (N,) of the seats in `asked_of`."""
    env.step(actions.reshape(env.action_mask.shape[:-1]))


@pytest.fixture(scope="module", params=GAMES)
def trained(request, tmp_path_factory):
    """The settings of a short run, and its checkpoint."""
    settings = GAMES[request.param] | {"learning_rate": 0.03, "memory": 3}
    return settings, run(Args(**settings | {"run": str(tmp_path_factory.mktemp("run"))})).checkpoint


def test_agents_weigh_as_the_network_does(trained, tmp_path):
    """The agent in numpy, the frozen opponent in torch and the learner itself; the layers are no ornament."""
    settings, checkpoint = trained
    agent = load(checkpoint)
    assert agent.card["network"]["afterstates"] is True
    training = Training(Args(**settings | {"run": str(tmp_path)}), agent.setup, tmp_path, Processes(0, 1))
    training.network.take_over(agent.tensors)
    training.bf16 = False
    frozen = training.league
    frozen.add_self(agent.tensors, training.play.playing)
    frozen = frozen.pool.agents[frozen.next_key - 1]
    env = VectorGame(agent.setup, 64)
    env.reset(seed=3)
    rng, reached = np.random.default_rng(0), 0
    for _ in range(60):
        observation, mask = asked_of(env)
        memory = rng.random((len(mask), 3), np.float32)
        probs = agent.recall(observation, mask, memory)[0]
        assert np.abs(probs - frozen.recall(observation, mask, memory)[0]).max() < 1e-5
        with torch.no_grad():
            asked = [torch.from_numpy(part) for part in (observation, mask, np.zeros((len(mask), 0), np.int8), memory)]
            logits = training.network(*asked)[0].numpy()
        assert np.abs(probs - softmax(logits, mask)).max() < 1e-5
        plain = softmax(agent.logits(observation, memory), mask)
        reached += (np.abs(probs - plain).max(1) > 0.01).sum()
        act(env, (rng.random(mask.shape) * mask).argmax(1))
    assert reached > 50


@pytest.mark.parametrize("bf16", ["off", "on"])
@pytest.mark.parametrize("game", GAMES)
def test_ppo_begins_at_a_ratio_of_one_and_moves_the_layers(game, bf16, tmp_path):
    settings = {"run": str(tmp_path), "bf16": bf16, "minibatches": 2, "anneal": False, "hidden": (64, 64)}
    args = Args(**GAMES[game] | settings)
    training = Training(args, make_setup(args.env_id), tmp_path, Processes(0, 1))
    training.start()
    for _ in range(3):
        before = training.network.tensors()
        assert training.update()["train/first_ratio_error"] < 1e-5
        after = training.network.tensors()
        still = [name for name in before if (after[name] == before[name]).all()]
        assert set(still) <= {"afterstate.2.bias"}  # what is left by one choice is worth more than by another


@pytest.mark.parametrize(
    ("game", "shown", "more"),
    [("flinch", {"obs_reserve": "full"}, {"relations": True}), ("flash10", {"obs_seen": True}, {})],
)
def test_an_agent_that_was_told_all_that_was_public_asks_for_it_where_the_table_is_shown(game, shown, more, tmp_path):
    settings = GAMES[game] | more
    result = run(Args(**settings | {"run": str(tmp_path / "run"), "rules": shown}))
    full, table = make_setup(settings["env_id"], None, shown), make_setup(settings["env_id"])
    agent, asks = load(result.checkpoint, full), load(result.checkpoint, table)
    assert asks.needs_view and not agent.needs_view
    env, rng, weaker = VectorGame(full, 8), np.random.default_rng(0), 0
    env.reset(seed=3)
    for _ in range(40):
        games, (seen, mask) = env.snapshot().games, asked_of(env)
        if table.simultaneous:
            asked = [(row, seat) for row in range(8) for seat in range(table.num_players)]
        else:
            asked = list(enumerate(env.current_player.tolist()))
        views = [SeatView(table, games[row : row + 1], seat) for row, seat in asked]
        shown_alone = np.zeros((len(mask), table.layout.size), np.int8)
        for field in table.layout.fields:
            shown_alone[:, table.layout[field.name].entries] = seen[:, full.layout[field.name].entries]
        wanted = agent.probs(seen, mask)
        assert (asks.probs(shown_alone, mask, views) == wanted).all()
        found = asks.act(shown_alone, mask, np.random.default_rng(1), views)
        assert (found == sample(wanted, np.random.default_rng(1))).all()
        alone = asks.probs(shown_alone, mask)  # without views it plays by what the table shows
        assert np.abs(alone.sum(1) - 1).max() < 1e-9 and not alone[mask == 0].any()
        weaker += (alone != wanted).any()
        act(env, (rng.random(mask.shape) * mask).argmax(1))
    assert weaker
    with pytest.raises(RulesError, match="start="):
        run(Args(**settings | {"start": result.checkpoint, "run": str(tmp_path / "more")}))


def test_a_card_with_afterstates_needs_their_layers(trained, tmp_path):
    tensors, card = load_checkpoint(trained[1])
    wrong = card | {"network": card["network"] | {"afterstate_inputs": 7}}
    with pytest.raises(ValueError, match="afterstate has the shapes"):
        save_checkpoint(tmp_path / "other", tensors, wrong)
    del tensors["afterstate.1.weight"], tensors["afterstate.1.bias"]
    with pytest.raises(ValueError, match="afterstate has the shapes"):
        save_checkpoint(tmp_path / "other", tensors, card)
    card["network"]["afterstates"] = False
    save_checkpoint(tmp_path / "other", tensors, card)
    plain = load(tmp_path / "other")  # layers that the card does not name do nothing
    observation, memory = np.ones((1, plain.setup.layout.size), np.int8), np.zeros((1, 3), np.float32)
    mask = np.ones((1, plain.setup.num_actions), np.int8)
    assert np.allclose(plain.recall(observation, mask, memory)[0], softmax(plain.logits(observation, memory), mask))


def test_games_that_tell_no_afterstates_refuse_them(tmp_path):
    with pytest.raises(RulesError, match="afterstates=True is not allowed: False: flip_it-v0 is neither"):
        run(Args(**GAMES["flash10"] | {"env_id": "flip_it-v0", "run": str(tmp_path)}))
