"""Printed pages equal the code; README commands name what exists."""

import importlib.util
from pathlib import Path

import pytest

import flinchenv
from flinchenv.envs.setup import make_setup

ROOT = Path(__file__).resolve().parent.parent
_spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)


@pytest.mark.parametrize("name", make.games())
def test_a_games_page_is_what_the_code_prints(name):
    assert (ROOT / "docs" / f"{name}.md").read_text() == make.page(name)


def test_layout_prints_the_tables_of_any_setting():
    page = flinchenv.layout("flip_it-v0", num_players=4, actions="joint", obs_history=2)
    setup = make_setup("flip_it-v0", None, {"num_players": 4, "actions": "joint", "obs_history": 2})
    assert setup.layout.table() in page
    assert "Discrete(126)" in page


@pytest.mark.parametrize("id", flinchenv.list_envs())
def test_fields_cover_their_vector_exactly(id):
    for layout in (make_setup(id).layout, make_setup(id).state_layout):
        entries = [entry for field in layout.fields for entry in field.entries.tolist()]
        assert sorted(entries) == list(range(layout.size))
        assert len(layout.high()) == layout.size


def test_information_set_counts_of_the_solvable_presets():
    counts = {id: make_setup(id).game.facts(make_setup(id).rules) for id in ("flip_it-tiny-v0", "flip_it-small-v0")}
    assert counts == {
        "flip_it-tiny-v0": {"information_sets": 2184},
        "flip_it-small-v0": {"information_sets": 527_506},
    }
    assert 1_000 <= 2184 <= 4_000
    assert 500_000 <= 527_506 <= 2_000_000


def test_the_readmes_examples_run(capsys):
    blocks = (ROOT / "README.md").read_text().split("```python\n")[1:]
    assert len(blocks) == 3
    for block in blocks:
        exec(block.split("```")[0], {})
    assert capsys.readouterr().out.count("\n") == 3


def test_the_readme_names_every_id_and_command():
    readme = (ROOT / "README.md").read_text()
    for word in (
        *flinchenv.list_envs(),
        *(["list", "rules", "layout", "demo", "speed", "train", "evaluate", "tournament", "replay"]),
    ):
        assert word in readme
