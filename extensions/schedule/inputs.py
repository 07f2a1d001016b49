"""The inputs of the question `schedule`: a network, and a target (the machine)."""

from memplan.extensions.schedule import dory
from memplan.planner import formats
from memplan.planner.errors import OptionError, ProblemError
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats import memplan_json
from memplan.programs.inputs import GRAPH, graph_subject
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.order.options import unaligned_graph
from memplan.questions.inputs import require_object
from memplan.questions.inputs.values import Input, InputValues
from memplan.questions.reading import Reader


def _graph_of_json(value: object) -> OperationGraph:
    """Return the graph of operations in a parsed JSON value of memplan or DORY; raises ProblemError for buffers."""
    if (nodes := dory.nodes_of(value)) is not None:
        return dory.graph_of(nodes)
    fields = require_object(value, "problem", ProblemError)
    if "buffers" in fields:
        raise ProblemError(
            "problem: must be a model or a graph of operations, got buffers without operations, which `plan` can place"
        )
    return graph_from(fields)


def _graph_of_file(reader: Reader, data: bytes, name: str, values: InputValues) -> OperationGraph:
    """Return the graph of operations in a file; raises OptionError for the option `alignment`."""
    if reader.options.alignment is not None:
        raise OptionError.from_rule(
            "alignment", "must be given by the memories of `target`, in which tiles are placed", way="leave it out"
        )
    if importers.detect(data, name) is None and formats.detect(data, name) == "json":
        fields = memplan_json.parse(data)
        if dory.nodes_of(fields) or not isinstance(fields, dict) or not fields.keys() & {"ops", "functions"}:
            return _graph_of_json(fields)
    return unaligned_graph(reader, data, name, values)


PROBLEM = Input[OperationGraph](
    "problem",
    OperationGraph,
    _graph_of_json,
    GRAPH.to_json,
    "A network: a model, a graph, or DORY's layers as JSON; or - for standard input.",
    from_file=_graph_of_file,
    subject=graph_subject,
    reading=ModelOptions,
    about="The network, as a graph of operations.",
)
