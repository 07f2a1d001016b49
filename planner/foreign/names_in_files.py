"""The names that a file gives to buffers and time steps: those of a program, or those of several models in JSON."""

import numpy as np

from memplan.planner import formats
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.program_names import NO_NAMES, ProgramNames, names_of_models
from memplan.planner.foreign.programs import application_from, poses_a_problem
from memplan.planner.formats import memplan_json
from memplan.planner.model.problem import Problem

_DEFAULT_OPTIONS = ModelOptions()


def names_in(data: bytes, name: str | None, problem: Problem, options: ModelOptions = _DEFAULT_OPTIONS) -> ProgramNames:
    """Return a file's names for a problem's buffers; empty if the file has other buffers or start times.

    The problem's pools may differ from the file's; `options` are those for reading the file.
    """
    if importers.detect(data, name) is None and b'"functions"' not in data and b'"models"' not in data:
        return NO_NAMES
    own, imported = importers.read_problem(data, name, options, None)
    same = own.buffers.ids == problem.buffers.ids and np.array_equal(own.buffers.start, problem.buffers.start)
    return names_of_imported(data, imported) if same else NO_NAMES


def names_of_imported(data: bytes, imported: ImportedProblem | None) -> ProgramNames:
    """Return the names in a file that has been read: those of a program, or those of the models in memplan's JSON."""
    if imported is not None:
        return imported.names
    if b'"models"' not in data or formats.detect(data, None) != "json":
        return NO_NAMES
    value = memplan_json.parse(data)
    return names_of_models(application_from(value)) if poses_a_problem(value) else NO_NAMES
