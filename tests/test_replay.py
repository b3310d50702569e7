"""Replays: the same list from every API, saved, loaded, refused when damaged, redacted for a seat."""

import json

import numpy as np
import pytest

import flinchenv
from flinchenv.core.replay import Recorder, Replay, ReplayError, load

IDS = flinchenv.list_envs()
PHASED = [id for id in IDS if flinchenv.spec(id).simultaneous]


def recorder_of(setup, seed, **options):
    return Recorder(setup.id, setup.game, setup.rules, seed, **options)


def play_aec(id, seed, luck=0, **rules):
    """(replay, final info) of one random game."""
    env = flinchenv.make(id, **rules)
    env.reset(seed=seed)
    recorder, rng = recorder_of(env.setup, seed), np.random.default_rng(luck)
    while True:
        observation, _, terminated, truncated, info = env.last()
        if terminated or truncated:
            return recorder.replay(), info
        action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
        recorder.add(env.possible_agents.index(env.agent_selection), action)
        env.step(action)


def game_of(replay):
    return flinchenv.spec(replay.id).game_spec


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("players", [2, 4])
def test_a_game_is_recorded_saved_loaded_and_run(id, players, tmp_path):
    replay, info = play_aec(id, 2**40 + 3, num_players=players)
    path = tmp_path / "game.json"
    replay.save(path)
    assert load(path) == replay
    assert [p.name for p in tmp_path.iterdir()] == ["game.json"]
    recorder = load(path).run(game_of(replay))
    assert recorder.over
    for name in ("scores", "winners", "end_reason", "length", "returns"):
        assert recorder.outcome()[name] == info[name] == replay.final[name]


CONTINUE = {"no_guess_cards": "continue", "guess_max": 3, "max_hands": 400}


@pytest.mark.parametrize("rules", [{}, {"actions": "joint"}, {"num_players": 3}, CONTINUE])
def test_parallel_and_vector_write_the_list_that_aec_writes(rules):
    rules = {"scoring": "capture", "goal": ("score", 1000), "max_hands": 40, **rules}
    env = flinchenv.make("flip_it-capture-v0", "parallel", **rules)
    vector = flinchenv.make("flip_it-capture-v0", "vector", num_envs=1, **rules)
    aec = flinchenv.make("flip_it-capture-v0", **rules)
    seen, _ = env.reset(seed=9)
    vector.reset(seed=9)
    aec.reset(seed=9)
    from_parallel, from_vector, from_aec = (recorder_of(env.setup, 9) for _ in range(3))
    rng = np.random.default_rng(1)
    skipped = 0
    while env.agents:
        actions = {a: int(rng.choice(np.flatnonzero(seen[a]["action_mask"]))) for a in env.agents}
        by_seat = list(actions.values())
        while not from_aec.over and from_aec.seat is not None:
            agent = aec.agent_selection
            action = actions[agent]
            aec.step(action)
            if from_aec.add(aec.possible_agents.index(agent), action):
                break
        skipped += len(by_seat) - (len(from_aec.actions) - len(from_parallel.actions))
        seen, *_ = env.step(actions)
        from_parallel.add_round(by_seat)
        step = vector.step(np.array([by_seat]))
        from_vector.add_round(by_seat)
    assert step.terminated[0]
    assert from_parallel.replay() == from_vector.replay() == from_aec.replay()
    assert (skipped > 0) == ("no_guess_cards" in rules)
    replay = from_vector.replay()
    replay.run(game_of(replay))


def test_vector_rows_of_a_turn_based_game_can_be_recorded():
    env = flinchenv.make("flip_it-sequential-v0", "vector", num_envs=1, goal=("hands", 3))
    step = env.reset(seed=4)
    recorder, rng = recorder_of(env.setup, 4), np.random.default_rng(0)
    while not recorder.over:
        action = int(rng.choice(np.flatnonzero(step.action_mask[0])))
        assert recorder.seat == step.current_player[0]
        recorder.add_round(action)
        step = env.step(np.array([action]))
    assert step.terminated[0]
    replay = recorder.replay()
    replay.run(game_of(replay))
    assert len(replay.actions) == 12


def test_an_unfinished_game_is_a_replay_without_a_final():
    whole_game, _ = play_aec("flip_it-v0", 1)
    part = whole_game._replace(actions=whole_game.actions[:7], final=None)
    recorder = part.run(game_of(part))
    assert recorder.outcome() is None and recorder.seat == 1


def test_a_forfeit_is_recorded_with_the_illegal_id():
    env = flinchenv.make("flip_it-v0", illegal_action="forfeit")
    env.reset(seed=2)
    recorder = recorder_of(env.setup, 2, forfeit=True)
    for seat, action in ((0, 3), (1, 26)):
        env.step(action)
        recorder.add(seat, action)
    replay = recorder.replay()
    assert replay.final["end_reason"] == "forfeit" and replay.final["winners"] == [0]
    assert replay.final["returns"] == env.infos["player_0"]["returns"]
    replay.run(game_of(replay))


def test_a_recorder_refuses_what_the_game_would_refuse():
    setup = flinchenv.make("flip_it-v0").setup
    recorder = recorder_of(setup, 0)
    for seat, action, words in ((1, 0, "seat 0 is asked"), (0, 26, "not legal now"), (0, 27, "not in 0..26")):
        with pytest.raises(ValueError, match=words):
            recorder.add(seat, action)
    with pytest.raises(ValueError, match="takes 2"):
        recorder.add_round([1])
    assert recorder.actions == []
    replay, _ = play_aec("flip_it-hand-v0", 0)
    recorder = replay.run(game_of(replay))
    with pytest.raises(ValueError, match="over"):
        recorder.add(0, 0)


