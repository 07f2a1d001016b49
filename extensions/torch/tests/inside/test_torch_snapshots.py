"""Snapshots of torch's allocator: the simulation places every block at its recorded address, on every stream."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.extensions.torch.files.allocator_settings import settings_of
from memplan.extensions.torch.files.caching_allocator import CachingAllocator
from memplan.extensions.torch.inside.answer import fits_of_snapshot
from memplan.extensions.torch.tests.plain_allocator import MIB, PlainAllocator
from memplan.planner.errors import OptionError

DIVISIONS = {str(1 << k): 4 for k in range(16)}


@pytest.mark.parametrize("cut", [0, 150])
@pytest.mark.parametrize(
    ("plain", "settings"),
    [
        ({}, {}),
        ({"largest_split": 32 * MIB}, {"max_split_size": 32 * MIB}),
        ({"parts": 4}, {"roundup_power2_divisions": DIVISIONS}),
        ({"parts": 4, "largest_split": 32 * MIB}, {"max_split_size": 32 * MIB, "roundup_power2_divisions": DIVISIONS}),
    ],
)
def test_the_simulation_places_each_block_at_its_recorded_address(plain: Any, settings: Any, cut: int) -> None:
    draw, allocator = Random(7), PlainAllocator(**plain)
    live: list[int] = []
    for k in range(500):
        if live and draw.random() < 0.48:
            allocator.free_block(live.pop(draw.randrange(len(live))))
        elif draw.random() < 0.02:
            allocator.empty_cache()
        else:
            stream, private = draw.choice([(0, None), (0, None), (7, None), (7, (0, 1)), (7, (0, 2))])
            size = draw.choice([1, 700, 40_000, MIB, MIB + 1, 3 * MIB, 9 * MIB, 11 * MIB, 33 * MIB, 70 * MIB])
            allocator.place(k, draw.randint(size // 2 + 1, size), stream, private)
            live.append(k)
    snapshot = allocator.snapshot(settings, cut)
    (device,) = fits_of_snapshot(pickle.dumps(snapshot), capacity="80GiB", time_limit_s=0.1).devices
    assert device.recorded is not None
    assert device.recorded.is_equal
    assert device.recorded.misplaced == 0
    assert device.recorded.simulated == device.recorded.reserved == allocator.most
    assert device.left is not None
    assert device.left.contiguous <= device.left.total <= device.left.most
    assert device.turns is not None
    assert device.turns.graphs == 2
    assert device.turns.peak is not None
    assert device.turns.peak <= device.turns.reserved


def test_cuda_graphs_that_run_in_turns_keep_their_outputs_and_share_other_bytes() -> None:
    allocator = PlainAllocator()
    for k in (1, 2):
        allocator.place((k, "kept"), 6 * MIB, 3, (0, k))
        allocator.place((k, "temporary"), 10 * MIB, 3, (0, k))
        allocator.free_block((k, "temporary"))
    allocator.place("eager", 30 * MIB)
    answer = fits_of_snapshot(json.dumps(allocator.snapshot({})).encode(), capacity="100MiB")
    (device,) = answer.devices
    assert device.turns is not None
    assert (device.turns.peak, device.turns.reserved) == (22 * MIB, 40 * MIB)
    assert device.peak == 30 * MIB + 2 * 16 * MIB
    assert answer.fits is True
    assert device.left is not None
    assert (device.left.most, device.left.contiguous) == (58 * MIB, 30 * MIB)
    assert fits_of_snapshot(json.dumps(allocator.snapshot({})).encode(), capacity="60MiB").fits is False


@pytest.mark.parametrize(
    ("text", "asked", "reserved"),
    [
        # The expected roundings are those of torch's own tests: 4 divisions for all sizes, and separate divisions per
        # size.
        ("roundup_power2_divisions:4", [84], 96),
        ("roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:1,>:1]", [84, 400], 88 + 448),
        ("cuda", [84, 400], 84 + 400),
        # A segment of 128 MiB is not split, so the next request gets a separate segment.
        ("max_split_size_mb:100", [128, -128, 50], 128 + 50),
        ("cuda", [128, -128, 50], 128),
        # Pages of 20 MiB are mapped after the free bytes, and the grown range is one block.
        ("expandable_segments:True", [30, -30, 50], 60),
        ("cuda", [30, -30, 50], 30 + 50),
        # Above half of 200 MiB, the oldest free segment is released before another segment is requested.
        ("garbage_collection_threshold:0.5", [60, 50, -60, 70], 60 + 50 + 70 - 60),
        ("cuda", [60, 50, -60, 70], 60 + 50 + 70),
    ],
)
def test_settings_of_the_allocator_change_the_reserved_bytes(text: str, asked: list[int], reserved: int) -> None:
    allocator = CachingAllocator(
        200 * MIB if "threshold" in text or asked[0] == 60 else None, None if text == "cuda" else settings_of(text)
    )
    blocks: dict[int, Any] = {}
    for size in asked:
        if size < 0:
            allocator.free_block(blocks.pop(-size))
        else:
            blocks[size] = allocator.malloc(size * MIB)
    assert allocator.reserved == reserved * MIB


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mimalloc", "allocator: must be cuda, plan, cpu, or settings as NAME:VALUE"),
        ("pinned_num_register_threads:8", "allocator: must be cuda"),
        ("max_split_size_mb:much", "allocator: must have numbers"),
    ],
)
def test_settings_that_are_not_simulated_are_refused(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        settings_of(text)


def test_the_command_fits_decides_whether_a_recorded_snapshot_fits(tmp_path: Path, capsys: Any) -> None:
    allocator = PlainAllocator()
    allocator.place("kept", 30 * MIB)
    path = tmp_path / "step.pickle"
    path.write_bytes(pickle.dumps(allocator.snapshot({})))
    assert main(["fits", str(path), "--capacity", "40MiB", "--format", "table"]) == 0
    assert "left: 10,485,760 bytes" in capsys.readouterr().out
    assert main(["fits", str(path), "--capacity", "20MiB"]) == 1
    assert json.loads(capsys.readouterr().out)["devices"][0]["fits"] is False
