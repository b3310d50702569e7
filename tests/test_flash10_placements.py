"""What a network is told of each placement in Flash 10: against the referee's record, the slow reference, in words."""

import itertools

import numpy as np
import pytest
import torch

from flinchenv.agents.checkpoint import make_card
from flinchenv.agents.flash10_count import count_unseen, others_last, row_worth
from flinchenv.agents.flash10_placements import Placements, Rows
from flinchenv.agents.flash10_table import scratch
from flinchenv.agents.load import load
from flinchenv.agents.policy import bot_kernel
from flinchenv.core.params import RulesError
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments.train_ppo import Args, Processes, Training
from flinchenv.flash10.game import FINAL_PLACE
from reference import flash10 as reference

THUNDER = 100
# Trained agents depend on them: written out here, so that a change in the module is seen.
ENDS = (1, 2, 4, 8, 16)
SIZE = 14
COMMON = 6
CASES = [
    ("flash10-round-v0", {"num_players": 4}),
    ("flash10-round-v0", {"num_players": 2, "reward": "win"}),
    ("flash10-v0", {"num_players": 3, "target_score": 20}),
    ("flash10-mountain-v0", {"num_players": 2}),
    ("flash10-thunder_stop-v0", {"num_players": 3, "row_len": 6}),
    ("flash10-devir-v0", {"p_misread": 0.2}),
    ("flash10-round-v0", {"num_players": 1, "reward": "points"}),
]


@bot_kernel
def worth_seen(games, rules, seats, viewer, row, draws, points, prize, told):
    """A row's worth by what a seat of the true game has seen, the unseen cards, and the chances of the others."""
    s, params = games[0], rules[0]
    below = scratch(201, np.int64)
    unseen = count_unseen(s, params, viewer, below)
    told[0] = row_worth(row, params, below, draws / max(unseen, 1), points, prize)
    told[1] = below[params.numbers] / max(unseen, 1)
    told[2], told[3] = others_last(s, params, seats, 0), others_last(s, params, seats, 4)


def worth(setup, game, viewer, row, draws, points, prize):
    told, padded = np.zeros(4), np.zeros(10, np.int64)
    padded[: len(row)] = row
    seats = np.zeros(setup.num_players, np.int64)
    worth_seen(game, setup.params, seats, viewer, padded, draws, points, prize, told)
    return told


def entries(setup, game, viewer, p, row):
    """What is said of a row that seat p has or would have, by the true record and the slow reference."""
    rules, words = setup.rules, ["T" if card == THUNDER else int(card) for card in row]
    draws = [min(end, game["left"][0] / setup.num_players) for end in ENDS]
    return [
        reference.score_row(rules, words) / rules.row_len,
        reference.may_be_stopped(rules, words),
        game["scores"][0, p] / rules.target_score,
        words.count(reference.THUNDER) / 3,
        *(worth(setup, game, viewer, row, d, 1.0, 2.0)[0] / rules.row_len for d in draws),
        *(worth(setup, game, viewer, row, d, 0.0, 1.0)[0] for d in draws),
    ]


def lying(setup, game, p):
    """What is told of the rows as seat p sees them, and of each slot if it lays its card there.

    The others' rows are in the order of their chance at 4 draws.
    """
    rules, n = setup.rules, setup.num_players
    rows = game["row"][0, :n, : rules.row_len].astype(int)
    others = [entries(setup, game, p, q, rows[q]) for q in ((p + k) % n for k in range(1, n))]
    others.sort(key=lambda entry: -np.float32(entry[11]))
    draws = game["left"][0] / n
    told = worth(setup, game, p, rows[p], 0, 0.0, 0.0)
    common = [draws / 2 / rules.row_len, game["phase"][0] == FINAL_PLACE, min(draws, 4) / 4, *told[2:], told[1]]
    found = [[*entries(setup, game, p, p, rows[p]), *itertools.chain(*others), *common]]
    for slot in range(rules.row_len):
        row = rows[p].copy()
        row[slot] = game["held"][0, p]
        found.append([*entries(setup, game, p, p, row), *itertools.chain(*others), *common])
    found = np.array(found, float)
    return found[0], found[1:]


