"""Every bad setting of Flinch is refused by name: the fields, the values, and what is allowed."""

import dataclasses
import math

import numpy as np
import pytest
from table_flinch import Table

import flinchenv
from flinchenv.flinch.rules import FlinchRules

CHALLENGE = {"duty_mode": "challenge"}


def texts(name, *options):
    """Refused forms of a field whose values are texts."""
    allowed = ", ".join(repr(option) for option in options)
    values = (options[0].upper(), options[0] + "s", "", None, 0, True, [options[0]], math.nan)
    return [(name, value, allowed) for value in values]


def numbers(name, low, high):
    """Refused forms of a whole number."""
    values = (low - 1, high + 1, -(10**6), 10**30, float(low), str(low), True, None, math.nan, [low])
    return [(name, value, f"{low}..{high}") for value in values]


def flags(name):
    """Refused forms of True or False."""
    return [(name, value, "True or False") for value in (1, 0, "True", None, math.nan)]


def reals(name, low, high):
    """Refused forms of a real number."""
    values = (low - 0.01, high + 0.01, math.nan, math.inf, -math.inf, str(low), True, None, [low])
    return [(name, value, f"{low}..{high}") for value in values]


RANGES = {
    "num_players": (2, 8),
    "num_ranks": (3, 15),
    "series_per_pack": (1, 20),
    "n_wild": (0, 27),
    "stock_size": (1, 20),
    "hand_size": (1, 5),
    "reserve_piles": (1, 5),
    "max_turns": (1, 1_000_000),
    "max_plays_per_turn": (10, 10_000),
}
REALS = {"p_expose": (0, 1), "shaping": (0, 10), "shaping_gamma": (0, 1)}
FLAGS = (
    "partnership", "empty_by_penalty_wins", "mask_false_stock_calls", "reveal_on_false_call",
    "offturn_exposure_discard", "auto_forced",
)  # fmt: skip
CHOICES = {
    "center": ("up", "both_ends", "eights"),
    "starter_duty": ("all_starters", "ones_only"),
    "eights_removal": ("both_ends", "on_15"),
    "opening": ("official", "sequential", "encyclopedia"),
    "first_laydown": ("spread", "free"),
    "duty_mode": ("enforced", "challenge", "honour"),
    "stock_duty": ("always", "turn_start", "none"),
    "refill": ("turn_start", "immediate"),
    "recycle": ("lazy", "eager", "immediate"),
    "deadlock": ("draw", "fewest_stock", "reshuffle_reserves"),
    "blocked": ("jump", "wait", "off"),
    "challenge_window": ("turn_end", "every_action"),
    "call_kinds": ("both", "stock_only"),
    "call_priority": ("left", "random"),
    "penalty_card": ("top", "hidden_random", "bottom"),
    "illegal_move": ("mask", "exposure"),
    "obs_reserve": ("tops", "full"),
    "reward": ("win", "stock_margin"),
}
RULES = [
    *[case for name, (low, high) in RANGES.items() for case in numbers(name, low, high)],
    *[case for name, (low, high) in REALS.items() for case in reals(name, low, high)],
    *[case for name in FLAGS for case in flags(name)],
    *[case for name, options in CHOICES.items() for case in texts(name, *options)],
    *[("packs", value, "'auto', 1 or 2") for value in (0, 3, -1, 1.0, 2.0, "1", "Auto", "", None, True, math.nan, [1])],
]

# What another field must be for a value to be read at all.
NEEDS = {
    **dict.fromkeys(
        ("challenge_window", "call_kinds", "call_priority", "penalty_card", "empty_by_penalty_wins",
         "mask_false_stock_calls", "reveal_on_false_call"), CHALLENGE,
    ),
    "eights_removal": {"center": "eights"},
    "starter_duty": {"center": "both_ends"},
    "offturn_exposure_discard": {"p_expose": 0.1},
    "shaping_gamma": {"shaping": 1.0},
    "partnership": {"num_players": 4},
}  # fmt: skip


def refused(call, *words):
    """The call raises a ValueError whose message holds all the words."""
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert str(word) in str(caught.value), (word, str(caught.value))


def refused_everywhere(rules, *words):
    """So is every way to these rules."""
    refused(lambda: FlinchRules(**rules), *words)
    refused(lambda: flinchenv.make("flinch-v0", **rules), *words)
    refused(lambda: flinchenv.make("flinch-v0", rules=rules), *words)
    refused(lambda: flinchenv.layout("flinch-v0", **rules), *words)


@pytest.mark.parametrize(("field", "value", "allowed"), RULES, ids=lambda v: repr(v)[:20])
def test_rules_are_refused_by_field_value_and_range(field, value, allowed):
    refused_everywhere({field: value}, f"{field}=", repr(value), allowed)


def test_every_field_is_among_them():
    assert {f.name for f in dataclasses.fields(FlinchRules)} == {field for field, *_ in RULES}


