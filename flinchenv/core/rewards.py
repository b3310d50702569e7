"""How points become rewards: shared by the games, inside their kernels."""

from .kernel import helper, routine


@helper
def pay_margin(gains, seats, rewards):
    """Add to every seat its gain minus the mean of the others' (zero-sum); with one seat its gain."""
    total = 0
    for p in range(len(seats)):
        total += gains[p]
    for p in range(len(seats)):
        if len(seats) > 1:
            rewards[p] += gains[p] - (total - gains[p]) / (len(seats) - 1)
        else:
            rewards[p] += gains[p]


@routine
def pay_places(winners, seats, rewards):
    """Add +1 shared among k winners of n seats as (n/k - 1)/(n - 1), and -1/(n - 1) to every other seat."""
    n = len(seats)
    k = 0
    for p in range(n):
        k += winners[p]
    for p in range(n):
        if winners[p]:
            rewards[p] += (n / k - 1) / (n - 1)
        else:
            rewards[p] -= 1 / (n - 1)


@routine
def mark_leaders(s, seats):
    """Mark in `s.winners` every seat with the most points."""
    most = s.scores[0]
    for p in range(len(seats)):
        if s.scores[p] > most:
            most = s.scores[p]
    for p in range(len(seats)):
        s.winners[p] = s.scores[p] == most
