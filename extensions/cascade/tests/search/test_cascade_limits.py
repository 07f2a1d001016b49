"""Limits of the search for cascades, the report of the parts that they omit, and sweeps over limits."""

import random
import threading
from functools import partial
from itertools import pairwise

import pytest

from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.answer import CascadeAnswer
from memplan.extensions.cascade.cascade import cascade, lines
from memplan.extensions.cascade.core.kernels import FOUND_FROM, FOUND_TO, KIND_WHOLE
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.search import orders as other
from memplan.extensions.cascade.search.options import CascadeOptions, swept_options
from memplan.extensions.cascade.search.orders import alternative_orders
from memplan.extensions.cascade.search.passes import variant_of
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.extensions.cascade.search.solve import LOOKED_AT
from memplan.planner.errors import OptionError, TimeOverError
from memplan.planner.verify.verifier import verify
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.order.search.solve import order_operations
from memplan.questions.question import Control
from tests.support.depth import seeds
from tests.support.networks import NETWORKS, Network, five_operations, heads_in_turns, two_convolutions
from tests.support.random_networks import random_blocks, random_network, random_six, random_units


def test_the_answer_names_the_parts_of_the_search_that_the_time_limit_cut_short() -> None:
    result = cascade(NETWORKS["mobilenet_v1"](), CascadeOptions(time_limit_s=1e-6))
    assert (result.exhausted.cut_short[:1], result.exhausted.intervals) == (("regions",), False)
    assert result.layers_peak == 1_204_224
    assert any(line.startswith("time was over") for line in lines(result))
    complete = cascade(two_convolutions()).exhausted
    assert (complete.cut_short, complete.intervals) == ((), True)
    stopped = threading.Event()
    stopped.set()
    assert "regions" in cascade(two_convolutions(), control=Control(cancelled=stopped)).exhausted.cut_short


def test_preliminary_answers_come_first_without_points_then_layer_by_layer_then_with_points() -> None:
    noted: list[CascadeAnswer] = []
    found = cascade(two_convolutions(), CascadeOptions(), Control(note=noted.append))
    assert (noted[0].layers_macs, noted[0].points) == (None, ())
    first = noted[1]
    assert noted[0].layers_peak == first.layers_peak
    assert (first.points[0].peak, first.points[0].macs_ratio) == (first.layers_peak, 1.0)
    assert not first.exhausted.intervals
    assert first.exhausted.cut_short == LOOKED_AT
    point = first.points[0]
    verify(point.problem, point.plan)
    assert check_by_value(point.cascade, *point.join_memories()) > 0
    assert found.points[-1].peak < first.layers_peak


def test_the_answer_for_a_large_graph_is_the_live_peak_of_its_order_if_no_time_is_left() -> None:
    noted: list[CascadeAnswer] = []
    chain = [{"in": [k], "out": [k + 1]} for k in range(2_001)]
    graph = graph_from({"size": [k % 7 + 1 for k in range(2_002)], "ops": chain})
    found = cascade(graph, CascadeOptions(time_limit_s=1e-6), Control(note=noted.append))
    (first,) = noted
    assert found is first
    assert (first.layers_peak, first.layers_macs, first.points) == (13, None, ())
    assert first.exhausted.cut_short == LOOKED_AT
    assert [line.split(" ")[0] for line in lines(first)] == ["input", "layer", "time", "looked"]
    with pytest.raises(TimeOverError, match="must be enough to plan the graph layer by layer"):
        cascade(access_graph(graph), CascadeOptions(time_limit_s=1e-6))


def test_the_search_begins_with_regions_across_the_highest_peak() -> None:
    net = Network()
    x = net.input(16, 16, 2)
    for channels in (2, 2, 2, 40, 2):
        x = net.conv(x, channels)
    graph, ends = access_graph(net.graph()), [0]

    def is_over() -> bool:
        ends[0] += 1
        return ends[0] > 1

    # The time ends after one end of regions was searched: the operation with the largest input and output.
    found = RegionSearch(graph, CascadeOptions()).run(is_over)
    found = found[found[:, 6] != KIND_WHOLE]
    assert ({*found[:, FOUND_TO].tolist()}, found[:, FOUND_FROM].min()) == ({4}, 0)


def test_the_option_point_limits_the_check_by_value_to_that_point() -> None:
    assert cascade(two_convolutions(), CascadeOptions(point=-1, check=True)).checked_positions == (0,)
    net = Network()
    net.conv(net.conv(net.conv(net.input(40, 40, 3), 8), 8), 2)
    assert len(cascade(net.graph()).points) > 1
    alone = cascade(net.graph(), CascadeOptions(check=True, point=-1))
    assert [point.checked_by_value for point in alone.points] == [True]
    assert alone.exhausted.unchecked == 0


