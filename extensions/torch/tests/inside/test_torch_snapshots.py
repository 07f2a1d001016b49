"""Snapshots of torch's allocator: the simulation places every block at its recorded address, on every stream."""

import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.extensions.torch.inside.answer import fits_of_snapshot
from memplan.extensions.torch.tests.plain_allocator import MIB, PlainAllocator
from memplan.planner.errors import OptionError
from memplan.runtimes.torch.allocator_settings import settings_of
from memplan.runtimes.torch.caching_allocator import CachingAllocator

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
    assert device.recorded.is_equal
    assert device.recorded.misplaced == 0
    assert device.recorded.simulated == device.recorded.reserved == allocator.most
    assert device.left.contiguous <= device.left.total <= device.left.most
    assert device.turns.graphs == 2
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
    assert (device.turns.peak, device.turns.reserved) == (22 * MIB, 40 * MIB)
    assert device.peak == 30 * MIB + 2 * 16 * MIB
    assert answer.fits is True
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


def test_a_block_older_than_the_history_has_the_bytes_that_were_not_split_off() -> None:
    allocator = PlainAllocator()
    for k, size in enumerate((12, 11, 13)):
        allocator.place(k, size * MIB - MIB // 4 * k)
    allocator.free_block(1)
    allocator.place("low", 10 * MIB)
    cut = len(allocator.trace)
    # The block of 10 MiB keeps the rest of a block of 10.75 MiB, so 11 MiB fit nowhere, and 3 MiB need a new segment.
    allocator.place("small", 3 * MIB)
    allocator.free_block("low")
    allocator.place("again", 10 * MIB + 700_000)
    (device,) = fits_of_snapshot(pickle.dumps(allocator.snapshot({}, cut))).devices
    assert (device.recorded.is_equal, device.recorded.misplaced) == (True, 0)
    assert device.recorded.notes[0].startswith("the history is incomplete: 3 storages are older")


def drop(snapshot: dict[str, Any], *actions: str) -> bytes:
    (trace,) = snapshot["device_traces"]
    return pickle.dumps({**snapshot, "device_traces": [[row for row in trace if row["action"] not in actions]]})


@pytest.mark.parametrize(
    ("actions", "missing", "is_counted"),
    [
        (("free_requested",), "", True),
        (("free_completed",), "free_completed", True),
        (("free_requested", "free_completed"), "free_completed", False),
        (("segment_alloc", "segment_free"), "segment_alloc, segment_free", False),
        (("alloc",), "alloc", False),
    ],
)
def test_advice_names_actions_missing_from_a_history(actions: tuple[str, ...], missing: str, is_counted: bool) -> None:
    allocator = PlainAllocator()
    for k, size in enumerate((30, 40, 50, 30, 20)):
        allocator.place(k, size * MIB)
        if k % 2:
            allocator.free_block(k)
    allocator.place("largest", 70 * MIB)
    allocator.free_block("largest")
    allocator.empty_cache()
    (whole,) = fits_of_snapshot(pickle.dumps(allocator.snapshot({}))).devices
    (device,) = fits_of_snapshot(drop(allocator.snapshot({}), *actions)).devices
    assert whole.recorded.notes == ()
    said = [text for text in device.recorded.notes if "was recorded without" in text]
    assert len(said) == (1 if missing else 0)
    assert all(f"recorded without {missing}, so" in text and "without skip_actions" in text for text in said)
    assert (device.live_peak == whole.live_peak) == is_counted or actions == ("segment_alloc", "segment_free")


def test_notes_name_unknown_events_and_failed_allocations() -> None:
    allocator = PlainAllocator()
    allocator.place("kept", 30 * MIB)
    rows = [("oom", 77 * MIB), ("annotate", 0), ("host_alloc", MIB), ("snapshot", 0)]
    allocator.trace += [{"action": action, "size": size, "stream": 0} for action, size in rows]
    (device,) = fits_of_snapshot(pickle.dumps(allocator.snapshot({}))).devices
    assert device.recorded.is_equal
    assert device.recorded.notes == (
        f"the recorded step ran out of memory 1 times, first for {77 * MIB} bytes",
        "events of an unknown kind are not counted: host_alloc",
    )


def test_sizes_of_segments_are_read_from_the_settings_of_a_snapshot() -> None:
    allocator = PlainAllocator(large_segment=64 * MIB)
    for k in range(9):
        allocator.place(k, 9 * MIB)
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "large_segment_size_mb:64", "max_split_size": -1}
    (device,) = fits_of_snapshot(pickle.dumps(allocator.snapshot(settings))).devices
    assert device.recorded.is_equal
    assert device.recorded.simulated == 2 * 64 * MIB
    (plain,) = fits_of_snapshot(pickle.dumps(allocator.snapshot({}))).devices
    assert not plain.recorded.is_equal


