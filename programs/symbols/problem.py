"""Symbolic problems, whose sizes are expressions: their wire format, and values derived from it."""

import keyword
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from memplan.planner.errors import Break, buffer_name_rule, excerpt, raise_rules
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pair
from memplan.planner.model.rows import Alignment, Bytes, Id, Name, Time, Value, tuple_from_list
from memplan.programs.operations.graph_facts import TensorRole
from memplan.programs.symbols.reading import MOST_CHARACTERS
from memplan.programs.symbols.space import SymbolRange, Values

MOST_SYMBOLS = 16


Size = Bytes | Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
"""The type of a size: a number of bytes, or an expression over the symbols such as `"48*b*n**2"`."""


class SymbolicBuffer(Value):
    """A buffer whose size may depend on symbols."""

    id: Id
    """The unique name, a non-empty text or an integer."""
    size: Size
    """The size in bytes, or an expression over the symbols, such as `48*b*n**2`."""
    start: Time
    """The first time step at which the buffer is alive."""
    end: Time
    """The first time step after its lifetime."""
    offset: Size | None = None
    """A pin: the offset in bytes, or an expression for it. By default, the buffer may move."""
    alias_of: Id | None = None
    """The buffer inside which this one is for all values."""
    alias_offset: Size | None = None
    """The bytes from the start of `alias_of` to the start of this buffer, or an expression for them."""


class SymbolicTensor(Value):
    """A tensor of a model."""

    name: Name
    """The name of the tensor."""
    buffer: Id | None = None
    """The buffer at whose start it is, possibly another tensor's; null for a weight."""
    role: TensorRole = "activation"
    """Whether it is an input or output of the model, a weight, a state that is kept between runs, or an activation."""


class SymbolicProblem(Value):
    """Buffers of one memory, whose sizes are expressions over symbols; validated on construction."""

    symbols: dict[Name, SymbolRange]
    """The range of each symbol, by its name."""
    buffers: Annotated[tuple[SymbolicBuffer, ...], BeforeValidator(tuple_from_list)]
    """The buffers to place."""
    alignment: Alignment = 1
    """The offsets of all buffers are multiples of this number of bytes."""
    capacity: Bytes | None = None
    """The size of the memory in bytes; by default, it is not limited."""
    conflicts: Annotated[tuple[Pair, ...], BeforeValidator(tuple_from_list)] = ()
    """Pairs of buffers that must not share bytes although they are not alive together."""
    tensors: Annotated[tuple[SymbolicTensor, ...], BeforeValidator(tuple_from_list)] = ()
    """The tensors of a model; empty if only buffers are known."""
    name: str | None = None
    """A remark: the name of the problem."""
    source: str | None = None
    """A remark: where the problem comes from."""
    format: str | None = None
    """A remark: the format of the file."""

    @model_validator(mode="after")
    def _require_valid_names(self) -> "SymbolicProblem":
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
