"""What a search leaves out, and says so: the clock, checks by value, inputs in pieces, graphs of little."""

from __future__ import annotations

import threading

import pytest

from memplan.capabilities.capability import Control
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.answer import CascadeAnswer
from memplan.capabilities.cascade.cascade import cascade, lines
from memplan.capabilities.cascade.core.kernels import FOUND_FROM, FOUND_TO, KIND_WHOLE
from memplan.capabilities.cascade.regions.execution import check_by_value
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.search import RegionSearch
from memplan.capabilities.cascade.search.solve import LOOKED_AT
from memplan.planner.errors import OptionError
from memplan.planner.operations.graph import graph_from
from memplan.planner.verify.verifier import verify
from tests.support.networks import NETWORKS, Network, two_convolutions


def test_what_the_end_of_the_time_cut_off_is_named() -> None:
    result = cascade(NETWORKS["mobilenet_v1"](), CascadeOptions(time_limit_s=1e-6))
    assert result.exhausted.cut_short[:1] == ("regions",)
    assert any(line.startswith("time was over") for line in lines(result))
    assert cascade(two_convolutions()).exhausted.cut_short == ()
    stopped = threading.Event()
    stopped.set()
    assert "regions" in cascade(two_convolutions(), control=Control(cancelled=stopped)).exhausted.cut_short


def test_answers_are_noted_in_the_given_order_then_layer_by_layer_and_then_with_the_points_so_far() -> None:
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
    assert check_by_value(point.cascade, *point.in_one_arena()) > 0
    assert found.points[-1].peak < first.layers_peak


def test_a_graph_of_many_operations_is_answered_by_the_peak_of_its_order_before_it_is_looked_at() -> None:
    noted: list[CascadeAnswer] = []
    chain = [{"in": [k], "out": [k + 1]} for k in range(2_001)]
    graph = graph_from({"size": [k % 7 + 1 for k in range(2_002)], "ops": chain})
    cascade(graph, CascadeOptions(time_limit_s=1e-6), Control(note=noted.append))
    first = noted[0]
    assert (first.layers_peak, first.layers_macs, first.points) == (13, None, ())
    assert first.exhausted.cut_short == LOOKED_AT
    assert [line.split(" ")[0] for line in lines(first)] == ["input", "layer", "time", "looked"]
    assert noted[1].points[0].peak == noted[1].layers_peak >= 13


def test_regions_across_the_highest_peak_are_looked_for_first() -> None:
    net = Network()
    x = net.input(16, 16, 2)
    for channels in (2, 2, 2, 40, 2):
        x = net.conv(x, channels)
    graph, ends = access_graph(net.graph()), [0]

    def is_over() -> bool:
        ends[0] += 1
        return ends[0] > 1

    # The time is over behind the first end of regions: that of the operation whose input and output are largest.
    found = RegionSearch(graph, CascadeOptions()).run(is_over)
    found = found[found[:, 6] != KIND_WHOLE]
    assert {*found[:, FOUND_TO].tolist()} == {4}
    assert found[:, FOUND_FROM].min() == 0


def test_one_point_is_checked_alone_and_others_with_the_fewest_runs_first() -> None:
    graph = two_convolutions()
    assert cascade(graph, CascadeOptions(point=-1, check=True)).checked == (0,)
    net = Network()
    x = net.conv(net.input(40, 40, 3), 8)
    net.conv(net.conv(x, 8), 2)
    every = cascade(net.graph())
    assert len(every.points) > 1
    alone = cascade(net.graph(), CascadeOptions(check=True, point=-1))
    assert [point.checked_by_value for point in alone.points] == [True]
    assert alone.exhausted.unchecked == 0


def test_rows_that_a_last_operation_of_one_row_skips_are_not_made() -> None:
    net = Network()
    net.conv(net.conv(net.input(8, 8, 2), 4, 1), 3, 1, 8, pad="valid")
    result = cascade(net.graph(), CascadeOptions(check=True))
    assert result.points[0].macs < result.graph.macs
    assert len(result.checked) == len(result.points)


def test_an_input_in_pieces_never_needs_more_than_a_whole_one() -> None:
    net = Network()
    x = net.conv(net.input(24, 24, 8), 6)
    a, b = net.conv(x, 12), net.conv(net.pool(x), 12)
    net.conv(net.concat(net.resize(b), a), 2)
    whole, pieces = (cascade(net.graph(), CascadeOptions(input=way)).points for way in ("resident", "streamed"))
    assert all(any(one.peak <= other.peak and one.macs <= other.macs for one in pieces) for other in whole)


def test_a_graph_without_operations_says_so() -> None:
    assert [*lines(cascade(graph_from({})))][2] == "the graph has no operations"


def test_no_region_goes_across_a_named_barrier() -> None:
    net = Network()
    x = net.input(16, 16, 2)
    for _ in range(3):
        x = net.conv(x, 4, 3)
    graph = net.graph()
    free = cascade(graph)
    assert any((region.first, region.end) == (0, 3) for point in free.points for region in point.cascade.regions)
    made = free.graph.tensors[free.graph.operations[1].outputs[0]].name
    for name in ("1", made):
        held = cascade(graph, CascadeOptions(barriers=(name,), check=True))
        regions = [region for point in held.points for region in point.cascade.regions]
        assert all(region.end - region.first == 1 for region in regions)
        assert [barrier.operation for barrier in held.barriers] == [1]
        assert held.points[-1].peak > free.points[-1].peak
        assert held.graph.macs == free.graph.macs
        assert len(held.checked) == len(held.points)


def test_a_barrier_must_be_there() -> None:
    with pytest.raises(OptionError) as refused:
        cascade(two_convolutions(), CascadeOptions(barriers=("7",)))
    assert refused.value.sentences == ('barriers: must be positions, names or outputs of operations, got "7"',)
