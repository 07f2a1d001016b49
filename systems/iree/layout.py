"""The offsets that IREE's compiler gave its packs, from what it prints around the pass that lays them out.

That pass replaces the results of a pack by constants and changes nothing else: without constants and packs, the lines
of a function before it are those after it, one by one, and so are the names in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
_HEADING = re.compile(r"^// -----// IR Dump (Before|After) ([^\n]*)\n([^\n]*)", re.MULTILINE)
_PACK = re.compile(
    r"^ *(%[\w$.-]+)(?::\d+)? = stream\.resource\.pack\b[^\n]*\n(?: *(?:\[[^\n]*)?\n)* *\}\) : index$", re.MULTILINE
)
_CONSTANT = re.compile(r"^ *(%[\w$.-]+) = arith\.constant (-?\d{1,20}) : index\n", re.MULTILINE)
_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")


def offsets(text: str, this_pass: str) -> dict[tuple[int, int], int] | None:
    """Return the offset of slice i of pack k by (k, i), packs counted through the file; None where none are given."""
    sections = list(_sections(text, this_pass))
    found: dict[tuple[int, int], int] = {}
    count = 0
    for body, after in pairs(sections):
        packs = [match[1] for match in _PACK.finditer(body)]
        if not packs:
            continue
        values = None if after is None else _values(body, after)
        if values is None:
            return None
        numbers = {name: count + k for k, name in enumerate(packs)}
        for name, value in values.items():
            pack, _, entry = name.partition("#")
            if pack in numbers and entry not in ("", "0"):
                found[numbers[pack], int(entry) - 1] = value
        count += len(packs)
    return found or None


def _sections(text: str, this_pass: str) -> Iterator[tuple[str, str, str]]:
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)][: len(headings)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading[1] if this_pass in heading[2] else "", heading[3], text[heading.end() : end]


def pairs(sections: Sequence[tuple[str, str, T]]) -> list[tuple[T, T | None]]:
    """Return each section before the pass with the next one after it of its function, which belongs to no other.

    `sections` are (when, function, section), in the order of the text.
    """
    found: list[tuple[T, T | None]] = []
    after: dict[str, T] = {}
    for when, function, section in reversed(sections):
        if when == "After":
            after[function] = section
        elif when == "Before":
            found.append((section, after.pop(function, None)))
    return found[::-1]


def _values(before: str, after: str) -> dict[str, int] | None:
    """Return the values of names before the pass that are constants after it; None where lines differ."""
    constants = {name: int(value) for name, value in _CONSTANT.findall(after)}
    first = _CONSTANT.sub("", _PACK.sub("", before)).split("\n")
    second = _CONSTANT.sub("", after).split("\n")
    lines = [[line for line in part if line.strip()] for part in (first, second)]
    if len(lines[0]) != len(lines[1]):
        return None
    found: dict[str, int] = {}
    for was, now in zip(*lines, strict=True):
        names = _NAME.findall(was), _NAME.findall(now)
        if len(names[0]) != len(names[1]):
            return None
        for name, new in zip(*names, strict=True):
            if "#" in name and new in constants and found.setdefault(name, constants[new]) != constants[new]:
                return None
    return found
