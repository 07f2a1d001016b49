"""The kind `repairs`: a problem that does not fit in, the fewest changes with which it does out."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import as_tuple
from memplan.solvers.studies.repairs.repair import MOST_CHANGES, REPAIRS_S, RepairOptions, repairs
from memplan.solvers.studies.repairs.values import KINDS, ChangeKind, Repairs


class ChangesOptions(KindOptions):
    """Options of repairs: the seconds in all, and those of them that are kept for the search of changes.

    `wanted` is how many repairs are looked for, of at most `most_changes` changes of these `kinds`; `with_plans` tells
    the plan of each.
    """

    repair_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = REPAIRS_S
    wanted: Annotated[int, Field(ge=1, le=100)] = 3
    most_changes: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = 3
    kinds: Annotated[tuple[ChangeKind, ...], BeforeValidator(as_tuple), Field(min_length=1)] = tuple(KINDS)
    with_plans: bool = False
    deterministic: bool = False


def _run(problem: Problem, options: ChangesOptions, control: WorkControl) -> WorkAnswer:
    left_s = options.time_limit_s if options.deterministic else max(0.02, control.deadline.left_s)
    repair_s = min(options.repair_s, left_s / 2)
    chosen = RepairOptions(
        repair_s,
        wanted=options.wanted,
        most_changes=options.most_changes,
        kinds=options.kinds,
        with_plans=options.with_plans,
        cancelled=control.cancelled,
        deterministic=options.deterministic,
    )
    found = repairs(problem, solve_time_limit_s=left_s - repair_s, options=chosen)
    return WorkAnswer(to_json(found) + b"\n", found.status)


def _example() -> dict[str, Any]:
    rows = [
        {"id": "conv1", "size": 64, "start": 0, "end": 3},
        {"id": "conv2", "size": 48, "start": 2, "end": 5},
    ]
    pools = [{"name": "sram", "size": 100}, {"name": "dram", "cost": 1.0}]
    return {"problem": {"buffers": [row | {"pools": ["sram"]} for row in rows], "pools": pools}}


KIND = JobKind(
    name="repairs",
    summary="Repair a problem that does not fit",
    description="Answer with the fewest changes with which a problem fits, each verified by a plan.",
    fields=("problem",),
    read=problem_of,
    about=problem_subject,
    run=_run,
    options=ChangesOptions,
    request=create_model("RepairsRequest", problem=Problem, options=(ChangesOptions, ChangesOptions())),
    answer=Repairs,
    example=_example(),
)
