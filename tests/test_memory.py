"""Memory: every seat of every game has its own, zero at the start, wherever agents play and while they learn."""

import json
import time

import numpy as np
import pytest
import torch
from short_runs import SHORT_RUN

import flinchenv
from flinchenv.adapters.sb3 import OpponentPool, SeatVecEnv
from flinchenv.agents.agent import RememberingAgent
from flinchenv.agents.checkpoint import load_checkpoint, save_checkpoint
from flinchenv.agents.load import load
from flinchenv.agents.network import NetworkAgent
from flinchenv.agents.uniform import UniformAgent
from flinchenv.cli import main
from flinchenv.core.params import RulesError
from flinchenv.envs import seats
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import games as games_module
from flinchenv.experiments import tournament, train_ppo, training
from flinchenv.experiments.exploitability import exploitability
from flinchenv.experiments.games import play_pair, play_seeds
from flinchenv.experiments.league import PolicyAgent
from flinchenv.experiments.memory import sequences
from flinchenv.experiments.self_play import MIRROR, SelfPlay
from flinchenv.experiments.state import load_state, newest_state, save_state
from flinchenv.experiments.train_ppo import Args, Network, Processes, Training, run

SMALL = SHORT_RUN | {"minibatches": 2, "memory": 4, "bf16": "off"}
GAMES = {  # name: id and rules
    "simultaneous": ("flip_it-tiny-v0", {"num_players": 3}),
    "in turn": ("flip_it-sequential-v0", {}),
    "Flinch": ("flinch-tiny-v0", {}),
    "Flash 10": ("flash10-tiny-v0", {}),
}


def small(folder, **changes):
    return Args(run=str(folder), **(SMALL | changes))


def training_of(folder, game="simultaneous", **changes):
    """A started training whose choices hang on its memory."""
    env_id, rules = GAMES[game]
    args = small(folder, env_id=env_id, rules=rules, **changes)
    found = Training(args, make_setup(env_id, None, rules, max_steps=args.max_steps or None), folder, Processes(0, 1))
    found.start()
    heads_by_memory(found.network)
    return found


def heads_by_memory(network):
    with torch.no_grad():
        network.policy.weight.mul_(100)
        network.policy.weight[:, -network.gru.hidden_size :].mul_(3)


@pytest.fixture
def saved(tmp_path):
    """The path of an agent that remembers, and its network."""
    found = training_of(tmp_path, "in turn")
    return found.export(), found.network


# -- while it learns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("changes", [{}, {"bf16": "on", "hidden": (64, 64)}, {"critic": "central"}])
def test_the_first_ratios_are_one(game, changes, tmp_path):
    found = training_of(tmp_path, game, anneal=False, **changes)
    for _ in range(3):
        before = found.network.state_dict()
        before = {name: tensor.clone() for name, tensor in before.items()}
        assert found.update()["train/first_ratio_error"] < 1e-5
        assert [name for name, tensor in found.network.state_dict().items() if (tensor == before[name]).all()] == []


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("max_steps", [0, 5])
def test_whole_sequences_give_what_single_decisions_gave(game, max_steps, tmp_path):
    found = training_of(tmp_path, game, mirror=0.5, max_steps=max_steps, num_envs=16, n_steps=14)
    play, network = found.play, found.network
    cut, told = [], []  # what is remembered where values alone are asked for

    def value_of(observation, view, memory):
        told.append(memory)
        return found._value_of(observation, view, memory)

    for _ in range(4):
        began = play.memories.kept.copy()
        play.play(found._act, value_of)
        cut += told[:-1]  # games that were truncated before the rollout's end
        told.clear()
        (part,) = play.sequences().parts(1)
        assert sorted(part.rows.tolist()) == list(range(int(play.chosen.sum())))
        batch = play.batch(play.chosen).rows(part.rows)
        with torch.no_grad():
            log_prob, _, values = found._evaluate(batch, part)
        assert log_prob.numpy() == pytest.approx(batch.log_prob.numpy(), abs=1e-5)
        assert values.numpy() == pytest.approx((batch.target - batch.advantage).numpy(), abs=1e-5)
        assert (play.began == began[..., : network.gru.hidden_size]).all()
    assert any(memory.any() for memory in cut) == (max_steps > 0)
    forgetful = part._replace(memory=torch.zeros_like(part.memory))
    assert max_steps or (found._evaluate(batch, forgetful)[0] - log_prob).abs().max() > 1e-3


