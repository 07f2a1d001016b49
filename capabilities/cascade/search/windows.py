"""Equal operations behind each other are searched once: what the regions that end with an operation depend on.

Networks repeat their blocks, and graphs in which operations run again repeat most of a graph. Regions that end with an
operation depend on those before it that may be in one, on what these read, and on the bytes alive around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.kernels.access import Access
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.solvers.kernels.tables import Rows

Key = tuple[Any, ...]


@dataclass
class Windows:
    """Regions by the operations that they depend on; cuts count from their end, peaks from the bytes alive there."""

    found: dict[Key, Rows] = field(default_factory=dict)
    numbers: dict[Key, int] = field(default_factory=dict)


class WindowKeys:
    """The keys of a graph's operations: two with equal keys end the same regions."""

    def __init__(
        self, graph: AccessGraph, tables: Access, options: CascadeOptions, windows: Windows, longest: int
    ) -> None:
        self.graph, self.longest, self.sliding = graph, longest, options.is_sliding
        self.last, self.live = tables.last.tolist(), tables.live.tolist()
        self.streamed = tables.is_streamed.tolist()
        self.tensors = [
            (row.rows, row.columns, row.pixel, row.channels, row.bytes, whole)
            for row, whole in zip(graph.tensors, tables.whole.tolist(), strict=True)
        ]
        self.operations = [
            windows.numbers.setdefault(self._facts(v, sums), len(windows.numbers))
            for v, sums in enumerate(tables.sums.tolist())
        ]

    def of(self, j: int) -> Key:
        """Return the key of operation j - 1 as the end of regions."""
        first, outside = self.first(j), dict[int, int]()
        rows = [self._row(v, first, j, outside) for v in range(first, j)]
        around = [self._around(tensor, j) for tensor in outside]
        base = self.live[j]
        return (self.sliding, *rows, *around, tuple(bytes_ - base for bytes_ in self.live[first:j]))

    def _facts(self, v: int, sums: int) -> Key:
        row = self.graph.operations[v]
        made = self.tensors[row.outputs[0]] if row.outputs else ()
        reads = tuple((read.rows, read.columns, read.channels) for read in row.reads)
        return row.role, row.macs, row.weights, sums, row.partial, made, reads

    def first(self, j: int) -> int:
        """Return the first operation that a region may have that ends with operation j - 1."""
        graph, last = self.graph, self.graph.operations[j - 1]
        channels = {graph.tensors[t].channels for t in (*last.outputs[:1], *(read.tensor for read in last.reads[:1]))}
        v, is_striped = j - 1, True
        while v > max(0, j - self.longest):
            row = graph.operations[v - 1]
            is_striped = is_striped and row.role == "striped"
            # Steps along channels go across a sum, where the channels stay the same.
            if (
                row.role == "barrier"
                or row.label != last.label
                or not (is_striped or graph.tensors[row.outputs[0]].channels in channels)
            ):
                break
            readers = graph.readers[row.outputs[0]]
            if readers and readers[0] >= j:
                break
            v -= 1
        return v

    def _row(self, v: int, first: int, j: int, outside: dict[int, int]) -> Key:
        row, reads = self.graph.operations[v], []
        for read in row.reads:
            maker = self.graph.maker[read.tensor]
            is_inside = maker is not None and maker >= first
            reads.append(
                maker - j if is_inside and maker is not None else outside.setdefault(read.tensor, len(outside))
            )
        is_whole, is_streamed = self.last[row.outputs[0]] >= j, self.streamed[row.outputs[0]]
        return self.operations[v], is_whole, is_streamed, *reads

    def _around(self, tensor: int, j: int) -> Key:
        """Return what regions see of a tensor from outside; of a streamed one, who reads it first, too."""
        streamed = self.streamed[tensor]
        is_input = self.graph.maker[tensor] is None
        since = self.graph.readers[tensor][0] - j if streamed else 0
        return self.tensors[tensor], self.last[tensor] >= j, streamed, is_input, since
