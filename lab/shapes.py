"""Check plans for all symbol values: `python -m lab.shapes random COUNT [SEED]` or `limits COUNT [SEED]`.

- `random`: the plans of random problems must be free of overlaps at all symbol values if there are at most 4,000, or
  else at the corners and at 100 other values. Their peaks must respect the proved bound.
- `limits`: for COUNT problems, the limits of one symbol and the staircases of limits of two symbols are compared with
  an enumeration of all values.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator

from lab.support.cases import run_cases
from memplan.extensions.shapes.limits import SymbolLimits, bound_at
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.search.search import search_programs
from memplan.extensions.shapes.shapes import ShapesAnswer, ShapesOptions, shapes
from memplan.extensions.shapes.verify_programs import verify_programs
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.sized import compile_sizes
from memplan.questions.question import Control
from tests.support.symbolic import demand_at, draw_problem, values_of_all_symbols


def programs_of(found: ShapesAnswer) -> OffsetPrograms:
    """Return the offset programs (offsets for any symbol values) that an answer's programs and sizes define."""
    return OffsetPrograms(sizes=found.sizes, size_of=found.size_of, programs=found.programs)


def faults_of_plans(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each overlap in the plans for a random problem, and each peak that contradicts a bound."""
    problem = draw_problem(seed, most_buffers=60)
    found = shapes(problem, options=ShapesOptions(time_limit_s=0.5))
    sized, points = compile_sizes(problem), values_of_all_symbols(problem)
    tally["at every value" if points else "at some values"] += 1
    points = points or samples(sized.space, 100, seed=seed)
    for violation in verify_programs(problem, programs_of(found), points).violations:
        yield str(violation)
    evaluator, proved = Evaluator(problem, programs_of(found)), found.proof.ratio
    tally["proved for all values" if proved == 0 else "not proved optimal"] += 1
    tally["points"] += len(points)
    for values in points[:: max(1, len(points) // 100)]:
        peak, _ = evaluator.offsets(values)
        bound = demand_at(problem, sized.sizes([values])[:, 0].tolist())
        if peak < bound or (proved is not None and peak > (1 + proved) * bound):
            yield f"peak {peak}, bound {bound}, proved {proved} at {values}"


def faults_of_limits(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each limit of a symbol that an enumeration of a random problem's symbol values contradicts.

    If the problem has two symbols, the staircase of their limits is also compared.
    """
    problem, draw = draw_problem(seed, most_buffers=12), random.Random(seed)
    values = values_of_all_symbols(problem, 400)
    if values is None:
        return
    found = search_programs(problem, 4, Control().begin(ShapesOptions(time_limit_s=0.2)))
    at, names = draw.choice(values), list(problem.symbols)
    for peak in (Evaluator(problem, found.programs).peak, bound_at(found.sized, found.loads)):
        limits, within = SymbolLimits(found.sized, peak), peak(at)
        fits = [row for row in values if peak(row) <= within]
        for name in names:
            others = {each: at[each] for each in names if each != name}
            tally["limits"] += 1
            if limits.max_fitting(name, others, within) != max(
                row[name] for row in fits if others.items() <= row.items()
            ):
                yield f"{name} at {others} within {within}"
        if len(names) == 2:
            tally["stairs"] += 1
            stairs = [tuple(row.values()) for row in limits.staircase((names[0], names[1]), {}, within)]
            if stairs != corners([(row[names[0]], row[names[1]]) for row in fits]):
                yield f"stairs within {within}"


def corners(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the corners of a staircase of pairs, in ascending order.

    A pair is a corner if no pair with the same first number has a larger second number, and vice versa.
    """
    across = {a: max(y for x, y in pairs if x == a) for a, _ in pairs}
    along = {b: max(x for x, y in pairs if y == b) for _, b in pairs}
    return sorted((a, b) for a, b in pairs if across[a] == b and along[b] == a)


def main(command: str, *words: str) -> int:
    """Run the check `command` with the arguments `words`, and return its exit status."""
    return run_cases("shapes", {"random": faults_of_plans, "limits": faults_of_limits}[command], words)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
