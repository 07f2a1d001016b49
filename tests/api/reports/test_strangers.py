"""Cascades executed by an interpreter that knows the JSON of an answer and its page of the manual, nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.search.options import CascadeOptions, Delivery
from memplan.planner.operations.graph import OperationGraph
from tests.support import reference_operations
from tests.support.cascade_twin import coarse
from tests.support.networks import Network
from tests.support.stranger import Values, run_point


def squeezed() -> OperationGraph:
    net = Network()
    wide = net.depthwise(net.conv(net.input(9, 7, 2), 16))
    net.conv(net.mul(wide, net.conv(net.global_pool(wide), 16, 1)), 2, 1)
    return net.graph()


def joined() -> OperationGraph:
    net = Network()
    x = net.conv(net.input(9, 8, 2), 3)
    net.conv(net.concat(net.pool(net.conv(x, 4)), net.conv(x, 2, 3, 2)), 3)
    return net.graph()


def make_of(graph: OperationGraph) -> Any:
    def make(v: int, inputs: list[Any]) -> Any:
        row = graph.ops[v]
        shape = graph.tensors[row.outputs[0]].shape
        assert shape is not None
        if row.kind == "mul":
            return inputs[0] * inputs[1]
        if row.kind == "concat":
            return np.concatenate(inputs, axis=2)
        if row.kind == "global_average_pool":
            return inputs[0].sum(axis=(0, 1), keepdims=True)
        linear = reference_operations.run(row.kind or "", dict(row.attributes), inputs, (shape[1], shape[2], shape[3]))
        place = np.arange(linear.size).reshape(linear.shape)
        return ((linear + place + v).astype(np.int64) & 255).astype(np.uint8)

    return make


@pytest.mark.parametrize("graph", [squeezed(), joined()], ids=["squeezed", "joined"])
@pytest.mark.parametrize("way", ["resident", "streamed"])
def test_a_stranger_makes_of_each_point_what_layers_make(graph: OperationGraph, way: Delivery) -> None:
    answer = cascade(coarse(graph), CascadeOptions(input=way))
    said = json.loads(answer.model_dump_json(by_alias=True))
    first = graph.tensors[0].shape or ()
    image = np.random.default_rng(3).integers(0, 256, first[1:]).astype(np.uint8)
    make, expected = make_of(graph), Values({0: image})
    for v, row in enumerate(said["operations"]):
        expected[row["out"][0]] = np.asarray(make(v, [expected[t] for t in row["in"]])).astype(np.uint8)
    points = said["points"]
    for point in [*points[:2], *points[-2:]]:
        found = run_point(said, point, {0: image}, make)
        assert {t: value.tolist() for t, value in found.items()} == {
            t: value.tolist() for t, value in expected.items() if t in found
        }
        assert set(graph.kept) <= set(found)
    assert any("origins" in point for point in points) or any(row.kind == "concat" for row in graph.ops)
    assert (way == "streamed") == any("pieces" in region for point in points for region in point["regions"])
