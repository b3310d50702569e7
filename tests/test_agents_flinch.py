"""The rule bots of Flinch: legal under all rules, the same in both faces, each stronger than the one below."""

import math
import random

import numpy as np
import pytest
from test_differential_flinch import draw_rules

import flinchenv
from flinchenv.agents.flinch_call import call_policy
from flinchenv.agents.flinch_policies import blocker_policy, greedy_policy, planner_policy, refuser_policy
from flinchenv.agents.flinch_route import first_policy, route_policy, tidy_policy
from flinchenv.agents.flinch_search import search_policy
from flinchenv.agents.load import load
from flinchenv.agents.policy import bot_kernel
from flinchenv.core.kernel import routine
from flinchenv.core.rng import BOT, GAME, GAMMA, mix, stream
from flinchenv.core.spec import RUNNING
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import tournament
from flinchenv.flinch.calls import is_right
from flinchenv.flinch.game import apply_actions, deal
from flinchenv.flinch.moves import (
    CALL_STARTER,
    CALL_STOCK,
    CHALLENGE,
    NAME,
    NO_CALL,
    NUM_ACTIONS,
    choose,
    fill_action_mask,
    legal,
)
from flinchenv.flinch.observe import fill_observation

NAMES = [f"rule:{level}" for level in range(1, 6)]
GREEDY, PLANNER, BLOCKER, REFUSER, RANDOM = range(6, 11)  # players; 1..5 are the levels
FIRST_SEED = 2**31
WRONG_CALL = -100
MOST_ACTIONS = 5000  # of a game that is only walked through

CASES = [
    ("flinch-v0", {}),
    ("flinch-v0", {"num_players": 5, "stock_duty": "turn_start", "opening": "sequential", "first_laydown": "free"}),
    ("flinch-challenge-v0", {}),
    ("flinch-challenge-v0", {"num_players": 3, "challenge_window": "every_action", "penalty_card": "hidden_random"}),
    ("flinch-challenge-v0", {"call_kinds": "stock_only", "mask_false_stock_calls": True, "obs_reserve": "full"}),
    ("flinch-partnership-v0", {}),
    ("flinch-partnership-v0", {"num_players": 6, "center": "both_ends", "n_wild": 4, "duty_mode": "challenge"}),
    ("flinch-both_ends-v0", {}),
    ("flinch-both_ends-v0", {"starter_duty": "ones_only", "duty_mode": "challenge", "n_wild": 2}),
    ("flinch-eights-v0", {}),
    ("flinch-eights-v0", {"eights_removal": "on_15", "duty_mode": "honour", "n_wild": 3}),
    ("flinch-classic150-v0", {"num_players": 8}),
    ("flinch-exposure-v0", {"p_expose": 0.2}),
    ("flinch-exposure-v0", {"p_expose": 0.3, "offturn_exposure_discard": False, "duty_mode": "enforced"}),
    ("flinch-wild-v0", {"deadlock": "reshuffle_reserves"}),
    ("flinch-tiny-v0", {"auto_forced": True}),
]


@routine
def chosen(s, params, seats, player, mask, draw):
    """The action of the seat to act by one of the players."""
    p = np.int64(s.current_player)
    if player == 1:
        return first_policy(s, params, seats, p, mask, draw)
    if player == 2:
        return tidy_policy(s, params, seats, p, mask, draw)
    if player == 3:
        return route_policy(s, params, seats, p, mask, draw)
    if player == 4:
        return search_policy(s, params, seats, p, mask, draw)
    if player == 5:
        return call_policy(s, params, seats, p, mask, draw)
    if player == GREEDY:
        return greedy_policy(s, params, seats, p, mask, draw)
    if player == PLANNER:
        return planner_policy(s, params, seats, p, mask, draw)
    if player == BLOCKER:
        return blocker_policy(s, params, seats, p, mask, draw)
    if player == REFUSER:
        return refuser_policy(s, params, seats, p, mask, draw)
    plays, ranks, slots = legal(s, params, seats)
    return choose(plays, ranks, slots, draw)[0]


