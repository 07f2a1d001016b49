"""Check plans for all symbol values: `python -m lab.shapes random COUNT [SEED]`, `limits COUNT [SEED]` or `FILE ...`.

- `random`: the plans of random problems must be free of overlaps at all symbol values if there are at most 4,000, or
  else at the corners and at 100 other values. Their peaks must respect the proved bound.
- `limits`: for COUNT problems, the limits of one symbol and the staircases of limits of two symbols are compared with
  an enumeration of all values.
- FILE: for each problem file, the proved ratio, the mean and worst waste at 50 values, and the seconds are printed.
- `models [NAME ...]`: networks and training steps of torch with symbolic dimensions are planned, each in 20 s. If a
  response claims optimality that `checkers/all_values.py` cannot decide, it must state that the claim is unchecked.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.support.cases import run_cases
from lab.symbolic_certificates import checker_verdict
from memplan.extensions.shapes.limits import SymbolLimits, bound_at
from memplan.extensions.shapes.offset_programs import Evaluator, OffsetPrograms
from memplan.extensions.shapes.search.search import search_programs
from memplan.extensions.shapes.shapes import ShapesAnswer, ShapesOptions, shapes
from memplan.extensions.shapes.verify_programs import verify_programs
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.problem import SymbolicProblem
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


def faults_of_models(names: Sequence[str]) -> Iterator[str]:
    """Plan each model and print the result; yield a line for each that claims full checks but is not confirmed."""
    from lab.support.symbolic_models import ASKED, symbolic_model

    for name in names or ASKED:
        problem = symbolic_model(name)
        found = shapes(problem, options=ShapesOptions(time_limit_s=20))
        print(f"{name}: {len(found.ids)} buffers, {found.status}, {found.proof.ratio} by {found.proof.by or 'nothing'}")
        print(f"    {len(found.programs)} orders; unchecked: {found.unchecked}", flush=True)
        answer = json.loads(found.model_dump_json(exclude={"curves", "tensors"}))
        if found.unchecked is None and checker_verdict(answer, problem.model_dump(mode="json")) != "proved":
            yield f"{name}: says that all was checked"


def row(path: Path, limit_s: float) -> str:
    """Plan a problem file, and return one line: number of buffers and orders, proved ratio, waste and seconds."""
    problem = SymbolicProblem.model_validate(json.loads(path.read_bytes()))
    begun, cpu = time.monotonic(), time.process_time()
    found = shapes(problem, options=ShapesOptions(time_limit_s=limit_s))
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    sized, evaluator = compile_sizes(problem), Evaluator(problem, programs_of(found))
    waste = []
    for values in samples(sized.space, 50, seed=4)[-50:]:
        bound = max(1, int(sized.demand(sized.sizes([values]), sized.min_offsets([values]))[0]))
        waste.append(evaluator.offsets(values)[0] / bound - 1)
    proof = found.proof
    ratio = "nothing" if proof.ratio is None else "optimal" if proof.ratio == 0 else f"{proof.ratio:.2%}"
    return (
        f"{path.stem:<20} {len(found.ids):>4} buffers, {len(found.programs)} orders, {ratio} proved by {proof.by}, "
        f"waste mean {sum(waste) / len(waste):.3%} worst {max(waste):.3%}, {seconds:.2f} s ({cpu:.2f} s of CPU)"
    )


def main(arguments: list[str]) -> int:
    """Run the check named by the first argument, or measure the given files; return 1 after faults, else 0."""
    if arguments[:1] == ["models"]:
        found = [*faults_of_models(arguments[1:])]
        print(*found, f"{len(found)} faults", sep="\n")
        return 1 if found else 0
    checks = {"random": faults_of_plans, "limits": faults_of_limits}
    if arguments and arguments[0] in checks:
        return run_cases("shapes", checks[arguments[0]], arguments[1:])
    for path in map(Path, arguments):
        print(row(path, 30), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
