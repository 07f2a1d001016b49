"""Compare solvers with brute force: `python -m lab.agreement 200000 [SEED] [--constraints|--prices|--pairs]`.

The exact search and CP-SAT, or the solvers named by `--solver`, plan tight random problems, each solver in a separate
process. With `--constraints`, all solvers plan problems that mix all kinds of constraints. With `--prices`, these
problems also have prices for shared bytes. With `--pairs`, all solvers and engines plan problems of all sizes, each of
which combines two features. The tests `test_whole_answers.py` and `test_feature_pairs.py` run a few cases.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from lab.support.cases import run_cases
from lab.support.feature_pairs import PAIRS, SMALL, THRESHOLDS, Case, complaints
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import BY_NAME, SOLVERS
from tests.support import oracle
from tests.support.engine_batch import Job, run_jobs
from tests.support.small_problems import small_problems
from tests.support.tied_problems import priced_tied_problem, tied_problem
from tests.support.tight_problems import FEATURES, tight_problem

BLOCK = 200
"""The number of problems that one process of a solver plans before it is replaced."""
SIZES = (*range(2, SMALL + 1), *(n + more for n in THRESHOLDS for more in (0, 1)))
LIMIT_S = 0.2


def draw(seed: int) -> Problem:
    """Return a random problem of two to six buffers.

    Two of three problems are tight, and some lack one byte of capacity.
    """
    feature = FEATURES[seed % len(FEATURES)]
    if seed % 3 == 0:
        problem = small_problems(seed, 1)[0]
    elif seed % 2:
        problem = tight_problem(seed, feature)
    else:
        best = oracle.best_score(tight_problem(seed, feature))
        problem = tight_problem(seed, feature, capacity=max(0, int(best[0]) - seed // 2 % 2) if best else None)
    return problem.model_copy(update={"name": f"seed {seed}"})


def _round_score(score: tuple[float, ...] | None) -> tuple[float, ...] | None:
    return None if score is None else tuple(round(value, 9) for value in score)


def faults(solver: str, cases: list[tuple[Problem, tuple[float, ...] | None]], tally: Counter[str]) -> list[str]:
    """Run a solver on the cases in a separate process; return a line for each result contradicted by brute force.

    A case is a problem together with its best score by brute force, or None if it has no plan. A plan must be valid
    even if it is not proved optimal. `tally` counts the outcomes.
    """
    mine = [case for case in cases if compile_problem(case[0]).features <= BY_NAME[solver].can]
    lines = []
    for (problem, least), one in zip(mine, run_jobs(solver, [Job(problem) for problem, _ in mine]), strict=True):
        # Sums of costs in another order differ in their last digits.
        best, answer = _round_score(least), replace(one, score=_round_score(one.score), claim=_round_score(one.claim))
        wrong = []
        if answer.says_infeasible:  # A lower bound may prove infeasibility before the solver runs.
            wrong += [] if best is None else [f"says that nothing fits, brute force {best}"]
        elif answer.placements is not None:
            wrong += oracle.check(problem, answer.placements)
            if best is None or answer.score is None or answer.score < best:
                wrong.append(f"says {answer.score}, brute force {best}")
        if answer.claim is not None and best is not None and answer.claim > best:
            wrong.append(f"claims {answer.claim}, brute force {best}")
        outcome = "proved" if answer.is_proved else "found the best" if answer.score == best else "left open"
        tally[f"{solver} {outcome}"] += 1
        lines += [f"{problem.name}: {solver}: {line}" for line in wrong]
    return lines


def faults_of_pairs(k: int, tally: Counter[str]) -> Iterator[str]:
    """Yield the faults in the plans of `auto` and of one other solver for a problem that combines two features."""
    warnings.simplefilter("error")  # Faults of solvers are only reported as warnings, so turn warnings into errors.
    # Feature pairs and sizes change at coprime periods, so in time each pair occurs with each size.
    case = Case(PAIRS[k % len(PAIRS)], SIZES[k * 7 // len(PAIRS) % len(SIZES)], k)
    suited = [row for row in SOLVERS if row.is_installed and (row.at_most is None or case.n <= row.at_most)]
    solver = suited[k % len(suited)]
    for name, is_quick in (("auto", case.n > SMALL), (solver.name, not solver.is_isolated)):
        tally[name] += 1
        try:
            yield from complaints(case, [name], LIMIT_S, is_quick=is_quick)
        except Exception as error:  # noqa: BLE001 - one faulty case must not stop the other cases
            yield f"{case}: {name}: {type(error).__name__}: {error}"


def main() -> int:
    """Compare the solvers with brute force on the requested number of problems; return 1 after a disagreement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--constraints", action="store_true", help="mix all constraints")
    parser.add_argument("--prices", action="store_true", help="mix all constraints with the price of shared bytes")
    parser.add_argument("--pairs", action="store_true", help="two features at a time, at all sizes")
    parser.add_argument("--solver", action="append", choices=BY_NAME)
    given = parser.parse_args()
    if given.pairs:
        return run_cases("agreement", faults_of_pairs, [str(given.count), str(given.seed)])
    one = priced_tied_problem if given.prices else tied_problem if given.constraints else draw
    solvers = given.solver or (["exact", "cp-sat"] if one is draw else list(BY_NAME))
    tally: Counter[str] = Counter()
    for low in range(given.seed, given.seed + given.count, BLOCK):
        seeds = range(low, min(low + BLOCK, given.seed + given.count))
        problems = [one(seed) for seed in seeds]
        cases = [(problem, oracle.best_score(problem)) for problem in problems]
        tally["problems"] += len(problems)
        for solver in solvers:
            lines = faults(solver, cases, tally)
            tally["at fault"] += len(lines)
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
        print(dict(sorted(tally.items())), f"{time.process_time():.0f} s of CPU", flush=True)
    return 1 if tally["at fault"] else 0


if __name__ == "__main__":
    sys.exit(main())
