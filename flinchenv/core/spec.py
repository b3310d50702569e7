"""What a game must offer: a named tuple of functions and facts, and the head that every game's record shares.

A game is played in rounds. In a round one or more seats are asked (`is_asked`), each for one action out of its mask;
when all have chosen, `apply_actions` carries the round out. A turn-based game asks one seat, `s.current_player`; a
simultaneous game may ask several, and nothing of what they chose shows before the round is carried out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

UNSET = -1  # no choice yet, in `pending`
OFFENCE = -2  # an illegal choice under illegal_action="forfeit", in `pending`

UNDEALT, RUNNING, FORFEIT, MAX_STEPS = -1, 0, 1, 2  # `end_reason`; a game's own reasons follow
FIRST_OWN_REASON = 3
COMMON_REASONS = ("", "forfeit", "max_steps")


class GameSpec(NamedTuple):
    """One game. `rules` is its frozen dataclass, `s` one record, `params` its record of rules, P = len(seats).

    `facts(rules)` gives what can be counted of a game under these rules, {name: number}, for `flinchenv rules`.

    Kernels (all compiled, `seats` a tuple of P zeros so that P is known to the compiler):
        deal(s, params, seats): a fresh game from `s.rng`; sets `current_player` and leaves the round unasked.
        is_asked(s, params, seats, player) -> bool, while the game runs.
        fill_action_mask(s, params, seats, player, mask): int8 (A,) overwritten, while the game runs.
        masks_change(s, params, seats) -> bool: whether the last round may have changed a mask; where it has not, the
            vector API does not write the masks again.
        apply_actions(s, params, seats, rewards) -> bool: carry out `s.pending`; adds to float32 (P,) `rewards`. Whether
            it may have paid anything.
        same_side(params, seats, p, q) -> bool: whether seats p and q win and lose together; without teams p == q.
        settle(s, params, seats, rewards): pay what the rules owe when the loops end the game, by a forfeit or by
            max_steps; adds to `rewards`.
        fill_observation(s, params, seats, player, observation): (D,) overwritten; reads nothing hidden from player.
        fill_observations(s, params, seats, observations): (P, D) overwritten; every seat's observation, for
            simultaneous games.
        fill_state(s, params, seats, state): (S,) overwritten; the referee's view, without pending choices.
        redraw_hidden(s, params, seats, player): draw anew, from `s.rng`, what `player` cannot know.
        random_actions(s, params, seats, counter) -> int: fill `s.pending` with uniform legal actions of the asked seats
            from the counter's stream; the number of seats that had two or more legal ids. The counter to go on with
            is `counter + P * GAMMA`.
        front: no function, but numbers: bytes at a record's front that rounds touch, by the number of players; while
            one game is played those of the next are fetched.
        turn_based: a fact, not a function: whatever the rules, one seat is asked at a time.
    """

    name: str
    version: int
    title: str
    Rules: type
    presets: dict
    dtype: np.dtype
    end_reasons: tuple  # COMMON_REASONS and the game's own
    rules_text: str
    num_actions: Callable[[Any], int]
    simultaneous: Callable[[Any], bool]
    layout: Callable[[Any], Any]
    state_layout: Callable[[Any], Any]
    action_name: Callable[[Any, int], str]
    parse_action: Callable[[Any, str], int]
    action_table: Callable[[Any], str]
    render_text: Callable[..., str]
    information_state: Callable[..., bytes]
    facts: Callable[[Any], dict]
    kernels: "Kernels"


class Kernels(NamedTuple):
    """The compiled functions of a game, as GameSpec describes them."""

    deal: Any
    is_asked: Any
    fill_action_mask: Any
    masks_change: Any
    apply_actions: Any
    same_side: Any
    settle: Any
    fill_observation: Any
    fill_observations: Any
    fill_state: Any
    redraw_hidden: Any
    random_actions: Any
    front: tuple
    turn_based: bool = False


def final_info(game, s, num_players):
    """The end-of-game facts of a finished record as plain values: what every API and replay reports."""
    return {
        "scores": [int(v) for v in s.scores[:num_players]],
        "winners": [p for p in range(num_players) if s.winners[p]],
        "end_reason": game.end_reasons[s.end_reason],
        "length": int(s.length),
        "returns": [float(v) for v in s.returns[:num_players]],
    }


def game_dtype(max_players, fields):
    """A record dtype: what all games share around the game's own fields."""
    # What every round touches comes first, what only deals and ends touch last: a round is to touch few cache lines.
    often = [
        ("rng", np.uint64),  # the game's own generator
        ("end_reason", np.int32),
        ("steps", np.int32),  # rounds carried out
        ("length", np.int32),  # in the game's own unit
        ("current_player", np.int32),  # who is asked; the first of those asked in a simultaneous round
        ("pending", np.int32, (max_players,)),  # choices of the running round
        ("truncated", np.int8),
    ]
    seldom = [
        ("seed", np.int64),
        ("episode", np.int64),
        ("returns", np.float64, (max_players,)),  # rewards summed
        ("scores", np.int32, (max_players,)),
        ("winners", np.int8, (max_players,)),
    ]
    return np.dtype((np.record, _without_gaps(np.dtype(often + fields + seldom, align=True))))


def _without_gaps(dtype):
    """The aligned dtype with its gaps as fields, so that copies are equal byte for byte and `tobytes` is a hash."""
    fields: list[tuple] = []
    end = 0
    for name in dtype.names:
        kind, start = dtype.fields[name][:2]
        if start > end:
            fields.append((f"gap_{end}", np.int8, (start - end,)))
        fields.append((name, kind.base, kind.shape) if kind.shape else (name, kind))
        end = start + kind.itemsize
    if dtype.itemsize > end:
        fields.append((f"gap_{end}", np.int8, (dtype.itemsize - end,)))
    filled = np.dtype(fields, align=True)
    assert filled.itemsize == dtype.itemsize
    return filled
