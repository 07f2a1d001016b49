"""Facts about the values and nodes of an ONNX model: operation kinds, attributes, shapes and element types.

If a node's pads or slice bounds are inputs, they are evaluated from constants and known shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memplan.planner.foreign.imported import element_count
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.operations.graph_facts import OperationFacts, TensorFacts
from memplan.programs.readers.vocabulary import MOST_NUMBERS, kind_of, kinds_by_name, plain_attributes
from memplan.runtimes.onnx.model import DTYPES, shape_of
from memplan.runtimes.pads import equal_output_pads

if TYPE_CHECKING:
    import numpy as np
    from onnx import GraphProto, NodeProto, TensorProto, TypeProto

FOLDED = set("""
Abs Add And Cast CastLike Ceil Clip Concat ConstantOfShape CumSum Div Equal Expand Flatten Floor Gather GatherElements
GatherND Greater GreaterOrEqual Identity Less LessOrEqual Max Min Mod Mul Neg NonZero Not OneHot Or Pow Range Reciprocal
ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round ScatterElements ScatterND Sign Slice Split Sqrt Squeeze Sub Sum
Tile Transpose Trilu Unsqueeze Where Xor
""".split())  # fmt: skip  # noqa: SIM905
"""Operators that are constant-folded on small tensors; their cost is proportional to the size of the output."""
_MOST_NODES = 64


def evaluate_node(
    node: NodeProto, given: Mapping[str, np.ndarray[Any, Any]], version: int
) -> dict[str, np.ndarray[Any, Any]]:
    """Return a node's outputs by name for the inputs `given`, evaluated by ONNX in opset `version`."""
    import onnx
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    names = [name for name in node.output if name]
    ends = [[onnx.ValueInfoProto(name=name) for name in ends] for ends in (given, names)]
    # Without an opset, the evaluator would use the newest version of the operator, so state the version.
    opsets = [helper.make_opsetid("", version)]
    model = helper.make_model(helper.make_graph([node], "node", *ends), opset_imports=opsets)
    return dict(zip(names, ReferenceEvaluator(model).run(None, dict(given)), strict=False))


class FoldedNumbers:
    """Constant folding of a graph's small integer tensors, which are computed from constants and known shapes."""

    def __init__(self, graph: GraphProto, version: int) -> None:
        """Index the graph's constants, and the node that writes each value."""
        self._version, self._left = version, 0
        self._makers = {name: node for node in graph.node for name in node.output if name}
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.output:
                self._constants.update((node.output[0], row.t) for row in node.attribute if row.HasField("t"))

    def integers_of(self, name: str, shape: Callable[[str], tuple[int, ...] | None]) -> list[object] | None:
        """Return the elements of a short integer tensor; None if it is unknown, longer, or of another type."""
        self._left = _MOST_NODES
        value = self._constant_value(name, shape)
        is_short = value is not None and value.size <= MOST_NUMBERS and value.dtype.name in ("int32", "int64")
        return list(value.ravel().tolist()) if value is not None and is_short else None

    def _constant_value(self, name: str, shape: Callable[[str], tuple[int, ...] | None]) -> np.ndarray[Any, Any] | None:
        """Return the value of a tensor, folded recursively; None if it is unknown or takes too many nodes."""
        import numpy as np

        self._left -= 1
        if name in self._constants:
            return _constant_array(self._constants[name])
        node = self._makers.get(name)
        if node is None or self._left < 0:
            return None
        if node.op_type == "Shape" and len(node.input) == 1 and not node.attribute:
            sizes = shape(node.input[0])
            return None if sizes is None else np.array(sizes, np.int64)
        inputs = {one: self._constant_value(one, shape) for one in node.input if one} if node.op_type in FOLDED else {}
        small = {one: value for one, value in inputs.items() if value is not None and value.size <= MOST_NUMBERS}
        if not small or len(small) < len(inputs):
            return None
        try:
            return evaluate_node(node, small, self._version).get(name)
        except Exception:  # noqa: BLE001  # An operator that the evaluator cannot run has unknown values.
            return None


def _constant_array(tensor: TensorProto) -> np.ndarray[Any, Any] | None:
    """Return the array of a small constant; None if it is large or its bytes do not match its shape."""
    if element_count(tensor.dims) > MOST_NUMBERS:
        return None
    from onnx import numpy_helper

    try:
        array: np.ndarray[Any, Any] = numpy_helper.to_array(tensor)
    # These errors mean that the file is broken: the declared shape does not match the bytes.
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return array


STANDARD = ("", "ai.onnx")
BY_CHANCE = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
"""The operators that draw random numbers; reordering keeps their relative order."""
_KINDS = kinds_by_name(
    {
        "conv2d": "ConvInteger QLinearConv",
        "fully_connected": "Gemm",
        "matmul": "MatMulInteger QLinearMatMul",
        "add": "Sum",
        "minimum": "Min",
        "maximum": "Max",
        "quantize": "QuantizeLinear",
        "dequantize": "DequantizeLinear",
        "batch_norm": "BatchNormalization",
        "layer_norm": "LayerNormalization",
        "resize": "Resize Upsample",
        "reshape": "Flatten Squeeze Unsqueeze",
        "silu": "Swish",
        "broadcast": "Expand",
    }
)
_SPATIAL = {"Conv": "conv", "ConvTranspose": "conv_transpose", "MaxPool": "max_pool", "AveragePool": "average_pool"}
_SPATIAL |= {"QLinearConv": "conv", "ConvInteger": "conv"}
_RENAMED = {"group": "groups", "kernel_shape": "kernel", "blocksize": "block", "transA": "transpose_a"}
_RENAMED |= {"transB": "transpose_b", "coordinate_transformation_mode": "coordinates"}
_PLACES = {"pytorch_half_pixel": "half_pixel"}
_LISTED = {"Pad": ("pads", "value", "axes"), "Slice": ("starts", "ends", "axes", "steps")}
"""Attributes of an operator that its newer versions read from inputs 1, 2, ... instead."""
Shape = tuple[int, ...]


