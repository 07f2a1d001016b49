"""The graph of operations of any file with operations: a model, a program, or a graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memplan.planner import formats
from memplan.planner.errors import FormatError, OperationsError
from memplan.planner.extensions import import_object
from memplan.planner.foreign.imported import ImportedProblem, stranger_bytes
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model, refuse_foreign_options
from memplan.planner.formats.memplan_json import parse, refuse_unless_graph
from memplan.planner.systems import file_readers
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.operations.operations import operations_from
from memplan.programs.operations.program_graph import ProgramGraph, facts_of_names, program_graph


@dataclass(frozen=True)
class ModelGraph:
    """A graph of operations with its sources, each None if absent: a program, an imported model, the file's bytes."""

    graph: OperationGraph
    program: ProgramGraph | None = None
    imported: ImportedProblem | None = None
    data: bytes | None = field(default=None, repr=False)


def read_model_graph(data: bytes, name: str | None = None, options: ModelOptions | None = None) -> ModelGraph:
    """Return the graph of operations in the bytes of a file; `name` is the file's name, if known.

    `options` apply to models only. The order of a program in JSON must be tentative, so that it may change.
    """
    options = options or ModelOptions()
    if (format_name := detect(data, name)) is not None:
        where = file_readers()[format_name].program
        refuse_foreign_options(format_name, options)
        with stranger_bytes():
            model = read_model(data, name, options) if where is None else import_object(where)(data, options)
        return replace(graph_of_imported(model), data=data)
    if formats.detect(data, name) != "json":
        got = "a table of lifetimes without operations, which `memplan plan FILE` reads"
        raise FormatError(f"must be a model or a graph of operations in JSON, got {got}")
    value = parse(data)
    options.refuse_for_models()
    if not isinstance(value, Mapping) or "functions" not in value:
        refuse_unless_graph(value)
        return ModelGraph(graph_from(value))
    operations = operations_from(value)
    if operations.order != "tentative":
        raise OperationsError(f"order: must be tentative, so that operations may be reordered, got {operations.order}")
    drawn = program_graph(operations, facts_of_names(operations))
    return ModelGraph(drawn.graph, drawn)


def is_graph(data: bytes) -> bool:
    """Return True if the bytes of a file are a graph of operations in JSON."""
    if data.lstrip()[:1] != b"{" or b'"ops"' not in data:
        return False
    try:
        value = parse(data)
    except FormatError:
        return False
    return isinstance(value, Mapping) and "ops" in value and "buffers" not in value


def graph_of_imported(model: ImportedProblem) -> ModelGraph:
    """Return the graph of an imported model; raises OperationsError if the model has lifetimes but no operations."""
    if not isinstance(model, ImportedProgram):
        raise OperationsError("model: must have operations, got lifetimes only, which `memplan plan FILE` can plan")
    with stranger_bytes():
        graph = program_graph(model.operations, model.facts)
    return ModelGraph(graph.graph, graph, model)
