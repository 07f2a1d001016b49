"""The plans inside of files: offsets that the verifier accepts, and peaks that are the files' own."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import InputError
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from memplan.systems.imported import Imported
from memplan.systems.reading import detect, read_model

TESTS = Path(__file__).parents[1]


def event(action: str, addr: int, size: int) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": 0, "frames": []}


SNAPSHOT: dict[str, Any] = {
    "segments": [{"address": 4096, "total_size": 2048, "blocks": []}, {"address": 1 << 40, "total_size": 4096}],
    "device_traces": [
        [],
        [
            event("alloc", 4096, 512),
            event("alloc", 4608, 1024),
            event("free_requested", 4096, 512),
            event("free_completed", 4096, 512),
            event("alloc", 4096, 512),
            event("free_completed", 1 << 40, 1024),
            event("segment_alloc", 1 << 41, 1024),
            event("alloc", 1 << 41, 1024),
        ],
    ],
}


def peak_of(found: Imported) -> int:
    assert found.own_plan is not None
    size = dict(zip(found.problem.buffers.ids, found.problem.buffers.size.tolist(), strict=True))
    ends: dict[str, int] = {}
    for row in found.own_plan.placements:
        ends[row.pool] = max(ends.get(row.pool, 0), row.offset + size[row.id])
    return sum(ends.values())


@pytest.mark.parametrize(
    "name",
    [
        *(f"models/{name}.pte" for name in ("loop", "state", "thirds")),
        *(f"dumps/{name}" for name in ("mlp_sgd.hlo.pb", "mlp_sgd.xla.txt", "network_planned.relax")),
        "dumps/zfnet512.iree.txt",
    ],
)
def test_plans_inside_of_files_are_valid_and_take_what_the_files_say(name: str) -> None:
    found = read_model((TESTS / name).read_bytes(), name)
    assert found.own_plan is not None
    assert verify(found.problem, found.own_plan) == ()
    assert peak_of(found) <= (found.own_peak or 0)
    assert found.own_peak == pytest.approx(peak_of(found), rel=0.05)


@pytest.mark.parametrize("write", [lambda value: json.dumps(value).encode(), pickle.dumps])
def test_snapshots_of_pytorch_are_read_as_json_and_as_pickles(write: Any) -> None:
    data = write(SNAPSHOT)
    assert detect(data) == "torch-snapshot"
    found = read_model(data)
    rows = [(row.id, row.size, row.start, row.end) for row in found.problem.buffers]
    assert rows == [("0", 1024, 0, 4), ("1", 512, 0, 2), ("2", 1024, 1, 7), ("3", 512, 3, 7), ("4", 1024, 5, 7)]
    assert found.own_plan is not None
    assert [row.offset for row in found.own_plan.placements] == [2048, 0, 512, 0, 6144]
    assert verify(found.problem, found.own_plan) == ()
    assert found.own_peak == 7168


def test_each_device_of_a_snapshot_has_a_pool_of_its_own() -> None:
    first = [event("alloc", 0, 512), event("alloc", 512, 512)]
    second = [event("alloc", 512, 1024), event("free_completed", 512, 1024), event("alloc", 0, 512)]
    segments = [{"device": device, "address": 0, "total_size": 2048} for device in (0, 2)]
    data = json.dumps({"segments": segments, "device_traces": [first, [], second]}).encode()
    found = read_model(data)
    assert [(row.id, row.size, row.pools) for row in found.problem.buffers] == [
        ("device0/0", 512, ("device0",)),
        ("device0/1", 512, ("device0",)),
        ("device2/0", 1024, ("device2",)),
        ("device2/1", 512, ("device2",)),
    ]
    assert found.own_plan is not None
    assert [(row.pool, row.offset) for row in found.own_plan.placements] == [
        ("device0", 0),
        ("device0", 512),
        ("device2", 512),
        ("device2", 0),
    ]
    assert verify(found.problem, found.own_plan) == ()
    assert found.own_peak == 1024 + 1536
    assert solve(found.problem).peak == 1024 + 1024


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("this must not run",))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps({"segments": [Evil()], "device_traces": []}),
        pickle.dumps({"segments": [], "device_traces": [[]]}),
        pickle.dumps(["segments"]),
        pickle.dumps(SNAPSHOT)[:-9],
        b"\x80\x04segments",
        json.dumps({"segments": 1, "device_traces": [[event("alloc", 0, 1)]]}).encode(),
        json.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": "0", "size": 1}]]}).encode(),
        json.dumps({"segments": [], "device_traces": [[event("alloc", 0, 2**63)]]}).encode(),
        b'{"segments": [',
    ],
)
def test_snapshots_that_are_none_are_refused_and_run_nothing(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError):
        read_model(data)
    assert capfd.readouterr().out == ""
