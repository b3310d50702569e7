"""What must hold in every Flip It game, whatever is played: all ids with 2-4 players, and some option combinations."""

import copy
import math
import pickle
import random

import numpy as np
import pytest

import flinchenv
from games import ids_of
from table import Table, contents

SOME_OPTIONS = [
    {"actions": "joint"},
    {"num_players": 3, "reward": "win", "scoring": "capture", "capture_multi": "share", "capture_spots": True},
    {
        "num_players": 3,
        "actions": "joint",
        "guess_max": 2,
        "loser_guess": "discard",
        "play_cards": "consumed",
        "no_guess_cards": "continue",
        "goal": "hands:15",
        "obs_history": 3,
    },
    {
        "num_players": 4,
        "guess_max": 1,
        "win_rule": "closest",
        "no_guess_cards": "continue",
        "goal": "hands:12",
        "reward": "win",
        "obs_history": 0,
    },
    {
        "num_players": 3,
        "flip_order": "sequential",
        "guess_max": 2,
        "play_cards": "consumed",
        "scoring": "capture",
        "no_guess_cards": "continue",
        "max_hands": 15,
        "obs_history": 8,
    },
    {"goal": "guess_cards_gone:0", "loser_guess": "discard", "reward": "points"},
    {"max_steps": 7, "flip_order": "sequential"},
    {"max_steps": 3},
]
CASES = [(id, {"num_players": n}) for id in ids_of("flip_it") for n in (2, 3, 4)]
CASES += [("flip_it-v0", options) for options in SOME_OPTIONS]
cases = pytest.mark.parametrize(("id", "options"), CASES, ids=[f"{id} {list(o.values())}" for id, o in CASES])
some = pytest.mark.parametrize("options", SOME_OPTIONS, ids=lambda o: str(list(o.values())))

SIMULTANEOUS = [
    {"num_players": 3},
    {"num_players": 3, "actions": "joint"},
    {"num_players": 4, "scoring": "capture", "play_cards": "consumed", "no_guess_cards": "continue", "reward": "win"},
    {"actions": "joint", "guess_max": 3, "loser_guess": "discard", "play_cards": "consumed", "goal": "hands:9"},
]
SEQUENTIAL = [
    {"num_players": 3, "flip_order": "sequential"},
    {"num_players": 4, "flip_order": "sequential", "scoring": "capture", "play_cards": "consumed"},
]


def start(id="flip_it-v0", api="aec", seed=0, **options):
    env = flinchenv.make(id, api, **options)
    env.reset(seed=seed)
    return env


def short(id, options):
    """The options with at most ten hands a game, where every view of every seat is looked at."""
    preset = flinchenv.spec(id).rules.max_hands
    return {**options, "max_hands": min(10, options.get("max_hands", preset))}


def legal(env, agent=None):
    """The legal ids of an agent, by default of the one to act."""
    return np.flatnonzero(env.observe(agent or env.agent_selection)["action_mask"]).tolist()


def beside(parallel):
    """An AEC environment in the same position as a parallel one."""
    aec = flinchenv.make(parallel.setup.id, rules=parallel.setup.rules)
    aec.restore(parallel.snapshot())
    return aec


def running(env):
    return not any(env.terminations.values()) and not any(env.truncations.values())


def step_randomly(env, rng, steps=1):
    """AEC: so many random legal choices, or fewer where the game ends."""
    for _ in range(steps):
        if running(env):
            env.step(rng.choice(legal(env)))
    return env


def play_on(env, rng):
    """Play to the end and past the dead steps; a trace of all that anybody is shown."""
    trace = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        views = [_bytes(env.observe(a)) for a in env.possible_agents]
        trace.append((agent, reward, terminated, truncated, _plain(info), _bytes(observation), views, list(env.agents)))
        env.step(None if terminated or truncated else rng.choice(legal(env)))
        trace.append((dict(env.rewards), env.state().tobytes()))
    return trace


def _bytes(observation):
    return {key: value.tobytes() for key, value in observation.items()}


def _plain(info):
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in info.items()}


# --- While it is played -----------------------------------------------------------------------------------------------


