"""Compare the choice of weights for fast memory with all possible choices: `python -m lab.weights [1000 [SEED]]`.

The programs are random. memplan's choice must minimise the bytes that are read from the slow memory.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

from lab.support.cases import run_cases
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.programs.lifetimes import problem_of
from memplan.programs.lifetimes.weights import Weight, weights_of
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.operations.operations import Operations, operations_from
from memplan.questions.reading.adapting import ProblemOptions, adapt_problem
from memplan.solvers.portfolio.solve import solve


def draw_program(seed: int) -> tuple[Operations, int]:
    """Return a small random program with two or three weights, and the size of the fast memory in bytes."""
    draw = random.Random(seed)
    names = [f"w{k}" for k in range(draw.randint(2, 3))]
    rows: list[dict[str, Any]] = [
        {"id": name, "size": draw.randint(1, 9), "alignment": draw.choice((1, 1, 2, 4))} for name in names
    ]
    body: list[dict[str, Any]] = []
    made: list[str] = []
    for k in range(draw.randint(2, 4)):
        rows.append({"id": f"t{k}", "size": draw.randint(1, 8)})
        read = draw.sample(made, min(len(made), draw.randint(0, 2))) + draw.sample(names, draw.randint(0, 2))
        body.append({"op": "layer", "inputs": read, "outputs": [f"t{k}"]})
        made.append(f"t{k}")
    content = {"results": made[-1:], "constants": names, "buffers": rows, "body": body}
    return operations_from({"functions": {"main": content}}), draw.randint(6, 30)


def fits(order: Sequence[tuple[int, int, int, int]], size: int) -> bool:
    """Return True if first fit, in this order, places all buffers (size, alignment, start, end) within `size` bytes.

    Trying all orders is exact, because first fit in the order of a plan's offsets is never higher than the plan.
    """
    placed: list[tuple[int, int, int, int]] = []
    for width, step, start, end in order:
        offset = 0
        for low, high, first, last in sorted(placed):
            if first < end and start < last and offset + width > low:
                offset = max(offset, -(-high // step) * step)
        if offset + width > size:
            return False
        placed.append((offset, offset + width, start, end))
    return True


def min_slow_traffic(problem: Problem, weights: list[Weight], size: int) -> int | None:
    """Return the fewest bytes read from slow memory over all sets of weights in fast memory; None if no set fits."""
    start, end = int(problem.buffers.start.min()), int(problem.buffers.end.max())
    computed = [(row.size, row.alignment, *row.intervals[0]) for row in problem.buffers]
    found = []
    for count in range(len(weights) + 1):
        for inside in combinations(weights, count):
            rows = [(w.size, w.alignment, start, end) for w in inside]
            if any(fits(order, size) for order in permutations([*computed, *rows])):
                found.append(sum(w.traffic for w in weights if w not in inside))
    return min(found, default=None)


def faults(seed: int, _: Counter[str]) -> Iterator[str]:
    """Yield a line if the weights that memplan chooses for a random program are not the best of all choices."""
    operations, size = draw_program(seed)
    given = problem_of(operations)
    least = min_slow_traffic(given, weights_of(operations), size)
    options = ProblemOptions(capacity=(f"ram={size}", "flash=unlimited"), weights="choose")
    problem = adapt_problem(given, ImportedProgram(given, operations=operations), options)
    plan = solve(problem, time_limit_s=20)
    if least is None and plan.status != "infeasible":
        yield f"the plan is {plan.status}, but brute force finds no set of weights that fits"
    elif least is not None and (plan.status != "optimal" or plan.cost != least or verify(problem, plan)):
        yield f"the plan is {plan.status} with {plan.cost} bytes, but brute force needs {least}"


if __name__ == "__main__":
    sys.exit(run_cases("weights", faults))
