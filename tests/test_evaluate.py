"""One verdict on an agent: its place with an interval, seats, other tables, held-out opponents, exploitability."""

import json

import numpy as np
import pytest

import flinchenv
from flinchenv.agents.held_out import SLIP
from flinchenv.agents.load import FAMILIES, load
from flinchenv.agents.uniform import UniformAgent
from flinchenv.cli import main
from flinchenv.core.rng import RowStreams
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import evaluate as module
from flinchenv.experiments.evaluate import Args, evaluate, rivals, run
from flinchenv.experiments.exploitability import exploitability
from flinchenv.experiments.tournament import Args as Tournament
from flinchenv.experiments.tournament import run as play


class Lowest(UniformAgent):
    """Always the lowest legal id: it guesses low and passes, which beats uniform play."""

    name = "lowest"

    def act(self, observation, action_mask, rng, view=None):
        """The first legal id."""
        return action_mask.argmax(1)


class Seated(Lowest):
    """As `Lowest` in seat 0, illegal in all others."""

    name = "seated"
    needs_view = True

    def act(self, observation, action_mask, rng, view=None):
        """The first legal id in seat 0, -1 elsewhere."""
        return np.array([mask.argmax() if v.seat == 0 else -1 for mask, v in zip(action_mask, view)])


def quick(agent=None, id="flip_it-v0", **options):
    options = {"games": 40, "held_out": False, "exact": False} | options
    return evaluate(agent or Lowest(), id, **options)


@pytest.fixture(scope="module")
def whole():
    """An evaluation with everything, its markdown and its results file."""
    return evaluate("rule:1", "flip_it-tiny-v0", games=60)


def test_it_meets_random_and_every_rule_bot():
    data = quick()
    assert data["agent"] == "lowest" and data["env"] == "flip_it-v0"
    assert data["opponents"][0]["name"] == "random"
    assert len(data["opponents"]) == len(rivals(make_setup("flip_it-v0"))) == 3
    assert data["opponents"][0]["win_rate"] > 0.8
    better = [row for row in data["opponents"] if row["rating"] > data["rating"]]
    assert data["place"] == len(better) + 1
    assert data["verdict"].startswith("lowest in flip_it-v0 beats random: mean return +")


def test_it_does_not_meet_itself():
    for agent in ("random", "rule", "rule:1"):
        names = rivals(make_setup("flip_it-v0"), agent)
        assert agent not in names and names
        assert "rule:1" not in names or agent == "random"


def test_it_is_a_pair_of_the_tournament():
    played = play(Tournament("flip_it-v0", (Lowest(), "random"), 40)).data["pairs"][0]
    row = quick(opponents=("random",))["opponents"][0]
    assert all(row[key] == played[key] for key in ("wins", "win_rate", "ci95", "mean_return", "end_reasons"))
    with pytest.raises(ValueError, match="opponents"):
        quick(opponents=())


def test_other_families_stand_on_the_ladder_when_asked_for():
    setup = make_setup("flip_it-v0")
    assert rivals(setup, "rule:2", ("rule", "search")) == ["random", "rule:1", "search:5000"]
    assert rivals(setup, "search", ("search",)) == ["random"]
    for wrong in (("nobody",), ("held_out",), "rule"):
        with pytest.raises(ValueError, match="ladder="):
            rivals(setup, "rule:2", wrong)


def test_the_place_has_the_interval_that_the_win_rates_allow():
    data = quick("rule:1", games=300)
    ends = [row["ci95"] for row in data["opponents"]]
    assert data["place_ci95"] == [1 + sum(high < 0.5 for _, high in ends), 1 + sum(low < 0.5 for low, _ in ends)]
    assert data["place_ci95"] == [2, 2] == [data["place"]] * 2
    assert data["rating_ci95"][0] < data["rating"] < data["rating_ci95"][1]
    few = quick(UniformAgent(), opponents=(Lowest(), Other()), games=4)
    assert few["place_ci95"][0] < few["place_ci95"][1] == 3


