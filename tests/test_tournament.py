"""Tournaments: equal agents are level, stronger ones win, faults are forfeits, and batches change nothing."""

import json
import sys
import time
import xml.etree.ElementTree

import numpy as np
import pytest
from openskill.models import PlackettLuce

from flinchenv.agents.load import load
from flinchenv.agents.uniform import UniformAgent
from flinchenv.cli import main
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import tournament, tournament_plot
from flinchenv.experiments.games import Games
from flinchenv.experiments.ratings import openskill_rows, rate_pairs, sides_of
from flinchenv.experiments.tournament import Args, play_pair, rate, run, seatings, win_interval


class Named(UniformAgent):
    """The uniform agent under another name."""

    def __init__(self, name):
        self.name = name


class Lowest(UniformAgent):
    """Always the lowest legal id: it guesses low and passes, which beats uniform play."""

    name = "lowest"

    def act(self, observation, action_mask, rng, view=None):
        """The first legal id."""
        return action_mask.argmax(1)


class Illegal(UniformAgent):
    """Now and then an illegal id, in rows of its own."""

    name = "illegal"

    def act(self, observation, action_mask, rng, view=None):
        """Uniform, or past the end."""
        chosen = super().act(observation, action_mask, rng)
        return np.where(rng.random(len(chosen)) < 0.01, action_mask.shape[1], chosen)


class Raising(UniformAgent):
    """Raises for rows of its own."""

    name = "raising"

    def act(self, observation, action_mask, rng, view=None):
        """Uniform, or an error of two lines."""
        if (rng.random(len(observation)) < 0.01).any():
            raise RuntimeError("out of\nideas")
        return super().act(observation, action_mask, rng)


class Floats(UniformAgent):
    """Answers with what are no whole numbers."""

    name = "floats"

    def act(self, observation, action_mask, rng, view=None):
        """Uniform, as floats."""
        return super().act(observation, action_mask, rng).astype(float)


class Looking(UniformAgent):
    """Draws its luck from what its view tells."""

    name = "looking"
    needs_view = True

    def act(self, observation, action_mask, rng, view=None):
        """Uniform by a hash of the information state."""
        assert len(view) == len(observation)
        keys = [np.frombuffer(v.information_state(), np.uint8).astype(np.int64).sum() for v in view]
        return np.array([np.flatnonzero(mask)[key % mask.sum()] for mask, key in zip(action_mask, keys)])


def by_name(result):
    return {row["name"]: row for row in result.data["agents"]}


CASES = [
    ("flip_it-v0", 2, {"max_hands": 15}),
    ("flip_it-v0", 3, {"max_hands": 15}),
    ("flip_it-sequential-v0", 2, {"max_hands": 15}),
    ("flip_it-capture-v0", 4, {"max_hands": 15}),
    ("flash10-v0", 2, {"target_score": 8}),
    ("flash10-devir-v0", 3, {"max_rounds": 3}),
    ("flash10-race-v0", 3, {"max_rounds": 4}),  # from here on seats differ
    ("flash10-round-v0", 5, {"t_flip": (1, 1, 2, 3, 3), "pace": "auto_draw", "row_len": 4}),
]
cases = pytest.mark.parametrize(("id", "players", "short"), CASES, ids=lambda v: v if isinstance(v, str) else "")


@cases
def test_results_do_not_depend_on_the_batch_size(id, players, short):
    agents = (Named("x"), Lowest(), Illegal(), Raising(), Looking())
    rules = {"num_players": players, **short}
    results = [run(Args(id, agents, 24, rules=rules, batch_size=n)).data for n in (1, 7, 4096)]
    assert results[0] == results[1] == results[2]


