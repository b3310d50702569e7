"""Compiled code: its cache, its checks, what it must not contain."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit, typeof

import flinchenv
import flinchenv.agents
from flinchenv.core import bits
from flinchenv.core.kernel import fixed_fields, helper
from flinchenv.core.params import kernel_params
from flinchenv.envs.setup import make_setup
from flinchenv.envs.vector import VectorGame
from games import OPTION_CASES

PACKAGE = Path(flinchenv.__file__).parent
AGENTS = Path(flinchenv.agents.__file__).parent
PLAY = """
import flinchenv, numpy as np
env = flinchenv.make("flip_it-v0", "vector", num_envs=4, num_players=3)
env.reset(seed=1)
for _ in range(30):
    step = env.step(env.action_mask.argmax(-1))
print(step.observation.sum(), env.state().sum(), env.snapshot().games["history"].tolist())
"""
MOST_PLAYERS = 5  # plain Python is slow
# The kernels under rules that take most of their ways; what is printed tells every byte of the games.
PLAY_ALL = """
import hashlib, sys
import flinchenv, numpy as np
sys.path.insert(0, TESTS)
import conftest, games
for id, options in games.OPTION_CASES:
    if options["num_players"] > MOST_PLAYERS:
        continue
    env = flinchenv.make(id, "vector", num_envs=2, **options)
    digest = hashlib.sha256()
    env.reset(seed=1)
    for k in range(60):
        legal = env.action_mask.astype(bool) * (np.arange(env.num_actions) * 7919 % (k + 11) + 1)
        step = env.step(legal.argmax(-1))
        for part in (env.observation, env.action_mask, env.rewards, env.final_observation, env.state(), env._games):
            digest.update(part.tobytes())
    env.determinize([1], options["num_players"] - 1, [5])
    env.rollout(max_steps=40, auto_reset=True, seed=3)
    digest.update(env.snapshot().games.tobytes())
    aec = flinchenv.make(id, **options)
    aec.reset(seed=2)
    while aec.agents and aec._games[0].steps < 20:
        ended = any(aec.terminations.values()) or any(aec.truncations.values())
        aec.step(None if ended else int(aec.observe(aec.agent_selection)["action_mask"].argmax()))
    digest.update(aec.snapshot().games.tobytes() + aec.determinize("player_0", 4).snapshot().games.tobytes())
    print(id, digest.hexdigest())
""".replace("TESTS", repr(str(Path(__file__).parent))).replace("MOST_PLAYERS", str(MOST_PLAYERS))


def run(program, cwd=None, check=True, **environment):
    """What a fresh interpreter prints."""
    env = {k: v for k, v in {**os.environ, **environment}.items() if v is not None}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, cwd=cwd, check=False
    )
    if check:
        assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout if check else done


def copied_package(folder):
    """A copy of the package's own folder, without caches."""
    target = folder / "flinchenv"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def test_an_edit_of_a_helper_reaches_its_callers(tmp_path):
    package = copied_package(tmp_path)
    cache = str(tmp_path / "cache")
    before = run(PLAY, cwd=tmp_path, NUMBA_CACHE_DIR=cache)
    assert run(PLAY, cwd=tmp_path, NUMBA_CACHE_DIR=cache) == before
    game = package / "flip_it" / "game.py"
    source = game.read_text()
    assert source.count("s.gains[p] += 1 + params.spots[guess]") == 1
    game.write_text(source.replace("s.gains[p] += 1 + params.spots[guess]", "s.gains[p] += 2 + params.spots[guess]"))
    after = run(PLAY, cwd=tmp_path, NUMBA_CACHE_DIR=cache)
    assert after != before


