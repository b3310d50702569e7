"""What must hold in every game of Flash 10: all its ids with 1-5 players, and a dozen option combinations."""

import copy
import itertools
import pickle
import random
from collections import Counter

import numpy as np
import pytest
from table_flash10 import Table, assert_as_often, assert_geometric, assert_share, contents

import flinchenv
from flinchenv.envs.seats import SeatView
from reference.flash10 import in_order, may_be_stopped

THUNDER, NO_CARD = 100, -1
DRAW, STOP, WAIT = 10, 11, 12
RISING = [11, 13, 22, 33, 44, 54, 66, 76, 87, 98]
SECOND = [14, 18, 27, 38, 47, 57, 68, 78, 86, 97]

SOME_OPTIONS = [
    {
        "num_players": 3,
        "row_len": 5,
        "speed_noise": True,
        "t_draw": (2, 3, 4),
        "t_place": 2,
        "t_check": 3,
        "priority": "fastest",
        "p_misread": 0.3,
        "false_stop": "masked",
        "obs_seen": True,
    },
    {"num_players": 3, "pace": "auto_draw", "speed_noise": True, "t_draw": 3, "row_len": 4, "obs_opponents": "counts"},
    {"idle": "free", "max_ticks": 15, "reward": "win", "t_place": (2, 3)},
    {"num_players": 4, "row_len": 3, "idle": "forbidden", "max_idle_ticks": 2, "stop_resolution": "all_valid",
     "stop_with_thunder": True, "obs_seen": True, "obs_opponents": "none"},
    {"num_players": 4, "row_shape": "mountain", "row_len": 5, "peak_score": "both_sides", "flash_scope": "prefix",
     "obs_opponents": "counts", "reward": "win"},
    {"num_players": 5, "row_len": 3, "numbers": 10, "thunders": 8, "priority": "seat_rotating", "last_card_stop": True,
     "obs_seen": True},
    {"num_players": 1, "obs_opponents": "none", "obs_seen": True, "floor_zero": True, "row_len": 5, "t_check": 4},
    {"num_players": 3, "tie": "extra_round", "target_score": 5, "row_len": 3, "t_flip": (3, 1, 2)},
    {"idle": "free", "speed_noise": True, "t_flip": 30, "max_ticks": 40, "t_draw": 5},
    {"num_players": 3, "p_misread": 0.5, "idle": "forbidden", "false_stop": "masked", "row_len": 4, "thunders": 5},
    {"num_players": 4, "pace": "auto_draw", "row_len": 3, "numbers": 20, "thunders": 4, "max_idle_ticks": 0,
     "priority": "seat_rotating", "reward": "points", "obs_opponents": "none"},
    {"num_players": 2, "row_shape": "mountain", "row_len": 3, "numbers": 10, "thunders": 3, "stop_with_thunder": True,
     "max_idle_ticks": 0, "t_draw": 2, "t_place": 3},
    {"num_players": 3, "max_steps": 5},
    {"num_players": 2, "max_steps": 40, "pace": "auto_draw"},
]  # fmt: skip
IDS = [id for id in flinchenv.list_envs() if id.startswith("flash10")]
CASES = [(id, {"num_players": n}) for id in IDS for n in range(1, 6) if (id, n) != ("flash10-tiny-v0", 5)]
CASES += [("flash10-v0", options) for options in SOME_OPTIONS]
cases = pytest.mark.parametrize(("id", "options"), CASES, ids=[f"{id} {list(o.values())}" for id, o in CASES])
some = pytest.mark.parametrize("options", SOME_OPTIONS, ids=lambda o: str(list(o.values())))


def start(id="flash10-v0", api="aec", seed=0, **options):
    """A game that has just been dealt; matches end after two rounds."""
    env = flinchenv.make(id, api, **{"max_rounds": 2, "target_score": 30, **options})
    env.reset(seed=seed)
    return env


def game(env):
    """The record as it stands."""
    return (env if hasattr(env, "_games") else env._aec)._games[0]


def seats(bits):
    return [p for p in range(5) if int(bits) >> p & 1]


def running(env):
    return game(env).end_reason == 0


def legal(env, agent=None):
    """The legal ids of an agent, by default of the one to act."""
    return np.flatnonzero(env.observe(agent or env.agent_selection)["action_mask"]).tolist()


def liked(env, seat, ids, rng, habit=None):
    """A legal id: cards are often laid where they fit, Stops of rows in no order are seldom."""
    s, rules = game(env), env.setup.rules
    if habit in ids:
        return habit
    if len(ids) > 1 and ids[0] < DRAW and s.held[seat] < THUNDER and rng.random() < 0.7:
        return int(s.held[seat]) * rules.row_len // rules.numbers
    if STOP in ids and len(ids) > 1 and not (int(s.checked) >> seat & 1 and rng.random() < 0.7) and rng.random() < 0.8:
        ids = [id for id in ids if id != STOP]
    return rng.choice(ids)


def move(env, rng, habit=None):
    """An id for the agent to act."""
    return liked(env, env.possible_agents.index(env.agent_selection), legal(env), rng, habit)


def step_randomly(env, rng, steps=1, habit=None):
    """AEC: so many legal choices, or fewer where the game ends."""
    for _ in range(steps):
        if running(env):
            env.step(move(env, rng, habit))
    return env


def play_tick(env, rng, habit=None):
    """AEC: all choices of a tick, or what is left of them."""
    before = game(env).steps
    while running(env) and game(env).steps == before:
        env.step(move(env, rng, habit))
    return env


def play_on(env, rng):
    """Play to the end and past the dead steps; a trace of all that anybody is shown."""
    trace = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        views = [_bytes(env.observe(a)) for a in env.possible_agents]
        trace.append((agent, reward, terminated, truncated, _plain(info), _bytes(observation), views, list(env.agents)))
        env.step(None if terminated or truncated else move(env, rng))
        trace.append((dict(env.rewards), env.state().tobytes()))
    return trace


def _bytes(observation):
    return {key: value.tobytes() for key, value in observation.items()}


def _plain(info):
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in info.items()}


# --- While it is played -----------------------------------------------------------------------------------------------


def all_cards(rules):
    return Counter(range(rules.numbers)) + Counter({THUNDER: rules.thunders})


def middle(s):
    return Counter(s.deck[: s.left].tolist())


def rows(s, rules):
    return s.row[: rules.num_players, : rules.row_len].tolist()


def hands(s, rules):
    return [card for card in s.held[: rules.num_players].tolist() if card != NO_CARD]


