"""Cascades of random networks: by value, against brute force, and the kernels against their plain twins."""

from __future__ import annotations

import random

import pytest

from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.regions.execution import check_by_value
from memplan.capabilities.cascade.search.front import front_of_three
from memplan.capabilities.cascade.search.options import CascadeOptions, Delivery
from memplan.capabilities.cascade.search.search import RegionSearch
from memplan.planner.errors import InvalidPlanError
from tests.support.cascade_fronts import beaten, beats, fronts_differ
from tests.support.cascade_twin import peak_of_region
from tests.support.depth import seeds
from tests.support.networks import five_operations
from tests.support.random_networks import random_blocks, random_cascade, random_network, shrunk, side_by_side

DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


def drawn_options(rng: random.Random) -> CascadeOptions:
    return CascadeOptions(input=rng.choice(DELIVERIES), output=rng.choice(DELIVERIES), alignment=rng.choice([1, 1, 16]))


@pytest.mark.drawn
@pytest.mark.slow
def test_random_regions_are_equal_by_value_and_one_row_less_fails() -> None:
    rows = tiles = refused = 0
    for seed in seeds(8):
        rng = random.Random(seed)
        graph = random_blocks(rng) if seed % 3 == 0 else random_network(rng)
        options = drawn_options(rng)
        found = RegionSearch(graph, options).run()
        for _ in range(3):
            drawn = random_cascade(graph, options, found, rng)
            offsets, size = side_by_side(drawn)
            check_by_value(drawn, offsets, size, seed)
            rows += sum(region.kind == "rows" for region in drawn.regions)
            tiles += sum(region.kind in ("tiles", "panels") for region in drawn.regions)
            for number, region in enumerate(drawn.regions):
                for tensor, hold in region.holds.items():
                    less = shrunk(drawn, number, tensor) if hold.mode != "whole" and hold.bytes else None
                    if less is not None:
                        with pytest.raises(InvalidPlanError, match="must be equal to the value layer by layer"):
                            check_by_value(less, offsets, size, seed)
                        refused += 1
    assert rows > 10
    assert tiles > 10
    assert refused > 40


@pytest.mark.drawn
def test_the_kernels_count_what_their_plain_twins_count() -> None:
    for seed in seeds(12, 60):
        rng = random.Random(seed)
        graph = random_blocks(rng) if seed % 3 == 0 else random_network(rng)
        options = drawn_options(rng)
        found = RegionSearch(graph, options).run()
        for row in found[rng.sample(range(len(found)), min(40, len(found)))].tolist():
            peak, costs = peak_of_region(graph, options, row)
            assert (peak, *costs) == tuple(row[2:6]), (seed, row)


@pytest.mark.drawn
def test_fronts_are_those_of_all_chains_of_the_regions_found() -> None:
    for seed in seeds(15, 200):
        assert fronts_differ(seed, 25) == []


def test_of_too_many_chains_some_are_followed_and_the_rest_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_network(random.Random(207), 5)
    found, n = RegionSearch(graph, CascadeOptions()).run(), len(graph.operations)
    every, none = front_of_three(found, n, 2**62)
    monkeypatch.setattr("memplan.capabilities.cascade.search.front.MOST_WAYS", 2)
    some, cut = front_of_three(found, n, 2**62)
    assert (len(every) > 2, none) == (True, 0)
    assert (len(some), cut > 0) == (2, True)
    assert some[-1].peak <= every[0].peak


@pytest.mark.parametrize("is_drawn", [True, False])
def test_points_by_three_objectives_have_those_by_two_among_them(is_drawn: bool) -> None:
    graph = random_network(random.Random(207), 5) if is_drawn else access_graph(five_operations())
    two = cascade(graph).points
    three = cascade(graph, CascadeOptions(objectives=("peak", "macs", "traffic"))).points
    costs = [(point.peak, point.macs, point.traffic) for point in three]
    assert {(point.peak, point.macs) for point in two} <= {cost[:2] for cost in costs}
    assert len(three) > len(two)
    assert not any(beats(one, other) for one in costs for other in costs)
    assert all(point.peak == point.estimate for point in three)


@pytest.mark.drawn
def test_no_regions_of_small_graphs_with_splits_heads_and_repeats_beat_those_found() -> None:
    for seed in seeds(15):
        assert beaten(seed) == []


def test_random_networks_are_planned_at_their_estimate_and_run_in_that_arena() -> None:
    slid = 0
    for seed in range(400, 405):
        rng = random.Random(seed)
        graph = random_network(rng)
        options = drawn_options(rng)
        result = cascade(graph, options.model_copy(update={"check": True}))
        assert all(point.peak == point.estimate for point in result.points)
        assert len(result.checked) == len(result.points) > 0
        sliding = cascade(graph, CascadeOptions(overlap="sliding", check=True))
        slid += sum(len(point.slides) for point in sliding.points)
        assert sliding.points[-1].peak <= cascade(graph).points[-1].peak
    assert slid > 2
