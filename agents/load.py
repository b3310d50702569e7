"""Agents by name: "random", "rule", "rule:2", a checkpoint's path."""

from flinchenv.core.params import refuse

from .uniform import UniformAgent


def load(name, setup=None):
    """An agent by its name."""
    if name == "random":
        return UniformAgent()
    refuse("agent", name, "'random'")


def load_opponents(opponents, setup):
    """P - 1 agents from one name or agent, or a list of them, clockwise from the learner's left."""
    n = setup.num_players - 1
    many = list(opponents) if isinstance(opponents, (list, tuple)) else [opponents] * n
    if len(many) != n:
        refuse("opponents", opponents, f"one for all, or a list of {n}")
    return [load(a, setup) if isinstance(a, str) else a for a in many]
