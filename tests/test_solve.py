"""Exact answers: the sequence form of small games, CFR+ on it, exploitability, and what is solved as an agent."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from flinchenv.agents.agent import DeterministicAgent, ProbabilisticAgent
from flinchenv.agents.checkpoint import load_checkpoint, save_checkpoint
from flinchenv.agents.load import load
from flinchenv.agents.tabular import TabularAgent
from flinchenv.agents.uniform import UniformAgent
from flinchenv.cli import main
from flinchenv.envs.seats import SeatView
from flinchenv.envs.setup import make_setup
from flinchenv.experiments import solve, tournament
from flinchenv.experiments.exploitability import exploitability, form_if_small, of_plans, policy_of
from flinchenv.experiments.sequence_form import SequenceForm, Side, sequence_form
from reference.flip_it import FlipIt

HAND, TINY = make_setup("flip_it-hand-v0"), make_setup("flip_it-tiny-v0")
IN_TURN = make_setup("flip_it-hand-v0", None, {"flip_order": "sequential", "play_values": (0, 1)})


@pytest.fixture(scope="module")
def hand():
    return sequence_form(HAND)


@pytest.fixture(scope="module")
def tiny():
    return sequence_form(TINY)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """(stem, data) of flip_it-tiny-v0, solved and saved."""
    stem = str(tmp_path_factory.mktemp("solved") / "new" / "tiny")
    return stem, solve.run(solve.Args(TINY.id, save=stem)).data


def after(form, iterations):
    """The solver after so many iterations of CFR+."""
    solver = solve.CFRPlus(form)
    for _ in range(iterations):
        solver.step()
    return solver


class Always(DeterministicAgent):
    """Guesses and plays the same; counts how often it is asked."""

    asked = 0

    def __init__(self, guess, play):
        self.ids = (guess, 21 + play)

    def choose(self, observation, action_mask, view):
        self.asked += len(action_mask)
        return np.where(action_mask[:, self.ids[0]] == 1, *self.ids)


# -- games whose answers are known -------------------------------------------------------------------------------------


def matrix_game(payoffs):
    rows, columns = np.indices(payoffs.shape).reshape(2, -1) + 1
    sides = tuple(Side([size], [0], [1]) for size in payoffs.shape)
    return SequenceForm(sides, rows, columns, payoffs.ravel())


def kuhn_poker():
    """Three cards, one each, one chip in; seat 0 checks or bets, seat 1 too, after check and bet seat 0 folds or calls.

    Seat 0: information set c with card c, 3 + c after check and bet. Seat 1: 2 * c + what seat 0 did.
    """
    first = Side([2] * 6, [0, 0, 0, 1, 3, 5], [3, 3])
    second = Side([2] * 6, [0] * 6, [6])
    rows, columns, payoffs = [], [], []

    def end(row, column, payoff):
        rows.append(row)
        columns.append(column)
        payoffs.append(payoff / 6)

    for a, b in itertools.permutations(range(3), 2):
        sign = 1 if a > b else -1
        check, bet = 1 + 2 * a, 2 + 2 * a
        checked, fold = 1 + 2 * (2 * b), 1 + 2 * (2 * b + 1)  # seat 1's first sequence after a check, after a bet
        end(check, checked, sign)
        end(7 + 2 * a, checked + 1, -1)
        end(8 + 2 * a, checked + 1, 2 * sign)
        end(bet, fold, 1)
        end(bet, fold + 1, 2 * sign)
    return SequenceForm((first, second), np.array(rows), np.array(columns), np.array(payoffs))


def test_unequal_matching_pennies_is_worth_a_fifth():
    form = matrix_game(np.array([[2.0, -1.0], [-1.0, 1.0]]))
    plans = after(form, 2000).plans()
    assert form.value(plans) == pytest.approx(1 / 5, abs=1e-3)
    assert plans[0] == pytest.approx([1, 2 / 5, 3 / 5], abs=1e-2)
    assert plans[1] == pytest.approx([1, 2 / 5, 3 / 5], abs=1e-2)


def test_two_iterations_by_hand():
    """First, seat 0 has regrets 1/4 and 0 (not -1/4) and plays heads, seat 1 0 and 3/2 and plays tails.

    Then seat 0 has 1/4 + 0 and 0 + 2, the newest once more makes 1/4 and 4; seat 1 so 2 * 29/17 and 3/2.
    """
    form = matrix_game(np.array([[2.0, -1.0], [-1.0, 1.0]]))
    first, second = after(form, 2).plans()
    assert first[1] == pytest.approx((1 * 1 + 4 * 1 / 17) / 5)
    assert second[1] == pytest.approx((1 * 0 + 4 * (58 / 17) / (58 / 17 + 3 / 2)) / 5)


def test_matching_pennies_against_heads_alone():
    form = matrix_game(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    found = of_plans(form, [np.array([1.0, 1, 0]), np.array([1, 0.5, 0.5])])
    assert found == (0.5, 1, (0, 1), 0)  # seat 1 answers heads with tails; against its even mix nothing is to be had
    assert form.sides[1].best_response(form.gradient(1, np.array([1.0, 1, 0])))[1].tolist() == [1, 0, 1]


def test_kuhn_poker_is_worth_a_loss_of_an_eighteenth():
    form = kuhn_poker()
    assert of_plans(form, [side.plan(side.uniform()) for side in form.sides]).nash_conv == pytest.approx(11 / 12)
    found = of_plans(form, after(form, 1000).plans())
    assert found.nash_conv < 1e-3
    assert -found.best_responses[1] <= -1 / 18 <= found.best_responses[0]
    assert found.value == pytest.approx(-1 / 18, abs=1e-3)


def test_a_best_response_looks_ahead():
    """Against a seat 1 that always bets and calls, a check is as good as what follows it."""
    form = kuhn_poker()
    bold = form.sides[1].plan(np.array([1.0] + [0, 1] * 6))
    value, policy = form.sides[0].best_response(form.gradient(0, bold))
    assert value == pytest.approx((-1 + 0 + 2) / 3)  # card 0 folds to the bet, card 1 breaks even, card 2 wins two
    assert policy[7:9].tolist() == [1, 0] and policy[11:13].tolist() == [0, 1]


# -- Flip It -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", [HAND, TINY], ids=lambda setup: setup.id)
def test_as_many_information_sets_as_the_rules_say(setup, request):
    form = request.getfixturevalue(setup.id.split("-")[1])
    assert form.num_information_sets == setup.game.facts(setup.rules)["information_sets"]
    assert [side.num_information_sets for side in form.sides] == [form.num_information_sets // 2] * 2


def test_histories_of_a_hand_by_hand(hand):
    assert hand.histories == 1 + 11**2 + 11**2 * 6**2


@pytest.mark.parametrize("size", [1, 7, 200])
def test_batches_change_nothing(size, monkeypatch):
    setup = make_setup(HAND.id, None, {"goal": ("hands", 2), "play_values": (0, 1)})
    whole = sequence_form(setup)
    told = exploitability(setup, "rule:2", whole)
    monkeypatch.setattr("flinchenv.experiments.sequence_form.BLOCK", size)
    monkeypatch.setattr("flinchenv.experiments.exploitability.BATCH", size)
    form = sequence_form(setup)
    assert all((got == want).all() for got, want in zip(form[1:4], whole[1:4])) and form.histories == whole.histories
    for side, other in zip(form.sides, whole.sides):
        assert all((getattr(side, name) == getattr(other, name)).all() for name in ("counts", "parents", "actions"))
        assert side.games.tobytes() == other.games.tobytes()
    assert exploitability(setup, "rule:2", form) == told


def test_uniform_play_of_a_hand(hand):
    """Pass and guess 0: 4 points if the other passes too, 1 / 6; it guesses the total, 0..5, 1 / 11 each."""
    found = exploitability(HAND, "random", hand)
    assert found.exploitability == pytest.approx(4 / 6 - (4 + 3 + 2 + 1 + 1 + 1) / 6 / 11)
    assert round(found.exploitability, 3) == 0.485
    assert found.value == pytest.approx(0)


def test_the_best_response_to_one_that_always_passes_and_guesses_0(hand):
    """Playing 1 and guessing 1 is 3 points and the other misses; passing too would be 4 to each."""
    agent = Always(0, 0)
    assert exploitability(HAND, agent, hand)[1:] == (6, (3, 3), 0)
    assert agent.asked == hand.num_information_sets


def test_each_seat_is_asked_with_its_own_view(hand):
    """Guess 4, then play half of the guess that is seen set aside: play 0, guess 2 is the best answer, 2 points."""

    class Halving(Always):
        def choose(self, observation, action_mask, view):
            seen = observation[:, HAND.layout["own_guess"].entries].argmax(1)
            return np.where(action_mask[:, 4] == 1, 4, 21 + seen // 2)

    assert exploitability(HAND, Halving(0, 0), hand)[2:] == ((2, 2), 0)


@pytest.mark.parametrize("agent", ["rule:1", "rule:2"])
def test_seats_are_alike_to_a_bot(agent, hand, tiny):
    for setup, form in ((HAND, hand), (TINY, tiny)):
        found = exploitability(setup, agent, form)
        assert found.best_responses[0] == pytest.approx(found.best_responses[1])
        assert found.value == pytest.approx(0) and found.exploitability > 0


def test_an_agent_that_tells_seats_apart_is_answered_in_each(hand):
    class Lopsided(Always):
        calls = 0

        def probs(self, observation, action_mask, view=None):
            self.calls += 1
            self.ids = [(0, 21), (5, 21 + 2)][self.calls - 1]  # seat 0 is asked first
            return super().probs(observation, action_mask, view)

    # Seat 0 against "guess 5, play 2": play 0, guess 2 is 2 points. Seat 1 against "guess 0, play 0": 3 points.
    found = exploitability(HAND, Lopsided(0, 0), hand)
    assert found.best_responses == (2, 3)
    assert found.value == 0


def test_joint_and_phased_actions_have_the_same_answers():
    rules = {"play_values": (0, 2), "actions": "joint"}
    joint, phased = (make_setup(HAND.id, None, rules | {"actions": actions}) for actions in ("joint", "phased"))
    forms = [sequence_form(joint), sequence_form(phased)]
    assert [form.num_information_sets for form in forms] == [2, 2 * (1 + 5)]
    first, second = (exploitability(setup, "random", form) for setup, form in zip((joint, phased), forms))
    assert first[:2] == pytest.approx(second[:2])
    assert first.best_responses == pytest.approx(second.best_responses) and first.value == pytest.approx(second.value)


def test_what_an_observation_hides_counts_for_the_best_response_alone():
    """Without past hands in sight the information sets are the same, but an agent acts alike wherever it sees alike."""
    blind = make_setup(TINY.id, None, {"obs_history": 0})
    form = sequence_form(blind)
    assert form.num_information_sets == TINY.game.facts(TINY.rules)["information_sets"]
    side = form.sides[0]
    observation = np.zeros((side.num_information_sets, blind.layout.size), np.int8)
    who, every = np.zeros(len(observation), np.int64), np.ones(len(observation), bool)
    blind.loops.observe_seats(side.games, blind.params, blind.seats, who, every, observation)
    assert len(np.unique(observation, axis=0)) == 3 * (1 + 3)

    class Fickle(ProbabilisticAgent):
        def probs(self, observation, action_mask, view=None):
            weights = (np.asarray(observation) * np.arange(1, observation.shape[1] + 1)).sum(1, keepdims=True) % 7 + 1
            weights = action_mask * weights ** np.arange(action_mask.shape[1])
            return weights / weights.sum(1, keepdims=True)

    policy = policy_of(blind, form, 0, Fickle())[1:]
    by_view = np.unique(np.column_stack([observation[side.owner], side.actions]), axis=0, return_inverse=True)[1]
    for group in range(by_view.max() + 1):
        assert np.ptp(policy[by_view.ravel() == group]) == 0


def test_the_value_of_a_fair_game_is_0_and_nash_conv_falls(tiny):
    conv = [of_plans(tiny, after(tiny, n).plans()).nash_conv for n in (1, 10, 100)]
    assert conv[0] > 10 * conv[1] > 1000 * conv[2]
    found = of_plans(tiny, after(tiny, 100).plans())
    assert found.nash_conv < 1e-3
    assert -found.best_responses[1] <= 0 <= found.best_responses[0]


def test_who_flips_last_is_ahead_and_the_slow_twin_proves_it():
    """Every pure strategy of either seat is played out in the reference against the other's solved mixture."""
    form = sequence_form(IN_TURN)
    plans = after(form, 400).plans()
    found = of_plans(form, plans)
    assert found.nash_conv < 5e-3
    told = [moves_of(side, p, plan) for p, (side, plan) in enumerate(zip(form.sides, plans))]
    firsts = list(itertools.product(range(3), range(2)))
    seconds = list(itertools.product(range(3), range(2), range(2)))
    paid = np.array([[play_in_turn(g, v, h, answer) for h, *answer in seconds] for g, v in firsts])
    x = np.array([told[0][-1, -1][g] * told[0][g, -1][21 + v] for g, v in firsts])
    y = np.array([told[1][-1, -1][h] * told[1][h, 0][21 + a] * told[1][h, 1][21 + b] for h, a, b in seconds])
    assert x.sum() == pytest.approx(1) and y.sum() == pytest.approx(1)
    assert (paid @ y).max() == pytest.approx(found.best_responses[0])
    assert (x @ paid).min() == pytest.approx(-found.best_responses[1])
    assert x @ paid @ y == pytest.approx(found.value)
    assert found.best_responses[0] < -0.5  # all that seat 0 can hope for is a loss


