"""Parser of StableHLO text, in MLIR's pretty or generic form, into functions, operations and regions."""

import json
import math
import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memplan.planner.errors import FormatError, excerpt
from memplan.runtimes.stablehlo.mlir import (
    COMMENT,
    NAME,
    Statement,
    Statements,
    bracket_content,
    separators,
    split_at_commas,
)

Array = NDArray[Any]
_HEAD = re.compile(rf'(?:({NAME}(?:\s*,\s*{NAME})*)\s*=\s*)?"?([a-z_][\w$]*(?:\.[\w$]+)*)"?')
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")
_OF_REGIONS = re.compile(r"\s(?:reducer\s*\(|cond\b).*", re.DOTALL)
_ARGUMENT = re.compile(r"\s*(%[\w.$-]+)\s*:\s*")
_HEADER = re.compile(r'@("[^"]*"|[\w.$-]+)\s*\(|sym_name = ("[^"]*")')
_ARGUMENT_NAME = re.compile(r"(%[\w.$-]+)\s*:")
_STRING = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)')
# A name before a colon declares an argument of a region, so the pattern must not match such a name as an operand.
_VALUE = re.compile(r"%[\w.$-]++(?:#\d+)?+(?!\s*:)")
_SHAPED = re.compile(r"(?:tensor|memref|vector)<((?:(?:\d{1,18}|\?)\s*x\s*)*)(.*)>", re.DOTALL)
_BOUNDS = re.compile(r"bounds<([\d?, ]*)>")
_STORED = re.compile(r"!quant\.\w+<([ui]+\d+)")
_BITS = re.compile(r"(?:complex<)?(?:bf|f|ui|si|u|i|tf)(\d{1,3})(?:E\d\w*)?>?")
_WORDS = {"bf": "bfloat", "f": "float", "tf": "float", "ui": "uint", "u": "uint", "si": "int", "i": "int"}
_GLOBAL = re.compile(r'"?(\w+\.global)\b')
_DONATED = re.compile(r"tf\.aliasing_output = \d+|jax\.buffer_donor = true")
_FEW = 64
"""The values of integer tensors with at most this many elements are tracked, because sizes may depend on them."""


