"""The benchmarks measure what they say, refuse what they cannot, go on where they stopped; games keep their pace."""

import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from flinchenv.envs.setup import make_setup
from flinchenv.experiments import speed, train

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
env_speed, peers, search_speed, train_speed = (
    importlib.import_module(name) for name in ("env_speed", "peers", "search_speed", "train_speed")
)

QUICK = {"runs": 2, "seconds": 0.01, "starts": 0, "presets": False}
SMALL = ("flip_it-v0", {"num_players": 3})
FLOORS = {  # bytes of a record; decisions for each card of `speed.draw_cards`: half of what was measured
    "Flinch": (4096, {"core_rollout": 0.6, "vector": 0.27}),
    "Flip It, joint": (512, {"core_rollout": 3.0, "vector": 1.5}),
    "Flash 10": (512, {"core_rollout": 2.4, "vector": 1.2}),
}


@pytest.fixture
def one_column(monkeypatch):
    """The table has the column of a small game alone."""
    monkeypatch.setattr(env_speed, "COLUMNS", {"Flip It": SMALL})
    monkeypatch.setattr(env_speed, "PAIRS", {})
    monkeypatch.setattr(speed, "SIZES", (1, 64))
    monkeypatch.setattr(env_speed, "THREADED", (64,))


def test_things_take_turns_after_one_warm_run_each():
    calls = []

    def measure_of(name, decisions):
        return lambda seconds: calls.append((name, seconds)) or (decisions, 2.0)

    rates = speed.alternate({"a": measure_of("a", 6), "b": measure_of("b", 8)}, 3, 0.5)
    assert rates == {"a": [3.0] * 3, "b": [4.0] * 3}
    assert calls == [("a", 0.05), ("b", 0.05), *[("a", 0.5), ("b", 0.5)] * 3]
    assert speed.spread([3, 1, 2]) == {"median": 2, "low": 1, "high": 3}


def test_single_legal_rows_are_no_decisions_and_every_legal_id_is_drawn():
    mask = np.zeros((300, 3, 5), np.int8)
    mask[:, 0, 2] = 1  # one id
    mask[:, 1, [1, 4]] = 1  # two; the third view has none
    actions = np.full((300, 3), -1)
    assert speed.draw_actions(mask, np.arange(300, dtype=np.uint64), actions) == 300
    assert set(actions[:, 0]) == {2} and set(actions[:, 1]) == {1, 4} and set(actions[:, 2]) == {0}


@pytest.mark.parametrize(("api", "low"), [("parallel", 1), ("gym_vector", 0.1)])
def test_decisions_are_those_of_the_masks_that_were_shown(api, low, monkeypatch):
    setup, counted, empty = make_setup("flip_it-hand-v0", None, {"num_players": 3}), [], []
    draw = speed.draw_actions

    def count(mask, counters, actions):
        counted.append(int((mask.sum(-1) > 1).sum()))
        empty.append(not mask.any(-1).all())
        return draw(mask, counters, actions)

    monkeypatch.setattr(speed, "draw_actions", count)
    measure = speed.parallel_rate(setup) if api == "parallel" else speed.gym_vector_rate(setup, 16)
    decisions, seconds = measure(0.05)
    assert decisions == sum(counted) > 0 and 0.05 <= seconds < 5
    assert decisions / len(counted) > low  # no run of games that are over
    assert api == "gym_vector" or not any(empty)  # whose finished rows take a step to be dealt anew


def test_peak_memory_is_of_the_process_alone():
    large = np.ones(60_000_000)  # 480 MB of this process are not the child's
    program = """
import numpy as np
from flinchenv.experiments.speed import peak_bytes
print(peak_bytes())
np.ones(20_000_000)
print(peak_bytes())
"""
    small, more = map(int, speed.run_child(program).split())
    assert 20e6 < small < 400e6 < large.nbytes <= speed.peak_bytes()
    assert 150e6 < more - small < 170e6


def test_a_failed_process_is_told():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        speed.run_child("1 / 0")


def test_facts_name_machine_versions_and_code():
    facts = speed.facts()
    assert set(facts) == {"machine", "versions", "commit", "kernels"}
    assert {"processor", "cores", "system"} == set(facts["machine"]) and facts["machine"]["processor"]
    assert {"numpy", "numba", "python", "flinchenv"} <= set(facts["versions"])
    assert facts["commit"] is None or len(facts["commit"]) >= 40


