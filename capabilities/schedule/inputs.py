"""The inputs of the capability `schedule`: a problem or a network, and a target."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from memplan.capabilities.graph_inputs import GRAPH, graph_subject
from memplan.capabilities.inputs import object_in
from memplan.capabilities.order.options import unaligned_graph
from memplan.capabilities.question import Input, Question, Subject
from memplan.capabilities.reading import Reader
from memplan.capabilities.schedule import dory
from memplan.capabilities.schedule.model.contest import ScheduleProblem
from memplan.planner import formats
from memplan.planner.errors import ProblemError
from memplan.planner.formats import memplan_json
from memplan.planner.operations.graph import OperationGraph, graph_from
from memplan.systems import reading as importers
from memplan.systems.model_options import ModelOptions


def _subject(problem: ScheduleProblem | OperationGraph) -> Subject:
    if isinstance(problem, OperationGraph):
        return graph_subject(problem)
    return Subject(f"sha256:{sha256(problem.model_dump_json().encode()).hexdigest()}", None, len(problem.widths))


def _problem_of(value: object) -> ScheduleProblem | OperationGraph:
    if (nodes := dory.nodes_of(value)) is not None:
        return dory.graph_of(nodes)
    fields = object_in(value, "problem", ProblemError)
    if "buffers" in fields:
        rule = "must be a model, a graph, which has ops, or operations on matrices, which have op_types"
        raise ProblemError(f"problem: {rule}, got buffers, which say no operations and which `plan` takes")
    return graph_from(fields) if "ops" in fields else ScheduleProblem.model_validate(fields)


def _problem_in(reader: Reader, data: bytes, name: str, question: Question) -> ScheduleProblem | OperationGraph:
    if importers.detect(data, name) is None and formats.detect(data, name) == "json":
        fields = memplan_json.parse(data)
        if dory.nodes_of(fields) or not isinstance(fields, dict) or not fields.keys() & {"ops", "functions"}:
            return _problem_of(fields)
    return unaligned_graph(reader, data, name, question)


PROBLEM = Input[Any](
    "problem",
    ScheduleProblem | OperationGraph,
    _problem_of,
    lambda problem: GRAPH.to_json(problem) if isinstance(problem, OperationGraph) else problem.model_dump(mode="json"),
    "Operations on tensors of two dimensions and their machine, as JSON; a network; or - for standard input.",
    from_file=_problem_in,
    subject=_subject,
    reading=ModelOptions,
)
