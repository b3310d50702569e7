"""Every bad setting is refused by name: the field, the value, and what is allowed."""

import functools
import math

import gymnasium
import numpy as np
import pytest

import flinchenv
from flinchenv.flip_it.rules import FlipItRules
from table import contents

PLAYERS = "2..4"
RULES = [
    # field, refused value, a word of what is allowed
    *[("num_players", value, PLAYERS) for value in (0, 1, -1, 5, 2.0, "2", True, None, math.nan, [2], 10**30)],
    *[("max_hands", value, "1..10000") for value in (0, -1, 10_001, 3.0, "3", True, None, math.nan)],
    *[("obs_history", value, "0..8") for value in (-1, 9, 1.0, "1", False, None, math.nan)],
    *[("guess_max", value, "1..10") for value in (0, -1, 11, 4.0, "4", True, math.nan, (4,))],
    *[("play_values", value, "0..5") for value in ((0,), (1, 2), (0, 1, 1), (), "0,1", 5, None, {0, 1})],
    *[("goal", value, "score") for value in ("score:x", "score:1:2", 10, None, True, (), ("score",), ("score", 1, 2))],
    *[("goal", value, "score") for value in ({"score": 10}, b"score:3")],
    *[("actions", value, "'phased', 'joint'") for value in ("Phased", "", None, 0, True, ["phased"])],
    *[("reward", value, "'margin', 'points', 'win'") for value in ("margins", None, 1)],
    *[("win_rule", value, "'exact', 'closest'") for value in ("close", None)],
    *[("scoring", value, "'basic', 'capture'") for value in ("advanced", None)],
    *[("loser_guess", value, "'return', 'discard'") for value in ("returned", False)],
    *[("capture_spots", value, "True or False") for value in (1, 0, "True", None, math.nan)],
    *[("capture_multi", value, "'keep_own', 'share', 'none'") for value in ("keep-own", None)],
    *[("play_cards", value, "'returned', 'consumed'") for value in ("return", None)],
    *[("no_guess_cards", value, "'end', 'continue'") for value in ("stop", None)],
    *[("flip_order", value, "'simultaneous', 'sequential'") for value in ("turns", None)],
]


def refused(call, *words):
    """The call raises a ValueError whose message holds all the words."""
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert str(word) in str(caught.value), (word, str(caught.value))


@pytest.mark.parametrize(("field", "value", "allowed"), RULES, ids=lambda v: repr(v)[:20])
def test_rules_are_refused_by_field_value_and_range(field, value, allowed):
    refused(lambda: FlipItRules(**{field: value}), f"{field}=", repr(value), allowed)
    refused(lambda: flinchenv.make("flip_it-v0", **{field: value}), f"{field}=", repr(value), allowed)
    refused(lambda: flinchenv.make("flip_it-v0", rules={field: value}), f"{field}=", repr(value), allowed)
    refused(lambda: flinchenv.layout("flip_it-v0", **{field: value}), f"{field}=", repr(value), allowed)


@pytest.mark.parametrize("value", [6, -1, 1.0, "1", True, None, math.nan])
def test_a_play_value_of_its_own_is_refused(value):
    refused(lambda: FlipItRules(play_values=(0, value)), "play_values=", repr(value), "0..5")


@pytest.mark.parametrize(
    "goal", ["", ":3", "points:3", ("points", 3), (3, 3), (None, 1), (["score"], 1), "score", "score:"]
)
def test_goal_kinds_are_refused_whole(goal):
    refused(lambda: FlipItRules(goal=goal), f"goal={goal!r}", '("score", 1..1000000)')


@pytest.mark.parametrize(
    ("goal", "limit"),
    [
        (("score", 0), "1..1000000"),
        (("score", -5), "1..1000000"),
        (("score", 10.0), "1..1000000"),
        (("score", math.inf), "1..1000000"),
        (("score", math.nan), "1..1000000"),
        (("score", True), "1..1000000"),
        (("score", "10"), "1..1000000"),
        (("hands", 0), "1..10000"),
        (("hands", 10_001), "1..10000"),
        (("hands", None), "1..10000"),
        (("guess_cards_gone", 1), '("guess_cards_gone", 0)'),
    ],
)
def test_goal_numbers_are_refused_with_their_range(goal, limit):
    refused(lambda: FlipItRules(scoring="capture", goal=goal), "goal=", repr(goal[1]), limit)


@pytest.mark.parametrize("form", [("hands", 3), ["hands", 3], "hands:3", ("hands", np.int64(3))])
def test_goal_forms_are_the_same_goal(form):
    assert FlipItRules(goal=form).goal == ("hands", 3)


@pytest.mark.parametrize("form", [("guess_cards_gone", 0), ["guess_cards_gone", 0], "guess_cards_gone:0"])
def test_goal_guess_cards_gone_forms(form):
    assert FlipItRules(goal=form).goal == ("guess_cards_gone", 0)


