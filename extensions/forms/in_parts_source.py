"""A model to be split: which operator and tensor of its file a graph refers to, and which operators can be split."""

import struct
from collections.abc import Container, Mapping, Sequence
from typing import Literal

from memplan.planner.errors import FormatError, OperationsError, OptionError, excerpt
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.operations.graph import OperationGraph
from memplan.runtimes.flatbuffer import Content, Field, NewTable, Numbers, OldReference, Scalar, Table, text
from memplan.runtimes.tflite.model import Model, TfliteTensor, read_model
from memplan.runtimes.tflite.reordered import refuse_bound_models

# Numbers of element types in TensorType of TFLite's schema
_FLOAT, _INT32, _INT64, _BOOL, _INT16, _INT8 = 0, 2, 4, 6, 7, 9
TAKEN: Mapping[str, frozenset[int]] = {
    "STRIDED_SLICE": frozenset((_FLOAT, _INT32, _BOOL, _INT16, _INT8)),
    "CONCATENATION": frozenset((_FLOAT, _INT32, _INT64, _BOOL, _INT16, _INT8)),
    "PAD": frozenset((_FLOAT, _INT32, _INT16, _INT8)),
    "PADV2": frozenset((_FLOAT, _INT32, _INT16, _INT8)),
}
"""The element types that TFLite Micro's kernels for slices, concatenations and pads support, by operator.

Source: tensorflow/tflite-micro 90b983c2b, tensorflow/lite/micro/kernels/{strided_slice,concatenation,pad}.cc.
"""
LEAST = {_FLOAT: struct.pack("<f", -3.4028235e38), _INT8: b"\x80"}
"""The bytes of the smallest number of each element type, with which the input of a max pooling is padded."""
PADDED: Mapping[str, Sequence[tuple[int, Literal["b", "i"], int]]] = {
    "CONV_2D": ((1, "i", 0), (2, "i", 0), (3, "b", 0), (4, "i", 1), (5, "i", 1), (6, "b", 0)),
    "DEPTHWISE_CONV_2D": ((1, "i", 0), (2, "i", 0), (3, "i", 0), (4, "b", 0), (5, "i", 1), (6, "i", 1)),
    "MAX_POOL_2D": ((1, "i", 0), (2, "i", 0), (3, "i", 0), (4, "i", 0), (5, "b", 0)),
    "AVERAGE_POOL_2D": ((1, "i", 0), (2, "i", 0), (3, "i", 0), (4, "i", 0), (5, "b", 0)),
}
"""The options of operators with padding, as (field number, format, default), without the padding itself (field 0)."""
BY_PIXEL = {"ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "RELU", "RELU6", "RELU_N1_TO_1"}
BY_PIXEL |= {"LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "PRELU", "ELU", "ABS", "NEG", "EXP", "SQRT", "RSQRT"}
BY_PIXEL |= {"SQUARE", "QUANTIZE", "DEQUANTIZE", "SOFTMAX", "CONCATENATION"}


class TfliteSource:
    """A model file together with the graph of operations that was read from it."""

    def __init__(self, data: bytes, graph: OperationGraph, options: ModelOptions | None = None) -> None:
        """Raise FormatError if the file refers to operators or bytes by position, OptionError if options set sizes."""
        self.data, self.graph, self.model = data, graph, read_model(data)
        if options is not None and options.dims:
            said = ", ".join(f"{name}={size}" for name, size in options.dims.items())
            way = f"export the model with {said}, or split it with the sizes in the file"
            raise OptionError.from_rule(
                "dims", f"must be left out if a .tflite is written, because it keeps its own sizes, got {said}", way=way
            )
        refuse_bound_models(self.model)
        for buffer in self.model.buffers:
            if buffer.integer(2, "size", "Q"):
                raise FormatError(f"{buffer.path}: must have its bytes inside the FlatBuffer, not after it")
        self.subgraph = self.model.subgraphs[0]
        self.ids = {tensor.id: k for k, tensor in enumerate(self.subgraph.tensors)}

    def tensor_of(self, tensor: int) -> int:
        """Return the file's index of tensor number `tensor` in the graph; raises OperationsError if it has none."""
        name = self.graph.tensors[tensor].name if self.graph.tensors else None
        if name not in self.ids:
            raise OperationsError(f"tensor {tensor}: must have the name of a tensor in the file, got {excerpt(name)}")
        return self.ids[name]

    def operator_of(self, v: int) -> int:
        """Return the index of operation `v`'s operator; raises OperationsError unless in the main subgraph."""
        source = self.graph.ops[v].source
        if len(source) != 2 or source[0] != 0:
            raise OperationsError(f"ops[{v}]: must be an operator of the main subgraph")
        return source[1]

    def runs_in_parts(self, v: int) -> bool:
        """Return True if operation `v` can be split into operators that each compute a part of its output."""
        operator, row = self.subgraph.operators[self.operator_of(v)], self.graph.ops[v]
        tensors = self.subgraph.tensors
        read = {self.tensor_of(tensor) for tensor in row.inputs if tensor not in set(self.graph.resident)}
        active = [tensors[k] for k in operator.inputs if k in read]
        constants = [k for k in operator.inputs if k >= 0 and k not in read]
        if operator.is_custom or len(operator.outputs) != 1 or not active:
            return False
        cut = (*active, tensors[operator.outputs[0]])
        inserted = ("STRIDED_SLICE", "CONCATENATION", *(("PAD",) if operator.name in PADDED else ()))
        if any(len(row.shape) != 4 or not all(row.type in TAKEN[each] for each in inserted) for row in cut):
            return False
        if len(read.difference(operator.inputs)):
            return False
        if not all(tensors[k].is_constant or k in self.subgraph.widened_tensors for k in constants):
            return False
        if operator.name in BY_PIXEL:
            return all(size == 1 for k in constants for size in tensors[k].shape[-3:-1])
        if operator.name == "MAX_POOL_2D":
            return active[0].type in LEAST
        if operator.name == "PAD":
            pads = row.attributes.get("pads")
            return isinstance(pads, tuple) and not any((pads[0], pads[3], pads[4], pads[7]))
        if operator.name == "AVERAGE_POOL_2D":
            # At a border, an average has fewer terms; padding would count zeros as terms, so do not split the operator.
            pads = row.attributes.get("pads")
            return isinstance(pads, tuple) and not any(pads)
        return operator.name in PADDED


class TfliteTensors:
    """The tensors and buffers of a new file: those of the old main subgraph, followed by new ones."""

    def __init__(self, model: Model) -> None:
        """Start without new tensors and buffers; index the quantisation of the old tensors."""
        self._model, self._old = model, model.subgraphs[0].tensors
        self._tensors: list[NewTable] = []
        self._buffers: list[NewTable] = []
        self._constants: dict[tuple[object, ...], int] = {}
        tables = {row.id: None if row.table is None else row.table.table(4, "quantization") for row in self._old}
        self._quantization = {name: OldReference(table.at) for name, table in tables.items() if table is not None}

    def add_like(self, own: TfliteTensor, shape: Sequence[int], name: str, buffer: int | None = None) -> int:
        """Add a tensor with the element type and quantisation of `own`, and return its index."""
        fields: dict[int, Field] = {
            0: Numbers(shape),
            1: Scalar(own.type, "b"),
            2: Scalar(self._empty_buffer() if buffer is None else buffer, "I"),
            3: text(name[-200:]),
        }
        if own.id in self._quantization:
            fields[4] = self._quantization[own.id]
        return self._add_tensor(fields)

    def add_integers(self, values: Sequence[int], shape: Sequence[int]) -> int:
        """Return the index of a constant int32 tensor with these values, which is added unless it exists."""
        key = ("numbers", *values, "of", *shape)
        if key not in self._constants:
            buffer = self._buffer_index(struct.pack(f"<{len(values)}i", *values))
            name = text(f"numbers/{len(self._tensors)}")
            self._constants[key] = self._add_tensor(
                {0: Numbers(shape), 1: Scalar(_INT32, "b"), 2: Scalar(buffer, "I"), 3: name}
            )
        return self._constants[key]

    def add_minimum(self, own: TfliteTensor) -> int:
        """Return the index of a constant scalar with the smallest value of the element type of `own`.

        The scalar is added unless it exists. Raises OperationsError for other types than float32 and int8.
        """
        if own.type not in LEAST:
            raise OperationsError(f"tensor {excerpt(own.id)}: must have elements of float32 or int8 to be padded")
        key = ("least", own.id)
        if key not in self._constants:
            self._constants[key] = self.add_like(own, (), f"{own.id}/least", self._buffer_index(LEAST[own.type]))
        return self._constants[key]

    def tensors(self, tables: Sequence[Table], used: Container[int]) -> list[NewTable | OldReference]:
        """Return all old and new tensors; unused old tensors are replaced by empty ones.

        TFLite Micro allocates memory for every tensor, even if no operator uses it.
        """
        olds = [
            OldReference(table.at) if k in used or own.is_constant else self._empty_tensor(own)
            for k, (own, table) in enumerate(zip(self._old, tables, strict=True))
        ]
        return [*olds, *self._tensors]

    def buffers(self) -> list[NewTable | OldReference]:
        """Return all buffers of the new file: the old ones, followed by the added ones."""
        return [*[OldReference(table.at) for table in self._model.buffers], *self._buffers]

    def _empty_tensor(self, own: TfliteTensor) -> NewTable:
        return NewTable(
            {0: Numbers((0,)), 1: Scalar(own.type, "b"), 2: Scalar(self._empty_buffer(), "I"), 3: text(own.id)}
        )

    def _add_tensor(self, fields: dict[int, Field]) -> int:
        self._tensors.append(NewTable(fields))
        return len(self._old) + len(self._tensors) - 1

    def _empty_buffer(self) -> int:
        buffers = self._model.buffers
        return 0 if buffers and not buffers[0].byte_count(0, "data") else self._buffer_index(b"")

    def _buffer_index(self, data: bytes) -> int:
        key = ("buffer", data)
        if key not in self._constants:
            self._buffers.append(NewTable({0: Content(data)} if data else {}))
            self._constants[key] = len(self._model.buffers) + len(self._buffers) - 1
        return self._constants[key]