def test_an_exact_tie_costs_no_place():
    for games in (8, 20, 36):
        data = quick(Lowest(), "flip_it-hand-v0", games=games, opponents=("random", Twin(), "rule:1", "rule:2"))
        rates = [row["win_rate"] for row in data["opponents"]]
        assert rates[1] == 0.5 and data["place"] == 1 + sum(rate < 0.5 for rate in rates)


class Twin(Lowest):
    """`Lowest` under another name."""

    name = "twin"


class Other(UniformAgent):
    """The uniform agent under another name."""

    name = "other"


def test_seats_are_told_apart():
    for players in (2, 3):
        data = quick(Seated(), opponents=("random", Other()), rules={"num_players": players})
        rows = data["per_seat"]
        assert [row["seat"] for row in rows] == list(range(players))
        assert rows[0]["win_rate"] > 0.6 and rows[0]["ci95"][0] > 1 / players
        assert all(row["win_rate"] == 0 for row in rows[1:])
        assert rows[0]["games"] == 2 * data["opponents"][0]["games"] / (2 if players == 2 else 6)
        assert data["forfeits"] == sum(row["forfeits"] for row in data["opponents"]) > 0


def test_forfeits_are_the_agents_own(tmp_path):
    result = run(Args(Seated(), "flip_it-v0", 8, opponents=("random",), markdown=str(tmp_path / "a.md"), exact=False))
    assert "seated forfeited 4 games against random: illegal action -1" in result.text
    assert "seated forfeited 4 games against random: illegal action -1" in (tmp_path / "a.md").read_text()


def test_other_numbers_of_players(tmp_path):
    path = tmp_path / "a.json"
    data = quick("rule:1", games=12, players="all", out=str(path), rules={"max_hands": 10})
    assert [row["players"] for row in data["per_players"]] == [2, 3, 4]
    three = quick("rule:1", games=12, rules={"max_hands": 10, "num_players": 3})
    assert data["per_players"][1] == three["per_players"][0]
    assert data["per_players"][1]["games"] == sum(row["games"] for row in three["opponents"])
    assert json.loads((tmp_path / "a-3p.json").read_text())["per_players"] == three["per_players"]
    assert [row["players"] for row in quick("rule:1", games=4, players=(4, 2))["per_players"]] == [2, 4]
    for wrong, words in (
        ((9,), "players=9"),
        ((8,), "num_players=8"),
        ("some", "players='some'"),
        ((2.0,), "players=2"),
    ):
        with pytest.raises(ValueError, match=words):
            quick("rule:1", players=wrong)


def test_held_out_opponents_count_for_no_place(whole):
    assert [row["name"] for row in whole["held_out"]] == ["held_out:1", "held_out:2"]
    without = quick("rule:1", "flip_it-tiny-v0", games=60)
    assert without["held_out"] == []
    for key in ("opponents", "place", "place_ci95", "rating", "rating_ci95", "openskill", "per_seat"):
        assert without[key] == whole[key]
    row = whole["held_out"][0]
    won = row["win_rate"] * 60
    assert whole["rating"] - row["rating"] == pytest.approx(400 * np.log10((won + 0.5) / (60.5 - won)))


@pytest.mark.parametrize(("id", "level"), [("flip_it-v0", 2), ("flinch-v0", 2), ("flash10-v0", 1)])
def test_a_held_out_opponent_is_its_bot_with_slips(id, level):
    env = flinchenv.make(id, "vector", num_envs=300)
    families = FAMILIES[env.setup.game.name]
    assert families["held_out"].numbers == families["rule"].numbers
    bot, mixed = load(f"rule:{level}", env), load(f"held_out:{level}", env)
    step = env.reset(seed=0)
    seen, legal = (part.reshape(-1, part.shape[-1]) for part in (step.observation, step.action_mask))
    probs = mixed.probs(seen, legal)
    assert probs.sum(1) == pytest.approx(1) and (probs[legal == 0] == 0).all()
    assert probs == pytest.approx((1 - SLIP) * bot.probs(seen, legal) + SLIP * legal / legal.sum(1, keepdims=True))
    streams = [RowStreams(np.arange(len(seen)), np.zeros(len(seen))) for _ in range(2)]
    first, second = (mixed.act(seen, legal, stream) for stream in streams)
    assert (first == second).all() and mixed.name == f"held_out:{level}"


