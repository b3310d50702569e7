"""Agents: legal whatever the rules, the same in any batch, as strong as their names; checkpoints that cannot harm."""

import ast
import itertools
import json
import os
import pathlib
import pickle
import sys

import numpy as np
import pytest

import flinchenv
from flinchenv import agents
from flinchenv.agents.checkpoint import load_checkpoint, make_card, save_checkpoint
from flinchenv.agents.flip_it_table import hits, middling, sum_of
from flinchenv.agents.load import load, load_opponents
from flinchenv.agents.network import NetworkAgent
from flinchenv.core.rng import RowStreams
from flinchenv.envs.setup import make_setup
from games import ids_of

BOTS = ("random", "rule", "rule:2")
OPTIONS = [
    {"actions": "joint"},
    {"actions": "joint", "no_guess_cards": "continue", "loser_guess": "discard", "goal": ("hands", 40)},
    {"actions": "joint", "win_rule": "closest", "obs_history": 3},
    {"obs_history": 0},
    {"obs_history": 8},
    {"play_values": (0, 1), "goal": ("hands", 9)},
    {"play_values": (0, 3, 5), "play_cards": "consumed"},
    {"guess_max": 3},
    {"play_cards": "consumed", "actions": "joint"},
    {"loser_guess": "discard", "no_guess_cards": "continue"},
    {"loser_guess": "discard", "goal": ("guess_cards_gone", 0), "win_rule": "closest", "play_cards": "consumed"},
    {"scoring": "capture", "capture_multi": "share", "capture_spots": True, "no_guess_cards": "continue"},
    {"scoring": "capture", "capture_multi": "none", "win_rule": "closest", "obs_history": 2},
    {"flip_order": "sequential", "play_cards": "consumed", "obs_history": 8},
    {"flip_order": "sequential", "loser_guess": "discard", "no_guess_cards": "continue", "goal": ("hands", 40)},
    {"flip_order": "sequential", "win_rule": "closest", "scoring": "capture", "obs_history": 0},
    {"flip_order": "sequential", "play_values": (0, 2), "guess_max": 2, "goal": ("hands", 9)},
]
CASES = [(id, {}) for id in ids_of("flip_it")] + [("flip_it-v0", options) for options in OPTIONS]
BATCH_CASES = [("flip_it-v0", options) for options in ({}, *OPTIONS[1:3], *OPTIONS[11:16])]


