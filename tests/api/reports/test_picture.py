from __future__ import annotations

from xml.etree import ElementTree

import pytest

from memplan.api.reports import picture
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve

SVG = "{http://www.w3.org/2000/svg}"


def drawn(problem: Problem, plan: Plan) -> tuple[ElementTree.Element, list[str]]:
    """Return the picture as a tree, and the texts in it."""
    root = ElementTree.fromstring(picture.draw(problem, plan))
    return root, ["".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")]


def rectangles(root: ElementTree.Element) -> int:
    """Count the rectangles of buffers."""
    return sum(group.get("id", "").startswith("buffer-") for group in root.iter(f"{SVG}g"))


def rows(n: int) -> list[dict[str, object]]:
    return [{"id": f"b{i}", "size": 1024, "start": i, "end": i + 2} for i in range(n)]


def test_a_picture_has_a_rectangle_for_each_lifetime_and_the_bound_as_a_line() -> None:
    problem = Problem.model_validate({"buffers": [*rows(4), {"id": "b4", "size": 64, "lifetimes": [[0, 1], [3, 5]]}]})
    root, texts = drawn(problem, solve(problem))
    assert root.tag == f"{SVG}svg"
    assert rectangles(root) == 6
    assert "lower bound 2,112" in texts
    assert "default: peak 2,112 bytes (2.062 KiB), optimal" in texts
    assert {"b0", "b1", "b2", "b3"} <= set(texts)


def test_a_rectangle_has_an_id_and_a_title_of_its_own() -> None:
    problem = Problem.model_validate({"buffers": [*rows(2), {"id": "<&>", "size": 64, "lifetimes": [[0, 1], [3, 5]]}]})
    root, _ = drawn(problem, solve(problem))
    titles = {group.get("id"): group.findtext(f"{SVG}title") for group in root.iter(f"{SVG}g")}
    assert titles["buffer-0-0"] == "b0: 1,024 bytes, alive [0, 2), offset 0"
    assert str(titles["buffer-2-1"]).startswith("<&>: 64 bytes, alive [3, 5), offset ")


def test_the_fullest_time_and_what_ends_above_the_bound_are_told_apart() -> None:
    problem = Problem.model_validate({"buffers": [*rows(4), {"id": "late", "size": 64, "start": 9, "end": 10}]})
    at = {"b0": 0, "b1": 1024, "b2": 2048, "b3": 0, "late": 0}
    placements = [{"id": name, "pool": "default", "offset": offset} for name, offset in at.items()]
    pools = [{"name": "default", "used": 3072, "lower_bound": 2048}]
    plan = Plan.model_validate({"status": "feasible", "peak": 3072, "pools": pools, "placements": placements})
    _, texts = drawn(problem, plan)
    assert {"fullest at 1: 2,048 alive", "above the bound", "at the fullest time", "at other times"} <= set(texts)


def test_the_ten_largest_are_labelled_whatever_their_number_and_names() -> None:
    large = [{"id": f"large/{'very_' * 9}{i}", "size": 10**6, "start": 40 * i, "end": 40 * i + 30} for i in range(10)]
    problem = Problem.model_validate({"buffers": [*rows(300), *large]})
    _, texts = drawn(problem, solve(problem))
    assert sum(text.startswith("lar") for text in texts) == 10


def test_each_pool_has_its_own_panel_with_address_and_size() -> None:
    pools = [{"name": "fast", "size": 1024, "base_address": 0x20000000}, {"name": "slow", "reserved": [[0, 512]]}]
    problem = Problem.model_validate({"buffers": rows(4), "pools": pools})
    _, texts = drawn(problem, solve(problem))
    assert "fast at 0x20000000: peak 1,024 bytes (1 KiB), optimal" in texts
    assert "slow: peak 1,536 bytes (1.5 KiB), optimal" in texts
    assert "size 1,024" in texts


def test_buffers_without_lifetimes_span_all_of_time() -> None:
    problem = Problem.model_validate({"buffers": [{"id": "a", "size": 8}, {"id": "b", "size": 8}]})
    _, texts = drawn(problem, solve(problem))
    assert "default: peak 8 bytes (8 B), optimal" in texts


def test_a_plan_that_places_nothing_is_an_empty_picture() -> None:
    problem = Problem.model_validate({"buffers": rows(2), "pools": [{"size": 1}]})
    root, texts = drawn(problem, solve(problem))
    assert "default, infeasible" in texts
    assert rectangles(root) == 0


@pytest.mark.parametrize(
    ("name", "text"), [("$x_{$", "$x_{$"), ("\x1b\n", "\ufffd\ufffd"), ("模型", "模型"), ("_<&", "_<&")]
)
def test_names_are_written_as_they_are_if_they_can_be(name: str, text: str) -> None:
    row = {"id": name, "size": 8, "start": 0, "end": 1}
    problem = Problem.model_validate({"buffers": [row], "pools": [{"name": name}]})
    _, texts = drawn(problem, solve(problem))
    assert f"{text}: peak 8 bytes (8 B), optimal" in texts
    assert text in texts


def test_the_largest_numbers_are_drawn() -> None:
    row = {"id": "a", "size": 2**62, "start": -(2**63), "end": 2**63 - 1}
    problem = Problem.model_validate({"buffers": [row]})
    root, _ = drawn(problem, solve(problem))
    assert rectangles(root) == 1
