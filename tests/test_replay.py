"""Replays: the same list from every API, saved, loaded, refused when damaged, redacted for a seat."""

import json

import numpy as np
import pytest

import flinchenv
from flinchenv.core.replay import Recorder, Replay, ReplayError, load
from games import FIRST_CASES, OPTION_CASES, over, playable, simultaneous

CASES = playable((id, {"num_players": n}) for id in flinchenv.list_envs() for n in (2, 4)) + FIRST_CASES + OPTION_CASES
TOGETHER = [case for case in FIRST_CASES + OPTION_CASES if simultaneous(*case)]


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


@over(CASES)
def test_a_game_is_recorded_saved_loaded_and_run(id, options, tmp_path):
    replay, info = play_aec(id, 2**40 + 3, **options)
    path = tmp_path / "game.json"
    replay.save(path)
    assert load(path) == replay
    assert [p.name for p in tmp_path.iterdir()] == ["game.json"]
    recorder = load(path).run(game_of(replay))
    assert recorder.over
    for name in ("scores", "winners", "end_reason", "length", "returns"):
        assert recorder.outcome()[name] == info[name] == replay.final[name]


CONTINUE = {"no_guess_cards": "continue", "guess_max": 3, "max_hands": 400}


def through_all(id, rules, seed):
    """(replays written by aec, parallel and vector of the same game, seats in steps that were not written)."""
    env = flinchenv.make(id, "parallel", **rules)
    vector = flinchenv.make(id, "vector", num_envs=1, **rules)
    aec = flinchenv.make(id, **rules)
    seen, _ = env.reset(seed=seed)
    vector.reset(seed=seed)
    aec.reset(seed=seed)
    from_parallel, from_vector, from_aec = (recorder_of(env.setup, seed) for _ in range(3))
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
    return [recorder.replay() for recorder in (from_aec, from_parallel, from_vector)], skipped


@pytest.mark.parametrize("rules", [{}, {"actions": "joint"}, {"num_players": 3}, CONTINUE])
def test_parallel_and_vector_write_the_list_that_aec_writes(rules):
    rules = {"scoring": "capture", "goal": ("score", 1000), "max_hands": 40, **rules}
    (from_aec, from_parallel, from_vector), skipped = through_all("flip_it-capture-v0", rules, 9)
    assert from_parallel == from_vector == from_aec
    assert (skipped > 0) == ("no_guess_cards" in rules)
    from_vector.run(game_of(from_vector))


@over(TOGETHER)
def test_every_api_writes_the_same_list_and_it_runs(id, options):
    for seed in (3, 4):
        (from_aec, from_parallel, from_vector), skipped = through_all(id, options, seed)
        assert from_parallel == from_vector == from_aec
        recorder = from_vector.run(game_of(from_vector))
        assert recorder.over and recorder.outcome() == from_vector.final
        assert len(from_vector.actions) == int(recorder.record.steps) * options["num_players"] - skipped


def test_seats_that_are_not_asked_are_not_written():
    replay, _ = play_aec("flash10-v0", 0, t_flip=(1, 3), false_stop="masked", numbers=30, row_len=3, max_rounds=1)
    assert [seat for seat, _ in replay.actions[:4]] == [0, 0, 0, 1], "player_1 still turns its row over"
    env = flinchenv.make("flash10-v0", num_players=3, false_stop="masked", row_len=3, numbers=10, thunders=0)
    env.reset(seed=0)
    recorder = recorder_of(env.setup, 0)
    for seat in range(3):  # one card is left and all three draw: one seat gets it and must lay it
        recorder.add(seat, 10)
    (holder,) = recorder.order
    assert recorder.mask((holder + 1) % 3).nonzero()[0].tolist() == [12]
    with pytest.raises(ValueError, match=f"seat {holder} is asked"):
        recorder.add((holder + 1) % 3, 12)
    sent = [12, 12, 12]
    sent[holder] = 0
    recorder.add_round(sent)
    assert recorder.actions == [[0, 10], [1, 10], [2, 10], [holder, 0]]


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


def test_a_forfeit_of_flash10_is_recorded_with_the_illegal_id():
    env = flinchenv.make("flash10-v0", illegal_action="forfeit", num_players=3)
    env.reset(seed=2)
    recorder = recorder_of(env.setup, 2, forfeit=True)
    for seat, action in ((0, 10), (1, 3), (2, 13)):  # no card in hand; no id of the game
        env.step(action)
        recorder.add(seat, action)
    replay = recorder.replay()
    assert replay.final["end_reason"] == "forfeit" and replay.final["winners"] == [0]
    assert replay.final["returns"] == env.infos["player_0"]["returns"] == [2, -1, -1]
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


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("t_draw", [1, 2, 3, 4, 5, 6], "t_draw"),
        ("t_draw", 0, "t_draw"),
        ("t_place", [1, 2], "num_players=3"),
        ("p_misread", 0.75, "p_misread"),
        ("priority", "first", "priority"),
    ],
)
def test_a_wrong_rule_of_flash10_is_refused(name, value, words, tmp_path):
    replay, _ = play_aec("flash10-round-v0", 6, num_players=3, t_place=(2, 1, 3))
    assert replay.rules["t_place"] == [2, 1, 3]
    path = tmp_path / "game.json"
    path.write_text(json.dumps(replay._asdict() | {"rules": replay.rules | {name: value}}))
    with pytest.raises(ReplayError, match=words):
        load(path).run(game_of(replay))


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


def test_in_flash10_a_seat_sees_neither_the_others_running_choices_nor_their_cards():
    rules = {"num_players": 3, "false_stop": "masked", "obs_seen": True}
    both_drew = [(0, 10), (1, 10), (2, 12)]
    for known, hidden in (([(0, 10), (1, None)], (10, 12)), ([*both_drew, (0, None)], range(10))):
        replays = list(hidden_variants("flash10-v0", rules, known, hidden))
        frames = [{json.dumps(r.for_seat(seat, game_of(r))) for r in replays} for seat in range(3)]
        chooser = known[-1][0]
        assert [len(f) for f in frames] == [len(hidden) if seat == chooser else 1 for seat in range(3)]
    seen = [replays[0].for_seat(seat, game_of(replays[0]))[-1]["observation"] for seat in range(3)]
    record = replays[0].run(game_of(replays[0])).record
    assert [o["held"] for o in seen] == [*record.held[:2].tolist(), 0]
    for seat in range(3):
        others = [int(card) for p, card in enumerate(record.held[:3]) if p != seat and card >= 0]
        assert others and not set(others) & set(seen[seat]["seen"])
        assert seen[seat]["holding"] == [int(record.held[(seat + k) % 3] >= 0) for k in range(3)]


@over(TOGETHER)
def test_the_frames_of_a_seat_hold_its_own_choices_and_rewards(id, options):
    replay, _ = play_aec(id, 8, **options)
    replay = replay._replace(actions=replay.actions[:60], final=None)
    steps = int(replay.run(game_of(replay)).record.steps)
    for seat in range(options["num_players"]):
        frames = replay.for_seat(seat, game_of(replay))
        mine = [action for who, action in replay.actions if who == seat]
        assert [f["action"] for f in frames if f["action"] is not None] == mine
        assert len(frames) == steps + 1
        assert all(f["asked"] == (f["action"] is not None) for f in frames[:-1])
