"""Set up a virtual environment of this checkout and do one thing in it; run it as often as you like.

    python3.11 start.py train     train a Flip It agent for about three minutes and print how good it is
    python3.11 start.py test      install everything and run the tests

Needs Python 3.11 or newer and nothing else. Further words go on to the command: `start.py test -k rules`.
"""

import hashlib
import itertools
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
FOLDER = ROOT / ".venv"
BIN = FOLDER / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = FOLDER / "set-up-for"
TORCH = "torch==2.13.0"  # the CPU build that the project was tried with
TORCH_ELSEWHERE = ["torch>=2.8,<3", "--index-url", "https://download.pytorch.org/whl/cpu"]


def pip(*arguments, check=True, quiet=False):
    """Run the environment's pip; whether it succeeded."""
    command = [PYTHON, "-m", "pip", "--disable-pip-version-check", *arguments]
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, check=check, cwd=ROOT, stdout=output, stderr=output).returncode == 0


def set_up():
    """The environment with the project and its extras, made or brought up to date only if pyproject.toml is newer."""
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + Path(__file__).read_bytes()).hexdigest()
    if PYTHON.exists() and STAMP.exists() and STAMP.read_text() == wanted:
        return
    print("setting up", FOLDER.name, "(a few minutes the first time)", flush=True)
    if not PYTHON.exists():
        venv.create(FOLDER, with_pip=True)
    # A plain `torch` would bring gigabytes of CUDA: take a CPU wheel that pip knows of, else PyTorch's own index.
    if not pip("show", "-q", "torch", check=False, quiet=True):
        if pip("install", "--dry-run", "--no-deps", "--no-index", TORCH, check=False, quiet=True):
            pip("install", "-q", TORCH)
        else:
            pip("install", "-q", *TORCH_ELSEWHERE)
    pip("install", "-q", "-e", ".[train,test]")
    STAMP.write_text(wanted)


def run(*command, **environment):
    """Run a program of the environment and leave with its exit code."""
    sys.exit(subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode)


def train(config="flip_it-v0", *more):
    """Train, then say how good the agent is and where its curve lies."""
    flinchenv = BIN / "flinchenv"
    run_folder = next(f for n in itertools.count(1) if not (f := ROOT / "runs" / f"start-{n}").exists())
    command = [flinchenv, "train", config, "--json", "--set", f"run={run_folder.relative_to(ROOT)}", *more]
    trained = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if trained.returncode:
        sys.exit(trained.returncode)
    result = json.loads(trained.stdout.splitlines()[-1])
    print(f"trained {result['steps']:,} steps in {result['seconds']:.0f} s; now the verdict", flush=True)
    verdict = subprocess.run(
        [flinchenv, "evaluate", result["checkpoint"], "--env", result["env"]], cwd=ROOT, check=False
    )
    print(f"agent  {result['checkpoint']}\ncurve  {result['curve']}")
    sys.exit(verdict.returncode)


def main():
    """Read the word, set up, do it."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    task, *more = sys.argv[1:] or [""]
    if task == "train":
        set_up()
        train(*more)
    elif task == "test":
        set_up()
        run(PYTHON, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *more, OMP_NUM_THREADS="1")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
