"""Reader of XLA's buffer assignments: the values that its heap simulator places, and their offsets.

A file is an HloProto of a module after buffer assignment, as `--xla_dump_to` with `--xla_dump_hlo_as_proto` writes it
(`….cpu_after_optimizations.hlo.pb`), or the same as text (`text.py`). Each event in a trace of the heap simulator is a
time step: it allocates a buffer, frees a buffer, or lets a buffer share the place of another buffer. Values that share
a place are one buffer, which is alive from the first to the last event. Inputs, constants and outputs have fixed
allocations and are not planned. Each trace has a separate memory. Source: xla/service/hlo.proto.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from memplan.planner.errors import FormatError
from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets, problem_of_rows, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.rows import MAX_BYTES
from memplan.runtimes.protobuf import ProtobufMessage
from memplan.runtimes.xla import text as xla_text
from memplan.runtimes.xla.system import is_xla_text

ALIGNMENT = 64
_MODULE, _ASSIGNMENT = 1, 3
_LOGICAL_BUFFERS, _ALLOCATIONS, _TRACES = 1, 3, 4
_ALLOCATED, _FREED, _SHARED = 0, 1, 2


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a binary or text dump as a problem. Raises FormatError, and OptionError if the options give dimensions."""
    refuse_dims(options, "XLA's buffers")
    if is_xla_text(data):
        return xla_text.read(data, options)
    module = ProtobufMessage.root(data, "hlo_proto")
    assignment = module.message(_ASSIGNMENT, "buffer_assignment")
    if assignment is None:
        raise FormatError("hlo_proto.buffer_assignment: is required: dump the module after its optimizations")
    sizes = {
        row.integer(1, "id"): size_of(f"{row.path}.size", row.integer(2, "size"), options)
        for row in assignment.messages(_LOGICAL_BUFFERS, "logical_buffers")
    }
    traces = [_Trace.from_message(trace, sizes) for trace in assignment.messages(_TRACES, "heap_simulator_traces")]
    _add_untraced(assignment, traces)
    pools = {k: f"trace {k}" for k, trace in enumerate(traces) if trace.groups}
    rows = [
        {
            "id": f"{k}/{group.name}" if k else group.name,
            "size": size_of(group.name, group.size, options),
            "start": group.start,
            "end": group.end,
            "alignment": options.alignment or ALIGNMENT,
            **({"pools": (pools[k],)} if len(pools) > 1 else {}),
        }
        for k, trace in enumerate(traces)
        for group in trace.groups.values()
    ]
    program = module.message(_MODULE, "hlo_module")
    name = program.text(1, "name") if program is not None else None
    problem = problem_of_rows(rows, pools.values(), name or None)
    own_plan = plan_of_offsets(problem, _xla_offsets(assignment, traces))
    return ImportedProblem(problem, own_peak=_xla_peak(assignment, traces), own_plan=own_plan)


@dataclass
class _SharedPlace:
    """XLA buffers at one offset, which form one buffer of the problem; `alive` contains the buffers not yet freed."""

    name: str
    size: int
    start: int
    end: int
    alive: set[int]


@dataclass(frozen=True)
class _Trace:
    """One run of the heap simulator: the shared places by their first buffers, and the shared place of each buffer."""

    groups: dict[int, _SharedPlace]
    of_buffer: dict[int, _SharedPlace]

    @classmethod
    def from_message(cls, trace: ProtobufMessage, sizes: dict[int, int]) -> "_Trace":
        """Return the shared places after all events of a trace; a buffer that is never freed is alive to the end."""
        new_trace = cls({}, {})
        last = 0
        for step, event in enumerate(trace.messages(1, "events")):
            new_trace._process_event(step, event, sizes)
            last = step + 1
        for group in new_trace.groups.values():
            group.end = last if group.alive else group.end
        return new_trace

    def _process_event(self, step: int, event: ProtobufMessage, sizes: dict[int, int]) -> None:
        """Apply an event of a trace: an allocation, a release, or the sharing of a place."""
        kind, buffer = event.integer(1, "kind"), event.integer(2, "buffer_id")
        if buffer not in sizes:
            raise FormatError(f"{event.path}.buffer_id: must be the id of a logical buffer, got {buffer}")
        if kind == _FREED:
            group = self.of_buffer.get(buffer)
            if group is None or buffer not in group.alive:
                raise FormatError(f"{event.path}.buffer_id: must be alive when it is freed, got {buffer}")
            group.alive.remove(buffer)
            group.end = step
            return
        if kind not in (_ALLOCATED, _SHARED):
            raise FormatError(f"{event.path}.kind: must be 0 (ALLOC), 1 (FREE) or 2 (SHARE_WITH), got {kind}")
        if buffer in self.of_buffer:
            raise FormatError(f"{event.path}.buffer_id: must be allocated once, got {buffer} again")
        if kind == _ALLOCATED:
            group = _SharedPlace(f"{buffer} {event.text(4, 'instruction_name')}", sizes[buffer], step, step, {buffer})
            self.groups[buffer] = self.of_buffer[buffer] = group
            return
        canonical = event.integer(5, "share_with_canonical_id")
        if canonical not in self.of_buffer:
            rule = f"must have been allocated before, got {canonical}"
            raise FormatError(f"{event.path}.share_with_canonical_id: {rule}")
        group = self.of_buffer[buffer] = self.of_buffer[canonical]
        group.size = max(group.size, sizes[buffer])
        group.alive.add(buffer)


