"""The guide in docs/adding.md, followed for a toy kind on pairs: two buffers keep a distance, at every door."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.house_copies import Patch, before, copy_packages, extend, guide, run_beside

pytestmark = [pytest.mark.slow, pytest.mark.drawn]
MOST_FILES = 7
DISTANCE = '''"""`distance`: so many bytes lie between two buffers of one pool at least, whatever their lifetimes."""

from __future__ import annotations

from collections.abc import Iterable

from memplan.planner.model.constraints.kept import Breaks, Id, tied_in_entries, unknown_ids
from memplan.planner.model.problem_fields import ProblemFields


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield entries with what is no buffer."""
    return unknown_ids(problem, ((("distance", k, "buffers"), row.buffers) for k, row in enumerate(problem.distance)))


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield pairs that are tied together."""
    return tied_in_entries(problem, "distance")


def clearances(problem: ProblemFields) -> Iterable[tuple[Id, Id, int]]:
    """Yield each pair with its distance."""
    return ((*row.buffers, row.bytes) for row in problem.distance)
'''
ROW = '''class Distance(BufferUse):
    """Two buffers with at least so many bytes between them, where they lie in one pool."""

    buffers: Pair
    bytes: Bytes


'''
RULE = '''def distances_are_kept(problem: Problem, placed: PlacedBuffers) -> Iterator[Violation]:
    """Yield each pair that lies nearer than its distance."""
    for row in problem.distance:
        low, high = sorted((placed.root_of(name) for name in row.buffers), key=lambda i: int(placed.offset[i]))
        has_bytes = problem.buffers.size[low] > 0 and problem.buffers.size[high] > 0
        if not has_bytes or placed.pool[low] != placed.pool[high] or placed.pool[low] < 0:
            continue
        if int(placed.offset[high]) < int(placed.end[low]) + row.bytes:
            a, b = row.buffers
            yield Violation("too-near", f"buffers {shown(a)} and {shown(b)} lie nearer than {row.bytes} bytes", a, b)


'''
KEPT_FREE = """    found = [0] if conflict_by_name(problem, first, second) else []
    found += [row.bytes for row in problem.distance if _is_between(row.buffers, first, second)]
    return max(found, default=None)
"""
PATCH: Patch = {
    "planner/model/problem_fields.py": [
        before("class ProblemFields(Value):\n", ROW),
        before("    pools: Annotated", "    distance: Annotated[tuple[Distance, ...], WrapValidator(in_parts)] = ()\n"),
    ],
    "planner/model/constraints/distance.py": [("", DISTANCE)],
    "planner/model/constraints/kinds.py": [
        before("forbid_pools, may_share", "distance, "),
        before(
            '    ConstraintKind(("no_cross",)',
            '    ConstraintKind(("distance",), {0: distance.unknown_names, 4: distance.contradictions},\n'
            "                   clearances=distance.clearances),\n",
        ),
    ],
    "planner/verify/tie_rules.py": [
        before("PAIR_RULES: Mapping", RULE),
        ('"bank": banks_are_apart}', '"bank": banks_are_apart, "distance": distances_are_kept}'),
    ],
    "tests/support/families.py": [
        ("    return 0 if conflict_by_name(problem, first, second) else None\n", KEPT_FREE),
    ],
    "tests/support/tied_problems.py": [
        (
            "    return found\n",
            "    for _ in range(rng.randint(1, 2)):\n"
            '        found.append(("distance", {"buffers": rng.sample(range(n), 2), "bytes": rng.randint(0, 5)}))\n'
            "    return found\n",
        ),
    ],
}

ENGINES = """
import sys
from tests.support.depth import seeds
from tests.support.engine_batch import check_against_brute_force
from tests.support.tied_problems import tied_problem

if __name__ == "__main__":
    drawn = [tied_problem(seed, most=5) for seed in seeds(20)]
    check_against_brute_force(sys.argv[1], [problem for problem in drawn if problem.objective != "fit"])
    print("held")