@pytest.mark.parametrize("game", GAMES)
def test_a_seat_remembers_its_own_decisions_of_this_game(game, tmp_path):
    found = training_of(tmp_path, game, n_steps=5, mirror=0.5, opponents={"random": 1})
    play, network = found.play, found.network
    seen = {}  # (row, seat): the observations of its decisions in this game
    ends = 0
    for _ in range(24):
        playing, learners = play.playing.copy(), play.seat.copy()
        play.play(found._act, found._value_of)
        for t in range(5):
            for row, k in zip(*np.nonzero(play.chosen[t])):
                seen.setdefault((row, play.seats[t, row, k]), []).append(play.observation[t, row, k].copy())
            for row in np.flatnonzero(play.ended[t]):
                seen = {key: told for key, told in seen.items() if key[0] != row}
                ends += 1
        wanted = np.zeros_like(play.memories.kept)
        with torch.no_grad():
            for key, told in seen.items():
                x = network._through(network.trunk, network.inputs, torch.from_numpy(np.stack(told)))
                wanted[key] = network.gru(x[:, None])[1][0, 0]
        assert play.memories.kept == pytest.approx(wanted, abs=1e-5)
    assert wanted.any() and (ends or game == "Flinch") and {*playing} == {MIRROR, 0} and len({*learners}) > 1


def test_sequences_by_hand():
    asked = np.array([[0, 1], [1, 1], [0, 0], [0, 1], [1, 0]])[:, :, None]
    chosen = np.array([[1, 1], [1, 1], [1, 0], [1, 1], [1, 1]], bool)[:, :, None]
    ended = np.array([[0, 0], [0, 1], [0, 0], [0, 0], [0, 1]], bool)
    memory = np.arange(1, 5, dtype=np.float32).reshape(2, 2, 1)
    found = sequences(chosen, asked, ended, memory)
    # Row 0: seat 0 in steps 0, 2, 3, seat 1 in 1, 4. Row 1: seat 1 in 0, 1, then a new game: seat 0 in 4, seat 1 in 3.
    assert [part.tolist() for part in found.rows.split(found.lengths.tolist())] == [[0, 4, 5], [2, 7], [8], [1, 3], [6]]
    assert found.memory[:, 0].tolist() == [1, 2, 0, 4, 0]
    (part,) = found._replace().parts(1)
    starts = part.rows[: part.sizes[0]].tolist()
    assert part.sizes.tolist() == [5, 3, 1] and starts[0] == 0 and {*starts[1:3]} == {1, 2} and {*starts[3:]} == {6, 8}
    assert part.rows.tolist()[5:] == [4, *({1: 3, 2: 7}[i] for i in starts[1:3]), 5]
    assert part.memory[:, 0].tolist() == [{0: 1, 2: 2, 8: 0, 1: 4, 6: 0}[i] for i in starts]
    alone = sequences(chosen, asked, ended, memory[:, :, :0])
    assert alone.lengths.tolist() == [1] * 9 and alone.rows.tolist() == list(range(9))


def test_gradients_go_back_through_the_whole_sequence(tmp_path):
    found = training_of(tmp_path, "Flash 10")
    network, play = found.network, found.play
    for _ in range(3):
        play.play(found._act, found._value_of)
    (part,) = play.sequences().parts(1)
    batch = play.batch(play.chosen).rows(part.rows)
    assert len(part.sizes) > 4 and part.sizes[0] > part.sizes[-1] and part.memory.any()

    start = part.memory.clone().requires_grad_()
    last = part.sizes[-1]  # so many sequences are the longest, and their ends come last
    found._evaluate(batch, part._replace(memory=start))[2][-last:].sum().backward()
    assert (start.grad[:last] != 0).all() and not start.grad[last:].any()

    def gradients(loss):
        network.zero_grad()
        loss.backward()
        return [parameter.grad.clone() for parameter in network.parameters()]

    log_prob, _, values = found._evaluate(batch, part)
    at_once = gradients((log_prob * torch.arange(len(log_prob))).mean() + values.square().mean())
    steps, memory = [], part.memory
    for rows in torch.arange(len(part.rows)).split(part.sizes.tolist()):
        some = batch.rows(rows)
        logits, values, memory = network(some.observation, some.mask, some.view, memory[: len(rows)])
        steps.append((torch.log_softmax(logits, 1).gather(1, some.action[:, None])[:, 0], values))
    log_prob, values = map(torch.cat, zip(*steps))
    one_by_one = gradients((log_prob * torch.arange(len(log_prob))).mean() + values.square().mean())
    for mine, wanted in zip(at_once, one_by_one):
        torch.testing.assert_close(mine, wanted, rtol=1e-3, atol=1e-3 * float(wanted.abs().max()))


