"""Training: what the learner is told, what it learns from, and that a stopped run goes on as if it had not been."""

import dataclasses
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from short_runs import SHORT_RUN
from stable_baselines3.common.vec_env import VecMonitor

import flinchenv
from flinchenv.adapters.sb3 import OpponentPool, SeatVecEnv
from flinchenv.agents.checkpoint import load_checkpoint
from flinchenv.agents.load import load
from flinchenv.agents.uniform import UniformAgent
from flinchenv.core.params import RulesError
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import train
from flinchenv.experiments import train_maskable_ppo as training
from flinchenv.experiments.curve import measure
from flinchenv.experiments.league import League
from flinchenv.experiments.settings import read_settings
from flinchenv.experiments.state import load_state, newest_state, save_state
from flinchenv.experiments.train_maskable_ppo import Args, main, run

REPOSITORY = pathlib.Path(__file__).parent.parent
GAMES = {  # name: id and rules
    "two players": ("flip_it-v0", {}),
    "three players, joint": ("flip_it-v0", {"num_players": 3, "actions": "joint"}),
    "four players, in turn": ("flip_it-sequential-v0", {"num_players": 4}),
    "one hand": ("flip_it-hand-v0", {}),
    "capture": ("flip_it-capture-v0", {"num_players": 3}),
    "tiny": ("flip_it-tiny-v0", {}),
}
SMALL = SHORT_RUN | {"batch_size": 64}


def small(folder, **changes):
    return Args(run=str(folder), **(SMALL | changes))


def environment(id, rules, num_envs=16, max_steps=None, opponents=None, seed=5):
    """A SeatVecEnv against random opponents, dealt, and its first observation."""
    setup = make_setup(id, None, rules, max_steps=max_steps)
    env = SeatVecEnv(setup, num_envs, opponents or [UniformAgent()] * (setup.num_players - 1))
    env.seed(seed)
    return env, env.reset()


def random_actions(env, rng):
    masks = np.stack(env.env_method("action_masks"))
    return (rng.random(masks.shape) * masks).argmax(1)


def model_of(env, **changes):
    """An untrained model whose minibatch is the whole rollout."""
    n_steps = changes.pop("n_steps", 16)
    whole = {"num_envs": env.num_envs, "n_steps": n_steps, "batch_size": env.num_envs * n_steps}
    return training.make_model(Args(hidden=(8,), **whole, **changes), env)


def fill_buffer(model, env):
    """Collect one rollout; the buffer, still in (steps, rows)."""
    callback = model._setup_learn(10**6)[1]
    model.collect_rollouts(env, callback, model.rollout_buffer, model.n_steps)
    return model.rollout_buffer


def parameters_hash(checkpoint):
    tensors, _ = load_checkpoint(checkpoint)
    return hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).hexdigest()


# -- the environment ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_vec_env_pays_the_learner_what_the_core_pays(game):
    env, _ = environment(*GAMES[game])
    rng = np.random.default_rng(1)
    paid, lengths, ended = np.zeros(env.num_envs), np.zeros(env.num_envs, int), 0
    for _ in range(600):
        _, rewards, dones, infos = env.step(random_actions(env, rng))
        paid += rewards
        lengths += 1
        for row in np.flatnonzero(dones):
            info = infos[row]
            assert paid[row] == pytest.approx(info["returns"][info["seat"]], abs=1e-4)
            assert info["episode"]["r"] == pytest.approx(paid[row]) and info["episode"]["l"] == lengths[row]
            paid[row] = lengths[row] = 0
            ended += 1
        assert all(info == {} for row, info in enumerate(infos) if not dones[row])
    assert ended == (env.batch.games["episode"]).sum() - env.batch.skipped_games.sum()
    assert ended >= env.num_envs


