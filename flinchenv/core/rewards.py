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
def pay_places(winners, seats, num_sides, rewards):
    """Add +1 shared among k of T winning sides as (T/k - 1)/(T - 1), and -1/(T - 1) to each member of the others."""
    n = len(seats)
    k = 0
    for p in range(n):
        k += winners[p]
    for p in range(n):
        if winners[p]:
            rewards[p] += (n / k - 1) / (num_sides - 1)
        else:
            rewards[p] -= 1 / (num_sides - 1)


@helper
def every_seat_alone(params, seats, p, q):
    """`same_side` of a game without teams."""
    return p == q


@helper
def nothing_owed(s, params, seats, rewards):
    """`settle` of a game that pays everything as it goes."""


@routine
def mark_leaders(s, seats):
    """Mark in `s.winners` every seat with the most points."""
    most = s.scores[0]
    for p in range(len(seats)):
        if s.scores[p] > most:
            most = s.scores[p]
    for p in range(len(seats)):
        s.winners[p] = s.scores[p] == most
