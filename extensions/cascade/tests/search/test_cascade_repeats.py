"""Cascades of graphs in which operations run again or in another order, and of units of recent networks."""

import random

import pytest

from memplan.extensions.cascade.access.access_graph import AccessGraph, repeat_operations
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.cascade import cascade
from memplan.extensions.cascade.regions.values import values_by_layers
from memplan.extensions.cascade.search.options import CascadeOptions, Delivery
from memplan.extensions.cascade.search.passes import chains_with_passes, variant_of
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.planner.verify.verifier import verify
from memplan.programs.operations.graph import OperationGraph
from memplan.solvers.core.tables import Rows
from tests.support.depth import seeds
from tests.support.networks import NETWORKS, Network, heads_in_turns
from tests.support.newer_networks import add_excitation, regnet_y_400mf, se_twice, shufflenet_v2
from tests.support.random_networks import random_network, random_units

DELIVERIES: tuple[Delivery, ...] = ("resident", "streamed")


def squeeze_network(size: int = 12) -> OperationGraph:
    net = Network()
    wide = net.depthwise(net.conv(net.input(size, size, 2), 24))
    net.conv(net.mul(wide, net.conv(net.global_pool(wide), 24, 1)), 2, 1)
    return net.graph()


def test_a_squeeze_and_excite_block_is_recomputed_instead_of_kept_across_its_pool() -> None:
    graph = squeeze_network()
    once = cascade(graph, CascadeOptions(macs=1.0, check=True))
    assert min(point.peak for point in once.points) >= 12 * 12 * 24
    result = cascade(graph, CascadeOptions(check=True))
    assert len(result.checked_positions) == len(result.points)
    lowest = result.points[-1]
    assert lowest.peak < 12 * 12 * 24 / 3
    assert (lowest.peak, verify(lowest.problem, lowest.plan)) == (lowest.estimate, ())
    assert result.exhausted.repeats > 0
    origins = lowest.cascade.graph.origins
    assert set(origins) == set(range(len(graph.ops)))
    assert lowest.macs_ratio == round(lowest.macs / result.graph.macs, 6) > 1
    assert result.model_dump()["points"][-1]["origins"] == origins
    assert "origins" not in once.model_dump()["points"][-1]


@pytest.mark.drawn
def test_operations_that_run_again_compute_the_same_values_as_before() -> None:
    seen = 0
    for seed in seeds(12):
        rng = random.Random(seed)
        graph = random_network(rng)
        striped = [v for v, row in enumerate(graph.operations[:-1]) if row.role == "striped"]
        late = rng.randint(1, len(graph.operations) - 1)
        chosen = [v for v in striped if v < late and rng.random() < 0.6]
        again = repeat_operations(graph, {late: chosen})
        again = repeat_operations(again, {late: [v for v in chosen if v + 1 < late][:2]})
        before, after = values_by_layers(graph, seed), values_by_layers(again, seed)
        for tensor, origin in enumerate(again.tensor_origins or range(len(before))):
            assert (after[tensor] == before[origin]).all()
            seen += tensor != origin
    assert seen > 15


def test_the_bounds_fit_and_macs_hold_for_points_with_repeated_operations() -> None:
    assert all(point.macs_ratio <= 1.3 for point in cascade(squeeze_network(), CascadeOptions(macs=1.3)).points)
    assert all(point.peak <= 1_200 for point in cascade(squeeze_network(), CascadeOptions(fit=1_200)).points)
    assert cascade(access_graph(squeeze_network()), CascadeOptions(time_limit_s=1e-6)).exhausted.repeats == 0


@pytest.mark.slow
def test_efficientnet_b0_with_repeated_operations_reaches_its_recorded_peak() -> None:
    points = cascade(NETWORKS["efficientnet_b0"](), CascadeOptions(macs=1.2)).points
    assert points[-1].peak <= 251_360
    assert points[-1].peak == points[-1].estimate


def test_two_blocks_that_both_determine_the_peak_are_repeated_together() -> None:
    result = cascade(se_twice(24), CascadeOptions(macs=1.6, check=True))
    assert len(result.checked_positions) == len(result.points)
    # Repeating only one of the two blocks would not lower the peak.
    assert result.points[-1].peak < 0.55 * result.points[0].peak
    assert all(point.peak == point.estimate for point in result.points)


def test_a_shortcut_read_late_is_recomputed_together_with_the_scaled_block() -> None:
    net = Network()
    stem = net.conv(net.input(32, 32, 3), 16, 3)
    wide = net.conv(net.conv(stem, 24, 1), 24, 3, 2)
    net.add(net.conv(net.mul(wide, net.conv(net.global_pool(wide), 24, 1)), 8, 1), net.conv(stem, 8, 1, 2))
    result = cascade(net.graph(), CascadeOptions(check=True))
    assert len(result.checked_positions) == len(result.points)
    assert result.points[-1].peak < 32 * 32 * 16 / 2