def test_a_region_does_not_compute_rows_that_its_strided_last_operation_skips() -> None:
    net = Network()
    net.conv(net.conv(net.input(8, 8, 2), 4, 1), 3, 1, 8, pad="valid")
    result = cascade(net.graph(), CascadeOptions(check=True))
    assert result.points[0].macs < result.graph.macs
    assert len(result.checked_positions) == len(result.points)


def test_a_streamed_input_never_needs_a_higher_peak_than_a_resident_one() -> None:
    net = Network()
    x = net.conv(net.input(24, 24, 8), 6)
    a, b = net.conv(x, 12), net.conv(net.pool(x), 12)
    net.conv(net.concat(net.resize(b), a), 2)
    whole, pieces = (cascade(net.graph(), CascadeOptions(input=way)).points for way in ("resident", "streamed"))
    assert all(any(one.peak <= other.peak and one.macs <= other.macs for one in pieces) for other in whole)


def test_the_table_of_an_empty_graph_reports_that_it_has_no_operations() -> None:
    assert [*lines(cascade(graph_from({})))][2] == "the graph has no operations"


def test_no_region_crosses_an_operation_named_as_barrier() -> None:
    net = Network()
    x = net.input(16, 16, 2)
    for _ in range(3):
        x = net.conv(x, 4, 3)
    graph = net.graph()
    free = cascade(graph)
    regions = [region for point in free.points for region in point.cascade.regions]
    assert any((region.first_operation, region.end) == (0, 3) for region in regions)
    made = free.graph.tensors[free.graph.operations[1].outputs[0]].name
    for name in ("1", made):
        held = cascade(graph, CascadeOptions(barriers=(name,), check=True))
        regions = [region for point in held.points for region in point.cascade.regions]
        assert all(region.end - region.first_operation == 1 for region in regions)
        assert [barrier.operation for barrier in held.barriers] == [1]
        assert held.points[-1].peak > free.points[-1].peak
        assert (held.graph.macs, len(held.checked_positions)) == (free.graph.macs, len(held.points))


def test_the_option_barriers_refuses_a_name_without_an_operation() -> None:
    with pytest.raises(OptionError) as refused:
        cascade(two_convolutions(), CascadeOptions(barriers=("7",)))
    rule = 'must be positions, names or outputs of operations, such as "conv2d_0", "conv2d_1", got "7"'
    assert refused.value.sentences == (f"barriers: {rule}",)


DRAWN = (random_network, random_blocks, random_units, random_six)


def unpadded_network(layers: int) -> OperationGraph:
    """Return a chain of convolutions of three rows without padding; the last one computes 8 rows of few channels."""
    net = Network()
    x = net.input(8 + 2 * layers, 16, 1)
    for k in range(layers):
        x = net.window("conv2d", x, 1 if k == layers - 1 else 32, (3, 1), pad=((0, 0), (0, 0)))
    return net.graph()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_a_region_without_rolling_recomputes_two_more_rows_a_step_for_each_further_operation(depth: int) -> None:
    graph, height, steps = unpadded_network(depth), 2, 4
    options = CascadeOptions(stripe=(height, 0), rolling=False, check=True)
    found = cascade(graph, options)
    # In each step, the operation k places before the last one computes 2k rows more than the stripe.
    macs = [row.macs * 16 for row in reversed(found.graph.operations)]
    again = sum(each * steps * (height + 2 * k) for k, each in enumerate(macs))
    assert again in [point.macs for point in found.points]
    assert len(found.checked_positions) == len(found.points)
    assert found.without_rolling is None
    shallow = cascade(graph, options.model_copy(update={"longest": depth - 1}))
    assert again not in [point.macs for point in shallow.points]


def test_regions_without_rolling_keep_no_rows_between_steps() -> None:
    plain = cascade(five_operations(), CascadeOptions(rolling=False))
    regions = [region for point in plain.points for region in point.cascade.regions]
    assert {hold.mode for region in regions for hold in region.buffer_by_tensor.values()} <= {"recompute", "whole"}
    rolling = cascade(five_operations())
    least = plain.points[-1]
    apart = rolling.without_rolling
    assert (apart.peak, apart.macs) == (least.peak, least.macs) == (19_520, least.macs)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(24))
def test_a_larger_limit_on_region_length_never_yields_worse_points(seed: int) -> None:
    rng = random.Random(seed)
    graph = DRAWN[seed % 4](rng)
    options = CascadeOptions(input=rng.choice(["resident", "streamed"]), output=rng.choice(["resident", "streamed"]))
    fronts = []
    for longest in (1, 2, 3, 60):
        found = cascade(graph, options.model_copy(update={"longest": longest, "check": seed % 4 == 3}))
        lengths = [region.end - region.first_operation for point in found.points for region in point.regions]
        assert max(lengths) <= longest
        assert seed % 4 < 3 or len(found.checked_positions) == len(found.points)
        fronts.append([(point.peak, point.macs) for point in found.points])
    for shallow, deep in pairwise(fronts):
        for peak, macs in shallow:
            assert any(p <= peak and m <= macs for p, m in deep), (seed, peak, macs)


