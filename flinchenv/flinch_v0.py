"""Flinch behind PettingZoo's usual doors; every variant of it by its `id`."""

from .envs.doors import open_doors

env, raw_env, parallel_env = open_doors("flinch", 0)
