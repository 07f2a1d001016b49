"""The simulation of networks on a target, compared with counts from regions and by hand, and invalid steps."""

import random
from dataclasses import replace

import pytest

from memplan import Target
from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.regions.counts import macs_of
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Stripes
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.extensions.cascade.timing.network_run import NetworkStep, run_network, run_step
from memplan.extensions.schedule.search.layers import layer_step
from memplan.extensions.schedule.search.networks import min_needs
from tests.support.cascade_twin import coarse, region_of
from tests.support.networks import Network, two_convolutions
from tests.support.random_networks import random_blocks, random_cascade, random_network


def machine(native: int = 1, bandwidth: float = 8, latency: float = 0, rate: float = 16) -> Target:
    return Target(
        memories=[{"name": "fast", "capacity": 65536}, {"name": "slow"}],
        links=[{"bandwidth": bandwidth, "latency": latency}],
        engine={"native": [native, native], "rate": rate},
    )


def step_of(graph: AccessGraph, v: int, rows: int = 10**6, columns: int = 10**6, channels: int = 10**6) -> NetworkStep:
    out = graph.tensors[graph.operations[v].outputs[0]]
    tile = min(rows, out.rows), min(columns, out.columns), min(channels, max(1, out.channels))
    return layer_step(graph, v, (*tile, 0, 0), ())


@pytest.mark.parametrize("seed", range(20))
def test_the_simulated_steps_count_the_same_arithmetic_as_the_regions(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_blocks(rng) if seed % 3 == 0 else random_network(rng)
    options = CascadeOptions()
    graph = replace(graph, is_coarse=True)
    regions = random_cascade(graph, options, RegionSearch(graph, options).run(), rng).regions
    steps = [step_of(graph, row.first_operation) if row.kind == "whole" else NetworkStep(row) for row in regions]
    target = machine(bandwidth=1e12, rate=1)
    found, wrong = run_network(graph, steps, target)
    assert not wrong
    # With an infinitely fast link, the latency is the time of the arithmetic.
    work = macs_of(Cascade(graph, regions))
    assert sum(step.latency for step in found) == pytest.approx(work, rel=1e-6, abs=1)
    assert min_needs(graph, target)[0] <= work
    assert min_needs(graph, target)[1] <= sum(step.traffic for step in found)


def test_a_layer_takes_the_longer_of_its_arithmetic_and_its_transfers() -> None:
    graph = access_graph(two_convolutions())
    (first, second), wrong = run_network(graph, [step_of(graph, v) for v in range(2)], machine(latency=100))
    assert not wrong
    assert (first.traffic, second.traffic) == (2028 + 18432 + 864, 18432 + 4608 + 256)
    assert first.latency == 24 * 24 * 32 * 27 / 16
    assert second.latency == max(24 * 24 * 8 * 32 / 16, 100 + second.traffic / 8)
    sizes = sorted((kind, size) for kind, _, size in first.buffers)
    assert sizes == [("constants", 864), ("input", 2028), ("output", 18432)]


def test_an_operand_is_loaded_again_whenever_an_inner_loop_changes_its_piece() -> None:
    graph = access_graph(two_convolutions())
    inside = step_of(graph, 1, rows=12, channels=4)
    outside = replace(inside, channels_outermost=True)
    pixels, weights = 24 * 24, 256
    figures = [run_step(graph, step, frozenset(), machine()) for step in (inside, outside)]
    traffic = [pixels * 32 + pixels * 8 + 2 * weights, 2 * pixels * 32 + pixels * 8 + weights]
    assert [step.traffic for step in figures] == traffic


def test_arithmetic_counts_full_native_tiles() -> None:
    graph = access_graph(two_convolutions())
    found = run_step(graph, step_of(graph, 0), frozenset(), machine(native=7, bandwidth=1e12))
    assert found.latency == 28 * 28 * 32 * 27 / 16


def test_the_lower_bound_on_traffic_omits_input_that_no_reader_uses() -> None:
    net = Network()
    x = net.input(8, 8, 1)
    wide, tall = (net.window("max_pool2d", x, 0, k, s) for k, s in (((1, 8), (8, 1)), ((8, 1), (1, 8))))
    graph = access_graph(net.graph([wide, tall]))
    assert min_needs(graph, machine(rate=1))[1] <= sum(graph.tensors[t].bytes for t in (wide, tall)) + 8 + 8 - 1
    unused = Network()
    y = unused.window("conv2d", unused.conv(unused.input(4, 4, 1), 1, 1), 1, 1, 9, pad=((4, 4), (8, 8)))
    bound = min_needs(graph := access_graph(unused.graph()), machine(rate=1))
    assert bound == (graph.macs_of(1), graph.tensors[y].bytes + graph.operations[1].weights)


def test_the_lower_bound_on_work_omits_rows_that_a_stride_skips() -> None:
    net = Network()
    net.conv(net.conv(net.input(9, 9, 1), 4, 1), 2, 1, 2)
    graph = access_graph(net.graph())
    assert (graph.macs, min_needs(graph, machine(rate=1))) == (81 * 4 + 25 * 8, (25 * 4 + 25 * 8, 25 + 25 * 2 + 4 + 8))


def _drop_last(made: Stripes) -> Stripes:
    return made.model_copy(update={"rows": made.rows[:-1]})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_drop_last, "must be tiles of one operation that cover its output exactly once"),
        (None, "must be a single operation that cannot be split, as it runs whole"),
    ],
)
def test_run_network_reports_steps_that_do_not_compute_their_tensors(change: object, sentence: str) -> None:
    graph = access_graph(two_convolutions())
    step = step_of(graph, 0, rows=6)
    region = CascadeRegion.whole_region(0, 0)
    if callable(change):
        region = step.region.remake({0: change(step.region.ranges[0])})
    assert run_network(graph, [NetworkStep(region)], machine())[1] == [f"subgraphs[0]: {sentence}"]


def test_run_network_reports_a_ring_buffer_with_too_few_rows() -> None:
    net = Network()
    net.conv(net.conv(net.input(16, 16, 2), 2, 3), 2, 3)
    graph, options = coarse(net.graph()), CascadeOptions()
    regions = [region_of(graph, options, row) for row in RegionSearch(graph, options).run().tolist()]
    ends = [row for row in regions if row.end == 2]
    held = ((row, t, hold) for row in ends for t, hold in row.buffer_by_tensor.items())
    region, tensor, hold = next(each for each in held if each[2].mode == "roll")
    assert run_network(graph, [NetworkStep(region)], machine())[1] == []
    less = hold.model_copy(update={"capacity": (hold.rows - 1, *hold.capacity[1:])})
    held = {**region.buffer_by_tensor, tensor: less}
    (sentence,) = run_network(graph, [NetworkStep(region.remake(region.ranges, held.values()))], machine())[1]
    assert f"must read only stored elements of tensor {tensor}" in sentence


def test_run_network_reports_missing_writes_and_missing_operations() -> None:
    graph = access_graph(two_convolutions())
    first, second = step_of(graph, 0), step_of(graph, 1)
    assert run_network(graph, [replace(first, retained=graph.operations[0].outputs), second], machine())[1] == []
    last = [first, replace(second, retained=graph.operations[1].outputs)]
    assert run_network(graph, last, machine())[1] == [f"subgraphs[1]: must write tensor {graph.kept[0]}, an output"]
    assert run_network(graph, [second], machine())[1] == ["subgraphs[0]: must begin with operation 0, got 1"]
    assert run_network(graph, [first], machine())[1] == ["subgraphs: must have all 2 operations, got 1"]
