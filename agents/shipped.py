"""The trained agents that come with the package, by name."""

from pathlib import Path

from .checkpoint import CARD

FOLDER = Path(__file__).parent / "checkpoints"


def shipped_names(game=None):
    """The names of all shipped agents, or of those of one game."""
    names = sorted(path.name.removesuffix(CARD) for path in FOLDER.glob(f"*{CARD}"))
    return [name for name in names if game is None or name.startswith(f"{game}-")]


def shipped_stem(name):
    """The path of a shipped agent without its ending, or None."""
    return str(FOLDER / name) if name in shipped_names() else None