"""

SEARCHES = """
import pytest
from memplan import OptionError, solve, verify
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.tied_problems import tied_problem

CANNOT = "solver: {} cannot do clearances"
proved = 0
for seed in seeds(16, 100):
    problem = tied_problem(seed, most=5)
    least = oracle.best_score(problem)
    for solver in ("greedy", "local-search", "auto"):
        plan = solve(problem, solver=solver, time_limit_s=1 if solver == "auto" else 0.1)
        assert verify(problem, plan).valid, (seed, solver)
        assert (plan.status == "infeasible") <= (least is None), (seed, solver)
        assert len(plan.placements) == 0 or oracle.check(problem, list(plan.placements)) == [], (seed, solver)
        proved += plan.status in ("optimal", "infeasible")
        if plan.status == "optimal" and problem.objective == "peak" and len(problem.pools) == 1:
            assert least == (plan.peak,), (seed, solver)
    for solver in ("exact", "core", "lemmas", "memory-choice"):
        if any(len({*row.buffers}) == 2 for row in problem.distance if all(
            problem.buffers.size[problem.root_of(name)] > 0 for name in row.buffers)):
            with pytest.raises(OptionError, match="cannot do .*clearances"):
                solve(problem, solver=solver, time_limit_s=1)
assert proved > 0
print("held")
"""

STUDIES = """
from memplan import Explanation, Plan, Problem, solve, verify
from memplan.capabilities.explain.options import ExplainOptions
from memplan.capabilities.explain.reasons.reasoning import reason_of
from memplan.solvers.certificates.certify import certify
from memplan.capabilities.plan.replanning.replan import replan
from memplan.capabilities.explain.what_if import what_if
from memplan.solvers.search.control import Control

rows = [{"id": k, "size": 4, "start": 2 * k, "end": 2 * k + 1} for k in range(2)]
fields = {"buffers": rows, "distance": [{"buffers": [0, 1], "bytes": 3}]}
tight, loose = (Problem.model_validate(fields | {"pools": [{"size": size}]}) for size in (10, 99))
none = Plan(status="infeasible", explanation=Explanation(message="nothing fits"))
found = reason_of(tight, none, Control.of(200))
assert ([rule.rule for rule in found.rules], sorted(found.buffers)) == (["distance"], [0, 1]), found
assert "with distance of 2 buffers; 11 bytes would do" in found.message, found
assert certify(tight, none, time_limit_s=5).reason.endswith("clearances")
best = solve(loose, solver="highs", time_limit_s=60)
assert (best.status, best.peak) == ("optimal", 11), best
(cost,) = what_if(loose, best, ExplainOptions(), Control.of(60)).rules
assert (cost.rule.rule, cost.gain) == ("distance", (7, 7)), cost
kept = replan(loose, solve(Problem.model_validate({"buffers": rows}), time_limit_s=2), eps=0.5, time_limit_s=1)
assert verify(loose, kept).valid, kept
print("held")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what solves, with the toy kind added."""
    folder = tmp_path_factory.mktemp("paired")
    copy_packages(folder, "tests", "examples/problems")
    extend(folder, PATCH)
    return folder


def test_the_guide_lists_the_files_of_the_toy_kind_and_they_are_few() -> None:
    assert {name.replace("constraints/distance.py", "constraints/KIND.py") for name in PATCH} <= guide(
        "How to add a constraint kind"
    )
    assert len(PATCH) + 1 <= MOST_FILES  # with docs/formats.md


@pytest.mark.parametrize("engine", ["cp-sat", "highs", "cbc"])
def test_engines_agree_with_brute_force(copy: Path, engine: str) -> None:
    done = run_beside(copy, ENGINES, engine, limit_s=500)
    assert done.stdout == "held\n", done.stderr[-3000:]


@pytest.mark.parametrize("program", [SEARCHES, STUDIES], ids=["searches", "studies"])
def test_all_else_honours_it_or_refuses_it_by_name(copy: Path, program: str) -> None:
    done = run_beside(copy, program, limit_s=500)
    assert done.stdout == "held\n", done.stderr[-3000:]
