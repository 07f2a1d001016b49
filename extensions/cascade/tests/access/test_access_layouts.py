"""Access maps of batches, of sequences, and of channels at any axis; reordering channels alone moves no pixel."""

from math import prod
from typing import Any

import pytest

from memplan.extensions.cascade.access.access_graph import SAME, AccessGraph, Window, sliding_window
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.access.layouts import reshaped_layout
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.programs.operations.graph import OperationGraph, graph_from
from tests.support.newer_networks import convnext_tiny, vit


def graph_of(shapes: list[list[int]], *ops: dict[str, Any]) -> AccessGraph:
    """Return the graph of a chain of operations, one from each shape to the next."""
    rows = [{"in": [k], "out": [k + 1], **op} for k, op in enumerate(ops)]
    facts = [{"shape": shape, "dtype": "int8"} for shape in shapes]
    sizes = [prod(shape) for shape in shapes]
    return access_graph(graph_from({"size": sizes, "kept": [len(ops)], "tensors": facts, "ops": rows}))


def test_access_maps_of_a_batch_read_the_same_rows_as_those_of_one_image() -> None:
    conv = {"kind": "conv2d", "attributes": {"kernel": [3, 3], "pads": [1, 1, 1, 1], "layout": "NHWC"}}
    one, four = (graph_of([[n, 8, 6, 2], [n, 8, 6, 5]], conv) for n in (1, 4))
    assert [row.sizes for row in four.tensors] == [row.sizes for row in one.tensors] == [(8, 6)] * 2
    assert [row.pixel for row in four.tensors] == [8, 20]
    assert (four.macs, four.operations[0].reads) == (4 * one.macs, one.operations[0].reads)
    assert (one.layout, four.layout) == ("NHWC", "batches")
    across = graph_of([[4, 8, 6, 2], [1, 8, 6, 2]], {"kind": "relu"})
    assert across.operations[0].reason == "relu across the images of a batch cannot be split, so it runs as a whole"


def test_sequences_in_both_layouts_get_access_maps_of_images_with_one_column() -> None:
    attributes = {"kernel": [3], "strides": [2], "dilations": [1], "pads": [1, 0]}
    last = {"kind": "conv1d", "attributes": {**attributes, "layout": "NHWC"}}
    first = {"kind": "conv1d", "attributes": {**attributes, "layout": "NCHW"}}
    by_layout = [
        graph_of([[1, 16, 4], [1, 8, 6], [1, 8, 6]], last, {"kind": "relu"}),
        graph_of([[1, 4, 16], [1, 6, 8], [1, 6, 8]], first, {"kind": "relu"}),
    ]
    for graph in by_layout:
        assert [row.role for row in graph.operations] == ["striped", "striped"]
        assert [(row.rows, row.columns, row.pixel) for row in graph.tensors] == [(16, 1, 4), (8, 1, 6), (8, 1, 6)]
        assert (graph.operations[0].reads[0].rows, graph.macs) == (sliding_window(3, 2, 1, 1), 8 * 6 * 3 * 4)
    assert [graph.layout for graph in by_layout] == ["NHWC", "NCHW"]


def test_a_transposition_between_nhwc_and_nchw_is_striped_and_keeps_pixels_in_place() -> None:
    conv = {"kind": "conv2d", "attributes": {"kernel": [1, 1], "layout": "NCHW"}}
    into = {"kind": "transpose", "attributes": {"perm": [0, 3, 1, 2]}}
    back = {"kind": "transpose", "attributes": {"perm": [0, 2, 3, 1]}}
    graph = graph_of([[1, 8, 6, 3], [1, 3, 8, 6], [1, 5, 8, 6], [1, 8, 6, 5]], into, conv, back)
    assert [row.role for row in graph.operations] == ["striped"] * 3
    assert [(row.rows, row.columns, row.pixel) for row in graph.tensors] == [(8, 6, 3), (8, 6, 3), (8, 6, 5), (8, 6, 5)]
    assert (graph.operations[0].reads[0].windows, graph.layout) == ((SAME, SAME), "several layouts")
    across = {"kind": "transpose", "attributes": {"perm": [0, 1, 3, 2]}}
    turned = graph_of([[1, 3, 8, 6], [1, 3, 8, 6], [1, 3, 6, 8], [1, 3, 6, 8]], conv, across, conv)
    assert turned.operations[1].reason == "transpose of rows, columns or batches cannot be split, so it runs as a whole"