@pytest.mark.parametrize(("field", "low", "high"), [(name, *ends) for name, ends in (RANGES | REALS).items()])
def test_both_ends_of_a_range_are_taken(field, low, high):
    more = {"num_ranks": {"series_per_pack": 20}, "series_per_pack": {"stock_size": 1, "hand_size": 1}}.get(field, {})
    for value in (low, high):
        assert getattr(FlinchRules(**{**NEEDS.get(field, {}), **more, field: value}), field) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[(name, option) for name, options in CHOICES.items() for option in options],
        *[(name, value) for name in FLAGS for value in (False, True)],
        *[("packs", value) for value in ("auto", 1, 2)],
    ],
)
def test_every_value_is_taken(field, value):
    rules = {**NEEDS.get(field, {}), field: value}
    assert getattr(FlinchRules(**rules), field) == value
    assert getattr(flinchenv.make("flinch-v0", **rules).setup.rules, field) == value


def test_numbers_of_other_kinds_are_taken():
    assert FlinchRules(num_players=np.int64(3)) == FlinchRules(num_players=3)
    assert hash(FlinchRules(shaping=1)) == hash(FlinchRules(shaping=1.0))


# --- Fields that do not go together -----------------------------------------------------------------------------------

DECK = ("num_players", "packs", "num_ranks", "series_per_pack", "n_wild", "stock_size", "hand_size")


@pytest.mark.parametrize(
    ("rules", "needed", "deck", "one_more"),
    [
        ({"num_players": 8, "packs": 1, "stock_size": 13}, 149, 135, {"n_wild": 14}),
        ({"series_per_pack": 2}, 35, 30, {"n_wild": 5}),
        ({"num_ranks": 3, "series_per_pack": 11}, 35, 33, {"n_wild": 2}),
        ({"num_players": 4, "stock_size": 20, "series_per_pack": 6, "n_wild": 14}, 105, 104, {"n_wild": 15}),
    ],
    ids=str,
)
def test_a_deck_that_is_too_small(rules, needed, deck, one_more):
    full = dataclasses.asdict(FlinchRules()) | rules
    refused_everywhere(rules, *[f"{name}={full[name]!r}" for name in DECK], needed, deck)
    assert FlinchRules(**rules | one_more).deck_size >= needed
    Table(**rules | one_more)


def test_a_deck_that_just_suffices_leaves_one_hand():
    table = Table(num_players=2, num_ranks=5, series_per_pack=7)
    assert table.stack.total() == 5
    refused(lambda: FlinchRules(num_ranks=5, series_per_pack=6), "35", "30")


@pytest.mark.parametrize("players", [2, 3, 5, 7])
def test_partnership_with_an_odd_number_or_fewer_than_four(players):
    rules = {"partnership": True, "num_players": players}
    refused_everywhere(rules, "partnership=True", f"num_players={players}", "4, 6 or 8")
    refused(lambda: flinchenv.make("flinch-partnership-v0", num_players=players), f"num_players={players}")


@pytest.mark.parametrize("players", [4, 6, 8])
def test_partnership_with_four_six_or_eight(players):
    assert FlinchRules(partnership=True, num_players=players).partnership


def test_ones_only_with_eights():
    rules = {"starter_duty": "ones_only", "center": "eights"}
    refused_everywhere(rules, "starter_duty='ones_only'", "center='eights'", "hand of 1s")
    assert FlinchRules(starter_duty="ones_only", center="both_ends").duty_starters == (1,)


@pytest.mark.parametrize("ranks", [4, 6, 8, 10, 12, 14])
def test_eights_with_an_even_number_of_ranks(ranks):
    rules = {"center": "eights", "num_ranks": ranks}
    refused_everywhere(rules, f"num_ranks={ranks}", "center='eights'", "middle rank")
    assert FlinchRules(center="eights", num_ranks=ranks + 1).num_ranks == ranks + 1
    assert FlinchRules(center="both_ends", num_ranks=ranks).num_ranks == ranks


def test_no_call_would_be_left():
    rules = {**CHALLENGE, "stock_duty": "none", "call_kinds": "stock_only"}
    refused_everywhere(rules, "call_kinds='stock_only'", "stock_duty='none'", "no call")
    assert FlinchRules(**{**rules, "call_kinds": "both"}).stock_duty == "none"
    assert FlinchRules(**{**rules, "stock_duty": "turn_start"}).call_kinds == "stock_only"


UNREAD = [
    *[
        (name, value, {"duty_mode": mode}, "duty_mode")
        for mode in ("enforced", "honour")
        for name, value in (
            ("challenge_window", "every_action"),
            ("call_kinds", "stock_only"),
            ("call_priority", "random"),
            ("penalty_card", "hidden_random"),
            ("penalty_card", "bottom"),
            ("empty_by_penalty_wins", False),
            ("mask_false_stock_calls", True),
            ("reveal_on_false_call", True),
        )
    ],
    ("mask_false_stock_calls", True, {**CHALLENGE, "stock_duty": "none"}, "stock_duty"),
    ("reveal_on_false_call", True, {**CHALLENGE, "call_kinds": "stock_only"}, "call_kinds"),
    *[("stock_duty", value, {"duty_mode": "honour"}, "duty_mode") for value in ("turn_start", "none")],
    *[("eights_removal", "on_15", {"center": center}, "center") for center in ("up", "both_ends")],
    ("starter_duty", "ones_only", {"center": "up"}, "center"),
    ("first_laydown", "free", {"opening": "encyclopedia"}, "opening"),
    ("offturn_exposure_discard", False, {"p_expose": 0}, "p_expose"),
    ("offturn_exposure_discard", False, {"illegal_move": "exposure"}, "p_expose"),
    *[("shaping_gamma", value, {"shaping": 0}, "shaping") for value in (0.0, 0.99)],
]