@cases
def test_the_same_agent_under_two_names_is_level(id, players, short):
    result = run(Args(id, (Named("x"), Named("y")), 600, rules={"num_players": players}))
    for row in result.data["agents"]:
        low, high = row["ci95"]
        assert low < 0.5 < high and 0 < high - low < 0.12
        low, high = row["mean_return_ci95"]
        assert abs(row["mean_return"]) < high - low
        assert abs(row["rating"] - 1500) < 30
    assert len(result.data["seats"]) == players
    unequal = id == "flash10-race-v0" or "t_flip" in short
    for seat in [] if unequal else result.data["seats"]:
        assert seat["ci95"][0] < 1 / players < seat["ci95"][1]


@pytest.mark.parametrize("players", [2, 3])
def test_a_planted_stronger_agent_wins(players):
    result = run(Args("flip_it-v0", (Named("x"), Lowest(), Named("y")), 120, rules={"num_players": players}))
    best = result.data["agents"][0]
    assert best["name"] == "lowest" and best["ci95"][0] > 0.6 and best["mean_return_ci95"][0] > 0
    assert best["rating"] > 1600
    assert [pair["a"] + pair["b"] for pair in result.data["pairs"]] == ["xlowest", "xy", "lowesty"]


def test_the_json_contract():
    data = run(Args("flip_it-v0", (Named("x"), Lowest()), 40)).data
    assert data["env"] == "flip_it-v0" and data["games"] == 40 and data["seeds"] == [2**31, 2**31 + 19]
    for row in data["agents"]:
        assert row["wins"] + row["draws"] + row["losses"] == row["games"] == 40
        assert isinstance(row["wins"], int) and isinstance(row["win_rate"], float)
        assert row["ci95"][0] <= row["win_rate"] <= row["ci95"][1]
    assert sum(row["win_rate"] for row in data["agents"]) == pytest.approx(1)
    assert sum(row["mean_return"] for row in data["agents"]) == pytest.approx(0)


def test_seats_are_balanced():
    for players in (2, 3, 4):
        seats = seatings(players)
        assert len(set(map(tuple, seats))) == len(seats)
        assert ((seats == 0).mean(0) == 0.5).all()


def test_faults_are_forfeits_with_their_reasons():
    result = run(Args("flip_it-v0", (Named("x"), Illegal(), Raising(), Floats()), 40))
    rows = by_name(result)
    assert rows["x"]["forfeits"] == 0
    assert rows["illegal"]["reasons"] == [["illegal action 27", rows["illegal"]["forfeits"]]]
    assert rows["raising"]["reasons"] == [["RuntimeError: out of ideas", rows["raising"]["forfeits"]]]
    assert min(rows["illegal"]["forfeits"], rows["raising"]["forfeits"]) > 10
    assert rows["floats"]["forfeits"] == 120 == rows["floats"]["losses"]
    assert rows["floats"]["mean_return"] < -0.95  # it shares a fault with "illegal" now and then
    assert "raising forfeited" in result.text and "out of ideas" in result.text


def test_a_forfeit_loses_the_game_for_the_whole_side():
    result = run(Args("flip_it-v0", (Named("x"), Floats()), 24, rules={"num_players": 4}))
    assert by_name(result)["floats"]["win_rate"] == 0
    assert by_name(result)["x"]["wins"] == 24


def test_both_sides_may_forfeit():
    other = Floats()
    other.name = "more floats"
    result = run(Args("flip_it-v0", (Floats(), other), 10))
    for row in result.data["agents"]:
        assert row["losses"] == row["forfeits"] == 10 and row["mean_return"] == 0
    assert result.data["dead"] == 0


def test_a_game_without_a_winner_is_a_draw_of_all():
    data = run(Args("flinch-v0", ("random", "rule:1"), games=200, rules={"stock_size": 15})).data
    for row in data["agents"]:
        assert row["draws"] > 10
        assert row["wins"] + row["draws"] + row["losses"] == row["games"] == 200
    assert sum(row["win_rate"] for row in data["agents"]) == pytest.approx(1)


def test_ctrl_c_is_no_fault():
    class Stopping(Lowest):
        def act(self, observation, action_mask, rng, view=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Args("flip_it-v0", (Named("x"), Stopping()), 10))


