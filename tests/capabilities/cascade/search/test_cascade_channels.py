"""Regions in steps along channels: no more work, equal by value, and lower peaks where images are small."""

from __future__ import annotations

import pytest

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.core.kernels import KIND_CHANNELS
from memplan.capabilities.cascade.regions.execution import check_by_value
from memplan.capabilities.cascade.regions.regions import Cascade, is_accumulated, sums_of
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.planner.errors import InvalidPlanError
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.verify.verifier import verify
from tests.support.cascade_twin import coarse, region_of
from tests.support.networks import Network
from tests.support.random_networks import shrunk, side_by_side


def block(size: int, into: int, dtype: str = "int8") -> OperationGraph:
    """Return an expansion, a depthwise convolution and a projection to few channels."""
    net = Network(dtype=dtype)
    net.conv(net.depthwise(net.conv(net.input(size, size, into), 64, 1)), 2, 1)
    return net.graph()


def along_channels(graph: AccessGraph, first: int, end: int, tile: int) -> Cascade:
    """Return the cascade of one region."""
    row = (first, end, 0, 0, 0, 0, KIND_CHANNELS, tile, 0, 0)
    return Cascade(graph, (region_of(graph, CascadeOptions(), row),))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_block_makes_some_channels_at_a_time_and_adds_up_what_it_projects(dtype: str) -> None:
    graph = access_graph(block(3, 4, dtype))
    for tile in (1, 3, 64):
        made = along_channels(graph, 0, 3, tile)
        (region,) = made.regions
        assert is_accumulated(graph, region)
        assert sums_of(graph, region) == (3 * 3 * 2 * 4 if dtype == "int8" else 0)
        assert region.trips == -(-64 // tile)
        offsets, size = side_by_side(made)
        assert check_by_value(made, offsets, size) > 0
        less = shrunk(made, 0, graph.operations[0].outputs[0])
        assert less is not None
        with pytest.raises(InvalidPlanError, match="must be equal to the value layer by layer"):
            check_by_value(less, offsets, size)


def test_two_dense_layers_take_less_without_more_multiplications() -> None:
    net = Network()
    net.dense(net.dense(net.input(1, 1, 16), 512), 8)
    result = cascade(net.graph(), CascadeOptions(check=True))
    rows = cascade(coarse(net.graph()))
    assert rows.points[-1].peak == rows.layers_peak == 512 + 16
    (point,) = result.points
    assert (point.peak, point.macs_ratio) == (16 + 4 * 8 + 1, 1.0)
    assert point.peak == point.estimate
    assert result.checked == (0,)
    (told,) = result.model_dump(mode="json")["points"][0]["regions"]
    assert (told["kind"], told["channel_steps"]) == ("channels", 512)
    assert told["ranges"]["1"]["channels"] == {"A": 1, "B": 1, "top": 512, "steps": 512}


def test_a_pool_behind_an_expansion_sees_some_channels_at_a_time() -> None:
    net = Network()
    net.dense(net.global_pool(net.conv(net.input(4, 4, 8), 128, 1)), 5)
    result = cascade(net.graph(), CascadeOptions(check=True))
    point = result.points[-1]
    assert point.peak < cascade(coarse(net.graph())).points[-1].peak
    assert point.peak == point.estimate
    assert verify(point.problem, point.plan) == ()
    assert "channels" in [region.kind for region in point.cascade.regions]
