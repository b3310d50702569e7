"""The n-tuple network of Flash 10 and how it is learnt."""

import json

import numpy as np
import pytest

import flinchenv
from flinchenv.agents import flash10_tuples
from flinchenv.agents.checkpoint import load_checkpoint
from flinchenv.agents.flash10_tuples import BINS, NEAR, TupleAgent, first_tuples, tuples_shape
from flinchenv.agents.load import load
from flinchenv.envs.setup import make_setup
from flinchenv.experiments.train_td import Args, learn, main, run

TINY = {"env_id": "flash10-tiny-v0", "rounds": 20_000, "eval_games": 2000, "progress": False}


def rules_of(id, **changes):
    return make_setup(id, None, changes).rules


def value_by_hand(row, rules, weights):
    """The sum over all pairs of slots up to NEAR apart, in words."""
    bins = [BINS if card == 100 else card * BINS // rules.numbers for card in row]
    pairs = [(near, i) for near in range(1, NEAR + 1) for i in range(len(row) - near)]
    return sum(float(weights[near - 1, i, bins[i], bins[i + near]]) for near, i in pairs)


@pytest.mark.parametrize("id", ["flash10-round-v0", "flash10-mountain-v0", "flash10-devir-v0", "flash10-tiny-v0"])
def test_each_card_is_laid_where_the_row_is_worth_most(id):
    setup, rng = make_setup(id), np.random.default_rng(1)
    rules, n = setup.rules, 50
    weights = rng.normal(size=tuples_shape(rules)).astype(np.float32)
    deck = [*range(rules.numbers), *[100] * rules.thunders]
    cards = np.array([rng.permutation(deck)[: rules.row_len + 1] for _ in range(n)])
    slots = np.zeros(n, np.int64)
    flash10_tuples.choose_slots(np.array(cards[:, 1:]), np.array(cards[:, 0]), setup.params, weights, slots)
    for row, slot in zip(cards.tolist(), slots.tolist()):
        values = []
        for k in range(rules.row_len):
            after = [*row[1:]]
            after[k] = row[0]
            values.append(value_by_hand(after, rules, weights))
        assert values[slot] == pytest.approx(max(values), abs=1e-4)


def test_first_weights_like_order_and_even_rows():
    rules = rules_of("flash10-round-v0")
    weights = first_tuples(rules)
    even, uneven = [4, 14, 24, 34, 44, 54, 64, 74, 84, 94], [4, 5, 6, 7, 8, 9, 10, 11, 12, 94]
    broken, thunder = [14, 4, 24, 34, 44, 54, 64, 74, 84, 94], [4, 14, 24, 100, 44, 54, 64, 74, 84, 94]
    values = [value_by_hand(row, rules, weights) for row in (even, uneven, broken, thunder)]
    assert values[0] == max(values)
    assert len(set(values)) == 4


def test_equal_seeds_learn_equal_weights_and_others_do_not():
    rules = rules_of("flash10-tiny-v0")
    one, again, other = (learn(rules, seed, 10_000, 0.003)[0] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(("id", "changes"), [("flash10-tiny-v0", {}), ("flash10-mountain-v0", {"row_len": 5})])
def test_rows_are_finished_in_fewer_draws_the_longer_it_learns(id, changes):
    _, draws = learn(rules_of(id, **changes), 0, 100_000, 0.003)
    assert draws[-3:].mean() < draws[0] - 0.05


def test_it_lays_legal_cards_and_stops_when_it_may(tmp_path):
    result = run(Args(run=str(tmp_path), **TINY))
    env = flinchenv.make("flash10-tiny-v0", "vector", num_envs=64)
    agent = load(result.checkpoint, "flash10-tiny-v0")
    step, stops, rng = env.reset(seed=3), 0, np.random.default_rng(0)
    for _ in range(200):
        views, masks = step.observation.reshape(128, -1), step.action_mask.reshape(128, -1)
        actions = agent.act(views, masks, rng)
        assert masks[np.arange(128), actions].all()
        check = views[:, agent.setup.layout["own_check"].start] == 1
        assert (actions[check & (masks[:, 11] == 1)] == 11).all()
        assert not (actions[~check] == 11).any()
        stops += int((actions == 11).sum())
        step = env.step(actions.reshape(64, 2))
    assert stops > 100


def test_the_run_is_an_agent_with_a_verdict(tmp_path, capsys):
    changes = [f"--set={name}={json.dumps(value)}" for name, value in TINY.items() if name != "env_id"]
    assert main([f"--set=run={tmp_path}", "--set=env_id=flash10-tiny-v0", *changes]) == 0
    result = json.loads(capsys.readouterr().out)
    tensors, card = load_checkpoint(result["checkpoint"])
    assert card["network"] == {"kind": "tuples", "shape": list(tensors["tuples"].shape)}
    assert card["training"]["settings"]["seed"] == 0
    assert result["verdict"]["games"] == 2000
    assert len(json.loads((tmp_path / "curve.json").read_text())) == 2


def test_bad_settings_and_other_shapes_are_refused(tmp_path, capsys):
    assert main(["--set", "env_id=flip_it-v0"]) == 2
    assert "env_id='flip_it-v0'" in capsys.readouterr().err
    assert main(["--set", "eval_against=held_out:1"]) == 2
    assert "eval_against='held_out:1'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="learning_rate=0"):
        Args(learning_rate=0)
    weights = first_tuples(rules_of("flash10-tiny-v0"))
    with pytest.raises(ValueError, match="checkpoint's tuples"):
        TupleAgent(make_setup("flash10-v0"), weights)