def network(setup, hidden=(16, 8), activation="tanh", value=True, seed=0):
    """(tensors, card) of a random network for `setup`."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for head, outputs in (("policy", setup.num_actions), ("value", 1))[: 2 if value else 1]:
        sizes = [setup.layout.size, *hidden, outputs]
        for i, (size, out) in enumerate(itertools.pairwise(sizes)):
            tensors[f"{head}.{i}.weight"] = rng.normal(size=(out, size)).astype(np.float32)
            tensors[f"{head}.{i}.bias"] = rng.normal(size=out).astype(np.float32)
    return tensors, make_card(setup, {"hidden": list(hidden), "activation": activation}, {"steps": 1, "seed": seed})


def decisions(env, rounds, seed, player=None):
    """Yield (observation (N, D), action_mask (N, A)) of every seat that is asked, over rounds played by two bots.

    Rows play at random and by `player` in turn, so that both odd and likely positions come up.
    """
    rng = np.random.default_rng(seed)
    uniform = load("random")
    env.reset(seed=seed)
    depth, width = env.observation.shape[-1], env.action_mask.shape[-1]
    for _ in range(rounds):
        observation, mask = env.observation.reshape(-1, depth).copy(), env.action_mask.reshape(-1, width).copy()
        yield observation, mask
        actions = uniform.act(observation, mask, rng)
        if player is not None:
            actions = np.where(rng.random(len(mask)) < 0.5, actions, player.act(observation, mask, rng))
        env.step(actions.reshape(env.action_mask.shape[:-1]))


def wins(id, me, opponents, games, num_players=2, **options):
    """95% intervals (low, high) of the share of the win and of the mean return, over games with the seat rotating."""
    env = flinchenv.make(
        id, "gym_vector", opponents=opponents, seat="rotate", autoreset_mode="SameStep",
        num_envs=128, num_players=num_players, **options,
    )  # fmt: skip
    agent, rng = load(me, env), np.random.default_rng(1)
    observation, info = env.reset(seed=2**31)
    left = np.full(128, -(-games // 128))  # as many games of each row, long or short
    shares, returns = [], []
    while (left > 0).any():
        seat = info["seat"]
        observation, _, _, _, info = env.step(agent.act(observation, info["action_mask"], rng))
        if "final_info" not in info:
            continue
        ended = np.flatnonzero(info["_final_info"] & (left > 0))
        left[ended] -= 1
        final = info["final_info"]
        winners = final["winners"][ended]
        shares += list(winners[np.arange(len(ended)), seat[ended]] / winners.sum(1))
        returns += list(final["returns"][ended, seat[ended]])
    return interval(shares), interval(returns)


def interval(values):
    """(low, high), 95%, of the mean."""
    half = 1.96 * np.std(values) / np.sqrt(len(values))
    return np.mean(values) - half, np.mean(values) + half


# Legal and batched


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize(("id", "options"), CASES, ids=str)
def test_every_bot_chooses_legally_under_every_rule(id, options, num_players):
    """72 settings x 1400 or more decisions of every bot: more than 10^5 of each."""
    simultaneous = make_setup(id, None, options).simultaneous
    num_envs = 64 // num_players if simultaneous else 64
    env = flinchenv.make(id, "vector", num_envs=num_envs, num_players=num_players, **options)
    setup = env.setup
    bots = [load(name, setup) for name in BOTS] + [NetworkAgent(setup, *network(setup))]
    rng = np.random.default_rng(7)
    count = 0
    for observation, mask in decisions(env, 24, 3, bots[1]):
        count += len(mask)
        single = mask.sum(1) == 1
        for bot in bots:
            probs = bot.probs(observation, mask)
            assert probs.shape == mask.shape and probs.dtype == np.float64
            assert (probs >= 0).all() and not probs[mask == 0].any()
            np.testing.assert_allclose(probs.sum(1), 1, atol=1e-12)
            assert (probs[single].max(1, initial=1) == 1).all()
            actions = bot.act(observation, mask, rng)
            assert actions.dtype == np.int64 and mask[np.arange(len(mask)), actions].all()
    assert count >= 1400


@pytest.mark.parametrize("name", [*BOTS, "network"])
@pytest.mark.parametrize(("id", "options"), BATCH_CASES, ids=str)
def test_a_row_alone_plays_as_in_its_batch(id, options, name):
    env = flinchenv.make(id, "vector", num_envs=5, num_players=3, **options)
    setup = env.setup
    bot = NetworkAgent(setup, *network(setup)) if name == "network" else load(name, setup)
    for observation, mask in decisions(env, 6, 5, load("rule", setup)):
        seeds = np.arange(len(mask))
        probs = bot.probs(observation, mask)
        actions = bot.act(observation, mask, RowStreams(seeds, seeds))
        for i in range(len(mask)):
            row = slice(i, i + 1)
            assert (bot.probs(observation[row], mask[row]) == probs[i]).all()
            assert bot.act(observation[row], mask[row], RowStreams(seeds[row], seeds[row])) == actions[i]


@pytest.mark.parametrize("name", BOTS)
def test_the_same_numbers_give_the_same_actions(name):
    env = flinchenv.make("flip_it-v0", "vector", num_envs=64)
    bot = load(name, env)
    for observation, mask in decisions(env, 6, 1):
        first, again = (bot.act(observation, mask, np.random.default_rng(4)) for _ in range(2))
        assert (first == again).all()


def test_actions_follow_the_probabilities():
    env = flinchenv.make("flip_it-v0", "vector", num_envs=1)
    env.reset(seed=0)
    observation, mask = np.repeat(env.observation[:, 0], 4_000, 0), np.repeat(env.action_mask[:, 0], 4_000, 0)
    for name in BOTS:
        bot = load(name, env)
        probs = bot.probs(observation[:1], mask[:1])[0]
        found = np.bincount(bot.act(observation, mask, np.random.default_rng(2)), minlength=len(probs)) / 4_000
        assert (np.abs(found - probs) <= 5 * np.sqrt(probs * (1 - probs) / 4_000)).all(), name


@pytest.mark.parametrize("name", [*BOTS, "network"])
def test_a_row_without_a_legal_action_is_named_before_a_number_is_drawn(name):
    env = flinchenv.make("flip_it-v0", "vector", num_envs=3)
    bot = NetworkAgent(env.setup, *network(env.setup)) if name == "network" else load(name, env)
    env.reset(seed=0)
    observation, mask = env.observation[:, 0], env.action_mask[:, 0].copy()
    mask[1] = 0
    with pytest.raises(ValueError, match="row 1 has no legal action"):
        bot.act(observation, mask, rng=None)
    with pytest.raises(ValueError, match="row 1 has no legal action"):
        bot.probs(observation, mask)


# What the rule bots know


def test_level_1_plays_are_those_of_the_two_player_equilibrium():
    np.testing.assert_allclose(middling(np.ones((1, 6)))[0], np.array([2, 3, 4.5, 4.5, 3, 2]) / 19)
    np.testing.assert_allclose(middling(np.array([[1, 0, 0, 1, 0, 1]]))[0], np.array([2, 0, 0, 3, 0, 2]) / 7)
    np.testing.assert_allclose(middling(np.array([[0, 1, 0, 0, 0, 0]]))[0], [0, 1, 0, 0, 0, 0])


def test_sums_and_hits_are_those_of_counting():
    plays = [np.full((1, 6), 1 / 6)] * 3
    counts = np.bincount([a + b + c for a in range(6) for b in range(6) for c in range(6)]) / 216
    np.testing.assert_allclose(sum_of(plays)[0], counts)
    table = hits(sum_of(plays))[0]
    assert table[9, 5] == pytest.approx(counts[4]) and table[4, 5] == 0 and table[20, 5] == pytest.approx(counts[15])


def play_sequential(name, guesses, flip):
    """Seat 1's probabilities for its flip, after both guesses and seat 0's flip."""
    env = flinchenv.make("flip_it-sequential-v0", "vector", num_envs=1)
    env.reset(seed=0)
    for action in (*guesses, 21 + flip):
        env.step(np.array([action]))
    return load(name, env).probs(env.observation, env.action_mask)[0]


@pytest.mark.parametrize("name", ["rule", "rule:2"])
def test_the_last_to_flip_makes_its_guess_true(name):
    assert play_sequential(name, guesses=(4, 7), flip=3)[21 + 4] > 0.99
    assert play_sequential(name, guesses=(4, 2), flip=2)[21 + 0] > 0.99


def test_level_2_denies_where_it_cannot_win():
    # Seat 0 flipped 1 and its guess is likely to be low; seat 1 cannot reach 9 and keeps the total off low numbers.
    probs = play_sequential("rule:2", guesses=(1, 9), flip=1)
    assert probs[21 + 5] > probs[21 + 0]


def test_level_2_takes_an_odd_guess_as_a_sign_of_random_play():
    env = flinchenv.make("flip_it-hand-v0", "vector", num_envs=2, goal=("hands", 2))
    env.reset(seed=0)
    bot = load("rule:2", env)
    env.step(np.array([[3, 6], [3, 10]]))  # seat 1 guesses 6, which fits its play, or 10, which does not
    env.step(np.array([[22, 24], [22, 21]]))
    probs = bot.probs(env.observation[:, 0], env.action_mask[:, 0])
    assert np.abs(probs[0] - probs[1]).sum() > 0.1


# Strength


@pytest.mark.parametrize(
    ("id", "num_players"),
    [("flip_it-v0", 2), ("flip_it-capture-v0", 2), ("flip_it-closest-v0", 2), ("flip_it-sequential-v0", 3)],
)
def test_each_level_beats_the_one_below(id, num_players):
    for better, worse in (("rule", "random"), ("rule:2", "rule")):
        share, margin = wins(id, better, worse, 128, num_players)
        assert share[0] > 1 / num_players and margin[0] > 0, (better, worse, share, margin)


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("id", ids_of("flip_it"))
def test_each_level_beats_the_one_below_in_every_variant(id, num_players):
    """By the mean return, which is what the games pay; in tiny, level 2 earns more but wins no more games."""
    games = 20_000 if id in ("flip_it-hand-v0", "flip_it-tiny-v0") else 3_000
    for better, worse in (("rule", "random"), ("rule:2", "rule"), ("rule:2", "random")):
        share, margin = wins(id, better, worse, games, num_players)
        assert margin[0] > 0, (better, worse, share, margin)


# Names


def test_names_load_what_they_say():
    env = flinchenv.make("flip_it-v0", "vector")
    assert load("random").name == "random"
    assert load("rule", "flip_it-v0").name == load("rule:1", env).name == load("rule:1", env.setup).name == "rule:1"
    assert load("rule:2", "flip_it-v0").name == "rule:2"


@pytest.mark.parametrize(
    "name", ["", "rul", "rule:", "rule:0", "rule:3", "rule:01", "rule:x", "Random", "random:2", "search:0"]
)
def test_unknown_names_are_refused_with_what_is_allowed(name):
    for call in (load, load_opponents):
        with pytest.raises(ValueError) as caught:
            call(name, make_setup("flip_it-v0"))
        assert repr(name) in str(caught.value) and "'rule:1'..'rule:2'" in str(caught.value)


@pytest.mark.parametrize("name", [None, 3, b"rule", ["rule"]])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match="agent="):
        load(name, "flip_it-v0")


def test_a_rule_bot_without_an_env_waits_to_be_seated():
    bot = load("rule:2")
    with pytest.raises(ValueError, match="agent='rule:2'"):
        bot.act(np.zeros((1, 3)), np.ones((1, 3), np.int8), np.random.default_rng(0))
    one, other = (flinchenv.make("flip_it-v0", "gym", opponents=o) for o in (bot, "rule:2"))
    for env in (one, other):
        env.reset(seed=3)
    while not one._batch.terminated[0]:
        action = int(one.action_masks().argmax())
        assert one.step(action)[0].tolist() == other.step(action)[0].tolist()
    with pytest.raises(ValueError, match="agent='rule:3'"):
        load("rule:3")
    with pytest.raises(ValueError, match="env=3"):
        load("rule", 3)
    with pytest.raises(ValueError, match="not registered"):
        load("rule", "flip_it-v9")


def test_opponents_are_one_for_all_or_one_for_each():
    setup = make_setup("flip_it-v0", None, {"num_players": 3})
    assert [agent.name for agent in load_opponents("rule", setup)] == ["rule:1", "rule:1"]
    mine = load("random")
    first, second = load_opponents(["rule:2", mine], setup)
    assert first.name == "rule:2" and second is mine
    assert load_opponents(mine, setup) == [mine, mine]
    for many in (["rule"], ["rule"] * 3, []):
        with pytest.raises(ValueError, match="a list of 2"):
            load_opponents(many, setup)


# Networks and checkpoints


@pytest.fixture
def saved(tmp_path):
    """(path, tensors, card, setup) of a small checkpoint."""
    setup = make_setup("flip_it-tiny-v0")
    tensors, card = network(setup, hidden=(4,))
    path = tmp_path / "run.v1"
    save_checkpoint(path, tensors, card)
    return path, tensors, card, setup


def test_a_checkpoint_comes_back_as_it_was(saved):
    path, tensors, card, setup = saved
    for name in (path, f"{path}.json", f"{path}.safetensors"):
        loaded, read = load_checkpoint(name)
        assert loaded.keys() == tensors.keys()
        assert all((loaded[key] == tensors[key]).all() for key in tensors)
        assert {key: read[key] for key in card} == json.loads(json.dumps(card))
    assert sorted(os.listdir(path.parent)) == ["run.v1.json", "run.v1.safetensors"]
    agent = load(str(path))
    assert agent.name == "run.v1" and agent.setup.rules == setup.rules and agent.setup.id == setup.id


def test_half_precision_is_half_as_large_and_comes_back_as_float32(saved):
    path, tensors, card, _ = saved
    size = path.with_name("run.v1.safetensors").stat().st_size
    save_checkpoint(path, tensors, card, half=True)
    weights = sum(tensor.nbytes for tensor in tensors.values())
    assert path.with_name("run.v1.safetensors").stat().st_size <= size - weights // 2 + 16
    loaded, _ = load_checkpoint(path)
    for name, tensor in tensors.items():
        assert loaded[name].dtype == np.float32
        assert (loaded[name] == tensor.astype(np.float16)).all()
    tensors["policy.0.weight"][0, 0] = 70_000
    with pytest.raises(ValueError, match="not finite"):
        save_checkpoint(path, tensors, card, half=True)
    assert (load_checkpoint(path)[0]["policy.0.weight"] == loaded["policy.0.weight"]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"greedy": 1}, "'greedy'"),
        ({"relations": 1}, "'relations'"),
        ({"compare": ["points"]}, "'compare'"),
        ({"compare": {"points": 3}}, "'compare'"),
        ({"compare": {"nothing": 1}}, "'compare'"),
        ({"compare": {"points": 0}}, "'compare'"),
    ],
)
def test_networks_that_their_layout_cannot_feed_are_refused(changes, message, saved):
    path, tensors, card, _ = saved
    card["network"] |= changes
    with pytest.raises(ValueError, match=message):
        save_checkpoint(path, tensors, card)


def test_saving_again_replaces_both_files(saved):
    path, tensors, card, _ = saved
    save_checkpoint(path, {key: tensor + 1 for key, tensor in tensors.items()}, card)
    assert (load_checkpoint(path)[0]["policy.0.bias"] == tensors["policy.0.bias"] + 1).all()


def test_numpy_forward_is_torch_forward():
    import torch

    for id, activation, module in (
        ("flip_it-v0", "tanh", torch.nn.Tanh),
        ("flip_it-capture-v0", "relu", torch.nn.ReLU),
    ):
        env = flinchenv.make(id, "vector", num_envs=32)
        size, actions = env.setup.layout.size, env.setup.num_actions
        policy = torch.nn.Sequential(
            torch.nn.Linear(size, 64), module(), torch.nn.Linear(64, 32), module(), torch.nn.Linear(32, actions)
        )
        value = torch.nn.Sequential(torch.nn.Linear(size, 8), module(), torch.nn.Linear(8, 1))
        tensors = {f"policy.{key}": tensor.numpy() for key, tensor in policy.state_dict().items()}
        tensors |= {f"value.{key}": tensor.numpy() for key, tensor in value.state_dict().items()}
        card = make_card(env.setup, {"hidden": [64, 32], "activation": activation}, {})
        agent = NetworkAgent(env.setup, tensors, card)
        for observation, mask in decisions(env, 8, 2):
            inputs = torch.from_numpy(observation / env.setup.layout.high().astype(np.float32))
            with torch.no_grad():
                logits = policy(inputs)
                masked = logits.masked_fill(torch.from_numpy(mask) == 0, -torch.inf)
                np.testing.assert_allclose(agent.logits(observation), logits.numpy(), atol=1e-5)
                np.testing.assert_allclose(agent.probs(observation, mask), masked.softmax(1).numpy(), atol=1e-5)
                np.testing.assert_allclose(agent.values(observation), value(inputs)[:, 0].numpy(), atol=1e-5)


def test_huge_logits_stay_probabilities_and_infinite_ones_are_refused():
    setup = make_setup("flip_it-v0")
    tensors, card = network(setup, hidden=(), value=False)
    observation, mask = np.ones((2, setup.layout.size), np.int8), np.ones((2, setup.num_actions), np.int8)
    tensors["policy.0.bias"] *= np.float32(1e6)
    probs = NetworkAgent(setup, tensors, card).probs(observation, mask)
    assert np.isfinite(probs).all() and probs.sum(1) == pytest.approx(1)
    tensors["policy.0.weight"][:] = 3e38
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="not finite"):
        NetworkAgent(setup, tensors, card).probs(observation, mask)


def test_greedy_takes_the_most_probable_legal_action():
    env = flinchenv.make("flip_it-v0", "vector", num_envs=32)
    tensors, card = network(env.setup, value=False)
    agent, greedy = NetworkAgent(env.setup, tensors, card), NetworkAgent(env.setup, tensors, card, greedy=True)
    for observation, mask in decisions(env, 4, 2):
        best = agent.probs(observation, mask).argmax(1)
        assert (greedy.act(observation, mask, np.random.default_rng(0)) == best).all()
    with pytest.raises(ValueError, match="no 'value' tensors"):
        agent.values(observation)


def test_a_checkpoint_plays_other_rules_only_if_told_to(saved):
    path, *_ = saved
    env = flinchenv.make("flip_it-tiny-v0", "gym", opponents=str(path), reward="win")
    assert load(str(path), env).setup.rules == env.setup.rules
    for options in ({"goal": ("hands", 3)}, {"max_hands": 9}, {"scoring": "capture"}):
        (rule,) = options
        with pytest.raises(ValueError, match=f"checkpoint's rule {rule}="):
            flinchenv.make("flip_it-tiny-v0", "gym", opponents=str(path), **options)
        setup = make_setup("flip_it-tiny-v0", None, options)
        assert load(str(path), setup, any_rules=True).setup == setup
    with pytest.raises(ValueError, match="checkpoint's rule play_values="):
        load(str(path), "flip_it-v0")


def test_a_checkpoint_is_scaled_as_it_was_trained(saved):
    path, _, _, setup = saved
    other = make_setup(setup.id, None, {"max_hands": 100})
    assert other.layout["hands"].high == 100 and setup.layout["hands"].high == 3
    observation = np.ones((1, setup.layout.size), np.int8)
    assert (
        load(str(path), setup).logits(observation) == load(str(path), other, any_rules=True).logits(observation)
    ).all()


@pytest.mark.parametrize(
    ("options", "word"),
    [({"num_players": 3}, "layout"), ({"obs_history": 0}, "layout"), ({"actions": "joint"}, "layout")],
)
def test_a_checkpoint_of_another_layout_is_refused(saved, options, word):
    path, *_ = saved
    with pytest.raises(ValueError, match=f"checkpoint's {word}"):
        load(str(path), make_setup("flip_it-tiny-v0", None, options))


@pytest.mark.parametrize(("key", "value"), [("game", "flinch"), ("game_version", 7), ("num_actions", 28)])
def test_a_checkpoint_of_another_game_or_version_is_refused(saved, key, value):
    _, tensors, card, setup = saved
    with pytest.raises(ValueError, match=f"checkpoint's {key}=.*{value}"):
        NetworkAgent(setup, tensors, card | {key: value})


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"policy.0.weight": None}, "policy.0 lacks"),
        ({"policy.1.bias": None}, "policy.1 lacks"),
        ({"policy.1.bias": np.zeros(3, np.float32)}, "policy has the shapes"),
        ({"policy.1.weight": np.zeros((27, 5), np.float32)}, "policy has the shapes"),
        ({"policy.0.weight": np.zeros(4, np.float32)}, "policy.0 lacks"),
        ({"policy.0.bias": np.zeros(4)}, "float64"),
        ({"policy.0.bias": [0.0] * 4}, "list"),
        ({"policy.0.bias": np.full(4, np.nan, np.float32)}, "not finite"),
        ({"value.1.bias": np.zeros(2, np.float32)}, "value has the shapes"),
        (
            {"value.x": np.zeros(2, np.float32)} | {f"value.{i}.{k}": None for i in "01" for k in ("weight", "bias")},
            "value",
        ),
    ],
    ids=str,
)
def test_tensors_that_are_not_the_cards_network_are_refused(saved, change, word):
    path, tensors, card, setup = saved
    tensors = {key: tensor for key, tensor in (tensors | change).items() if tensor is not None}
    with pytest.raises(ValueError, match=word):
        NetworkAgent(setup, tensors, card)
    if all(isinstance(tensor, np.ndarray) for tensor in tensors.values()):
        with pytest.raises(ValueError, match=word):
            save_checkpoint(path, tensors, card)
    load_checkpoint(path)  # what was there before is still whole


@pytest.mark.parametrize("end", [".json", ".safetensors"])
def test_a_missing_half_is_refused(saved, end):
    path, *_ = saved
    os.unlink(f"{path}{end}")
    with pytest.raises(ValueError, match=rf"run\.v1\{end}: No such file"):
        load(str(path))


def test_a_pair_from_two_saves_is_refused(saved, tmp_path):
    path, tensors, card, _ = saved
    save_checkpoint(tmp_path / "next", {key: tensor + 1 for key, tensor in tensors.items()}, card)
    os.replace(tmp_path / "next.safetensors", f"{path}.safetensors")  # as after a stop between the two files
    with pytest.raises(ValueError, match="sha256"):
        load(str(path))


@pytest.mark.parametrize(
    "key", ["format", "env", "game_version", "rules", "layout", "network", "sha256", "card_sha256"]
)
@pytest.mark.parametrize("value", [None, "", 1.5, [1], {"hidden": [0], "activation": "tanh"}])
def test_a_card_with_a_wrong_key_is_refused(saved, key, value):
    path, *_ = saved
    card = json.loads(pathlib.Path(f"{path}.json").read_text())
    without = {name: entry for name, entry in card.items() if name != key}
    for changed in (without, card | {key: value}):
        pathlib.Path(f"{path}.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=r"run\.v1\.json"):
            load(str(path))


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff\xfe", b"null", b"[" * 100_000, pickle.dumps({"format": 1})])
def test_what_is_no_card_is_refused(saved, text):
    path, *_ = saved
    pathlib.Path(f"{path}.json").write_bytes(text)
    with pytest.raises(ValueError, match=r"run\.v1\.json"):
        load(str(path))


def test_two_hundred_flipped_bits_and_cuts_are_refused_or_change_nothing(saved):
    path, tensors, *_ = saved
    _, card = load_checkpoint(path)
    rng = np.random.default_rng(11)
    unharmed, refusals = 0, []
    for trial in range(200):
        file = pathlib.Path(f"{path}{('.json', '.safetensors')[trial % 2]}")
        whole = file.read_bytes()
        at = int(rng.integers(len(whole)))
        harmed = whole[:at] if trial % 4 < 2 else whole[:at] + bytes([whole[at] ^ 1 << trial % 8]) + whole[at + 1 :]
        file.write_bytes(harmed)
        try:
            loaded, read = load_checkpoint(path)
        except ValueError as error:
            refusals.append(str(error))
        else:
            unharmed += 1
            assert read == card and all((loaded[key] == tensors[key]).all() for key in tensors)
        file.write_bytes(whole)
    assert unharmed < 20  # white space in the card
    assert all(str(path) in refusal for refusal in refusals)


class Trap:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (self.file, "w")


def test_nothing_executes_on_load(saved, tmp_path):
    path, *_ = saved
    trap = pickle.dumps(Trap(str(tmp_path / "sprung")))
    for end in (".json", ".safetensors"):
        whole = pathlib.Path(f"{path}{end}").read_bytes()
        pathlib.Path(f"{path}{end}").write_bytes(trap)
        with pytest.raises(ValueError, match="checkpoint"):
            load(str(path))
        pathlib.Path(f"{path}{end}").write_bytes(whole)
    assert not (tmp_path / "sprung").exists()


def test_agents_import_neither_torch_nor_pickle():
    for file in pathlib.Path(agents.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"torch", "pickle", "marshal", "shelve"}, file


def test_without_safetensors_the_error_names_the_extra(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"flinchenv\[train\]"):
        load(str(saved[0]))
