"""Print the games' pages, docs/<game>.md, and docs/results/agents.md from the code: `python docs/make.py`.

A game's page holds rules, settings, presets, action ids, observation and state tables; that of the trained agents is
made of their cards.
"""

import dataclasses
import json
from pathlib import Path

import flinchenv
from flinchenv.agents.shipped import FOLDER as AGENTS
from flinchenv.envs.setup import make_setup

FOLDER = Path(__file__).parent


def games():
    """The games, in the order of their first id."""
    return list(dict.fromkeys(flinchenv.spec(id).game for id in flinchenv.list_envs()))


def page(game_name):
    """A game's page."""
    ids = [id for id in flinchenv.list_envs() if flinchenv.spec(id).game == game_name]
    game = flinchenv.spec(ids[0]).game_spec
    first = make_setup(ids[0])
    parts = [
        f"# {game.title}",
        "This page is printed from the code by `python docs/make.py`; a test compares it.",
        "## Rules",
        f"```text\n{game.rules_text.strip()}\n```",
        "## Settings",
        settings_table(game),
        "## Ids",
        ids_table(ids),
        f"## Actions and observations of {ids[0]} ({first.num_players} players)",
        f"`flinchenv layout ID` prints the same for any id and setting.\n\n### Actions: Discrete({first.num_actions})",
        game.action_table(first.rules),
        f"### Observation: int8 ({first.layout.size},)",
        first.layout.table(),
        f"### State, the referee's view: int8 ({first.state_layout.size},)",
        first.state_layout.table(),
        "## Ends",
        "`end_reason` is one of " + ", ".join(f'"{r}"' for r in game.end_reasons if r) + ".",
    ]
    return "\n\n".join(parts) + "\n"


def settings_table(game):
    """Every field of the rules, its default and what it allows."""
    rows = ["| field | default | allowed | meaning |", "|---|---|---|---|"]
    for f in dataclasses.fields(game.Rules):
        allowed = f.metadata["kind"].allowed().replace("|", "\\|")
        rows.append(f"| {f.name} | {f.default!r} | {allowed} | {f.metadata['doc']} |")
    return "\n".join(rows)


def ids_table(ids):
    """Every id, what its preset changes, and what is counted of it."""
    specs = [flinchenv.spec(id) for id in ids]
    facts = [spec.game_spec.facts(spec.rules) for spec in specs]
    names = list(dict.fromkeys(name for fact in facts for name in fact))
    head = ["id", "changes", *(name.replace("_", " ") for name in names)]
    rows = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for spec, fact in zip(specs, facts):
        changes = ", ".join(f"{k}={v!r}" for k, v in spec.game_spec.presets[spec.preset].items()) or "none"
        cells = [spec.id, changes, *(f"{fact[name]:,}" if name in fact else "-" for name in names)]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def agents_page():
    """The page of the package's trained agents."""
    cards = {path.stem: json.loads(path.read_text()) for path in sorted(AGENTS.glob("*.json"))}
    parts = [
        "# Trained agents of the package",
        "This page is printed from the agents' cards by `python docs/make.py`; a test compares it.",
        '`load("flinch-2p", env)` plays them without torch. Their cards in `agents/checkpoints` have all settings and '
        "the hash of the rules. Win rates are against the named bot in all other seats, seats rotated, on deals from "
        "seed 2^31 on, with 95 % intervals; one half is even. `python -m flinchenv.experiments.ship AGENT NAME` "
        "measures an agent so and writes it.",
        "\n".join(f"- {name} {standing(card)}" for name, card in cards.items()),
        *(agent_section(name, card) for name, card in cards.items()),
    ]
    return "\n\n".join(parts) + "\n"


def standing(card):
    """How an agent does against the best rule bot, in words."""
    rows = [row for row in card["training"]["opponents"] if row["name"].startswith("rule")]
    hardest = min(rows, key=lambda row: row["win_rate"])
    low, high = hardest["ci95"]
    word = "beats" if low > 0.5 else "loses to" if high < 0.5 else "is level with"
    return f"{word} {hardest['name']}, the rule bot that does best against it ({hardest['win_rate']:.3f})"


def agent_section(name, card):
    """How an agent was trained and what it wins."""
    training = card["training"]
    rows = ["| against | games | win rate |", "|---|---|---|"]
    for row in training["opponents"]:
        low, high = row["ci95"]
        rows.append(f"| {row['name']} | {row['games']:,} | {row['win_rate']:.3f} [{low:.3f}, {high:.3f}] |")
    place = f"place {training['place']} of {len(training['opponents']) + 1}"
    play = "; takes the most probable action" if card["network"].get("greedy") else ""
    unit = "rounds" if training["settings"]["trainer"] == "td" else "steps"
    facts = (
        f"{card['env']}, {card['rules']['num_players']} players; {training['steps']:,} {unit}, {training['minutes']} "
        f"minutes on one core that other jobs shared; {place}{play}."
    )
    commands = [f"```bash\n{training['command']}\n```"]
    if begun_with := training.get("begun_with"):
        first = f"It began with a run of {begun_with['steps']:,} steps and {begun_with['minutes']} minutes:"
        commands = [first, f"```bash\n{begun_with['command']}\n```", "and went on:", *commands]
    return "\n\n".join([f"## {name}", facts, *commands, "\n".join(rows)])


def main():
    """Write every page."""
    (FOLDER / "results" / "agents.md").write_text(agents_page())
    for name in games():
        (FOLDER / f"{name}.md").write_text(page(name))


if __name__ == "__main__":
    main()