class OnnxFacts:
    """Facts about the nodes of one graph; methods take a function `shape` that maps a value's name to its shape."""

    def __init__(self, graph: GraphProto, version: int = 1) -> None:
        """Store constants for folding, and the opset `version` by which nodes are read."""
        self._folded = FoldedNumbers(graph, version)

    def node_facts(
        self, node: NodeProto, source: tuple[int, ...], shape: Callable[[str], Shape | None]
    ) -> OperationFacts:
        """Return the name, operation kind and attributes of a node; `source` is its position in the model."""
        name = node.name or None
        if node.domain not in STANDARD:
            return OperationFacts(name, None, {}, source)
        attributes = self._node_attributes(node, shape)
        kind = kind_of(node.op_type, _KINDS)
        if node.op_type in _SPATIAL:
            kind = self._complete_spatial(node, attributes, shape)
        return OperationFacts(name, kind, attributes, source)

    def _node_attributes(self, node: NodeProto, shape: Callable[[str], Shape | None]) -> dict[str, Any]:
        """Return the attributes of a node; constant inputs supply attributes that newer opsets pass as inputs."""
        attributes = plain_attributes((_RENAMED.get(row.name, row.name), _value_of(row)) for row in node.attribute)
        if node.op_type in _LISTED:
            inputs = zip(_LISTED[node.op_type], node.input[1:], strict=False)
            attributes.update(
                plain_attributes((name, self._folded.integers_of(value, shape)) for name, value in inputs)
            )
        if node.op_type == "Pad" and (axes := attributes.pop("axes", None)) is not None:
            attributes |= plain_attributes(
                [("pads", _pads_of_all_axes(attributes.pop("pads", None), axes, shape(node.input[0])))]
            )
        if node.op_type == "Resize":
            place = str(attributes.get("coordinates", "half_pixel"))
            attributes["coordinates"] = _PLACES.get(place, place)
        return attributes

    def _complete_spatial(
        self, node: NodeProto, attributes: dict[str, Any], shape: Callable[[str], Shape | None]
    ) -> str | None:
        """Add kernel, strides, dilations and pads to a window's attributes; return its kind, or None if unknown."""
        place = 3 if node.op_type == "QLinearConv" else 1
        image = shape(node.input[0]) if node.input else None
        weight = shape(node.input[place]) if len(node.input) > place else None
        kernel = attributes.get("kernel") or (weight[2:] if weight is not None and "Conv" in node.op_type else None)
        if image is None or kernel is None or len(image) != len(kernel) + 2:
            return None
        n = len(kernel)
        attributes["kernel"], attributes["layout"] = tuple(kernel), "NCHW"
        for name in ("strides", "dilations"):
            if len(attributes.setdefault(name, (1,) * n)) != n:
                return None
        auto = attributes.pop("auto_pad", "NOTSET")
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            rows = attributes["kernel"], attributes["strides"], attributes["dilations"]
            attributes["pads"] = equal_output_pads(image[2:], *rows, more_behind=auto == "SAME_UPPER")
        attributes.setdefault("pads", (0,) * (2 * n))
        word = f"{_SPATIAL[node.op_type].removesuffix('_transpose')}{n}d"
        groups = attributes.get("groups", 1)
        if word == "conv2d" and 1 < groups == image[1] and weight is not None and weight[1] == 1:
            word = "depthwise_conv2d"
        return f"{word}_transpose" if node.op_type == "ConvTranspose" else word


def tensor_facts(name: str, kind: TypeProto | None) -> TensorFacts:
    """Return the name, shape and element type of a value."""
    shape = None if kind is None else shape_of(kind)
    dims = tuple(size for size in shape or () if isinstance(size, int) and 0 <= size <= MAX_BYTES)
    dtype = None if kind is None else DTYPES.get(kind.tensor_type.elem_type)
    return TensorFacts(
        name=name or None, shape=dims if shape is not None and len(dims) == len(shape) else None, dtype=dtype
    )


def initializer_facts(name: str, dims: Sequence[int], data_type: int) -> TensorFacts:
    """Return the name, shape and element type of a constant."""
    is_sized = all(0 <= size <= MAX_BYTES for size in dims)
    return TensorFacts(name=name or None, shape=tuple(dims) if is_sized else None, dtype=DTYPES.get(data_type))


def _pads_of_all_axes(pads: Any, axes: Any, shape: Shape | None) -> Shape | None:
    """Extend the pads of `axes` to all axes: first the pads before each axis, then after. None if invalid."""
    n = 0 if shape is None else len(shape)
    if pads is None or len(pads) != 2 * len(axes) or any(not -n <= axis < n for axis in axes):
        return None
    values = [0] * (2 * n)
    for k, axis in enumerate(axes):
        values[axis % n], values[axis % n + n] = pads[k], pads[len(axes) + k]
    return tuple(values)


def _value_of(attribute: Any) -> object:
    """Return the Python value of a node's attribute: a number, text or list; None for other types."""
    field = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints"}.get(attribute.type)
    value: Any = None if field is None else getattr(attribute, field)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return list(value) if field in ("floats", "ints") else value
