"""Plans written as pictures and in formats of other tools: memory tables, triples and EXIR."""

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from memplan.api.cli.main import main
from memplan.api.reports import picture
from memplan.api.reports.plan_formats import write_plan
from memplan.planner.foreign.memory_tables import memory_tables, peak_over_time
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds
from tests.support.server import RunningServer
from tests.support.tiny import FEATURES, random_tiny

TWO_MEMORIES: dict[str, Any] = {
    "buffers": [
        {"id": "a", "size": 48, "start": 0, "end": 2},
        {"id": 7, "size": 20, "start": 1, "end": 4},
        {"id": "view", "size": 4, "start": 3, "end": 5, "alias_of": 7, "alias_offset": 16},
        {"id": "late", "size": 30, "start": 5, "end": 6},
    ],
    "pools": [
        {"name": "sram", "size": 64, "alignment": 16, "base_address": 0x57BE0000},
        {"name": "dram", "alignment": 8},
    ],
}
TABLES = """\
+----------------+----------------+-----------------------+-----------------------------+
| Memory Space   | Base Address   |   Memory Size (Bytes) |   Peak Memory Usage (Bytes) |
+================+================+=======================+=============================+
| sram           | 0x57be0000     |                    64 |                          48 |
| dram           | 0x0            |                       |                          20 |
+----------------+----------------+-----------------------+-----------------------------+

+-------------------------------------+----------+--------+
| Peak memory usage across all spaces | 68 bytes | Node 1 |
+-------------------------------------+----------+--------+
"""
TRIPLES = [["a", "sram", 0], [7, "dram", 0], ["view", "dram", 16], ["late", "sram", 0]]
BY_CADENCE = "reference:cadence-position-based-greedy-with-hierarchy"
TOO_LARGE = {"buffers": [{"id": "a", "size": 9, "start": 0, "end": 1}], "pools": [{"size": 8}]}

Captured = pytest.CaptureFixture[str]


def plan_of(problem: object) -> tuple[Problem, Plan]:
    valid = Problem.model_validate(problem)
    return valid, solve(valid, solver=BY_CADENCE)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(TWO_MEMORIES))
    return str(path)


def test_memory_tables_match_the_layout_of_cadences_planner() -> None:
    assert memory_tables(*plan_of(TWO_MEMORIES)) == TABLES


def test_memory_tables_escape_line_breaks_in_memory_names() -> None:
    lines = memory_tables(*plan_of({"buffers": [], "pools": [{"name": "a\nb"}]})).splitlines()
    assert lines[3].split() == ["|", '"a\\nb"', "|", "0x0", "|", "|", "0", "|"]
    assert len({len(line) for line in lines[:5]}) == 1


def test_peak_over_time_returns_the_first_time_that_reaches_the_peak() -> None:
    rows = [{"id": i, "size": 4, "start": start, "end": start + 2} for i, start in enumerate((5, 6, 9, 10, 3))]
    assert peak_over_time(Problem.model_validate({"buffers": rows})) == (8, 6)
    assert peak_over_time(Problem.model_validate({"buffers": []})) == (0, 0)


def test_the_peak_over_time_is_unknown_without_lifetimes() -> None:
    problem, plan = plan_of({"buffers": [{"id": "a", "size": 4}, {"id": "b", "size": 2, "start": 0, "end": 1}]})
    assert peak_over_time(problem) is None
    assert "| 4 bytes | Node unknown |" in memory_tables(problem, plan)
    assert json.loads(write_plan(plan, problem, "exir"))["peak_memory_usage"] is None


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(8))
def test_the_peak_over_time_is_at_most_the_sum_of_the_peaks_of_the_pools(seed: int) -> None:
    problem = random_tiny(seed)
    plan, peak = solve(problem), peak_over_time(problem)
    if plan.peak is not None and peak is not None:
        assert peak[0] <= plan.peak


def test_the_format_triples_is_a_list_of_lists_with_unchanged_ids() -> None:
    problem, plan = plan_of(TWO_MEMORIES)
    assert json.loads(write_plan(plan, problem, "triples")) == TRIPLES


def test_the_format_exir_numbers_memories_from_1_and_reserves_0_for_constants() -> None:
    problem, plan = plan_of(TWO_MEMORIES)
    assert json.loads(write_plan(plan, problem, "exir")) == {
        "bufsizes": [0, 48, 24],
        "peak_memory_usages_per_memory": [48, 20],
        "peak_memory_usage": {"bytes": 68, "node": 1},
        "specs": [
            {"id": "a", "mem_id": 1, "mem_obj_id": 0, "mem_offset": 0, "size": 48},
            {"id": 7, "mem_id": 2, "mem_obj_id": 0, "mem_offset": 0, "size": 20},
            {"id": "view", "mem_id": 2, "mem_obj_id": 0, "mem_offset": 16, "size": 4},
            {"id": "late", "mem_id": 1, "mem_obj_id": 0, "mem_offset": 0, "size": 30},
        ],
    }


