"""Try the wheels of other platforms: `python -m lab.platforms FOLDER`, with the output of `python -m lab.release`.

The C program of `examples/core` is linked to the library in each wheel, and plans all of `examples/problems`: for
aarch64 under qemu, for musl by its loader, for Windows under wine. Its output, which has all offsets, must equal the
output with the x86_64 wheel. A platform whose programs cannot run on this machine is printed with the reason, and makes
the exit status 1, unless `--without TAG` names it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from lab.release import ROOT, TARGETS

FIRST = "x86_64-linux-gnu.2.17"
RUNNERS = {
    FIRST: [],
    "aarch64-linux-gnu.2.17": ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    "x86_64-linux-musl": ["/lib/ld-musl-x86_64.so.1"],
    "x86_64-windows-gnu": ["wine"],
}
"""Maps each target to the command that runs its programs on this machine; macOS and musl on aarch64 cannot run."""
COMPILER = [sys.executable, "-m", "ziglang"]
PROBLEMS = sorted((ROOT / "examples" / "problems").glob("*/*.csv"))


def main(words: Sequence[str] | None = None) -> int:
    """Try the wheels in a folder, and return 1 if plans of a platform differ from those of x86_64, or are not tried."""
    parser = argparse.ArgumentParser(prog="python -m lab.platforms", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheels are")
    parser.add_argument("--without", metavar="TAG", action="append", choices=TARGETS.values(), default=[])
    given = parser.parse_args(words)
    expected: list[str] = []
    worse = 0
    if subprocess.run([*COMPILER, "version"], capture_output=True, check=False).returncode:
        parser.error("needs ziglang: pip install --require-hashes --requirement docker/build.lock")
    for target, tag in TARGETS.items():
        wheel = next(given.folder.glob(f"*-{tag}.whl"), None)
        runner = RUNNERS.get(target)
        if wheel is None or runner is None or (runner and shutil.which(runner[0]) is None):
            reason = "no wheel" if wheel is None else "nothing here runs it" if runner is None else f"needs {runner[0]}"
            worse += tag not in given.without
            print(f"{tag}: not tried, {reason}")
            continue
        with tempfile.TemporaryDirectory() as place:
            answers = plans(wheel, target, runner, Path(place))
        expected = expected or answers
        same = sum(one == other for one, other in zip(answers, expected, strict=True))
        worse += same < len(expected)
        print(f"{tag}: {same} of {len(expected)} problems with the same offsets")
    return int(worse > 0)


def plans(wheel: Path, target: str, runner: Sequence[str], folder: Path) -> list[str]:
    """Link the C program to the library of a wheel, and return the program's output for each problem."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if "/solvers/core/built/memplan." in name)
        library = folder / Path(name).name
        library.write_bytes(archive.read(name))
    program = folder / ("plan_csv.exe" if "windows" in target else "plan_csv")
    core, source = ROOT / "solvers" / "core", ROOT / "examples" / "core" / "plan_csv.c"
    compiler = [*COMPILER, "cc", "-target", target, "-O2", f"-I{core}"]
    dynamic = [] if "windows" in target else ["-dynamic", "-Wl,-rpath,$ORIGIN"]
    command = [*compiler, *dynamic, str(source), str(library), "-o", str(program)]
    subprocess.run(command, cwd=folder, check=True)
    answers, quiet = [], os.environ | {"WINEDEBUG": "-all"}  # Wine's own messages would mix with the answers.
    for problem in PROBLEMS:
        shutil.copy(problem, folder / "problem.csv")
        run = [*runner, str(program), "problem.csv"]
        done = subprocess.run(run, cwd=folder, env=quiet, capture_output=True, text=True, check=False)
        errors = [line for line in done.stderr.splitlines() if not line.startswith("wine: ")]  # Its first run tells so.
        if done.returncode not in (0, 1) or errors:
            raise SystemExit(f"{program.name} of {target}: {problem}: {done.stdout}{done.stderr}")
        answers.append(done.stdout.replace("\r", ""))
    return answers


if __name__ == "__main__":
    sys.exit(main())
