"""Advice on reserved bytes: each row equals the result of a separately written simulator with the same change."""

import pickle
from typing import Any

import pytest

from memplan.extensions.torch.inside.answer import fits_of_snapshot
from memplan.extensions.torch.tests.plain_allocator import MIB, PlainAllocator
from memplan.planner.errors import OptionError


def fill_growing_segments(allocator: PlainAllocator) -> PlainAllocator:
    """Allocate blocks of growing size; each leaves a segment that is too small for the next block."""
    allocator.place("weights", 30 * MIB)
    for k, size in enumerate((40, 60, 80, 100)):
        allocator.place(k, size * MIB)
        allocator.place(("kept", k), 3 * MIB)
        allocator.free_block(k)
    allocator.place("last", 220 * MIB)
    return allocator


def test_rows_of_advice_equal_the_bytes_of_a_separate_simulator() -> None:
    now = fill_growing_segments(PlainAllocator())
    (device,) = fits_of_snapshot(pickle.dumps(now.snapshot({})), advise=True).devices
    rows = {row.change: row for row in device.advice.rows}
    assert device.advice.reserved == now.most
    priming = rows["priming block"]
    assert priming.is_least
    size = int(priming.line.partition("(")[2].partition(",")[0])
    primed = PlainAllocator()
    primed.place("first", size)
    primed.free_block("first")
    assert fill_growing_segments(primed).most == priming.reserved < now.most
    split = int(rows["max_split_size_mb"].line.rpartition(":")[2])
    assert fill_growing_segments(PlainAllocator(largest_split=split * MIB)).most == rows["max_split_size_mb"].reserved


def test_advice_is_refused_for_an_allocator_that_is_not_simulated() -> None:
    data: Any = pickle.dumps(fill_growing_segments(PlainAllocator()).snapshot({}))
    with pytest.raises(OptionError, match="advise: must be used with a simulated allocator, got plan"):
        fits_of_snapshot(data, advise=True, allocator="plan")
