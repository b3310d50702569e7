"""The official checkers of PettingZoo, Gymnasium and Stable-Baselines3 on every id, and what they do not check."""

import copy
import functools
import pickle
import types
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, render_test, seed_test
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import flinchenv
from games import FIRST_CASES, GAMES, OPTION_CASES, first_id, game_of, ids_of, over, playable, simultaneous

IDS = flinchenv.list_envs()
PARALLEL_IDS = [id for id in IDS if flinchenv.spec(id).simultaneous]
FIRST_IDS = [first_id(name) for name in GAMES]
CASES = [(id, {}) for id in IDS] + OPTION_CASES + FIRST_CASES + [("flash10-tiny-v0", {"num_players": 1})]
cases = over(CASES)


def players(id, wanted=3):
    """A number of players that the id can be played with, as near to the wanted one as there is."""
    numbers = [options["num_players"] for _, options in playable((id, {"num_players": n}) for n in game_of(id).players)]
    return min(numbers, key=lambda n: abs(n - wanted))


@pytest.mark.parametrize("id", IDS)
def test_aec_passes_pettingzoo_for_thousands_of_cycles(id):
    raw_env, long = game_of(id).doors.raw_env, game_of(id).long
    api_test(flinchenv.make(id, **long), num_cycles=5000)
    api_test(raw_env(id, **long), num_cycles=5000)
    seed_test(lambda: flinchenv.make(id, **long), num_cycles=2000)
    seed_test(lambda: raw_env(id, **long), num_cycles=2000)


@pytest.mark.parametrize("id", IDS)
def test_the_long_games_are_long(id):
    env = flinchenv.make(id, "vector", num_envs=32, **game_of(id).long)
    env.reset(seed=0)
    env.rollout()
    assert np.median(env.snapshot().games["steps"]) > game_of(id).longest


@cases
def test_whole_games_pass_pettingzoo(id, options):
    for make in (flinchenv.make, game_of(id).doors.raw_env):
        for _ in range(3):
            api_test(make(id, **options), num_cycles=1000)
        seed_test(lambda make=make: make(id, **options), num_cycles=500)
    if simultaneous(id, options):
        parallel_api_test(flinchenv.make(id, "parallel", **options), num_cycles=1000)
        for policy in ("forfeit", "random_legal"):
            parallel_seed_test(lambda p=policy: flinchenv.make(id, "parallel", illegal_action=p, **options), 500)


@pytest.mark.parametrize("id", PARALLEL_IDS)
def test_parallel_passes_pettingzoo_for_thousands_of_cycles(id):
    long = game_of(id).long
    parallel_api_test(flinchenv.make(id, "parallel", **long), num_cycles=5000)
    parallel_seed_test(lambda: flinchenv.make(id, "parallel", illegal_action="random_legal", **long), num_cycles=2000)


@cases
def test_equal_seeds_are_equal_games_in_parallel(id, options):
    """What PettingZoo 1.27's own test stops to look at after one step."""
    if not simultaneous(id, options):
        return
    envs = [flinchenv.make(id, "parallel", illegal_action="random_legal", **options) for _ in range(2)]
    for options in ({"seed": 4}, {}, {}, {"seed": 4}):
        for env in envs:
            env.reset(**options)
            for p, agent in enumerate(env.agents):
                env.action_space(agent).seed(p)
        for _ in range(200):
            if envs[0].agents:
                one, other = (env.step({a: env.action_space(a).sample() for a in env.agents}) for env in envs)
                assert data_equivalence(one, other)
                assert (envs[0].state() == envs[1].state()).all()
                assert envs[0].agents == envs[1].agents


@pytest.mark.parametrize("id", PARALLEL_IDS)
def test_max_cycles_cuts_every_form(id):
    """In AEC the test wants each seat to be asked in each cycle."""
    doors, even = game_of(id).doors, game_of(id).even

    def at_once(make):
        def dealt(**options):
            env = make(id, illegal_action="random_legal", **even, **options)
            env.reset = functools.partial(env.reset, seed=1)  # of unlucky deals the shortest games are over before
            for agent in env.possible_agents:
                env.action_space(agent).seed(1)
            return env

        return dealt

    max_cycles_test(types.SimpleNamespace(env=at_once(doors.env), parallel_env=at_once(doors.parallel_env)))


@cases
def test_render_passes_pettingzoo(id, options, capsys):
    render_test(
        lambda render_mode: flinchenv.make(id, render_mode=render_mode, **options),
        {"ansi": lambda r: isinstance(r, str)},
    )


@pytest.mark.parametrize("policy", ["forfeit", "random_legal"])
@cases
def test_gym_passes_gymnasium_and_sb3(id, options, policy):
    last = options.get("num_players", flinchenv.spec(id).rules.num_players) - 1
    for seat in {0, last, "rotate", "random"}:
        env = flinchenv.make(id, "gym", illegal_action=policy, seat=seat, **options)
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


@pytest.mark.parametrize("name", GAMES)
def test_the_doors_of_a_game_open_its_ids_alone(name):
    doors = GAMES[name].doors
    assert doors.env().metadata["name"] == doors.raw_env().metadata["name"] == first_id(name)
    if first_id(name) in PARALLEL_IDS:
        assert doors.parallel_env().metadata["name"] == first_id(name)
    else:
        with pytest.raises(ValueError, match="turn based"):
            doors.parallel_env()
    for id in IDS:
        for door in (doors.env, doors.raw_env, *([doors.parallel_env] if id in PARALLEL_IDS else [])):
            if id in ids_of(name):
                assert door(id).metadata["name"] == id
            else:
                with pytest.raises(ValueError, match="id="):
                    door(id)


def test_registries_are_told_whatever_is_imported_first():
    import subprocess
    import sys

    for first in ("flinchenv", "gymnasium", "pettingzoo"):
        names = [first, *({"flinchenv", "gymnasium", "pettingzoo"} - {first})]
        program = f"import {', '.join(names)}\n" + (
            "for id in flinchenv.list_envs():\n"
            "    assert f'flinchenv/{id}' in gymnasium.registry\n"
            "    pettingzoo.make('aec', f'flinchenv/{id}')\n"
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


@cases
def test_observations_stay_in_their_spaces_to_the_very_end(id, options):
    every_step(flinchenv.make(id, **options), seed=1, steps=500)


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
    env = flinchenv.make(id, api, num_players=players(id), opponents="random", seat="random", **options)
    _, info = env.reset(seed=4)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = play_on(env, info, 40)
    for other in copies:
        assert play_on(other, info, 40) == expected


def test_global_generators_are_left_alone():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    for id in FIRST_IDS:
        for api in ("aec", "parallel", "vector", "gym", "gym_vector"):
            if api != "parallel" or id in PARALLEL_IDS:
                flinchenv.make(id, api).reset(seed=1)
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("id", FIRST_IDS)
def test_a_reset_without_a_seed_differs_between_environments_and_goes_to_the_next_episode(id):
    envs = [flinchenv.make(id, "vector", num_envs=1000) for _ in range(2)]
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
