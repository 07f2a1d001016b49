"""Facts about models besides bytes and order, in the same terms for every format."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.operations.graph import GraphOperation, OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.search.regions import order_inner_regions
from memplan.programs.readers.vocabulary import attribute_of
from memplan.runtimes.pads import equal_output_pads
from tests.runtimes.onnx_models import graph, model, model_bytes, node, value
from tests.runtimes.tflite_files import INT32, operator, subgraph, tensor
from tests.runtimes.tflite_files import model as tflite_model

MODELS = Path(__file__).parents[2] / "tests" / "models"


def attributes_and_kind(row: GraphOperation) -> dict[str, Any]:
    return {**row.attributes, "kind": row.kind}


def onnx_operation(made: Any, **constants: Any) -> tuple[OperationGraph, GraphOperation]:
    data = model([made], [value("x", (1, 8, 6, 6))], [value("y", None)], **constants)
    found = read_model_graph(data, "model.onnx").graph
    return found, found.ops[0]


def test_onnx_convolutions_have_all_attributes_of_their_window() -> None:
    weight = np.zeros((8, 1, 3, 3), np.float32)
    found, row = onnx_operation(node("Conv", "x w", "y", group=8, auto_pad="SAME_UPPER", strides=[2, 2]), w=weight)
    window = {"kernel": (3, 3), "strides": (2, 2), "dilations": (1, 1), "pads": (0, 0, 1, 1), "layout": "NCHW"}
    assert attributes_and_kind(row) == {**window, "groups": 8, "kind": "depthwise_conv2d"}
    assert found.resident == (1,)
    assert [(tensor.name, tensor.shape, tensor.dtype, tensor.role) for tensor in found.tensors] == [
        ("x", (1, 8, 6, 6), "float32", "input"),
        ("w", (8, 1, 3, 3), "float32", "weight"),
        ("y", (1, 8, 3, 3), "float32", "output"),
    ]


def test_small_constants_are_attributes() -> None:
    _, row = onnx_operation(node("Pad", "x p", "y"), p=np.array([0, 0, 1, 1, 0, 0, 2, 2]))
    assert attributes_and_kind(row) == {"pads": (0, 0, 1, 1, 0, 0, 2, 2), "kind": "pad"}


def test_an_operation_on_a_view_has_the_shape_of_the_view() -> None:
    nodes = [node("Relu", "x", "a"), node("Reshape", "a s", "b"), node("Neg", "b", "y")]
    data = model(nodes, [value("x", (2, 6))], [value("y", (3, 4))], s=np.array([3, 4]))
    ops = read_model_graph(data, "model.onnx").graph.ops
    assert [(op.kind, op.in_shapes, op.source) for op in ops] == [("relu", (), (0,)), ("neg", ((3, 4),), (2,))]


def test_nodes_that_draw_random_numbers_keep_their_order() -> None:
    nodes = [node("RandomNormalLike", "x", "a"), node("Relu", "x", "b"), node("RandomUniformLike", "x", "c")]
    data = model(nodes, [value("x", (4,))], [value(name, (4,)) for name in "abc"])
    assert read_model_graph(data, "model.onnx").graph.predecessors == ((), (), (0,))


_TRIPS = {"n": np.array(3), "go": np.array(True)}


def test_a_loop_becomes_one_operation_whose_region_is_ordered_separately() -> None:
    wide = node("Concat", "s s", "wide", axis=0)
    first = [("Neg", "s", "small"), ("ReduceMax", "wide", "top")]
    rest = [*first, ("Add", "small top", "next"), ("Identity", "go", "again")]
    given, ends = [value("i", (), 7), value("go", (), 9), value("s", (64,))], [value("again", (), 9)]
    body = graph([wide, *(node(*row) for row in rest)], given, [*ends, value("next", (64,))])
    whole = graph([node("Loop", "n go x", "y", body=body)], [value("x", (64,))], [value("y", (64,))], **_TRIPS)
    found = read_model_graph(model_bytes(whole), "model.onnx").graph
    (row,) = found.ops
    assert (row.kind, [region.kind for region in row.regions]) == ("loop", ["call"])
    inside = row.regions[0].graph.ops[-1].regions[0].graph
    assert [inner.source for inner in inside.ops if inner.source][:4] == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)]
    ordered = order_inner_regions(found, lambda region, _: (_late_order(region.graph), 0)).graph
    assert peak_of(ordered, [0]) == peak_of(found, [0]) - 256


def _late_order(region: OperationGraph) -> list[int]:
    """Return the order with the second node after the third one, if there are such nodes."""
    where = {row.source: v for v, row in enumerate(region.ops)}
    order = list(range(len(region.ops)))
    if (0, 0, 1) in where:
        one, other = where[0, 0, 1], where[0, 0, 2]
        order[one], order[other] = other, one
    return order


def test_tflite_operators_have_windows_and_quantization() -> None:
    found = read_model_graph((MODELS / "recorded" / "kws_dscnn_int8.tflite").read_bytes(), "model.tflite").graph
    kinds = [row.kind for row in found.ops]
    assert (kinds[0], kinds[1], kinds[2], kinds[-1]) == ("conv2d", "depthwise_conv2d", "conv2d", "softmax")
    first = {"kernel": (10, 4), "strides": (2, 2), "pads": (4, 1, 5, 1), "dilations": (1, 1), "groups": 1}
    assert attributes_and_kind(found.ops[0]) == {**first, "layout": "NHWC", "kind": "conv2d", "activation": "relu"}
    quantization = found.tensors[1].quantization
    assert (len(quantization.scales), quantization.axis) == (64, 0)
    assert found.ops[3].source == (0, 3)


def test_a_tflite_pad_has_pads_of_both_sides_of_each_axis_and_may_run_in_parts() -> None:
    sides = struct.pack("<8i", 0, 0, 1, 2, 3, 4, 0, 0)
    tensors = [tensor("x", (1, 4, 4, 2)), tensor("sides", (4, 2), INT32, constant=2), tensor("y", (1, 7, 11, 2))]
    data = tflite_model(subgraph(tensors, [0], [2], [operator("PAD", [0, 1], [2])]), contents=[sides])
    found = read_model_graph(data, "model.tflite").graph
    assert attributes_and_kind(found.ops[0]) == {"kind": "pad", "pads": (0, 1, 3, 0, 0, 2, 4, 0), "layout": "NHWC"}
    drawn = access_graph(found).operations[0]
    ranges = [window.unclipped_input_range(0, 7) for window in drawn.reads[0].windows]
    assert (drawn.role, ranges) == ("striped", [(-1, 6), (-3, 4)])


def test_an_onnx_pad_may_list_its_axes() -> None:
    constants = {"p": np.array([1, 2, 3, 4]), "axes": np.array([-2, 3])}
    pad = graph([node("Pad", "x p - axes", "y")], [value("x", (1, 8, 6, 6))], [value("y", None)], **constants)
    row = read_model_graph(model_bytes(pad, opset=18), "model.onnx").graph.ops[0]
    assert attributes_and_kind(row) == {"kind": "pad", "pads": (0, 0, 1, 2, 0, 0, 3, 4)}


def test_equal_output_pads_give_one_output_for_each_stride() -> None:
    assert equal_output_pads((6, 7), (3, 2), (2, 3), (1, 1), more_behind=True) == (0, 0, 1, 1)
    assert equal_output_pads((6,), (3,), (2,), (1,), more_behind=False) == (1, 0)
    assert equal_output_pads((5,), (3,), (1,), (2,), more_behind=True) == (2, 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, [1] * 65, "a\nb", "a" * 101, {}, ["a"], [True]])
def test_only_small_plain_values_become_attributes(value: object) -> None:
    assert attribute_of(value) is None
