"""Traces of other tools: Perfetto's track events, read field by field, and PyTorch's snapshots, by their importer."""

from __future__ import annotations

import pickle
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from memplan import Buffer, Pool, Problem, solve
from memplan.systems.layout import lay_out
from memplan.systems.reading import read_model
from memplan.systems.writing import EXPORTERS

PROBLEM = Problem(
    buffers=[
        Buffer(id="input", size=64, start=-3, end=2),
        Buffer(id="view", size=16, start=1, end=4, alias_of="input"),
        Buffer(id="kept", size=32, lifetimes=((0, 1), (5, 7))),
        Buffer(id="empty", size=0, start=0, end=1),
        Buffer(id="state", size=24, start=0, end=6, pools=("dram",)),
        Buffer(id="output", size=40, start=3, end=8),
    ],
    pools=[Pool(name="sram", size=256), Pool(name="dram")],
)
PLAN = solve(PROBLEM)
OFFSETS = {row.id: row.offset for row in PLAN.placements}


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message of protocol buffers."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        value: Any = number()
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        yield key >> 3, value


def test_perfetto_gets_lanes_of_buffers_and_counters_of_bytes() -> None:
    trace = EXPORTERS["perfetto"](lay_out(PROBLEM, PLAN), "plan")[""]
    names: dict[int, bytes] = {}
    open_: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
    slices, counters = set(), defaultdict(list)
    for _, packet in fields(trace):
        found = dict(fields(packet))
        if 60 in found:
            track = dict(fields(found[60]))
            names[track[1]] = track[2] if 2 in track else dict(fields(track[3]))[6]
            continue
        event, time = dict(fields(found[11])), found[8] // 1000
        if event[9] == 1:
            assert not open_[event[11]]  # the slices of a lane come one after the other
            open_[event[11]].append((event[23], time))
        elif event[9] == 2:
            name, start = open_[event[11]].pop()
            slices.add((name.decode(), start, time))
        else:
            counters[event[11]].append((time, event[30]))
    assert slices == {("input", 0, 7), ("kept", 3, 4), ("kept", 8, 10), ("state", 3, 9), ("output", 6, 11)}
    levels = [(names[track], rows) for track, rows in counters.items()]
    assert dict(levels[:1])[b"bytes alive"] == [
        (0, 64),
        (3, 96),
        (4, 64),
        (6, 104),
        (7, 40),
        (8, 72),
        (10, 40),
        (11, 0),
    ]
    assert max(level for _, level in levels[1][1]) == next(use.used for use in PLAN.pools if use.name == "sram")
    assert {b"sram", b"dram"} <= set(names.values())


def test_a_snapshot_is_read_back_with_the_same_overlaps_and_places() -> None:
    data = EXPORTERS["torch-snapshot"](lay_out(PROBLEM, PLAN), "plan")[""]
    found = read_model(data, "plan.pickle")
    assert found.own_plan is not None
    places = {row.id: row.offset for row in found.own_plan.placements}
    sizes = defaultdict(list)
    for row in found.problem.buffers:
        sizes[(row.pools or ("",))[0]].append((row.size, places[row.id]))
    ids = ("input", "kept", "output", "kept")
    assert sorted(sizes["device0"]) == sorted(
        (PROBLEM.buffers[PROBLEM.index[each]].size, OFFSETS[each]) for each in ids
    )
    assert sizes["device1"] == [(24, OFFSETS["state"])]


def test_the_classes_of_perfetto_read_the_lanes_and_counters() -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = messages.Trace()
    trace.ParseFromString(EXPORTERS["perfetto"](lay_out(PROBLEM, PLAN), "plan")[""])
    groups, parents, names = {}, {}, {}
    slices: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    counters: dict[tuple[str, str], list[int]] = defaultdict(list)
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("process"):
                groups[track.uuid] = track.process.process_name
            parents[track.uuid], names[track.uuid] = track.parent_uuid, track.name
            continue
        event = packet.track_event
        pool = groups[parents[event.track_uuid]]
        if event.type == messages.TrackEvent.TYPE_COUNTER:
            counters[pool, names[event.track_uuid]].append(event.counter_value)
        elif event.type == messages.TrackEvent.TYPE_SLICE_BEGIN:
            facts = {note.name: note.uint_value for note in event.debug_annotations}
            slices[pool][event.name] = (facts["offset"], facts["size"])
    sizes = {row.id: row.size for row in PROBLEM.buffers}
    assert slices == {
        "sram": {name: (OFFSETS[name], sizes[name]) for name in ("input", "kept", "output")},
        "dram": {"state": (OFFSETS["state"], 24)},
    }
    for use in PLAN.pools:
        assert max(counters[use.name, "bytes in use"]) == use.used
    assert max(counters["sram", "bytes alive"]) == 104


def test_torch_reads_each_allocation_of_a_snapshot_where_it_is() -> None:
    viz = pytest.importorskip("torch.cuda._memory_viz")
    snapshot = pickle.loads(EXPORTERS["torch-snapshot"](lay_out(PROBLEM, PLAN), "plan")[""])
    of_sram = viz.trace(snapshot).partition("Device 1")[0]
    places = [
        (int(at), float(size)) for at, size in re.findall(r"^[a-z] = a\[(\d+):([\d.]+)B\]$", of_sram, re.MULTILINE)
    ]
    sizes = {row.id: row.size for row in PROBLEM.buffers}
    assert places == [(OFFSETS[name], sizes[name]) for name in ("input", "kept", "output", "kept")]
    assert "segments: 2" in viz.segsum(snapshot)
