"""A training run's state on disk: one safetensors file a saved step, complete or not there, checked by hash on load."""

import hashlib
import json
import pathlib
import sys

import numpy as np
import safetensors
import safetensors.numpy

from flinchenv.agents.checkpoint import write_whole

KEPT = 2  # states that stay on the disk


def save_state(folder, step, arrays, facts):
    """Write `<folder>/<step>.safetensors` in one move and delete all but the newest states.

    Args:
        folder: made if it is not there.
        step: the number that orders states.
        arrays: {name: array of a plain dtype}.
        facts: anything JSON can hold.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(facts)
    data = safetensors.numpy.save(arrays, metadata={"facts": text, "sha256": _digest(arrays, text)})
    folder = pathlib.Path(folder)
    write_whole(folder / f"{step:015d}.safetensors", data)
    for old in _states(folder)[KEPT:]:
        old.unlink()


def newest_state(folder):
    """(arrays, facts) of the newest state that is whole, or None; damaged ones are named on stderr and left alone."""
    for path in _states(folder):
        try:
            return load_state(path)
        except ValueError as error:
            print(f"{error}; trying the one before", file=sys.stderr)
    return None


def load_state(path):
    """(arrays, facts) of one file.

    Raises:
        ValueError: no state, or a damaged one; names the file and the reason.
    """
    try:
        with safetensors.safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"state {path}: {error}") from error
    if metadata.get("sha256") != _digest(arrays, metadata.get("facts", "")):
        raise ValueError(f"state {path}: its content is not what its sha256 says")
    return arrays, json.loads(metadata["facts"])


def _states(folder):
    """The state files of a folder, newest first."""
    return sorted(pathlib.Path(folder).glob("[0-9]*.safetensors"), reverse=True)


def _digest(arrays, text):
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
