"""The integer program solved by CBC, which the package PuLP includes.

`import pulp` loads highspy, which cannot share a process with OR-Tools. So this module runs in a child process and
imports pulp only when called. CBC is a child of that process, and both are killed together. CBC reads the program as
an MPS file and writes its best solution when it ends. It checks its clock only between long steps, so its time limit
is set earlier than the deadline.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.mip.draft import F64, IntegerProgram
from memplan.solvers.mip.mps import MpsColumn, Number, Sense, mps_lines
from memplan.solvers.mip.stages import EngineRun, Outcome, pursue
from memplan.solvers.search.incumbent import Search

_EARLY_S = 0.8
"""The seconds by which CBC's limit precedes the deadline, as CBC may be this late; at most a quarter of the limit."""
_LOOK_EVERY_S = 0.01
_INFEASIBLE = re.compile(r"says infeasible or unbounded|proven infeasible")
"""CBC's messages for an infeasible program. The program is bounded, so "unbounded" is no alternative."""
_BOUND = re.compile(r"(?:^Lower bound:\s+|\(best possible )([-+.\de]+)", re.MULTILINE)


def solve(instance: Instance, search: Search) -> None:
    """Solve the goals of an instance with CBC, and offer the plans, bounds and claims that CBC reports when it ends."""
    pursue(instance, search, "cbc", solve_program)


def solve_program(run: EngineRun) -> Outcome:
    """Solve a program with CBC, and return the outcome of the run."""
    import pulp

    began = time.monotonic()
    with TemporaryDirectory(prefix="memplan-cbc-") as name:
        folder = Path(name)
        (folder / "model.mps").write_text("\n".join(_program_lines(run.program)) + "\n")
        if run.start is not None:
            (folder / "start.txt").write_text("\n".join(_start_lines(run.program, run.start)) + "\n")
        limit_s = None if run.effort.seconds is None else max(0.05, run.effort.seconds - (time.monotonic() - began))
        command = [pulp.PULP_CBC_CMD().path, *_command_arguments(run, limit_s)]
        log, is_late = _run_cbc(command, folder, run, limit_s)
        for line in log.splitlines():
            run.log(f"cbc: {line}")
        solution = folder / "solution.txt"
        return _outcome(run, log, solution.read_text().splitlines() if solution.exists() else [], is_late)


def _command_arguments(run: EngineRun, limit_s: float | None) -> list[str]:
    """Return the command-line arguments of CBC for one run."""
    effort = run.effort
    seed = str(1 + effort.seed % 10**6)
    # CBC counts processor time by default, which would miss the deadline on a busy machine, so count elapsed time.
    limits = ["-timeMode", "cpu" if effort.counts_processor else "elapsed"]
    limits += [] if limit_s is None else ["-sec", str(_engine_limit_s(limit_s))]
    limits += [] if effort.nodes is None else ["-maxNodes", str(effort.nodes)]
    # A relative gap would let CBC stop above the minimum, so set only the absolute gap.
    limits += ["-allowableGap", str(effort.gap), "-ratioGap", "0", "-randomSeed", seed, "-randomCbcSeed", seed]
    start = [] if run.start is None else ["-mipstart", "start.txt"]
    return ["model.mps", *start, *limits, "-branch", "-printingOptions", "all", "-solution", "solution.txt"]


def _engine_limit_s(limit_s: float) -> float:
    return limit_s - min(_EARLY_S, limit_s / 4)


def _run_cbc(command: list[str], folder: Path, run: EngineRun, limit_s: float | None) -> tuple[str, bool]:
    """Run CBC in a folder until it ends or is killed; return its log, and True if its time limit was reached."""
    now = _processor_s if run.effort.counts_processor else time.monotonic
    began = now()
    with (
        (folder / "cbc.log").open("w") as log,
        subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        is_late = False
        while process.poll() is None:
            if is_late := run.is_late():
                process.kill()
            time.sleep(_LOOK_EVERY_S)
    # At its time limit, CBC may crash or call its best solution optimal, so record that the limit was reached.
    is_late |= limit_s is not None and now() - began >= _engine_limit_s(limit_s)
    text = (folder / "cbc.log").read_text()
    is_late |= "Stopped on time" in text or "Exiting on maximum time" in text
    if process.returncode and not is_late:
        raise RuntimeError(f"cbc: must end with status 0, got {process.returncode}")
    return text, is_late


def _processor_s() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def _program_lines(program: IntegerProgram) -> Iterator[str]:
    """Yield the lines of the program as an MPS file with columns x0, x1, ... and rows r0, r1, ..."""
    rows: list[tuple[str, Sense, Number]] = []
    for k, (least, most) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        rows.append(
            (f"r{k}", "E" if least == most else "L" if least == -inf else "G", most if least == -inf else least)
        )
    entries: list[list[tuple[str, Number]]] = [[("total", cost)] for cost in program.cost.tolist()]
    row_of = np.repeat(np.arange(len(rows)), np.diff(program.first)).tolist()
    for at, k, value in zip(program.index.tolist(), row_of, program.value.tolist(), strict=True):
        entries[at].append((f"r{k}", value))
    limits, kinds = (program.lower.tolist(), program.upper.tolist()), program.is_whole.tolist()
    columns = [MpsColumn(f"x{at}", *column) for at, column in enumerate(zip(*limits, kinds, entries, strict=True))]
    # Each change between integer and other columns needs a marker line, so sort the columns by kind.
    yield from mps_lines(rows, sorted(columns, key=lambda column: column.is_whole))


def _start_lines(program: IntegerProgram, start: F64) -> Iterator[str]:
    """Yield the lines of a solution file for a starting solution, whose values are clipped to their limits.

    CBC would refuse values that exceed their limits by rounding.
    """
    yield "Stopped on time - objective value 0"
    for at, value in enumerate(np.clip(start, program.lower, program.upper).tolist()):
        yield f"{at} x{at} {value!r} 0"


def _outcome(run: EngineRun, log: str, solution: list[str], is_late: bool) -> Outcome:
    """Return the outcome of a CBC run from its log and solution file, and pass on an integer solution's values."""
    status = solution[0] if solution else ""
    is_optimal = status.startswith("Optimal")
    if is_optimal or (status.startswith("Stopped") and "no integer solution" not in status):
        values = run.program.lower.copy()
        for line in solution[1:]:
            _, name, value, *_ = line.replace("**", "").split()
            if name.startswith("x"):  # CBC may also list rows, whose names do not begin with x.
                values[int(name[1:])] = float(value)
        run.take(values)
        if is_optimal and not is_late:
            # CBC may stop within its gap, so subtract the gap from its objective to get a valid bound.
            return Outcome("optimal", float(status.split()[-1]) - run.effort.gap)
    if "nfeasible" in status or _INFEASIBLE.search(log):
        # CBC may also call an interrupted relaxation infeasible, so trust the result only if time was left.
        return Outcome("open" if is_late else "infeasible")
    bounds = [float(number) for number in _BOUND.findall(log)]
    return Outcome("open", bounds[-1] if bounds and isfinite(bounds[-1]) else -inf)
