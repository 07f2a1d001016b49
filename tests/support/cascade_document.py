"""An interpreter of cascades, which uses only the JSON of an answer (docs/cascades.md) and the operations."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.regions.regions import Span
from memplan.extensions.cascade.regions.values import (
    Bytes8,
    finish_sums,
    input_sums_of_part,
    partial_sum,
    pattern_of,
    run_part,
    run_whole,
    values_by_layers,
)


def spans(said: Mapping[str, Any]) -> list[Span]:
    """Return the ranges of all steps, from a table of ranges or from a list of ends of consecutive ranges."""
    if "table" in said:
        return [(first, end) for first, end in said["table"]]
    ends = [min(max(said["A"] * y + said["B"], 0), said["top"]) for y in range(said["steps"])]
    return list(zip([0, *ends], ends, strict=False))


class Interpreter:
    """An interpreter that runs one point of a cascade in an arena of its peak; `graph` has the model's operations."""

    def __init__(self, graph: AccessGraph, told: Mapping[str, Any], point: Mapping[str, Any]) -> None:
        self.graph, self.told, self.point = graph, told, point
        self.arena = np.full(point["peak"], 0xAA, np.uint8)
        self.expected = values_by_layers(graph)
        self.origins = point.get("origins") or range(len(told["operations"]))
        self.tensors = point.get("tensor_origins") or range(len(told["tensors"]))
        self.reads = point.get("reads") or [row["in"] for row in told["operations"]]
        self.makes = point.get("makes") or [row["out"] for row in told["operations"]]
        self.taken = {t: np.zeros_like(self.expected[t]) for t in graph.kept}

    def run(self) -> None:
        """Run all regions, and compare the outputs with those of the plain model."""
        made = {tensor for row in self.makes for tensor in row}
        for tensor in range(len(self.tensors)):
            if tensor not in made and f"t{tensor}" in self.point["offsets"]:
                self.whole_tensor(tensor)[:] = self.expected[self.tensors[tensor]]
        for number, region in enumerate(self.point["regions"]):
            if region["kind"] == "whole":
                (v,) = region["ops"]
                for tensor, value in run_whole(self.graph, self.origins[v], self.fetch_tensor(v, {})):
                    at = [self.tensors[t] for t in self.makes[v]].index(tensor)
                    self.whole_tensor(self.makes[v][at])[:] = value
                    self.taken.get(tensor, value)[:] = value
            else:
                (self.channels if region["kind"] == "channels" else self.steps)(number, region)
        for tensor, value in self.taken.items():
            if self.told["conventions"]["output"] == "resident":
                assert np.array_equal(self.whole_tensor(tensor), self.expected[tensor]), f"output {tensor}"
            else:
                assert np.array_equal(value, self.expected[tensor]), f"output {tensor}, which goes in pieces"

    def view_of_arena(self, name: str, rows: int, columns: int, pixel: int) -> Bytes8:
        start = self.point["offsets"][name]
        return self.arena[start : start + rows * columns * pixel].reshape(rows, columns, pixel)

    def whole_tensor(self, tensor: int) -> Bytes8:
        row = self.told["tensors"][self.tensors[tensor]]
        return self.view_of_arena(f"t{tensor}", row["rows"], row["columns"], row["pixel"])

    def buffers(self, number: int, region: Mapping[str, Any]) -> dict[int, Bytes8]:
        """Return the separate buffers of a region in the arena, by the number of their tensor."""
        rows = [row for row in region["buffers"] if row["mode"] != "whole"]
        return {row["tensor"]: self.view_of_arena(f"t{row['tensor']}.r{number}", *row["capacity"]) for row in rows}

    def fetch_tensor(self, v: int, buffers: Mapping[int, Bytes8]) -> Any:
        """Return the function by which an operation reads a tensor of the model."""
        wanted = [read.tensor for read in self.graph.operations[self.origins[v]].reads]
        numbers = dict(zip(wanted, self.reads[v], strict=True))

        def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
            buffer = buffers.get(numbers[tensor])
            found: Bytes8 = (self.whole_tensor(numbers[tensor]) if buffer is None else buffer)[
                index_of(buffer, rows, columns)
            ]
            return found

        return fetch

    def steps(self, number: int, region: Mapping[str, Any]) -> None:
        buffers, sums = self.buffers(number, region), np.zeros(0, np.uint8)
        name = f"t{self.makes[region['ops'][-1]][0]}.r{number}.sums"
        last = region["ops"][-1]
        if name in self.point["offsets"]:
            pixel = self.told["tensors"][self.tensors[self.reads[last][0]]]["pixel"]
            sums = self.view_of_arena(name, 1, 1, pixel)[0, 0]
            sums[:] = 0
        ranges = {int(v): (spans(row["rows"]), spans(row["columns"])) for v, row in region["ranges"].items()}
        pieces = (region.get("pieces") or {}).items()
        pieces = {int(t): (spans(row["rows"]), spans(row["columns"])) for t, row in pieces}
        for y in range(region["steps"][0]):
            for x in range(region["steps"][1]):
                for tensor, (rows, columns) in pieces.items():
                    piece = self.expected[self.tensors[tensor]][slice(*rows[y]), slice(*columns[x])]
                    buffers[tensor][index_of(buffers[tensor], rows[y], columns[x])] = piece
                for v in region["ops"]:
                    rows, columns = ranges[v][0][y], ranges[v][1][x]
                    if rows[0] < rows[1] and columns[0] < columns[1]:
                        self.part(v, rows, columns, buffers, sums if v == last else sums[:0])
        if len(sums):
            value = finish_sums(self.graph, self.origins[last], sums.astype(np.int64))
            self.store(self.makes[last][0], (0, 1), (0, 1), value, buffers)

    def part(self, v: int, rows: Span, columns: Span, buffers: Mapping[int, Bytes8], sums: Bytes8) -> None:
        if len(sums):
            row = self.graph.operations[self.origins[v]]
            sums += partial_sum(self.graph, row, rows, columns, self.fetch_tensor(v, buffers))
            return
        value = run_part(self.graph, self.origins[v], rows, columns, self.fetch_tensor(v, buffers))
        self.store(self.makes[v][0], rows, columns, value, buffers)

    def store(self, tensor: int, rows: Span, columns: Span, value: Bytes8, buffers: Mapping[int, Bytes8]) -> None:
        buffer = buffers.get(tensor)
        (self.whole_tensor(tensor) if buffer is None else buffer)[index_of(buffer, rows, columns)] = value
        if tensor in self.taken:
            self.taken[tensor][slice(*rows), slice(*columns)] = value

    def channels(self, number: int, region: Mapping[str, Any]) -> None:
        buffers, last = self.buffers(number, region), region["ops"][-1]
        out = self.makes[last][0]
        # Tensors without a buffer in the region are accumulated in separate sums or at their final offsets.
        is_summed = out not in [row["tensor"] for row in region["buffers"]]
        name = f"t{out}.r{number}.sums"
        sums: Bytes8 = np.zeros(0, np.uint8)
        if is_summed:
            row = self.told["tensors"][self.tensors[out]]
            sizes = row["rows"], row["columns"], row["pixel"]
            sums = self.view_of_arena(name if name in self.point["offsets"] else f"t{out}", *sizes)
            sums[:] = 0
        for k in range(region["channel_steps"]):
            for v in region["ops"]:
                origin, said = self.origins[v], region["ranges"][str(v)]
                channels, top = spans(said["channels"])[k], max(end for _, end in spans(said["channels"]))
                fetch = self.fetch_channels(v, buffers, channels, top, v == last and is_summed)
                rows, columns = spans(said["rows"])[0], spans(said["columns"])[0]
                if v == last and is_summed:
                    sums += (input_sums_of_part(self.graph, origin, rows, columns, fetch) & 255).astype(np.uint8)
                    continue
                (value,) = [value for _, value in run_whole(self.graph, origin, fetch)]
                some = self.bytes_of(self.makes[v][0], channels, top)
                if (buffer := buffers.get(self.makes[v][0])) is None:
                    self.whole_tensor(self.makes[v][0])[..., some] = value[..., some]
                else:
                    buffer[..., : some.stop - some.start] = value[..., some]
                if self.makes[v][0] in self.taken:
                    self.taken[self.makes[v][0]][..., some] = value[..., some]
        if is_summed:
            rows, columns = ((0, size) for size in self.expected[self.tensors[out]].shape[:2])
            self.whole_tensor(out)[:] = (sums + pattern_of(self.graph, self.origins[last], rows, columns)) & 255
            self.taken.get(out, self.whole_tensor(out))[:] = self.whole_tensor(out)

    def bytes_of(self, tensor: int, channels: Span, top: int) -> slice:
        each = self.told["tensors"][self.tensors[tensor]]["pixel"] // top
        return slice(channels[0] * each, channels[1] * each)

    def fetch_channels(self, v: int, buffers: Mapping[int, Bytes8], channels: Span, top: int, is_added: bool) -> Any:
        """Return a function that fetches tensors: of streamed and summed tensors, only the channels of the step."""
        reads = self.graph.operations[self.origins[v]].reads
        numbers = dict(zip([read.tensor for read in reads], self.reads[v], strict=True))

        def fetch(tensor: int, rows: Span, columns: Span) -> Bytes8:
            number = numbers[tensor]
            takes_all = any(read.channels == "all" for read in reads if read.tensor == tensor)
            if number not in buffers and takes_all and not is_added:
                return self.whole_tensor(number)[slice(*rows), slice(*columns)]
            row = self.told["tensors"][self.tensors[number]]
            found = np.zeros((row["rows"], row["columns"], row["pixel"]), np.uint8)
            some = self.bytes_of(number, channels, top)
            is_held, width = number in buffers, some.stop - some.start
            held = buffers[number][..., :width] if is_held else self.whole_tensor(number)[..., some]
            found[..., some] = held
            return found[slice(*rows), slice(*columns)]

        return fetch


def index_of(buffer: Bytes8 | None, rows: Span, columns: Span) -> Any:
    """Return the index of rows and columns in a buffer: direct, or modulo the size of a ring buffer."""
    if buffer is None:
        return slice(*rows), slice(*columns)
    return np.ix_(np.arange(*rows) % buffer.shape[0], np.arange(*columns) % buffer.shape[1])
