"""Determinised search: it sees what its seat sees, keeps to its budget, and finds what is plainly best."""

import pickle
import time

import numpy as np
import pytest
from table_flash10 import Table as Flash10Table
from table_flinch import Table as FlinchTable

import flinchenv
from flinchenv.agents.load import load
from flinchenv.agents.search import Budget, Search
from flinchenv.core.params import RulesError
from flinchenv.core.rng import RowStreams
from flinchenv.core.spec import RUNNING
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import tournament
from flinchenv.experiments.exploitability import exploitability
from flinchenv.flash10.game import STOP
from flinchenv.flinch.moves import STOCK
from games import OPTION_CASES, over

FIRST_SEED = 2**31 + 5_000_000
DRAWS = 10_000
OWN_RANDOMNESS = ("rng", "seed", "episode")  # fields that tell copies apart without a meaning


def deal(setup, seeds, rounds=0, seed=1):
    """Running games (n,) after some rounds of random play."""
    env = flinchenv.make(setup.id, "vector", num_envs=len(seeds), rules=setup.rules)
    env.reset(seed=np.asarray(seeds))
    if rounds:
        env.rollout(max_steps=rounds, seed=seed)
    games = env.snapshot().games
    return games[games["end_reason"] == RUNNING]


def look(setup, games):
    """(observation, action_mask, asked, current_player) of games (n,), by seat where seats choose at once."""
    n, p = len(games), setup.num_players
    views = p if setup.simultaneous else 1
    seen = (
        np.zeros((n, views, setup.layout.size), np.int8), np.zeros((n, views, setup.num_actions), np.int8),
        np.zeros((n, p), np.int8), np.zeros(n, np.int32),
    )  # fmt: skip
    setup.loops.observe(games, setup.params, setup.seats, 0, n, *seen)
    return seen


def decisions(setup, games, most=10**9):
    """(observation, action_mask, views) of up to `most` decisions of two or more legal ids in games (n,)."""
    observation, mask, asked, _ = look(setup, games)
    rows = []
    for i, seat in np.argwhere(asked):
        at = (i, seat if setup.simultaneous else 0)
        if mask[at].sum() > 1 and len(rows) < most:
            rows.append((observation[at], mask[at], SeatView(setup, games[i : i + 1], int(seat))))
    observation, mask, views = zip(*rows)
    return np.array(observation), np.array(mask), list(views)


def a_choice(setup, most):
    """A running game (1,) in which a seat has two or more legal ids, after `most` rounds or fewer."""
    for rounds in range(most, -1, -1):
        games = deal(setup, FIRST_SEED + np.arange(30), rounds)
        if len(games):
            found = np.flatnonzero((look(setup, games)[1].sum(2) > 1).any(1))
            if len(found):
                return games[found[:1]]
    raise AssertionError(f"{setup.id}: nobody has a choice")


def streams(n, seed=3):
    return RowStreams(seed + np.arange(n), np.zeros(n))


def choice(agent, setup, games, seat):
    """The probabilities by which an agent chooses for a seat of a game (1,)."""
    observation, mask, _, _ = look(setup, games)
    view = seat if setup.simultaneous else 0
    return agent.probs(observation[:, view], mask[:, view], [SeatView(setup, games, seat)])[0]


# --- What it may see --------------------------------------------------------------------------------------------------


@over(OPTION_CASES)
def test_determinize_depends_on_nothing_but_what_the_seat_knows(id, options):
    setup = make_setup(id, None, options)
    for rounds in (0, 7, 40):
        games = deal(setup, FIRST_SEED + np.arange(12), rounds)[:3]
        for k in range(len(games)):
            for seat in range(setup.num_players):
                view = SeatView(setup, games[k : k + 1], seat)
                expected = view.determinize(3, 5)
                for twin in view.determinize(2, 11):
                    copy = np.array([twin], games.dtype)
                    assert SeatView(setup, copy, seat).determinize(3, 5).tobytes() == expected.tobytes()


CHOOSERS = [
    ("flinch-v0", {}, {"rollout": "random"}, 60),
    ("flip_it-v0", {}, {}, 3),
    ("flash10-v0", {}, {"rollout": "random"}, 20),
]


@pytest.mark.parametrize(("id", "rules", "options", "rounds"), CHOOSERS, ids=[row[0] for row in CHOOSERS])
def test_search_chooses_the_same_whatever_the_hidden_cards_are(id, rules, options, rounds, monkeypatch):
    setup = make_setup(id, None, rules)
    agent = Search(setup, **{"simulations": 60 if setup.game.name != "flip_it" else 3 * HAND, **options})
    games = a_choice(setup, rounds)
    seat = int(np.argwhere(look(setup, games)[2][0])[0, 0])
    twins = SeatView(setup, games, seat).determinize(12, 1)

    def choices():
        return {choice(agent, setup, np.array([twin], games.dtype), seat).tobytes() for twin in twins}

    assert choices() == {choice(agent, setup, games, seat).tobytes()}
    if id == "flip_it-v0":
        return  # its hidden guesses are redrawn, not dealt: a copy of the truth tells the search too little
    monkeypatch.setattr(SeatView, "_redraw", lambda view, games, seeds: games)  # a cheat: all copies are the truth
    assert len(choices()) > 1


