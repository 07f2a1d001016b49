"""Cascades of known networks: points reach recorded peaks, plans are valid and as low as estimated, slides are safe."""

from dataclasses import replace

import pytest

from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.answer import CascadeAnswer
from memplan.extensions.cascade.cascade import cascade, lines
from memplan.extensions.cascade.core.kernels import KIND_ROWS, KIND_THIN, KIND_TILES
from memplan.extensions.cascade.regions.counts import check_slides
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.page.studies import point_labels
from memplan.planner.errors import InvalidPlanError, OptionError
from memplan.planner.verify.verifier import verify
from memplan.programs.operations.graph import graph_from
from tests.support.cascade_twin import peak_of_region, region_of
from tests.support.networks import NETWORKS, Network, two_convolutions


def best_within(result: CascadeAnswer, percent: float) -> int:
    return min(point.peak for point in result.points if point.macs_ratio <= 1 + percent / 100)


def test_cascade_of_two_convolutions_has_the_documented_peak_and_tiles() -> None:
    result = cascade(two_convolutions(), CascadeOptions(check=True))
    graph = result.graph
    assert [tensor.bytes for tensor in graph.tensors if tensor.rows > 1] == [2_028, 18_432, 4_608]
    assert result.layers_peak == 23_040
    assert [(point.peak, point.macs_ratio) for point in result.points] == [(6_668, 1.0)]
    assert result.checked_positions == (0,)
    # The region has 16 tiles of 6 x 6 x 32 bytes.
    region = region_of(graph, CascadeOptions(), (0, 2, 0, 0, 0, 0, KIND_TILES, 6, 6, 0))
    assert (region.steps, region.buffer_by_tensor[2].bytes) == ((4, 4), 1_152)


def test_cascade_of_an_image_of_one_row_has_the_same_peaks_as_of_one_column() -> None:
    results = list[CascadeAnswer]()
    for sizes in ((96, 1), (1, 96)):
        net = Network("line")
        net.conv(net.conv(net.conv(net.input(*sizes, 4), 16, 5), 16, 3, 2), 4)
        results.append(cascade(net.graph(), CascadeOptions(check=True)))
    tall, wide = results
    assert tall.layers_peak == wide.layers_peak > 3 * best_within(tall, 0)
    assert best_within(wide, 0) == best_within(tall, 0)
    assert [point.peak for point in wide.points] == [point.peak for point in tall.points]
    assert all(point.checked_by_value for point in wide.points)


def test_the_table_reports_that_no_region_can_be_cut_into_the_given_stripes() -> None:
    net = Network("line")
    net.conv(net.conv(net.input(1, 96, 4), 16), 4)
    told = "no region                      can be cut into stripes of 2 and 8"
    assert told in lines(cascade(net.graph(), CascadeOptions(stripe=(2, 8))))
    assert not any(row.startswith("no region") for row in lines(cascade(net.graph(), CascadeOptions(stripe=(1, 8)))))


def test_points_choose_among_the_alternatives_of_operations_that_run_as_a_whole() -> None:
    others = [{"name": "winograd", "work": 30, "cost": 20}, {"name": "direct", "cost": 90}]
    ops = [{"in": [0], "out": [1], "cost": 50, "work": 5, "alternatives": others}]
    ops.append({"in": [1], "out": [2], "alternatives": [{"work": 40, "cost": 3}]})
    found = cascade(graph_from({"size": [8, 6, 4], "kept": [2], "ops": ops}), CascadeOptions(macs=9))
    chosen = [(point.peak, point.macs, [region.alternative for region in point.regions]) for point in found.points]
    # The second operation, a barrier, needs neither multiplications nor work unless an alternative is chosen.
    assert chosen == [(44, 20, [1, 0]), (19, 50, [0, 0]), (14, 90, [2, 0])]
    assert found.barriers[0].bytes == 14
    assert [(row.id, row.size) for row in found.points[0].problem.buffers if "work" in str(row.id)] == [("work_0", 30)]


def test_a_sliding_output_lowers_the_peak_of_stripes_of_rows() -> None:
    graph = access_graph(two_convolutions())
    region = region_of(graph, CascadeOptions(), (0, 2, 0, 0, 0, 0, KIND_ROWS, 1, 0, 0))
    assert region.buffer_by_tensor[2].bytes + sum(graph.tensors[t].bytes for t in (0, 4)) == 7_404
    (point,) = cascade(two_convolutions(), CascadeOptions(overlap="sliding", check=True)).points
    assert (point.peak, len(point.slides)) == (5_610, 1)