def test_a_limit_on_region_length_never_improves_points_in_which_operations_run_again() -> None:
    # The seed is chosen so that short regions from the start would lead to other and more repeated operations.
    graph = random_network(random.Random(108))
    options = CascadeOptions(input="streamed")
    short, free = (cascade(graph, options.model_copy(update={"longest": longest})).points for longest in (2, 60))
    assert all(any(q.peak <= p.peak and q.macs <= p.macs for q in free) for p in short)


def test_the_option_orders_searches_only_the_named_order() -> None:
    graph, peaks = heads_in_turns(), dict[str, int]()
    for orders in ("given", "depth-first", "breadth-first", "heads-early", "least-peak"):
        found = cascade(graph, CascadeOptions(macs=1.0, orders=orders, check=True))
        assert (found.exhausted.orders, len(found.checked_positions)) == (0, len(found.points))
        assert [row.kind for row in found.operations] == [op.kind for op in graph.ops]
        point = found.points[-1]
        ran = range(len(graph.ops)) if point.origins is None else point.origins
        assert sorted(ran) == list(range(len(graph.ops)))
        assert (list(ran) == sorted(ran)) or orders != "given"
        peaks[orders] = point.peak
    several = cascade(graph, CascadeOptions(macs=1.0)).points[-1].peak
    assert several == min(peaks.values()) == peaks["depth-first"] < peaks["given"]


def test_a_sweep_returns_the_points_of_each_combination_and_the_answer_with_the_lowest_peak() -> None:
    graph = five_operations()
    noted: list[CascadeAnswer] = []
    options = CascadeOptions(sweep={"longest": (1, 3), "rolling": (True, False)}, macs=1.5)
    found = cascade(graph, options, Control(note=noted.append))
    assert found.combinations == len(found.swept) == 4
    for row in found.swept:
        alone = cascade(graph, CascadeOptions(macs=1.5, **row.values))
        assert [(p.peak, p.macs) for p in row.points] == [(p.peak, p.macs) for p in alone.points]
    assert found.points[-1].peak == min(point.peak for row in found.swept for point in row.points)
    assert [len(each.swept) for each in noted if each.swept] == [1, 2, 3, 4]
    assert not noted[0].swept, "the first answer does not wait for a whole combination"
    table = list(lines(found))
    assert table[0].startswith("longest 1, rolling yes:  ")
    assert table[4] == "4 of 4 combinations; the one with the lowest peak:"


def test_a_sweep_counts_the_combinations_that_had_no_time() -> None:
    found = cascade(two_convolutions(), CascadeOptions(sweep={"stripe": (1, 2, 3)}, time_limit_s=1e-6))
    assert (found.combinations, len(found.swept)) == (3, 1)
    assert "1 of 3 combinations; the one with the lowest peak:" in lines(found)


def test_sweeps_are_parsed_from_texts_with_tiles_and_memories_as_values() -> None:
    texts = CascadeOptions(sweep=("stripe=1,6x6", "rolling=yes,no", "orders=given,depth-first"))
    assert texts.sweep == {"stripe": (1, "6x6"), "rolling": (True, False), "orders": ("given", "depth-first")}
    assert [each.stripe for _, each in swept_options(texts, texts.sweep)] == [(1, 0)] * 4 + [(6, 6)] * 4
    rows = cascade(two_convolutions(), CascadeOptions(sweep=["pools=fast=4KiB,slow=64KiB;fast=16KiB,slow=64KiB"])).swept
    assert [row.points[-1].slow_traffic is not None for row in rows] == [True, True]
    assert rows[0].points[-1].peak <= 4096


def test_alternative_orders_start_no_search_after_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, found, asked = heads_in_turns(), list[object](), list[bool]()
    options = CascadeOptions()
    network = access_graph(graph)
    start = variant_of(network, RegionSearch(network, options), lambda: False)

    def search(*arguments: object, **options: object) -> object:
        found.append(arguments)
        return order_operations(*arguments, **options)  # type: ignore[arg-type]

    def is_over_behind(last: int) -> bool:
        asked.append(True)
        return len(asked) > last

    monkeypatch.setattr(other, "order_operations", search)
    searched = []
    for last in range(4):
        asked.clear()
        found.clear()
        list(alternative_orders(start, (), (), 10**18, partial(is_over_behind, last)))
        searched.append(len(found))
    assert (searched[:2], searched) == ([0, 1], sorted(searched))
