"""Who may import whom (design: core <- games <- registry <- envs <- adapters; flinchenv <- agents <- experiments)."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import flinchenv

ROOT = Path(__file__).resolve().parent.parent
GAMES = tuple(dict.fromkeys(flinchenv.spec(id).game for id in flinchenv.list_envs()))
ROOMS = {
    "flinchenv/core": {"core"},
    **{f"flinchenv/{game}": {"core", game} for game in GAMES},
    "flinchenv/envs": {"core", "registry", "envs"},
    "flinchenv/adapters": {"core", "registry", "envs", "adapters"},
}
FREE_OF = ("torch", "matplotlib", "stable_baselines3", "pettingzoo", "gymnasium", "tensorboard", "safetensors", "tqdm")


def imports(path):
    """(module, names, at module level) of every import in a file; relative ones as flinchenv.<...>."""
    tree = ast.parse(path.read_text())
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree):
        top = node in tree.body or any(node in getattr(n, "body", ()) for n in tree.body if isinstance(n, ast.Try))
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, [], top
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.level:
                base = package[: len(package) - node.level + 1]
                base = ("flinchenv", *base) if base[:1] != ("flinchenv",) else base
                yield ".".join([*base, *([node.module] if node.module else [])]), names, top
            else:
                yield node.module, names, top


def rooms_of(module, names):
    """The rooms of the library that an import reaches."""
    parts = module.split(".")
    if parts[0] != "flinchenv":
        return set()
    return {parts[1]} if len(parts) > 1 else set(names)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_below_it(room):
    for path in sorted((ROOT / room).glob("*.py")):
        for module, names, _ in imports(path):
            reached = rooms_of(module, names)
            allowed = ROOMS[room] | {"version"}
            assert reached <= allowed, f"{path.relative_to(ROOT)} imports {module}"


def test_the_library_imports_agents_and_experiments_inside_functions_only():
    for path in (ROOT / "flinchenv").rglob("*.py"):
        for module, names, top in imports(path):
            if top:
                assert not {"agents", "experiments", "configs"} & rooms_of(module, names), path


def test_agents_do_not_import_experiments():
    for path in (ROOT / "agents").rglob("*.py"):
        for module, names, _ in imports(path):
            assert "experiments" not in rooms_of(module, names), path


def test_core_and_games_know_no_api_library():
    for room in ("flinchenv/core", *(f"flinchenv/{game}" for game in GAMES)):
        for path in (ROOT / room).glob("*.py"):
            for module, _, _ in imports(path):
                assert module.split(".")[0] not in FREE_OF, path


def test_importing_the_library_loads_no_heavy_one():
    import subprocess
    import sys

    program = "import sys, flinchenv; print(*[m for m in sys.modules if '.' not in m])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & {*FREE_OF, "numba"}


def test_what_serves_all_games_names_none():
    titles = [flinchenv.spec(id).game_spec.title for id in flinchenv.list_envs()]
    words = {
        word.lower() for name in (*GAMES, *titles) for word in (name, name.replace("_", ""), name.replace(" ", ""))
    }
    files = [p for room in ("core", "envs", "adapters") for p in (ROOT / "flinchenv" / room).glob("*.py")]
    for path in [*files, ROOT / "flinchenv" / "cli.py", ROOT / "flinchenv" / "registration.py"]:
        found = re.findall("|".join(map(re.escape, words)), path.read_text().lower().replace("flinchenv", ""))
        assert not found, (path, found)


def test_every_package_is_in_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {name: settings["package-dir"].get(name, name.replace(".", "/")) for name in settings["packages"]}
    here = {p.parent.relative_to(ROOT).as_posix() for p in (ROOT / "flinchenv").rglob("__init__.py")}
    assert set(folders.values()) == here | {"agents", "experiments", "configs"}
    assert {"flinchenv", *(f"flinchenv.{game}" for game in GAMES)} <= set(folders)


def test_observe_takes_only_facts_from_the_game():
    for game in GAMES:
        for module, names, _ in imports(ROOT / "flinchenv" / game / "observe.py"):
            if module.endswith(".game"):
                assert all(name.isupper() for name in names), names


def test_numba_stays_in_the_core():
    for path in (ROOT / "flinchenv").rglob("*.py"):
        uses = any(module.split(".")[0] in ("numba", "llvmlite") for module, _, _ in imports(path))
        assert not uses or path.parent.name == "core", path


def test_kernels_use_no_global_generator():
    for path in (ROOT / "flinchenv" / "core").glob("*.py"):
        assert "np.random." not in path.read_text() or path.name == "replay.py", path
    for game in GAMES:
        for path in (ROOT / "flinchenv" / game).glob("*.py"):
            assert "np.random" not in path.read_text(), path


def test_nothing_executes_on_load():
    for room in ("flinchenv", "agents", "experiments"):
        for path in (ROOT / room).rglob("*.py"):
            if path.name == "kernel.py":  # numba's own cache of machine code
                continue
            source = path.read_text()
            for word in ("pickle.load", "torch.load", "cloudpickle", "eval(", "exec("):
                assert word not in source.replace(".eval()", "").replace("literal_eval(", ""), (path, word)
