"""Problems whose sizes are expressions: the wire format, and what is computed from it."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from memplan.planner.errors import Location, ProblemError, broken, shown
from memplan.planner.model.columns import each_once, repeated
from memplan.planner.model.rows import MAX_BYTES, Alignment, Bytes, Id, Name, Time, Value, as_tuple
from memplan.planner.operations.graph_facts import TensorRole
from memplan.planner.symbols.comparing import Comparer, samples
from memplan.planner.symbols.polynomials import Key, Polynomial, key
from memplan.planner.symbols.reading import MOST_CHARACTERS, read
from memplan.planner.symbols.space import Space, SymbolRange, Values

MOST_SYMBOLS = 16
Rows = NDArray[np.int64]
"""Sizes or offsets: a row a buffer, a column a value of the symbols."""


class SymbolicBuffer(Value):
    """A buffer whose size is bytes, or an expression over the symbols: `"48*b*n**2"`. It is alive in `[start, end)`."""

    id: Id
    size: Bytes | Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    start: Time
    end: Time


class SymbolicTensor(Value):
    """A tensor of a model: it lies at the beginning of a buffer, as a view may of another one's; a weight in none."""

    name: Name
    buffer: Id | None = None
    role: TensorRole = "activation"


class SymbolicProblem(Value):
    """Buffers of one memory, whose sizes are expressions over symbols with ranges. Valid once it exists.

    `capacity` is how many bytes the memory has. `tensors` are those of a model by name, none where buffers are all that
    is known. `name`, `source` and `format` are remarks.
    """

    symbols: dict[Name, SymbolRange]
    buffers: Annotated[tuple[SymbolicBuffer, ...], BeforeValidator(as_tuple)]
    alignment: Alignment = 1
    capacity: Bytes | None = None
    tensors: Annotated[tuple[SymbolicTensor, ...], BeforeValidator(as_tuple)] = ()
    name: str | None = None
    source: str | None = None
    format: str | None = None

    @model_validator(mode="after")
    def _names_are_names(self) -> SymbolicProblem:
        breaks: list[tuple[Location, str]] = []
        if len(self.symbols) > MOST_SYMBOLS:
            breaks.append((("symbols",), f"must be at most {MOST_SYMBOLS}, got {len(self.symbols)}"))
        for name in self.symbols:
            if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
                breaks.append((("symbols",), f"must have names of letters, digits and _, got {shown(name)}"))
        for first, i in repeated([buffer.id for buffer in self.buffers]):
            rule = f"must be unique, got {shown(self.buffers[i].id)} again (first at buffers[{first}])"
            breaks.append((("buffers", i, "id"), rule))
        for i, buffer in enumerate(self.buffers):
            if buffer.end <= buffer.start:
                rule = f"must be greater than start ({buffer.start}), got {buffer.end}"
                breaks.append((("buffers", i, "end"), rule))
        known = {buffer.id for buffer in self.buffers}
        for i, tensor in enumerate(self.tensors):
            if tensor.buffer is not None and tensor.buffer not in known:
                rule = f"must be the id of a buffer, got {shown(tensor.buffer)}"
                breaks.append((("tensors", i, "buffer"), rule))
        if breaks:
            broken(*breaks)
        return self


@dataclass(frozen=True, eq=False)
class Sized:
    """A symbolic problem, read: its distinct sizes as polynomials, padded to the alignment, and its maximal live sets.

    `form_of` is the index of each buffer's size in `forms`; a buffer is alive in the live sets from `first` to before
    `last`.
    """

    problem: SymbolicProblem
    space: Space
    compare: Comparer
    forms: tuple[Polynomial, ...]
    form_of: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    live_sets: int

    @property
    def count(self) -> int:
        """The number of buffers."""
        return len(self.problem.buffers)

    def sizes(self, points: Sequence[Values]) -> Rows:
        """Return the padded sizes at points."""
        columns = self.space.columns(points)
        rows = [self.space.at(form, columns) for form in self.forms]
        return np.array(rows, np.int64).reshape(len(rows), len(points))[self.form_of]

    def demand(self, sizes: Rows) -> NDArray[np.int64]:
        """Return the largest sum of sizes that are alive together, at each point: a lower bound of every plan."""
        change = np.zeros((self.live_sets + 1, sizes.shape[1]), np.int64)
        np.add.at(change, self.first, sizes)
        np.subtract.at(change, self.last, sizes)
        peak: NDArray[np.int64] = change.cumsum(axis=0).max(axis=0, initial=0)
        return peak