@cases
def test_cards_are_conserved(id, options):
    """Rows, hands, covered cards and the middle together hold every card once; the deck is a permutation of all."""
    env, rng = start(id, **options), random.Random(1)
    rules = env.setup.rules
    everything, size = all_cards(rules), rules.numbers + rules.thunders
    for habit in (None, DRAW):
        covered, rounds = Counter(), 0
        while running(env):
            before = game(env).copy()
            assert Counter(before.deck[:size].tolist()) == everything
            assert (before.deck[size:] == NO_CARD).all()
            assert [p for p in range(rules.num_players) if before.held[p] != NO_CARD] == seats(before.holding)
            if before.rounds > rounds:
                covered, rounds = Counter(), int(before.rounds)
            on_the_table = Counter(itertools.chain(*rows(before, rules), hands(before, rules)))
            assert covered + on_the_table + middle(before) == everything
            moves = {}
            while running(env) and game(env).steps == before.steps:
                p = env.possible_agents.index(env.agent_selection)
                moves[p] = move(env, rng, habit)
                env.step(moves[p])
            s = game(env)
            if s.rounds > rounds or not running(env):
                continue
            expected = rows(before, rules)
            ended = s.phase > before.phase and s.tick == before.tick + 1
            for p, slot in moves.items():
                if slot < DRAW and not (ended and s.held[p] == before.held[p]):  # else it was cancelled
                    covered[expected[p][slot]] += 1
                    expected[p][slot] = int(before.held[p])
            assert rows(s, rules) == expected
            assert s.left <= before.left
        env.reset()


@cases
def test_mask_truth_every_id_tried_on_a_copy(id, options):
    """Legal ids are taken and change something; all others raise and change nothing."""
    env, rng = start(id, **options), random.Random(2)
    for _ in range(4):
        if not running(env):
            env.reset()
        mask = env.observe(env.agent_selection)["action_mask"]
        assert mask.sum() >= 1
        untouched, twin = copy.deepcopy(env), copy.deepcopy(env)
        before, snapshot = contents(untouched), env.snapshot()
        for action in [*range(len(mask)), -1, len(mask), 10**9]:
            if 0 <= action < len(mask) and mask[action]:
                twin.restore(snapshot)
                twin.step(action)
                assert contents(twin) != before
            else:
                with pytest.raises(ValueError, match=env.agent_selection):
                    untouched.step(action)
                assert untouched.agent_selection == env.agent_selection
        assert contents(untouched) == before
        step_randomly(env, rng, 5)


@cases
def test_mask_truth_in_parallel_for_every_seat(id, options):
    """Every id of every seat, asked or not, the others sending a legal one."""
    env, rng = start(id, "parallel", **options), random.Random(3)
    twin, untouched = start(id, "parallel", **options), start(id, "parallel", **options)
    for _ in range(4):
        if not env.agents:
            env.reset()
        masks = {agent: env._aec.observe(agent)["action_mask"] for agent in env.agents}
        right = {agent: liked(env, p, np.flatnonzero(masks[agent]).tolist(), rng) for p, agent in enumerate(env.agents)}
        snapshot = env.snapshot()
        untouched.restore(snapshot)
        before = contents(untouched)
        for agent, mask in masks.items():
            assert mask.any(), "nobody has an empty mask"
            if agent not in [f"player_{p}" for p in seats(game(env).asked)]:
                assert np.flatnonzero(mask).tolist() == [WAIT]
            for action in range(len(mask)):
                if mask[action]:
                    twin.restore(snapshot)
                    twin.step({**right, agent: action})
                else:
                    with pytest.raises(ValueError, match=agent):
                        untouched.step({**right, agent: action})
        assert contents(untouched) == before
        env.step(right)


def expected_moves(s, rules, p):
    """Section 3.3's legal ids of a running game."""
    holds, check = s.held[p] != NO_CARD, int(s.checked) >> p & 1
    auto = rules.pace == "auto_draw"
    if s.phase == 1:
        return list(range(rules.row_len)) if holds else [WAIT]
    if s.ready_at[p] > s.tick or (auto and not holds and not check):
        return [WAIT]
    if holds:
        return list(range(rules.row_len))
    moves = [DRAW]
    if check or (rules.false_stop == "allowed" and not auto):
        moves.append(STOP)
    if check or (rules.idle != "forbidden" and not auto):
        moves.append(WAIT)
    return moves


@cases
def test_margin_and_win_are_zero_sum(id, options):
    solo = options.get("num_players") == 1
    for reward in ["margin"] if solo else ["margin", "win"]:
        env, rng = start(id, **{**options, "reward": reward}), random.Random(4)
        for _ in range(2):
            returns = 0
            while running(env):
                step_randomly(env, rng)
                paid = list(env.rewards.values())
                if any(paid):
                    assert solo or sum(paid) == pytest.approx(0, abs=1e-5)
                    assert reward == "margin" or not running(env)
                returns = returns + np.array(paid)
            assert env.infos["player_0"]["returns"] == pytest.approx(returns, abs=1e-5)
            env.reset()


def most_ticks(rules):
    """The bound of a round's ticks (3.3), FINAL_PLACE among them; None with noise and no max_ticks."""
    if rules.waits == "free":
        return rules.max_ticks + 1
    if rules.speed_noise:
        return None
    slowest = max(
        d + p + c - 1 for d, p, c in zip(*(rules.durations(name) for name in ("t_draw", "t_place", "t_check")))
    )
    waits = rules.middle_size * (rules.max_idle_ticks + 1) * slowest
    return max(rules.durations("t_flip")) + waits + 1


@pytest.mark.parametrize("habit", [None, WAIT, DRAW], ids=["any", "wait", "draw"])
@cases
def test_every_game_ends_within_its_bounds(id, options, habit):
    if habit == WAIT and not options.get("row_len", 9) < 6 and not options.get("max_steps") and "tiny" not in id:
        options = {**options, "max_idle_ticks": 1, "numbers": 50, "thunders": 5, "max_ticks": 60, "max_rounds": 1}
    env, rng = start(id, **options), random.Random(5)
    rules, most = env.setup.rules, most_ticks(env.setup.rules)
    for _ in range(1 if habit == WAIT else 2):
        draws = placements = rounds = 0
        while running(env):
            before = game(env).copy()
            play_tick(env, rng, habit)
            s = game(env)
            if s.rounds > rounds:
                rounds, draws, placements = int(s.rounds), 0, 0
            else:
                draws += int(before.left - s.left)
                placements += (before.holding & ~s.holding).bit_count()
            assert draws <= rules.middle_size
            assert placements <= rules.middle_size
            assert most is None or s.tick <= most
            assert not (rules.waits == "free" and s.phase == 0 and s.tick > rules.max_ticks)
            assert s.idle <= rules.max_idle_ticks
        info = env.infos["player_0"]
        assert rounds <= rules.max_rounds
        assert most is None or info["length"] <= most * rules.max_rounds
        ends = ("goal", "max_rounds") if rules.episode == "match" else ("stop", "exhausted", "max_ticks")
        assert info["end_reason"] in (*ends, *(["max_steps"] if options.get("max_steps") else []))
        env.reset()