@cases
def test_guess_cards_are_conserved(id, options):
    """Hands, win piles and spent cards together hold every Guess Card once a seat."""
    env = start(id, **short(id, options))
    n, rng = len(env.possible_agents), random.Random(1)
    everything = np.bincount(
        np.concatenate([_cards(bits) for bits in env.snapshot().games[0].guess_cards[:n]]), minlength=21
    )
    for _ in range(3):
        while running(env):
            step_randomly(env, rng, n)
            s = env.snapshot().games[0]
            assert (s.win_pile >= 0).all()
            total = s.win_pile[:n].sum(0)
            for p in range(n):
                assert s.guess_cards[p] & s.spent[p] == 0
                total[_cards(s.guess_cards[p])] += 1
                total[_cards(s.spent[p])] += 1
            assert total.tolist() == everything.tolist()
        env.reset()


def _cards(bits):
    return [card for card in range(21) if int(bits) >> card & 1]


@cases
def test_mask_truth_every_id_tried_on_a_copy(id, options):
    """Legal ids are carried out and change something; all others raise and change nothing."""
    env, rng = start(id, **options), random.Random(2)
    for _ in range(12):
        if not running(env):
            env.reset()
        mask = env.observe(env.agent_selection)["action_mask"]
        assert mask.sum() >= 1
        untouched = copy.deepcopy(env)
        before = contents(untouched)
        tried = [*range(len(mask)), -1, len(mask), 10**9]
        for action in tried:
            if 0 <= action < len(mask) and mask[action]:
                twin = copy.deepcopy(env)
                twin.step(action)
                assert contents(twin) != before
            else:
                with pytest.raises(ValueError, match=env.agent_selection):
                    untouched.step(action)
                assert contents(untouched) == before
                assert untouched.agent_selection == env.agent_selection
        step_randomly(env, rng, 3)


@pytest.mark.parametrize("options", SIMULTANEOUS, ids=str)
def test_mask_truth_in_parallel(options):
    """Every id of every seat, the others sending a legal one."""
    env, rng = start(api="parallel", **options), random.Random(3)
    for _ in range(4):
        masks = {agent: beside(env).observe(agent)["action_mask"] for agent in env.agents}
        right = {agent: rng.choice(np.flatnonzero(mask).tolist()) for agent, mask in masks.items()}
        before, untouched = contents(env), copy.deepcopy(env)
        for agent, mask in masks.items():
            for action in range(len(mask)):
                if mask[action]:
                    copy.deepcopy(env).step({**right, agent: action})
                else:
                    with pytest.raises(ValueError, match=agent):
                        untouched.step({**right, agent: action})
        assert contents(untouched) == before
        env.step(right)


@cases
def test_actions_of_every_integer_type_are_the_same(id, options):
    env = start(id, **options)
    action = legal(env)[-1]
    results = []
    for kind in (int, np.int8, np.int64, np.uint8, np.array):
        twin = copy.deepcopy(env)
        twin.step(kind(action))
        results.append(contents(twin))
    assert len(set(results)) == 1


@pytest.mark.parametrize("reward", ["margin", "win"])
@cases
def test_margin_and_win_are_zero_sum(id, options, reward):
    env, rng = start(id, **{**options, "reward": reward}), random.Random(4)
    for _ in range(2):
        returns = 0
        while running(env):
            step_randomly(env, rng)
            assert sum(env.rewards.values()) == pytest.approx(0, abs=1e-5)
            returns = returns + np.array(list(env.rewards.values()))
            if reward == "win" and running(env):
                assert not any(env.rewards.values())
        assert env.infos["player_0"]["returns"] == pytest.approx(returns, abs=1e-5)
        env.reset()


@cases
def test_every_game_ends_within_max_hands(id, options):
    env, rng = start(id, **options), random.Random(5)
    n, most = len(env.possible_agents), env.setup.rules.max_hands
    for _ in range(5):
        choices = 0
        while running(env):
            step_randomly(env, rng)
            choices += 1
            assert choices <= 2 * n * most
        info = env.infos["player_0"]
        assert info["length"] <= most
        if options.get("max_steps"):
            assert info["end_reason"] == "max_steps" or info["length"] > 0
        else:
            assert info["end_reason"] in ("goal", "guess_cards", "max_hands")
        env.reset()


