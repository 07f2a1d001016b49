"""Latencies of cascades on a target, compared with a simple recount of all steps and the bytes that regions count."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from memplan import Target
from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.cascade import cascade, latency_of, lines
from memplan.extensions.cascade.regions.counts import bytes_by_tensor
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Span, is_accumulated
from memplan.extensions.cascade.search.options import CascadeOptions, Delivery
from memplan.extensions.cascade.search.search import RegionSearch
from memplan.planner.errors import OptionError
from tests.support.depth import seeds
from tests.support.networks import five_operations, two_convolutions
from tests.support.random_networks import random_blocks, random_cascade, random_network


def machine(native: int = 1, rate: float = 16, bandwidth: float = 8, capacity: int = 65536, **link: Any) -> Target:
    return Target(
        memories=[{"name": "fast", "capacity": capacity}, {"name": "slow"}],
        links=[{"bandwidth": bandwidth, **link}],
        engine={"native": [native, native], "rate": rate},
    )


def recount(cascade: Cascade, target: Target, slow: set[int]) -> tuple[float, int]:
    """Return the time of a cascade and its bytes over the link, recounted step by step."""
    graph, time, total = cascade.graph, 0.0, 0
    over, held = slow | set(cascade.streamed), {t for region in cascade.regions for t in region.pieces}
    for t in graph.inputs:
        if t in cascade.streamed and t not in held:
            time, total = time + transfer(target, graph.tensors[t].bytes), total + graph.tensors[t].bytes
    for region in cascade.regions:
        steps = list(steps_of(graph, region))
        for number, step in enumerate(steps):
            moved, work = 0, 0.0
            for t, made in region.pieces.items():
                moved += length(made.rows[step[0]]) * length(made.columns[step[1]]) * graph.tensors[t].pixel
            for v in region.ops:
                is_last = number == len(steps) - 1
                bytes_, macs = operation_figures(graph, region, v, step, over, target.engine.height, is_last)
                moved, work = moved + bytes_, work + macs / (target.engine.rate or 1)
            time, total = time + max(work, transfer(target, moved)), total + moved
    return time, total


def steps_of(graph: AccessGraph, region: CascadeRegion) -> product[tuple[int, ...]]:
    rows, columns = region.steps
    return product(range(rows), range(columns), range(region.channel_steps or 1))


def transfer(target: Target, size: int) -> float:
    (link,) = target.links
    bursts = (size + link.burst - 1) // link.burst
    return link.latency + bursts * link.burst / link.bandwidth if size else 0.0


def length(span: Span) -> int:
    return span[1] - span[0]


def operation_figures(
    graph: AccessGraph, region: CascadeRegion, v: int, step: tuple[int, ...], over: set[int], native: int, is_last: bool
) -> tuple[int, float]:
    """Return the bytes over the link and the multiplications of an operation in one step."""
    row, (y, x, k) = graph.operations[v], step
    held = {t for t, hold in region.buffer_by_tensor.items() if hold.mode != "whole"}
    held -= {t for t in over if not graph.readers[t]}
    moved, is_striped = 0, row.role == "striped"
    out = graph.tensors[row.outputs[0]] if row.outputs else None
    if region.kind == "whole":
        macs, _ = graph.cost_of_alternative(v, region.alternative)
        moved = row.weights + sum(graph.tensors[r.tensor].bytes for r in row.reads if r.tensor in over)
        moved += sum(graph.tensors[t].bytes for t in row.outputs if t in over)
        if is_striped and out is not None:
            area = -(-out.rows // native) * native * (-(-out.columns // native) * native)
            return moved, -(-macs // (out.rows * out.columns)) * area
        return moved, macs
    made = region.ranges[v]
    rows, columns = made.rows[y], made.columns[x]
    if not length(rows) or not length(columns):
        return 0, 0
    area, adds_up = length(rows) * length(columns), v == region.end - 1 and is_accumulated(graph, region)
    assert out is not None
    part, parts = 1, 1
    if region.kind == "channels":
        part = length(made.channels[k])
        parts = graph.tensors[row.reads[0].tensor].channels if adds_up else out.channels
    moved = -(-row.weights * part // parts)
    for read in row.reads:
        source = graph.tensors[read.tensor]
        if read.tensor not in over or read.tensor in held:
            continue
        if region.kind == "channels":
            is_part = read.channels == "same" or adds_up
            moved += -(-source.bytes * part // parts) if is_part else source.bytes
        else:
            spans = rows, columns
            if is_striped:
                spans = read.rows.input_range(*rows, source.rows), read.columns.input_range(*columns, source.columns)
            moved += length(spans[0]) * length(spans[1]) * source.pixel
    if row.outputs[0] in over and row.outputs[0] not in held:
        if not is_striped or adds_up:
            moved += out.bytes if is_last else 0
        else:
            moved += area * -(-out.pixel * part // parts)
    if not is_striped:
        whole = sum(length(a) for a in made.rows) * sum(length(b) for b in made.columns) * parts
        return moved, row.macs * area * part / whole
    tiles = -(-length(rows) // native) * native * (-(-length(columns) // native) * native)
    return moved, row.macs * tiles * part / parts


def draw_cascade(seed: int, ways: list[Delivery]) -> tuple[Cascade, set[int]]:
    rng = random.Random(seed)
    graph = random_blocks(rng) if seed % 3 == 0 else random_network(rng, 5)
    options = CascadeOptions(input=rng.choice(ways), output=rng.choice(ways))
    one = random_cascade(graph, options, RegionSearch(graph, options).run(), rng)
    whole = set(range(len(graph.tensors))) - {
        t for region in one.regions for t, hold in region.buffer_by_tensor.items() if hold.mode != "whole"
    }
    return one, set(rng.sample(sorted(whole), rng.randint(0, len(whole))))


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(30))
def test_latencies_of_drawn_cascades_equal_a_recount_step_by_step(seed: int) -> None:
    one, slow = draw_cascade(seed, ["resident", "streamed"])
    rng = random.Random(seed)
    native, rate, bandwidth = rng.choice([1, 3]), rng.choice([1, 16]), rng.choice([0.5, 8])
    target = machine(native, rate, bandwidth, latency=rng.choice([0, 7]), burst=rng.choice([1, 32]))
    time, _ = recount(one, target, slow)
    assert latency_of(one, target, slow) == pytest.approx(time, rel=1e-9)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(30))
def test_bytes_over_the_link_equal_those_counted_from_regions(seed: int) -> None:
    one, slow = draw_cascade(seed, ["resident"])
    graph = one.graph
    # With an infinitely fast engine and one byte per unit of time, the latency equals the number of bytes.
    moved = latency_of(one, machine(rate=1e15, bandwidth=1), slow)
    slices = sum(region.channel_steps or 0 for region in one.regions) * 40
    counted = sum(bytes_ for t, bytes_ in bytes_by_tensor(one).items() if t in slow)
    for region in one.regions:
        for v in region.ops:
            made = region.ranges.get(v)
            times = 1 if made is None or region.kind == "channels" else runs(made.rows) * runs(made.columns)
            counted += graph.operations[v].weights * times
    # Allow for slices of channels, which are rounded up to bytes.
    assert counted - 1e-6 <= moved <= counted + slices + 1e-6


def runs(spans: tuple[Span, ...]) -> int:
    return sum(b > a for a, b in spans)


def test_less_slow_traffic_lowers_the_latency_and_a_point_that_does_not_fit_has_no_latency() -> None:
    target = machine(bandwidth=0.25, capacity=16 * 1024)
    options = CascadeOptions(pools=(("fast", 16 * 1024), ("slow", 2**20)), macs=1.0)
    found = cascade(five_operations(), options, target=target)
    assert all(point.latency is not None for point in found.points)
    layers = found.points[-1]
    assert (layers.peak, len(layers.regions)) == (0, 5)
    # S3.19: on a slow link, the cascade is faster than layer by layer, as it moves fewer bytes.
    least = min(found.points, key=lambda point: point.slow_traffic or 0)
    assert (least.slow_traffic or 0) * 10 < (layers.slow_traffic or 0)
    assert (least.latency or 0) < (layers.latency or 0)
    alone = cascade(five_operations(), CascadeOptions(), target=target)
    assert [point.latency for point in alone.points if point.peak > 16 * 1024] == [None] * len(alone.points)
    assert alone.layers_latency is None


def test_many_short_steps_are_slow_on_a_link_with_a_high_latency() -> None:
    found = cascade(five_operations(), target=machine(latency=100, capacity=2**18))
    assert found.layers_latency == 5_160_960 / 16
    first, second = found.points[:2]
    assert first.macs < second.macs
    assert (first.latency or 0) > 2 * (second.latency or 0)
    for point in found.points:
        time, _ = recount(point.cascade, machine(latency=100), set())
        assert point.latency == pytest.approx(time)
    assert f"latency {first.latency:,.1f}" in " ".join(lines(found))
    assert "latency" not in cascade(two_convolutions()).points[0].model_dump()


def test_cascade_refuses_a_target_without_a_rate_of_arithmetic() -> None:
    target = machine()
    without = target.model_copy(update={"engine": target.engine.model_copy(update={"rate": None})})
    with pytest.raises(OptionError, match=r"target\.engine\.rate: is required"):
        cascade(two_convolutions(), target=without)
