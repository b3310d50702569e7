"""What a network is fed: the observation scaled to 0..1, and, if wished, its counts as thermometers.

A plain first layer sees a count as one number and learns slowly what depends on its size; thermometers make it a
piecewise linear function of each count from the start, and comparisons tell it which of two is larger. What a game
knows more about its cards are its relations.
"""

import math

import numpy as np

from flinchenv.core.params import refuse

from .flash10_placements import Rows
from .flinch_inputs import Relations

# Cards that have been seen, beneath others or in the middle: not told beside the relations.
LISTS = ("reserve_ranks", "reserve_order", "stock_known", "seen")
TENTHS = 10  # a difference is also told in steps up to this part of the range


class Inputs:
    """The inputs that a network makes of observations.

    Args:
        high: (D,) the largest value of each entry.
        bins: entries of the thermometer of each count, that is of each entry above 1; 0 for none.
        bin_width: what such an entry stands for; 0 shares the whole range out among them.
        compared: entries that are compared with each other: of each two the later less the earlier, cut at 1 and, as a
            share of it, at a tenth of the range.
        relations: makes further entries of observations, int8 (N, D) -> (N, `relations.size`); None for none.
        told: (K,) the entries that are fed to the network, the others only to the relations; None for all.

    Attributes:
        size: how many inputs there are.
        told: as given, all if none were.
        parts: what `scaled` takes beside the observation, arrays.
    """

    def __init__(self, high, bins=0, bin_width=0, compared=(), relations=None, told=None):
        self.told = np.arange(len(high)) if told is None else told
        high = np.asarray(high, np.float32)[self.told]
        compared = np.searchsorted(self.told, compared)
        counts = np.flatnonzero(high > 1) if bins else np.zeros(0, np.int64)
        widths = np.full_like(high, bin_width) if bin_width else high / max(1, bins)
        steps = np.arange(bins, dtype=np.float32)
        earlier, later = np.asarray(compared, np.int64)[np.array(np.triu_indices(len(compared), 1))]
        near = np.maximum(high[earlier], high[later]) / TENTHS
        self.parts = (high, counts, widths[counts, None], steps, earlier, later, near)
        self.relations = relations
        self.size = len(high) + bins * len(counts) + 2 * len(near) + (relations.size if relations else 0)

    def __call__(self, observation):
        """(N, D) -> float32 (N, size)."""
        parts = scaled(np.asarray(observation, np.float32)[:, self.told], *self.parts)
        if self.relations:
            parts.append(self.relations(observation))
        flat = [part.reshape(len(part), math.prod(part.shape[1:])) for part in parts]  # -1 fails without rows
        return np.concatenate(flat, 1, dtype=np.float32)


def scaled(observation, high, counts, widths, steps, earlier, later, near):
    """[(N, D), (N, C, B), (N, K), (N, K)] of C thermometers and K comparisons; numpy arrays or torch tensors alike."""
    parts = [observation / high]
    if len(steps):
        parts.append((observation[:, counts, None] / widths - steps).clip(0, 1))
    if len(near):
        more = observation[:, later] - observation[:, earlier]
        parts += [more.clip(-1, 1), (more / near).clip(-1, 1)]
    return parts


def inputs_of(setup, network):
    """The `Inputs` that a network makes of observations of a setup.

    Args:
        network: {"bins": b, "bin_width": w, "compare": {a field's name: how many of its first entries}, "relations":
            whether to add the game's}; what lacks is 0 or none.

    Raises:
        RulesError: a field that the layout has not, or more entries than it has; relations of another game.
    """
    layout, relations = setup.layout, None
    if network.get("relations"):
        relations = Rows(setup) if setup.game.name == "flash10" else Relations(layout)
    fields = [field for field in layout.fields if not (relations and field.name in LISTS)]
    sizes = {field.name: field.size for field in fields}
    compared = []
    for name, count in network.get("compare", {}).items():
        if not 0 < count <= sizes.get(name, 0):
            refuse("compare", {name: count}, f"fields with at most so many entries: {sizes}")
        compared.extend(layout[name].entries[:count])
    told = np.sort(np.concatenate([layout[field.name].entries for field in fields]))
    return Inputs(layout.high(), network.get("bins", 0), network.get("bin_width", 0), compared, relations, told)
