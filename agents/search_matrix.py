"""Simultaneous-move tree search: every seat learns its own mixture by regret matching, and the root's is played.

Simultaneous-move Monte Carlo tree search (Lanctot, Lisy, Winands 2013) with decoupled regret matching (Hart, Mas-Colell
2000), a fresh deal a step. A seat's node is what it sees, its observation, so that no mixture depends on cards or
choices hidden from its seat. At the root the seats take turns to learn: the others choose by their mixtures, every
action of the learner is played on with the same cards and draws, and regrets below 0 are forgotten (regret matching+,
Tammelin 2014), later mixtures counting for more. Deeper nodes play one action a simulation; its value is weighted by
its chance, about the action's mean so far (a baseline, as Schmid et al. 2019), so that their regrets are unbiased.
"""

import functools
from typing import NamedTuple

import numpy as np

from flinchenv.core.kernel import helper, routine
from flinchenv.core.rng import GAMMA, mix
from flinchenv.core.spec import RUNNING

from .policy import bot_kernel
from .search_playouts import playout_kernels

EXPLORATION = 0.2  # how often a seat tries any legal action
MOST_CELLS = 2**20  # nodes times actions; a tree that is full grows no further
MOST_CHOICES = 256  # choices of all seats that one simulation makes in the tree
NONE = -1


