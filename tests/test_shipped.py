"""The trained agents that come with the package: they load by name, say how they were made, and play legally."""

import json
import pathlib

import numpy as np
import pytest

from flinchenv.agents.checkpoint import load_checkpoint, save_checkpoint
from flinchenv.agents.load import load
from flinchenv.agents.shipped import FOLDER, shipped_names
from flinchenv.core.params import rules_hash
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments import ship

NAMES = shipped_names()
MOST_BYTES = 5_000_000


def rules_of(name):
    card = json.loads((FOLDER / f"{name}.json").read_text())
    return card, make_setup(card["env"], card["rules"])


def test_every_game_has_one_for_two_and_one_for_four():
    seats = {(setup.game.name, setup.num_players) for _, setup in map(rules_of, NAMES)}
    assert seats >= {(game, players) for game in ("flinch", "flip_it", "flash10") for players in (2, 4)}


def test_they_are_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_cards_say_how_they_were_made_and_how_good_they_are(name):
    card, setup = rules_of(name)
    training = card["training"]
    assert card["rules_hash"] == rules_hash(setup.rules)
    assert training["command"].startswith("python -m flinchenv.experiments.train")
    assert "run" not in training["settings"]  # a folder of somebody's machine
    assert training["steps"] > 0 and training["minutes"] > 0 and training["place"] >= 1
    assert {row["name"] for row in training["opponents"]} >= {"random", "rule:1"}
    assert name.endswith(f"-{setup.num_players}p")


def play(name, greedy, decisions):
    """Let an agent play all seats; how many decisions it made, each within its mask."""
    _, setup = rules_of(name)
    agent = load(name, setup)
    agent.greedy = greedy
    env = VectorGame(setup, 512)
    env.reset(seed=2**31)
    rng, made = np.random.default_rng(0), 0
    while made < decisions:
        observation = env.observation.reshape(-1, setup.layout.size)
        mask = env.action_mask.reshape(-1, setup.num_actions)
        actions = agent.act(observation, mask, rng)
        assert (mask[np.arange(len(mask)), actions] == 1).all()
        made += len(mask)
        env.step(actions.reshape(env.illegal_action.shape))
    return made


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("greedy", [False, True])
def test_they_play_legally(name, greedy):
    assert play(name, greedy, 2000) >= 2000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("greedy", [False, True])
def test_a_million_of_their_actions_are_legal(name, greedy):
    assert play(name, greedy, 10**6) >= 10**6


def test_an_unknown_one_is_refused_with_the_known_names():
    with pytest.raises(ValueError, match="'flinch-2p'"):
        load("flinch-9p", "flinch-v0")


def test_shipping_measures_and_leaves_the_value_network_out(tmp_path):
    source = pathlib.Path(FOLDER) / "flip_it-2p"
    result = ship.run(ship.Args(str(source), "mine-2p", 4, str(tmp_path)))
    tensors, card = load_checkpoint(tmp_path / "mine-2p")
    assert all(name.startswith("policy.") for name in tensors)
    assert card["training"]["place"] == result.data["place"]
    assert result.data["bytes"] == sum(path.stat().st_size for path in tmp_path.iterdir())
    with pytest.raises(ValueError, match="is not allowed"):
        ship.run(ship.Args(str(source), "../x", 4, str(tmp_path)))


def test_a_card_tells_both_commands_of_an_agent_that_began_with_another_run(tmp_path):
    tensors, card = load_checkpoint(pathlib.Path(FOLDER) / "flip_it-2p")
    settings = card["training"]["settings"]
    first = {"settings": settings | {"run": "here", "seed": 7}, "steps": 5, "seconds": 120}
    second = {"settings": settings | {"start": "here/first"}, "steps": 6, "seconds": 60}
    card["training"] = second | {"begun_with": {"sha256": "0" * 64, "training": first}}
    save_checkpoint(tmp_path / "second", tensors, card)
    ship.run(ship.Args(str(tmp_path / "second"), "mine-2p", 4, str(tmp_path)))
    training = load_checkpoint(tmp_path / "mine-2p")[1]["training"]
    assert 'start="first"\'' in training["command"] and training["settings"]["start"] == "first"
    begun_with = training["begun_with"]
    assert "seed=7" in begun_with["command"] and "here" not in begun_with["command"]
    assert (begun_with["steps"], begun_with["minutes"], begun_with["sha256"]) == (5, 2.0, "0" * 64)
