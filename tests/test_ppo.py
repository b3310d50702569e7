"""PPO in self-play: whose decisions are learnt from, what they are worth, and that runs resume, alone and together."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
from short_runs import SHORT_RUN

from flinchenv.adapters.sb3 import OpponentPool
from flinchenv.agents.checkpoint import load_checkpoint
from flinchenv.agents.gate import ILLEGAL
from flinchenv.agents.load import load
from flinchenv.agents.network import NetworkAgent
from flinchenv.agents.uniform import UniformAgent
from flinchenv.core.params import RulesError
from flinchenv.core.spec import RUNNING
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import train
from flinchenv.experiments.curve import measure
from flinchenv.experiments.self_play import MIRROR, SelfPlay, fill_advantages
from flinchenv.experiments.state import load_state, newest_state
from flinchenv.experiments.train_ppo import Args, Network, Processes, Training, multiplies_bf16, run

ALONE = Processes(0, 1)
SMALL = SHORT_RUN | {"minibatches": 2}
GAMES = {  # name: id and rules
    "simultaneous": ("flip_it-v0", {"num_players": 3}),
    "in turn": ("flip_it-sequential-v0", {}),
    "Flinch": ("flinch-tiny-v0", {}),
}


def small(folder, **changes):
    return Args(run=str(folder), **(SMALL | changes))


def training_of(folder, **changes):
    args = small(folder, **changes)
    return Training(args, make_setup(args.env_id, None, args.rules, max_steps=args.max_steps or None), folder, ALONE)


def self_play(game, pool=None, **changes):
    """Games of a `SelfPlay`, dealt, and its setup."""
    env_id, rules = GAMES[game]
    setup = make_setup(env_id, None, rules, max_steps=changes.pop("max_steps", None))
    args = Args(**(SMALL | {"env_id": env_id, "rules": rules} | changes))
    play = SelfPlay(setup, args, pool or OpponentPool(), np.random.default_rng(3))
    play.env.reset(seed=4)
    play.draw_opponents(np.arange(args.num_envs))
    return play, setup


def uniform(rng):
    """A way to act for `SelfPlay.play`: any legal action, with values that tell decisions apart."""

    def act(observation, mask, view, memory):
        values = rng.random(len(mask)).astype(np.float32)
        return (rng.random(mask.shape) * mask).argmax(1), np.full(len(mask), -1, np.float32), values, memory

    return act


def half(observation, view, memory):
    return np.full(len(observation), 0.5, np.float32)


# -- advantages --------------------------------------------------------------------------------------------------------


def test_advantages_of_a_turn_of_several_plays_by_hand():
    # Seat 0 plays twice and discards, seat 1 plays once and discards, seat 0 ends the game; shaping pays on the way.
    seats = np.array([0, 0, 0, 1, 1, 0]).reshape(6, 1, 1)
    rewards = np.array([[0.1, 0], [0.2, 0], [0, 0], [-0.3, 0.3], [0, 0], [1, -1]], np.float32).reshape(6, 1, 2)
    values = np.array([0.5, 0.4, 0.3, -0.2, -0.1, 0.6], np.float32).reshape(6, 1, 1)
    ended = np.array([0, 0, 0, 0, 0, 1], bool).reshape(6, 1)
    advantages = np.zeros((6, 1, 1), np.float32)
    last = np.full((1, 2), 9, np.float32)  # of the next game, which is not these decisions' affair
    fill_advantages(
        rewards, ended, np.zeros_like(rewards), seats, np.ones((6, 1, 1), bool), values, last, 0.9, 0.5, advantages
    )
    # With gamma 0.9 and lambda 0.5 an advantage is delta + 0.45 * the advantage of the seat's own next decision.
    fifth = 1 - 0.6
    fourth = -1 - (-0.1)  # what seat 1 loses at the end belongs to its last decision
    third = 0.3 + 0.9 * -0.1 - (-0.2) + 0.45 * fourth
    second = -0.3 + 0.9 * 0.6 - 0.3 + 0.45 * fifth  # and so does what seat 1's play costs seat 0
    first = 0.2 + 0.9 * 0.3 - 0.4 + 0.45 * second
    zeroth = 0.1 + 0.9 * 0.4 - 0.5 + 0.45 * first
    assert advantages[:, 0, 0] == pytest.approx([zeroth, first, second, third, fourth, fifth], abs=1e-6)


def plain_advantages(play, last, gamma, gae_lambda):
    """The same as lists: each seat's decisions of each game, one after the other."""
    wanted = np.zeros(play.advantage.shape)
    steps, games, _ = play.seats.shape
    for i in range(games):
        for p in range(play.setup.num_players):
            chain = []  # [index, value, earned, what follows if it is the last of its game]
            for t in range(steps):
                for k in np.flatnonzero((play.seats[t, i] == p) & play.chosen[t, i]):
                    chain.append([(t, i, k), play.value[t, i, k], 0.0, None])
                if chain and chain[-1][3] is None:
                    chain[-1][2] += play.rewards[t, i, p]
                if play.ended[t, i] and chain and chain[-1][3] is None:
                    chain[-1][3] = play.cut_values[t, i, p]
            advantage = 0.0
            for j in range(len(chain) - 1, -1, -1):
                index, value, earned, end = chain[j]
                following = chain[j + 1][1] if j + 1 < len(chain) else last[i, p]
                if end is not None:
                    following, advantage = end, 0.0
                advantage = earned + gamma * following - value + gamma * gae_lambda * advantage
                wanted[index] = advantage
    return wanted


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("max_steps", [None, 7])
def test_advantages_follow_each_seats_own_decisions(game, max_steps):
    play, setup = self_play(game, max_steps=max_steps, n_steps=600, gamma=0.97, gae_lambda=0.8, rules=GAMES[game][1])
    play.play(uniform(np.random.default_rng(0)), half)
    assert play.ended.any()
    cut = play.cut_values.any(2)
    assert cut.any() == (max_steps is not None)
    assert (play.cut_values[cut] == 0.5).all()
    last = np.full((play.env.num_envs, setup.num_players), 0.5)
    wanted = plain_advantages(play, last, 0.97, 0.8)
    assert play.advantage[play.chosen] == pytest.approx(wanted[play.chosen], abs=1e-5)
    batch = play.batch(play.chosen)
    assert batch.target.numpy() == pytest.approx((wanted + play.value)[play.chosen], abs=1e-5)