def test_play_values_forms_are_the_same_set():
    rules = [
        FlipItRules(play_values=form, goal="hands:1") for form in ((0, 3, 5), [5, 0, 3], np.array([3, 5, 0]).tolist())
    ]
    assert {r.play_values for r in rules} == {(0, 3, 5)}


def test_guess_max_follows_players_and_play_values():
    refused(lambda: FlipItRules(num_players=3, guess_max=16), "guess_max=16", "1..15")
    refused(lambda: FlipItRules(play_values=(0, 2), guess_max=5), "guess_max=5", "1..4")
    assert FlipItRules(num_players=3, guess_max=15).guess_max == 15


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, 23),
        ({"num_players": 3}, 28),
        ({"num_players": 4}, 33),
        ({"play_values": (0, 1)}, 11),
        ({"guess_max": 2}, 9),
        ({"play_values": (0, 5)}, 9),
    ],
)
def test_a_score_that_basic_scoring_cannot_reach_is_refused(options, most):
    assert FlipItRules(goal=("score", most), **options).goal == ("score", most)
    bad = ("score", most + 1)
    refused(lambda: FlipItRules(goal=bad, **options), f"goal={bad!r}", f"1..{most}")
    assert FlipItRules(goal=bad, scoring="capture", **options).goal == bad


def test_joint_actions_are_refused_with_sequential_flips():
    refused(lambda: FlipItRules(actions="joint", flip_order="sequential"), "actions='joint'", "'phased'", "sequential")
    refused(lambda: flinchenv.make("flip_it-sequential-v0", actions="joint"), "actions='joint'", "sequential")


@pytest.mark.parametrize("key", ["num_player", "stok_size", "goals", "numplayers", "seed"])
def test_misspelt_keys_are_refused(key):
    for call in (
        lambda: flinchenv.make("flip_it-v0", **{key: 2}),
        lambda: flinchenv.make("flip_it-v0", rules={key: 2}),
        lambda: flinchenv.make("flip_it-v0", "parallel", **{key: 2}),
        lambda: flinchenv.layout("flip_it-v0", **{key: 2}),
    ):
        refused(call, repr(key), "its fields", "num_players")


def test_a_misspelt_key_names_the_nearest_field():
    refused(lambda: flinchenv.make("flip_it-v0", num_player=2), "did you mean 'num_players'?")


@pytest.mark.parametrize("rules", [3, "capture", ["num_players"], True, FlipItRules])
def test_rules_of_a_wrong_kind_are_refused(rules):
    refused(lambda: flinchenv.make("flip_it-v0", rules=rules), "rules=", "FlipItRules")


@pytest.mark.parametrize("id", ["flip_it-v1", "flip_it", "flipit-v0", "flip_it-Capture-v0", "", None, 3, "flip_it-v99"])
def test_unknown_ids_are_refused_with_the_nearest(id):
    for call in (flinchenv.make, flinchenv.spec, flinchenv.layout):
        refused(lambda call=call: call(id), f"id={id!r}", "flip_it-")


@pytest.mark.parametrize("api", ["AEC", "", None, 0, True, ["aec"], "pettingzoo"])
def test_unknown_apis_are_refused(api):
    refused(
        lambda: flinchenv.make("flip_it-v0", api), f"api={api!r}", "'aec', 'parallel', 'vector', 'gym', 'gym_vector'"
    )


@pytest.mark.parametrize(
    ("api", "option", "value", "users"),
    [
        ("aec", "num_envs", 8, "vector, gym_vector"),
        ("aec", "num_envs", True, "vector, gym_vector"),
        ("aec", "threads", 2, "vector, gym_vector"),
        ("aec", "dtype", "float32", "vector, gym_vector"),
        ("aec", "opponents", "rule", "gym, gym_vector"),
        ("aec", "seat", 1, "gym, gym_vector"),
        ("aec", "autoreset_mode", "SameStep", "gym_vector"),
        ("parallel", "num_envs", 8, "vector, gym_vector"),
        ("parallel", "seat", "random", "gym, gym_vector"),
        ("vector", "render_mode", "ansi", "aec, parallel, gym, gym_vector"),
        ("vector", "opponents", "rule", "gym, gym_vector"),
        ("gym", "num_envs", 8, "vector, gym_vector"),
        ("gym", "autoreset_mode", "Disabled", "gym_vector"),
    ],
)
def test_options_of_another_api_are_refused(api, option, value, users):
    call = functools.partial(flinchenv.make, "flip_it-v0", api, **{option: value})
    refused(call, f"{option}={value!r}", f"api={api!r}", users)


@pytest.mark.parametrize("api", ["aec", "parallel"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 5.0, "5", True, 10**10])
def test_max_steps(api, value):
    refused(lambda: flinchenv.make("flip_it-v0", api, max_steps=value), f"max_steps={value!r}", "1..1000000000")