@bot_kernel
def play_games(games, rules, seats, players, first_seed, most, winners, observation, mask, actions, rewards):
    """Play games in one record, two of each seed; how many positions were written down, or what went wrong.

    Args:
        players: (N, P), who sits where.
        most: the actions after which a game is left.
        winners: (N, P), filled in.
        observation, mask, actions: (T, D), (T + 1, A), (T, 11), the first T positions of two or more legal ids, with
            what each player would do; the last mask is scratch space.
    """
    s, params = games[0], rules[0]
    t = 0
    for i in range(len(players)):
        s.rng = stream(np.uint64(first_seed + i // 2), np.uint64(0), GAME)
        counter = stream(np.uint64(first_seed + i), np.uint64(0), BOT)
        s.end_reason = RUNNING
        s.truncated = 0
        s.length = 0
        for p in range(len(seats)):
            s.winners[p] = 0
        deal(s, params, seats)
        while s.end_reason == RUNNING and s.length < most:
            p = np.int64(s.current_player)
            fill_action_mask(s, params, seats, p, mask[t])
            counter += GAMMA
            action = chosen(s, params, seats, np.int64(players[i, p]), mask[t], mix(counter))
            if not mask[t, action]:
                return -1 - players[i, p]
            choices = 0
            for a in range(NUM_ACTIONS):
                choices += mask[t, a]
            if t < len(actions) and choices > 1:
                fill_observation(s, params, seats, p, observation[t])
                for player in range(1, 11):
                    actions[t, player] = chosen(s, params, seats, player, mask[t], mix(counter))
                if actions[t, 5] == CALL_STOCK and not is_right(s, params, CALL_STOCK):
                    return WRONG_CALL
                t += 1
            s.pending[p] = action
            apply_actions(s, params, seats, rewards)
        for p in range(len(seats)):
            winners[i, p] = s.winners[p]
    return t


def walk(setup, games, positions, seed=FIRST_SEED):
    """(observation, mask, actions) of positions of games between all kinds of players."""
    n = setup.num_players
    players = np.random.default_rng(seed).choice([1, 2, 3, 4, 5, 5, PLANNER, BLOCKER, REFUSER, RANDOM], (games, n))
    players[::3] = players[::3, :1]
    observation = np.zeros((positions, setup.layout.size), np.int8)
    mask, actions = np.zeros((positions + 1, NUM_ACTIONS), np.int8), np.zeros((positions, 11), np.int64)
    shape = setup.new_games(1), setup.params, np.zeros(n, np.int64), players, seed, MOST_ACTIONS
    found = play_games(*shape, np.zeros((games, n), np.int8), observation, mask, actions, np.zeros(n, np.float32))
    assert found != WRONG_CALL, "level 5 calls a Stockpile card that was not passed over"
    assert found >= 0, f"player {-1 - found} acts illegally"
    return observation[:found], mask[:found], actions[:found]


def check_faces(setup, games, positions):
    """All players act legally, and the agents choose from the observation what the policies choose."""
    observation, mask, actions = walk(setup, games, positions)
    assert (np.take_along_axis(mask, actions[:, 1:], 1) == 1).all()
    for level, name in enumerate(NAMES, 1):
        bot = load(name, setup)
        assert bot.name == name and not bot.needs_view
        found = bot.act(observation, mask)
        assert found.dtype == np.int64 and (found == actions[:, level]).all(), name
    return len(actions)


@pytest.mark.parametrize(("id", "options"), CASES, ids=str)
def test_both_faces_choose_the_same_and_legally(id, options):
    """The agent knows the observation alone, so a policy that read more of the record would be found out."""
    tiny = id == "flinch-tiny-v0"
    assert check_faces(make_setup(id, None, options), 2000 if tiny else 60, 4000) > (500 if tiny else 2000)


def test_both_faces_under_any_rules():
    rng = random.Random(7)
    for _ in range(60):
        check_faces(make_setup("flinch-v0", draw_rules(rng)), 10, 300)


@pytest.mark.slow
def test_both_faces_under_any_rules_for_long():
    rng = random.Random(8)
    for _ in range(1500):
        check_faces(make_setup("flinch-v0", draw_rules(rng)), 20, 1000)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_alone_plays_as_in_its_batch_and_always_the_same(name):
    setup = make_setup("flinch-v0")
    bot = load(name, setup)
    observation, mask, _ = walk(setup, 2, 50)
    actions = bot.act(observation, mask)
    assert (bot.act(observation, mask, np.random.default_rng(1)) == actions).all()
    for i in range(50):
        assert bot.act(observation[i : i + 1], mask[i : i + 1]) == actions[i]
    probs = bot.probs(observation, mask)
    assert probs.dtype == np.float64 and (probs == np.eye(NUM_ACTIONS)[actions]).all()
    mask[1] = 0
    with pytest.raises(ValueError, match="row 1 has no legal action"):
        bot.act(observation, mask)


def test_levels_by_name():
    for name in NAMES:
        assert load(name, "flinch-eights-v0").name == name
    assert load("rule", "flinch-v0").name == "rule:1"
    with pytest.raises(ValueError, match=r"'rule:1'..'rule:5'"):
        load("rule:6", "flinch-v0")


def test_policies_play_in_the_vector_api():
    env = flinchenv.make("flinch-v0", "vector", num_envs=200)
    env.reset(seed=1)
    result = env.rollout(greedy_policy)
    assert (result.finished == 1).all() and set(env._games["end_reason"]) <= {3, 4}


# --- Calls ------------------------------------------------------------------------------------------------------------


def answers(**options):
    """What each player would say in the windows of games between all kinds of players, (windows, 11)."""
    setup = make_setup("flinch-challenge-v0", None, options)
    observation, _, actions = walk(setup, 400, 30_000)
    return actions[observation[:, setup.layout["phase"].entries][:, CHALLENGE] == 1]


def test_only_level_5_calls():
    said = answers()
    assert len(said) > 5000
    assert (said[:, 1:5] == NO_CALL).all() and (said[:, 6:10] == NO_CALL).all()
    assert (said[:, 5] == CALL_STOCK).sum() > 50


def test_level_5_calls_for_a_starter_where_the_odds_are_good():
    """A third of the cards are 1s: four cards hold one with about 0.8, so a call pays; of 15 ranks it never does."""
    said = answers(num_ranks=3, series_per_pack=20)
    assert (said[:, 5] == CALL_STARTER).sum() > 50
    assert (answers()[:, 5] != CALL_STARTER).all()


def test_level_5_is_level_4_without_calls():
    for id, options in CASES:
        setup = make_setup(id, None, options)
        if setup.rules.duty_mode != "challenge":
            _, _, actions = walk(setup, 20, 1000)
            assert (actions[:, 4] == actions[:, 5]).all()


def test_a_wild_is_named_for_the_route():
    """Levels 3 to 5 name a wild, where they can, as the next card on the way to the Stockpile's card."""
    setup = make_setup("flinch-wild-v0")
    observation, _, actions = walk(setup, 400, 30_000)
    naming = observation[:, setup.layout["phase"].entries][:, NAME] == 1
    ups = observation[naming][:, setup.layout["ups"].entries]
    stock = observation[naming][:, setup.layout["stock_top"].entries].reshape(-1, 2, 16)[:, 0].argmax(1)
    found = 0
    for k in range(len(ups)):
        tops = [0, *(t for t in range(1, stock[k]) if ups[k, t])]
        if stock[k] > 1 and max(tops) + 1 < stock[k]:
            assert (actions[naming][k, 3:6] == max(tops) + 1).all()
            found += 1
    assert found > 100


# --- Strength ---------------------------------------------------------------------------------------------------------


def interval(better, worse, games, id, **options):
    """95 % of the win rate of `better`, a game without a winner half won, seats rotated on the same deals."""
    setup = make_setup(id, None, options)
    n = setup.num_players
    players = np.full((games, n), worse)
    for i in range(games):
        players[i, i % 2 :: 2] = better
    winners, mask = np.zeros((games, n), np.int8), np.zeros((1, NUM_ACTIONS), np.int8)
    nothing = np.zeros((0, setup.layout.size), np.int8), mask, np.zeros((0, 11), np.int64), np.zeros(n, np.float32)
    shape = setup.new_games(1), setup.params, np.zeros(n, np.int64), players, FIRST_SEED, 2**62
    assert play_games(*shape, winners, *nothing) == 0
    won = (winners * (players == better)).sum(1) - (winners * (players == worse)).sum(1)
    pairs = 0.5 + won.reshape(-1, 2).mean(1) / 2 / np.maximum(winners.sum(1).max(), 1)
    half = 1.96 * pairs.std() / math.sqrt(len(pairs))
    return pairs.mean() - half, pairs.mean() + half


LADDER = [(2, "flinch-v0"), (3, "flinch-v0"), (4, "flinch-v0"), (5, "flinch-challenge-v0")]


@pytest.mark.parametrize(("level", "id"), LADDER)
def test_each_level_beats_the_one_below(level, id):
    low, high = interval(level, level - 1, 20_000, id)
    assert low > 0.5, (low, high)


@pytest.mark.parametrize("id", ["flinch-partnership-v0", "flinch-both_ends-v0", "flinch-eights-v0", "flinch-wild-v0"])
@pytest.mark.parametrize("level", [2, 3, 4])
def test_the_ladder_in_other_games(level, id):
    low, high = interval(level, level - 1, 20_000, id)
    assert low > 0.5, (low, high)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "id"), LADDER)
def test_each_level_beats_the_one_below_as_an_agent(level, id):
    names = f"rule:{level}", f"rule:{level - 1}"
    data = tournament.run(tournament.Args(id, names, 20_000)).data
    best = next(row for row in data["agents"] if row["name"] == names[0])
    assert best["mean_return_ci95"][0] > 0 and best["forfeits"] == 0