def test_stubborn_players_end_at_max_hands():
    table = Table(max_hands=5)
    for _ in range(5):
        table.hand([10, 9], [0, 0])
    assert table.end[0] == "max_hands"


@cases
def test_all_are_paid_and_ended_in_the_same_step(id, options):
    """A round's rewards reach every seat when it is carried out, and each hears its sum at its next `last()`."""
    env, rng = start(id, **{**options, "reward": "points"}), random.Random(6)
    n = len(env.possible_agents)
    heard, paid = np.zeros(n), np.zeros(n)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        heard[env.possible_agents.index(agent)] += reward
        ends = list(env.terminations.values()) + list(env.truncations.values())
        if terminated or truncated:
            assert list(env.terminations.values()) == [terminated] * len(env.agents)
            assert {"scores", "winners", "end_reason", "length", "returns"} <= set(info)
            env.step(None)
            continue
        assert not any(ends)
        scores = env.snapshot().games[0].scores[:n].copy()
        env.step(rng.choice(legal(env)))
        gains = env.snapshot().games[0].scores[:n] - scores
        assert list(env.rewards.values()) == gains.tolist()
        paid += gains
    assert env.agents == []
    assert heard.tolist() == paid.tolist()


@cases
def test_observations_lie_in_their_spaces_and_decode_to_the_position(id, options):
    env, rng = start(id, **short(id, options)), random.Random(7)
    for _ in range(2):
        while running(env):
            _check_views(env)
            step_randomly(env, rng)
        for agent in env.agent_iter():
            _check_views(env)
            assert env.last()[2] != env.last()[3]
            assert env.observation_space(agent).contains(env.last()[0])
            env.step(None)
        assert env.agents == []
        for agent in env.possible_agents:
            assert env.observation_space(agent).contains(env.observe(agent))
        env.reset()


def _check_views(env):
    """Every seat's observation is in its space and says what lies on the table."""
    setup, n, s = env.setup, len(env.possible_agents), env.snapshot().games[0]
    for p, agent in enumerate(env.possible_agents):
        shown = env.observe(agent)
        assert env.observation_space(agent).contains(shown)
        mask = shown["action_mask"]
        assert mask.shape == (env.action_space(agent).n,)
        assert mask.dtype == shown["observation"].dtype == np.int8
        if agent in env.agents:
            assert np.array_equal(env.infos[agent]["action_mask"], mask)
        if not running(env):
            assert not mask.any()
        decoded, order = setup.layout.decode(shown["observation"]), [(p + k) % n for k in range(n)]
        assert list(decoded) == [field.name for field in setup.layout.fields]
        assert decoded["guess_cards"] == [_cards(s.guess_cards[q]) for q in order]
        assert decoded["points"] == [min(127, s.scores[q]) for q in order]
        assert decoded["hands"] == min(127, s.hands)
        if setup.rules.actions == "joint":
            assert decoded["over"] == (s.end_reason > 0 and not s.truncated)
        else:
            assert decoded["phase"] == (2 if s.end_reason > 0 and not s.truncated else s.phase)
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


def test_max_steps_truncates_and_shows_the_position_it_cut():
    env = start(max_steps=3)
    for action in (3, 4, 21, 22, 5, 6):
        env.step(action)
    assert env.truncations == {"player_0": True, "player_1": True}
    assert env.terminations == {"player_0": False, "player_1": False}
    decoded = env.setup.layout.decode(env.observe("player_1")["observation"])
    assert (decoded["phase"], decoded["own_guess"], decoded["hands"]) == (1, 6, 1)
    assert env.infos["player_0"]["end_reason"] == "max_steps"


# --- Seeds and copies -------------------------------------------------------------------------------------------------


@cases
def test_equal_seeds_give_equal_games_and_leave_global_generators_alone(id, options):
    options = short(id, options)
    env = start(id, **options)
    first = None
    for k in range(3):
        env.reset(seed=7)
        np.random.seed(k)
        before = np.random.get_state()[1].tobytes()
        trace = play_on(env, random.Random(8))
        assert np.random.get_state()[1].tobytes() == before
        first = first or trace
        assert trace == first
    assert play_on(start(id, seed=7, **options), random.Random(8)) == first


