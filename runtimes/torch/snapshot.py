"""Reader of PyTorch's memory snapshots: every allocation and release of its caching allocator, with addresses.

A file is the pickle that `torch.cuda.memory._dump_snapshot` writes, or the same data as JSON. Reading it runs no code:
a pickle may contain only numbers, texts, lists, tuples and dictionaries. Each stream of a device is a pool, since a
buffer freed on one stream becomes free on another only after an event that the file does not record; a buffer used by
other streams ends with their last use. Each private pool of CUDA graphs is a pool as well. Time steps count allocations
and releases. A buffer older than the recording is alive from the recording's start, and a buffer that is never freed is
alive to its end. Segments, which the allocator requests from the driver, are placed one after another in address order,
since the addresses between them are not memory.
Source: torch/cuda/_memory_viz.py.
"""

import io
import json
import pickle
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar, NoReturn

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets, problem_of_rows, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.runtimes.torch.allocator_settings import ROUNDING, settings_of_snapshot
from memplan.runtimes.torch.storages import Role, Segment, StepMemory, Storage

_FREED = ("free_completed", "free")
_ASKED = "free_requested"
_PLAIN = ("oom", "snapshot", "annotate", _ASKED)
"""The actions that change neither a block nor a segment."""
_CHANGES = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
_ROLES: Mapping[str, Role] = {"/torch/optim/": "optimizer", "/torch/autograd/": "gradients"}
"""The role of what is made under files of torch, by a part of their names; of what they free again, none."""
_SMALL_SEGMENT = 2 << 20
_REFUSED = frozenset(pickle.DUP + pickle.EMPTY_SET + pickle.ADDITEMS + pickle.FROZENSET + pickle.BYTEARRAY8)
"""The codes of a pickle that no snapshot needs, and with which a few bytes could take much memory."""
_LOADS: Mapping[int, Callable[[Any], None]] = pickle._Unpickler.dispatch


def _load_with_keys(code: int, keys: slice) -> Callable[[Any], None]:
    def load(unpickler: Any) -> None:
        for key in unpickler.stack[keys]:
            if not isinstance(key, str | int | float):
                raise FormatError(f"must have texts or numbers as keys, got {excerpt(key)}")
        _LOADS[code](unpickler)

    return load