def test_intervals_hold_what_they_promise():
    """Of 400 tournaments between equal agents, about one in twenty leaves the middle outside."""
    setup = make_setup("flip_it-capture-v0")
    pair = play_pair(setup, Named("x"), Named("y"), 400 * 10, 2**31, 8192)
    outside = 0
    for shares in np.split(pair.sides[0].shares, 400):
        low, high = win_interval(shares)
        outside += not low <= 0.5 <= high
    assert outside < 40


def test_a_perfect_record_keeps_an_interval():
    low, high = win_interval(np.ones((20, 2)))
    assert 0.8 < low < 0.9 and high == 1
    low, high = win_interval(np.tile([0.0, 1.0], (50, 1)))
    assert 0.39 < low < 0.42 and 0.58 < high < 0.61


def test_ratings_of_known_strengths_are_found():
    strength = np.array([1.0, 2.0, 6.0])
    points = 10_000 * strength[:, None] / (strength[:, None] + strength) * (1 - np.eye(3))
    ratings = rate(points, ~np.eye(3, dtype=bool))
    assert ratings.mean() == pytest.approx(1500)
    assert ratings - ratings[0] == pytest.approx(400 * np.log10(strength), abs=0.5)
    assert np.isfinite(rate(np.array([[0.0, 100.0], [0.0, 0.0]]), ~np.eye(2, dtype=bool))).all()


BAD = [
    ({"agents": ("random",)}, "agents"),
    ({"agents": ()}, "agents"),
    ({"agents": "random"}, "agents"),
    ({"agents": ("random", "random")}, "agents='random'"),
    ({"agents": (Named("random"), "random")}, "agents='random'"),
    ({"agents": ("random", "no_such")}, "agent='no_such'"),
    ({"agents": ("random", 3)}, "agents=3"),
    ({"games": 0}, "games=0"),
    ({"games": -1}, "games=-1"),
    ({"games": 2.0}, "games=2.0"),
    ({"games": True}, "games=True"),
    ({"seed": 0}, "seed=0"),
    ({"seed": 2**63 - 1}, "seed="),
    ({"batch_size": 0}, "batch_size=0"),
    ({"workers": 0}, "workers=0"),
    ({"workers": 1.5}, "workers=1.5"),
    ({"seconds": -1}, "seconds=-1"),
    ({"seconds": True}, "seconds=True"),
    ({"seconds": float("nan")}, "seconds=nan"),
    ({"ray": ""}, "ray=''"),
    ({"ray": "127.0.0.1:1", "workers": 2}, "workers=2"),
    ({"out": "."}, "out='.'.*folder"),
    ({"out": "/dev/null/a.json"}, "out="),
    ({"out": 3}, "out=3"),
    ({"markdown": "."}, "markdown='.'"),
    ({"plot": "/dev/null/stem"}, "plot="),
    ({"env": "nope"}, "nope"),
    ({"rules": {"num_players": 9}}, "num_players=9"),
    ({"env": "flash10-tiny-v0", "rules": {"num_players": 1}}, "num_players=1 .*2 or more"),
    ({"rules": {"players": 2}}, "players"),
]


@pytest.mark.parametrize(("changes", "words"), BAD)
def test_bad_settings_are_refused_by_name(changes, words):
    with pytest.raises(ValueError, match=words):
        run(Args(**{"env": "flip_it-v0", "agents": ("random", Lowest()), "games": 10} | changes))


def test_progress_is_told():
    told = []
    run(Args("flip_it-v0", (Named("x"), Named("y"), Lowest()), 20, batch_size=8), lambda *now: told.append(now))
    assert told[-1] == (60, 60)
    assert told == sorted(told) and len(told) == 9


# --- Endings, time limits ---------------------------------------------------------------------------------------------


