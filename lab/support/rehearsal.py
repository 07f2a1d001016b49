"""Rehearse a release: run the commands of RELEASING.md in a clone of the last commit, which pushes to a clone of it.

The published package of the last step is the wheel of step 7.
"""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from memplan.planner import __version__

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {3: ["uv"], 4: ["apt-get", "make"], 5: ["make", "uv"], 8: ["apt-get"], 9: ["git"]}
"""The programs that a step needs on PATH beside Python and git, by the step's number."""
ENVIRONMENTS = {1: ("make environment", ".venv"), 7: ("python3 -m venv build", "build")}
"""The environments that are made before a step, each with the folder that is active from there on."""


def steps_of(text: str) -> Mapping[int, str]:
    """Return the command of each numbered step of RELEASING.md, for the version of memplan."""
    found = re.findall(r"^(\d+)\. .*?\n *```\n(.*?)\n *```", text, re.MULTILINE | re.DOTALL)
    return {int(number): command.strip().replace("VERSION", __version__) for number, command in found}


def rehearse(without: Collection[int] = ()) -> int:
    """Run all steps but `without`, and return 1 if one fails or cannot be run."""
    with tempfile.TemporaryDirectory() as folder:
        clone, origin = Path(folder, "clone"), Path(folder, "origin.git")
        for where, kind in ((origin, ["--bare"]), (clone, [])):
            subprocess.run(["git", "clone", "--quiet", *kind, str(ROOT), str(where)], check=True)
        for words in (["remote", "set-url", "origin", str(origin)], ["checkout", "-q", "-B", "main"]):
            subprocess.run(["git", *words], cwd=clone, check=True)
        changelog = clone / "CHANGELOG.md"
        said = changelog.read_text(encoding="utf-8")
        heading = f"## {__version__} ({datetime.datetime.now(datetime.UTC):%Y-%m-%d})"
        changelog.write_text(f"{re.sub('^## .*$', heading, said, count=1, flags=re.MULTILINE)}\n", encoding="utf-8")
        steps = steps_of((clone / "RELEASING.md").read_text(encoding="utf-8"))
        return run_steps(steps, clone, without)


def run_steps(steps: Mapping[int, str], folder: Path, without: Collection[int] = ()) -> int:
    """Run the commands of steps in a folder, and return 1 if one fails or cannot be run, unless it is in `without`."""
    environment = os.environ | {"PIP_FIND_LINKS": str(folder / "dist")}
    worse, making = 0, ""
    for number, command in steps.items():
        if number in ENVIRONMENTS:
            making, active = ENVIRONMENTS[number]
            path = f"{folder / active / 'bin'}{os.pathsep}{os.environ['PATH']}"
            environment |= {"PATH": path, "VIRTUAL_ENV": str(folder / active)}
        if number in without:
            print(f"step {number}: not run, as --without says", flush=True)
            continue
        command, making = f"{making}{' && ' * bool(making)}{command}", ""
        lacks = [
            program for program in NEEDS.get(number, ()) if shutil.which(program, path=environment["PATH"]) is None
        ]
        print(f"step {number}: {command}", flush=True)
        if lacks:
            print(f"step {number}: not run, needs {', '.join(lacks)}", flush=True)
        status = 1 if lacks else subprocess.run(command, cwd=folder, env=environment, shell=True).returncode
        if status:
            print(f"step {number}: failed, leave it out by --without {number}", flush=True)
        worse |= int(status != 0)
    return worse