@dataclass(frozen=True)
class HloType:
    """A type: a tensor's shape (None for an open size) and element type, or the types of a tuple's elements.

    A value without bytes, which only orders operations or is absent, has the element type `token`.
    """

    shape: tuple[int | None, ...]
    element: str
    parts: "tuple[HloType, ...] | None" = None

    @property
    def bits(self) -> int:
        """An element's number of bits (8 for a bool). Raises FormatError for an unknown element type."""
        if self.element == "index":
            return 64
        stored = _STORED.match(self.element)
        match = _BITS.fullmatch(stored[1] if stored else self.element)
        if self.element.startswith("*"):
            raise FormatError(f"types: must have a known number of dimensions, got tensor<{self.element}>")
        if match is None:
            raise FormatError(f"types: must be numbers such as f32 or i8, got {excerpt(self.element)}")
        return 8 if match[1] == "1" else int(match[1]) * (2 if self.element.startswith("complex") else 1)

    @property
    def dtype(self) -> str:
        """The common name of the element type, such as "float32". Raises FormatError for an unknown type."""
        stored = _STORED.match(self.element)
        name = re.match("[a-z]+", stored[1] if stored else self.element)
        word = "complex" if self.element.startswith("complex") else _WORDS.get(name[0] if name else "", "uint")
        return "bool" if self.element == "i1" else f"{word}{self.bits}"

    @property
    def is_static(self) -> bool:
        """True if all sizes are known."""
        return None not in self.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of all dimensions, with 0 for an open size."""
        return tuple(each or 0 for each in self.shape)

    @property
    def has_few_numbers(self) -> bool:
        """True for a tensor of a few integers, whose values are tracked because sizes may depend on them."""
        return self.is_static and math.prod(self.sizes) <= _FEW and self.element.startswith(("i", "ui"))


@dataclass
class HloRegion:
    """A region of an operation: the names of its arguments, and its operations."""

    arguments: list[str]
    body: "list[HloOperation]"


@dataclass
class HloOperation:
    """An operation: its name, operands and results, its attributes as text, and its regions."""

    name: str
    line: int
    text: str
    operands: list[str]
    results: list[str]
    types: list[HloType]
    regions: list[HloRegion] = field(default_factory=list)

    def __str__(self) -> str:
        return f"line {self.line} ({self.name})"

    @property
    def kind(self) -> str:
        """The operator's name without a redundant dialect prefix or, for a custom call, the name of its target."""
        # Constants occur in the dialects stablehlo, arith and chlo, so drop all three prefixes.
        if self.name.endswith(".constant"):
            return "constant"
        name = self.callee if self.name == "stablehlo.custom_call" else self.name
        return name.removeprefix("stablehlo.").removeprefix("mhlo.").removeprefix("func.")

    @property
    def callee(self) -> str:
        """The name of the called function, composite or custom call target, or "" if the operation calls none."""
        match = re.search(r'(?:^\s*@|(?:decomposition|callee) = @|call_target_name = )("[^"]*"|[\w.$-]+)', self.text)
        return "" if match is None else match[1].strip('"')

    @property
    def direction(self) -> str | None:
        """The direction of a comparison, such as EQ or LT, or None for any other operation."""
        match = re.search(r"\b(?:EQ|NE|GE|GT|LE|LT)\b", self.text) if self.kind == "compare" else None
        return None if match is None else match[0]

    def numbers(self, *names: str, default: list[int] | None = None) -> list[int]:
        """Return the integers of the first attribute in `names` that exists. Raises FormatError if all are missing."""
        for name in names:
            match = re.search(rf"\b{name}\s*=\s*(?:array<i64(?:: )?|dense<)?([-\d,\[\] ]+)", self.text)
            if match is not None:
                return [int(each) for each in re.findall(r"-?\d+", match[1])]
        if default is None:
            raise FormatError(f"{self}: must have the attribute {names[0]}")
        return default


@dataclass
class HloFunction:
    """A function of a file. It is parsed on first use, because files contain functions that are never called."""

    statement: Statement
    lines: list[int]

    @cached_property
    def name(self) -> str:
        """The function's name. Raises FormatError if it has none."""
        header = _HEADER.search(self.statement.text)
        if header is None:
            raise FormatError(f"{self}: must be a function with a name, got {excerpt(self.statement.text[:60])}")
        return (header[1] or header[2]).strip('"')

    def __str__(self) -> str:
        return f"line {bisect(self.lines, self.statement.at) + 1} (func)"

    @property
    def has_body(self) -> bool:
        """True if the function is defined, not only declared."""
        return bool(self.statement.regions)

    @cached_property
    def body(self) -> list[HloOperation]:
        """The operations of the function, or none if it is only declared. Raises FormatError for a malformed body."""
        return _parse_region(self.statement.regions[0], self.lines).body if self.has_body else []

    @cached_property
    def arguments(self) -> dict[str, HloType]:
        """Maps each argument's name to its type. Raises FormatError for an argument that is not a tensor."""
        types = {}
        for row in self._argument_texts:
            head = _ARGUMENT.match(row)
            kind = None if head is None else _parse_type(row[head.end() :])
            if head is None or kind is None:
                raise FormatError(f"{self}: must have tensors as arguments, got {excerpt(row[:60])}")
            types[head[1]] = kind
        return types

    @property
    def named_sizes(self) -> dict[str, str]:
        """Maps each argument that is a size to the name that JAX gives it."""
        rows = (
            (_ARGUMENT.match(row), re.search(r'jax\.global_constant = "(\w+)"', row)) for row in self._argument_texts
        )
        return {head[1]: match[1] for head, match in rows if head and match}

    @property
    def donations(self) -> dict[str, str]:
        """Maps each donated argument (whose bytes a result may reuse) to the attribute that donates it."""
        rows = ((_ARGUMENT.match(row), _DONATED.search(row)) for row in self._argument_texts)
        return {head[1]: match[0] for head, match in rows if head and match}

    @cached_property
    def _argument_texts(self) -> list[str]:
        """The text of each argument of the function; empty for a function without a body."""
        text, header = self.statement.text, _HEADER.search(self.statement.text)
        if header is None or not self.has_body:
            return []
        label = self.statement.regions[0][0].text if self.statement.regions[0] else ""
        if header[1]:
            return split_at_commas(bracket_content(text, header.end() - 1))
        return (
            split_at_commas(bracket_content(label, label.find("("))) if label.startswith("^") and "(" in label else []
        )


