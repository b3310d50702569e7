"""What must hold in every position of Flinch, whoever plays: cards, masks, rewards, what is hidden, how it is redrawn.

Positions come from batches of random games; the long form takes 100,000 of every id
(`pytest -m slow tests/test_properties_flinch.py`).
"""

import collections
import itertools

import numpy as np
import pytest
from numba import njit

import flinchenv
from flinchenv.core.spec import FORFEIT, RUNNING
from flinchenv.flinch.cards import BOTTOM, EMPTY, KNOWN, RANKS, WILD
from flinchenv.flinch.moves import CHALLENGE, LAYDOWN, NUM_ACTIONS, PLAY
from flinchenv.flinch.show import pile_cards
from games import OPTION_CASES, ids_of, over

CASES = [(id, {}) for id in ids_of("flinch")] + [case for case in OPTION_CASES if case[0] == "flinch-v0"]
CASES += [
    ("flinch-challenge-v0", {"num_players": 3, "obs_reserve": "full", "reveal_on_false_call": True}),
    ("flinch-both_ends-v0", {"starter_duty": "ones_only", "duty_mode": "honour", "num_players": 3}),
    ("flinch-wild-v0", {"center": "eights", "eights_removal": "on_15", "num_players": 4, "recycle": "eager"}),
]
cases = over(CASES)


@njit
def count_cards(s, n, reserves, total, in_reserves, in_stocks):
    """Add up by rank what lies in the Stack, the hands, the piles and among the cards to be recycled; no centre."""
    for k in range(s.left):
        total[s.deck[k]] += 1
    for rank in range(16):
        total[rank] += s.removed[rank]
        for p in range(n):
            total[rank] += s.hand[p, rank]
    for p in range(n):
        node = s.stock[p]
        while node != BOTTOM:
            total[s.nodes[node] & 31] += 1
            in_stocks[p] += 1
            node = np.int64(s.nodes[node] >> 6)
        for j in range(reserves):
            node = s.pile[p, j]
            while node != BOTTOM:
                total[s.nodes[node] & 63] += 1
                in_reserves[p, j, s.nodes[node] & 63] += 1
                node = np.int64(s.nodes[node] >> 6)


def center_cards(s, rules):
    """Cards in the centre by rank."""
    total = np.zeros(RANKS, int)
    if rules.wilds:
        for k in range(s.num_piles):
            for rank in range(s.pile_low[k], s.pile_high[k] + 1):
                total[WILD if s.pile_wilds[k] >> rank & 1 else rank] += 1
        return total
    for top in range(1, rules.num_ranks):
        total[1 : top + 1] += s.ups[top]
    for top in range(2, rules.num_ranks + 1):
        total[top : rules.num_ranks + 1] += s.downs[top]
    if rules.center == "eights":
        middle = (rules.num_ranks + 1) // 2
        for i, j in itertools.product(range(middle), repeat=2):
            total[middle - j : middle + i + 1] += s.eights[i, j]
    return total


def check_position(s, rules):
    """All cards are there, and what is kept twice agrees."""
    n = rules.num_players
    total, reserves, stocks = np.zeros(RANKS, int), np.zeros((n, 5, RANKS), int), np.zeros(n, int)
    count_cards(s, n, rules.reserve_piles, total, reserves, stocks)
    total += center_cards(s, rules)
    assert total[1 : rules.num_ranks + 1].tolist() == [rules.copies] * rules.num_ranks
    assert total[WILD] == rules.wilds
    assert stocks.tolist() == s.stock_left[:n].tolist() == [-v for v in s.scores[:n]]
    for p in range(n):
        hand = s.hand[p]
        assert s.hand_cards[p] == hand.sum() <= rules.hand_size
        assert s.hand_set[p] == sum(1 << rank for rank in range(RANKS) if hand[rank])
        assert (s.exposed[p] <= s.known[p]).all()
        assert (s.known[p] <= hand).all()
        assert reserves[p].sum(-1).tolist() == s.pile_cards[p].tolist()
        for rank in rules.duty_starters:
            assert reserves[p, :, rank].sum() == 0, "no starter on a Reserve Pile (F16)"
        holds = any(hand[rank] for rank in rules.duty_starters)
        assert not (s.starter_free >> p & 1 and holds)
        assert not (s.holds_starter >> p & 1 and not holds)
    piles = s.ups.sum() + s.downs.sum() + (s.eights.sum() if rules.center == "eights" else 0)
    assert piles <= len(rules.starters) * rules.copies + rules.wilds
    lemma = rules.wilds == 0 and rules.eights_removal == "both_ends" and rules.deadlock != "reshuffle_reserves"
    parts = rules.num_ranks, rules.deck_size, n * rules.stock_size
    if lemma and all(part % rules.hand_size == 0 for part in parts):
        assert s.left % rules.hand_size == 0