def restored(env):
    """A new environment of the same id and rules, restored from a snapshot."""
    other = type(env)(env.setup)
    other.restore(env.snapshot())
    return other


COPIES = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), restored]


@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle", "snapshot"])
@cases
def test_a_copy_plays_on_like_its_original(id, options, copied):
    for steps in (0, 1, 5, 10):
        env = step_randomly(start(id, **short(id, options)), random.Random(9), steps)
        twin = copied(env)
        assert contents(twin) == contents(env)
        before = contents(env)
        trace = play_on(twin, random.Random(10))
        assert contents(env) == before, "the copy is independent"
        assert play_on(env, random.Random(10)) == trace


@some
def test_copies_keep_their_settings(options):
    env = flinchenv.make(
        "flip_it-v0", render_mode="ansi", illegal_action="random_legal", **{"max_steps": 99, **options}
    )
    env.reset(seed=3)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env.determinize("player_1", 5)):
        assert twin.render_mode == "ansi"
        assert twin.setup[0] == env.setup[0]
        assert twin.setup.rules == env.setup.rules
        assert (twin.setup.illegal_action, twin.setup.max_steps) == ("random_legal", env.setup.max_steps)
        assert twin.render() == env.render()


def test_a_copy_before_reset_is_also_before_reset():
    for copied in COPIES[:2]:
        twin = copied(flinchenv.make("flip_it-v0"))
        twin.reset(seed=4)
        assert play_on(twin, random.Random(1)) == play_on(start(seed=4), random.Random(1))


@pytest.mark.parametrize("options", SIMULTANEOUS, ids=str)
def test_aec_mid_round_to_parallel_and_back(options):
    """Parallel drops the choices of a running AEC round; with the same ones again both go the same way."""
    rng = random.Random(11)
    aec = start(**{**options, "reward": "points"})
    parallel = flinchenv.make("flip_it-v0", "parallel", **{**options, "reward": "points"})
    for _ in range(8):
        step_randomly(aec, rng, rng.randrange(4))
        if not running(aec):
            break
        _open_round(aec)
        ids = {agent: rng.choice(legal(aec, agent)) for agent in aec.agents}
        asked = aec.agent_selection
        aec.step(ids[asked])
        parallel.restore(aec.snapshot())
        observations, rewards, terminations, *_ = parallel.step(ids)
        before = aec.snapshot().games[0].steps
        while running(aec) and aec.snapshot().games[0].steps == before:
            aec.step(ids[aec.agent_selection])
        for agent in ids:
            assert _bytes(observations[agent]) == _bytes(aec.observe(agent))
        assert rewards == aec.rewards
        assert terminations == aec.terminations
        back = flinchenv.make("flip_it-v0", **{**options, "reward": "points"})
        back.restore(parallel.snapshot())
        assert all(
            np.array_equal(back.snapshot().games[f], aec.snapshot().games[f]) for f in aec.snapshot().games.dtype.names
        )
        assert back.agent_selection == aec.agent_selection


def _open_round(aec):
    """Finish the running round, so that the next choice opens one."""
    steps = aec.snapshot().games[0].steps
    while running(aec) and (aec.snapshot().games[0].pending != -1).any() and aec.snapshot().games[0].steps == steps:
        aec.step(legal(aec)[0])


def test_a_parallel_snapshot_leaves_no_rewards_waiting():
    """Parallel agents have been told of all that they earned, so `last()` after a restore tells of nothing more."""
    parallel = start(api="parallel", num_players=2)
    for actions in ((8, 5), (25, 25), (7, 5), (21, 26)):
        parallel.step(dict(zip(parallel.agents, actions)))
    assert parallel.snapshot().waiting.tolist() == [[0, 0]]
    aec = flinchenv.make("flip_it-v0")
    aec.restore(parallel.snapshot())
    assert aec.last()[1] == 0


@pytest.mark.parametrize("illegal_action", ["forfeit", "random_legal"])
def test_a_snapshot_within_a_round_keeps_an_illegal_choice(illegal_action):
    """What the agent's info tells at the end of the round is the same in the restored game."""
    env = start(illegal_action=illegal_action)
    env.step(26)
    twin = restored(env)
    for either in (env, twin):
        either.step(3)
        assert either.infos["player_0"]["illegal_action"] == 26


