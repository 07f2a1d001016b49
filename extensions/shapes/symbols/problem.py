"""Symbolic problems, whose sizes are expressions: their wire format, and values derived from it."""

from __future__ import annotations

import keyword
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from memplan.extensions.networks.operations.graph_facts import TensorRole
from memplan.extensions.shapes.symbols.reading import MOST_CHARACTERS
from memplan.extensions.shapes.symbols.space import SymbolRange, Values
from memplan.planner.errors import Break, buffer_name_rule, excerpt, raise_rules
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pair
from memplan.planner.model.rows import Alignment, Bytes, Id, Name, Time, Value, tuple_from_list

MOST_SYMBOLS = 16


Size = Bytes | Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
"""The type of a size: a number of bytes, or an expression over the symbols such as `"48*b*n**2"`."""


class SymbolicBuffer(Value):
    """A buffer whose size is bytes, or an expression over the symbols: `"48*b*n**2"`. It is alive in `[start, end)`.

    `offset` pins it. An alias is inside another buffer for all values, `alias_offset` bytes from its start.
    """

    id: Id
    size: Size
    start: Time
    end: Time
    offset: Size | None = None
    alias_of: Id | None = None
    alias_offset: Size | None = None


class SymbolicTensor(Value):
    """A tensor of a model: it is at the start of a buffer, possibly another tensor's; a weight has no buffer."""

    name: Name
    buffer: Id | None = None
    role: TensorRole = "activation"


class SymbolicProblem(Value):
    """Buffers of one memory, whose sizes are expressions over symbols with ranges; validated on construction.

    `capacity` is the size of the memory in bytes. `conflicts` are pairs that must not share bytes although not alive
    together. `tensors` are those of a model by name, empty if only buffers are known. `name`, `source` and `format` are
    remarks.
    """

    symbols: dict[Name, SymbolRange]
    buffers: Annotated[tuple[SymbolicBuffer, ...], BeforeValidator(tuple_from_list)]
    alignment: Alignment = 1
    capacity: Bytes | None = None
    conflicts: Annotated[tuple[Pair, ...], BeforeValidator(tuple_from_list)] = ()
    tensors: Annotated[tuple[SymbolicTensor, ...], BeforeValidator(tuple_from_list)] = ()
    name: str | None = None
    source: str | None = None
    format: str | None = None

    @model_validator(mode="after")
    def _require_valid_names(self) -> SymbolicProblem:
        """Return the problem; raise a validation error for wrong names of symbols or unknown buffers."""
        breaks: list[Break] = []
        if len(self.symbols) > MOST_SYMBOLS:
            breaks.append((("symbols",), f"must be at most {MOST_SYMBOLS}, got {len(self.symbols)}"))
        for name in self.symbols:
            if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
                breaks.append((("symbols",), f"must have names of letters, digits and _, got {excerpt(name)}"))
        names = {buffer.id for buffer in self.buffers}
        for i, tensor in enumerate(self.tensors):
            if tensor.buffer is not None and tensor.buffer not in names:
                breaks.append((("tensors", i, "buffer"), buffer_name_rule(tensor.buffer)))
        if breaks:
            raise_rules(*breaks)
        self.sizeless_problem()
        return self

    def sizeless_problem(self) -> Problem:
        """Return a plain problem of zero-size buffers with the same rules; raises ProblemError for invalid rules."""
        fields = ("id", "start", "end", "alias_of")
        rows = [{"size": 0} | {name: getattr(row, name) for name in fields} for row in self.buffers]
        return Problem.model_validate({"buffers": rows, "conflicts": self.conflicts})


def point_text(point: Values) -> str:
    """Return the values of the symbols as one text, such as `b=1, n=128`."""
    return ", ".join(f"{name}={value}" for name, value in point.items())