@pytest.mark.parametrize(("field", "value", "others", "because"), UNREAD, ids=str)
def test_a_field_that_is_never_read(field, value, others, because):
    other = FlinchRules(**others)
    refused_everywhere(
        {**others, field: value}, f"{field}={value!r}", f"{because}={getattr(other, because)!r}", "reads"
    )


@pytest.mark.parametrize(("field", "value", "others", "because"), UNREAD, ids=str)
def test_its_default_is_taken_all_the_same(field, value, others, because):
    default = {f.name: f.default for f in dataclasses.fields(FlinchRules)}[field]
    assert getattr(FlinchRules(**others, **{field: default}), field) == default


@pytest.mark.parametrize("id", ["flinch-challenge-v0", "flinch-exposure-v0"])
def test_a_presets_fields_count_too(id):
    refused(
        lambda: flinchenv.make(id, duty_mode="honour", penalty_card="bottom"),
        "penalty_card='bottom'",
        "duty_mode='honour'",
    )
    assert flinchenv.make(id, penalty_card="bottom").setup.rules.penalty_card == "bottom"


def test_everything_else_combines():
    rules = FlinchRules(
        num_players=8, partnership=True, center="both_ends", starter_duty="ones_only", n_wild=27, duty_mode="challenge",
        stock_duty="turn_start", illegal_move="exposure", p_expose=1, offturn_exposure_discard=False, auto_forced=True,
        opening="sequential", first_laydown="free", deadlock="reshuffle_reserves", blocked="wait", shaping=10,
        shaping_gamma=0, max_turns=1, max_plays_per_turn=10, mask_false_stock_calls=True, reveal_on_false_call=True,
    )  # fmt: skip
    assert rules.deck_size == 2 * (135 + 27)


# --- The general checks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["num_player", "stocksize", "wilds", "centre", "goal", "seed"])
def test_misspelt_keys_are_refused(key):
    for call in (
        lambda: flinchenv.make("flinch-v0", **{key: 2}),
        lambda: flinchenv.make("flinch-v0", rules={key: 2}),
        lambda: flinchenv.layout("flinch-v0", **{key: 2}),
    ):
        refused(call, repr(key), "its fields", "num_players")


def test_a_misspelt_key_names_the_nearest_field():
    refused(lambda: flinchenv.make("flinch-v0", stock_sizes=2), "did you mean 'stock_size'?")


@pytest.mark.parametrize("id", ["flinch-v1", "flinch", "flinch-both-ends-v0", "flinch-Wild-v0"])
def test_unknown_ids_are_refused_with_the_nearest(id):
    for call in (flinchenv.make, flinchenv.spec, flinchenv.layout):
        refused(lambda call=call: call(id), f"id={id!r}", "flinch-")


@pytest.mark.parametrize("action", [-1, 0, 97, 139, 10**9, 96.0, "end turn", True, None, [96]], ids=repr)
def test_bad_actions_are_refused_and_nothing_changes(action):
    table = Table().put(phase="open", hands={0: [9, 9]})
    before = table.looks(0), table.looks(1), table.env.state().tobytes()
    refused(lambda: table.env.step(action), "player_0", f"action={action!r}")
    assert (table.looks(0), table.looks(1), table.env.state().tobytes()) == before
    assert table.asked == 0
    table.play("end turn")


@pytest.mark.parametrize(
    "text", ["hand", "hand 16", "hand 0", "reserve 5", "discard 1", "discard 16 to 0", "Stock", "call", "", "96"]
)
def test_unknown_action_names_are_refused(text):
    setup = flinchenv.make("flinch-v0").setup
    refused(lambda: setup.game.parse_action(setup.rules, text), f"action={text!r}", "hand 7", "discard 7 to 2")


@pytest.mark.parametrize(
    ("field", "text"),
    [("p_expose", "x"), ("p_expose", "1,5"), ("shaping", ""), ("packs", "x"), ("packs", "3"), ("num_players", "two")],
)
def test_command_line_texts_are_refused(field, text):
    from flinchenv.core.params import parse_rule

    def read():
        FlinchRules(**{field: parse_rule(FlinchRules, field, text)})

    refused(read, f"{field}=")


def test_command_line_texts():
    from flinchenv.core.params import parse_rule

    assert parse_rule(FlinchRules, "packs", "auto") == "auto"
    assert parse_rule(FlinchRules, "packs", "2") == 2
    assert parse_rule(FlinchRules, "p_expose", "0.25") == 0.25
    assert parse_rule(FlinchRules, "partnership", "true") is True