@pytest.mark.parametrize(
    ("name", "height", "between"),
    [
        ("tvm_double_convolution", 1, 3_376),
        ("tvm_double_convolution", 2, 13_504),
        ("tvm_depthwise", 1, 10_464),
        ("tvm_depthwise", 2, 13_952),
    ],
)
def test_ring_buffers_in_bricks_of_16_channels_have_the_bytes_of_tvm(name: str, height: int, between: int) -> None:
    graph = access_graph(NETWORKS[name](), brick=16)
    region = region_of(graph, CascadeOptions(), (0, len(graph.operations), 0, 0, 0, 0, KIND_ROWS, height, 0, 0))
    assert sum(hold.bytes for hold in region.buffer_by_tensor.values() if hold.mode != "whole") == between


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "recorded"),
    [
        ("mobilenet_v1", CascadeOptions(), [(0, 326_144), (5, 269_472), (10, 261_280)]),
        ("mobilenet_v1", CascadeOptions(overlap="sliding"), [(0, 232_960)]),
        ("mobilenet_v2", CascadeOptions(), [(0, 274_176), (5, 206_408), (10, 195_320)]),
        ("mobilenet_v2", CascadeOptions(overlap="sliding"), [(0, 198_912)]),
        ("mobilenet_v2", CascadeOptions(input="streamed"), [(0, 130_592), (5, 66_968), (10, 53_728)]),
        ("vgg16", CascadeOptions(), [(0, 652_288), (5, 516_288), (10, 487_808)]),
        ("vgg16", CascadeOptions(overlap="sliding"), [(0, 501_760)]),
        ("unet", CascadeOptions(), [(0, 437_248)]),
        ("espcn", CascadeOptions(input="streamed", output="streamed"), [(0, 191_360)]),
    ],
)
def test_cascades_reach_recorded_peaks(name: str, options: CascadeOptions, recorded: list[tuple[int, int]]) -> None:
    result = cascade(NETWORKS[name](), options)
    assert all(best_within(result, percent) <= peak for percent, peak in recorded)
    for point in result.points:
        assert verify(point.problem, point.plan) == ()
        assert point.slides or point.peak == point.estimate
    peaks, macs = zip(*((point.peak, point.macs) for point in result.points), strict=True)
    assert list(peaks) == sorted(set(peaks), reverse=True)
    assert list(macs) == sorted(set(macs))


@pytest.mark.slow
def test_unet_as_a_single_region_computes_correct_values_in_its_planned_arena() -> None:
    point = cascade(NETWORKS["unet"](), CascadeOptions(macs=1.0)).points[0]
    assert [(region.first_operation, region.end) for region in point.cascade.regions] == [(0, 27)]
    assert check_by_value(point.cascade, point.offsets, point.peak) > 4_000_000


def test_the_options_fit_and_macs_omit_points_beyond_their_bounds() -> None:
    graph = NETWORKS["mobilenet_v1"]()
    within = cascade(graph, CascadeOptions(fit=300_000))
    assert within.points
    assert all(point.peak <= 300_000 for point in within.points)
    assert all(point.macs_ratio <= 1.05 for point in cascade(graph, CascadeOptions(macs=1.05)).points)
    assert cascade(graph, CascadeOptions(fit=1_000)).points == ()


def test_cascade_accepts_an_empty_graph_and_a_graph_of_zero_size_tensors() -> None:
    nothing = cascade(graph_from({}), CascadeOptions(check=True))
    assert (nothing.layers_peak, nothing.barriers) == (0, ())
    graph = graph_from({"size": [0, 0], "kept": [1], "ops": [{"in": [0], "out": [1]}]})
    assert [point.peak for point in cascade(graph, CascadeOptions(check=True)).points] == [0]


def test_a_long_chain_of_strided_convolutions_of_one_pixel_does_not_overflow() -> None:
    net = Network()
    x = net.input(2, 2, 1)
    for _ in range(70):
        x = net.conv(x, 1, 3, 2)
    assert cascade(net.graph(), CascadeOptions(check=True)).points


def test_a_global_pool_before_a_later_reader_is_reported_as_a_barrier_with_its_live_bytes() -> None:
    net = Network()
    wide = net.depthwise(net.conv(net.input(12, 12, 2), 24))
    net.conv(net.mul(wide, net.conv(net.global_pool(wide), 24, 1)), 2, 1)
    result = cascade(net.graph(), CascadeOptions(macs=1.0))
    (barrier,) = result.barriers
    assert (barrier.operation, barrier.kind) == (2, "global_average_pool")
    assert barrier.reason == "is accumulated over all rows, so a region ends with it"
    assert barrier.bytes == 12 * 12 * 24 + 24
    assert barrier.bytes <= result.points[-1].peak


