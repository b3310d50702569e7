"""What many games of Flinch come to: the rules' table of figures ("Measured", 1.3), openings, draws, reshuffles.

The table's figures fit only if its players, but for RANDOM, spread every later hand laid down as the first one, which
the table does not say (`flinch_policies.outside_turn`), and if the winning turn counts as a turn.

The ordinary forms are short; `pytest -m slow tests/test_statistics_flinch.py` plays 200,000 games a line.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest

from flinchenv.agents.flinch_policies import blocker_policy, greedy_policy, planner_policy, refuser_policy
from flinchenv.agents.policy import bot_kernel
from flinchenv.core.kernel import routine
from flinchenv.core.rng import BOT, GAME, GAMMA, mix, stream
from flinchenv.core.spec import RUNNING
from flinchenv.envs.setup import make_setup
from flinchenv.flinch.cards import draw_card, take_all_cards
from flinchenv.flinch.ending import DEAD, GOAL
from flinchenv.flinch.game import apply_actions, deal
from flinchenv.flinch.moves import END_TURN, NUM_ACTIONS, PLAY, choose, fill_action_mask, is_discard, legal
from flinchenv.flinch.rules import MAX_PLAYERS

RANDOM, GREEDY, PLANNER, BLOCKER, REFUSER = range(5)
# Columns of a game's counts. UNEVEN: reshuffles that did not hold as many of each rank (lemma of 1.1).
TURNS, PLAYS, DISCARDS, RESHUFFLES, UNEVEN, REASON, WINNER = range(7)
NOBODY = -1
FIRST_SEED = 2**31
TABLE_GAMES = 20_000  # the fewest that a line of the table was measured with
RANKS = 15

# (who sits where, rules): figures as printed, shares in percent. "most" is the most turns seen, "wins" by seat.
TABLE = {
    ("2p greedy", (GREEDY,) * 2): {
        "turns": "68", "p99": "119", "most": "179", "steps": "163", "plays": "96", "reshuffles": "0.37",
        "dead": "0.17",
    },
    ("4p greedy", (GREEDY,) * 4): {
        "turns": "77", "p99": "141", "most": "221", "steps": "203", "plays": "127", "reshuffles": "1.16",
        "dead": "0.03",
    },
    ("5p greedy, 135", (GREEDY,) * 5): {
        "turns": "81", "steps": "221", "plays": "141", "reshuffles": "1.8", "dead": "0.04",
    },
    ("8p greedy, 135", (GREEDY,) * 8): {
        "turns": "88", "steps": "252", "plays": "171", "reshuffles": "6.5", "dead": "2.3",
    },
    ("5p greedy, 270", (GREEDY,) * 5): {
        "turns": "95", "steps": "246", "plays": "151", "reshuffles": "0.07", "dead": "0",
    },
    ("8p greedy, 270", (GREEDY,) * 8): {
        "turns": "97", "steps": "275", "plays": "179", "reshuffles": "0.45", "dead": "0",
    },
    ("2p random", (RANDOM,) * 2): {
        "turns": "106", "p99": "174", "most": "249", "steps": "126", "plays": "27", "reshuffles": "0.30",
        "dead": "94.5",
    },
    ("3p random", (RANDOM,) * 3): {
        "turns": "122", "steps": "149", "plays": "45", "reshuffles": "1.2", "dead": "67",
        "wins": ("11.9", "10.9", "10.0"),
    },
    ("4p random", (RANDOM,) * 4): {
        "turns": "141", "steps": "170", "plays": "64", "reshuffles": "2.2", "dead": "39",
        "wins": ("16.2", "15.6", "15.0", "14.0"),
    },
    ("8p random, 135", (RANDOM,) * 8): {"turns": "161", "dead": "7"},
    ("8p random, 270", (RANDOM,) * 8): {"turns": "194", "dead": "0.4"},
    ("2p random, 150", (RANDOM,) * 2): {"turns": "120", "dead": "92.5"},
    ("2p random, 270", (RANDOM,) * 2): {"turns": "235", "dead": "62"},
    ("2p refuser", (REFUSER,) * 2): {"turns": "102", "steps": "109", "plays": "11", "dead": "99.9"},
    ("2p random, greedy", (RANDOM, GREEDY)): {
        "turns": "100", "steps": "172", "plays": "75", "reshuffles": "1.5", "dead": "20", "wins": ("4.2", "75.8"),
    },
    ("2p blocker, greedy", (BLOCKER, GREEDY)): {
        "turns": "71", "steps": "162", "plays": "92", "dead": "0.8", "wins": ("54.4", "44.8"),
    },
    ("2p planner, greedy", (PLANNER, GREEDY)): {
        "turns": "67", "steps": "160", "plays": "94", "dead": "0.15", "wins": ("53.5", "46.3"),
    },
}  # fmt: skip
SIZES = {"135": {"packs": 1}, "270": {"packs": 2}, "150": {"packs": 1, "series_per_pack": 10}}
LINES = [pytest.param(name, players, id=name) for name, players in TABLE]


@bot_kernel
def count_games(games, rules, seats, players, first_seed, counts, drawn, rewards, mask):
    """Play games to their ends, one after the other in one record, and count.

    Turns begin with the one that plays the first starter and end with the one that wins.

    Args:
        seats: (P,); an array, so that one compiled loop does for every number of players.
        players: (P,), who sits where.
        counts: (N, 7), filled in.
        drawn: (16,), hand cards drawn right after a reshuffle, by rank, added to.
        rewards: float32 (P,), scratch space, and so is `mask`, int8 (139,).
    """
    s, params = games[0], rules[0]
    for i in range(len(counts)):
        s.rng = stream(np.uint64(first_seed + i), np.uint64(0), GAME)
        counter = stream(np.uint64(first_seed + i), np.uint64(0), BOT)
        s.end_reason = RUNNING
        s.truncated = 0
        s.length = 0
        for p in range(len(seats)):
            s.winners[p] = 0
        deal(s, params, seats)
        opening_turns = 0
        while s.end_reason == RUNNING:
            counter += GAMMA
            action = chosen(s, params, seats, np.int64(players[s.current_player]), mask, mix(counter))
            left = s.left
            if is_discard(action):
                counts[i, DISCARDS] += s.phase == PLAY
            elif action != END_TURN:
                counts[i, PLAYS] += 1
                opening_turns = opening_turns if s.opened else s.turns
            s.pending[s.current_player] = action
            apply_actions(s, params, seats, rewards)
            if left == 0 and s.left > 0:  # at most one hand is drawn after an action
                counts[i, RESHUFFLES] += 1
                counts[i, UNEVEN] += not is_even(s)
                for rank in range(len(drawn)):
                    drawn[rank] += s.hand[s.turn, rank]
        counts[i, TURNS] = s.turns - opening_turns + (s.end_reason == GOAL)
        counts[i, REASON] = s.end_reason
        counts[i, WINNER] = NOBODY
        for p in range(len(seats)):
            if s.winners[p] and s.end_reason == GOAL:
                counts[i, WINNER] = p


@routine
def is_even(s):
    """Whether the Stack and the hand drawn from it have as many of each rank."""
    even = True
    for rank in range(1, RANKS + 1):
        cards, ones = np.int64(s.hand[s.turn, rank]), np.int64(s.hand[s.turn, 1])
        for k in range(s.left):
            cards += s.deck[k] == rank
            ones += s.deck[k] == 1
        even &= cards == ones
    return even


@routine
def chosen(s, params, seats, player, mask, draw):
    """The action of the seat to act by one of the five policies."""
    p = np.int64(s.current_player)
    if player == RANDOM:
        plays, ranks, slots = legal(s, params, seats)
        return choose(plays, ranks, slots, draw)[0]
    fill_action_mask(s, params, seats, p, mask)
    if player == GREEDY:
        return greedy_policy(s, params, seats, p, mask, draw)
    if player == PLANNER:
        return planner_policy(s, params, seats, p, mask, draw)
    if player == BLOCKER:
        return blocker_policy(s, params, seats, p, mask, draw)
    return refuser_policy(s, params, seats, p, mask, draw)


class Played(NamedTuple):
    """Counts (N, 7) of games and the hand cards drawn right after reshuffles, by rank (16,)."""

    counts: np.ndarray
    drawn: np.ndarray


def played(name, players, games):
    """The counts of a line's games."""
    rules = {"num_players": len(players), **SIZES.get(name[-3:], {})}
    setup = make_setup("flinch-v0", None, rules)
    counts, drawn = np.zeros((games, 7), np.int64), np.zeros(RANKS + 1, np.int64)
    rewards, mask = np.zeros(len(players), np.float32), np.zeros(NUM_ACTIONS, np.int8)
    seats, who = np.zeros(len(players), np.int64), np.array(players)
    count_games(setup.new_games(1), setup.params, seats, who, FIRST_SEED, counts, drawn, rewards, mask)
    return Played(counts, drawn)


