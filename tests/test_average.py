"""The average of several agents: a mean of plans and not of probabilities, what it leaves, and how it is kept."""

import importlib.util
import json
import pathlib

import numpy as np
import pytest

from flinchenv.agents.agent import DeterministicAgent, ProbabilisticAgent
from flinchenv.agents.checkpoint import load_checkpoint
from flinchenv.agents.load import load
from flinchenv.agents.uniform import UniformAgent
from flinchenv.cli import main
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import tournament
from flinchenv.experiments.exploitability import Args, mean_plans, of_plans, plans_of, run
from flinchenv.experiments.sequence_form import sequence_form
from flinchenv.experiments.train_ppo import Args as PPOArgs
from flinchenv.experiments.train_ppo import run as train

ROOT = pathlib.Path(__file__).resolve().parent.parent
HAND = make_setup("flip_it-hand-v0")
PLAY = 21  # the id of playing 0
RUN = {
    "env_id": HAND.id,
    "total_steps": 4096,
    "num_envs": 16,
    "n_steps": 8,
    "hidden": (8,),
    "mirror": 1.0,
    "keep": 4,
    "eval_against": ("random",),
    "eval_every": 10**6,
    "eval_games": 2,
    "progress": False,
}


@pytest.fixture(scope="module")
def hand():
    return sequence_form(HAND)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run's folder."""
    path = tmp_path_factory.mktemp("run")
    train(PPOArgs(run=str(path), **RUN))
    return path


class Mixed(ProbabilisticAgent):
    """Guesses 0 with a probability and else 10; plays the same card after every guess."""

    def __init__(self, zero, play, name="mixed"):
        self.zero, self.play, self.name = zero, play, name

    def probs(self, observation, action_mask, view=None):
        told = np.zeros(np.shape(action_mask))
        guesses = np.asarray(action_mask)[:, 0] == 1
        told[guesses, 0], told[guesses, 10] = self.zero, 1 - self.zero
        told[~guesses, PLAY + self.play] = 1
        return told


def policies(form, plans):
    """Of each seat {(own guess or -1, action id): probability}."""
    told = []
    for player, side in enumerate(form.sides):
        guesses = side.games["guess"][side.owner, player]
        told.append(dict(zip(zip(guesses.tolist(), side.actions.tolist()), side.normalise(plans[player])[1:])))
    return told


MIX = (Mixed(0.1, 0, "passes"), Mixed(0.7, 5, "plays"))


# -- what it is --------------------------------------------------------------------------------------------------------


def test_each_counts_by_how_likely_it_plays_its_way_there(hand):
    """After guessing 0 (0.1 and 0.7) it is 1 to 7 that the first is at play, after guessing 10 (0.9 and 0.3) 3 to 1."""
    for told in policies(hand, mean_plans([plans_of(HAND, hand, agent) for agent in MIX])):
        assert (told[-1, 0], told[-1, 10]) == pytest.approx((0.4, 0.6))
        assert (told[0, PLAY], told[0, PLAY + 5]) == pytest.approx((1 / 8, 7 / 8))  # a mean of probabilities has 1 / 2
        assert (told[10, PLAY], told[10, PLAY + 5]) == pytest.approx((3 / 4, 1 / 4))


def test_what_it_leaves_by_hand():
    """Half the time it plays 0; it has guessed 0 then with 0.1. The best reply plays 0 too and guesses 0.

    That is 4 points half the time, less 4 where both are right, with 0.05: 1.8. To play 5 and guess 10 is 4 / 2 - 4 *
    0.15, to play 1 or 4 is met by no guess but earns 3 / 2; so it would be the best of replies to the mean of
    probabilities, which guesses 0 and plays 0 with 0.4 / 2.
    """
    found = run(Args(HAND.id, MIX)).data
    assert found["best_responses"] == pytest.approx([1.8, 1.8])
    assert found["exploitability"] == pytest.approx(1.8) and found["value"] == pytest.approx(0)


