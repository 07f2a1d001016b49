"""A reader of a bump allocator's logs, and its planner. A log is `bump 1`, then lines `NAME SIZE START END`."""

from memplan.planner.errors import FormatError
from memplan.planner.model.problem import Problem
from memplan.planner.systems import FileReader, ReferencePlanner, System
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck
from memplan.planner.foreign.imported import ImportedProblem, problem_of_rows
from memplan.planner.foreign.model_options import ModelOptions


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return the problem of the buffers in a log. Raises FormatError or ProblemError for an invalid line."""
    rows = [line.split() for line in data.decode().splitlines()[1:]]
    try:
        buffers = [{"id": a, "size": int(b), "start": int(c), "end": int(d)} for a, b, c, d in rows]
    except ValueError as error:
        raise FormatError(f"bump: each line must be NAME SIZE START END with integers, got: {error}") from error
    return ImportedProblem(problem_of_rows(buffers, ["heap"]))


def bump(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place each buffer of a problem directly after the previous one, whatever its lifetime and constraints are."""
    end, placements = 0, {}
    for position, size in enumerate(problem.buffers.size.tolist()):
        stop_check()
        placements[position] = (0, end)
        end += size
    return PlannerAnswer(placements)


SYSTEM = System(
    name="bump",
    title="Bump allocator",
    files="logs that begin with bump 1",
    readers=(FileReader("bump", lambda data: data.startswith(b"bump 1\n"), "memplan_bump.system"),),
    planners=(ReferencePlanner("reference:bump", "one behind the other", "this file", "memplan_bump.system:bump"),),
)
