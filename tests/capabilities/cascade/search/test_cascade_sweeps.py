"""Cascades without rolling buffers, in even steps, in one order, and sweeps over all of these."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from memplan.api.reports.sweep_picture import sweep_picture
from memplan.capabilities.cascade.answer import answer_of
from memplan.capabilities.cascade.cascade import CAPABILITY, lines
from memplan.capabilities.cascade.cascade import CascadeOptions as Requested
from memplan.capabilities.cascade.cascade import cascade as requested
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.solve import cascade
from memplan.planner.errors import OptionError
from memplan.planner.operations.graph import OperationGraph
from tests.support.networks import Network, heads_in_turns, two_convolutions


def unpadded(layers: int) -> OperationGraph:
    """Return convolutions of three rows without padding, the last one of which makes 8 rows and few channels."""
    net = Network()
    x = net.input(8 + 2 * layers, 16, 1)
    for k in range(layers):
        x = net.window("conv2d", x, 1 if k == layers - 1 else 32, (3, 1), pad=((0, 0), (0, 0)))
    return net.graph()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_deeper_a_region_without_rolling_the_more_is_made_again(depth: int) -> None:
    graph, height, steps = unpadded(depth), 2, 4
    options = CascadeOptions(stripe=(height, 0), rolling=False, channels=False)
    result = cascade(graph, options, check=True)
    # The operation k places before the last one makes 2k rows more than the stripe, in each of its steps.
    macs = [row.macs * 16 for row in reversed(result.graph.operations)]
    again = sum(each * steps * (height + 2 * k) for k, each in enumerate(macs))
    assert again in [point.macs for point in result.points]
    assert len(result.checked) == len(result.points)
    rolling = cascade(graph, replace(options, rolling=True, macs=1.0)).points
    assert rolling[-1].peak < result.layers_peak
    assert rolling[-1].macs == result.graph.macs < again


def test_without_rolling_nothing_is_kept_from_step_to_step_and_values_are_the_same() -> None:
    net = Network()
    x = net.input(24, 24, 3)
    for channels in (8, 8, 2):
        x = net.conv(x, channels, 3)
    plain = cascade(net.graph(), CascadeOptions(rolling=False), check=True)
    assert len(plain.checked) == len(plain.points)
    regions = [region for point in plain.points for region in point.cascade.regions]
    assert {hold.mode for region in regions for hold in region.holds.values()} <= {"recompute", "whole"}
    assert {region.kind for region in regions} <= {"whole", "rows", "tiles", "channels"}
    rolling = cascade(net.graph())
    assert rolling.without_rolling is not None
    assert (rolling.without_rolling.peak, rolling.without_rolling.macs) == (
        plain.points[-1].peak,
        plain.points[-1].macs,
    )
    assert plain.without_rolling is None
    assert any(line.startswith("without rolling") for line in lines(answer_of(rolling)))
    assert all(any(a.peak <= b.peak and a.macs <= b.macs for a in rolling.points) for b in plain.points)
    assert rolling.points[-1].macs < plain.points[-1].macs


def test_ragged_steps_are_counted_and_left_out_on_request() -> None:
    ragged = requested(two_convolutions(), Requested(stripe=(5, 7)))
    region = ragged.points[-1].regions[0]
    # 24 rows are 4 times 5 and 4, as many columns 3 times 7 and 3.
    assert (region.steps, region.ragged, region.waste) == ((5, 4), 20 - 4 * 3, round(25 * 28 / 576 - 1, 6))
    assert any("8 of them ragged" in line for line in lines(ragged))
    even = requested(two_convolutions(), Requested(stripe=(5, 7), even=True))
    assert [region.kind for point in even.points for region in point.regions] == ["whole", "whole"]
    net = Network()
    x = net.input(14, 14, 3)
    for channels in (8, 4):
        x = net.conv(x, channels, 3)
    for is_even in (True, False):
        found = requested(net.graph(), Requested(even=is_even))
        counts = [region.ragged for point in found.points for region in point.regions if region.kind != "whole"]
        assert counts
        assert not (is_even and any(counts))


def test_one_order_is_searched_alone_and_named_orders_are_legal() -> None:
    graph, peaks = heads_in_turns(), {}
    for order in ("given", "depth-first", "breadth-first", "heads-early", "least-peak"):
        found = cascade(graph, CascadeOptions(macs=1.0, order=order), check=True)
        assert found.exhausted.orders == 0
        assert len(found.checked) == len(found.points)
        assert all(barrier.operation < len(graph.ops) for barrier in found.barriers)
        peaks[order] = found.points[-1].peak
    assert peaks["depth-first"] == 5_152 < peaks["given"]


def test_a_sweep_has_a_row_for_each_combination_and_answers_with_the_lowest_peak() -> None:
    net = Network()
    x = net.input(24, 24, 3)
    for channels in (8, 8, 2):
        x = net.conv(x, channels, 3)
    sweep = {"longest": (1, 2, 3), "rolling": (True, False)}
    found = requested(net.graph(), Requested.model_validate({"sweep": sweep}))
    assert [(row.values["longest"], row.values["rolling"]) for row in found.swept] == [
        (longest, rolling) for longest in (1, 2, 3) for rolling in (True, False)
    ]
    for row in found.swept:
        alone = requested(net.graph(), Requested.model_validate(row.values))
        assert [point.peak for point in row.points] == [point.peak for point in alone.points]
    every = [(point.peak, point.macs, point.is_best) for row in found.swept for point in row.points]
    for peak, macs, is_best in every:
        assert is_best == (not any(p <= peak and m <= macs and (p, m) != (peak, macs) for p, m, _ in every))
    assert found.points[-1].peak == min(peak for peak, _, _ in every)
    assert next(iter(lines(found))).split() == ["longest", "rolling", "least", "peak", "MACs", "traffic"]
    picture = sweep_picture("net", found.swept)
    assert picture.count("<circle") == 2 * len(found.swept)
    assert "rolling no" in picture
    body = json.loads(CAPABILITY.write(found))
    assert (len(body["swept"]), body["combinations"]) == (6, 6)


def test_sweeps_are_read_from_texts_and_go_over_tiles_memories_and_orders() -> None:
    texts = Requested.model_validate({"sweep": ("stripe=1,6x6", "rolling=yes,no", "order=given,depth-first")})
    assert texts.sweep == {"stripe": (1, "6x6"), "rolling": (True, False), "order": ("given", "depth-first")}
    with pytest.raises(OptionError):
        Requested.model_validate({"sweep": ("stripe=1,6y6",)})
    pools = requested(
        two_convolutions(), Requested.model_validate({"sweep": ["pools=fast=4KiB,slow=64KiB;fast=16KiB,slow=64KiB"]})
    )
    assert [row.points[-1].slow_traffic is not None for row in pools.swept] == [True, True]
    assert pools.swept[0].points[-1].peak <= 4096


@pytest.mark.parametrize(
    ("sweep", "rule"),
    [
        ({"point": (1,)}, "sweep: must name options of a cascade"),
        (
            {"longest": tuple(range(1, 60)), "beam": tuple(range(1, 20))},
            "sweep: must have at most 100 combinations, got 1121",
        ),
        (("longest",), "must be NAME=VALUE,VALUE"),
        ({"longest": (61,)}, "longest: must be from 1 to 60 operations"),
    ],
)
def test_wrong_sweeps_are_refused(sweep: object, rule: str) -> None:
    with pytest.raises(OptionError) as refused:
        Requested.model_validate({"sweep": sweep})
    assert rule in str(refused.value)
