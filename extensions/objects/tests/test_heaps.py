"""Tests of plans in heaps: brute force confirms the fewest heaps, plans are valid, and wrong problems are refused."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan import Plan, PlanOptions, Problem, plan, read_problem
from memplan.api.cli.main import main
from memplan.api.settings import Settings
from memplan.extensions.objects import heaps
from memplan.extensions.objects.heaps import plan_in_heaps
from memplan.planner.errors import TimeOverError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.verify.verifier import verify
from memplan.questions.plan.answers import plan_lines, problem_in_heaps
from memplan.questions.question import Control
from tests.support.applications import min_peak
from tests.support.server import RunningServer, run_server

Captured = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).parents[3] / "examples"


def draw_problem(seed: int) -> tuple[Problem, int]:
    """Return a random problem of five buffers, and a heap size that is large enough for each buffer."""
    chance = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for k in range(5):
        start = chance.randrange(4)
        rows.append({"id": str(k), "size": chance.randint(1, 9), "start": start, "end": start + chance.randint(1, 4)})
    return Problem(buffers=rows), max(row["size"] for row in rows) + chance.randrange(5)


def min_heaps(problem: Problem, size: int) -> tuple[int, int]:
    """Return the minimum number of heaps and their minimum bytes, by brute force over all assignments to heaps."""
    rows = {str(row.id): row for row in problem.buffers}
    lives = {name: (row.start or 0, row.end or 0) for name, row in rows.items()}
    meeting = (p for p in combinations(rows, 2) if max(lives[n][0] for n in p) < min(lives[n][1] for n in p))
    pairs = {frozenset(pair) for pair in meeting}
    for count in range(1, len(rows) + 1):
        totals = []
        for dealt in product(range(count), repeat=len(rows)):
            parts = [{n: rows[n].size for n, heap in zip(rows, dealt, strict=True) if heap == k} for k in range(count)]
            used = [min_peak(part, pairs) for part in parts]
            totals += [sum(used)] if max(used) <= size else []
        if totals:
            return count, min(totals)
    raise AssertionError


def heap_plan(problem: Problem, limit: int, time_limit_s: float) -> Plan:
    return plan(problem, options=PlanOptions(heaps=limit, time_limit_s=time_limit_s))


@pytest.mark.parametrize("seed", range(25))
def test_plans_in_heaps_use_the_fewest_heaps_and_the_fewest_bytes_by_brute_force(seed: int) -> None:
    problem, size = draw_problem(seed)
    found = heap_plan(problem, size, 20)
    assert found.heaps is not None
    least, best = min_heaps(problem, size)
    assert len(found.pools) == found.heaps.least == least
    used = [pool.used or 0 for pool in found.pools]
    assert max(used) <= size
    assert (found.status, sum(used), found.peak, found.lower_bound) == ("optimal", best, best, best)
    assert memplan.verify(problem, found).valid


def test_a_network_in_two_heaps_needs_no_more_bytes_than_in_one_pool() -> None:
    found = heap_plan(read_problem(EXAMPLES / "mobilenet_v2.csv"), 1204224, 10)
    assert (found.status, [pool.used for pool in found.pools]) == ("optimal", [1204224, 301056])
    assert ", found by heaps" in next(plan_lines(found))
    assert "2 heaps of at most 1,204,224 bytes, no fewer are enough" in list(plan_lines(found))


def test_the_lower_bound_is_said_to_hold_for_the_number_of_heaps() -> None:
    rows = [{"id": "a", "size": 1, "start": 0, "end": 2}, {"id": "b", "size": 5, "start": 0, "end": 2}]
    aligned = Problem.model_validate({"buffers": rows, "pools": [{"name": "only", "alignment": 3}]})
    assert next(plan_lines(heap_plan(aligned, 10, 2))).startswith(
        "optimal: peak 7 bytes, lower bound 7 for 1 heap, gap 0"
    )
    assert ", lower bound 6 for 2 heaps, " in next(plan_lines(heap_plan(aligned, 5, 2)))


def test_the_fewest_heaps_are_proved_even_if_each_live_set_fits_in_fewer() -> None:
    rows = [{"id": k, "size": 3, "start": k, "end": k + 2} for k in range(4)]
    found = heap_plan(Problem(buffers=[*rows, {"id": 4, "size": 3, "lifetimes": [[0, 1], [4, 5]]}]), 3, 2)
    assert found.heaps is not None
    assert (len(found.pools), found.heaps.least) == (3, 3)


@pytest.mark.parametrize("fields", [{}, {"alignment": 8}])
def test_buffers_of_size_zero_all_share_one_heap(fields: dict[str, int]) -> None:
    found = heap_plan(Problem(buffers=[{"id": "a", "size": 0, "start": 0, "end": 1, **fields}]), 1, 2)
    assert (found.status, found.peak, found.gap, len(found.pools)) == ("optimal", 0, None, 1)
    assert "1 heap of at most 1 byte, no fewer are enough" in list(plan_lines(found))


@pytest.mark.parametrize("limit_s", [0.001, 0.05, 0.5])
def test_heaps_found_before_the_time_limit_are_reported(limit_s: float) -> None:
    rng = random.Random(1)
    rows = [
        {"id": k, "size": rng.randrange(1, 3000), "start": start, "end": start + rng.randrange(1, 80)}
        for k, start in enumerate([rng.randrange(300) for _ in range(300)])
    ]
    problem, noted = Problem.model_validate({"buffers": rows}), list[Plan]()
    found = plan_in_heaps(problem, 9000, replace(Control.from_limit(limit_s), note=noted.append))
    for each in (noted[0], found):
        assert (each.status, max(pool.used or 0 for pool in each.pools) <= 9000) == ("feasible", True)
        assert verify(problem_in_heaps(problem, each), each) == ()


def test_repeated_runs_with_counted_work_give_the_same_heaps() -> None:
    problem = read_problem(EXAMPLES / "problems" / "minimalloc" / "K.1048576.csv")
    options = PlanOptions(heaps=858_112, time_limit_s=0.1, deterministic=True)
    first, second = (plan(problem, options=options) for _ in range(2))
    assert first.placements == second.placements


def test_heaps_not_found_in_time_are_reported_as_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heaps, "_FIRST_FIT", 0)
    monkeypatch.setattr(heaps, "_MOST_FIRST_FIT", 0)
    monkeypatch.setattr(heaps, "_plan_with_walls", lambda *_: None)
    monkeypatch.setattr(heaps, "_plan_in_share", lambda *_, **__: Plan(status="unknown"))
    problem, size = draw_problem(1)
    with pytest.raises(
        TimeOverError, match=r"time_limit_s: must be enough to find a plan in heaps, got none with up to \d+"
    ):
        heap_plan(problem, size, 1)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_on_heaps_is_the_highest_over_all_thresholds_for_small_sizes(seed: int) -> None:
    chance = random.Random(seed)
    limit = chance.randint(9, 40)
    sizes = [1, *(chance.randint(1, limit) for _ in range(chance.randint(1, 30)))]
    problem = Problem(buffers=[{"id": k, "size": size, "start": 0, "end": 1} for k, size in enumerate(sizes)])
    least = 0
    for k in {0, *(size for size in sizes if 2 * size <= limit)}:
        large = [size for size in sizes if 2 * size > limit]
        left = sum(limit - size for size in large if size <= limit - k)
        small = sum(size for size in sizes if k <= size and 2 * size <= limit)
        least = max(least, len(large) + max(0, -(-(small - left) // limit)))
    found = heap_plan(problem, limit, 5)
    assert found.heaps is not None
    assert least <= found.heaps.least <= len(found.pools)
    assert max(heaps._bin_bounds(compile_problem(problem), limit)) == least


@pytest.mark.slow
@pytest.mark.parametrize("limit_s", [0.05, 5])
def test_thousands_of_buffers_get_two_or_three_heaps_in_time(limit_s: float) -> None:
    chance = random.Random(1)
    starts = [chance.randrange(2_000) for _ in range(2_000)]
    rows = [
        {"id": k, "size": chance.randint(1, 16_384), "start": at, "end": at + chance.randint(1, 666), "alignment": 64}
        for k, at in enumerate(starts)
    ]
    most = max(sum(row["size"] for row in rows if row["start"] <= at < row["end"]) for at in starts)
    problem = Problem(buffers=rows)
    found = heap_plan(problem, (most + 1) // 2, limit_s)
    assert len(found.pools) in (2, 3)
    assert not verify(problem_in_heaps(problem, found), found)


ROWS = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 48, "start": 2, "end": 5}]
PROBLEM: dict[str, Any] = {"buffers": ROWS}
OLD = {"placements": [{"id": "a", "pool": "default", "offset": 48}, {"id": "b", "pool": "default", "offset": 0}]}
OBJECTS = {"kind": "objects", "alignment": 32, "buffers": ROWS}
MODES: list[tuple[str, dict[str, Any], Any]] = [
    ("heaps", {"problem": PROBLEM, "options": {"heaps": "80B"}}, ["heap 1", "heap 2"]),
    ("objects", {"problem": OBJECTS}, [["a"], ["b"]]),
    ("a bare problem of objects", OBJECTS, [["a"], ["b"]]),
    ("an old plan", {"problem": PROBLEM, "keep": OLD}, [48, 0]),
]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(Settings()) as found:
        yield found


def mode_fields(answer: Any) -> Any:
    """Return the part of an answer that shows its mode: objects, heaps, or offsets."""
    if "objects" in answer:
        return [each["buffers"] for each in answer["objects"]]
    if answer.get("heaps"):
        return [each["pool"] for each in answer["placements"]]
    return [each["offset"] for each in answer["placements"]]


@pytest.mark.parametrize(("body", "expected"), [row[1:] for row in MODES], ids=[row[0] for row in MODES])
def test_plan_calls_and_jobs_answer_in_each_mode(body: dict[str, Any], expected: Any, server: RunningServer) -> None:
    answer = server.client.post("/v1/plan", json=body)
    assert (answer.status_code, mode_fields(answer.json())) == (200, expected), answer.text
    submitted = server.client.post("/v1/jobs", json=body)
    assert submitted.status_code == 202, submitted.text
    links = server.wait_for_end(submitted.json())["links"]
    for link in ("result", "plan"):
        assert mode_fields(server.client.get(links[link]).json()) == expected
    assert server.client.get(f"{links['self']}/request").json() == body
    assert server.client.get(f"{links['self']}/problem").status_code == 404


def test_memplan_plan_draws_heaps_and_memplan_verify_accepts_them(tmp_path: Path, capfd: Captured) -> None:
    problem, plan, picture = (str(tmp_path / name) for name in ("problem.json", "plan.json", "plan.svg"))
    Path(problem).write_text(json.dumps(PROBLEM))
    assert main(["plan", problem, "--heaps", "80", "-o", plan, "-o", picture]) == 0
    assert "2 heaps of at most 80 bytes, no fewer are enough" in capfd.readouterr().err
    assert "heap 2: peak 48 bytes" in Path(picture).read_text()
    assert main(["verify", problem, plan, "--quiet"]) == 0


def test_memplan_converts_a_problem_to_shared_objects_and_plans_it(tmp_path: Path, capfd: Captured) -> None:
    problem, objects = str(tmp_path / "problem.json"), str(tmp_path / "objects.json")
    Path(problem).write_text(json.dumps(PROBLEM))
    assert main(["convert", problem, "--to", "objects", "-o", objects, "--quiet"]) == 0
    assert main(["plan", objects, "--format", "table"]) == 0
    assert capfd.readouterr().out.startswith("optimal: 112 in 2 objects")
    assert main(["plan", objects, "-o", str(tmp_path / "plan.html")]) == 2
    assert "output: must be JSON for shared objects" in capfd.readouterr().err