def test_stubborn_players_are_made_to_play_on():
    """Ten cards in the middle, each drawn after 20 idle ticks and laid in the next tick."""
    env, ticks = start("flash10-tiny-v0", num_players=1), []
    while running(env):
        before = int(game(env).left)
        env.step(WAIT if WAIT in legal(env) else 0)
        if game(env).left < before:
            ticks.append(int(game(env).tick) - 1)
    assert ticks == [21 + 22 * k for k in range(10)]
    assert env.infos["player_0"]["length"] == ticks[-1] + 1
    assert env.infos["player_0"]["end_reason"] == "exhausted"


@cases
def test_all_are_paid_and_ended_in_the_same_step(id, options):
    """A round's rewards reach every seat when it is scored, and each hears its sum at its next `last()`."""
    env, rng = start(id, **{**options, "reward": "points"}), random.Random(6)
    n = len(env.possible_agents)
    heard, paid = np.zeros(n), np.zeros(n)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        heard[env.possible_agents.index(agent)] += reward
        ends = list(env.terminations.values()) + list(env.truncations.values())
        if terminated or truncated:
            assert list(env.terminations.values()) == [terminated] * len(env.agents)
            assert terminated != truncated
            assert {"scores", "winners", "end_reason", "length", "returns"} <= set(info)
            env.step(None)
            continue
        assert not any(ends)
        scores, rounds = game(env).scores[:n].copy(), int(game(env).rounds)
        env.step(move(env, rng))
        gains = game(env).scores[:n] - scores
        assert list(env.rewards.values()) == gains.tolist()
        assert game(env).rounds > rounds or not gains.any()
        paid += gains
    assert env.agents == []
    assert heard.tolist() == paid.tolist()


@cases
def test_observations_lie_in_their_spaces_and_decode_to_the_position(id, options):
    env, rng = start(id, **options), random.Random(7)
    for habit in (None, DRAW):
        steps = 0
        while running(env) and steps < 25:
            _check_views(env)
            play_tick(env, rng, habit)
            steps += 1
        if not running(env):
            for _ in env.agent_iter():
                _check_views(env)
                assert env.last()[2] != env.last()[3]
                env.step(None)
            assert env.agents == []
            for agent in env.possible_agents:
                assert env.observation_space(agent).contains(env.observe(agent))
        env.reset()


def _check_views(env):
    """Every seat's observation and mask are in their spaces and say what lies on the table."""
    setup, s = env.setup, game(env)
    rules, n = setup.rules, setup.num_players
    stopped, ready = int(s.right | s.false), [max(0, int(s.ready_at[p] - s.tick)) for p in range(n)]
    state = env.state()
    assert state.dtype == np.int8
    assert state.shape == (setup.state_layout.size,)
    referee = setup.state_layout.decode(state)
    assert referee["all_held"] == [max(0, int(card)) for card in s.held[:n]]
    assert referee["face_down"] == sorted(n for n in middle(s) if n != THUNDER)
    assert referee["face_down_thunders"] == middle(s)[THUNDER]
    for p, agent in enumerate(env.possible_agents):
        shown = env.observe(agent)
        assert env.observation_space(agent).contains(shown)
        mask = shown["action_mask"]
        assert mask.shape == (13,)
        assert mask.dtype == shown["observation"].dtype == np.int8
        if agent in env.agents:
            assert np.array_equal(env.infos[agent]["action_mask"], mask)
        assert np.flatnonzero(mask).tolist() == (expected_moves(s, rules, p) if running(env) else [])
        decoded, order = setup.layout.decode(shown["observation"]), [(p + k) % n for k in range(n)]
        assert list(decoded) == [field.name for field in setup.layout.fields]
        over = s.end_reason > 0 and not s.truncated
        held, points = int(s.held[p]), s.scores
        shown_rows = [s.row[q].tolist() for q in order]
        said = {
            "phase": 2 if over else int(s.phase),
            "middle": int(s.left),
            "tick": min(127, int(s.tick)),
            "idle": min(127, int(s.idle)),
            "rounds": int(s.rounds),
            "held": max(0, held),
            "held_thunder": int(held == THUNDER),
            "held_flash": int(held not in (THUNDER, NO_CARD) and held % 5 == 0),
            "own_check": int(s.checked) >> p & 1,
            "holding": [int(s.held[q] != NO_CARD) for q in order],
            "cooling": [int(ready[q] > 0) for q in order],
            "called": [stopped >> q & 1 for q in order],
            "ready_in": [min(127, ready[q]) if q == p or not rules.speed_noise else 0 for q in order],
            "points": [min(127, max(0, int(points[q]))) for q in order],
            "debt": [min(127, max(0, -int(points[q]))) for q in order],
            "row": shown_rows if rules.obs_opponents == "full" else shown_rows[:1],
        }
        said["row_thunder"] = [[i for i, card in enumerate(row) if card == THUNDER] for row in said["row"]]
        said["row_flash"] = [
            [i for i, card in enumerate(row[: rules.row_len]) if card != THUNDER and card % 5 == 0]
            for row in said["row"]
        ]
        assert {name: decoded[name] for name in said} == said
        assert np.array_equal(_encode(setup.layout, decoded), shown["observation"])


def _encode(layout, decoded):
    """A layout's vector, from what `decode` said of it."""
    vector = np.zeros(layout.size, np.int8)
    for field in layout.fields:
        if field.encoding not in ("set", "onehot"):
            vector[field.entries] = np.ravel(decoded[field.name])
            continue
        leaves = [decoded[field.name]]
        for _ in field.shape[:-1]:
            leaves = [leaf for group in leaves for leaf in group]
        runs = np.zeros((len(leaves), field.shape[-1]), np.int8)
        for run, leaf in zip(runs, leaves):
            run[[] if leaf is None else leaf] = 1
        vector[field.entries] = runs.ravel()
    return vector


@cases
def test_the_record_says_of_each_row_what_it_is(id, options):
    """`marks`, `stoppable` and, without misreading, `checked` follow from the rows."""
    env, rng = start(id, **options), random.Random(17)
    rules = env.setup.rules
    for _ in range(25):
        if not running(env):
            env.reset()
        s = game(env)
        for p, row in enumerate(rows(s, rules)):
            row = ["T" if card == THUNDER else card for card in row]
            assert int(s.stoppable) >> p & 1 == may_be_stopped(rules, row)
            if not rules.p_misread:
                assert int(s.checked) >> p & 1 == may_be_stopped(rules, row)
            if may_be_stopped(rules, row):
                assert in_order(rules, row)
            marks = sum((card == "T") << i for i, card in enumerate(row))
            marks |= sum((card != "T" and card % 5 == 0) << 10 + i for i, card in enumerate(row))
            assert s.marks[p] == marks
        play_tick(env, rng)


