"""What a network of Flash 10 is told of its rows, against a slow account that tries every set of slots."""

import itertools

import numpy as np
import pytest
from short_runs import SHORT_RUN

from flinchenv.agents.flash10_inputs import ROOMS, SLOTS, Relations
from flinchenv.agents.inputs import inputs_of
from flinchenv.agents.load import load
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments.train_ppo import Args, run

LENGTH = 10
LAST = 100  # where a row ends: above every number
THUNDER = None


def can_stay(kept):
    """Whether numbers {slot: number} leave room for what lies between them and before the first."""
    places = [(-1, -1), *sorted(kept.items())]
    return all(b - a >= j - i for (i, a), (j, b) in itertools.pairwise(places))


def most_that_stay(row):
    """{slots that stay together} of the largest such sets."""
    slots = [i for i, card in enumerate(row) if card is not THUNDER]
    for size in range(len(slots), 0, -1):
        found = [kept for kept in itertools.combinations(slots, size) if can_stay({i: row[i] for i in kept})]
        if found:
            return found
    return [()]


def through(row, slot):
    """The sets of most slots that stay together with this one."""
    fixed = {slot: row[slot]}
    others = [i for i, card in enumerate(row) if card is not THUNDER and i != slot]
    for size in range(len(others), -1, -1):
        found = [kept for kept in itertools.combinations(others, size) if can_stay({i: row[i] for i in kept} | fixed)]
        if found:
            return found
    return []


def steps(count, width):
    return [int(count > k) for k in range(width)]


def room(numbers, slots):
    return [int(numbers - slots >= 2**k) for k in range(ROOMS)] + steps(slots, SLOTS)


def slow_relations(rows, held):
    """What `Relations` tells of rows, the own one first, and the number in hand, or None."""
    out = []
    for row in reversed(rows):
        cards = [-1 if card is THUNDER else card for card in row]
        run = next((i for i in range(1, LENGTH) if cards[i] <= cards[i - 1]), LENGTH)
        out += steps(run, LENGTH) + steps(len(most_that_stay(row)[0]), LENGTH) + steps(row.count(THUNDER), SLOTS)
    row = rows[0]
    best = most_that_stay(row)
    for i in range(LENGTH):
        own = through(row, i) if row[i] is not THUNDER else []
        count = 1 + len(own[0]) if own else 0
        out += [int(count > 0 and count == len(best[0])), *steps(count, LENGTH)]
        laid = [*row[:i], held, *row[i + 1 :]]
        found = through(laid, i) if held is not None else []
        stay = 1 + len(found[0]) if found else 0
        out += steps(stay, LENGTH)
        out += [int(np.sign(stay - len(best[0]))), int(np.sign(stay - len(best[0]) + 1))]
        before = max((max((j for j in kept if j < i), default=-1) for kept in found), default=-1)
        after = min((min((j for j in kept if j > i), default=LENGTH) for kept in found), default=LENGTH)
        number = -1 if held is None else held
        low = row[before] if before >= 0 else -1
        high = row[after] if after < LENGTH else LAST
        out += room(number - low - 1, i - before - 1) + room(high - number - 1, after - i - 1)
    return out


def table(layout, seen):
    """(rows, the held number) of an observation."""
    part = {name: seen[layout[name].entries] for name in ("row", "row_thunder", "holding")}
    rows = part["row"].reshape(-1, LENGTH).tolist()
    thunders = part["row_thunder"].reshape(-1, LENGTH).tolist()
    rows = [[THUNDER if t else int(card) for card, t in zip(*pair)] for pair in zip(rows, thunders)]
    number = part["holding"][0] and not seen[layout["held_thunder"].start]
    return rows, int(seen[layout["held"].start]) if number else None


def observations(setup, steps=12, rows=3):
    """int8 (N, D), of all seats, on the way through games of the counting bot with some random choices."""
    env, bot, rng = VectorGame(setup, rows), load("rule:2", setup), np.random.default_rng(2)
    env.reset(seed=4)
    seats = np.tile(np.arange(setup.num_players), rows)
    where = np.repeat(np.arange(rows), setup.num_players)
    found = []
    for _ in range(steps):
        mask = env.action_mask.reshape(-1, setup.num_actions)
        action = mask.argmax(1)
        free = np.flatnonzero(mask.sum(1) > 1)
        action[free] = bot.choose_in(env.snapshot().games, where[free], seats[free], mask[free])
        odd = rng.random(len(mask)) < 0.2
        action[odd] = (rng.random(mask.shape) * mask).argmax(1)[odd]
        env.step(action.reshape(rows, -1))
        found += [env.observe(seat) for seat in range(setup.num_players)]
    return np.concatenate(found)


@pytest.mark.parametrize(
    "rules",
    [
        {"num_players": 2},
        {"num_players": 5, "thunders": 0},
        {"num_players": 1},
        {"num_players": 3, "numbers": 40, "row_len": 6, "obs_opponents": "none", "obs_seen": True},
    ],
)
def test_the_slow_account_tells_the_same(rules):
    setup = make_setup("flash10-v0", None, rules)
    seen, relations = observations(setup), Relations(setup.layout)
    told = relations(seen)
    assert told.shape == (len(seen), relations.size) and told.dtype == np.int8
    assert np.isin(told, (-1, 0, 1)).all()
    for row, found in zip(seen, told):
        assert found.tolist() == slow_relations(*table(setup.layout, row))


def test_where_a_number_would_stay_in_words():
    """5 and 80 stay; a 40 between them makes three, on a slot that the room on both sides allows."""
    setup = make_setup("flash10-v0", None, {"num_players": 1})
    layout = setup.layout
    seen = np.zeros((1, layout.size), np.int8)
    row = [5, 3, 2, 1, 0, 4, 3, 2, 1, 80]
    seen[0, layout["row"].entries] = row
    seen[0, layout["held"].start], seen[0, layout["holding"].start] = 40, 1
    told = Relations(layout)(seen)[0]
    assert told[:25].tolist() == steps(1, 10) + steps(2, 10) + steps(0, 5)
    slots = told[25:].reshape(LENGTH, -1)
    stay = slots[:, 11:21].sum(1)
    assert stay.tolist() == [2, 3, 3, 3, 3, 3, 3, 3, 3, 2]
    assert slots[:, 21].tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1, 0]  # one more than now
    assert np.flatnonzero(slots[:, 0]).tolist() == [0, 1, 2, 9]  # whoever could stay now, together with 80 or 5


def test_a_run_with_relations_leaves_an_agent_that_knows_them(tmp_path):
    settings = {"env_id": "flash10-tiny-v0", "relations": True, "imitate": "rule:2", "imitate_steps": 500}
    agent = load(run(Args(**SHORT_RUN | settings | {"run": str(tmp_path)})).checkpoint)
    assert agent.card["network"]["relations"] is True
    assert agent.card["network"]["inputs"] == inputs_of(agent.setup.layout, {"relations": True}).size
    assert np.isfinite(agent.logits(observations(agent.setup, 3))).all()
