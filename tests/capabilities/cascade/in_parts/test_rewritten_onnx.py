"""ONNX models written as cascades say: their values are equal, and fewer bytes are alive at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from memplan.capabilities.cascade.in_parts.write import NO_COST, rewritable
from memplan.capabilities.cascade.regions.unrolled import Unrolled, unrolled
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.rewriting import Rewriting, best_rewriting, coarser
from memplan.capabilities.cascade.search.solve import cascade
from memplan.capabilities.cascade.writing import written_in_parts
from memplan.planner.errors import FormatError, OperationsError
from memplan.systems.model_graph import read_model_graph
from tests.support.image_models import MODELS, mobilenet_v1
from tests.support.networks import Network
from tests.support.onnx_models import graph, model, node, of_graph, value


def rewritten(data: bytes, macs: float = 1.2) -> tuple[bytes, Rewriting, int]:
    """Return a model in parts, the point that it was written as, and the peak layer by layer."""
    found = rewritable(data, "model.onnx", read_model_graph(data, "model.onnx").graph)
    result = cascade(found.access, CascadeOptions(macs=macs, channels=False))
    best = best_rewriting(result.points)
    return found.write(best.found), best, result.layers_peak


def outputs(data: bytes, image: np.ndarray) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    found: list[np.ndarray] = runtime.InferenceSession(data, options).run(None, {"x": image})
    return found


@pytest.mark.parametrize(("name", "width"), [("mobilenet_v2", 0.25), pytest.param("unet", 0.5, marks=pytest.mark.slow)])
def test_a_rewritten_model_computes_the_same_with_fewer_bytes_alive(name: str, width: float) -> None:
    data = MODELS[name](64, width)
    written, best, layers = rewritten(data, 1.3)
    onnx.checker.check_model(onnx.load_model_from_string(written), full_check=True)
    assert best.peak <= 0.4 * layers
    image = np.random.default_rng(1).normal(size=(1, 3, 64, 64)).astype(np.float32)
    for a, b in zip(outputs(data, image), outputs(written, image), strict=True):
        assert a.shape == b.shape
        assert abs(a - b).max() <= 1e-5 * abs(a).max()


def test_what_the_rewritten_file_needs_is_what_was_told() -> None:
    written, best, _ = rewritten(mobilenet_v1(32, 0.25))
    graph = read_model_graph(written, "model.onnx").graph
    alive = [0] * (len(graph.ops) + 1)
    counted = [t for t in range(len(graph.size)) if t not in graph.resident]
    for t in counted:
        first = graph.maker[t]
        last = len(graph.ops) if t in graph.kept else max(graph.readers[t], default=first)
        for at in range(0 if first is None else first, (last or 0) + 1):
            alive[min(at, len(graph.ops))] += int(np.prod(graph.tensors[t].shape or (1,))) * 4
    assert max(alive) == best.peak


def whole_numbers(kind: str, seed: int, **attributes: Any) -> bytes:
    """Return a model whose values are small whole numbers: two operators, of which the second has attributes."""
    random = np.random.default_rng(seed)
    shape = (3, 2, 3, 2) if kind == "ConvTranspose" else (2, 3, 3, 2)
    weights = {
        "a": random.integers(-2, 3, size=(3, 2, 3, 3)).astype(np.float32),
        "b": random.integers(-2, 3, size=shape).astype(np.float32),
    }
    nodes = [
        node("Conv", "x a", "y", pads=[1, 1, 1, 1]),
        node(kind, "y b" if "Conv" in kind else "y", "z", **attributes),
    ]
    nodes.append(node("Relu", "z", "out"))
    return model(nodes, [value("x", (1, 2, 24, 20))], [value("out", None)], **weights)


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("Conv", {"strides": [2, 1], "pads": [2, 0, 1, 1]}),
        ("Conv", {"strides": [1, 2], "auto_pad": "SAME_UPPER"}),
        ("ConvTranspose", {"strides": [2, 2], "pads": [1, 0, 0, 1]}),
        ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [1, 2], "pads": [1, 1, 0, 0]}),
        ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ("AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [0, 1, 0, 0], "ceil_mode": 1}),
    ],
)
def test_every_point_of_an_operator_is_equal_to_the_bit(kind: str, attributes: dict[str, Any]) -> None:
    data = whole_numbers(kind, 3, **attributes)
    image = np.random.default_rng(2).integers(-3, 4, size=(1, 2, 24, 20)).astype(np.float32)
    found = rewritable(data, "model.onnx", read_model_graph(data, "model.onnx").graph)
    assert all(row.role != "barrier" for row in found.access.operations)
    result = cascade(found.access, CascadeOptions(channels=False))
    expected = outputs(data, image)
    assert any(region.kind != "whole" for point in result.points for region in point.cascade.regions)
    for point in result.points[:: max(1, len(result.points) // 4)]:
        assert all(map(np.array_equal, outputs(found.write(unrolled(point.cascade)), image), expected))


def test_a_convolution_whose_bias_is_behind_an_identity_runs_in_parts() -> None:
    weights = {"a": np.ones((3, 2, 3, 3), np.float32), "b": np.arange(3, dtype=np.float32)}
    nodes = [
        node("Identity", "b", "c"),
        node("Conv", "x a c", "y", pads=[1, 1, 1, 1]),
        node("Conv", "y d", "out", pads=[1, 1, 1, 1]),
    ]
    weights["d"] = np.ones((2, 3, 3, 3), np.float32)
    data = model(nodes, [value("x", (1, 2, 24, 20))], [value("out", None)], **weights)
    found = rewritable(data, "model.onnx", read_model_graph(data, "model.onnx").graph)
    result = cascade(found.access, CascadeOptions(channels=False))
    written = found.write(unrolled(result.points[-1].cascade))
    assert result.points[-1].peak < result.layers_peak
    image = np.random.default_rng(2).integers(-3, 4, size=(1, 2, 24, 20)).astype(np.float32)
    assert all(map(np.array_equal, outputs(written, image), outputs(data, image)))


def test_a_tensor_before_an_operation_that_runs_whole_is_not_there_twice() -> None:
    weights = {"a": np.ones((4, 2, 3, 3), np.float32), "b": np.ones((16, 4, 3, 3), np.float32)}
    nodes = [
        node("Conv", "x a", "y", pads=[1, 1, 1, 1]),
        node("Conv", "y b", "z", pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", "z", "out"),
    ]
    data = model(nodes, [value("x", (1, 2, 24, 20))], [value("out", None)], **weights)
    found = rewritable(data, "model.onnx", read_model_graph(data, "model.onnx").graph)
    result = cascade(found.access, CascadeOptions(channels=False))
    image, last = 24 * 20 * 4, result.points[-1]
    # What is made in rows, and what it is joined to for the pool.
    assert unrolled(last.cascade).live_peak == 2 * 16 * image
    assert best_rewriting([last]).peak == result.layers_peak == (4 + 16) * image


def test_columns_that_are_made_in_tiles_are_one_where_operations_cost() -> None:
    net = Network("tiles")
    net.conv(net.conv(net.input(32, 32, 2), 16), 2)
    result = cascade(net.graph(), CascadeOptions(stripe=(2, 2), channels=False))
    forms = [unrolled(form) for form in coarser(result.points[-1].cascade)]
    assert [len(form.steps) for form in forms] == sorted(len(form.steps) for form in forms)
    assert min(len(form.steps) for form in forms) < len(forms[-1].steps) / 16
    assert forms[-1].steps == unrolled(result.points[-1].cascade).steps


def test_a_model_of_an_older_opset_is_converted_and_computes_the_same() -> None:
    weights = {"a": np.ones((3, 2, 3, 3), np.float32), "b": np.ones((3, 3, 3, 3), np.float32)}
    nodes = [
        node("Conv", "x a", "y", pads=[1, 1, 1, 1]),
        node("Clip", "y", "t", min=-3.0, max=3.0),
        node("Conv", "t b", "out"),
    ]
    old = of_graph(graph(nodes, [value("x", (1, 2, 24, 20))], [value("out", None)], **weights), opset=9)
    found = rewritable(old, "model.onnx", read_model_graph(old, "model.onnx").graph)
    result = cascade(found.access, CascadeOptions(channels=False))
    written = found.write(unrolled(result.points[-1].cascade))
    assert onnx.load_model_from_string(written).opset_import[0].version == 11
    image = np.random.default_rng(2).integers(-3, 4, size=(1, 2, 24, 20)).astype(np.float32)
    assert all(map(np.array_equal, outputs(written, image), outputs(old, image)))


def test_what_cannot_be_unrolled_or_written_is_told() -> None:
    data = mobilenet_v1(32, 0.25)
    graph = read_model_graph(data, "model.onnx").graph
    streamed = cascade(graph, CascadeOptions(input="streamed"))
    with pytest.raises(OperationsError, match="resident"):
        unrolled(streamed.points[-1].cascade)
    with pytest.raises(OperationsError, match="points: must have one"):
        best_rewriting([])
    with pytest.raises(FormatError, match="written in parts"):
        rewritable(b'{"ops": []}', None, graph)


def test_of_points_the_best_that_can_be_written_is_if_it_needs_less_than_the_given_model() -> None:
    data = mobilenet_v1(32, 0.25)
    model = rewritable(data, "model.onnx", read_model_graph(data, "model.onnx").graph)
    result = cascade(model.access, CascadeOptions(macs=1.2, channels=False))
    (refused,) = written_in_parts(model, result, data, 60).sentences
    said = "not written, .* about 1,223,872 with what a runtime keeps of nodes and needs to load, 1,223,872 as given"
    assert re.search(said, refused)
    model = replace(model, cost=NO_COST)
    best = best_rewriting(result.points, model.cost)

    def write(found: Unrolled) -> bytes:
        if len(found.steps) == len(best.found.steps):
            raise OperationsError("the best one cannot be written")
        return model.write(found)

    other = replace(model, write=write)
    written = written_in_parts(other, result, data, 60, lambda file, limit_s: None)
    assert written.data is not None
    # A process that grows by the bytes of the file does so by more with more nodes.
    (refused,) = written_in_parts(other, result, data, 60, lambda file, limit_s: len(file)).sentences
    assert re.search("not written, .* a process grows by .* in onnxruntime, by .* with the given model", refused)
    assert f"{len(best.found.steps)} operations" not in written.sentences[0]
    with pytest.raises(OperationsError, match="the best one cannot"):
        written_in_parts(other, replace(result, points=(result.points[best.position],)), data, 60)