def test_dead_and_truncated_games_are_counted_with_the_reasons():
    rules = {"stock_size": 15, "max_turns": 12}
    data = run(Args("flinch-v0", ("random", "rule:1", Named("x")), games=60, rules=rules)).data
    assert data["truncated"] == data["end_reasons"]["max_turns"] > 0
    assert data["dead"] == data["end_reasons"].get("dead", 0)
    assert sum(data["end_reasons"].values()) == data["games"] == 180
    for key in ("dead", "truncated"):
        assert data[key] == sum(pair[key] for pair in data["pairs"]) == sum(row[key] for row in data["agents"]) / 2
    long = run(Args("flinch-v0", ("random", Named("x")), games=60, rules={"stock_size": 15})).data
    assert long["dead"] == long["end_reasons"]["dead"] > 0 == long["truncated"]
    assert all(row["draws"] == long["dead"] for row in long["agents"])
    lost = run(Args("flip_it-v0", ("random", Floats()), games=10)).data
    assert (lost["end_reasons"], lost["dead"]) == ({"forfeit": 10}, 0)


class Slow(Lowest):
    """Sleeps at every call, or at the first one alone."""

    def __init__(self, name, seconds, always=True):
        self.name, self.seconds, self.always = name, seconds, always

    def act(self, observation, action_mask, rng, view=None):
        """The first legal id, late."""
        time.sleep(self.seconds * len(observation))
        self.seconds *= self.always
        return super().act(observation, action_mask, rng)


def test_an_agent_that_overruns_forfeits():
    agents = (Named("x"), Slow("slow", 0.06), Slow("slow at first", 0.06, always=False))
    rows = by_name(run(Args("flip_it-hand-v0", agents, 4, seconds=0.04)))
    assert rows["slow"]["reasons"] == [["overrun: more than 0.04 s a decision", 8]]
    assert rows["slow"]["losses"] == 8 and rows["slow"]["win_rate"] == 0
    assert rows["x"]["forfeits"] == rows["slow at first"]["forfeits"] == 0
    rows = by_name(run(Args("flip_it-hand-v0", agents[:2], 4)))
    assert rows["slow"]["forfeits"] == 0


# --- The results file -------------------------------------------------------------------------------------------------


class Counted(Named):
    """Uniform; counts the rows that it is asked for and stops as Ctrl-C would when there are enough."""

    def __init__(self, name, most=np.inf):
        self.name, self.most, self.asked = name, most, 0

    def act(self, observation, action_mask, rng, view=None):
        """Uniform, or KeyboardInterrupt."""
        if self.asked > self.most:
            raise KeyboardInterrupt
        self.asked += len(observation)
        return super().act(observation, action_mask, rng)


def kept(folder, name, agent=None, **changes):
    """(result, path) of a tournament with a results file."""
    path = folder / name
    agent = agent or Counted("x")
    args = {"games": 40, "batch_size": 8, "rules": {"max_hands": 15}} | changes
    return run(Args("flip_it-v0", (agent, Illegal(), Lowest()), out=str(path), **args)), path


def test_an_interrupted_run_goes_on_and_ends_alike(tmp_path):
    whole_agent = Counted("x")
    whole, _ = kept(tmp_path, "whole.json", whole_agent)
    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path, "cut.json", Counted("x", whole_agent.asked / 3))
    cut = tmp_path / "cut.json"
    before = json.loads(cut.read_text())
    assert before["complete"] is False and "agents" not in before
    assert [entry["seeds"] for entry in before["played"]["pairs"]][2] == [] != before["played"]["pairs"][0]["seeds"]
    rest = Counted("x")
    again, _ = kept(tmp_path, "cut.json", rest, batch_size=6)
    assert again.data == whole.data and cut.read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert 0 < rest.asked < whole_agent.asked and by_name(whole)["illegal"]["forfeits"] > 0
    done = Counted("x")
    assert kept(tmp_path, "cut.json", done)[0].data == whole.data and done.asked == 0
    assert json.loads(cut.read_text())["agents"] == whole.data["agents"]