@pytest.mark.parametrize("id", IDS)
def test_dtypes_of_every_api(id):
    aec = start(id)
    assert (aec.observe("player_0")["observation"].dtype, aec.state().dtype) == (np.int8, np.int8)
    for agent in aec.possible_agents:
        assert aec.observation_space(agent)["observation"].dtype == np.int8
        assert aec.observation_space(agent)["action_mask"].dtype == np.int8
    games = aec.snapshot().games
    assert games.dtype == aec.setup.game.dtype
    parallel = start(id, "parallel")
    moves = {agent: legal(parallel._aec, agent)[-1] for agent in parallel.agents}
    observations, rewards, terminations, truncations, infos = parallel.step(moves)
    for agent in parallel.possible_agents:
        assert observations[agent]["observation"].dtype == observations[agent]["action_mask"].dtype == np.int8
        assert infos[agent]["action_mask"].dtype == np.int8
        assert isinstance(rewards[agent], float)
        assert isinstance(terminations[agent], bool)
        assert isinstance(truncations[agent], bool)
    steps = {}
    for dtype in ("int8", "float32"):
        vector = flinchenv.make(id, "vector", num_envs=8, dtype=dtype)
        vector.reset(seed=3)
        for _ in range(60):
            step = vector.step(vector.action_mask.argmax(-1))
        assert step.observation.dtype == step.final_observation.dtype == np.dtype(dtype)
        assert (step.action_mask.dtype, step.rewards.dtype) == (np.int8, np.float32)
        assert (step.terminated.dtype, step.truncated.dtype, step.illegal_action.dtype) == (bool, bool, bool)
        assert (vector.state().dtype, step.current_player.tolist()) == (np.int8, [-1] * 8)
        steps[dtype] = step.observation.copy(), step.action_mask.copy()
    assert all(np.array_equal(a, b) for a, b in zip(steps["int8"], steps["float32"]))


@cases
def test_actions_of_every_integer_type_are_the_same(id, options):
    env = start(id, **options)
    action, snapshot = legal(env)[-1], env.snapshot()
    results = []
    for kind in (int, np.int8, np.int64, np.uint8, np.array):
        env.restore(snapshot)
        env.step(kind(action))
        results.append(contents(env))
    assert len(set(results)) == 1


def test_max_steps_truncates_and_shows_the_position_it_cut():
    env = start(max_steps=3)
    for action in (DRAW, DRAW, 3, 4, DRAW, WAIT):
        assert running(env)
        env.step(action)
    assert env.truncations == {"player_0": True, "player_1": True}
    assert env.terminations == {"player_0": False, "player_1": False}
    decoded = env.setup.layout.decode(env.observe("player_1")["observation"])
    assert (decoded["phase"], decoded["middle"], decoded["tick"], decoded["holding"]) == (0, 97, 4, [0, 1])
    assert env.infos["player_0"]["end_reason"] == "max_steps"
    assert not env.observe("player_0")["action_mask"].any()


@pytest.mark.parametrize("options", [{"t_draw": 9, "t_place": 9}, {"pace": "auto_draw"}, {"num_players": 1}], ids=str)
def test_max_steps_counts_events_not_ticks(options):
    env, rng = start(max_steps=6, **options), random.Random(8)
    events = 0
    while running(env):
        play_tick(env, rng, DRAW)
        events += 1
    assert events == 6
    assert game(env).truncated


# --- Seeds and copies -------------------------------------------------------------------------------------------------


@cases
def test_equal_seeds_give_equal_games_and_leave_global_generators_alone(id, options):
    env = start(id, **options)
    first = None
    for k in range(2):
        env.reset(seed=7)
        np.random.seed(k)
        before = np.random.get_state()[1].tobytes()
        trace = play_on(env, random.Random(8))
        assert np.random.get_state()[1].tobytes() == before
        first = first or trace
        assert trace == first
    assert play_on(start(id, seed=7, **options), random.Random(8)) == first


@pytest.mark.parametrize("id", IDS)
def test_episodes_and_seeds_are_different_games(id):
    env = start(id, seed=5)
    deals = set()
    for _ in range(20):
        deals.add(game(env).row.tobytes())
        env.reset()
    for seed in range(20):
        env.reset(seed=100 + seed)
        deals.add(game(env).row.tobytes())
    assert len(deals) == 40


def restored(env):
    """A new environment of the same id and rules, restored from a snapshot."""
    other = type(env)(env.setup)
    other.restore(env.snapshot())
    return other


COPIES = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), restored]


@cases
def test_a_copy_plays_on_like_its_original(id, options):
    for steps in (0, 3, 8):
        for copied in COPIES:
            env = step_randomly(start(id, **options), random.Random(9), steps)
            twin = copied(env)
            before = contents(env)
            assert contents(twin) == before
            trace = play_on(twin, random.Random(10))
            assert contents(env) == before, "the copy is independent"
        assert play_on(env, random.Random(10)) == trace


@some
def test_copies_keep_their_settings(options):
    env = flinchenv.make(
        "flash10-v0", render_mode="ansi", illegal_action="random_legal", **{"max_steps": 99, **options}
    )
    env.reset(seed=3)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env.determinize("player_0", 5)):
        assert twin.render_mode == "ansi"
        assert twin.setup.rules == env.setup.rules
        assert (twin.setup.illegal_action, twin.setup.max_steps) == ("random_legal", env.setup.max_steps)
        assert twin.render() == env.render()


@some
def test_parallel_snapshots_play_on_alike(options):
    rng = random.Random(12)
    env, twin = start(api="parallel", **options), start(api="parallel", **options)
    for _ in range(30):
        if not env.agents:
            break
        twin.restore(env.snapshot())
        ids = {a: liked(env, p, legal(env._aec, a), rng) for p, a in enumerate(env.agents)}
        assert _plain_step(env.step(ids)) == _plain_step(twin.step(ids))


def _plain_step(step):
    observations, *rest, infos = step
    return [{a: _bytes(o) for a, o in observations.items()}, *rest, {a: _plain(i) for a, i in infos.items()}]


# --- What stays hidden ------------------------------------------------------------------------------------------------


