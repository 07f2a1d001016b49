"""The formats in which plans can be written: memplan's own file formats, and reports in other compilers' formats."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic_core import to_json

from memplan.planner.formats import FORMATS
from memplan.planner.model.moving import refuse_moves
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

JSON = FORMATS["json"].MEDIA_TYPE


class PlanFormat(NamedTuple):
    """A format of plans and its media type; if `is_default`, an Accept header with that media type selects it."""

    write: Callable[[Plan, Problem], bytes]
    media_type: str = JSON
    is_default: bool = False


def write_plan(plan: Plan, problem: Problem, plan_format: str) -> bytes:
    """Return a plan as bytes in one of the PLAN_FORMATS; JSON if the plan lacks the needed placements."""
    if plan_format not in FORMATS and plan.status not in ("optimal", "feasible"):
        plan_format = "json"
    if plan_format != "json":
        refuse_moves(problem, f"for the format {plan_format}")
    return PLAN_FORMATS[plan_format].write(plan, problem)


def _tables_report(plan: Plan, problem: Problem) -> bytes:
    from memplan.api.reports.memory_tables import memory_tables

    return memory_tables(problem, plan).encode()


def _triples_report(plan: Plan, problem: Problem) -> bytes:
    return to_json([[row["id"], row["pool"], row["offset"]] for row in plan.placements.rows()]) + b"\n"


def _exir_report(plan: Plan, problem: Problem) -> bytes:
    """Return a plan in ExecuTorch's terms: memories count from 1, and 0 is the memory of constants.

    `bufsizes` starts with memory 0, and its sizes are rounded up to the alignments, as the runtime requires.
    `peak_memory_usages_per_memory` starts with memory 1 and is not rounded, as in Cadence's code (but not in its
    docstring). Specs that share bytes have the same `mem_obj_id` in their memory.
    """
    from memplan.api.reports.memory_tables import peak_over_time

    used = [pool.used or 0 for pool in plan.pools]
    peak = peak_over_time(problem)
    report: dict[str, Any] = {
        "bufsizes": [
            0,
            *(-(-end // pool.alignment) * pool.alignment for end, pool in zip(used, problem.pools, strict=True)),
        ],
        "peak_memory_usages_per_memory": used,
        "peak_memory_usage": None if peak is None else {"bytes": peak[0], "node": peak[1]},
        "specs": _exir_specs(plan, problem),
    }
    return to_json(report) + b"\n"


def _exir_specs(plan: Plan, problem: Problem) -> list[dict[str, int | str]]:
    """Return the memory, object number and offset of each buffer; overlapping buffers share an object."""
    rows = plan.placements.rows()
    memory = [problem.pool_index[str(row["pool"])] for row in rows]
    ends = [int(row["offset"]) + int(problem.buffers.size[problem.index[row["id"]]]) for row in rows]
    objects = [0] * len(rows)
    reached: dict[int, tuple[int, int]] = {}  # For each memory, store the number and the end of the current object.
    for k in sorted(range(len(rows)), key=lambda k: int(rows[k]["offset"])):
        number, end = reached.get(memory[k], (-1, 0))
        if number < 0 or int(rows[k]["offset"]) >= end:
            number += 1
        objects[k] = number
        reached[memory[k]] = number, max(end, ends[k])
    return [
        {"id": row["id"], "mem_id": q + 1, "mem_obj_id": number, "mem_offset": row["offset"]}
        for row, q, number in zip(rows, memory, objects, strict=True)
    ]


PLAN_FORMATS: Mapping[str, PlanFormat] = {
    **{name: PlanFormat(module.write_plan, module.MEDIA_TYPE, is_default=True) for name, module in FORMATS.items()},
    "tables": PlanFormat(_tables_report, "text/plain", is_default=True),
    "triples": PlanFormat(_triples_report),
    "exir": PlanFormat(_exir_report),
}
"""The formats of plans by name, including formats that memplan only writes; all entrances use this table."""
