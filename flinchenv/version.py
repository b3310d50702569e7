"""The one place that states the version; it imports nothing, so that a build can read it."""

__version__ = "0.1.0"
