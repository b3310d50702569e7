"""What tests of all games at once know of each: its ids, its doors and the rules that show most of it."""

from typing import Any, NamedTuple

import pytest

import flinchenv
from flinchenv import flash10_v0, flinch_v0, flip_it_v0
from flinchenv.core.params import RulesError
from flinchenv.envs.setup import make_setup


class Game(NamedTuple):
    """One game.

    Attributes:
        doors: its `<game>_v<N>` module.
        players: numbers of players of its first id.
        options: rules under which it takes other ways than its ids do, each with `num_players` and short.
        long: rules that make random games of any of its ids last for more than `longest` choices.
        even: rules under which the first rounds of any of its ids ask every seat.
        deep: rules of its first id under which random play does not end at once.
    """

    doors: Any
    players: tuple
    options: tuple
    long: dict
    even: dict
    deep: dict
    longest: int = 2000


GAMES = {
    "flinch": Game(
        doors=flinch_v0,
        players=(2, 3, 4),
        options=(
            {
                "num_players": 3,
                "duty_mode": "challenge",
                "challenge_window": "every_action",
                "reveal_on_false_call": True,
            },
            {
                "num_players": 4,
                "partnership": True,
                "duty_mode": "challenge",
                "call_priority": "random",
                "penalty_card": "hidden_random",
                "empty_by_penalty_wins": False,
                "n_wild": 4,
                "center": "both_ends",
                "obs_reserve": "full",
                "stock_size": 4,
                "p_expose": 0.2,
                "illegal_move": "exposure",
            },
            {
                "num_players": 2,
                "center": "eights",
                "eights_removal": "on_15",
                "recycle": "immediate",
                "opening": "sequential",
                "first_laydown": "free",
                "deadlock": "fewest_stock",
                "reward": "stock_margin",
                "shaping": 0.5,
                "auto_forced": True,
            },
            {
                "num_players": 3,
                "num_ranks": 5,
                "series_per_pack": 4,
                "stock_size": 2,
                "hand_size": 3,
                "reserve_piles": 2,
                "deadlock": "reshuffle_reserves",
                "blocked": "wait",
                "refill": "immediate",
                "obs_reserve": "full",
            },
            {"num_players": 2, "duty_mode": "honour", "opening": "encyclopedia", "max_turns": 12, "shaping": 1.0},
        ),
        long={
            "stock_size": 20,
            "series_per_pack": 20,
            "packs": 2,
            "num_ranks": 15,
            "duty_mode": "honour",
            "deadlock": "reshuffle_reserves",
            "max_turns": 10**6,
        },
        even={},
        deep={},
        longest=500,
    ),
    "flip_it": Game(
        doors=flip_it_v0,
        players=(2, 3, 4),
        options=(
            {"num_players": 4, "actions": "joint", "play_cards": "consumed", "obs_history": 4},
            {"num_players": 3, "no_guess_cards": "continue", "loser_guess": "discard", "goal": ("hands", 25)},
            {"num_players": 3, "scoring": "capture", "capture_multi": "share", "reward": "win"},
            {
                "num_players": 4,
                "flip_order": "sequential",
                "no_guess_cards": "continue",
                "loser_guess": "discard",
                "obs_history": 3,
                "goal": ("hands", 12),
            },
        ),
        long={"goal": ("hands", 1500), "max_hands": 1500, "no_guess_cards": "continue", "scoring": "capture"},
        even={"goal": ("hands", 50)},
        deep={},
    ),
    "flash10": Game(
        doors=flash10_v0,
        players=(1, 2, 3, 4, 5),
        options=(
            {"num_players": 1, "pace": "auto_draw", "numbers": 40, "row_len": 4, "max_rounds": 3},
            {"num_players": 3, "pace": "auto_draw", "t_check": 3, "priority": "seat_rotating", "max_rounds": 4},
            {
                "num_players": 5,
                "pace": "auto_draw",
                "row_len": 4,
                "speed_noise": True,
                "t_flip": 7,
                "t_draw": 2,
                "t_place": (2, 3, 2, 5, 2),
                "priority": "fastest",
                "max_rounds": 3,
            },
            {
                "num_players": 2,
                "false_stop": "masked",
                "t_flip": (1, 9),
                "t_draw": (1, 3),
                "t_place": (4, 1),
                "numbers": 30,
                "row_len": 5,
                "idle": "free",
                "max_ticks": 60,
                "max_rounds": 3,
                "last_card_stop": True,
            },
            {
                "num_players": 5,
                "row_len": 8,
                "numbers": 70,
                "false_stop": "masked",
                "speed_noise": True,
                "t_flip": (3, 30, 3, 12, 1),
                "t_draw": 2,
                "t_place": (2, 3, 2, 3, 2),
                "obs_opponents": "counts",
                "obs_seen": True,
                "max_rounds": 2,
            },
            {
                "num_players": 3,
                "false_stop": "masked",
                "idle": "forbidden",
                "p_misread": 0.4,
                "numbers": 40,
                "thunders": 4,
                "reward": "win",
                "obs_opponents": "none",
                "max_rounds": 3,
            },
            {
                "num_players": 2,
                "row_shape": "mountain",
                "row_len": 5,
                "numbers": 20,
                "stop_with_thunder": True,
                "stop_resolution": "all_valid",
                "peak_score": "both_sides",
                "tie": "extra_round",
                "floor_zero": True,
                "reward": "points",
                "target_score": 8,
            },
            {"num_players": 4, "episode": "round", "t_flip": (1, 2, 3, 4), "max_idle_ticks": 0},
        ),
        long={"false_stop": "masked", "episode": "match", "target_score": 1000, "max_rounds": 1000},
        even={"false_stop": "masked", "episode": "match", "t_flip": 1, "t_draw": 1, "t_place": 1, "speed_noise": False},
        deep={"false_stop": "masked"},
    ),
}


def game_of(id):
    """The `Game` that an id belongs to."""
    return GAMES[flinchenv.spec(id).game]


def ids_of(game):
    """The ids of a game, by its name."""
    return [id for id in flinchenv.list_envs() if flinchenv.spec(id).game == game]


def playable(cases):
    """Those of some (id, options) that the rules allow."""

    def allows(id, options):
        try:
            return bool(make_setup(id, None, options))
        except RulesError:
            return False

    return [case for case in cases if allows(*case)]


def first_id(game):
    """The id that a game's `options` and `deep` are meant for."""
    return ids_of(game)[0]


OPTION_CASES = [(first_id(name), options) for name, game in GAMES.items() for options in game.options]
FIRST_CASES = [(first_id(name), {"num_players": n}) for name, game in GAMES.items() for n in game.players]


def over(cases):
    """Parametrize a test over (id, options), with short names."""
    names = [" ".join([id, *(f"{k}={v}" for k, v in options.items())])[:60] for id, options in cases]
    return pytest.mark.parametrize(("id", "options"), cases, ids=names)


def simultaneous(id, options):
    """Whether the id is a simultaneous game under these rules."""
    return make_setup(id, None, options).simultaneous
