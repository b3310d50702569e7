"""Solve a small two-player zero-sum game by CFR+ (Tammelin 2014), on the game as it is: seats that choose at the same
time meet in the same node, each with regrets of its own.

Regret matching+ in every information set, seats updated in turn. As in predictive CFR+ (Farina, Kroer and Sandholm
2021) the newest regrets count twice in the next policy, and iteration t has the weight t**2 in the average. What comes
out is proved by exact best responses, not by the number of iterations.
"""

import dataclasses
import sys
import time

import numpy as np

from flinchenv.core.params import refuse, whole
from flinchenv.envs.setup import make_setup

from .exploitability import check_stem, of_plans, save_table
from .sequence_form import MAX_HISTORIES, sequence_form
from .tournament import Result

CHECK = 20  # iterations from one NashConv to the next
TARGET = 1e-3  # of NashConv, in reward a game


@dataclasses.dataclass(frozen=True)
class Args:
    """What to solve, and how well.

    Attributes:
        env: an environment's id.
        iterations: the most iterations of CFR+.
        target: the NashConv at which to stop.
        save: the stem of the two files to write, or None.
        rules: {field: value} laid over the id's preset.
        max_histories: the largest game to build.
    """

    env: str
    iterations: int = 10_000
    target: float = TARGET
    save: str | None = None
    rules: dict = dataclasses.field(default_factory=dict)
    max_histories: int = MAX_HISTORIES


def run(args, progress=None, form=None):
    """Solve.

    Args:
        args: `Args`.
        progress: None, or called as progress(iterations done, iterations at most).
        form: the game's `SequenceForm`, if there is one already.

    Raises:
        ValueError: an unknown id or rule, a number out of range, or a game that `sequence_form` refuses.
        ImportError: safetensors is not installed, where there is something to save.
    """
    started = time.perf_counter()
    setup = make_setup(args.env, None, args.rules)
    whole("iterations", args.iterations, 1, 10**9)
    if isinstance(args.target, bool) or not isinstance(args.target, (int, float)) or not 0 <= args.target < np.inf:
        refuse("target", args.target, "a number from 0 up")
    if args.save is not None:
        check_stem(args.save)
    form = sequence_form(setup, args.max_histories) if form is None else form
    solver = CFRPlus(form)
    found = None
    try:
        while solver.iterations < args.iterations and (found is None or found.nash_conv > args.target):
            solver.step()
            if solver.iterations % CHECK == 0 or solver.iterations == args.iterations:
                found = of_plans(form, solver.plans())
            if progress is not None:
                progress(solver.iterations, args.iterations)
    except KeyboardInterrupt:
        if args.save is not None and solver.iterations:
            _save(setup, form, solver, of_plans(form, solver.plans()), started, args)
        raise
    data = _facts(form, solver, found, started)
    data = {"env": setup.id, **data, "target_reached": found.nash_conv <= args.target}
    if args.save is not None:
        _save(setup, form, solver, found, started, args)
        data["saved"] = args.save
    return Result(data, _text(data))


class CFRPlus:
    """Predictive CFR+ with alternating updates and quadratic averaging.

    Attributes:
        iterations: done so far.
    """

    def __init__(self, form):
        self.form, self.iterations = form, 0
        self._policies = [side.uniform() for side in form.sides]
        self._plans = [side.plan(policy) for side, policy in zip(form.sides, self._policies)]
        self._regrets = [np.zeros(len(policy)) for policy in self._policies]
        self._sums = [np.zeros(len(policy)) for policy in self._policies]

    def step(self):
        """One iteration: each seat answers the other's newest plan."""
        self.iterations += 1
        for player, side in enumerate(self.form.sides):
            gradient = self.form.gradient(player, self._plans[1 - player])
            values, at = side.values(gradient, self._policies[player])
            newest = values - np.concatenate([values[:1], at[side.owner]])
            self._regrets[player] = np.maximum(self._regrets[player] + newest, 0)
            self._policies[player] = side.normalise(np.maximum(self._regrets[player] + newest, 0))
            self._plans[player] = side.plan(self._policies[player])
            self._sums[player] += self.iterations**2 * self._plans[player]

    def plans(self):
        """The average plan (S,) of each seat."""
        return [total / total[0] for total in self._sums]


def _save(setup, form, solver, found, started, args):
    save_table(args.save, setup, form, solver.plans(), {"command": "solve", **_facts(form, solver, found, started)})


def _facts(form, solver, found, started):
    return {
        "value": found.value,
        "nash_conv": found.nash_conv,
        "information_sets": form.num_information_sets,
        "seconds": time.perf_counter() - started,
        "exploitability": found.exploitability,
        "best_responses": list(found.best_responses),
        "histories": form.histories,
        "iterations": solver.iterations,
    }


def _text(data):
    first, second = data["best_responses"]
    saved = f"\nsaved as {data['saved']}" if "saved" in data else ""
    return (
        f"{data['env']}: {data['information_sets']:,} information sets, {data['histories']:,} histories\n"
        f"value of player_0: {data['value']:+.6f}, proved to lie in [{-second:+.6f}, {first:+.6f}]\n"
        f"NashConv {data['nash_conv']:.6f} (exploitability {data['exploitability']:.6f}) after "
        f"{data['iterations']:,} iterations of CFR+, {data['seconds']:.1f} s{saved}"
    )


def main():
    """`flinchenv solve`, for `python -m flinchenv.experiments.solve`."""
    from flinchenv.cli import main as command

    sys.exit(command(["solve", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
