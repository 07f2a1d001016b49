"""StableHLO as MLIR prints it: functions, their operations and regions, a line each."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memplan.planner.errors import FormatError, shown

Array = NDArray[Any]
_TYPE = re.compile(r"tensor<((?:(?:\d{1,18}|\?)x)*)(complex<\w+>|\w+)(?:, ?[^>]*>?)?>")
_FUNCTION = re.compile(r"func\.func (?:\w+ )?@(\"[^\"]*\"|[\w.$-]+)\(")
_ARGUMENT = re.compile(r"(%[\w.$-]+): (tensor<[^%]*?>)(?=[ ,)])")
_OPERATION = re.compile(r"(?:(%[\w.$-]+)(?::(\d{1,4}))? = )?\"?([a-z_]\w*(?:\.\w+)*)\"?[ (]?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_BITS = re.compile(r"(?:complex<)?(?:bf|f|ui|i|tf)(\d{1,3})(?:E\d\w*)?>?")
_FEW = 64
"""The most whole numbers of a constant that sizes may follow from."""


@dataclass(frozen=True)
class HloType:
    """The sizes of a tensor, None where they are open, and the type of its elements."""

    shape: tuple[int | None, ...]
    element: str

    @property
    def bits(self) -> int:
        """The bits of an element, a byte for a truth value; raises FormatError."""
        found = _BITS.fullmatch(self.element)
        if found is None:
            raise FormatError(f"types: must be numbers such as f32 or i8, got {shown(self.element)}")
        return 8 if found[1] == "1" else int(found[1]) * (2 if self.element.startswith("complex") else 1)

    @property
    def is_static(self) -> bool:
        """True where no size is open."""
        return None not in self.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes, 0 where they are open."""
        return tuple(each or 0 for each in self.shape)

    @property
    def has_few_numbers(self) -> bool:
        """True for a tensor of a few whole numbers, from which sizes may follow."""
        return self.is_static and math.prod(self.sizes) <= _FEW and self.element.startswith(("i", "ui"))


@dataclass
class HloOperation:
    """An operation: its operands and results by name, attributes as text, and regions."""

    name: str
    line: int
    text: str
    operands: list[str]
    results: list[str]
    types: list[HloType]
    regions: list[list[HloOperation]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"line {self.line} ({self.name})"

    @property
    def kind(self) -> str:
        """The operator without its dialect where that says no more; the target of a custom call."""
        name = self.callee if self.name == "stablehlo.custom_call" else self.name
        return name.removeprefix("stablehlo.").removeprefix("func.")

    @property
    def callee(self) -> str:
        """The function that is called, or of which a composite is made."""
        found = re.search(r"(?:^|decomposition = )@(\"[^\"]*\"|[\w.$-]+)", self.text)
        return "" if found is None else found[1].strip('"')

    def numbers(self, *names: str, default: list[int] | None = None) -> list[int]:
        """Return the whole numbers of an attribute, which has one of some names; raises FormatError without any."""
        for name in names:
            found = re.search(rf"\b{name} = (?:array<i64(?:: )?|dense<)?([-\d,\[\] ]+)", self.text)
            if found is not None:
                return [int(each) for each in re.findall(r"-?\d+", found[1])]
        if default is None:
            raise FormatError(f"{self}: must have {names[0]}")
        return default


@dataclass
class HloFunction:
    """A function: its arguments with their types, the sizes that some of them are by name, and its operations."""

    arguments: dict[str, HloType]
    named: dict[str, str]
    body: list[HloOperation]


def functions_of(data: bytes) -> dict[str, HloFunction]:
    """Return the functions of a module by name; raises FormatError."""
    lines = _Lines(data.decode(errors="backslashreplace").splitlines())
    found = {}
    for text in lines:
        if header := _FUNCTION.match(text):
            rows = [*_ARGUMENT.finditer(text.partition(") -> ")[0] + " ")]
            ends = [row.start() for row in rows[1:]] + [len(text)]
            named = {
                row[1]: said[1]
                for row, end in zip(rows, ends, strict=True)
                if (said := re.search(r'jax\.global_constant = "(\w+)"', text[row.end() : end]))
            }
            body = lines.block()
            found[header[1].strip('"')] = HloFunction({row[1]: _types(row[2])[0] for row in rows}, named, body)
    if not found:
        raise FormatError("must have a function (func.func), as jax.export's mlir_module() prints it, got none")
    return found


class _Lines(Iterator[str]):
    """The lines of a text, without locations, one after the other."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.at = lines, 0

    def __next__(self) -> str:
        if self.at == len(self.lines):
            raise StopIteration
        self.at += 1
        return self.lines[self.at - 1].strip()

    def block(self) -> list[HloOperation]:
        """Return the operations up to the brace that ends the block that is open; it is the line before the next."""
        body: list[HloOperation] = []
        for text in self:
            if text.startswith("}"):
                return body
            if text.startswith("^") or not text:
                continue
            if text.startswith(("reducer", "cond {")):
                body[-1].regions.append(self.block())
                while self.lines[self.at - 1].strip().startswith("} do {"):
                    body[-1].regions.append(self.block())
                continue
            body.append(self._operation(text))
        raise FormatError("must have a brace for each that is open, got an end")

    def _operation(self, text: str) -> HloOperation:
        line, regions = self.at, list[list[HloOperation]]()
        text = _unlocated(text)
        if text.endswith("({"):
            regions.append(self.block())
            while (end := self.lines[self.at - 1].strip()).startswith("}, {"):
                regions.append(self.block())
            text = text[:-2] + _unlocated(end).removeprefix("})")
        head = _OPERATION.match(text)
        if head is None:
            raise FormatError(f"line {line}: must be an operation of StableHLO, got {shown(text[:60])}")
        said, _, kind = text[head.end() :].rpartition(" : ")
        given = _types(kind.rpartition("->")[2])
        count = 0 if head[1] is None else int(head[2] or 1)
        if len(given) < count:
            raise FormatError(f"line {line} ({head[3]}): must have tensors as results, got {shown(kind[-60:])}")
        results = [head[1]] if count == 1 else [f"{head[1]}#{k}" for k in range(count)]
        operands = [] if head[3].endswith("constant") else _VALUE.findall(_STRING.sub("", said))
        return HloOperation(head[3], line, said, operands, results, given[-count:] if count else [], regions)


def constant(operation: HloOperation) -> Array | None:
    """Return the few whole numbers of a constant; None for others."""
    kind = operation.types[0]
    found = re.match(r"dense<([-\d, \[\]truefalse]*)>", operation.text)
    if not kind.has_few_numbers or found is None:
        return None
    values = np.array(json.loads(found[1] or "[]"), object)
    return np.broadcast_to(values, kind.sizes) if values.shape == () else values.reshape(kind.sizes)


def _types(text: str) -> list[HloType]:
    return [
        HloType(tuple(None if each == "?" else int(each) for each in row[1].split("x")[:-1]), row[2])
        for row in _TYPE.finditer(text)
    ]


def _unlocated(text: str) -> str:
    at = text.rfind(" loc(")
    return text if at < 0 or not text.endswith(")") else text[:at]
