"""Every bad setting of Flash 10 is refused by name: the field, the value, and what is allowed."""

import math

import numpy as np
import pytest
from table_flash10 import contents

import flinchenv
from flinchenv.flash10.rules import Flash10Rules

TICKS = "1..1000, or 2 to 5 of them"
TIMES = ("t_flip", "t_draw", "t_place", "t_check")
RULES = [
    # field, refused value, a word of what is allowed
    *[("num_players", value, "1..5") for value in (0, -1, 6, 2.0, "2", True, None, math.nan, [2], 10**30)],
    *[("numbers", value, "10..100") for value in (9, 0, -1, 101, 50.0, "50", True, None, math.nan)],
    *[("thunders", value, "0..20") for value in (-1, 21, 5.0, "5", False, None, math.nan)],
    *[("row_len", value, "3..10") for value in (2, 0, -3, 11, 5.0, "5", True, None, math.nan)],
    *[("target_score", value, "1..1000") for value in (0, -1, 1001, 50.0, "50", True, None, math.inf)],
    *[("max_rounds", value, "1..1000") for value in (0, -1, 1001, 5.0, "5", True, None)],
    *[("max_idle_ticks", value, "0..1000") for value in (-1, 1001, 5.0, "5", True, None)],
    *[("max_ticks", value, "1..1000000") for value in (0, -1, 1_000_001, 5.0, "5", True, None)],
    *[(name, value, TICKS) for name in TIMES for value in (0, -1, 1001, 2.0, "2", True, None, math.nan)],
    *[(name, value, TICKS) for name in TIMES for value in ((), (2,), [3], (1, 2, 3, 4, 5, 6), "1,2", {1, 2})],
    *[
        (name, value, TICKS)
        for name in TIMES
        for value in ((0, 1), (1, 1001), (1, 2.0), (1, True), (1, None), ("1", 2))
    ],
    *[("p_misread", value, "0..0.5") for value in (-0.1, 0.51, 1, 2, "0.1", True, None, math.nan, math.inf, [0.1])],
    *[("row_shape", value, "'ascending', 'mountain'") for value in ("Mountain", "", None, 0, True, ["mountain"])],
    *[("stop_with_thunder", value, "True or False") for value in (1, 0, "True", None, math.nan)],
    *[("episode", value, "'match', 'round'") for value in ("rounds", None, 1)],
    *[("speed_noise", value, "True or False") for value in (1, 0, "False", None)],
    *[("priority", value, "'fair', 'fastest', 'seat_rotating'") for value in ("rotating", None, 2)],
    *[("pace", value, "'draw_and_place', 'auto_draw'") for value in ("auto", None)],
    *[("idle", value, "'limited', 'forbidden', 'free'") for value in ("none", None, False)],
    *[("false_stop", value, "'allowed', 'masked'") for value in ("forbidden", True, None)],
    *[("reward", value, "'margin', 'points', 'win'") for value in ("margins", None, 1)],
    *[("flash_scope", value, "'visible', 'prefix'") for value in ("all", None)],
    *[("floor_zero", value, "True or False") for value in (1, 0, None)],
    *[("last_card_stop", value, "True or False") for value in (1, "yes", None)],
    *[("stop_resolution", value, "'first', 'all_valid'") for value in ("all", None)],
    *[("tie", value, "'shared', 'extra_round'") for value in ("extra", None)],
    *[("peak_score", value, "'left_prefix', 'both_sides'") for value in ("left", None)],
    *[("obs_opponents", value, "'full', 'counts', 'none'") for value in ("nothing", None, False)],
    *[("obs_seen", value, "True or False") for value in (1, 0, "True", None)],
]


def refused(call, *words):
    """The call raises a ValueError whose message holds all the words."""
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert str(word) in str(caught.value), (word, str(caught.value))


@pytest.mark.parametrize(("field", "value", "allowed"), RULES, ids=lambda v: repr(v)[:20])
def test_rules_are_refused_by_field_value_and_range(field, value, allowed):
    refused(lambda: Flash10Rules(**{field: value}), f"{field}=", repr(value), allowed)
    refused(lambda: flinchenv.make("flash10-v0", **{field: value}), f"{field}=", repr(value), allowed)
    refused(lambda: flinchenv.make("flash10-v0", rules={field: value}), f"{field}=", repr(value), allowed)
    refused(lambda: flinchenv.layout("flash10-v0", **{field: value}), f"{field}=", repr(value), allowed)


def test_every_field_is_among_them():
    fields = set(Flash10Rules.__dataclass_fields__)
    assert fields == {field for field, *_ in RULES}


