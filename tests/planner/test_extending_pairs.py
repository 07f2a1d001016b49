"""The guide in docs/adding.md works for a toy pair constraint: a minimum distance between two buffers."""

from pathlib import Path

import pytest

from tests.support.house_copies import Patch, copy_packages, extend, guide, insertion_before, run_beside

pytestmark = [pytest.mark.slow, pytest.mark.drawn]
MOST_FILES = 7
DISTANCE = '''"""`distance`: so many bytes lie between two buffers of one pool at least, whatever their lifetimes."""

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
KEPT_FREE = """    found = [0] if conflict_by_name(problem, first, second) else []
    found += [row.bytes for row in problem.distance if _is_between(row.buffers, first, second)]
    return max(found, default=None)
"""
PATCH: Patch = {
    "planner/model/problem_fields.py": [
        insertion_before("class ProblemFields(Value):\n", ROW),
        insertion_before(
            "    pools: Annotated",
            "    distance: Annotated[tuple[Distance, ...], WrapValidator(validate_in_parts)] = ()\n",
        ),
    ],
    "planner/model/constraints/distance.py": [("", DISTANCE)],
    "planner/model/constraints/kinds.py": [
        insertion_before("    forbid_pools,\n    may_share", "    distance,\n"),
        insertion_before(
            '    ConstraintKind(("no_cross",)',
            '    ConstraintKind(("distance",), {0: distance.unknown_names, 4: distance.contradictions},\n'
            "                   clearances=distance.clearances),\n",
        ),
    ],
    "planner/verify/tie_rules.py": [
        (
            "Iterable[tuple[Id, Id, int]]]] = {}\n",
            "Iterable[tuple[Id, Id, int]]]] = {\n"
            '    "distance": lambda problem: ((*row.buffers, row.bytes) for row in problem.distance)\n}\n',
        )
    ],
    "tests/support/families.py": [("    return 0 if conflict_by_name(problem, first, second) else None\n", KEPT_FREE)],
    "tests/support/tied_problems.py": [
        (
            "    return found\n",
            "    for _ in range(rng.randint(1, 2)):\n"
            '        found.append(("distance", {"buffers": rng.sample(range(n), 2), "bytes": rng.randint(0, 5)}))\n'
            "    return found\n",
        )
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
import random
import pytest
from memplan import OptionError, Problem, solve, verify
from memplan.planner.instance.compile import compile_problem
from memplan.solvers.portfolio import registry
from tests.support import oracle
from tests.support.depth import DEPTH, seeds
from tests.support.tied_problems import tied_problem

def apart(*sizes, bytes):
    rows = [{"id": k, "size": size, "start": 2 * k, "end": 2 * k + 1} for k, size in enumerate(sizes)]
    pairs = [[i, j] for i in range(len(sizes)) for j in range(i)]
    return Problem.model_validate({"buffers": rows, "distance": [{"buffers": p, "bytes": bytes} for p in pairs]})

for problem, least in ((apart(8, 4, 4, bytes=3), 22), (apart(*range(1, 17), bytes=5), 136 + 15 * 5)):
    plan = solve(problem, time_limit_s=20)
    assert (plan.status, plan.peak, plan.proof.kind) == ("optimal", least, "clique"), plan
    forged = plan.model_copy(update={"lower_bound": least + 1, "peak": least + 1, "used": {"default": least + 1}})
    assert "false-claim" in {violation.rule for violation in verify(problem, forged).violations}
for seed in range(60 * DEPTH):
    rng = random.Random(seed)
    n = rng.randint(3, 5)
    rows = [{"id": k, "size": rng.randint(1, 6), "start": rng.randint(0, 3)} for k in range(n)]
    for row in rows:
        row["end"] = rng.randint(4, 6)
        if rng.random() < 0.4:
            row |= {"start": row["end"], "end": 9}
        if rng.random() < 0.3:
            row["alignment"] = rng.choice((2, 3, 4))
    pairs = [{"buffers": rng.sample(range(n), 2), "bytes": rng.randint(0, 5)} for _ in range(rng.randint(1, 4))]
    problem = Problem.model_validate({"buffers": rows, "distance": pairs})
    least = oracle.best_score(problem)
    for solver in ("exact", "auto"):
        plan = solve(problem, solver=solver, time_limit_s=30)
        assert (plan.status, (plan.peak,)) == ("optimal", least) and verify(problem, plan).valid, (seed, solver, plan)
proved = 0
for seed in seeds(16, 100):
    problem = tied_problem(seed, most=5)
    least = oracle.best_score(problem)
    for solver in ("greedy", "local-search", "exact", "core", "memory-choice", "auto"):
        if not compile_problem(problem).features <= registry.BY_NAME.get(solver, registry.BY_NAME["greedy"]).can:
            continue
        plan = solve(problem, solver=solver, time_limit_s=0.1 if solver in ("greedy", "local-search") else 1)
        assert verify(problem, plan).valid, (seed, solver)
        assert (plan.status == "infeasible") <= (least is None), (seed, solver)
        assert len(plan.placements) == 0 or oracle.check(problem, list(plan.placements)) == [], (seed, solver)
        proved += plan.status in ("optimal", "infeasible")
        if plan.status == "optimal" and problem.objective == "peak" and len(problem.pools) == 1:
            assert least == (plan.peak,), (seed, solver)
    for solver in ("lemmas",):
        if any(len({*row.buffers}) == 2 for row in problem.distance if all(
            problem.buffers.size[problem.root_of(name)] > 0 for name in row.buffers)):
            with pytest.raises(OptionError, match="does not support .*clearances"):
                solve(problem, solver=solver, time_limit_s=1)
assert proved > 0
print("held")
"""

STUDIES = """
from memplan import Explanation, Plan, Problem, solve, verify
from memplan.questions.explain.values import ExplainOptions
from memplan.questions.explain.reasons.reasoning import reason_of
from memplan.solvers.certificates.certify import certify
from memplan.questions.plan.replanning.replan import replan
from memplan.questions.explain.what_if import change_worths
from memplan.solvers.search.control import Control

rows = [{"id": k, "size": 4, "start": 2 * k, "end": 2 * k + 1} for k in range(2)]
fields = {"buffers": rows, "distance": [{"buffers": [0, 1], "bytes": 3}]}
tight, loose = (Problem.model_validate(fields | {"pools": [{"size": size}]}) for size in (10, 99))
none = Plan(status="infeasible", explanation=Explanation(message="nothing fits"))
found = reason_of(tight, none, Control.from_limit(200))
assert ([rule.rule for rule in found.rules], sorted(found.buffers)) == (["distance"], [0, 1]), found
assert "with distance of 2 buffers; 11 bytes would do" in found.message, found
assert certify(tight, none, time_limit_s=5).reason.endswith("clearances")
best = solve(loose, solver="highs", time_limit_s=60)
assert (best.status, best.peak) == ("optimal", 11), best
(cost,) = change_worths(loose, best, ExplainOptions(), Control.from_limit(60)).rules
assert (cost.rule.rule, cost.gain) == ("distance", (7, 7)), cost
kept = replan(loose, solve(Problem.model_validate({"buffers": rows}), time_limit_s=2), eps=0.5, time_limit_s=1)
assert verify(loose, kept).valid, kept
print("held")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paired")
    copy_packages(folder, "tests", "examples/problems")
    extend(folder, PATCH)
    return folder


def test_the_guide_lists_at_most_seven_files_to_change_for_a_pair_constraint() -> None:
    assert {name.replace("constraints/distance.py", "constraints/KIND.py") for name in PATCH} <= guide(
        "How to add a constraint kind"
    )
    assert len(PATCH) + 1 <= MOST_FILES  # with docs/formats.md


@pytest.mark.parametrize("engine", ["cp-sat", "highs", "cbc"])
def test_engines_agree_with_brute_force_on_a_toy_pair_constraint(copy: Path, engine: str) -> None:
    done = run_beside(copy, ENGINES, engine, limit_s=500)
    assert done.stdout == "held\n", done.stderr[-3000:]


@pytest.mark.parametrize("program", [SEARCHES, STUDIES], ids=["searches", "studies"])
def test_searches_and_studies_honour_a_toy_pair_constraint_or_refuse_it_by_name(copy: Path, program: str) -> None:
    done = run_beside(copy, program, limit_s=500)
    assert done.stdout == "held\n", done.stderr[-3000:]