def told(env, agent):
    """What AEC tells an agent, and whom it asks."""
    return (
        _bytes(env.observe(agent)),
        _plain(env.infos[agent]),
        env._cumulative_rewards[agent],
        env.agent_selection,
        list(env.agents),
        dict(env.terminations),
        env.render(),
    )


def key(env, agent):
    """The agent's information state."""
    return env.setup.game.information_state(game(env), env.setup.rules, env.possible_agents.index(agent))


def scrambled(env, me, rng, keep=()):
    """The same game but for what seat `me` cannot know, changed by hand: others' cards (but of the seats in `keep`) and
    the middle, others' choices in this tick, and as the rules have it others' checks and how long they stay busy.
    """
    snapshot, rules = env.snapshot(), env.setup.rules
    s = snapshot.games[0]
    others = [p for p in range(rules.num_players) if p != me]
    holders = [p for p in others if s.held[p] != NO_CARD and p not in keep]
    cards = [*s.deck[: s.left].tolist(), *s.held[holders].tolist()]
    rng.shuffle(cards)
    for p in holders:
        s.held[p] = cards.pop()
    rest = list((all_cards(rules) - Counter(cards)).elements())
    rng.shuffle(rest)
    s.deck[: len(cards) + len(rest)] = cards + rest
    for p in others:
        if s.pending[p] >= 0:
            ids = legal(env, env.possible_agents[p])
            s.pending[p] = rng.choice([id for id in ids if id != s.pending[p]] or ids)
        if rules.p_misread and not keep:
            s.checked ^= rng.randrange(2) << p
        if rules.speed_noise and s.ready_at[p] > s.tick and not keep:
            s.ready_at[p] = s.tick + rng.choice([1, 2, 50])
    twin = type(env)(env.setup, env.render_mode)
    twin.restore(snapshot)
    return twin


@cases
def test_what_is_hidden_changes_nothing_that_a_seat_is_shown(id, options):
    """Others' cards and choices, the middle's order, under the rules' own noise their checks and ready ticks."""
    rng = random.Random(13)
    env = start(id, render_mode="ansi", seed=1, **options)
    differed = 0
    for _ in range(14):
        if not running(env):
            env.reset()
        for p, agent in enumerate(env.possible_agents):
            twin = scrambled(env, p, rng)
            assert told(twin, agent) == told(env, agent)
            assert key(twin, agent) == key(env, agent)
            assert env.setup.game.render_text(game(env), env.setup.rules, viewer=p) == env.setup.game.render_text(
                game(twin), env.setup.rules, viewer=p
            )
            assert seats(game(twin).asked) == seats(game(env).asked)
            differed += contents(twin) != contents(env)
        step_randomly(env, rng, rng.randrange(1, 4))
    assert differed >= 10


@cases
def test_who_is_asked_next_tells_nothing_that_is_hidden(id, options):
    """Two games differ in what a seat cannot know; all choose alike in both; a tick later it cannot tell them apart,
    but for cards that were laid or that it has drawn itself.
    """
    rng = random.Random(14)
    one = start(id, seed=2, render_mode="ansi", **options)
    compared = 0
    for _ in range(25):
        if not running(one):
            one.reset()
        me = rng.randrange(len(one.possible_agents))
        agent = one.possible_agents[me]
        asked, rounds = seats(game(one).asked), int(game(one).rounds)
        two = scrambled(one, me, rng, keep=asked)  # cards that may now be laid are the same
        while running(one) and game(one).steps == game(two).steps and asked:
            assert told(one, agent) == told(two, agent)
            action = move(one, rng)
            assert one.agent_selection == two.agent_selection == f"player_{asked.pop(0)}"
            one.step(action)
            two.step(action)
        drew = game(one).held[me] != game(two).held[me]
        if not drew and running(one) and game(one).rounds == rounds:
            assert told(one, agent) == told(two, agent)
            assert seats(game(one).asked) == seats(game(two).asked)
            compared += 1
    assert compared or options.get("num_players") == 1 or options.get("pace") == "auto_draw"


@cases
def test_nothing_at_all_changes_until_the_last_asked_seat_has_chosen(id, options):
    env, rng = start(id, render_mode="ansi", **options), random.Random(15)
    n = len(env.possible_agents)
    for _ in range(12):
        if not running(env):
            env.reset()
        asked, ticks = seats(game(env).asked), int(game(env).steps)
        before = [_bytes(env.observe(a)) for a in env.agents], env.state().tobytes(), env.render()
        infos = [_plain(env.infos[a]) for a in env.agents]
        for p in asked:
            assert [_bytes(env.observe(a)) for a in env.agents] == before[0]
            assert (env.state().tobytes(), env.render()) == before[1:]
            assert [_plain(env.infos[a]) for a in env.agents] == infos
            assert game(env).steps == ticks
            assert env.agent_selection == f"player_{p}", "ascending, only those that are asked"
            env.step(move(env, rng))
        assert game(env).steps == ticks + 1
    assert n == env.setup.num_players


def test_others_cards_are_hidden_from_the_very_tick_of_their_draw():
    """Two games draw other cards: only the drawer can tell."""
    table = Table(num_players=3, obs_seen=True).put(rows={0: RISING, 1: SECOND}, middle=[91, 92, 93, 94])
    views = []
    for card in (91, 93, 94):
        table.put(rows={0: RISING, 1: SECOND}, middle=[91, 92, 93, 94], tick=1)
        table.play({0: "wait", 1: "draw", 2: "wait"}, drawn={1: card})
        views.append([table.sees(p) for p in range(3)])
        table.put(tick=1)
    for p in (0, 2):
        assert views[0][p] == views[1][p] == views[2][p]
    assert len({view[1]["held"] for view in views}) == 3


@cases
def test_equal_keys_mean_equal_views(id, options):
    """The information state tells apart whatever an observation or a mask tells apart."""
    rng, views = random.Random(16), {}
    env = start(id, seed=3, **{**options, "max_steps": None})
    for k in range(80):
        if not running(env) or k % 20 == 0:
            env.reset(seed=k % 3)
        for agent in env.possible_agents:
            view = _bytes(env.observe(agent))
            assert views.setdefault((agent, key(env, agent)), view) == view
        play_tick(env, rng)


def test_equal_keys_mean_equal_views_under_speed_noise():
    """A holder that is still busy when the round ends is asked, and is shown how long it would have been."""
    table = Table(speed_noise=True, t_draw=9).put(rows={0: RISING, 1: SECOND}, held={1: 50}, tick=5)
    views = {}
    for ready_at in (6, 9, 14):
        table.put(rows={0: RISING, 1: SECOND}, held={1: 50}, tick=5, ready_at={1: ready_at})
        table.play({0: "stop"})
        assert table.asked == [1]
        view = _bytes(table.env.observe("player_1"))
        assert views.setdefault(key(table.env, "player_1"), view) == view
        table.env.reset(seed=1)


