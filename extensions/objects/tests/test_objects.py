"""Tests of shared objects: minimum total sizes, Relay's textures, and constraints that cannot be satisfied."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memplan import ObjectsAnswer, PlanOptions, Problem, plan, read_problem, solve
from memplan.planner.errors import ProblemError
from memplan.planner.model.objects import ObjectBuffer, ObjectsProblem, SharedObject, objects_from_problem
from memplan.planner.verify.shared_objects import violations
from memplan.questions.plan.objects import objects_lines
from memplan.runtimes.tvm.relay_tokens import FreeTextures, Token
from tests.support import public_problems

Row = tuple[int, int, int, int]
"""A buffer as (start, end, width, height)."""


def min_sum(rows: Sequence[Row], ratio: int | None = None) -> int:
    """Return the minimum total size (width x height) of objects whose buffers are never alive at the same time."""
    best = sum(w * h for _, _, w, h in rows)

    def amount(object_: list[Row]) -> int | None:
        wide, high = max(row[2] for row in object_), max(row[3] for row in object_)
        is_wrong = ratio is not None and any(wide > ratio * w or high > ratio * h for _, _, w, h in object_)
        return None if is_wrong else wide * high

    def place(k: int, objects: list[list[Row]]) -> None:
        nonlocal best
        if k == len(rows):
            amounts = [amount(each) for each in objects]
            if None not in amounts:
                best = min(best, sum(each or 0 for each in amounts))
            return
        for each in objects:
            if all(rows[k][0] >= other[1] or other[0] >= rows[k][1] for other in each):
                each.append(rows[k])
                place(k + 1, objects)
                each.pop()
        place(k + 1, [*objects, [rows[k]]])

    place(0, [])
    return best


def draw_objects(seed: int, *, textures: bool) -> ObjectsProblem:
    """Return a random problem of at most eight buffers of bytes or of textures; some texture problems have a ratio."""
    chance = random.Random(seed)
    steps, most = chance.randint(3, 12), chance.choice([3, 9, 50])
    rows = []
    for k in range(chance.randint(2, 8)):
        start = chance.randrange(steps)
        sides: dict[str, Any] = (
            {"width": chance.randint(1, most), "height": chance.randint(1, most)}
            if textures
            else {"size": chance.randint(0, most)}
        )
        rows.append(ObjectBuffer(id=k, start=start, end=start + chance.randint(1, 6), **sides))
    ratio = chance.choice([None, None, chance.randint(1, 5)]) if textures else None
    return ObjectsProblem(buffers=tuple(rows), ratio=ratio)


def rows_of(problem: ObjectsProblem) -> list[Row]:
    """Return the buffers of a problem as rows (start, end, width, height) for `min_sum`."""
    return [(each.start, each.end, *each.sides) for each in problem.buffers]


EXAMPLES = Path(__file__).parents[3] / "examples"
EXAMPLE: dict[str, Any] = {
    "kind": "objects",
    "ratio": 5,
    "buffers": [
        {"id": "image", "width": 224, "height": 224, "kind": "rgba16f", "start": 0, "end": 2},
        {"id": "conv1", "width": 112, "height": 448, "kind": "rgba16f", "start": 1, "end": 3},
        {"id": "conv2", "width": 112, "height": 224, "kind": "rgba16f", "start": 2, "end": 4},
        {"id": "scores", "size": 4000, "start": 3, "end": 5},
    ],
}


def objects(problem: ObjectsProblem | Problem) -> ObjectsAnswer:
    return plan(objects_from_problem(problem) if isinstance(problem, Problem) else problem)


def textures(*rows: tuple[int, int, int, int], **fields: Any) -> ObjectsProblem:
    names = ("width", "height", "start", "end")
    buffers = [{"id": k, "kind": "rgba"} | dict(zip(names, row, strict=True)) for k, row in enumerate(rows)]
    return ObjectsProblem.model_validate({"buffers": buffers} | fields)


OF_BYTES, OF_TEXTURES = ((seed, False) for seed in (*range(40), 97)), ((seed, True) for seed in range(25))


@pytest.mark.parametrize(("seed", "textures"), [*OF_BYTES, *OF_TEXTURES])
def test_shared_objects_have_the_minimum_total_size_by_brute_force(seed: int, textures: bool) -> None:
    problem = draw_objects(seed, textures=textures)
    found = objects(problem)
    assert (found.status, found.total) == ("optimal", min_sum(rows_of(problem), problem.ratio))
    assert list(violations(problem, found.objects)) == []


def test_local_search_improves_objects_of_many_textures() -> None:
    chance = random.Random(0)
    starts, sides = [chance.randrange(16) for _ in range(24)], (8, 16, 32, 64)
    rows = [(chance.choice(sides), chance.choice(sides), start, start + chance.randint(1, 5)) for start in starts]
    problem = textures(*rows)
    found = plan(problem, options=PlanOptions(time_limit_s=3))
    assert isinstance(found, ObjectsAnswer)
    assert found.by == "local-search"
    assert found.lower_bound <= found.total < min(found.ways.values())
    assert list(violations(problem, found.objects)) == []


def test_objects_of_a_network_are_proved_optimal_and_no_heuristic_is_better() -> None:
    found = objects(read_problem(EXAMPLES / "mobilenet_v2.csv"))
    assert (found.status, found.total, len(found.objects)) == ("optimal", 1756160, 4)
    assert min(found.ways.values()) >= found.total


def test_a_search_for_objects_with_counted_work_is_reproducible() -> None:
    asked = objects_from_problem(read_problem(public_problems.library_file("peak/tflite-mobilenet_v3_small_int8.csv")))
    first, second = (plan(asked, options=PlanOptions(time_limit_s=0.1, deterministic=True)) for _ in range(2))
    assert first == second
    assert first.status == "feasible", "the problem must be hard enough for the time limit to matter"


def test_relay_storage_tokens_are_one_of_the_heuristics() -> None:
    problem = Problem(buffers=[{"id": k, "size": 10 + k, "start": k, "end": k + 2} for k in range(5)])
    assert objects(problem).ways["relay"] == solve(problem, solver="reference:relay-storage-tokens").peak


def test_buffers_of_different_kinds_never_share_an_object() -> None:
    half = {"id": "a", "width": 4, "height": 4, "kind": "float16", "start": 0, "end": 1}
    whole = {"id": "b", "width": 4, "height": 4, "kind": "float32", "start": 1, "end": 2}
    bytes_ = {"id": "c", "size": 16, "start": 2, "end": 3}
    problem = ObjectsProblem.model_validate({"buffers": [half, whole, bytes_]})
    assert [each.buffers for each in objects(problem).objects] == [("a",), ("b",), ("c",)]


def test_a_shared_texture_grows_in_one_direction_if_a_new_one_costs_more() -> None:
    assert [(each.width, each.height) for each in objects(textures((8, 4, 0, 1), (7, 5, 1, 2))).objects] == [(8, 5)]
    assert len(objects(textures((8, 1, 0, 1), (1, 8, 1, 2))).objects) == 2


def test_the_ratio_forbids_a_small_texture_in_a_much_larger_object() -> None:
    rows = ((100, 10, 0, 1), (10, 10, 1, 2))
    assert (len(objects(textures(*rows)).objects), len(objects(textures(*rows, ratio=5)).objects)) == (1, 2)


@pytest.mark.parametrize(
    ("kinds", "sides", "relay", "least"),
    [
        ("nn", [(400, 22), (400, 22)], 8800, [8800]),
        ("nh", [(400, 22), (400, 22)], 17600, [8800, 8800]),
        ("nw", [(676, 28), (676, 28)], 37856, [18928, 18928]),
        ("nnn", [(400, 22), (900, 40), (900, 25)], 36000 + 22500, [36000]),
        ("nn", [(400, 22), (600, 5)], 13200, [3000, 8800]),
    ],
)
def test_textures_of_relays_tests_need_no_more_bytes_than_relay(
    kinds: str, sides: list[tuple[int, int]], relay: int, least: list[int]
) -> None:
    """The textures follow each other in time: of equal sides, of other types or scopes, larger ones, and flat ones.

    Relay's tests free a grown storage by counting its uses down twice, which no program does. The sides are those of
    apache/tvm, tests/cpp/relay/backend/graph_plan_token_alloc.cc.
    """
    buffers = [
        {"id": k, "kind": kind, "width": width, "height": height, "start": k, "end": k + 1}
        for k, (kind, (width, height)) in enumerate(zip(kinds, sides, strict=True))
    ]
    found = objects(ObjectsProblem.model_validate({"ratio": 5, "buffers": buffers}))
    areas = sorted((each.width or 0) * (each.height or 0) for each in found.objects)
    assert (found.status, areas) == ("optimal", least)
    assert found.ways["relay"] == relay


def test_an_alias_extends_the_lifetime_of_its_buffer_in_the_object() -> None:
    view = {"id": "view", "size": 4, "start": 2, "end": 4, "alias_of": "a"}
    rows = [{"id": "a", "size": 8, "start": 0, "end": 2}, view, {"id": "b", "size": 8, "start": 3, "end": 4}]
    assert objects(Problem(buffers=rows)).total == 16


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"lifetimes": [[0, 1], [3, 4]]}, "one lifetime without a hole"), ({}, "one lifetime without a hole")],
)
def test_rules_that_shared_objects_cannot_keep_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        objects(Problem(buffers=[{"id": "a", "size": 1, **fields}]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 4, "buffers": ("a", "b")}, "objects? 0|share"),
        ({"size": 3, "buffers": ("a",)}, "must hold .a."),
        ({"size": 4, "buffers": ("c",)}, "must be one of the problem's"),
        ({"width": 4, "height": 1, "buffers": ("a",)}, "only buffers of the object's kind"),
    ],
)
def test_violations_reports_each_invalid_use_of_shared_objects(wrong: dict[str, Any], message: str) -> None:
    rows = [{"id": "a", "size": 4, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 1, "end": 3}]
    problem = ObjectsProblem.model_validate({"buffers": rows})
    assert any(re.search(message, each) for each in violations(problem, (SharedObject(**wrong),)))


def test_the_printed_lines_list_objects_by_kind() -> None:
    found = list(objects_lines(plan(ObjectsProblem.model_validate(EXAMPLE), options=PlanOptions(time_limit_s=5))))
    assert found[0].startswith("optimal: ")
    assert any(line.endswith("of rgba16f: 2 buffers") for line in found)


@pytest.mark.parametrize(
    "rules",
    [
        {"conflicts": [["a", "b"]]},
        {"may_share": [["a", "b"]]},
        {"bank": [{"buffers": ["a", "b"], "weight": 1}], "pools": [{"name": "x", "bank_size": 8}]},
        {"reuse": [{"pairs": [["a", "b"]], "cost": 1}]},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_shared_objects_refuse_constraints_on_pairs(rules: dict[str, Any]) -> None:
    rows = [{"id": name, "size": 8, "start": k, "end": k + 1} for k, name in enumerate("ab")]
    assert objects(Problem(buffers=rows)).total == 8
    with pytest.raises(ProblemError, match="only lifetimes limit the sharing of objects"):
        objects(Problem.model_validate({"buffers": rows, **rules}))


def free_textures(*sides: tuple[int, int]) -> FreeTextures:
    """Return a pool of free textures with the given sides (width, height), numbered in the given order."""
    textures = FreeTextures()
    for storage, (width, height) in enumerate(sides):
        textures.put(Token(storage, width, height))
    return textures


@pytest.mark.parametrize(
    ("sides", "is_reused"),
    # 59 // 10 is 5, the largest allowed factor.
    [*(((10, n), True) for n in (10, 5, 2, 59)), *((sides, False) for sides in ((10, 1), (10, 60), (60, 10)))],
)
def test_a_texture_is_reused_if_no_side_exceeds_the_other_fivefold(sides: tuple[int, int], is_reused: bool) -> None:
    assert (free_textures((10, 10)).take(*sides) is not None) == is_reused


def test_a_free_texture_that_grew_for_a_request_is_never_reused_again() -> None:
    textures = free_textures((10, 10))
    grown = textures.take(9, 12)
    assert grown is not None
    assert (grown.width, grown.height) == (10, 12)
    textures.put(grown)
    assert textures.take(10, 10) is None


def test_a_request_reuses_the_closest_free_texture_that_is_large_enough() -> None:
    taken = free_textures((20, 10), (11, 11), (9, 9)).take(10, 10)
    assert taken is not None
    assert taken.storage == 1
