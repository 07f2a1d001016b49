"""The guide in docs/adding.md works: three toy offset rules, added to a copy of the packages, are honoured."""

from pathlib import Path

import pytest

from tests.support.house_copies import ROOT, Patch, copy_packages, extend, guide, insertion_before, run_beside

pytestmark = pytest.mark.slow
MOST_FILES = 4
RULES = """def _ends_above(most: int, offset: int, size: int, pool: Pool) -> str | None:
    return f"must end at {most} or below, got offset {offset}" if offset + size > most else None


def _is_barred(ends: tuple[int, int], offset: int, size: int, pool: Pool) -> str | None:
    return f"must not start in {ends}, got offset {offset}" if ends[0] <= offset < ends[1] else None


def _is_in_the_upper_half(is_so: bool, offset: int, size: int, pool: Pool) -> str | None:
    return f"must end in the lower half, got {offset + size}" if 2 * (offset + size) > (pool.size or 2**63) else None


"""
PATCH: Patch = {
    "planner/model/rows.py": [
        insertion_before(
            "    forbid_pools: Annotated",
            "    last_end: Bytes | None = None\n"
            "    not_in: Annotated[tuple[Bytes, Bytes], Field(strict=False)] | None = None\n"
            "    lower_half: bool | None = None\n",
        )
    ],
    "planner/model/constraints/kinds.py": [
        insertion_before(
            '    ConstraintKind(("no_cross",)',
            '    ConstraintKind(("last_end",),\n'
            "        offsets=lambda most, buffer, pool: OffsetRule(((0, most - buffer.size + 1),))),\n"
            '    ConstraintKind(("not_in",),\n'
            "        offsets=lambda ends, buffer, pool: OffsetRule(((0, ends[0]), (ends[1], NO_END)))),\n"
            '    ConstraintKind(("lower_half",),\n'
            "        offsets=lambda is_so, buffer, pool: OffsetRule(((0, pool.size // 2 - buffer.size + 1),))),\n",
        ),
        insertion_before("Breaks, Id, KeptBuffers", "NO_END, "),
    ],
    "planner/verify/verifier.py": [
        insertion_before("FIELD_RULES: Mapping", RULES),
        insertion_before(
            '    "no_cross": ("straddles"',
            '    "last_end": ("above-most", _ends_above),\n    "not_in": ("barred", _is_barred),\n'
            '    "lower_half": ("upper-half", _is_in_the_upper_half),\n',
        ),
    ],
}
"""Changes of three files; the fourth file of the guide is docs/formats.md."""

HELD = """
from memplan import Problem, solve, verify
from memplan.solvers.certificates.certify import certify
from memplan.planner.model.placement_table import PlacementTable
from memplan.questions.explain.reasons.reasoning import reason_of
from memplan.solvers.search.control import Control

def problem_of(first, **more):
    rows = [{"id": 0, "size": 8, "start": 0, "end": 4, **first}, {"id": 1, "size": 4, "start": 0, "end": 4, **more}]
    return Problem.model_validate({"buffers": rows, "pools": [{"size": 20}]})

for first, more, offsets, moved, word, feature in [
    ({}, {"last_end": 7}, {0: 4, 1: 0}, {0: 0, 1: 8}, "above-most", "ranges"),
    ({"offset": 0}, {"not_in": [2, 11]}, {0: 0, 1: 11}, {0: 0, 1: 8}, "barred", "intervals"),
    ({}, {"lower_half": True}, {0: 4, 1: 0}, {0: 0, 1: 8}, "upper-half", "ranges"),
]:
    problem = problem_of(first, **more)
    assert problem == Problem.model_validate_json(problem.model_dump_json(exclude_defaults=True))
    for solver in ("greedy", "local-search", "exact", "core", "cp-sat", "highs", "auto"):
        plan = solve(problem, solver=solver, time_limit_s=90)
        assert {row.id: row.offset for row in plan.placements} == offsets, (solver, plan)
        assert plan.status == "optimal" or solver in ("greedy", "local-search", "core"), (solver, plan)
        assert verify(problem, plan).valid
    rows = [row.model_copy(update={"offset": moved[row.id]}) for row in plan.placements]
    wrong = plan.model_copy(update={"placements": PlacementTable.from_rows(rows)})
    assert word in [violation.rule for violation in verify(problem, wrong).violations]
    certificate = certify(problem, plan, time_limit_s=5)
    assert certificate.kind == "none" and certificate.reason.endswith(feature), certificate

both = [row | {"last_end": 6} for row in problem_of({}).model_dump(mode="json", exclude_defaults=True)["buffers"]]
both[0]["size"] = 4
tight = Problem.model_validate({"buffers": both, "pools": [{"size": 90}]})
found = reason_of(tight, solve(tight, accept="fit", time_limit_s=60), Control.from_limit(90))
assert [(rule.rule, rule.value) for rule in found.rules] == [("last_end", 6)] * 2, found
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
            | ({"last_end": at[row["id"]] + 5 + row["size"]} if most and row["id"] % most else {})
            | ({"not_in": [0, max(0, at[row["id"]] - 5)]} if least and row["id"] % least == 0 else {})
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
    folder = tmp_path_factory.mktemp("extended")
    copy_packages(folder)
    extend(folder, PATCH)
    return folder


def test_the_guide_lists_at_most_four_files_to_change_for_an_offset_rule() -> None:
    listed = guide("How to add a constraint kind")
    assert len(PATCH) + 1 == MOST_FILES  # with docs/formats.md
    assert {*PATCH, "docs/formats.md"} <= listed
    assert all((ROOT / name).exists() for name in listed if "KIND" not in name)


@pytest.mark.parametrize("program", [HELD, AS_FAST], ids=["held", "as fast"])
def test_toy_offset_rules_are_honoured_everywhere_without_slowing_proofs(copy: Path, program: str) -> None:
    done = run_beside(copy, program)
    assert done.stdout == "held\n", done.stderr
