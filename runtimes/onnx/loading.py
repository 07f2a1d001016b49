"""Loading of ONNX files: parsing, inlining of functions, filling in open dimensions, and shape inference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memplan.planner.errors import MAX_SHOWN, FormatError, Option, OptionError, ProblemError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.errors.extras import require_packages
from memplan.planner.foreign.imported import OpenSizesError
from memplan.planner.foreign.model_options import ModelOptions, Size
from memplan.programs.lifetimes.expansion import MAX_EXPANDED
from memplan.programs.symbols.numbers import SymbolicNumber, SymbolicNumbers
from memplan.programs.symbols.reading import parse_expression
from memplan.runtimes.onnx.model import graphs_of, is_form, is_known, shape_of, subgraphs
from memplan.runtimes.onnx.shapes import NodeShapes

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto


@dataclass(frozen=True)
class OnnxModel:
    """A model in which all shapes that can be inferred are stored.

    `causes` maps the name of each value without a shape to the reason. A size that is an expression over symbols is
    stored as a dimension's name, which `numbers` formats and parses.
    """

    model: ModelProto
    causes: Mapping[str, str] = field(default_factory=dict)
    numbers: SymbolicNumbers | None = None


def load_with_shapes(data: bytes, options: ModelOptions) -> OnnxModel:
    """Parse a model, set the sizes of its open dimensions, and infer the shapes of its values.

    Raises FormatError for a file that is not a model or whose inputs have unknown sizes, and OptionError for names of
    dimensions or inputs that the model lacks.
    """
    model = parse(data)
    from onnx import inliner, shape_inference

    numbers = next((each.numbers for each in options.dims.values() if isinstance(each, SymbolicNumber)), None)
    set_dimension_sizes(
        model.graph, [value for graph in graphs_of(model.graph) for value in _graph_values(graph)], options, numbers
    )
    for graph in graphs_of(model.graph):  # Inference completes an output, but not a second entry for it.
        outputs = {value.name for value in graph.output}
        entries = [value for value in graph.value_info if value.name not in outputs or is_known(value.type)]
        del graph.value_info[:]
        graph.value_info.extend(entries)
    if numbers is not None:
        from memplan.runtimes.onnx.symbolic_shapes import SymbolicShapes

        model = inliner.inline_local_functions(model) if model.functions else model
        return OnnxModel(model, SymbolicShapes(model, numbers).causes, numbers)
    try:
        if model.functions:
            model = inliner.inline_local_functions(model)
            _require_valid_names(model)
        inferred = shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, RuntimeError, ValueError, TypeError, IndexError, MemoryError):
        # If shape inference fails for the whole model, `NodeShapes` infers each node separately and names the cause.
        inferred = model
    if not _lacks_sizes(inferred.graph):
        return OnnxModel(inferred)
    return OnnxModel(inferred, NodeShapes(inferred).causes)


def parse(data: bytes) -> ModelProto:
    """Return the model in an ONNX file. Raises FormatError for other files and for models with too many nodes."""
    require_packages("an ONNX model", ("onnx",))
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(data)
    except (DecodeError, RecursionError):
        is_text = all(32 <= byte < 127 or byte in b"\t\r\n" for byte in data[:99])
        kind = "text" if is_text else f"{len(data):,} bytes that do not parse: is the file cut short?"
        raise FormatError(f"model: must be an ONNX model, as onnx.save writes it, got {kind}") from None
    if not model.HasField("graph") or not model.ir_version:
        raise FormatError("model: must be an ONNX model with a graph, got no graph: is the file a Core ML model?")
    _require_valid_names(model)
    _drop_large_constants(model)
    _require_small_calls(model)
    return model


def _lacks_sizes(whole: GraphProto) -> bool:
    for graph in graphs_of(whole):
        shapes = {value.name: shape_of(value.type) for value in _graph_values(graph)}
        read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
        for name in read.intersection(name for node in graph.node for name in node.output):
            value_size = shapes.get(name)
            if value_size is None or not all(isinstance(size, int) for size in value_size):
                return True
    return False


def _require_valid_names(model: ModelProto) -> None:
    """Raise FormatError if a name is not valid UTF-8, which the parser returns as bytes, not as a string."""
    for graph in graphs_of(model.graph):
        names = [graph.name, *(tensor.name for tensor in graph.initializer)]
        names += [sparse.values.name for sparse in graph.sparse_initializer]
        for value in _graph_values(graph):
            names += [value.name, *(dim.dim_param for dim in value.type.tensor_type.shape.dim)]
        for node in graph.node:
            names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        for name in names:
            if not isinstance(name, str):
                raise FormatError(f"model: must have names in UTF-8, got {excerpt(name)}")


def _graph_values(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from graph.input
    yield from graph.value_info
    yield from graph.output


def _drop_large_constants(model: ModelProto) -> None:
    """Remove the values of functions' large constants, which every call would copy; their sizes are all that counts."""
    for node in (node for function in model.functions for node in function.node):
        for attribute in node.attribute:
            if attribute.t.ByteSize() > _LARGE_CONSTANT:
                kept = ("dims", "data_type", "name")
                for each, _ in attribute.t.ListFields():
                    if each.name not in kept:
                        attribute.t.ClearField(each.name)


