"""The formats in which plans can be written: memplan's own file formats, and reports in other compilers' formats."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from memplan.planner.foreign.layout import VerifiedLayout, layout_of
from memplan.planner.foreign.lists import write_executorch, write_triples
from memplan.planner.foreign.memory_tables import memory_tables
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


def _list_of(write: Callable[[VerifiedLayout, str], Mapping[str, bytes]]) -> Callable[[Plan, Problem], bytes]:
    return lambda plan, problem: write(layout_of(problem, plan), "")[""]


PLAN_FORMATS: Mapping[str, PlanFormat] = {
    **{name: PlanFormat(module.write_plan, module.MEDIA_TYPE, is_default=True) for name, module in FORMATS.items()},
    "tables": PlanFormat(lambda plan, problem: memory_tables(problem, plan).encode(), "text/plain", is_default=True),
    "triples": PlanFormat(_list_of(write_triples)),
    "exir": PlanFormat(_list_of(write_executorch)),
}
"""The formats of plans by name, including formats that memplan only writes; all entrances use this table."""