def test_keys_remember_covered_cards_and_forget_nothing_public():
    table = Table(obs_opponents="none")
    keys = set()
    for card in (91, 92):
        for slot in ("place 3", "place 4"):
            table.put(rows={0: RISING, 1: SECOND}, held={1: card}, middle=[93], tick=1)
            table.play({0: "wait", 1: slot})
            table.put(rows={0: RISING, 1: SECOND}, middle=[93])
            keys.add(key(table.env, "player_0"))
            table.env.reset(seed=1)
    assert len(keys) == 4


def test_keys_remember_the_own_checks_of_the_round():
    """What a seat believed of its row, and what it might therefore do, is part of all that it has ever seen."""
    keys = set()
    for first in (False, True):
        table = Table(p_misread=0.5, row_len=4)
        table.put(rows={0: [1, 2, 3, 4], 1: [20, 9, 8, 7]}, held={1: 21}, middle=[22, 23], tick=3)
        table.play({0: "wait", 1: "place 0"}, where=lambda table, first=first: table.checks[1] == first)
        table.play({0: "wait", 1: "draw"}, drawn={1: 22})
        table.play({0: "wait", 1: "place 0"}, where=lambda table: not table.checks[1])
        keys.add(key(table.env, "player_1"))
    assert len(keys) == 2


# --- determinize ------------------------------------------------------------------------------------------------------

NOISY = {
    "num_players": 3,
    "row_len": 4,
    "speed_noise": True,
    "t_flip": 4,
    "t_draw": 3,
    "t_place": (2, 4, 6),
    "t_check": 3,
}
HIDDEN = [
    {"num_players": 3, "row_len": 4},
    {"num_players": 1, "row_len": 4},
    {"num_players": 5, "row_len": 3, "numbers": 10, "thunders": 8, "obs_seen": True},
    {"num_players": 4, "row_len": 3, "pace": "auto_draw", "t_draw": (1, 2, 3, 4)},
    {**NOISY, "obs_opponents": "none"},
    {**NOISY, "pace": "auto_draw"},
    {"num_players": 3, "row_len": 3, "p_misread": 0.4, "false_stop": "masked", "idle": "forbidden"},
    {**NOISY, "p_misread": 0.2},
    {"num_players": 3, "row_len": 3, "idle": "free", "max_ticks": 20, "priority": "seat_rotating"},
]
hidden = pytest.mark.parametrize("options", HIDDEN, ids=lambda o: str(list(o.values())))


def moments(options, ticks=12):
    """Positions of a game: between ticks and within them."""
    env, rng = start(render_mode="ansi", seed=4, **options), random.Random(18)
    for _ in range(ticks):
        if not running(env):
            env.reset()
        yield env
        step_randomly(env, rng, rng.randrange(1, 4))


PUBLIC = ("row", "scores", "rounds", "marks", "stoppable", "asked", "holding", "right", "false", "tick", "idle", "left",
          "seen", "phase", "length", "steps", "end_reason")  # fmt: skip


@hidden
def test_determinize_keeps_all_that_the_agent_knows(options):
    for env in moments(options):
        before = contents(env)
        for seat, agent in enumerate(env.possible_agents):
            twin = env.determinize(agent, 1000 + seat)
            assert told(twin, agent) == told(env, agent)
            assert key(twin, agent) == key(env, agent)
            mine, his = env.snapshot().games[0], twin.snapshot().games[0]
            for field in PUBLIC:
                assert np.array_equal(mine[field], his[field]), field
            assert mine.pending[seat] == his.pending[seat]
            assert mine.held[seat] == his.held[seat]
            assert mine.ready_at[seat] == his.ready_at[seat]
            assert int(mine.checked ^ his.checked) >> seat & 1 == 0
            assert ((mine.pending == -1) == (his.pending == -1)).all(), "who has chosen is public"
            assert ((mine.ready_at > mine.tick) == (his.ready_at > his.tick)).all(), "who is busy is public"
            if not options.get("speed_noise"):
                assert (mine.ready_at == his.ready_at).all()
            if not options.get("p_misread"):
                assert mine.checked == his.checked
            assert contents(env) == before


@hidden
def test_determinize_conserves_the_cards(options):
    for env in moments(options):
        rules = env.setup.rules
        size = rules.numbers + rules.thunders
        for seat, agent in enumerate(env.possible_agents):
            mine = game(env)
            for seed in range(3):
                his = game(env.determinize(agent, seed))
                assert Counter(his.deck[:size].tolist()) == all_cards(rules)
                assert (his.deck[size:] == NO_CARD).all()
                assert middle(his) + Counter(hands(his, rules)) == middle(mine) + Counter(hands(mine, rules))
                assert ((mine.held == NO_CARD) == (his.held == NO_CARD)).all()
                assert his.held[seat] == mine.held[seat]


@hidden
def test_determinize_the_same_seed_gives_the_same_copy(options):
    for env in moments(options, 4):
        agent = env.possible_agents[-1]
        assert contents(env.determinize(agent, 5)) == contents(env.determinize(agent, 5))
        assert contents(env.determinize(agent, 5)) != contents(env.determinize(agent, 6))


@hidden
def test_determinized_copies_are_independent_and_playable(options):
    for env in moments(options, 5):
        before = contents(env)
        twin = env.determinize(env.agent_selection, 3)
        play_on(twin, random.Random(17))
        assert twin.agents == []
        assert contents(env) == before


@hidden
def test_determinize_gives_the_copy_another_future(options):
    """Neither the copy's generator nor its next episode is this game's, not even under the game's own seed."""
    for env in moments(options, 4):
        s = game(env)
        for seed in (0, 1, int(s.seed)):
            twin = game(env.determinize("player_0", seed))
            assert twin.rng != s.rng
            assert twin.seed != s.seed
        assert len({int(game(env.determinize("player_0", seed)).rng) for seed in range(20)}) == 20


def test_determinize_after_the_end_and_of_unknown_agents():
    env = step_randomly(start("flash10-round-v0"), random.Random(1), 10**4)
    assert not running(env)
    assert contents(env.determinize("player_1", 2))
    with pytest.raises(ValueError, match="agent='player_2'"):
        env.determinize("player_2", 2)


def drawn(table, seat, n=12_000, seed=0):
    """The records of n determinized copies of a position between ticks."""
    vector = table.copies(n)
    vector.determinize(np.arange(n), seat, seed + np.arange(n))
    return vector.snapshot().games


