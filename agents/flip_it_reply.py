"""Flip It, rule level 2: predicts how the others guess and play, and answers with what pays best against that."""

import numpy as np

from flinchenv.flip_it.game import NUM_GUESSES, NUM_PLAYS

from .agent import ProbabilisticAgent, check_mask
from .flip_it_mix import mix_table
from .flip_it_table import NO_CARD, Look, action_probs, gains, hits, look, middling, sum_of

HEAT = 0.2  # points by squared number of players: a choice expected to pay this much less is e times less likely
MIX = 0.1  # how often it chooses as level 1 does
PRIOR = 20.0  # how many shown hands the prediction from the cards counts for
RANDOM = 0.1  # how likely another plays at random, before any hand is shown
SLIP = 0.05  # how often a level 1 player is thought to slip
LEVELS = np.arange(NUM_GUESSES)


class ReplyAgent(ProbabilisticAgent):
    """Takes the others for level 1 with their remaining cards, corrected by the hands it was shown, and replies.

    A choice is worth the points that it is expected to win, less the mean of what the others then win. It is strong
    against level 1 and random play; who knows it can reply in turn, which its mixing only softens.

    Args:
        setup: the game and its rules.
    """

    name = "rule:2"

    def __init__(self, setup):
        self.setup = setup
        self.gains = gains(setup.rules)
        self.heat = HEAT / setup.num_players**2

    def probs(self, observation, action_mask, view=None):
        """See `Agent.probs`."""
        check_mask(action_mask)
        seen = look(self.setup, observation)
        tables = predict(self.setup.rules, seen)
        if self.setup.rules.flip_order == "sequential":
            table = self._in_turn(seen, tables)
        else:
            table = (1 - MIX) * self._at_once(seen, tables) + MIX * tables[0]
        return action_probs(self.setup, table, seen, action_mask)

    def _at_once(self, seen, tables):
        """The reply where all flip together: probabilities of (guess, play), (N, 21, 6)."""
        others = range(1, len(tables))
        plays = [table.sum(1) for table in tables]
        rests = [sum_of([plays[i] for i in others if i != j], len(plays[0])) for j in others]
        guessers = [tables[j] * has_cards(seen, j) for j in others]
        values_of = closest_values if self.setup.rules.win_rule == "closest" else exact_values
        values = values_of(self.gains, sum_of(plays[1:]), guessers, rests)
        legal = seen.held[:, 0, :, None] * seen.plays[:, 0, None, :]
        rows = len(values)
        return soft_best(values.reshape(rows, -1), legal.reshape(rows, -1), self.heat).reshape(values.shape)

    def _in_turn(self, seen, tables):
        """The reply where cards are flipped in turn, (N, 21, 6): the marginal is for a guess, each row for a play.

        It counts exact guesses alone, under "closest" too.
        """
        reply = np.zeros_like(tables[0])
        for first in range(self.setup.num_players):
            rows = np.flatnonzero(seen.first == first)
            if len(rows):
                some = Look(*(part[rows] for part in seen))
                reply[rows] = self._in_turn_from(first, some, [table[rows] for table in tables])
        return reply

    def _in_turn_from(self, first, seen, tables):
        n = len(tables)
        order = [(first + k) % n for k in range(n)]
        before, after = order[: order.index(0)], order[order.index(0) + 1 :]
        earlier = sum_of([flipped_or(seen, j, tables[j].sum(1)) for j in before], len(seen.first))
        worth = self._worth(seen, tables, before, after)
        legal = seen.plays[:, 0]
        play_values = np.zeros(tables[0].shape)
        guess_values = np.zeros(tables[0].shape[:2])
        for a in range(earlier.shape[1]):
            here = worth[:, a : a + NUM_PLAYS].swapaxes(1, 2)
            play_values += earlier[:, a, None, None] * here
            guess_values += earlier[:, a, None] * np.where(legal[:, None] == 1, here, -np.inf).max(2)
        guess = (1 - MIX) * soft_best(guess_values, seen.held[:, 0], self.heat) + MIX * tables[0].sum(2)
        each = np.repeat(legal, NUM_GUESSES, 0)
        play = soft_best(play_values.reshape(-1, NUM_PLAYS), each, self.heat).reshape(play_values.shape)
        return np.where(seen.playing[:, None, None], play, guess[:, :, None] * play)

    def _worth(self, seen, tables, before, after):
        """(N, B, 21): what a guess is worth when the cards flipped up to and with the own one add up to 0..B-1.

        The last seat is taken to flip the card that makes its guess true, if it has it.
        """
        rows, reach = len(seen.first), (NUM_PLAYS - 1) * (len(before) + 1) + 1
        guesses = {j: likely_guesses(seen, j, tables[j]) for j in before + after}
        totals = np.broadcast_to(np.eye(NUM_GUESSES)[None], (rows, NUM_GUESSES, NUM_GUESSES))
        costs = np.zeros((rows, NUM_GUESSES))
        if after:
            last = after[-1]
            totals, costs = landing(guesses.pop(last), seen.plays[:, last], tables[last].sum(1), self.gains)
        costs = costs + sum((totals * (guess * self.gains)[:, None]).sum(2) for guess in guesses.values())
        middle = sum_of([tables[j].sum(1) for j in after[:-1]], rows)
        worth = totals * self.gains * has_cards(seen, 0) - costs[:, :, None] / (len(tables) - 1)
        return sum(middle[:, m, None, None] * worth[:, m : m + reach] for m in range(middle.shape[1]))