def moves_of(side, player, plan):
    """{(own guess or -1, the other's flip or -1): {action id: probability}}."""
    told = {}
    for sequence, probability in enumerate(side.normalise(plan)[1:]):
        game = side.games[side.owner[sequence]]
        key = int(game["guess"][player]), int(game["play"][1 - player])
        told.setdefault(key, {})[int(side.actions[sequence])] = probability
    return told


def play_in_turn(guess, play, reply_guess, answer):
    """What seat 0 is paid in the reference."""
    game = FlipIt(IN_TURN.rules)
    moves = (0, f"guess {guess}"), (1, f"guess {reply_guess}"), (0, f"play {play}"), (1, f"play {answer[play]}")
    for seat, move in moves:
        assert game.asked() == [seat]
        game.choose(seat, move)
    assert game.over
    return game.take_rewards()[0]


# -- the command and the agent -----------------------------------------------------------------------------------------


def test_solve_command(capsys):
    assert main(["solve", TINY.id, "--json", "--iterations", "30", "--target", "0", "--set", "goal=score:3"]) == 0
    told = capsys.readouterr()
    data = json.loads(told.out.splitlines()[-1])
    assert set(data) >= {"env", "value", "nash_conv", "information_sets", "seconds"}
    assert (data["env"], data["information_sets"], data["iterations"]) == (TINY.id, 2184, 30)
    assert data["nash_conv"] == pytest.approx(sum(data["best_responses"])) and data["target_reached"] is False
    assert "1 of 30 iterations" in told.err