@pytest.mark.parametrize("memory", [0, 16])
def test_only_a_memory_learns_what_the_past_alone_tells(memory):
    # What entry 0 shows in the first of four decisions, which entry 1 marks, is asked for in the last one.
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    setup, length, count = make_setup("flip_it-tiny-v0"), 4, 64
    network = Network(setup, Args(env_id="flip_it-tiny-v0", hidden=(16,), memory=memory))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(200):
        seen = np.zeros((count, length, setup.layout.size), np.int8)
        seen[:, :, 0], seen[:, 0, 1] = rng.integers(2, size=(count, length)), 1
        cue = torch.from_numpy(seen[:, 0, 0] > 0).long()
        chosen, asked = np.ones((length, count, 1), bool), np.zeros((length, count, 1), int)
        told = sequences(chosen, asked, np.zeros((length, count), bool), np.zeros((count, 2, memory), np.float32))
        (part,) = told.parts(1)
        observation = torch.from_numpy(seen.transpose(1, 0, 2).reshape(-1, setup.layout.size))[part.rows]
        mask, view = torch.ones(len(observation), setup.num_actions), torch.zeros(len(observation), 0)
        logits, _, _ = network(observation, mask, view, part.memory, part.sizes)
        last = part.rows >= count * (length - 1)
        answer = cue[part.rows[last] % count]
        loss = torch.nn.functional.cross_entropy(logits[last], answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (logits[last].argmax(1) == answer).float().mean()
    assert right > 0.95 if memory else right < 0.75


def test_a_resumed_run_ends_as_one_that_was_never_stopped(tmp_path):
    changes = {"env_id": "flip_it-sequential-v0", "mirror": 0.3, "anneal": False}
    whole = run(small(tmp_path / "whole", **changes))
    stopped = run(small(tmp_path / "part", total_steps=400, **changes))
    assert newest_state(tmp_path / "part" / "state")[0]["memory"].any()
    resumed = run(small(tmp_path / "part", resume=True, **changes))
    assert stopped.steps < resumed.steps == whole.steps
    wanted, found = (load_checkpoint(result.checkpoint)[0] for result in (whole, resumed))
    assert all((found[name] == wanted[name]).all() for name in wanted)
    assert {"memory.0.weight", "memory.1.bias"} <= wanted.keys()


def test_a_run_of_before_there_were_memories_goes_on(tmp_path):
    first = run(small(tmp_path, memory=0, total_steps=400))
    path = max((tmp_path / "state").iterdir())
    arrays, facts = load_state(path)
    del facts["settings"]["memory"], arrays["memory"], facts["card"]["network"]["memory"]
    save_state(tmp_path / "state", facts["steps"], arrays, facts)
    assert run(small(tmp_path, memory=0, resume=True)).steps > first.steps
    with pytest.raises(RulesError, match="memory=4 is not allowed"):
        run(small(tmp_path, resume=True))


def test_imitation_teaches_a_memory_too(tmp_path, monkeypatch):
    plays = []

    def self_play(*given):
        plays.append(SelfPlay(*given))
        return plays[-1]

    monkeypatch.setattr(train_ppo, "SelfPlay", self_play)
    found = training_of(tmp_path, "Flash 10", imitate="rule", imitate_steps=20_000, learning_rate=3e-3, minibatches=8)
    untaught = training_of(tmp_path, "Flash 10")
    assert (found.network.gru.weight_hh_l0 != untaught.network.gru.weight_hh_l0).all()
    assert plays[1].began.any() and plays[1].args.imitate and not plays[1].pool.agents


# -- where it plays ----------------------------------------------------------------------------------------------------


@pytest.fixture
def views_tell_the_game(monkeypatch):
    """Views are (seed, episode, seat): what no agent is told otherwise, and what `Diary` checks its memory against."""

    def view(setup, games, seat):
        return int(games["seed"][0]), int(games["episode"][0]), seat

    for module in (seats, games_module):
        monkeypatch.setattr(module, "SeatView", view)


class Diary(UniformAgent):
    """Knows whose decisions it has been asked for, and that its memory is of these and no others."""

    name, needs_view, memory = "diary", True, 2

    def __init__(self):
        self.times = {}  # view: its decisions so far

    def act(self, observation, action_mask, rng, view=None, memory=None):
        """Uniform; the memory counts the decisions and holds a hash of the game and the seat."""
        assert memory.shape == (len(observation), 2) and memory.dtype == np.float32
        for key, row in zip(view, memory):
            times = self.times.get(key, 0)
            assert row.tolist() == [times, hash(key) % 1000 + 1 if times else 0]
            row[:] = times + 1, hash(key) % 1000 + 1
            self.times[key] = times + 1
        return super().act(observation, action_mask, rng)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.usefixtures("views_tell_the_game")
def test_seats_in_games_of_a_pair_have_memories_of_their_own(game):
    env_id, rules = GAMES[game]
    setup, diary = make_setup(env_id, None, {**rules, "num_players": 2}, max_steps=60), Diary()
    played = play_pair(setup, diary, UniformAgent(), 5, 2**31, 7)
    assert not any(played.faults)
    assert len(diary.times) > 5 and max(diary.times.values()) > 1


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.usefixtures("views_tell_the_game")
def test_opponents_of_a_batch_have_memories_of_their_own(game, pool):
    env_id, rules = GAMES[game]
    setup, diary = make_setup(env_id, None, rules, max_steps=60), Diary()
    opponents = [diary] * (setup.num_players - 1)
    if pool:
        opponents = OpponentPool()
        opponents.add(0, diary, 1)
        opponents.add(1, UniformAgent(), 1)
    env = SeatVecEnv(setup, 6, opponents)
    env.seed(3)
    env.reset()
    rng = np.random.default_rng(0)
    episodes = 0
    for step in range(150):
        mask = env.action_masks()
        if step == 70:
            kept, times = env.snapshot(), dict(diary.times)
        if step == 90:  # a batch that goes back remembers what it did then
            env.restore(kept)
            diary.times = times
            mask = env.action_masks()
        _, _, dones, _ = env.step((rng.random(mask.shape) * mask).argmax(1))
        episodes += dones.sum()
    assert episodes > 6 and max(diary.times.values()) > 1


@pytest.mark.usefixtures("views_tell_the_game")
def test_gym_opponents_remember_and_a_game_without_its_past_is_refused():
    env = flinchenv.make("flip_it-tiny-v0", "gym_vector", num_envs=4, opponents=(diary := Diary()), seat="rotate")
    _, info = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        mask = info["action_mask"]
        _, _, _, _, info = env.step((rng.random(mask.shape) * mask).argmax(1))
    assert len(diary.times) > 8 and max(diary.times.values()) > 1
    with pytest.raises(ValueError, match="opponents='diary' is not allowed: agents without a memory"):
        env.restore(env.snapshot())


@pytest.mark.parametrize("game", GAMES)
def test_opponents_of_a_learner_remember(game, tmp_path):
    class Counter(UniformAgent):
        memory = 1

        def act(self, observation, mask, rng, view=None, memory=None):
            memory += 1
            return super().act(observation, mask, rng)

    found = training_of(tmp_path, game, n_steps=1, mirror=0.3, opponents={"random": 1})
    play = found.play
    play.pool.agents[0] = Counter()
    counts, most = np.zeros((8, found.setup.num_players)), 0
    for _ in range(80):
        playing, seat = play.playing.copy(), play.seat.copy()
        play.play(found._act, found._value_of)
        others = (play.mask[0].sum(-1) > 1) & ~play.chosen[0]
        rows, k = np.nonzero(others)
        counts[rows, play.seats[0][rows, k]] += 1
        most = max(most, counts.max())
        counts[play.ended[0]] = 0
        theirs = np.arange(found.setup.num_players) != seat[:, None]
        theirs &= ((playing != MIRROR) & ~play.ended[0])[:, None]
        assert (play.memories.kept[theirs, 0] == counts[theirs]).all()
        assert not play.memories.kept[play.ended[0]].any()
    assert most > 1


@pytest.mark.usefixtures("views_tell_the_game")
def test_an_agent_that_is_asked_again_remembers_once():
    class Slow(Diary):
        asked = 0

        def act(self, *asked):
            if self.asked == 0:  # over the limit at the first call alone, which does not count
                time.sleep(0.5)
                self.asked, kept = 1, dict(self.times)
                chosen = super().act(*asked)
                self.times = kept
                return chosen
            return super().act(*asked)

    setup, slow = make_setup("flip_it-sequential-v0"), Slow()
    played = play_seeds(setup, slow, UniformAgent(), 2**31, 1, 0.2)
    assert not played.faults[0] and slow.asked and max(slow.times.values()) > 1


def test_the_demo_command_plays_agents_with_a_memory(saved, capsys):
    assert main(["demo", "flip_it-sequential-v0", saved[0], "random", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["actions"] > 0


# -- agents ------------------------------------------------------------------------------------------------------------


def decisions(setup, count=40):
    """[(observations, masks, whether rows began a new game)] of steps of 5 games of random play, seen by one seat."""
    env = flinchenv.make(setup.id, "gym_vector", rules=setup.rules, num_envs=5, autoreset_mode="SameStep")
    observation, info = env.reset(seed=1)
    rng, new = np.random.default_rng(0), np.ones(5, bool)
    for _ in range(count):
        mask = info["action_mask"]
        yield observation.copy(), mask.copy(), new
        observation, _, ended, cut, info = env.step((rng.random(mask.shape) * mask).argmax(1))
        new = ended | cut


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_numpy_and_frozen_forward_are_the_networks(game, activation, tmp_path):
    compare = {"Flinch": {"hand": 4, "hand_cards": 2}, "Flash 10": {"row": 3, "held": 1}}.get(game, {"points": 2})
    shape = {"hidden": (16, 12), "memory": 7, "bins": 3, "compare": compare, "relations": game == "Flinch"}
    found = training_of(tmp_path, game, activation=activation, **shape)
    tensors, card = load_checkpoint(found.export())
    assert card["network"]["memory"] == 7
    agent = NetworkAgent(found.setup, tensors, card)
    frozen = PolicyAgent(found._policy_tensors(), activation, found.league.inputs)
    assert agent.memory == frozen.memory == 7
    memory = torch.zeros(5, 7)
    mine, theirs, apart = np.zeros((3, 5, 7), np.float32)
    for observation, mask, new in decisions(found.setup):
        for kept in (memory, mine, theirs, apart):
            kept[new] = 0
        values = agent.values(observation, mine)
        probs = [agent.probs(observation, mask, None, mine), frozen.probs(observation, mask, None, theirs)]
        single = [agent.probs(observation[i : i + 1], mask[i : i + 1], None, mine[i : i + 1]) for i in range(5)]
        for i in range(5):
            agent.act(observation[i : i + 1], mask[i : i + 1], np.random.default_rng(0), None, apart[i : i + 1])
        agent.act(observation, mask, np.random.default_rng(0), None, mine)
        frozen.act(observation, mask, np.random.default_rng(0), None, theirs)
        with torch.no_grad():
            told = (torch.from_numpy(part) for part in (observation, mask, np.zeros((5, 0))))
            logits, value, after = found.network(*told, memory)
        free = torch.from_numpy(mask.sum(1) > 1)[:, None]
        memory = torch.where(free, after, memory)
        for one in probs:
            np.testing.assert_allclose(one, torch.softmax(logits.double(), 1).numpy(), atol=2e-5)
        np.testing.assert_allclose(values, value.numpy(), atol=1e-5)
        np.testing.assert_allclose(mine, memory.numpy(), atol=1e-5)
        np.testing.assert_allclose(theirs, memory.numpy(), atol=1e-5)
        assert (np.concatenate(single) == probs[0]).all() and (apart == mine).all()
    assert mine.any()


def test_a_single_legal_action_leaves_no_trace(saved):
    agent = load(saved[0])
    mask = np.zeros((2, agent.setup.num_actions), np.int8)
    mask[0, :2], mask[1, 3] = 1, 1
    memory = np.full((2, 4), 0.5, np.float32)
    observation = np.ones((2, agent.setup.layout.size), np.int8)
    assert agent.act(observation, mask, np.random.default_rng(0), None, memory)[1] == 3
    assert (memory[0] != 0.5).all() and (memory[1] == 0.5).all()


def test_a_tournament_is_the_same_for_any_workers_and_batch_size(saved):
    agents = (saved[0], "rule:1", "random")
    one, *others = (
        tournament.run(tournament.Args("flip_it-sequential-v0", agents, 40, **how)).data
        for how in ({}, {"batch_size": 2}, {"batch_size": 10, "workers": 2})
    )
    assert all(other == one for other in others)
    assert sum(row["forfeits"] for row in one["agents"]) == 0

    class Forgetful(RememberingAgent):
        name = saved[0]

        def recall(self, observation, mask, memory):
            agent = load(saved[0])
            return agent.recall(observation, mask, np.zeros((len(mask), agent.memory), np.float32))[0], memory

    assert tournament.run(tournament.Args("flip_it-sequential-v0", (Forgetful(), *agents[1:]), 40)).data != one


def test_past_selves_and_the_curve_remember(tmp_path):
    result = run(small(tmp_path, mirror=0.2))
    assert json.loads((tmp_path / "curve.json").read_text())[-1]["step"] == result.steps
    again = run(small(tmp_path / "league", opponents={result.checkpoint: 1}, mirror=0.2))
    assert again.steps >= 1024
    plain = run(small(tmp_path / "plain", opponents={result.checkpoint: 1}, memory=0))
    assert load(plain.checkpoint).memory == 0


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory": -1}, "memory=-1 is not allowed: a whole number in 0..1024"),
        ({"memory": 1025}, "memory=1025 is not allowed"),
        ({"minibatches": 9}, "minibatches=9 is not allowed: 1..8, of whole rows"),
    ],
)
def test_bad_settings_are_refused_before_training(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(small(tmp_path, **changes))


def test_an_agent_that_is_asked_without_its_memory_refuses_by_name(saved):
    agent = load(saved[0])
    asked = np.zeros((1, agent.setup.layout.size), np.int8), np.ones((1, agent.setup.num_actions), np.int8)
    for memory in (None, np.zeros((1, 3), np.float32), np.zeros((2, 4), np.float32)):
        for ask in (
            lambda *told: agent.act(*asked, np.random.default_rng(0), *told),
            lambda *told: agent.probs(*asked, *told),
        ):
            with pytest.raises(ValueError, match=f"memory of agent '{agent.name}'"):
                ask(None, memory)


def test_exploitability_and_imitation_refuse_agents_with_a_memory(tmp_path):
    path = run(small(tmp_path)).checkpoint
    with pytest.raises(RulesError, match="one without a memory"):
        exploitability(make_setup("flip_it-tiny-v0"), path)
    with pytest.raises(RulesError, match="imitate="):
        training.prepare(small(tmp_path / "pupil", imitate=path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors, card: tensors.pop("memory.1.weight"), "memory.1 lacks"),
        (lambda tensors, card: card["network"].update(memory=5), "policy has the shapes"),
        (lambda tensors, card: card["network"].update(memory=-1), "'memory'"),
        (lambda tensors, card: tensors.update({"memory.0.bias": np.zeros(3, np.float32)}), "memory has the shapes"),
    ],
)
def test_checkpoints_that_are_not_what_the_card_says_are_refused(change, message, saved, tmp_path):
    tensors, card = load_checkpoint(saved[0])
    change(tensors, card)
    with pytest.raises(ValueError, match=message):
        save_checkpoint(tmp_path / "changed", tensors, card)
