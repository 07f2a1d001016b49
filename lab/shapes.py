"""Check plans for all symbol values: `python -m lab.shapes plans|certificates|limits [COUNT [SEED]]`.

- `plans`: the plans of random problems must be free of overlaps at all symbol values if there are at most 4,000, or
  else at the corners and at 100 other values. Their peaks must respect the proved bound.
- `certificates [--mutants 10]`: the checker must confirm the plans of each problem, or report that it cannot decide.
  Then plans get random changes. If the checker accepts changed plans, their claims must be true at all symbol values.
- `limits`: for COUNT problems, the limits of one symbol and the staircases of limits of two symbols are compared with
  an enumeration of all values.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from lab.support.cases import run_cases
from memplan.checkers import all_values
from memplan.extensions.shapes.limits import SymbolLimits, bound_at
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.search.search import search_programs
from memplan.extensions.shapes.shapes import ShapesOptions, shapes
from memplan.extensions.shapes.verify_programs import verify_programs
from memplan.planner.errors import MemplanError
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.sized import compile_sizes
from memplan.questions.question import Control
from tests.support.symbolic import demand_at, draw_problem, values_of_all_symbols

WRONG = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def false_claims(
    problem: SymbolicProblem,
    programs: OffsetPrograms,
    ratio: Fraction | float | None,
    points: Sequence[Mapping[str, int]],
    n_rated: int,
) -> Iterator[str]:
    """Yield a line for each overlap in plans at symbol values, and for each peak that contradicts a bound.

    Peaks are compared at `n_rated` values or a few more; at most `ratio` above the live bytes, unless it is None.
    """
    yield from map(str, verify_programs(problem, programs, points).violations)
    evaluator, sized = Evaluator(problem, programs), compile_sizes(problem)
    for values in points[:: max(1, len(points) // n_rated)]:
        peak, _ = evaluator.offsets(values)
        bound = demand_at(problem, sized.sizes([values])[:, 0].tolist())
        if peak < bound or (ratio is not None and peak > (1 + ratio) * bound):
            yield f"peak {peak}, bound {bound}, proved {ratio} at {values}"


def faults_of_plans(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield the false claims of the plans for a random problem."""
    problem = draw_problem(seed, most_buffers=60)
    found = shapes(problem, options=ShapesOptions(time_limit_s=0.5))
    points = values_of_all_symbols(problem)
    tally["at every value" if points else "at some values"] += 1
    tally["proved for all values" if found.proof.ratio == 0 else "not proved optimal"] += 1
    points = points or samples(compile_sizes(problem).space, 100, seed=seed)
    tally["points"] += len(points)
    programs = OffsetPrograms(sizes=found.sizes, size_of=found.size_of, programs=found.programs)
    yield from false_claims(problem, programs, found.proof.ratio, points, 100)


def checker_verdict(answer: dict[str, Any], problem: dict[str, Any]) -> str:
    """Return the checker's verdict on a result of `shapes`: proved, refused, not decided or wrong input."""
    try:
        all_values.check(answer, problem)  # The checker is a script without type annotations.
    except all_values.Refused:
        return "refused"
    except all_values.Undecided:
        return "not decided"
    except WRONG:
        return "wrong input"
    return "proved"


def mutant(answer: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return a copy of a `shapes` result with one random change of a number, an expression or a position."""
    found: dict[str, Any] = json.loads(json.dumps(answer))
    program = draw.choice(found["programs"])
    part = draw.choice(
        ["order", "which", "term", "drop", "last", "size", "size_of", "life", "bound", "peak", "ratio", "symbol"]
    )
    rows = [row for row in program["values"] if row]
    if part == "order":
        i, j = draw.sample(range(len(program["order"])), 2)
        program["order"][i], program["order"][j] = program["order"][j], program["order"][i]
    elif part == "which":
        program["which"][draw.randrange(len(program["which"]))] = draw.randrange(len(program["values"]))
    elif part == "term" and rows:
        row = draw.choice(rows)
        row[draw.randrange(len(row))][draw.randrange(2)] += draw.choice([-1, 1])
    elif part == "drop" and rows:
        draw.choice(rows).pop()
    elif part == "last":
        program["last"] = program["last"][:-1] if draw.random() < 0.5 else [[0, draw.randrange(len(found["sizes"]))]]
    elif part in ("size", "bound") or (part == "peak" and program["peak"]):
        texts = {"size": found["sizes"], "bound": found["bound"], "peak": program["peak"]}[part]
        i = draw.randrange(len(texts))
        texts[i] = f"{texts[i]} {draw.choice('+-')} {draw.choice([1, answer['alignment']])}"
    elif part == "size_of":
        found["size_of"][draw.randrange(len(found["size_of"]))] = draw.randrange(len(found["sizes"]))
    elif part == "life":
        found["lifetimes"][draw.randrange(len(found["lifetimes"]))][draw.randrange(2)] += draw.choice([-1, 1])
    elif part == "ratio" and found["proof"]["ratio"]:
        found["proof"]["ratio"] = draw.choice([0.0, found["proof"]["ratio"] / 2])
        found["status"] = "optimal" if not found["proof"]["ratio"] else "feasible"
    else:
        row = draw.choice(list(found["symbols"].values()))
        row["max"] += draw.choice([-1, 1]) * row.get("multiple_of", 1)
    return found


def is_true(answer: dict[str, Any], problem: SymbolicProblem) -> bool:
    """Return True if the claims of a result are true at all symbol values, or at 300 of them if there are too many."""
    try:
        programs = OffsetPrograms.model_validate_json(
            json.dumps({name: answer[name] for name in ("sizes", "size_of", "programs")})
        )
    except MemplanError:
        return False
    points = values_of_all_symbols(problem) or samples(compile_sizes(problem).space, 300, seed=1)
    return not any(false_claims(problem, programs, Fraction(str(answer["proof"]["ratio"])), points, len(points)))


def faults_of_certificates(seed: int, tally: Counter[str], mutants: int = 10) -> Iterator[str]:
    """Yield a line if checker and `shapes` disagree on a random problem, and for each accepted false mutant."""
    problem = draw_problem(seed, most_buffers=24)
    answer = json.loads(shapes(problem, options=ShapesOptions(time_limit_s=0.3)).model_dump_json())
    wire = problem.model_dump(mode="json")
    said = checker_verdict(answer, wire)
    tally[f"answers {said}"] += 1
    if said not in ("refused" if answer["proof"]["ratio"] is None else "proved", "not decided"):
        yield f"checker: {said}, shapes: {answer['proof']}"
    draw = random.Random(seed)
    for _ in range(mutants if said == "proved" else 0):
        changed = mutant(answer, draw)
        if changed == answer:
            continue
        said = checker_verdict(changed, wire)
        tally[f"mutants {said}"] += 1
        if said == "proved" and not is_true(changed, problem):
            yield f"accepted {json.dumps(changed)}"


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
    if command == "certificates":
        return run_cases("shapes", faults_of_certificates, words, mutants=10)
    return run_cases("shapes", {"plans": faults_of_plans, "limits": faults_of_limits}[command], words)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
