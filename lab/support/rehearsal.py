"""Rehearse a release: run the commands of RELEASING.md in a clone of the last commit, whose origin is a clone, too."""

import datetime
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from memplan.planner import __version__

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {3: ["make"], 4: ["apt-get", "make"], 5: ["make", "promtool", "uv"], 8: ["apt-get"]}
"""The programs that a step needs in addition to Python and git, by the step's number."""
ENVIRONMENTS = {1: ("make environment && ", ".venv"), 7: ("python3 -m venv build && ", "build")}
"""How the environments are made before a step, and the folder that is active from there on."""
SHARE = {"DEEP": "--share 0.002", "ROWS": "capacity heaps keep"}
"""The variables that let `make deep` and `make ledger` ask a part of their cases in a rehearsal."""


def steps_of(text: str) -> Mapping[int, str]:
    """Return the command of each numbered step of RELEASING.md, for the version of memplan."""
    found = re.findall(r"^(\d+)\. .*?\n *```\n(.*?)\n *```", text, re.MULTILINE | re.DOTALL)
    return {int(number): command.strip().replace("VERSION", __version__) for number, command in found}


def rehearse(without: Collection[int], folder: Path) -> int:
    """Run all steps but `without`, of which the last installs the wheel of step 7; return 1 if one is not done.

    They run in the clone in `folder`, which is made where it does not exist.
    """
    clone, origin = folder / "clone", folder / "origin.git"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", "--bare", "--no-tags", str(ROOT), str(origin)], check=True)
        subprocess.run(["git", "clone", "--quiet", str(origin), str(clone)], check=True)
        subprocess.run(["git", "checkout", "--quiet", "-B", "main"], cwd=clone, check=True)
        (clone / "dist").mkdir()
        if (ROOT.parent / "shared").exists():  # What the gate builds the container with, and problems for tests.
            (folder / "shared").symlink_to(ROOT.parent / "shared")
        changelog = clone / "CHANGELOG.md"
        heading = f"## {__version__} ({datetime.datetime.now(datetime.UTC):%Y-%m-%d})"
        text = re.sub("^## .*$", f"{heading}\n", changelog.read_text("utf-8"), count=1, flags=re.MULTILINE)
        changelog.write_text(text, encoding="utf-8")
    return run_steps(steps_of((clone / "RELEASING.md").read_text("utf-8")), clone, without)


def run_steps(steps: Mapping[int, str], folder: Path, without: Collection[int] = ()) -> int:
    """Run the commands of steps in a folder, and return 1 if one fails or cannot be run, unless it is in `without`."""
    environment, making, worse = os.environ | SHARE, "", 0
    for number, command in steps.items():
        if number == max(steps):  # Only there: an environment needs the places of packages that this machine names.
            environment["PIP_FIND_LINKS"] = str(folder / "dist")
        if number in ENVIRONMENTS:
            making, active = ENVIRONMENTS[number]
            environment["PATH"] = f"{folder / active / 'bin'}{os.pathsep}{os.environ['PATH']}"
        if number in without:
            print(f"step {number}: not run, as --without says", flush=True)
            continue
        print(f"step {number}: {making}{command}", flush=True)
        lacks = [name for name in NEEDS.get(number, ()) if shutil.which(name, path=environment["PATH"]) is None]
        if lacks or subprocess.run(f"{making}{command}", cwd=folder, env=environment, shell=True).returncode:
            why = f"needs {', '.join(lacks)}" if lacks else "failed"
            print(f"step {number}: {why}; --without {number} leaves it out", flush=True)
            worse = 1
        making = ""
    return worse
