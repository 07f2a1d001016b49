"""ONNX files: parsed, their functions put in place, sizes given to dimensions that are open, and shapes inferred."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memplan.planner.errors import FormatError, shown
from memplan.planner.errors.extras import require
from memplan.planner.liveness.expansion import MAX_EXPANDED
from memplan.planner.symbols.numbers import SymbolicNumber, SymbolicNumbers
from memplan.systems.imported import ModelOptions
from memplan.systems.onnx.model import graphs_of, shape_of, subgraphs
from memplan.systems.onnx.shapes import NodeShapes
from memplan.systems.onnx.sizes import give_sizes

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto


@dataclass(frozen=True)
class OnnxModel:
    """A model with the shapes that can be inferred, and why other values have none, by their names.

    Sizes that are expressions are names of dimensions, written by `numbers`.
    """

    model: ModelProto
    causes: Mapping[str, str] = field(default_factory=dict)
    numbers: SymbolicNumbers | None = None


def load(data: bytes, options: ModelOptions) -> OnnxModel:
    """Return a model with the shapes that can be inferred.

    Raises FormatError for what is no model, or has inputs of unknown sizes, and OptionError for dimensions and inputs
    that it does not name.
    """
    model = parsed(data)
    from onnx import inliner, shape_inference

    numbers = next((each.numbers for each in options.dims.values() if isinstance(each, SymbolicNumber)), None)
    give_sizes(model.graph, [value for graph in graphs_of(model.graph) for value in _values(graph)], options, numbers)
    if numbers is not None:
        # Imported here: few models are read for all values.
        from memplan.systems.onnx.symbolic_shapes import SymbolicShapes

        model = inliner.inline_local_functions(model) if model.functions else model
        return OnnxModel(model, SymbolicShapes(model, numbers).causes, numbers)
    try:
        if model.functions:
            model = inliner.inline_local_functions(model)
            _refuse_broken_texts(model)
        inferred = shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
        inferred = model  # node after node, what is wrong or unknown has a place
    if not _lacks_sizes(inferred.graph):
        return OnnxModel(inferred)
    return OnnxModel(inferred, NodeShapes(inferred).causes)


def parsed(data: bytes) -> ModelProto:
    """Return a model as it is; raises FormatError for what is none, or is too large."""
    require("an ONNX model", ("onnx",))
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(data)
    except (DecodeError, RecursionError) as error:
        kind = "text" if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in data[:99]) else shown(str(error))
        raise FormatError(f"model: must be an ONNX model, as onnx.save writes it, got {kind}") from None
    if not model.HasField("graph") or not model.ir_version:
        raise FormatError("model: must be an ONNX model with a graph, got no graph")
    _refuse_broken_texts(model)
    _refuse_too_many(model)
    return model


def _lacks_sizes(whole: GraphProto) -> bool:
    """Return True if a size that is needed is not known."""
    for graph in graphs_of(whole):
        shapes = {value.name: shape_of(value.type) for value in _values(graph)}
        read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
        for name in read.intersection(name for node in graph.node for name in node.output):
            found = shapes.get(name)
            if found is None or not all(isinstance(size, int) for size in found):
                return True
    return False


def _refuse_broken_texts(model: ModelProto) -> None:
    """Raise FormatError for names that are not UTF-8, which the parser hands on as bytes."""
    for graph in graphs_of(model.graph):
        names = [graph.name, *(tensor.name for tensor in graph.initializer)]
        names += [sparse.values.name for sparse in graph.sparse_initializer]
        for value in _values(graph):
            names += [value.name, *(dim.dim_param for dim in value.type.tensor_type.shape.dim)]
        for node in graph.node:
            names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        for name in names:
            if not isinstance(name, str):
                raise FormatError(f"model: must have names in UTF-8, got {shown(name)}")


def _values(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from graph.input
    yield from graph.value_info
    yield from graph.output


def _refuse_too_many(model: ModelProto) -> None:
    """Raise FormatError for a model of too many nodes, once its functions are replaced by what they do."""
    bodies = {(function.domain, function.name): function.node for function in model.functions}
    counts: dict[tuple[str, str], int] = {}
    running: list[tuple[str, str]] = []

    def count(nodes: list[NodeProto]) -> int:
        total = 0
        for node in nodes:
            total += 1 + sum(count(list(inner.node)) for _, inner in subgraphs(node))
            key = (node.domain, node.op_type)
            if key in bodies:
                total += counted(key)
        return total

    def counted(key: tuple[str, str]) -> int:
        if key in running or len(running) >= 50:
            raise FormatError(
                f"model.functions: must not call themselves, or too many others inside, got {shown(key[1])}"
            )
        if key not in counts:
            running.append(key)
            counts[key] = count(list(bodies[key]))
            running.pop()
        return counts[key]

    for key in bodies:
        counted(key)
    total = count(list(model.graph.node))
    if total > MAX_EXPANDED:
        raise FormatError(
            f"model: must have at most {MAX_EXPANDED} nodes, those of its functions included, got {total}"
        )
