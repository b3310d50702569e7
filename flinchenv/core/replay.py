"""Replays: a game as what decides it, its id, rules, seed and the choices in asked order; saved, loaded, run, redacted.

Actions are a list of [seat, action] in AEC form, whichever API played them: a seat that is not asked in a round (or
has but the id that stands for "no choice") does not appear. A `Recorder` writes that list and plays the game along, so
a replay that was recorded is one that can be run.
"""

import hashlib
import json
import math
import operator
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .params import RulesError, fixed_params, make_rules, rules_to_json, whole
from .play import loops
from .rng import MAX_SEED
from .spec import FORFEIT, OFFENCE, RUNNING, UNDEALT, UNSET, final_info

MAX_BYTES = 2**26
REQUIRED = ("id", "rules", "seed", "episode", "version", "actions")
OPTIONAL = ("final", "sha256")
OUTCOME = ("scores", "winners", "end_reason", "length", "returns")


class ReplayError(ValueError):
    """A replay was refused; the message says why, and from `load` in which file."""


class Replay(NamedTuple):
    """One game, finished or not.

    Methods take `game`, the `GameSpec` that the id belongs to (`flinchenv.spec(replay.id).game_spec`).

    Attributes:
        id: the environment's id.
        rules: {field: value}, every field of the game's rules.
        seed, episode: what the cards come from.
        version: the game's version; another version is refused.
        actions: [[seat, action], ...] in asked order.
        final: {"scores", "winners", "end_reason", "length", "returns"} of a finished game, or None.
    """

    id: str
    rules: dict
    seed: int
    episode: int
    version: int
    actions: list
    final: dict | None = None

    def save(self, path):
        """Write the replay as JSON, with its own checksum; a file of that name is replaced only by a whole one."""
        content = self._asdict()
        content["sha256"] = _checksum(content)
        path = Path(path)
        part = path.with_name(path.name + ".part")
        part.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(part, path)

    def run(self, game):
        """Play the game and check every choice, and the outcome where it is known.

        Returns:
            The `Recorder`, where the game stands after the last action.

        Raises:
            ReplayError: another version or game, refused rules, an action out of turn or illegal, another outcome.
        """
        recorder = self.start(game)
        for k in range(len(self.actions)):
            self.play(recorder, k)
        if self.final is not None:
            _check_outcome(self.final, recorder.outcome(), len(self.actions))
        return recorder

    def start(self, game):
        """A `Recorder` of the dealt game, before the first action, for those who go on with `play`."""
        if self.version != game.version:
            raise ReplayError(
                f"version={self.version} of {game.name} is not what is installed, which is version {game.version}"
            )
        try:
            rules = make_rules(game.Rules, {"": {}}, "", overrides=self.rules)
        except RulesError as error:
            raise ReplayError(f"rules: {error}") from None
        whole_rules = rules_to_json(rules)
        for name, value in whole_rules.items():
            if name not in self.rules or self.rules[name] != value:
                given = repr(self.rules[name]) if name in self.rules else "missing"
                raise ReplayError(f"rules: {name} is {given}, a replay writes {value!r}")
        forfeit = self.final is not None and self.final["end_reason"] == game.end_reasons[FORFEIT]
        return Recorder(self.id, game, rules, self.seed, self.episode, forfeit)

    def play(self, recorder, k):
        """Make action k; True if it completed a round.

        Raises:
            ReplayError: it is out of turn or illegal.
        """
        seat, action = self.actions[k]
        try:
            return recorder.add(seat, action)
        except ValueError as error:
            raise ReplayError(f"actions[{k}]={[seat, action]}: {error}") from None

    def for_seat(self, seat, game):
        """What one seat could have seen, round by round: its own choices, and of others what its observation shows.

        Others' choices of a round appear only where the game has revealed them: frames do not depend on what is still
        hidden when they end.

        Args:
            seat: 0..P-1.
            game: the `GameSpec`.

        Returns:
            One plain dict a round: "observation" (decoded, at its start), "asked" (whether this seat is asked),
            "action" (its own choice or None), "reward" (paid to it at the round's end); then one where the game stands.
        """
        recorder = self.start(game)
        whole("seat", seat, 0, len(recorder.seats) - 1)
        frames = [_frame(recorder, seat)]
        for k, (actor, action) in enumerate(self.actions):
            if actor == seat:
                frames[-1]["action"] = action
            if self.play(recorder, k):
                frames[-1]["reward"] = float(recorder.rewards[seat])
                frames.append(_frame(recorder, seat))
        return frames


