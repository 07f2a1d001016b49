"""The verification of symbolic offsets from another system, for all values of the symbols."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from memplan.extensions.shapes.search.certificate import prove_within
from memplan.planner.errors import PlanError, excerpt
from memplan.planner.formats import memplan_json
from memplan.planner.model.rows import Bytes, Name, Value
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.polynomials import Key, Polynomial, hashable_form, minus, plus, scale
from memplan.programs.symbols.problem import SymbolicProblem, point_text
from memplan.programs.symbols.reading import MOST_CHARACTERS, parse_expression
from memplan.programs.symbols.sized import CompiledSizes, compile_sizes
from memplan.programs.symbols.space import Values
from memplan.questions.inputs import require_object
from memplan.questions.inputs.values import Input
from memplan.questions.question import Answer

_MOST = 20
_Expression = Bytes | Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


class SymbolicOffsets(Value):
    """The offsets of another system."""

    error = PlanError

    offsets: dict[Name, _Expression]
    """The offset of each buffer in bytes, or an expression over the symbols, by the name of the buffer."""
    arena: _Expression | None = None
    """The bytes that the plan may take, or an expression for them; by default, they are not checked."""


class ShapesFault(Answer):
    """A rule that one or two buffers violate, or may violate."""

    rule: str
    """What the buffers do, such as `share bytes`."""
    buffers: tuple[str | int, ...]
    """The names of the buffers."""
    at: dict[str, int] | None
    """Values of the symbols at which they violate it; null if none were found, and none are excluded."""


class VerifiedShapes(Answer):
    """The verdict on the offsets of another system."""

    status: Literal["valid", "invalid", "unknown"]
    """`valid` for all values, `invalid` at the values in `faults`, or `unknown`."""
    faults: tuple[ShapesFault, ...]
    """The violated rules; at most 20."""


def verify_shapes(problem: SymbolicProblem, plan: SymbolicOffsets, deadline: float) -> VerifiedShapes:
    """Verify the symbolic offsets of another system for all values of the symbols.

    Buffers that are alive together must not share bytes, offsets must be multiples of the alignment, and no buffer may
    end beyond the arena. Each fault has symbol values at which it occurs. `deadline` is a time of the monotonic clock.
    Raises PlanError if the offsets are not exactly those of the problem's buffers.
    """
    sized = compile_sizes(problem)
    ids = {str(row.id): i for i, row in enumerate(problem.buffers)}
    if plan.offsets.keys() != ids.keys():
        odd = min(plan.offsets.keys() ^ ids.keys())
        raise PlanError(f"offsets: must name exactly the buffers of the problem, got a difference at {excerpt(odd)}")
    sizes = [parse_expression(row.size, sized.space, "size") for row in problem.buffers]
    offsets: list[Polynomial] = [parse_expression(plan.offsets[name], sized.space, f"offsets.{name}") for name in ids]
    arena = None if plan.arena is None else parse_expression(plan.arena, sized.space, "arena")
    faults = tuple(islice(_offset_faults(sized, sizes, offsets, arena, deadline), _MOST))
    wrong = any(row.at is not None for row in faults)
    return VerifiedShapes(status="invalid" if wrong else "unknown" if faults else "valid", faults=faults)


def _offset_faults(
    sized: CompiledSizes,
    sizes: Sequence[Polynomial],
    offsets: Sequence[Polynomial],
    arena: Polynomial | None,
    deadline: float,
) -> Iterator[ShapesFault]:
    """Yield each rule that the offsets violate at some symbol value, or may violate, until the deadline."""
    claims = _Claims(sized, deadline)
    ends = [plus(offset, size) for offset, size in zip(offsets, sizes, strict=True)]
    for b, offset in enumerate(offsets):
        over = minus(offset, scale(sized.space.floor(offset, sized.problem.alignment), sized.problem.alignment))
        rows = {"is below 0": scale(offset, -1), f"is not a multiple of {sized.problem.alignment}": over}
        if arena is not None:
            rows["ends beyond the arena"] = minus(ends[b], arena)
        for rule, form in rows.items():
            yield from claims.fault(rule, (b,), [form])
    for a, b in np.argwhere(np.triu(sized.meets)).tolist():
        apart = [minus(ends[a], offsets[b]), minus(ends[b], offsets[a]), sizes[a], sizes[b]]
        yield from claims.fault("share bytes", (a, b), apart)
    far: list[tuple[int, int, Polynomial, str]] = [(i, at, {}, "is not where it is pinned") for i, at in sized.pins]
    names = [row.id for row in sized.problem.buffers]
    far += [(i, at, offsets[root], f"is not at its place inside {excerpt(names[root])}") for i, root, at in sized.views]
    for i, at, start, rule in far:
        away = minus(offsets[i], plus(start, sized.forms[at]))
        for form in (away, scale(away, -1)):
            yield from claims.fault(rule, (i,), [form])


class _Claims:
    """Cached proofs of claims; a claim states that, at every value, one of several polynomials is at most 0."""

    def __init__(self, sized: CompiledSizes, deadline: float) -> None:
        """Start without results; `deadline` is a time of the monotonic clock."""
        self.sized, self.deadline = sized, deadline
        self.points = samples(sized.space, 64)
        self.known: dict[frozenset[Key], Values | bool] = {}

    def fault(self, rule: str, buffers: tuple[int, ...], forms: Sequence[Polynomial]) -> Iterator[ShapesFault]:
        """Yield a fault unless it is proved that, at each symbol value, one of the polynomials `forms` is at most 0."""
        form = frozenset(map(hashable_form, forms))
        if form not in self.known:
            self.known[form] = self._breaking_point(forms)
        values = self.known[form]
        if values is not False:
            ids = tuple(self.sized.problem.buffers[b].id for b in buffers)
            yield ShapesFault(rule=rule, buffers=ids, at=None if values is True else dict(values))

    def _breaking_point(self, forms: Sequence[Polynomial]) -> Values | bool:
        columns = self.sized.space.columns(self.points)
        least = np.min([self.sized.space.values_at(form, columns) for form in forms], axis=0)
        if least.max() > 0:
            return self.points[int(np.argmax(least > 0))]
        verdict = prove_within(self.sized, [(form,) for form in forms], [{}], Fraction(0), self.deadline)
        return verdict.at or True if verdict.found != "proved" else False


def verified_lines(found: VerifiedShapes) -> Iterator[str]:
    """Yield the verdict, and then the violations, as lines to print."""
    yield f"{found.status} for all values" if found.status != "invalid" else "invalid"
    for row in found.faults:
        names = " and ".join(excerpt(name) for name in row.buffers)
        yield (
            f"{names} {row.rule} at {point_text(row.at) or 'once'}"
            if row.at is not None
            else f"{names}: not known: {row.rule}"
        )


def _parsed_offsets(value: object) -> SymbolicOffsets:
    """Return the symbolic offsets in a parsed JSON value; raises PlanError for other types."""
    return SymbolicOffsets.model_validate(require_object(value, "verify", PlanError))


OFFSETS = Input(
    "verify",
    SymbolicOffsets,
    _parsed_offsets,
    lambda plan: plan.model_dump(mode="json", exclude_none=True),
    "Check these offsets instead of planning: a JSON file with the offset of each buffer as an expression.",
    from_file=lambda _reader, data, _name, _question: _parsed_offsets(memplan_json.parse(data)),
    about="Check these offsets instead of planning.",
    required=False,
    named_by_flag=True,
)
