"""What the rule bots of Flip It share: the observation as arrays, sums of plays, and the way from choices to actions.

N rows, P seats (0 is the acting one, then clockwise), guesses 0..20, play values 0..5. All sums run over one row alone,
so that a row's numbers do not depend on its batch.
"""

from typing import NamedTuple

import numpy as np

from flinchenv.flip_it.game import NUM_GUESSES, NUM_PLAYS, PLAY
from flinchenv.flip_it.rules import highest_guess, spots

NO_CARD = np.eye(NUM_GUESSES)[0]  # without Guess Cards, the "guess" is 0


class Look(NamedTuple):
    """A batch of observations, decoded; float64 arrays of 0 and 1 unless said otherwise.

    Attributes:
        playing: bool (N,), a Play Card is asked for, not a guess.
        own_guess: (N, 21), the guess set aside; all 0 for none.
        held: (N, P, 21) Guess Cards. plays: (N, P, 6) Play Cards.
        past_guesses: (N, K, P, 21). past_plays: (N, K, P, 6). Newest first; all 0 for none.
        flips: (N, P, 6), Play Cards flipped in the running hand.
        first: int (N,), the seat that flips first.
    """

    playing: np.ndarray
    own_guess: np.ndarray
    held: np.ndarray
    plays: np.ndarray
    past_guesses: np.ndarray
    past_plays: np.ndarray
    flips: np.ndarray
    first: np.ndarray


def look(setup, observation):
    """Decode int8 (N, D) observations into a `Look`; fields that the rules lack are filled in."""
    observation = np.asarray(observation)
    rows, n, k = len(observation), setup.num_players, setup.rules.obs_history
    names = {field.name for field in setup.layout.fields}

    def field(name, shape, default=0.0):
        if name not in names:
            return np.broadcast_to(default, (rows, *shape))
        return observation[:, setup.layout[name].entries].reshape(rows, *shape).astype(float)

    every_play = np.isin(np.arange(NUM_PLAYS), setup.rules.play_values).astype(float)
    return Look(
        playing=field("phase", (3,))[:, 1] == 1,
        own_guess=field("own_guess", (NUM_GUESSES,)),
        held=field("guess_cards", (n, NUM_GUESSES)),
        plays=field("play_cards", (n, NUM_PLAYS), every_play),
        past_guesses=field("past_guesses", (k, n, NUM_GUESSES)),
        past_plays=field("past_plays", (k, n, NUM_PLAYS)),
        flips=field("flips", (n, NUM_PLAYS)),
        first=field("first", (n,)).argmax(1),
    )


def gains(rules):
    """(21,) points of winning a hand alone with each Guess Card (P12, P13, P16); 0 for cards outside the set."""
    base = 1 if rules.scoring == "basic" else rules.num_players - 1
    cards = range(highest_guess(rules) + 1)
    return np.array([base + spots(rules, g) if g in cards else 0 for g in range(NUM_GUESSES)], float)


def middling(cards):
    """A mixture over the Play Cards (..., 6) that are 1: each step inwards from the ends is half as likely again.

    For the full set it is (2, 3, 4.5, 4.5, 3, 2) / 19, the plays of the two-player hand's equilibrium.
    """
    below = cards.cumsum(-1)
    above = cards[..., ::-1].cumsum(-1)[..., ::-1]
    weights = cards * 1.5 ** np.minimum(below, above)
    return weights / weights.sum(-1, keepdims=True)


def add_play(sums, play):
    """The distribution (N, S + 5) of a sum (N, S) and one more play (N, 6)."""
    total = np.zeros((len(sums), sums.shape[1] + NUM_PLAYS - 1))
    for v in range(NUM_PLAYS):
        total[:, v : v + sums.shape[1]] += sums * play[:, v : v + 1]
    return total


def sum_of(plays, rows=None):
    """The distribution (N, 5 k + 1) of the sum of k plays, each (N, 6); k = 0 needs the number of rows."""
    total = np.ones((len(plays[0]) if plays else rows, 1))
    for play in plays:
        total = add_play(total, play)
    return total


def hits(sums):
    """(N, 21, 6): the probability that a guess is the total, for each own play, the others' sum being (N, S)."""
    table = np.zeros((len(sums), NUM_GUESSES, NUM_PLAYS))
    for v in range(NUM_PLAYS):
        table[:, v : v + sums.shape[1], v] = sums
    return table


def action_probs(setup, table, seen, action_mask):
    """Probabilities of action ids, float64 (N, A), from those of (guess, play), (N, 21, 6).

    A guess is drawn from the marginal, a play from the row of the guess set aside. Where the table leaves nothing
    legal, every legal id is as likely.
    """
    mask = np.asarray(action_mask).astype(float)
    if setup.rules.actions == "joint":
        wanted = table.reshape(len(table), -1) * mask
    else:
        wanted = np.zeros(mask.shape)
        wanted[:, :PLAY] = table.sum(2)
        own_guess = np.where(seen.own_guess.any(1, keepdims=True), seen.own_guess, NO_CARD)
        wanted[:, PLAY:] = (table * own_guess[:, :, None]).sum(1)
        wanted *= mask
    wanted = np.where(wanted.sum(1, keepdims=True) > 0, wanted, mask)
    return wanted / wanted.sum(1, keepdims=True)
