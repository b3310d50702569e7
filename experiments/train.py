"""Which trainer a config asks for."""

import importlib

from flinchenv.core.params import one_of

from .settings import check_names, read_values

TRAINERS = {
    "maskable_ppo": "train_maskable_ppo",
    "ppo": "train_ppo",
    "td": "train_td",
}  # a config's `trainer`: the module


def read(config=None, overrides=()):
    """(module, Args) of a config; without a `trainer` it is for MaskablePPO. See `settings.read_values`.

    Raises:
        RulesError: an unknown trainer, or what its Args refuse.
    """
    values = read_values(config, overrides)
    name = one_of("trainer", values.get("trainer", "maskable_ppo"), tuple(TRAINERS))
    module = importlib.import_module(f".{TRAINERS[name]}", __package__)
    check_names(module.Args, values)
    return module, module.Args(**values)
