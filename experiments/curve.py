"""The learning curve: how an agent does against fixed rivals on deals that training never sees, and its picture."""

import matplotlib
import numpy as np

from .games import play_pair, seatings
from .scores import side_row

matplotlib.use("Agg")
from matplotlib import pyplot

FIRST_SEED = 2**31  # training draws its seeds below
EVEN = 0.5  # the win rate of equal agents over all seatings
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def measure(agent, rival, setup, games):
    """Play whole games of an agent against a rival, as a tournament does: every seed in all seatings.

    Args:
        agent, rival: two agents.
        setup: the game and its rules.
        games: how many, rounded down to whole sets of seatings; at least two sets.

    Returns:
        dict: games, wins, draws, losses, win_rate, ci95, mean_return, mean_return_ci95; equal agents win one half.
    """
    num_seeds = max(2, games // len(seatings(setup.num_players)))
    pair = play_pair(setup, agent, rival, num_seeds, FIRST_SEED, games)
    return side_row(pair.sides[:1])


def draw_curve(curve, title, path):
    """Draw mean return and win rate over steps, each with its 95 % band, as a PNG.

    Args:
        curve: [{"step": s, "against": {opponent: what `measure` returned}}, ...].
        title: the heading.
        path: the PNG, replaced in place.
    """
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4), sharex=True, layout="constrained")
    panels = (("mean_return", "mean_return_ci95", "mean return", 0.0), ("win_rate", "ci95", "win rate", EVEN))
    steps, unit = _scaled([row["step"] for row in curve])
    for axis, (value, interval, label, level) in zip(axes, panels):
        axis.axhline(level, color="0.55", linestyle="--", linewidth=1, zorder=1)
        for colour, opponent in zip(COLOURS, curve[-1]["against"]):
            rows = [row["against"][opponent] for row in curve]
            low, high = np.array([row[interval] for row in rows]).T
            axis.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
            axis.plot(steps, [row[value] for row in rows], color=colour, marker="o", markersize=3, label=opponent)
        axis.set_xlabel(f"training steps{unit} (the learner's decisions)")
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.02)
    axes[1].set_ylim(-0.02, 1.02)
    axes[1].text(0.995, EVEN, "even ", transform=axes[1].get_yaxis_transform(), ha="right", va="bottom", color="0.4")
    figure.legend(*axes[0].get_legend_handles_labels(), title="against", loc="outside right center", frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def draw_seeds(curves, title, path):
    """Draw the win rates of several runs of one config over steps, a line for each seed and opponent, as a PNG.

    Args:
        curves: {seed: a curve as in `draw_curve`}, with the same opponents.
        title: the heading.
        path: the PNG, replaced in place.
    """
    figure, axis = pyplot.subplots(figsize=(7.5, 4.4), layout="constrained")
    axis.axhline(EVEN, color="0.55", linestyle="--", linewidth=1, zorder=1)
    for seed, curve in curves.items():
        steps, unit = _scaled([row["step"] for row in curve])
        for colour, opponent in zip(COLOURS, curve[-1]["against"]):
            label = opponent if seed == next(iter(curves)) else None
            rates = [row["against"][opponent]["win_rate"] for row in curve]
            axis.plot(steps, rates, color=colour, marker="o", markersize=2.5, linewidth=1, label=label)
    axis.set(xlabel=f"training steps{unit} (the learner's decisions)", ylabel="win rate", ylim=(-0.02, 1.02))
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(title="against", loc="outside right center", frameon=False)
    figure.suptitle(f"{title}: {len(curves)} seeds, a line each")
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def _scaled(steps):
    """Steps in thousands or millions, and the words for it."""
    for size, unit in ((10**6, ", millions"), (10**3, ", thousands")):
        if steps[-1] >= size:
            return [step / size for step in steps], unit
    return steps, ""
