"""Flip It: simultaneous guess and play, no chance, solvable."""

from ..core.rewards import every_seat_alone, nothing_owed
from ..core.spec import GameSpec, Kernels
from . import game, observe, rules, show


def _facts(rules):
    from .counting import count_information_sets

    count = count_information_sets(SPEC, rules)
    return {} if count is None else {"information_sets": count}


SPEC = GameSpec(
    name="flip_it",
    version=game.VERSION,
    title="Flip It",
    Rules=rules.FlipItRules,
    presets=rules.PRESETS,
    dtype=game.GAME,
    end_reasons=game.END_REASONS,
    rules_text=rules.__doc__,
    num_actions=show.num_actions,
    simultaneous=lambda rules: rules.flip_order == "simultaneous",
    layout=observe.observation_layout,
    state_layout=observe.state_layout,
    action_name=show.action_name,
    parse_action=show.parse_action,
    action_table=show.action_table,
    render_text=show.render_text,
    information_state=observe.information_state,
    facts=_facts,
    kernels=Kernels(
        deal=game.deal,
        is_asked=game.is_asked,
        fill_action_mask=game.fill_action_mask,
        masks_change=game.masks_change,
        apply_actions=game.apply_actions,
        same_side=every_seat_alone,
        settle=nothing_owed,
        fill_observation=observe.fill_observation,
        fill_observations=observe.fill_observations,
        fill_state=observe.fill_state,
        redraw_hidden=game.redraw_hidden,
        random_actions=game.random_actions,
        front=game.FRONT,
    ),
)