# -- whose decisions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_only_free_decisions_of_the_learners_seats_are_learnt_from(game):
    class Spy(UniformAgent):
        asked = 0

        def act(self, observation, mask, rng, view=None):
            self.asked += len(mask)
            assert (mask.sum(1) > 1).all()
            return super().act(observation, mask, rng, view)

    pool = OpponentPool()
    pool.add(0, spy := Spy(), 1)
    play, _ = self_play(game, pool, mirror=0.5, n_steps=1, num_envs=64)
    others = 0
    for _ in range(30):
        playing, seat = play.playing.copy(), play.seat.copy()
        play.play(uniform(np.random.default_rng(0)), half)
        free = play.mask.sum(-1) > 1
        mine = (playing == MIRROR)[None, :, None] | (play.seats == seat[None, :, None])
        assert (play.chosen == (free & mine)).all()
        others += (free & ~mine).sum()
        assert set(playing) == {MIRROR, 0}
    assert spy.asked == others > 0


def test_an_episode_has_one_learners_seat_from_its_deal_to_its_end():
    pool = OpponentPool()
    pool.add(0, UniformAgent(), 1)
    play, setup = self_play("Flinch", pool, mirror=0.5, n_steps=1, num_envs=32)
    seats = []
    for _ in range(80):
        before = play.playing.copy(), play.seat.copy()
        play.play(uniform(np.random.default_rng(0)), half)
        same = ~play.ended[0]
        assert (play.playing[same] == before[0][same]).all()
        assert (play.seat[same] == before[1][same]).all()
        seats += play.seat.tolist()
    assert np.bincount(seats, minlength=setup.num_players).min() > 0