def _add_untraced(assignment: ProtobufMessage, traces: list[_Trace]) -> None:
    """Add buffers that no trace mentions, such as tuple tables, if an allocation of the traces contains them.

    These buffers are always alive; buffers that overlap become one buffer.
    """
    home: dict[str, _Trace] = {}
    others: dict[str, list[tuple[int, int, int]]] = {}
    of_buffer = {buffer: trace for trace in reversed(traces) for buffer in trace.of_buffer}
    for path, buffer, offset, end in _assignments(assignment):
        if (trace := of_buffer.get(buffer)) is not None:
            home.setdefault(path, trace)
        elif offset < end:
            others.setdefault(path, []).append((offset, end, buffer))
    for path, trace in home.items():
        last = max(group.end for group in trace.groups.values())
        group, top = None, 0
        for offset, end, buffer in sorted(others.get(path, ())):
            if group is None or offset >= top:
                group, start, top = _SharedPlace(f"{buffer} (untraced)", 0, 0, last, {buffer}), offset, end
                trace.groups[buffer] = group
            top = max(top, end)
            group.size = top - start
            trace.of_buffer[buffer] = group


def _xla_peak(assignment: ProtobufMessage, traces: list[_Trace]) -> int | None:
    """Return the total bytes of all allocations with buffers of traces; None if such a buffer has no allocation.

    Allocations are found by their buffers, because the index of the allocation that a trace states can be wrong.
    """
    wanted = {buffer for trace in traces for buffer in trace.of_buffer}
    peaks: dict[str, int] = {}
    for path, buffer, _, end in _assignments(assignment):
        if buffer in wanted:
            wanted.discard(buffer)
            peaks[path] = max(peaks.get(path, 0), end)
    return None if wanted else sum(peaks.values())


def _xla_offsets(assignment: ProtobufMessage, traces: list[_Trace]) -> dict[int | str, int]:
    """Map each shared place's name to XLA's offset, with the allocations of a trace laid one after another."""
    places: dict[int, tuple[str, int, int]] = {}
    for path, buffer, offset, end in _assignments(assignment):
        places.setdefault(buffer, (path, offset, end))
    offsets: dict[int | str, int] = {}
    for k, trace in enumerate(traces):
        ends: dict[str, int] = {}
        for buffer in trace.of_buffer:
            if buffer in places:
                path, _, end = places[buffer]
                ends[path] = max(ends.get(path, 0), end)
        base = dict(zip(ends, accumulate(ends.values(), initial=0), strict=False))
        for buffer, group in trace.groups.items():
            if buffer in places:
                path, offset, _ = places[buffer]
                offsets[f"{k}/{group.name}" if k else group.name] = base[path] + offset
    return offsets


def _assignments(assignment: ProtobufMessage) -> Iterator[tuple[str, int, int, int]]:
    for allocation in assignment.messages(_ALLOCATIONS, "buffer_allocations"):
        for row in allocation.messages(9, "assigned"):
            offset, size = row.integer(2, "offset"), row.integer(3, "size")
            if not (0 <= offset <= MAX_BYTES and 0 <= size <= MAX_BYTES):
                raise FormatError(
                    f"{row.path}: must have an offset and a size from 0 to {MAX_BYTES}, got {size} bytes at {offset}"
                )
            yield allocation.path, row.integer(1, "logical_buffer_id"), offset, offset + size