def predict(rules, seen):
    """How each seat is expected to choose: a list of P tables of (guess, play), (N, 21, 6); the own one is level 1's.

    Each of the others is level 1 or plays at random; the hands in sight tell which is likelier, and count as so many
    draws from its table, as far as their cards are still in hand.
    """
    n = seen.held.shape[1]
    plays = [middling(seen.plays[:, j]) for j in range(n)]
    tables = [mix_table(rules, seen.held[:, j], plays[j], sum_of(plays[:j] + plays[j + 1 :])) for j in range(n)]
    return [tables[0]] + [learned(seen, j, tables[j]) for j in range(1, n)]


def learned(seen, j, table):
    """Seat j's level-1 table (N, 21, 6), corrected by the hands in sight."""
    legal = (seen.held[:, j] + ~seen.held[:, j].any(1, keepdims=True) * NO_CARD)[:, :, None] * seen.plays[:, j, None]
    uniform = legal / legal.sum((1, 2), keepdims=True)
    odds = np.full(len(table), RANDOM / (1 - RANDOM))  # of playing at random
    shown = np.zeros_like(table)
    for k in range(seen.past_plays.shape[1]):
        hand = seen.past_guesses[:, k, j, :, None] * seen.past_plays[:, k, j, None] * legal
        at_random = (hand * uniform).sum((1, 2))
        mixed = (1 - SLIP) * (hand * table).sum((1, 2)) + SLIP * at_random
        odds *= np.where(at_random > 0, at_random / np.where(mixed > 0, mixed, 1), 1)
        shown += hand
    table = (PRIOR * table + shown) / (PRIOR + shown.sum((1, 2), keepdims=True))
    share = (odds / (1 + odds))[:, None, None]
    return (1 - share) * table + share * uniform


def has_cards(seen, j):
    """(N, 1, 1): 1 where seat j holds Guess Cards; elsewhere its guess is none."""
    return seen.held[:, j].any(1)[:, None, None].astype(float)


def exact_values(gains, sums, tables, rests):
    """The expected margin of (guess, play), (N, 21, 6), where a guess must be the total.

    Args:
        gains: (21,) points of winning with each guess.
        sums: (N, S), the sum of all others' plays.
        tables: (N, 21, 6) for each of the others; all 0 where it has no Guess Card.
        rests: (N, S - 5) for each of the others: the sum of the plays but its own and the acting seat's.
    """
    theirs = np.zeros((len(sums), NUM_PLAYS))
    for table, rest in zip(tables, rests):
        needs = np.zeros((len(sums), NUM_GUESSES))  # its points, by the sum of all plays but its own that it needs
        for v in range(NUM_PLAYS):
            needs[:, : NUM_GUESSES - v] += table[:, v:, v] * gains[v:]
        for v in range(NUM_PLAYS):
            theirs[:, v] += (needs[:, v : v + rest.shape[1]] * rest).sum(1)
    return hits(sums) * gains[:, None] - theirs[:, None] / len(tables)


