"""The AEC environment and the slow reference play the same games of Flash 10; they must agree after every choice.

Both draw the same cards: `Chance` is the record's generator and lazy shuffle in plain Python. Game `k` is drawn from
`Random(k)`; a failure names the game, its rules and all choices so far, and `play_game(k, Counter())` plays it again.
"""

import collections
import random
from dataclasses import asdict

import numpy as np
import pytest
from differential import MOST, Generator, compare, compare_end

import flinchenv
from flinchenv.flash10.rules import MISREAD_UNIT, Flash10Rules
from reference.flash10 import OPTIONS, Flash10, may_be_stopped, score_row

GAMES = 1000
PHASES = ("run", "final_place", "over")


class Chance(Generator):
    """The game's generator behind the calls of the reference."""

    def __init__(self, seed, rules):
        super().__init__(seed)
        self.rules = rules
        self.deck = [*range(rules.numbers), *["T"] * rules.thunders]
        self.left = 0

    def new_round(self):
        self.left = len(self.deck)

    def card(self):
        k = self.below(self.left)
        self.left -= 1
        self.deck[k], self.deck[self.left] = self.deck[self.left], self.deck[k]
        return self.deck[self.left]

    def first_seat(self, n):
        return self.below(n)

    def duration(self, mean):
        ticks = 1
        while self.below(mean) != 0:
            ticks += 1
        return ticks

    def order(self, seats):
        seats = list(seats)
        for k in range(len(seats) - 1, 0, -1):
            j = self.below(k + 1)
            seats[k], seats[j] = seats[j], seats[k]
        return seats

    def waiting_seat(self, seats):
        return seats[self.below(len(seats))]

    def misread(self):
        return self.below(MISREAD_UNIT) < int(self.rules.p_misread * MISREAD_UNIT)


def draw_rules(rng):
    """Any rules, so that every option meets every other; small decks and short rows are common, so that rounds end."""
    options = {name: rng.choice(values) for name, values in OPTIONS.items()}
    players = options["num_players"] = rng.choice([1, 2, 2, 3, 4, 5])
    options["row_len"] = rng.choice([3, 3, 4, 5, 7, 8, 9, 10])
    if options["row_shape"] == "mountain":
        options["row_len"] |= 1
        options["row_len"] = min(options["row_len"], 9)
    if options["row_len"] > 5 or rng.random() < 0.4:
        options["numbers"], options["thunders"] = rng.choice([100, 100, 60]), rng.choice([20, 20, 0, 5])
    else:
        options["numbers"], options["thunders"] = rng.randint(10, 40), rng.randint(0, 8)
    least = players * options["row_len"] + rng.choice([1, 2, 5])
    if options["numbers"] + options["thunders"] < least:
        options["numbers"] = min(100, least)
    if players == 1 and options["reward"] == "win":
        options["reward"] = "margin"
    options["target_score"] = rng.choice([3, 8, 15, 15, 50])
    options["max_rounds"] = rng.choice([1, 2, 3, 6])
    for name, most in (("t_flip", 5), ("t_draw", 3), ("t_place", 3), ("t_check", 3)):
        one = rng.choice([1, 1, rng.randint(1, most)])
        many = tuple(rng.randint(1, most) for _ in range(rng.randint(max(2, players), 5)))
        options[name] = rng.choice([one, one, many])
    options["max_idle_ticks"] = rng.choice([0, 1, 2, 20])
    options["max_ticks"] = rng.choice([5, 8, 8, 20])
    if options["pace"] == "draw_and_place":
        options["p_misread"] = rng.choice([0.0, 0.0, 0.3, 0.5])
    return Flash10Rules(**options)


def choose(rng, game, seat, habit):
    """A legal move; by habit one that orders the row, waits, draws or stops, so that every ending is common."""
    legal = sorted(game.legal(seat))
    liked = []
    if game.held[seat] is not None and habit != "random":
        rows = {move: [*game.rows[seat]] for move in legal}
        for move, row in rows.items():
            row[int(move.split()[1])] = game.held[seat]
        best = max(score_row(game.rules, row) for row in rows.values())
        liked = [move for move, row in rows.items() if score_row(game.rules, row) == best]
        liked = [move for move in liked if may_be_stopped(game.rules, rows[move])] or liked
    elif habit in ("draw", "wait", "stop") and habit in legal:
        liked = [habit]
    elif habit == "tidy":
        done = may_be_stopped(game.rules, game.rows[seat])
        liked = [move for move in legal if (move == "stop") == done and move != "wait"]
    return rng.choice(liked if liked and rng.random() < 0.9 else legal)


