"""Run commands on models with short limits: python -m lab.commands_late FILE_OR_FOLDER... [--limits 0.2,1,3].

Each command that has a time limit runs in a process of its own, as a user types it; `cascade` with `--check` too, and
with `--write`. A row of JSON says by how much it was late, and how much CPU it took; at the end, how many were late by
more than half a second: by the clock, and by their CPU alone, which is what counts on a machine that is busy. Beside
the limit, a process has the seconds that the same command takes to say that there is no such file: Python starts, and
what reads such files is imported (docs/reference.md).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

from memplan.systems.reading import detect

_LATE_S = 0.5
_STARTS = ("start_s", "start_cpu_s")
_ENDINGS = (".tflite", ".onnx", ".pte", ".hlo.pb", ".relax", ".graph", ".json")
_WRITTEN = (".tflite", ".onnx")


def models(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the files that paths name, and those in folders."""
    for path in map(Path, paths):
        found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        yield from (each for each in found if each.name.endswith(_ENDINGS))


def commands(file: Path, plan: Path, folder: Path) -> Iterator[list[str]]:
    """Yield the command lines of a file; those on plans have one that was made before."""
    name, out = str(file), str(folder / f"out{file.suffix}")
    is_model = detect(file.read_bytes(), file.name) is not None
    for command in ("plan", "explain", "check", "certify"):
        yield [command, name]
    for command in ("order", "cascade"):
        yield [command, name]
    yield ["plan", name, "--reorder"]
    yield ["cascade", name, "--check"]
    if plan.exists():
        yield from ([*words, str(plan)] for words in (("plan", name, "--keep"), ("verify", name)))
    if is_model:
        yield ["compare", name]
    if file.suffix in _WRITTEN:
        yield ["order", name, "--write", out]
        yield ["cascade", name, "--write", out]
    if file.suffix == ".tflite":
        yield ["convert", name, "--to", "tflite", "-o", out]


def run(arguments: Sequence[str]) -> tuple[int, float, float, str]:
    """Run a command: its exit status, the seconds by the clock, its CPU and that of its children, and what it said."""
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        files = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, said.fileno(), 2)]
        line = [sys.executable, "-m", "memplan.api.cli.main", *arguments]
        process = os.posix_spawn(sys.executable, line, os.environ, file_actions=files)
        _, status, used = os.wait4(process, 0)
        passed_s = time.monotonic() - began
        said.seek(0)
        words = said.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(status), passed_s, used.ru_utime + used.ru_stime, words


def main(arguments: list[str]) -> int:
    """Run all commands on all models; return 1 where one was late by its CPU alone, or ended by a fault."""
    parser = ArgumentParser(prog="lab.commands_late")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--limits", default="0.2,1,3")
    parser.add_argument("--only", default="", help="the commands that begin so")
    given = parser.parse_args(arguments)
    starts: dict[tuple[str, ...], tuple[float, float]] = {}
    counts = {"runs": 0, "late": 0, "late by CPU": 0, "faults": 0}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file in models(given.paths):
            plan = folder / f"{file.name}.plan.json"
            run(["plan", str(file), "--time-limit", "2", "-q", "-o", str(plan)])
            for line in commands(file, plan, folder):
                key = (line[0], file.suffix, *(each for each in line if each.startswith("-")))
                if key not in starts:
                    starts[key] = min(run([line[0], f"missing{file.suffix}", *line[2:]])[1:3] for _ in range(2))
                start_s, start_cpu_s = starts[key]
                for limit in map(float, given.limits.split(",")) if line[0].startswith(given.only) else ():
                    status, passed_s, cpu_s, said = run([*line, "--time-limit", str(limit), "-q"])
                    over_s, cpu_over_s = passed_s - start_s - limit, cpu_s - start_cpu_s - limit
                    counts["runs"] += 1
                    counts["late"] += over_s > _LATE_S
                    counts["late by CPU"] += min(over_s, cpu_over_s) > _LATE_S
                    counts["faults"] += "Traceback" in said
                    if over_s > _LATE_S or "Traceback" in said:
                        row = {"line": [line[0], file.name, *line[2:]], "limit_s": limit, "over_s": round(over_s, 2)}
                        last = said.strip().splitlines()[-1:]
                        print(json.dumps({**row, "cpu_over_s": round(cpu_over_s, 2), "status": status, "said": last}))
    worst = {f"most {what}": round(max(start[k] for start in starts.values()), 2) for k, what in enumerate(_STARTS)}
    print(json.dumps({**counts, **worst}))
    return min(1, counts["late by CPU"] + counts["faults"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