def test_env_speed_measures_once_and_goes_on(one_column, tmp_path, monkeypatch):
    out = tmp_path / "deep" / "speed.json"
    args = env_speed.Args(**QUICK, out=out)
    seen = []
    result = env_speed.run(args, lambda done, of, key: seen.append((done, of)))
    assert json.loads(out.read_text()) == result.data
    rows = result.data["rows"]
    assert seen == [(k + 1, len(rows)) for k in range(len(rows))]
    measures = [(row["measure"], row["num_envs"], row["threads"]) for row in rows]
    assert measures == [
        *[("core_rollout", 1024, 1), ("core_rollout", 1024, 2)],
        *[("vector", 1, 1), ("vector", 64, 1), ("vector", 64, 2)],
        *[("gym_vector", 1, 1), ("gym_vector", 64, 1)],
        *[("raw_env", 1, 1), ("env", 1, 1), ("parallel", 1, 1)],
        *[("8192 against 1024", 8192, 1), ("two threads", 8192, 2)],
    ]
    for row in rows:
        assert 0 < row["low"] <= row["median"] <= row["high"] and math.isfinite(row["high"])
        assert (row["players"], row["observation_bytes"], row["mask_width"]) == (3, 172, 27)
    lines = result.text.splitlines()
    assert sum(line.startswith("| `vector`, 64 games") for line in lines) == 2
    assert any(line.startswith("| time a decision, 8,192 games a call against 1,024, flip_it-v0") for line in lines)
    assert "commit" in result.text and "- Flip It" not in result.text

    kept = rows[:3] + rows[4:]
    out.write_text(json.dumps(result.data | {"rows": kept}))
    asked, alternate = [], speed.alternate
    monkeypatch.setattr(speed, "alternate", lambda *given: asked.append(given) or alternate(*given))
    again = env_speed.run(args)
    assert len(asked) == 1 and again.data["rows"][:-1] == kept
    assert env_speed.key_of(again.data["rows"][-1]) == env_speed.key_of(rows[3])
    assert env_speed.run(args).data == again.data and len(asked) == 1
    env_speed.run(env_speed.Args(**QUICK, out=out, fresh=True))
    assert len(asked) == 1 + len(rows)


@pytest.mark.parametrize("content", ["{}", "nonsense", "[]", '{"settings": {}, "rows": []}'])
def test_env_speed_refuses_a_file_of_other_settings(content, one_column, tmp_path):
    out = tmp_path / "speed.json"
    out.write_text(content)
    with pytest.raises(ValueError, match=r"^out='.*speed.json' is not allowed"):
        env_speed.run(env_speed.Args(**QUICK, out=out))
    assert out.read_text() == content


@pytest.mark.parametrize(
    ("module", "wrong", "words"),
    [
        (env_speed, {"runs": 0}, "runs=0"),
        (env_speed, {"seconds": float("nan")}, "seconds=nan"),
        (env_speed, {"starts": -1}, "starts=-1"),
        (env_speed, {"only": "chess"}, "only='chess'"),
        (peers, {"runs": True}, "runs=True"),
        (peers, {"seconds": 0}, "seconds=0"),
        (peers, {"only": "chess"}, "only='chess'"),
        (peers, {"python": "/no/such/python"}, "python='/no/such/python'"),
        (peers, {"rules": {"num_players": 99}}, "num_players=99"),
        (search_speed, {"env": "flip_it-v0", "players": 99}, "num_players=99"),
        (search_speed, {"rollout": ("rule:99",)}, "rollout='rule:99'"),
        (search_speed, {"runs": 0}, "runs=0"),
        (train_speed, {"updates": 0}, "updates=0"),
        (train_speed, {"trainers": ()}, r"trainers=\(\)"),
        (train_speed, {"trainers": ("dqn",)}, "trainers='dqn'"),
        (train_speed, {"settings": ("num_envs=0",), "trainers": ("maskable_ppo",)}, "num_envs=0"),
    ],
)
def test_refusals_name_what_is_refused(module, wrong, words):
    with pytest.raises(ValueError, match=f"^{words} is not allowed"):
        module.run(module.Args(**wrong))