def test_solving_stops_at_the_target(solved):
    stem, data = solved
    assert data["target_reached"] is True and data["nash_conv"] <= solve.TARGET
    assert data["iterations"] < 1000 and data["saved"] == stem
    assert -data["best_responses"][1] <= data["value"] <= data["best_responses"][0]


def test_solving_again_gives_the_same_agent(solved, tmp_path):
    solve.run(solve.Args(TINY.id, save=str(tmp_path / "again")))
    first, second = (load_checkpoint(path)[0] for path in (solved[0], tmp_path / "again"))
    assert all((first[name] == second[name]).all() for name in ("keys", "probs"))


def test_the_saved_agent_plays_as_well_as_was_said(solved, tiny):
    agent = load(solved[0])
    assert isinstance(agent, TabularAgent) and agent.needs_view
    assert exploitability(TINY, agent, tiny).nash_conv == pytest.approx(solved[1]["nash_conv"], abs=1e-5)
    assert exploitability(TINY, solved[0], tiny).value == pytest.approx(solved[1]["value"], abs=1e-5)


def test_the_saved_agent_plays_in_tournaments(solved):
    data = tournament.run(tournament.Args(TINY.id, (solved[0], "random"), games=1000)).data
    row = data["agents"][0]
    assert row["forfeits"] == 0 and row["mean_return"] > 0.3


