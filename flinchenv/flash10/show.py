"""Flash 10 for people: action names and back, and a table as text."""

from ..core.params import refuse
from ..core.spec import RUNNING
from .game import DRAW, END_REASONS, FINAL_PLACE, NUM_ACTIONS, STOP, WAIT
from .rows import NONE, THUNDER
from .rules import FLASH

_WORDS = {DRAW: "draw", STOP: "stop", WAIT: "wait"}


def num_actions(rules):
    """Discrete(13), whatever the rules."""
    return NUM_ACTIONS


def action_name(rules, action):
    """Such as "place 3", "draw", "stop" or "wait"; slots count from 0 on the left."""
    return _WORDS.get(action, f"place {action}")


def parse_action(rules, text):
    """The id of an action's name.

    Raises:
        RulesError: no such action.
    """
    for action in range(NUM_ACTIONS):
        if action_name(rules, action) == " ".join(text.split()):
            return action
    refuse("action", text, "'place 0'..'place 9', 'draw', 'stop' or 'wait'")


def action_table(rules):
    """The action ids as a Markdown table."""
    rows = [
        f"| 0-{DRAW - 1} | lay the card in hand on that slot of the own row, from the left |",
        f"| {DRAW} | draw a card from the middle |",
        f"| {STOP} | call Stop |",
        f"| {WAIT} | wait; the one id of a seat that is not asked |",
    ]
    return "\n".join(["| ids | meaning |", "|---|---|", *rows])


def card_name(card):
    """A number, with a * for a Flash card; T for a Thunder."""
    return "T" if card == THUNDER else f"{card}{'*' if card % FLASH == 0 else ''}"


def render_text(s, rules, viewer=None):
    """The table as text.

    Args:
        s: one GAME record, read only.
        viewer: a seat, which is shown what it may see; None is the referee, who sees every card in hand.
    """
    phase = "final placements" if s.phase == FINAL_PLACE else f"{s.left} in the middle"
    lines = [f"round {s.rounds + 1}, tick {s.tick}, {phase}"]
    if s.end_reason != RUNNING:
        names = ", ".join(f"player_{p}" for p in range(rules.num_players) if s.winners[p])
        reason = END_REASONS[s.end_reason]
        lines = [f"over after {s.rounds} rounds and {s.length} ticks: {reason}; won by {names or 'nobody'}"]
    elif s.rounds:
        lines.append("last round " + ", ".join(f"player_{p} {s.gains[p]:+d}" for p in range(rules.num_players)))
    for p in range(rules.num_players):
        cards = " ".join(f"{card_name(card):>3}" for card in s.row[p, : rules.row_len].tolist())
        line = f"player_{p}  points {s.scores[p]:>3}  {cards}"
        if s.held[p] != NONE:
            line += f"  holds {card_name(int(s.held[p])) if viewer in (None, p) else '?'}"
        if s.end_reason == RUNNING and s.phase != FINAL_PLACE and s.ready_at[p] > s.tick:
            hidden = rules.speed_noise and viewer not in (None, p)
            line += "  busy" if hidden else f"  busy for {s.ready_at[p] - s.tick}"
        if (s.right | s.false) >> p & 1:
            line += "  Stop" if s.right >> p & 1 else "  false Stop"
        lines.append(line)
    return "\n".join(lines)