def test_every_id_has_its_rows_and_none_twice():
    keys = [json.dumps(task.key) for task in env_speed.all_tasks(env_speed.Args())]
    assert len(set(keys)) == len(keys)
    ids = {json.loads(key)["id"] for key in keys}
    assert ids == set(speed.flinchenv.list_envs())
    eight = [key for key in map(json.loads, keys) if key["rules"].get("num_players") == 8]
    assert {"core_rollout", "vector", "memory", "against 4 players"} <= {key["measure"] for key in eight}


def rates_of(monkeypatch, rates):
    """What is measured next gives these rates, by side."""

    def alternate(measures, runs, seconds):
        assert list(measures) == list(rates)
        return rates

    monkeypatch.setattr(speed, "alternate", alternate)


@pytest.mark.parametrize(("at_1024", "holds"), [([13.0, 12.0, 20.0], True), ([13.2, 20.0, 13.2], False)])
def test_the_bound_on_larger_batches(at_1024, holds, monkeypatch):
    rates_of(monkeypatch, {1024: at_1024, 8192: [10.0] * 3})
    row = env_speed.size_ratio(env_speed.Args(**QUICK), make_setup(*SMALL[:1], None, SMALL[1]))
    assert row["holds"] is holds and row["high"] == 2.0 and row["median"] == sorted(at_1024)[1] / 10


@pytest.mark.parametrize(
    ("control", "game", "holds"),
    [(2.0, 1.71, True), (2.0, 1.69, False), (1.59, 3.0, None), (1.6, 1.2, False), (2.3, 2.3, None)],
)
def test_the_bound_on_two_threads(control, game, holds, monkeypatch):
    one, two = [9.0, 10.0], [1.0, 10.0]  # the best counts
    rates = {("spin", 1): one, ("spin", 2): [x * control for x in two]}
    rates_of(monkeypatch, rates | {("game", 1): one, ("game", 2): [x * game for x in two]})
    row = env_speed.thread_gain(env_speed.Args(**QUICK), make_setup(*SMALL[:1], None, SMALL[1]))
    assert row["holds"] is holds and row["median"] == pytest.approx(game / control)


def test_numbers_are_told_shortly():
    assert [env_speed.short(x) for x in (15.83e6, 123e6, 940_400.0, 2_345.0, 12.0)] == [
        *["15.8 M", "123 M", "940 k", "2.3 k", "12"]
    ]


STUB = """
class Cards:
    num_actions, num_players, over = 7, 2, False
    def __init__(self): self.left = 5
    def state(self):
        import numpy
        ids = range(1) if self.left == 5 else range(3)  # the first of five moves is no decision
        return {"obs": numpy.zeros(9, numpy.int8), "legal_actions": dict.fromkeys(ids)}
    def reset(self):
        self.left = 5
        return self.state(), 0
    def is_over(self): return self.left == 0
    def step(self, action):
        import time
        time.sleep(0.001)  # far slower than ours
        assert action in self.state()["legal_actions"]
        self.left -= 1
        if BREAKS and self.left == 0: raise SystemExit(3)
        return self.state(), 0
def make(game):
    print("hello from a library")
    return Cards()
"""


@pytest.fixture
def stub_peer(tmp_path, monkeypatch):
    """Puts a tiny rlcard where the worker finds it; called with whether it dies at a game's end."""

    def put(breaks):
        (tmp_path / "rlcard.py").write_text(f"BREAKS = {breaks}\n{STUB}")
        (tmp_path / "rlcard-9.8.dist-info").mkdir(exist_ok=True)
        (tmp_path / "rlcard-9.8.dist-info" / "METADATA").write_text("Name: rlcard\nVersion: 9.8\n")

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(peers, "PEERS", (peers.Peer("rlcard", "uno", 1, "raw_env", 1, 0.001), *peers.PEERS[:1]))
    return put


def run_peers(**options):
    return peers.run(peers.Args(sys.executable, *SMALL, runs=2, seconds=0.1, pin=False, **options))