def test_an_interrupt_leaves_an_agent(tmp_path, tiny):
    def stop(done, total):
        if done == 30:
            raise KeyboardInterrupt

    stem = str(tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        solve.run(solve.Args(TINY.id, save=stem), stop)
    assert load(stem).card["training"]["iterations"] == 30
    assert exploitability(TINY, stem, tiny).nash_conv < 0.05


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "rules", "words"),
    [
        ("flip_it-hand-v0", {"num_players": 3}, "num_players=3 .* two-player zero-sum"),
        ("flip_it-tiny-v0", {"reward": "points"}, "adds up to 0 over both seats"),
        pytest.param("flash10-tiny-v0", {}, "without chance", marks=pytest.mark.slow),  # to compile
        pytest.param("flinch-tiny-v0", {}, "without chance", marks=pytest.mark.slow),
    ],
)
def test_other_games_are_refused(id, rules, words):
    with pytest.raises(ValueError, match=words):
        solve.run(solve.Args(id, rules=rules))


def deal_by_seed(games):
    games["history"] += (games["steps"] == 0) * games["seed"].astype(np.uint64)


def draw_in_play(games):
    games["rng"] += games["steps"].astype(np.uint64)


@pytest.mark.parametrize("chance", [deal_by_seed, draw_in_play])
def test_chance_is_refused(chance):
    def advance(games, *rest):
        HAND.loops.advance(games, *rest)
        chance(games)

    with pytest.raises(ValueError, match="without chance"):
        sequence_form(HAND._replace(loops=HAND.loops._replace(advance=advance)))