def batch(id, options, n=64, seed=0, **more):
    """A vector env after a reset."""
    env = flinchenv.make(id, "vector", num_envs=n, **options, **more)
    env.reset(seed=seed)
    return env


def random_ids(env, rng):
    """A uniform legal id a row."""
    return (rng.random(env.action_mask.shape) * env.action_mask).argmax(-1)


@cases
def test_cards_are_conserved_and_stocks_never_grow(id, options):
    env, rng = batch(id, options, 16), np.random.default_rng(1)
    rules = env.setup.rules
    stocks, phases = env._games["stock_left"].sum(-1), collections.Counter()
    for _ in range(160):
        before = env._games.copy()
        step = env.step(random_ids(env, rng))
        ended = step.terminated | step.truncated
        for i, s in enumerate(env._games):
            check_position(s, rules)
            phases[int(s.phase)] += 1
            if ended[i]:
                check_position(env._ended[i], rules)
            elif before[i].phase == PLAY and s.phase == PLAY and not rules.auto_forced and s.turn != before[i].turn:
                check_discard(before[i], s, rules)
        now = env._games["stock_left"].sum(-1)
        assert (now[~ended] <= stocks[~ended]).all()
        stocks = now
    assert phases[PLAY] > 100


def check_discard(before, s, rules):
    """F13: outside a lay-down no card lands on a pile while a place is empty."""
    p = int(before.turn)
    empty = (before.top[p, : rules.reserve_piles] == EMPTY).any()
    grown = s.pile_cards[p] > before.pile_cards[p]
    if empty:
        assert not (grown & (before.pile_cards[p] > 0)).any()


def try_every_id(id, options, rows, rounds):
    """Every id on `rounds` batches of random positions: taken where the mask says, an offence elsewhere."""
    env, rng = batch(id, options, rows, seed=7), np.random.default_rng(2)
    twin = flinchenv.make(id, "vector", num_envs=rows, illegal_action="forfeit", **options)
    for _ in range(rounds):
        for _ in range(3):
            env.step(random_ids(env, rng))
        mask, snapshot = env.action_mask.copy(), env.snapshot()
        assert mask.any(-1).all()
        for action in range(NUM_ACTIONS):
            twin.restore(snapshot)
            step = twin.step(np.full(rows, action))
            ended = step.terminated | step.truncated
            reasons = np.where(ended, twin._ended["end_reason"], twin._games["end_reason"])
            assert ((reasons == FORFEIT) == (mask[:, action] == 0)).all(), action


@cases
def test_mask_truth_every_id_tried(id, options):
    try_every_id(id, options, rows=64, rounds=2)


@pytest.mark.slow
@pytest.mark.parametrize("id", ids_of("flinch"))
def test_mask_truth_every_id_tried_on_100_000_positions(id):
    try_every_id(id, {}, rows=2000, rounds=50)


@cases
def test_rewards_are_zero_sum_and_shaping_adds_up(id, options):
    options = {k: v for k, v in options.items() if not k.startswith("shaping")}
    for reward, shaping in itertools.product(("win", "stock_margin"), (0.0, 2.0)):
        env = batch(id, {**options, "reward": reward, "shaping": shaping, "max_turns": 60}, 64)
        returns = env.rollout().returns
        assert np.allclose(returns.sum(-1), env.num_players * shaping * (env._games["truncated"] == 0), atol=1e-3) or (
            env._games["truncated"].any()
        )
        whole = env._games["truncated"] == 0
        assert np.allclose(returns[whole].sum(-1), env.num_players * shaping, atol=1e-3)
        assert np.allclose(returns, env._games["returns"][:, : env.num_players], atol=1e-3)
        if reward == "win":
            won = env._games["winners"][:, : env.num_players] > 0
            assert (returns[whole][won[whole]] - shaping > 0).all()


def views(env, rows, player):
    """What a seat sees in some rows, and its mask where it is asked."""
    observation = np.zeros((len(rows), env.setup.layout.size), np.int8)
    games = env._games[rows]
    seats = np.full(len(rows), player)
    env.setup.loops.observe_seats(
        games, env.setup.params, env.setup.seats, seats, np.ones(len(rows), bool), observation
    )
    return observation, np.where((games["current_player"] == player)[:, None], env.action_mask[rows], 0)