@dataclass
class HloModule:
    """The functions of a file by name, and the name of the file's first module."""

    functions: dict[str, HloFunction]
    name: str | None = None

    @property
    def main(self) -> str:
        """The name of the function to plan: main, or else the first function with a body."""
        bodies = [name for name, each in self.functions.items() if each.has_body]
        return "main" if "main" in bodies else bodies[0]

    @property
    def unreached_functions(self) -> list[str]:
        """The names of functions with a body that the main function never calls, directly or indirectly."""
        reached, waiting = {self.main}, [self.main]
        while waiting:
            function = self.functions[waiting.pop()]
            called = {each for each in _called_functions(function.body) if each in self.functions} - reached
            reached |= called
            waiting += called
        return [name for name, each in self.functions.items() if name not in reached and each.has_body]


def module_of(data: bytes) -> HloModule:
    """Return a file's first module with its functions. Raises FormatError for globals, or if no function has a body."""
    text = COMMENT.sub(lambda found: found[1] or "", data.decode(errors="backslashreplace"))
    # The file may end with the data of large constants, which is not needed, so cut it off.
    text = text.partition("\n{-#")[0]
    aliases = dict(re.findall(r"^(![\w.]+) = (.*)", text, re.MULTILINE))
    text = re.sub(r"![\w.]+\b(?! =)", lambda found: aliases.get(found[0], found[0]), text) if aliases else text
    lines = [newline.start() for newline in re.finditer("\n", text)]
    module = HloModule({})
    for statement in Statements(text).block():
        if statement.text.startswith(("module", "builtin.module", '"builtin.module"')):
            if module.functions:
                break
            match = re.search(r'module @(?:"([^"]*)"|([\w.$-]+))', statement.text)
            module.name = match[1] or match[2] if match else None
            inside = [each for region in statement.regions for each in region]
        else:
            inside = [statement]
        for each in inside:
            if each.text.startswith(("func.func", '"func.func"', "func ")):
                function = HloFunction(each, lines)
                module.functions.setdefault(function.name, function)
            elif (head := _GLOBAL.match(each.text)) is not None:
                line = bisect(lines, each.at) + 1
                raise FormatError(f"line {line} ({head[1]}): must not be a global: make it an argument of the function")
    if not any(each.has_body for each in module.functions.values()):
        got = "functions without bodies" if module.functions else "none"
        raise FormatError(f"must contain a function (func.func), as printed by jax.export's mlir_module(), got {got}")
    return module


def _parse_type(text: str) -> HloType | None:
    """Return the type at the start of a text, or None for a type without memory."""
    text = text.strip()
    text = text[: next((mark.start() for mark in separators(text)), len(text))]
    if text.startswith("tuple<"):
        parts = [_parse_type(each) for each in split_at_commas(text[6:-1])]
        return None if None in parts else HloType((), "tuple", tuple(each for each in parts if each is not None))
    if (match := re.fullmatch(r"none|!\w+\.(?:token|future<(.*)>)", text, re.DOTALL)) is not None:
        return HloType((), "token") if match[1] is None else _parse_type(match[1])
    if (match := _SHAPED.fullmatch(text)) is None:
        return HloType((), text) if text == "index" or _BITS.fullmatch(text) or _STORED.match(text) else None
    element, *encoding = split_at_commas(match[2]) or [""]
    shape = [None if each.strip() == "?" else int(each) for each in match[1].split("x")[:-1]]
    # A dimension with a bound (its maximum size) occupies memory for the bound, so use the bound as its size.
    if (bounds := _BOUNDS.search(",".join(encoding))) is not None:
        most = [None if each.strip() == "?" else int(each) for each in bounds[1].split(",")]
        shape = [bound if size is None else size for size, bound in zip(shape, most, strict=True)]
    return HloType(tuple(shape), element)