def _require_small_calls(model: ModelProto) -> None:
    """Raise FormatError if a model would have too many nodes, or bytes of nodes, after inlining its functions."""
    bodies = {(function.domain, function.name): function.node for function in model.functions}
    counts: dict[tuple[str, str], Counter[str]] = {}
    running: list[tuple[str, str]] = []

    def count(nodes: Iterable[NodeProto], is_inside: bool = False) -> Counter[str]:
        total = Counter[str]()
        for node in nodes:
            total += Counter(nodes=1, bytes=_NODE_BYTES + (0 if is_inside else node.ByteSize()))
            for _, inner in subgraphs(node):
                total += count(inner.node, is_inside=True)
            key = (node.domain, node.op_type)
            if key in bodies:
                total += count_nodes(key)
        return total

    def count_nodes(key: tuple[str, str]) -> Counter[str]:
        """Return the counts of the function `key` = (domain, name). Raises FormatError if it is recursive."""
        if key in running or len(running) >= 50:
            raise FormatError(f"model.functions: must not be recursive or nested over 50 deep, got {excerpt(key[1])}")
        if key not in counts:
            running.append(key)
            counts[key] = count(bodies[key])
            running.pop()
        return counts[key]

    for key in bodies:
        count_nodes(key)
    total = count(model.graph.node)
    most = {"nodes": MAX_EXPANDED, "bytes": max(_LEAST_INLINED, 16 * model.ByteSize())}
    for what, got in total.items():
        if got > most[what]:
            raise FormatError(f"model: must have at most {most[what]} {what} including its functions, got {got}")


_LARGE_CONSTANT = 1 << 10
_NODE_BYTES, _LEAST_INLINED = 256, 1 << 26
"""The bytes of a node besides its content, and the limit in bytes of a small file's nodes after inlining functions."""


_MOST_DIMENSIONS = 1000
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_COMPUTED = re.compile(r"[\w()]+(?:(?:\s*(?:\+|\*|//)\s*|\s+-\s+)[\w()]+)+", re.ASCII)
"""Matches the name of a dimension that is computed from others, such as `past + 1`, but not a plain name like `a-b`."""
_IMAGE_SIDE = 224
"""The height and width that messages propose for an image; most classifiers use this size."""


def set_dimension_sizes(
    graph: GraphProto, values: Iterable[ValueInfoProto], options: ModelOptions, numbers: SymbolicNumbers | None = None
) -> None:
    """Write the sizes in `options.dims` into the open dimensions of all values, and into whole input shapes.

    Raises OptionError for names that do not exist in the model. If sizes of inputs are still unknown, raises a
    FormatError that proposes the options to set them.
    """
    fixed_sizes = {name: size for name, size in options.dims.items() if not isinstance(size, tuple)}
    named = {""}
    for value in values:
        dims = value.type.tensor_type.shape.dim
        if len(dims) > _MOST_DIMENSIONS:
            raise FormatError(f"value {excerpt(value.name)}: must have at most {_MOST_DIMENSIONS} dimensions")
        for k, dim in enumerate(dims):
            # Some exporters write -1 for an open dimension, so treat a negative dimension as unknown.
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.ClearField("dim_value")
            name = dim.dim_param if dim.HasField("dim_value") else dim_name(value, k)
            named |= {dim.dim_param, *names_in_dimension(name).intersection(fixed_sizes)}
            if (size := _dimension_size(name, fixed_sizes, numbers)) is None:
                continue
            if isinstance(size, SymbolicNumber):
                dim.dim_param = size.numbers.text(size)
            else:
                dim.dim_value = size
    if unknown := [name for name in fixed_sizes if name not in named]:
        names = ", ".join(sorted(named - {""})[:MAX_SHOWN]) or "none"
        raise OptionError.from_rule(
            "dims",
            f"must be a dimension that the model names ({names}), got {excerpt(unknown[0])}"
            f"{'' if '=' in unknown[0] else did_you_mean(unknown[0], named)}",
            way="leave it out" if names == "none" else "give --dim once for each" if "=" in unknown[0] else None,
        )
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in constants}
    for name, sizes in options.dims.items():
        if isinstance(sizes, tuple):
            _set_input_shape(inputs, name, sizes)
    _require_sizes([value for value in inputs.values() if value.type.WhichOneof("value") == "tensor_type"])


