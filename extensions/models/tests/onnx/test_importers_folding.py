"""Pads and slice bounds that exporters compute from constants and shapes are read as numbers."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.extensions.cascade.access.from_graph import access_graph, split_apart
from memplan.extensions.networks.models.model_graph import read_model_graph
from memplan.extensions.networks.operations.graph import OperationGraph

onnx = pytest.importorskip("onnx")


def graph_of(nodes: list[Any], constants: dict[str, Any], shapes: tuple[list[int], list[int]]) -> OperationGraph:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    rows = [
        numpy_helper.from_array(np.array(value, np.float32 if name == "w" else np.int64), name)
        for name, value in constants.items()
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip("xy", shapes, strict=True)
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "g", ends[:1], ends[1:], rows), opset_imports=[helper.make_opsetid("", 17)]
    )
    data = model.SerializeToString()
    return read_model_graph(data, "model.onnx").graph


def test_pads_computed_by_integer_nodes_become_attributes() -> None:
    from onnx import helper

    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Concat", ["some", "none"], ["all"], axis=0),
        helper.make_node("Reshape", ["all", "pairs"], ["table"]),
        helper.make_node("Slice", ["table", "last", "first", "axis", "back"], ["turned"]),
        helper.make_node("Transpose", ["turned"], ["rows"], perm=[1, 0]),
        helper.make_node("Reshape", ["rows", "last"], ["pads"]),
        helper.make_node("Pad", ["a", "pads"], ["y"]),
    ]
    constants = {"some": [1, 2, 3, 4], "none": [0] * 4, "pairs": [-1, 2], "last": [-1], "first": [-(2**62)]}
    graph = graph_of(nodes, {**constants, "axis": [0], "back": [-1]}, ([1, 2, 8, 8], [1, 2, 15, 11]))
    assert [row.kind for row in graph.ops] == ["relu", "pad"]
    assert graph.ops[1].attributes["pads"] == (0, 0, 3, 1, 0, 0, 4, 2)


def test_slices_of_half_the_channels_by_a_computed_shape_run_by_pixel() -> None:
    from onnx import helper

    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], kernel_shape=[1, 1]),
        helper.make_node("Shape", ["a"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "one"], ["channels"], axis=0),
        helper.make_node("Div", ["channels", "two"], ["half"]),
        helper.make_node("Slice", ["a", "zero", "half", "one"], ["left"]),
        helper.make_node("Slice", ["a", "half", "channels", "one"], ["right"]),
        helper.make_node("Concat", ["right", "left"], ["y"], axis=1),
    ]
    constants = {"one": [1], "two": [2], "zero": [0], "w": [[[[1]]] * 1] * 4}
    graph = graph_of(nodes, constants, ([1, 1, 8, 8], [1, 4, 8, 8]))
    assert [row.kind for row in graph.ops] == ["conv2d", "slice", "slice", "concat"]
    assert [row.role for row in access_graph(graph).operations] == ["striped"] * 4


def test_a_split_is_read_as_one_slice_for_each_part() -> None:
    from onnx import helper

    nodes = [helper.make_node("Split", ["x"], ["a", "b"], axis=1), helper.make_node("Add", ["a", "b"], ["y"])]
    graph = graph_of(nodes, {}, ([1, 4, 8, 8], [1, 2, 8, 8]))
    apart = split_apart(graph)
    assert [row.kind for row in apart.ops] == ["slice", "slice", "add"]
    assert [row.attributes["starts"] for row in apart.ops[:2]] == [(0,), (2,)]
    assert [row.role for row in access_graph(apart).operations] == ["striped"] * 3
    assert split_apart(apart) is apart
