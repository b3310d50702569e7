"""The JSON file of a tournament or evaluation: its results, and the games behind them, so that it can be carried on.

Under "played" stand the settings and, for each pair, the seeds that are done and their games: winners and truncation
as bits, end reasons as bytes, returns as float64, zlib over all, base64. A check sum guards the whole. Nothing executes
on load. A killed run has lost at most the chunks of the last `SECONDS_BETWEEN_WRITES` and those that were being played.
"""

import base64
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections import Counter

import numpy as np

from flinchenv.agents.checkpoint import write_whole
from flinchenv.core.params import refuse

from .games import Games, seatings

SECONDS_BETWEEN_WRITES = 10
FORMAT = 1


class PairGames:
    """One pair's games as they come in, any seeds in any order.

    Args:
        num_seeds: S, all seeds. num_players: P.

    Attributes:
        games: `Games` (S, M), zero where seeds are not done.
        done: bool (S,).
    """

    def __init__(self, num_seeds, num_players):
        shape = (num_seeds, len(seatings(num_players)))
        seats = (*shape, num_players)
        arrays = np.zeros(seats, bool), np.zeros(seats), np.zeros(shape, np.int8), np.zeros(shape, bool)
        self.games = Games(*arrays, (Counter(), Counter()))
        self.done = np.zeros(num_seeds, bool)

    def add(self, rows, games):
        """Take in `games` (n, M) as seeds `rows`, a slice or bool (S,)."""
        for mine, new in zip(self.games[:4], games[:4]):
            mine[rows] = new
        for mine, new in zip(self.games.faults, games.faults):
            mine.update(new)
        self.done[rows] = True

    def missing(self, most):
        """[(start, count), ...] of at most `most` neighbouring seeds each that are not done."""
        found = []
        for start, stop in runs_of(~self.done):
            found += [(k, min(most, stop - k)) for k in range(start, stop, most)]
        return found

    def entry(self):
        """What the file holds."""
        winners, returns, reasons, truncated = (part[self.done] for part in self.games[:4])
        raw = [np.packbits(winners), np.packbits(truncated), reasons, returns.astype("<f8")]
        packed = zlib.compress(b"".join(part.tobytes() for part in raw), 9)
        return {
            "seeds": [[start, stop - 1] for start, stop in runs_of(self.done)],
            "faults": [dict(sorted(side.items())) for side in self.games.faults],
            "games": base64.b64encode(packed).decode(),
        }

    def restore(self, entry):
        """Take in what `entry` told."""
        rows = np.zeros(len(self.done), bool)
        for first, last in entry["seeds"]:
            rows[first : last + 1] = True
        shape = (int(rows.sum()), *self.games.returns.shape[1:])
        raw, at, arrays = zlib.decompress(base64.b64decode(entry["games"])), 0, []
        games = int(np.prod(shape[:2]))
        for size, kind in (
            (-(-np.prod(shape) // 8), "u1"),
            (-(-games // 8), "u1"),
            (games, "i1"),
            (np.prod(shape), "<f8"),
        ):
            arrays.append(np.frombuffer(raw, kind, int(size), at))
            at += arrays[-1].nbytes
        winners, truncated, reasons, returns = arrays
        winners = np.unpackbits(winners, count=int(np.prod(shape))).reshape(shape) != 0
        truncated = np.unpackbits(truncated, count=games).reshape(shape[:2]) != 0
        faults = tuple(Counter(side) for side in entry["faults"])
        self.add(rows, Games(winners, returns.reshape(shape), reasons.reshape(shape[:2]), truncated, faults))


def runs_of(marked):
    """[(start, stop), ...] of the neighbouring True entries of bool (S,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


class ResultsFile:
    """Keeps a run's games, in a file too if there is one.

    Args:
        path: the JSON file, made or gone on with; None keeps nothing on the disk.
        settings: {name: JSON value}, what decides the games; "games" alone may grow from one run to the next.
        pairs: [(a, b), ...], names by pair in `names`.
        num_seeds, num_players: of every pair.

    Raises:
        ValueError: a file that cannot be written, is damaged, no such file or made with other settings.
    """

    def __init__(self, path, settings, pairs, num_seeds, num_players):
        self.path, self.settings = path, settings
        self.pairs = {pair: PairGames(num_seeds, num_players) for pair in pairs}
        self._entries = {}
        self._written = time.monotonic()
        if path is None:
            return
        check_file("out", path)
        if os.path.exists(path):
            self._read()

    def add(self, pair, start, games):
        """Take in a chunk whose first seed is the `start`-th."""
        self.pairs[pair].add(np.s_[start : start + len(games.reasons)], games)
        self._entries.pop(pair, None)
        if time.monotonic() - self._written > SECONDS_BETWEEN_WRITES:
            self.write()

    def write(self, data=None):
        """Write the file whole, with the results `data` where the run is over."""
        self._written = time.monotonic()
        if self.path is None:
            return
        for pair, games in self.pairs.items():
            if pair not in self._entries:
                self._entries[pair] = {"pair": list(pair), **games.entry()}
        played = {"format": FORMAT, "settings": self.settings, "pairs": [self._entries[pair] for pair in self.pairs]}
        played["sha256"] = _sum(played)
        whole = {"complete": data is not None, **(data or {}), "played": played}
        write_whole(self.path, (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode())

    def _read(self):
        allowed = "a file that this command wrote, whole, or one that is not there yet"
        try:
            with open(self.path, encoding="utf-8") as stream:
                played = json.load(stream)["played"]
            sound = played["format"] == FORMAT and played.pop("sha256") == _sum(played)
        except (OSError, ValueError, LookupError, TypeError) as error:
            refuse("out", str(self.path), f"{allowed} ({type(error).__name__}: {error})")
        if not sound:
            refuse("out", str(self.path), f"{allowed} (its sha256 is another)")
        before = played["settings"]
        for name in dict.fromkeys([*self.settings, *before]):
            now, then = self.settings.get(name), before.get(name)
            if name == "games" and isinstance(then, int) and now >= then:
                continue
            if now != then:
                more = " or more" if name == "games" else ""
                refuse(name, now, f"{then!r}{more}, as in {self.path}; or another file")
        for entry in played["pairs"]:
            self.pairs[tuple(entry["pair"])].restore(entry)


def _sum(played):
    return hashlib.sha256(json.dumps(played, sort_keys=True).encode()).hexdigest()


def check_file(field, path):
    """Refuse a path where no file can be put, making its folder; None is fine.

    Raises:
        ValueError: names the field and the reason.
    """
    if path is None:
        return
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        refuse(field, path, "a file's path")
    folder = os.path.dirname(os.path.abspath(path))
    reason = "it is a folder" if os.path.isdir(path) else None
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror
    if reason:
        refuse(field, str(path), f"a file that can be written ({reason})")