@pytest.mark.parametrize(("field", "lowest", "highest"), [
    ("num_players", 1, 5), ("numbers", 10, 100), ("thunders", 0, 20), ("row_len", 3, 10), ("target_score", 1, 1000),
    ("max_rounds", 1, 1000), ("max_idle_ticks", 0, 1000), ("max_ticks", 1, 1_000_000), ("p_misread", 0.0, 0.5),
    *[(name, 1, 1000) for name in TIMES],
])  # fmt: skip
def test_both_ends_of_a_range_are_taken(field, lowest, highest):
    small = {"row_len": 3} if field == "numbers" else {}
    for value in (lowest, highest):
        assert getattr(Flash10Rules(**{**small, field: value}), field) == value


@pytest.mark.parametrize("name", TIMES)
def test_a_duration_is_one_number_or_one_for_each_seat(name):
    for form in ((1, 2), [1, 2], (np.int64(1), np.int32(2))):
        assert getattr(Flash10Rules(**{name: form}), name) == (1, 2)
    assert getattr(Flash10Rules(**{name: np.int64(7)}), name) == 7
    assert getattr(Flash10Rules(**{name: (1, 2, 3, 4, 1000)}), name) == (1, 2, 3, 4, 1000), "more than there are seats"
    assert hash(Flash10Rules(**{name: [1, 2]})) == hash(Flash10Rules(**{name: (1, 2)}))


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize(("players", "form"), [(3, (1, 2)), (4, (1, 2, 3)), (5, (1, 1, 1, 1)), (5, [7, 7])])
def test_fewer_durations_than_seats_are_refused(name, players, form):
    rules = {"num_players": players, name: form}
    refused(lambda: Flash10Rules(**rules), f"{name}=", repr(form), f"num_players={players}")
    refused(lambda: flinchenv.make("flash10-v0", **rules), f"{name}=", repr(form), f"num_players={players}")


@pytest.mark.parametrize(
    "rules",
    [
        {"num_players": 5, "row_len": 10, "numbers": 50, "thunders": 0},
        {"num_players": 5, "row_len": 10, "numbers": 30, "thunders": 20},
        {"num_players": 4, "row_len": 3, "numbers": 10, "thunders": 2},
        {"num_players": 1, "row_len": 10, "numbers": 10, "thunders": 0},
    ],
    ids=str,
)
def test_one_card_at_least_is_left_for_the_middle(rules):
    cards = "numbers + thunders - num_players * row_len is 0"
    refused(lambda: Flash10Rules(**rules), "row_len=", rules["row_len"], "at least 1 card", cards)
    one_more = "thunders" if rules["thunders"] < 20 else "numbers"
    assert Flash10Rules(**{**rules, one_more: rules[one_more] + 1}).middle_size == 1


def test_tiny_is_for_few_players():
    refused(lambda: flinchenv.make("flash10-tiny-v0", num_players=5), "row_len=3", "is -2")
    assert flinchenv.make("flash10-tiny-v0", num_players=4).setup.rules.middle_size == 1


@pytest.mark.parametrize("length", [4, 6, 8, 10])
def test_a_mountain_has_an_odd_number_of_cards(length):
    rules = {"row_shape": "mountain", "row_len": length}
    refused(lambda: Flash10Rules(**rules), f"row_len={length}", "an odd number", "'mountain'")
    assert Flash10Rules(row_shape="mountain", row_len=length - 1).row_len == length - 1
    assert Flash10Rules(row_len=length).row_len == length


def test_a_mountain_of_ten_is_refused_by_default():
    refused(lambda: flinchenv.make("flash10-v0", row_shape="mountain"), "row_len=10", "an odd number")


def test_one_seat_alone_cannot_play_for_the_win():
    refused(
        lambda: Flash10Rules(num_players=1, reward="win"), "reward='win'", "'margin' or 'points'", "num_players is 1"
    )
    for reward in ("margin", "points"):
        assert Flash10Rules(num_players=1, reward=reward).reward == reward


@pytest.mark.parametrize("p_misread", [0.001, 0.5])
def test_auto_draw_knows_no_misreading(p_misread):
    rules = {"pace": "auto_draw", "p_misread": p_misread}
    refused(lambda: Flash10Rules(**rules), f"p_misread={p_misread}", "0 where pace is 'auto_draw'")
    assert Flash10Rules(pace="auto_draw", p_misread=0).p_misread == 0


def test_auto_draw_takes_every_idle_and_false_stop():
    for idle in ("limited", "forbidden", "free"):
        for false_stop in ("allowed", "masked"):
            rules = Flash10Rules(pace="auto_draw", idle=idle, false_stop=false_stop)
            assert (rules.idle, rules.false_stop) == (idle, false_stop)


