"""Settings of an experiment: checked dataclass fields, and their overrides from TOML files and command lines.

Whole numbers, flags and choices are declared as rules are, with `flinchenv.core.params`; this adds what rules lack.
"""

import argparse
import dataclasses
import difflib
import importlib.resources
import json
import math
import os
import sys
import tomllib

from flinchenv import registry
from flinchenv.core.params import RulesError, Special, refuse

LARGEST_FILE = 64 * 1024  # bytes of a TOML file


@dataclasses.dataclass(frozen=True)
class Real:
    """A finite number in low..high, low itself left out if `above`."""

    low: float
    high: float
    above: bool

    def check(self, name, value, settings):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            refuse(name, value, self.allowed())
        inside = self.low < value if self.above else self.low <= value
        if not math.isfinite(value) or not inside or value > self.high:
            refuse(name, value, self.allowed())
        return float(value)

    def allowed(self):
        return f"a number above {self.low}, up to {self.high}" if self.above else f"a number in {self.low}..{self.high}"


def real(default, low, high, doc, above=False):
    """A field of finite numbers low..high; `above` leaves low itself out."""
    return dataclasses.field(default=default, metadata={"kind": Real(low, high, above), "doc": doc})


def checked(default, check, words, doc):
    """A field with a check of its own, `check(name, value, settings) -> canonical value`; dicts are copied."""
    kind = {"kind": Special(check, None, words), "doc": doc}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=kind)
    return dataclasses.field(default=default, metadata=kind)


def check_text(name, value, settings):
    """A text, perhaps empty."""
    if not isinstance(value, str):
        refuse(name, value, "a text")
    return value


def check_env_id(name, value, settings):
    """An environment's id."""
    return registry.spec(check_text(name, value, settings)).id


def check_mapping(name, value, settings):
    """Rules laid over a preset."""
    if not isinstance(value, dict):
        refuse(name, value, "a table of rule overrides")
    return dict(value)


def read_settings(settings_type, config=None, overrides=()):
    """The settings of a TOML file, or the defaults, with some replaced; see `read_values`.

    Args:
        settings_type: a dataclass of checked fields.

    Raises:
        RulesError: what `read_values` refuses, an unknown key, or a refused value.
    """
    values = read_values(config, overrides)
    check_names(settings_type, values)
    return settings_type(**values)


def read_values(config=None, overrides=()):
    """{setting: value} of a TOML file with some replaced, not yet checked.

    Args:
        config: None, a path, or the name of a file in `flinchenv.configs` with or without ".toml".
        overrides: texts "key=value" or "table.key=value"; a value is written as in TOML, a text also without quotes.

    Raises:
        RulesError: no such file, no TOML, an empty file, or a repeated key.
    """
    values = {} if config is None else _read_toml(config)
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise RulesError(f"{text!r} is not of the form key=value")
        table, dot, inner = key.strip().partition(".")
        if dot:
            table_values = values.setdefault(table, {})
            if not isinstance(table_values, dict):
                raise RulesError(f"{text!r}: {table} is no table")
            table_values[inner] = _value(value.strip())
        else:
            values[table] = _value(value.strip())
    return values


def check_names(settings_type, names):
    """Refuse names that are no settings; the message has the nearest one."""
    known = [f.name for f in dataclasses.fields(settings_type)]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise RulesError(f"{name!r} is not a setting{hint} (settings: {', '.join(known)})")


def settings_table(settings_type):
    """Every setting with its default, what it allows and its meaning, one a line."""
    rows = []
    for f in dataclasses.fields(settings_type):
        default = f.default_factory() if f.default is dataclasses.MISSING else f.default
        rows.append(f"  {f.name} = {default!r}: {f.metadata['doc']} ({f.metadata['kind'].allowed()})")
    return "\n".join(rows)


def _read_toml(config):
    path = _find(os.fspath(config))
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        refuse("config", str(config), f"a readable TOML file: {error.strerror}")
    if len(data) > LARGEST_FILE:
        refuse("config", str(config), f"a file of at most {LARGEST_FILE} bytes")
    try:
        values = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise RulesError(f"config={str(config)!r} is not TOML: {error}") from error
    if not values:
        refuse("config", str(config), "a file with at least one setting; this one is empty")
    return values


def _find(config):
    """The path of a config: itself if there is such a file, else a shipped file of that name."""
    if os.path.isfile(config):
        return config
    shipped = importlib.resources.files("flinchenv.configs")
    names = sorted(file.name.removesuffix(".toml") for file in shipped.iterdir() if file.name.endswith(".toml"))
    if config.removesuffix(".toml") not in names:
        refuse("config", config, "a TOML file or one of " + ", ".join(names))
    return str(shipped / (config.removesuffix(".toml") + ".toml"))


def _value(text):
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


# --- The command line -------------------------------------------------------------------------------------------------


def command(trainer, settings, run, summary, argv=None):
    """The command line of one trainer; the exit code: 0, 2 for refused settings, 130 after Ctrl-C.

    Args:
        trainer: its module's name. settings: its Args; with a `resume` there is an option for it.
        run: run(args) -> Result, or None where another process tells. summary: what it does, in one line.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m flinchenv.experiments.{trainer}",
        description=summary,
        epilog="settings:\n" + settings_table(settings),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("config", nargs="?", help="a TOML file, or the name of one in flinchenv.configs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a setting; repeatable")
    if hasattr(settings, "resume"):
        parser.add_argument(
            "--resume", action="append_const", const="resume=true", dest="set", help="go on from its newest state"
        )
    given = parser.parse_args(argv)
    try:
        result = run(read_settings(settings, given.config, given.set))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if result is not None:
        print(json.dumps(result._asdict()))
    return 0