def _check_outcome(given, found, num_actions):
    """Refuse an outcome that is not the one found; None is that of a running game."""
    if found is None:
        raise ReplayError(f"final: the game is not over after its {num_actions} actions")
    for name in OUTCOME:
        same = _close(given[name], found[name]) if name == "returns" else given[name] == found[name]
        if not same:
            raise ReplayError(f"final: {name} is {given[name]!r}, the actions lead to {found[name]!r}")


def _frame(recorder, seat):
    return {
        "observation": recorder.game.layout(recorder.rules).decode(recorder.observation(seat)),
        "asked": seat in recorder.order,
        "action": None,
        "reward": 0.0,
    }


def _close(given, found):
    numbers = isinstance(given, list) and len(given) == len(found) and all(type(v) in (int, float) for v in given)
    return numbers and all(math.isclose(v, w, rel_tol=1e-6, abs_tol=1e-6) for v, w in zip(given, found))


class Recorder:
    """Writes a game's choices in asked order and plays it along on a record of its own.

    Args:
        id: the environment's id.
        game: its `GameSpec`.
        rules: the game's rules.
        seed, episode: what was dealt.
        forfeit: whether an illegal action ends the game (illegal_action="forfeit"), instead of being refused. Under
            "random_legal" record what was played, not what was sent.

    Attributes:
        record: the game's record after the last completed round; read only.
        order: the seats asked in the running round, ascending; empty once the game is over.
        seat: who is asked now, or None.
        rewards: float32 (P,), paid by the last completed round.
        actions: [[seat, action], ...] so far.
    """

    def __init__(self, id, game, rules, seed, episode=0, forfeit=False):
        self.id, self.game, self.rules, self.forfeit = id, game, rules, forfeit
        self.seats = (0,) * rules.num_players
        self.actions: list = []
        self.order: list = []
        self._params = fixed_params(rules)
        self._simultaneous = game.simultaneous(rules)
        n, views = len(self.seats), len(self.seats) if self._simultaneous else 1
        size = game.layout(rules).size
        self.games = np.zeros(1, game.dtype)
        self.games["seed"], self.games["episode"] = seed, episode
        self.games["end_reason"], self.games["pending"] = UNDEALT, UNSET
        self._choices = np.zeros((1, views), np.int64)
        self._observation = np.zeros((1, views, size), np.int8)
        self._mask = np.zeros((1, views, game.num_actions(rules)), np.int8)
        self._asked = np.zeros((1, n), np.int8)
        self._current = np.zeros(1, np.int32)
        self._rewards = np.zeros((1, n), np.float32)
        self._flags = np.zeros((2, 1), bool)
        self._advance()

    @property
    def record(self):
        return self.games[0]

    @property
    def rewards(self):
        return self._rewards[0]

    @property
    def seat(self):
        return self.order[self._place] if self._place < len(self.order) else None

    @property
    def over(self):
        return self.record.end_reason != RUNNING

    def mask(self, seat):
        """int8 (A,): the ids open to a seat in the running round; all zero for a seat out of turn."""
        if self._simultaneous:
            return self._mask[0, seat]
        return self._mask[0, 0] if seat == self.seat else np.zeros_like(self._mask[0, 0])

    def observation(self, seat):
        """int8 (D,): a seat's observation."""
        observation = np.zeros((1, self._observation.shape[2]), np.int8)
        loops(self.game.kernels).observe_seats(
            self.games, self._params, self.seats, np.array([seat]), np.ones(1, bool), observation
        )
        return observation[0]

    def add(self, seat, action):
        """Write one choice; True if it completed a round.

        Raises:
            ValueError: the game is over, another seat is asked, or the action is illegal and not to forfeit.
        """
        if self.over:
            raise ValueError("the game is over")
        if seat != self.seat:
            raise ValueError(f"seat {self.seat} is asked now, not seat {seat}")
        self._choose(seat, action)
        self.actions.append([int(seat), operator.index(action)])
        self._place += 1
        if self._place < len(self.order):
            return False
        self._advance()
        return True

    def add_round(self, actions):
        """Write one step of the parallel or vector API: P actions by seat, or one of the seat to act if turn based.

        Raises:
            ValueError: as `add`; nothing has been written then.
        """
        actions = np.atleast_1d(actions).tolist()
        views = list(range(len(self.seats))) if self._simultaneous else [self.seat]
        if len(actions) != len(views):
            raise ValueError(f"{len(actions)} actions in a round that takes {len(views)}")
        if self._place:
            raise ValueError("a round is half recorded")
        if self.over:
            raise ValueError("the game is over")
        for seat, action in zip(views, actions):
            self._choose(seat, action)
        self.actions += [[seat, action] for seat, action in zip(views, actions) if seat in self.order]
        self._advance()

    def outcome(self):
        """The end-of-game facts as plain values, or None while the game runs."""
        return final_info(self.game, self.record, len(self.seats)) if self.over else None

    def replay(self):
        """The `Replay` of what was written so far."""
        s, rules = self.record, rules_to_json(self.rules)
        actions = [pair[:] for pair in self.actions]
        return Replay(self.id, rules, int(s.seed), int(s.episode), self.game.version, actions, self.outcome())

    def _choose(self, seat, action):
        mask = self.mask(seat)
        if not 0 <= operator.index(action) < len(mask):
            legal, why = False, f"action {action} is not in 0..{len(mask) - 1}"
        else:
            legal = mask[action] == 1
            why = f"action {action} ({self.game.action_name(self.rules, action)}) is not legal now"
        if not legal and not (self.forfeit and seat in self.order):
            raise ValueError(why)
        self._choices[0, seat if self._simultaneous else 0] = action if legal else OFFENCE

    def _advance(self):
        """Deal, or carry out the round; then who is asked."""
        if self._simultaneous and self.record.end_reason == RUNNING:
            for seat in set(range(len(self.seats))) - set(self.order):
                self._choices[0, seat] = self._mask[0, seat].argmax()
        loops(self.game.kernels).advance(
            self.games, self._params, self.seats, 0, 1, 0, self._choices, self._observation, self._mask, self._asked,
            self._current, self._rewards, self._flags[0], self._flags[1], np.ones(1, bool),
        )  # fmt: skip
        self._choices[:] = UNSET
        self._place = 0
        if self._simultaneous:
            self.order = np.flatnonzero(self._asked[0]).tolist()
        else:
            self.order = [] if self.over else [int(self._current[0])]