def mean_of(values):
    """(mean, standard deviation)"""
    return values.mean(), values.std()


def share_of(events):
    """(share in percent, standard deviation of one event in percent)"""
    share = events.mean()
    return 100 * share, 100 * math.sqrt(share * (1 - share))


def p99_of(turns):
    """The 99 % quantile of turns and sqrt(N) times its standard error, from the density around it."""
    order = np.sort(turns)
    low, high = order[int(0.985 * len(turns))], order[int(0.995 * len(turns))]
    return np.percentile(turns, 99), math.sqrt(0.01 * 0.99) * (high - low) / 0.01


def figures(counts):
    """{name: [(figure, standard deviation), ...]} of the table's columns."""
    reason, winner = counts[:, REASON], counts[:, WINNER]
    return {
        "turns": [mean_of(counts[:, TURNS])],
        "p99": [p99_of(counts[:, TURNS])],
        "steps": [mean_of(counts[:, PLAYS] + counts[:, DISCARDS])],
        "plays": [mean_of(counts[:, PLAYS])],
        "reshuffles": [mean_of(counts[:, RESHUFFLES])],
        "dead": [share_of(reason == DEAD)],
        "wins": [share_of(winner == p) for p in range(MAX_PLAYERS)],
    }


def tolerance(name, wanted, deviation, games, players):
    """4 standard errors of the difference and half a unit of the last digit; of RANDOM 1 point or 2 % if that is more.

    (In the table's games RANDOM weighted its discards by multiplicity.)
    """
    error = 4 * deviation * math.sqrt(1 / games + 1 / TABLE_GAMES)
    if RANDOM in players:
        error = max(error, 1.0 if name in ("dead", "wins") else 0.02 * float(wanted))
    return error + 10.0 ** -len(wanted.partition(".")[2]) / 2


