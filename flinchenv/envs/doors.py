"""PettingZoo-style doors of one game: the functions env, raw_env and parallel_env of its `<game>_v<N>` module."""

from ..core.params import one_of, refuse
from ..registry import SPECS
from .aec import AECGame, RawAECGame
from .parallel import ParallelGame
from .setup import make_setup


def open_doors(game, version):
    """(env, raw_env, parallel_env) of a game's ids of one version."""
    ids = tuple(s.id for s in SPECS.values() if s.game == game and s.version == version)

    def door(env_type, summary):
        def build(
            id=ids[0],
            *,
            rules=None,
            render_mode=None,
            illegal_action="raise",
            max_steps=None,
            max_cycles=None,
            **rule_overrides,
        ):
            one_of("id", str(id).removeprefix("flinchenv/"), ids)
            if max_cycles is not None and max_steps is not None:
                refuse("max_cycles", max_cycles, "None beside max_steps, which is the same")
            steps = max_steps if max_cycles is None else max_cycles
            setup = make_setup(id, rules, rule_overrides, illegal_action, steps)
            return env_type(setup, render_mode)

        build.__doc__ = f"{summary}; options as in `flinchenv.make`, with `max_cycles` as another name of `max_steps`."
        return build

    return (
        door(AECGame, "The AEC environment with every use checked"),
        door(RawAECGame, "The AEC environment that checks legality alone, the fastest loop"),
        door(ParallelGame, "The parallel environment; refused for turn-based rules"),
    )
