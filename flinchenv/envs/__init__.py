"""The APIs, written once for all games against `core.spec.GameSpec`."""
