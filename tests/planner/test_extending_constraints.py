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

LEAST = """
import random
from itertools import product
from memplan import Problem, solve, verify

def drawn(seed):
    rng, rows = random.Random(seed), []
    for k in range(4):
        start = rng.randrange(3)
        row = {"id": k, "size": rng.randint(1, 4), "start": start, "end": start + rng.randint(1, 3)}
        row |= {"alignment": rng.choice([1, 1, 2, 4])}
        row |= {"at_most": rng.randint(0, 6)} if rng.random() < 0.5 else {}
        row |= {"at_least": rng.randint(0, 6)} if rng.random() < 0.5 else {}
        row |= {"no_cross": 8} if rng.random() < 0.2 else {}
        rows.append(row)
    if rng.random() < 0.3:
        rows[3] = {"id": 3, "size": 1, "alias_of": 0, "start": 0, "end": 2, "at_most": rng.randint(0, 6)}
    elif rng.random() < 0.4:
        rows[3]["relative"] = {"to": 0, "offset": rng.choice([-4, 4])}
    pools = [{"name": "a", "size": rng.randint(6, 16), "base_address": rng.choice([0, 3])}]
    pools += [{"name": "b", "size": 20}] if rng.random() < 0.3 else []
    return Problem.model_validate({"buffers": rows, "pools": pools})

def holds(problem, spots):
    rows = list(problem.buffers)
    if rows[3].alias_of is not None and spots[3] != spots[0]:
        return False
    if rows[3].relative is not None and (
        spots[3][0] != spots[0][0] or spots[3][1] != spots[0][1] + rows[3].relative.offset
    ):
        return False
    for row, (q, offset) in zip(rows, spots):
        pool = problem.pools[q]
        address = pool.base_address + offset
        least, most = row.at_least or 0, 99 if row.at_most is None else row.at_most
        if not least <= offset <= most or address % row.alignment or offset + row.size > pool.size:
            return False
        if row.no_cross is not None and address % row.no_cross + row.size > row.no_cross:
            return False
    for i in range(4):
        for j in range(i):
            if 3 == i and (rows[3].alias_of is not None or rows[3].relative is not None) and j == 0:
                continue
            mine, other = rows[i], rows[j]
            if rows[3].alias_of is not None and i == 3:
                continue  # the bytes of the one that it lives in count
            times = [[row.start, row.end] for row in (mine, other)]
            if rows[3].alias_of is not None:
                for row, time in zip((mine, other), times):
                    if row.id == 0:
                        time[:] = min(time[0], rows[3].start), max(time[1], rows[3].end)
            (a, b), (c, d) = times
            (p, low), (q, base) = spots[i], spots[j]
            if p == q and a < d and c < b and low < base + other.size and base < low + mine.size:
                return False
    return True

def best(problem):
    p = len(problem.pools)
    spots = [(q, at) for q in range(p) for at in range(problem.pools[q].size)]
    found = None
    limits = []
    for row in problem.buffers:
        least, most = row.at_least or 0, 99 if row.at_most is None else row.at_most
        limits.append([(q, at) for q, at in spots if least <= at <= most and at + row.size <= problem.pools[q].size
                       and (problem.pools[q].base_address + at) % row.alignment == 0])
    for chosen in product(*limits):
        ends = [0] * p
        for row, (q, at) in zip(problem.buffers, chosen):
            ends[q] = max(ends[q], at + row.size)
        if (found is None or ends[::-1] < found) and holds(problem, chosen):
            found = ends[::-1]
    return found

proved = 0
for seed in range(24):
    problem = drawn(seed)
    least = best(problem) if len(problem.pools) == 1 else None
    for solver in ("greedy", "local-search", "auto", "exact", "highs")[: 5 if seed % 6 == 0 else 3]:
        if solver == "exact" and (len(problem.pools) > 1 or any(r.no_cross or r.relative for r in problem.buffers)):
            continue
        plan = solve(problem, solver=solver, time_limit_s=0.1 if solver == "local-search" else 3)
        assert verify(problem, plan).valid, (seed, solver, verify(problem, plan))
        if len(problem.pools) == 1 and plan.status in ("optimal", "infeasible"):
            assert ([plan.peak] if plan.status == "optimal" else None) == least, (seed, solver, plan, least)
            proved += 1
assert proved > 24, proved
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


@pytest.mark.parametrize("program", [HELD, AS_FAST, LEAST], ids=["held", "as fast", "least"])
def test_toy_kinds_hold_from_the_file_to_the_plan_as_fast_as_plain_problems(copy: Path, program: str) -> None:
    done = run_beside(copy, program)
    assert done.stdout == "held\n", done.stderr