def misses(counts, players, line):
    """{column: (found, wanted)} of the figures that are off."""
    found, off = figures(counts), {}
    for name, wanted in line.items():
        if name == "most":
            continue
        for (figure, deviation), text in zip(found[name], wanted if name == "wins" else [wanted]):
            if abs(figure - float(text)) > tolerance(name, text, deviation, len(counts), players):
                off[name] = figure, text
    if "most" in line:
        # Of M games the longest took so many turns: of N others, k or more are longer with (N / (N + M)) ** k.
        longer = (counts[:, TURNS] > int(line["most"])).sum()
        if (len(counts) / (len(counts) + TABLE_GAMES)) ** longer < 1e-4:
            off["most"] = counts[:, TURNS].max(), line["most"]
    return off


def check_line(name, players, games):
    """Every figure of the line, every game's end, and every reshuffle."""
    counts, drawn = played(name, players, games)
    assert set(counts[:, REASON]) <= {GOAL, DEAD}
    assert not counts[:, UNEVEN].any()
    if drawn.sum() > 1000:
        check_even(drawn[1:], drawn.sum() / RANKS)
    assert not misses(counts, players, TABLE[name, players])


@pytest.mark.parametrize(("name", "players"), LINES)
def test_the_table_of_figures(name, players):
    check_line(name, players, 4000)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "players"), LINES)
def test_the_table_of_figures_for_long(name, players):
    check_line(name, players, 200_000)


def test_the_table_tells_players_apart():
    """The figures of the planner are not those of the blocker, nor 135 cards 150."""
    line = TABLE["2p planner, greedy", (PLANNER, GREEDY)]
    assert misses(played("2p", (BLOCKER, GREEDY), 4000).counts, (BLOCKER, GREEDY), line)
    line = TABLE["2p random, 150", (RANDOM, RANDOM)]
    assert misses(played("2p", (RANDOM, RANDOM), 4000).counts, (RANDOM, RANDOM), line)


# --- Shuffles and openings --------------------------------------------------------------------------------------------


