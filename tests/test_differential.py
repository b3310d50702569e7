"""The AEC environment and the slow reference play the same games; after every choice they must agree on everything.

Game `k` is drawn from `Random(k)`: rules over all options, then the choices. A failure names the game, its rules and
all choices so far; `play_game(k, Counter())` plays it again.
"""

import collections
import random
from dataclasses import asdict

import numpy as np
import pytest
from differential import MOST, compare, compare_end

import flinchenv
from flinchenv.flip_it.rules import FlipItRules
from reference.flip_it import OPTIONS, FlipIt, most_basic_points

GAMES = 1000
PHASES = ("guess", "play", "over")


def draw_rules(rng):
    """Any rules, so that every option meets every other and short games are common."""
    options = {name: rng.choice(values) for name, values in OPTIONS.items()}
    if options["flip_order"] == "sequential":
        options["actions"] = "phased"
    players = rng.choice([2, 2, 3, 3, 4])
    values = [0, *rng.sample(range(1, 6), rng.choice([1, 1, 2, 3, 5]))]
    highest = players * max(values)
    options["num_players"] = players
    options["play_values"] = tuple(sorted(values))
    options["guess_max"] = rng.choice([None, None, rng.randint(1, highest), min(3, highest)])
    options["max_hands"] = rng.choice([1, 2, 4, 8, 12, 20])
    options["obs_history"] = rng.choice([0, 1, 1, 2, 3, 8])
    options["goal"] = ("hands", 1)
    most = most_basic_points(FlipItRules(**options)) if options["scoring"] == "basic" else 30
    score = ("score", rng.choice([rng.randint(1, min(most, 6)), rng.randint(1, most), most]))
    options["goal"] = rng.choice([score, score, ("hands", rng.randint(1, 12)), ("guess_cards_gone", 0)])
    if rng.random() < 0.25:  # few cards and a long game, so that seats run out of Guess Cards and play on
        options |= {
            "no_guess_cards": "continue",
            "guess_max": rng.randint(1, 2),
            "max_hands": 20,
            "goal": ("hands", 30),
        }
    return FlipItRules(**options)


def choose(rng, game, seat, habit):
    """A legal move; by habit one that agrees with the guesses or makes the total one of them, so that hands are won."""
    legal = sorted(game.legal(seat))
    liked = []
    if habit == "agree" and game.phase == "guess":
        liked = [m for m in legal if f"guess {rng.choice([*_guessed(game), -1])}" in m]
    if habit in ("agree", "aim") and game.phase == "play":
        open_total = sum(game._plays.values())
        liked = [m for m in legal if open_total + int(m.split()[-1]) in _guessed(game)]
    if habit == "pass":
        liked = [m for m in legal if m.split()[-1] == "0"]
    return rng.choice(liked if liked and rng.random() < 0.8 else legal)


def _guessed(game):
    return sorted(card for card in game._guesses.values() if card is not None)


def expected_view(game, seat):
    """What the reference lets a seat see, in the observation's fields and seen from the seat."""
    rules, seen = game.rules, game.seen_by(seat)
    n = rules.num_players

    def turn(values):
        return [values[(seat + k) % n] for k in range(n)]

    if rules.actions == "joint":
        view = {"over": int(seen["phase"] == "over")}
    else:
        view = {"phase": PHASES.index(seen["phase"]), "own_guess": seen["own_guess"]}
    view["guess_cards"] = turn(seen["guess_cards"])
    if rules.obs_history:
        past = seen["history"] + [{"guesses": [None] * n, "plays": [None] * n}] * rules.obs_history
        view["past_guesses"] = [turn(hand["guesses"]) for hand in past[: rules.obs_history]]
        view["past_plays"] = [turn(hand["plays"]) for hand in past[: rules.obs_history]]
    if rules.play_cards == "consumed":
        view["play_cards"] = turn(seen["play_cards"])
    view["points"] = [min(points, MOST) for points in turn(seen["points"])]
    view["hands"] = min(seen["hands"], MOST)
    if rules.flip_order == "sequential":
        view["flips"] = turn(seen["flips"])
        view["first"] = (seen["first"] - seat) % n
    return view


def play_game(k, counts):
    """Play game k in both and compare after every choice."""
    rng = random.Random(k)
    rules = draw_rules(rng)
    try:
        play(rules, rng, counts)
    except Exception as error:
        error.add_note(f"this was game {k}")
        raise


