"""Random small networks with every kind of access map, random cascades of them, and offsets of their buffers."""

import random
from dataclasses import replace

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph, repeat_operations
from memplan.extensions.cascade.access.from_graph import access_graph, split_apart
from memplan.extensions.cascade.regions.regions import (
    Cascade,
    accumulator_bytes,
    region_buffer_name,
    sums_name,
    whole_name,
)
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.tables import streamed_tensors
from memplan.solvers.core.tables import Rows
from tests.support.cascade_twin import region_of
from tests.support.networks import Network, Pads, add_inverted_block
from tests.support.newer_networks import add_excitation, add_shuffle, halves


def random_network(rng: random.Random, most: int = 7) -> AccessGraph:
    """Return a random network of two to about `most` operations; tensors that nothing reads are its outputs."""
    net = Network()
    live = [net.input(rng.randint(5, 17), rng.randint(5, 17), rng.randint(1, 3))]
    for _ in range(rng.randint(2, most)):
        x = live[-1] if rng.random() < 0.8 else rng.choice(live)
        made = _random_operation(net, rng, x, [t for t in live if t != x])
        if made is not None:
            live.append(made)
    if rng.random() < 0.3 and len(net.ops) > 0:
        net.add_dense(net.global_pool(len(net.shapes) - 1), 3)
    return access_graph(net.graph())


def random_blocks(rng: random.Random) -> AccessGraph:
    """Return two random inverted residual blocks on a small image, and dense layers, which are cut along channels."""
    net = Network()
    x = net.input(rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 3))
    for _ in range(2):
        x = add_inverted_block(net, x, rng.randint(1, 4), rng.randint(2, 5), rng.choice([1, 2]))
    net.add_dense(net.add_dense(net.global_pool(x), 9), 4)
    return access_graph(net.graph())


def random_units(rng: random.Random) -> AccessGraph:
    """Return random units of newer networks: halves of channels joined and shuffled, squeeze-and-excite, heads."""
    net = Network()
    x = net.conv(net.input(rng.randint(5, 12), rng.randint(5, 12), rng.randint(1, 3)), 4, 3, rng.choice([1, 2]))
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        if kind < 0.4:
            left, right = halves(net, x)
            x = add_shuffle(net, net.concat(left, net.depthwise(net.conv(right, net.shapes[right][3], 1))))
        elif kind < 0.8:
            y = net.depthwise(net.conv(x, rng.choice([8, 12]), 1), 3, 1)
            x = net.add(x, net.conv(add_excitation(net, y, 2, "", "sigmoid"), net.shapes[x][3], 1))
        else:
            net.conv(x, rng.randint(1, 3), 3)
            x = net.pool(x)
    net.conv(x, 2, 1)
    return access_graph(split_apart(net.graph()))


def random_six(rng: random.Random) -> AccessGraph:
    """Return a random graph of up to six operations: splits, shuffles, heads, sums over rows, and recomputation."""
    while True:
        net = Network()
        x = net.input(rng.randint(3, 8), rng.randint(2, 4), 2)
        live = [x]
        for _ in range(rng.randint(1, 5)):
            kind, x = rng.random(), rng.choice(live[-2:])
            channels = net.shapes[x][3]
            alike = [t for t in live if t != x and net.shapes[t] == net.shapes[x]]
            if kind < 0.15 and channels % 2 == 0:
                live += halves(net, x)
            elif kind < 0.25 and channels % 2 == 0:
                live.append(add_shuffle(net, x))
            elif kind < 0.45 and alike:
                live.append(rng.choice([net.add, net.concat])(x, rng.choice(alike)))
            elif kind < 0.55:
                live.append(net.mul(x, net.global_pool(x)))
            elif kind < 0.65:
                net.conv(x, 1, rng.choice([1, 3]))
            else:
                live.append(net.conv(x, rng.choice([2, 4, 6]), rng.choice([1, 2, 3, 5]), rng.choice([1, 1, 2])))
        graph = access_graph(split_apart(net.graph()))
        late = [v for row in graph.readers if len(row) > 1 for v in row[1:]]
        if late and rng.random() < 0.5:
            at = rng.choice(late)
            read = {one.tensor for one in graph.operations[at].reads}
            makers = {v for t in read if (v := graph.maker[t]) is not None and graph.operations[v].role == "striped"}
            graph = repeat_operations(graph, {at: [rng.choice(sorted(makers))]}) if makers else graph
        if 2 <= len(graph.operations) <= 6:
            return graph