@pytest.mark.parametrize("id", ["flinch-v0", "flash10-v0"])
def test_no_determinisation_is_the_truth_or_shares_its_future(id):
    setup = make_setup(id)
    games = deal(setup, [FIRST_SEED], 11)
    seat = 0
    copies = SeatView(setup, games, seat).determinize(DRAWS, 4)
    assert not (copies["rng"] == games["rng"]).any() and not (copies["seed"] == games["seed"]).any()
    if id == "flinch-v0":  # five cards of a hand and nine of each Stockpile; those of the Stack come later
        same = (copies["hand"] == games["hand"]).all((1, 2)) & (copies["nodes"] == games["nodes"]).all(1)
        assert not same.any()
    played = np.concatenate([games, copies])
    play_on(setup, played, 60)
    assert not any(same_but_for_seeds(played[1:], played[0]))


def play_on(setup, games, rounds):
    """Random legal play, the same draws in every game."""
    n, p = len(games), setup.num_players
    counters, counts, returns = np.full(n, 77, np.uint64), np.zeros((2, n), np.int64), np.zeros((2, n, p), np.float32)
    setup.loops.rollout(games, setup.params, setup.seats, 0, n, rounds, 0, False, counters, *counts, *returns)


def same_but_for_seeds(games, one):
    same = np.ones(len(games), bool)
    for name in set(games.dtype.names) - set(OWN_RANDOMNESS):
        same &= (games[name] == one[name]).reshape(len(games), -1).all(1)
    return same


def test_copies_of_one_game_and_seed_play_on_alike():
    """What the test before stands on: equal games with equal generators cannot be told apart."""
    setup = make_setup("flinch-v0")
    games = deal(setup, [FIRST_SEED], 11).repeat(3)
    games["seed"] = 1, 2, 3
    play_on(setup, games, 60)
    assert all(same_but_for_seeds(games, games[0]))


# --- What it spends ---------------------------------------------------------------------------------------------------


HAND = 11 * 6  # a guess with a play, of Flip It for two
METHODS = [("flinch-tiny-v0", "flat"), ("flinch-tiny-v0", "ismcts"), ("flip_it-v0", "matrix")]


@pytest.mark.parametrize(("id", "method"), METHODS)
def test_a_budget_of_simulations_is_kept(id, method):
    setup = make_setup(id)
    games = a_choice(setup, 1)
    rows = decisions(setup, games, 1)
    width = int(rows[1].sum())
    for simulations in (1, 2, 7, 100, 1500):
        agent = Search(setup, simulations, method=method, rollout="random")
        probs = agent.probs(*rows)[0]
        assert probs.sum() == pytest.approx(1) and (probs[rows[1][0] == 0] == 0).all()
        assert agent.simulations_done <= simulations
        assert agent.simulations_done > simulations - (width if method == "flat" else HAND)
        if method == "ismcts":
            assert agent.simulations_done == simulations


@pytest.mark.parametrize(("id", "method"), METHODS)
def test_a_budget_of_milliseconds_is_kept(id, method):
    setup = make_setup(id)
    games = a_choice(setup, 1)
    rows = decisions(setup, games, 1)
    agent = Search(setup, milliseconds=60, method=method, rollout="random")
    agent.probs(*rows)  # compiles
    start = time.perf_counter()
    agent.probs(*rows)
    spent = time.perf_counter() - start
    assert spent < 2.0  # the machine may be busy
    assert spent >= 0.06 or method == "matrix"  # which ends where it knows all that it can
    assert agent.simulations_done > 20


@pytest.mark.parametrize(
    ("name", "value"),
    [("simulations", v) for v in (0, -1, 1_000_001, 2.5, True, "200")]
    + [("milliseconds", v) for v in (0, -5, 3_600_001, 1.5)]
    + [("horizon", 0), ("seed", -1), ("method", "best"), ("method", "matrix"), ("rollout", "rule:9")],
)
def test_bad_settings_are_refused(name, value):
    with pytest.raises(RulesError, match=f"^{name}="):
        Search(make_setup("flinch-v0"), **{name: value})


