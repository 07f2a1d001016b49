"""Cascades of limited depth, without rolling, in one order, and sweeps over all of these."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from memplan.capabilities.capability import Control
from memplan.capabilities.cascade.answer import CascadeAnswer
from memplan.capabilities.cascade.cascade import cascade, lines
from memplan.capabilities.cascade.search.options import CascadeOptions, combinations
from memplan.planner.errors import OptionError
from memplan.planner.operations.graph import OperationGraph
from tests.support.depth import seeds
from tests.support.networks import Network, five_operations, heads_in_turns, two_convolutions
from tests.support.random_networks import random_blocks, random_network, random_six, random_units

DRAWN = (random_network, random_blocks, random_units, random_six)


def unpadded(layers: int) -> OperationGraph:
    """Convolutions of three rows without padding, the last one of which makes 8 rows of few channels."""
    net = Network()
    x = net.input(8 + 2 * layers, 16, 1)
    for k in range(layers):
        x = net.window("conv2d", x, 1 if k == layers - 1 else 32, (3, 1), pad=((0, 0), (0, 0)))
    return net.graph()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_deeper_a_region_without_rolling_the_more_is_made_again(depth: int) -> None:
    graph, height, steps = unpadded(depth), 2, 4
    options = CascadeOptions(stripe=(height, 0), rolling=False, check=True)
    found = cascade(graph, options)
    # The operation k places before the last one makes 2k rows more than the stripe, in each of its steps.
    macs = [row.macs * 16 for row in reversed(found.graph.operations)]
    again = sum(each * steps * (height + 2 * k) for k, each in enumerate(macs))
    assert again in [point.macs for point in found.points]
    assert len(found.checked) == len(found.points)
    assert found.without_rolling is None
    shallow = cascade(graph, options.model_copy(update={"longest": depth - 1}))
    assert again not in [point.macs for point in shallow.points]


def test_without_rolling_nothing_is_kept_from_step_to_step() -> None:
    plain = cascade(five_operations(), CascadeOptions(rolling=False))
    regions = [region for point in plain.points for region in point.cascade.regions]
    assert {hold.mode for region in regions for hold in region.holds.values()} <= {"recompute", "whole"}
    rolling = cascade(five_operations())
    assert rolling.without_rolling is not None
    least = plain.points[-1]
    assert (
        (rolling.without_rolling.peak, rolling.without_rolling.macs) == (least.peak, least.macs) == (19_520, least.macs)
    )


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(24))
def test_no_limit_of_the_depth_finds_what_no_deeper_one_finds(seed: int) -> None:
    rng = random.Random(seed)
    graph = DRAWN[seed % 4](rng)
    options = CascadeOptions(input=rng.choice(["resident", "streamed"]), output=rng.choice(["resident", "streamed"]))
    fronts = []
    for longest in (1, 2, 3, 60):
        found = cascade(graph, options.model_copy(update={"longest": longest, "check": seed % 4 == 3}))
        lengths = [region.end - region.first for point in found.points for region in point.regions]
        assert max(lengths) <= longest
        assert seed % 4 < 3 or len(found.checked) == len(found.points)
        fronts.append([(point.peak, point.macs) for point in found.points])
    for shallow, deep in pairwise(fronts):
        for peak, macs in shallow:
            assert any(p <= peak and m <= macs for p, m in deep), (seed, peak, macs)


def test_a_limit_holds_for_regions_of_graphs_in_which_operations_run_again() -> None:
    # Of this network other repeats would be found, and more, if regions were short from the start.
    graph = random_network(random.Random(108))
    options = CascadeOptions(input="streamed")
    short, free = (cascade(graph, options.model_copy(update={"longest": longest})).points for longest in (2, 60))
    assert all(any(q.peak <= p.peak and q.macs <= p.macs for q in free) for p in short)


def test_one_order_is_searched_alone() -> None:
    graph, peaks = heads_in_turns(), dict[str, int]()
    for orders in ("given", "depth-first", "breadth-first", "heads-early", "least-peak"):
        found = cascade(graph, CascadeOptions.model_validate({"macs": 1.0, "orders": orders, "check": True}))
        assert found.exhausted.orders == 0
        assert len(found.checked) == len(found.points)
        assert [row.kind for row in found.operations] == [op.kind for op in graph.ops]
        point = found.points[-1]
        ran = range(len(graph.ops)) if point.origins is None else point.origins
        assert sorted(ran) == list(range(len(graph.ops)))
        assert (list(ran) == sorted(ran)) or orders != "given"
        peaks[orders] = point.peak
    several = cascade(graph, CascadeOptions(macs=1.0)).points[-1].peak
    assert several == min(peaks.values()) == peaks["depth-first"] < peaks["given"]


def test_a_sweep_has_what_each_combination_finds_alone_and_answers_with_the_lowest_peak() -> None:
    graph = five_operations()
    noted: list[CascadeAnswer] = []
    options = CascadeOptions(sweep={"longest": (1, 3), "rolling": (True, False)}, macs=1.5)
    found = cascade(graph, options, Control(note=noted.append))
    assert found.combinations == len(found.swept) == 4
    for row in found.swept:
        alone = cascade(graph, CascadeOptions.model_validate({"macs": 1.5, **row.values}))
        assert [(p.peak, p.macs) for p in row.points] == [(p.peak, p.macs) for p in alone.points]
    assert found.points[-1].peak == min(point.peak for row in found.swept for point in row.points)
    assert [len(each.swept) for each in noted if each.swept] == [1, 2, 3, 4]
    assert not noted[0].swept, "the first answer does not wait for a whole combination"
    table = list(lines(found))
    assert table[0].startswith("longest 1, rolling yes:  ")
    assert table[4] == "4 of 4 combinations; the one with the lowest peak:"


def test_combinations_for_which_there_is_no_time_are_counted() -> None:
    found = cascade(two_convolutions(), CascadeOptions(sweep={"stripe": (1, 2, 3)}, time_limit_s=1e-6))
    assert (found.combinations, len(found.swept)) == (3, 1)
    assert "1 of 3 combinations; the one with the lowest peak:" in lines(found)


def test_sweeps_are_read_from_texts_and_go_over_tiles_and_memories() -> None:
    texts = CascadeOptions.model_validate({"sweep": ("stripe=1,6x6", "rolling=yes,no", "orders=given,depth-first")})
    assert texts.sweep == {"stripe": (1, "6x6"), "rolling": (True, False), "orders": ("given", "depth-first")}
    assert [each.stripe for _, each in combinations(texts, texts.sweep)] == [(1, 0)] * 4 + [(6, 6)] * 4
    pools = CascadeOptions.model_validate({"sweep": ["pools=fast=4KiB,slow=64KiB;fast=16KiB,slow=64KiB"]})
    rows = cascade(two_convolutions(), pools).swept
    assert [row.points[-1].slow_traffic is not None for row in rows] == [True, True]
    assert rows[0].points[-1].peak <= 4096


@pytest.mark.parametrize(
    ("sweep", "rule"),
    [
        ({"point": (1,)}, "sweep: must name options of a cascade"),
        ({"longest": range(1, 60), "brick": range(1, 20)}, "sweep: must have at most 100 combinations, got 1121"),
        (("longest",), "sweep: must be NAME=VALUE,VALUE"),
        ({"longest": (61,)}, "longest: must be at most 60, got 61"),
        ({"stripe": (1, "6y6")}, "stripe: must be rows, or rows x columns"),
    ],
)
def test_wrong_sweeps_are_refused(sweep: object, rule: str) -> None:
    values = {name: tuple(each) for name, each in sweep.items()} if isinstance(sweep, dict) else sweep
    with pytest.raises(OptionError) as refused:
        CascadeOptions.model_validate({"sweep": values})
    assert rule in str(refused.value)
