"""Offset programs, which give offsets for all values of the symbols, as data, and their evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.shapes.symbols.problem import SymbolicProblem, point_text
from memplan.extensions.shapes.symbols.sized import compile_sizes
from memplan.extensions.shapes.symbols.space import Values
from memplan.planner.errors import ProblemError
from memplan.planner.model.rows import Value
from memplan.questions.question import Answer

Index = Annotated[int, Field(ge=0)]
Terms = tuple[tuple[Index, Index], ...]
"""Pairs of indices, of an earlier value and of a size; a term is the sum of both."""


class OffsetProgram(Value):
    """Offsets as maxima of sums: value `i` is the largest of the sums `values[i]`, and 0 where there are none.

    Buffer `b` lies at value `which[b]`, and the peak is the largest of `last`. `order` is the order of stacking that it
    was made of, as positions of buffers. `peak` are expressions whose maximum is the peak, None for too many; `forms`
    are these as polynomials, where the program was made.
    """

    values: tuple[Terms, ...]
    which: tuple[Index, ...]
    last: Terms
    order: tuple[Index, ...]
    peak: tuple[str, ...] | None = None
    forms: SkipJsonSchema[Any] = Field(None, exclude=True, repr=False)

    def counts(self) -> list[int]:
        """Return the number of sums in each value, and in the peak, if all references are expanded."""
        made: list[int] = []
        for terms in (*self.values, self.last):
            made.append(sum(made[value] + 1 for value, _ in terms))
        return made

    def expressions(self, sizes: Mapping[int, Any], largest: Callable[[list[Any]], Any]) -> tuple[list[Any], list[Any]]:
        """Return the offset of each buffer, and the end offsets whose maximum is the peak, as expressions.

        `sizes` are the padded sizes by index; `largest` returns the maximum of some sums, 0 for none. Ends are padded.
        """
        made: list[Any] = []
        for terms in self.values:
            made.append(largest([made[value] + sizes[size] for value, size in terms]))
        return [made[value] for value in self.which], [made[value] + sizes[size] for value, size in self.last]


class OffsetPrograms(Value):
    """Several programs, all evaluated; the program with the least peak gives the offsets.

    `sizes` are the distinct sizes, padded to the alignment, as expressions; buffer `b` has size `size_of[b]`.
    """

    sizes: tuple[str, ...]
    size_of: tuple[Index, ...]
    programs: Annotated[tuple[OffsetProgram, ...], Field(min_length=1)]


class ProgramsProof(Answer):
    """The proof for all values: the peak is at most `1 + ratio` times the bound; none where `ratio` is null.

    `by` says how. `for_any_sizes` is true where the order is optimal whatever the sizes of the buffers are. `worst` is
    the value at which most is needed above the bound, of all that were tried, and `worst_ratio` how many times.
    """

    ratio: float | None
    by: str
    for_any_sizes: bool
    worst: dict[str, int] | None
    worst_ratio: float


UNPROVED = ProgramsProof(ratio=None, by="", for_any_sizes=False, worst=None, worst_ratio=1.0)
"""The proof in an answer that claims nothing for all values."""


class Evaluator:
    """Evaluates offsets and peak at given values of the symbols, in exact integers."""

    def __init__(self, problem: SymbolicProblem, found: OffsetPrograms) -> None:
        self.found, self.sized = found, compile_sizes(problem)
        self.counts = Counter(self.sized.form_of.tolist())

    def offsets(self, given: Values) -> tuple[int, list[int]]:
        """Return the peak and the offset of each buffer in bytes; raises ProblemError if sizes overflow."""
        peak, values, program = self._best_program(given)
        return peak, [values[each] for each in program.which]

    def peak(self, given: Values) -> int:
        """Return the peak in bytes; raises ProblemError if sizes overflow."""
        return self._best_program(given)[0]

    def _best_program(self, given: Values) -> tuple[int, list[int], OffsetProgram]:
        """Return the least peak of all programs, with the values of its program, and the program."""
        sizes = self.sized.space.values(self.sized.forms, given)
        if sum(sizes[form] * count for form, count in self.counts.items()) >= 2**63:
            raise ProblemError(f"sizes: must add up to less than 2^63 bytes at {point_text(given)}")
        runs = []
        for program in self.found.programs:
            values: list[int] = []
            for terms in program.values:
                values.append(_max_term(terms, values, sizes))
            runs.append((_max_term(program.last, values, sizes), values, program))
        return min(runs, key=lambda run: run[0])


def _max_term(terms: Terms, values: Sequence[int], sizes: Sequence[int]) -> int:
    # This loop takes half the time of max() over a generator; starting at 0 is right, as no term is negative.
    most = 0
    for value, size in terms:
        end = values[value] + sizes[size]
        if end > most:
            most = end
    return most
