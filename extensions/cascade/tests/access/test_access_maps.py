"""Access maps compared with the operations themselves: the outputs that change when one input element changes."""

import random
from typing import Any

import numpy as np
import pytest

from memplan.extensions.cascade.access.access_graph import SAME
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.programs.operations.graph import OperationGraph, graph_from
from tests.support import reference_operations
from tests.support.networks import Network

Case = tuple[str, dict[str, Any], list[tuple[int, int, int]], tuple[int, int, int]]


KINDS = (
    *("conv2d", "max_pool2d", "conv2d_transpose", "resize", "depth_to_space", "space_to_depth"),
    *("concat", "pad", "slice", "add", "softmax", "matmul"),
)
RESIZES = (
    *(("nearest", "asymmetric"), ("nearest", "half_pixel"), ("linear", "half_pixel")),
    *(("linear", "align_corners"), ("linear", "asymmetric")),
)


def cases(rng: random.Random) -> Case:
    """Draw a kind of operation with its attributes, its input shapes and its output shape."""
    kind = rng.choice(KINDS)
    rows, columns, channels = rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 2)
    shape = (rows, columns, channels)
    if kind in ("conv2d", "max_pool2d", "conv2d_transpose"):
        kernel, strides, dilations = ([rng.randint(1, high) for _ in "rc"] for high in (4, 3, 2))
        pads = [rng.randint(0, 3) for _ in range(4)]
        reach = [(kernel[axis] - 1) * dilations[axis] + 1 for axis in (0, 1)]
        sizes = [
            (shape[a] - 1) * strides[a] + reach[a] - pads[a] - pads[a + 2]
            if kind == "conv2d_transpose"
            else (shape[a] + pads[a] + pads[a + 2] - reach[a]) // strides[a] + 1
            for a in (0, 1)
        ]
        if min(sizes) < 1:
            return cases(rng)
        attributes = {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads}
        return kind, attributes, [shape], (sizes[0], sizes[1], channels)
    if kind == "resize":
        mode, place = rng.choice(RESIZES)
        sizes = [rng.randint(1, 12), rng.randint(1, 12)]
        return kind, {"mode": mode, "coordinates": place}, [shape], (sizes[0], sizes[1], channels)
    if kind in ("depth_to_space", "space_to_depth"):
        small, large = (rows, columns, channels * 4), (rows * 2, columns * 2, channels)
        pair = (small, large) if kind == "depth_to_space" else (large, small)
        return kind, {"block": 2}, [pair[0]], pair[1]
    if kind == "concat":
        axis = rng.choice([1, 2, 3])
        more = list(shape)
        more[axis - 1] = rng.randint(1, 4)
        out = list(shape)
        out[axis - 1] += more[axis - 1]
        return kind, {"axis": axis}, [shape, (more[0], more[1], more[2])], (out[0], out[1], out[2])
    if kind == "pad":
        pads = [0, rng.randint(0, 2), rng.randint(0, 2), 0, 0, rng.randint(0, 2), rng.randint(0, 2), 0]
        return kind, {"pads": pads}, [shape], (rows + pads[1] + pads[5], columns + pads[2] + pads[6], channels)
    if kind == "slice":
        starts, steps = [rng.randrange(rows), rng.randrange(columns)], [rng.randint(1, 3), rng.randint(1, 3)]
        sizes = [rng.randint(1, -(-(shape[a] - starts[a]) // steps[a])) for a in (0, 1)]
        return kind, {"starts": starts, "axes": [1, 2], "steps": steps}, [shape], (sizes[0], sizes[1], channels)
    if kind == "add":
        other = (rng.choice([1, rows]), rng.choice([1, columns]), rng.choice([1, channels]))
        return kind, {}, [shape, other], shape
    return kind, {"axis": -1} if kind == "softmax" else {}, [shape], shape


def graph_of(kind: str, attributes: dict[str, Any], inputs: list[Any], out: tuple[int, int, int]) -> OperationGraph:
    shapes = [[1, *shape] for shape in (*inputs, out)]
    n = len(inputs)
    op = {"kind": kind, "attributes": attributes, "in": list(range(n)), "out": [n]}
    sizes = [int(np.prod(shape)) for shape in shapes]
    facts = [{"shape": shape, "dtype": "int8"} for shape in shapes]
    return graph_from({"size": sizes, "kept": [n], "tensors": facts, "ops": [op]})


def test_an_output_row_or_column_depends_only_on_the_input_range_of_its_access_map() -> None:
    rng, seen = random.Random(5), set()
    for _ in range(160):
        kind, attributes, shapes, out = cases(rng)
        row = access_graph(graph_of(kind, attributes, list(shapes), out)).operations[0]
        assert row.role == "striped", (kind, row.reason)
        seen.add(kind)
        inputs = [np.zeros(shape) for shape in shapes]
        for k, read in enumerate(row.reads):
            for axis, window in enumerate(read.windows):
                reads: list[set[int]] = [set() for _ in range(out[axis])]
                for place in range(shapes[k][axis]):
                    probes = [one + (kind == "matmul") for one in inputs]
                    before = reference_operations.run(kind, attributes, probes, out)
                    probes[k][place if axis == 0 else slice(None), place if axis == 1 else slice(None)] += 1
                    changed = reference_operations.run(kind, attributes, probes, out) != before
                    for at in np.flatnonzero(changed.any(axis=(1 - axis, 2))).tolist():
                        reads[at].add(place)
                for y, found in enumerate(reads):
                    first, end = window.input_range(y, y + 1, shapes[k][axis])
                    assert found <= set(range(first, end)), (kind, attributes, shapes, axis, y)
                    # Skip the exact comparison for dilated windows, which may begin in the padding between two taps.
                    is_exact = max(attributes.get("dilations", [1])) == 1
                    if found and is_exact and kind not in ("resize", "conv2d_transpose"):
                        assert (first, end) == (min(found), max(found) + 1), (kind, attributes, shapes, axis, y)
    assert len(seen) == 12


def test_an_operation_of_unknown_access_is_a_barrier_with_the_reason() -> None:
    def reason(kind: str, shape: list[int], **attributes: Any) -> str:
        facts = [{"shape": shape, "dtype": "int8"}] * 2
        size = int(np.prod(shape))
        op = {"kind": kind, "in": [0], "out": [1], "attributes": attributes}
        row = access_graph(graph_from({"size": [size, size], "kept": [1], "tensors": facts, "ops": [op]})).operations[0]
        assert row.role == "barrier"
        return row.reason

    assert reason("lstm", [1, 4, 4, 2]) == "lstm cannot be split, so it runs as a whole"
    assert reason("conv2d", [1, 4, 4, 2]) == "kernel must be 2 integers"
    assert reason("conv2d", [1, 4, 4, 2], kernel=[1, 0]) == "kernel, strides and dilations must be at least 1"
    far = {"kernel": [2**62 + 1, 1], "strides": [1, 1], "pads": [2**62, 0, 0, 0]}
    assert reason("conv2d", [1, 4, 4, 2], **far) == "conv2d with strides or pads above 1048576 cannot be split"
    assert reason("relu", [1, 2**21, 1, 1]) == "has more than 1048576 rows or columns"
    assert reason("relu", [1, 4, 4, 2, 2]) == "has tensors that may not be images or sequences"
    assert reason("conv3d", [1, 4, 4, 2], kernel=[1, 1, 1]) == "conv3d cannot be split, so it runs as a whole"
    assert reason("softmax", [1, 4, 4, 2], axis=1).startswith("softmax along rows or columns cannot be split,")


def test_every_operation_of_a_graph_without_shapes_is_a_barrier() -> None:
    graph = access_graph(graph_from({"size": [3, 4], "ops": [{"in": [0], "out": [1]}], "kept": [1]}))
    (row,) = graph.operations
    assert (row.role, row.reason) == ("barrier", "has tensors that may not be images or sequences")
    assert [tensor.bytes for tensor in graph.tensors] == [3, 4]


def test_the_access_graph_counts_multiplications_and_weights_of_convolutions_by_definition() -> None:
    net = Network()
    net.add_dense(net.global_pool(net.depthwise(net.conv(net.input(8, 8, 4), 6, 3, 2, groups=2))), 10)
    graph = access_graph(net.graph())
    assert [graph.macs_of(v) for v in range(4)] == [4 * 4 * 6 * 9 * 2, 4 * 4 * 6 * 9, 0, 60]
    assert [row.weights for row in graph.operations] == [6 * 9 * 2, 6 * 9, 0, 60]


def test_the_option_brick_pads_the_channels_of_each_pixel_to_a_multiple() -> None:
    net = Network()
    net.conv(net.input(4, 4, 3), 17)
    graph = access_graph(net.graph(), brick=16)
    assert [graph.tensors[tensor].pixel for tensor in (graph.inputs[0], graph.kept[0])] == [16, 32]


def test_an_operation_with_more_inputs_than_its_kind_has_is_a_barrier() -> None:
    tensors = [{"shape": [1, 9, 9, 1], "dtype": "int8"}, {"shape": [1, 7, 7, 1], "dtype": "int8"}]
    row = {"in": [0, 0], "out": [1], "kind": "conv2d", "attributes": {"kernel": [3, 3]}}
    graph = access_graph(graph_from({"size": [81, 49], "kept": [1], "tensors": tensors, "ops": [row]}))
    assert graph.operations[0].role == "barrier"
    assert graph.operations[0].reason == "reads 2 tensors besides weights, but access maps are known for 1 only"


PER_PIXEL = [((1, 12, 10), {"axis": 3}), ((1, 12, 10), {"axis": -1}), ((1, 12, 10), {}), ((1, 12, 10, 1), {"axis": 3})]


@pytest.mark.parametrize(("made", "said"), PER_PIXEL)
def test_an_argmax_over_the_channels_of_each_pixel_is_striped(made: tuple[int, ...], said: dict[str, Any]) -> None:
    net = Network()
    net.add_op("argmax", [net.conv(net.input(12, 10, 3), 21, 3)], made, **said)
    chosen = access_graph(net.graph()).operations[1]
    assert (chosen.role, [read.windows for read in chosen.reads]) == ("striped", [(SAME, SAME)])


@pytest.mark.parametrize(("columns", "channels", "said"), [(6, 6, {"axis": 1}), (21, 21, {})])
def test_an_argmax_that_may_be_along_rows_is_a_barrier(columns: int, channels: int, said: dict[str, Any]) -> None:
    net = Network()
    net.add_op("argmax", [net.conv(net.input(6, columns, 3), channels, 3)], (1, 6, columns), **said)
    assert access_graph(net.graph()).operations[1].role == "barrier"
