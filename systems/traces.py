"""Plans as traces of other tools: Perfetto's track events, and the memory snapshots that PyTorch's `memory_viz` shows.

A time of the problem is a microsecond. What lies in another buffer is part of it, as its bytes are taken once; a buffer
of several lifetimes is there several times, at one place. Sources: perfetto/trace/track_event/track_event.proto,
torch/cuda/_memory_viz.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby

import numpy as np

from memplan.planner.model.intervals import merged
from memplan.systems.layout import PlacedBuffer, VerifiedLayout

_STEP_NS = 1000
_SLICE_BEGIN, _SLICE_END, _COUNTER = 1, 2, 4
_SIZE_BYTES = 3
_SEQUENCE = 1
_SEGMENT = 1 << 44
"""The distance of the addresses of devices, more than any has bytes of."""


@dataclass(frozen=True)
class Stay:
    """A time during which a buffer takes its bytes: half-open, from the first time of the problem on."""

    buffer: PlacedBuffer
    start: int
    end: int


def stays_of(layout: VerifiedLayout) -> Iterator[Stay]:
    """Yield the times of all buffers that take bytes of their own; what has no times is there from first to last."""
    table, roots = layout.problem.buffers, layout.problem.roots
    origin = int(table.start.min(initial=0)) if len(table.start) else 0
    last = int(table.end.max(initial=origin + 1)) if len(table.end) else origin + 1
    times: dict[int, list[tuple[int, int]]] = {}
    for i in range(len(table)):
        rows = range(table.first[i], table.first[i + 1])
        times.setdefault(roots.get(i, (i, 0))[0], []).extend((int(table.start[k]), int(table.end[k])) for k in rows)
    for i, found in times.items():
        if layout.buffers[i].size == 0:
            continue
        for start, end in merged(found or [(origin, last)]):
            yield Stay(layout.buffers[i], start - origin, end - origin)


def write_snapshot(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a memory snapshot as `torch.cuda.memory._dump_snapshot` writes it: a device for each pool."""
    stays = list(stays_of(layout))
    segments, traces = [], []
    for q, pool in enumerate(layout.pools):
        base = (q + 1) * _SEGMENT
        its = [stay for stay in stays if stay.buffer.pool == q]
        events = sorted((time, is_alloc, k) for k, s in enumerate(its) for time, is_alloc in ((s.start, 1), (s.end, 0)))
        where: dict[str, object] = {"stream": 0, "device": q}
        memory: dict[str, object] = {
            "action": "segment_alloc",
            "addr": base,
            "size": pool.extent,
            "time_us": 0,
            "frames": [],
        }
        rows: list[dict[str, object]] = [
            {
                "action": "alloc" if is_alloc else "free_completed",
                "addr": base + its[k].buffer.offset,
                "size": its[k].buffer.size,
                "time_us": time,
                "frames": [{"name": str(its[k].buffer.id), "filename": pool.pool.name, "line": 0}],
            }
            for time, is_alloc, k in events
        ]
        traces.append([{**where, **row} for row in ([memory, *rows] if its else [])])
        # At the end all is free again: PyTorch's readers want the bytes of a segment to be those of its blocks.
        block = {"address": base, "size": pool.extent, "requested_size": 0, "state": "inactive", "frames": []}
        sizes = {"total_size": pool.extent, "allocated_size": 0, "active_size": 0, "requested_size": 0}
        facts = {"address": base, "segment_type": "large", "blocks": [block], **where, **sizes}
        segments += [facts] if its else []
    return {"": pickle.dumps({"segments": segments, "device_traces": traces}, protocol=4)}


def write_perfetto(layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return a trace of track events: for each pool lanes of buffers, and counters of its bytes alive and in use."""
    stays = list(stays_of(layout))
    packets: list[tuple[int, int, bytes]] = []
    uuids = iter(range(1, 1 << 62))
    for q, pool in enumerate(layout.pools):
        its = sorted(
            (stay for stay in stays if stay.buffer.pool == q), key=lambda stay: (stay.start, stay.buffer.offset)
        )
        group = next(uuids)
        process = _field(3, _field(1, q + 1) + _field(6, pool.pool.name))
        packets.append((0, 0, _field(60, _field(1, group) + process)))
        for lane, rows in enumerate(_lanes(its)):
            track = next(uuids)
            packets.append((0, 0, _track(track, group, f"lane {lane}")))
            for stay in rows:
                facts = (("offset", stay.buffer.offset), ("size", stay.buffer.size))
                notes = b"".join(_field(4, _field(10, name) + _field(3, value)) for name, value in facts)
                begin = _event(_SLICE_BEGIN, track, _field(23, str(stay.buffer.id)) + notes)
                packets += [(stay.start, 2, begin), (stay.end, 1, _event(_SLICE_END, track))]
        for name, levels in (("bytes alive", _alive(its)), ("bytes in use", _used(its))):
            track = next(uuids)
            packets.append((0, 0, _track(track, group, name, _field(8, _field(3, _SIZE_BYTES)))))
            packets += [(time, 3, _event(_COUNTER, track, _field(30, level))) for time, level in levels]
    packets.sort(key=lambda packet: packet[:2])
    return {
        "": b"".join(_field(1, _field(8, _STEP_NS * time) + _field(10, _SEQUENCE) + data) for time, _, data in packets)
    }


def _lanes(stays: list[Stay]) -> list[list[Stay]]:
    """Return stays, which come by their starts, in as few lanes as hold them one after the other."""
    lanes: list[list[Stay]] = []
    free: list[tuple[int, int]] = []
    for stay in stays:
        if free and free[0][0] <= stay.start:
            lane = heappop(free)[1]
        else:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(stay)
        heappush(free, (stay.end, lane))
    return lanes


def _alive(stays: list[Stay]) -> Iterator[tuple[int, int]]:
    """Yield the bytes that are alive from each time on."""
    changes = sorted((time, sign * s.buffer.size) for s in stays for time, sign in ((s.start, 1), (s.end, -1)))
    level = 0
    for time, rows in groupby(changes, key=lambda change: change[0]):
        level += sum(change for _, change in rows)
        yield time, level


def _used(stays: list[Stay]) -> Iterator[tuple[int, int]]:
    """Yield the highest end of what is alive from each time on."""
    coming = stays[::-1]
    tops: list[tuple[int, int]] = []
    for time in np.unique([time for s in stays for time in (s.start, s.end)]).tolist():
        while coming and coming[-1].start <= time:
            stay = coming.pop()
            heappush(tops, (-stay.buffer.offset - stay.buffer.size, stay.end))
        while tops and tops[0][1] <= time:
            heappop(tops)
        yield time, -tops[0][0] if tops else 0


def _track(uuid: int, parent: int, name: str, more: bytes = b"") -> bytes:
    return _field(60, _field(1, uuid) + _field(5, parent) + _field(2, name) + more)


def _event(kind: int, track: int, more: bytes = b"") -> bytes:
    return _field(11, _field(9, kind) + _field(11, track) + more)


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a field of a message of protocol buffers: a number, or what has a length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode(errors="replace") if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes((*found, value))
