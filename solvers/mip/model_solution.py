"""The reader of solution files that a solver wrote for an LP or MPS file of memplan. It converts them to plans.

HiGHS, CBC, SCIP and other solvers write one line with the name and value of each column. Most solvers omit zeros.
"""

import re

import numpy as np

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.buffer_table import column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.mip.draft import Draft
from memplan.solvers.mip.model_file import column_names, refuse_large
from memplan.solvers.mip.model_question import minimisation_of
from memplan.solvers.mip.program import draft

_ROWS = re.compile(r"#\s*(Rows|Dual)\b")
_OFF = 1e-4
"""The maximum by which a solver's offset may differ from an integer."""


def plan_of_solution(problem: Problem, data: bytes) -> Plan:
    """Return the plan that a solution file states for the program that `write_model` writes for a problem.

    Raises FormatError if the file is not such a solution, and OptionError if the program would be too large.
    """
    if problem.equal_use:
        raise FormatError(
            "equal_use: must be false to read a solution, because the program of equal pools has only one pool"
        )
    instance = compile_problem(problem)
    refuse_large(instance)
    boxes, question = minimisation_of(instance)
    program = draft(boxes, question, Draft())
    name_of = column_names(problem, boxes, program)
    values = _column_values(data.decode("utf-8", "replace"), {name: at for at, name in name_of.items()})
    pool, offset = np.zeros(boxes.n, np.int64), np.zeros(boxes.n, np.int64)
    for b in range(boxes.n):
        at = program.at["offset", b]
        raw = values.get(at, 0.0) if at in name_of else float(program.lower[at])
        if not (0 <= raw < 2**62 and abs(raw - round(raw)) <= _OFF):
            raise FormatError(f"{name_of.get(at, '')}: must be an integer of at least 0, got {excerpt(raw)}")
        offset[b] = round(raw)
        span = [*boxes.all[b].span]
        pool[b] = max(span, key=lambda q: values.get(program.at["in", q, b], 0.0)) if len(span) > 1 else span[0]
    return Plan(placements=lift(problem, instance, column(pool), column(offset)))


def _column_values(text: str, columns: dict[str, int]) -> dict[int, float]:
    """Return the value of each column that a solution's text names, by column number.

    `columns` maps names to numbers. Raises FormatError if the text names no column or has no number after a name.
    """
    values: dict[int, float] = {}
    for line in text.splitlines():
        if _ROWS.match(line):
            break
        words = line.split()
        k = next((k for k, word in enumerate(words[:3]) if word in columns), None)
        if k is None or len(words) < k + 2:
            continue
        try:
            values[columns[words[k]]] = float(words[k + 1])
        except ValueError:
            raise FormatError(f"{words[k]}: must be followed by a number, got {excerpt(words[k + 1])}") from None
    if not values:
        some = ", ".join([name for name in columns if name.startswith("o_")][:3])
        raise FormatError(
            f"must have the values of columns such as {some}, got none; give a solution of the program that"
            " `memplan convert PROBLEM -o model.lp` writes for this problem"
        )
    return values