def test_bad_combinations_and_names_are_refused():
    with pytest.raises(RulesError, match=r"^simulations="):
        Search(make_setup("flinch-v0"), 100, milliseconds=10)
    with pytest.raises(RulesError, match=r"^method='ismcts'"):
        Search(make_setup("flip_it-v0"), method="ismcts")
    for name in ("search:0", "search:1000001", "search:-1", "search:x", "search:1.5", "search:"):
        with pytest.raises(RulesError, match=r"search:1'..'search:1000000"):
            load(name, "flinch-v0")
    agent = load("search:7", "flinch-v0")
    assert agent.name == "search:7" and agent.simulations == 7 and load("search", "flinch-v0").simulations == 200
    with pytest.raises(RulesError, match=r"^view="):
        agent.act(np.zeros((1, agent.setup.layout.size)), np.ones((1, agent.setup.num_actions)), streams(1))


# --- What it finds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["flat", "ismcts"])
def test_a_winning_stockpile_card_is_played(method):
    """Duties are off and uniform play goes on, so that nothing but the search says so."""
    table = FlinchTable(duty_mode="honour").put(
        stocks={0: [7], 1: [9, 9, 9]}, hands={0: [3, 4, 9, 12, 13]}, centre=[(1, 6), (1, 2)]
    )
    agent = Search(table.setup, 400, method=method, rollout="random")
    probs = choice(agent, table.setup, table.env.snapshot().games, 0)
    assert len(table.moves()) > 5
    assert int(probs.argmax()) == STOCK


def test_a_finished_row_is_stopped():
    table = Flash10Table(num_players=2, row_len=4).put(rows={0: [1, 5, 50, 90], 1: [9, 8, 7, 6]})
    agent = Search(table.setup, 200, rollout="random", method="flat")
    probs = choice(agent, table.setup, table.env.snapshot().games, 0)
    assert int(probs.argmax()) == STOP


@pytest.mark.parametrize("id", ["flip_it-hand-v0", "flip_it-tiny-v0"])
def test_two_seats_of_flip_it_play_the_equilibrium_of_a_hand(id):
    """In both phases; in the tiny game, of several hands, that is the equilibrium of the game."""
    setup = make_setup(id)
    found = exploitability(setup, Search(setup, HAND**2))
    assert found.exploitability < 0.001


def test_with_joint_actions_a_hand_is_solved_too():
    setup = make_setup("flip_it-hand-v0", None, {"actions": "joint"})
    games = deal(setup, [FIRST_SEED])
    rows = decisions(setup, games, 1)
    mixture, payoff = hand_of_two(setup, rows, Search(setup, HAND**2))
    assert (payoff @ mixture).max() < 0.002 < 0.48 < (payoff @ np.full(HAND, 1 / HAND)).max()
    plays = np.array([mixture[np.arange(HAND) % 6 == v].sum() for v in range(6)])
    assert np.abs(plays - np.array([2, 3, 4.5, 4.5, 3, 2]) / 19).max() < 0.01


def hand_of_two(setup, rows, agent):
    """An agent's mixture over the joint actions of a first hand, and what they pay against each other, (66, 66)."""
    ids = np.flatnonzero(rows[1][0])
    env = flinchenv.make(setup.id, "vector", num_envs=len(ids) ** 2, rules=setup.rules)
    env.reset(seed=1)
    pairs = np.stack(np.meshgrid(ids, ids, indexing="ij"), -1).reshape(-1, 2)
    payoff = env.step(pairs).rewards[:, 0].reshape(len(ids), len(ids))
    return agent.probs(*rows)[0, ids], payoff


def test_regret_matching_by_draws_comes_nearer_the_more_it_may_spend(monkeypatch):
    """What a hand of three or four is learnt by, where two seats can tell how good it is."""
    monkeypatch.setattr(Budget, "fits", lambda budget, simulations: False)
    setup = make_setup("flip_it-hand-v0", None, {"actions": "joint"})
    rows = decisions(setup, deal(setup, [FIRST_SEED]), 1)
    lost = []
    for simulations in (HAND * 20, HAND * 400, HAND * 8000):
        mixture, payoff = hand_of_two(setup, rows, Search(setup, simulations))
        lost.append(float((payoff @ mixture).max()))  # what the best reply to it wins
    print(lost)
    assert lost[2] < 0.06 and lost[2] < lost[1] < lost[0] < 0.48


def test_the_next_hand_is_looked_at_where_the_budget_pays_for_it():
    """Of a game of two hands that pays for winning alone the first hand says little; both together say all."""
    rules = {"goal": ("hands", 2), "play_values": (0, 1, 2), "scoring": "capture", "reward": "win"}
    setup = make_setup("flip_it-tiny-v0", None, rules)
    plans = 5 * 3
    here, ahead = (exploitability(setup, Search(setup, budget)) for budget in (plans**2, 40 * plans**2))
    assert ahead.exploitability < 0.002 < 0.02 < here.exploitability


# --- Everywhere -------------------------------------------------------------------------------------------------------


