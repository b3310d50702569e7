"""Agents by name: "random", "rule", "rule:2", "search:200", a shipped one's name, a checkpoint's path."""

import os
from collections.abc import Callable
from typing import NamedTuple

from flinchenv.core.params import refuse
from flinchenv.envs.setup import Setup, make_setup

from .checkpoint import SUFFIXES, TABLE, TUPLES, load_checkpoint, stem_of
from .flash10_tuples import TupleAgent
from .held_out import HELD_OUT, HeldOutAgent
from .network import NetworkAgent, check_match
from .rule_bots import RULE_BOTS
from .search import DEFAULTS, MOST_SIMULATIONS, Search
from .shipped import shipped_names, shipped_stem
from .tabular import TabularAgent
from .uniform import UniformAgent


class Family(NamedTuple):
    """Agents of one kind, told apart by the number behind the colon of their name.

    Attributes:
        make: make(setup, number) -> Agent.
        numbers: the numbers it takes.
        default: the number of the bare name.
    """

    make: Callable
    numbers: range
    default: int


def _families(game, bots):
    return {
        "rule": Family(lambda setup, level: bots[level - 1](setup), range(1, len(bots) + 1), 1),
        "search": Family(Search, range(1, MOST_SIMULATIONS + 1), DEFAULTS[game].simulations),
        HELD_OUT: Family(
            lambda setup, level: HeldOutAgent(bots[level - 1](setup), f"{HELD_OUT}:{level}"), range(1, len(bots) + 1), 1
        ),
    }


# {game: {the word before the colon: Family}}
FAMILIES = {game: _families(game, bots) for game, bots in RULE_BOTS.items()}


def load(name, env=None, any_rules=False):
    """An agent by its name.

    Args:
        name: "random"; "rule", "rule:2" or "search:200" (a family of the game and its number); or a checkpoint's path:
            its stem, or either of its files.
        env: the game and rules to play: an id, a `Setup`, or an env. Without one a rule bot waits until `make` or a
            tournament seats it, and a checkpoint plays what its card names.
        any_rules: let a checkpoint play rules other than those it was trained for, where the layout allows.

    Raises:
        ValueError: an unknown name, or a checkpoint that is damaged or made for another game.
    """
    setup = _setup_of(env)
    if not isinstance(name, (str, os.PathLike)):
        refuse("agent", name, _allowed(setup))
    name = os.fspath(name)
    if name == "random":
        return UniformAgent()
    word, _, number = name.partition(":")
    if _is_family(word):
        return _load_family(name, word, number, setup)
    if _is_path(name):
        return _load_network(name, setup, any_rules)
    if (stem := shipped_stem(name)) is not None:
        return _load_network(stem, setup, any_rules)
    refuse("agent", name, _allowed(setup))


def is_name(agent):
    """Whether what `load` takes is an agent's own name, whatever files there are."""
    return agent == "random" or _is_family(str(agent).partition(":")[0]) or agent in shipped_names()


def load_opponents(opponents, setup):
    """P - 1 agents from one name or agent, or a list of them, clockwise from the learner's left."""
    n = setup.num_players - 1
    many = list(opponents) if isinstance(opponents, (list, tuple)) else [opponents] * n
    if len(many) != n:
        refuse("opponents", opponents, f"one for all, or a list of {n}")
    return [seated(agent, setup) for agent in many]


def seated(agent, setup):
    """An agent that plays this setup, from a name, an agent, or a rule bot loaded without an env."""
    if isinstance(agent, Unseated):
        return load(agent.name, setup)
    return agent if hasattr(agent, "act") else load(agent, setup)


class Unseated:
    """A rule bot that was loaded without an env: `make`, tournaments and `load(name, env)` seat it.

    Args:
        name: what `load` was given.
    """

    needs_view = False
    memory = 0

    def __init__(self, name):
        self.name = name

    def act(self, observation, action_mask, rng, view=None):
        """Refused: it does not know the rules yet."""
        refuse("agent", self.name, f"seated first, as load({self.name!r}, env), since it plays by the rules of one")

    probs = act


def _setup_of(env):
    if env is None or isinstance(env, Setup):
        return env
    if isinstance(env, str):
        return make_setup(env)
    setup = getattr(env, "setup", None)
    if not isinstance(setup, Setup):
        refuse("env", env, "None, an id, a Setup or an env of flinchenv")
    return setup


def _is_family(word):
    return any(word in families for families in FAMILIES.values())


def _load_family(name, word, number, setup):
    games = [setup.game.name] if setup else list(FAMILIES)
    family = next((FAMILIES[game][word] for game in games if word in FAMILIES.get(game, {})), None)
    if family is None:
        refuse("agent", name, _allowed(setup))
    if ":" not in name:
        return family.make(setup, family.default) if setup else Unseated(name)
    if not number.isdecimal() or str(int(number)) != number or int(number) not in family.numbers:
        refuse("agent", name, _allowed(setup))
    return family.make(setup, int(number)) if setup else Unseated(name)


def _allowed(setup):
    names = ["'random'"]
    for game, families in FAMILIES.items():
        if setup is None or setup.game.name == game:
            for word, family in families.items():
                names += [f"'{word}'", f"'{word}:{family.numbers[0]}'..'{word}:{family.numbers[-1]}'"]
    names += [f"'{name}'" for name in shipped_names(setup.game.name if setup else None)]
    return ", ".join(dict.fromkeys(names)) + " or the path of a checkpoint"


def _is_path(name):
    """Whether a name means a file, there or not: it has a folder, a checkpoint's ending, or a half on the disk."""
    stem = stem_of(name)
    return stem != name or os.path.dirname(name) != "" or any(os.path.exists(stem + end) for end in SUFFIXES)


def _load_network(path, setup, any_rules):
    tensors, card = load_checkpoint(path)
    if setup is None:
        setup = make_setup(card["env"], card["rules"])
    name = os.path.basename(stem_of(path))
    if card["network"].get("kind") == TUPLES:
        check_match(setup, card, any_rules)
        return TupleAgent(setup, tensors[TUPLES], name)
    if card["network"].get("kind") == TABLE:
        return TabularAgent(setup, tensors, card, name)
    return NetworkAgent(setup, tensors, card, name=name, any_rules=any_rules)
