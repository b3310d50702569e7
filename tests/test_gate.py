"""Networks whose gate says whether to take one of a group of actions, and what playouts teach it."""

import numpy as np
import pytest
import torch
from short_runs import SHORT_RUN

from flinchenv.agents.gate import ILLEGAL, gated
from flinchenv.agents.load import load
from flinchenv.agents.search_playouts import Playouts
from flinchenv.core.params import RulesError
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from flinchenv.experiments.expert import Expert, Lesson, card_worth
from flinchenv.experiments.train_ppo import Args, Processes, Training, lesson_loss, run
from flinchenv.flinch.moves import DISCARD, END_TURN

FLINCH = SHORT_RUN | {"env_id": "flinch-tiny-v0", "afterstates": True}


def softmax(logits, mask):
    weights = np.where(mask == 1, np.exp(logits - np.where(mask == 1, logits, -np.inf).max(1, keepdims=True)), 0)
    return weights / weights.sum(1, keepdims=True)


# -- the gate ----------------------------------------------------------------------------------------------------------


def drawn(n=500, actions=7):
    rng = np.random.default_rng(1)
    mask = (rng.random((n, actions)) < 0.5).astype(np.int8)
    mask[np.arange(n), rng.integers(actions, size=n)] = 1
    return rng.normal(0, 3, (n, actions)), rng.normal(0, 3, (n, 1)), mask


def test_the_gate_decides_between_the_best_inside_and_the_best_outside():
    logits, gate, mask = drawn()
    through = np.where(mask == 1, gated(logits, gate, mask, (2, 5)), -np.inf)
    for i in range(len(mask)):
        inside = [a for a in (2, 3, 4) if mask[i, a]]
        outside = [a for a in (0, 1, 5, 6) if mask[i, a]]
        group = inside if not outside or (inside and gate[i, 0] > 0) else outside
        assert through[i].argmax() == max(group, key=lambda a, i=i: logits[i, a])
        if inside and outside:
            assert through[i, inside].max() - through[i, outside].max() == pytest.approx(gate[i, 0])
        for side in filter(None, (inside, outside)):  # among themselves they are as the policy has them
            assert np.ptp(through[i, side] - logits[i, side]) < 1e-9


def test_torch_and_numpy_go_through_the_same_gate():
    logits, gate, mask = drawn()
    found = gated(*map(torch.from_numpy, (logits, gate, mask)), (2, 5), torch)
    assert (found.numpy() == gated(logits, gate, mask, (2, 5)))[mask == 1].all()


# -- what playouts teach -----------------------------------------------------------------------------------------------


def asked_games(setup, rounds, seed=5, n=64):
    """Games of rule:4 in which a seat has two or more legal ids: (the env, GAME records, rows, seats, masks)."""
    env, bot = VectorGame(setup, n), load("rule:4", setup)
    env.reset(seed=seed)
    for _ in range(rounds):
        rows, seats = np.arange(n), env.current_player.astype(np.int64)
        env.step(bot.choose_in(env.snapshot().games, rows, seats, env.action_mask))
    rows = np.flatnonzero(env.action_mask.sum(1) > 1)
    return env, env.snapshot().games, rows, env.current_player.astype(np.int64)[rows], env.action_mask[rows]


def expert_of(setup, playouts, seed=0):
    return Expert(setup, "rule:4", playouts, np.random.default_rng(seed))


@pytest.mark.parametrize("players", [2, 3])
def test_a_lesson_says_what_the_teacher_would_do_on_both_sides(players):
    setup = make_setup("flinch-v0", None, {"num_players": players})
    for rounds in (40, 60):
        _, games, rows, seats, mask = asked_games(setup, rounds)
        before = games.copy()
        lesson = expert_of(setup, 4).teach(games, rows, seats, mask)
        assert (games == before).all()
        choice = load("rule:4", setup).choose_in(games, rows, seats, mask)
        everyone = np.arange(len(rows))
        lays = mask[:, DISCARD:END_TURN].any(1)
        both = lays & (np.delete(mask, np.s_[DISCARD:END_TURN], 1)).any(1)
        assert both.sum() > 5
        for action in (lesson.action, lesson.play, lesson.lay):
            assert mask[everyone, action].all()
        assert ((lesson.lay >= DISCARD) & (lesson.lay < END_TURN))[both].all()
        assert ((lesson.play < DISCARD) | (lesson.play >= END_TURN))[both].all()
        assert ((lesson.play == choice) | (lesson.lay == choice)).all()  # one of the two is what it does anyway
        assert (lesson.worth[~both] == 0).all() and (lesson.play == lesson.lay)[~both].all()
        assert (lesson.action == np.where(lesson.worth > 0, lesson.lay, lesson.play)).all()
        assert len(np.unique(lesson.worth[both])) > 3