def test_a_finished_run_may_go_on_to_more_games(tmp_path):
    kept(tmp_path, "a.json", games=20)
    agent = Counted("x")
    grown, _ = kept(tmp_path, "a.json", agent, games=60)
    other = Counted("x")
    fresh, _ = kept(tmp_path, "b.json", other, games=60)
    assert grown.data == fresh.data and agent.asked < other.asked
    with pytest.raises(ValueError, match=r"games=40 .*60 or more, as in"):
        kept(tmp_path, "a.json")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 2**31 + 1}, "seed=2147483649 .*2147483648, as in"),
        ({"rules": {"max_hands": 16}}, "rules="),
        ({"seconds": 9.0}, "seconds=9.0"),
        ({"agent": Named("y")}, "agents="),
    ],
)
def test_a_file_of_other_settings_is_refused_by_name(changes, words, tmp_path):
    _, path = kept(tmp_path, "a.json", games=8)
    text = path.read_text()
    with pytest.raises(ValueError, match=words):
        kept(tmp_path, "a.json", games=8, **changes)
    assert path.read_text() == text


def test_a_checkpoint_that_changed_is_refused(tmp_path):
    agent = Named(str(tmp_path / "agent"))
    for end in (".safetensors", ".json"):
        (tmp_path / f"agent{end}").write_text("before")
    kept(tmp_path, "a.json", agent, games=8)
    (tmp_path / "agent.safetensors").write_text("after")
    with pytest.raises(ValueError, match="checkpoints="):
        kept(tmp_path, "a.json", agent, games=8)


