"""The same seed and the same choices give the same game through every API, batch size, row and number of threads."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import flinchenv
from flinchenv.agents.load import load_opponents
from games import FIRST_CASES, GAMES, OPTION_CASES, first_id, game_of, over, playable, simultaneous

CASES = playable((id, {"num_players": n}) for id in flinchenv.list_envs() for n in (2, 3, 4))
CASES += [case for case in FIRST_CASES if case not in CASES] + OPTION_CASES
CASES += [("flip_it-sequential-v0", {"num_players": 4, "no_guess_cards": "continue", "loser_guess": "discard"})]
SOME = FIRST_CASES + OPTION_CASES
FIRST_IDS = [first_id(name) for name in GAMES]
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
    n, views, players, together = len(seeds), env._mask.shape[1], env.num_players, simultaneous(id, options)
    traces, results, number = {r: [] for r in rows}, dict.fromkeys(rows), 0
    while number < ROUNDS and any(results[r] is None for r in rows):
        actions = np.zeros((n, views), np.int64)
        shown = {r: [] for r in rows}
        for r in range(n):
            for v in range(views):
                seat = v if together else int(env.current_player[r])
                actions[r, v] = pick(int(seeds[r]), number, seat, env._mask[r, v])
                if r in rows:
                    shown[r].append((seat, env._observation[r, v].tobytes(), env._mask[r, v].tobytes()))
        step = env.step(actions if together else actions[:, 0])
        number += 1
        for r in rows:
            if results[r] is None:
                traces[r].append((shown[r], step.rewards[r].tolist()))
                if step.terminated[r] or step.truncated[r]:
                    last = [step.final_observation[r, p].tobytes() for p in range(players)]
                    results[r] = (env.final_info_of(r), last)
    return {r: (traces[r], *(results[r] or (None, None))) for r in rows}


def asked_only(trace, reference):
    """The trace without seats that were not asked, which a batch shows with their one legal id."""
    result = []
    for (shown, rewards), (asked, _) in zip(trace, reference):
        seats = {seat for seat, *_ in asked}
        assert all(mask.count(1) == 1 for seat, _, mask in shown if seat not in seats)
        result.append(([s for s in shown if s[0] in seats], rewards))
    return result


@over(CASES)
def test_aec_parallel_and_vector_agree(id, options):
    for seed in (0, 77, 2**40):
        trace, info, last = through_aec(id, options, seed)
        if simultaneous(id, options):
            assert through_parallel(id, options, seed) == (trace, info, last)
        for n, row in ((1, 0), (7, 3), (64, 63)):
            seeds = [1000 + k for k in range(n)]
            seeds[row] = seed
            got, got_info, got_last = through_vector(id, options, seeds, [row])[row]
            assert asked_only(got, trace) == trace, (n, row)
            assert (got_info, got_last) == (info, last)


@over([case for case in SOME if case[1]["num_players"] >= 3])
def test_threads_change_nothing(id, options):
    seeds = list(range(11))
    one = through_vector(id, options, seeds, seeds)
    assert through_vector(id, options, seeds, seeds, threads=4) == one


@over(SOME)
def test_raw_env_is_the_same_game(id, options):
    for seed in range(3):
        raw = through_aec(id, options, seed, game_of(id).doors.raw_env(id, **options))
        assert raw == through_aec(id, options, seed)


class Scripted:
    """An opponent that plays `pick`: the seed it is told, the round and seat it reads from its view."""

    name, needs_view = "scripted", True

    def __init__(self, seed):
        self.seed = seed

    def act(self, observation, action_mask, rng, view=None):
        rounds = [int(v.determinize(1, 0)[0].steps) for v in view]
        return np.array([pick(self.seed, r, v.seat, m) for r, v, m in zip(rounds, view, action_mask)])


@over(CASES)
def test_gym_plays_the_same_game(id, options):
    for seed in (5, 6):
        trace, info, last = through_aec(id, options, seed)
        for seat in range(options["num_players"]):
            expected = [(number, *rest) for number, (shown, _) in enumerate(trace) for s, *rest in shown if s == seat]
            if not expected:  # over before the learner's first decision: another game would be dealt
                continue
            env = flinchenv.make(id, "gym", opponents=Scripted(seed), seat=seat, **options)
            observation, gym_info = env.reset(seed=seed)
            assert gym_info["skipped_games"] == 0
            mine, earned, over = [], 0.0, False
            while not over and env._batch.games[0].steps < len(trace):
                number = int(env._batch.games[0].steps)
                mine.append((number, observation.tobytes(), gym_info["action_mask"].tobytes()))
                action = pick(seed, number, seat, gym_info["action_mask"])
                observation, reward, over, _, gym_info = env.step(action)
                earned += reward
            assert mine == expected[: len(mine)]
            if info is not None:
                assert len(mine) == len(expected)
                assert observation.tobytes() == last[seat]
                assert {k: gym_info[k] for k in info} == info
                assert earned == pytest.approx(info["returns"][seat], abs=1e-5)


BATCHES = [
    ("flip_it-v0", {"num_players": 3}),
    ("flip_it-sequential-v0", {"num_players": 3}),
    ("flash10-v0", {"num_players": 1}),
    ("flash10-race-v0", {"num_players": 5}),
    ("flash10-round-v0", {"num_players": 3, "t_flip": (1, 2, 5)}),  # many games end before the learner's first decision
    ("flash10-v0", {"num_players": 4, "pace": "auto_draw", "numbers": 40, "row_len": 4, "episode": "round"}),
]


@pytest.mark.parametrize("seat", [0, "rotate", "random"])
@over(BATCHES)
def test_gym_vector_rows_play_as_single_environments(id, options, seat):
    batch = flinchenv.make(id, "gym_vector", num_envs=5, seat=seat, autoreset_mode="SameStep", threads=2, **options)
    singles = [flinchenv.make(id, "gym", seat=seat, **options) for _ in range(5)]
    observation, info = batch.reset(seed=10)
    shown = [env.reset(seed=10 + k) for k, env in enumerate(singles)]
    rng = np.random.default_rng(0)
    seats, skipped = set(), 0
    for _ in range(200):
        for k in range(5):
            assert (observation[k] == shown[k][0]).all()
            for key in ("action_mask", "seat", "skipped_games"):
                assert (info[key][k] == shown[k][-1][key]).all()
        seats |= set(info["seat"].tolist())
        skipped += int(info["skipped_games"].sum())
        actions = np.array([rng.choice(np.flatnonzero(info["action_mask"][k])) for k in range(5)])
        observation, rewards, ended, _, info = batch.step(actions)
        shown = [env.step(int(a)) for env, a in zip(singles, actions)]
        assert rewards.tolist() == [s[1] for s in shown]
        assert ended.tolist() == [s[2] for s in shown]
        for k in np.flatnonzero(ended):
            assert (info["final_obs"][k] == shown[k][0]).all()
            for key in ("scores", "returns"):
                assert info["final_info"][key][k].tolist() == shown[k][4][key]
            assert np.flatnonzero(info["final_info"]["winners"][k]).tolist() == shown[k][4]["winners"]
            assert info["final_info"]["end_reason"][k] == shown[k][4]["end_reason"]
            assert info["final_info"]["length"][k] == shown[k][4]["length"]
            shown[k] = singles[k].reset()
    assert seats == ({0} if seat == 0 else set(range(options["num_players"])))
    if "t_flip" in options:
        assert (skipped > 0) == (seat != 0)


def games_of_rows(id, mode, options):
    """By row, what a learner of the lowest ids sees and earns, whatever the autoreset mode."""
    env = flinchenv.make(id, "gym_vector", num_envs=4, seat="rotate", autoreset_mode=mode, **options)
    observation, info = env.reset(seed=3)
    rows, dealt = [[] for _ in range(4)], np.ones(4, bool)
    for _ in range(60):
        mask = info["action_mask"].copy()
        for k in range(4):
            rows[k].append((observation[k].tobytes(), mask[k].tobytes()))
        before = dealt
        observation, rewards, ended, _, info = env.step(mask.argmax(1))
        for k in range(4):
            if before[k]:
                rows[k].append(float(rewards[k]))
            else:
                assert rewards[k] == 0 and not ended[k]
        if mode == "SameStep" and ended.any():
            for k in np.flatnonzero(ended):
                rows[k].append((info["final_obs"][k].tobytes(), bytes(mask.shape[1])))
        dealt = ~ended if mode == "NextStep" else dealt
        if mode == "Disabled" and ended.any():
            for k in np.flatnonzero(ended):
                rows[k].append((observation[k].tobytes(), bytes(mask.shape[1])))
            observation, info = env.reset(options={"reset_mask": ended})
    return rows


@over(BATCHES)
def test_autoreset_modes_play_the_same_games(id, options):
    rows = [games_of_rows(id, mode, options) for mode in ("NextStep", "SameStep", "Disabled")]
    for one, *others in zip(*rows):
        assert len(one) > 60
        for other in others:
            shared = min(len(one), len(other))
            assert one[:shared] == other[:shared]


@over([case for case in BATCHES if "auto_draw" not in case[1].values()])
def test_a_trainers_batch_plays_as_gym_vector(id, options):
    sb3 = pytest.importorskip("flinchenv.adapters.sb3")
    batch = flinchenv.make(id, "gym_vector", num_envs=4, seat="rotate", autoreset_mode="SameStep", **options)
    other = sb3.SeatVecEnv(batch.setup, 4, load_opponents("random", batch.setup))
    other.seed(8)
    seen, (expected, info) = other.reset(), batch.reset(seed=8)
    for _ in range(60):
        assert (seen == expected).all()
        assert (other.action_masks() == batch.action_masks()).all()
        actions = info["action_mask"].argmax(1)
        seen, earned, ended, infos = other.step(actions)
        expected, rewards, over, _, info = batch.step(actions)
        assert earned.tolist() == rewards.tolist()
        assert ended.tolist() == over.tolist()
        for k in np.flatnonzero(ended):
            assert infos[k]["scores"] == info["final_info"]["scores"][k].tolist()
            assert (infos[k]["terminal_observation"] == info["final_obs"][k]).all()


def bad_id(seed, seat, mask):
    """An illegal id: past the end, below 0, or one of the game that is not legal now."""
    closed = [int(a) for a in np.flatnonzero(mask == 0)]
    return [len(mask) + 3, -2, *closed[-1:]][(seed + seat) % (2 + len(closed[-1:]))]


@pytest.mark.parametrize("policy", ["forfeit", "random_legal"])
@over(SOME)
def test_illegal_actions_mean_the_same_in_every_api(id, options, policy):
    options, together = {**options, "illegal_action": policy}, simultaneous(id, options)
    told = 0
    for seed in range(6):
        aec = flinchenv.make(id, **options)
        parallel = flinchenv.make(id, "parallel", **options) if together else None
        vector = flinchenv.make(id, "vector", num_envs=3, **options)
        aec.reset(seed=seed)
        vector.reset(seed=np.array([90, seed, 91]))
        if together:
            parallel.reset(seed=seed)
        agents = aec.possible_agents
        for number in range(8):
            order = list(aec._order)
            sent = np.array(
                [[pick(k, number, v, m) for v, m in enumerate(masks)] for k, masks in enumerate(vector._mask)]
            )
            offenders = [p for p in order if number == seed and hash((seed, p)) % 2] or order[:1]
            for p in offenders if number == seed else []:
                view = p if together else 0
                sent[1, view] = bad_id(seed, p, vector._mask[1, view])
            for p in order:
                aec.step(int(sent[1, p if together else 0]))
            step = vector.step(sent if together else sent[:, 0])
            assert step.rewards[1].tolist() == list(aec.rewards.values())
            if together:
                _, rewards, ended, _, infos = parallel.step(dict(zip(agents, sent[1].tolist())))
                assert rewards == aec.rewards
                assert ended == aec.terminations
                assert (parallel.state() == aec.state()).all()
                for p, agent in enumerate(agents):
                    wrong = number == seed and p in offenders
                    assert step.illegal_action[1, p] == wrong
                    for info in (infos[agent], aec.infos[agent]):
                        assert info.get("illegal_action") == (int(sent[1, p]) if wrong else None)
                        told += wrong
            if is_over(aec):
                final = {k: aec.infos["player_0"][k] for k in ("scores", "winners", "end_reason", "length", "returns")}
                assert vector.final_info_of(1) == final
                if number == seed and policy == "forfeit":
                    assert final["end_reason"] == "forfeit"
                    mates = {q for p in offenders for q in range(len(agents)) if same_side(options, p, q, len(agents))}
                    assert final["winners"] == [p for p in range(len(agents)) if p not in mates]
                break
            assert (vector.state()[1] == aec.state()).all()
            assert not (number == seed and policy == "forfeit")
    assert told > 0 or not together


def test_all_offend_and_nobody_wins_or_loses():
    env = flinchenv.make("flip_it-v0", "parallel", illegal_action="forfeit")
    env.reset(seed=0)
    _, rewards, over, _, infos = env.step({"player_0": 26, "player_1": 26})
    assert list(rewards.values()) == [0.0, 0.0]
    assert all(over.values())
    assert infos["player_0"]["winners"] == []


def test_raise_changes_no_row():
    for id, bad in (("flip_it-v0", (-1, 26, 27, 10**6)), ("flash10-v0", (-1, 0, 9, 13, 10**6))):
        env = flinchenv.make(id, "vector", num_envs=3)
        env.reset(seed=0)
        before = env.snapshot().games.tobytes()
        actions = env.action_mask.argmax(-1)
        for action in bad:
            actions[1, 1] = action
            with pytest.raises(ValueError, match="row 1, player_1"):
                env.step(actions)
            assert env.snapshot().games.tobytes() == before


@pytest.mark.parametrize("id", ["flip_it-v0", "flip_it-sequential-v0", "flash10-v0", "flash10-race-v0"])
def test_max_steps_truncates_in_every_api(id):
    options = {"max_steps": 5, **game_of(id).deep}
    vector = flinchenv.make(id, "vector", num_envs=2, **options)
    vector.reset(seed=0)
    for number in range(5):
        masks, current = vector._mask, vector.current_player
        if simultaneous(id, {}):
            actions = [[pick(r, number, p, mask) for p, mask in enumerate(masks[r])] for r in range(2)]
        else:
            actions = [pick(r, number, int(current[r]), masks[r, 0]) for r in range(2)]
        step = vector.step(np.array(actions))
    assert step.truncated.all()
    assert not step.terminated.any()
    assert vector.final_info_of(0)["end_reason"] == "max_steps"
    trace, info, last = through_aec(id, options, 0)
    assert len(trace) == 5
    assert vector.final_info_of(0) == info
    assert [row.tobytes() for row in step.final_observation[0]] == last
    if simultaneous(id, {}):
        assert through_parallel(id, options, 0) == (trace, info, last)
    env = flinchenv.make(id, "gym", **options)
    env.reset(seed=0)
    cut = ended = False
    while not (cut or ended):
        _, _, ended, cut, info = env.step(int(env.action_masks().argmax()))
    assert (ended, cut, info["end_reason"]) == (False, True, "max_steps")


# --- Copies through every API -----------------------------------------------------------------------------------------


def play_rounds(env, seed, rounds):
    """AEC: so many rounds of `pick`, from the choice that is due; what each round leaves to see."""
    seen = []
    while env.agents and len(seen) < rounds:
        number = int(env._games[0].steps)
        while env._games[0].steps == number:
            mask = env.observe(env.agent_selection)["action_mask"]
            env.step(pick(seed, number, env.possible_agents.index(env.agent_selection), mask))
        views = [env.observe(a)["observation"].tobytes() for a in env.possible_agents]
        seen.append((list(env.rewards.values()), views, env.state().tobytes()))
        if is_over(env):
            break
    return seen


def same_side(options, p, q, num_players):
    """Whether two seats win and lose together."""
    return p == q or (options.get("partnership", False) and (p - q) % num_players == num_players // 2)


def is_over(env):
    """Whether an AEC game has ended or been cut."""
    return env.terminations["player_0"] or env.truncations["player_0"]


def halfway(id, options, seed, rounds):
    """An AEC game after some rounds in which some of the asked seats have chosen already, or None where it is over."""
    env = flinchenv.make(id, **options)
    env.reset(seed=seed)
    play_rounds(env, seed, rounds)
    if is_over(env):
        return None
    for seat in env._order[: len(env._order) // 2] if simultaneous(id, options) else []:
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(pick(seed, int(env._games[0].steps), seat, mask))
    return env


@over(SOME)
def test_a_snapshot_goes_on_alike_in_every_api(id, options):
    found, together = 0, simultaneous(id, options)
    for seed in range(3):
        for rounds in (0, 1, 4, 17):
            env = halfway(id, options, seed, rounds)
            if env is None:
                continue
            found += 1
            snapshot = pickle.loads(pickle.dumps(env.snapshot()))
            twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), flinchenv.make(id, **options)]
            twins[2].restore(snapshot)
            for twin in twins:
                assert twin.agent_selection == env.agent_selection
                assert twin.snapshot().games.tobytes() == env.snapshot().games.tobytes()
            other = copy.deepcopy(env)
            expected = play_rounds(env, seed, 25)
            for twin in twins:
                assert play_rounds(twin, seed, 25) == expected
            assert through_others(id, options, snapshot, seed, together) == expected
            if together and rounds == 1:
                parallel = flinchenv.make(id, "parallel", **options)
                parallel.restore(snapshot)
                through_gym(id, options, parallel.snapshot(), seed, other)
    assert found >= 3


def through_others(id, options, snapshot, seed, together):
    """What `play_rounds` says, from vector and, where there is one, from parallel, both with every choice made anew."""
    vector = flinchenv.make(id, "vector", num_envs=3, **options)
    vector.reset(seed=50)
    vector.restore(snapshot, [2])
    vector.copy_rows([2], [0])
    vector = copy.deepcopy(vector)
    parallel = flinchenv.make(id, "parallel", **options) if together else None
    if together:
        parallel.restore(snapshot)
    seats = (lambda r: range(vector.num_players)) if together else (lambda r: [int(vector.current_player[r])])
    seen, ended = [], False
    while len(seen) < 25 and not ended:
        number = int(vector._games[2].steps)
        masks = vector._mask
        sent = np.array([[pick(seed, number, p, mask) for p, mask in zip(seats(r), masks[r])] for r in range(3)])
        if together:
            chosen = dict(zip(parallel.agents, sent[2].tolist()))
            copies = [copy.deepcopy(parallel), pickle.loads(pickle.dumps(parallel))] if len(seen) % 8 == 0 else []
            observations, rewards, *flags, _ = parallel.step(chosen)
            for other in copies:
                assert [*other.step(chosen)[1:4]] == [rewards, *flags]
                assert (other.state() == parallel.state()).all()
        step = vector.step(sent if together else sent[:, 0])
        ended = bool(step.terminated[2] or step.truncated[2])
        assert step.rewards[0].tolist() == step.rewards[2].tolist()
        assert (step.observation[0] == step.observation[2]).all()
        if together:
            assert list(rewards.values()) == step.rewards[2].tolist()
        probe = flinchenv.make(id, **options)
        if ended:
            probe.restore(vector.snapshot()._replace(games=vector._ended[2:]))
        else:
            probe.restore(vector.snapshot([2]))
        views = [probe.observe(a)["observation"].tobytes() for a in probe.possible_agents]
        if together:
            assert [o["observation"].tobytes() for o in observations.values()] == views
            shown = step.final_observation[2] if ended else step.observation[2]
            assert [row.tobytes() for row in shown] == views
        seen.append((step.rewards[2].tolist(), views, probe.state().tobytes()))
    return seen


def through_gym(id, options, snapshot, seed, aec):
    """The end of the restored game in the Gymnasium APIs is the one that AEC comes to."""
    play_rounds(aec, seed, 10**4)
    final = {k: aec.infos["player_0"][k] for k in ("scores", "winners", "end_reason", "length", "returns")}
    seat = seed % options["num_players"]
    single = flinchenv.make(id, "gym", opponents=Scripted(seed), seat=seat, **options)
    batch = flinchenv.make(id, "gym_vector", num_envs=2, opponents=Scripted(seed), seat=seat, **options)
    for env, mask_of in ((single, lambda i: i["action_mask"]), (batch, lambda i: i["action_mask"][0])):
        _, info = env.restore(snapshot)
        ended = bool(np.any(env._batch.terminated | env._batch.truncated))
        while not ended:
            action = pick(seed, int(env._batch.games[0].steps), seat, mask_of(info))
            _, _, over, cut, info = env.step(action if env is single else np.array([action] * 2))
            ended = bool(np.any(over) or np.any(cut))
        assert env._batch.final_info_of(0) == final


@over(SOME)
def test_determinize_draws_the_same_in_every_api(id, options):
    together = simultaneous(id, options)
    for seed in range(3):
        aec = flinchenv.make(id, **options)
        aec.reset(seed=seed)
        play_rounds(aec, seed, 6)
        if is_over(aec):
            continue
        vector = flinchenv.make(id, "vector", num_envs=2, **options)
        vector.restore(aec.snapshot())
        for p, agent in enumerate(aec.agents):
            batch = copy.deepcopy(vector)
            batch.determinize([1], p, [77 + p])
            expected = aec.determinize(agent, 77 + p)
            assert batch.snapshot([1]).games.tobytes() == expected.snapshot().games.tobytes()
            assert batch.snapshot([0]).games.tobytes() == vector.snapshot([0]).games.tobytes()
            seats = range(len(aec.agents)) if together else [int(vector.current_player[1])]
            for seat, shown in zip(seats, batch.observation[1].reshape(len(seats), -1)):
                assert (shown == expected.observe(aec.agents[seat])["observation"]).all()
            for key, value in expected.observe(agent).items():
                assert (value == aec.observe(agent)[key]).all()
            assert expected.agent_selection == aec.agent_selection
            if together:
                parallel = flinchenv.make(id, "parallel", **options)
                parallel.restore(aec.snapshot())
                redrawn = parallel.determinize(agent, 77 + p)
                assert redrawn.snapshot().games.tobytes() == expected.snapshot().games.tobytes()


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


@pytest.mark.parametrize("id", FIRST_IDS)
def test_a_rollout_leaves_seeds_copies_and_returns_right(id):
    env = flinchenv.make(id, "vector", num_envs=3, num_players=3)
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
    capped = flinchenv.make(id, "vector", num_envs=3, max_steps=5, **game_of(id).deep)
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
    for seat, expected in ((2, 2), ("rotate", 9 % 3), ("random", None)):
        other, dealt = (flinchenv.make("flip_it-v0", api, num_players=3, seat=seat) for _ in range(2))
        restored = int(np.ravel(other.restore(aec.snapshot())[1]["seat"])[0])
        assert restored == int(np.ravel(dealt.reset(seed=9)[1]["seat"])[0])
        assert expected in (None, restored), "without a reset before it"
    assert env.step(np.array([21]) if api == "gym_vector" else 21)[1] is not None


@pytest.mark.parametrize("id", FIRST_IDS)
def test_make_vec_works_in_every_mode_of_gymnasium(id):
    for mode in ("sync", "vector_entry_point"):
        env = gymnasium.make_vec(f"flinchenv/{id}", num_envs=2, vectorization_mode=mode)
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


@over([("flip_it-v0", options) for options in ALL_SHOWN] + SOME)
def test_a_batch_shows_where_its_games_stand_after_every_step(id, options):
    """Whatever a step leaves unwritten: another batch that is given the same games writes everything anew."""
    env, other = (flinchenv.make(id, "vector", num_envs=16, **options) for _ in range(2))
    rng, ended = np.random.default_rng(3), 0
    env.reset(seed=5)
    for _ in range(300):
        other.restore(env.snapshot())
        assert (env.action_mask == other.action_mask).all()
        assert (env.observation == other.observation).all()
        assert (env.current_player == other.current_player).all()
        step = env.step((rng.random(env.action_mask.shape) * env.action_mask).argmax(-1))
        ended += int((step.terminated | step.truncated).sum())
    assert ended > 0
