"""The `flinchenv` command: every command, its JSON, exit codes, one line for what is refused, never a traceback."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import flinchenv
from flinchenv.cli import Progress, main
from flinchenv.core.replay import load

IDS = flinchenv.list_envs()
COMMAND = [sys.executable, "-m", "flinchenv.cli"]


def call(capsys, *words):
    """(exit code, stdout, stderr) of one command in this process."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    told = capsys.readouterr()
    return code, told.out, told.err


def answer(capsys, *words):
    """The JSON object on the last line."""
    code, out, err = call(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out.splitlines()[-1])


def spawn(*words, **environment):
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


def test_list(capsys):
    assert answer(capsys, "list") == {"envs": IDS}
    assert call(capsys, "list")[1].split() == IDS


def test_version(capsys):
    assert call(capsys, "--version")[:2] == (0, f"flinchenv {flinchenv.__version__}\n")


@pytest.mark.parametrize("id", IDS)
def test_rules(id, capsys):
    data = answer(capsys, "rules", id)
    spec = flinchenv.spec(id)
    assert data["id"] == id and data["version"] == spec.version
    assert set(data["rules"]) == set(data["allowed"]) == set(spec.rules.__dataclass_fields__)
    assert isinstance(data["facts"], dict)
    text = call(capsys, "rules", id)[1]
    assert spec.game_spec.rules_text.strip() in text
    for name in data["rules"]:
        assert f"  {name} " in text


def test_rules_with_other_settings(capsys):
    words = ("--set", "goal=hands:3", "--set", "play_values=0,2", "--players", 3, "--set", "capture_spots=true")
    rules = answer(capsys, "rules", "flip_it-v0", *words)["rules"]
    assert (rules["goal"], rules["play_values"], rules["num_players"]) == (["hands", 3], [0, 2], 3)
    assert rules["capture_spots"] is True


def test_rules_of_flash10_with_other_settings(capsys):
    words = ("--set", "t_place=2,3,4", "--set", "t_flip=7", "--set", "p_misread=0.25", "--players", 3)
    data = answer(capsys, "rules", "flash10-race-v0", *words, "--set", "speed_noise=false")
    rules = data["rules"]
    assert (rules["t_place"], rules["t_flip"], rules["p_misread"]) == ([2, 3, 4], 7, 0.25)
    assert (rules["num_players"], rules["speed_noise"], rules["t_draw"]) == (3, False, 3)
    assert data["facts"] == {"middle": 90}


def test_layout(capsys):
    data = answer(capsys, "layout", "flip_it-v0", "--set", "actions=joint")
    assert data["num_actions"] == 126
    assert data["observation"][0]["start"] == 0 and data["state"]
    assert call(capsys, "layout", "flip_it-v0")[1] == flinchenv.layout("flip_it-v0") + "\n"


@pytest.mark.parametrize("id", IDS)
def test_demo_and_its_replay(id, capsys, tmp_path):
    path = tmp_path / "game.json"
    code, shown, _ = call(capsys, "demo", id, "--seed", 8, "--save", path)
    assert code == 0 and "won" in shown.splitlines()[-1]
    replay = load(path)
    assert replay.seed == 8 and replay.final["scores"]
    steps = [line for line in shown.splitlines() if line.startswith("step ")]
    assert [int(line.split()[1]) for line in steps] == list(range(1, len(steps) + 1))
    code, again, _ = call(capsys, "replay", path)
    assert code == 0 and again.startswith(f"{id}, seed 8, episode 0: {len(replay.actions)} actions\n")
    assert again.splitlines()[1:-1] == shown.splitlines()[1:-1]  # move by move as it was shown
    data = answer(capsys, "replay", path)
    assert data["final"] == replay.final and data["verified"] is True
    assert len(answer(capsys, "replay", path, "--seat", 1)["frames"]) == len(steps) + 1


