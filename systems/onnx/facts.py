"""What an ONNX model says of its values and nodes beside bytes and order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.operations.graph_facts import TensorFacts
from memplan.planner.operations.program_facts import OperationFacts
from memplan.systems.onnx.folding import FoldedNumbers
from memplan.systems.onnx.model import DTYPES, shape_of
from memplan.systems.vocabulary import kind_of, kinds_by_name, plain_attributes, same_pads

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TypeProto

STANDARD = ("", "ai.onnx")
BY_CHANCE = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
"""The operators that draw random numbers."""
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
"""The attributes that newer versions of operators have as inputs, behind the first one."""
Shape = tuple[int, ...]


class OnnxFacts:
    """Reads the facts about values and nodes of a model, graph by graph; `shape` states those of a graph's values."""

    def __init__(self, graph: GraphProto, version: int = 1) -> None:
        self._folded = FoldedNumbers(graph, version)

    def of_node(self, node: NodeProto, source: tuple[int, ...], shape: Callable[[str], Shape | None]) -> OperationFacts:
        """Return the facts about a node."""
        name = node.name or None
        if node.domain not in STANDARD:
            return OperationFacts(name, None, {}, source)
        attributes = self._attributes(node, shape)
        kind = kind_of(node.op_type, _KINDS)
        if node.op_type in _SPATIAL:
            kind = self._make_spatial(node, attributes, shape)
        return OperationFacts(name, kind, attributes, source)

    def _attributes(self, node: NodeProto, shape: Callable[[str], Shape | None]) -> dict[str, Any]:
        found = plain_attributes((_RENAMED.get(row.name, row.name), _value(row)) for row in node.attribute)
        if node.op_type in _LISTED:
            given = zip(_LISTED[node.op_type], node.input[1:], strict=False)
            found.update(plain_attributes((name, self._folded.of(value, shape)) for name, value in given))
        if node.op_type == "Pad" and (axes := found.pop("axes", None)) is not None:
            found |= plain_attributes([("pads", _on_all_axes(found.pop("pads", None), axes, shape(node.input[0])))])
        if node.op_type == "Resize":
            place = str(found.get("coordinates", "half_pixel"))
            found["coordinates"] = _PLACES.get(place, place)
        return found

    def _make_spatial(
        self, node: NodeProto, attributes: dict[str, Any], shape: Callable[[str], Shape | None]
    ) -> str | None:
        """Say all attributes of a convolution or a pooling, and return its kind; None where shapes are not known."""
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
            attributes["pads"] = same_pads(image[2:], *rows, more_behind=auto == "SAME_UPPER")
        attributes.setdefault("pads", (0,) * (2 * n))
        word = f"{_SPATIAL[node.op_type].removesuffix('_transpose')}{n}d"
        groups = attributes.get("groups", 1)
        if word == "conv2d" and 1 < groups == image[1] and weight is not None and weight[1] == 1:
            word = "depthwise_conv2d"
        return f"{word}_transpose" if node.op_type == "ConvTranspose" else word


def tensor_facts(name: str, kind: TypeProto | None) -> TensorFacts:
    """Return the facts about a value of a graph, its type included."""
    shape = None if kind is None else shape_of(kind)
    dims = tuple(size for size in shape or () if isinstance(size, int) and 0 <= size <= MAX_BYTES)
    dtype = None if kind is None else DTYPES.get(kind.tensor_type.elem_type)
    return TensorFacts(
        name=name or None, shape=dims if shape is not None and len(dims) == len(shape) else None, dtype=dtype
    )


def initializer_facts(name: str, dims: Sequence[int], data_type: int) -> TensorFacts:
    """Return the facts about a constant in a graph."""
    is_sized = all(0 <= size <= MAX_BYTES for size in dims)
    return TensorFacts(name=name or None, shape=tuple(dims) if is_sized else None, dtype=DTYPES.get(data_type))


def _on_all_axes(pads: Any, axes: Any, shape: Shape | None) -> Shape | None:
    """Return the pads before and behind all axes of a shape, where only those of some are given."""
    n = 0 if shape is None else len(shape)
    if pads is None or len(pads) != 2 * len(axes) or any(not -n <= axis < n for axis in axes):
        return None
    found = [0] * (2 * n)
    for k, axis in enumerate(axes):
        found[axis % n], found[axis % n + n] = pads[k], pads[len(axes) + k]
    return tuple(found)


def _value(attribute: Any) -> object:
    """Return the value of an attribute; None for one that is a tensor or a graph."""
    field = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints"}.get(attribute.type)
    value: Any = None if field is None else getattr(attribute, field)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return list(value) if field in ("floats", "ints") else value