def test_damaged_results_are_refused(tmp_path):
    _, path = kept(tmp_path, "a.json", games=8)
    text = path.read_text()
    at = text.index('"games": "') + 40
    changed = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
    for wrong in (text[: len(text) // 2], "[]", "{}", changed, text.replace('"illegal action 27": ', '"nothing": ')):
        assert wrong != text
        path.write_text(wrong)
        with pytest.raises(ValueError, match="out="):
            kept(tmp_path, "a.json", games=8)


# --- Workers ----------------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    agents = (Named("x"), Illegal(), Looking(), "rule:1")
    args = {"games": 24, "rules": {"num_players": 3, "max_hands": 15}, "batch_size": 12}
    one, two = (
        run(Args("flip_it-v0", agents, workers=n, out=str(tmp_path / f"{n}.json"), **args)).data for n in (1, 2)
    )
    assert one == two and one["openskill_games"] == 144
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


def test_agents_that_cannot_be_sent_are_refused():
    class Local(Lowest):
        name = "local"

    with pytest.raises(ValueError, match=r"agents='local' .*pickled"):
        run(Args("flip_it-v0", ("random", Local()), 4, workers=2))


def test_a_cluster_without_ray_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"ray='127.0.0.1:1' .*pip install ray"):
        run(Args("flip_it-v0", ("random", "rule"), 4, ray="127.0.0.1:1"))


@pytest.mark.slow
def test_results_are_the_same_over_two_ray_nodes():
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    args = {"env": "flip_it-v0", "agents": ("random", "rule:1", "rule:2"), "games": 60, "batch_size": 8}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        there = run(Args(**args, ray=cluster.address)).data
        ray.init(address=cluster.address, log_to_driver=False)
        assert sum(node["Alive"] for node in ray.nodes()) == 2
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert there == run(Args(**args)).data


# --- Ratings ----------------------------------------------------------------------------------------------------------


def crafted(winners, returns=None):
    """`Games` (S, M) of given winners (S, M, P)."""
    winners = np.array(winners, bool)
    returns = winners.astype(float) if returns is None else np.array(returns, float)
    return Games(winners, returns, np.full(winners.shape[:2], 3, np.int8), np.zeros(winners.shape[:2], bool), ({}, {}))


def test_openskill_takes_games_in_order_of_seed_pair_and_seating():
    setup = make_setup("flip_it-v0")
    first = crafted([[[1, 0], [0, 1]], [[1, 1], [1, 0]]])  # (seed, seating, seat)
    second = crafted([[[0, 1], [1, 0]], [[1, 0], [0, 0]]])
    model = PlackettLuce()
    skills = [model.rating() for _ in range(3)]

    def game(a, b, ranks):
        (skills[a],), (skills[b],) = model.rate([[skills[a]], [skills[b]]], ranks=ranks)

    game(0, 1, [0, 1]), game(1, 0, [1, 0])  # seed 0: A of the first pair wins in either seat
    game(0, 2, [1, 0]), game(2, 0, [0, 1])
    game(0, 1, [0, 0]), game(1, 0, [0, 1])  # seed 1: a draw, then B wins in seat 0
    game(0, 2, [0, 1]), game(2, 0, [0, 0])
    for row, skill in zip(openskill_rows(setup, {(0, 1): first, (0, 2): second}, 3), skills):
        assert row == {"mu": skill.mu, "sigma": skill.sigma, "ordinal": skill.ordinal()}


def test_openskill_ranks_a_whole_table_and_takes_the_mean_of_an_agents_seats():
    setup = make_setup("flip_it-v0", None, {"num_players": 3})
    seats = np.zeros((1, 6, 3))
    returns = seats.copy()
    seats[0, 0, 1], returns[0, 0] = 1, (0.25, 2, -1)  # one A in seat 0 is second of three
    seats[0, 1:], returns[0, 1:] = 1, 0
    games = crafted(seats, returns)
    model = PlackettLuce()
    a, b = model.rating(), model.rating()
    for m, who in enumerate([(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]):
        copies = [model.create_rating([(a, b)[k].mu, (a, b)[k].sigma]) for k in who]
        after = [team[0] for team in model.rate([[one] for one in copies], ranks=[[1, 0, 2], [0, 0, 0]][m > 0])]
        for k, mine in enumerate((a, b)):
            mine.mu = np.mean([one.mu for one, j in zip(after, who) if j == k])
            mine.sigma = np.mean([one.sigma for one, j in zip(after, who) if j == k])
    found = openskill_rows(setup, {(0, 1): games}, 2)
    assert [row["mu"] for row in found] == pytest.approx([a.mu, b.mu])
    assert [row["sigma"] for row in found] == pytest.approx([a.sigma, b.sigma])
    assert found[0]["mu"] != pytest.approx(25, abs=0.01)


def test_partners_are_one_team():
    assert sides_of(make_setup("flinch-partnership-v0")) == [[0, 2], [1, 3]]
    assert sides_of(make_setup("flip_it-v0", None, {"num_players": 3})) == [[0], [1], [2]]


def test_rating_intervals_are_those_of_independent_games_and_wider_for_equal_ones():
    rng = np.random.default_rng(0)
    wins = rng.random((4000, 2)) < 0.7
    seat_0 = np.stack([wins, ~wins], -1)
    fair = crafted(np.where([[[True], [False]]], seat_0, seat_0[..., ::-1]))  # A sits in seat 0, then in seat 1
    ratings, intervals = rate_pairs({(0, 1): fair}, 2)
    p = wins.mean()
    half = 1.96 * 400 / np.log(10) * np.sqrt(1 / (wins.size * p * (1 - p))) / 2
    assert ratings[0] - ratings[1] == pytest.approx(400 * np.log10(p / (1 - p)), abs=0.5)
    assert np.diff(intervals)[0] / 2 == pytest.approx(half, rel=0.06)
    wins[:, 1] = wins[:, 0]
    seat_0 = np.stack([wins, ~wins], -1)
    twins = crafted(np.where([[[True], [False]]], seat_0, seat_0[..., ::-1]))
    assert np.diff(rate_pairs({(0, 1): twins}, 2)[1])[0] / 2 == pytest.approx(half * np.sqrt(2), rel=0.06)


def test_a_planted_stronger_agent_leads_both_ratings():
    rows = by_name(run(Args("flip_it-v0", (Named("x"), Lowest(), Named("y")), 120)))
    assert rows["lowest"]["rating_ci95"][0] > rows["x"]["rating_ci95"][1]
    assert rows["lowest"]["openskill"]["ordinal"] > rows["x"]["openskill"]["mu"]


# --- Pictures and tables ----------------------------------------------------------------------------------------------


def test_pictures_show_the_numbers(tmp_path):
    data = run(Args("flip_it-v0", ("random", Lowest(), Illegal()), 40, plot=str(tmp_path / "deep" / "stem"))).data
    names = [row["name"] for row in data["agents"]]
    heat = tournament_plot.heat_map(data, "title").axes[0].images[0].get_array()
    for pair in data["pairs"]:
        a, b = names.index(pair["a"]), names.index(pair["b"])
        assert heat[a, b] == pair["win_rate"] and heat[b, a] == pytest.approx(1 - pair["win_rate"], abs=0.1)
    figure = tournament_plot.rating_plot(data, "title")
    assert figure.axes[0].lines[0].get_xdata().tolist() == [row["rating"] for row in data["agents"]]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == names
    tournament_plot.pyplot.close("all")
    for what in ("heat", "ratings"):
        assert (tmp_path / "deep" / f"stem-{what}.png").read_bytes().startswith(b"\x89PNG")
        assert xml.etree.ElementTree.parse(tmp_path / "deep" / f"stem-{what}.svg").getroot().tag.endswith("svg")


def test_markdown_has_a_row_for_every_agent_and_pair(tmp_path):
    path = tmp_path / "a.md"
    data = run(Args("flip_it-v0", ("random", Lowest(), Raising()), 20, markdown=str(path))).data
    lines = path.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + 3 + 2 + 3 and len({line.count("|") for line in rows[:5]}) == 1
    assert rows[2].startswith(f"| {data['agents'][0]['name']} | 40 |")
    assert any("raising forfeited" in line for line in lines)


def test_the_command_writes_what_it_is_asked_for(tmp_path, capsys):
    words = ["tournament", "flip_it-v0", "random", "rule", "--games", "8", "--set", "max_hands=10", "--json"]
    files = {"--out": "a.json", "--markdown": "a.md", "--plot": "stem"}
    more = [word for option, name in files.items() for word in (option, str(tmp_path / name))]
    assert main([*words, *more, "--seconds", "100", "--batch", "4"]) == 0
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert data.items() <= json.loads((tmp_path / "a.json").read_text()).items()
    assert (tmp_path / "a.md").exists() and (tmp_path / "stem-heat.png").exists() and data["seconds"] == 100
    for option, value in (("--out", "."), ("--plot", "/dev/null/x"), ("--workers", "0"), ("--ray", "")):
        assert main([*words, option, value]) == 2
        told = capsys.readouterr().err.splitlines()
        assert len(told) == 1 and f"{option[2:]}=" in told[0]


# --- The same agent twice ---------------------------------------------------------------------------------------------


class Renamed:
    """An agent under another name."""

    def __init__(self, agent, name):
        self.agent, self.name, self.needs_view = agent, name, agent.needs_view

    def act(self, *asked):
        """As the agent."""
        return self.agent.act(*asked)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flip_it-2p", "rule:1", "rule:2", "random"])
def test_the_same_agent_twice_differs_by_nothing_in_17_of_20_tournaments(name):
    agent = load(name, "flip_it-v0")
    level = {"win_rate_difference_ci95": 0, "mean_return_difference_ci95": 0}
    for k in range(20):
        agents = (Renamed(agent, "one"), Renamed(agent, "two"))
        pair = run(Args("flip_it-v0", agents, 400, seed=2**31 + 10_000 * k)).data["pairs"][0]
        for key in level:
            level[key] += pair[key][0] <= 0 <= pair[key][1]
    print(name, level)
    assert min(level.values()) >= 17


def test_the_module_offers_the_command():
    assert callable(tournament.main)
