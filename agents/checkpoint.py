"""Trained weights on disk: `<stem>.safetensors` and a JSON card beside it that says what they play and checks both.

Nothing executes on load: the weights are raw numbers and the card is JSON.
"""

import contextlib
import hashlib
import json
import os
import re
import tempfile

import numpy as np

from flinchenv.core.params import rules_hash, rules_to_json
from flinchenv.version import __version__

from .afterstates import afterstates_of
from .inputs import inputs_of

FORMAT = 1
ACTIVATIONS = ("tanh", "relu")
# Kinds of networks; without a kind it is a multilayer perceptron.
TUPLES = "tuples"  # a table of weights, of the shape (...)
TABLE = "table"  # information states (I, K) and their probabilities (I, A), of the shape (I, K, A)
KINDS = (TUPLES, TABLE)
SUFFIXES = (".safetensors", ".json")
WEIGHTS, CARD = SUFFIXES

_TYPES = {
    "format": int,
    "env": str,
    "game": str,
    "game_version": int,
    "rules": dict,
    "rules_hash": str,
    "layout": list,
    "num_actions": int,
    "network": dict,
    "training": dict,
    "flinchenv": str,
}
HALF = np.dtype(np.float16)  # how the package keeps large networks
_SUMS = {"sha256": str, "card_sha256": str}  # what `save_checkpoint` adds


def make_card(setup, network, training):
    """The card of a network made for `setup`, without the check sums that `save_checkpoint` adds.

    Args:
        setup: a `flinchenv.envs.setup.Setup`.
        network: {"hidden": [sizes], "activation": "tanh" | "relu", "bins": entries of a count's thermometer,
            "bin_width", "compare", "relations": see `agents.inputs.inputs_of`, "memory": units of a GRU,
            "afterstates": whether it weighs them, see `agents.afterstates`, "greedy": whether it takes the most
            probable action unless told otherwise}, or
            {"kind": "tuples", "shape": of the one tensor "tuples"}, or {"kind": "table", "shape": [I, K, A]}.
        training: anything JSON can hold: command, steps, seconds, seed.
    """
    return {
        "format": FORMAT,
        "env": setup.id,
        "game": setup.game.name,
        "game_version": setup.game.version,
        "rules": rules_to_json(setup.rules),
        "rules_hash": rules_hash(setup.rules),
        "layout": layout_of(setup),
        "num_actions": setup.num_actions,
        "network": network if network.get("kind") in KINDS else _perceptron(setup, network),
        "training": training,
        "flinchenv": __version__,
    }


def _perceptron(setup, network):
    inputs = inputs_of(setup, network)
    afterstates = afterstates_of(setup, network, inputs)
    card = {
        "hidden": list(network["hidden"]),
        "activation": network["activation"],
        "bins": network.get("bins", 0),
        "bin_width": network.get("bin_width", 0),
        "compare": dict(network.get("compare", {})),
        "relations": network.get("relations", False),
        "memory": network.get("memory", 0),
        "greedy": network.get("greedy", False),
        "inputs": inputs.size,
    }
    return card | {"afterstates": True, "afterstate_inputs": afterstates.size} if afterstates else card


def layout_of(setup):
    """[[name, size], ...] of the observation's fields."""
    return [[field.name, field.size] for field in setup.layout.fields]


def stem_of(path):
    """The path without ".safetensors" or ".json"."""
    path = os.fspath(path)
    return path.removesuffix(WEIGHTS).removesuffix(CARD)


def save_checkpoint(path, tensors, card, half=False):
    """Write `<stem>.safetensors`, then `<stem>.json`, each as a whole: a pair that was cut short is refused on load.

    Args:
        path: the stem, or either file's name.
        tensors: {name: array}, float32 but for the keys of a table.
        card: what `make_card` returned.
        half: write a network in float16, half as large and nearly as good; it comes back as float32 all the same.

    Raises:
        ValueError: a card or tensors that `load_checkpoint` would refuse; nothing has been written then.
    """
    stem = stem_of(path)
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    _check_card(stem + CARD, card, _TYPES)
    check_tensors(stem + WEIGHTS, tensors, card)
    if half:
        with np.errstate(over="ignore"):  # infinite values are refused below
            tensors = {name: tensor.astype(HALF) for name, tensor in tensors.items()}
        check_tensors(stem + WEIGHTS, {name: tensor.astype(np.float32) for name, tensor in tensors.items()}, card)
    weights = _safetensors().save(tensors)
    card = {key: value for key, value in card.items() if key not in _SUMS}
    card["sha256"] = hashlib.sha256(weights).hexdigest()
    card["card_sha256"] = _card_sum(card)
    text = json.dumps(card, indent=1, allow_nan=False) + "\n"
    write_whole(stem + WEIGHTS, weights)
    write_whole(stem + CARD, text.encode())


