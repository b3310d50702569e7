"""The same seed and the same choices give the same game through every API, batch size, row and number of threads."""

import pickle

import gymnasium
import numpy as np
import pytest

import flinchenv

CASES = [(id, {"num_players": n}) for id in flinchenv.list_envs() for n in (2, 3, 4)]
CASES += [
    ("flip_it-v0", {"num_players": 4, "actions": "joint", "play_cards": "consumed", "obs_history": 4}),
    ("flip_it-v0", {"num_players": 3, "no_guess_cards": "continue", "loser_guess": "discard", "goal": ("hands", 25)}),
    ("flip_it-v0", {"num_players": 3, "scoring": "capture", "capture_multi": "share", "reward": "win"}),
    ("flip_it-sequential-v0", {"num_players": 4, "no_guess_cards": "continue", "loser_guess": "discard"}),
]
ROUNDS = 150


def pick(seed, round_number, seat, mask):
    """A legal id that depends on nothing but the game's seed, the round and the seat."""
    legal = np.flatnonzero(mask)
    return int(legal[hash((seed, round_number, seat)) % len(legal)])


def through_aec(id, options, seed, env=None):
    """What happened, round by round: (observations and masks asked, actions, rewards), then the final info."""
    env = env or flinchenv.make(id, **options)
    env.reset(seed=seed)
    trace, n, number = [], len(env.possible_agents), 0
    while env.agents and len(trace) < ROUNDS:
        shown, order = [], list(env._order)
        for seat in order:
            observation, _, over, cut, _ = env.last()
            assert not (over or cut)
            assert env.agent_selection == f"player_{seat}"
            shown.append((seat, observation["observation"].tobytes(), observation["action_mask"].tobytes()))
            env.step(pick(seed, number, seat, observation["action_mask"]))
        rewards = [env.rewards[f"player_{p}"] for p in range(n)]
        trace.append((shown, np.float32(rewards).tolist()))
        number += 1
        if env.terminations["player_0"] or env.truncations["player_0"]:
            info = env.infos["player_0"]
            last = [env.observe(a)["observation"].tobytes() for a in env.possible_agents]
            return trace, {k: info[k] for k in ("scores", "winners", "end_reason", "length", "returns")}, last
    return trace, None, None


def through_parallel(id, options, seed):
    env = flinchenv.make(id, "parallel", **options)
    observations, _ = env.reset(seed=seed)
    trace, number = [], 0
    while env.agents and len(trace) < ROUNDS:
        asked = list(env._aec._order)
        shown = [
            (
                p,
                observations[f"player_{p}"]["observation"].tobytes(),
                observations[f"player_{p}"]["action_mask"].tobytes(),
            )
            for p in asked
        ]
        actions = {
            agent: pick(seed, number, p, observations[agent]["action_mask"])
            for p, agent in enumerate(env.possible_agents)
        }
        observations, rewards, over, cut, infos = env.step(actions)
        trace.append((shown, np.float32(list(rewards.values())).tolist()))
        number += 1
        if over["player_0"] or cut["player_0"]:
            info = infos["player_0"]
            last = [observations[a]["observation"].tobytes() for a in env.possible_agents]
            return trace, {k: info[k] for k in ("scores", "winners", "end_reason", "length", "returns")}, last
    return trace, None, None


def through_vector(id, options, seeds, rows, threads=1):
    """Traces of some rows of a batch with these seeds."""
    env = flinchenv.make(id, "vector", num_envs=len(seeds), threads=threads, **options)
    env.reset(seed=np.array(seeds))
    probe = flinchenv.make(id, **options)  # tells who is asked
    n, views, players = len(seeds), env._mask.shape[1], env.num_players
    traces, results, number = {r: [] for r in rows}, dict.fromkeys(rows), 0
    while number < ROUNDS and any(results[r] is None for r in rows):
        actions = np.zeros((n, views), np.int64)
        shown = {r: [] for r in rows}
        for r in range(n):
            for v in range(views):
                seat = v if views > 1 else int(env.current_player[r])
                actions[r, v] = pick(int(seeds[r]), number, seat, env._mask[r, v])
                if r in rows:
                    shown[r].append((seat, env._observation[r, v].tobytes(), env._mask[r, v].tobytes()))
        step = env.step(actions if views > 1 else actions[:, 0])
        number += 1
        for r in rows:
            if results[r] is None:
                traces[r].append((shown[r], step.rewards[r].tolist()))
                if step.terminated[r] or step.truncated[r]:
                    last = [step.final_observation[r, p].tobytes() for p in range(players)]
                    results[r] = (env.final_info_of(r), last)
    del probe
    return {r: (traces[r], *(results[r] or (None, None))) for r in rows}


