"""One peer's game, measured on request; run by peers.py in the peers' own interpreter, which has no flinchenv.

    python peer_worker.py KIND GAME BATCH

The first line out is {"version", "observation_bytes", "mask_width", "players"}, or {"missing": why}. Then each number
of seconds that comes in is answered by {"decisions", "games", "seconds"}. A decision is a seat asked with at least two
legal ids. Random legal actions are drawn outside the timed part, and what an API gives by itself, observations, masks,
the next deal, is inside it.
"""

import json
import os
import random
import sys
import time
from importlib.metadata import PackageNotFoundError, version

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np


def openspiel_state(game, batch):
    """`pyspiel` states driven from Python: tensor, mask and apply_action; chance nodes are drawn in the timed part."""
    import pyspiel

    game = pyspiel.load_game(game)
    tensor = "information_state_tensor" if game.get_type().provides_information_state_tensor else "observation_tensor"
    size = int(np.prod(getattr(game, f"{tensor}_shape")()))
    facts = {"observation_bytes": 4 * size, "mask_width": game.num_distinct_actions(), "players": game.num_players()}
    state = None

    def advance(state):
        """On to a decision or the end; what a learner is shown there."""
        while state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes())
            state.apply_action(random.choices(outcomes, chances)[0])
        if not state.is_terminal():
            getattr(state, tensor)(state.current_player())
            state.legal_actions_mask()

    def measure(seconds):
        nonlocal state
        decisions, games, spent = 0, 0, 0.0
        while spent < seconds:
            if state is None or state.is_terminal():
                games += state is not None
                begin = time.perf_counter()
                state = game.new_initial_state()
                advance(state)
                spent += time.perf_counter() - begin
            legal = state.legal_actions()
            decisions += len(legal) > 1
            action = random.choice(legal)
            begin = time.perf_counter()
            state.apply_action(action)
            advance(state)
            spent += time.perf_counter() - begin
        return decisions, games, spent

    return facts | {"package": "open_spiel"}, measure


def openspiel_rl(game, batch):
    """`open_spiel.python.rl_environment`, one step a call."""
    from open_spiel.python import rl_environment

    env = rl_environment.Environment(game)
    step = env.reset()
    facts = {
        "package": "open_spiel",
        "observation_bytes": np.asarray(step.observations["info_state"][0]).nbytes,
        "mask_width": env.action_spec()["num_actions"],
        "players": env.num_players,
    }

    def measure(seconds):
        nonlocal step
        decisions, games, spent = 0, 0, 0.0
        while spent < seconds:
            if step.last():
                games += 1
                begin = time.perf_counter()
                step = env.reset()
                spent += time.perf_counter() - begin
            legal = step.observations["legal_actions"][step.observations["current_player"]]
            decisions += len(legal) > 1
            action = [random.choice(legal)]
            begin = time.perf_counter()
            step = env.step(action)
            spent += time.perf_counter() - begin
        return decisions, games, spent

    return facts, measure


def rlcard(game, batch):
    """`rlcard.make(game)`: reset() and step(action)."""
    import rlcard

    env = rlcard.make(game)
    state = env.reset()[0]
    facts = {
        "package": "rlcard",
        "observation_bytes": state["obs"].nbytes,
        "mask_width": env.num_actions,
        "players": env.num_players,
    }

    def measure(seconds):
        nonlocal state
        decisions, games, spent = 0, 0, 0.0
        while spent < seconds:
            if env.is_over():
                games += 1
                begin = time.perf_counter()
                state = env.reset()[0]
                spent += time.perf_counter() - begin
            legal = list(state["legal_actions"])
            decisions += len(legal) > 1
            action = random.choice(legal)
            begin = time.perf_counter()
            state = env.step(action)[0]
            spent += time.perf_counter() - begin
        return decisions, games, spent

    return facts, measure


