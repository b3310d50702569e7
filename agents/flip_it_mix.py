"""Flip It, rule level 1: a fixed mix of middling plays and of the guesses that fit them."""

import numpy as np

from .agent import ProbabilisticAgent, check_mask
from .flip_it_table import NO_CARD, action_probs, gains, hits, look, middling, sum_of

NEAR_MISS = 0.5  # under win_rule "closest", what a guess is worth for each step off the total


class MixAgent(ProbabilisticAgent):
    """Plays near the two-player hand's equilibrium and takes everybody else to do so too.

    A play has its `middling` probability; given the play, a guess has the square of its expected points.

    Args:
        setup: the game and its rules.
    """

    name = "rule:1"

    def __init__(self, setup):
        self.setup = setup

    def probs(self, observation, action_mask, view=None):
        """See `Agent.probs`."""
        check_mask(action_mask)
        seen = look(self.setup, observation)
        plays = middling(seen.plays)
        others = [
            np.where(seen.flips[:, p].any(1, keepdims=True), seen.flips[:, p], plays[:, p])
            for p in range(1, self.setup.num_players)
        ]
        table = mix_table(self.setup.rules, seen.held[:, 0], plays[:, 0], sum_of(others))
        return action_probs(self.setup, table, seen, action_mask)


def mix_table(rules, held, play, sums):
    """The probabilities of (guess, play) of one seat, (N, 21, 6); a seat without Guess Cards "guesses" 0.

    Args:
        held: (N, 21), its Guess Cards. play: (N, 6), how it plays. sums: (N, S), the others' sum as it expects it.
    """
    hit = hits(sums)
    if rules.win_rule == "closest":
        hit = near_hits(hit)
    weights = (hit * gains(rules)[:, None]) ** 2 * held[:, :, None]
    total = weights.sum(1, keepdims=True)
    table = play[:, None] * weights / np.where(total > 0, total, 1)
    hopeless = ~table.any((1, 2))
    any_card = np.where(held.any(1, keepdims=True), held, NO_CARD)
    table[hopeless] = any_card[hopeless, :, None] * play[hopeless, None]
    return table / table.sum((1, 2), keepdims=True)


def near_hits(hit):
    """`hits` (N, 21, 6) in which a guess also counts, less, for the totals one and two steps off."""
    near = hit.copy()
    for step in (1, 2):
        near[:, step:] += NEAR_MISS**step * hit[:, :-step]
        near[:, :-step] += NEAR_MISS**step * hit[:, step:]
    return near
