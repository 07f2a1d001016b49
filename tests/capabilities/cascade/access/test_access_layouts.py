"""Batches, sequences, and where channels are: the same maps, whatever the order of the axes."""

from __future__ import annotations

from memplan.capabilities.cascade.access.access_graph import SAME, sliding
from tests.support.chains import graph_of


def test_a_batch_runs_together_row_by_row() -> None:
    conv = {"kind": "conv2d", "attributes": {"kernel": [3, 3], "pads": [1, 1, 1, 1], "layout": "NHWC"}}
    one, four = (graph_of([[n, 8, 6, 2], [n, 8, 6, 5]], conv) for n in (1, 4))
    assert [row.sizes for row in four.tensors] == [row.sizes for row in one.tensors] == [(8, 6)] * 2
    assert [row.pixel for row in four.tensors] == [8, 20]
    assert four.macs == 4 * one.macs
    assert four.operations[0].reads == one.operations[0].reads
    assert (one.layout, four.layout) == ("NHWC", "batches")
    across = graph_of([[4, 8, 6, 2], [1, 8, 6, 2]], {"kind": "relu"})
    assert across.operations[0].reason == "relu across the images of a batch runs whole"


def test_sequences_are_images_of_one_column_in_either_layout() -> None:
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
        assert graph.operations[0].reads[0].rows == sliding(3, 2, 1, 1)
        assert graph.macs == 8 * 6 * 3 * 4
    assert [graph.layout for graph in by_layout] == ["NHWC", "NCHW"]


def test_a_transposition_between_layouts_moves_no_pixel() -> None:
    conv = {"kind": "conv2d", "attributes": {"kernel": [1, 1], "layout": "NCHW"}}
    into = {"kind": "transpose", "attributes": {"perm": [0, 3, 1, 2]}}
    back = {"kind": "transpose", "attributes": {"perm": [0, 2, 3, 1]}}
    graph = graph_of([[1, 8, 6, 3], [1, 3, 8, 6], [1, 5, 8, 6], [1, 8, 6, 5]], into, conv, back)
    assert [row.role for row in graph.operations] == ["striped"] * 3
    assert [(row.rows, row.columns, row.pixel) for row in graph.tensors] == [(8, 6, 3), (8, 6, 3), (8, 6, 5), (8, 6, 5)]
    assert graph.operations[0].reads[0].windows == (SAME, SAME)
    assert graph.layout == "several layouts"
    across = {"kind": "transpose", "attributes": {"perm": [0, 1, 3, 2]}}
    turned = graph_of([[1, 3, 8, 6], [1, 3, 8, 6], [1, 3, 6, 8], [1, 3, 6, 8]], conv, across, conv)
    assert turned.operations[1].reason == "transpose of rows, columns or batches runs whole"


def test_a_reshape_that_keeps_pixels_and_a_table_of_rows_run_in_parts() -> None:
    pool = {"kind": "global_average_pool", "attributes": {"layout": "NCHW"}}
    flat = graph_of([[1, 5, 8, 6], [1, 5, 1, 1], [1, 5]], pool, {"kind": "reshape"})
    assert [row.role for row in flat.operations] == ["sum", "striped"]
    mixed = graph_of([[1, 8, 6, 2], [1, 6, 8, 2]], {"kind": "reshape"})
    assert mixed.operations[0].reason == "reshape to other rows and columns runs whole"
    looked_up = graph_of([[1, 16], [1, 16, 4]], {"kind": "gather"})
    assert [row.role for row in looked_up.operations] == ["striped"]
    assert looked_up.operations[0].reads[0].rows.source(3, 4, 1) == (0, 1)