def check_even(found, expected):
    """Counts agree with what is expected by chi-square: within 6 of its standard deviations."""
    degrees = found.size - 1
    statistic = ((found - expected) ** 2 / expected).sum()
    assert abs(statistic - degrees) < 6 * math.sqrt(2 * degrees)


@bot_kernel
def count_draws(games, rules, places, pairs, shuffles):
    """Shuffle and draw all cards, again and again: ranks by place (C, 16), and of the first two cards (16, 16)."""
    s, params = games[0], rules[0]
    s.rng = stream(np.uint64(FIRST_SEED), np.uint64(0), GAME)
    for _ in range(shuffles):
        take_all_cards(s, params)
        first = 0
        for k in range(len(places)):
            rank = draw_card(s)
            places[k, rank] += 1
            if k == 1:
                pairs[first, rank] += 1
            first = rank


def test_every_place_of_a_shuffle_has_every_rank_alike():
    setup, shuffles = make_setup("flinch-v0"), 100_000
    places, pairs = np.zeros((135, RANKS + 1), np.int64), np.zeros((RANKS + 1, RANKS + 1), np.int64)
    count_draws(setup.new_games(1), setup.params, places, pairs, shuffles)
    assert (places.sum(0)[1:] == 9 * shuffles).all()
    check_even(places[:, 1:], shuffles / RANKS)
    check_even(pairs[1:, 1:], shuffles / 135 * 9 * (9 - np.eye(RANKS)) / 134)


@bot_kernel
def count_openings(games, rules, seats, found, rewards, mask):
    """Deal games and play their openings: (no starter is dealt, hands were laid down, opened) each, (N, 3)."""
    s, params = games[0], rules[0]
    for i in range(len(found)):
        s.rng = stream(np.uint64(FIRST_SEED + i), np.uint64(0), GAME)
        s.end_reason = RUNNING
        s.truncated = 0
        s.length = 0
        deal(s, params, seats)
        found[i, 0] = 1
        for p in range(len(seats)):
            if s.stock_rank[p] == 1 or s.hand[p, 1] > 0:
                found[i, 0] = 0
        while s.phase != PLAY and s.end_reason == RUNNING:
            p = np.int64(s.current_player)
            fill_action_mask(s, params, seats, p, mask)
            s.pending[p] = greedy_policy(s, params, seats, p, mask, np.uint64(0))
            apply_actions(s, params, seats, rewards)
        found[i, 1], found[i, 2] = s.laid > 0, s.opened


def openings(games, **rules):
    """Shares (no starter is dealt, hands were laid down, opened before ordinary play) of deals."""
    setup = make_setup("flinch-v0", None, rules)
    n = setup.num_players
    found, seats = np.zeros((games, 3), np.int64), np.zeros(n, np.int64)
    scratch = np.zeros(n, np.float32), np.zeros(NUM_ACTIONS, np.int8)
    count_openings(setup.new_games(1), setup.params, seats, found, *scratch)
    return found.mean(0)


def check_share(found, share, games):
    assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / games)


@pytest.mark.parametrize("packs", [1, 2])
@pytest.mark.parametrize("n", range(2, 9))
def test_f23_how_often_nobody_has_a_1(n, packs):
    """Section 1.1: of D cards with s 1s, n Stockpile tops and n hands hold none with C(D-s, 6n) / C(D, 6n)."""
    cards, ones = 135 * packs, 9 * packs
    share = math.comb(cards - ones, 6 * n) / math.comb(cards, 6 * n)
    printed = {1: (0.421, 0.264, 0.162, 0.096, 0.055, 0.031, 0.016), 2: (None, None, None, 0.111, 0.069, 0.043, 0.026)}
    if printed[packs][n - 2] is not None:
        assert round(share, 3) == printed[packs][n - 2]
    no_starter, laid_down, opened = openings(20_000, num_players=n, packs=packs)
    check_share(no_starter, share, 20_000)
    assert laid_down == no_starter and opened > 0.99


@pytest.mark.parametrize(("n", "printed"), [(2, 0.129), (4, 0.244), (8, 0.433)])
def test_f22_how_often_turning_up_yields_a_1(n, printed):
    share = 1 - math.comb(126, n) / math.comb(135, n)
    assert round(share, 3) == printed
    _, laid_down, opened = openings(20_000, num_players=n, packs=1, opening="encyclopedia")
    check_share(opened, share, 20_000)
    assert laid_down == 0