def test_max_ticks_let_somebody_turn_its_cards_over():
    rules = {"idle": "free", "t_flip": (9, 8), "max_ticks": 7}
    refused(lambda: Flash10Rules(**rules), "max_ticks=7", "at least 8", "t_flip", "'free'")
    assert Flash10Rules(**{**rules, "max_ticks": 8}).max_ticks == 8
    assert Flash10Rules(**{**rules, "idle": "limited"}).max_ticks == 7
    assert Flash10Rules(**{**rules, "pace": "auto_draw"}).max_ticks == 7


@pytest.mark.parametrize("key", ["num_player", "thunder", "rowlen", "t_flips", "max_hands", "goal", "seed"])
def test_misspelt_keys_are_refused(key):
    for call in (
        lambda: flinchenv.make("flash10-v0", **{key: 2}),
        lambda: flinchenv.make("flash10-v0", rules={key: 2}),
        lambda: flinchenv.make("flash10-v0", "parallel", **{key: 2}),
        lambda: flinchenv.layout("flash10-v0", **{key: 2}),
    ):
        refused(call, repr(key), "its fields", "num_players")


def test_a_misspelt_key_names_the_nearest_field():
    refused(lambda: flinchenv.make("flash10-v0", thunder=2), "did you mean 'thunders'?")


@pytest.mark.parametrize("rules", [3, "mountain", ["num_players"], True, Flash10Rules])
def test_rules_of_a_wrong_kind_are_refused(rules):
    refused(lambda: flinchenv.make("flash10-v0", rules=rules), "rules=", "Flash10Rules")


@pytest.mark.parametrize("id", ["flash10-v1", "flash10", "flash-10-v0", "flash10-Race-v0", "flash10-thunder-stop-v0"])
def test_unknown_ids_are_refused_with_the_nearest(id):
    for call in (flinchenv.make, flinchenv.spec, flinchenv.layout):
        refused(lambda call=call: call(id), f"id={id!r}", "flash10-")


ACTIONS = [-1, 0, 9, 13, 10**9, 1.0, "draw", True, None, np.float32(10), [10], math.nan]


@pytest.mark.parametrize("action", ACTIONS, ids=repr)
def test_bad_actions_are_refused_and_nothing_changes(action):
    aec = flinchenv.make("flash10-v0")
    aec.reset(seed=1)
    before = contents(aec)
    refused(lambda: aec.step(action), "player_0", f"action={action!r}")
    assert contents(aec) == before
    assert aec.agent_selection == "player_0"
    parallel = flinchenv.make("flash10-v0", "parallel")
    parallel.reset(seed=1)
    refused(lambda: parallel.step({"player_0": 10, "player_1": action}), "player_1", f"action={action!r}")
    assert contents(parallel) == before


def test_a_slot_beyond_the_row_is_refused():
    env = flinchenv.make("flash10-devir-v0")
    env.reset(seed=1)
    for _ in range(5):
        env.step(10)
    refused(lambda: env.step(8), "player_0", "action=8 (place 8)", "0 (place 0)")


@pytest.mark.parametrize("text", ["place", "place 10", "place -1", "draws", "", "Stop", "wait 1", "10"])
def test_unknown_action_names_are_refused(text):
    setup = flinchenv.make("flash10-v0").setup
    refused(lambda: setup.game.parse_action(setup.rules, text), f"action={text!r}", "place 0", "draw", "stop", "wait")


def test_action_names_are_read_with_any_spaces():
    setup = flinchenv.make("flash10-v0").setup
    assert [setup.game.parse_action(setup.rules, text) for text in (" place  3", "draw ", "stop", "wait")] == [
        3,
        10,
        11,
        12,
    ]


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_snapshots_of_other_games_are_refused_and_nothing_changes(api):
    env = flinchenv.make("flash10-v0", api)
    env.reset(seed=1)
    before = contents(env)
    for id, options in (("flash10-round-v0", {}), ("flash10-v0", {"num_players": 3}), ("flip_it-v0", {})):
        other = flinchenv.make(id, **options)
        other.reset(seed=2)
        refused(lambda other=other: env.restore(other.snapshot()), "snapshot=", id)
    assert contents(env) == before


@pytest.mark.parametrize("field", [*TIMES, "p_misread"])
@pytest.mark.parametrize("text", ["x", "1;2", ""])
def test_command_line_texts_are_refused(field, text):
    from flinchenv.core.params import parse_rule

    refused(
        lambda: parse_rule(Flash10Rules, field, text),
        f"{field}={text!r}",
        "0..0.5" if field == "p_misread" else "1..1000",
    )


def test_command_line_texts_of_durations():
    from flinchenv.core.params import parse_rule

    assert parse_rule(Flash10Rules, "t_place", "3") == 3
    assert parse_rule(Flash10Rules, "t_place", "2,3,2") == (2, 3, 2)
    assert parse_rule(Flash10Rules, "p_misread", "0.25") == 0.25