@pytest.mark.parametrize("game", GAMES)
def test_vec_env_rows_play_as_single_environments(game):
    id, rules = GAMES[game][0], GAMES[game][1] | {"max_hands": 20}
    env, observation = environment(id, rules, num_envs=3, seed=40)
    singles = [flinchenv.make(id, "gym", opponents="random", seat="rotate", **rules) for _ in range(3)]
    for row, single in enumerate(singles):
        assert np.array_equal(single.reset(seed=40 + row)[0], observation[row])
    rng = np.random.default_rng(2)
    ended = 0
    for _ in range(150):
        actions = random_actions(env, rng)
        observation, rewards, dones, infos = env.step(actions)
        for row, single in enumerate(singles):
            seen, reward, terminated, truncated, _ = single.step(int(actions[row]))
            assert (reward, terminated or truncated) == (rewards[row], dones[row])
            if dones[row]:
                ended += 1
                assert np.array_equal(infos[row]["terminal_observation"], seen)
                seen, _ = single.reset()
            assert np.array_equal(observation[row], seen)
    assert ended


def test_vec_env_hands_out_copies():
    env, first = environment(*GAMES["two players"])
    kept = first.copy()
    _, rewards, _, _ = env.step(random_actions(env, np.random.default_rng(3)))
    kept_rewards = rewards.copy()
    env.step(random_actions(env, np.random.default_rng(4)))
    assert np.array_equal(first, kept) and np.array_equal(rewards, kept_rewards)


def test_vec_env_works_with_sb3s_own_tools():
    env, _ = environment(*GAMES["tiny"], num_envs=4)
    model = model_of(env)
    mean, _ = evaluate_policy(model, VecMonitor(env), n_eval_episodes=20, warn=False)
    assert -10 < mean < 10


def test_illegal_actions_are_refused_by_row():
    env, _ = environment(*GAMES["two players"])
    masks = env.action_masks()
    actions = random_actions(env, np.random.default_rng(0))
    actions[3] = np.flatnonzero(~masks[3])[0]
    with pytest.raises(ValueError, match="row 3, player_"):
        env.step(actions)


def test_snapshot_and_restore_replay_the_same_games():
    pool = OpponentPool()
    pool.add(0, UniformAgent(), 1)
    pool.add(1, load("rule", make_setup("flip_it-v0")), 1)
    env, _ = environment("flip_it-v0", {}, opponents=pool)
    snapshot = env.snapshot()
    traces = []
    for _ in range(2):
        env.restore(snapshot)
        rng = np.random.default_rng(6)
        steps = [env.step(random_actions(env, rng)) for _ in range(200)]
        traces.append([(o.tobytes(), r.tobytes(), d.tobytes()) for o, r, d, _ in steps])
    assert traces[0] == traces[1]


# -- the pool ----------------------------------------------------------------------------------------------------------


class Marked(UniformAgent):
    """Random play that notes each time it is asked."""

    def __init__(self, key, log):
        self.key, self.log = key, log

    def act(self, observation, action_mask, rng, view=None):
        self.log.append(self.key)
        return super().act(observation, action_mask, rng, view)


def test_an_episode_has_one_opponent_from_its_deal_to_its_end():
    log, pool = [], OpponentPool()
    for key in range(3):
        pool.add(key, Marked(key, log), 1)
    env, _ = environment("flip_it-v0", {"num_players": 3, "max_hands": 4}, num_envs=1, opponents=pool)
    rng = np.random.default_rng(7)
    met = set()
    for step in range(1000):
        log.clear()
        before = int(env.batch.playing[0])
        dones = env.step(random_actions(env, rng))[2]
        after = int(env.batch.playing[0])
        assert set(log) <= {before, after}
        assert dones[0] or after == before
        met.add(before)
        if step == 501:  # a change of the pool waits for the next deal
            pool.weights[0] = 0
            pool.add(3, Marked(3, log), 1)
    assert met == {0, 1, 2, 3}
    pool.forget({after})
    assert list(pool.agents) == [1, 2, 3]


