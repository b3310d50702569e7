"""How a network of Flinch is told how its cards stand to each other, against a slow account of the same in sets."""

import itertools

import numpy as np
import pytest
from short_runs import SHORT_RUN

from flinchenv.agents.flinch_inputs import FIELDS, Relations
from flinchenv.agents.inputs import inputs_of
from flinchenv.agents.load import load
from flinchenv.core.params import RulesError
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments.train_ppo import Args, run
from flinchenv.flinch.rules import MAX_RANK

RANKS = range(1, MAX_RANK + 1)
STEPS, GAPS, DEEP = 6, 8, 3  # as the package's agents were trained with, not as the code has them


def places(layout):
    """{field: where its entries lie, in the field's shape}."""
    return {name: layout[name].entries.reshape(layout[name].shape) for name in FIELDS}


def table(layout, row):
    """(piles by top, own hand {rank: cards}, tops [[rank, 0 for none]] and cards of each seat, Stockpile tops)."""
    part = {name: row[entries] for name, entries in places(layout).items()}
    tops = [[int(pile.argmax()) for pile in seat] for seat in part["reserve_top"]]
    stock = [int(seat.argmax()) for seat in part["stock_top"]]
    return list(part["ups"]), dict(enumerate(part["hand"].tolist())), tops, part["reserve_cards"].tolist(), stock


def slow_relations(ups, hand, tops, cards, stock):
    """What `Relations` tells, written down from its description, set by set."""
    held = {rank for rank in RANKS if hand[rank]}
    playable = {1} | {top + 1 for top in RANKS if top < MAX_RANK and ups[top]}
    own = set(tops[0]) - {0}
    out = []

    def flags(ranks):
        out.extend(int(rank in ranks) for rank in RANKS)

    def steps(ranks):
        out.extend(int(len(ranks) > k) for k in range(STEPS))

    def gap(width):
        out.extend(int(width == k) for k in range(1, GAPS + 1))

    flags(held & playable)
    flags(held & own)
    comes_near = set()
    ways = []
    for p, target in enumerate(stock):
        shown = set(tops[p]) - {0}
        have = shown | held if p == 0 else shown
        starts = [rank for rank in playable if rank <= target]
        way = set(range(max(starts), target)) if starts else set()
        ways.append(way)
        for part in (way, way & held, way & own, way & shown, way - have):
            flags(part)
        for part in (way, way - have, way - have - held - own):
            steps(part)
        out.append(int(target in playable))
        out.extend(int(top in playable) for top in tops[p])
        for few in range(3):
            after = {r: set(range(r + 1, target)) - have for r in RANKS if r < target}
            near = {r for r, missing in after.items() if len(missing) <= few and len(missing) < len(way - have)}
            flags(near)
        flags(near & held & playable)
        if p:
            comes_near |= near
    mine = held | own
    flags({r for r in mine if r + 1 in mine})
    flags({r for r in mine if {r + 1, r + 2} <= mine})
    ends = {}
    for rank in RANKS:
        follow = itertools.takewhile(mine.__contains__, range(rank + 1, MAX_RANK + 1))
        ends[rank] = any(r not in comes_near for r in (rank, *follow))
    harmless = {rank for rank, good in ends.items() if good}
    flags(harmless)
    flags(harmless & held & playable)
    out.extend(int(top in harmless & playable) for top in tops[0])
    flags(whole_hand(ups, hand, tops[0], playable))
    flags({stock[0] - 1} & held)
    out.extend(int(top in ways[0]) for top in tops[0])
    for rank in RANKS:
        gap(min((top - rank for top in own if top > rank), default=0) if rank in held else 0)
    flags({min(held, default=0)})
    flags({max(held, default=0)})
    for j, top in enumerate(tops[0]):
        flags({top} & held)
        flags({top - 1} & held)
        gap(min((top - r for r in held if r < top), default=0))
        gap(min((r - top for r in held if r > top), default=0) if top else 0)
        for i in range(j):
            out.append(int(np.sign(top - tops[0][i])))
            out.append(int(np.sign((top - DEEP * cards[0][j]) - (tops[0][i] - DEEP * cards[0][i]))))
    return out


def whole_hand(ups, hand, tops, playable):
    """{the lowest rank that is played on the way}, if all hand cards can go to the centre over own open cards."""
    plays = {}
    for rank in reversed(RANKS):
        beyond = plays.get(rank + 1, 0) - ups[rank]
        plays[rank] = max(hand[rank], beyond, 0)
        if plays[rank] > hand[rank] + tops.count(rank):
            return set()
    starts = [rank for rank in RANKS if plays[rank] and rank in playable]
    return {min(starts)} if starts else set()


def observations(setup, steps=50, rows=5):
    """int8 (N, D), of all seats, on the way through games of good play with some random choices."""
    env, bot, rng = VectorGame(setup, rows), load("rule:4", setup), np.random.default_rng(2)
    env.reset(seed=4)
    found = []
    for _ in range(steps):
        mask = env.action_mask
        action = bot.choose_in(env.snapshot().games, np.arange(rows), env.current_player, mask)
        odd = rng.random(rows) < 0.2
        action[odd] = (rng.random(mask.shape) * mask).argmax(1)[odd]
        env.step(action)
        found += [env.observe(seat) for seat in range(setup.num_players)]
    return np.concatenate(found)


OTHERS = [
    {"num_players": 2},
    {"num_players": 4, "partnership": True},
    {"num_players": 8},
    {"num_players": 3, "num_ranks": 9, "n_wild": 4, "hand_size": 3, "stock_size": 4, "reserve_piles": 4},
    {"center": "both_ends", "duty_mode": "challenge"},
    {"obs_reserve": "full", "duty_mode": "honour"},
]


