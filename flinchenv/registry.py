"""All environment ids, one row a variant, and `make`, which builds any of them through any API."""

import difflib
import importlib
from typing import NamedTuple

ENV_IDS = (
    # id, game, preset; the version is the id's ending
    ("flinch-v0", "flinch", "flinch"),
    ("flinch-challenge-v0", "flinch", "flinch-challenge"),
    ("flinch-partnership-v0", "flinch", "flinch-partnership"),
    ("flinch-both_ends-v0", "flinch", "flinch-both_ends"),
    ("flinch-eights-v0", "flinch", "flinch-eights"),
    ("flinch-classic150-v0", "flinch", "flinch-classic150"),
    ("flinch-exposure-v0", "flinch", "flinch-exposure"),
    ("flinch-wild-v0", "flinch", "flinch-wild"),
    ("flinch-tiny-v0", "flinch", "flinch-tiny"),
    ("flip_it-v0", "flip_it", "flip_it"),
    ("flip_it-capture-v0", "flip_it", "flip_it-capture"),
    ("flip_it-closest-v0", "flip_it", "flip_it-closest"),
    ("flip_it-sequential-v0", "flip_it", "flip_it-sequential"),
    ("flip_it-hand-v0", "flip_it", "flip_it-hand"),
    ("flip_it-tiny-v0", "flip_it", "flip_it-tiny"),
    ("flip_it-small-v0", "flip_it", "flip_it-small"),
    ("flash10-v0", "flash10", "flash10"),
    ("flash10-round-v0", "flash10", "flash10-round"),
    ("flash10-mountain-v0", "flash10", "flash10-mountain"),
    ("flash10-thunder_stop-v0", "flash10", "flash10-thunder_stop"),
    ("flash10-race-v0", "flash10", "flash10-race"),
    ("flash10-devir-v0", "flash10", "flash10-devir"),
    ("flash10-tiny-v0", "flash10", "flash10-tiny"),
)

APIS = {  # api: module and class in flinchenv.envs, and the options it takes beside the common ones
    "aec": ("aec", "AECGame", ("render_mode",)),
    "parallel": ("parallel", "ParallelGame", ("render_mode",)),
    "vector": ("vector", "VectorGame", ("num_envs", "threads", "dtype")),
    "gym": ("gym_single", "SeatEnv", ("render_mode", "opponents", "seat")),
    "gym_vector": (
        "gym_vector",
        "SeatVectorEnv",
        ("render_mode", "num_envs", "threads", "dtype", "opponents", "seat", "autoreset_mode"),
    ),
}
_DEFAULTS = {
    "render_mode": None,
    "num_envs": 1,
    "threads": 1,
    "dtype": "int8",
    "opponents": "random",
    "seat": 0,
    "autoreset_mode": "NextStep",
}


class EnvSpec(NamedTuple):
    """One registered environment: its id, its game's package, the named rules it plays."""

    id: str
    game: str
    preset: str

    @property
    def version(self):
        """The number at the end of the id; it changes whenever play changes."""
        return int(self.id.rsplit("-v", 1)[1])

    @property
    def game_spec(self):
        """The game's `GameSpec`."""
        return importlib.import_module(f".{self.game}", __package__).SPEC

    @property
    def rules(self):
        """The preset's rules."""
        game = self.game_spec
        return game.Rules(**game.presets[self.preset])

    @property
    def simultaneous(self):
        """Whether seats choose at the same time, so that the parallel API is offered."""
        return self.game_spec.simultaneous(self.rules)


SPECS = {row[0]: EnvSpec(*row) for row in ENV_IDS}


def list_envs():
    """All ids, in a fixed order."""
    return list(SPECS)


def spec(id):
    """The `EnvSpec` of an id, with or without the leading "flinchenv/".

    Raises:
        ValueError: no such id; names the nearest ones.
    """
    name = str(id).removeprefix("flinchenv/")
    if name not in SPECS:
        near = difflib.get_close_matches(name, SPECS, 3) or SPECS
        raise ValueError(f"id={id!r} is not registered; did you mean {', '.join(near)}?")
    return SPECS[name]


def layout(id, **rule_overrides):
    """The action ids, the observation's fields and the referee's state as a printable page of tables."""
    from .envs.setup import make_setup

    return make_setup(id, None, rule_overrides).page()


def make(
    id,
    api="aec",
    *,
    rules=None,
    render_mode=None,
    illegal_action="raise",
    max_steps=None,
    num_envs=1,
    threads=1,
    dtype="int8",
    opponents="random",
    seat=0,
    autoreset_mode="NextStep",
    **rule_overrides,
):
    """Build an environment.

    Args:
        id: one of `list_envs()`.
        api: "aec" | "parallel" (PettingZoo) | "vector" (N games a call) | "gym" | "gym_vector" (Gymnasium, one seat).
        rules: the game's rules dataclass, or a mapping laid over the id's preset.
        render_mode: None | "ansi" | "human"; aec, parallel, gym, gym_vector.
        illegal_action: "raise" | "forfeit" | "random_legal".
        max_steps: rounds after which a running game is truncated; None for no cap.
        num_envs, threads, dtype: games a call, worker threads, "int8" or "float32"; vector, gym_vector.
        opponents: agent or name for all other seats, or one for each; gym, gym_vector.
        seat: the learner's seat, "random" or "rotate"; gym, gym_vector.
        autoreset_mode: "NextStep" | "SameStep" | "Disabled"; gym_vector.
        **rule_overrides: any field of the game's rules, num_players among them.

    Raises:
        ValueError: an unknown id, api, option or rule, or a refused value; names it and what is allowed.
    """
    from .core.params import one_of, refuse
    from .envs.setup import make_setup

    one_of("api", api, tuple(APIS))
    module, name, takes = APIS[api]
    given = {
        "render_mode": render_mode,
        "num_envs": num_envs,
        "threads": threads,
        "dtype": dtype,
        "opponents": opponents,
        "seat": seat,
        "autoreset_mode": autoreset_mode,
    }
    options = {}
    for option, value in given.items():
        if option in takes:
            options[option] = value
        elif not _same(value, _DEFAULTS[option]):
            users = ", ".join(a for a, row in APIS.items() if option in row[2])
            refuse(option, value, f"api={api!r} has no such option; it belongs to {users}")
    setup = make_setup(id, rules, rule_overrides, illegal_action, max_steps)
    if api in ("gym", "gym_vector"):
        from .agents.load import load_opponents

        options["opponents"] = load_opponents(opponents, setup)
    env_type = getattr(importlib.import_module(f".envs.{module}", __package__), name)
    return env_type(setup, **options)


def _same(value, default):
    return type(value) is type(default) and value == default