@pytest.mark.parametrize("problem", [FEATURES["plain"], FEATURES["identical buffers"], FEATURES["aliases"]])
def test_exir_specs_that_share_bytes_have_the_same_object_id(problem: Problem) -> None:
    plan = solve(problem)
    size = dict(zip(problem.buffers.ids, problem.buffers.size.tolist(), strict=True))
    specs = json.loads(write_plan(plan, problem, "exir"))["specs"]
    for one in specs:
        for other in specs:
            low, high = sorted((one, other), key=lambda spec: int(spec["mem_offset"]))
            if one["mem_id"] == other["mem_id"] and low["mem_offset"] + size[low["id"]] > high["mem_offset"]:
                assert one["mem_obj_id"] == other["mem_obj_id"]
    objects = sorted({(spec["mem_id"], spec["mem_obj_id"]) for spec in specs})
    for mem_id, number in objects:
        assert number == 0 or (mem_id, number - 1) in objects


def test_the_command_writes_every_plan_format(file: str, capfd: Captured) -> None:
    assert main(["plan", file, "--solver", BY_CADENCE, "--format", "tables"]) == 0
    assert capfd.readouterr() == (TABLES, "")
    assert main(["plan", file, "--solver", BY_CADENCE, "--format", "triples"]) == 0
    assert json.loads(capfd.readouterr().out) == TRIPLES
    assert main(["plan", file, "--solver", BY_CADENCE, "--format", "exir"]) == 0
    assert json.loads(capfd.readouterr().out)["bufsizes"] == [0, 48, 24]


@pytest.mark.parametrize("plan_format", ["tables", "triples", "exir"])
def test_an_answer_without_placements_is_json_in_all_formats(plan_format: str, tmp_path: Path, capfd: Captured) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(TOO_LARGE))
    assert main(["plan", str(path), "--format", plan_format]) == 1
    assert json.loads(capfd.readouterr().out)["status"] == "infeasible"


@pytest.mark.parametrize("accept", ["text/plain", "text/plain;q=0.9, application/json;q=0.5", "text/plain, text/csv"])
def test_the_accept_header_text_plain_selects_the_memory_tables(server: RunningServer, accept: str) -> None:
    query, headers = {"solver": BY_CADENCE}, {"accept": accept}
    answer = server.client.post("/v1/plan", json=TWO_MEMORIES, params=query, headers=headers)
    if accept.endswith("csv"):
        assert answer.headers["content-type"].startswith("text/csv")
    else:
        assert (answer.headers["content-type"], answer.text) == ("text/plain; charset=utf-8", TABLES)


