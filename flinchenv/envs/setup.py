"""What every API needs of one game under one set of rules, and the checks that all APIs share."""

import functools
from typing import Any, NamedTuple

import numpy as np

from .. import registry
from ..core.params import fixed_params, make_rules, one_of, refuse, rules_hash, whole
from ..core.play import Loops, loops
from ..core.rng import MAX_SEED, REPAIR, RowStreams
from ..core.spec import UNDEALT, UNSET, GameSpec, final_info

ILLEGAL_ACTION = ("raise", "forfeit", "random_legal")
RENDER_MODES = ("ansi", "human")
MAX_STEPS = 10**9


class Setup(NamedTuple):
    """One game under one set of rules, ready to be played through any API."""

    id: str
    game: GameSpec
    rules: Any
    params: np.ndarray
    seats: tuple  # P zeros; its length tells kernels the number of players
    layout: Any
    state_layout: Any
    num_actions: int
    simultaneous: bool
    loops: Loops
    illegal_action: str
    max_steps: int  # 0 for no cap

    def __reduce__(self):
        return make_setup, (self.id, self.rules, None, self.illegal_action, self.max_steps or None)

    @property
    def num_players(self):
        return len(self.seats)

    @property
    def agents(self):
        """The agents' names, by seat."""
        return [f"player_{p}" for p in range(len(self.seats))]

    def new_games(self, n):
        """`n` records that wait to be dealt."""
        games = np.zeros(n, self.game.dtype)
        games["end_reason"] = UNDEALT
        games["pending"] = UNSET
        return games

    def final_info(self, s):
        """The end-of-game facts of one record, for infos."""
        return final_info(self.game, s, self.num_players)

    def page(self):
        """Action ids, observation fields and state fields as one printable page."""
        asked = "several seats choose at once" if self.simultaneous else "one seat chooses at a time"
        return "\n\n".join(
            [
                f"# {self.id}, {self.num_players} players ({asked})",
                f"## Actions: Discrete({self.num_actions})",
                self.game.action_table(self.rules),
                f"## Observation: int8 ({self.layout.size},)",
                self.layout.table(),
                f"## State (the referee's view): int8 ({self.state_layout.size},)",
                self.state_layout.table(),
            ]
        )


def make_setup(id, rules=None, rule_overrides=None, illegal_action="raise", max_steps=None):
    """Check everything that all APIs take and work out what they share.

    Raises:
        ValueError: names the setting, the value and what is allowed.
    """
    env_spec = registry.spec(id)
    game = env_spec.game_spec
    one_of("illegal_action", illegal_action, ILLEGAL_ACTION)
    if max_steps is not None:
        max_steps = whole("max_steps", max_steps, 1, MAX_STEPS)
    rules = make_rules(game.Rules, game.presets, env_spec.preset, rules, rule_overrides)
    return _plain_setup(env_spec.id, rules)._replace(illegal_action=illegal_action, max_steps=max_steps or 0)


@functools.lru_cache(maxsize=256)
def _plain_setup(id, rules):
    """A Setup with the default options; compiled loops and tables are shared by all that are alike."""
    game = registry.spec(id).game_spec
    return Setup(
        id=id,
        game=game,
        rules=rules,
        params=fixed_params(rules),
        seats=(0,) * rules.num_players,
        layout=game.layout(rules),
        state_layout=game.state_layout(rules),
        num_actions=game.num_actions(rules),
        simultaneous=game.simultaneous(rules),
        loops=loops(game.kernels),
        illegal_action=ILLEGAL_ACTION[0],
        max_steps=0,
    )


def check_seed(seed):
    """A seed as an int.

    Raises:
        ValueError: not a whole number in 0..2**63 - 1.
    """
    return whole("seed", seed, 0, MAX_SEED)


def row_seeds(seed, num_rows):
    """int64 (N,) seeds of N rows from one seed, whose rows count on from it, or from N seeds.

    Raises:
        ValueError: a seed outside 0..2**63 - 1, or another number of them.
    """
    if np.ndim(seed) == 0:
        first = check_seed(seed)
        if first > MAX_SEED - num_rows + 1:
            refuse("seed", seed, f"a whole number in 0..{MAX_SEED - num_rows + 1} for {num_rows} rows")
        return first + np.arange(num_rows, dtype=np.int64)
    seeds = seed.tolist() if isinstance(seed, np.ndarray) else list(seed)
    if len(seeds) != num_rows:
        refuse("seed", f"{len(seeds)} seeds", f"one seed, or one for each of {num_rows} rows")
    return np.array([check_seed(s) for s in seeds], dtype=np.int64)


def check_render_mode(render_mode):
    """None or one of RENDER_MODES."""
    return None if render_mode is None else one_of("render_mode", render_mode, RENDER_MODES)


def fresh_seed():
    """A seed for a reset that was given none, from the operating system; below 2**31, as training seeds are."""
    return int(np.random.SeedSequence().generate_state(1)[0] >> 1)


def legal_stand_in(mask, s, seat):
    """A legal id for an illegal one, uniform, from a stream of (seed, episode, rounds, seat) that no game uses."""
    with np.errstate(over="ignore"):
        key = np.array([int(s.episode) * 1_000_003 + int(s.steps) * 16 + seat])
        draw = RowStreams(np.array([int(s.seed)]), key, REPAIR).random()[0]
    legal = np.flatnonzero(mask)
    return int(legal[int(draw * len(legal))])


class Snapshot(NamedTuple):
    """Games as they stand, for `restore` in any API of the same id and rules.

    Attributes:
        id, rules: what they belong to; rules as a hash.
        games: (N,) records, choices of a running round included.
        waiting: (N, P) rewards that agents have earned and not yet been told of (AEC).
        illegal: (N, P) illegal ids that a running round's choices stand for, UNSET for none (AEC).
    """

    id: str
    rules: str
    games: np.ndarray
    waiting: np.ndarray
    illegal: np.ndarray


def take_snapshot(setup, games, waiting=None, illegal=None):
    """A Snapshot of copies."""
    shape = (len(games), setup.num_players)
    waiting = np.zeros(shape) if waiting is None else np.array(waiting)
    illegal = np.full(shape, UNSET) if illegal is None else np.array(illegal)
    return Snapshot(setup.id, rules_hash(setup.rules), games.copy(), waiting, illegal)


def open_snapshot(setup, snapshot, rows):
    """The snapshot's records for `rows` rows; one record may fill many.

    Raises:
        ValueError: no snapshot, or one of another id, other rules or another number of rows.
    """
    if not isinstance(snapshot, Snapshot):
        refuse("snapshot", type(snapshot).__name__, "what snapshot() returned")
    if (snapshot.id, snapshot.rules) != (setup.id, rules_hash(setup.rules)):
        here = f"{setup.id} with rules {rules_hash(setup.rules)}"
        refuse("snapshot", f"{snapshot.id} with rules {snapshot.rules}", f"one of {here}")
    if len(snapshot.games) not in (1, rows):
        refuse("snapshot", f"{len(snapshot.games)} games", f"1 or {rows} games")
    return snapshot.games
