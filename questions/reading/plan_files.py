"""Reading of plans from any file: memplan's plans, lists of offsets, and plans inside models, dumps and tables."""

from dataclasses import replace

import numpy as np

from memplan.planner import formats
from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats import memplan_json
from memplan.planner.model.buffer_table import ABSENT, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.mip.solution_names import recognises


def read_plan(data: bytes, problem: Problem, name: str | None, options: ModelOptions) -> Plan:
    """Return a plan of the problem from a file's bytes; raises InputError.

    The file is a plan in JSON or CSV, alone or with its problem; a list of offsets, `{"id": offset}` or `[[id, offset],
    …]`; a model or dump that contains a plan; or a solution of the problem's integer program.
    """
    if recognises(data, name):
        # The imported libraries take longer to load than most commands take to run, so import them only on demand.
        from memplan.solvers.mip.model_solution import plan_of_solution

        return plan_of_solution(problem, data)
    if (kind := importers.detect(data, name)) is not None:
        own_plan = importers.read_model(data, name, options).own_plan
        if own_plan is None:
            raise FormatError(f"must be a plan, got a model or dump ({kind}), which `memplan plan FILE` plans")
        return own_plan
    if memplan_json.recognises(data):
        value = memplan_json.parse(data)
        if (inside := plan_beside(value)) is not None:
            return inside
        is_of_offsets = isinstance(value, dict) and all(isinstance(offset, int) for offset in value.values())
        rows = list(value.items()) if is_of_offsets else value
        if isinstance(rows, list):
            return Plan(placements=_placements_of_offsets(rows, problem))
    return formats.read_plan(data, problem, name)


def plan_beside(value: object) -> Plan | None:
    """Return the plan in a JSON object with the fields `problem` and `plan`; None for any other value."""
    if not isinstance(value, dict) or value.keys() != {"problem", "plan"}:
        return None
    return Plan.model_validate(value["plan"])


def _placements_of_offsets(rows: list[object], problem: Problem) -> PlacementTable:
    """Return the placements that a list of offsets in the only pool denotes; an id may match as text."""
    if len(problem.pools) > 1:
        raise FormatError(f"offsets: must state their pools, as the problem has {len(problem.pools)} pools")
    by_text: dict[object, int | str] = {str(name): name for name in problem.buffers.ids}
    ids, offsets = [], []
    for k, row in enumerate(rows):
        pair = (row.get("id"), row.get("offset")) if isinstance(row, dict) else row
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], (int, str)):
            raise FormatError(f'offsets[{k}]: must be an id and an offset, as ["a", 64], got {excerpt(row)}')
        if type(pair[1]) is not int or not 0 <= pair[1] < 2**63:
            rule = 'must be an id and an offset of at least 0 and below 2^63, as ["a", 64]'
            raise FormatError(f"offsets[{k}]: {rule}, got {excerpt(list(pair))}")
        ids.append(pair[0] if pair[0] in problem.index else by_text.get(str(pair[0]), pair[0]))
        offsets.append(pair[1])
    return PlacementTable(tuple(ids), (problem.pools[0].name,), column([0] * len(ids)), column(offsets))


def closest_reading(imported: ImportedProblem, data: bytes, name: str | None, options: ModelOptions) -> ImportedProblem:
    """Return the model with views as aliases or, if its own plan then violates less, as separate buffers."""
    if imported.own_plan is None or options.views == "separate" or not imported.views.aliases:
        return imported
    apart = importers.read_model(data, name, options.model_copy(update={"views": "separate"}))
    return min((imported, apart), key=_count_violations)


def _count_violations(imported: ImportedProblem) -> int:
    return 0 if imported.own_plan is None else len(verify(imported.solved_problem, imported.own_plan))


def refuse_unseen(imported: ImportedProblem, problem: Problem) -> None:
    """Raise FormatError if a model's own plan seems valid, but may be invalid because some storages are unknown."""
    unseen = [finding.message for finding in imported.warnings if finding.rule == "unknown-storage"]
    if imported.own_plan is not None and unseen and not verify(problem, imported.own_plan):
        raise FormatError(f"its plan has no known violation, but its validity is unknown: {unseen[0]}")


def pins_as_plan(problem: Problem) -> Plan | None:
    """Return a table's pins as a plan; None if a buffer is not pinned or is an alias, or with several pools."""
    offset = problem.buffers.offset
    if len(offset) == 0 or (offset == ABSENT).any() or len(problem.pools) > 1 or problem.buffers.aliases:
        return None
    pool = column(np.zeros(len(offset)))
    return Plan(placements=PlacementTable(problem.buffers.ids, (problem.pools[0].name,), pool, column(offset)))


def remove_pins(problem: Problem) -> Problem:
    """Return the problem without pins, for a table whose offsets are a plan."""
    table = problem.buffers
    free = column(np.full(len(table), ABSENT))
    return problem.model_copy(update={"buffers": replace(table, offset=free)})