def test_past_selves_play_on_in_rows_that_began_against_them():
    pool = OpponentPool()
    pool.add(0, UniformAgent(), 1)
    env, _ = environment("flip_it-v0", {"max_hands": 20}, num_envs=32, opponents=pool)
    rng = np.random.default_rng(7)
    env.step(random_actions(env, rng))
    pool.weights[0] = 0
    pool.add(1, UniformAgent(), 1)
    while 0 in env.batch.playing:
        pool.forget(set(env.batch.playing.tolist()))
        before = env.batch.playing.copy()
        dones = env.step(random_actions(env, rng))[2]
        assert np.array_equal(env.batch.playing[~dones], before[~dones])
        assert (env.batch.playing[dones] == 1).all()
    pool.forget(set(env.batch.playing.tolist()))
    assert list(pool.agents) == [1]


def test_the_pool_draws_by_weight():
    pool = OpponentPool()
    for key, weight in enumerate((1, 0, 3)):
        pool.add(key, UniformAgent(), weight)
    drawn = pool.draw(np.random.default_rng(0).random(40_000))
    assert np.bincount(drawn, minlength=3) / 40_000 == pytest.approx([0.25, 0, 0.75], abs=0.01)


def test_the_league_keeps_a_bounded_number_of_past_selves_and_lets_them_end_their_games():
    setup = make_setup("flip_it-tiny-v0")
    league = League(setup, {"random": 1, "self": 3}, past_selves=2, activation="tanh")
    shape = (setup.num_actions, setup.layout.size)
    for _ in range(5):
        tensors = {"policy.0.weight": np.zeros(shape, np.float32), "policy.0.bias": np.zeros(shape[0], np.float32)}
        league.add_self(tensors, np.array([0, 1]))
    assert league.pool.weights == {0: 1, 1: 0, 4: 1.5, 5: 1.5}
    copy = League(setup, {"random": 1, "self": 3}, past_selves=2, activation="tanh")
    copy.restore(league.arrays(), league.next_key, np.array([0, 1]))
    assert copy.pool.weights == league.pool.weights and list(copy.pool.agents) == list(league.pool.agents)


# -- what PPO learns from ----------------------------------------------------------------------------------------------


def test_rollouts_hold_legal_actions_only_and_every_reward():
    env, _ = environment(*GAMES["two players"])
    buffer = fill_buffer(model_of(env), env)
    taken = np.take_along_axis(buffer.action_masks, buffer.actions.astype(int), 2)
    assert taken.all()


def test_gae_of_a_rollout_is_the_sum_by_hand():
    env, _ = environment(*GAMES["tiny"])
    model = model_of(env, n_steps=32, gae_lambda=0.9, gamma=0.8)
    buffer = fill_buffer(model, env)
    last = model.policy.predict_values(torch.from_numpy(model._last_obs)).detach().numpy()[:, 0]
    for row in range(env.num_envs):
        values = np.append(buffer.values[:, row], last[row])
        ends = np.append(buffer.episode_starts[1:, row], model._last_episode_starts[row])
        for step in range(32):
            advantage, weight = 0.0, 1.0
            for later in range(step, 32):
                following = 0.0 if ends[later] else values[later + 1]
                advantage += weight * (buffer.rewards[later, row] + 0.8 * following - values[later])
                weight *= 0.8 * 0.9
                if ends[later]:
                    break
            assert buffer.advantages[step, row] == pytest.approx(advantage, abs=1e-4)


def test_with_a_value_of_zero_advantages_are_what_the_rest_of_the_game_pays():
    env, _ = environment(*GAMES["one hand"], num_envs=64)
    model = model_of(env, n_steps=2, gae_lambda=1.0)  # a hand is two decisions: guess and play
    with torch.no_grad():
        model.policy.value_net.weight.zero_()
        model.policy.value_net.bias.zero_()
    buffer = fill_buffer(model, env)
    assert (buffer.rewards[0] == 0).all() and buffer.rewards[1].any()
    assert np.array_equal(buffer.advantages[0], buffer.rewards[1])
    assert np.array_equal(buffer.advantages[1], buffer.rewards[1])