def test_every_damaged_byte_is_refused_with_file_and_reason(tmp_path):
    replay, _ = play_aec("flip_it-tiny-v0", 6)
    path = tmp_path / "game.json"
    replay.save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    changed = [data[: len(data) // 2], b"", data[:-30], b"\xff" + data, data + b"x", b"[" * 10_000, b"null", b"[]"]
    for place in rng.integers(0, len(data) - 1, 300):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        changed.append(bytes(damaged))
    for text in changed:
        path.write_bytes(text)
        with pytest.raises(ReplayError, match=f"^{path}: .{{10}}"):
            load(path)


BAD = {
    "an unknown key": ({"extra": 1}, "extra"),
    "another version": ({"version": 7}, "version=7"),
    "a negative seed": ({"seed": -1}, "seed"),
    "a seed that is no int": ({"seed": 1.5}, "seed"),
    "a huge episode": ({"episode": 2**63}, "episode"),
    "no list": ({"actions": {}}, "actions"),
    "three in a pair": ({"actions": [[0, 1, 2]]}, r"actions\[0\]"),
    "true as a seat": ({"actions": [[True, 1]]}, r"actions\[0\]"),
    "a seat out of turn": ({"actions": [[1, 0]], "final": None}, r"actions\[0\]"),
    "a seat that is not there": ({"actions": [[7, 0]], "final": None}, r"actions\[0\]"),
    "an illegal action": ({"actions": [[0, 26]], "final": None}, r"actions\[0\].*not legal"),
    "a huge action": ({"actions": [[0, 10**30]], "final": None}, r"actions\[0\]"),
    "a rule's value": ({"rules": {"num_players": 9}}, "num_players"),
    "rules left out": ({"rules": {}}, "missing"),
    "an unknown rule": ({"rules": {"players": 2}}, "players"),
    "no rules": ({"rules": []}, "rules"),
    "a final of other keys": ({"final": {"scores": [1, 2]}}, "final"),
    "no text": ({"id": 3}, "id"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_replay_is_refused_even_without_a_checksum(case, tmp_path):
    replay, _ = play_aec("flip_it-tiny-v0", 6)
    changes, words = BAD[case]
    path = tmp_path / "game.json"
    path.write_text(json.dumps(replay._asdict() | changes))
    with pytest.raises(ReplayError, match=words):
        load(path).run(game_of(replay))


def test_another_outcome_is_refused():
    replay, _ = play_aec("flip_it-v0", 6)
    for change in ({"scores": [10, 0]}, {"winners": []}, {"length": 1}, {"returns": [0, "x"]}, {"end_reason": "goal "}):
        with pytest.raises(ReplayError, match="final: " + next(iter(change))):
            replay._replace(final=replay.final | change).run(game_of(replay))
    with pytest.raises(ReplayError, match="not over"):
        replay._replace(actions=replay.actions[:-1]).run(game_of(replay))
    with pytest.raises(ReplayError, match="over"):
        replay._replace(actions=[*replay.actions, [0, 0]]).run(game_of(replay))


def test_the_six_keys_of_the_format_are_enough(tmp_path):
    replay, _ = play_aec("flip_it-v0", 6)
    path = tmp_path / "game.json"
    keys = ("id", "rules", "seed", "episode", "version", "actions")
    path.write_text(json.dumps({name: getattr(replay, name) for name in keys}))
    assert load(path).run(game_of(replay)).outcome() == replay.final


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ReplayError, match="No such file"):
        load(tmp_path / "no.json")
    with pytest.raises(ReplayError, match="directory"):
        load(tmp_path)


# -- what a seat could have seen ---------------------------------------------------------------------------------------


def hidden_variants(id, rules, known, hidden):
    """Replays that differ only in the others' choices that are still hidden at their end."""
    setup = flinchenv.make(id, **rules).setup
    for choices in hidden:
        recorder = recorder_of(setup, 11)
        for seat, action in known:
            recorder.add(seat, choices if action is None else action)
        yield recorder.replay()


@pytest.mark.parametrize(
    ("id", "rules", "known"),
    [
        ("flip_it-v0", {}, [(0, 3), (1, None)]),  # the other's guess, set aside
        ("flip_it-v0", {}, [(0, 3), (1, None), (0, 22)]),
        ("flip_it-v0", {"num_players": 3}, [(0, 3), (1, None), (2, 4)]),
        ("flip_it-v0", {}, [(0, 3), (1, 4), (0, 22), (1, 23), (0, 5), (1, None)]),
        ("flip_it-sequential-v0", {}, [(0, 3), (1, None)]),
        ("flip_it-sequential-v0", {}, [(0, 3), (1, None), (0, 22)]),
    ],
)
def test_what_a_seat_sees_does_not_depend_on_what_is_hidden_from_it(id, rules, known):
    seen, theirs = set(), set()
    for replay in hidden_variants(id, rules, known, range(6, 10)):
        seen.add(json.dumps(replay.for_seat(0, game_of(replay))).encode())
        theirs.add(json.dumps(replay.for_seat(1, game_of(replay))).encode())
    assert len(seen) == 1
    assert len(theirs) == 4


def test_revealed_choices_are_seen():
    replay, _ = play_aec("flip_it-v0", 3)
    frames = replay.for_seat(0, game_of(replay))
    assert [f["action"] for f in frames[:-1]] == [action for seat, action in replay.actions if seat == 0]
    assert sum(f["reward"] for f in frames) == replay.final["returns"][0]
    after_one_hand = frames[2]["observation"]
    assert after_one_hand["past_guesses"] == [[replay.actions[0][1], replay.actions[1][1]]]
    with pytest.raises(ValueError, match="seat"):
        replay.for_seat(2, game_of(replay))
    assert isinstance(replay, Replay)