def test_a_region_may_begin_in_a_second_pass_and_end_at_a_sum_without_a_second_pass() -> None:
    net = Network()
    x = net.depthwise(net.conv(net.input(64, 64, 3), 32, 3, 2))
    x = net.conv(add_excitation(net, x, 8, "", ""), 16, 1)
    x = net.depthwise(net.conv(x, 128, 1), 3, 2)
    x = net.conv(add_excitation(net, x, 4, "", ""), 24, 1)
    y = net.depthwise(net.conv(x, 144, 1))
    net.add_dense(net.global_pool(net.add(x, net.conv(add_excitation(net, y, 4, "", ""), 24, 1))), 10)
    # If all sums had second passes at once, a peak of 49,216 would take 33.7 % more multiplications.
    assert [point for point in cascade(net.graph()).points if point.macs_ratio < 1.32][-1].peak <= 49_088


def test_the_search_examines_equal_blocks_only_once() -> None:
    efforts = []
    for count in (8, 24):
        search = RegionSearch(access_graph(_blocks(count)), CascadeOptions(), longest=6)
        search.run()
        efforts.append(search.effort.evaluated)
    assert efforts[0] == efforts[1]


def _blocks(count: int) -> OperationGraph:
    net = Network()
    x = net.conv(net.input(20, 20, 3), 4)
    for _ in range(count):
        x = net.add(x, net.conv(net.depthwise(net.conv(x, 12, 1)), 4, 1))
    net.conv(x, 2)
    return net.graph()


def test_interleaved_heads_are_reordered_one_after_the_other() -> None:
    graph = heads_in_turns()
    result = cascade(graph, CascadeOptions(macs=1.0, check=True))
    point = result.points[-1]
    assert result.exhausted.orders > 0
    assert point.peak == point.estimate
    assert (point.peak, result.layers_peak) == (5_152, 18_432)
    assert (verify(point.problem, point.plan), sorted(point.cascade.graph.origins)) == ((), list(range(len(graph.ops))))
    assert point.cascade.graph.origins != tuple(range(len(graph.ops)))
    assert point.macs_ratio == 1.0
    assert len(result.points) == len(result.checked_positions)


@pytest.mark.slow
def test_branches_of_shufflenet_are_ordered_by_the_memory_of_their_regions() -> None:
    # The branch with a ring must run before the other branch has an output; smaller networks do not show this.
    result = cascade(shufflenet_v2(), CascadeOptions(input="streamed", macs=1.05))
    assert result.points[-1].peak == result.points[-1].estimate == 123_268


def test_operations_with_a_required_order_are_not_reordered() -> None:
    net = Network()
    x = net.conv(net.input(24, 24, 3), 8)
    left, right = net.conv(x, 16), net.conv(x, 16)
    net.conv(left, 1)
    net.conv(right, 1)
    ops = list(net.graph().ops)
    ops[3] = ops[3].model_copy(update={"after": (2,)})
    for point in cascade(net.graph().model_copy(update={"ops": tuple(ops)})).points:
        origins = point.cascade.graph.origins or tuple(range(5))
        assert origins.index(2) < origins.index(3)


def test_no_other_order_of_a_chain_is_searched() -> None:
    net = Network()
    net.conv(net.conv(net.input(8, 8, 3), 4), 4)
    assert cascade(net.graph()).exhausted.orders == 0


@pytest.mark.slow
def test_a_graph_with_second_passes_is_also_searched_in_other_orders() -> None:
    # The shortcut of a squeezed block must run before its gate, so that the gate is not alive with three whole tensors.
    result = cascade(regnet_y_400mf(), CascadeOptions(macs=1.11))
    assert result.points[-1].peak == result.points[-1].estimate <= 313_612


@pytest.mark.drawn
@pytest.mark.slow
def test_plans_of_drawn_units_reach_the_estimated_peak_and_compute_correct_values() -> None:
    again = 0
    for seed in seeds(3):
        rng = random.Random(seed)
        graph, options = random_units(rng), CascadeOptions(input=rng.choice(DELIVERIES), output=rng.choice(DELIVERIES))
        assert all(row.role != "barrier" for row in graph.operations)
        result = cascade(graph, options.model_copy(update={"check": True}))
        assert len(result.checked_positions) == len(result.points) > 0
        assert all(point.peak == point.estimate for point in result.points)
        again += any(len(point.cascade.graph.operations) > len(graph.operations) for point in result.points)
    assert again


@pytest.mark.drawn
@pytest.mark.slow
def test_each_joint_chain_with_second_passes_exists_in_its_own_graph_at_no_higher_cost() -> None:
    for seed in seeds(3, 40):
        graph, options = random_units(random.Random(seed)), CascadeOptions()
        joined = chains_with_passes(variant_of(graph, RegionSearch(graph, options), lambda: False), _search_rows)
        if joined is None:
            continue
        for chain in joined.chains:
            alone = joined.graph_of_chain(chain)
            # The graph of a chain, searched alone, must have an equal chain, as joined cuts must not lower costs.
            own = variant_of(alone.graph, RegionSearch(alone.graph, options), lambda: False)
            assert any(other.peak <= chain.peak and other.macs <= chain.macs for other in own.chains)


def _search_rows(graph: AccessGraph) -> Rows:
    return RegionSearch(graph, CascadeOptions()).run()