def asked_only(trace, reference):
    """The trace without seats that were not asked, which a batch shows with their one legal id."""
    result = []
    for (shown, rewards), (asked, _) in zip(trace, reference):
        seats = {seat for seat, *_ in asked}
        result.append(([s for s in shown if s[0] in seats], rewards))
    return result


@pytest.mark.parametrize(("id", "options"), CASES)
def test_aec_parallel_and_vector_agree(id, options):
    for seed in (0, 77, 2**40):
        trace, info, last = through_aec(id, options, seed)
        if flinchenv.spec(id).simultaneous:
            assert through_parallel(id, options, seed) == (trace, info, last)
        for n, row in ((1, 0), (7, 3), (64, 63)):
            seeds = [1000 + k for k in range(n)]
            seeds[row] = seed
            got, got_info, got_last = through_vector(id, options, seeds, [row])[row]
            assert asked_only(got, trace) == trace, (n, row)
            assert (got_info, got_last) == (info, last)


def test_threads_change_nothing():
    options = {"num_players": 3}
    seeds = list(range(33))
    one = through_vector("flip_it-v0", options, seeds, list(range(33)))
    assert through_vector("flip_it-v0", options, seeds, list(range(33)), threads=4) == one


def test_raw_env_is_the_same_game():
    from flinchenv import flip_it_v0

    for seed in range(3):
        raw = through_aec("flip_it-v0", {}, seed, flip_it_v0.raw_env())
        assert raw == through_aec("flip_it-v0", {}, seed)


class Scripted:
    """An opponent that plays `pick`: the seed it is told, the round and seat it reads from its view."""

    name, needs_view = "scripted", True

    def __init__(self, seed):
        self.seed = seed

    def act(self, observation, action_mask, rng, view=None):
        rounds = [int(v.determinize(1, 0)[0].steps) for v in view]
        return np.array([pick(self.seed, r, v.seat, m) for r, v, m in zip(rounds, view, action_mask)])


@pytest.mark.parametrize(("id", "options"), CASES)
def test_gym_plays_the_same_game(id, options):
    players = options["num_players"]
    for seed in (5, 6):
        trace, info, last = through_aec(id, options, seed)
        for seat in range(players):
            env = flinchenv.make(id, "gym", opponents=Scripted(seed), seat=seat, **options)
            observation, gym_info = env.reset(seed=seed)
            mine, earned, over = [], 0.0, False
            while not over and env._batch.games[0].steps < len(trace):
                number = int(env._batch.games[0].steps)
                mine.append((number, observation.tobytes(), gym_info["action_mask"].tobytes()))
                action = pick(seed, number, seat, gym_info["action_mask"])
                observation, reward, over, _, gym_info = env.step(action)
                earned += reward
            expected = [(number, *rest) for number, (shown, _) in enumerate(trace) for s, *rest in shown if s == seat]
            assert mine == expected[: len(mine)]
            if info is not None:
                assert len(mine) == len(expected)
                assert observation.tobytes() == last[seat]
                assert {k: gym_info[k] for k in info} == info
                assert earned == pytest.approx(info["returns"][seat], abs=1e-5)


