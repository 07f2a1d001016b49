"""The inputs that consist of operations: a graph or a program."""

from __future__ import annotations

from hashlib import sha256

from pydantic_core import from_json

from memplan.planner.errors import OperationsError
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats import memplan_json, minimalloc_csv
from memplan.planner.formats.memplan_json import refuse_unless_operations
from memplan.planner.operations.graph import OperationGraph, graph_from, write_graph
from memplan.planner.operations.operations import Operations, operations_from
from memplan.questions.inputs import object_in
from memplan.questions.inputs.question import Input, Subject


def graph_subject(graph: OperationGraph) -> Subject:
    """Return the facts about a graph for listing it."""
    return Subject(f"sha256:{sha256(write_graph(graph)).hexdigest()}", graph.name, len(graph.size))


def read_operations_field(value: object) -> Operations:
    """Return the program in a body's field; raises InputError."""
    content = object_in(value, "operations", OperationsError)
    refuse_unless_operations(content)
    return operations_from(content)


def operations_subject(operations: Operations) -> Subject:
    """Return the facts about a program for listing it."""
    return Subject(
        f"sha256:{sha256(operations.model_dump_json().encode()).hexdigest()}",
        operations.name,
        sum(len(function.buffers) for function in operations.functions.values()),
    )


def _read_operations(data: bytes, name: str) -> Operations:
    """Return the program in a file; raises InputError, which names the right command for other files."""
    got, way = "a table of lifetimes", "`memplan plan FILE` makes a plan of them"
    if (kind := importers.detect(data, name)) is not None:
        got, way = f"a model or dump ({kind})", "`memplan convert FILE --to operations -o operations.json` writes them"
    elif memplan_json.recognises(data) or not minimalloc_csv.recognises(data):
        return read_operations_field(memplan_json.parse(data))
    raise OperationsError(f"must be operations in JSON, got {got}; {way}")


GRAPH = Input(
    "graph",
    OperationGraph,
    lambda value: graph_from(object_in(value, "graph", OperationsError)),
    lambda graph: from_json(write_graph(graph)),
    "A model, a graph of operations or a program of tentative order, or - for standard input.",
    from_file=lambda reader, data, name, _: reader.graph(data, name),
    subject=graph_subject,
    metavar="MODEL",
    reading=ModelOptions,
)


OPERATIONS = Input(
    "operations",
    Operations,
    read_operations_field,
    lambda operations: operations.model_dump(mode="json", by_alias=True, exclude_defaults=True),
    "A file, JSON, or - for standard input.",
    from_file=lambda _reader, data, name, _: _read_operations(data, name),
    subject=operations_subject,
)
