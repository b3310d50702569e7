"""Write the golden playthroughs: one random game an id, a line a choice, readable in a review.

    python tests/golden/playthrough.py

A file that would change is written only if the game's VERSION has grown since: results that change need a new version.
"""

import hashlib
import random
import sys
from pathlib import Path

import numpy as np

import flinchenv

FOLDER = Path(__file__).parent
CASES = {id: (id, {}) for id in flinchenv.list_envs()}
CASES |= {
    "flip_it-v0 4 players joint": ("flip_it-v0", {"num_players": 4, "actions": "joint", "play_cards": "consumed"}),
    "flip_it-capture-v0 3 players": ("flip_it-capture-v0", {"num_players": 3, "capture_multi": "share"}),
    "flip_it-sequential-v0 3 players": ("flip_it-sequential-v0", {"num_players": 3}),
}
LONG = {"false_stop": "masked"}  # else random play stops nearly every round at once
SMALL = {"row_len": 5, "numbers": 30, "thunders": 4}
CASES |= {
    "flash10-v0 alone": ("flash10-v0", {"num_players": 1, "episode": "round", "obs_seen": True, **LONG}),
    "flash10-v0 3 players": ("flash10-v0", {"num_players": 3, "idle": "forbidden", "max_rounds": 2, **SMALL, **LONG}),
    "flash10-v0 5 players misread": (
        "flash10-v0",
        {"num_players": 5, "p_misread": 0.2, "idle": "free", "obs_opponents": "none", "max_rounds": 5},
    ),
    "flash10-v0 4 players auto draw": (
        "flash10-v0",
        {"num_players": 4, "pace": "auto_draw", "t_check": 2, "priority": "seat_rotating", "max_rounds": 5, **SMALL},
    ),
    "flash10-race-v0 5 players": (
        "flash10-race-v0",
        {"num_players": 5, "priority": "fastest", "obs_opponents": "counts", "max_rounds": 2, **SMALL, **LONG},
    ),
    "flash10-mountain-v0 short rows": (
        "flash10-mountain-v0",
        {"peak_score": "both_sides", "stop_resolution": "all_valid", "target_score": 5, **SMALL, **LONG},
    ),
    "flash10-tiny-v0 alone": ("flash10-tiny-v0", {"num_players": 1, "last_card_stop": True, **LONG}),
}
CASES |= {
    "flinch-v0 4 players full recall": ("flinch-v0", {"num_players": 4, "obs_reserve": "full", "shaping": 0.5}),
    "flinch-v0 3 players scarce": (
        "flinch-v0",
        {"num_players": 3, "num_ranks": 5, "series_per_pack": 4, "stock_size": 2, "hand_size": 3},
    ),
    "flinch-challenge-v0 3 players every action": (
        "flinch-challenge-v0",
        {"num_players": 3, "challenge_window": "every_action", "penalty_card": "bottom", "stock_size": 4},
    ),
    "flinch-partnership-v0 wilds both ends": (
        "flinch-partnership-v0",
        {"center": "both_ends", "n_wild": 9, "opening": "sequential", "first_laydown": "free", "stock_size": 3},
    ),
    "flinch-eights-v0 on 15 honour": (
        "flinch-eights-v0",
        {"eights_removal": "on_15", "duty_mode": "honour", "recycle": "immediate", "reward": "stock_margin"},
    ),
}
TABLES = ("flash10", "flinch")  # games whose choices say little without the table they meet
SEED, MAX_LINES = 2026, 320


def playthrough(name):
    """The text of one game: every choice by name, what it earned, and a hash of all that every seat saw."""
    id, options = CASES[name]
    env = flinchenv.make(id, **options)
    setup, rng = env.setup, random.Random(SEED)
    lines = [
        f"# {name}",
        f"version {setup.game.version}, seed {SEED}, observation {setup.layout.size}, actions {setup.num_actions}",
    ]
    env.reset(seed=SEED)
    tables = setup.game.name in TABLES
    if tables:
        lines.append(setup.game.render_text(env._games[0], setup.rules))
    while env.agents and sum(text.count("\n") + 1 for text in lines) < MAX_LINES:
        agent = env.agent_selection
        observation, _, over, cut, _ = env.last()
        if over or cut:
            env.step(None)
            continue
        seen = (
            b"".join(part.tobytes() for a in env.possible_agents for part in env.observe(a).values())
            + env.state().tobytes()
        )
        action = rng.choice(np.flatnonzero(observation["action_mask"]).tolist())
        steps = int(env._games[0].steps)
        env.step(action)
        paid = " ".join(f"{env.rewards[a]:+.2f}" for a in env.possible_agents)
        digest = hashlib.sha256(seen).hexdigest()[:8]
        lines.append(f"{agent} {setup.game.action_name(setup.rules, action)} | {paid} | {digest}")
        if all(env.terminations.values()):
            final = setup.final_info(env._games[0])
            lines.append(f"end: {final['end_reason']}, scores {final['scores']}, winners {final['winners']}")
        moved_on = env._games[0].steps > steps and (setup.simultaneous or env.agent_selection != agent)
        if all(env.terminations.values()) or (tables and moved_on):
            lines.append(setup.game.render_text(env._games[0], setup.rules))
    return "\n".join(lines) + "\n"


def file_of(name):
    """Where a case's playthrough stands."""
    return FOLDER / (name.replace(" ", "_") + ".txt")


def stated_version(text):
    """The game version in a playthrough's second line."""
    return int(text.splitlines()[1].split()[1].rstrip(","))


def main():
    """Write new and newly versioned files; refuse others that would change."""
    refused = []
    for name in CASES:
        text, file = playthrough(name), file_of(name)
        if file.exists() and file.read_text() != text and stated_version(text) <= stated_version(file.read_text()):
            refused.append(file.name)
        else:
            file.write_text(text)
    if refused:
        sys.exit(f"these would change without a new VERSION in game.py: {', '.join(refused)}")


if __name__ == "__main__":
    main()