def test_exact_answers_where_they_are_to_be_had():
    assert form_if_small(TINY).histories == 12_286
    for setup in (make_setup(HAND.id, None, {"num_players": 3}), make_setup(TINY.id, None, {"reward": "points"})):
        assert form_if_small(setup) is None
    assert form_if_small(make_setup(HAND.id, None, {"goal": ("hands", 3)})) is None


def test_larger_games_are_refused():
    assert sequence_form(HAND, 4478).histories == 4478
    with pytest.raises(ValueError, match="env='flip_it-hand-v0' is not allowed: a game of at most 4,477 histories"):
        sequence_form(HAND, 4477)


def forgets_its_guess(s, rules, player):
    return bytes([s.hands, s.phase, player])


def forgets_the_time(s, rules, player):
    """Its guess in the first hand, 2 * guess + play of the first hand in the second: the same numbers."""
    past = int(s.past[0][player])
    first = s.guess[player] if s.phase else -1
    return str(2 * (past % 2**21).bit_length() - 2 + (past >> 22) if s.hands else first).encode()


def forgets_who_won(s, rules, player):
    return repr((s.hands, s.phase, player, s.guess[player], s.past[0][player])).encode()


@pytest.mark.parametrize(
    ("information_state", "words"),
    [
        (forgets_its_guess, "player_0 forgets"),
        (forgets_the_time, "player_0 forgets"),
        (forgets_who_won, "player_0 has other actions in one information set"),
    ],
)
def test_a_seat_that_forgets_is_refused(information_state, words):
    setup = make_setup(HAND.id, None, {"goal": ("hands", 2), "play_values": (0, 1)})
    with pytest.raises(ValueError, match=words):
        sequence_form(setup._replace(game=setup.game._replace(information_state=information_state)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *itertools.product(["iterations"], [0, -1, 1.5, True, None]),
        *itertools.product(["target"], [-1, float("nan"), float("inf"), "0", None, True]),
        ("max_histories", 0),
        *itertools.product(["save"], ["", "folder/", "/dev/null/agent"]),
    ],
)
def test_bad_settings_are_refused(field, value):
    with pytest.raises(ValueError, match=f"^{field}="):
        solve.run(dataclasses.replace(solve.Args(TINY.id), **{field: value}))