def _dimension_size(name: str, dims: Mapping[str, int], numbers: SymbolicNumbers | None) -> int | None:
    """Return the size of a dimension called `name`, or of an expression such as `past + 1`; None if unknown."""
    if name in dims or not names_in_dimension(name).issubset(dims):
        return dims.get(name)
    text = _WORD.sub(lambda found: f"({dims[found[0]]})", name)
    numbers = numbers or SymbolicNumbers({})
    try:
        return numbers.number_of(parse_expression(text, numbers.space, "dim"))
    except ProblemError:
        return None


def open_dimension_names(graph: GraphProto) -> list[str]:
    """Return the distinct names in the open dimensions of a graph's inputs; `past + 1` contains the name `past`."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    words = (
        word
        for value in inputs
        for k, dim in enumerate(value.type.tensor_type.shape.dim)
        if not dim.HasField("dim_value") or dim.dim_value < 0
        for word in sorted(names_in_dimension(dim_name(value, k)))
    )
    return list(dict.fromkeys(words))


def names_in_dimension(name: str) -> set[str]:
    """Return the names in a dimension's name: `past` for the expression `past + 1`, and the name itself otherwise."""
    return set(_WORD.findall(name)) if _COMPUTED.fullmatch(name) else {name}


def dim_name(value: ValueInfoProto, axis: int) -> str:
    """Return the name of a dimension of a value, or a name such as `image.2` (value and axis) if it has none."""
    name = value.type.tensor_type.shape.dim[axis].dim_param
    return name if name.strip("?, ") else f"{value.name}.{axis}"


def _set_input_shape(inputs: Mapping[str, ValueInfoProto], name: str, sizes: tuple[int, ...]) -> None:
    """Write the shape `sizes` into an input. Raises OptionError for an unknown input or a contradicting shape."""
    if name not in inputs:
        names = ", ".join(sorted(inputs)[:MAX_SHOWN]) or "none"
        raise OptionError.from_rule("dims", f"must be an input of the model ({names}), got {excerpt(name)}")
    kind = inputs[name].type.tensor_type
    dims = list(kind.shape.dim)
    shape = ",".join(str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims)
    fits = not kind.HasField("shape") or len(dims) == len(sizes)
    pairs = zip(dims, sizes, strict=False)
    if not fits or any(dim.HasField("dim_value") and dim.dim_value != size for dim, size in pairs):
        got = ",".join(map(str, sizes))
        raise OptionError.from_rule("dims", f"must match each dimension of {excerpt(name)} ({shape}), got {got}")
    del kind.shape.dim[:]
    for size in sizes:
        kind.shape.dim.add(dim_value=size)


def _require_sizes(inputs: list[ValueInfoProto]) -> None:
    """Raise FormatError if the size of an input is unknown; the error proposes a size for each open dimension."""
    dims: dict[str, Size] = {}
    shapes: dict[str, Size] = {}
    without: list[str] = []
    for value in inputs:
        kind = value.type.tensor_type
        rows = list(kind.shape.dim)
        missing = [k for k, dim in enumerate(rows) if not (dim.HasField("dim_value") or is_form(dim.dim_param))]
        if not kind.HasField("shape"):
            without.append(value.name)
        elif all(rows[k].dim_param.isprintable() and rows[k].dim_param.strip("?, ") for k in missing):
            dims.update(
                (rows[k].dim_param, _proposed_size(k, len(rows))) for k in missing if "," not in rows[k].dim_param
            )
            missing = [k for k in missing if "," in rows[k].dim_param]
        if missing:
            pairs = (
                (dim.HasField("dim_value"), dim.dim_value, _proposed_size(k, len(rows))) for k, dim in enumerate(rows)
            )
            shapes[value.name] = tuple(size if is_given else -proposed for is_given, size, proposed in pairs)
    if without:
        rule = f"inputs: must have a known number of dimensions, got none for {excerpt(without[0])}; give its shape: "
        raise FormatError((rule, Option("dims", f"{without[0]}=1,3,{_IMAGE_SIDE},{_IMAGE_SIDE}")))
    if dims or shapes:
        names = [*(f"dimension {excerpt(name)}" for name in dims), *(f"a size of {excerpt(name)}" for name in shapes)]
        raise OpenSizesError(
            f"inputs: must have known sizes, got none for {', '.join(names[:MAX_SHOWN])}", dims | shapes
        )


def _proposed_size(axis: int, rank: int) -> int:
    """Return the size that an error message proposes for an open dimension: 224 for height or width, else 1."""
    return _IMAGE_SIDE if rank == 4 and axis >= 2 else 1
