"""Put every id into Gymnasium's and PettingZoo's own registries as `flinchenv/<id>`, without importing either.

A library that is imported already is told at once; another is told as soon as somebody imports it.
"""

import importlib.abc
import importlib.util
import sys

from .registry import SPECS, make


def register_everywhere():
    """Register with both libraries, now or right after their import. Calling it again changes nothing."""
    for library, register in _LIBRARIES.items():
        if library in sys.modules:
            register()
        else:
            _AfterImport.watch(library, register)


def _register_gymnasium():
    import gymnasium

    for env_id in SPECS:
        if f"flinchenv/{env_id}" not in gymnasium.registry:
            gymnasium.register(
                f"flinchenv/{env_id}",
                entry_point="flinchenv.registration:gymnasium_env",
                vector_entry_point="flinchenv.registration:gymnasium_vector_env",
                kwargs={"env_id": env_id},  # `id` is a parameter of Gymnasium's own make
            )


def _register_pettingzoo():
    import pettingzoo

    if not hasattr(pettingzoo, "register"):  # before PettingZoo 1.27
        return
    from pettingzoo.env_registry.registration import aec_registry, parallel_registry

    for env_id, spec in SPECS.items():
        name, door = f"flinchenv/{env_id}", f"flinchenv.{spec.game}_v{spec.version}"
        if name not in aec_registry:
            pettingzoo.register("aec", name, f"{door}:env", kwargs={"id": env_id})
        if name not in parallel_registry and spec.simultaneous:
            pettingzoo.register("parallel", name, f"{door}:parallel_env", kwargs={"id": env_id})


_LIBRARIES = {"gymnasium": _register_gymnasium, "pettingzoo": _register_pettingzoo}


def gymnasium_env(env_id, **options):
    """What `gymnasium.make` calls."""
    return make(env_id, "gym", **options)


def gymnasium_vector_env(env_id, **options):
    """What `gymnasium.make_vec` calls."""
    return make(env_id, "gym_vector", **options)


class _AfterImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one library as usual and calls a function once it has been imported."""

    def __init__(self, library, then):
        self.library, self.then = library, then

    @classmethod
    def watch(cls, library, then):
        if not any(isinstance(f, cls) and f.library == library for f in sys.meta_path):
            sys.meta_path.insert(0, cls(library, then))

    def find_spec(self, name, path=None, target=None):
        if name != self.library:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        if found is None or found.loader is None:
            return found
        self.loader, found.loader = found.loader, self
        return found

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.then()