def _random_operation(net: Network, rng: random.Random, x: int, others: list[int]) -> int | None:
    _, rows, columns, channels = net.shapes[x]
    kernel = (rng.choice([1, 1, 2, 3, 3, 5]), rng.choice([1, 2, 3, 3]))
    strides = (rng.choice([1, 1, 1, 2, 3]), rng.choice([1, 1, 2]))
    dilations = (rng.choice([1, 1, 2]), rng.choice([1, 2]))
    drawn = ((rng.randint(0, 2), rng.randint(0, 2)), (rng.randint(0, 2), rng.randint(0, 2)))
    pad: Pads = "same" if rng.random() < 0.5 else drawn
    twins = [t for t in others if net.shapes[t][1:3] == (rows, columns)]
    alike = next((t for t in twins if net.shapes[t][3] == channels), None)
    is_small, kind = rows * columns < 200, rng.random()
    room = [size + drawn[0][axis] + drawn[1][axis] for axis, size in enumerate((rows, columns))]
    fits = pad == "same" or all(room[axis] > (kernel[axis] - 1) * dilations[axis] for axis in (0, 1))
    if kind < 0.55 and not fits:
        return None
    if kind < 0.35:
        return net.conv(x, rng.randint(1, 4), kernel, strides, d=dilations, pad=pad)
    if kind < 0.47:
        return net.depthwise(x, kernel, strides, d=dilations, pad=pad)
    if kind < 0.55:
        return net.pool(x, kernel, strides, d=dilations, pad=pad)
    if kind < 0.62 and is_small:
        mode, place = rng.choice([("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners")])
        return net.resize(x, 2, mode, place)
    if kind < 0.67 and is_small:
        return net.shuffle(net.conv(x, 4, 1), 2)
    if kind < 0.72 and rows * columns < 100:
        return net.deconv(x, 2, *rng.choice([(3, 2, 1), (2, 2, 0), (5, 2, 2)]))
    if kind < 0.76:
        top, left = rng.randint(0, 2), rng.randint(0, 2)
        return net.add_op("pad", [x], (1, rows + top + 1, columns + left, channels), pads=(0, top, left, 0, 0, 1, 0, 0))
    if kind < 0.80 and min(rows, columns) > 4:
        shape = (1, (rows - 1 + 1) // 2, columns - 2, channels)
        return net.add_op("slice", [x], shape, starts=(1, 2), axes=(1, 2), steps=(2, 1))
    if kind < 0.84:
        return net.add_op("mul", [x, net.conv(x, channels, (rows, columns), pad="valid")], net.shapes[x])
    if kind < 0.90 and twins:
        return net.concat(x, rng.choice(twins))
    return net.add(x, alike if alike is not None else net.conv(x, channels, 3))


def random_cascade(graph: AccessGraph, options: CascadeOptions, found: Rows, rng: random.Random) -> Cascade:
    at, regions = 0, []
    while at < len(graph.operations):
        starting = found[found[:, 0] == at]
        ends = sorted(set(starting[:, 1].tolist()))
        chosen = starting[starting[:, 1] == rng.choice(ends[-3:] if rng.random() < 0.7 else ends)]
        regions.append(region_of(graph, options, chosen[rng.randrange(len(chosen))].tolist()))
        at = regions[-1].end
    return Cascade(graph, tuple(regions), streamed_tensors(graph, options))


def side_by_side(cascade: Cascade) -> tuple[dict[str, int], int]:
    """Return disjoint offsets for all buffers of a cascade, and the total bytes."""
    graph, sizes = cascade.graph, {}
    for number, region in enumerate(cascade.regions):
        for tensor, hold in region.buffer_by_tensor.items():
            if hold.mode != "whole":
                sizes[region_buffer_name(number, tensor)] = hold.bytes
        sizes[sums_name(number, graph.operations[region.end - 1].outputs[0])] = accumulator_bytes(graph, region)
    sizes |= {whole_name(t): row.bytes for t, row in enumerate(graph.tensors)}
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: end - size for (name, size), end in zip(sizes.items(), ends, strict=True)}, ends[-1]


def shrunk(cascade: Cascade, number: int, tensor: int) -> Cascade | None:
    """Return the cascade with one row (or else one column) fewer in a buffer; None if the buffer has one pixel."""
    region = cascade.regions[number]
    hold = region.buffer_by_tensor[tensor]
    if hold.rows > 1:
        capacity = hold.rows - 1, hold.columns, hold.pixel
    elif hold.columns > 1 and region.kind in ("tiles", "panels", "channels"):
        capacity = hold.rows, hold.columns - 1, hold.pixel
    else:
        return None
    held = {**region.buffer_by_tensor, tensor: hold.model_copy(update={"capacity": capacity})}
    changed = region.remake(region.ranges, held.values())
    return replace(cascade, regions=(*cascade.regions[:number], changed, *cascade.regions[number + 1 :]))
