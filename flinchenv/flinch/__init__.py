"""Flinch: a race of Stockpiles for two to eight, with Reserve Piles to remember and calls to bluff through."""

from ..core.spec import GameSpec, Kernels
from . import ending, game, hidden, moves, observe, rules, show


def _facts(rules):
    stack = rules.deck_size - rules.num_players * (rules.stock_size + rules.hand_size)
    return {"cards": rules.deck_size, "stack after the deal": stack}


SPEC = GameSpec(
    name="flinch",
    version=game.VERSION,
    title="Flinch",
    Rules=rules.FlinchRules,
    presets=rules.PRESETS,
    dtype=game.GAME,
    end_reasons=ending.END_REASONS,
    rules_text=rules.__doc__,
    num_actions=show.num_actions,
    simultaneous=lambda rules: False,
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
        fill_action_mask=moves.fill_action_mask,
        masks_change=game.masks_change,
        apply_actions=game.apply_actions,
        same_side=ending.same_side,
        settle=ending.settle,
        fill_observation=observe.fill_observation,
        fill_observations=observe.fill_observations,
        fill_state=observe.fill_state,
        redraw_hidden=hidden.redraw_hidden,
        random_actions=moves.random_actions,
        front=game.FRONT,
        turn_based=True,
    ),
)
