"""The guide in docs/adding.md, followed: two toy kinds on single offsets, added to a copy of the packages, hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.house_copies import Patch, before, copy_packages, extend, guide, run_beside

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
MOST_FILES = 4
RULES = """def _is_above(most: int, offset: int, size: int, pool: Pool) -> str | None:
    return f"must start at {most} or below, got offset {offset}" if offset > most else None


def _is_below(least: int, offset: int, size: int, pool: Pool) -> str | None:
    return f"must start at {least} or above, got offset {offset}" if offset < least else None


"""
PATCH: Patch = {
    "planner/model/rows.py": [
        before("    forbid_pools: Annotated", "    at_most: Bytes | None = None\n    at_least: Bytes | None = None\n")
    ],
    "planner/model/constraints/kinds.py": [
        before(
            '    ConstraintKind(("no_cross",)',
            '    ConstraintKind(("at_most",), offsets=lambda most: OffsetRule(highest=most)),\n'
            '    ConstraintKind(("at_least",), offsets=lambda least: OffsetRule(lowest=least)),\n',
        )
    ],
    "planner/verify/verifier.py": [
        before("FIELD_RULES: Mapping", RULES),
        before(
            '    "no_cross": ("straddles"',
            '    "at_most": ("above-most", _is_above),\n    "at_least": ("below-least", _is_below),\n',
        ),
    ],
}
"""The fourth file is docs/formats.md."""

HELD = """
from memplan import Problem, solve, verify
from memplan.solvers.certificates.certify import certify
from memplan.planner.model.placement_table import PlacementTable
from memplan.capabilities.explain.reasons.reasoning import reason_of
from memplan.solvers.search.control import Control

def problem_of(**more):
    rows = [{"id": 0, "size": 8, "start": 0, "end": 4}, {"id": 1, "size": 4, "start": 0, "end": 4, **more}]
    return Problem.model_validate({"buffers": rows})

for more, offsets, moved, word in [
    ({"at_most": 3}, {0: 4, 1: 0}, {0: 0, 1: 8}, "above-most"),
    ({"at_least": 9}, {0: 0, 1: 9}, {0: 4, 1: 0}, "below-least"),
]:
    problem = problem_of(**more)
    assert problem == Problem.model_validate_json(problem.model_dump_json(exclude_defaults=True))
    for solver in ("greedy", "local-search", "exact", "cp-sat", "highs", "auto"):
        plan = solve(problem, solver=solver, time_limit_s=20)
        assert {row.id: row.offset for row in plan.placements} == offsets, (solver, plan)
        assert plan.status == "optimal" or solver in ("greedy", "local-search"), (solver, plan)
        assert verify(problem, plan).valid
    rows = [row.model_copy(update={"offset": moved[row.id]}) for row in plan.placements]
    wrong = plan.model_copy(update={"placements": PlacementTable.from_rows(rows)})
    assert word in [violation.rule for violation in verify(problem, wrong).violations]
    certificate = certify(problem, plan, time_limit_s=5)
    assert certificate.kind == "none" and certificate.reason.endswith("ranges"), certificate

both = [row | {"at_most": 2} for row in problem_of().model_dump(mode="json", exclude_defaults=True)["buffers"]]
tight = Problem.model_validate({"buffers": both, "pools": [{"size": 90}]})
found = reason_of(tight, solve(tight, accept="fit", time_limit_s=60), Control.of(90))
assert [(rule.rule, rule.value) for rule in found.rules] == [("at_most", 2)] * 2, found
print("held")
"""

AS_FAST = """
import random
import sys
from memplan import Problem, solve, verify

proved = 0
for seed in range(12):
    rng = random.Random(seed)
    rows = []
    for k in range(30):
        start = rng.randrange(20)
        rows.append({"id": k, "size": rng.randrange(1, 60), "start": start, "end": start + rng.randrange(1, 8)})
    plain = solve(Problem.model_validate({"buffers": rows}), time_limit_s=60)
    assert plain.status == "optimal"
    at = {row.id: row.offset for row in plain.placements}
    for most, least in ((2, 0), (0, 3), (2, 3)):
        ranged = [
            row
            | ({"at_most": at[row["id"]] + 5} if most and row["id"] % most else {})
            | ({"at_least": max(0, at[row["id"]] - 5)} if least and row["id"] % least == 0 else {})
            for row in rows
        ]
        problem = Problem.model_validate({"buffers": ranged})
        plan = solve(problem, time_limit_s=60)
        assert (plan.status, plan.peak) == ("optimal", plain.peak), (seed, most, least)
        assert verify(problem, plan).valid
# No engine was started: what proves the plain problems proves these.
assert "memplan.solvers.portfolio.subprocess_solver" not in sys.modules
print("held")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of what solves, with the toy kinds added."""
    folder = tmp_path_factory.mktemp("extended")
    copy_packages(folder)
    extend(folder, PATCH)
    return folder


def test_the_guide_lists_the_files_of_a_kind_on_single_offsets_and_they_are_few() -> None:
    listed = guide("How to add a constraint kind")
    assert len(PATCH) + 1 == MOST_FILES  # with docs/formats.md
    assert {*PATCH, "docs/formats.md"} <= listed
    assert all((ROOT / name).exists() for name in listed if "KIND" not in name)


@pytest.mark.parametrize("program", [HELD, AS_FAST], ids=["held", "as fast"])
def test_toy_kinds_hold_from_the_file_to_the_plan_as_fast_as_plain_problems(copy: Path, program: str) -> None:
    done = run_beside(copy, program)
    assert done.stdout == "held\n", done.stderr
