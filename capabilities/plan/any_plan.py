"""Plans of any origin: files, lists of offsets, and the plan inside of the file that has the problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from memplan.capabilities.inputs import PLAN, PROBLEM
from memplan.capabilities.plan.baseline import without_pins
from memplan.capabilities.question import Question
from memplan.capabilities.reading import Reader, read_plan
from memplan.capabilities.sizes import with_capacities
from memplan.planner import formats
from memplan.planner.errors import FormatError, shown
from memplan.planner.formats import memplan_json
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.finding import Finding
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.systems import reading as importers
from memplan.systems.imported import Imported
from memplan.systems.model_options import ModelOptions


@dataclass(frozen=True)
class _WithPlan:
    """A problem, the plan that came with it, if any, and warnings about how they were read."""

    problem: Problem
    plan: Plan | None = None
    warnings: tuple[Finding, ...] = ()
    own_peak: int | None = None


def read_with_plan(reader: Reader, data: bytes, name: str) -> Problem:
    """Return the problem in a file; the plan inside of it, where there is one, is the reader's. Raises InputError."""
    if importers.detect(data, name) is not None:
        result = _of_model(data, name, reader.options)
    else:
        reader.options.refuse_for_models()
        result = _of_problem(data, name)
    reader.own_plan, reader.own_peak = result.plan, result.own_peak
    reader.warnings += result.warnings
    return with_capacities(result.problem, reader.options.capacity)


def _plan_inside(reader: Reader, _question: Question) -> Plan:
    if reader.own_plan is None:
        note = (
            "" if reader.own_peak is None else f", only that its own plan takes {reader.own_peak} bytes (see compare)"
        )
        raise FormatError(
            f"must have a plan inside, or come with one: this file tells of no offsets{note}; `memplan plan` makes one"
        )
    return reader.own_plan


def read_plan_of(data: bytes, problem: Problem, name: str) -> Plan:
    """Read a plan, JSON or CSV, or a list of offsets: `{"id": offset}`, or `[[id, offset], …]`; raises InputError."""
    if data.lstrip()[:1] in (b"{", b"["):
        value = memplan_json.parse(data)
        if isinstance(value, dict) and value.keys() == {"problem", "plan"}:
            return Plan.model_validate(value["plan"])
        is_of_offsets = isinstance(value, dict) and all(isinstance(offset, int) for offset in value.values())
        rows = list(value.items()) if is_of_offsets else value
        if isinstance(rows, list):
            return Plan(placements=_offsets(rows, problem))
    return read_plan(data, problem, name)


def _offsets(rows: list[object], problem: Problem) -> PlacementTable:
    """Return the placements of a list of offsets in the only pool; ids are matched as they are, or as text."""
    if len(problem.pools) > 1:
        raise FormatError(f"offsets: must be in one pool, got a problem of {len(problem.pools)}: say each one's pool")
    by_text: dict[object, int | str] = {str(name): name for name in problem.buffers.ids}
    ids, offsets = [], []
    for k, row in enumerate(rows):
        pair = (row.get("id"), row.get("offset")) if isinstance(row, dict) else row
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], (int, str)):
            raise FormatError(f"offsets[{k}]: must be an id and an offset, got {shown(row)}")
        if type(pair[1]) is not int or not 0 <= pair[1] < 2**63:
            raise FormatError(f"offsets[{k}]: must be an offset of at least 0 and below 2^63, got {shown(pair[1])}")
        ids.append(pair[0] if pair[0] in problem.index else by_text.get(str(pair[0]), pair[0]))
        offsets.append(pair[1])
    return PlacementTable(tuple(ids), (problem.pools[0].name,), column([0] * len(ids)), column(offsets))


def _of_model(data: bytes, name: str, options: ModelOptions) -> _WithPlan:
    """Read a model; its views are in place or apart, in whichever way its own plan is right, or less wrong."""
    imported = importers.read_model(data, name, options)
    if imported.own_plan is None or options.views == "separate" or not imported.views.aliases:
        return _planned(imported)
    apart = importers.read_model(data, name, options.model_copy(update={"views": "separate"}))
    return _planned(min((imported, apart), key=_wrong))


def _wrong(imported: Imported) -> int:
    return 0 if imported.own_plan is None else len(verify(imported.problem, imported.own_plan))


def _planned(imported: Imported) -> _WithPlan:
    return _WithPlan(imported.problem, imported.own_plan, imported.warnings, imported.own_peak)


def _of_problem(data: bytes, name: str) -> _WithPlan:
    """Read a problem; offsets that pin all of a table are a plan."""
    if formats.detect(data, name) == "json":
        value = memplan_json.parse(data)
        if isinstance(value, dict) and value.keys() == {"problem", "plan"}:
            return _WithPlan(Problem.model_validate(value["problem"]), Plan.model_validate(value["plan"]))
    problem = formats.read_problem(data, name)
    offset = problem.buffers.offset
    if len(offset) == 0 or (offset == ABSENT).any() or len(problem.pools) > 1 or problem.buffers.aliases:
        return _WithPlan(problem)
    message = "all buffers are pinned: the offsets are taken as the plan, and nothing as pinned"
    pool = column(np.zeros(len(offset)))
    plan = Plan(placements=PlacementTable(problem.buffers.ids, (problem.pools[0].name,), pool, column(offset)))
    return _WithPlan(without_pins(problem), plan, (Finding("all-pinned", message, ()),))


def _read_problem(reader: Reader, data: bytes, name: str, _question: Question) -> Problem:
    return read_with_plan(reader, data, name) if reader.seeks_plan else reader.problem(data, name)


PROBLEM_OF_PLAN = replace(
    PROBLEM,
    help="A problem; a model, dump or table with a plan inside; or -.",
    from_file=_read_problem,
    metavar="PROBLEM|MODEL",
)
ANY_PLAN = replace(
    PLAN,
    help="A plan, JSON or CSV, a list of offsets, what a runtime prints of its model's plan, or -.",
    from_file=lambda reader, data, name, question: (
        reader.plan(data, name, question["problem"])
        if importers.model_of_plan(data)
        else read_plan_of(data, question["problem"], name)
    ),
    absent=_plan_inside,
)