@cases
def test_what_is_hidden_changes_nothing_that_a_seat_is_shown(id, options):
    env, rng = batch(id, options, 64, seed=11), np.random.default_rng(3)
    rules, twin = env.setup.rules, batch(id, options, 64)
    phases, changed = collections.Counter(), 0
    for k in range(40):
        for _ in range(4):
            env.step(random_ids(env, rng))
        player = k % env.num_players
        rows = np.arange(64)
        shown = views(env, rows, player)
        twin.restore(env.snapshot())
        twin.determinize(rows, player, rng.integers(2**31, size=64))
        again = views(twin, rows, player)
        assert (shown[0] == again[0]).all()
        assert (shown[1] == again[1]).all()
        assert (env._games["current_player"] == twin._games["current_player"]).all()
        phases.update(env._games["phase"].tolist())
        changed += (env._games["hand"] != twin._games["hand"]).any((1, 2)).sum()
        for s, original in zip(twin._games[:8], env._games[:8]):
            check_position(s, rules)
            assert (s.hand[player] == original.hand[player]).all()
            assert (s.top == original.top).all()
            assert s.stock_rank.tolist() == original.stock_rank.tolist()
            assert s.phase != CHALLENGE or twin.action_mask[0].any()
        twin.step(random_ids(twin, rng))
    assert changed > 1000
    if rules.duty_mode == "challenge":
        assert phases[CHALLENGE] > 100


def test_an_announced_discard_shows_to_nobody_else():
    env, rng = batch("flinch-challenge-v0", {"num_players": 3, "obs_reserve": "full"}, 256), np.random.default_rng(5)
    for _ in range(60):
        env.step(random_ids(env, rng))
    rows = np.flatnonzero((env._games["phase"] == CHALLENGE) & (env._games["ending"] == 1))
    assert len(rows) > 20
    twin = batch("flinch-challenge-v0", {"num_players": 3, "obs_reserve": "full"}, 256)
    twin.restore(env.snapshot())
    twin._games["announced"][rows] = 96
    for player in range(3):
        shown, again = views(env, rows, player), views(twin, rows, player)
        assert (shown[0] == again[0]).all()
        assert (shown[1] == again[1]).all()
    assert (env.state() == twin.state()).all()


def test_masks_of_opponents_do_not_tell_whether_a_starter_is_held():
    options = {"num_players": 3, "mask_false_stock_calls": True}
    env, rng = batch("flinch-challenge-v0", options, 512), np.random.default_rng(6)
    twin, seen = batch("flinch-challenge-v0", options, 512), 0
    for _ in range(40):
        env.step(random_ids(env, rng))
        rows = np.flatnonzero(env._games["phase"] == CHALLENGE)
        asked = env._games["current_player"]
        for player in range(3):
            mine = rows[asked[rows] == player]
            if len(mine):
                twin.restore(env.snapshot())
                twin.determinize(mine, player, np.arange(len(mine)))
                assert (env.action_mask[mine] == twin.action_mask[mine]).all()
                seen += len(mine)
    assert seen > 1000


TINY = {"num_ranks": 3, "series_per_pack": 4, "stock_size": 2, "hand_size": 2, "reserve_piles": 2, "packs": 1}


def face_down(s):
    """The ranks of the face-down Stockpile cards that are not public, from seat 0's top on."""
    cards = []
    for p in np.flatnonzero(s.stock_left):
        cards += [card for card in pile_cards(s, s.stock[p])[1:] if card < KNOWN]
    return tuple(cards)


def hidden_of(s, others):
    """What a seat cannot know of a position: the others' hands, face-down cards; the Stack is the rest."""
    return *(tuple(s.hand[p].tolist()) for p in others), face_down(s)


def ways_to_deal(s, rules, others, pool):
    """Every way to deal the pool, one by one: the hands of the others that agree with the facts, then what is left."""
    if not others:
        for cards in itertools.permutations(pool, len(face_down(s))):
            yield (cards,)
        return
    p = others[0]
    for chosen in itertools.combinations(range(len(pool)), int(s.hand_cards[p] - s.known[p].sum())):
        hand = s.known[p].copy()
        for k in chosen:
            hand[pool[k]] += 1
        starter = any(hand[rank] for rank in rules.duty_starters)
        if not (s.starter_free >> p & 1 and starter) and not (s.holds_starter >> p & 1 and not starter):
            rest = [pool[k] for k in range(len(pool)) if k not in chosen]
            for way in ways_to_deal(s, rules, others[1:], rest):
                yield tuple(hand.tolist()), *way


def exhaustive(s, rules, others):
    """{hidden: share}: every way to deal the unseen cards that agrees with the public facts."""
    pool = [*s.deck[: s.left].tolist(), *face_down(s)]
    for p in others:
        for rank in range(RANKS):
            pool += [rank] * int(s.hand[p, rank] - s.known[p, rank])
    counts = collections.Counter(ways_to_deal(s, rules, others, pool))
    return {hidden: count / counts.total() for hidden, count in counts.items()}