@pytest.mark.parametrize("is_late", [False, True])
def test_output_branches_share_one_streamed_region_whatever_the_order_of_their_operations(is_late: bool) -> None:
    net = Network()
    trunk = net.conv(net.conv(net.input(64, 64, 3), 16, 3, 2), 16, 3)
    deep = net.conv(trunk, 32, 3, 2) if is_late else None
    net.conv(trunk, 8, 1)
    net.conv(net.conv(net.conv(trunk, 32, 3, 2) if deep is None else deep, 32, 3), 8, 1)
    result = cascade(net.graph(), CascadeOptions(input="streamed", output="streamed", check=True))
    best = result.points[-1]
    # The peak counts rings of the trunk and of the deeper branch, and one row of each head, but no whole tensor.
    assert (best.peak, best.macs_ratio) == (5_824, 1.0)
    assert [(region.first_operation, region.end) for region in best.cascade.regions] == [(0, 6)]
    assert (result.checked_positions, result.barriers) == (tuple(range(len(result.points))), ())


def test_steps_of_a_quarter_row_lower_the_peak_if_earlier_operations_compute_several_rows_per_row() -> None:
    net = Network()
    net.conv(net.conv(net.conv(net.input(40, 40, 3), 16, 3), 16, 3, 2), 24, 3, 2)
    options = CascadeOptions(input="streamed", output="streamed", macs=1.0)
    result = cascade(net.graph(), options.model_copy(update={"check": True}))
    (region,) = result.points[-1].cascade.regions
    whole_rows, _ = peak_of_region(result.graph, options, (0, 3, 0, 0, 0, 0, KIND_ROWS, 1, 0, 0))
    assert region.stride is not None
    assert (region.stride[0], result.points[-1].peak, whole_rows) == (-4, 3_264, 5_120)
    assert result.checked_positions == (0,)


def test_a_region_of_narrow_column_strips_recomputes_the_wide_tensor_and_keeps_its_small_input_in_a_ring() -> None:
    net = Network()
    narrow = net.conv(net.conv(net.input(24, 24, 3), 8, 3), 4, 1)
    net.conv(net.depthwise(net.conv(narrow, 48, 1), 7), 4, 1)
    options = CascadeOptions(input="streamed", output="streamed")
    result = cascade(net.graph(), options.model_copy(update={"check": True}))
    assert len(result.checked_positions) == len(result.points)
    thin = region_of(result.graph, options, (0, 5, 0, 0, 0, 0, KIND_THIN, 4, 1, 0))
    assert [thin.buffer_by_tensor[2 * tensor].mode for tensor in (1, 2, 3)] == ["roll", "roll", "recompute"]
    assert thin.buffer_by_tensor[6].bytes == 10 * 7 * 48


def test_points_that_were_not_checked_in_time_are_counted() -> None:
    # Checking unet's point by value takes seconds, so the time ends before the check does.
    result = cascade(NETWORKS["unet"](), CascadeOptions(macs=1.0, check=True, time_limit_s=0.4))
    assert result.points
    assert (result.checked_positions, result.exhausted.unchecked) == ((), len(result.points))


def test_a_single_selected_point_keeps_its_number_in_the_table() -> None:
    result = cascade(NETWORKS["mobilenet_v1"](), CascadeOptions(macs=1.05))
    assert len(result.points) > 2
    chosen = result.add_plans(2)
    assert (chosen.first, chosen.points[0].plan) == (2, result.points[2].plan)
    for found, numbers in ((result, [*range(len(result.points))]), (chosen, [2])):
        assert [line.split()[1] for line in lines(found) if line.startswith("cascade")] == list(map(str, numbers))
        assert point_labels(found) == ["layer by layer", *(f"cascade {k}" for k in numbers)]


def test_a_check_by_value_of_a_graph_that_writes_a_tensor_twice_is_refused() -> None:
    tensor = {"shape": [1, 8, 8, 1], "dtype": "int8"}
    ops = [{"in": [0], "out": [1], "kind": "relu"}, {"in": [0, 1], "out": [1], "kind": "add"}]
    graph = graph_from({"size": [64, 64], "kept": [1], "tensors": [tensor] * 2, "ops": ops})
    with pytest.raises(OptionError, match=r"got ops\[1\], which writes tensor 1 again"):
        cascade(graph, CascadeOptions(check=True))
    assert cascade(graph).layers_peak > 0


def test_check_slides_rejects_an_output_that_begins_one_byte_too_low() -> None:
    (point,) = cascade(two_convolutions(), CascadeOptions(overlap="sliding")).points
    assert check_slides(point.cascade, point.slides) > 20
    (region,) = [region for region in point.cascade.regions if region.slide is not None]
    assert region.slide.down > 0
    low = region.slide.model_copy(update={"down": region.slide.down - 1})
    wrong = replace(point.cascade, regions=(region.model_copy(update={"slide": low}),))
    with pytest.raises(InvalidPlanError, match="must end below byte"):
        check_slides(wrong, (low,))


def test_the_option_sliding_is_refused_for_tensors_that_are_not_stored_row_by_row() -> None:
    graph = replace(access_graph(two_convolutions()), layout="NCHW")
    assert cascade(graph).points
    with pytest.raises(OptionError, match="sliding: needs tensors that are stored row by row"):
        cascade(graph, CascadeOptions(overlap="sliding"))
