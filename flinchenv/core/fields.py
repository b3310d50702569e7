"""Named pieces of a flat observation: one list says what each entry means, how it is written and who may know it."""

from typing import NamedTuple

import numpy as np

VISIBILITIES = ("own", "public", "belief", "oracle")


class Field(NamedTuple):
    """One named run of entries.

    Attributes:
        name: what it is called in tables and in `decode`.
        start, size: its first entry in the flat vector and how many it has.
        shape: how its entries are arranged, C order.
        encoding: "set" (1 for each member), "onehot" (last axis, all zero = none), "flag" or "count" (clipped).
        visibility: "own", "public", "belief" (worked out from what was seen) or "oracle" (the referee alone).
        high: the largest value an entry can take; the smallest is 0.
        meaning: one line for a reader.
        width: entries a run, 1 where it is written entry by entry.
        gap: entries of other fields between one run and the next.
    """

    name: str
    start: int
    size: int
    shape: tuple
    encoding: str
    visibility: str
    high: int
    meaning: str
    width: int
    gap: int = 0

    @property
    def entries(self):
        """(size,) int: where its entries stand; `vectors[..., field.entries].reshape(-1, *field.shape)`."""
        runs = self.start + np.arange(self.size // self.width) * (self.width + self.gap)
        return np.add.outer(runs, np.arange(self.width)).ravel()


class Layout(NamedTuple):
    """All fields of one vector; together they cover it exactly."""

    fields: tuple
    size: int

    def __getitem__(self, name):
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    def high(self):
        """(D,) int8: the largest value of each entry, for spaces and for scaling inputs."""
        high = np.zeros(self.size, np.int8)
        for field in self.fields:
            high[field.entries] = field.high
        return high

    def decode(self, vector):
        """{name: value}: a set as a sorted list, a onehot as int or None, counts as ints; nested as `shape` says."""
        vector = np.asarray(vector)
        return {f.name: _decode(vector[f.entries].reshape(f.shape), f) for f in self.fields}

    def table(self):
        """The layout as a Markdown table."""
        rows = ["| entries | name | shape | encoding | seen by | max | meaning |"]
        rows.append("|---|---|---|---|---|---|---|")
        for f in self.fields:
            last = int(f.entries[-1])
            span = f"{f.start}" if f.size == 1 else f"{f.start}-{last}"
            if f.gap and f.size > f.width:
                span += f", {f.width} of every {f.width + f.gap}"
            shape = "x".join(map(str, f.shape))
            rows.append(f"| {span} | {f.name} | {shape} | {f.encoding} | {f.visibility} | {f.high} | {f.meaning} |")
        return "\n".join(rows)


def make_layout(pieces):
    """A Layout from (name, shape, encoding, visibility, high, meaning), in the order in which they are written.

    A list of pieces is written run by run, one of each in turn: along the axes that they share, which are all but the
    last of the piece with the fewest (but at least the first). A tuple of pieces of one shape is written so entry by
    entry.
    """
    fields, start = [], 0
    for piece in pieces:
        group = piece if isinstance(piece[0], (list, tuple)) else [piece]
        single = isinstance(group, tuple)
        shared = min(max(len(shape) - 1, 1) for _, shape, *_ in group)
        assert len({tuple(shape[:shared]) for _, shape, *_ in group}) == 1
        widths = [1 if single else int(np.prod(shape[shared:])) for _, shape, *_ in group]
        together = sum(widths)
        for width, (name, shape, encoding, visibility, high, meaning) in zip(widths, group):
            assert visibility in VISIBILITIES
            size = int(np.prod(shape))
            fields.append(Field(name, start, size, shape, encoding, visibility, high, meaning, width, together - width))
            start += width
        start += sum(int(np.prod(shape)) for _, shape, *_ in group) - together
    return Layout(tuple(fields), start)


def _decode(values, field):
    depth = 1 if field.encoding in ("set", "onehot") else 0
    if values.ndim > depth:
        return [_decode(v, field) for v in values]
    if field.encoding == "set":
        return [int(k) for k in np.flatnonzero(values)]
    if field.encoding == "onehot":
        return int(np.argmax(values)) if values.any() else None
    return int(values)
