"""The check of offsets that are expressions, as another system plans them, for all values of the symbols."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field

from memplan.capabilities.capability import Answer
from memplan.capabilities.inputs import object_in
from memplan.capabilities.question import Input
from memplan.capabilities.shapes.search.foreign_offsets import Fault, faults
from memplan.planner.errors import PlanError, shown
from memplan.planner.formats import memplan_json
from memplan.planner.model.rows import Bytes, Name, Value
from memplan.planner.symbols.polynomials import Polynomial
from memplan.planner.symbols.problem import SymbolicProblem, compiled, where
from memplan.planner.symbols.reading import MOST_CHARACTERS, read

_MOST = 20
_Expression = Bytes | Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


class SymbolicOffsets(Value):
    """The offset of each buffer, bytes or an expression over the symbols, and the end of the memory, if it has one."""

    error = PlanError

    offsets: dict[Name, _Expression]
    arena: _Expression | None = None


class ShapesFault(Answer):
    """A rule that one or two buffers break, and a value at which they do; null where none is known."""

    rule: str
    buffers: tuple[str | int, ...]
    at: dict[str, int] | None


class VerifiedShapes(Answer):
    """The check: `valid` for all values, `invalid` at those that `faults` name, at most 20, or `unknown` of some."""

    status: Literal["valid", "invalid", "unknown"]
    faults: tuple[ShapesFault, ...]


def verify_shapes(problem: SymbolicProblem, plan: SymbolicOffsets, deadline: float) -> VerifiedShapes:
    """Check offsets that are expressions, as another system plans dynamic shapes, for all values of the symbols.

    Buffers that are alive together must not share bytes, offsets must be multiples of the alignment, and nothing may
    end behind the arena. What is wrong comes with a value at which it is. `deadline` is a moment of the monotonic
    clock. Raises PlanError for offsets that are not those of the problem's buffers.
    """
    sized = compiled(problem)
    ids = {str(row.id): i for i, row in enumerate(problem.buffers)}
    if plan.offsets.keys() != ids.keys():
        odd = min(plan.offsets.keys() ^ ids.keys())
        raise PlanError(f"offsets: must have each buffer of the problem, and no other, got {shown(odd)}")
    sizes = [read(row.size, sized.space, "size") for row in problem.buffers]
    offsets: list[Polynomial] = [read(plan.offsets[name], sized.space, f"offsets.{name}") for name in ids]
    arena = None if plan.arena is None else read(plan.arena, sized.space, "arena")
    found = tuple(islice(faults(sized, sizes, offsets, arena, deadline), _MOST))
    rows = tuple(_row(problem, fault) for fault in found)
    wrong = any(row.at is not None for row in rows)
    return VerifiedShapes(status="invalid" if wrong else "unknown" if rows else "valid", faults=rows)


def _row(problem: SymbolicProblem, fault: Fault) -> ShapesFault:
    ids = tuple(problem.buffers[b].id for b in fault.buffers)
    return ShapesFault(rule=fault.rule, buffers=ids, at=None if fault.at is None else dict(fault.at))


def verified_lines(found: VerifiedShapes) -> Iterator[str]:
    """Yield the verdict and the faults for people."""
    yield f"{found.status} for all values" if found.status != "invalid" else "invalid"
    for row in found.faults:
        names = " and ".join(shown(name) for name in row.buffers)
        yield (
            f"{names} {row.rule} at {where(row.at) or 'once'}"
            if row.at is not None
            else f"{names}: not known: {row.rule}"
        )


def _plan(value: object) -> SymbolicOffsets:
    return SymbolicOffsets.model_validate(object_in(value, "verify", PlanError))


EXAMPLE_OFFSETS: dict[str, Any] = {
    "offsets": {"embedding": 0, "scores": "3072*b*n", "mask": "align(48*b*n**2, 64) + 3072*b*n"},
    "arena": "3072*b*n + 64*b*n**2 + n**2 + 4096",
}
OFFSETS = Input(
    "verify",
    SymbolicOffsets,
    _plan,
    lambda plan: plan.model_dump(mode="json", exclude_none=True),
    "Check these offsets instead of planning: a JSON file with the offset of each buffer as an expression.",
    from_file=lambda _reader, data, _name, _question: _plan(memplan_json.parse(data)),
    required=False,
    named_by_flag=True,
)