@pytest.mark.parametrize("players", [1, 5])
def test_demo_and_its_replay_with_one_player_and_with_five(players, capsys, tmp_path):
    path = tmp_path / "game.json"
    words = ("--players", players, "--set", "t_place=2,1,3,1,2", "--set", "row_len=5", "--set", "pace=auto_draw")
    data = answer(capsys, "demo", "flash10-race-v0", "random", *words, "--save", path)
    assert data["agents"] == ["random"] * players and len(data["scores"]) == players
    seen = answer(capsys, "replay", path, "--seat", players - 1)
    assert seen["final"] == load(path).final and seen["verified"] is True
    code, out, err = call(capsys, "replay", path, "--seat", players)
    assert (code, out) == (2, "") and f"seat={players}" in err


def test_demo_takes_agents_and_options_in_any_order(capsys):
    words = ("demo", "--players", 3, "flip_it-v0", "random", "--seed", 5, "random", "random")
    data = answer(capsys, *words)
    assert data["agents"] == ["random"] * 3 and len(data["scores"]) == 3
    assert answer(capsys, *words) == data


def test_a_seat_is_not_shown_what_it_could_not_see(capsys, tmp_path):
    path = tmp_path / "game.json"
    call(capsys, "demo", "flip_it-v0", "--save", path)
    shown = call(capsys, "replay", path, "--seat", 1)[1]
    assert "player_0: guess" not in shown and "player_1: guess" in shown
    assert all(line.endswith("?") for line in shown.splitlines() if line.startswith("player_0") and "set aside" in line)


def test_a_seat_of_flash10_is_not_shown_what_it_could_not_see(capsys, tmp_path):
    path = tmp_path / "game.json"
    call(capsys, "demo", "flash10-race-v0", "--set", "false_stop=masked", "--set", "max_rounds=1", "--save", path)
    every, shown = (call(capsys, "replay", path, *words)[1] for words in ((), ("--seat", 1)))
    assert "player_0: draw" in every and "player_0: draw" not in shown and "player_1: draw" in shown
    for p, hidden in ((0, True), (1, False)):
        lines = [line for line in shown.splitlines() if line.startswith(f"player_{p}  points") and "holds" in line]
        assert lines and all(("holds ?" in line) == hidden for line in lines)
        busy = [line for line in shown.splitlines() if line.startswith(f"player_{p}  points") and "busy" in line]
        assert busy and all(("busy for" in line) == (not hidden) for line in busy)


SPEED = {"id", "players", "core_rollout", "vector", "aec_raw_us", "aec_env_us", "warm_start_s", "cold_start_s"}


@pytest.mark.parametrize(
    ("id", "players"), [("flip_it-v0", 3), ("flip_it-sequential-v0", 3), ("flash10-v0", 1), ("flash10-race-v0", 3)]
)
def test_speed(id, players, capsys):
    data = answer(capsys, "speed", id, "--players", players, "--runs", 2, "--seconds", 0.01, "--starts", 0)
    assert set(data) == SPEED | {"actions", "threads", "load"}
    assert data["players"] == players and set(data["vector"]) == {"1", "64", "1024", "8192"}
    for value in (data["core_rollout"], data["aec_raw_us"], data["aec_env_us"], *data["vector"].values()):
        assert isinstance(value, float) and value > 0
    assert data["core_rollout"] > data["vector"]["1"]


@pytest.mark.slow
def test_speed_measures_both_starts(capsys):
    data = answer(capsys, "speed", "--runs", 1, "--seconds", 0.01, "--starts", 1)
    assert data["id"] == IDS[0]
    assert 0 < data["warm_start_s"] < data["cold_start_s"]


@pytest.mark.parametrize("id", ["flip_it-v0", "flash10-v0", "flash10-race-v0"])
def test_tournament(id, capsys):
    data = answer(capsys, "tournament", id, "--games", 20, "random", "rule")
    assert data["env"] == id and data["games"] == 20
    keys = {"name", "games", "wins", "draws", "losses", "win_rate", "ci95", "mean_return", "rating"}
    assert all(keys <= set(row) for row in data["agents"]) and len(data["pairs"]) == 1
    assert data["agents"][0]["name"] == "rule"
    assert "rating" in call(capsys, "tournament", id, "--games", 4, "random", "rule")[1]