def _parse_region(statements: list[Statement], lines: list[int]) -> HloRegion:
    """Return the region that consists of the given statements. Raises FormatError if it has several blocks."""
    arguments = list[str]()
    if statements and statements[0].text.startswith("^"):
        arguments = _ARGUMENT_NAME.findall(statements[0].text)
        statements = statements[1:]
    if another := next((each for each in statements if each.text.startswith("^")), None):
        line, way = bisect(lines, another.at) + 1, "print the program before it is lowered to branches"
        raise FormatError(f"line {line}: must not have branches between blocks (cf.br): {way}")
    return HloRegion(arguments, [_parse_operation(each, lines) for each in statements])


def _parse_operation(statement: Statement, lines: list[int]) -> HloOperation:
    """Return the operation that a statement contains. Raises FormatError for any other statement."""
    line, head = bisect(lines, statement.at) + 1, _HEAD.match(statement.text)
    if head is None:
        raise FormatError(f"line {line}: must be an operation of StableHLO, got {excerpt(statement.text[:60])}")
    name, text = head[2], _OF_REGIONS.sub("", statement.text[head.end() :])
    marks = list(separators(text))
    end = next((mark.start() for mark in marks if mark[0].endswith("loc")), len(text))
    colon = next((mark for mark in reversed(marks) if mark[0].endswith(":") and mark.start() < end), None)
    begin, kind = (text[:end], "") if colon is None else (text[: colon.start()], text[colon.end() : end])
    results = list[str]()
    for row in _RESULT.finditer(head[1] or ""):
        results += [row[1]] if row[2] is None else [f"{row[1]}#{k}" for k in range(int(row[2]))]
    regions = [_parse_region(each, lines) for each in statement.regions]
    operands = [] if name.endswith("constant") else _VALUE.findall(_STRING.sub("", begin))
    # A `while` in pretty form writes each operand as a pair, %argument = %operand, so every second name is an argument.
    if name.endswith(".while") and regions and not regions[0].arguments:
        for region in regions:
            region.arguments = operands[::2]
        operands = operands[1::2]
    types = _result_types(kind) if results else []
    if len(types) < len(results):
        raise FormatError(f"line {line} ({name}): must have tensors as results, got {excerpt(kind.strip()[-60:])}")
    return HloOperation(name, line, begin, operands, results, types[len(types) - len(results) :], regions)


def _result_types(text: str) -> list[HloType]:
    arrows = [mark.end() for mark in separators(text) if mark[0] == "->"]
    text = text[arrows[-1] if arrows else 0 :].strip()
    rows = split_at_commas(bracket_content(text, 0) if text.startswith("(") else text)
    return [each for each in map(_parse_type, rows) if each is not None]


def _called_functions(body: list[HloOperation]) -> Iterator[str]:
    for operation in body:
        yield from (each.strip('"') for each in re.findall(r'@("[^"]*"|[\w.$-]+)', operation.text))
        for region in operation.regions:
            yield from _called_functions(region.body)


def constant_integers(operation: HloOperation) -> Array | None:
    """Return the integers of a constant with few elements, or None for any other constant."""
    kind = operation.types[0]
    match = re.search(r"dense<([-\d, \s\[\]truefalse]*)>|^\s*(-?\d+|true|false)\b(?!\.)", operation.text)
    if not kind.has_few_numbers or match is None:
        return None
    values = np.array(json.loads(match[1] or match[2] or "[]"), object)
    return np.broadcast_to(values, kind.sizes) if values.shape == () else values.reshape(kind.sizes)
