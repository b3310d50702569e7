"""Pictures of a tournament: who beats whom, and the ratings with their intervals."""

import io

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot

from flinchenv.agents.checkpoint import write_whole

FORMATS = ("svg", "png")
BLUE, GREY = "#0072b2", "0.55"
MOST_NAME = 28  # letters of a name that are shown


def draw_tournament(data, stem):
    """Write STEM-heat and STEM-ratings, each as SVG and PNG; the paths.

    Args:
        data: what a tournament's `Result.data` is.
        stem: the pictures' path without its ending.
    """
    title = f"{data['env']}, {data['players']} players, {data['games_per_pair']:,} games a pair"
    return _save(heat_map(data, title), f"{stem}-heat") + _save(rating_plot(data, title), f"{stem}-ratings")


def heat_map(data, title):
    """A figure of every agent's win rate against every other, the best on top; white is even."""
    names = [row["name"] for row in data["agents"]]
    rates = np.full((len(names), len(names)), np.nan)
    for row in data["pairs"]:
        a, b = names.index(row["a"]), names.index(row["b"])
        rates[a, b] = row["win_rate"]
        rates[b, a] = row["win_rate"] - row["win_rate_difference"]
    size = 2.6 + 0.75 * len(names)
    figure, axis = pyplot.subplots(figsize=(size + 1.2, size), layout="constrained")
    colours = pyplot.get_cmap("RdBu").with_extremes(bad="0.92")
    image = axis.imshow(rates, cmap=colours, vmin=0, vmax=1)
    for (i, j), value in np.ndenumerate(rates):
        if not np.isnan(value):
            axis.text(
                j, i, f"{value:.2f}", ha="center", va="center", color="white" if abs(value - 0.5) > 0.3 else "black"
            )
    labels = [_short(name) for name in names]
    axis.set_xticks(range(len(names)), labels, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(names)), labels)
    axis.set_xlabel("against")
    figure.colorbar(image, ax=axis, label="win rate of the row", shrink=0.8)
    figure.suptitle(title, fontsize="medium")
    return figure


def rating_plot(data, title):
    """A figure of the ratings with their 95 % intervals, the best on top; beside it openskill's, where there are."""
    rows = data["agents"]
    panels = [("Bradley-Terry rating (bars: 95 % intervals)", [(row["rating"], *row["rating_ci95"]) for row in rows])]
    if all(row["openskill"] for row in rows):
        skills = [(row["openskill"]["mu"], row["openskill"]["sigma"]) for row in rows]
        panels.append(("openskill mu (bars: 2 sigma)", [(mu, mu - 2 * sigma, mu + 2 * sigma) for mu, sigma in skills]))
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3 + 3.6 * len(panels), 1.7 + 0.4 * len(rows)), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    places = np.arange(len(rows))
    for axis, (label, values) in zip(axes[0], panels):
        middle, low, high = np.array(values).T
        axis.errorbar(middle, places, xerr=[middle - low, high - middle], fmt="o", color=BLUE, capsize=3)
        axis.axvline(middle.mean(), color=GREY, linestyle="--", linewidth=1, zorder=1)
        axis.set_xlabel(label)
        axis.grid(axis="x", alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(y=0.12)
    axes[0, 0].set_yticks(places, [_short(row["name"]) for row in rows])
    axes[0, 0].invert_yaxis()
    figure.suptitle(title, fontsize="medium")
    return figure


def _short(name):
    """A name's end, since paths differ there."""
    return name if len(name) <= MOST_NAME else "…" + name[1 - MOST_NAME :]


def _save(figure, stem):
    paths = []
    for kind in FORMATS:
        held = io.BytesIO()
        with pyplot.rc_context({"svg.hashsalt": "flinchenv"}):
            figure.savefig(held, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
        write_whole(f"{stem}.{kind}", held.getvalue())
        paths.append(f"{stem}.{kind}")
    pyplot.close(figure)
    return paths