TEXTS = (
    "large_segment_size_mb:10",
    "large_segment_size_mb:11",
    "large_segment_size_mb:20,max_split_size_mb:19",
    "large_segment_size_mb:20,max_split_size_mb:20",
    "large_segment_size_mb:40,max_split_size_mb:39",
    "max_split_size_mb:21,large_segment_size_mb:40",
    "large_segment_size_mb:30,max_non_split_rounding_mb:29",
    "large_segment_size_mb:30,max_non_split_rounding_mb:30",
    "garbage_collection_threshold:0",
    "garbage_collection_threshold:0.01",
    "garbage_collection_threshold:1",
    "roundup_power2_divisions:0",
    "roundup_power2_divisions:3",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:[64:0,>:1]",
    "roundup_power2_divisions:[64:8,100:2]",
    "roundup_power2_divisions:[64:3]",
    "expandable_segments:yes",
    "expandable_segments:true",
    "expandable_segments:False",
    "expandable_segments",
)


def test_settings_are_refused_if_and_only_if_torch_refuses_them() -> None:
    program = (
        "import sys, torch\n"
        "for text in sys.argv[1:]:\n"
        "    try: torch._C._accelerator_setAllocatorSettings('large_segment_size_mb:20'); "
        "torch._C._accelerator_setAllocatorSettings(text); print(1)\n"
        "    except (ValueError, RuntimeError): print(0)\n"
    )
    if importlib.util.find_spec("torch.fx") is None:
        pytest.skip("needs torch")
    ran = subprocess.run([sys.executable, "-c", program, *TEXTS], capture_output=True, text=True, check=False)
    if "_accelerator_setAllocatorSettings" in ran.stderr:
        pytest.skip("this torch has no parser of settings")
    of_torch = [word == "1" for word in ran.stdout.split()]
    own = []
    for text in TEXTS:
        try:
            settings_of(text)
            own.append(True)
        except OptionError:
            own.append(False)
    assert dict(zip(TEXTS, own, strict=True)) == dict(zip(TEXTS, of_torch, strict=True))
    assert own.count(True) == 7


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


def test_rows_at_the_peak_of_a_snapshot_have_the_line_and_the_role_that_their_stacks_show() -> None:
    def event(action: str, k: int, *names: str) -> dict[str, Any]:
        frames = [{"filename": name, "line": 7 + i, "name": "f"} for i, name in enumerate(names)]
        return {"action": action, "addr": 4096 * k, "size": 1024 * k, "frames": frames}

    engine, adam = "lib/torch/autograd/graph.py", "lib/torch/optim/adam.py"
    alloc, free = "alloc", "free_completed"
    trace = [
        event(alloc, 1, "lib/torch/nn/functional.py", "net.py"),
        event(alloc, 2, engine, "train.py"),
        event(alloc, 3, adam, "train.py"),
        event(alloc, 4, "lib/torch/_utils.py"),
        event(alloc, 5, engine),
        event(free, 5, engine),
        event(free, 1, engine, "train.py"),
        event(free, 6, "old.py"),
    ]
    (device,) = fits_of_snapshot(json.dumps({"segments": [], "device_traces": [trace]}).encode()).devices
    assert {(row.bytes, row.role, row.line) for row in device.alive} == {
        (1024, "activations", "net.py:8"),
        (2048, "gradients", "train.py:8"),
        (3072, "optimizer", "train.py:8"),
        (4096, "temporaries", "lib/torch/_utils.py:7"),
        (5120, "temporaries", "lib/torch/autograd/graph.py:7"),
        (6144, "temporaries", "freed at old.py:7"),
    }