def test_a_truncated_game_is_flagged_and_learns_from_the_value_of_its_last_observation():
    env, _ = environment("flip_it-v0", {}, max_steps=3)
    model = model_of(env, n_steps=3)
    seen = []

    def step_wait(step_wait=env.step_wait):
        seen.append(step_wait())
        observation, rewards, dones, infos = seen[-1]
        seen[-1] = (rewards.copy(), infos)  # MaskablePPO adds to its rewards
        return observation, rewards, dones, infos

    env.step_wait = step_wait
    buffer = fill_buffer(model, env)
    rewards, infos = seen[-1]
    assert all(info["TimeLimit.truncated"] and info["end_reason"] == "max_steps" for info in infos)
    assert not any(info for _, early in seen[:-1] for info in early)
    final = np.stack([info["terminal_observation"] for info in infos])
    values = model.policy.predict_values(torch.from_numpy(final)).detach().numpy()[:, 0]
    assert buffer.rewards[2] == pytest.approx(rewards + values, abs=1e-5)


def test_a_finished_game_is_not_flagged_as_truncated():
    env, _ = environment(*GAMES["one hand"])
    rng = np.random.default_rng(8)
    ends = [info for _ in range(10) for info in env.step(random_actions(env, rng))[3] if info]
    assert ends and not any(info["TimeLimit.truncated"] for info in ends)


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """A whole small run."""
    return run(small(tmp_path_factory.mktemp("unbroken") / "run"))


def test_a_run_leaves_what_it_says(unbroken):
    folder = pathlib.Path(unbroken.run)
    assert unbroken.steps == 1024 and unbroken.seconds > 0
    assert pathlib.Path(unbroken.curve).read_bytes().startswith(b"\x89PNG")
    assert list(folder.glob("events.out.tfevents.*")) and (folder / "curve.json").exists()
    agent = load(unbroken.checkpoint, "flip_it-tiny-v0")
    row = measure(agent, UniformAgent(), agent.setup, 20)
    assert row["games"] == 20 and row["ci95"][0] <= row["win_rate"] <= row["ci95"][1]


def test_the_exported_agent_plays_as_the_trained_network(unbroken):
    setup = make_setup("flip_it-tiny-v0")
    agent = load(unbroken.checkpoint, setup)
    arrays, _ = newest_state(pathlib.Path(unbroken.run) / "state")
    env, observation = environment("flip_it-tiny-v0", {}, num_envs=64)
    model = model_of(env)
    policy = {k.removeprefix("model."): torch.from_numpy(v) for k, v in arrays.items() if k.startswith("model.")}
    model.policy.load_state_dict(policy)
    masks = env.action_masks()
    with torch.no_grad():
        wanted = model.policy.get_distribution(torch.from_numpy(observation), masks).distribution.probs.numpy()
    assert agent.probs(observation, masks.astype(np.int8)) == pytest.approx(wanted, abs=1e-5)


def test_the_exported_agent_loads_without_torch(unbroken):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from flinchenv.agents.load import load\n"
        f"print(load({unbroken.checkpoint!r}).name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("agent-1024"), done.stderr


def test_equal_seeds_give_equal_runs_and_others_differ(unbroken, tmp_path):
    again = run(small(tmp_path / "again"))
    other = run(small(tmp_path / "other", seed=1))
    assert parameters_hash(again.checkpoint) == parameters_hash(unbroken.checkpoint)
    assert parameters_hash(other.checkpoint) != parameters_hash(unbroken.checkpoint)


def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(unbroken, tmp_path):
    folder = tmp_path / "killed"
    sets = [f"{key}={value}" for key, value in _texts(SMALL | {"run": folder}).items()]
    command = [sys.executable, "-m", "flinchenv.experiments.train_maskable_ppo"]
    command += [word for text in sets for word in ("--set", text)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120
    while (
        not list((folder / "state").glob("*[1-9]*.safetensors")) and process.poll() is None and time.monotonic() < limit
    ):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, process.stderr.read()
    process.stderr.close()
    _, facts = newest_state(folder / "state")
    assert 0 < facts["steps"] < 1024
    resumed = run(small(folder, resume=True))
    assert resumed.steps == 1024
    assert parameters_hash(resumed.checkpoint) == parameters_hash(unbroken.checkpoint)


def _texts(settings):
    """Settings as they are written in TOML."""

    def text(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f'"{k}" = {text(v)}' for k, v in value.items()) + "}"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, tuple):
            return "[" + ", ".join(text(v) for v in value) + "]"
        return str(value) if isinstance(value, (int, float)) else f'"{value}"'

    return {key: text(value) for key, value in settings.items()}


