"""Test the checker of symbolic plans: `python -m lab.symbolic_certificates [COUNT [SEED]] [--mutants 10]`.

The checker must confirm the result of `shapes` for each random problem, or report that it cannot decide. Then
`--mutants` random changes are made to each confirmed result. If the checker accepts a changed result, its claims must
be true at all symbol values.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from lab.support.cases import run_cases
from memplan.checkers import all_values
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.shapes import ShapesOptions, shapes
from memplan.extensions.shapes.verify_programs import verify_programs
from memplan.planner.errors import MemplanError
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.sized import compile_sizes
from tests.support.symbolic import demand_at, draw_problem, values_of_all_symbols

WRONG = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
MOST_VALUES = 4000
LIMIT_S = 0.3


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
    sized = compile_sizes(problem)
    points = values_of_all_symbols(problem, MOST_VALUES) or samples(sized.space, 300, seed=1)
    if not verify_programs(problem, programs, points).is_valid:
        return False
    evaluator, ratio = Evaluator(problem, programs), Fraction(str(answer["proof"]["ratio"]))
    for values in points:
        bound = demand_at(problem, sized.sizes([values])[:, 0].tolist())
        if evaluator.offsets(values)[0] > (1 + ratio) * bound:
            return False
    return True


def faults(seed: int, tally: Counter[str], mutants: int = 10) -> Iterator[str]:
    """Yield a line if checker and `shapes` disagree on a random problem, and for each accepted false mutant."""
    problem = draw_problem(seed, most_buffers=24)
    answer = json.loads(shapes(problem, options=ShapesOptions(time_limit_s=LIMIT_S)).model_dump_json())
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


if __name__ == "__main__":
    sys.exit(run_cases("symbolic_certificates", faults, count=100))