def test_gym_vector_rows_play_as_single_environments():
    for id in ("flip_it-v0", "flip_it-sequential-v0"):
        for seat in (0, "rotate", "random"):
            batch = flinchenv.make(id, "gym_vector", num_envs=5, num_players=3, seat=seat, autoreset_mode="SameStep")
            singles = [flinchenv.make(id, "gym", num_players=3, seat=seat) for _ in range(5)]
            observation, info = batch.reset(seed=10)
            shown = [env.reset(seed=10 + k) for k, env in enumerate(singles)]
            rng = np.random.default_rng(0)
            for _ in range(200):
                for k in range(5):
                    assert (observation[k] == shown[k][0]).all()
                    assert (info["action_mask"][k] == shown[k][-1]["action_mask"]).all()
                    assert info["seat"][k] == shown[k][-1]["seat"]
                actions = np.array([rng.choice(np.flatnonzero(info["action_mask"][k])) for k in range(5)])
                observation, rewards, over, _, info = batch.step(actions)
                shown = [env.step(int(a)) for env, a in zip(singles, actions)]
                assert rewards.tolist() == [s[1] for s in shown]
                assert over.tolist() == [s[2] for s in shown]
                for k in np.flatnonzero(over):
                    assert (info["final_obs"][k] == shown[k][0]).all()
                    assert info["final_info"]["scores"][k].tolist() == shown[k][4]["scores"]
                    assert info["final_info"]["end_reason"][k] == shown[k][4]["end_reason"]
                    shown[k] = singles[k].reset()


@pytest.mark.parametrize("policy", ["forfeit", "random_legal"])
def test_illegal_actions_mean_the_same_in_every_api(policy):
    for seed in range(5):
        options = {"illegal_action": policy, "num_players": 3}
        aec = flinchenv.make("flip_it-v0", **options)
        aec.reset(seed=seed)
        for action in (3, 26, 4):  # player_1 plays a card while guessing
            aec.step(action)
        parallel = flinchenv.make("flip_it-v0", "parallel", **options)
        parallel.reset(seed=seed)
        _, rewards, _, _, infos = parallel.step({"player_0": 3, "player_1": 26, "player_2": 4})
        vector = flinchenv.make("flip_it-v0", "vector", num_envs=4, **options)
        vector.reset(seed=np.array([9, 9, seed, 9]))
        legal = vector.action_mask.argmax(-1)
        legal[2] = 3, 26, 4
        step = vector.step(legal)
        assert infos["player_1"]["illegal_action"] == aec.infos["player_1"]["illegal_action"] == 26
        assert "illegal_action" not in infos["player_0"]
        assert step.illegal_action.tolist() == [[False] * 3, [False] * 3, [False, True, False], [False] * 3]
        assert rewards == aec.rewards
        assert list(rewards.values()) == step.rewards[2].tolist()
        assert (aec.state() == parallel.state()).all()
        if policy == "forfeit":
            assert rewards == {"player_0": 0.5, "player_1": -1.0, "player_2": 0.5}
            assert infos["player_0"]["end_reason"] == "forfeit"
            assert infos["player_0"]["winners"] == [0, 2]
            assert vector.final_info_of(2)["end_reason"] == "forfeit"
        else:
            assert (aec.state() == vector.state()[2]).all()


def test_all_offend_and_nobody_wins_or_loses():
    env = flinchenv.make("flip_it-v0", "parallel", illegal_action="forfeit")
    env.reset(seed=0)
    _, rewards, over, _, infos = env.step({"player_0": 26, "player_1": 26})
    assert list(rewards.values()) == [0.0, 0.0]
    assert all(over.values())
    assert infos["player_0"]["winners"] == []


def test_raise_changes_no_row():
    env = flinchenv.make("flip_it-v0", "vector", num_envs=3)
    env.reset(seed=0)
    before = env.snapshot().games.tobytes()
    actions = env.action_mask.argmax(-1)
    for bad in (-1, 26, 27, 10**6):
        actions[1, 1] = bad
        with pytest.raises(ValueError, match="row 1, player_1"):
            env.step(actions)
        assert env.snapshot().games.tobytes() == before


