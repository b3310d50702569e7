"""Tournaments: equal agents are level, stronger ones win, faults are forfeits, and batches change nothing."""

import numpy as np
import pytest

from flinchenv.agents.uniform import UniformAgent
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import evaluate, tournament
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


def test_evaluate_meets_random_and_every_rule_bot():
    data = evaluate.evaluate(Lowest(), "flip_it-v0", games=40)
    assert data["agent"] == "lowest" and data["env"] == "flip_it-v0"
    assert data["opponents"][0]["name"] == "random"
    assert len(data["opponents"]) == len(evaluate.rivals(make_setup("flip_it-v0")))
    assert data["opponents"][0]["win_rate"] > 0.8
    better = [row for row in data["opponents"] if row["rating"] > data["rating"]]
    assert data["place"] == len(better) + 1
    assert data["verdict"].startswith("lowest in flip_it-v0 beats random: mean return +")


def test_evaluate_does_not_meet_itself():
    for agent in ("random", "rule", "rule:1"):
        names = evaluate.rivals(make_setup("flip_it-v0"), agent)
        assert agent not in names and names
        assert "rule:1" not in names or agent == "random"


def test_evaluate_is_a_pair_of_the_tournament():
    played = run(Args("flip_it-v0", (Lowest(), "random"), 40)).data["pairs"][0]
    row = evaluate.evaluate(Lowest(), "flip_it-v0", games=40, opponents=("random",))["opponents"][0]
    assert all(row[key] == played[key] for key in ("wins", "win_rate", "ci95", "mean_return"))
    with pytest.raises(ValueError, match="opponents"):
        evaluate.evaluate(Lowest(), "flip_it-v0", opponents=())


def test_modules_offer_the_command():
    assert callable(tournament.main) and callable(evaluate.main)
