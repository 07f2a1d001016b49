"""Reader of IREE's packs: sets of slices that its compiler lays out, `stream.resource.pack slices({[0, 2] = %c64, …})`.

A file is a program as text before the pass `iree-stream-layout-slices`, or the dumps that the compiler prints around
that pass (`--mlir-print-ir-before=…` and `…-after=…`), which also show the sizes of IREE's own layout. Lifetimes
include their last step. Each pack is a separate memory; IREE aligns its slices to 64 bytes.

The pass only replaces the results of a pack by constants. So a function's other lines are the same before and after the
pass, with names in the same order, and comparing these lines gives the offsets.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets, problem_of_rows, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import MAX_LISTED

ALIGNMENT = 64
_NAME = r"%[\w$.-]+"
_STEP = re.compile(
    r"^// -----// IR Dump (?P<dump>Before|After) (?P<pass>[^\n]*)\n?(?P<function>[^\n]*)"
    rf"|(?P<constant>{_NAME}) = arith\.constant (?P<value>-?\d{{1,20}}) : index\b"
    rf"|(?P<pack>{_NAME})(?::\d+)? = stream\.resource\.pack\b"
    rf"|stream\.resource\.alloca?\b[^\n{{]{{0,400}}<(?P<kind>\w+)>\{{(?P<size>{_NAME})(?P<is_packed>#0)?\}}",
    re.MULTILINE,
)
_COMMENT = re.compile(r"(?:^|(?<![ \t])[ \t])[ \t]*//(?! -----// IR Dump )[^\n]*", re.MULTILINE)
"""Matches comments of users, but not the compiler's headings, which look similar."""
_OPENING = re.compile(r"[^\n{]{0,400}\bslices\(\{\s*")
_SLICE = re.compile(rf"\[\s*(-?\d{{1,20}})\s*,\s*(-?\d{{1,20}})\s*\]\s*=\s*({_NAME}(?:#\d+)?)\s*")
_THIS_PASS = "iree-stream-layout-slices"


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read all packs of a file as one problem. Raises FormatError, and OptionError if the options give dimensions."""
    refuse_dims(options, "IREE's packs")
    text = _COMMENT.sub("", data.decode(errors="backslashreplace"))
    if (n_open := text.count("{") - text.count("}")) > 0:
        raise FormatError(f"must close each brace, got {n_open} unclosed: is the file cut off?")
    sections = list(_function_dumps(text))
    before = [section for section in sections if section.when == "Before"] or sections
    packs = [pack for section in before for pack in section.packs]
    if not packs:
        dialects = dict.fromkeys(re.findall(r"^[^\n\"]{0,200}?[ \"](\w{2,40})\.\w+\"?[ (]", text, re.MULTILINE))
        got = f"operations of {', '.join([*dialects][:MAX_LISTED])}" if dialects else "none"
        raise FormatError(f"must be StableHLO, or contain a stream.resource.pack as IREE prints it, got {got}")
    names = [f"pack {k}" if pack.kind is None else f"pack {k} ({pack.kind})" for k, pack in enumerate(packs)]
    rows = [
        {
            "id": f"{k}/{i}",
            "size": size_of(f"slice {i} of pack {k}", size, options),
            "start": start,
            "end": end + 1,
            "alignment": options.alignment or ALIGNMENT,
            "pools": (names[k],),
        }
        for k, pack in enumerate(packs)
        for i, (start, end, size) in enumerate(pack.slices)
    ]
    problem = problem_of_rows(rows, names)
    laid_out = slice_offsets(text, _THIS_PASS) or {}
    places: dict[int | str, int] = {f"{k}/{i}": offset for (k, i), offset in laid_out.items()}
    return ImportedProblem(problem, own_peak=_compiler_peak(sections), own_plan=plan_of_offsets(problem, places))


@dataclass
class _Pack:
    """The slices of a pack, each as (first step, last step, bytes), and the `kind` of their resource."""

    slices: list[tuple[int, int, int]]
    kind: str | None = None


@dataclass
class _Section:
    """The dump of one function before or after a compiler pass, with its packs and its allocations.

    An allocation is the pack that determines its size, or its number of bytes, or None if the number is unknown.
    """

    when: str = ""
    function: str = ""
    packs: list[_Pack] = field(default_factory=list)
    allocations: list[_Pack | int | None] = field(default_factory=list)


def _function_dumps(text: str) -> Iterator[_Section]:
    """Yield the dumps of functions in the order of the text; each dump has its own names, because dumps repeat them."""
    section, constants, packs = _Section(), dict[str, int](), dict[str, _Pack]()
    for step in _STEP.finditer(text):
        if step["dump"]:
            yield section
            when = step["dump"] if _THIS_PASS in step["pass"] else ""
            section, constants, packs = _Section(when, step["function"]), {}, {}
        elif step["constant"]:
            constants[step["constant"]] = int(step["value"])
        elif step["pack"]:
            pack = packs[step["pack"]] = _Pack(list(_pack_slices(text, step.end(), constants)))
            section.packs.append(pack)
        elif step["is_packed"] and step["size"] in packs:
            packs[step["size"]].kind = step["kind"]
            section.allocations.append(packs[step["size"]])
        else:
            section.allocations.append(constants.get(step["size"]))
    yield section


def _pack_slices(text: str, at: int, constants: dict[str, int]) -> Iterator[tuple[int, int, int]]:
    """Yield a pack's slices, each as (first step, last step, bytes); the pack's operands begin at position `at`."""
    opening = _OPENING.match(text, at)
    if opening is None:
        raise FormatError(f"{_line_text(text, at)}: must have slices, got {excerpt(text[at : at + 40])}")
    at = opening.end()
    while not text.startswith("})", at):
        match = _SLICE.match(text, at)
        if match is None:
            raise FormatError(
                f"{_line_text(text, at)}: must be a slice [first, last] = %size, got {excerpt(text[at:][:40])}"
            )
        start, end, name = int(match[1]), int(match[2]), match[3]
        if end < start:
            raise FormatError(f"{_line_text(text, at)}: must end at or after its first step ({start}), got {end}")
        if name not in constants:
            rule = "must have a constant size, known before the program runs"
            raise FormatError(f"{_line_text(text, at)}: {rule}, got {excerpt(name)}")
        yield start, end, constants[name]
        at = match.end()
        if text.startswith(",", at):
            at = _skip_spaces(text, at + 1)


def _compiler_peak(sections: list[_Section]) -> int | None:
    """Return the total bytes of all packs in IREE's own layout, or None if the file does not show them.

    The pass keeps the order of allocations, so the k-th allocation before the pass is the k-th allocation after it.
    """
    total = 0
    shown_sections = [(row.when, row.function, row) for row in sections if row.when == "After" or row.packs]
    for section, after in paired_sections(shown_sections):
        sizes = [] if after is None else after.allocations
        if len(sizes) != len(section.allocations):
            return None
        for before, size in zip(section.allocations, sizes, strict=True):
            if isinstance(before, _Pack):
                if not isinstance(size, int):
                    return None
                total += size
    return total or None


def _skip_spaces(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _line_text(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"


T = TypeVar("T")
_HEADING = re.compile(r"^// -----// IR Dump (Before|After) ([^\n]*)\n([^\n]*)", re.MULTILINE)
_PACK = re.compile(
    r"^ *(%[\w$.-]+)(?::\d+)? = stream\.resource\.pack\b[^\n]*\n(?: *(?:\[[^\n]*)?\n)* *\}\) : index$", re.MULTILINE
)
_CONSTANT = re.compile(r"^ *(%[\w$.-]+) = arith\.constant (-?\d{1,20}) : index\n", re.MULTILINE)
_VALUE_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")


def slice_offsets(text: str, this_pass: str) -> dict[tuple[int, int], int] | None:
    """Map (number of a pack in the file, number of a slice in the pack) to the offset; None if no offset is shown."""
    sections = list(_printed_sections(text, this_pass))
    offsets_: dict[tuple[int, int], int] = {}
    count = 0
    for body, after in paired_sections(sections):
        packs = [match[1] for match in _PACK.finditer(body)]
        if not packs:
            continue
        values = None if after is None else _values_after_pass(body, after)
        if values is None:
            return None
        numbers = {name: count + k for k, name in enumerate(packs)}
        for name, value in values.items():
            pack, _, entry = name.partition("#")
            if pack in numbers and entry not in ("", "0"):
                offsets_[numbers[pack], int(entry) - 1] = value
        count += len(packs)
    return offsets_ or None


def _printed_sections(text: str, this_pass: str) -> Iterator[tuple[str, str, str]]:
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)][: len(headings)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading[1] if this_pass in heading[2] else "", heading[3], text[heading.end() : end]


def paired_sections(sections: Sequence[tuple[str, str, T]]) -> list[tuple[T, T | None]]:
    """Return a pair for each function: its section before the pass, and its next section after the pass or None.

    `sections` are tuples ("Before" or "After", function, section) in the order of the text.
    """
    pairs_: list[tuple[T, T | None]] = []
    after: dict[str, T] = {}
    for when, function, section in reversed(sections):
        if when == "After":
            after[function] = section
        elif when == "Before":
            pairs_.append((section, after.pop(function, None)))
    return pairs_[::-1]


def _values_after_pass(before: str, after: str) -> dict[str, int] | None:
    """Map each name before the pass to the constant that replaces it after the pass; None if the lines do not match."""
    constants = {name: int(value) for name, value in _CONSTANT.findall(after)}
    first = _CONSTANT.sub("", _PACK.sub("", before)).split("\n")
    second = _CONSTANT.sub("", after).split("\n")
    lines = [[line for line in part if line.strip()] for part in (first, second)]
    if len(lines[0]) != len(lines[1]):
        return None
    values: dict[str, int] = {}
    for was, now in zip(*lines, strict=True):
        names = _VALUE_NAME.findall(was), _VALUE_NAME.findall(now)
        if len(names[0]) != len(names[1]):
            return None
        for name, new in zip(*names, strict=True):
            if "#" in name and new in constants and values.setdefault(name, constants[new]) != constants[new]:
                return None
    return values