def test_actions_are_drawn_by_their_probabilities(tmp_path):
    training = training_of(tmp_path, env_id="flip_it-v0", hidden=(8,))
    torch.nn.init.normal_(training.network.policy.weight, std=2)  # far from uniform
    n, env = 100_000, training.play.env
    env.reset(seed=1)
    observation, mask = (np.repeat(part[0, :1], n, 0) for part in (env.observation, env.action_mask))
    nothing = np.zeros((n, 0), np.float32)
    actions, log_prob, _, _ = training._act(observation, mask, nothing, nothing)
    chance = np.zeros(len(mask[0]))
    chance[actions] = np.exp(log_prob)
    assert (mask[0, actions] == 1).all() and (chance > 0).sum() > 5
    assert np.bincount(actions, minlength=len(chance)) / n == pytest.approx(chance, abs=0.008)
    assert chance.max() > 2 * np.median(chance[chance > 0])


def test_a_single_legal_action_has_probability_one():
    setup = make_setup("flinch-tiny-v0")
    network = Network(setup, Args(hidden=(8,)))
    mask = torch.eye(setup.num_actions, dtype=torch.int8)
    observation, nothing = torch.ones(len(mask), setup.layout.size, dtype=torch.int8), torch.zeros(len(mask), 0)
    logits, _, _ = network(observation, mask, nothing, nothing)
    probs = torch.softmax(logits, 1)
    assert (probs.diagonal() == 1).all()
    assert (probs.sum(1) == 1).all()
    assert (logits[mask == 0] == ILLEGAL).all()


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("bf16", ["off", "on"])
def test_the_first_ratios_are_one(game, bf16, tmp_path):
    env_id, rules = GAMES[game]
    training = training_of(tmp_path, env_id=env_id, rules=rules, bf16=bf16, hidden=(64, 64), anneal=False)
    training.start()
    for _ in range(3):
        before = training.network.tensors()
        scalars = training.update()
        assert scalars["train/first_ratio_error"] < 1e-5
        after = training.network.tensors()
        assert [name for name in before if (after[name] == before[name]).all()] == []
    assert training.steps > 0


def test_bf16_is_chosen_by_the_processor(tmp_path):
    assert training_of(tmp_path).bf16 == multiplies_bf16()
    assert training_of(tmp_path, bf16="on").bf16
    assert not training_of(tmp_path, bf16="off").bf16


def test_a_central_critic_sees_the_referees_view_and_the_seat(tmp_path):
    training = training_of(tmp_path, env_id="flinch-tiny-v0", critic="central", max_steps=9, num_envs=16)
    training.start()
    play, env = training.play, training.play.env
    state, seat = env.state(), env.current_player.copy()
    size = training.setup.state_layout.size
    training.update()
    assert (play.view[0, :, 0, :size] == state).all()
    assert (play.view[0, :, 0, size:] == np.eye(2)[seat]).all()
    assert play.cut_values.any()
    training.update()
    tensors, card = load_checkpoint(training.export())
    assert {name.split(".")[0] for name in tensors} == {"policy"}
    agent = load(str(tmp_path / f"agent-{training.steps}"), "flinch-tiny-v0")
    assert agent.probs(env.observation, env.action_mask).sum(1) == pytest.approx(np.ones(16))
    assert card["network"]["hidden"] == [8]