def compiled(problem: SymbolicProblem) -> Sized:
    """Read the sizes of a problem; raises ProblemError, which names the size, the symbol and the value."""
    space = Space.of(problem.symbols)
    by_text: dict[int | str, int] = {}
    by_key: dict[Key, int] = {}
    forms: list[Polynomial] = []
    at: list[int] = []
    wrong: list[str] = []
    for i, buffer in enumerate(problem.buffers):
        if buffer.size not in by_text:
            form = read(buffer.size, space, f"buffers[{i}].size")
            compare = Comparer(space)
            if (rule := _refused(form, compare)) is not None:
                wrong.append(f"buffers[{i}].size: {rule}, got {shown(buffer.size)}")
            form = space.aligned(form, problem.alignment)
            by_text[buffer.size] = by_key.setdefault(key(form), len(forms))
            if by_text[buffer.size] == len(forms):
                forms.append(form)
        at.append(by_text[buffer.size])
    if wrong:
        raise ProblemError(*wrong)
    form_of = np.array(at, np.int64)
    _small_enough(space, forms, form_of)
    first, last, live_sets = _live_sets(problem)
    return Sized(problem, space, Comparer(space), tuple(forms), form_of, first, last, live_sets)


def _refused(form: Polynomial, compare: Comparer) -> str | None:
    """Return the rule that a size breaks: it is negative somewhere, or cannot be shown not to be."""
    space, found = compare.space, compare.negative(form)
    if found is False:
        return None
    points = samples(space, 256) if found is True else [found]
    for point in points:
        if (value := space.value(form, point)) < 0:
            return f"must not be negative, and is {value} at {where(point)}"
    free = sorted(space.free(form))
    if endless := [name for name in free if space.symbols[name].max is None]:
        name = endless[0]
        return f"must be shown not to be negative, for which {name!r} needs a 'max', as in --symbol {name}=1..1024"
    return f"must be shown not to be negative for all values of {', '.join(free)}: a greater 'min' may help"


def where(point: Values) -> str:
    """Write a value of each symbol: `b=1, n=128`."""
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _small_enough(space: Space, forms: Sequence[Polynomial], form_of: NDArray[np.int64]) -> None:
    counts = np.bincount(form_of, minlength=len(forms)).tolist() if len(form_of) else []
    total = 0
    for form, count in zip(forms, counts, strict=True):
        most = space.most(form)
        total += 0 if most is None else most * count
    if total > MAX_BYTES:
        top = ", ".join(f"{name}={each.max}" for name, each in space.symbols.items())
        raise ProblemError(f"buffers: sizes must add up to at most {MAX_BYTES} bytes, got {total} at {top}")


def _live_sets(problem: SymbolicProblem) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the first live set of each buffer, that after its last, and how many there are; none contains another."""
    start = np.array([buffer.start for buffer in problem.buffers], np.int64)
    end = np.array([buffer.end for buffer in problem.buffers], np.int64)
    if not len(start):
        return start, end, 0
    begins = each_once(start)
    ends = each_once(end)
    # A begin opens a maximal set where some lifetime ends before, or with, the next begin.
    after = np.append(begins[1:], ends[-1] + 1)
    kept = begins[np.searchsorted(ends, after, side="right") > np.searchsorted(ends, begins, side="right")]
    first = np.searchsorted(kept, start, side="left")
    last = np.maximum(np.searchsorted(kept, end, side="left"), first + 1)
    return first.astype(np.int64), last.astype(np.int64), len(kept)