@pytest.mark.parametrize("id", ["flip_it-v0", "flash10-v0", "flash10-devir-v0"])
def test_evaluate(id, capsys):
    data = answer(capsys, "evaluate", "rule", "--env", id, "--games", 20, "--players", 3)
    assert data["agent"] == "rule" and data["env"] == id and data["players"] == 3
    assert data["opponents"][0]["name"] == "random" and data["place"] in range(1, len(data["opponents"]) + 2)
    text = call(capsys, "evaluate", "rule", "--env", id, "--games", 20)[1]
    assert text.splitlines()[-1].startswith(f"rule in {id} beats random: mean return +")


def test_train_refuses_a_config_that_is_not_there():
    pytest.importorskip("sb3_contrib")
    code, out, err = spawn("train", "no_such_config")
    assert (code, out) == (2, "") and err.startswith("flinchenv: config='no_such_config'") and err.count("\n") == 1


@pytest.mark.slow
def test_train_and_evaluate_the_checkpoint(tmp_path):
    pytest.importorskip("sb3_contrib")
    run = tmp_path / "run"
    small = ("total_steps=64", "num_envs=8", "n_steps=8", "batch_size=64", "eval_games=2", "hidden=[8]", f"run={run}")
    words = [word for setting in small for word in ("--set", setting)]
    code, out, err = spawn("train", "flip_it-tiny-v0", *words, "--json")
    assert code == 0, err
    data = json.loads(out.splitlines()[-1])
    assert set(data) == {"run", "checkpoint", "steps", "seconds", "curve", "env"}
    assert data["steps"] >= 64 and pathlib.Path(data["curve"]).stat().st_size > 0
    code, out, _ = spawn("evaluate", data["checkpoint"], "--env", "flip_it-tiny-v0", "--games", "20", "--json")
    assert code == 0 and json.loads(out)["agent"] == data["checkpoint"]
    code, out, err = spawn("train", "flip_it-tiny-v0", *words)
    assert (code, out) == (2, "") and err.startswith("flinchenv: run=") and err.count("\n") == 1


REFUSED = [
    ((), "COMMAND"),
    (("nope",), "nope"),
    (("list", "more"), "more"),
    (("rules",), "ID"),
    (("rules", "flip_it-v9"), "flip_it-v9"),
    (("rules", "flip_it-v0", "--players", "1"), "num_players=1"),
    (("rules", "flip_it-v0", "--players", "x"), "--players"),
    (("rules", "flip_it-v0", "--set", "num_players"), "FIELD=VALUE"),
    (("rules", "flip_it-v0", "--set", "stok_size=3"), "stok_size"),
    (("rules", "flip_it-v0", "--set", "max_hands=many"), "max_hands='many'"),
    (("rules", "flip_it-v0", "--set", "max_hands=0"), "max_hands=0"),
    (("rules", "flip_it-v0", "--set", "goal=score:1000"), "goal="),
    (("rules", "flip_it-v0", "--players", "2", "--set", "num_players=3"), "num_players"),
    (("layout", "flip_it-v0", "--set", "actions=both"), "actions='both'"),
    (("demo", "flip_it-v0", "no_such"), "agent='no_such'"),
    (("demo", "flip_it-v0", "random", "random", "random"), "agents="),
    (("demo", "flip_it-v0", "--seed", "-1"), "seed=-1"),
    (("demo", "flip_it-v0", "--seed", str(2**64)), "seed="),
    (("demo", "flip_it-v0", "--save", "/nowhere/at/all.json"), "--save='/nowhere/at/all.json'"),
    (("replay", "/nowhere.json"), "/nowhere.json: No such file"),
    (("speed", "flip_it-v0", "--runs", "0"), "runs=0"),
    (("speed", "flip_it-v0", "--seconds", "nan"), "seconds=nan"),
    (("speed", "flip_it-v0", "--starts", "-1"), "starts=-1"),
    (("tournament", "flip_it-v0"), "AGENT"),
    (("tournament", "flip_it-v0", "random"), "agents="),
    (("tournament", "flip_it-v0", "random", "random"), "agents='random'"),
    (("tournament", "flip_it-v0", "random", "rule", "--games", "0"), "games=0"),
    (("tournament", "flip_it-v0", "random", "rule", "--seed", "1"), "seed=1"),
    (("tournament", "flip_it-v0", "random", "./no/such/agent"), "no/such/agent"),
    (("rules", "flash10-v9"), "flash10-"),
    (("rules", "flash10-v0", "--players", "6"), "num_players=6"),
    (("rules", "flash10-v0", "--set", "t_place=2,x"), "t_place='2,x'"),
    (("rules", "flash10-v0", "--set", "t_place=2,3", "--players", "3"), "t_place=(2, 3)"),
    (("rules", "flash10-v0", "--set", "p_misread=nan"), "p_misread=nan"),
    (("layout", "flash10-mountain-v0", "--set", "row_len=8"), "row_len=8"),
    (("demo", "flash10-devir-v0", "--players", "5", "--set", "numbers=20"), "numbers + thunders"),
    (("demo", "flash10-v0", "random", "--players", "1", "--set", "reward=win"), "reward='win'"),
    (("tournament", "flash10-tiny-v0", "random", "rule", "--players", "1"), "num_players=1"),
    (("evaluate", "random", "--env", "flash10-v0", "--players", "1"), "num_players=1"),
    (("evaluate", "random"), "--env"),
    (("evaluate", "nobody", "--env", "flip_it-v0"), "agent='nobody'"),
    (("evaluate", "random", "--env", "chess"), "chess"),
]


