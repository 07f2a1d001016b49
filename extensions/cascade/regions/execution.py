"""The execution of a cascade in one arena, which compares every value with the value computed layer by layer."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph, AccessOperation
from memplan.extensions.cascade.regions.regions import (
    Cascade,
    CascadeRegion,
    Span,
    accumulator_bytes,
    is_accumulated,
    region_buffer_name,
    steps_of,
    sums_name,
    whole_name,
)
from memplan.extensions.cascade.regions.values import (
    Bytes8,
    Sums,
    finish_sums,
    input_sums_of_part,
    partial_sum,
    pattern_of,
    run_part,
    run_whole,
    values_by_layers,
)
from memplan.planner.errors import InvalidPlanError


def check_by_value(
    cascade: Cascade, offsets: Mapping[str, int], peak: int, seed: int = 0, pause: Callable[[], None] = lambda: None
) -> int:
    """Run a cascade in an arena of `peak` bytes at the given offsets; return the number of values compared.

    `pause` is called before each read of a tensor; an exception from it ends the check. Raises InvalidPlanError for the
    first value that differs, and names its region, step and operation.
    """
    return _Execution(cascade, offsets, peak, seed, pause).run()


class _Execution:
    """One execution of a cascade in an arena, which compares each computed value with the expected one."""

    def __init__(
        self, cascade: Cascade, offsets: Mapping[str, int], peak: int, seed: int, pause: Callable[[], None]
    ) -> None:
        """Compute the expected values of all tensors, and prepare an arena of `peak` bytes."""
        self.cascade, self.graph, self.offsets, self.pause = cascade, cascade.graph, offsets, pause
        # A read of unwritten bytes must lead to wrong values, so fill the arena with a pattern other than zero.
        self.arena = np.full(peak, 0xAA, np.uint8)
        self.expected = values_by_layers(self.graph, seed, pause)
        self.compared = 0

    def run(self) -> int:
        """Execute all regions; return the number of values compared. Raises InvalidPlanError for a wrong value."""
        graph, tensors = self.graph, self.graph.tensors
        held = {tensor for region in self.cascade.regions for tensor in region.pieces}
        for tensor in graph.inputs:
            if tensor not in held:
                self._whole_tensor(tensor)[:] = self.expected[tensor]
        for tensor, origin in enumerate(graph.tensor_origins):
            if tensor != origin:
                self._require_equal(f"{tensors[tensor].name}", self.expected[tensor], self.expected[origin])
        for number, region in enumerate(self.cascade.regions):
            if region.kind == "whole":
                self._run_whole(number, region.first_operation)
            elif region.kind == "channels":
                self._run_channels(number, region)
            else:
                self._run_steps(number, region)
        for tensor in graph.kept:
            if tensor not in self.cascade.streamed:
                self._require_equal(f"output {tensors[tensor].name}", self._whole_tensor(tensor), self.expected[tensor])
        return self.compared

    def _arena_view(self, name: str, rows: int, columns: int, pixel: int) -> Bytes8:
        """Return a buffer in the arena as rows x columns x bytes of a pixel; raises InvalidPlanError if outside."""
        start = self.offsets[name]
        size = rows * columns * pixel
        if start + size > len(self.arena):
            raise InvalidPlanError(f"{name}: must end inside the arena ({len(self.arena)} bytes), got {start + size}")
        return self.arena[start : start + size].reshape(rows, columns, pixel)

    def _whole_tensor(self, tensor: int) -> Bytes8:
        row = self.graph.tensors[tensor]
        return self._arena_view(whole_name(tensor), *row.sizes, row.pixel)

    def _region_buffers(self, number: int, region: CascadeRegion) -> dict[int, Bytes8]:
        held = {tensor: hold for tensor, hold in region.buffer_by_tensor.items() if hold.mode != "whole"}
        return {
            tensor: self._arena_view(region_buffer_name(number, tensor), *hold.capacity)
            for tensor, hold in held.items()
        }

    def _require_equal(self, what: str, got: Bytes8, expected: Bytes8) -> None:
        """Raise InvalidPlanError if computed bytes differ from the expected ones; `what` names them in the message."""
        self.compared += got.size
        if not np.array_equal(got, expected):
            raise InvalidPlanError(f"{what}: must equal the value computed layer by layer, got another value")

    def _run_whole(self, number: int, v: int) -> None:
        def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
            self.pause()
            return self._whole_tensor(tensor)[slice(*rows), slice(*columns)]

        for tensor, value in run_whole(self.graph, v, fetch):
            self._require_equal(f"region {number}, operation {v}", value, self.expected[tensor])
            self._whole_tensor(tensor)[:] = value

    def _run_steps(self, number: int, region: CascadeRegion) -> None:
        """Run a region in stripes or tiles, step by step, and compare each computed part with the expected value."""
        graph, last, rings = self.graph, last_operation(self.graph, region), self._region_buffers(number, region)
        sums = self._accumulator(number, region) if last.role == "sum" else None

        def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
            self.pause()
            if tensor not in rings:
                return self._whole_tensor(tensor)[slice(*rows), slice(*columns)]
            content: Bytes8 = rings[tensor][_ring_index(rings[tensor], rows, columns)]
            return content

        def store(tensor: int, rows: Span, columns: Span, value: Bytes8) -> None:
            if tensor in rings:
                rings[tensor][_ring_index(rings[tensor], rows, columns)] = value
            else:
                self._whole_tensor(tensor)[slice(*rows), slice(*columns)] = value

        for step in steps_of(region):
            for tensor, piece in region.pieces.items():
                rows, columns = piece.rows[step[0]], piece.columns[step[1]]
                if rows[1] > rows[0] and columns[1] > columns[0]:
                    store(tensor, rows, columns, self.expected[tensor][slice(*rows), slice(*columns)])
            for v in range(region.first_operation, region.end):
                rows, columns = region.ranges[v].rows[step[0]], region.ranges[v].columns[step[1]]
                if rows[1] <= rows[0] or columns[1] <= columns[0]:
                    continue
                operation = graph.operations[v]
                if sums is not None and v == region.end - 1:
                    add = partial_sum(graph, operation, rows, columns, fetch)
                    sums[:] = np.resize((sums[: len(add)] + add) & 255, len(sums))
                    continue
                value = run_part(graph, v, rows, columns, fetch)
                expected = self.expected[operation.outputs[0]][slice(*rows), slice(*columns)]
                self._require_equal(f"region {number}, step {step}, operation {v}", value, expected)
                store(operation.outputs[0], rows, columns, value)
                if operation.outputs[0] in self.cascade.streamed:
                    taken = fetch(operation.outputs[0], rows, columns)
                    self._require_equal(f"region {number}, step {step}, a piece of the output", taken, expected)
        if sums is not None:
            added = self._check_sums(number, sums, graph.tensors[last.reads[0].tensor].pixel)
            self._store_output(number, last.outputs[0], finish_sums(graph, region.end - 1, added))

    def _run_channels(self, number: int, region: CascadeRegion) -> None:
        """Run a region along channels, step by step, and compare each computed slice with the expected value."""
        graph, is_summed, tiles = self.graph, is_accumulated(self.graph, region), self._region_buffers(number, region)
        sums = self._accumulator(number, region) if is_summed else np.zeros(0, np.uint8)
        for step in range(region.n_steps):
            for v in range(region.first_operation, region.end):
                operation, made = graph.operations[v], region.ranges[v]
                (tensor,), rows, columns = operation.outputs, made.rows[0], made.columns[0]

                def fetch(source: int, rows: Span, columns: Span, v: int = v, step: int = step) -> Bytes8:
                    self.pause()
                    return self._channel_slice(region, tiles, v, step, source)[slice(*rows), slice(*columns)]

                if is_summed and v == region.end - 1:
                    add = (input_sums_of_part(graph, v, rows, columns, fetch) & 255).astype(np.uint8).ravel()
                    sums[:] = np.resize((sums[: len(add)] + add) & 255, len(sums))
                    continue
                if operation.role == "sum":
                    value = finish_sums(
                        graph, v, partial_sum(graph, operation, *self._input_ranges(operation), fetch).astype(np.int64)
                    )
                else:
                    value = run_part(graph, v, rows, columns, fetch)
                some = self._channel_bytes(tensor, made.channels[step])
                expected = self.expected[tensor][..., some]
                self._require_equal(f"region {number}, step {step}, operation {v}", value[..., some], expected)
                if tensor in tiles:
                    places = _ring_index(tiles[tensor], rows, columns)
                    tiles[tensor][places] = _fit_pixels(value[..., some], tiles[tensor].shape[2])
                else:
                    self._whole_tensor(tensor)[..., some] = value[..., some]
        if is_summed:
            tensor = last_operation(graph, region).outputs[0]
            out = graph.tensors[tensor]
            total = self._check_sums(number, sums, out.bytes).reshape(out.rows, out.columns, out.pixel)
            total = total + pattern_of(graph, region.end - 1, (0, out.rows), (0, out.columns))
            self._store_output(number, tensor, (total & 255).astype(np.uint8))

    def _accumulator(self, number: int, region: CascadeRegion) -> Bytes8:
        tensor = last_operation(self.graph, region).outputs[0]
        bytes_ = accumulator_bytes(self.graph, region)
        start = self.offsets[sums_name(number, tensor) if bytes_ else whole_name(tensor)]
        sums = self.arena[start : start + (bytes_ or self.graph.tensors[tensor].bytes)]
        sums[:] = 0
        return sums

    def _check_sums(self, number: int, sums: Bytes8, size: int) -> Sums:
        """Return an accumulator's sums; raises InvalidPlanError if its copies, of `size` bytes each, differ."""
        if not np.array_equal(sums, np.resize(sums[:size], len(sums))):
            raise InvalidPlanError(
                f"region {number}: must keep the sums of its last operation intact, got overwritten sums"
            )
        return sums[:size].astype(np.int64)

    def _store_output(self, number: int, tensor: int, value: Bytes8) -> None:
        self._require_equal(f"region {number}, the end of a sum", value, self.expected[tensor])
        self._whole_tensor(tensor)[:] = value

    def _channel_slice(
        self, region: CascadeRegion, tiles: Mapping[int, Bytes8], v: int, step: int, source: int
    ) -> Bytes8:
        """Return a tensor as operation v reads it in one step, with 0 in all channels that belong to other steps."""
        reads = [read.channels for read in self.graph.operations[v].reads if read.tensor == source]
        is_added = v == region.end - 1 and is_accumulated(self.graph, region)
        if source not in tiles and "all" in reads and not is_added:
            return self._whole_tensor(source)
        row = self.graph.tensors[source]
        some = self._channel_bytes(source, region.ranges[v].channels[step])
        seen = np.zeros((row.rows, row.columns, row.pixel), np.uint8)
        if source in tiles:
            held = tiles[source][_ring_index(tiles[source], (0, row.rows), (0, row.columns))]
            seen[..., some] = _fit_pixels(held, some.stop - some.start)
        else:
            seen[..., some] = self._whole_tensor(source)[..., some]
        return seen

    def _channel_bytes(self, tensor: int, channels: Span) -> slice:
        row = self.graph.tensors[tensor]
        return slice(*(channel * (row.pixel // row.channels) for channel in channels))

    def _input_ranges(self, operation: AccessOperation) -> tuple[Span, Span]:
        source = self.graph.tensors[operation.reads[0].tensor]
        return (0, source.rows), (0, source.columns)


def last_operation(graph: AccessGraph, region: CascadeRegion) -> AccessOperation:
    """Return the last operation of a region of a graph."""
    return graph.operations[region.end - 1]


def _ring_index(ring: Bytes8, rows: Span, columns: Span) -> Any:
    return np.ix_(np.arange(*rows) % ring.shape[0], np.arange(*columns) % ring.shape[1])


def _fit_pixels(value: Bytes8, pixel: int) -> Bytes8:
    fitting = np.zeros((*value.shape[:2], pixel), np.uint8)
    fitting[..., : min(pixel, value.shape[2])] = value[..., :pixel]
    return fitting