def test_it_earns_what_they_earn_on_average(hand):
    """Against anybody."""
    plans = [
        plans_of(HAND, hand, agent) for agent in (load("rule:1", HAND), load("rule:2", HAND), UniformAgent(), *MIX)
    ]
    mean = mean_plans(plans)[0]
    for _, theirs in plans:
        assert hand.value([mean, theirs]) == pytest.approx(np.mean([hand.value([own, theirs]) for own, _ in plans]))


def test_seats_are_averaged_apart(hand):
    plans = [plans_of(HAND, hand, agent) for agent in MIX]
    crossed = [plans[0][0], plans[1][1]]
    assert all((mean == own).all() for mean, own in zip(mean_plans([crossed, crossed]), crossed))


def test_more_of_one_agent_change_nothing(hand):
    own = plans_of(HAND, hand, MIX[0])
    assert of_plans(hand, mean_plans([own] * 3)).best_responses == pytest.approx(of_plans(hand, own).best_responses)


# -- a run's folder ----------------------------------------------------------------------------------------------------


def paths(folder):
    return sorted(map(str, folder.glob("agent-*.safetensors")), key=lambda path: int(path.split("-")[-1].split(".")[0]))


def test_a_folder_stands_for_the_agents_of_its_runs_second_half(folder):
    written = paths(folder)
    data = run(Args(HAND.id, (str(folder),))).data
    assert len(written) == 4 and [row["name"] for row in data["agents"]] == written
    assert run(Args(HAND.id, tuple(written[2:]))).data["agents"] == data["agents"][2:]
    assert run(Args(HAND.id, (folder,))).data == data == run(Args(HAND.id, tuple(written))).data


def test_agents_of_the_first_half_and_other_files_are_left_out(folder, tmp_path):
    sizes = [int(path.split("-")[-1].split(".")[0]) for path in paths(folder)]
    for steps, name in ((sizes[0], 4999), (sizes[1], 5000), (sizes[2], 10000)):
        for end in (".safetensors", ".json"):
            (tmp_path / f"agent-{name}{end}").write_bytes((folder / f"agent-{steps}{end}").read_bytes())
    (tmp_path / "agent-20000.json").write_text("{}")
    (tmp_path / "other.safetensors").write_text("")
    rows = run(Args(HAND.id, (str(tmp_path),))).data["agents"]
    assert [row["name"] for row in rows] == [str(tmp_path / f"agent-{n}.safetensors") for n in (5000, 10000)]


def test_a_folder_may_stand_among_others(folder):
    rows = run(Args(HAND.id, ("rule:2", str(folder)))).data["agents"]
    assert [row["name"] for row in rows] == ["rule:2", *paths(folder)]


# -- kept as an agent --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """(stem, data) of the average of two bots."""
    stem = str(tmp_path_factory.mktemp("saved") / "new" / "average")
    return stem, run(Args(HAND.id, ("rule:1", "rule:2"), stem)).data


def test_what_is_saved_plays_as_the_average(saved, hand):
    stem, data = saved
    assert data["saved"] == stem
    plans = [plans_of(HAND, hand, load(name, HAND)) for name in ("rule:1", "rule:2")]
    for mean, plan in zip(mean_plans(plans), plans_of(HAND, hand, load(stem))):
        assert plan == pytest.approx(mean, abs=1e-6)
    again = run(Args(HAND.id, (stem,))).data
    assert again["exploitability"] == pytest.approx(data["exploitability"], abs=1e-5)


def test_its_card_says_what_it_is_made_of(saved):
    training = load_checkpoint(saved[0])[1]["training"]
    assert training["command"] == "exploitability" and training["agents"] == saved[1]["agents"]
    assert training["exploitability"] == saved[1]["exploitability"]


