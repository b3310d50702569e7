"""The AEC environment and the slow reference play the same games of Flinch; they must agree after every action.

Both draw the same cards: `Chance` is the record's generator and its Stack in plain Python. Game `k` is drawn from
`Random(k)`; a failure names the game, its rules and all moves so far, and `play_game(k, Counter())` plays it again.
"""

import collections
import dataclasses
import itertools
import random
import re
from unittest.mock import ANY

import numpy as np
import pytest
from differential import MOST, Generator, compare, compare_end

import flinchenv
from flinchenv.core.params import RulesError
from flinchenv.flinch.rules import CHANCE_UNIT, FlinchRules
from reference.flinch import OPTIONS, Flinch

GAMES = 120
PHASES = ("open", "laydown", "play", "name", "challenge", "over")
DEPTH = 40  # cards of a pile that the observation lists


class Chance(Generator):
    """The game's generator behind the calls of the reference."""

    def __init__(self, seed, rules):
        super().__init__(seed)
        self.rules = rules
        self.stack = []

    def shuffle_in(self, cards):
        self.stack += cards

    def draw(self):
        k = self.below(len(self.stack))
        card, self.stack[k] = self.stack[k], self.stack[-1]
        self.stack.pop()
        return card

    def polling_order(self, seats):
        seats = list(seats)
        for k in range(len(seats) - 1, 0, -1):
            j = self.below(k + 1)
            seats[k], seats[j] = seats[j], seats[k]
        return seats

    def face_down(self, n):
        return self.below(n)

    def exposes(self, seat):
        return self.below(CHANCE_UNIT) < round(self.rules.p_expose * CHANCE_UNIT)

    def exposed_card(self, hand):
        return hand[self.below(len(hand))]


def draw_rules(rng):
    """Any rules, so that every option meets every other; small decks are common, so that games end."""
    options = {name: rng.choice(values) for name, values in OPTIONS.items()}
    options["duty_mode"] = rng.choice(["enforced", "challenge", "challenge", "honour"])
    options["partnership"] = rng.random() < 0.3
    players = options["num_players"] = rng.choice([4, 6, 8] if options["partnership"] else [2, 2, 3, 4, 5, 6, 7, 8])
    options["packs"] = rng.choice(["auto", 1, 2])
    options["num_ranks"] = rng.choice([3, 4, 5, 5, 7, 9, 15])
    if options["center"] == "eights":
        options["num_ranks"] |= 1
        options["starter_duty"] = "all_starters"
    options["series_per_pack"] = rng.choice([1, 3, 5, 9, 10, 20])
    options["n_wild"] = rng.choice([0, 0, 1, 4, 9])
    options["stock_size"] = rng.choice([1, 2, 3, 5, 10])
    options["hand_size"] = rng.choice([1, 2, 3, 5, 5])
    options["reserve_piles"] = rng.choice([1, 2, 3, 5, 5])
    options["p_expose"] = rng.choice([0.0, 0.0, 0.1, 0.5])
    options["shaping"] = rng.choice([0.0, 0.0, 0.5, 2.0])
    options["shaping_gamma"] = rng.choice([1.0, 0.9])
    options["max_turns"] = rng.choice([30, 200, 1000])
    options["max_plays_per_turn"] = rng.choice([10, 500])
    default = {f.name: f.default for f in dataclasses.fields(FlinchRules)}
    if options["duty_mode"] != "challenge":
        options |= {name: default[name] for name in CALLS}
    if options["stock_duty"] == "none" or options["duty_mode"] == "honour":
        options["call_kinds"] = "both"
    unread = {
        "mask_false_stock_calls": options["stock_duty"] == "none",
        "reveal_on_false_call": options["call_kinds"] == "stock_only",
        "stock_duty": options["duty_mode"] == "honour",
        "eights_removal": options["center"] != "eights",
        "starter_duty": options["center"] == "up",
        "first_laydown": options["opening"] == "encyclopedia",
        "offturn_exposure_discard": options["p_expose"] == 0,
        "shaping_gamma": options["shaping"] == 0,
    }
    options |= {name: default[name] for name, is_unread in unread.items() if is_unread}
    scarce = rng.random() < 0.3  # a Stack that is soon used up: blocked and dead games
    if scarce:
        options |= {"series_per_pack": 1, "n_wild": 0, "num_ranks": rng.choice([5, 7, 9]), "max_turns": 1000}
    needed = players * (options["stock_size"] + options["hand_size"]) + options["hand_size"]
    packs = {"auto": 1 if players <= 4 else 2}.get(options["packs"], options["packs"])
    while packs * (options["num_ranks"] * options["series_per_pack"] + options["n_wild"]) < needed:
        if options["series_per_pack"] < 20:
            options["series_per_pack"] += 1
        else:
            options["num_ranks"] += 2
    return FlinchRules(**options)


