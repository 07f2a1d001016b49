"""Layers and chains in tiles: against an enumeration of all tiles by a program of its own, and a greedy tiler.

    python -m lab.schedule_tiles layers 2000
    python -m lab.schedule_tiles chains [--target examples/schedules/gap8_like.json]

`layers` draws layers and machines, walks through every tiling of each in plain Python, and compares the least time and
the least traffic with those of the search. `chains` compares the traffic of the layers of MobileNetV1, and of chains
of three, five, nine and all layers, with that of a tiler that halves the largest side of a tile until it fits.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from itertools import product
from math import fsum, inf
from pathlib import Path
from typing import NamedTuple

from memplan import Target
from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.schedule.search.costs import Objective
from memplan.capabilities.schedule.search.network_search import NetworkSearch
from memplan.capabilities.schedule.search.networks import network_of, schedule_network
from tests.support.networks import Network, mobilenet_v1

Tile = tuple[int, int, int, bool]
"""Rows, columns, channels, and whether the channels are outermost."""
_LIMITS = ("latency", "traffic")


class Figures(NamedTuple):
    """The time, the traffic and the bytes of the fast memory of a layer in tiles."""

    latency: float
    traffic: int
    bytes: int


def main() -> None:
    """Print a line for each case that differs, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("layers", "chains"))
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--target", type=Path, default=Path("examples/schedules/gap8_like.json"))
    given = parser.parse_args()
    began = time.process_time()
    if given.what == "layers":
        wrong = 0
        for k, seed in enumerate(range(given.first, given.first + given.count)):
            found = differences(seed)
            wrong += bool(found)
            for sentence in found:
                print(f"seed {seed}: {sentence}", flush=True)
            if (k + 1) % 100 == 0:
                print(f"{k + 1} layers, {wrong} differ, {time.process_time() - began:.0f} s of CPU", flush=True)
        raise SystemExit(1 if wrong else 0)
    above = list(_chains(Target.model_validate(json.loads(given.target.read_text()))))
    print(f"{sum(above)} of {len(above)} above the greedy tiler, {time.process_time() - began:.0f} s of CPU")
    raise SystemExit(1 if any(above) else 0)


def differences(seed: int) -> list[str]:
    """Return what differs between the search and the enumeration of a drawn layer."""
    rng = random.Random(seed)
    graph, target = drawn_layer(rng), drawn_machine(rng)
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
            k = front.best(capacity)
            best = float(front.cost[k]) if k >= 0 else inf
            # Ties are broken by the other cost, with a weight of a part of a billion.
            if best != least and abs(best - least) > 1e-6 * least:
                found.append(f"{objective} in {capacity} bytes: must be {least}, got {best}")
    return found


def drawn_layer(rng: random.Random) -> AccessGraph:
    """Return a graph of one layer: a convolution, a depthwise one, a pool, a sum of two, or a dense layer."""
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
        net.dense(x, rng.randint(1, 12))
    return network_of(net.graph())


def drawn_machine(rng: random.Random) -> Target:
    """Return a small machine."""
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