def test_it_enters_tournaments(saved):
    data = tournament.run(tournament.Args(HAND.id, (saved[0], "rule:1", "rule:2"), games=200)).data
    assert all(row["forfeits"] == 0 for row in data["agents"])


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["random", "rule", "rule:2"])
def test_a_folder_that_is_called_like_an_agent_does_not_hide_it(name, tmp_path, monkeypatch):
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert [row["name"] for row in run(Args(HAND.id, (name,))).data["agents"]] == [name]


def test_the_command(folder, tmp_path, capsys):
    stem = str(tmp_path / "average")
    assert main(["exploitability", HAND.id, str(folder), "--save", stem, "--json"]) == 0
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert data["nash_conv"] == pytest.approx(2 * data["exploitability"]) == pytest.approx(sum(data["best_responses"]))
    assert (data["env"], data["information_sets"], data["saved"]) == (HAND.id, 24, stem)
    assert main(["exploitability", HAND.id, str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == f"{data['exploitability']:.6f}  average of 4"
    assert [line.split()[1] for line in lines[:4]] == [row["name"] for row in data["agents"]]


def test_one_agent_is_measured_alone(capsys):
    assert main(["exploitability", HAND.id, "random", "--set", "play_values=0,1"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("  random")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["flip_it-tiny-v0", "FOLDER"], "checkpoint's rule play_values="),
        (["flip_it-capture-v0", "FOLDER"], "checkpoint's rule"),
        (["flip_it-hand-v0", "EMPTY"], "a folder with agent-<steps>.safetensors"),
        (["flip_it-hand-v0", "EMPTY/agent-1.safetensors"], "No such file"),
        (["flip_it-hand-v0", "rule", "rule"], "each name once"),
        (["flip_it-hand-v0", "rule:9"], "agent='rule:9'"),
        (["flip_it-hand-v0", "rule", "--players", "3"], "two-player zero-sum"),
        (["flip_it-hand-v0", "rule", "--save", "/dev/null/agent"], "save='/dev/null/agent'"),
        (["flip_it-hand-v0", "rule", "--save", "folder/"], "save='folder/'"),
        (["flip_it-hand-v9", "rule"], "flip_it-hand-v9"),
        (["flip_it-hand-v0"], "AGENT"),
    ],
)
def test_the_command_refuses_in_one_line(words, told, folder, tmp_path, capsys):
    words = [word.replace("FOLDER", str(folder)).replace("EMPTY", str(tmp_path)) for word in words]
    try:
        code = main(["exploitability", *words])
    except SystemExit as end:
        code = end.code
    error = capsys.readouterr().err
    assert code == 2 and len(error.splitlines()) == 1 and told in error


def test_games_too_large_are_refused():
    with pytest.raises(ValueError, match="a game of at most 4,477 histories"):
        run(Args(HAND.id, ("random",), max_histories=4477))


def test_agents_that_tell_no_probabilities_or_remember_are_refused():
    class Shy(DeterministicAgent):
        name = "shy"
        probs = property()

    class Elephant(Mixed):
        memory = 3

    for agent, told in ((Shy(), "agent='Shy'"), (Elephant(0.5, 1), "without a memory")):
        with pytest.raises(ValueError, match=told):
            run(Args(HAND.id, ("random", agent)))


@pytest.mark.parametrize("agents", [(), "random", None])
def test_no_agents_are_refused(agents):
    with pytest.raises(ValueError, match=r"^agents="):
        run(Args(HAND.id, agents))


# -- what self-play reaches --------------------------------------------------------------------------------------------


def test_the_page_tells_what_was_measured():
    spec = importlib.util.spec_from_file_location("flip_it_ppo", ROOT / "benchmarks" / "flip_it_ppo.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    measured = json.loads(benchmark.FILE.read_text())
    assert measured["config"] == benchmark.CONFIG and len(measured["rows"]) == benchmark.SEEDS
    assert all(row["average"] < 0.05 and row["minutes"] < 10 for row in measured["rows"])
    assert benchmark.table(measured["rows"]) in (ROOT / "docs" / "results" / "flip_it.md").read_text()