def drawn_within(env, agent, n=6000):
    """The records of determinized copies, with the choices of the running tick."""
    view = SeatView(env.setup, env.snapshot().games, env.possible_agents.index(agent))
    return view.determinize(n, seed=1)


def test_determinize_redeals_unseen_cards_uniformly():
    """Two other hands and a middle of two: every deal of the four cards among them comes as often."""
    table = Table("flash10-tiny-v0", num_players=3)
    rows = {0: [1, 2, 3], 1: [4, 5, 6], 2: [7, 8, 9]}
    table.put(rows=rows, held={0: 10, 1: 11, 2: "T"}, middle=[0])
    games = drawn(table, 0)
    assert (games["held"][:, 0] == 10).all()
    triples = [(a, b, c) for a, b, c in itertools.permutations([11, THUNDER, 0])]
    found = list(zip(games["held"][:, 1], games["held"][:, 2], games["deck"][:, 0]))
    assert_as_often([found.count(triple) for triple in triples])
    table = Table("flash10-tiny-v0", num_players=3)
    table.put(rows={**rows, 0: [1, 2, "T"]}, held={1: 11, 2: 3}, middle=[0, 10])
    games = drawn(table, 0, seed=99)
    pairs = list(itertools.permutations([0, 3, 10, 11], 2))
    found = Counter(zip(games["held"][:, 1].tolist(), games["held"][:, 2].tolist()))
    assert set(found) == set(pairs)
    assert_as_often([found[pair] for pair in pairs])
    games = drawn(table, 1, seed=5)
    assert (games["held"][:, 1] == 11).all()
    assert_as_often([(games["held"][:, 2] == card).sum() for card in (0, 3, 10)])


def test_determinize_redeals_two_thunders_as_two_cards():
    table = Table(num_players=2, row_len=3).put(rows={0: [1, 2, 3]}, held={1: 50}, middle=["T", "T", 60])
    games = drawn(table, 0)
    assert_share(games["held"][:, 1] == THUNDER, 1 / 2)
    assert_share(games["held"][:, 1] == 50, 1 / 4)
    assert_share(games["held"][:, 1] == 60, 1 / 4)


def test_determinize_leaves_face_up_and_covered_cards_whatever_is_shown():
    for shown in ({}, {"obs_opponents": "none"}, {"obs_opponents": "counts", "obs_seen": True}):
        env = step_randomly(start(num_players=3, row_len=4, **shown), random.Random(3), 30, DRAW)
        s = game(env)
        for seed in range(20):
            twin = game(env.determinize("player_2", seed))
            assert (twin.row == s.row).all()
            assert middle(twin) + Counter(hands(twin, env.setup.rules)) == middle(s) + Counter(
                hands(s, env.setup.rules)
            )


def test_determinize_the_next_card_is_any_unseen_one():
    table = Table("flash10-tiny-v0", num_players=2)
    table.put(rows={0: [1, 2, 3], 1: [4, 5, 6]}, held={1: 7}, middle=[8, 9, 10])
    vector = table.copies(12_000)
    vector.determinize(np.arange(12_000), 0, np.arange(12_000))
    vector.step(np.tile(table.ids({0: "draw", 1: "place 0"}), (12_000, 1)))
    held = vector.snapshot().games["held"][:, 0]
    assert_as_often([(held == card).sum() for card in (7, 8, 9, 10)])


def test_determinize_redraws_pending_choices_uniformly_over_legal_ids():
    table = Table(num_players=4, row_len=4).put(rows={}, held={1: 50}, tick=3)
    env = table.env
    for action in (STOP, 2, DRAW):
        env.step(action)
    games = drawn_within(env, "player_3")
    pending = games["pending"]
    assert_as_often([(pending[:, 0] == id).sum() for id in (DRAW, STOP, WAIT)])
    assert_as_often([(pending[:, 1] == id).sum() for id in range(4)])
    assert_as_often([(pending[:, 2] == id).sum() for id in (DRAW, STOP, WAIT)])
    assert (pending[:, 3] == -1).all()
    pairs = Counter(zip(pending[:, 0].tolist(), pending[:, 1].tolist()))
    assert_as_often([pairs[a, b] for a in (DRAW, STOP, WAIT) for b in range(4)])
    pending = drawn_within(env, "player_1", 300)["pending"]
    assert set(pending[:, 1].tolist()) == {2}
    assert set(pending[:, 0].tolist()) == {DRAW, STOP, WAIT}


def test_determinize_redraws_pending_choices_as_masks_have_it():
    table = Table(num_players=3, idle="forbidden", false_stop="masked").put(rows={0: RISING}, tick=3)
    for action in (STOP, DRAW):
        table.env.step(action)
    pending = drawn_within(table.env, "player_2", 600)["pending"]
    assert_as_often([(pending[:, 0] == id).sum() for id in (DRAW, STOP, WAIT)])
    assert set(pending[:, 1].tolist()) == {DRAW}


def test_determinize_redraws_pending_final_placements():
    table = Table(num_players=4, row_len=4).put(rows={0: [1, 2, 3, 4]}, held={1: 50, 2: 60, 3: 70}, tick=3)
    table.put(ready_at=dict.fromkeys((1, 2, 3), 9)).play({0: "stop"})
    table.env.step(3)
    table.env.step(0)
    pending = drawn_within(table.env, "player_3")["pending"]
    for p in (1, 2):
        assert_as_often([(pending[:, p] == id).sum() for id in range(4)])
    assert (pending[:, [0, 3]] == -1).all()


def test_determinize_in_parallel_keeps_what_is_known():
    env = start(api="parallel", num_players=3, row_len=3)
    env.step(dict.fromkeys(env.agents, DRAW))
    before = contents(env)
    held = [int(game(env.determinize("player_1", seed)).held[0]) for seed in range(300)]
    assert len(set(held)) > 60
    twin = env.determinize("player_1", 1)
    assert game(twin).held[1] == game(env).held[1]
    twin.step(dict.fromkeys(twin.agents, 0))
    assert contents(env) == before


@pytest.mark.parametrize(("name", "action", "held"), [("t_draw", "draw", {}), ("t_place", "place 3", {1: 50, 2: 60})])
def test_determinize_redraws_others_cooldowns_under_noise(name, action, held):
    """Those of the game's own law: a geometric number has no memory."""
    times = {"t_flip": 2, name: (1, 4, 7)}
    table = Table(num_players=3, row_len=4, speed_noise=True, **times).put(rows={}, held=held, tick=5)
    table.play({0: "wait", 1: action, 2: action}, where=lambda table: min(table.wait[1:]) >= 2)
    table.play({0: "wait"})
    games = drawn(table, 0)
    for p, mean in ((1, 4), (2, 7)):
        assert_geometric(games["ready_at"][:, p] - table.tick, mean)
    assert (games["ready_at"][:, 0] == table.record.ready_at[0]).all()
    games = drawn(table, 1, 6000)
    assert (games["ready_at"][:, 1] == table.record.ready_at[1]).all()
    assert (games["ready_at"][:, 0] <= table.tick).all(), "who is busy is public"
    assert_geometric(games["ready_at"][:, 2] - table.tick, 7)


