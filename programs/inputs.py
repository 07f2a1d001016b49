"""The inputs of questions about operations: graphs, programs, and the problems derived from them."""

from dataclasses import replace
from hashlib import sha256
from typing import cast

from pydantic_core import from_json

from memplan.planner.errors import OperationsError, OptionError
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats import memplan_json, minimalloc_csv
from memplan.planner.formats.memplan_json import refuse_unless_operations
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.programs.graph_lint import repeated_outputs
from memplan.programs.lifetimes.accesses import GraphProblem
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.models.model_graph import is_graph, read_model_graph
from memplan.programs.operations.graph import OperationGraph, graph_from, write_graph
from memplan.programs.operations.graph_variants import allow_overwriting, tensor_named
from memplan.programs.operations.operations import Operations, operations_from
from memplan.questions.inputs import PROBLEM, require_object
from memplan.questions.inputs.values import Input, InputValues, Subject
from memplan.questions.reading import Reader
from memplan.questions.reading.adapting import adapt_problem, align_problem, refuse_spare


def graph_subject(graph: OperationGraph) -> Subject:
    """Return a graph's hash, name and number of tensors; they identify the graph in a list of requests."""
    return Subject(f"sha256:{sha256(write_graph(graph)).hexdigest()}", graph.name, len(graph.size))


def read_operations_field(value: object) -> Operations:
    """Return the program in a field of a request's body; raises OperationsError if it is invalid."""
    content = require_object(value, "operations", OperationsError)
    refuse_unless_operations(content)
    return operations_from(content)


def operations_subject(operations: Operations) -> Subject:
    """Return a program's hash, name and number of buffers; they identify the program in a list of requests."""
    return Subject(
        f"sha256:{sha256(operations.model_dump_json().encode()).hexdigest()}",
        operations.name,
        sum(len(function.buffers) for function in operations.functions.values()),
    )


def _read_operations(data: bytes, name: str) -> Operations:
    """Return the program in a JSON file; for other files, raises InputError that names the command to use."""
    got, way = "a table of lifetimes", "`memplan plan FILE` makes a plan of them"
    if (kind := importers.detect(data, name)) is not None:
        got, way = f"a model or dump ({kind})", "`memplan convert FILE --to operations -o operations.json` writes them"
    elif memplan_json.recognises(data) or not minimalloc_csv.recognises(data):
        return read_operations_field(memplan_json.parse(data))
    raise OperationsError(f"must be operations in JSON, got {got}; {way}")


def read_graph(reader: Reader, data: bytes, name: str | None = None) -> OperationGraph:
    """Return the graph of operations in a file, and add its warnings to `reader`; else raises InputError."""
    reader.data, reader.name = data, name
    graph = read_model_graph(data, name, reader.options)
    reader.imported = graph.imported
    found = () if graph.imported is None else graph.imported.warnings
    reader.warnings += [warning for warning in found if warning not in reader.warnings]
    if graph.imported is None and graph.program is None:
        reader.warnings += repeated_outputs(graph.graph)
    if graph.program is not None and len(graph.program.program.pools) > 1:
        several = "the file has several memories; a graph of operations (for reordering) counts them as one"
        reader.warnings.append(Finding("one-memory", several))
    return graph.graph


def problem_of_graph(graph: OperationGraph) -> Problem:
    """Return the problem of placing a graph's tensors in the given order; raises InputError if it is invalid."""
    return problem_of_order(graph, range(len(graph.ops)))


GRAPH = Input(
    "graph",
    OperationGraph,
    lambda value: graph_from(require_object(value, "graph", OperationsError)),
    lambda graph: from_json(write_graph(graph)),
    "A model, a graph of operations or a program of tentative order, or - for standard input.",
    from_file=lambda reader, data, name, _: read_graph(reader, data, name),
    subject=graph_subject,
    about="The graph of operations.",
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
    about="The operations.",
)


def _read_problem(reader: Reader, data: bytes, name: str, _question: InputValues) -> Problem:
    found = read_graph_problem(reader, data, name)
    return reader.problem(data, name) if found is None else found


def read_graph_problem(reader: Reader, data: bytes, name: str | None) -> Problem | None:
    """Return the problem of a file's graph of operations in the given order; None for any other file."""
    if not is_graph(data):
        return None
    reader.own_graph = _overwriting_graph(reader, read_graph(reader, data, name))
    if reader.options.inclusive is not None:
        raise OptionError(
            "inclusive, half-open: apply only to problems, because a graph's lifetimes are known", way="leave it out"
        )
    others = reader.options.model_copy(update={"in_place": False, "spare": ()})
    problem = problem_of_graph(reader.own_graph)
    alignment = reader.options.alignment
    return adapt_problem(
        problem if alignment is None else align_problem(problem, alignment),
        GraphProblem(problem, graph=reader.own_graph, order=range(len(reader.own_graph.ops))),
        others,
    )


def _overwriting_graph(reader: Reader, graph: OperationGraph) -> OperationGraph:
    if not reader.options.in_place:
        refuse_spare(reader.options.spare)
        return graph
    return allow_overwriting(graph, {tensor_named(graph, name) for name in reader.options.spare})


def _source_graph(reader: Reader, values: InputValues) -> OperationGraph | None:
    """Return the graph from which the problem came; None if it has no operations or their order is fixed."""
    if reader.own_graph is not None or not isinstance(reader.imported, ImportedProgram):
        return None if reader.own_graph is None else cast(OperationGraph, reader.own_graph)
    if importers.detect(reader.data, reader.name) is None and reader.imported.operations.order != "tentative":
        return None
    return _overwriting_graph(reader, read_graph(reader, reader.data, reader.name))


PROBLEM_OR_GRAPH = replace(
    PROBLEM,
    help="A file: JSON, CSV, a model or a graph of operations, or - for standard input.",
    from_file=_read_problem,
    required=False,
)
"""The input that is a problem; a graph of operations is accepted as the problem of its given order."""
GRAPH_INSIDE = replace(GRAPH, from_file=None, absent=_source_graph, required=False)
"""The input with the graph from which the problem was derived, needed if the order of operations may change."""