def load_checkpoint(path):
    """({name: array}, card) of a pair that `save_checkpoint` wrote.

    Args:
        path: the stem, or either file's name.

    Raises:
        ValueError: a missing half, or damage of any kind; names the file and the reason.
        ImportError: safetensors is not installed.
    """
    stem = stem_of(path)
    card = _read_card(stem + CARD)
    weights = _read(stem + WEIGHTS)
    if hashlib.sha256(weights).hexdigest() != card["sha256"]:
        _damaged(stem + WEIGHTS, f"its sha256 is not the one in {stem + CARD}")
    library = _safetensors()
    try:
        tensors = library.load(weights)
    except Exception as error:
        _damaged(stem + WEIGHTS, error)
    tensors = {name: tensor.astype(np.float32) if tensor.dtype == HALF else tensor for name, tensor in tensors.items()}
    check_tensors(stem + WEIGHTS, tensors, card)
    return tensors, card


def check_tensors(where, tensors, card):
    """Check that the tensors are the network that the card describes.

    Raises:
        ValueError: names `where`, the tensor and what is wrong with it.
    """
    network = card["network"]
    inputs = network.get("inputs", sum(size for _, size in card["layout"]))
    kind = network.get("kind")
    for name, tensor in tensors.items():
        dtype = "uint8" if kind == TABLE and name == "keys" else "float32"
        if not isinstance(tensor, np.ndarray) or tensor.dtype != dtype:
            _damaged(where, f"{name} is {getattr(tensor, 'dtype', type(tensor).__name__)}, not a {dtype} array")
        if not np.isfinite(tensor).all():
            _damaged(where, f"{name} holds a value that is not finite")
    if kind in KINDS:
        found = {name: list(tensor.shape) for name, tensor in tensors.items()}
        shape = network["shape"]
        wanted = {TUPLES: shape} if kind == TUPLES else {"keys": shape[:2], "probs": shape[::2]}
        if found != wanted:
            _damaged(where, f"it holds the shapes {found}; the card asks for {wanted}")
        return
    layers, memory = layers_of(where, tensors, "policy"), network.get("memory", 0)
    sizes = [inputs, *network["hidden"], card["num_actions"]]
    _check_chain(where, layers, "policy", sizes, memory)
    if memory:
        gates = [(3 * memory, size) for size in (sizes[-2], memory)]
        _check_shapes(where, layers_of(where, tensors, "memory"), "memory", gates)
    if any(name.startswith("value.") for name in tensors):
        _check_number(where, tensors, "value", inputs, memory)
    if network.get("afterstates"):
        _check_number(where, tensors, "afterstate", network.get("afterstate_inputs"), 0)


def layers_of(where, tensors, head):
    """[(weight (out, in), bias (out,)), ...] of "<head>.<number>.weight" and ".bias", by ascending number.

    The numbers need not be consecutive: in torch's Sequential, activations count too.

    Raises:
        ValueError: a layer without one of the two.
    """
    names = [re.fullmatch(rf"{head}\.(\d{{1,4}})\.(?:weight|bias)", name) for name in tensors]
    layers = []
    for number in sorted({int(match[1]) for match in names if match}):
        pair = [tensors.get(f"{head}.{number}.{part}") for part in ("weight", "bias")]
        if pair[0] is None or pair[1] is None or pair[0].ndim != 2 or pair[1].ndim != 1:
            _damaged(where, f"{head}.{number} lacks a weight of two axes and a bias of one")
        layers.append(tuple(pair))
    return layers


