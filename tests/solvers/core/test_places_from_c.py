"""Pairs in place and places of an older plan by the C header: what Python's verifier and brute force say of them."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from memplan import Plan, Problem
from memplan.planner.errors import ProblemError
from memplan.planner.verify.verifier import verify
from memplan.solvers.core.build import HERE, library_of
from tests.support.depth import DEPTH
from tests.support.orientations import costs_that_fit

HAS_COMPILER = pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
pytestmark = [pytest.mark.slow, pytest.mark.drawn, HAS_COMPILER]
PROGRAM = Path(__file__).parent / "places.cpp"
LIBRARY = library_of(HERE)
STATUS, PEAK, BOUND, COST, COST_BOUND, MOVED, MOVED_BOUND, MISSED, LEAST = range(9)


def draw_rows(folder: Path, count: int, seed: int) -> Iterator[dict[str, Any]]:
    made = folder / "places"
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{HERE}", f"-Wl,-rpath,{LIBRARY.parent}"]
    subprocess.run(["g++", *flags, str(PROGRAM), str(LIBRARY), "-o", str(made)], check=True)
    done = subprocess.run([made, str(count), str(seed)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, [line for line in done.stdout.splitlines() if not line.startswith("{")]
    return map(json.loads, done.stdout.splitlines())


def problem_of(row: dict[str, Any]) -> Problem | None:
    """Return the problem; None if Python refuses it, as rules contradict each other."""
    try:
        return Problem.model_validate({**row["problem"], "objective": "fit"})
    except ProblemError:
        return None


def minimum_use(problem: Problem, row: dict[str, Any]) -> int | None:
    """Return the least sum of ends, or of the costs of homes, by brute force; None if nothing fits."""
    if not row["is_choice"]:
        return min((sum(int(end) for end in ends) for _, ends in costs_that_fit(problem)), default=None)
    costs = {(i, q): cost for i, q, cost in row["homes"]}
    return min([cost for pools, cost in choices(problem, costs) if fits(problem, pools)], default=None)


def choices(problem: Problem, costs: dict[tuple[int, int], int]) -> Iterator[tuple[tuple[int, ...], int]]:
    may = [[q for q in (0, 1) if not costs or (k, q) in costs] for k in range(len(problem.buffers))]
    for pools in product(*may):
        yield pools, sum(costs.get((k, q), 0) for k, q in enumerate(pools))


def problem_of_pools(
    problem: Problem, pools: tuple[int, ...], pins: dict[int, int], sizes: dict[int, int]
) -> Problem | None:
    """Return the problem with buffers in given pools, some of them pinned, in pools of given sizes."""
    rows = [row.model_copy(update={"pools": (str(pools[k]),)}) for k, row in enumerate(problem.buffers)]
    rows = [row.model_copy(update={"offset": pins[k]}) if k in pins else row for k, row in enumerate(rows)]
    memories = [pool.model_copy(update={"size": sizes.get(q, pool.size)}) for q, pool in enumerate(problem.pools)]
    data = problem.model_dump(mode="json", exclude_defaults=True)
    for key, models in (("buffers", rows), ("pools", memories)):
        data[key] = [each.model_dump(mode="json") for each in models]
    try:
        return Problem.model_validate(data)
    except ProblemError:
        return None


def fits(
    problem: Problem, pools: tuple[int, ...], pins: dict[int, int] | None = None, sizes: dict[int, int] | None = None
) -> bool:
    """Return True if buffers fit into given pools, by brute force."""
    fixed = {k: row.offset for k, row in enumerate(problem.buffers) if row.offset is not None}
    if any(fixed.get(k, at) != at for k, at in (pins or {}).items()):
        return False
    asked = problem_of_pools(problem, pools, pins or {}, sizes or {})
    return asked is not None and any(True for _ in costs_that_fit(asked))


def minimum_moves(problem: Problem, row: dict[str, Any]) -> tuple[int, int]:
    """Return the least weight of buffers away from their places, and then the fewest hints missed, by brute force."""
    places = row["places"]
    n = len(problem.buffers)
    fixed = {k: int((b.pools or ("0",))[0]) for k, b in enumerate(problem.buffers)}
    costs = {(i, q): cost for i, q, cost in row["homes"]}
    if row["is_choice"]:
        limit = row["without"][COST] * (1 + row["accept"])
        homes, sizes = [pools for pools, cost in choices(problem, costs) if cost <= limit], {}
    else:
        homes, ends = [tuple(fixed[k] for k in range(n))], dict.fromkeys(range(len(problem.pools)), 0)
        for k, buffer in enumerate(problem.buffers):
            ends[fixed[k]] = max(ends[fixed[k]], row["first"][k] + buffer.size)
        sizes = {
            q: min(int(min(end * (1 + row["accept"]), 10**6)), 10**6 if pool.size is None else pool.size)
            for (q, end), pool in zip(ends.items(), problem.pools, strict=True)
        }
    sets = sorted(
        (sum(places[k][3] for k in gone), sum(places[k][3] == 0 for k in gone), gone)
        for count in range(len(places) + 1)
        for gone in combinations(range(len(places)), count)
    )
    for weight, hints, gone in sets:
        pinned = [place for k, place in enumerate(places) if k not in gone]
        for pools in homes:
            if all(pools[i] == q for i, q, _, _ in pinned) and fits(
                problem, pools, {i: at for i, _, at, _ in pinned}, sizes
            ):
                return weight, hints
    raise AssertionError("the plan itself keeps some")


def _is_limited(problem: Problem, row: dict[str, Any]) -> bool:
    """Return True if the problem would allow a plan of less use without the limits of offsets."""
    rows = [{**each, "end_at_most": None} for each in row["problem"]["buffers"]]
    free = problem_of({**row, "problem": {**row["problem"], "buffers": rows}})
    return free is not None and minimum_use(free, row) != minimum_use(problem, row)


def test_c_plans_with_in_place_pairs_and_old_places_agree_with_brute_force(tmp_path: Path) -> None:
    plans = shared = limited = best = fewest = wished = compared = 0
    for row in draw_rows(tmp_path, 125 * DEPTH, 1):
        result, without, problem = row["result"], row["without"], problem_of(row)
        if problem is None:
            assert without[STATUS] >= 2, row
            continue
        least = minimum_use(problem, row)
        for said in (result, without):
            assert (said[STATUS] < 2) <= (least is not None), row
            assert least is None or said[STATUS] != 2, row
            assert said[STATUS] > 1 or said[COST_BOUND if row["is_choice"] else BOUND] <= least, row
        if least is None or without[STATUS] > 1:
            continue
        plans += 1
        limited += _is_limited(problem, row)
        use = COST if row["is_choice"] else PEAK
        assert without[use] >= least, row
        assert without[STATUS] > 0 or without[use] == least, row
        assert result[LEAST] == without[use], row
        best += without[use] == least
        placed = [
            {"id": k, "pool": problem.pools[q if problem.pools[1:] else 0].name, "offset": at}
            for k, (q, at) in enumerate(zip(row["memory_of"], row["offsets"], strict=True))
        ]
        assert not verify(problem, Plan.model_validate({"placements": placed})), row
        if len(row["places"]) > 4 or len(problem.buffers) > 4:
            continue
        compared += 1
        moved, missed = minimum_moves(problem, row)
        assert result[MOVED_BOUND] <= moved <= result[MOVED], (row, moved)
        fewest += result[MOVED] == moved
        wished += (result[MOVED], result[MISSED]) == (moved, missed)
        shared += bool(problem.may_share)
    assert plans > 50 * DEPTH
    assert limited > 3 * DEPTH
    assert best > 0.97 * plans
    assert compared > 30 * DEPTH
    assert shared > 10 * DEPTH
    assert fewest > 0.95 * compared
    assert wished > 0.9 * compared
