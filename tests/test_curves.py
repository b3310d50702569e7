"""Training curves over seeds: benchmarks/curves.py."""

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from flinchenv.core.params import RulesError
from flinchenv.experiments import training

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "curves.py"
SHORT = ("total_steps=512", "num_envs=8", "n_steps=16", "eval_games=40", "eval_every=256", "progress=false")


@pytest.fixture(scope="module")
def curves():
    spec = importlib.util.spec_from_file_location("curves", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_seeds_differ_and_a_second_call_trains_nothing_anew(curves, tmp_path, monkeypatch):
    data = curves.run("flip_it-hand-ppo", 2, SHORT, tmp_path)
    first, second = (row["curve"] for row in data["rows"])
    assert first != second
    assert [row["seed"] for row in data["rows"]] == [0, 1]
    assert all(row["steps"] >= 512 for row in data["rows"])
    with monkeypatch.context() as slow:
        slow.setattr(training, "time", SimpleNamespace(monotonic=itertools.count(0, 100).__next__))
        again = curves.run("flip_it-hand-ppo", 2, SHORT, tmp_path)
    assert again["rows"] == data["rows"]  # not a minute more
    longer = curves.run("flip_it-hand-ppo", 1, (*SHORT, "total_steps=1024"), tmp_path)
    points = len(data["rows"][0]["curve"])
    assert longer["rows"][0]["curve"][:points] == data["rows"][0]["curve"]
    assert len(longer["rows"][0]["curve"]) > points


def test_the_page_has_a_line_a_seed_and_the_files_are_written(curves, tmp_path, monkeypatch, capsys):
    arguments = ["curves.py", "flip_it-hand-ppo", "--seeds", "2", "--out", str(tmp_path), "--runs", str(tmp_path / "r")]
    monkeypatch.setattr(sys, "argv", [*arguments, *(word for pair in SHORT for word in ("--set", pair))])
    curves.main()
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith(("| 0 |", "| 1 |"))]
    assert len(rows) == 2
    data = json.loads((tmp_path / "flip_it-hand-ppo.json").read_text())
    end = data["rows"][1]["curve"][-1]["against"]["random"]
    assert f"{end['win_rate']:.3f}" in rows[1]
    assert (tmp_path / "flip_it-hand-ppo.png").stat().st_size > 5000


@pytest.mark.parametrize(("config", "seeds", "word"), [("flash10-td", 1, "config"), ("flip_it-hand-ppo", 0, "seeds")])
def test_what_it_cannot_do_is_refused_before_it_trains(curves, config, seeds, word, tmp_path):
    with pytest.raises(RulesError, match=word):
        curves.run(config, seeds, (), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("config", "page"), [("flip_it-ppo", "flip_it.md"), ("flash10-ppo", "flash10.md")])
def test_the_results_page_has_the_figures_of_the_file(config, page, curves):
    results = FILE.parent.parent / "docs" / "results"
    data = json.loads((results / "curves" / f"{config}.json").read_text())
    assert len(data["rows"]) >= 3
    assert curves.table(data) in (results / page).read_text()