@pytest.mark.parametrize(("plan_format", "expected"), [("triples", TRIPLES), ("exir", None)])
def test_the_service_writes_the_requested_format(server: RunningServer, plan_format: str, expected: object) -> None:
    content = {"problem": TWO_MEMORIES, "options": {"solver": BY_CADENCE, "format": plan_format}}
    answer = server.client.post("/v1/plan", json=content, headers={"accept": "text/csv"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == expected or answer.json()["bufsizes"] == [0, 48, 24]


SVG = "{http://www.w3.org/2000/svg}"


def draw_picture(problem: Problem, plan: Plan) -> tuple[ElementTree.Element, list[str]]:
    root = ElementTree.fromstring(picture.draw(problem, plan))
    return root, ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]


def draw_solved(buffers: list[dict[str, Any]], **fields: Any) -> tuple[ElementTree.Element, list[str]]:
    problem = Problem.model_validate({"buffers": buffers, **fields})
    return draw_picture(problem, solve(problem))


def rectangles(root: ElementTree.Element) -> int:
    return sum(group.get("id", "").startswith("buffer-") for group in root.iter(f"{SVG}g"))


def rows(n: int) -> list[dict[str, object]]:
    return [{"id": f"b{i}", "size": 1024, "start": i, "end": i + 2} for i in range(n)]


def test_a_picture_has_a_rectangle_for_each_lifetime_and_the_bound_as_a_line() -> None:
    root, texts = draw_solved([*rows(4), {"id": "b4", "size": 64, "lifetimes": [[0, 1], [3, 5]]}])
    assert (root.tag, rectangles(root)) == (f"{SVG}svg", 6)
    assert "lower bound 2,112" in texts
    assert "default: peak 2,112 bytes (2.062 KiB), optimal" in texts
    assert {"b0", "b1", "b2", "b3"} <= set(texts)


def test_each_rectangle_of_a_picture_has_a_unique_id_and_a_title() -> None:
    root, _ = draw_solved([*rows(2), {"id": "<&>", "size": 64, "lifetimes": [[0, 1], [3, 5]]}])
    titles = {group.get("id"): group.findtext(f"{SVG}title") for group in root.iter(f"{SVG}g")}
    assert titles["buffer-0-0"] == "b0: 1,024 bytes, alive [0, 2), offset 0"
    assert str(titles["buffer-2-1"]).startswith("<&>: 64 bytes, alive [3, 5), offset ")


def test_a_picture_highlights_buffers_at_the_peak_time_and_above_the_lower_bound() -> None:
    problem = Problem.model_validate({"buffers": [*rows(4), {"id": "late", "size": 64, "start": 9, "end": 10}]})
    at = {"b0": 0, "b1": 1024, "b2": 2048, "b3": 0, "late": 0}
    placements = [{"id": name, "pool": "default", "offset": offset} for name, offset in at.items()]
    pools = [{"name": "default", "used": 3072, "lower_bound": 2048}]
    plan = Plan.model_validate({"status": "feasible", "peak": 3072, "pools": pools, "placements": placements})
    _, texts = draw_picture(problem, plan)
    assert {"fullest at 1: 2,048 alive", "above the bound", "at the fullest time", "at other times"} <= set(texts)


def test_a_picture_labels_the_ten_largest_buffers_even_with_long_names() -> None:
    large = [{"id": f"large/{'very_' * 9}{i}", "size": 10**6, "start": 40 * i, "end": 40 * i + 30} for i in range(10)]
    _, texts = draw_solved([*rows(300), *large])
    assert sum(text.startswith("lar") for text in texts) == 10


@pytest.mark.drawn
def test_no_text_of_a_picture_is_cut_at_the_edge_or_covers_another_label() -> None:
    for seed in seeds(20):
        rng = random.Random(seed)
        spans = [(start := rng.randint(0, 60), start + rng.randint(1, 12)) for _ in range(rng.choice([10, 80, 300]))]
        buffers = [
            {"id": f"layer{k}.output_tensor", "size": rng.choice([64, 4096, 65536]) * 9, "start": a, "end": b}
            for k, (a, b) in enumerate(spans)
        ]
        pools = [{"name": "sram", "size": 2**21}, {"name": "psram", "size": 2**40}]
        problem = Problem.model_validate({"buffers": buffers, "pools": pools})
        for panel in draw_picture(problem, solve(problem, time_limit_s=0.2))[0].iter(f"{SVG}g"):
            found = [text_box(text) for text in panel.findall(f"{SVG}text")]
            assert all(left >= 0 and right <= 900 for left, _, right, _ in found), found
            overlaps = [
                (one, other)
                for one, other in combinations(found, 2)
                if one[0] < other[2] - 2 and other[0] < one[2] - 2 and one[1] < other[3] - 2 and other[1] < one[3] - 2
            ]
            assert overlaps == []


def text_box(text: ElementTree.Element) -> tuple[float, float, float, float]:
    """Return the left, top, right and bottom of a text, whose characters are half as wide as they are high."""
    x, y, size = (float(text.get(name, "11")) for name in ("x", "y", "font-size"))
    width = len("".join(text.itertext())) * size / 2
    left = x - width * {"middle": 0.5, "end": 1}.get(text.get("text-anchor", ""), 0)
    if text.get("transform"):
        return x - size * 0.8, y - width / 2, x + size * 0.2, y + width / 2
    return left, y - size * 0.8, left + width, y + size * 0.2


def test_each_pool_has_its_own_panel_with_address_and_size() -> None:
    pools = [{"name": "fast", "size": 1024, "base_address": 0x20000000}, {"name": "slow", "reserved": [[0, 512]]}]
    _, texts = draw_solved(rows(4), pools=pools)
    assert "fast at 0x20000000: peak 1,024 bytes (1 KiB), optimal" in texts
    assert "slow: peak 1,536 bytes (1.5 KiB), optimal" in texts
    assert "size 1,024" in texts


def test_a_picture_draws_buffers_without_lifetimes_over_the_whole_time() -> None:
    _, texts = draw_solved([{"id": "a", "size": 8}, {"id": "b", "size": 8}])
    assert "default: peak 8 bytes (8 B), optimal" in texts


def test_the_picture_of_a_plan_without_placements_is_empty() -> None:
    root, texts = draw_solved(rows(2), pools=[{"size": 1}])
    assert "default, infeasible" in texts
    assert rectangles(root) == 0


@pytest.mark.parametrize(
    ("name", "text"), [("$x_{$", "$x_{$"), ("\x1b\n", "\ufffd\ufffd"), ("模型", "模型"), ("_<&", "_<&")]
)
def test_a_picture_shows_printable_names_unchanged(name: str, text: str) -> None:
    row = {"id": name, "size": 8, "start": 0, "end": 1}
    _, texts = draw_solved([row], pools=[{"name": name}])
    assert f"{text}: peak 8 bytes (8 B), optimal" in texts
    assert text in texts


def test_a_picture_can_show_the_largest_64_bit_sizes_and_times() -> None:
    root, _ = draw_solved([{"id": "a", "size": 2**62, "start": -(2**63), "end": 2**63 - 1}])
    assert rectangles(root) == 1
