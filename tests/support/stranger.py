"""An interpreter of cascades written from docs/cascades.md alone: it reads the JSON of an answer, and nothing else.

What an operation computes is its caller's: a function that makes rows and columns of its output of whole inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Values = dict[int, Any]
Make = Callable[[int, list[Any]], Any]


def run_point(said: Mapping[str, Any], point: Mapping[str, Any], inputs: Values, make: Make) -> Values:
    """Run a point on bytes in one arena; return the value of each tensor of the model, as far as it was made.

    `make(v, inputs)` is operation v of the model on whole inputs, where what was not there is 0. Raises AssertionError
    for a buffer that does not fit into the arena.
    """
    return _Stranger(said, point, make).run(inputs)


class _Stranger:
    def __init__(self, said: Mapping[str, Any], point: Mapping[str, Any], make: Make) -> None:
        self.said, self.point, self.make = said, point, make
        self.arena = np.full(point["peak"], 0x5A, np.uint8)
        count = len(said["operations"])
        self.origins = point.get("origins", range(count))
        self.reads = point.get("reads", [row["in"] for row in said["operations"]])
        self.makes = point.get("makes", [row["out"] for row in said["operations"]])
        self.tensor_origins = point.get("tensor_origins", range(len(said["tensors"])))
        self.made: Values = {}
        self.sums: dict[int, tuple[int, int, int]] = {}

    def run(self, inputs: Values) -> Values:
        in_pieces = {int(t) for region in self.point["regions"] for t in region.get("pieces", {})}
        for tensor, value in inputs.items():
            if tensor not in in_pieces:
                self._whole(tensor)[:] = value
        for number, region in enumerate(self.point["regions"]):
            held = {row["tensor"]: row for row in region.get("buffers", ()) if row["mode"] != "whole"}
            if region["kind"] == "whole":
                (v,) = region["ops"]
                self._store(number, held, self.makes[v][0], self._computed(number, held, v), None, None)
                continue
            for y in range(region["steps"][0]):
                for x in range(region["steps"][1]):
                    for t, piece in region.get("pieces", {}).items():
                        rows, columns = _range(piece["rows"], y), _range(piece["columns"], x)
                        self._store(number, held, int(t), inputs[int(t)], rows, columns)
                    for v in region["ops"]:
                        self._step(number, region, held, v, y, x)
            if number in self.sums:
                self._finish(number)
        return self.made

    def _step(self, number: int, region: Any, held: Any, v: int, y: int, x: int) -> None:
        made = region["ranges"][str(v)]
        rows, columns = _range(made["rows"], y), _range(made["columns"], x)
        if rows[0] < rows[1] and columns[0] < columns[1]:
            if self._is_sum(v):
                self._add(number, held, v, rows, columns)
                return
            value = self._computed(number, held, v)
            self._store(number, held, self.makes[v][0], value, rows, columns)

    def _is_sum(self, v: int) -> bool:
        return bool(self.said["operations"][self.origins[v]]["kind"] == "global_average_pool")

    def _add(self, number: int, held: Any, v: int, rows: Any, columns: Any) -> None:
        """Add what an operation reads in a step to its sums; its output is what they are behind the last step."""
        some, (out,) = self._seen(number, held, self.reads[v][0]).copy(), self.makes[v]
        some[: rows[0]], some[rows[1] :], some[:, : columns[0]], some[:, columns[1] :] = 0, 0, 0, 0
        start, pixel = (
            self.point["offsets"][f"t{out}.r{number}.sums"],
            self.said["tensors"][self.tensor_origins[out]]["pixel"],
        )
        place = self.arena[start : start + 4 * pixel]
        assert len(place) == 4 * pixel
        if number not in self.sums:
            place[:] = 0
        sums = np.frombuffer(place.tobytes(), np.uint32)
        total = sums + self.make(self.origins[v], [some])[0, 0].astype(np.uint32)
        place[:] = np.frombuffer(total.tobytes(), np.uint8)
        self.sums[number] = out, start, pixel

    def _finish(self, number: int) -> None:
        out, start, pixel = self.sums[number]
        total = np.frombuffer(self.arena[start : start + 4 * pixel].tobytes(), np.uint32)
        self._store(number, {}, out, (total & 255).astype(np.uint8).reshape(1, 1, pixel), None, None)

    def _computed(self, number: int, held: Any, v: int) -> Any:
        return self.make(self.origins[v], [self._seen(number, held, t) for t in self.reads[v]])

    def _seen(self, number: int, held: Any, tensor: int) -> Any:
        """Return a tensor as it would be if its buffer were unrolled: each row has what its place has now."""
        row = self.said["tensors"][self.tensor_origins[tensor]]
        rows, columns = np.arange(row["rows"]), np.arange(row["columns"])
        ring = self._ring(number, held[tensor]) if tensor in held else self._whole(tensor)
        return ring[np.ix_(rows % ring.shape[0], columns % ring.shape[1])]

    def _store(self, number: int, held: Any, tensor: int, value: Any, rows: Any, columns: Any) -> None:
        row = self.said["tensors"][self.tensor_origins[tensor]]
        r, c = (np.arange(*(span or (0, size))) for span, size in ((rows, row["rows"]), (columns, row["columns"])))
        ring = self._ring(number, held[tensor]) if tensor in held else self._whole(tensor)
        ring[np.ix_(r % ring.shape[0], c % ring.shape[1])] = value[np.ix_(r, c)]
        seen = self.made.setdefault(self.tensor_origins[tensor], np.zeros(value.shape, np.uint8))
        seen[np.ix_(r, c)] = value[np.ix_(r, c)]

    def _ring(self, number: int, buffer: Any) -> Any:
        return self._at(f"t{buffer['tensor']}.r{number}", *buffer["capacity"])

    def _whole(self, tensor: int) -> Any:
        row = self.said["tensors"][self.tensor_origins[tensor]]
        return self._at(f"t{tensor}", row["rows"], row["columns"], row["pixel"])

    def _at(self, name: str, rows: int, columns: int, pixel: int) -> Any:
        start = self.point["offsets"][name]
        assert start + rows * columns * pixel <= len(self.arena), name
        return self.arena[start : start + rows * columns * pixel].reshape(rows, columns, pixel)


def _range(made: Mapping[str, Any], y: int) -> tuple[int, int]:
    """Return entry y of ranges: of a line from where the entry before it ended."""
    if "table" in made:
        return tuple(made["table"][y])
    ends = [min(max(made["A"] * k + made["B"], 0), made["top"]) for k in (y - 1, y)]
    return (0 if y == 0 else ends[0]), ends[1]