class _PlainUnpickler(pickle._Unpickler):
    """An unpickler of numbers, texts and containers; raises FormatError for objects whose class would be imported.

    It is Python's own, not the compiled one, which allocates a memo up to the greatest index in the file, hashes keys
    of any kind, and does not let other threads run meanwhile; reading takes a third longer.
    """

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **{code: load for code, load in _LOADS.items() if code not in _REFUSED},
        pickle.SETITEM[0]: _load_with_keys(pickle.SETITEM[0], slice(-2, -1)),
        pickle.SETITEMS[0]: _load_with_keys(pickle.SETITEMS[0], slice(0, None, 2)),
        pickle.DICT[0]: _load_with_keys(pickle.DICT[0], slice(0, None, 2)),
    }

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise FormatError(f"must contain plain values only, got an object of {excerpt(f'{module}.{name}')}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise FormatError(f"must contain plain values only, got a reference to {excerpt(pid)}")


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a snapshot as a problem; raises FormatError, and OptionError if dimensions are given."""
    refuse_dims(options, "PyTorch's snapshots")
    steps = recorded_steps(data)
    rows: list[dict[str, Any]] = []
    addresses: dict[int | str, int] = {}
    own_peak = 0
    for device, step in steps.items():
        prefix = "device" if len(steps) == 1 else f"device{device}"
        pools = pools_of(step, prefix)
        for pool in dict.fromkeys(pools):
            last = len(step.events)
            mine = [k for k, name in enumerate(pools) if name == pool]
            ranges = [(segment.address, segment.size) for segment in step.segments + step.last_segments]
            places = _SegmentLayout([*ranges, *step.requested], [step.tensors[k] for k in mine])
            highest = 0
            for k in mine:
                tensor = step.tensors[k]
                name = f"{k}" if len(steps) == 1 else f"{prefix}/{k}"
                size = size_of(name, tensor.size, options)
                start, end = lifetime(tensor, last)
                alignment = options.alignment or ROUNDING
                rows.append(
                    {"id": name, "size": size, "start": start, "end": end, "alignment": alignment, "pools": (pool,)}
                )
                addresses[name] = places.offset(tensor.address)
                highest = max(highest, addresses[name] + size)
            own_peak += highest
    problem = problem_of_rows(rows, dict.fromkeys(pool for row in rows for pool in row["pools"]))
    return ImportedProblem(problem, own_peak=own_peak, own_plan=plan_of_offsets(problem, addresses))


def pools_of(step: StepMemory, name: str) -> list[str]:
    """Return the pool name of each storage: the device's `name`, then its CUDA graph and its stream, if any."""
    pools = []
    for tensor in step.tensors:
        graph = graph_name(tensor.private) if tensor.private else ""
        stream = f"stream{tensor.stream}" if tensor.stream else ""
        pools.append("/".join(filter(None, (name, graph, stream))))
    return pools


def graph_name(private: Iterable[int]) -> str:
    """Return the name of the private pool of a CUDA graph."""
    return "graph" + ".".join(map(str, private))


def graph_of(tensor: Storage) -> str:
    """Return the name of the CUDA graph that allocated a storage: its private pool's name, and its label if any."""
    name = graph_name(tensor.private or ())
    return f"{name}:{tensor.label.replace('/', '_')}" if tensor.label else name


def lifetime(tensor: Storage, last: int) -> tuple[int, int]:
    """Return the half-open lifetime of a storage in events; `last` is the number of events in the snapshot."""
    start = 0 if tensor.phase == "given" else tensor.start
    return start, last + 1 if tensor.end is None else max(tensor.end, 1)


def recorded_steps(data: bytes) -> dict[int, StepMemory]:
    """Return the recorded step of each device with events, by device number; raises FormatError if there is none."""
    snapshot = _read_plain(data)
    traces = {
        device: _list_field({path: trace}, path)
        for device, trace in enumerate(_list_field(snapshot, "device_traces"))
        for path in (f"device_traces[{device}]",)
        if trace
    }
    _require_separate("device_traces", traces.values())
    for device, trace in traces.items():
        _require_separate(f"device_traces[{device}]", trace)
        for k, event in enumerate(trace):
            if not isinstance(event, dict) or not isinstance(event.get("action"), str):
                raise FormatError(
                    f"device_traces[{device}][{k}]: must be an event with an action, got {excerpt(event)}"
                )
    if not traces:
        raise FormatError(
            "device_traces: must have events: start recording the memory history before taking the snapshot"
        )
    return {device: _recorded_step(snapshot, device, trace, len(traces) == 1) for device, trace in traces.items()}


def _read_plain(data: bytes) -> Mapping[str, Any]:
    """Return the snapshot in a pickle or JSON file, without running code. Raises FormatError for any other file."""
    try:
        value = json.loads(data) if data.lstrip()[:1] == b"{" else _PlainUnpickler(io.BytesIO(data)).load()
    except FormatError:
        raise
    except Exception:  # noqa: BLE001  # Bytes that are not a pickle can raise any exception.
        raise FormatError(
            "must be a snapshot as torch.cuda.memory writes it, got neither JSON nor a pickle; for a script, also "
            "name its function: SCRIPT.py:FUNCTION"
        ) from None
    if not isinstance(value, dict) or "device_traces" not in value:
        raise FormatError("must be a snapshot: an object with the fields segments and device_traces")
    return value


def _require_separate(path: str, rows: Iterable[Any]) -> None:
    """Raise FormatError for a row that occurs twice as one object, of which a pickle could repeat any number."""
    seen = Counter(map(id, rows))
    if seen and seen.most_common(1)[0][1] > 1:
        raise FormatError(f"{path}: must have separate rows, got one row {seen.most_common(1)[0][1]} times")


def _list_field(value: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the list in the field `name`, or an empty list without this field. Raises FormatError for other values."""
    rows = value.get(name, [])
    if not isinstance(rows, (list, tuple)):
        raise FormatError(f"{name}: must be a list, got {excerpt(rows)}")
    return rows


def _number_field(event: Any, name: str, path: str) -> int:
    """Return the field `name` of an event as an integer from 0 to 2^63 - 1. Raises FormatError, which names `path`."""
    value = event.get(name) if isinstance(event, dict) else None
    if type(value) is not int or not 0 <= value < 2**63:
        raise FormatError(f"{path}.{name}: must be a number of at least 0 and below 2^63, got {excerpt(value)}")
    return value


class _SegmentLayout:
    """The address ranges of all segments that the given tensors ever used, ascending and without overlaps."""

    def __init__(self, ranges: Iterable[tuple[int, int]], tensors: Iterable[Storage]) -> None:
        """Merge overlapping ranges (address, size), and keep those that contain a tensor's address."""
        self.lows: list[int] = []
        highs: list[int] = []
        addresses = sorted(tensor.address for tensor in tensors)
        for low, size in sorted(ranges):
            if highs and low < highs[-1]:
                highs[-1] = max(highs[-1], low + size)
            elif bisect_right(addresses, low + size - 1) > bisect_right(addresses, low - 1):
                self.lows.append(low)
                highs.append(low + size)
        sizes = [high - low for low, high in zip(self.lows, highs, strict=True)]
        self.bases = list(accumulate(sizes, initial=0))

    def __contains__(self, address: int) -> bool:
        """Return True if an address is inside one of the segments."""
        k = bisect_right(self.lows, address) - 1
        return k >= 0 and address - self.lows[k] < self.bases[k + 1] - self.bases[k]

    def offset(self, address: int) -> int:
        """Return the offset for an address; addresses outside all segments get offsets after the last segment."""
        k = bisect_right(self.lows, address) - 1
        if k < 0 or self.bases[k] + address - self.lows[k] > self.bases[k + 1]:
            return self.bases[-1] + address
        return self.bases[k] + address - self.lows[k]


def _recorded_step(snapshot: Mapping[str, Any], device: int, trace: Sequence[Any], is_only: bool) -> StepMemory:
    """Return a device's recorded step; events are read backward to find the initial state, then forward."""
    # If a snapshot records no completed frees, a block counts as free once its free was requested.
    counts = Counter(event["action"] for event in trace)
    freed = _FREED if any(counts[name] for name in _FREED) else (_ASKED,)
    events = [
        _event_row(event, f"device_traces[{device}][{k}]")
        for k, event in enumerate(trace)
        if event["action"] in {"alloc", *freed, *_CHANGES}
    ]
    held, live = _last_state(snapshot, device, is_only)
    last = sorted(held.values(), key=lambda segment: segment.address)
    step = StepMemory(last_segments=tuple(last))
    step.settings = settings_of_snapshot(
        settings if isinstance(settings := snapshot.get("allocator_settings"), dict) else {}
    )
    for event in reversed(events):
        action, address = event["action"], event["addr"]
        if action == "alloc":
            live.pop(address, None)
        elif action in freed:
            live[address] = _read_storage(event)
        elif _CHANGES[action] > 0:
            held.pop(address, None)
        else:
            held[address] = _read_segment(event, "addr", "size", "segments")
    step.segments = () if step.settings.expandable else tuple(held.values())
    changes = [_CHANGES.get(event["action"], 0) * event["size"] for event in events]
    reserved = sum(segment.size for segment in step.last_segments) - sum(changes)
    step.most_reserved = max(accumulate(changes, initial=reserved))
    step.tensors = [*live.values()]
    at = {address: k for k, address in enumerate(live)}
    twice = 0
    for event in events:
        action, address = event["action"], event["addr"]
        if action == "alloc":
            twice += address in at
            at[address] = len(step.tensors)
            step.tensors.append(replace(_read_storage(event), start=len(step.events), phase="forward"))
            step.events.append(at[address])
        elif action in freed and address in at:
            tensor = step.tensors[at[address]]
            tensor.end = len(step.events)
            if tensor.role in ("optimizer", by := _role_of(event)):
                tensor.role = "temporaries"
            elif tensor.role == "temporaries" and by == "gradients":
                tensor.role = "activations"
            step.events.append(~at.pop(address))
        elif action == "segment_alloc":
            step.requested.append((address, event["size"]))
        elif action == "segment_free":
            step.released.add(len(step.events))
    _name_graphs(step)
    _measure_blocks(step)
    step.notes = tuple(_notes_of(step, trace, counts, twice))
    return step


def _notes_of(step: StepMemory, trace: Sequence[Any], counts: Mapping[str, int], twice: int) -> Iterator[str]:
    """Yield sentences on the gaps of a device's trace: failed allocations, missing history, unknown events."""
    if counts["oom"]:
        first = next(row.get("size") for row in trace if row["action"] == "oom")
        yield f"the recorded step ran out of memory {counts['oom']} times, first for {excerpt(first)} bytes"
    if given := sum(row.phase == "given" for row in step.tensors):
        yield (
            f"the history is incomplete: {given} storages are older and count in the order of their addresses, "
            "and memory freed before the history began is not counted"
        )
    has_frees = any(counts[name] for name in _FREED)
    skipped = ["alloc"] if not counts["alloc"] and (has_frees or counts[_ASKED]) else []
    skipped += [_FREED[0]] if not has_frees and (counts[_ASKED] or twice) else []
    made = [row for row in step.tensors if row.phase != "given"]
    layout = _SegmentLayout([(row.address, row.size) for row in step.segments + step.last_segments], made)
    inside = _SegmentLayout(step.requested, made)
    if not counts["segment_map"] and any(row.address not in layout and row.address not in inside for row in made):
        skipped += ["segment_alloc", "segment_free"]
    if skipped:
        yield (
            f"the history was recorded without {', '.join(skipped)}, so segments and addresses are not those of the "
            "device: record it without skip_actions"
        )
    if unknown := counts.keys() - {"alloc", *_FREED, *_CHANGES, *_PLAIN}:
        yield f"events of an unknown kind are not counted: {', '.join(sorted(unknown))}"


def _measure_blocks(step: StepMemory) -> None:
    """Set the block sizes of storages that are older than the recording and whose larger blocks were not split.

    The first allocation in the free range after such a block begins at the start of a free block, so the bytes before
    it belong to the older block, unless that block or the next one was freed earlier.
    """
    given = sorted((row for row in step.tensors if row.phase == "given"), key=lambda row: row.address)
    lows, opened = [row.address for row in given], [not row.block for row in given]
    segments = sorted(step.segments, key=lambda segment: segment.address)
    starts = [segment.address for segment in segments]
    for event in step.events:
        tensor = step.tensors[event if event >= 0 else ~event]
        k, n = bisect_right(lows, tensor.address) - 1, bisect_right(starts, tensor.address) - 1
        if event < 0 and k >= 0 and given[k] is tensor:
            opened[max(k - 1, 0)] = opened[k] = False
        elif event >= 0 and k >= 0 and opened[k]:
            opened[k] = False
            if n >= 0 and lows[k] >= starts[n] and tensor.address in segments[n]:
                given[k].block = tensor.address - lows[k]


def _last_state(
    snapshot: Mapping[str, Any], device: int, is_only: bool
) -> tuple[dict[int, Segment], dict[int, Storage]]:
    """Return a device's segments and allocated blocks at the end of the recording, both keyed by address."""
    held, live = dict[int, Segment](), dict[int, Storage]()
    rows = _list_field(snapshot, "segments")
    _require_separate("segments", rows)
    _require_separate("segments", [row["blocks"] for row in rows if isinstance(row, dict) and row.get("blocks")])
    for k, row in enumerate(rows):
        path = f"segments[{k}]"
        if isinstance(row, dict) and row.get("device", device if is_only else 0) != device:
            continue
        segment = _read_segment(row, "address", "total_size", path)
        held[segment.address] = segment
        address = segment.address
        for block in _list_field(row, "blocks"):
            if not isinstance(block, dict):
                raise FormatError(f"{path}.blocks: must be objects, got {excerpt(block)}")
            event = _event_row(
                {"addr": block.get("address", address), **block, "stream": segment.stream}, f"{path}.blocks"
            )
            if isinstance(state := block.get("state"), str) and state.startswith("active"):
                asked = _requested_bytes(block, event["size"], f"{path}.blocks")
                live[event["addr"]] = replace(_read_storage({**event, "size": asked}), block=event["size"])
            address = event["addr"] + event["size"]
    return held, live


def _requested_bytes(block: Mapping[str, Any], size: int, path: str) -> int:
    requested = _number_field({"requested_size": size, **block}, "requested_size", path)
    if requested > size:
        raise FormatError(f"{path}.requested_size: must be at most the size of its block ({size}), got {requested}")
    return requested or size


def _read_segment(row: Any, address: str, size: str, path: str) -> Segment:
    """Return a row's segment; fields `address` and `size` name its address and bytes. FormatError: not a number."""
    length, private = _number_field(row, size, path), _private_pool(row.get("segment_pool_id"))
    kind = row.get("segment_type", "small" if length == _SMALL_SEGMENT else "large")
    stream = _number_field({"stream": 0, **row}, "stream", path)
    return Segment(_number_field(row, address, path), length, stream, kind == "small", private)


def _private_pool(numbers: Any) -> tuple[int, ...] | None:
    """Return the two numbers of a private pool; None for the shared pool (0, 0) and for other values."""
    is_pair = isinstance(numbers, (tuple, list)) and len(numbers) == 2 and all(type(each) is int for each in numbers)
    return tuple(numbers) if is_pair and any(numbers) else None


def _event_row(event: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return an event with its numbers validated; raises FormatError unless they are integers in range."""
    numbers = {name: _number_field({"stream": 0, **event}, name, path) for name in ("addr", "size", "stream")}
    return {**event, **numbers}


def _read_storage(event: Mapping[str, Any]) -> Storage:
    """Return the storage that an event allocates or frees, marked as older than the step.

    Its line is the innermost one outside of torch, or if there is none, the innermost one.
    """
    rows = [(name, at if isinstance(at, int | str) else None) for name, at in _frames(event) if name.endswith(".py")]
    own = [row for row in rows if "/torch/" not in row[0]] or rows
    line = f"{own[0][0]}:{own[0][1]}" if own else ""
    label, is_end = event.get("user_metadata"), event.get("action") in (*_FREED, _ASKED)
    return Storage(
        event["size"],
        0,
        "given",
        line=f"freed at {line}" if line and is_end else line,
        role="temporaries" if is_end else _role_of(event),
        stream=event["stream"],
        private=_private_pool(event.get("pool_id")),
        label=label if isinstance(label, str) else "",
        address=event["addr"],
    )


def _frames(event: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    frames = event.get("frames")
    for row in frames if isinstance(frames, (list, tuple)) else ():
        if isinstance(row, dict) and isinstance(name := row.get("filename"), str):
            yield name, row.get("line")


def _role_of(event: Mapping[str, Any]) -> Role:
    files = [name for name, _ in _frames(event)]
    roles = (role for part, role in _ROLES.items() if any(part in name for name in files))
    return next(roles, "temporaries")


def _name_graphs(step: StepMemory) -> None:
    private = sorted((row for row in step.last_segments if row.private), key=lambda row: row.address)
    lows = [row.address for row in private]
    for tensor in step.tensors:
        k = bisect_right(lows, tensor.address) - 1
        if k >= 0 and tensor.address < lows[k] + private[k].size:
            tensor.private = private[k].private