def test_determinize_redraws_the_turning_over_under_noise():
    table = Table(num_players=2, speed_noise=True, t_flip=(2, 9), seed=3)
    assert table.asked == [0]
    assert_geometric(drawn(table, 0)["ready_at"][:, 1] - table.tick, 9)


@pytest.mark.parametrize(("place", "check"), [(1, 6), (3, 5)])
def test_determinize_redraws_the_time_to_notice_a_finished_row_by_the_games_own_law(place, check):
    """A seat that has put its row in order is busy for t_place and t_check - 1: the copies are as the games are."""
    table = Table(num_players=2, speed_noise=True, t_place=place, t_check=check)
    table.put(rows={0: SECOND, 1: [*RISING[:9], 1]}, held={1: 98}, tick=5)
    true = table.after({0: "wait", 1: "place 9"}, 20_000)["ready_at"][:, 1]
    for tick in (6, 9):
        expected = true[true > tick].mean()  # the others can tell no more than that it is busy
        table.put(rows={0: SECOND, 1: [*RISING[:9], 1]}, held={1: 98}, tick=5)
        table.play({0: "wait", 1: "place 9"}, where=lambda table, tick=tick: table.record.ready_at[1] > tick)
        while table.tick < tick:
            table.play({0: "wait"})
        assert abs(drawn(table, 0)["ready_at"][:, 1].mean() - expected) < 0.2


def test_determinize_keeps_cooldowns_without_noise():
    table = Table(num_players=3, row_len=4, t_draw=(1, 4, 7)).put(rows={}, tick=5)
    table.play({0: "wait", 1: "draw", 2: "draw"})
    assert (drawn(table, 0, 200)["ready_at"][:, :3] == table.record.ready_at[:3]).all()


def test_determinize_redraws_others_checks_after_placements_that_may_be_misread():
    table = Table(num_players=3, row_len=4, p_misread=0.3)
    table.put(rows={0: [1, 2, 3, 4], 1: [11, 12, 13, 9], 2: [21, 22, 23, 24]}, held={1: 14, 2: 7}, tick=5)
    table.play({0: "wait", 1: "place 3", 2: "place 3"})
    games = drawn(table, 0)
    assert_share(games["checked"] >> 1 & 1, 0.7)
    assert_share(games["checked"] >> 2 & 1, 0.3)
    assert (games["checked"] & 1 == 1).all()
    games = drawn(table, 1, 2000)
    assert (games["checked"] >> 1 & 1 == int(table.checks[1])).all()
    assert (games["checked"] & 1 == 1).all(), "a dealt row is never misread, and all can see it"


def test_determinize_keeps_a_check_that_waiting_has_told():
    """Under idle "forbidden" only a seat that believes its row to be done may wait."""
    table = Table(num_players=3, row_len=4, p_misread=0.3, idle="forbidden")
    table.put(rows={0: [1, 2, 3, 4], 1: [11, 12, 13, 9]}, held={1: 8}, tick=5)
    table.play({0: "draw", 1: "place 3", 2: "draw"}, where=lambda table: table.checks[1])
    assert_share(drawn(table, 0)["checked"] >> 1 & 1, 0.3)
    table.play({0: "place 0", 1: "wait", 2: "place 0"})
    assert (drawn(table, 0, 1000)["checked"] >> 1 & 1 == 1).all()


def test_determinize_redraws_who_goes_first_where_nobody_has_been_told():
    """Under "seat_rotating" the first seat is drawn at the deal; it acts for the first time in a round's last tick."""
    everybody_draws = dict.fromkeys(range(3), "draw")
    views, takers = set(), set()
    for seed in range(30):
        table = Table(num_players=3, row_len=3, priority="seat_rotating", seed=seed).put(rows={}, middle=[99])
        views.add(str([table.sees(p) for p in range(3)]))
        takers.update(table.after(everybody_draws, 1)["holding"].tolist())
    assert len(takers) == 3
    if len(views) == 1:  # no observation tells the first seat
        vector = table.copies(3000)
        vector.determinize(np.arange(3000), 0, np.arange(3000))
        vector.step(np.tile(table.ids(everybody_draws), (3000, 1)))
        holding = vector.snapshot().games["holding"]
        assert_as_often([(holding == 1 << p).sum() for p in range(3)])


def test_determinize_redraws_who_took_the_last_card_where_nobody_has_been_told():
    """Under last_card_stop it is worth two points to one of those who drew in that tick."""

    def pays(seat):
        def where(table):
            vector = table.copies(1)
            vector.step(np.zeros((1, 2), int))
            return table.held == [1, 3] and vector.rewards[0].tolist() == [10 + 2 * (seat == p) for p in range(2)]

        return where

    views = set()
    for taker in (1, 0):
        table = Table(last_card_stop=True, reward="points").put(rows={0: RISING, 1: SECOND}, middle=[1, 3])
        table.play({0: "draw", 1: "draw"}, where=pays(taker))
        views.add(str([table.sees(p) for p in range(2)]))
    if len(views) == 1:  # no observation tells who took it
        vector = table.copies(2000)
        vector.determinize(np.arange(2000), 0, np.arange(2000))
        vector.step(np.zeros((2000, 2), int))
        assert_share(vector.rewards[:, 0] == 12, 1 / 2)


def test_determinize_vector_and_aec_give_the_same_copies():
    table = Table(num_players=3, row_len=4).put(rows={}, held={1: 50}, tick=5)
    games = drawn(table, 0, 50)
    for seed in (0, 7, 49):
        twin = table.env.determinize("player_0", seed).snapshot().games[0]
        assert (twin.held == games[seed].held).all()
        assert twin.rng == games[seed].rng


def test_determinize_leaves_nothing_of_the_true_ready_ticks_and_cards():
    table = Table(num_players=2, row_len=4, speed_noise=True, t_flip=5, t_draw=5)
    for ready_at, card in ((6, 50), (30, 60), (31, 70)):
        table.put(rows={}, held={1: card}, middle=sorted({50, 60, 70} - {card}), tick=5, ready_at={1: ready_at})
        games = drawn(table, 0, 6000)
        assert_geometric(games["ready_at"][:, 1] - 5, 5)
        assert_as_often([(games["held"][:, 1] == n).sum() for n in (50, 60, 70)])
