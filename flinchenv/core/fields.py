"""Named pieces of a flat observation: one list says what each entry means, how it is written and who may know it."""

from typing import NamedTuple

import numpy as np

VISIBILITIES = ("own", "public", "belief", "oracle")


class Field(NamedTuple):
    """One named run of entries.

    Attributes:
        name: what it is called in tables and in `decode`.
        start, size: where it stands in the flat vector.
        shape: how its entries are arranged, C order.
        encoding: "set" (1 for each member), "onehot" (last axis, all zero = none), "flag" or "count" (clipped).
        visibility: "own", "public", "belief" (worked out from what was seen) or "oracle" (the referee alone).
        high: the largest value an entry can take; the smallest is 0.
        meaning: one line for a reader.
    """

    name: str
    start: int
    size: int
    shape: tuple
    encoding: str
    visibility: str
    high: int
    meaning: str

    @property
    def slice(self):
        return slice(self.start, self.start + self.size)


class Layout(NamedTuple):
    """All fields of one vector, in order and without gaps."""

    fields: tuple
    size: int

    def __getitem__(self, name):
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    def high(self):
        """(D,) int8: the largest value of each entry, for spaces and for scaling inputs."""
        return np.concatenate([np.full(f.size, f.high, np.int8) for f in self.fields])

    def decode(self, vector):
        """{name: value}: a set as a sorted list, a onehot as int or None, counts as ints; nested as `shape` says."""
        return {f.name: _decode(np.asarray(vector)[f.slice].reshape(f.shape), f) for f in self.fields}

    def table(self):
        """The layout as a Markdown table."""
        rows = ["| entries | name | shape | encoding | seen by | max | meaning |"]
        rows.append("|---|---|---|---|---|---|---|")
        for f in self.fields:
            last = f.start + f.size - 1
            span = f"{f.start}" if f.size == 1 else f"{f.start}-{last}"
            shape = "x".join(map(str, f.shape))
            rows.append(f"| {span} | {f.name} | {shape} | {f.encoding} | {f.visibility} | {f.high} | {f.meaning} |")
        return "\n".join(rows)


def make_layout(pieces):
    """A Layout from (name, shape, encoding, visibility, high, meaning) in the order in which they are written."""
    fields, start = [], 0
    for name, shape, encoding, visibility, high, meaning in pieces:
        size = int(np.prod(shape))
        assert visibility in VISIBILITIES
        fields.append(Field(name, start, size, shape, encoding, visibility, high, meaning))
        start += size
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
