"""Reuse costs by the C API: the same as by Python's search and by brute force."""

import random
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memplan import Problem, solve
from memplan.solvers.core.build import HERE, library_of
from tests.support import oracle
from tests.support.depth import DEPTH

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")]
PROGRAM = Path(__file__).parent / "prices.c"
LIBRARY = library_of(HERE)


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("prices") / "prices"
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{HERE}", PROGRAM, LIBRARY]
    subprocess.run([*map(str, command), f"-Wl,-rpath,{LIBRARY.parent}", "-o", str(made)], check=True)
    return made


def draw_problem(seed: int, least: int, most: int) -> Problem:
    """Return a random problem with reuse costs in one tight pool, with some alignments, pins or conflicts."""
    rng = random.Random(seed)
    n, length = rng.randint(least, most), rng.choice((4, 8, 12))
    size = rng.randint(1, 5) if rng.random() < 0.2 else None
    rows: list[dict[str, Any]] = []
    for k in range(n):
        start = rng.randrange(length)
        row = {"id": k, "size": size or rng.randint(1, 5), "start": start, "end": start + rng.randint(1, 3)}
        rows.append(row | ({"alignment": rng.choice((2, 3, 4))} if seed % 3 == 0 and rng.random() < 0.5 else {}))
    if seed % 4 == 1:
        rows[0] |= {"offset": rng.randint(0, 4), "alignment": 1}
    load = max(sum(row["size"] for row in rows if row["start"] <= t < row["end"]) for t in range(length + 3))
    pairs = [[a, b] for b in range(n) for a in range(b) if rng.random() < 0.7]
    cut = rng.randint(0, len(pairs))
    shares = ((pairs[:cut], 2), (pairs[cut:], rng.choice((3, 6))))
    return Problem(
        buffers=rows,
        reuse=[{"pairs": some, "cost": cost} for some, cost in shares if some],
        conflicts=[rng.sample(range(n), 2)] if seed % 5 == 2 else [],
        pools=[{"name": "near", "size": load + rng.choice((0, 1, 2, 4, 6))}],
        objective="cost",
    )


def lines_of(problem: Problem) -> Iterable[str]:
    prices = [(*pair, row.cost) for row in problem.reuse for pair in row.pairs]
    rows: list[Iterable[object]] = [(len(problem.buffers), len(problem.conflicts), len(prices), problem.pools[0].size)]
    for row in problem.buffers:
        (life,) = row.intervals
        rows.append((row.size, *life, row.alignment, -1 if row.offset is None else row.offset))
    for each in (*rows, *problem.conflicts, *prices):
        yield " ".join(map(str, each))


def plan_in_c(planner: Path, problems: list[Problem], work: int) -> list[tuple[str, int, int, int]]:
    """Return (status, cost, lower bound of the cost, calls of `cancel`) for each problem."""
    text = "\n".join(line for problem in problems for line in lines_of(problem))
    done = subprocess.run([str(planner), str(work)], input=text, capture_output=True, text=True, check=True)
    rows = (line.split(";") for line in done.stdout.splitlines())
    return [(status, int(cost), int(bound), int(asked)) for status, cost, bound, _, asked in rows]


def test_reuse_costs_by_the_c_api_agree_with_brute_force_and_python(planner: Path) -> None:
    problems = [draw_problem(seed, 2, 5) for seed in range(80 * DEPTH)]
    found = plan_in_c(planner, problems, 100_000)
    for problem, (status, cost, _, _) in zip(problems, found, strict=True):
        best, plan = oracle.best_score(problem), solve(problem, time_limit_s=5)
        if best is None:
            assert (status, plan.status) == ("infeasible, proved", "infeasible")
        else:
            assert (status, plan.status) == ("optimal", "optimal")
            assert cost == best[0] == plan.cost
    assert sum(cost > 0 for _, cost, _, _ in found) > len(found) / 4


def test_the_c_api_proves_the_reuse_costs_of_larger_problems_that_python_proves(planner: Path) -> None:
    problems = [draw_problem(1000 + seed, 12, 30) for seed in range(12 * DEPTH)]
    found = plan_in_c(planner, problems, 200_000)
    proved = 0
    for problem, (status, cost, bound, _) in zip(problems, found, strict=True):
        plan = solve(problem, time_limit_s=0.5)
        if plan.status == "infeasible":
            assert status in {"infeasible, proved", "unknown"}
            continue
        assert plan.cost is not None
        assert bound <= plan.cost
        assert plan.status != "optimal" or status != "optimal" or cost == plan.cost
        proved += status == "optimal"
    assert proved >= len(problems) / 3
