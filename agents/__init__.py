"""Agents of known strength, and the one call that loads any of them."""

from .load import load

__all__ = ["load"]
