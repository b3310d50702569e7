"""Build the wheel, install it in a fresh environment without torch and play from it as a stranger would.

    python tests/check_wheel.py

Outside the checkout, site-packages and the working folder read-only, no HOME, no display.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
import flinchenv, numpy as np
from flinchenv.agents.load import FAMILIES, load
assert "site-packages" in flinchenv.__file__, flinchenv.__file__
for id in flinchenv.list_envs():
    env = flinchenv.make(id)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, over, cut, _ = env.last()
        env.step(None if over or cut else int(observation["action_mask"].argmax()))
    strongest = f"rule:{FAMILIES[flinchenv.spec(id).game]['rule'].numbers[-1]}"
    batch = flinchenv.make(id, "gym_vector", num_envs=8, opponents=strongest, seat="rotate")
    _, info = batch.reset(seed=1)
    for _ in range(20):
        info = batch.step(info["action_mask"].argmax(1))[-1]
    load("rule", id)
from flinchenv import flash10_v0, flinch_v0, flip_it_v0
assert flash10_v0.parallel_env(num_players=1).metadata["name"] == "flash10-v0"
assert flip_it_v0.parallel_env().metadata["name"] == "flip_it-v0"
assert flinch_v0.env().metadata["name"] == "flinch-v0"
"""


def run(*command, **options):
    """Run and show a command that must succeed."""
    print("+", *[str(c)[-60:] for c in command[:6]], flush=True)
    return subprocess.run(command, check=True, **options)


def main():
    """The whole check; raises at the first thing that is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".venv", ".git", "build", "*.egg-info", "runs"))
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
        run(*pip, "wheel", "--no-deps", "-w", folder / "dist", source)
        (wheel,) = (folder / "dist").glob("*.whl")
        run(*pip, "install", wheel)
        site = next((folder / "venv" / "lib").glob("python*/site-packages"))
        for missing in ("torch", "agents", "experiments", "configs"):
            assert not (site / missing).exists(), f"{missing} is in site-packages"
        assert (site / "flinchenv" / "py.typed").exists()
        assert list((site / "flinchenv" / "configs").glob("*.toml"))
        work = folder / "work"
        work.mkdir()
        for path in [work, *site.rglob("*")]:
            if path.is_dir():
                path.chmod(0o555)
        environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            # Root may write anywhere: let the account "nobody" try instead.
            folder.chmod(0o755)
            options = {"cwd": work, "env": environment, "user": 65534, "group": 65534}
        else:
            options = {"cwd": work, "env": environment}
        run(python, "-I", "-c", PROGRAM, **options)
        command = folder / "venv" / "bin" / "flinchenv"
        run(command, "list", stdout=subprocess.DEVNULL, **options)
        for word in ("rules", "layout", "demo"):
            for id in ("flinch-tiny-v0", "flip_it-tiny-v0", "flash10-tiny-v0"):
                run(command, word, id, stdout=subprocess.DEVNULL, **options)
        for id in ("flinch-tiny-v0", "flip_it-hand-v0", "flash10-round-v0"):
            run(command, "tournament", id, "random", "rule", "--games", "100", "--json", **options)
        refused = subprocess.run(
            [command, "train", "flip_it-v0"], capture_output=True, text=True, check=False, **options
        )
        assert refused.returncode == 2, refused
        assert "flinchenv[train]" in refused.stderr, refused.stderr
        assert "Traceback" not in refused.stderr
        for path in [work, *site.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
    print("the wheel works")


if __name__ == "__main__":
    sys.exit(main())