@pytest.mark.parametrize("memory", [0, 5])
def test_the_value_of_a_critic_apart_leaves_the_policy_alone(memory, tmp_path):
    training = training_of(tmp_path, env_id="flinch-tiny-v0", critic="apart", memory=memory, minibatches=1, n_epochs=1)
    training.start()
    network, play = training.network, training.play
    training.update()
    (part,) = play.sequences().parts(1)
    batch = play.batch(play.chosen).rows(part.rows)
    values = training._evaluate(batch, part)[2]
    network.zero_grad()
    values.sum().backward()
    learns = {name.split(".")[0] for name, p in network.named_parameters() if p.grad is not None and p.grad.any()}
    assert learns == {"critic", "value"}
    alone = network.value_of(batch.observation, batch.view, part.memory)
    assert alone.detach().numpy() == pytest.approx(values.detach().numpy(), abs=0.02)
    tensors, _ = load_checkpoint(training.export())
    assert not [name for name in tensors if name.startswith(("value", "critic"))]


def test_agents_kept_greedy_are_measured_greedy(tmp_path):
    training = training_of(tmp_path, env_id="flash10-tiny-v0", greedy=True, eval_games=40, eval_against=("rule",))
    training.start()
    agent = load(training.export(), training.setup)
    assert agent.greedy and agent.card["network"]["greedy"]
    env = training.play.env
    rows = env.action_mask.sum(2) > 1
    found = agent.probs(env.observation[rows], env.action_mask[rows])
    assert (found.max(1) == 1).all()
    sampled = NetworkAgent(training.setup, load_checkpoint(training.export())[0], agent.card, greedy=False)
    assert (sampled.probs(env.observation[rows], env.action_mask[rows]).max(1) < 1).all()
    points = [training.add_point()["rule"] for _ in range(2)]
    assert points[0] == points[1] == measure(agent, load("rule", training.setup), training.setup, 40)


def test_shaping_fades_away_and_is_no_rule_of_the_agent(tmp_path):
    training = training_of(tmp_path, env_id="flinch-v0", shaping=0.8, shaping_until=0.5, total_steps=2000, n_steps=32)
    training.start()
    weights = []
    while training.steps < 2000:
        share = training.steps / 2000
        training.update()
        weights.append(float(training.params["shaping_weight"][0]))
        assert weights[-1] == pytest.approx(0.8 * max(0, 1 - share / 0.5))
        if len(weights) == 1:
            games = training.play.env.snapshot().games
            assert games["returns"][games["end_reason"] == RUNNING].any()  # only shaping pays before the end
    assert weights[0] == pytest.approx(0.8)
    assert weights[-1] == 0
    assert training.card()["rules"]["shaping"] == 0
    assert training.setup.params["shaping_weight"][0] == 0


def test_a_run_leaves_agents_that_play_as_its_network(tmp_path):
    result = run(small(tmp_path, total_steps=3000, keep=3))
    agents = sorted(tmp_path.glob("agent-*.safetensors"))
    assert len(agents) >= 3
    assert {"curve.png", "curve.json", "state"} <= {path.name for path in tmp_path.iterdir()}
    curve = json.loads((tmp_path / "curve.json").read_text())
    assert curve[0]["step"] == 0
    assert curve[-1]["step"] == result.steps >= 3000
    arrays, facts = newest_state(tmp_path / "state")
    assert facts["steps"] == result.steps
    tensors, _ = load_checkpoint(result.checkpoint)
    assert (tensors["policy.0.weight"] == arrays["network.trunk.0.weight"]).all()
    assert (tensors["policy.1.weight"] == arrays["network.policy.weight"]).all()
    assert (tensors["value.1.weight"] == arrays["network.value.weight"]).all()


