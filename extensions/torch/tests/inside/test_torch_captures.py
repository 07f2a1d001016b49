"""CUDA graphs in shared pools: the order of captures, pools, and outputs equal those of a separate simulator."""

import json
import pickle
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.extensions.torch.inside.advice import Advice
from memplan.extensions.torch.inside.answer import fits_of_snapshot
from memplan.extensions.torch.tests.plain_allocator import MIB, PlainAllocator
from memplan.planner.errors import OptionError

SIDES = range(12, 23)
"""Eleven resolutions, as a detector is trained on; a graph's bytes grow with their squares."""


def capture(allocator: PlainAllocator, side: int, pool: tuple[int, int], *, is_kept: bool = True) -> None:
    """Capture a graph: activations that all stay until their gradients free them, and one output that is kept."""
    allocator.label = f"side{side}"
    names = [f"{side}.{k}" for k in range(6)]
    for k, name in enumerate(names):
        allocator.place(name, side * side * (k + 2) * (MIB // 16), 3, pool)
    allocator.place(f"{side}.output", side * side * (MIB // 64), 3, pool)
    for name in reversed(names):
        allocator.free_block(name)
    if not is_kept:
        allocator.free_block(f"{side}.output")
    allocator.label = ""


def captured_graphs(
    sides: Sequence[int], *, pools: bool = False, is_kept: bool = True, buffer: int = 0
) -> PlainAllocator:
    """Return an allocator after weights, and the graphs of all sides in one pool or in a pool for each."""
    allocator = PlainAllocator()
    if buffer:
        allocator.place("buffer", buffer)
    allocator.place("weights", 100 * MIB)
    for side in sides:
        capture(allocator, side, (0, side if pools else 1), is_kept=is_kept)
    return allocator


def advice_of(allocator: PlainAllocator, **options: Any) -> Advice:
    (device,) = fits_of_snapshot(pickle.dumps(allocator.snapshot({})), advise=True, **options).devices
    assert device.advice is not None
    return device.advice


@pytest.mark.parametrize("pools", [False, True])
def test_the_order_of_captures_removes_bytes_reserved_for_growing_graphs(pools: bool) -> None:
    recorded = captured_graphs(SIDES, pools=pools)
    advice = advice_of(recorded)
    (pool,) = advice.captures.pools
    rows = {row.change: row for row in advice.rows}
    order = [int(name.partition("side")[2]) for name in pool.graphs]
    assert sorted(order) == [*SIDES]
    best = captured_graphs(order)
    assert rows["order of captures"].reserved == best.most == pool.reserved + 100 * MIB
    assert advice.captures.recorded + 100 * MIB == captured_graphs(SIDES).most
    # Growing captures reserve 1.9 times what the largest graph needs; the order found reserves 1.1 times as much.
    assert captured_graphs(SIDES).most > 1.5 * best.most
    assert pool.lower_bound <= pool.reserved < 1.2 * pool.lower_bound
    if pools:
        assert rows["one pool for all graphs"].reserved == captured_graphs(SIDES).most < recorded.most / 3
    size = advice.captures.outputs_peak
    assert size == 22 * 22 * (MIB // 64)
    assert advice.captures.outputs == sum(-(-side * side * (MIB // 64) // 512) * 512 for side in SIDES)
    shared = captured_graphs(order, is_kept=False, buffer=size)
    assert rows["one buffer for the outputs of all graphs"].reserved == shared.most
    assert f"outputs = torch.empty({size}," in rows["one buffer for the outputs of all graphs"].line


def test_the_order_of_few_captures_is_the_least_of_all_orders() -> None:
    sides = (14, 19, 12, 22)
    advice = advice_of(captured_graphs(sides))
    assert advice.captures.is_least
    assert advice.captures.reserved + 100 * MIB == min(captured_graphs(each).most for each in permutations(sides))


def test_a_buffer_shared_by_all_outputs_has_the_bytes_of_the_largest_output() -> None:
    allocator = PlainAllocator()
    for graph, size in ((1, 60), (2, 40), (3, 50)):
        allocator.place((graph, "temporary"), 20 * MIB, 3, (0, graph))
        allocator.place((graph, "output"), size * MIB, 3, (0, graph))
        allocator.free_block((graph, "temporary"))
        allocator.place(("eager", graph), 2 * MIB)
    rows = {row.change: row.reserved for row in advice_of(allocator).rows}
    assert rows["order of captures"] == (20 + 60 + 40 + 50 + 20) * MIB
    assert rows["one buffer for the outputs of all graphs"] == (60 + 20 + 60 + 20) * MIB


def test_graphs_that_may_run_at_once_get_different_pools() -> None:
    sides = (12, 13, 21, 22)
    pair = [("graph0.1:side21", "graph0.1:side22")]
    apart = advice_of(captured_graphs(sides), together=pair)
    assert len(apart.captures.pools) == 2
    assert all(not {*pair[0]} <= {*pool.graphs} for pool in apart.captures.pools)
    assert apart.captures.reserved > advice_of(captured_graphs(sides)).captures.reserved
    assert apart.captures.outputs_peak == (21 * 21 + 22 * 22) * (MIB // 64)
    (device,) = fits_of_snapshot(pickle.dumps(captured_graphs(sides).snapshot({})), together=pair).devices
    (turns,) = fits_of_snapshot(pickle.dumps(captured_graphs(sides).snapshot({}))).devices
    assert device.turns is not None
    largest = sum(k + 2 for k in range(6)) * (MIB // 16) + MIB // 64
    assert turns.turns.peak_in_turns == 22 * 22 * largest
    assert device.turns.peak_in_turns == (21 * 21 + 22 * 22) * largest
    assert turns.turns.peak == 22 * 22 * largest + sum(side * side for side in sides[:3]) * (MIB // 64)


def test_advice_reports_captures_whose_order_a_snapshot_does_not_show() -> None:
    allocator = PlainAllocator()
    for k in range(2):
        for graph in (1, 2):
            allocator.place((graph, k), 3 * MIB, 3, (0, graph))
    advice = advice_of(allocator)
    assert advice.captures is None
    assert any("graph0.1 and graph0.2 allocate in turns" in text for text in advice.unsure)
    (device,) = fits_of_snapshot(pickle.dumps(captured_graphs(SIDES).snapshot({}, cut=8)), advise=True).devices
    assert any("captured before the history begins" in text for text in device.advice.unsure)


def test_the_option_together_refuses_graphs_that_the_snapshot_lacks(tmp_path: Path, capsys: Any) -> None:
    data = captured_graphs((12, 13)).snapshot({})
    with pytest.raises(OptionError, match=r"together: must name CUDA graphs .*graph0.1:side12.*, got graph0.9"):
        fits_of_snapshot(pickle.dumps(data), together=[("graph0.9", "graph0.1:side12")])
    plain = PlainAllocator()
    plain.place("weights", 3 * MIB)
    with pytest.raises(OptionError, match="together: must be omitted, got a snapshot without CUDA graphs"):
        fits_of_snapshot(pickle.dumps(plain.snapshot({})), together=[("a", "b")])
    path = tmp_path / "graphs.pickle"
    path.write_bytes(pickle.dumps(data))
    words = ["fits", str(path), "--advise", "--together", "graph0.1:side12,graph0.1:side13"]
    assert main([*words, "--format", "table"]) == 0
    assert "capture in this order, a pool for each list: graph0.1:side13; graph0.1:side12" in capsys.readouterr().out
    assert main(words) == 0
    assert len(json.loads(capsys.readouterr().out)["devices"][0]["advice"]["captures"]["pools"]) == 2
