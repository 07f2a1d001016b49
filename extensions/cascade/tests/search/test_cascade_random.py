"""Cascades of random networks, regions along channels, and points executed from the JSON of an answer."""

import random
from typing import Any

import numpy as np
import pytest

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.access.from_graph import access_graph, split_apart
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.core.kernels import KIND_CHANNELS
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.regions.regions import Cascade, accumulator_bytes, is_accumulated
from memplan.extensions.cascade.search.front import front_of_three
from memplan.extensions.cascade.search.options import CascadeOptions, Delivery
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.planner.errors import InvalidPlanError
from memplan.planner.verify.verifier import verify
from memplan.programs.operations.graph import OperationGraph
from tests.support.cascade_document import Interpreter, spans
from tests.support.cascade_fronts import beaten, beats, fronts_differ
from tests.support.cascade_twin import coarse, peak_of_region, region_of
from tests.support.depth import seeds
from tests.support.networks import Network, five_operations
from tests.support.newer_networks import add_excitation
from tests.support.random_networks import (
    random_blocks,
    random_cascade,
    random_network,
    random_units,
    shrunk,
    side_by_side,
)

DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


def draw_options(rng: random.Random) -> CascadeOptions:
    return CascadeOptions(input=rng.choice(DELIVERIES), output=rng.choice(DELIVERIES), alignment=rng.choice([1, 1, 16]))


@pytest.mark.drawn
@pytest.mark.slow
def test_random_regions_compute_correct_values_and_fail_with_one_row_less_in_a_buffer() -> None:
    rows = tiles = refused = 0
    for seed in seeds(8):
        rng = random.Random(seed)
        graph = (random_blocks, random_units, random_network, random_network)[seed % 4](rng)
        options = draw_options(rng)
        found = RegionSearch(graph, options).run()
        for _ in range(3):
            drawn = random_cascade(graph, options, found, rng)
            offsets, size = side_by_side(drawn)
            check_by_value(drawn, offsets, size, seed)
            rows += sum(region.kind == "rows" for region in drawn.regions)
            tiles += sum(region.kind in ("tiles", "panels") for region in drawn.regions)
            for number, region in enumerate(drawn.regions):
                for tensor, hold in region.buffer_by_tensor.items():
                    less = shrunk(drawn, number, tensor) if hold.mode != "whole" and hold.bytes else None
                    if less is not None:
                        with pytest.raises(InvalidPlanError, match="must equal the value computed layer by layer"):
                            check_by_value(less, offsets, size, seed)
                        refused += 1
    assert rows > 10
    assert tiles > 10
    assert refused > 40


@pytest.mark.drawn
def test_the_compiled_search_counts_the_same_costs_as_its_python_reference() -> None:
    for seed in seeds(12, 60):
        rng = random.Random(seed)
        graph = random_blocks(rng) if seed % 3 == 0 else random_network(rng)
        options = draw_options(rng)
        found = RegionSearch(graph, options).run()
        for row in found[rng.sample(range(len(found)), min(40, len(found)))].tolist():
            peak, costs = peak_of_region(graph, options, row)
            assert (peak, *costs) == tuple(row[2:6]), (seed, row)


@pytest.mark.drawn
def test_fronts_are_equal_to_brute_force_over_all_chains_of_regions() -> None:
    for seed in seeds(15, 200):
        assert fronts_differ(seed, 25) == []