def test_a_batch_chooses_as_its_rows_alone_and_again_after_pickling():
    setup = make_setup("flip_it-v0")
    rows = decisions(setup, deal(setup, FIRST_SEED + np.arange(4), 4))
    agent = Search(setup, 40 * HAND)
    n = len(rows[0])
    batch = agent.act(rows[0], rows[1], streams(n), rows[2])
    rng = streams(n)
    alone = [int(agent.act(rows[0][i : i + 1], rows[1][i : i + 1], rng[[i]], rows[2][i : i + 1])[0]) for i in range(n)]
    assert batch.tolist() == alone and len(set(alone)) > 2
    again = pickle.loads(pickle.dumps(agent))
    assert again.act(rows[0], rows[1], streams(n), rows[2]).tolist() == alone
    assert (Search(setup, 40 * HAND, seed=1).probs(*rows) != agent.probs(*rows)).any()


def acts_legally(id, options, **settings):
    setup = make_setup(id, None, options)
    games = a_choice(setup, 2)
    observation, mask, views = decisions(setup, games)
    agent = Search(setup, 12, **settings)
    chosen = agent.act(observation, mask, streams(len(mask)), views)
    assert mask[np.arange(len(mask)), chosen].all()
    probs = agent.probs(observation, mask, views)
    assert np.allclose(probs.sum(1), 1) and (probs[mask == 0] == 0).all() and probs[range(len(mask)), chosen].all()


@pytest.mark.parametrize("id", [id for id in flinchenv.list_envs() if id != "flip_it-sequential-v0"])
def test_every_id_is_searched(id):
    """Quick, by uniform playouts; `test_every_rule_is_searched` takes what is the default."""
    acts_legally(id, {}, rollout="random")


@pytest.mark.slow
def test_with_one_simulation_a_search_plays_as_its_policy():
    setup = make_setup("flash10-round-v0", None, {"false_stop": "masked"})
    rows = decisions(setup, deal(setup, FIRST_SEED + np.arange(6), 9))
    agent, bot = load("search:1", setup), load("rule:1", setup)
    chosen = agent.act(rows[0], rows[1], streams(len(rows[0])), rows[2]).tolist()
    assert chosen == bot.act(rows[0], rows[1], None, rows[2]).tolist() and len(set(chosen)) > 2


@pytest.mark.slow
@over(
    [(id, {}) for id in flinchenv.list_envs()]
    + OPTION_CASES
    + [("flinch-partnership-v0", {"num_players": n}) for n in (4, 6, 8)]
)
def test_every_rule_is_searched(id, options):
    acts_legally(id, options)
    if not make_setup(id, None, options).simultaneous:
        acts_legally(id, options, method="ismcts")
    else:
        acts_legally(id, options, method="matrix", rollout="random")


# --- How strong and how fast ------------------------------------------------------------------------------------------


STRONGER = [("flinch-v0", {}, "search:200", "rule:4", 300)]


@pytest.mark.slow
@pytest.mark.parametrize(("id", "rules", "name", "other", "games"), STRONGER)
def test_search_beats_the_best_quick_bot(id, rules, name, other, games):
    args = tournament.Args(env=id, agents=(name, other), games=games, rules=rules, seed=FIRST_SEED)
    pair = tournament.run(args).data["pairs"][0]
    print(pair)
    assert pair["ci95"][0] > 0.5 and pair["forfeits"] == [0, 0]


@pytest.mark.slow
def test_speed():
    """Rates on one core; the bounds are far below what an idle machine does."""
    setup = make_setup("flinch-v0")
    games = deal(setup, [FIRST_SEED]).repeat(500)
    mask, seeds = np.zeros(setup.num_actions, np.int8), np.arange(500)
    deals = [rate(lambda: setup.loops.determinize(games, setup.params, setup.seats, 0, 500, 0, seeds, mask), 500)]
    starts = deal(setup, FIRST_SEED + np.arange(2000))
    policy, room = type(load("rule:1", setup)).policy, np.zeros((2000, setup.num_actions), np.int8)

    def rollout():
        counts, returns = np.zeros((2, 2000), np.int64), np.zeros((2, 2000, 2), np.float32)
        counters = np.arange(2000).astype(np.uint64)
        setup.loops.rollout_policy(
            starts.copy(), setup.params, setup.seats, 0, 2000, 2**40, 0, False, counters, *counts, *returns, policy,
            room,
        )  # fmt: skip

    played = rate(rollout, 2000)
    print(f"{deals[0]:,.0f} determinisations/s, {played:,.0f} finished rule:1 games/s")
    assert deals[0] > 200_000 and played > 5_000


def rate(work, units):
    """Units a second of processor time, the best of seven."""
    work()
    times = []
    for _ in range(7):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return units / min(times)
