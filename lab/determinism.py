"""The same answers in other states of a machine: `python -m lab.determinism [PROBLEMS [TIME_LIMIT [STATE ...]]]`.

Plans the problems with `memplan plan --deterministic`, and checks every fifth with `memplan check --deterministic`, in
a process for each state of `STATES`: what is written must be the same bytes as in the first state, or say
`"reproducible": false` and why. Prints a line for each answer that differs, and a line of counts for each state; exits
with 1 where an answer differs and does not say so. Too long for the test run, which tries a few problems.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memplan.api.cli.main import main as command
from memplan.planner.formats import memplan_json
from memplan.planner.model.problem import Problem
from tests.support import public_problems
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import full_load, mixed_alignments

ROOT = Path(__file__).parents[1]
STATES: Mapping[str, Mapping[str, str]] = {
    "warm": {"PYTHONHASHSEED": "0"},
    "other hash seed": {"PYTHONHASHSEED": "4242"},
    "other thread count": dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    "three busy loops": {},
}
"""From a state of the machine to what is set in the environment for it."""
_BUSY = "three busy loops"


@dataclass(frozen=True)
class Comparison:
    """The answers of one state beside those of the first: how many are the same bytes, say that they need not be, or
    differ and do not say so."""

    state: str
    same: int
    told: tuple[str, ...]
    untold: tuple[str, ...]


def drawn() -> Iterator[tuple[str, Problem]]:
    """Yield problems without end: hard real ones, full and mixed ones, several pools, and rules of all kinds."""
    real = [file for folder in ("minimalloc", "executorch_cadence") for file in public_problems.files(folder)]
    for seed in range(10**9):
        if seed < len(real):
            yield real[seed].stem, public_problems.problem(f"{real[seed].parent.name}/{real[seed].name}")
        yield f"full-{seed}", full_load(seed, 20 + 12 * (seed % 8))
        yield f"mixed-{seed}", mixed_alignments(seed, 12 + 2 * (seed % 8))
        yield f"pools-{seed}", random_problem(seed, 20 + seed % 30, frozenset({"pools", "cost"}))
        yield f"tied-{seed}", tied_problem(seed)


def write_problems(folder: Path, count: int) -> None:
    """Write so many problems into a folder."""
    for (name, problem), _ in zip(drawn(), range(count), strict=False):
        (folder / f"{name}.json").write_bytes(memplan_json.write_problem(problem))


def answer_all(problems: Path, answers: Path, time_limit: str) -> None:
    """Be the child: plan each problem by the command, check every fifth, and keep what is written."""
    for k, file in enumerate(sorted(problems.iterdir())):
        limits = ["--deterministic", "--time-limit", time_limit, "--quiet"]
        command(["plan", str(file), *limits, "-o", str(answers / f"{file.stem}.plan.json")])
        if k % 5 == 0:
            report = str(answers / f"{file.stem}.check.json")
            command(["check", str(file), *limits, "--budget", f"{_first_pool(file)}=1kB", "-o", report])


def _first_pool(file: Path) -> str:
    return memplan_json.read_problem(file.read_bytes()).pools[0].name


def answers_in(state: str, problems: Path, time_limit: str) -> dict[str, bytes]:
    """Return what a process in that state answers, by file."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="memplan-")))
        (folder / "answers").mkdir()
        environment = os.environ | STATES[state]
        if state == _BUSY:
            stack.enter_context(_busy_loops(3))
        arguments = ["--child", str(problems), str(folder / "answers"), time_limit]
        subprocess.run(
            [sys.executable, "-m", "lab.determinism", *arguments],
            env=environment,
            cwd=ROOT,
            check=True,
            stderr=subprocess.DEVNULL,
        )
        return {file.name: file.read_bytes() for file in sorted((folder / "answers").iterdir())}


@contextmanager
def _busy_loops(count: int) -> Iterator[None]:
    """Keep processors busy, as long as this lasts."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def compared(state: str, first: Mapping[str, bytes], then: Mapping[str, bytes]) -> Comparison:
    """Compare the answers of a state with those of the first."""
    differing = [name for name in first if then.get(name) != first[name]]
    told = tuple(name for name in differing if says_so(first[name]) or says_so(then.get(name, b"{}")))
    return Comparison(state, len(first) - len(differing), told, tuple(n for n in differing if n not in told))


def says_so(answer: bytes) -> bool:
    """Say whether an answer tells that it need not come again, and why."""
    document = json.loads(answer)
    return document.get("reproducible") is False and document.get("disturbed_by") is not None


def compare_states(count: int, time_limit: str, states: list[str]) -> Iterator[Comparison]:
    """Yield how the answers of each state compare with those of the first state."""
    with TemporaryDirectory(prefix="memplan-") as folder:
        write_problems(Path(folder), count)
        first = answers_in(states[0], Path(folder), time_limit)
        yield compared(states[0], first, first)
        for state in states[1:]:
            yield compared(state, first, answers_in(state, Path(folder), time_limit))


def main(arguments: list[str]) -> int:
    """Compare the states, or be the child of that."""
    if arguments[:1] == ["--child"]:
        answer_all(Path(arguments[1]), Path(arguments[2]), arguments[3])
        return 0
    count, time_limit = int(arguments[0]) if arguments else 50, (*arguments[1:2], "0.3")[0]
    wrong = 0
    for found in compare_states(count, time_limit, arguments[2:] or list(STATES)):
        for name in (*found.told, *found.untold):
            print(f"{found.state}: {name} differs{'' if name in found.untold else ', and says so'}", flush=True)
        print(
            f"{found.state}: {found.same} the same bytes, {len(found.told)} not, which say so,"
            f" {len(found.untold)} not, untold",
            flush=True,
        )
        wrong += len(found.untold)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