def test_held_out_bots_that_need_a_view_get_one():
    assert load("held_out:2", "flash10-tiny-v0").needs_view and not load("held_out:1", "flash10-tiny-v0").needs_view
    data = quick("rule:1", "flash10-tiny-v0", games=4, opponents=("held_out:2",))
    assert data["opponents"][0]["opponent_forfeits"] == 0


def test_exploitability_where_the_game_is_small_enough(whole):
    setup = make_setup("flip_it-tiny-v0")
    assert whole["exploitability"] == exploitability(setup, "rule:1").exploitability > 0
    assert whole["exploitability_reason"] is None
    for id, agent, word in (("flip_it-v0", "random", "histories"), ("flash10-v0", "random", "chance")):
        data = evaluate(agent, id, games=4, held_out=False, opponents=("rule:1",))
        assert data["exploitability"] is None and word in data["exploitability_reason"]
    assert quick(games=4)["exploitability_reason"] == "not asked for"


def test_an_interrupted_evaluation_goes_on(tmp_path):
    class Stopping(Lowest):
        asked = 0

        def act(self, *asked):
            Stopping.asked += 1
            if Stopping.asked == 30:
                raise KeyboardInterrupt
            return super().act(*asked)

    path = tmp_path / "a.json"
    rules = {"max_hands": 10}
    options = {"out": str(path), "batch_size": 4, "rules": rules}
    with pytest.raises(KeyboardInterrupt):
        quick(Stopping(), **options)
    assert json.loads(path.read_text())["complete"] is False
    whole = quick(rules=rules)
    assert quick(Stopping(), **options) == whole
    assert json.loads(path.read_text())["place"] == whole["place"]
    with pytest.raises(ValueError, match="command='tournament'"):
        play(Tournament("flip_it-v0", (Lowest(), "random"), 40, rules=rules, out=str(path)))


def test_the_markdown_page_has_all_tables(tmp_path):
    path = tmp_path / "a.md"
    run(Args("rule:1", "flip_it-tiny-v0", 20, markdown=str(path)))
    text = path.read_text()
    for words in (
        "| against |",
        "| held_out:1 |",
        "| seat |",
        "| players |",
        "Place ",
        "exploitability 0.",
        "# rule:1 in",
    ):
        assert words in text
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 4 and all(len({line.count("|") for line in table}) == 1 for table in tables)


def test_the_command_takes_every_option(tmp_path, capsys):
    words = ["evaluate", "rule:1", "--env", "flip_it-v0", "--games", "4", "--set", "max_hands=10", "--json"]
    more = ["--ladder", "rule", "--player-counts", "2,3", "--no-held-out", "--no-exact", "--seconds", "100"]
    assert main([*words, *more, "--batch", "8", "--out", str(tmp_path / "a.json")]) == 0
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [row["players"] for row in data["per_players"]] == [2, 3] and data["held_out"] == []
    assert (data["seconds"], data["exploitability_reason"]) == (100, "not asked for")
    assert (tmp_path / "a-3p.json").exists()
    refused = {"--ladder": "nobody", "--player-counts": "2,x", "--workers": "0", "--seconds": "-1", "--batch": "0"}
    for option, value in (*refused.items(), ("--player-counts", "1")):
        assert main([*words, option, value]) == 2
        told = capsys.readouterr().err.splitlines()
        assert len(told) == 1 and option[2:].partition("-")[0] in told[0]


def test_the_module_offers_the_command():
    assert callable(module.main)
