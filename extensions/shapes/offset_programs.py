"""Offset programs, from which the offsets follow for all values of the symbols, and their evaluation."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.planner.errors import ProblemError
from memplan.planner.model.rows import Value
from memplan.programs.symbols.problem import SymbolicProblem, point_text
from memplan.programs.symbols.sized import compile_sizes
from memplan.programs.symbols.space import Values
from memplan.questions.question import Answer

Index = Annotated[int, Field(ge=0)]
Terms = tuple[tuple[Index, Index], ...]
"""The type of sums as pairs of indices: (index of an earlier value, index of the size that is added to it)."""


class OffsetProgram(Value):
    """Offsets as maxima of sums, from an order of stacking."""

    values: tuple[Terms, ...]
    """The pairs (i, s) of each value, which is the largest sum of value i and size s, or 0 without pairs."""
    which: tuple[Index, ...]
    """For each buffer, the number of the value that is its offset."""
    last: Terms
    """The pairs (i, s) whose largest sum is the peak."""
    order: tuple[Index, ...]
    """The stacking order from which the program was derived, as positions of buffers."""
    peak: tuple[str, ...] | None = None
    """Expressions whose maximum is the peak; null if there are too many."""
    forms: SkipJsonSchema[Any] = Field(None, exclude=True, repr=False)
    """The expressions of `peak` as polynomials; None in any process that did not derive them."""

    def counts(self) -> list[int]:
        """Return how many sums each value's expanded expression has; the last entry is the number for the peak."""
        made: list[int] = []
        for terms in (*self.values, self.last):
            made.append(sum(made[value] + 1 for value, _ in terms))
        return made

    def expressions(self, sizes: Mapping[int, Any], largest: Callable[[list[Any]], Any]) -> tuple[list[Any], list[Any]]:
        """Return two lists of expressions: each buffer's offset, and the end offsets whose maximum is the peak.

        `sizes` has the expression of each padded size. `largest` returns the maximum of some sums, and 0 for none. The
        end offsets include the padding.
        """
        made: list[Any] = []
        for terms in self.values:
            made.append(largest([made[value] + sizes[size] for value, size in terms]))
        return [made[value] for value in self.which], [made[value] + sizes[size] for value, size in self.last]


class OffsetPrograms(Value):
    """Several programs, which are all evaluated; the program with the least peak gives the offsets.

    `sizes` has the distinct sizes, padded to the alignment, as expressions; buffer `b` has size `size_of[b]`.
    """

    sizes: tuple[str, ...]
    size_of: tuple[Index, ...]
    programs: Annotated[tuple[OffsetProgram, ...], Field(min_length=1)]


class ProgramsProof(Answer):
    """The proof, for all values of the symbols, of how far the peak is above the bound."""

    ratio: float | None
    """The peak is at most 1 + ratio times the bound; null if nothing is proved."""
    by: str
    """What proves it: `sizes` (lifetimes alone), `forms` (each form of the peak) or `boxes` (of values); else empty."""
    for_any_sizes: bool
    """True if the order is optimal for any sizes of the buffers."""
    worst: dict[str, int] | None
    """The tried values of the symbols with the largest ratio of peak to bound; null if no peak exceeds its bound."""
    worst_ratio: float
    """The ratio of peak to bound at `worst`, such as 1.1."""


UNPROVED = ProgramsProof(ratio=None, by="", for_any_sizes=False, worst=None, worst_ratio=1.0)
"""The proof in an answer that claims nothing for all values."""


class Evaluator:
    """The evaluation of offset programs, in exact integers, at given values of the symbols."""

    def __init__(self, problem: SymbolicProblem, found: OffsetPrograms) -> None:
        """Parse the sizes of the programs, and prepare the evaluation of their values."""
        self.found, self.sized = found, compile_sizes(problem)
        self.counts = Counter(self.sized.form_of.tolist())

    def offsets(self, given: Values) -> tuple[int, list[int]]:
        """Return the peak and the offset of each buffer, in bytes; raises ProblemError if the sizes overflow."""
        peak, values, program = self._best_program(given)
        return peak, [values[each] for each in program.which]

    def peak(self, given: Values) -> int:
        """Return the peak in bytes at given values of the symbols; raises ProblemError if the sizes overflow."""
        return self._best_program(given)[0]

    def _best_program(self, given: Values) -> tuple[int, list[int], OffsetProgram]:
        """Find the program with the lowest peak at the given symbol values; return (peak, values, program)."""
        sizes = self.sized.space.values(self.sized.forms, given)
        if sum(sizes[form] * count for form, count in self.counts.items()) >= 2**63:
            raise ProblemError(f"sizes: must sum to less than 2^63 bytes at {point_text(given)}")
        runs = []
        for program in self.found.programs:
            values: list[int] = []
            for terms in program.values:
                values.append(_max_sum(terms, values, sizes))
            runs.append((_max_sum(program.last, values, sizes), values, program))
        return min(runs, key=lambda run: run[0])


def _max_sum(terms: Terms, values: Sequence[int], sizes: Sequence[int]) -> int:
    # A loop takes half the time of max() over a generator, and no sum is negative, so loop from 0.
    most = 0
    for value, size in terms:
        end = values[value] + sizes[size]
        if end > most:
            most = end
    return most