def test_a_peer_is_measured_in_turn_and_a_missing_one_is_told(stub_peer):
    stub_peer(False)
    result = run_peers()
    row, missing = result.data["rows"]
    assert (row["version"], row["observation_bytes"], row["mask_width"], row["players"]) == ("9.8", 9, 7, 2)
    assert row["decisions_a_game"] == pytest.approx(4, abs=0.5) and row["holds"] is True
    for side in ("ours", "theirs", "ratio"):
        assert 0 < row[side]["low"] <= row[side]["median"] <= row[side]["high"]
    least, most = row["ours"]["low"] / row["theirs"]["high"], row["ours"]["high"] / row["theirs"]["low"]
    assert 1 < least <= row["ratio"]["low"] <= row["ratio"]["high"] <= most
    assert "No module named" in missing["missing"] and "ratio" not in missing
    assert result.data["ours"]["decisions_a_game"] > 4 and result.data["settings"]["pinned"] is False
    lines = result.text.splitlines()
    assert any(line.startswith("|rlcard 9.8|uno|1|9|7|") and line.endswith("|0.001|yes|") for line in lines)
    assert any(line.startswith("|pgx|leduc_holdem|1,024|-|") and "not installed" in line for line in lines)


def test_a_peer_that_dies_is_told(stub_peer):
    stub_peer(True)
    result = run_peers(only="rlcard")
    (row,) = result.data["rows"]
    assert row["failed"] == "the worker ended with code 3" and "missing" not in row
    assert "failed: the worker ended with code 3" in result.text and "not installed" not in result.text


@pytest.mark.parametrize(
    ("env", "rollout"),
    [("flinch-v0", ("random", "rule:1")), ("flip_it-v0", ("random",)), ("flash10-round-v0", ("rule:2",))],
)
def test_search_speed_finishes_games(env, rollout, monkeypatch):
    monkeypatch.setattr(search_speed, "BATCH", 8)
    found = search_speed.run(search_speed.Args(env, rollout=rollout, runs=1, seconds=0.01))
    assert [row["what"] for row in found.data["rows"]] == ["determinisations", *(f"games, {name}" for name in rollout)]
    assert all(row["a_second"]["low"] > 0 for row in found.data["rows"])
    assert f"| games, {rollout[-1]} |" in found.text


def test_train_speed_takes_inner_parts_off_outer_ones(monkeypatch):
    now = iter([0.0, 2.0, 5.0, 10.0, 11.0, 12.0])
    monkeypatch.setattr(train_speed.time, "perf_counter", lambda: next(now))

    class Owner:
        def outer(self):
            return self.inner()

        def inner(self):
            return 7

    owner, parts = Owner(), train_speed.Parts()
    parts.time(owner, "outer", "env")
    parts.time(owner, "inner", "opponents")
    assert owner.outer() == owner.inner() == 7
    assert parts.seconds == {"env": 7.0, "opponents": 4.0}


def test_train_speed_splits_a_step_of_every_trainer(monkeypatch):
    assert set(train_speed.TRAINERS) == set(train.TRAINERS)
    small = ("num_envs=8", "n_steps=8", "n_epochs=1", "opponents={random=1}", 'eval_against=["random"]')
    settings = {"maskable_ppo": (*small, "batch_size=32"), "ppo": (*small, "minibatches=2"), "td": ()}
    monkeypatch.setattr(train_speed.train_td, "CHUNK", 100)
    threads = train_speed.torch.get_num_threads()
    for name in train_speed.TRAINERS:
        result = train_speed.run(train_speed.Args((name,), settings[name], 2))
        rows = result.data["rows"]
        assert [row["threads"] for row in rows] == list(train_speed.TRAINERS[name].threads)
        for row in rows:
            assert row["steps"] > 0 and all(s > 0 for s in row["seconds"].values())
            total, rates = sum(row["seconds"].values()), row["steps_a_second"]
            # one of the two updates may have had to wait for the machine
            assert 0.5 * row["steps"] / rates["high"] < total < 1.9 * row["steps"] / rates["low"]
            assert f"| {name} | {row['env_id']} | {row['threads']} |" in result.text
        if name != "td":
            assert {"env", "opponents", "forward", "update", "other"} == set(rows[0]["seconds"])
    assert train_speed.torch.get_num_threads() == threads


@pytest.mark.slow
@pytest.mark.parametrize("column", FLOORS)
def test_games_keep_their_pace_against_a_fixed_piece_of_work(column):
    id, rules = env_speed.COLUMNS[column]
    setup, (record_bytes, floors) = make_setup(id, None, rules), FLOORS[column]
    sides = {"core_rollout": speed.core_rollout(setup), "vector": speed.vector_rate(setup, 1024)}
    rates = speed.alternate(sides | {"reference": speed.reference_rate(record_bytes)}, 9, 0.3)
    for name, floor in floors.items():
        ratio = env_speed.ratios(rates, name, "reference")
        assert ratio["median"] >= floor, (name, ratio)
