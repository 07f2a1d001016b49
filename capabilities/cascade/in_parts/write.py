"""Models written as cascades, in the formats that can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from memplan.capabilities.cascade.access.access_graph import AccessGraph, barrier_of
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.in_parts.onnx import OnnxRewriting
from memplan.capabilities.cascade.in_parts.onnx_source import of_known_opset
from memplan.capabilities.cascade.in_parts.tflite import TfliteRewriting
from memplan.capabilities.cascade.regions.unrolled import Unrolled
from memplan.planner.errors import FormatError
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.imported import ImportOptions, ModelOptions
from memplan.systems.model_graph import read_model_graph
from memplan.systems.reading import detect
from memplan.systems.tflite.tflm_tail import MicroArena, arena_of


@dataclass(frozen=True)
class RuntimeCost:
    """The bytes that a runtime needs for each operation and each value, beside what the values hold.

    `channel` is for each byte of a pixel that an operation makes: kernels keep numbers for each channel. Where values
    take less than `least`, nothing is gained: so much is needed once anyhow, while a model is loaded.
    """

    operation: int = 0
    value: int = 0
    channel: int = 0
    least: int = 0

    def bytes_of(self, found: Unrolled) -> int:
        """Return the bytes that an unrolled cascade needs, computed from the most bytes of values alive at once."""
        graph = found.graph
        made = [t for step in found.steps if step.kind == "run" for t in graph.operations[step.operation].outputs]
        channels = sum(graph.tensors[tensor].pixel for tensor in made) if self.channel else 0
        counted = self.operation * len(found.steps) + self.value * len(found.values) + self.channel * channels
        return max(found.live_peak, self.least) + counted


NO_COST = RuntimeCost()
WRITERS: Mapping[str, tuple[type[OnnxRewriting | TfliteRewriting], RuntimeCost]] = {
    # A node takes 3,400 (Relu) to 5,600 (Conv) bytes in onnxruntime, most of it from when it is loaded on; in TFLite
    # Micro operators take some 200 bytes, tensors 24, channels 8.
    "onnx": (OnnxRewriting, RuntimeCost(operation=5000)),
    "tflite": (TfliteRewriting, RuntimeCost(operation=200, value=24, channel=8)),
}
"""The formats that are written, and what operations and values cost besides, as measured.

TFLite Micro keeps what it knows of operators and tensors in its arena; onnxruntime has memory of its own for nodes.
"""


@dataclass(frozen=True)
class RewritableModel:
    """The access maps of a model, where what is not written in parts runs whole; its writer, and a runtime's cost.

    `arena` returns the runtime's whole arena for a model in this format, None where the runtime has none.
    """

    access: AccessGraph
    write: Callable[[Unrolled], bytes]
    cost: RuntimeCost
    arena: Callable[[bytes], MicroArena] | None = None


def rewritable(
    data: bytes, name: str | None, graph: OperationGraph, options: ModelOptions | None = None
) -> RewritableModel:
    """Return what is needed to search for cascades of a model that can be written, and to write them.

    The graph is one that was read of this file. A model of ONNX before opset 11 is converted first. Raises FormatError
    for a format that is not written.
    """
    found = detect(data, name)
    if found is None or found not in WRITERS:
        raise FormatError(f"must be of a format that is written in parts ({', '.join(WRITERS)}), got {found or 'none'}")
    kind, cost = WRITERS[found]
    if found == "onnx" and (newer := of_known_opset(data)) is not data:
        read = ImportOptions.model_construct(**{**dict(options or ModelOptions()), "facts": True})
        data, graph = newer, read_model_graph(newer, name, read).graph
    how = kind(data, graph, options)
    access = access_graph(graph)
    rows = tuple(
        row if row.role == "striped" and how.runs_in_parts(v) else barrier_of(access, v, "is not written in parts")
        for v, row in enumerate(access.operations)
    )
    if found == "onnx":  # the constants of a file, and those that onnxruntime makes of them
        cost = replace(cost, least=sum(graph.size[tensor] for tensor in graph.resident))
    arena = arena_of if found == "tflite" else None
    return RewritableModel(replace(access, operations=rows), how.write, cost, arena)
