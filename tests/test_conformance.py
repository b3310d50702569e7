"""The official checkers of PettingZoo, Gymnasium and Stable-Baselines3 on every id, and what they do not check."""

import copy
import pickle
import types
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import flinchenv
from flinchenv import flip_it_v0

IDS = flinchenv.list_envs()
PARALLEL_IDS = [id for id in IDS if flinchenv.spec(id).simultaneous]
DOORS = {"flip_it": flip_it_v0}
VARIANTS = [
    {},
    {"num_players": 3, "actions": "joint", "play_cards": "consumed"},
    {"num_players": 4, "no_guess_cards": "continue", "loser_guess": "discard", "goal": ("hands", 30)},
    {"num_players": 4, "flip_order": "sequential", "play_cards": "consumed", "obs_history": 3},
]


def door(id):
    return DOORS[flinchenv.spec(id).game]


@pytest.mark.parametrize("id", IDS)
def test_aec_passes_pettingzoo_for_thousands_of_cycles(id):
    api_test(flinchenv.make(id), num_cycles=5000)
    api_test(door(id).raw_env(id), num_cycles=5000)
    seed_test(lambda: flinchenv.make(id), num_cycles=2000)
    seed_test(lambda: door(id).raw_env(id), num_cycles=2000)


@pytest.mark.parametrize("id", PARALLEL_IDS)
def test_parallel_passes_pettingzoo_for_thousands_of_cycles(id):
    parallel_api_test(flinchenv.make(id, "parallel"), num_cycles=5000)
    parallel_seed_test(lambda: flinchenv.make(id, "parallel", illegal_action="random_legal"), num_cycles=2000)


@pytest.mark.parametrize("options", VARIANTS)
def test_option_combinations_pass_pettingzoo(options):
    api_test(flinchenv.make("flip_it-v0", **options), num_cycles=1000)
    seed_test(lambda: flinchenv.make("flip_it-v0", **options), num_cycles=500)
    if options.get("flip_order") != "sequential":
        parallel_api_test(flinchenv.make("flip_it-v0", "parallel", **options), num_cycles=1000)


@pytest.mark.parametrize("id", PARALLEL_IDS)
def test_max_cycles_cuts_every_form(id):
    def at_once(make):
        return lambda **options: make(id, illegal_action="random_legal", goal=("hands", 50), **options)

    max_cycles_test(types.SimpleNamespace(env=at_once(door(id).env), parallel_env=at_once(door(id).parallel_env)))


@pytest.mark.parametrize("id", IDS)
def test_render_passes_pettingzoo(id, capsys):
    render_test(lambda render_mode: flinchenv.make(id, render_mode=render_mode), {"ansi": lambda r: isinstance(r, str)})


@pytest.mark.parametrize("policy", ["forfeit", "random_legal"])
@pytest.mark.parametrize("id", IDS)
def test_gym_passes_gymnasium_and_sb3(id, policy):
    for seat in (0, 1, "rotate", "random"):
        env = flinchenv.make(id, "gym", illegal_action=policy, seat=seat)
        check_env(env, skip_render_check=True)
        sb3_check_env(env)
        env.close()


@pytest.mark.parametrize("id", IDS)
def test_gymnasium_registry_makes_single_and_vector(id):
    env = gymnasium.make(f"flinchenv/{id}", illegal_action="random_legal", render_mode="ansi")
    check_env(env.unwrapped)
    vector = gymnasium.make_vec(f"flinchenv/{id}", num_envs=3)
    observation, _ = vector.reset(seed=5)
    assert vector.observation_space.contains(observation)
    assert vector.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("id", IDS)
def test_pettingzoo_registry_knows_every_id(id):
    assert pettingzoo.make("aec", f"flinchenv/{id}").metadata["name"] == id
    if id in PARALLEL_IDS:
        assert pettingzoo.make("parallel", f"flinchenv/{id}").metadata["name"] == id
    else:
        with pytest.raises(pettingzoo.env_registry.exceptions.NameNotFound):
            pettingzoo.make("parallel", f"flinchenv/{id}")


def test_registries_are_told_whatever_is_imported_first():
    import subprocess
    import sys

    for first in ("flinchenv", "gymnasium", "pettingzoo"):
        names = [first, *({"flinchenv", "gymnasium", "pettingzoo"} - {first})]
        program = f"import {', '.join(names)}\n" + (
            "assert 'flinchenv/flip_it-v0' in gymnasium.registry\npettingzoo.make('aec', 'flinchenv/flip_it-v0')\n"
        )
        subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def every_step(env, seed, steps):
    """Play at random over several games, checking each observation against the spaces."""
    rng, seen = np.random.default_rng(seed), 0
    env.reset(seed=seed)
    while seen < steps:
        for _ in env.agent_iter():
            for other in env.possible_agents:
                assert env.observation_space(other).contains(env.observe(other)), other
                if other in env.infos:
                    mask = env.infos[other]["action_mask"]
                    assert mask.shape == (env.action_space(other).n,)
                    assert mask.dtype == np.int8
                    assert (mask == env.observe(other)["action_mask"]).all()
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
            seen += 1
        assert all(env.observe(agent) for agent in env.possible_agents)
        env.reset()


@pytest.mark.parametrize("id", IDS)
def test_observations_stay_in_their_spaces_to_the_very_end(id):
    every_step(flinchenv.make(id, num_players=3), seed=1, steps=1500)


def play_on(env, info, steps):
    """Rewards of some steps of the lowest legal ids."""
    earned = []
    for _ in range(steps):
        mask = info["action_mask"]
        action = mask.argmax(-1) if mask.ndim > 1 else int(mask.argmax())
        _, reward, over, cut, info = env.step(action)
        earned.append(np.asarray(reward).tolist())
        if mask.ndim == 1 and (over or cut):
            _, info = env.reset()
    return earned


@pytest.mark.parametrize("api", ["gym", "gym_vector"])
@pytest.mark.parametrize("id", IDS)
def test_gym_environments_survive_copy_and_pickle(id, api):
    options = {"num_envs": 3, "threads": 2} if api == "gym_vector" else {}
    env = flinchenv.make(id, api, num_players=3, opponents="random", seat="random", **options)
    _, info = env.reset(seed=4)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = play_on(env, info, 40)
    for other in copies:
        assert play_on(other, info, 40) == expected


def test_global_generators_are_left_alone():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    for api in ("aec", "parallel", "vector", "gym", "gym_vector"):
        flinchenv.make("flip_it-v0", api).reset(seed=1)
    assert (np.random.get_state()[1] == before).all()


def test_a_reset_without_a_seed_differs_between_environments_and_goes_to_the_next_episode():
    envs = [flinchenv.make("flip_it-v0", "vector", num_envs=1000) for _ in range(2)]
    seeds = [env.reset() and env._games["seed"].copy() for env in envs]
    assert seeds[0][0] != seeds[1][0]
    assert len(set(seeds[0].tolist())) == 1000
    envs[0].reset()
    assert (envs[0]._games["seed"] == seeds[0]).all()
    assert (envs[0]._games["episode"] == 1).all()


def test_no_warning_but_the_listed_ones():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for id in IDS:
            api_test(flinchenv.make(id), num_cycles=20)
            sb3_check_env(flinchenv.make(id, "gym", illegal_action="forfeit"))
    unexpected = {str(w.message) for w in caught} - LISTED
    assert not unexpected


# PettingZoo names its own environments as the ones whose observations may be dicts.
LISTED = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}