def test_a_bot_is_kept_and_an_edit_beside_it_reaches_it(tmp_path):
    copied_package(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(AGENTS, elsewhere / "agents", ignore=shutil.ignore_patterns("__pycache__"))
    program = """
import flinchenv, numpy as np
flinchenv.__path__.append("elsewhere")
from flinchenv.agents import flash10_fit, policy
from flinchenv.envs.setup import make_setup
setup = make_setup("flash10-v0")
env = flinchenv.make("flash10-v0", "vector", num_envs=1)
env.reset(seed=1)
agent, rng = flash10_fit.FitAgent(setup), np.random.default_rng(0)
for _ in range(40):
    flat = env.observation.reshape(-1, setup.layout.size), env.action_mask.reshape(-1, setup.num_actions)
    print(agent.act(*flat, rng).tolist())
    env.step(env.action_mask.argmax(-1))
kept = policy.chooser(flash10_fit.FitAgent.policy)
print(bool(kept.stats.cache_hits), bool(kept.stats.cache_misses), file=sys.stderr)
"""
    run_it = functools.partial(run, "import sys\n" + program, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    before = run_it()
    assert run_it() == before
    assert run_it(check=False).stderr.split()[-2:] == ["True", "False"]
    table = elsewhere / "agents" / "flash10_table.py"
    source = table.read_text()
    assert source.count("row[i] = s.row[p, i]") == 1
    table.write_text(source.replace("row[i] = s.row[p, i]", "row[i] = s.row[p, MAX_ROW - 1 - i]"))
    assert run_it() != before


def test_bounds_checks_work_with_a_warm_cache(tmp_path):
    program = """
import flinchenv, numpy as np
env = flinchenv.make("flip_it-sequential-v0", "vector", num_envs=1)
env.reset(seed=0)
env._games["current_player"] = 4  # one past the last seat
env._advance(np.zeros((1, 1), np.int64))
"""
    unchecked = run(program, check=False, NUMBA_CACHE_DIR=str(tmp_path))
    assert "IndexError" not in unchecked.stderr
    checked = run(program, check=False, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_BOUNDSCHECK="1")
    assert "IndexError" in checked.stderr


def test_a_damaged_cache_is_compiled_anew(tmp_path):
    before = run(PLAY, NUMBA_CACHE_DIR=str(tmp_path))
    files = [f for f in tmp_path.rglob("*.nb*") if f.is_file()]
    assert {f.suffix for f in files} == {".nbc", ".nbi"}
    for number, file in enumerate(files):
        data = bytearray(file.read_bytes())
        if number % 2:
            data = data[: len(data) // 2]
        else:
            data[len(data) // 2] ^= 255
        file.write_bytes(bytes(data))
    assert run(PLAY, NUMBA_CACHE_DIR=str(tmp_path)) == before


def test_two_processes_may_compile_at_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", PLAY], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    outputs = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert outputs[0] == outputs[1] == run(PLAY, NUMBA_CACHE_DIR=str(tmp_path))


def test_nowhere_to_write_is_no_error(tmp_path):
    copied_package(tmp_path)
    program = "import pathlib, numba.core.caching as c\n"
    # What a read-only installation without a home does, also for root: no locator finds a folder.
    program += "c._SourceFileBackedLocatorMixin.from_function = classmethod(lambda *a: None)\n"
    program += "c.UserProvidedCacheLocator.from_function = classmethod(lambda *a: None)\n"
    printed = run(program + PLAY, cwd=tmp_path)
    assert printed == run(PLAY)
    assert not list(tmp_path.rglob("*.nbi"))


def test_another_numba_without_the_private_classes_still_works(tmp_path):
    program = "import numba.core.caching as c\ndel c.IndexDataCacheFile\nimport warnings\n"
    program += "warnings.simplefilter('error')\ntry:\n    import flinchenv.core.play\n"
    program += (
        "    flinchenv.spec('flip_it-v0'); from flinchenv.envs.setup import make_setup; make_setup('flip_it-v0')\n"
    )
    program += "except RuntimeWarning as e:\n    print('warned', e)\n"
    assert "warned this numba has no FunctionCache" in run(program, NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.parametrize("id", ["flip_it-v0", "flash10-v0"])
def test_kernels_count_no_references_and_loops_over_many_games_look_ahead(id, tmp_path):
    """Every kernel of a game, compiled anew (what comes from a cache has no assembly to look at)."""
    program = f"""
import flinchenv, numpy as np
from numba import njit
from flinchenv.core.play import loops
env = flinchenv.make({id!r}, "vector", num_envs=4, num_players=4)
env.reset(seed=1); env.step(env.action_mask.argmax(-1)); env.rollout(max_steps=5); env.state()
@njit(_nrt=False)
def first(s, params, seats, player, mask, draw):
    return mask.argmax()
env.reset(seed=1); env.determinize([0], 0, [1]); env.reset(seed=1); env.rollout(first, max_steps=5)
aec = flinchenv.make({id!r}, num_players=4)
aec.reset(seed=1); aec.snapshot(); aec.determinize("player_0", 1)
setup = aec.setup
setup.loops.observe_seats(
    aec._games, setup.params, setup.seats, np.array([0]), np.ones(1, bool), np.zeros((1, setup.layout.size), np.int8)
)
kernels = setup.loops
for name in kernels._fields:
    assembly = list(getattr(kernels, name).inspect_asm().values())
    assert assembly and max(map(len, assembly)) > 1000, name
    for asm in assembly:
        assert "NRT_" not in asm, name
        assert ("prefetch" in asm) == (name in ("advance_and_redeal", "rollout", "rollout_policy")), name
print(len(kernels._fields))
"""
    assert int(run(program, NUMBA_CACHE_DIR=str(tmp_path))) == 10


@helper
def _priced(params):
    if params.kind == 2:
        return params.no_such_field  # not compiled where kind is known to be another
    return params.size * 10 + params.price


@njit(_nrt=False)
def _price(rules):
    return _priced(rules[0])


def test_numbers_that_a_type_tells_are_compiled_in():
    fields = [(("kind=1", "kind"), np.int32), (("size=7", "size"), np.int32), ("price", np.float64)]
    params = np.zeros(1, np.dtype((np.record, fields)))
    params["price"] = 0.5
    assert _price(params) == 70.5
    other = [(("kind=3", "kind"), np.int32), (("size=8", "size"), np.int32), ("price", np.float64)]
    assert _price(params.view(np.dtype((np.record, other)))) == 80.5
    fields = [(name if isinstance(name, str) else name[1], kind) for name, kind in fields]
    with pytest.raises(KeyError, match="no_such_field"):
        _price(params.view(np.dtype((np.record, fields))))


def test_rules_with_numbers_in_their_type_have_the_same_numbers():
    setup = make_setup("flinch-v0", {"num_players": 3})
    params = kernel_params(setup.rules)
    assert params.tolist() == setup.params.tolist() and params.dtype.names == setup.params.dtype.names
    assert fixed_fields(typeof(setup.params).dtype)["hand_size"] == 5 and fixed_fields(typeof(params).dtype) == {}
    assert typeof(params) == typeof(make_setup("flinch-v0", {"stock_size": 9}).params)


OTHER_RULES = [
    ("flinch-v0", {"stock_size": 9}),
    ("flinch-challenge-v0", {}),
    ("flip_it-v0", {"actions": "joint"}),
    ("flash10-v0", {"false_stop": "masked"}),
]


@pytest.mark.parametrize(("id", "other"), OTHER_RULES)
def test_only_a_game_s_own_rules_are_compiled_in(id, other):
    own = make_setup(id.replace("-challenge", ""), {"num_players": 4})
    assert fixed_fields(typeof(own.params).dtype)["num_players"] == 4
    assert fixed_fields(typeof(make_setup(id, {**other, "num_players": 4}).params).dtype) == {}


@pytest.mark.parametrize(("id", "players"), [("flinch-v0", 4), ("flip_it-v0", 3), ("flash10-v0", 4)])
def test_rules_compiled_in_play_as_rules_looked_up(id, players):
    """Byte for byte, deals, masks, views, ends and determinisations included."""
    setup = make_setup(id, {"num_players": players})
    digests = []
    for params in (setup.params, kernel_params(setup.rules)):
        env = VectorGame(setup._replace(params=params), 40)
        env.reset(seed=3)
        digest, ends = hashlib.sha256(), 0
        for k in range(400):
            legal = env.action_mask.astype(bool) * (np.arange(env.num_actions) * 7919 % (k + 11) + 1)
            step = env.step(legal.argmax(-1))
            ends += step.terminated.sum()
            for part in (env.observation, env.action_mask, env.rewards, env.final_observation, env._games):
                digest.update(part.tobytes())
        assert ends > 10
        env.rollout(max_steps=300, auto_reset=True, seed=3)
        env.determinize(np.arange(40), players - 1, np.arange(40))
        digest.update(env._games.tobytes() + env.state().tobytes())
        digests.append(digest.hexdigest())
    assert digests[0] == digests[1]


def test_player_counts_and_games_compiled_in_one_process_do_not_mix(tmp_path):
    program = """
import flinchenv
for n in (4, 2):
    env = flinchenv.make("flip_it-v0", num_players=n)
    env.reset(seed=0)
    assert env.last()[0]["action_mask"].sum() == 5 * n + 1, n
for n in (2, 1):
    env = flinchenv.make("flash10-v0", num_players=n)
    env.reset(seed=0)
    assert env.last()[0]["action_mask"].nonzero()[0].tolist() == [10, 11, 12], n
    decoded = env.setup.layout.decode(env.last()[0]["observation"])
    assert decoded["middle"] == 120 - 10 * n and len(decoded["row"]) == n
"""
    run(program, NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.parametrize("width", [*range(1, 33), 40, 48, 60, 63, 64])
def test_put_bits_writes_exactly_its_entries(width):
    names = {"put_bits": bits.put_bits}
    exec(f"def write(row, at, value): return put_bits(row, at, value, {width})", names)
    write = njit(_nrt=False)(names["write"])
    rng = np.random.default_rng(width)
    for _ in range(20):
        value = int(rng.integers(0, 2 ** min(width, 63)))
        row = np.full(80, 7, np.int8)
        assert write(row, 5, value) == 5 + width
        expected = np.full(80, 7, np.int8)
        expected[5 : 5 + width] = [value >> k & 1 for k in range(width)]
        assert row.tolist() == expected.tolist()


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_get_bits_reads_exactly_its_entries(width):
    names = {"get_bits": bits.get_bits}
    exec(f"def read(row, at): return get_bits(row, at, {width})", names)
    read = njit(_nrt=False)(names["read"])
    rng = np.random.default_rng(width)
    for _ in range(20):
        row = np.ones(width + 6, np.int8)
        row[3 : 3 + width] = rng.integers(-1, 3, width)  # whatever is not 0 counts
        found = read(row, 3)
        assert [found >> k & 1 for k in range(width)] == [int(v != 0) for v in row[3 : 3 + width]]


@njit(_nrt=False)
def _ends(x):
    return bits.first_bit(x), bits.last_bit(x)


def test_first_and_last_bit():
    rng = np.random.default_rng(0)
    for x in [1, 1 << 31, (1 << 32) - 1, *rng.integers(1, 2**32, 200)]:
        members = [k for k in range(32) if int(x) >> k & 1]
        assert _ends(int(x)) == (members[0], members[-1])


@njit(_nrt=False)
def _write_seats(rows, sets, values, seats):
    for p in range(len(seats)):
        at = bits.put_seats(rows[p], 1, sets, p, seats, 21)
        bits.put_seats_onehot(rows[p], at, values, p, seats, 6)


@njit(_nrt=False)
def _write_views(rows, sets, values, seats):
    at = bits.put_views(rows, 1, sets, seats, 21)
    for p in range(len(seats)):
        bits.put_seats_onehot(rows[p], at, values, p, seats, 6)


@pytest.mark.parametrize("players", [1, 2, 3, 4, 5, 8])
def test_seat_by_seat_and_all_at_once_write_the_same(players):
    rng = np.random.default_rng(players)
    for _ in range(20):
        sets = rng.integers(0, 2**21, players).astype(np.int32)
        values = rng.integers(-1, 6, players).astype(np.int8)
        rows = np.full((2, players, players * 27 + 3), 7, np.int8)
        _write_seats(rows[0], sets, values, (0,) * players)
        _write_views(rows[1], sets, values, (0,) * players)
        assert (rows[0] == rows[1]).all()
        for p in range(players):
            expected = [7]
            for k in range(players):
                expected += [sets[(p + k) % players] >> j & 1 for j in range(21)]
            for k in range(players):
                expected += [int(values[(p + k) % players] == j) for j in range(6)]
            assert rows[0, p].tolist() == [*expected, 7, 7]


@njit(_nrt=False)
def _nth(x, k):
    return bits.nth_bit(x, k)


@njit(_nrt=False)
def _nth_anywhere(x, k):
    return bits.nth_bit_anywhere(x, k)


@pytest.mark.parametrize("nth", [_nth, _nth_anywhere])
def test_nth_bit_finds_every_member(nth):
    rng = np.random.default_rng(0)
    for x in [1, 2**31, 2**32 - 1, *rng.integers(1, 2**32, 200).tolist()]:
        members = [k for k in range(32) if x >> k & 1]
        assert [nth(x, k) for k in range(len(members))] == members


def test_plain_python_and_compiled_code_give_the_same_games():
    """With NUMBA_BOUNDSCHECK=1, as continuous integration runs it too, it is the code with every index checked."""
    shown = run(PLAY_ALL)
    assert len(shown.splitlines()) == sum(options["num_players"] <= MOST_PLAYERS for _, options in OPTION_CASES)
    assert {line.split()[0] for line in shown.splitlines()} == {"flinch-v0", "flip_it-v0", "flash10-v0"}
    assert run(PLAY_ALL, NUMBA_DISABLE_JIT="1") == shown