def test_pixel_preserving_reshapes_and_constant_look_ups_are_striped() -> None:
    pool = {"kind": "global_average_pool", "attributes": {"layout": "NCHW"}}
    flat = graph_of([[1, 5, 8, 6], [1, 5, 1, 1], [1, 5]], pool, {"kind": "reshape"})
    assert [row.role for row in flat.operations] == ["sum", "striped"]
    mixed = graph_of([[1, 8, 6, 2], [1, 6, 8, 2]], {"kind": "reshape"})
    assert mixed.operations[0].reason == "reshape to other rows and columns cannot be split, so it runs as a whole"
    looked_up = graph_of([[1, 16], [1, 16, 4]], {"kind": "gather"})
    assert [row.role for row in looked_up.operations] == ["striped"]
    assert looked_up.operations[0].reads[0].rows.input_range(3, 4, 1) == (0, 1)


def test_a_channel_shuffle_is_striped_in_both_layouts() -> None:
    last = [[1, 8, 6, 4], [1, 8, 6, 2, 2], [1, 8, 6, 2, 2], [1, 8, 6, 4]]
    first = [[1, 4, 8, 6], [1, 2, 2, 8, 6], [1, 2, 2, 8, 6], [1, 4, 8, 6]]
    relu, view = {"kind": "relu"}, {"kind": "reshape"}
    for shapes, perm, layout in ((last, [0, 1, 2, 4, 3], "NHWC"), (first, [0, 2, 1, 3, 4], "NCHW")):
        conv = {"kind": "conv2d", "attributes": {"kernel": [1, 1], "layout": layout}}
        turned = {"kind": "transpose", "attributes": {"perm": perm}}
        graph = graph_of([shapes[0], *shapes, shapes[0]], conv, view, turned, view, relu)
        assert [row.reason for row in graph.operations] == [""] * 5
        assert {(row.rows, row.columns, row.pixel) for row in graph.tensors} == {(8, 6, 4)}


def test_attention_products_are_striped_by_rows_of_queries() -> None:
    graph = access_graph(vit(layers=1))
    products = [row for row in graph.operations if row.kind == "matmul"]
    assert [row.role for row in products] == ["striped"] * 2
    assert [read.rows == SAME for row in products for read in row.reads] == [True, False] * 2
    # For any number of heads, 144 queries and 144 keys have 128 numbers each, which gives this count.
    assert graph.macs_of(graph.operations.index(products[0])) == 144 * 144 * 128
    assert sum(row.role == "barrier" for row in graph.operations) == 1


def test_layer_norms_and_matrix_products_between_transpositions_are_not_barriers() -> None:
    assert [row.reason for row in access_graph(convnext_tiny(64, (1, 1))).operations if row.role == "barrier"] == []


def test_a_reshaped_layout_is_unknown_if_rows_or_columns_are_split_or_merged() -> None:
    assert reshaped_layout("NHC", (1, 144, 12), (1, 144, 3, 4)) == "NHCC"
    assert reshaped_layout("NCHW", (1, 4, 8, 6), (1, 2, 2, 8, 6)) == "NCCHW"
    assert reshaped_layout("NHWC", (1, 8, 1, 5), (1, 8, 5)) == "NHC"
    assert reshaped_layout("NHC", (1, 8, 5), (1, 8, 1, 5)) == "NHWC"
    assert reshaped_layout("HC", (1, 5), (1, 5, 1, 1)) == "NCHW"
    assert reshaped_layout("NHWC", (1, 12, 12, 4), (1, 144, 4)) is None
    assert reshaped_layout("NHWC", (1, 8, 6, 2), (1, 6, 8, 2)) is None
    assert reshaped_layout("NCHC", (1, 3, 8, 2), (1, 8, 6)) is None