def play(rules, rng, counts):
    """Play one game under these rules in both and compare after every choice."""
    game = FlipIt(rules)
    env = flinchenv.make("flip_it-v0", rules=rules)
    env.reset(seed=rng.randrange(2**63))
    moves, decoded = [], [(None, None)] * rules.num_players
    habit = rng.choice(["random", "agree", "agree", "aim", "pass"])
    try:
        compare(env, game, decoded, expected_view)
        returns = np.zeros(rules.num_players)
        while not game.over:
            seat = game.asked()[0]
            move = choose(rng, game, seat, habit)
            moves.append((seat, move))
            hands = game.hands
            empty = [not cards for cards in game.guess_cards]
            refill = [len(cards) == 1 for cards in game.play_cards]
            game.choose(seat, move)
            env.step(env.setup.game.parse_action(rules, move))
            returns += compare(env, game, decoded, expected_view)
            counts["choices"] += 1
            if game.hands > hands:
                count_hand(game, empty, refill, counts)
        compare_end(env, game, returns)
    except Exception as error:
        error.add_note(f"{asdict(rules)}\nchoices: {moves}")
        raise
    counts["games"] += 1
    counts[f"end: {game.end_reason}, {rules.goal[0] if game.end_reason == 'goal' else rules.no_guess_cards}"] += 1
    counts["winners: several" if len(game.winners) > 1 else "winners: one"] += 1


def count_hand(game, empty, refill, counts):
    """Count which branches of the rules the last hand went through."""
    rules, hand = game.rules, game.history[-1]
    n, winners = rules.num_players, hand["winners"]
    order = "sequential" if rules.flip_order == "sequential" else rules.actions
    marks = [f"hand: {order}, {n} players", f"reward: {rules.reward}"]
    number = {0: "nobody", 1: "one", n: "all"}.get(len(winners), "several")
    how = rules.scoring if rules.scoring == "basic" or number in ("nobody", "one") else f"capture {rules.capture_multi}"
    marks.append(f"win: {how}, {number}")
    if any(empty) and not all(empty):
        marks.append(f"empty seat plays: {order}")
        if hand["total"] == 0:
            marks.append("empty seat plays: total 0")
        if winners and rules.scoring == "capture":
            marks.append("empty seat plays: capture")
    if rules.play_cards == "consumed":
        marks.append("consumed: refill" if any(refill) else "consumed: no refill")
    if rules.loser_guess == "discard" and len(winners) < n and (rules.scoring == "basic" or not winners):
        marks.append(f"discard: {rules.scoring}")
    if rules.capture_spots and rules.scoring == "capture" and sum(hand["gains"]) > n:
        marks.append("capture_spots: paid")
    if rules.win_rule == "closest" and winners and hand["guesses"][winners[0]] != hand["total"]:
        marks.append("closest: a tie" if len(winners) > 1 else "closest: one")
    if game.hands > rules.obs_history > 0:
        marks.append("history: older hands drop out")
    counts.update(marks)


BRANCHES = [
    *[f"hand: {order}, {n} players" for order in ("phased", "joint", "sequential") for n in (2, 3, 4)],
    *[f"reward: {reward}" for reward in OPTIONS["reward"]],
    *[f"win: basic, {number}" for number in ("nobody", "one", "several", "all")],
    *[f"win: capture, {number}" for number in ("nobody", "one")],
    *[f"win: capture {multi}, {number}" for multi in OPTIONS["capture_multi"] for number in ("several", "all")],
    *[f"empty seat plays: {what}" for what in ("phased", "joint", "sequential", "total 0", "capture")],
    *["consumed: refill", "consumed: no refill", "discard: basic", "discard: capture", "capture_spots: paid"],
    *["closest: a tie", "closest: one", "history: older hands drop out", "winners: several", "winners: one"],
    *["end: goal, score", "end: goal, hands", "end: goal, guess_cards_gone"],
    *["end: guess_cards, end", "end: guess_cards, continue", "end: max_hands, end", "end: max_hands, continue"],
]


def check_counts(counts, least):
    """No branch of the rules may be left out by the sampler."""
    missed = {branch: counts[branch] for branch in BRANCHES if counts[branch] < least}
    assert not missed, missed


def test_both_play_the_same_games():
    counts = collections.Counter()
    for k in range(GAMES):
        play_game(k, counts)
    assert counts["games"] == GAMES
    check_counts(counts, least=25)


@pytest.mark.parametrize("flip_order", ["simultaneous", "sequential"])
def test_both_play_the_same_long_games_with_clipped_counts(flip_order):
    rules = {"scoring": "capture", "capture_multi": "share", "win_rule": "closest", "no_guess_cards": "continue"}
    rules = FlipItRules(**rules, guess_max=1, goal=("score", 10**6), flip_order=flip_order)
    counts = collections.Counter()
    play(rules, random.Random(1), counts)
    assert counts["end: max_hands, continue"] == 1
    assert counts["empty seat plays: capture"] > MOST


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_both_play_the_same_games_for_long(block):
    counts = collections.Counter()
    for k in range(GAMES + 2000 * block, GAMES + 2000 * (block + 1)):
        play_game(k, counts)
    check_counts(counts, least=20)