def pettingzoo(game, batch):
    """`pettingzoo.classic`, game as module:function, say leduc_holdem_v4:raw_env: last() and step()."""
    import importlib

    module, _, name = game.partition(":")
    env = getattr(importlib.import_module(f"pettingzoo.classic.{module}"), name)()
    env.reset(seed=0)
    observation = env.last()[0]
    facts = {
        "package": "pettingzoo",
        "observation_bytes": observation["observation"].nbytes,
        "mask_width": len(observation["action_mask"]),
        "players": len(env.possible_agents),
    }

    def measure(seconds):
        decisions, games, spent = 0, 0, 0.0
        while spent < seconds:
            begin = time.perf_counter()
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                games += 1
                env.reset()
                observation = env.last()[0]
            spent += time.perf_counter() - begin
            legal = np.flatnonzero(observation["action_mask"])
            decisions += len(legal) > 1
            action = int(random.choice(legal))
            begin = time.perf_counter()
            env.step(action)
            spent += time.perf_counter() - begin
        return decisions, games, spent

    return facts, measure


def envpool(game, batch):
    """`envpool.make`, synchronous, one worker thread; a finished row's next step deals it anew."""
    import envpool

    env = envpool.make(game, env_type="gymnasium", num_envs=batch, num_threads=1, seed=0)
    observation, info = env.reset()
    mask, over = info["legal_action_mask"], np.zeros(batch, bool)
    facts = {
        "package": "envpool",
        "observation_bytes": observation[0].nbytes,
        "mask_width": mask.shape[1],
        "players": len(info["players"]["id"]) // batch,
    }
    rng = np.random.default_rng(0)

    def measure(seconds):
        nonlocal mask, over
        decisions, games, spent = 0, 0, 0.0
        while spent < seconds:
            actions = np.where(mask, rng.random(mask.shape, np.float32), -1).argmax(1).astype(np.int32)
            decisions += int(((mask.sum(1) > 1) & ~over).sum())
            begin = time.perf_counter()
            _, _, terminated, truncated, info = env.step(actions)
            spent += time.perf_counter() - begin
            mask, over = info["legal_action_mask"], terminated | truncated
            games += int(over.sum())
        return decisions, games, spent

    return facts, measure


def pgx(game, batch):
    """`pgx.make`, `jax.vmap` and `jax.jit` over step with auto-reset; keys and actions are drawn before the clock."""
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(game)
    step = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    keys = jax.random.split(jax.random.PRNGKey(0), batch)
    state = jax.jit(jax.vmap(env.init))(keys)
    key = jax.random.PRNGKey(1)

    @jax.jit
    def draw(key, mask):
        key, of_action, of_step = jax.random.split(key, 3)
        noise = jax.random.uniform(of_action, mask.shape)
        actions = jax.numpy.where(mask, noise, -1).argmax(1)
        return key, actions, jax.random.split(of_step, batch), (mask.sum(1) > 1).sum()

    facts = {
        "package": "pgx",
        "observation_bytes": state.observation[0].nbytes,
        "mask_width": state.legal_action_mask.shape[1],
        "players": env.num_players,
    }

    def measure(seconds):
        nonlocal key, state
        decisions, games, spent = 0, 0, 0.0
        while spent < seconds:
            key, actions, keys, asked = jax.block_until_ready(draw(key, state.legal_action_mask))
            decisions += int(asked)
            begin = time.perf_counter()
            state = jax.block_until_ready(step(state, actions, keys))
            spent += time.perf_counter() - begin
            games += int((state.terminated | state.truncated).sum())
        return decisions, games, spent

    return facts, measure


KINDS = {f.__name__: f for f in (openspiel_state, openspiel_rl, rlcard, pettingzoo, envpool, pgx)}


def main():
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries greet on stdout
    kind, game, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        facts, measure = KINDS[kind](game, batch)
        facts["version"] = version(facts["package"])
    except (ImportError, PackageNotFoundError) as error:
        answers.write(json.dumps({"missing": str(error)}) + "\n")
        return
    answers.write(json.dumps(facts) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(dict(zip(("decisions", "games", "seconds"), measure(float(line))))) + "\n")


if __name__ == "__main__":
    main()
