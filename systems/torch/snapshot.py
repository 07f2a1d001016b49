"""Memory snapshots of PyTorch: what its caching allocator gave out and took back, event by event, and where.

A file is what `torch.cuda.memory._dump_snapshot` writes (a pickle), or the same as JSON. It is read without running
anything: a pickle may hold numbers, texts, lists, tuples and dictionaries, and no other objects. Each device that has
events is a pool, with the positions of its events as time. What was there before the recording, or still is behind it,
is alive from its begin or to its end. Segments, what the allocator requests from the driver, lie one behind the other,
in the order of their addresses, as gaps between them are no memory. Source:
torch/cuda/_memory_viz.py.
"""

from __future__ import annotations

import io
import json
import pickle
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NoReturn

from memplan.planner.errors import FormatError, shown
from memplan.systems.imported import Imported, ModelOptions, plan_of, problem_of, refuse_dims, size_of

ALIGNMENT = 512
"""The allocator's own rounding."""
_FREED = ("free_completed", "free")


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values, and refuses whatever would import anything."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise FormatError(f"must hold plain values only, got an object of {shown(f'{module}.{name}')}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise FormatError(f"must hold plain values only, got a reference to {shown(pid)}")


def read(data: bytes, options: ModelOptions) -> Imported:
    """Read a snapshot; raises FormatError, and OptionError for named dimensions."""
    refuse_dims(options, "PyTorch's snapshots")
    snapshot = _plain(data)
    traces = {device: trace for device, trace in enumerate(_list(snapshot, "device_traces")) if trace}
    if not traces:
        raise FormatError("device_traces: must have events: record the history before the snapshot is taken")
    rows: list[dict[str, Any]] = []
    addresses: dict[int | str, int] = {}
    own_peak = 0
    pools = ["device"] if len(traces) == 1 else [f"device{device}" for device in traces]
    for pool, (device, trace) in zip(pools, traces.items(), strict=True):
        segments = _segments(snapshot, device, trace, is_only=len(traces) == 1)
        found, places = _lives(device, trace, segments, options)
        own_peak += max((places[row["id"]] + row["size"] for row in found), default=0)
        for row in found:
            name = row["id"] if len(traces) == 1 else f"{pool}/{row['id']}"
            rows.append({**row, "id": name, "pools": (pool,)})
            addresses[name] = places[row["id"]]
    problem = problem_of(rows, pools)
    return Imported(problem, own_peak=own_peak, own_plan=plan_of(problem, addresses))


def _plain(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data) if data.lstrip()[:1] == b"{" else _PlainUnpickler(io.BytesIO(data)).load()
    except FormatError:
        raise
    except Exception as error:  # noqa: BLE001  bytes that are no pickle can raise anything
        raise FormatError(f"must be a snapshot, JSON or pickle: {error}") from None
    if not isinstance(value, dict) or "device_traces" not in value:
        raise FormatError("must be a snapshot: an object with segments and device_traces")
    return value


def _list(value: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = value.get(name, [])
    if not isinstance(found, (list, tuple)):
        raise FormatError(f"{name}: must be a list, got {shown(found)}")
    return found


def _number(event: Any, name: str, path: str) -> int:
    value = event.get(name) if isinstance(event, dict) else None
    if type(value) is not int or not 0 <= value < 2**63:
        raise FormatError(f"{path}.{name}: must be a number of at least 0 and below 2^63, got {shown(value)}")
    return value


class _Segments:
    """The address ranges that ever were segments, joined where they overlap, laid one behind the other."""

    def __init__(self, ranges: Iterator[tuple[int, int]]) -> None:
        self.lows: list[int] = []
        highs: list[int] = []
        for low, high in sorted(ranges):
            if highs and low < highs[-1]:
                highs[-1] = max(highs[-1], high)
            else:
                self.lows.append(low)
                highs.append(high)
        sizes = [high - low for low, high in zip(self.lows, highs, strict=True)]
        self.bases = list(accumulate(sizes, initial=0))

    def offset(self, address: int) -> int:
        """Return the place of an address; those in no segment lie behind all others."""
        k = bisect_right(self.lows, address) - 1
        if k < 0 or self.bases[k] + address - self.lows[k] > self.bases[k + 1]:
            return self.bases[-1] + address
        return self.bases[k] + address - self.lows[k]


def _segments(snapshot: Mapping[str, Any], device: int, trace: Sequence[Any], *, is_only: bool) -> _Segments:
    """Return the segments of a device, and, where only one has events, those that name none."""

    def ranges() -> Iterator[tuple[int, int]]:
        for k, row in enumerate(_list(snapshot, "segments")):
            if isinstance(row, dict) and row.get("device", device if is_only else 0) != device:
                continue
            low = _number(row, "address", f"segments[{k}]")
            yield low, low + _number(row, "total_size", f"segments[{k}]")
        for k, event in enumerate(trace):
            if isinstance(event, dict) and str(event.get("action")).startswith("segment_"):
                low = _number(event, "addr", f"device_traces[{device}][{k}]")
                yield low, low + _number(event, "size", f"device_traces[{device}][{k}]")

    return _Segments(ranges())


def _lives(
    device: int, trace: Sequence[Any], segments: _Segments, options: ModelOptions
) -> tuple[list[dict[str, Any]], dict[int | str, int]]:
    """Return the buffers of a device's trace, and where each lies."""
    rows: list[dict[str, Any]] = []
    offsets: dict[int | str, int] = {}
    alive: dict[int, dict[str, Any]] = {}
    for k, event in enumerate(trace):
        path = f"device_traces[{device}][{k}]"
        action = event.get("action") if isinstance(event, dict) else None
        if action != "alloc" and action not in _FREED:
            continue
        address, size = _number(event, "addr", path), _number(event, "size", path)
        row = alive.pop(address, None)
        if action == "alloc" or row is None:
            row = {"id": f"{k}", "size": size_of(path, size, options), "start": 0, "end": len(trace)}
            row["alignment"] = options.alignment or ALIGNMENT
            rows.append(row)
            offsets[row["id"]] = segments.offset(address)
        if action == "alloc":
            row["start"], alive[address] = k, row
        else:
            row["end"] = max(k, row["start"] + 1)
    return [row for row in rows if row["end"] > row["start"]], offsets
