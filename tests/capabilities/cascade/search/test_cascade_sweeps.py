"""Cascades without rolling buffers, steps of several sizes, and sweeps over options."""

from __future__ import annotations

import json

import pytest

from memplan.api.reports.sweep_picture import sweep_picture
from memplan.capabilities.cascade.answer import answer_of
from memplan.capabilities.cascade.cascade import CAPABILITY, lines
from memplan.capabilities.cascade.cascade import CascadeOptions as Requested
from memplan.capabilities.cascade.cascade import cascade as requested
from memplan.capabilities.cascade.regions.execution import check_by_value
from memplan.capabilities.cascade.search.solve import cascade
from memplan.planner.errors import OptionError
from tests.support.networks import Network, two_convolutions


def test_without_rolling_nothing_is_kept_from_step_to_step_and_values_are_the_same() -> None:
    net = Network()
    x = net.input(24, 24, 3)
    for channels in (8, 8, 2):
        x = net.conv(x, channels, 3)
    rolling = cascade(net.graph())
    plain = rolling.without_rolling
    assert plain is not None
    check_by_value(plain.cascade, *plain.in_one_arena())
    regions = plain.cascade.regions
    assert {hold.mode for region in regions for hold in region.holds.values()} <= {"recompute", "whole"}
    assert {region.kind for region in regions} <= {"whole", "rows", "tiles", "channels"}
    assert any(line.startswith("without rolling") for line in lines(answer_of(rolling)))
    assert any(point.peak <= plain.peak and point.macs <= plain.macs for point in rolling.points)
    assert rolling.points[-1].macs < plain.macs


def test_ragged_steps_are_counted() -> None:
    ragged = requested(two_convolutions(), Requested(stripe=(5, 7)))
    region = ragged.points[-1].regions[0]
    # 24 rows are 4 times 5 and 4, as many columns 3 times 7 and 3.
    assert (region.steps, region.ragged, region.waste) == ((5, 4), 20 - 4 * 3, round(25 * 28 / 576 - 1, 6))
    assert any("8 of them ragged" in line for line in lines(ragged))


def test_a_sweep_has_a_row_for_each_combination_and_answers_with_the_lowest_peak() -> None:
    net = Network()
    x = net.input(24, 24, 3)
    for channels in (8, 8, 2):
        x = net.conv(x, channels, 3)
    sweep = {"stripe": (1, 2, 4), "channels": (True, False)}
    found = requested(net.graph(), Requested.model_validate({"sweep": sweep}))
    assert [(row.values["stripe"], row.values["channels"]) for row in found.swept] == [
        (stripe, channels) for stripe in (1, 2, 4) for channels in (True, False)
    ]
    for row in found.swept:
        alone = requested(net.graph(), Requested.model_validate(row.values))
        assert [point.peak for point in row.points] == [point.peak for point in alone.points]
    every = [(point.peak, point.macs, point.is_best) for row in found.swept for point in row.points]
    for peak, macs, is_best in every:
        assert is_best == (not any(p <= peak and m <= macs and (p, m) != (peak, macs) for p, m, _ in every))
    assert found.points[-1].peak == min(peak for peak, _, _ in every)
    assert next(iter(lines(found))).split() == ["stripe", "channels", "least", "peak", "MACs", "traffic"]
    picture = sweep_picture("net", found.swept)
    assert picture.count("<circle") == 2 * len(found.swept)
    assert "channels no" in picture
    body = json.loads(CAPABILITY.write(found))
    assert (len(body["swept"]), body["combinations"]) == (6, 6)


def test_sweeps_are_read_from_texts_and_go_over_tiles_and_memories() -> None:
    texts = Requested.model_validate({"sweep": ("stripe=1,6x6", "channels=yes,no", "overlap=none,sliding")})
    assert texts.sweep == {"stripe": (1, "6x6"), "channels": (True, False), "overlap": ("none", "sliding")}
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
            {"stripe": tuple(range(1, 60)), "brick": tuple(range(1, 20))},
            "sweep: must have at most 100 combinations, got 1121",
        ),
        (("stripe",), "must be NAME=VALUE,VALUE"),
        ({"alignment": (3,)}, "alignment: must be a power of two"),
    ],
)
def test_wrong_sweeps_are_refused(sweep: object, rule: str) -> None:
    with pytest.raises(OptionError) as refused:
        Requested.model_validate({"sweep": sweep})
    assert rule in str(refused.value)
