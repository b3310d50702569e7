"""Information-set Monte Carlo tree search for turn-based play: one tree over action histories, a fresh deal a step.

Single-observer ISMCTS (Cowling, Powley, Whitehouse 2012): every simulation goes down the tree in a determinised game
of its own, choosing by UCB1 among the actions that are legal there, with the count of simulations in which an action
was available in place of its parent's visits. A node's first new child is what the rollout policy does there.
"""

import functools

import numpy as np

from flinchenv.core.kernel import helper
from flinchenv.core.rng import GAMMA, below, mix
from flinchenv.core.spec import RUNNING

from .policy import bot_kernel
from .search_playouts import NONE, playout_kernels

EXPLORATION = 0.7  # of UCB1, in units of the spread of the values met so far
MOST_NODES = 2**17  # a tree that is full grows no further
NODE = np.dtype(
    [
        ("parent", np.int32),
        ("first", np.int32),  # child, or NONE
        ("next", np.int32),  # sibling, or NONE
        ("action", np.int32),
        ("player", np.int32),  # who took it
        ("visits", np.int32),
        ("available", np.int32),
        ("total", np.float64),  # of the values to `player`
    ]
)


class TreeSearch:
    """ISMCTS; the opponents' choices in the tree are theirs, by what each deal gives them.

    Args:
        playouts: `Playouts`.
    """

    def __init__(self, playouts):
        self.playouts = playouts
        setup = playouts.setup
        self._grow = tree_kernel(setup.game.kernels, setup.loops, playouts.policy, setup.game.name == "flinch")

    def search(self, view, legal, budget):
        """1 for the action visited most, the better mean among equals; see `FlatSearch.search`."""
        out, setup = self.playouts, self.playouts.setup
        nodes = np.zeros(256, NODE)
        nodes["first"] = nodes["next"] = NONE
        size, bounds = 1, np.array([np.inf, -np.inf])
        values, (rewards, mask) = np.zeros(setup.num_players), out.scratch(1)
        budget.stage(1)
        while n := budget.chunk(1):
            if size + n > len(nodes) and len(nodes) < MOST_NODES:
                more = np.zeros(len(nodes) + n, NODE)
                more["first"] = more["next"] = NONE
                nodes = np.concatenate([nodes, more])
            seed = budget.next_seed()
            size = self._grow(
                view.determinize(n, seed), out.params, out.seats, out.horizon, setup.max_steps, out.outlook, out.point,
                out.counters(seed // 2 + np.arange(n)), nodes, size, bounds, values, rewards[0], mask[0],
            )  # fmt: skip
            budget.spend(n)
        children = nodes[1:size][nodes["parent"][1:size] == 0]
        best = max(children, key=lambda node: (node["visits"], node["total"] / max(1, node["visits"])))
        return (legal == best["action"]).astype(float)


@functools.cache
def tree_kernel(game, loops, policy, is_flinch):
    """A kernel that plays determinised games (n,), one simulation each, and grows the tree; its new size."""
    fill_action_mask, play_round = game.fill_action_mask, loops.play_round
    playouts = playout_kernels(game, loops, policy, is_flinch)
    choose, draw_round, run = playouts.choose, playouts.draw_round, playouts.run

    @helper
    def descend(nodes, node, mask, spread):
        """(the best of a node's children that are legal, or NONE; how many legal ids have no child).

        The children are struck off the mask.
        """
        best, chosen = -np.inf, NONE
        child = np.int64(nodes[node].first)
        while child != NONE:
            c = nodes[child]
            if mask[c.action]:
                mask[c.action] = 0
                c.available += 1
                score = np.inf
                if c.visits > 0:
                    score = c.total / c.visits + EXPLORATION * spread * np.sqrt(np.log(c.available) / c.visits)
                if score > best:
                    best, chosen = score, child
            child = np.int64(c.next)
        untried = 0
        for a in range(len(mask)):
            untried += mask[a]
        return chosen, untried

    @helper
    def new_child(nodes, node, size, action, player):
        """Add a child in the place `size`."""
        c = nodes[size]
        c.parent, c.action, c.player, c.available = node, action, player, 1
        c.next = nodes[node].first
        nodes[node].first = size

    def grow(
        games, rules, seats, horizon, max_steps, outlook, point, counters, nodes, size, bounds, values, rewards, mask
    ):  # fmt: skip
        params = rules[0]
        for i in range(len(games)):
            s = games[i]
            node, grown, depth = 0, False, 0
            counter = counters[i]
            while s.end_reason == RUNNING and not grown and depth < horizon:
                p = np.int64(s.current_player)
                counter = draw_round(s, params, seats, counter) + GAMMA
                fill_action_mask(s, params, seats, p, mask)
                wanted = choose(s, params, seats, p, mask, mix(counter))
                spread = max(bounds[1] - bounds[0], 0.0) if i > 0 or size > 2 else 1.0
                child, untried = descend(nodes, node, mask, spread)
                if untried > 0 and size == len(nodes):
                    if child == NONE:
                        break
                elif untried > 0:
                    if wanted < 0 or mask[wanted] == 0:
                        k = below(counter + np.uint64(1), untried)
                        wanted = 0
                        while mask[wanted] == 0 or k > 0:
                            k -= mask[wanted]
                            wanted += 1
                    new_child(nodes, node, size, wanted, p)
                    child, grown = size, True
                    size += 1
                s.pending[p] = nodes[child].action
                node = child
                for q in range(len(seats)):
                    rewards[q] = 0
                play_round(s, params, seats, max_steps, rewards)
                depth += 1
            run(
                s, params, seats, NONE, NONE, horizon - depth, max_steps, outlook, point, counter, values, rewards, mask
            )  # fmt: skip
            for p in range(len(seats)):
                bounds[0], bounds[1] = min(bounds[0], values[p]), max(bounds[1], values[p])
            while node != 0:
                c = nodes[node]
                c.visits += 1
                c.total += values[c.player]
                node = np.int64(c.parent)
        return size

    return bot_kernel(grow)