def walk(graph: AccessGraph, v: int, tile: Tile, fast: frozenset[int], target: Target) -> Figures:
    """Return the figures of a layer in tiles, gone through tile by tile."""
    row, tensors, link, engine = graph.operations[v], graph.tensors, target.link, target.engine
    out = tensors[row.outputs[0]]
    of = max(1, out.channels)
    cut = [_cut(*each) for each in zip((out.rows, out.columns, of), tile[:3], strict=True)]
    reads = [read for read in row.reads if read.tensor not in fast]
    # A tensor of which each tile reads the same rows, or the same columns, is not loaded anew along them.
    alike = {
        (k, axis): len({read.windows[axis].source(*span, tensors[read.tensor].sizes[axis]) for span in cut[axis]}) == 1
        for k, read in enumerate(reads)
        for axis in (0, 1)
    }
    there: dict[object, object] = {}
    filled: dict[object, list[int]] = {}
    times, traffic = list[float](), 0
    for y, x, z in _in_order([len(spans) for spans in cut], channels_outside=tile[3]):
        rows, columns, channels = cut[0][y], cut[1][x], cut[2][z]
        share = channels[1] - channels[0]
        needs: list[tuple[object, object, int]] = [("constants", z, -(-row.weights * share // of))]
        for k, read in enumerate(reads):
            source = tensors[read.tensor]
            a, b = read.rows.source(*rows, source.rows)
            c, d = read.columns.source(*columns, source.columns)
            is_same = read.channels == "same"
            pixel = -(-source.pixel * share // of) if is_same else source.pixel
            piece = 0 if alike[k, 0] else y, 0 if alike[k, 1] else x, z if is_same else 0
            needs.append((k, piece, (b - a) * (d - c) * pixel))
        moved = 0
        for name, key, bytes_ in needs:
            if bytes_ and there.get(name) != key:
                there[name] = key
                moved += bytes_
                filled.setdefault(name, []).append(bytes_)
        if row.outputs[0] not in fast:
            bytes_ = (rows[1] - rows[0]) * (columns[1] - columns[0]) * -(-out.pixel * share // of)
            moved += bytes_
            filled.setdefault("output", []).append(bytes_)
        high = -(-(rows[1] - rows[0]) // engine.height) * engine.height
        wide = -(-(columns[1] - columns[0]) // engine.width) * engine.width
        work = row.macs * high * wide * share / of / (engine.rate or 1.0)
        times.append(max(work, link.latency + -(-moved // link.burst) * link.burst / link.bandwidth if moved else 0.0))
        traffic += moved
    bytes_ = 0
    for sizes in filled.values():
        each = -(-max(sizes) // target.alignment) * target.alignment
        bytes_ += each * (engine.copies if len(sizes) > 1 else 1)
    return Figures(fsum(times), traffic, bytes_)


def greedy(graph: AccessGraph, v: int, target: Target) -> Figures:
    """Return the figures of a layer whose tile begins as all of it and loses half of its largest side until it fits.

    The better one of both orders is taken.
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


def _chains(target: Target) -> Iterator[bool]:
    """Print the traffic of chains of MobileNetV1 beside that of the greedy tiler; yield whether it is above."""
    whole = mobilenet_v1()
    graph = network_of(whole)
    layers = [v for v, row in enumerate(graph.operations) if row.role == "striped"]
    print(f"{'layers':>10}{'traffic':>14}{'greedy':>14}{'of greedy':>10}{'time':>16}{'greedy':>16}")
    one_by_one = {v: greedy(graph, v, target) for v in layers}
    for length in (1, 3, 5, 9, len(layers) - 1):
        for first in range(0, len(layers) - length, length):
            chain = layers[first : first + length]
            if chain[-1] - chain[0] != length - 1:
                continue
            part = whole.model_copy(
                update={"ops": whole.ops[chain[0] : chain[-1] + 1], "kept": whole.ops[chain[-1]].outputs}
            )
            least, quick = (schedule_network(part, target, objective).best for objective in ("traffic", "latency"))
            sums = sum(one_by_one[v].traffic for v in chain), fsum(one_by_one[v].latency for v in chain)
            figures = f"{least.traffic:>14,}{sums[0]:>14,}{least.traffic / sums[0]:>10.3f}"
            print(f"{f'{chain[0]}-{chain[-1]}':>10}{figures}{quick.latency:>16,.1f}{sums[1]:>16,.1f}", flush=True)
            yield least.traffic > sums[0] or quick.latency > sums[1] * (1 + 1e-9)


def _cut(length: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, length)) for a in range(0, length, size)]


def _in_order(counts: list[int], *, channels_outside: bool) -> Iterator[tuple[int, int, int]]:
    rows, columns, channels = map(range, counts)
    if channels_outside:
        yield from ((y, x, z) for z in channels for y in rows for x in columns)
    else:
        yield from product(rows, columns, channels)


if __name__ == "__main__":
    main()