def test_parallel_snapshots_play_on_alike():
    for options in SIMULTANEOUS:
        rng = random.Random(12)
        env = start(api="parallel", **options)
        twin = flinchenv.make("flip_it-v0", "parallel", **options)
        while env.agents:
            twin.restore(env.snapshot())
            ids = {agent: rng.choice(legal(beside(env), agent)) for agent in env.agents}
            assert _plain_step(env.step(ids)) == _plain_step(twin.step(ids))
        assert twin.agents == []


def _plain_step(step):
    observations, *middle, infos = step
    return [{a: _bytes(o) for a, o in observations.items()}, *middle, {a: _plain(i) for a, i in infos.items()}]


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


def other_choice(rng, ids, taken):
    """A legal id, another than `taken` where there is one."""
    return rng.choice([id for id in ids if id != taken] or ids)


@pytest.mark.parametrize("options", SIMULTANEOUS + SEQUENTIAL, ids=str)
def test_others_unrevealed_choices_change_nothing_that_a_seat_is_shown(options):
    """Two games differ in what others chose in the running hand; a seat cannot tell them apart until it is settled."""
    rng = random.Random(13)
    sequential = options.get("flip_order") == "sequential"
    differed = 0
    for trial in range(30):
        one = start(seed=trial, render_mode="ansi", **options)
        step_randomly(one, rng, rng.choice([0, 0, 6, 12]))
        _finish_hand(one, rng)
        if not running(one):
            continue
        two, me = copy.deepcopy(one), rng.choice(one.possible_agents)
        hands = one.snapshot().games[0].hands
        while True:
            assert told(one, me) == told(two, me)
            assert one.rewards == two.rewards
            rounds = one.snapshot().games[0].steps
            state = one.state().tobytes(), two.state().tobytes()
            mine = one.agent_selection == me
            flip = sequential and one.snapshot().games[0].phase == 1  # public at once
            action = rng.choice(legal(one))
            one.step(action)
            two.step(action if mine or flip else other_choice(rng, legal(two), action))
            if one.snapshot().games[0].hands > hands or not running(one):
                break
            differed += contents(one) != contents(two)
            if one.snapshot().games[0].steps == rounds:
                assert (one.state().tobytes(), two.state().tobytes()) == state
    assert differed >= 8


def _finish_hand(env, rng):
    """Play until a hand has just been settled (or not yet begun)."""
    n = len(env.possible_agents)
    while running(env):
        s = env.snapshot().games[0]
        if s.phase == 0 and (s.pending[:n] == -1).all() and (s.guess[:n] == -1).all():
            return
        step_randomly(env, rng)


@pytest.mark.parametrize("options", SIMULTANEOUS, ids=str)
def test_in_aec_nothing_at_all_changes_until_the_last_asked_seat_has_chosen(options):
    env, rng = start(render_mode="ansi", **{**options, "reward": "points"}), random.Random(14)
    for _ in range(60):
        if not running(env):
            env.reset()
        before = [_bytes(env.observe(a)) for a in env.agents], env.state().tobytes(), env.render()
        infos = [_plain(env.infos[a]) for a in env.agents]
        rounds = env.snapshot().games[0].steps
        step_randomly(env, rng)
        if env.snapshot().games[0].steps == rounds:
            assert ([_bytes(env.observe(a)) for a in env.agents], env.state().tobytes(), env.render()) == before
            assert [_plain(env.infos[a]) for a in env.agents] == infos
            assert not any(env.rewards.values())


@pytest.mark.parametrize("options", [o for o in SIMULTANEOUS if o.get("actions") != "joint"], ids=str)
def test_others_guesses_change_nothing_in_parallel(options):
    rng = random.Random(15)
    for trial in range(15):
        one = start(api="parallel", seed=trial, **options)
        two, me = copy.deepcopy(one), rng.choice(one.agents)
        first = {agent: rng.choice(legal(beside(one), agent)) for agent in one.agents}
        second = {a: id if a == me else other_choice(rng, legal(beside(two), a), id) for a, id in first.items()}
        shown = [_plain_step(env.step(ids)) for env, ids in ((one, first), (two, second))]
        for a, b in zip(*shown):
            assert a[me] == b[me]
        assert one.agents == two.agents
        assert contents(one) != contents(two)


