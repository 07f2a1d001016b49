"""Compare the tiling search with an enumeration of all tile sizes: `python -m lab.schedule_tiles 2000 [SEED]`.

Layers and machines are random. Plain Python evaluates every tiling of a layer. The least latency and the least traffic
must equal the results of the search. `greedy_figures` evaluates a simple tiling for comparison: it halves the largest
side of the tile until the tile fits.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import fsum, inf
from typing import NamedTuple

from lab.support.cases import run_cases
from memplan import Target
from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.schedule.answer import Objective
from memplan.extensions.schedule.search.network_search import NetworkSearch
from memplan.extensions.schedule.search.networks import network_of
from tests.support.networks import Network

Tile = tuple[int, int, int, bool]
"""(rows, columns, channels of a tile, True if the loop over channels is the outermost one)."""
_LIMITS = ("latency", "traffic")


class Figures(NamedTuple):
    """The latency and traffic of a tiled layer, and the bytes that it needs in the fast and in the second memory."""

    latency: float
    traffic: int
    bytes: int
    second: int = 0


def faults(seed: int, _: Counter[str]) -> list[str]:
    return differences(seed)


def differences(seed: int) -> list[str]:
    """Return a line for each difference between the search and the enumeration for the random layer of a seed."""
    rng = random.Random(seed)
    graph, target = draw_layer(rng), draw_machine(rng)
    fast = frozenset(t for t in range(len(graph.tensors)) if t not in graph.kept and rng.random() < 0.1)
    found = []
    row = graph.operations[0]
    sizes = graph.tensors[row.outputs[0]]
    all_tiles = product(
        range(1, sizes.rows + 1), range(1, sizes.columns + 1), range(1, sizes.channels + 1), (False, True)
    )
    walked = [walk(graph, 0, tile, fast, target) for tile in all_tiles]
    for objective in _LIMITS:
        goal: Objective = "latency" if objective == "latency" else "traffic"
        front = NetworkSearch(graph, target, goal)._front_of(0, fast)
        for capacity in (target.capacity, target.capacity // 4):
            least = min((getattr(one, objective) for one in walked if one.bytes <= capacity), default=inf)
            k = front.best_tiling(capacity)
            best = float(front.cost[k]) if k >= 0 else inf
            # The search breaks ties by adding the other cost with a weight of 1e-9, so accept tiny differences.
            if best != least and abs(best - least) > 1e-6 * least:
                found.append(f"{objective} in {capacity} bytes: must be {least}, got {best}")
    return found


def draw_layer(rng: random.Random) -> AccessGraph:
    """Return a random graph of one layer: convolution (also depthwise), pool, sum of two tensors or dense layer."""
    most = 14 if rng.random() < 0.1 else 8
    net = Network()
    x = net.input(rng.randint(1, most), rng.randint(1, most), rng.randint(1, 6))
    kind, kernel, stride = rng.choice(("conv", "conv", "depthwise", "pool", "add", "dense")), 1, 1
    if kind in ("conv", "depthwise", "pool"):
        kernel, stride = rng.randint(1, 4), rng.randint(1, 3)
    if kind == "conv":
        net.conv(x, rng.randint(1, 8), kernel, stride, d=rng.choice((1, 1, 2)))
    elif kind == "depthwise":
        net.depthwise(x, kernel, stride)
    elif kind == "pool":
        net.pool(x, kernel, stride, pad="same")
    elif kind == "add":
        net.add(x, net.input(*net.shapes[x][1:]))
    else:
        net.add_dense(x, rng.randint(1, 12))
    return network_of(net.graph())


def draw_machine(rng: random.Random) -> Target:
    """Return a random target machine with a small fast memory."""
    fields = {
        "memories": [
            {"name": "L1", "capacity": rng.choice((60, 200, 500, 1500)), "alignment": rng.choice((1, 4, 16))},
            {"name": "L2"},
        ],
        "links": [
            {"bandwidth": rng.choice((0.5, 2, 8)), "latency": rng.choice((0, 3, 50)), "burst": rng.choice((1, 16, 24))}
        ],
        "engine": {
            "native": [rng.choice((1, 2, 4)), rng.choice((1, 2))],
            "copies": rng.choice((1, 2)),
            "rate": rng.choice((1, 8, 64)),
        },
    }
    return Target.model_validate(fields)


def walk(
    graph: AccessGraph, v: int, tile: Tile, fast: frozenset[int], target: Target, far: frozenset[int] = frozenset()
) -> Figures:
    """Return the latency, traffic and bytes of layer `v`, found by simulating each tile.

    Tensors in `fast` stay in the fast memory, and tensors in `far` are read from the second memory.
    """
    row, tensors, engine = graph.operations[v], graph.tensors, target.engine
    out = tensors[row.outputs[0]]
    of = max(1, out.channels)
    cut = [_tile_spans(*each) for each in zip((out.rows, out.columns, of), tile[:3], strict=True)]
    reads = [read for read in row.reads if read.tensor not in fast]
    # If all tiles read the same range of an axis, the tensor is loaded only once along this axis.
    alike = {
        (k, axis): len({read.windows[axis].input_range(*span, tensors[read.tensor].sizes[axis]) for span in cut[axis]})
        == 1
        for k, read in enumerate(reads)
        for axis in (0, 1)
    }
    there: dict[int, object] = {}
    filled: dict[int, list[int]] = {}
    times, traffic = list[float](), 0
    for y, x, z in _loop_order([len(spans) for spans in cut], channels_outside=tile[3]):
        rows, columns, channels = cut[0][y], cut[1][x], cut[2][z]
        share = channels[1] - channels[0]
        needs: list[tuple[int, object, int]] = [(-1 - v, z, -(-row.weights * share // of))]
        for k, read in enumerate(reads):
            source = tensors[read.tensor]
            a, b = read.rows.input_range(*rows, source.rows)
            c, d = read.columns.input_range(*columns, source.columns)
            is_same = read.channels == "same"
            pixel = -(-source.pixel * share // of) if is_same else source.pixel
            piece = 0 if alike[k, 0] else y, 0 if alike[k, 1] else x, z if is_same else 0
            needs.append((read.tensor, piece, (b - a) * (d - c) * pixel))
        moved = beyond = 0
        for name, key, bytes_ in needs:
            if bytes_ and there.get(name) != key:
                there[name] = key
                moved += bytes_
                beyond += bytes_ * (name in far)
                filled.setdefault(name, []).append(bytes_)
        if row.outputs[0] not in fast:
            bytes_ = (rows[1] - rows[0]) * (columns[1] - columns[0]) * -(-out.pixel * share // of)
            moved += bytes_
            beyond += bytes_ * (row.outputs[0] in far)
            filled.setdefault(row.outputs[0], []).append(bytes_)
        high = -(-(rows[1] - rows[0]) // engine.height) * engine.height
        wide = -(-(columns[1] - columns[0]) // engine.width) * engine.width
        work = row.macs * high * wide * share / of / engine.rate_of(row.kind)
        over = zip(target.links, (moved, beyond), strict=False)
        times.append(
            max(work, *(link.latency + -(-n // link.burst) * link.burst / link.bandwidth for link, n in over if n))
        )
        traffic += moved + beyond
    bytes_ = second = 0
    for name, sizes in filled.items():
        copies = engine.copies if len(sizes) > 1 else 1
        bytes_ += copies * target.round_size(max(sizes))
        if target.has_three:
            whole = row.weights if name < 0 else tensors[name].bytes
            second += copies * target.round_size(max(sizes), 1) if name in far else target.round_size(whole, 1)
    return Figures(fsum(times), traffic, bytes_, second)


def greedy_figures(graph: AccessGraph, v: int, target: Target) -> Figures:
    """Return the figures of a greedy tiling: the largest side of the tile is halved until a tile fits.

    If both loop orders fit, the order with less traffic is used.
    """
    out = graph.tensors[graph.operations[v].outputs[0]]
    sides = [out.rows, out.columns, max(1, out.channels)]
    while True:
        both = [walk(graph, v, (sides[0], sides[1], sides[2], order), frozenset(), target) for order in (False, True)]
        fitting = [one for one in both if one.bytes <= target.capacity]
        if fitting or max(sides) == 1:
            return min(fitting or both, key=lambda one: (one.traffic, one.latency))
        largest = sides.index(max(sides))
        sides[largest] = -(-sides[largest] // 2)


def _tile_spans(length: int, size: int) -> list[tuple[int, int]]:
    """Return the (start, end) ranges of tiles of `size` that cover an axis of `length`."""
    return [(a, min(a + size, length)) for a in range(0, length, size)]


def _loop_order(counts: list[int], *, channels_outside: bool) -> Iterator[tuple[int, int, int]]:
    """Yield (row, column, channel) of each tile in loop order; the channels may be the outermost loop."""
    rows, columns, channels = map(range, counts)
    if channels_outside:
        yield from ((y, x, z) for z in channels for y in rows for x in columns)
    else:
        yield from product(rows, columns, channels)


if __name__ == "__main__":
    sys.exit(run_cases("schedule_tiles", faults, count=2000))