def closest_values(gains, sums, tables, rests):
    """As `exact_values`, where the guesses nearest to the total win."""
    joints = [guesses_and_sums(table, rest) for table, rest in zip(tables, rests)]
    values = np.zeros((len(sums), NUM_GUESSES, NUM_PLAYS))
    for s in range(sums.shape[1]):
        chance = sums[:, s : s + 1]
        for v in range(NUM_PLAYS):
            off = np.abs(LEVELS - (v + s))
            wins, theirs = chance, 0
            for joint in joints:
                nearer = within(joint[:, :, s], v + s)[:, off]
                wins = wins * (1 - nearer / np.where(chance > 0, chance, 1))
                theirs = theirs + within(joint[:, :, s] * gains, v + s)[:, off + 1]
            values[:, :, v] += wins * gains - theirs / len(joints)
    return values


def guesses_and_sums(table, rest):
    """(N, 21, S): the probability of a seat's guess together with the sum of its play and `rest` (N, S - 5)."""
    width = rest.shape[1]
    joint = np.zeros((len(table), NUM_GUESSES, width + NUM_PLAYS - 1))
    for v in range(NUM_PLAYS):
        joint[:, :, v : v + width] += table[:, :, v, None] * rest[:, None]
    return joint


def within(weights, total):
    """(N, 22): the sum of the weights (N, 21) of all guesses less than 0..21 off the total."""
    by_step = np.zeros((len(weights), NUM_GUESSES + 1))
    by_step[:, 1 : total + 2] = weights[:, total::-1]
    by_step[:, 2 : NUM_GUESSES + 1 - total] += weights[:, total + 1 :]
    return by_step.cumsum(1)


def flipped_or(seen, j, play):
    """Seat j's flipped card, (N, 6), or `play` where it has not flipped."""
    return np.where(seen.flips[:, j].any(1, keepdims=True), seen.flips[:, j], play)


def likely_guesses(seen, j, table):
    """Seat j's guess, (N, 21), given the card that it has flipped, if any; all 0 without Guess Cards."""
    given = (table * seen.flips[:, j, None]).sum(2)
    guess = np.where(given.any(1, keepdims=True), given, table.sum(2))
    return guess / guess.sum(1, keepdims=True) * has_cards(seen, j)[:, 0]


def landing(guess, cards, play, gains):
    """Where the last flip takes the total, for each sum 0..20 of all others.

    Args:
        guess: (N, 21), the last seat's guess. cards: (N, 6), its Play Cards. play: (N, 6), how it plays otherwise.

    Returns:
        (N, 21, 21), the total for each sum, and (N, 21), the points that the last seat wins.
    """
    totals = np.zeros((len(guess), NUM_GUESSES, NUM_GUESSES))
    for base in range(NUM_GUESSES):
        for v in range(min(NUM_PLAYS, NUM_GUESSES - base)):
            totals[:, base, base + v] = guess[:, base + v] * cards[:, v]
    points = (totals * gains).sum(2)
    missed = 1 - totals.sum(2)
    for base in range(NUM_GUESSES):
        for v in range(min(NUM_PLAYS, NUM_GUESSES - base)):
            totals[:, base, base + v] += missed[:, base] * play[:, v]
    return totals, points


def soft_best(values, legal, heat):
    """Probabilities (N, K), e times less for each `heat` below the best legal value; all 0 where none is legal."""
    values = np.where(legal == 1, values, -np.inf)
    best = values.max(1, keepdims=True)
    weights = np.exp((values - np.where(np.isfinite(best), best, 0)) / heat)
    return weights / np.maximum(weights.sum(1, keepdims=True), 1)
