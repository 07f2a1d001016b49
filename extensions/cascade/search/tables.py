"""The tables of a graph that the compiled kernels read, and the graph's barriers with their live bytes."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import accumulate

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph, Read, barrier_of
from memplan.extensions.cascade.answer import Barrier
from memplan.extensions.cascade.core.kernels import (
    BARRIER,
    FOUND_FROM,
    FOUND_KIND,
    FOUND_MACS,
    FOUND_PEAK,
    FOUND_RUNS,
    FOUND_TO,
    KIND_CHANNELS,
    N_WINDOW,
    STRIPED,
    SUM,
    Access,
)
from memplan.extensions.cascade.search.options import LONGEST, CascadeOptions
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows

WARM_UP = 32
"""The maximum number of rows by which a region starts early, to avoid computing all border rows in one step."""
_ROLES = {"striped": STRIPED, "sum": SUM, "barrier": BARRIER}


def round_up(bytes_: int, alignment: int) -> int:
    """Return a number of bytes rounded up to a multiple of the alignment."""
    return -(-bytes_ // alignment) * alignment


def access_tables(graph: AccessGraph, options: CascadeOptions, elsewhere: Collection[int] = ()) -> Access:
    """Return a graph as the tables that kernels read, with sizes and streamed tensors according to the options.

    Whole tensors in `elsewhere` are in the slow memory, so they occupy no bytes.
    """
    operations, tensors, n = graph.operations, graph.tensors, len(graph.operations)
    streamed = streamed_tensors(graph, options)
    whole = np.array([round_up(row.bytes, options.alignment) for row in tensors], np.int64)
    # Tensors in the slow memory do not occupy the fast memory, so count them as 0 bytes (decision 084).
    whole[list(elsewhere)] = 0
    maker = np.array([-1 if made is None else made for made in graph.maker], np.int64)
    last = np.array(last_uses(graph, options), np.int64)
    edges = [(position, read) for position, row in enumerate(operations) for read in row.reads]
    reads = sorted(range(len(edges)), key=lambda edge: edges[edge][1].tensor)
    counts = np.bincount([read.tensor for _, read in edges], minlength=len(tensors)) if edges else [0] * len(tensors)
    change = np.zeros(n + 2, np.int64)
    for tensor in range(len(tensors)):
        if last[tensor] > maker[tensor]:
            change[maker[tensor] + 1] += whole[tensor]
            change[last[tensor] + 1] -= whole[tensor]
    return Access(
        role=_integers(_ROLES[row.role] for row in operations),
        out=_integers(row.outputs[0] if row.outputs else 0 for row in operations),
        macs=_integers(row.macs for row in operations),
        weights=_integers(row.weights for row in operations),
        sums=_integers(round_up(row.sums, options.alignment) for row in operations),
        edge_first=_first_positions(len(row.reads) for row in operations),
        source=_integers(read.tensor for _, read in edges),
        reader=_integers(position for position, _ in edges),
        window=_integer_table([_window_numbers(read, tensors[read.tensor].sizes) for _, read in edges], 2 * N_WINDOW),
        size=_integer_table([row.sizes for row in tensors], 2),
        pixel=_integers(row.pixel for row in tensors),
        whole=whole,
        maker=maker,
        last=last,
        is_streamed=_integers(tensor in streamed for tensor in range(len(tensors))),
        reader_first=_first_positions(counts),
        reading=_integers(reads),
        live=np.cumsum(change)[: n + 1],
        alignment=options.alignment,
    )


def streamed_tensors(graph: AccessGraph, options: CascadeOptions) -> frozenset[int]:
    """Return the inputs and outputs that are transferred in pieces; an output that operations read stays whole."""
    streamed: set[int] = set()
    if options.input == "streamed":
        streamed.update(tensor for tensor in graph.inputs if tensor not in graph.kept)
    if options.output == "streamed":
        streamed.update(t for t in graph.kept if graph.maker[t] is not None and not graph.readers[t])
    return frozenset(streamed)


def last_uses(graph: AccessGraph, options: CascadeOptions) -> list[int]:
    """Return the last operation that uses each tensor; for a streamed output, the operation that writes it."""
    streamed = streamed_tensors(graph, options)
    last = list(graph.last_users)
    for tensor in streamed:
        maker = graph.maker[tensor]
        if maker is not None:
            last[tensor] = maker
    return last


def slow_traffic_of_regions(
    graph: AccessGraph, options: CascadeOptions, elsewhere: Collection[int], found: Rows
) -> I64:
    """Return each region's estimated traffic to the slow memory, in bytes.

    The traffic is that of tensors in `elsewhere`; a tensor's bytes count once per reader. To allow for recomputation,
    the total is scaled by the region's multiplications divided by those of running the same operations layer by layer.
    """
    n, last, apart = len(graph.operations), last_uses(graph, options), set(elsewhere)
    bytes_ = [row.bytes if t in apart else 0 for t, row in enumerate(graph.tensors)]
    moved, macs = np.zeros((n + 1, n + 1), np.int64), np.zeros((n + 1, n + 1), np.int64)
    for end in range(1, n + 1):
        read, written, once = dict[int, int](), 0, 0
        for v in range(end - 1, max(-1, end - 1 - LONGEST), -1):
            row = graph.operations[v]
            once += graph.macs_of(v)
            for one in row.reads:
                read[one.tensor] = read.get(one.tensor, 0) + bytes_[one.tensor]
            for tensor in row.outputs:
                is_whole = last[tensor] >= end or v == end - 1
                if not is_whole:
                    read.pop(tensor, None)
                written += bytes_[tensor] if is_whole else 0
            moved[v, end], macs[v, end] = sum(read.values()) + written, once
    ends = found[:, FOUND_FROM], found[:, FOUND_TO]
    # A region that recomputes reads its inputs more often, so scale the bytes by the added multiplications.
    more = np.maximum(1.0, found[:, FOUND_MACS] / np.maximum(1, macs[ends]))
    steps = np.where(found[:, FOUND_KIND] == KIND_CHANNELS, found[:, FOUND_RUNS] // np.maximum(1, ends[1] - ends[0]), 1)
    estimate: I64 = (moved[ends] * more * steps).astype(np.int64)
    return estimate


def barriers_of(graph: AccessGraph, tables: Access, layers: Rows, least: int | None) -> tuple[Barrier, ...]:
    """Return a graph's barriers (operations run as a whole) by descending live bytes.

    Row v of `layers` is operation v run as a whole. A `sum` whose output is read later counts as a barrier as well,
    because a region can only end with it.
    """
    barriers = []
    for v, row in enumerate(graph.operations):
        whole, behind = int(layers[v, FOUND_PEAK]) - row.work + row.min_work, int(tables.live[v + 1])
        if row.role == "barrier":
            barriers.append(Barrier(graph.origin(v), row.kind, row.reason, whole, whole == least))
        elif row.role == "sum" and v + 1 < len(graph.operations):
            # A sum is complete only after all its rows are read, so its readers cannot run in the same region.
            bytes_ = min(whole, behind + int(tables.sums[v]))
            reason = "is accumulated over all rows, so a region ends with it"
            barriers.append(Barrier(graph.origin(v), row.kind, reason, bytes_, bytes_ == least))
    return tuple(sorted(barriers, key=lambda barrier: (-barrier.bytes, barrier.operation)))


def add_barriers(graph: AccessGraph, names: tuple[str, ...]) -> AccessGraph:
    """Return a graph whose named operations run as a whole; raises OptionError if a name matches no operation."""
    rows = list(graph.operations)
    operation_names = [{str(v), row.name, *(graph.tensors[t].name for t in row.outputs)} for v, row in enumerate(rows)]
    for name in names:
        meant = [v for v in range(len(rows)) if name in operation_names[v]]
        if not meant:
            some = ", ".join([*dict.fromkeys(excerpt(row.name) for row in rows if row.name)][:3])
            raise OptionError(
                f"barriers: must be positions, names or outputs of operations{some and f', such as {some}'}, got "
                f"{excerpt(name)}"
            )
        for v in meant:
            rows[v] = barrier_of(graph, v, "is named in the option barriers")
    return replace(graph, operations=tuple(rows))


def _window_numbers(read: Read, sizes: tuple[int, int]) -> list[int]:
    return [
        number
        for window, size in zip(read.windows, sizes, strict=True)
        for number in (*window, *window.output_range_reading_input(size))
    ]


def _integers(values: Iterable[int]) -> I64:
    return np.array([int(value) for value in values], np.int64)


def _integer_table(rows: Iterable[Iterable[int]], width: int) -> Rows:
    return np.array([list(row) for row in rows], np.int64).reshape(-1, width)


def _first_positions(counts: Iterable[int]) -> I64:
    return _integers(accumulate(map(int, counts), initial=0))
