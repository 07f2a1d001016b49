"""memplan's own operations, given where a problem is wanted: the problem that they pose."""

from __future__ import annotations

from functools import partial

from memplan.planner.importers.imported import Imported, ImportOptions
from memplan.planner.liveness import Reading, problem_of
from memplan.planner.operations.operations import operations_from


def of_program(value: object, options: ImportOptions | None) -> Imported:
    """Return operations that have been parsed, and their problem; raises OperationsError."""
    operations = operations_from(value)
    return Imported(partial(problem_of, operations, Reading() if options is None else options.reading), operations)