def test_max_steps_truncates_in_every_api():
    for id in ("flip_it-v0", "flip_it-sequential-v0"):
        vector = flinchenv.make(id, "vector", num_envs=2, max_steps=5)
        vector.reset(seed=0)
        for number in range(5):
            masks = vector._mask
            actions = np.array([[pick(r, number, v, masks[r, v]) for v in range(masks.shape[1])] for r in range(2)])
            step = vector.step(actions if masks.shape[1] > 1 else actions[:, 0])
        assert step.truncated.all()
        assert not step.terminated.any()
        assert vector.final_info_of(0)["end_reason"] == "max_steps"
        trace, *_ = through_aec(id, {"max_steps": 5}, 0)
        assert len(trace) == 5
        env = flinchenv.make(id, "gym", max_steps=5)
        env.reset(seed=0)
        cut = over = False
        while not (cut or over):
            _, _, over, cut, info = env.step(int(env.action_masks().argmax()))
        assert (over, cut, info["end_reason"]) == (False, True, "max_steps")


class Spy:
    """An opponent that keeps what it was shown."""

    name, needs_view = "spy", True

    def __init__(self):
        self.views = []

    def act(self, observation, action_mask, rng, view=None):
        self.views += view
        return action_mask.argmax(1)


def test_a_view_tells_the_seat_what_it_may_know_and_no_more():
    spy = Spy()
    env = flinchenv.make("flip_it-v0", "gym", opponents=spy)
    env.reset(seed=1)
    env.step(7)
    env.step(23)
    guessing, playing = spy.views[:2]
    aec = flinchenv.make("flip_it-v0")
    aec.reset(seed=1)
    key = env.setup.game.information_state
    assert guessing.information_state() == key(aec._games[0], env.setup.rules, 1)
    aec.step(7)
    aec.step(0)
    assert playing.information_state() == key(aec._games[0], env.setup.rules, 1)
    redrawn = playing.determinize(2000, 5)
    assert set(redrawn["guess"][:, 1].tolist()) == {0}, "its own guess stays"
    assert set(redrawn["guess"][:, 0].tolist()) == set(range(11)), "the other's is any of its cards"
    kept = pickle.loads(pickle.dumps(playing))
    hidden = [value for value in kept.__dict__.values() if isinstance(value, np.ndarray)]
    assert all((games["seed"] != 1).all() for games in hidden)


@pytest.mark.parametrize("choice", [-1, 27, 10**12, 0.0, "0", None])
def test_an_opponents_bad_choice_is_named(choice):
    class Bad:
        name = "bad"

        def act(self, observation, action_mask, rng, view=None):
            return np.array([choice] * len(observation))

    for api in ("gym", "gym_vector"):
        env = flinchenv.make("flip_it-v0", api, opponents=Bad())
        env.reset(seed=0)
        with pytest.raises(ValueError, match="agent 'bad'"):
            env.step(np.array([3]) if api == "gym_vector" else 3)


@pytest.mark.parametrize("policy", ["forfeit", "random_legal"])
@pytest.mark.parametrize("action", [26, 255, 2**63, 2**64, -5])
def test_odd_illegal_actions_are_illegal_and_no_more(policy, action):
    env = flinchenv.make("flip_it-v0", "gym", illegal_action=policy)
    env.reset(seed=0)
    assert env.step(action)[-1]["illegal_action"] == action
    if action == 255:
        batch = flinchenv.make("flip_it-v0", "gym_vector", num_envs=2, illegal_action=policy)
        batch.reset(seed=0)
        info = batch.step(np.array([255, 3], np.uint8))[-1]
        assert info["illegal_action"].tolist() == [255, -1]


def test_an_illegal_action_of_a_turn_based_game_is_told_at_the_agents_next_turn():
    env = flinchenv.make("flip_it-sequential-v0", illegal_action="random_legal")
    env.reset(seed=1)
    env.step(26)
    while env.agent_selection != "player_0":
        env.step(int(env.last()[0]["action_mask"].argmax()))
    assert env.last()[-1]["illegal_action"] == 26
    env.step(int(env.last()[0]["action_mask"].argmax()))
    assert "illegal_action" not in env.infos["player_0"]