def test_ctrl_c_leaves_a_state_and_an_agent_and_the_run_can_go_on(unbroken, tmp_path, monkeypatch):
    update = training.Training.update

    def update_then_ctrl_c(self):
        scalars = update(self)
        if self.updates == 3:
            signal.raise_signal(signal.SIGINT)
        return scalars

    with monkeypatch.context() as patch:
        patch.setattr(training.Training, "update", update_then_ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            run(small(tmp_path))
    assert load(str(tmp_path / "agent-384.safetensors"), "flip_it-tiny-v0").setup.id == "flip_it-tiny-v0"
    resumed = run(small(tmp_path, resume=True))
    assert parameters_hash(resumed.checkpoint) == parameters_hash(unbroken.checkpoint)


def test_a_failing_save_leaves_the_state_before(tmp_path, monkeypatch):
    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == 4:  # the untrained network, two updates, and this
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="No space left"):
        run(small(tmp_path))
    monkeypatch.undo()
    _, facts = newest_state(tmp_path / "state")
    assert facts["steps"] == 2 * 128
    assert not list((tmp_path / "state").glob(".*"))
    assert run(small(tmp_path, resume=True)).steps == 1024


def test_damaged_states_are_refused_and_the_one_before_is_taken(tmp_path, capsys):
    for step in (1, 2):
        save_state(tmp_path, step, {"x": np.arange(100.0) + step}, {"steps": step})
    newest = tmp_path / "000000000000002.safetensors"
    whole = newest.read_bytes()
    rng = np.random.default_rng(9)
    damages = [whole[:cut] for cut in (0, 7, 100, len(whole) - 1)]
    for at in rng.integers(len(whole), size=60):
        damages.append(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
    for damaged in damages:
        newest.write_bytes(damaged)
        arrays, facts = newest_state(tmp_path)
        assert facts == {"steps": 1} and arrays["x"][0] == 1
        assert "000000000000002.safetensors" in capsys.readouterr().err
    (tmp_path / ".state.half").write_bytes(whole)
    newest.write_bytes(whole)
    assert newest_state(tmp_path)[1] == {"steps": 2}
    assert load_state(newest)[0]["x"][0] == 2


def test_a_run_is_not_overwritten_and_not_resumed_with_other_settings(unbroken):
    with pytest.raises(RulesError, match="a folder without a run; resume=True"):
        run(small(unbroken.run))
    with pytest.raises(RulesError, match=r"gamma=0.5 is not allowed: the run in .* has 1.0"):
        run(small(unbroken.run, resume=True, gamma=0.5))


def test_a_run_of_another_version_of_the_game_is_not_resumed(unbroken, tmp_path):
    arrays, facts = newest_state(pathlib.Path(unbroken.run) / "state")
    facts["card"]["game_version"] += 1
    save_state(tmp_path / "state", facts["steps"], arrays, facts)
    with pytest.raises(RulesError, match="checkpoint's game_version"):
        run(small(tmp_path, resume=True))


def test_a_short_run_on_the_tiny_game_beats_random(tmp_path):
    args = read_settings(Args, "flip_it-tiny-v0", [f"run={tmp_path}", "total_steps=30_000", "progress=false"])
    args = dataclasses.replace(args, opponents={"random": 1}, eval_against=("random",), eval_every=10**6)
    done = run(args)
    agent = load(done.checkpoint, args.env_id)
    row = measure(agent, UniformAgent(), agent.setup, 1000)
    assert row["mean_return_ci95"][0] > 0 and row["ci95"][0] > 0.5


# -- settings ----------------------------------------------------------------------------------------------------------

REFUSED = [
    ("n_steps=3", "batch_size"),
    ("batch_size=1", "batch_size"),
    ("batch_size=100", "a divisor of num_envs \\* n_steps = 16384"),
    ("learning_rate=0", "learning_rate=0 .*above 0"),
    ("learning_rate=-1e-3", "learning_rate"),
    ("learning_rate=nan", "learning_rate=nan"),
    ("learning_rate=true", "learning_rate=True"),
    ('learning_rate="1e-3"', "learning_rate"),
    ("gamma=1.5", "gamma=1.5 is not allowed: a number in 0..1"),
    ("gae_lambda=-0.1", "gae_lambda"),
    ("ent_coef=inf", "ent_coef"),
    ("num_envs=0", "num_envs=0"),
    ("num_envs=1000000000", "num_envs"),
    ("num_envs=2.0", "num_envs=2.0"),
    ("total_steps=0", "total_steps"),
    ("seed=-1", "seed=-1"),
    ("seed=1.5", "seed=1.5"),
    ("hidden=[]", "hidden"),
    ("hidden=[0]", "hidden=0"),
    ("activation=gelu", "activation='gelu' .*'relu', 'tanh'"),
    ("torch_threads=0", "torch_threads"),
    ("resume=1", "resume=1"),
    ("max_steps=-1", "max_steps"),
    ("env_id=flip_it-v9", "flip_it-v9.*did you mean"),
    ("rules.num_players=5", "num_players=5 .*2..4"),
    ("rules.num_palyers=3", "did you mean 'num_players'"),
    ("opponents={}", "opponents"),
    ("opponents.random=0", "opponents"),
    ("opponents.randm=1", "randm"),
    ("opponents.held_out:1=1", "opponents='held_out:1' .*evaluation"),
    ("imitate=held_out:2", "imitate='held_out:2' .*evaluation"),
    ('eval_against=["held_out"]', "eval_against='held_out' .*evaluation"),
    ("eval_against=[]", "eval_against"),
    ('eval_against=["random", "nobody"]', "nobody"),
    ("run=/dev/null/run", "run='/dev/null/run' .*written"),
    ("learning_rat=1", "did you mean 'learning_rate'"),
    ("learning_rate", "key=value"),
    ("seed.x=1", "seed"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_bad_settings_are_refused_before_training(text, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "Training", None)
    assert main(["--set", text]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this one is empty"),
        ("# nothing\n", "this one is empty"),
        ("seed = 1\nseed = 2\n", "not TOML"),
        ("seed: 1\n", "not TOML"),
        ("\tseed = [\n", "not TOML"),
        ("\xff", "not TOML"),
        ("gama = 0.9\n", "did you mean 'gamma'"),
        ("[ppo]\nseed = 1\n", "'ppo' is not a setting"),
        ('seed = "1"\n', "seed='1'"),
        ("x = 1\n" * 20_000, "at most 65536 bytes"),
    ],
)
def test_bad_files_are_refused(text, message, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RulesError, match=message):
        read_settings(Args, path)


def test_unknown_configs_are_refused_with_the_known_names():
    with pytest.raises(RulesError, match="flip_it-joint-4p, flip_it-ppo, flip_it-tiny-v0, flip_it-v0"):
        read_settings(Args, "flip_it-v1")


@pytest.mark.parametrize("config", sorted(path.name for path in (REPOSITORY / "configs").glob("*.toml")))
def test_shipped_configs_can_start_and_are_short(config, tmp_path):
    lines = (REPOSITORY / "configs" / config).read_text().splitlines()
    assert 4 <= len(lines) <= 15
    module, settings = train.read(config, [f"run={tmp_path}"])
    assert config.startswith(make_setup(settings.env_id, None, settings.rules).game.name)
    if module is training:
        _, _, state = training.prepare(settings)
        assert state is None


def test_no_code_of_the_trainer_loads_pickles():
    files = [*(REPOSITORY / "experiments").glob("*.py"), *(REPOSITORY / "flinchenv" / "adapters").glob("*.py")]
    loaders = ("pickle.load", "from pickle", "Unpickler", "torch.load", "torch.save", "model.save", "np.load(")
    for path in [*files, *(REPOSITORY / "agents").glob("*.py")]:
        source = path.read_text()
        assert not any(word in source for word in loaders), path