def expected_view(game, seat):
    """What the reference lets a seat see, in the observation's fields and seen from the seat."""
    rules, seen = game.rules, game.seen_by(seat)
    n = rules.num_players

    def turn(values):
        return [values[(seat + k) % n] for k in range(n)]

    def flags(values):
        return [int(v) for v in turn(values)]

    held, points, gains = seen["held"], seen["points"], game.round_scores or [0] * n
    clocks = turn(seen["remaining"]) if not rules.speed_noise else [seen["own_remaining"]] + [0] * (n - 1)
    rows = turn(seen["opponents"]) if rules.obs_opponents == "full" else [seen["row"]]
    blank = [0] * (10 - rules.row_len)
    view = {
        "phase": PHASES.index(seen["phase"]),
        "middle": min(seen["middle"], MOST),
        "tick": min(seen["tick"], MOST),
        "idle": min(game._idle_ticks, MOST),
        "rounds": seen["rounds"],
        "overtime": int(game._goal_was_reached and rules.episode == "match"),
        "held": {None: 0, "T": 100}.get(held, held),
        "held_thunder": int(held == "T"),
        "held_flash": int(isinstance(held, int) and held % 5 == 0),
        "own_check": int(seen["own_check"]),
        "holding": flags(seen["holding"]),
        "cooling": flags(seen["cooling"]),
        "called": flags([p in game.callers for p in range(n)]),
        "ready_in": [min(v, MOST) for v in clocks],
        "points": [min(max(v, 0), MOST) for v in turn(points)],
        "debt": [max(-v, 0) for v in turn(points)],
        "last_gain": [max(v, 0) for v in turn(gains)],
        "last_loss": [max(-v, 0) for v in turn(gains)],
        "row": [[100 if card == "T" else card for card in row] + blank for row in rows],
        "row_thunder": [[k for k, card in enumerate(row) if card == "T"] for row in rows],
        "row_flash": [[k for k, card in enumerate(row) if card != "T" and card % 5 == 0] for row in rows],
    }
    if rules.last_card_stop:
        view["took_last"] = flags([p == game._last_card_taker for p in range(n)])
    if rules.obs_opponents == "counts" and n > 1:
        counts = turn(seen["opponents"])[1:]
        for k, name in enumerate(("others_run", "others_flash", "others_thunder")):
            view[name] = [count[k] for count in counts]
    if rules.obs_seen:
        view["seen"] = seen["seen"]
        view["seen_thunders"] = seen["seen_thunders"]
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
    seed = rng.randrange(2**63)
    game = Flash10(rules, Chance(seed, rules))
    env = flinchenv.make("flash10-v0", rules=rules)
    env.reset(seed=seed)
    moves, decoded = [], [(None, None)] * rules.num_players
    habit = rng.choice(["random", "tidy", "tidy", "draw", "wait", "stop"])
    try:
        compare(env, game, decoded, expected_view)
        returns = np.zeros(rules.num_players)
        while not game.over:
            seat = game.asked()[0]
            move = choose(rng, game, seat, habit)
            moves.append((seat, move))
            counts[f"phase: {game.phase}"] += 1
            counts[f"move: {move.split()[0]}"] += 1
            rounds, middle = game.rounds, sum(game.middle.values())
            game.choose(seat, move)
            env.step(env.setup.game.parse_action(rules, move))
            returns += compare(env, game, decoded, expected_view)
            counts["choices"] += 1
            if game.rounds > rounds:
                count_round(game, middle, counts)
        compare_end(env, game, returns)
        assert env._games[0].deck[: sum(game.middle.values())].tolist().count(100) == game.middle["T"]
    except Exception as error:
        error.add_note(f"{asdict(rules)}\nchoices: {moves}")
        raise
    counts["games"] += 1
    counts[f"end: {game.end_reason}"] += 1
    counts["winners: several" if len(game.winners) > 1 else "winners: one"] += 1
    if game.end_reason in ("goal", "max_rounds"):
        counts[f"tie: {rules.tie}, {len(game.winners) > 1}"] += 1


def count_round(game, middle, counts):
    """Count which branches of the rules the last round went through."""
    rules, n = game.rules, game.rules.num_players
    calls = sorted(game.last_callers.values())
    marks = [f"round: {game.last_round_end}, {n} players", f"pace: {rules.pace}, {game.last_round_end}"]
    marks += [f"priority: {rules.priority}, {game.last_round_end}", f"reward: {rules.reward}"]
    marks += [f"row: {rules.row_shape}, {rules.peak_score}, {rules.flash_scope}"]
    if calls:
        marks.append(f"calls: {rules.stop_resolution}, {''.join('R' if right else 'F' for right in calls)}")
        marks.append(f"caller: Thunders allowed {rules.stop_with_thunder}, right {calls[-1]}")
    if game.last_round_end == "exhausted":
        marks.append(f"last card: last_card_stop {rules.last_card_stop}")
    if min(game.round_scores) < 0:
        marks.append("negative round")
    if rules.speed_noise:
        marks.append("noise")
    if rules.p_misread:
        marks.append(f"misread: {rules.false_stop}, {rules.idle}")
    counts.update(marks)


ENDS = ("stop", "exhausted", "max_ticks")
BRANCHES = [
    *["phase: run", "phase: final_place", "move: place", "move: draw", "move: stop", "move: wait"],
    *[f"round: {end}, {n} players" for end in ENDS for n in range(1, 6)],
    *[f"pace: draw_and_place, {end}" for end in ENDS],
    *["pace: auto_draw, stop", "pace: auto_draw, exhausted"],
    *[f"priority: {priority}, {end}" for priority in OPTIONS["priority"] for end in ENDS],
    *[f"reward: {reward}" for reward in OPTIONS["reward"]],
    *[f"row: ascending, left_prefix, {scope}" for scope in OPTIONS["flash_scope"]],
    *[f"row: mountain, {score}, {scope}" for score in OPTIONS["peak_score"] for scope in OPTIONS["flash_scope"]],
    *["calls: first, R", "calls: first, F", "calls: all_valid, FF", "calls: all_valid, FR", "calls: all_valid, R"],
    *["last card: last_card_stop True", "negative round", "noise"],
    *[f"misread: {stop}, {idle}" for stop in OPTIONS["false_stop"] for idle in OPTIONS["idle"]],
    *["end: goal", "end: max_rounds", *[f"end: {end}" for end in ENDS], "winners: several", "winners: one"],
    *["tie: shared, True", "tie: extra_round, True", "tie: extra_round, False"],
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
    check_counts(counts, least=3)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_both_play_the_same_games_for_long(block):
    counts = collections.Counter()
    for k in range(GAMES + 2000 * block, GAMES + 2000 * (block + 1)):
        play_game(k, counts)
    check_counts(counts, least=20)
