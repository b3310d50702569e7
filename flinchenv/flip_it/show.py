"""Flip It for people: action names and back, and a table as text."""

from ..core.params import refuse
from ..core.spec import RUNNING
from .game import END_REASONS, NUM_GUESSES, NUM_JOINT, NUM_PHASED, NUM_PLAYS, PLAY, PLAYING


def num_actions(rules):
    """Discrete(27) for phased actions, Discrete(126) for joint ones, whatever the other rules."""
    return NUM_JOINT if rules.actions == "joint" else NUM_PHASED


def action_name(rules, action):
    """Such as "guess 7", "play 3" or, joint, "guess 7 play 3"."""
    if rules.actions == "joint":
        return f"guess {action // NUM_PLAYS} play {action % NUM_PLAYS}"
    return f"guess {action}" if action < PLAY else f"play {action - PLAY}"


def parse_action(rules, text):
    """The id of an action's name.

    Raises:
        RulesError: no such action under these rules.
    """
    for action in range(num_actions(rules)):
        if action_name(rules, action) == " ".join(text.split()):
            return action
    refuse("action", text, f"a name such as {action_name(rules, num_actions(rules) - 1)!r}")


def action_table(rules):
    """The action ids as a Markdown table."""
    if rules.actions == "joint":
        rows = [f"| 0-{NUM_JOINT - 1} | 6 * guess + play: set guess 0-20 aside and play 0-5 |"]
    else:
        rows = [
            f"| 0-{NUM_GUESSES - 1} | set the Guess Card of that number aside |",
            f"| {PLAY}-{NUM_PHASED - 1} | play the card of value id - {PLAY} |",
        ]
    return "\n".join(["| ids | meaning |", "|---|---|", *rows])


def _cards(bits):
    return " ".join(str(k) for k in range(NUM_GUESSES) if bits >> k & 1) or "none"


def _choices(past):
    """(guess or None, play) out of a past hand's bits."""
    guesses = [g for g in range(NUM_GUESSES) if past >> g & 1]
    return (guesses[0] if guesses else None), int(past >> PLAY).bit_length() - 1


def render_text(s, rules, viewer=None):
    """The table as text.

    Args:
        s: one GAME record, read only.
        viewer: a seat, which is shown what it may see; None is the referee, who sees every guess set aside.
    """
    lines = [f"hand {s.hands + 1}, {'play' if s.phase == PLAYING else 'guess'}"]
    if s.end_reason != RUNNING:
        names = ", ".join(f"player_{p}" for p in range(rules.num_players) if s.winners[p])
        lines = [f"over after {s.hands} hands: {END_REASONS[s.end_reason]}; won by {names or 'nobody'}"]
    last = [_choices(s.past[(s.hands - 1) & rules.kernel_values()["past_mask"], p]) for p in range(rules.num_players)]
    for p in range(rules.num_players):
        line = f"player_{p}  points {s.scores[p]}  guess cards {_cards(s.guess_cards[p])}"
        if rules.play_cards == "consumed":
            line += f"  play cards {_cards(s.play_cards[p])}"
        if s.hands:
            guess, play = last[p]
            line += f"  last: guess {'none' if guess is None else guess} play {play}"
            line += f" +{s.gains[p]}" if s.won[p] else ""
        if s.guess[p] >= 0:
            line += f"  set aside {s.guess[p] if viewer in (None, p) else '?'}"
        if s.play[p] >= 0:
            line += f"  flipped {s.play[p]}"
        lines.append(line)
    if s.hands:
        lines.insert(1, f"last total {sum(play for _, play in last)}")
    return "\n".join(lines)