@pytest.mark.parametrize(("env_id", "rules"), CASES)
def test_each_placement_is_told_as_the_true_game_has_it(env_id, rules):
    setup = make_setup(env_id, None, rules | {"obs_seen": True})
    n, size = setup.num_players, setup.num_players * SIZE + COMMON
    placements, bot = Placements(setup), load("rule:2", setup)
    assert placements.size == size
    env = VectorGame(setup, 40)
    env.reset(seed=5)
    compared, last = 0, 0
    for step in range(90):
        games, mask = env.snapshot().games, env.action_mask.copy()
        actions = mask.argmax(2)
        rows, seats = np.nonzero(mask.sum(2) > 1)
        actions[rows, seats] = bot.choose_in(games, rows, seats, mask[rows, seats])
        if step % 8 < 2:
            flat = env.observation.reshape(40 * n, -1)
            rows_told = Rows(setup)(flat)
            assert rows_told.shape == (len(flat), size) and rows_told.dtype == np.float32
            asked, told = placements(flat, mask.reshape(40 * n, -1))
            assert (asked == np.flatnonzero(mask.reshape(40 * n, -1)[:, 0])).all()
            assert told.shape == (len(asked), setup.rules.row_len, size) and told.dtype == np.float32
            for k in range(0, len(asked), 7):
                game, p = games[asked[k] // n : asked[k] // n + 1], asked[k] % n
                lies, laid = lying(setup, game, p)
                assert np.allclose(told[k], laid, atol=1e-5)
                assert np.allclose(rows_told[asked[k]], lies, atol=1e-5)
                compared += 1
                last += game["phase"][0] == FINAL_PLACE
        env.step(actions)
    assert compared > 20
    assert last or n == 1 or rules.get("num_players") == 2  # a seat that ends with a card in hand is rare there


def test_whose_row_it_is_does_not_matter():
    setup = make_setup("flash10-round-v0", None, {"num_players": 4, "obs_seen": True})
    env = VectorGame(setup, 30)
    env.reset(seed=1)
    env.step(np.full((30, 4), 10))
    observation, mask = env.observation[:, 0].copy(), env.action_mask[:, 0]
    moved = observation.copy()
    for name in ("row", "row_thunder", "row_flash"):
        places = setup.layout[name].entries.reshape(4, 10)
        moved[:, places[[1, 2, 3]]] = observation[:, places[[3, 1, 2]]]
    assert (moved != observation).any()
    placements = Placements(setup)
    assert (placements(moved, mask)[1] == placements(observation, mask)[1]).all()


def test_a_card_that_finishes_the_row_is_told_so():
    setup = make_setup("flash10-tiny-v0", None, {"num_players": 2, "obs_seen": True})
    layout = setup.layout
    row = np.zeros((1, layout.size), np.int8)
    row[0, layout["row"].entries[:3]] = [2, 9, 4]
    row[0, layout["held"].start], row[0, layout["holding"].start] = 3, 1
    row[0, layout["middle"].start] = 4
    mask = np.zeros((1, 13), np.int8)
    mask[0, :3] = 1
    _, told = Placements(setup)(row, mask)
    assert told[0, :, 1].tolist() == [0, 1, 0]
    assert told[0, 1, 9:14].tolist() == [1] * 5 and (told[0, [0, 2], 9:14] < 1).all()
    assert told[0, :, 0].tolist() == pytest.approx([2 / 3, 1, 2 / 3])


def test_placements_alone_are_weighed():
    setup = make_setup("flash10-tiny-v0", None, {"num_players": 2, "obs_seen": True})
    logits = np.arange(26.0).reshape(2, 13)
    worth = np.array([[5.0, 6.0, 7.0]])
    weighed = Placements(setup).weigh(logits, np.array([1]), worth, None)
    assert weighed[1, :3].tolist() == [5, 6, 7]
    assert (weighed[:, 10:] == logits[:, 10:]).all()


@pytest.mark.parametrize("shown", ["counts", "none"])
def test_rows_must_be_shown(shown):
    setup = make_setup("flash10-round-v0", None, {"num_players": 2, "obs_opponents": shown})
    for wished in ("afterstates", "relations"):
        with pytest.raises(RulesError, match=f"obs_opponents='{shown}' is not allowed: 'full' where"):
            make_card(setup, {"hidden": [4], "activation": "relu", wished: True}, {})


def test_the_counting_bot_is_soon_imitated(tmp_path):
    """Layers that every slot shares learn from a few thousand placements; without them it takes millions."""
    rules = {"num_players": 4, "obs_seen": True, "reward": "win"}
    args = Args(
        env_id="flash10-round-v0", rules=rules, afterstates=True, imitate="rule:2", imitate_steps=60_000, num_envs=64,
        n_steps=32, hidden=(32, 32), critic="apart", run=str(tmp_path), progress=False, eval_against=("rule:2",),
        bf16="off", imitate_batch=256, imitate_rate=5e-3,
    )  # fmt: skip
    setup = make_setup(args.env_id, None, rules)
    training = Training(args, setup, tmp_path, Processes(0, 1))
    training.start()
    bot, env = load("rule:2", setup), VectorGame(setup, 50)
    env.reset(seed=99)
    agreed = []
    for _ in range(30):
        mask, observation = env.action_mask.reshape(200, -1), env.observation.reshape(200, -1)
        rows, seats = np.nonzero(env.action_mask.sum(2) > 1)
        chosen = bot.choose_in(env.snapshot().games, rows, seats, env.action_mask[rows, seats])
        flat = rows * 4 + seats
        nothing = np.zeros((len(flat), 0), np.int8), np.zeros((len(flat), 0), np.float32)
        with torch.no_grad():
            logits = training.network(*map(torch.from_numpy, (observation[flat], mask[flat], *nothing)))[0]
        agreed.extend((logits.argmax(1).numpy() == chosen)[mask[flat, 0] == 1])
        actions = env.action_mask.argmax(2)
        actions[rows, seats] = chosen
        env.step(actions)
    assert np.mean(agreed) > 0.75