def test_a_resumed_run_ends_as_one_that_was_never_stopped(tmp_path):
    changes = {"env_id": "flinch-tiny-v0", "mirror": 0.3, "anneal": False}
    whole = run(small(tmp_path / "whole", **changes))
    stopped = run(small(tmp_path / "part", total_steps=400, **changes))
    resumed = run(small(tmp_path / "part", resume=True, **changes))
    assert stopped.steps < resumed.steps == whole.steps
    wanted, _ = load_checkpoint(whole.checkpoint)
    found, _ = load_checkpoint(resumed.checkpoint)
    assert all((found[name] == wanted[name]).all() for name in wanted)


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_can_begin_with_another(whole, tmp_path):
    """With all of its network, the critic among it, or with the policy that it left."""
    shape = {"critic": "apart", "memory": 3}
    first = run(small(tmp_path / "first", **shape))
    start = str(tmp_path / "first") if whole else first.checkpoint
    more = training_of(tmp_path / "more", start=start, seed=1, learning_rate=1e-2, **shape)
    fresh = {name: tensor.clone() for name, tensor in more.network.state_dict().items()}
    more.start()
    arrays, _ = newest_state(tmp_path / "first" / "state")
    for name, tensor in more.network.state_dict().items():
        taken = whole or name.startswith(("trunk", "policy", "gru"))
        assert torch.equal(tensor, torch.from_numpy(arrays[f"network.{name}"]) if taken else fresh[name])
    more.save()
    if whole:
        with pytest.raises(RulesError, match="critic='own' is not allowed"):
            run(small(tmp_path / "other", start=start, memory=3))
    (tmp_path / "first").rename(tmp_path / "gone")
    result = run(small(tmp_path / "more", resume=True, start=start, seed=1, learning_rate=1e-2, **shape))
    card = load_checkpoint(result.checkpoint)[1]
    begun_with = card["training"]["begun_with"]
    assert begun_with["training"]["steps"] == first.steps
    assert ("sha256" in begun_with) == (not whole)


def test_imitation_learns_a_bots_choices(tmp_path):
    training = training_of(
        tmp_path, env_id="flash10-tiny-v0", imitate="rule", imitate_steps=40_000, imitate_batch=16, imitate_rate=3e-3
    )
    training.start()
    teacher, env = load("rule", training.setup), training.play.env
    observation = env.observation.reshape(-1, training.setup.layout.size)
    mask = env.action_mask.reshape(-1, training.setup.num_actions)
    wanted = teacher.act(observation, mask, np.random.default_rng(0))
    agent = load(training.export(), training.setup)
    chance = agent.probs(observation, mask)[np.arange(len(mask)), wanted].mean()
    assert chance > 2 * (1 / mask.sum(1)).mean(), chance


def test_bots_that_count_what_no_observation_shows_teach_and_oppose(tmp_path):
    training = training_of(
        tmp_path,
        env_id="flash10-tiny-v0",
        imitate="rule:2",
        imitate_steps=1000,
        opponents={"rule:2": 1},
        mirror=0.0,
        compare={"row": 3, "held": 1},
    )
    training.start()
    asked = []
    bot = training.league.pool.agents[0]
    choose = bot.choose_in

    def watch(games, rows, seats, mask):
        found = choose(games, rows, seats, mask)
        asked.append(mask[np.arange(len(found)), found].all() and (seats != training.play.seat[rows]).all())
        return found

    bot.choose_in = watch
    training.update()
    assert asked and all(asked)
    assert load(training.export(), training.setup).card["network"]["compare"] == {"row": 3, "held": 1}


def test_a_run_broken_off_after_imitation_need_not_imitate_again(tmp_path, monkeypatch):
    wanted = {"env_id": "flash10-tiny-v0", "imitate": "rule", "imitate_steps": 2_000}
    with monkeypatch.context() as patch:
        patch.setattr(Training, "update", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(small(tmp_path, **wanted))
    monkeypatch.delattr(Training, "_imitate")
    assert run(small(tmp_path, **wanted, resume=True)).steps > 0


def test_a_short_run_beats_random(tmp_path):
    result = run(
        small(
            tmp_path, env_id="flash10-tiny-v0", total_steps=60_000, num_envs=64, n_steps=64, hidden=(32, 32),
            learning_rate=3e-3, eval_every=10**6, eval_games=300, mirror=1,
        )
    )  # fmt: skip
    curve = json.loads(pathlib.Path(result.run, "curve.json").read_text())
    assert curve[-1]["against"]["random"]["ci95"][0] > 0.55


# -- several processes -------------------------------------------------------------------------------------------------


def torchrun(folder, *settings):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29617"]
    command += ["-m", "flinchenv.experiments.train_ppo"]
    values = SMALL | {"run": str(folder)}
    for name, value in values.items():
        text = "{random=1, self=2}" if name == "opponents" else json.dumps(value)
        command += ["--set", f"{name}={text}"]
    for text in settings:
        command += ["--set", text]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=300
    )