class MatrixSearch:
    """Decoupled regret matching in a tree of all seats' choices.

    Args:
        playouts: `Playouts`.
    """

    def __init__(self, playouts):
        self.playouts = playouts
        setup = playouts.setup
        self._grow = matrix_kernel(setup.game.kernels, setup.loops, playouts.policy, setup.game.name == "flinch")

    def search(self, view, legal, budget):
        """The seat's average mixture at the root; see `FlatSearch.search`."""
        out, setup = self.playouts, self.playouts.setup
        tree = new_tree(2 * setup.num_players + budget.most(MOST_CELLS // setup.num_actions), setup)
        values, (rewards, mask) = np.zeros(setup.num_players), out.scratch(1)
        budget.stage(1)
        while n := budget.chunk(len(legal)):
            seed = budget.next_seed()
            games = view.determinize(n, seed)
            counters = out.counters(seed // 2 + np.arange(n))
            done = self._grow(
                games, games[:1].copy(), out.params, setup.seats, view.seat, n * len(legal), out.horizon,
                setup.max_steps, out.outlook, out.point, counters, *tree, values, rewards[0], mask[0],
            )  # fmt: skip
            budget.spend(done)
            if not done:
                break
        roots = np.flatnonzero(tree.nodes["seat"] == view.seat)
        weights = tree.weights[roots[0], legal] if len(roots) else np.zeros(len(legal))
        return weights / weights.sum() if weights.any() else np.full(len(legal), 1 / len(legal))


class Tree(NamedTuple):
    """Arrays of M nodes and A actions.

    Attributes:
        nodes: NODE (M,); a seat of NONE marks a free one.
        index: int32 (at least 2 M,), nodes by the hash of their key; NONE for an empty place.
        regrets, weights, means: float64 (M, A): regrets summed, mixtures summed, the mean value of each action.
        counts: int32 (M, A), how often each was played.
        legal: int8 (M, A).
        path: float64 (MOST_CHOICES, 3), scratch: (node, action, its chance) of a simulation.
        worth: float64 (A,), scratch: what each action at the root was worth.
        observation: int8 (D,), scratch.
        size: int64 (2,), nodes in use, and how often a seat has learnt at the root.
    """

    nodes: np.ndarray
    index: np.ndarray
    regrets: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    counts: np.ndarray
    legal: np.ndarray
    path: np.ndarray
    worth: np.ndarray
    observation: np.ndarray
    size: np.ndarray


NODE = np.dtype([("key", np.uint64), ("seat", np.int32), ("visits", np.int32), ("mean", np.float64)])


def new_tree(most, setup):
    """An empty `Tree` with room for `most` nodes."""
    cells = (most, setup.num_actions)
    nodes = np.zeros(most, NODE)
    nodes["seat"] = NONE
    return Tree(
        nodes, np.full(1 << (2 * most).bit_length(), NONE, np.int32), np.zeros(cells), np.zeros(cells), np.zeros(cells),
        np.zeros(cells, np.int32), np.zeros(cells, np.int8), np.zeros((MOST_CHOICES, 3)),
        np.zeros(setup.num_actions), np.zeros(setup.layout.size, np.int8), np.zeros(2, np.int64),
    )  # fmt: skip


@functools.cache
def matrix_kernel(game, loops, policy, is_flinch):
    """A kernel that lets a seat learn in each of some determinised games (n,); how many simulations that were."""
    is_asked, fill_action_mask, fill_observation = game.is_asked, game.fill_action_mask, game.fill_observation
    play_round = loops.play_round
    playouts = playout_kernels(game, loops, policy, is_flinch)
    choose, draw_round, run = playouts.choose, playouts.draw_round, playouts.run

    @routine
    def key_of(observation, seat):
        key = np.uint64(seat)
        for k in range(len(observation)):
            key = mix(key * GAMMA + np.uint64(observation[k] & 255))
        return key

    @routine
    def find(nodes, index, key, seat, size):
        """(the node of a key, whether it is new): NONE where there is no room for it."""
        place = np.int64(key & np.uint64(len(index) - 1))
        while index[place] != NONE:
            node = np.int64(index[place])
            if nodes[node].key == key:
                return node, False
            place = (place + 1) & (len(index) - 1)
        if size[0] == len(nodes):
            return NONE, True
        node = size[0]
        size[0] += 1
        index[place] = node
        nodes[node].key = key
        nodes[node].seat = seat
        return node, True

    @helper
    def chance(regrets, legal, positive, ones, a):
        """Regret matching: the part of the positive regrets, or all alike."""
        if positive > 0:
            return max(regrets[a], 0.0) / positive * legal[a]
        return legal[a] / ones

    @helper
    def totals(regrets, legal):
        """(sum of positive regrets, number of legal actions)."""
        positive, ones = 0.0, 0
        for a in range(len(legal)):
            positive += max(regrets[a], 0.0) * legal[a]
            ones += legal[a]
        return positive, ones

    @helper
    def copy_mask(mask, legal):
        for a in range(len(mask)):
            legal[a] = mask[a]

    @helper
    def clear(rewards):
        for p in range(len(rewards)):
            rewards[p] = 0

    @routine
    def draw_action(regrets, weights, legal, weight, explore, draw):
        """(an action by regret matching with exploration, its chance); the mixture is added to `weights`."""
        positive, ones = totals(regrets, legal)
        left = np.float64(draw >> np.uint64(11)) * 2.0**-53
        chosen, its = NONE, 1.0
        for a in range(len(legal)):
            if legal[a]:
                sigma = chance(regrets, legal, positive, ones, a)
                weights[a] += weight * sigma
                sampled = explore / ones + (1 - explore) * sigma
                if left >= 0 and sampled > 0:
                    chosen, its = a, sampled
                left -= sampled
        return chosen, its

    @routine
    def learn(node, regrets, means, counts, legal, action, its, value):
        """Add the regrets of one simulation at a node: the action played, its chance, what it was worth."""
        positive, ones = totals(regrets, legal)
        average = 0.0
        for a in range(len(legal)):
            if legal[a]:
                guess = means[a] if counts[a] else node.mean
                average += chance(regrets, legal, positive, ones, a) * guess
        guess = means[action] if counts[action] else node.mean
        more = (value - guess) / its
        average += chance(regrets, legal, positive, ones, action) * more
        for a in range(len(legal)):
            if legal[a]:
                guess = means[a] if counts[a] else node.mean
                regrets[a] += guess - average + (more if a == action else 0.0)
        counts[action] += 1
        means[action] += (value - means[action]) / counts[action]
        node.mean += (value - node.mean) / node.visits

    @routine
    def choose_round(
        s, params, seats, learner, tree_counter, explore, nodes, index, regrets, weights, legal, path, length,
        observation, size, mask,
    ):  # fmt: skip
        """Every asked seat but `learner` chooses: by its node, or by the policy where that is new.

        Returns (the counter, the length of the path, whether a node was new).
        """
        counter = draw_round(s, params, seats, tree_counter)
        fresh = False
        for p in range(len(seats)):
            if p != learner and is_asked(s, params, seats, p):
                fill_action_mask(s, params, seats, p, mask)
                fill_observation(s, params, seats, p, observation)
                counter = counter + GAMMA
                node, new = find(nodes, index, key_of(observation, p), p, size)
                fresh |= new
                if new:
                    s.pending[p] = choose(s, params, seats, p, mask, mix(counter))
                    if node != NONE:
                        copy_mask(mask, legal[node])
                elif explore:
                    nodes[node].visits += 1
                    action, its = draw_action(
                        regrets[node], weights[node], legal[node], nodes[node].visits, EXPLORATION, mix(counter)
                    )
                    s.pending[p] = action
                    path[length, 0], path[length, 1], path[length, 2] = node, action, its
                    length += 1
                else:
                    s.pending[p] = draw_action(regrets[node], weights[node], legal[node], 0, 0.0, mix(counter))[0]
        return counter, length, fresh

    def grow(
        games, work, rules, seats, player, most, horizon, max_steps, outlook, point, counters, nodes, index, regrets,
        weights, means, counts, legal, path, worth, observation, size, values, rewards, mask,
    ):  # fmt: skip
        params = rules[0]
        done = 0
        for i in range(len(games)):
            learner = (player + size[1]) % len(seats)
            size[1] += 1
            while not is_asked(games[i], params, seats, learner):
                learner = (learner + 1) % len(seats)
            s = work[0]
            work[0] = games[i]
            fill_observation(s, params, seats, learner, observation)
            root, new = find(nodes, index, key_of(observation, learner), learner, size)
            if root == NONE:
                continue
            if new:
                fill_action_mask(s, params, seats, learner, mask)
                copy_mask(mask, legal[root])
            positive, ones = totals(regrets[root], legal[root])
            if done + ones > most:
                break
            nodes[root].visits += 1
            average = 0.0
            for a in range(len(worth)):
                if legal[root, a]:
                    work[0] = games[i]
                    counter, length, fresh = choose_round(
                        s, params, seats, learner, counters[i], False, nodes, index, regrets, weights, legal, path, 0,
                        observation, size, mask,
                    )  # fmt: skip
                    s.pending[learner] = a
                    fresh, depth = False, 1
                    clear(rewards)
                    play_round(s, params, seats, max_steps, rewards)
                    while (
                        s.end_reason == RUNNING and not fresh and depth < horizon and length + len(seats) <= len(path)
                    ):
                        counter, length, fresh = choose_round(
                            s, params, seats, NONE, counter, True, nodes, index, regrets, weights, legal, path, length,
                            observation, size, mask,
                        )  # fmt: skip
                        clear(rewards)
                        play_round(s, params, seats, max_steps, rewards)
                        depth += 1
                    run(s, params, seats, horizon - depth, max_steps, outlook, point, counter, values, rewards, mask)
                    for k in range(length):
                        node, action = np.int64(path[k, 0]), np.int64(path[k, 1])
                        learn(
                            nodes[node], regrets[node], means[node], counts[node], legal[node], action, path[k, 2],
                            values[nodes[node].seat],
                        )  # fmt: skip
                    worth[a] = values[learner]
                    sigma = chance(regrets[root], legal[root], positive, ones, a)
                    weights[root, a] += nodes[root].visits * sigma
                    average += sigma * worth[a]
                    done += 1
            for a in range(len(worth)):
                if legal[root, a]:
                    regrets[root, a] = max(0.0, regrets[root, a] + worth[a] - average)
        return done

    return bot_kernel(grow)