def test_an_operation_whose_attributes_contradict_its_shapes_is_a_barrier_with_the_reason() -> None:
    def reason(kind: str, into: list[int], out: list[int], **attributes: object) -> str:
        return graph_of([into, out], {"kind": kind, "attributes": attributes}).operations[0].reason

    image = [1, 8, 8, 4]
    said = "kernel, strides, dilations and pads give 4 rows, its output shape has 8"
    assert reason("conv2d", image, image, kernel=[1, 1], strides=[2, 2]) == said
    assert "rows, its output shape has 8" in reason("max_pool2d", image, image, kernel=[3, 3], dilations=[3, 3])
    assert "rows, its output shape has 8" in reason("conv2d", image, image, kernel=[10**9, 1])
    assert "rows, its output shape has 8" in reason("conv2d", image, image, kernel=[1, 1], pads=[-5, 0, 0, 0])
    assert "rows, its output shape has 8" in reason("conv2d_transpose", image, image, kernel=[2, 2], strides=[2, 2])
    assert reason("max_pool2d", image, [1, 8, 8, 5], kernel=[1, 1]) == "computes 5 channels from 4 input channels"
    assert reason("depth_to_space", image, [1, 16, 16, 2], block=2) == "has a block size that does not match its shapes"
    assert reason("pad", image, image, pads=[0, 1, 0, 0] * 2) == "has pads that do not match its shapes"
    assert reason("concat", image, [1, 8, 8, 5], axis=3) == "joins inputs whose sizes do not add up to its output shape"
    beyond = "a slice beyond the last of its rows cannot be split, so it runs as a whole"
    assert reason("slice", image, image, starts=[1], axes=[1]) == beyond
    # A size that is rounded up is accepted: the last window then reaches beyond the border.
    assert reason("max_pool2d", image, [1, 4, 4, 4], kernel=[3, 3], strides=[2, 2]) == ""


@pytest.mark.parametrize("mask", [[1, 1, 1, 16], [1, 1, 16, 16], [2, 1, 1, 16], [1, 16], [1, 4, 16, 16], [16, 16]])
@pytest.mark.parametrize("is_early", [False, True])
def test_an_additive_attention_mask_of_any_broadcast_shape_causes_no_barrier(mask: list[int], is_early: bool) -> None:
    batch = 2 if mask[0] == 2 else 1
    flat, heads, turned = [batch, 16, 32], [batch, 4, 16, 8], [batch, 4, 8, 16]
    scores = [batch, 4, 16, 16]
    # Build two layers of attention that share a mask: q, k, v of each, in heads, then scores.
    shapes, ops = [flat, mask, mask], list[dict[str, object]]()
    if is_early:
        ops.append({"in": [1], "out": [2], "kind": "relu"})
    seen = 2 if is_early else 1

    def add(shape: list[int], kind: str, *reads: int, **attributes: object) -> int:
        shapes.append(shape)
        ops.append({"in": list(reads), "out": [len(shapes) - 1], "kind": kind, "attributes": attributes})
        return len(shapes) - 1

    x = 0
    for _ in range(2):
        parts = [add([batch, 16, 4, 8], "reshape", add(flat, "relu", x)) for _ in "qkv"]
        turns = [0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]
        q, k, v = (
            add(turned if perm[3] == 1 else heads, "transpose", part, perm=perm)
            for part, perm in zip(parts, turns, strict=True)
        )
        masked = add(scores, "add", add(scores, "matmul", q, k), seen)
        context = add(heads, "matmul", add(scores, "softmax", masked, axis=-1), v)
        x = add(flat, "reshape", add([batch, 16, 4, 8], "transpose", context, perm=[0, 2, 1, 3]))
        x = add(flat, "layer_norm", x, axis=-1)
    facts = [{"shape": shape, "dtype": "int8"} for shape in shapes]
    graph = {"size": list(map(prod, shapes)), "kept": [x], "tensors": facts, "ops": ops}
    assert {row.kind: row.reason for row in access_graph(graph_from(graph)).operations if row.role == "barrier"} == {}


