"""TensorFlow Lite models as what is to run in parts: which tensor and operator is which, and which may be cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from memplan.capabilities.cascade.in_parts.tflite_tensors import LEAST
from memplan.planner.errors import FormatError, OperationsError, shown
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.imported import ModelOptions
from memplan.systems.tflite.model import read_model
from memplan.systems.tflite.reordered import refuse_bound_models

PADDED: Mapping[str, Sequence[tuple[int, Literal["b", "i"], int]]] = {
    "CONV_2D": ((1, "i", 0), (2, "i", 0), (3, "b", 0), (4, "i", 1), (5, "i", 1), (6, "b", 0)),
    "DEPTHWISE_CONV_2D": ((1, "i", 0), (2, "i", 0), (3, "i", 0), (4, "b", 0), (5, "i", 1), (6, "i", 1)),
    "MAX_POOL_2D": ((1, "i", 0), (2, "i", 0), (3, "i", 0), (4, "i", 0), (5, "b", 0)),
    "AVERAGE_POOL_2D": ((1, "i", 0), (2, "i", 0), (3, "i", 0), (4, "i", 0), (5, "b", 0)),
}
"""The options of operators with padding, beside the padding itself, which is field 0: (number, kind, default)."""
BY_PIXEL = {"ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "RELU", "RELU6", "RELU_N1_TO_1"}
BY_PIXEL |= {"LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "PRELU", "ELU", "ABS", "NEG", "EXP", "SQRT", "RSQRT"}
BY_PIXEL |= {"SQUARE", "QUANTIZE", "DEQUANTIZE", "SOFTMAX", "CONCATENATION"}


class TfliteSource:
    """A model, and its graph of operations; raises FormatError for one that names operators or bytes by positions."""

    def __init__(self, data: bytes, graph: OperationGraph, options: ModelOptions | None = None) -> None:
        self.data, self.graph, self.model = data, graph, read_model(data)
        if options is not None and options.dims:
            raise FormatError("dims: must be given for models of ONNX")
        refuse_bound_models(self.model)
        for buffer in self.model.buffers:
            if buffer.integer(2, "size", "Q"):
                raise FormatError(f"{buffer.path}: must be inside of the model, not behind it")
        self.subgraph = self.model.subgraphs[0]
        self.ids = {tensor.id: k for k, tensor in enumerate(self.subgraph.tensors)}

    def tensor_of(self, tensor: int) -> int:
        """Return the file's tensor that a tensor of the graph is; raises OperationsError where it is none."""
        name = self.graph.tensors[tensor].name if self.graph.tensors else None
        if name not in self.ids:
            raise OperationsError(f"tensor {tensor}: must be one of the file's, got {shown(name)}")
        return self.ids[name]

    def operator_of(self, v: int) -> int:
        """Return the file's operator that an operation of the graph was read of."""
        source = self.graph.ops[v].source
        if len(source) != 2 or source[0] != 0:
            raise OperationsError(f"ops[{v}]: must be an operator of the main subgraph")
        return source[1]

    def runs_in_parts(self, v: int) -> bool:
        """Return True if the operator of an operation can be written for a part of its output."""
        operator, row = self.subgraph.operators[self.operator_of(v)], self.graph.ops[v]
        tensors = self.subgraph.tensors
        read = {self.tensor_of(tensor) for tensor in row.inputs if tensor not in set(self.graph.resident)}
        active = [tensors[k] for k in operator.inputs if k in read]
        constants = [k for k in operator.inputs if k >= 0 and k not in read]
        if operator.is_custom or len(operator.outputs) != 1 or not active:
            return False
        if any(len(row.shape) != 4 for row in (*active, tensors[operator.outputs[0]])):
            return False
        if len(read.difference(operator.inputs)):
            return False
        if not all(tensors[k].is_constant or k in self.subgraph.widened for k in constants):
            return False
        if operator.name in BY_PIXEL:
            return all(size == 1 for k in constants for size in tensors[k].shape[-3:-1])
        if operator.name == "MAX_POOL_2D":
            return active[0].type in LEAST
        if operator.name == "PAD":
            pads = row.attributes.get("pads")
            return isinstance(pads, tuple) and not any((pads[0], pads[3], pads[4], pads[7]))
        if operator.name == "AVERAGE_POOL_2D":
            # At a border it counts fewer, whatever is put there.
            pads = row.attributes.get("pads")
            return isinstance(pads, tuple) and not any(pads)
        return operator.name in PADDED