def test_two_processes_train_one_network(tmp_path):
    imitation = {"imitate": "random", "imitate_steps": 1000, "imitate_batch": 1}  # of unequal numbers of decisions
    unequal = {"env_id": "flinch-tiny-v0"} | imitation
    done = torchrun(tmp_path, "total_steps=600", *(f"{name}={json.dumps(value)}" for name, value in unequal.items()))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    states = [newest_state(tmp_path / name) for name in ("state", "state-1")]
    networks = [{k: v for k, v in arrays.items() if k.startswith("network.")} for arrays, _ in states]
    assert all((networks[0][name] == networks[1][name]).all() for name in networks[0])
    assert (states[0][0]["games"] != states[1][0]["games"]).any()
    assert states[0][1]["steps"] == states[1][1]["steps"] == result["steps"]
    with pytest.raises(RulesError, match="processes=1 is not allowed"):
        run(small(tmp_path, total_steps=2000, resume=True, **unequal))


@pytest.mark.slow
def test_two_processes_go_on_together(tmp_path):
    for steps in (600, 1200):
        done = torchrun(tmp_path, f"total_steps={steps}", "resume=true", "memory=4")
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["steps"] >= 1200
    states = [newest_state(tmp_path / name)[0] for name in ("state", "state-1")]
    assert all((states[0][name] == states[1][name]).all() for name in states[0] if name.startswith("network."))


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shaping": 0.5}, "shaping=0.5 is not allowed"),
        ({"minibatches": 0}, "minibatches=0 is not allowed"),
        ({"mirror": 1.5}, "mirror=1.5 is not allowed"),
        ({"critic": "both"}, "critic='both' is not allowed"),
        ({"bf16": "fast"}, "bf16='fast' is not allowed"),
        ({"hidden": []}, "hidden="),
        ({"opponents": {"nobody": 1}}, "agent='nobody'"),
        ({"opponents": {"search:8": 1}}, "opponents='search:8' is not allowed"),
        ({"compare": {"row": 0}}, "compare.row=0 is not allowed"),
        ({"compare": {"nothing": 1}}, "compare=.*'nothing'"),
        ({"shaping_until": 0}, "shaping_until=0"),
        ({"start": "nobody"}, "agent='nobody'"),
        ({"start": "rule"}, "start='rule' is not allowed"),
        ({"start": "."}, "start='.' is not allowed"),
        ({"start": "flash10-2p"}, "checkpoint's game"),
        ({"start": "flip_it-2p", "env_id": "flip_it-v0"}, r"hidden=\[8\].*128"),
        ({"start": "flip_it-2p", "env_id": "flip_it-v0", "imitate": "rule"}, "start='flip_it-2p' is not allowed"),
    ],
)
def test_bad_settings_are_refused_before_training(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(small(tmp_path / "run", **changes))
    assert not list(tmp_path.glob("run/agent*"))


def test_a_run_is_not_overwritten_nor_resumed_with_other_settings(tmp_path):
    run(small(tmp_path, total_steps=100))
    with pytest.raises(RulesError, match="run="):
        run(small(tmp_path, total_steps=100))
    with pytest.raises(RulesError, match="mirror="):
        run(small(tmp_path, resume=True, mirror=0.1))
    assert load_state(next((tmp_path / "state").iterdir()))[1]["processes"] == 1


def test_a_config_can_ask_for_it():
    module, args = train.read(None, ["trainer=ppo", "env_id=flinch-tiny-v0"])
    assert module.run is run
    assert isinstance(args, Args)
