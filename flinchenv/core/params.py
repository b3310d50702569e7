"""Rules as a frozen dataclass of checked fields, and the same rules as a one-element record for kernels.

A field says what it allows: `choice("exact", "closest")`, `integer(200, 1, 10_000)`, `flag(False)`, or `special(...)`
for the few that need words of their own. From that come the checks, the kernel form, the command line's parser and
the printed table.
"""

import dataclasses
import difflib
import functools
import hashlib
import json
from typing import Any

import numpy as np


class RulesError(ValueError):
    """A setting was refused; the message names the field, the value and what is allowed."""


def refuse(field, value, allowed):
    """Raise the one form of error that every refused setting gets."""
    raise RulesError(f"{field}={value!r} is not allowed: {allowed}")


def whole(field, value, low, high):
    """`value` as an int if it is one in low..high; bools, floats and texts are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        refuse(field, value, f"a whole number in {low}..{high}")
    if not low <= value <= high:
        refuse(field, value, f"a whole number in {low}..{high}")
    return int(value)


def one_of(field, value, options):
    """`value` if it is one of the options, which are texts."""
    if not isinstance(value, str) or value not in options:
        refuse(field, value, "one of " + ", ".join(repr(o) for o in options))
    return value


@dataclasses.dataclass(frozen=True)
class Choice:
    """A text out of a fixed tuple; its kernel form is the index."""

    options: tuple

    def check(self, name, value, rules):
        return one_of(name, value, self.options)

    def parse(self, text):
        return text

    def allowed(self):
        return " / ".join(self.options)

    def encode(self, value):
        return self.options.index(value)


@dataclasses.dataclass(frozen=True)
class Integer:
    """A whole number in low..high; its kernel form is itself."""

    low: int
    high: int

    def check(self, name, value, rules):
        return whole(name, value, self.low, self.high)

    def parse(self, text):
        return int(text)

    def allowed(self):
        return f"{self.low}..{self.high}"

    def encode(self, value):
        return value


@dataclasses.dataclass(frozen=True)
class Flag:
    """True or False; its kernel form is 1 or 0."""

    def check(self, name, value, rules):
        if not isinstance(value, (bool, np.bool_)):
            refuse(name, value, "True or False")
        return bool(value)

    def parse(self, text):
        words = {"true": True, "false": False}
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    def allowed(self):
        return "False / True"

    def encode(self, value):
        return int(value)


@dataclasses.dataclass(frozen=True)
class Special:
    """A field with a check of its own; the game puts what kernels need of it into `kernel_values`.

    `check(name, value, rules)` returns the canonical value; it runs after the plain fields before it.
    """

    check: object
    parse: object
    words: str

    def allowed(self):
        return self.words

    encode = None


def choice(*options, doc):
    """A field whose first option is the default."""
    return dataclasses.field(default=options[0], metadata={"kind": Choice(options), "doc": doc})


def integer(default, low, high, doc):
    """A field of whole numbers low..high."""
    return dataclasses.field(default=default, metadata={"kind": Integer(low, high), "doc": doc})


def flag(default, doc):
    """A field that is True or False."""
    return dataclasses.field(default=default, metadata={"kind": Flag(), "doc": doc})


def special(default, check, parse, words, doc):
    """A field with its own check, its own text form and its own words for what it allows."""
    kind = Special(check, parse, words)
    return dataclasses.field(default=default, metadata={"kind": kind, "doc": doc})


def check_rules(rules):
    """Check every field of a frozen rules dataclass in order and store its canonical value."""
    for f in dataclasses.fields(rules):
        value = f.metadata["kind"].check(f.name, getattr(rules, f.name), rules)
        object.__setattr__(rules, f.name, value)


def make_rules(rules_type, presets, preset, rules=None, overrides=None):
    """The rules of a preset, or `rules` instead, with some fields replaced.

    Args:
        rules_type: the game's dataclass.
        presets: {name: {field: value}}.
        preset: a name in presets.
        rules: None, an instance of rules_type, or a mapping of fields laid over the preset.
        overrides: mapping of fields laid over all of that.

    Raises:
        RulesError: an unknown field, or a value that its field refuses.
    """
    names = [f.name for f in dataclasses.fields(rules_type)]
    values = dict(presets[preset])
    if rules is None:
        pass
    elif isinstance(rules, rules_type):
        values = dataclasses.asdict(rules)
    elif hasattr(rules, "keys"):
        values.update(rules)
    else:
        refuse("rules", rules, f"None, a {rules_type.__name__} or a mapping of its fields")
    values.update(overrides or {})
    for name in values:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise RulesError(f"{name!r} is not a rule of {rules_type.__name__}{hint} (its fields: {', '.join(names)})")
    return rules_type(**values)


def parse_rule(rules_type, name, text):
    """A field's value from a command line's text.

    Raises:
        RulesError: no such field, or a text that is no value of it.
    """
    for f in dataclasses.fields(rules_type):
        if f.name == name:
            try:
                return f.metadata["kind"].parse(text)
            except ValueError:
                refuse(name, text, f.metadata["kind"].allowed())
    make_rules(rules_type, {"": {}}, "", overrides={name: text})


@functools.cache
def _params_dtype(columns):
    return np.dtype((np.record, np.dtype(list(columns), align=True)))


@functools.cache
def kernel_params(rules: Any):
    """The rules as kernels read them: a one-element record array of int32, and float64 where a value is a float.

    Plain fields stand under their own names, choices as their index; `rules.kernel_values()` adds the rest. All rules
    of a game share one dtype. Copy the array to change it.
    """
    return _params(rules, fixed=False)


@functools.cache
def fixed_params(rules: Any):
    """As `kernel_params`, but the dtype of a game's own rules, for any number of players, tells their numbers.

    It does so by titles "field=number". Kernels are compiled for such rules apart, and quicker, so that a change of the
    array is not seen by them (`core.kernel.fixed_fields`).
    """
    return _params(rules, fixed=rules == type(rules)(num_players=rules.num_players))


def _params(rules, fixed):
    encoded = ((f, f.metadata["kind"].encode) for f in dataclasses.fields(rules))
    values = {f.name: encode(getattr(rules, f.name)) for f, encode in encoded if encode} | rules.kernel_values()

    def column(name, value):
        kind = np.float64 if isinstance(value, float) else np.int32
        if np.shape(value):
            return name, kind, np.shape(value)
        return (f"{name}={value:d}" if kind is np.int32 else f"{name}={value!r}", name) if fixed else name, kind

    params = np.zeros(1, _params_dtype(tuple(column(name, value) for name, value in values.items())))
    for name, value in values.items():
        params[name][0] = value
    return params


def rules_to_json(rules):
    """All fields as plain JSON values, in their order."""
    return json.loads(json.dumps(dataclasses.asdict(rules)))


def rules_hash(rules):
    """Twelve hex digits that name these rules."""
    text = json.dumps(rules_to_json(rules), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