def load(path):
    """The replay in a file.

    Raises:
        ReplayError: names the file and what is wrong with it.
    """
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise ReplayError(f"larger than {MAX_BYTES} bytes")
        text = Path(path).read_bytes().decode("utf-8")
        return _read(json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant))
    except OSError as error:
        raise ReplayError(f"{path}: {error.strerror}") from None
    except (ReplayError, RulesError) as error:
        raise ReplayError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"{path}: not a replay's JSON ({error})") from None


def _without_duplicates(pairs):
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ReplayError("a key stands twice")
    return content


def _no_constant(name):
    raise ReplayError(f"{name} is no number of a replay")


def _checksum(content):
    """Over everything but the checksum itself, in one spelling."""
    rest = {k: v for k, v in content.items() if k != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _read(content):
    if not isinstance(content, dict):
        raise ReplayError("not a JSON object")
    for name in REQUIRED:
        if name not in content:
            raise ReplayError(f"{name} is missing")
    for name in content:
        if name not in REQUIRED + OPTIONAL:
            raise ReplayError(f"{name!r} is no key of a replay")
    if "sha256" in content and content["sha256"] != _checksum(content):
        raise ReplayError("sha256 does not fit: the file is damaged or was edited")
    if not isinstance(content["id"], str):
        raise ReplayError(f"id={content['id']!r} is no text")
    if not isinstance(content["rules"], dict):
        raise ReplayError("rules is no object")
    for name in ("seed", "episode", "version"):
        whole(name, content[name], 0, MAX_SEED)
    if not isinstance(content["actions"], list):
        raise ReplayError("actions is no list")
    for k, pair in enumerate(content["actions"]):
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(v) is int for v in pair)):
            raise ReplayError(f"actions[{k}]={pair!r} is not [seat, action]")
    final = content.get("final")
    if final is not None and not (isinstance(final, dict) and set(final) == set(OUTCOME)):
        raise ReplayError(f"final is neither null nor an object of {', '.join(OUTCOME)}")
    return Replay(**{name: content[name] for name in REQUIRED}, final=final)
