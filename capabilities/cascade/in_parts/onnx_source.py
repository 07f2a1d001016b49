"""ONNX models as what is to run in parts: which name and node is which, and which may be cut."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from memplan.planner.errors import FormatError, OperationsError, shown
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.imported import ModelOptions
from memplan.systems.onnx.loading import load
from memplan.systems.onnx.model import shape_of

if TYPE_CHECKING:
    from onnx import NodeProto

WINDOWS = {"Conv", "QLinearConv", "MaxPool", "AveragePool"}
_POINTWISE = {"Relu", "Clip", "LeakyRelu", "PRelu", "Elu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Softplus"}
_POINTWISE |= {"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "BatchNormalization", "Identity", "Cast", "Neg", "Abs"}
_POINTWISE |= {"Exp", "Log", "Sqrt", "Erf", "Gelu", "Mish", "QuantizeLinear", "DequantizeLinear", "Softmax", "Concat"}
_BY_CHANNELS = {"BatchNormalization", "QuantizeLinear", "DequantizeLinear"}
"""Operators whose constants are lists along the channels, whatever their shape."""
# From opset 11 on, pads and bounds of slices may be inputs.
_OLDEST = 11


def of_known_opset(data: bytes) -> bytes:
    """Return a model of opset 11 or later: the bytes as they are, or converted by onnx's version converter.

    Raises FormatError where that converter knows no way.
    """
    import onnx
    from onnx import version_converter

    model = onnx.load_model_from_string(data)
    version = max((row.version for row in model.opset_import if row.domain in ("", "ai.onnx")), default=1)
    if version >= _OLDEST:
        return data
    try:
        found: bytes = version_converter.convert_version(model, _OLDEST).SerializeToString()
    except (RuntimeError, ValueError, TypeError) as error:
        why = f"onnx's converter says {shown(str(error).strip())}"
        rule = f"must be at least {_OLDEST} to be written in parts"
        raise FormatError(f"model.opset_import: {rule}, got {version}; {why}") from None
    return found


class OnnxSource:
    """A model of opset 11 or later, and its graph of operations."""

    def __init__(self, data: bytes, graph: OperationGraph, options: ModelOptions | None = None) -> None:
        self.graph, self.model = graph, load(data, options or ModelOptions()).model
        self.nodes: Sequence[NodeProto] = self.model.graph.node
        self.names = self._names()
        self.tensors = {name: t for t, name in self.names.items()}
        whole = self.model.graph
        self.shapes: dict[str, tuple[int | str | None, ...] | None] = {
            row.name: shape_of(row.type) for row in (*whole.input, *whole.output, *whole.value_info)
        }
        self.constants = {row.name: tuple(row.dims) for row in whole.initializer}
        for node in self.nodes:
            for row in node.attribute if node.op_type == "Constant" else ():
                if row.name == "value":
                    self.constants[node.output[0]] = tuple(row.t.dims)
            if node.op_type == "Identity" and node.input[0] in self.constants:
                self.constants[node.output[0]] = self.constants[node.input[0]]

    def _names(self) -> dict[int, str]:
        """Return for each tensor the name of what makes it: that of a view of it may be another one."""
        resident = set(self.graph.resident)
        found = {t: row.name or f"tensor {t}" for t, row in enumerate(self.graph.tensors) if t not in resident}
        for row in self.graph.ops:
            if len(row.source) == 1 and row.source[0] < len(self.nodes):
                outputs = [name for name in self.nodes[row.source[0]].output if name]
                if len(outputs) == len(row.outputs):
                    found.update(zip(row.outputs, outputs, strict=True))
        return found

    def node_of(self, v: int) -> NodeProto:
        """Return the node that an operation of the graph was read of."""
        source = self.graph.ops[v].source
        if len(source) != 1 or source[0] >= len(self.nodes):
            raise OperationsError(f"ops[{v}]: must be a node of the main graph")
        return self.nodes[source[0]]

    def runs_in_parts(self, v: int) -> bool:
        """Return True if the node of an operation can be written for a part of its output."""
        node, row = self.node_of(v), self.graph.ops[v]
        if node.domain not in ("", "ai.onnx") or len(node.output) != 1 or len(row.outputs) != 1:
            return False
        out = self.shapes.get(node.output[0])
        if self.tensors.get(node.output[0]) != row.outputs[0] or out is None or len(out) != 4:
            return False
        active = [name for name in node.input if name in self.tensors]
        if any(name and name not in self.tensors and name not in self.constants for name in node.input):
            return False
        if any(len(self.shapes.get(name) or ()) != 4 for name in active):
            return False
        attributes = {row.name: row for row in node.attribute}
        if node.op_type in WINDOWS:
            # Averages count pads, but not what a size that is rounded up adds to them.
            return not all(name in attributes and attributes[name].i for name in ("ceil_mode", "count_include_pad"))
        if node.op_type == "ConvTranspose":
            return not {"output_shape", "auto_pad"} & set(attributes)
        if node.op_type == "Resize":
            return len(active) == 1 and self.factors(node) is not None
        if node.op_type not in _POINTWISE:
            return False
        constants = [self.constants[name] for name in node.input if name in self.constants]
        return node.op_type in _BY_CHANNELS or all(prod(shape[-2:]) == 1 for shape in constants)

    def factors(self, node: NodeProto) -> tuple[int, int] | None:
        """Return the whole numbers by which a resize multiplies rows and columns; None for another resize."""
        before, after = self.shapes.get(node.input[0]), self.shapes.get(node.output[0])
        if before is None or after is None or len(before) != 4 or before[:2] != after[:2]:
            return None
        pairs = [
            (a, b) for a, b in zip(before[2:], after[2:], strict=True) if isinstance(a, int) and isinstance(b, int)
        ]
        words = {row.name: row.s.decode() for row in node.attribute if row.type == 3}
        if words.get("coordinate_transformation_mode", "half_pixel") not in (
            "half_pixel",
            "asymmetric",
            "pytorch_half_pixel",
        ):
            return None
        if len(pairs) != 2 or any(a == 0 or b % a for a, b in pairs):
            return None
        return pairs[0][1] // pairs[0][0], pairs[1][1] // pairs[1][0]
