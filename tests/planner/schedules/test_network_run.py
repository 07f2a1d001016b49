"""Networks on a target: the simulator against what regions count, and against sums by hand."""

from __future__ import annotations

import random

import pytest

from memplan import Target
from memplan.planner.operations.access.from_graph import access_graph
from memplan.planner.operations.cascade.regions import Cascade, CascadeRegion, macs_of, moved_of
from memplan.planner.schedules.network_run import least_work, run_network
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.search import RegionSearch
from tests.support.networks import Network, two_convolutions
from tests.support.random_networks import random_blocks, random_cascade, random_network


def machine(native: int = 1, bandwidth: float = 8, latency: float = 0, rate: float = 16) -> Target:
    return Target.model_validate(
        {
            "memories": [{"name": "fast", "capacity": 65536}, {"name": "slow"}],
            "links": [{"bandwidth": bandwidth, "latency": latency}],
            "engine": {"native": [native, native], "rate": rate},
        }
    )


@pytest.mark.parametrize("seed", range(30))
def test_steps_add_up_to_what_regions_count(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_blocks(rng) if seed % 3 == 0 else random_network(rng)
    options = CascadeOptions()
    search = RegionSearch(graph, options)
    cascade = random_cascade(graph, options, search.run(), rng)
    slow = {t for t in range(len(graph.tensors)) if rng.random() < 0.7}
    moved = moved_of(cascade)
    found = run_network(cascade, slow, machine(bandwidth=1e12, rate=1))
    assert sum(region.tensors for region in found) == sum(moved.get(t, 0) for t in slow)
    # With a link that takes no time, the time is the arithmetic.
    assert sum(region.latency for region in found) == pytest.approx(macs_of(cascade), rel=1e-6, abs=1)
    assert least_work(graph) <= macs_of(cascade)


def test_layer_by_layer_takes_the_larger_one_of_arithmetic_and_transfers() -> None:
    graph = access_graph(two_convolutions())
    layers = Cascade(graph, tuple(CascadeRegion(v, v + 1, "whole") for v in range(2)))
    first, second = run_network(layers, range(len(graph.tensors)), machine(latency=100))
    assert (first.tensors, second.tensors) == (2028 + 18432, 18432 + 4608)
    assert first.latency == 24 * 24 * 32 * 27 / 16
    assert second.latency == max(24 * 24 * 8 * 32 / 16, 100 + second.traffic / 8)


def test_arithmetic_goes_in_native_tiles() -> None:
    graph = access_graph(two_convolutions())
    layers = Cascade(graph, (CascadeRegion(0, 1, "whole"),))
    (found,) = run_network(layers, (), machine(native=7, bandwidth=1e12))
    assert found.latency == 28 * 28 * 32 * 27 / 16


def test_rows_that_a_stride_skips_are_no_work_that_must_be_done() -> None:
    net = Network()
    net.conv(net.conv(net.input(9, 9, 1), 4, 1), 2, 1, 2)
    graph = access_graph(net.graph())
    assert graph.macs == 81 * 4 + 25 * 8
    assert least_work(graph) == 25 * 4 + 25 * 8
