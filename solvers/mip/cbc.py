"""The integer program, solved by CBC through PuLP.

`import pulp` loads highspy, which cannot share a process with OR-Tools: this runs in a child process, and imports it
when called. CBC is a process below that; both are killed together.
"""

from __future__ import annotations

import re
import time
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.mip.draft import IntegerProgram
from memplan.solvers.mip.stages import EngineRun, Outcome, pursue
from memplan.solvers.search.incumbent import Search

_INFEASIBLE = "says infeasible or unbounded"
"""The words of CBC's log where preprocessing ends it; no column of the program is unbounded."""
_LOWER_BOUND = re.compile(r"^Lower bound:\s+(\S+)$", re.MULTILINE)


def solve(instance: Instance, search: Search) -> None:
    """Offer plans, bounds and claims of CBC, which reports them when it stops."""
    pursue(instance, search, "cbc", _solve_program)


def _solve_program(run: EngineRun) -> Outcome:
    import pulp

    effort = run.effort
    seed = 1 + effort.seed % 10**6
    problem, columns = _model(pulp, run.program)
    if run.start is not None:
        for at, variable in columns.items():
            variable.setInitialValue(_nearest(run.program, at, float(run.start[at])))
    with TemporaryDirectory(prefix="memplan-cbc-") as folder:
        log_file = Path(folder) / "cbc.log"
        solver = pulp.PULP_CBC_CMD(
            msg=False,
            logPath=str(log_file),
            warmStart=run.start is not None,
            timeLimit=effort.seconds,
            maxNodes=effort.nodes,
            gapAbs=effort.gap,
            # The relative gap would stop it above the least unit.
            gapRel=0,
            # By itself CBC counts processor time, which on a busy machine is later than the deadline.
            options=["timeMode elapsed", f"randomSeed {seed}", f"randomCbcSeed {seed}"],
        )
        solver.tmpDir = folder
        began = time.monotonic()
        try:
            problem.solve(solver)
        except pulp.PulpSolverError:
            # Where its time is over while it prepares the program, CBC 2.10 crashes.
            if effort.seconds is None or time.monotonic() - began < effort.seconds:
                raise
            return Outcome("open")
        lines = log_file.read_text()
    for line in lines.splitlines():
        run.log(f"cbc: {line}")
    return _outcome(pulp, problem, columns, run, lines)


def _model(pulp: Any, program: IntegerProgram) -> tuple[Any, dict[int, Any]]:
    """Return the program as PuLP has it, and its variables by column.

    A column without entries is left out, as bounds on it break CBC's reader.
    """
    problem = pulp.LpProblem("memplan", pulp.LpMinimize)
    used = sorted({*program.index.tolist(), *np.flatnonzero(program.cost).tolist()})
    columns = {
        at: problem.add_variable(
            f"x{at}",
            float(program.lower[at]),
            float(program.upper[at]),
            cat=pulp.LpInteger if program.is_whole[at] else pulp.LpContinuous,
        )
        for at in used
    }
    problem += pulp.LpAffineExpression([(columns[at], 1.0) for at in np.flatnonzero(program.cost).tolist()])
    index, value = program.index.tolist(), program.value.tolist()
    for k, (first, last) in enumerate(zip(program.first.tolist(), program.first[1:].tolist(), strict=False)):
        sides = pulp.LpAffineExpression([(columns[index[e]], value[e]) for e in range(first, last)])
        least, most = float(program.row_lower[k]), float(program.row_upper[k])
        if least == most:
            problem += sides == least
            continue
        if least > -inf:
            problem += sides >= least
        if most < inf:
            problem += sides <= most
    return problem, columns


def _nearest(program: IntegerProgram, at: int, value: float) -> float:
    """Return the value between the column's limits; PuLP refuses one that is outside by a rounding error."""
    return min(max(value, float(program.lower[at])), float(program.upper[at]))


def _outcome(pulp: Any, problem: Any, columns: dict[int, Any], run: EngineRun, lines: str) -> Outcome:
    """Read what CBC found; its values mean nothing where it reports no solution."""
    if problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        values = run.program.lower.copy()
        for at, variable in columns.items():
            values[at] = variable.varValue
        run.take(values)
    if problem.sol_status == pulp.LpSolutionOptimal:
        # It stops within the gap, so only what lies below that is a bound.
        return Outcome("optimal", float(pulp.value(problem.objective) or 0.0) - run.effort.gap)
    if problem.status == pulp.LpStatusInfeasible or _INFEASIBLE in lines:
        return Outcome("infeasible")
    said = _LOWER_BOUND.search(lines)
    return Outcome("open", float(said.group(1)) if said else -inf)