def chain(*rows: dict[str, Any]) -> OperationGraph:
    """Return a graph of operations on images of 32 x 32 x 8, one after the other."""
    tensors = [{"shape": [1, 32, 32, 8], "dtype": "int8"} for _ in range(len(rows) + 1)]
    ops = [{"in": [k], "out": [k + 1], **row} for k, row in enumerate(rows)]
    return graph_from({"size": [8192] * len(tensors), "kept": [len(rows)], "tensors": tensors, "ops": ops})


def operation_row(kind: str, **attributes: Any) -> dict[str, Any]:
    return {"kind": kind, "attributes": attributes}


CONV = operation_row("conv2d", kernel=[3, 3], pads=[1, 1, 1, 1])
STREAMED = CascadeOptions(input="streamed", output="streamed")
CHECKED = STREAMED.model_copy(update={"check": True})
MAPS = {"access_rows": [1, 1, -1, 1], "access_columns": [1, 1, -1, 1]}


def test_a_custom_operation_with_access_maps_runs_in_stripes() -> None:
    graph = chain(CONV, operation_row("my.median", **MAPS, macs=9, mixes=False), CONV)
    read = access_graph(graph).operations[1]
    assert (read.role, read.macs, read.reads[0].channels) == ("striped", 9, "same")
    assert read.reads[0].windows == (Window(1, 1, -1, 1), Window(1, 1, -1, 1))
    found = cascade(graph, CHECKED)
    assert len(found.checked_positions) == len(found.points)
    pooled = cascade(chain(CONV, operation_row("max_pool2d", kernel=[3, 3], pads=[1, 1, 1, 1]), CONV), STREAMED)
    assert found.points[0].peak == pooled.points[0].peak < found.layers_peak
    alone = cascade(chain(CONV, operation_row("my.median"), CONV), STREAMED)
    assert alone.points[-1].peak > found.points[-1].peak
    assert [barrier.operation for barrier in alone.barriers] == [1]


def test_a_custom_operation_reads_the_whole_of_an_axis_without_a_map() -> None:
    by_rows = chain(operation_row("my.blur", access_rows=[1, 1, 0, 0]))
    assert access_graph(by_rows).operations[0].reads[0].columns == Window(0, 1, 0, 31)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"access_rows": [1, 1, 0]}, "access_rows must be 4 integers"),
        ({"access_rows": [-1, 1, 0, 0]}, "access_rows must have a scale from 0"),
        ({"access_columns": [1, 1, 2, 0]}, "access_columns must have a scale from 0"),
        ({"access_rows": [1, 1, 0, 0], "macs": -1}, "macs must be at least 0"),
        ({"access_rows": [2**30, 1, 0, 0]}, "with strides or pads above"),
    ],
)
def test_invalid_access_maps_make_a_barrier_with_a_reason(attributes: dict[str, Any], reason: str) -> None:
    row = access_graph(chain(operation_row("my.own", **attributes))).operations[0]
    assert row.role == "barrier"
    assert reason in row.reason


def test_a_region_contains_only_operations_with_the_same_label() -> None:
    def labelled_chain(*labels: str) -> OperationGraph:
        return chain(*(operation_row("conv2d", **CONV["attributes"], label=label) for label in labels))

    free = cascade(labelled_chain("npu", "npu", "npu", "npu"), STREAMED)
    apart = cascade(labelled_chain("npu", "npu", "cpu", "cpu"), CHECKED)
    regions = {(region.first_operation, region.end) for point in apart.points for region in point.cascade.regions}
    assert {(0, 2), (2, 4)} <= regions
    assert all(first // 2 == (end - 1) // 2 for first, end in regions)
    assert apart.points[-1].peak > free.points[-1].peak
    assert len(apart.checked_positions) == len(apart.points)
