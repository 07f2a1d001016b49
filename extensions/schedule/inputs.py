"""The inputs of `schedule`: a problem or a network, and a target."""

from __future__ import annotations

from functools import reduce
from hashlib import sha256
from operator import or_
from typing import Any

from memplan.extensions.networks.order.options import unaligned_graph
from memplan.extensions.schedule import dory
from memplan.extensions.schedule.form import ScheduleForm
from memplan.planner import formats
from memplan.planner.errors import ProblemError
from memplan.planner.errors.extras import MissingPackageError, missing
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats import memplan_json
from memplan.planner.operations.graph import OperationGraph, graph_from
from memplan.questions import forms
from memplan.questions.inputs import object_in
from memplan.questions.inputs.graphs import GRAPH, graph_subject
from memplan.questions.inputs.question import Input, Question, Subject
from memplan.questions.reading import Reader

_TILES = "op_types"
"""The field of matrix-operation problems, which a separate package now handles."""


def _subject(problem: ScheduleForm | OperationGraph) -> Subject:
    if isinstance(problem, OperationGraph):
        return graph_subject(problem)
    return Subject(f"sha256:{sha256(problem.model_dump_json().encode()).hexdigest()}", None, problem.n_tensors)


def _problem_of(value: object) -> ScheduleForm | OperationGraph:
    if (nodes := dory.nodes_of(value)) is not None:
        return dory.graph_of(nodes)
    fields = object_in(value, "problem", ProblemError)
    if "buffers" in fields:
        raise ProblemError(f"problem: {_rule()}, got buffers, which say no operations and which `plan` takes")
    form = next((form for form in forms("schedule") if form.key in fields), None)
    if form is not None and "ops" not in fields:
        found: ScheduleForm = form.load().model_validate(fields)
        return found
    if _TILES in fields and "ops" not in fields:
        raise MissingPackageError(f"problem: a graph of operations on matrices {missing('memplan_tile', 'tile')}")
    return graph_from(fields)


def _rule() -> str:
    return ", or ".join(["must be a model or a graph, which has ops", *(form.words for form in forms("schedule"))])


def _problem_in(reader: Reader, data: bytes, name: str, question: Question) -> ScheduleForm | OperationGraph:
    if importers.detect(data, name) is None and formats.detect(data, name) == "json":
        fields = memplan_json.parse(data)
        if dory.nodes_of(fields) or not isinstance(fields, dict) or not fields.keys() & {"ops", "functions"}:
            return _problem_of(fields)
    return unaligned_graph(reader, data, name, question)


PROBLEM = Input[Any](
    "problem",
    reduce(or_, (form.load() for form in forms("schedule")), OperationGraph),
    _problem_of,
    lambda problem: GRAPH.to_json(problem) if isinstance(problem, OperationGraph) else problem.model_dump(mode="json"),
    "A network: a model, a graph, or DORY's layers as JSON; or - for standard input.",
    from_file=_problem_in,
    subject=_subject,
    reading=ModelOptions,
)