def test_the_worth_is_what_playouts_say():
    """Against playouts made one by one here; of 400 each, so that the two agree in what is clear."""
    setup = make_setup("flinch-v0")
    _, games, rows, seats, mask = asked_games(setup, 50, n=24)
    lesson = expert_of(setup, 400).teach(games, rows, seats, mask)
    playouts = Playouts(setup, "rule:4", 20)
    checked = np.flatnonzero(lesson.lay != lesson.play)
    assert len(checked) > 5
    for i in checked:
        means = []
        for action in (lesson.lay[i], lesson.play[i]):
            copies = np.repeat(games[rows[i] : rows[i] + 1], 400)
            for k in range(400):
                one = copies[k : k + 1]
                seeds = np.array([1000 * i + k])
                setup.loops.determinize(
                    one, setup.params, setup.seats, 0, 1, seats[i], seeds, np.zeros(setup.num_actions, np.int8)
                )
            values = playouts.play(copies, seats[i], np.full(400, action), playouts.counters(np.arange(400)))
            means.append(values.mean())
        own, other = -games["scores"][rows[i], seats[i]], -games["scores"][rows[i], 1 - seats[i]]
        worth = (means[0] - means[1]) / card_worth(np.array([[own, other]]), np.array([[1, 0]]))[0]
        assert lesson.worth[i] == pytest.approx(worth, abs=0.25)


def test_a_lesson_depends_on_nothing_hidden():
    """The same seed and what the seat may see give the same lesson, whatever the hidden cards are."""
    setup = make_setup("flinch-v0")
    _, games, rows, seats, mask = asked_games(setup, 45)
    other = games.copy()
    for row, seat in zip(rows, seats):
        scratch = np.zeros(setup.num_actions, np.int8)
        setup.loops.determinize(
            other[row : row + 1], setup.params, setup.seats, 0, 1, seat, np.array([99 + row]), scratch
        )
    assert (other["hand"] != games["hand"]).any()
    lessons = [expert_of(setup, 6).teach(copy, rows, seats, mask) for copy in (games, other)]
    assert all((a == b).all() for a, b in zip(*lessons))


def test_a_stockpile_card_is_worth_most_at_the_end():
    def worth(own, *others):
        return card_worth(np.array([[own, *others]]), np.eye(1 + len(others), dtype=np.int64)[:1])[0]

    strength = [(1 + cards) ** -1.7 for cards in range(12)]
    for own, other in ((1, 1), (5, 3), (10, 2)):
        ahead = strength[own - 1] / (strength[own - 1] + strength[other])
        behind = strength[own] / (strength[own] + strength[other - 1])
        assert worth(own, other) == pytest.approx(2 * ahead - 2 * behind)
    assert worth(1, 1) > worth(3, 3) > worth(9, 9) > worth(9, 1) > 0
    assert worth(4, 4) > worth(4, 4, 4) > 0


def test_the_loss_of_a_lesson_by_hand():
    """Two plays and two lay-downs; in the second row the plays alone are legal."""
    logits = torch.full((2, 139), ILLEGAL)
    logits[0, [0, 1, 21, 22]] = torch.tensor([1.0, 0.0, 2.0, 4.0])
    logits[1, :2] = torch.tensor([0.5, 0.0])
    lesson = Lesson(None, torch.tensor([0, 1]), torch.tensor([21, 1]), torch.tensor([-0.5, 0.0]))
    outside = np.log(1 + np.exp(-1.0)) + np.log(1 + np.exp(0.5))
    inside = np.log(1 + np.exp(2.0))
    gate = 0.5 * np.log(1 + np.exp(3.0))  # it would go through by 4 - 1 and ought not to
    assert lesson_loss(logits, lesson).item() == pytest.approx((outside + inside + gate) / 2, rel=1e-5)


def test_the_gate_learns_what_playouts_say(tmp_path):
    """Where both are possible it earns most of what there is to earn; never to lay down earns 0."""
    settings = {"env_id": "flinch-v0", "imitate": "rule:4", "imitate_steps": 30_000, "imitate_playouts": 4}
    settings |= {"imitate_batch": 64, "relations": True, "num_envs": 64, "hidden": (32,), "greedy": True}
    training = Training(
        Args(**FLINCH | settings | {"run": str(tmp_path)}), make_setup("flinch-v0"), tmp_path, Processes(0, 1)
    )
    training.start()
    agent = load(training.export(), training.setup)
    env, games, rows, seats, mask = asked_games(training.setup, 45, n=512)
    lesson = expert_of(training.setup, 100, seed=1).teach(games, rows, seats, mask)
    chosen = agent.probs(env.observation.reshape(512, -1)[rows], mask).argmax(1)
    both = lesson.lay != lesson.play
    worth, lays = lesson.worth[both], ((chosen >= DISCARD) & (chosen < END_TURN))[both]
    assert (worth > 0).sum() > 50 and (worth < 0).sum() > 50
    most = worth[worth > 0].sum()
    assert worth[lays].sum() > most / 2 > worth.sum()


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"afterstates": 21}, "afterstates=21 is not allowed"),
        ({"env_id": "flip_it-v0"}, "afterstates=True is not allowed: False: flip_it-v0 is neither Flinch nor Flash 10"),
        ({"rules": {"n_wild": 2}}, "afterstates=True is not allowed: False but for"),
        ({"rules": {"center": "both_ends"}}, "afterstates=True is not allowed: False but for"),
        (
            {"env_id": "flinch-v0", "rules": {"partnership": True, "num_players": 4}},
            "afterstates=True is not allowed: False but for",
        ),
        ({"imitate_playouts": 4, "imitate": "random"}, "imitate='random' is not allowed"),
        ({"imitate_playouts": 4, "imitate": "rule:4", "rules": {"reward": "stock_margin"}}, "0 but for Flinch"),
    ],
)
def test_bad_settings_are_refused_before_training(changes, message, tmp_path):
    with pytest.raises(RulesError, match=message):
        run(Args(**FLINCH | changes | {"run": str(tmp_path)}))
    assert not list(tmp_path.iterdir())