@pytest.mark.parametrize("api", ["aec", "parallel"])
@pytest.mark.parametrize("value", ["foo", "rgb_array", "", 0, False, ["ansi"]])
def test_render_mode(api, value):
    refused(lambda: flinchenv.make("flip_it-v0", api, render_mode=value), f"render_mode={value!r}", "'ansi', 'human'")


@pytest.mark.parametrize("api", ["aec", "parallel"])
@pytest.mark.parametrize("value", ["rise", "Raise", "", None, 0, True])
def test_illegal_action(api, value):
    allowed = "'raise', 'forfeit', 'random_legal'"
    refused(lambda: flinchenv.make("flip_it-v0", api, illegal_action=value), f"illegal_action={value!r}", allowed)


def test_parallel_is_refused_for_turn_based_rules():
    for name, options in (("flip_it-sequential-v0", {}), ("flip_it-v0", {"flip_order": "sequential"})):
        refused(
            lambda name=name, o=options: flinchenv.make(name, "parallel", **o), "api='parallel'", "turn based", "'aec'"
        )


BAD_SEEDS = [-1, 2**63, 2**64, 1.5, 1.0, "x", "1", True, math.nan, [1], np.bool_(True), np.float64(2)]


@pytest.mark.parametrize("seed", BAD_SEEDS, ids=repr)
@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_seeds_are_refused_and_nothing_changes(api, seed):
    env = flinchenv.make("flip_it-v0", api)
    refused(lambda: env.reset(seed=seed), f"seed={seed!r}", f"0..{2**63 - 1}")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.state()
    env.reset(seed=4)
    if api == "aec":
        env.step(3)
    else:
        env.step({"player_0": 3, "player_1": 4})
    before = contents(env)
    refused(lambda: env.reset(seed=seed), f"seed={seed!r}", f"0..{2**63 - 1}")
    refused(lambda: env.determinize("player_0", seed), f"seed={seed!r}", f"0..{2**63 - 1}")
    assert contents(env) == before


@pytest.mark.parametrize("seed", [0, 2**31, 2**63 - 1, np.int64(7), np.uint64(2**63 - 1)])
def test_seeds_in_range_are_taken(seed):
    env = flinchenv.make("flip_it-v0")
    env.reset(seed=seed)
    assert int(env.snapshot().games[0].seed) == int(seed)


@pytest.mark.parametrize("agent", ["player_2", "player", 0, None, True, ("player_0",)])
def test_unknown_agents_are_refused(agent):
    env = flinchenv.make("flip_it-v0")
    env.reset(seed=0)
    refused(lambda: env.determinize(agent, 1), f"agent={agent!r}", "player_0, player_1")
    refused(lambda: env.observe(agent), f"agent={agent!r}", "player_0, player_1")


@pytest.mark.parametrize("options", [3, "x", [1], True])
@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_reset_options_of_a_wrong_kind_are_refused(api, options):
    env = flinchenv.make("flip_it-v0", api)
    env.reset(seed=1)
    before = contents(env)
    refused(lambda: env.reset(seed=2, options=options), f"options={options!r}", "None or a dict")
    assert contents(env) == before


@pytest.mark.parametrize(
    "action", [-1, 11, 20, 21, 26, 27, 10**9, 1.0, 1.5, "1", True, None, np.float32(1), [1], math.nan]
)
def test_bad_actions_are_refused_and_nothing_changes(action):
    aec = flinchenv.make("flip_it-v0")
    aec.reset(seed=1)
    before = contents(aec)
    refused(lambda: aec.step(action), "player_0", f"action={action!r}")
    assert contents(aec) == before
    assert aec.agent_selection == "player_0"
    parallel = flinchenv.make("flip_it-v0", "parallel")
    parallel.reset(seed=1)
    refused(lambda: parallel.step({"player_0": 4, "player_1": action}), "player_1", f"action={action!r}")
    assert contents(parallel) == before


@pytest.mark.parametrize(
    "actions", [{}, {"player_0": 1}, {"player_0": 1, "player_1": 1, "player_2": 1}, [1, 1], None, 1]
)
def test_parallel_steps_without_one_action_a_seat_are_refused(actions):
    env = flinchenv.make("flip_it-v0", "parallel")
    env.reset(seed=1)
    before = contents(env)
    refused(lambda: env.step(actions), "actions=", "player_0, player_1")
    assert contents(env) == before


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_snapshots_of_other_games_are_refused_and_nothing_changes(api):
    env = flinchenv.make("flip_it-v0", api)
    env.reset(seed=1)
    before = contents(env)
    for id, options in (
        ("flip_it-capture-v0", {}),
        ("flip_it-v0", {"num_players": 3}),
        ("flip_it-v0", {"max_hands": 9}),
    ):
        other = flinchenv.make(id, **options)
        other.reset(seed=2)
        refused(lambda other=other: env.restore(other.snapshot()), "snapshot=", id)
    refused(lambda: env.restore(None), "snapshot=", "NoneType")
    refused(lambda: env.restore(env.snapshot()._replace(games=env.snapshot().games.repeat(2))), "2 games", "1")
    assert contents(env) == before
