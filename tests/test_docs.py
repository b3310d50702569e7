"""Printed pages equal the code; README commands name what exists."""

import importlib.util
from pathlib import Path

import pytest

import flinchenv
from flinchenv.envs.setup import make_setup
from games import FIRST_CASES, OPTION_CASES, over

ROOT = Path(__file__).resolve().parent.parent
_spec = importlib.util.spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)


@pytest.mark.parametrize("name", make.games())
def test_a_games_page_is_what_the_code_prints(name):
    assert (ROOT / "docs" / f"{name}.md").read_text() == make.page(name)


def test_the_page_of_the_trained_agents_is_made_of_their_cards():
    assert (ROOT / "docs" / "results" / "agents.md").read_text() == make.agents_page()


@pytest.mark.parametrize(
    ("ci95", "words"), [((0.51, 0.6), "beats"), ((0.4, 0.49), "loses to"), ((0.49, 0.51), "is level")]
)
def test_how_an_agent_stands_is_told_by_the_interval(ci95, words):
    rows = [
        {"name": name, "win_rate": rate, "ci95": ci95}
        for name, rate in (("random", 0.1), ("rule:2", 0.5), ("rule", 0.7))
    ]
    assert make.standing({"training": {"opponents": rows}}).startswith(f"{words}")
    assert "rule:2" in make.standing({"training": {"opponents": rows}})


def test_layout_prints_the_tables_of_any_setting():
    page = flinchenv.layout("flip_it-v0", num_players=4, actions="joint", obs_history=2)
    setup = make_setup("flip_it-v0", None, {"num_players": 4, "actions": "joint", "obs_history": 2})
    assert setup.layout.table() in page
    assert "Discrete(126)" in page
    options = {"num_players": 5, "obs_opponents": "counts", "obs_seen": True, "t_place": (2, 3, 2, 3, 2)}
    page = flinchenv.layout("flash10-v0", **options)
    setup = make_setup("flash10-v0", None, options)
    assert setup.layout.table() in page and setup.state_layout.table() in page
    assert "Discrete(13)" in page and "others_thunder" in page


def test_a_table_tells_which_entries_a_field_has():
    alone, two = (make_setup("flash10-v0", None, {"num_players": n}).layout.table() for n in (1, 2))
    assert "| 12 | holding | 1 |" in alone and "| 20-29 | row |" in alone and "| 30-39 | row_thunder |" in alone
    assert "| 12-20, 1 of every 8 | holding | 2 |" in two and "| 48-77, 10 of every 20 | row_thunder |" in two


@over([(id, {}) for id in flinchenv.list_envs()] + FIRST_CASES + OPTION_CASES)
def test_fields_cover_their_vector_exactly(id, options):
    setup = make_setup(id, None, options)
    for layout in (setup.layout, setup.state_layout):
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


@pytest.mark.parametrize("name", make.games())
def test_a_games_page_tells_what_is_counted_of_its_ids(name):
    page = make.page(name)
    for id in flinchenv.list_envs():
        spec = flinchenv.spec(id)
        for fact, value in spec.game_spec.facts(spec.rules).items() if spec.game == name else ():
            assert f"| {fact.replace('_', ' ')} |" in page
            assert f"| {value:,} |" in next(line for line in page.splitlines() if line.startswith(f"| {id} |"))


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
        *(f"docs/{name}.md" for name in make.games()),
        *(["list", "rules", "layout", "demo", "speed", "train", "evaluate", "tournament", "replay"]),
    ):
        assert word in readme