# --- determinize ------------------------------------------------------------------------------------------------------


def key(env, agent):
    """The agent's information state."""
    seat = env.possible_agents.index(agent)
    return env.setup.game.information_state(env.snapshot().games[0], env.setup.rules, seat)


def moments(options):
    """Positions of two hands: between rounds, within rounds, in GUESS and in PLAY."""
    env, rng = start(render_mode="ansi", **options), random.Random(16)
    for _ in range(4 * len(env.possible_agents)):
        if not running(env):
            return
        yield env
        step_randomly(env, rng)


@pytest.mark.parametrize("options", SIMULTANEOUS + SEQUENTIAL, ids=str)
def test_determinize_keeps_all_that_the_agent_knows(options):
    for env in moments(options):
        before = contents(env)
        for seat, agent in enumerate(env.possible_agents):
            twin = env.determinize(agent, 1000 + seat)
            assert told(twin, agent) == told(env, agent)
            assert key(twin, agent) == key(env, agent)
            mine, his = env.snapshot().games[0], twin.snapshot().games[0]
            assert mine.pending[seat] == his.pending[seat]
            assert mine.guess[seat] == his.guess[seat]
            for field in (
                "guess_cards",
                "play_cards",
                "spent",
                "play",
                "scores",
                "past",
                "win_pile",
            ):
                assert np.array_equal(mine[field], his[field]), field
            assert ((mine.pending == -1) == (his.pending == -1)).all(), "who has chosen is public"
            assert ((mine.guess == -1) == (his.guess == -1)).all()
            assert contents(env) == before


@pytest.mark.parametrize("options", SIMULTANEOUS + SEQUENTIAL, ids=str)
def test_determinize_the_same_seed_gives_the_same_copy(options):
    for env in moments(options):
        agent = env.possible_agents[-1]
        assert contents(env.determinize(agent, 5)) == contents(env.determinize(agent, 5))
        assert contents(env.determinize(agent, 5)) != contents(env.determinize(agent, 6))


@pytest.mark.parametrize("options", SIMULTANEOUS + SEQUENTIAL, ids=str)
def test_determinized_copies_are_independent_and_playable(options):
    for env in moments(options):
        before = contents(env)
        twin = env.determinize(env.agent_selection, 3)
        play_on(twin, random.Random(17))
        assert twin.agents == []
        assert contents(env) == before


@pytest.mark.parametrize("options", SIMULTANEOUS + SEQUENTIAL, ids=str)
def test_determinize_gives_the_copy_another_future(options):
    """Neither the copy's generator nor its next episode is this game's, not even under the game's own seed."""
    for env in moments(options):
        s = env.snapshot().games[0]
        for seed in (0, 1, int(s.seed)):
            twin = env.determinize("player_0", seed).snapshot().games[0]
            assert twin.rng != s.rng


def test_determinize_after_the_end_and_of_unknown_agents():
    env = start("flip_it-hand-v0")
    play_on(env, random.Random(1))
    assert contents(env.determinize("player_1", 2))
    with pytest.raises(ValueError, match="agent='player_2'"):
        env.determinize("player_2", 2)


def drawn(env, agent, draws=1500):
    """The records of many determinized copies."""
    return np.concatenate([env.determinize(agent, seed).snapshot().games for seed in range(draws)])


def assert_uniform(values, ids):
    """The ids alone were drawn, each as often: chi-square, six standard deviations above its mean at most."""
    counts = np.bincount(values, minlength=126)
    assert set(np.flatnonzero(counts)) <= set(ids)
    expected = counts.sum() / len(ids)
    chi = sum((counts[id] - expected) ** 2 / expected for id in ids)
    freedom = len(ids) - 1
    assert chi <= freedom + 6 * math.sqrt(2 * freedom), (chi, freedom)


def used(**options):
    """A three-player game a few hands old, at the start of a hand: every seat holds other cards."""
    env = start(num_players=3, goal="hands:50", loser_guess="discard", play_cards="consumed", **options)
    _finish_hand(step_randomly(env, random.Random(18), 9), random.Random(18))
    return env


