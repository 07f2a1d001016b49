"""Reader of XLA's buffer assignments as two concatenated texts: sizes and offsets, then lifetimes.

XLA writes the texts as `….cpu_after_optimizations-buffer-assignment.txt` and `…-live-range.txt`. Lifetimes include
their last step. In the allocations for temporaries (`preallocated-temp`), two values may be alive at the same time at
one offset, because one is computed in place of the other; such values are one buffer.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets, problem_of_rows, size_of
from memplan.planner.foreign.model_options import ModelOptions

ALIGNMENT = 64
_SECTIONS = (b"BufferAssignment:", b"HloLiveRange")
_DIGITS = r"(\d{1,19})"
_ALLOCATION = re.compile(rf"allocation {_DIGITS}: size {_DIGITS}\b([^\n]*)")
_VALUE = re.compile(rf" *value: <{_DIGITS} (\S+)(?: \(phi\))? @\d+> \(size={_DIGITS},offset={_DIGITS}\)")
_RANGE = re.compile(rf" *(\S+?)(\{{[\d, ]*\}}):{_DIGITS}-{_DIGITS} *")


@dataclass
class _Value:
    """One value, or several values at one offset, alive from step `start` to step `end`, both of which are included."""

    name: str
    offset: int
    size: int
    start: int
    end: int


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read the buffer assignment and the live ranges. Raises FormatError if either text is missing or malformed."""
    for section in _SECTIONS:
        if section not in data:
            rule = "must be XLA's texts of the buffer assignment and the live ranges, one after the other"
            raise FormatError(f"{rule}, got no {excerpt(section.decode())}")
    text = data.decode(errors="backslashreplace")
    alive = _live_ranges(text)
    own_peak, pools, rows = 0, [], []
    offsets: dict[int | str, int] = {}
    for name, values in _temporaries(text, alive, options):
        groups = list(_join_values(values))
        own_peak += max((group.offset + group.size for group in groups), default=0)
        pools.append(name)
        for group in groups:
            offsets[group.name] = group.offset
            times = {"start": group.start, "end": group.end + 1}
            rows.append(
                {"id": group.name, "size": group.size, "alignment": options.alignment or ALIGNMENT, "pools": (name,)}
                | times
            )
    problem = problem_of_rows(rows, pools)
    return ImportedProblem(problem, own_peak=own_peak, own_plan=plan_of_offsets(problem, offsets))


def _live_ranges(text: str) -> dict[str, tuple[int, int]]:
    """Map each value `name{index}` (the index is the value's position in the result) to its first and last step."""
    ranges: dict[str, tuple[int, int]] = {}
    lines = iter(enumerate(text.splitlines(), 1))
    for _, heading in lines:
        if heading.strip() == "BufferLiveRange:":
            break
    for number, line in lines:
        # A heading is indented less than the lines of a list, so a less indented line ends the list.
        if not line.startswith("    "):
            break
        match = _RANGE.fullmatch(line)
        if match is None:
            raise FormatError(
                f"line {number}: must be a live range, name{{index}}:first-last, got {excerpt(line.strip())}"
            )
        start, end = int(match[3]), int(match[4])
        if end < start:
            raise FormatError(f"line {number}: must end at or after its first step ({start}), got {end}")
        ranges[match[1] + match[2]] = (start, end)
    return ranges


def _temporaries(
    text: str, alive: dict[str, tuple[int, int]], options: ModelOptions
) -> Iterator[tuple[str, list[_Value]]]:
    """Yield (name, values) of each temporary allocation. Raises FormatError if a value has no live range."""
    name: str | None = None
    values: list[_Value] = []
    for at, line in enumerate(text.splitlines(), 1):
        if match := _ALLOCATION.match(line):
            if name is not None:
                yield name, values
            name = f"allocation {match[1]}" if "preallocated-temp" in match[3] else None
            values = []
        elif name is not None and line.startswith(" value:"):
            match = _VALUE.match(line)
            if match is None:
                raise FormatError(f"line {at}: must be a value with size and offset, got {excerpt(line.strip())}")
            number, instruction, size, offset = match.groups()
            place = instruction if instruction.endswith("}") else instruction + "{}"
            if place not in alive:
                raise FormatError(f"value {excerpt(instruction)} of {name}: must have a live range, got none")
            size_in_file = size_of(f"value {excerpt(instruction)}", int(size), options)
            values.append(_Value(f"{number} {instruction}", int(offset), size_in_file, *alive[place]))
    if name is not None:
        yield name, values


def _join_values(values: list[_Value]) -> Iterator[_Value]:
    """Yield one value for each group of values at one offset whose lifetimes overlap."""
    last: dict[int, _Value] = {}
    for value in sorted(values, key=attrgetter("start", "end")):
        group = last.get(value.offset)
        if group is None or group.end < value.start:
            last[value.offset] = value
            if group is not None:
                yield group
            continue
        group.end = max(group.end, value.end)
        group.size = max(group.size, value.size)
    yield from last.values()
