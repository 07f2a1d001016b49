"""Units of newer networks: second passes, halves of channels, shuffles and heads, all equal by value."""

from __future__ import annotations

import random

import pytest

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.search.options import CascadeOptions, Delivery
from memplan.capabilities.cascade.search.passes import several_passes, variant_of
from memplan.capabilities.cascade.search.search import RegionSearch
from memplan.solvers.kernels.tables import Rows
from tests.support.depth import seeds
from tests.support.random_networks import random_units

DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


@pytest.mark.drawn
@pytest.mark.slow
def test_points_of_drawn_units_are_planned_at_their_estimate_and_equal_by_value() -> None:
    again = 0
    for seed in seeds(3):
        rng = random.Random(seed)
        graph, options = random_units(rng), CascadeOptions(input=rng.choice(DELIVERIES), output=rng.choice(DELIVERIES))
        assert all(row.role != "barrier" for row in graph.operations)
        result = cascade(graph, options.model_copy(update={"check": True}))
        assert len(result.checked) == len(result.points) > 0
        assert all(point.peak == point.estimate for point in result.points)
        again += any(len(point.cascade.graph.operations) > len(graph.operations) for point in result.points)
    assert again


@pytest.mark.drawn
@pytest.mark.slow
def test_joined_cuts_have_what_each_graph_with_second_passes_has() -> None:
    for seed in seeds(3, 40):
        graph, options = random_units(random.Random(seed)), CascadeOptions()
        given = variant_of(graph, RegionSearch(graph, options), lambda: False)
        joined = several_passes(given, _searched, 2**62)
        if joined is None:
            continue
        for chain in joined.chains:
            alone = joined.alone(chain)
            # The graph of a chain, searched by itself, has a chain as good: the joined cuts count nothing else.
            own = variant_of(alone.graph, RegionSearch(alone.graph, options), lambda: False)
            assert any(other.peak <= chain.peak and other.macs <= chain.macs for other in own.chains)


def _searched(graph: AccessGraph) -> Rows:
    return RegionSearch(graph, CascadeOptions()).run()