CALLS = (
    "challenge_window",
    "call_kinds",
    "call_priority",
    "penalty_card",
    "empty_by_penalty_wins",
    "mask_false_stock_calls",
    "reveal_on_false_call",
)


HABITS = ("random", "greedy", "refuser", "racer", "caller")


def choose(rng, game, seat, habit):
    """A legal move; by habit one that plays, refuses or calls, so that every ending is common."""
    legal = sorted(game.legal(seat))
    if "no call" in legal:
        liked = [move for move in legal if move != "no call"] if habit == "caller" else ["no call"]
        return rng.choice(liked if liked and rng.random() < 0.7 else legal)
    ends = [move for move in legal if move.startswith("discard") or move == "end turn"]
    plays = [move for move in legal if move not in ends]
    liked = {"greedy": plays, "refuser": ends}.get(habit, [])
    if habit == "racer":
        liked = [move for move in legal if "stock" in move] or plays
    return rng.choice(liked if liked and rng.random() < 0.9 else legal)


def by_rank(cards):
    """How many of each rank, the wild first."""
    return [min(MOST, cards.count("W"))] + [min(MOST, cards.count(rank)) for rank in range(1, 16)]


def listed(cards):
    """A pile from the top as the observation lists it."""
    shown = [{"W": 16, None: 0}.get(card, card) for card in reversed(cards)][:DEPTH]
    return shown + [0] * (DEPTH - len(shown))


def top(pile):
    """The top card as a one-hot index."""
    return None if not pile else 0 if pile[-1] == "W" else pile[-1]


def expected_view(game, seat):
    """What the rules let a seat see, in the observation's fields and seen from the seat."""
    rules = game.rules
    n = rules.num_players
    around = [(seat + k) % n for k in range(n)]
    states = collections.Counter((pile.low, pile.high) for pile in game.piles)
    view = {
        "phase": ANY if game.truncated else PHASES.index(game.phase),
        "opened": int(game.opened),
        "forced": int(game.forced),
        "stack_hundreds": len(game.stack) // 100,
        "stack_rest": len(game.stack) % 100,
        "window_at_end": int(game.phase == "challenge" and game.announced is not None),
        "removed": ANY if rules.eights_removal == "on_15" else len(game.removed) // rules.num_ranks,
        "hand": by_rank(game.hands[seat]),
        "asked": [int([p] == game.asked()) for p in around],
        "turn": [int(p == game.turn) for p in around],
        "stock_left": [min(MOST, len(game.stocks[p])) for p in around],
        "hand_cards": [len(game.hands[p]) for p in around],
        "stock_top": [top(game.stocks[p]) for p in around],
        "reserve_top": [[top(pile) for pile in padded(game.reserves[p])] for p in around],
        "reserve_cards": [[min(MOST, len(pile)) for pile in padded(game.reserves[p])] for p in around],
    }
    if rules.center == "eights":
        middle = (rules.num_ranks + 1) // 2
        view["eights"] = [[states[middle - j, middle + i] for j in range(8)] for i in range(8)]
    else:
        view["ups"] = [0] + [states[1, top] for top in range(1, 16)]
    if rules.center == "both_ends":
        last = rules.num_ranks
        view["downs"] = [0] + [states[top, last] if 1 < top <= last else 0 for top in range(1, 16)]
    if rules.illegal_move == "exposure" or rules.p_expose > 0:
        view["exposed"] = [by_rank(game.exposed[p]) for p in around]
        view["due"] = [None if game.due[p] is None else top([game.due[p]]) for p in around]
    if rules.obs_reserve == "full":
        view |= remembered(game, seat, around)
    return view


def padded(piles):
    """A seat's Reserve Piles, five in all."""
    return [*piles, *[[] for _ in range(5 - len(piles))]]


def remembered(game, seat, around):
    """What perfect recall of public information adds."""
    hidden = list(game.stack)
    for p in around:
        hidden += [card for card, known in zip(game.stocks[p][:-1], game.stock_known[p][:-1]) if not known]
        if p != seat:
            unknown = collections.Counter(game.hands[p]) - collections.Counter(game.known[p])
            hidden += unknown.elements()
    piles = {p: padded(game.reserves[p]) for p in around}
    return {
        "starter_free": [int(game.starter_free[p]) for p in around],
        "holds_starter": [int(game.holds_starter[p]) for p in around],
        "known_hand": [by_rank(game.known[p]) for p in around],
        "reserve_ranks": [[by_rank(pile) for pile in piles[p]] for p in around],
        "reserve_order": [[listed(pile) for pile in piles[p]] for p in around],
        "stock_known": [
            listed(
                [
                    card if known or k == len(game.stocks[p]) - 1 else None
                    for k, (card, known) in enumerate(zip(game.stocks[p], game.stock_known[p]))
                ]
            )
            for p in around
        ],
        "unseen": by_rank(hidden),
    }