def test_a_rollout_leaves_seeds_copies_and_returns_right():
    env = flinchenv.make("flip_it-v0", "vector", num_envs=3, num_players=3)
    env.reset(seed=5)
    played = env.rollout()
    games = env.snapshot().games
    assert (games["end_reason"] > 0).all()
    assert np.allclose(games["returns"][:, :3], played.returns)
    assert played.finished.tolist() == [1, 1, 1]
    copy = pickle.loads(pickle.dumps(env))
    assert copy.snapshot().games.tobytes() == games.tobytes()
    with pytest.raises(RuntimeError, match="ended rows"):
        env.step(np.zeros((3, 3), int))
    env.reset()
    assert env._games["seed"].tolist() == [5, 6, 7]
    assert env._games["episode"].tolist() == [1, 1, 1]
    capped = flinchenv.make("flip_it-v0", "vector", num_envs=3, max_steps=5)
    capped.reset(seed=0)
    capped.rollout()
    assert capped._games["steps"].tolist() == [5, 5, 5]
    assert capped._games["truncated"].all()


def test_a_copy_of_a_batch_shows_what_the_batch_shows():
    env = flinchenv.make("flip_it-hand-v0", "vector", num_envs=3)
    env.reset(seed=0)
    for _ in range(2):
        step = env.step(env.action_mask.argmax(-1))
    assert step.terminated.all()
    copy = pickle.loads(pickle.dumps(env))
    for name in ("observation", "action_mask", "rewards", "terminated", "final_observation"):
        assert (getattr(copy, name) == getattr(env, name)).all()
    assert copy.final_info_of(1) == env.final_info_of(1)
    assert env.final_info["winners"].dtype == bool
    env.copy_rows([0], [2])
    assert env.terminated.tolist() == [True, True, False], "other rows keep what the step said"


@pytest.mark.parametrize("api", ["gym", "gym_vector"])
def test_snapshots_pass_between_the_gymnasium_apis_and_the_others(api):
    aec = flinchenv.make("flip_it-v0", num_players=3)
    aec.reset(seed=9)
    for action in (1, 2, 3):
        aec.step(action)
    env = flinchenv.make("flip_it-v0", api, num_players=3)
    observation, _ = env.restore(aec.snapshot())
    assert np.ravel(observation).tolist() == aec.observe("player_0")["observation"].tolist()
    back = flinchenv.make("flip_it-v0", num_players=3)
    back.restore(env.snapshot())
    assert (back.state() == aec.state()).all()
    assert env.step(np.array([21]) if api == "gym_vector" else 21)[1] is not None


def test_make_vec_works_in_every_mode_of_gymnasium():
    for mode in ("sync", "vector_entry_point"):
        env = gymnasium.make_vec("flinchenv/flip_it-v0", num_envs=2, vectorization_mode=mode)
        env.reset(seed=1)
        env.close()


ALL_SHOWN = [
    {"actions": "joint", "num_players": 4},
    {"actions": "joint", "num_players": 3, "loser_guess": "discard", "no_guess_cards": "continue"},
    {"actions": "joint", "scoring": "capture", "capture_multi": "share"},
    {"actions": "joint", "win_rule": "closest", "guess_max": 4, "goal": ("hands", 6)},
    {"actions": "joint", "play_cards": "consumed"},
    {"num_players": 3},
    {"num_players": 3, "flip_order": "sequential", "goal": ("hands", 6)},
]


@pytest.mark.parametrize("options", ALL_SHOWN, ids=str)
def test_a_batch_shows_where_its_games_stand_after_every_step(options):
    """Whatever a step leaves unwritten: another batch that is given the same games writes everything anew."""
    env, other = (flinchenv.make("flip_it-v0", "vector", num_envs=16, **options) for _ in range(2))
    rng, ended = np.random.default_rng(3), 0
    env.reset(seed=5)
    for _ in range(300):
        other.restore(env.snapshot())
        assert (env.action_mask == other.action_mask).all()
        assert (env.observation == other.observation).all()
        assert (env.current_player == other.current_player).all()
        step = env.step((rng.random(env.action_mask.shape) * env.action_mask).argmax(-1))
        ended += int(step.terminated.sum())
    assert ended > 0