def test_a_front_of_three_objectives_counts_the_chains_that_it_omits(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_network(random.Random(207), 5)
    found, n = RegionSearch(graph, CascadeOptions()).run(), len(graph.operations)
    every, none = front_of_three(found, n, 2**62)
    monkeypatch.setattr("memplan.extensions.cascade.search.front.MOST_WAYS", 2)
    some, cut = front_of_three(found, n, 2**62)
    assert (len(every) > 2, none) == (True, 0)
    assert (len(some), cut > 0) == (2, True)
    assert some[-1].peak <= every[0].peak


@pytest.mark.parametrize("is_drawn", [True, False])
def test_points_of_three_objectives_include_the_points_of_two(is_drawn: bool) -> None:
    graph = random_network(random.Random(207), 5) if is_drawn else access_graph(five_operations())
    two = cascade(graph).points
    three = cascade(graph, CascadeOptions(objectives=("peak", "macs", "traffic"))).points
    costs = [(point.peak, point.macs, point.traffic) for point in three]
    assert {(point.peak, point.macs) for point in two} <= {cost[:2] for cost in costs}
    assert len(three) > len(two)
    assert not any(beats(one, other) for one in costs for other in costs)
    assert all(point.peak == point.estimate for point in three)


@pytest.mark.drawn
def test_brute_force_finds_no_better_regions_of_small_graphs() -> None:
    for seed in seeds(15):
        assert beaten(seed) == []


def test_plans_of_random_networks_reach_the_estimated_peak_and_compute_correct_values() -> None:
    slid = 0
    for seed in range(400, 405):
        rng = random.Random(seed)
        graph = random_network(rng)
        result = cascade(graph, draw_options(rng).model_copy(update={"check": True}))
        assert all(point.peak == point.estimate for point in result.points)
        assert len(result.checked_positions) == len(result.points) > 0
        sliding = cascade(graph, CascadeOptions(overlap="sliding", check=True))
        slid += sum(len(point.slides) for point in sliding.points)
        assert sliding.points[-1].peak <= cascade(graph).points[-1].peak
    assert slid > 2


def block(size: int, into: int, dtype: str = "int8") -> OperationGraph:
    net = Network(dtype=dtype)
    net.conv(net.depthwise(net.conv(net.input(size, size, into), 64, 1)), 2, 1)
    return net.graph()


def channel_cascade(graph: AccessGraph, first: int, end: int, tile: int) -> Cascade:
    return Cascade(graph, (region_of(graph, CascadeOptions(), (first, end, 0, 0, 0, 0, KIND_CHANNELS, tile, 0, 0)),))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_region_along_channels_sums_its_projection_over_all_steps(dtype: str) -> None:
    graph = access_graph(block(3, 4, dtype))
    for tile in (1, 3, 64):
        made = channel_cascade(graph, 0, 3, tile)
        (region,) = made.regions
        assert is_accumulated(graph, region)
        assert accumulator_bytes(graph, region) == (3 * 3 * 2 * 4 if dtype == "int8" else 0)
        assert region.n_steps == -(-64 // tile)
        offsets, size = side_by_side(made)
        assert check_by_value(made, offsets, size) > 0
        less = shrunk(made, 0, graph.operations[0].outputs[0])
        assert less is not None
        with pytest.raises(InvalidPlanError, match="must equal the value computed layer by layer"):
            check_by_value(less, offsets, size)


def test_two_dense_layers_along_channels_need_less_memory_at_the_same_multiplications() -> None:
    net = Network()
    net.add_dense(net.add_dense(net.input(1, 1, 16), 512), 8)
    result = cascade(net.graph(), CascadeOptions(check=True))
    rows = cascade(coarse(net.graph()))
    assert rows.points[-1].peak == rows.layers_peak == 512 + 16
    (point,) = result.points
    assert (point.peak, point.macs_ratio) == (16 + 4 * 8 + 1, 1.0)
    assert point.peak == point.estimate
    assert result.checked_positions == (0,)
    (told,) = result.model_dump(mode="json")["points"][0]["regions"]
    assert (told["kind"], told["channel_steps"]) == ("channels", 512)
    assert told["ranges"]["1"]["channels"] == {"A": 1, "B": 1, "top": 512, "steps": 512}


def test_a_region_along_channels_contains_a_global_pool_after_an_expansion() -> None:
    net = Network()
    net.add_dense(net.global_pool(net.conv(net.input(4, 4, 8), 128, 1)), 5)
    point = cascade(net.graph(), CascadeOptions(check=True)).points[-1]
    assert point.peak < cascade(coarse(net.graph())).points[-1].peak
    assert (point.peak, verify(point.problem, point.plan)) == (point.estimate, ())
    assert "channels" in [region.kind for region in point.cascade.regions]


def small_network(dtype: str = "int8") -> OperationGraph:
    net = Network(dtype=dtype)
    x = net.conv(net.input(20, 18, 3), 8, 3, 2)
    x = net.conv(add_excitation(net, net.depthwise(net.conv(x, 48, 1)), 4, "", "sigmoid"), 8, 1)
    x = net.concat(net.conv(net.pool(x, 3, 2, pad=1), 6), net.conv(x, 5, 3, 2))
    net.add_dense(net.global_pool(net.conv(net.depthwise(net.conv(x, 64, 1)), 4, 1)), 70)
    net.conv(x, 2)
    return net.graph()


WAYS: list[tuple[dict[str, Any], set[str]]] = [
    ({"output": "streamed"}, {"rows", "panels", "part", "channels"}),
    ({"alignment": 16}, {"rows", "panels", "channels"}),
    ({"stripe": (2, 3), "input": "streamed"}, {"pieces"}),
]


@pytest.mark.parametrize(("way", "kinds"), WAYS)
def test_a_point_executed_by_the_documented_rules_computes_correct_values(way: dict[str, Any], kinds: set[str]) -> None:
    graph = small_network()
    told = cascade(graph, CascadeOptions(**way)).model_dump(mode="json", by_alias=True)
    seen = set[str]()
    for point in told["points"]:
        Interpreter(access_graph(split_apart(graph)), told, point).run()
        seen |= {region["kind"] for region in point["regions"]} | ({"again"} if "origins" in point else set())
        seen |= {"part" for region in point["regions"] if min(region["stride"] or (0,)) < 0}
        seen |= {"pieces" for region in point["regions"] if region.get("pieces")}
    assert seen >= {"whole", "tiles", "again", *kinds}


def test_a_point_executed_at_wrong_offsets_has_a_wrong_output() -> None:
    graph = small_network()
    told = cascade(graph).model_dump(mode="json", by_alias=True)
    point = told["points"][-1]
    moved = {**point, "offsets": dict.fromkeys(point["offsets"], 0)}
    with pytest.raises(AssertionError, match="output"):
        Interpreter(access_graph(graph), told, moved).run()


def test_spans_are_derived_from_the_line_of_their_ends_or_from_a_table() -> None:
    assert spans({"A": 2, "B": -1, "top": 5, "steps": 5}) == [(0, 0), (0, 1), (1, 3), (3, 5), (5, 5)]
    assert np.array_equal(spans({"table": [[0, 2], [1, 3]]}), [(0, 2), (1, 3)])