def play_game(k, counts):
    """Play game k in both and compare after every action."""
    rng = random.Random(k)
    rules = draw_rules(rng)
    try:
        play(rules, rng, counts)
    except Exception as error:
        error.add_note(f"this was game {k}")
        raise


def play(rules, rng, counts):
    """Play one game under these rules in both and compare after every action."""
    seed = rng.randrange(2**63)
    game = Flinch(rules, Chance(seed, rules))
    env = flinchenv.make("flinch-v0", rules=rules)
    env.reset(seed=seed)
    moves, decoded = [], [(None, None)] * rules.num_players
    habits = [rng.choice(HABITS) for _ in range(rules.num_players)]
    if rng.random() < 0.3:
        habits = ["refuser"] * rules.num_players
    try:
        compare(env, game, decoded, expected_view)
        returns = np.zeros(rules.num_players)
        while not game.over:
            seat = game.asked()[0]
            move = choose(rng, game, seat, habits[seat])
            moves.append((seat, move))
            counts[f"phase: {game.phase}"] += 1
            counts["forced"] += game.forced
            counts[f"move: {re.sub('[0-9]+', '#', move)}"] += 1
            game.play(seat, move)
            env.step(env.setup.game.parse_action(rules, move))
            returns += compare(env, game, decoded, expected_view)
            counts["moves"] += 1
        compare_end(env, game, returns)
        assert env._games[0].turns == game.turns
    except Exception as error:
        chosen = {k: v for k, v in dataclasses.asdict(rules).items() if v != getattr(FlinchRules, k, v)}
        error.add_note(f"{chosen}\nmoves: {moves}")
        raise
    counts["games"] += 1
    counts["phase: over"] += 1
    counts[f"end: {game.end_reason}"] += 1
    counts[f"winners: {len(game.winners)}"] += 1
    values = [f"{name}={getattr(rules, name)}" for name in (*OPTIONS, "num_players")]
    values += [f"{name}={getattr(rules, name) > 0}" for name in ("n_wild", "p_expose", "shaping")]
    counts.update(itertools.combinations(values, 2))


PHASE_COUNTS = [*(f"phase: {phase}" for phase in PHASES), "forced"]
MOVES = ("stock", "hand #", "reserve #", "discard # to #", "discard wild to #", "end turn", "no call", "call stock")
MOVES += ("call #", "stock down", "hand # down", "reserve # down", "partner stock", "partner reserve #", "hand wild")
MOVES += ("partner stock down", "partner reserve # down")
BRANCHES = [
    *[f"move: {move}" for move in MOVES],
    *[f"end: {end}" for end in ("goal", "dead", "max_turns", "max_plays_per_turn")],
    *[f"winners: {k}" for k in (0, 1, 2)],
]


def pairs_that_exist():
    """Every pair of option values that the rules allow together."""
    fields = {**OPTIONS, "num_players": range(2, 9)} | dict.fromkeys(("n_wild", "p_expose", "shaping"), (False, True))
    numbers = {"n_wild": {False: 0, True: 9}, "p_expose": {False: 0.0, True: 0.5}, "shaping": {False: 0.0, True: 0.5}}
    needs = {name: {"duty_mode": "challenge"} for name in CALLS} | {
        "eights_removal": {"center": "eights"},
        "starter_duty": {"center": "both_ends"},
        "offturn_exposure_discard": {"p_expose": 0.5},
        "partnership": {"num_players": 4},
    }
    defaults = {f.name: f.default for f in dataclasses.fields(FlinchRules)}
    for (a, x_values), (b, y_values) in itertools.combinations(fields.items(), 2):
        for x, y in itertools.product(x_values, y_values):
            chosen = {a: numbers.get(a, {}).get(x, x), b: numbers.get(b, {}).get(y, y)}
            helped = {}
            for name, value in chosen.items():
                if value != defaults[name]:
                    helped |= needs.get(name, {})
            try:
                FlinchRules(**{"packs": 2, "series_per_pack": 10, **helped, **chosen})
            except RulesError:
                continue
            yield f"{a}={x}", f"{b}={y}"


def test_both_play_the_same_games():
    counts = collections.Counter()
    for k in range(GAMES):
        play_game(k, counts)
    assert counts["games"] == GAMES
    missed = [branch for branch in BRANCHES if not counts[branch]]
    assert not missed, missed


@pytest.mark.slow
def test_both_play_the_same_games_for_long():
    counts = collections.Counter()
    for k in range(GAMES, GAMES + 2500):
        play_game(k, counts)
    missed = {phase: counts[phase] for phase in PHASE_COUNTS if counts[phase] < 1000}
    missed |= {branch: counts[branch] for branch in BRANCHES if counts[branch] < 20}
    missed |= {pair: counts[pair] for pair in pairs_that_exist() if counts[pair] == 0}
    assert not missed, missed