@pytest.mark.parametrize(("mode", "num_players"), [("enforced", 2), ("challenge", 2), ("enforced", 3)])
def test_determinize_is_uniform_over_what_agrees_with_the_public_facts(mode, num_players):
    options = {**TINY, "duty_mode": mode, "num_players": num_players}
    if num_players == 3:
        options["stock_size"] = 1  # so that all ways to deal can be listed
    env, rng = batch("flinch-v0", options, 256, seed=3), np.random.default_rng(8)
    twin, tried, facts = batch("flinch-v0", options, 2000), 0, collections.Counter()
    for _ in range(16):
        mask = env.action_mask * rng.random(env.action_mask.shape)
        mask[:, 99] *= 3  # calls tell of starters
        env.step(mask.argmax(-1))
        for i in range(0, 256, 23):
            s = env._games[i]
            if s.phase in (CHALLENGE, LAYDOWN) or s.end_reason != RUNNING:
                continue
            player = int(s.current_player)
            others = [p for p in range(num_players) if p != player]
            free = sum(int(s.starter_free) >> p & 1 for p in others)
            facts["free"] += free > 0
            facts["mixed"] += 0 < free < len(others)
            facts["holds"] += any(s.holds_starter >> p & 1 for p in others)
            twin.restore(env.snapshot([i]))
            twin.determinize(np.arange(2000), player, rng.integers(2**31, size=2000))
            seen = collections.Counter(hidden_of(copy, others) for copy in twin._games)
            law = exhaustive(s, env.setup.rules, others)
            assert set(seen) <= set(law)
            chi2 = sum((seen[hidden] - 2000 * share) ** 2 / (2000 * share) for hidden, share in law.items())
            degrees = len(law) - 1
            assert chi2 < degrees + 5 * np.sqrt(2 * degrees) + 10, (chi2, degrees)
            tried += 1
    assert tried > 30
    assert facts["free"] > 0
    assert mode == "enforced" or facts["holds"] > 0
    assert num_players == 2 or facts["mixed"] > 10


def test_known_stock_cards_stay_and_others_are_redrawn():
    options = {"num_players": 2, "penalty_card": "top", "obs_reserve": "full"}
    env, rng = batch("flinch-challenge-v0", options, 256), np.random.default_rng(9)
    twin, known, moved = batch("flinch-challenge-v0", options, 256), 0, 0
    for _ in range(150):
        env.step(random_ids(env, rng))
    twin.restore(env.snapshot())
    twin.determinize(np.arange(256), 0, np.arange(256))
    for s, copy in zip(env._games, twin._games):
        for p in range(2):
            for card, copied in zip(pile_cards(s, s.stock[p]), pile_cards(copy, copy.stock[p]), strict=True):
                known += card >= KNOWN
                moved += copied != card
                assert copied == card or card < KNOWN
    assert known > 50
    assert moved > 500


def test_many_players_play_to_the_end():
    for options in ({"num_players": 5}, {"num_players": 8}, {"num_players": 8, "partnership": True}):
        env = batch("flinch-v0", options, 8)
        assert (env.rollout().finished == 1).all()
        for s in env._games:
            check_position(s, env.setup.rules)


def test_two_refusers_come_to_a_dead_game():
    """1.3: refusing alone cannot last; F40 forces play until a Stockpile card fits or the game is dead."""
    env, forced = batch("flinch-v0", {}, 256), 0
    while True:
        mask = env.action_mask.astype(float)
        mask[:, 21:97] *= 1000
        forced += int(env._games["forced"].sum())
        step = env.step((np.random.default_rng(forced).random(mask.shape) * mask).argmax(-1))
        if (step.terminated | step.truncated).any():
            ended = step.terminated | step.truncated
            assert (env._ended["end_reason"][ended] >= 3).all()
            dead = (env._ended["end_reason"][ended] == 4).mean()
            break
    assert dead > 0.5


def test_calling_each_other_for_ever_is_cut():
    """1.3: a turn that is called has no discard, so nothing need ever change; the cap ends it."""
    env = batch("flinch-challenge-v0", {"max_turns": 50, "num_players": 2}, 64)
    rng = np.random.default_rng(1)
    reasons = collections.Counter()
    for _ in range(600):
        mask = env.action_mask * rng.random(env.action_mask.shape)
        mask[:, 98:100] *= 100
        step = env.step(mask.argmax(-1))
        reasons.update(env._ended["end_reason"][step.truncated].tolist())
    assert reasons[5] > 0