@pytest.mark.parametrize("rules", OTHERS)
def test_the_slow_account_tells_the_same(rules):
    setup = make_setup("flinch-v0", None, rules)
    seen, relations = observations(setup), Relations(setup.layout)
    told = relations(seen)
    assert told.shape == (len(seen), relations.size) and told.dtype == np.int8
    assert np.isin(told, (-1, 0, 1)).all()
    for row, found in zip(seen, told):
        assert found.tolist() == slow_relations(*table(setup.layout, row))


def row_of(layout, piles=(), hand=(), own=(0,) * 5, cards=(0,) * 5, stock=(0, 0), others=(0,) * 5):
    """An observation: piles by top, the hand's ranks, the Reserve Piles' tops, the Stockpiles' tops."""
    row, part = np.zeros(layout.size, np.int8), places(layout)
    for top in piles:
        row[part["ups"][top]] += 1
    for rank in hand:
        row[part["hand"][rank]] += 1
    for seat, tops in enumerate((own, others)):
        for slot, top in enumerate(tops):
            row[part["reserve_top"][seat, slot, top]] = top > 0
    row[part["reserve_cards"][0]] = cards
    for seat, top in enumerate(stock):
        row[part["stock_top"][seat, top]] = top > 0
    return row


def told_of(first, width, **cards):
    """Entries first..first + width - 1 of what is told of such a table."""
    layout = make_setup("flinch-v0").layout
    return Relations(layout)(row_of(layout, **cards)[None])[0, first : first + width].tolist()


def ranks_told(first, **cards):
    return {rank for rank, flag in zip(RANKS, told_of(first, MAX_RANK, **cards)) if flag}


SEAT = 30  # where what is told of the first seat's Stockpile begins


def test_the_way_to_a_stockpile_card_in_words():
    """A pile ends with 5, another with 2; the own Stockpile shows 9: 6, 7 and 8 are missing, of which 7 is held."""
    here = {"piles": (5, 2), "hand": (7, 12), "own": (8, 3, 0, 0, 0), "stock": (9, 4)}
    assert ranks_told(SEAT, **here) == {6, 7, 8}
    assert ranks_told(SEAT + 15, **here) == {7}  # in the hand
    assert ranks_told(SEAT + 30, **here) == {8}  # on an own Reserve Pile
    assert ranks_told(SEAT + 60, **here) == {6}  # nowhere
    assert told_of(SEAT + 75, 12, **here) == [1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]  # three, one of them nowhere
    assert ranks_told(0, **here) == set()
    assert ranks_told(0, **here | {"hand": (6, 12, 3)}) == {6, 3}  # what can be played now
    assert ranks_told(SEAT, **here | {"stock": (6, 4)}) == set()  # it fits: nothing is missing


def test_a_play_that_brings_the_other_near_is_not_harmless():
    """The other's Stockpile shows 9 and its piles 8: after a 6 it lacks 7 alone, and after a 7 nothing."""
    harmless = {"piles": (4,), "hand": (5, 13), "others": (8, 0, 0, 0, 0), "stock": (2, 9)}
    size = Relations(make_setup("flinch-v0").layout).size
    first = size - sum((5 * (2 * 15 + 2 * GAPS) + 20, 15 * GAPS + 2 * 15, 5, 15, 15, 5, 15, 15))
    assert not {5, 6, 7, 8} & ranks_told(first, **harmless)
    assert {1, 2, 9, 10, 13, 15} <= ranks_told(first, **harmless)
    own_run = harmless | {"hand": (5, 6, 7, 8, 9, 13)}
    assert ranks_told(first, **own_run) == set(RANKS)  # the own cards lead past it
    assert ranks_told(first + 15, **own_run) == {5}


def test_layouts_without_ascending_piles_by_rank_are_refused():
    for setup in (make_setup("flip_it-v0"), make_setup("flinch-v0", None, {"center": "eights"})):
        with pytest.raises(RulesError, match=r"relations=True is not allowed: False where"):
            inputs_of(setup, {"relations": True})


def test_a_run_with_relations_leaves_an_agent_that_knows_them(tmp_path):
    settings = {"env_id": "flinch-tiny-v0", "relations": True, "bins": 2, "imitate": "rule:4", "imitate_steps": 500}
    result = run(Args(**SHORT_RUN | settings | {"run": str(tmp_path)}))
    agent = load(result.checkpoint)
    network, layout = agent.card["network"], agent.setup.layout
    assert network["relations"] is True
    assert network["inputs"] == inputs_of(agent.setup, {"bins": 2}).size + Relations(layout).size
    seen = observations(agent.setup, 3)
    assert np.isfinite(agent.logits(seen)).all()
    told = agent._inputs(seen)
    assert told.dtype == np.float32 and (told[:, -Relations(layout).size :] == Relations(layout)(seen)).all()
    with pytest.raises(RulesError, match="relations=False is not allowed: True, as start="):
        run(
            Args(
                **SHORT_RUN
                | {"env_id": "flinch-tiny-v0", "bins": 2, "start": result.checkpoint, "run": str(tmp_path / "b")}
            )
        )


def test_a_run_of_another_game_refuses_relations(tmp_path):
    with pytest.raises(RulesError, match="relations=True"):
        run(Args(**SHORT_RUN | {"relations": True, "run": str(tmp_path)}))
    assert not list(tmp_path.iterdir())
