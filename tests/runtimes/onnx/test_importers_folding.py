"""Pads and slice bounds that exporters compute from constants and shapes are read as numbers."""

from typing import Any

import numpy as np
import pytest

from memplan.extensions.cascade.access.from_graph import access_graph, split_apart
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.operations.graph import OperationGraph

pytest.importorskip("onnx")
from tests.runtimes.onnx_models import model, node, value


def graph_of(nodes: list[Any], constants: dict[str, Any], shapes: tuple[list[int], list[int]]) -> OperationGraph:
    arrays = {name: np.array(row, np.float32 if name == "w" else np.int64) for name, row in constants.items()}
    ends = [value(name, shape) for name, shape in zip("xy", shapes, strict=True)]
    return read_model_graph(model(nodes, ends[:1], ends[1:], **arrays), "model.onnx").graph


def test_pads_computed_by_integer_nodes_become_attributes() -> None:
    nodes = [
        node("Relu", "x", "a"),
        node("Concat", "some none", "all", axis=0),
        node("Reshape", "all pairs", "table"),
        node("Slice", "table last first axis back", "turned"),
        node("Transpose", "turned", "rows", perm=[1, 0]),
        node("Reshape", "rows last", "pads"),
        node("Pad", "a pads", "y"),
    ]
    constants = {"some": [1, 2, 3, 4], "none": [0] * 4, "pairs": [-1, 2], "last": [-1], "first": [-(2**62)]}
    graph = graph_of(nodes, {**constants, "axis": [0], "back": [-1]}, ([1, 2, 8, 8], [1, 2, 15, 11]))
    assert [row.kind for row in graph.ops] == ["relu", "pad"]
    assert graph.ops[1].attributes["pads"] == (0, 0, 3, 1, 0, 0, 4, 2)


def test_slices_of_half_the_channels_by_a_computed_shape_run_by_pixel() -> None:
    nodes = [
        node("Conv", "x w", "a", kernel_shape=[1, 1]),
        node("Shape", "a", "sizes"),
        node("Gather", "sizes one", "channels", axis=0),
        node("Div", "channels two", "half"),
        node("Slice", "a zero half one", "left"),
        node("Slice", "a half channels one", "right"),
        node("Concat", "right left", "y", axis=1),
    ]
    graph = graph_of(nodes, {"one": [1], "two": [2], "zero": [0], "w": [[[[1]]] * 1] * 4}, ([1, 1, 8, 8], [1, 4, 8, 8]))
    assert [row.kind for row in graph.ops] == ["conv2d", "slice", "slice", "concat"]
    assert [row.role for row in access_graph(graph).operations] == ["striped"] * 4


def test_a_split_is_read_as_one_slice_for_each_part() -> None:
    nodes = [node("Split", "x", "a b", axis=1), node("Add", "a b", "y")]
    apart = split_apart(graph_of(nodes, {}, ([1, 4, 8, 8], [1, 2, 8, 8])))
    assert [row.kind for row in apart.ops] == ["slice", "slice", "add"]
    assert [row.attributes["starts"] for row in apart.ops[:2]] == [(0,), (2,)]
    assert [row.role for row in access_graph(apart).operations] == ["striped"] * 3
    assert split_apart(apart) is apart