def test_determinize_redraws_pending_guesses_uniformly():
    env = used()
    ids = [legal(env, agent) for agent in env.agents]
    env.step(ids[0][0])
    env.step(ids[1][3])
    pending = drawn(env, "player_2")["pending"]
    assert_uniform(pending[:, 0], ids[0])
    assert_uniform(pending[:, 1], ids[1])
    assert len({(a, b) for a, b, *_ in pending.tolist()}) == len(ids[0]) * len(ids[1]), "independently"
    pending = drawn(env, "player_1")["pending"]
    assert_uniform(pending[:, 0], ids[0])
    assert set(pending[:, 1].tolist()) == {ids[1][3]}


def test_determinize_redraws_pending_joint_choices_uniformly():
    env = used(actions="joint")
    ids = legal(env)
    env.step(ids[5])
    assert_uniform(drawn(env, "player_1", 3000)["pending"][:, 0], ids)


@pytest.mark.parametrize("flip_order", ["simultaneous", "sequential"])
def test_determinize_redraws_guesses_set_aside_uniformly_in_play(flip_order):
    env = used(flip_order=flip_order)
    cards = [_cards(bits) for bits in env.snapshot().games[0].guess_cards[:3]]
    for _ in range(3):
        env.step(legal(env)[2])
    assert env.snapshot().games[0].phase == 1
    guess = drawn(env, "player_1")["guess"]
    assert_uniform(guess[:, 0], cards[0])
    assert_uniform(guess[:, 2], cards[2])
    assert set(guess[:, 1].tolist()) == {cards[1][2]}


def test_determinize_redraws_guesses_and_pending_plays_in_the_play_round():
    env = used()
    cards = [_cards(bits) for bits in env.snapshot().games[0].guess_cards[:3]]
    for _ in range(3):
        env.step(legal(env)[2])
    ids = legal(env)
    env.step(ids[0])
    games = drawn(env, "player_1")
    assert_uniform(games["pending"][:, 0], ids)
    assert_uniform(games["guess"][:, 0], cards[0])
    assert_uniform(games["guess"][:, 2], cards[2])
    assert set(drawn(env, "player_0", 50)["pending"][:, 0].tolist()) == {ids[0]}


def test_determinize_within_the_sequential_guesses_and_keeps_public_flips():
    env = used(flip_order="sequential")
    cards = [_cards(bits) for bits in env.snapshot().games[0].guess_cards[:3]]
    env.step(legal(env)[1])
    assert_uniform(drawn(env, "player_2")["guess"][:, 0], cards[0])
    for _ in range(3):
        env.step(legal(env)[0])
    flips = env.snapshot().games["play"]
    assert (flips[0, :3] >= 0).sum() == 1
    assert (drawn(env, "player_2", 50)["play"] == flips).all()


def test_determinize_leaves_no_guess_to_a_seat_without_guess_cards():
    table = Table(num_players=3, no_guess_cards="continue").put(0, guess_cards=[])
    table.choose("guess 3", "guess 4", "play 1")
    assert set(drawn(table.env, "player_2", 50)["guess"][:, 0].tolist()) == {-1}
    joint = Table(num_players=3, no_guess_cards="continue", actions="joint").put(0, guess_cards=[])
    joint.choose("guess 0 play 4")
    assert_uniform(drawn(joint.env, "player_2", 500)["pending"][:, 0], range(6))


def test_determinize_in_parallel():
    env = start(api="parallel", num_players=3)
    env.step({"player_0": 7, "player_1": 8, "player_2": 9})
    before = contents(env)
    seen = [env.determinize("player_1", seed) for seed in range(1000)]
    for seat in (0, 2):
        assert_uniform([int(e.snapshot().games[0].guess[seat]) for e in seen], range(16))
    assert {int(e.snapshot().games[0].guess[1]) for e in seen} == {8}
    mine = _bytes(beside(env).observe("player_1"))
    assert all(_bytes(beside(e).observe("player_1")) == mine for e in seen[:50])
    twin = seen[0]
    twin.step({"player_0": 21, "player_1": 21, "player_2": 21})
    assert contents(env) == before