@pytest.mark.parametrize("words", [["--iterations", "0"], ["--target", "-1"], ["--players", "3"], ["--target", "x"]])
def test_the_command_refuses_in_one_line(words, capsys):
    try:
        code = main(["solve", TINY.id, *words])
    except SystemExit as end:
        code = end.code
    assert code == 2 and len(capsys.readouterr().err.splitlines()) == 1


class Odd(UniformAgent):
    """Spoils the probabilities of its last row."""

    name = "odd"

    def __init__(self, spoil):
        self.spoil = spoil

    def probs(self, observation, action_mask, view=None):
        probs = super().probs(observation, action_mask)
        self.spoil(probs[-1])
        return probs


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: row.fill(np.nan),
        lambda row: row.__imul__(1.001),
        lambda row: row.__setitem__(slice(0, 2), [-0.1, 0.1]),
        lambda row: row.__setitem__(20, 0.5),
        lambda row: row.__setitem__(20, np.nan),
    ],
    ids=["nan", "sum", "negative", "illegal", "illegal nan"],
)
def test_probabilities_that_are_none_are_refused(spoil, hand):
    with pytest.raises(ValueError, match="probs of agent 'odd'"):
        exploitability(HAND, Odd(spoil), hand)


def test_agents_without_probabilities_are_refused(hand):
    class Shy:
        def act(self, observation, action_mask, rng, view=None):
            return action_mask.argmax(1)

    with pytest.raises(ValueError, match="agent='Shy'"):
        exploitability(HAND, Shy(), hand)


def test_a_table_is_for_its_own_rules(solved):
    with pytest.raises(ValueError, match="checkpoint's rule goal"):
        load(solved[0], make_setup(TINY.id, None, {"goal": ("hands", 3)}))


def test_a_table_is_asked_by_information_states(solved):
    agent = load(solved[0])
    mask = np.ones((1, TINY.num_actions), np.int8)
    with pytest.raises(ValueError, match="view=None"):
        agent.probs(np.zeros((1, TINY.layout.size), np.int8), mask)

    class Elsewhere:
        def information_state(self):
            return b"elsewhere"

    with pytest.raises(ValueError, match="not in the table"):
        agent.probs(np.zeros((1, TINY.layout.size), np.int8), mask, [Elsewhere()])


def test_a_table_is_asked_with_the_legal_actions_of_the_state(solved, tiny):
    agent = load(solved[0])
    view = [SeatView(TINY, tiny.sides[0].games[:1], 0)]
    mask = np.zeros((1, TINY.num_actions), np.int8)
    mask[0, :3] = 1
    assert agent.probs(None, mask, view).sum() == pytest.approx(1)
    mask[0, :3] = 0, 0, 1
    with pytest.raises(ValueError, match="action_mask="):
        agent.probs(None, mask, view)


@pytest.mark.parametrize(
    "damage",
    [
        lambda tensors: tensors["probs"].__imul__(2),
        lambda tensors: tensors["probs"][0].__iadd__(np.eye(27, dtype=np.float32)[0] * 2 - np.eye(27)[1] * 2),
        lambda tensors: tensors["keys"].__setitem__(0, tensors["keys"][1]),
        lambda tensors: tensors.update(keys=tensors["keys"].astype(np.float32)),
        lambda tensors: tensors.update(probs=tensors["probs"][:-1]),
        lambda tensors: tensors.update(more=tensors["probs"]),
    ],
    ids=["doubled", "negative", "twice", "floats", "short", "more"],
)
def test_damaged_tables_are_refused(damage, solved, tmp_path):
    tensors, card = load_checkpoint(solved[0])
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    damage(tensors)

    def save_and_load():
        save_checkpoint(tmp_path / "damaged", tensors, card)
        load(tmp_path / "damaged")

    with pytest.raises(ValueError, match="checkpoint"):
        save_and_load()


@pytest.mark.parametrize("shape", [[], [1092, 22], "x", [2184, 22, 0], [2184, 22, 28], None])
def test_cards_of_other_shapes_are_refused(shape, solved, tmp_path):
    tensors, card = load_checkpoint(solved[0])
    card = card | {"network": {"kind": "table", "shape": shape}}
    with pytest.raises(ValueError, match="'shape'"):
        save_checkpoint(tmp_path / "damaged", tensors, card)
