"""The problem of a graph of operations in a fixed order, in which tensors are buffers and operations are time steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from memplan.planner.errors import OperationsError
from memplan.planner.model.problem import Problem
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.in_place import input_of_output_in_order
from memplan.programs.operations.order_check import peak_of


def problem_of_order(graph: OperationGraph, order: Sequence[int], *, alignment: int = 1) -> Problem:
    """Return the problem of placing a graph's tensors and workspaces if its operations run in a given order.

    Tensor k is the buffer `tensor_k`, and the workspace of operation k is `work_k`. Offsets are multiples of
    `alignment`. The problem omits tensors and workspaces of size zero, resident tensors, and given tensors that are
    neither read nor kept. Step k of the order is time step k. If operations have regions, the operations inside have
    separate time steps, and tensors counted inside are buffers: tensor j of region r of operation k is
    `operation_k/region_r/tensor_j`. An output that overwrites an input is an alias of it. If the output is smaller than
    input j, `tensor_j` has only the shared bytes, and the buffer `rest_j` has the others. Raises OperationsError for an
    invalid order, or an alignment below 1.
    """
    if alignment < 1:
        raise OperationsError(f"alignment: must be at least 1, got {alignment}")
    peak_of(graph, order)
    steps = _Steps(alignment)
    alive = steps.run(graph, order)
    over = input_of_output_in_order(graph, order)
    under = {tensor: output for output, tensor in over.items()}
    # Dictionaries with equal fields become columns in one fast step, so collect the buffers as dictionaries.
    rows: list[dict[str, Any]] = []
    for tensor, spans in alive.items():
        if tensor in over:
            continue
        chain = [tensor]
        while chain[-1] in under:
            chain.append(under[chain[-1]])
        if len(chain) == 1:
            rows.append(_buffer_row(f"tensor_{tensor}", graph.size[tensor], spans, alignment))
        else:
            lives = {each: (alive[each][0][0], alive[each][-1][1]) for each in chain}
            rows += _chain_rows(graph, chain, lives, alignment)
    return Problem(buffers=[*rows, *steps.rows])


Span = tuple[int, int]


@dataclass
class _Steps:
    """The time steps of all operations, also inside regions; `rows` has the buffers inside regions.

    The regions of an operation run one after another in time.
    """

    alignment: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    now: int = 0

    def run(self, graph: OperationGraph, order: Sequence[int], prefix: str = "") -> dict[int, list[Span]]:
        """Assign time steps to operations in an order; return the lifetimes of each tensor with a nonzero size."""
        began, spans = self.now, list[Span]()
        inside: dict[int, dict[int, list[Span]]] = {}
        for operation in order:
            row, start = graph.ops[operation], self.now
            self.now += 1
            if row.regions:
                inside[operation] = self._lay_out_regions(graph, operation, f"{prefix}operation_{operation}/")
            elif row.work:
                self.rows.append(
                    _buffer_row(f"{prefix}work_{operation}", row.work, [(start, self.now)], self.alignment)
                )
            spans.append((start, self.now))
        end = max(began + 1, self.now)
        at = dict(zip(order, spans, strict=True))
        alive: dict[int, list[Span]] = {}
        results = set(graph.kept)
        for tensor, size in enumerate(graph.working_bytes):
            maker, readers = graph.maker[tensor], graph.readers[tensor]
            if size == 0 or (maker is None and not readers and tensor not in results):
                continue
            first = (began, began + 1) if maker is None else at[maker]
            last = max((at[reader] for reader in readers), default=first)
            found = [(first[0], end if tensor in results else last[1])]
            for operation in inside.keys() & {maker, *readers} if inside else ():
                if tensor in inside[operation]:
                    found = _replace_part(found, at[operation], inside[operation][tensor])
            if found:
                alive[tensor] = found
        return alive

    def _lay_out_regions(self, graph: OperationGraph, operation: int, prefix: str) -> dict[int, list[Span]]:
        """Assign time steps to the operations in an operation's regions, one region after another in time.

        Return the lifetimes of the tensors outside of the regions whose bytes the regions count.
        """
        row, start = graph.ops[operation], self.now - 1
        counted: dict[int, list[Span]] = {}
        peaks = [0]
        for r, region in enumerate(row.regions):
            own = f"{prefix}region_{r}/"
            outer = {inner: outside for inner, outside in region.outer if inner not in region.graph.resident}
            counted.update((outside, [(start, start + 1)]) for outside in outer.values() if outside not in counted)
            order = range(len(region.graph.ops))
            for inner, spans in self.run(region.graph, order, own).items():
                if inner in outer:
                    counted[outer[inner]] += spans
                else:
                    self.rows.append(
                        _buffer_row(f"{own}tensor_{inner}", region.graph.size[inner], spans, self.alignment)
                    )
            peaks.append(peak_of(region.graph, order))
        end = self.now
        more = row.work - (max(peaks) - sum(graph.size[outside] for outside in counted))
        if more > 0:
            self.rows.append(_buffer_row(f"{prefix}work", more, [(start, end)], self.alignment))
        for outside in graph.new_tensors[operation]:
            if outside in counted:  # A region creates this tensor, so the tensor is not alive in the first step.
                del counted[outside][0]
        if all(region.kind == "branch" for region in row.regions):
            read = {outside for region in row.regions for _, outside in region.outer}
            counted |= {tensor: [(start, start + 1)] for tensor in {*row.inputs}.difference(read)}
        for tensor in {*counted}.difference(graph.new_tensors[operation]):
            if tensor in graph.permanent_tensors or graph.readers[tensor] != (operation,):
                del counted[tensor]
        return counted


def _chain_rows(
    graph: OperationGraph, chain: list[int], alive: dict[int, tuple[int, int]], alignment: int
) -> Iterator[dict[str, Any]]:
    """Yield the buffer rows of a chain: each tensor overwrites its predecessor, and is at most as large."""
    first, low = f"tensor_{chain[0]}", graph.size[chain[-1]]
    yield _buffer_row(first, low, [alive[chain[0]]], alignment)
    for tensor in chain[1:]:
        start, end = alive[tensor]
        yield {"id": f"tensor_{tensor}", "size": low, "start": start, "end": end, "alias_of": first}
    for tensor, output in pairwise(chain):
        rest = graph.size[tensor] - graph.size[output]
        if rest:
            above = {"to": first, "offset": graph.size[output]}
            start, end = alive[chain[0]][0], alive[tensor][1]
            yield {"id": f"rest_{tensor}", "size": rest, "start": start, "end": end, "relative": above}


def _replace_part(spans: Sequence[Span], part: Span, by: Sequence[Span]) -> list[Span]:
    """Return time spans in which `by` replaces the span `part`; adjacent spans of the result are merged."""
    before = [(start, min(end, part[0])) for start, end in spans if start < part[0]]
    after = [(max(start, part[1]), end) for start, end in spans if end > part[1]]
    found: list[Span] = []
    for start, end in (*before, *by, *after):
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def _buffer_row(name: str, size: int, spans: Sequence[Span], alignment: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": name, "size": size, "start": spans[0][0], "end": spans[0][1], "alignment": alignment}
    if len(spans) > 1:
        del row["start"], row["end"]
        row["lifetimes"] = spans
    return row
