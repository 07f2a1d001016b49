"""The tensors and buffers of a TensorFlow Lite model to which others are added."""

from __future__ import annotations

import struct
from collections.abc import Container, Sequence

from memplan.planner.errors import OperationsError, shown
from memplan.systems.flatbuffer import Content, Field, NewTable, Numbers, Old, Scalar, Table, text
from memplan.systems.tflite.model import Model, TfliteTensor

# Numbers of TensorType in TFLite's schema.
_FLOAT, _INT32, _UINT8, _INT8 = 0, 2, 3, 9
LEAST = {_FLOAT: struct.pack("<f", -3.4028235e38), _UINT8: b"\0", _INT8: b"\x80"}
"""The least number of a type: what a maximum is padded with."""


class TfliteTensors:
    """The tensors of a model's main subgraph and the buffers of the model: those of the file, and new ones behind."""

    def __init__(self, model: Model) -> None:
        self._model, self._old = model, model.subgraphs[0].tensors
        self._tensors: list[NewTable] = []
        self._buffers: list[NewTable] = []
        self._constants: dict[tuple[object, ...], int] = {}
        tables = {row.id: None if row.table is None else row.table.table(4, "quantization") for row in self._old}
        self._quantization = {name: Old(table.at) for name, table in tables.items() if table is not None}

    def like(self, own: TfliteTensor, shape: Sequence[int], name: str, buffer: int | None = None) -> int:
        """Add a tensor of the type and the quantisation of another one, and return its position."""
        fields: dict[int, Field] = {
            0: Numbers(shape),
            1: Scalar(own.type, "b"),
            2: Scalar(self._empty() if buffer is None else buffer, "I"),
            3: text(name[-200:]),
        }
        if own.id in self._quantization:
            fields[4] = self._quantization[own.id]
        return self._add(fields)

    def numbers(self, values: Sequence[int], shape: Sequence[int]) -> int:
        """Return the position of a constant tensor of whole numbers."""
        key = ("numbers", *values, "of", *shape)
        if key not in self._constants:
            buffer = self._buffer(struct.pack(f"<{len(values)}i", *values))
            name = text(f"numbers/{len(self._tensors)}")
            self._constants[key] = self._add(
                {0: Numbers(shape), 1: Scalar(_INT32, "b"), 2: Scalar(buffer, "I"), 3: name}
            )
        return self._constants[key]

    def least(self, own: TfliteTensor) -> int:
        """Return the position of a constant tensor of the least number that another one can have."""
        if own.type not in LEAST:
            raise OperationsError(f"tensor {shown(own.id)}: must be of float32, int8 or uint8 to be padded")
        key = ("least", own.id)
        if key not in self._constants:
            self._constants[key] = self.like(own, (), f"{own.id}/least", self._buffer(LEAST[own.type]))
        return self._constants[key]

    def tensors(self, tables: Sequence[Table], used: Container[int]) -> list[NewTable | Old]:
        """Return all tensors; those of the file that are not used have no elements.

        TFLite Micro gives memory to each tensor, also to those that no operator has.
        """
        kept = [
            Old(table.at) if k in used or own.is_constant else self._without_elements(own)
            for k, (own, table) in enumerate(zip(self._old, tables, strict=True))
        ]
        return [*kept, *self._tensors]

    def buffers(self) -> list[NewTable | Old]:
        """Return all buffers."""
        return [*[Old(table.at) for table in self._model.buffers], *self._buffers]

    def _without_elements(self, own: TfliteTensor) -> NewTable:
        return NewTable({0: Numbers((0,)), 1: Scalar(own.type, "b"), 2: Scalar(self._empty(), "I"), 3: text(own.id)})

    def _add(self, fields: dict[int, Field]) -> int:
        self._tensors.append(NewTable(fields))
        return len(self._old) + len(self._tensors) - 1

    def _empty(self) -> int:
        """Return the position of a buffer without bytes."""
        buffers = self._model.buffers
        return 0 if buffers and not buffers[0].length(0, "data") else self._buffer(b"")

    def _buffer(self, data: bytes) -> int:
        key = ("buffer", data)
        if key not in self._constants:
            self._buffers.append(NewTable({0: Content(data)} if data else {}))
            self._constants[key] = len(self._model.buffers) + len(self._buffers) - 1
        return self._constants[key]