def _check_number(where, tensors, head, inputs, memory):
    """Check layers of any sizes that put out one number."""
    layers = layers_of(where, tensors, head)
    _check_chain(where, layers, head, [inputs, *(len(bias) for _, bias in layers[:-1]), 1], memory)


def _check_chain(where, layers, head, sizes, memory):
    """Check layers of which each feeds the next; the last one is also fed the memory."""
    fed = [*sizes[:-2], sizes[-2] + memory]
    _check_shapes(where, layers, head, list(zip(sizes[1:], fed)))


def _check_shapes(where, layers, head, shapes):
    found = [(weight.shape, bias.shape) for weight, bias in layers]
    wanted = [(shape, shape[:1]) for shape in shapes]
    if found != wanted:
        _damaged(where, f"{head} has the shapes {found}; the card asks for {wanted}")


def _read_card(file):
    text = _read(file)
    try:
        card = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        _damaged(file, f"not JSON: {error}")
    _check_card(file, card, _TYPES | _SUMS)
    if _card_sum(card) != card["card_sha256"]:
        _damaged(file, "its card_sha256 is not that of the card")
    return card


def _check_card(file, card, types):
    """Check the card's keys and their types."""
    if not isinstance(card, dict):
        _damaged(file, "not an object")
    for key, kind in types.items():
        if key not in card:
            _damaged(file, f"it lacks the key {key!r}")
        if type(card[key]) is not kind:
            _damaged(file, f"{key}={card[key]!r} is not of type {kind.__name__}")
    if card["format"] != FORMAT:
        _damaged(file, f"format={card['format']} is not allowed: {FORMAT}")
    layout, network = card["layout"], card["network"]
    if not all(isinstance(row, list) and len(row) == 2 and type(row[0]) is str and _is_size(row[1]) for row in layout):
        _damaged(file, f"layout={layout!r} is not a list of [name, size]")
    if network.get("kind") in KINDS:
        shape = network.get("shape")
        if not isinstance(shape, list) or not all(_is_size(size) for size in shape):
            _damaged(file, f"network={network!r} has no list of sizes 'shape'")
        if network["kind"] == TABLE and (len(shape) != 3 or shape[2] != card["num_actions"]):
            _damaged(file, f"network={network!r} has no 'shape' [I, K, {card['num_actions']}]")
        return
    if not isinstance(network.get("hidden"), list) or not all(_is_size(size) for size in network["hidden"]):
        _damaged(file, f"network={network!r} has no list of sizes 'hidden'")
    counts = [network.get(name, 0) for name in ("bins", "bin_width", "memory")]
    if any(type(number) is not int or number < 0 for number in counts) or not all(
        _is_size(network.get(name, 1)) for name in ("inputs", "afterstate_inputs")
    ):
        names = "'bins', 'bin_width', 'memory', 'inputs' and 'afterstate_inputs'"
        _damaged(file, f"network={network!r} has no whole numbers {names}")
    for name in ("greedy", "relations", "afterstates"):
        if type(network.get(name, False)) is not bool:
            _damaged(file, f"network={network!r} has a {name!r} that is neither true nor false")
    compare = network.get("compare", {})
    sizes = dict(layout)
    if not isinstance(compare, dict) or not all(_is_size(n) and n <= sizes.get(name, 0) for name, n in compare.items()):
        _damaged(file, f"network={network!r} has a 'compare' that names no fields, or more entries than they have")
    if network.get("activation") not in ACTIVATIONS:
        _damaged(file, f"network={network!r} has no 'activation' out of {', '.join(ACTIVATIONS)}")


def _is_size(value):
    return type(value) is int and value > 0


def _card_sum(card):
    """sha256 of the card without its own check sum, independent of white space and the order of keys."""
    rest = {key: value for key, value in card.items() if key != "card_sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _read(file):
    try:
        with open(file, "rb") as stream:
            return stream.read()
    except OSError as error:
        _damaged(file, error.strerror or error)


def write_whole(file, data):
    """Put the bytes `data` at `file` in one move, making its folder: a reader sees the old file or the new one."""
    folder, name = os.path.split(os.path.abspath(file))
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _damaged(file, reason):
    raise ValueError(f"checkpoint {file}: {reason}")


def _safetensors():
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ImportError("checkpoints need the package safetensors: pip install 'flinchenv[train]'") from error
    return safetensors.numpy
