"""From a cascade to operations that memplan plans: a region is a loop of one statement for each of its operations.

A buffer that lives within a step is written whole; one that is kept over steps, or that belongs to others too, is also
an input of what writes it, so it is alive for the loop.
"""

from __future__ import annotations

from typing import Any

from memplan.capabilities.cascade.regions.regions import (
    Cascade,
    CascadeRegion,
    Slide,
    held_name,
    moved_of,
    sums_name,
    sums_of,
    whole_name,
)
from memplan.capabilities.cascade.search.tables import rounded_up
from memplan.planner.liveness import problem_of
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations, operations_from

FUNCTION = "main"


def program_of(cascade: Cascade, alignment: int) -> Operations:
    """Return the operations of a cascade, with buffers of whole tensors and of what regions hold."""
    return _Lowering(cascade, alignment).run()


def problem_with(operations: Operations, slides: list[Slide]) -> Problem:
    """Return the problem of a cascade's operations, in which outputs begin at the distance of their slides."""
    problem = problem_of(operations)
    if not slides:
        return problem
    rows: dict[str, Any] = problem.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    buffers = {row["id"]: row for row in rows["buffers"]}
    for slide in slides:
        name = f"{FUNCTION}/{whole_name(slide.output)}"
        # A slide is a fixed distance, so any solver of problems keeps it.
        buffers[f"{FUNCTION}/{whole_name(slide.tensor)}"]["relative"] = {"to": name, "offset": slide.down}
    return Problem.model_validate(rows)


def problem_in_pools(operations: Operations, cascade: Cascade, pools: tuple[tuple[str, int], ...]) -> Problem:
    """Return the problem of a cascade's operations in a fast and a slow pool, with the least traffic of the slow one.

    Whole tensors may lie in either, what lives in a region only in the fast one.
    """
    problem = problem_of(operations)
    rows: dict[str, Any] = problem.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    moved = {f"{FUNCTION}/{whole_name(tensor)}": bytes_ for tensor, bytes_ in moved_of(cascade).items()}
    for row in rows.get("buffers", ()):
        # Whole tensors choose their memory by their traffic; what lives in a region must be in the fast one.
        if row["id"] in moved:
            row["traffic"] = moved[row["id"]]
        else:
            row["pools"] = [pools[0][0]]
    rows["pools"] = [{"name": name, "size": size, "cost": cost} for cost, (name, size) in enumerate(pools)]
    return Problem.model_validate({**rows, "objective": "cost"})


class _Lowering:
    """Writes the statements of a cascade."""

    def __init__(self, cascade: Cascade, alignment: int) -> None:
        self.cascade, self.graph, self.alignment = cascade, cascade.graph, alignment
        self.buffers: dict[str, int] = {}

    def run(self) -> Operations:
        body: list[dict[str, Any]] = []
        for number, region in enumerate(self.cascade.regions):
            body += self._whole(region.first) if region.kind == "whole" else self._loop(number, region)
        held = {tensor for region in self.cascade.regions for tensor in region.pieces}
        params = [self._buffer(t) for t in self.graph.inputs if t not in held]
        results = [self._buffer(t) for t in self.graph.kept if t not in self.cascade.streamed]
        buffers = [{"id": name, "size": size, "alignment": self.alignment} for name, size in self.buffers.items()]
        main = {"params": params, "results": results, "buffers": buffers, "body": body}
        return operations_from({"functions": {FUNCTION: main}, "name": self.graph.name or None})

    def _buffer(self, tensor: int) -> str:
        return self._named(whole_name(tensor), rounded_up(self.graph.tensors[tensor].bytes, self.alignment))

    def _named(self, name: str, size: int) -> str:
        self.buffers[name] = size
        return name

    def _word(self, v: int) -> str:
        return f"{self.graph.operations[v].kind or 'operation'}_{v}"

    def _whole(self, v: int) -> list[dict[str, Any]]:
        row = self.graph.operations[v]
        reads = [self._buffer(tensor) for tensor in dict.fromkeys(read.tensor for read in row.reads)]
        # What an operation makes again it changes where it lies.
        reads += [self._buffer(t) for t in row.outputs if self.graph.maker[t] != v]
        outputs = [self._buffer(tensor) for tensor in row.outputs]
        work = [self._named(f"work_{v}", row.work)] if row.work else []
        inputs = list(dict.fromkeys(reads))
        return [{"op": self._word(v), "inputs": inputs, "outputs": outputs, "temporaries": work}]

    def _loop(self, number: int, region: CascadeRegion) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = []
        for tensor in region.pieces:
            hold = region.holds[tensor]
            name = self._named(held_name(number, tensor), hold.bytes)
            steps.append({"op": f"input_{tensor}", "inputs": [name] if hold.kept else [], "outputs": [name]})
        finish: list[dict[str, Any]] = []
        for v in range(region.first, region.end):
            row = self.graph.operations[v]
            tensor = row.outputs[0]
            reads = [self._inside(number, region, t) for t in dict.fromkeys(read.tensor for read in row.reads)]
            if v == region.end - 1 and sums_of(self.graph, region):
                out, kept = self._named(sums_name(number, tensor), self._sums(region)), True
                finish.append({"op": "finish", "inputs": [out], "outputs": [self._buffer(tensor)]})
            else:
                out = self._inside(number, region, tensor)
                kept = tensor not in region.holds or region.holds[tensor].kept
            steps.append({"op": self._word(v), "inputs": [*reads, *([out] if kept else [])], "outputs": [out]})
        return [{"loop": steps, "trips": region.trips}, *finish]

    def _sums(self, region: CascadeRegion) -> int:
        return rounded_up(sums_of(self.graph, region), self.alignment)

    def _inside(self, number: int, region: CascadeRegion, tensor: int) -> str:
        hold = region.holds.get(tensor)
        if hold is None or hold.mode == "whole":
            return self._buffer(tensor)
        return self._named(held_name(number, tensor), hold.bytes)