@pytest.mark.parametrize(
    ("words", "named"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_what_is_wrong_is_one_line_and_exit_code_2(words, named, capsys):
    code, out, err = call(capsys, *words)
    assert code == 2 and out == ""
    assert err.count("\n") == 1 and err.startswith("flinchenv") and named in err


def test_a_damaged_replay_is_refused_by_name(capsys, tmp_path):
    path = tmp_path / "game.json"
    call(capsys, "demo", "flip_it-tiny-v0", "--save", path)
    content = json.loads(path.read_text())
    for change, named in (({"id": "flip_it-v7"}, "flip_it-v7"), ({"version": 3}, "version=3"), ({"seed": 1}, "sha256")):
        damaged = content | change
        if "seed" not in change:
            del damaged["sha256"]
        path.write_text(json.dumps(damaged))
        code, _, err = call(capsys, "replay", path)
        assert code == 2 and err.startswith(f"flinchenv: {path}: ") and named in err and err.count("\n") == 1


def test_a_process_says_the_same_without_a_traceback():
    code, out, err = spawn("tournament", "flip_it-v0", "random", "random")
    assert (code, out, err.count("\n")) == (2, "", 1) and "Traceback" not in err
    code, out, err = spawn("list", "--json")
    assert (code, json.loads(out), err) == (0, {"envs": IDS}, "")


def test_the_installed_command_is_there():
    command = pathlib.Path(sys.executable).with_name("flinchenv")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"flinchenv {flinchenv.__version__}\n"


def test_missing_extras_are_named():
    lacking = (
        "import sys; sys.modules.update(dict.fromkeys(('torch', 'matplotlib', 'safetensors')))\n"
        "from flinchenv.cli import main\n"
        "assert main(['evaluate', 'random', '--env', 'flip_it-v0', '--games', '4', '--json']) == 0\n"
        "sys.exit(main(['train']))"
    )
    done = subprocess.run([sys.executable, "-c", lacking], capture_output=True, text=True)
    assert done.returncode == 2 and "pip install 'flinchenv[train]'" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("flinchenv: ") and "Traceback" not in done.stderr


def test_ctrl_c_ends_with_130():
    words = ["tournament", "flip_it-v0", "random", "rule", "--games", "10000000"]
    running = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr.readline().endswith("of 10,000,000 games\n")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, "", "flinchenv: interrupted\n")


def test_a_reader_that_goes_is_no_error():
    command = " ".join(COMMAND) + " demo flip_it-v0 | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("\n") == 1


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(capsys, monkeypatch):
    clock = iter(range(100, 200, 6))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    lines = Progress("games")
    for done in range(1, 6):
        lines(done, 5)
    assert capsys.readouterr().err == "1 of 5 games\n3 of 5 games\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Progress("games")
    bar(2, 4)
    bar(4, 4)
    shown = capsys.readouterr().err
    assert shown.startswith("\r[###############...............] 2 of 4 games\r[####") and shown.endswith(
        "4 of 4 games\n"
    )


def test_the_command_imports_no_training_library():
    code = "import sys, flinchenv.cli; print([m for m in ('torch', 'matplotlib', 'tqdm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
