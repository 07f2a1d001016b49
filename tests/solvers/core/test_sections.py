from __future__ import annotations

from typing import Any

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.solvers.core.sections import Sections
from memplan.solvers.exact.components import Component, split


def part(*rows: dict[str, Any], **rest: Any) -> Component:
    buffers = [{"id": k} | row for k, row in enumerate(rows)]
    (only,) = split(compile_problem(Problem.model_validate({"buffers": buffers, **rest})))
    return only


def lives(size: int, start: int, end: int, **rest: Any) -> dict[str, Any]:
    return {"size": size, "start": start, "end": end, **rest}


def neighbours(sections: Sections, i: int) -> list[int]:
    return [int(j) for j in sections.neighbour[sections.neighbour_first[i] : sections.neighbour_first[i + 1]]]


def members(sections: Sections, s: int) -> list[int]:
    return [int(i) for i in sections.member[sections.member_first[s] : sections.member_first[s + 1]]]


def test_sections_are_the_maximal_live_sets() -> None:
    sections = part(lives(1, 0, 4), lives(1, 1, 2), lives(1, 2, 6), lives(1, 5, 7)).sections
    assert [members(sections, s) for s in range(len(sections.spare))] == [[0, 1], [0, 2], [2, 3]]
    assert neighbours(sections, 0) == [1, 2]
    assert neighbours(sections, 3) == [2]


def test_a_buffer_with_holes_is_in_the_sections_of_all_its_lifetimes() -> None:
    rows = ({"size": 2, "lifetimes": [(0, 1), (4, 5)]}, lives(1, 0, 3), lives(1, 2, 5))
    sections = part(*rows).sections
    assert [members(sections, s) for s in range(len(sections.spare))] == [[0, 1], [1, 2], [0, 2]]
    assert (sections.leftmost[0], sections.rightmost[0]) == (0, 3)
    assert not sections.is_plain


def test_buffers_without_lifetimes_get_cliques_for_sections() -> None:
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3)]
    sections = part(*({"size": 4 - k} for k in range(4)), conflicts=pairs).sections
    assert [members(sections, s) for s in range(len(sections.spare))] == [[0, 1, 2], [2, 3]]
    assert neighbours(sections, 2) == [0, 1, 3]


def test_twins_are_alive_together_and_differ_in_nothing() -> None:
    same = lives(2, 0, 3)
    rows = [same, same, same | {"alignment": 4}, same | {"end": 2}, same, same | {"size": 1}, lives(1, 2, 3)]
    assert part(*rows).sections.twin.tolist() == [-1, 0, -1, -1, 1, -1, -1]


def test_pinned_buffers_and_reserved_ranges_are_obstacles() -> None:
    rows = (lives(3, 0, 2, offset=2), lives(2, 1, 3), lives(1, 2, 4))
    sections = part(*rows, pools=[{"name": "only", "reserved": [(7, 2), (8, 4)]}]).sections
    assert len(sections.size) == 2
    first, rows_of = sections.obstacle_first, sections.obstacle.tolist()
    assert rows_of[first[0] : first[1]] == [[2, 5], [7, 12]]
    assert rows_of[first[1] : first[2]] == [[7, 12]]
    assert sections.block[sections.block_first[0] : sections.block_first[1]].tolist() == [[2, 5], [7, 12]]


def test_an_obstacle_takes_the_whole_cell_it_ends_in_and_leaves_the_one_it_starts_in() -> None:
    rows = (lives(3, 0, 2, alignment=4), lives(5, 0, 2, alignment=4), lives(1, 0, 2, offset=6))
    sections = part(*rows).sections
    assert sections.obstacle[0].tolist() == [6, 7]
    assert sections.block.tolist() == [[8, 8]]


def test_every_slot_stands_where_its_member_does() -> None:
    sections = part({"size": 2, "lifetimes": [(0, 2), (4, 6)]}, lives(1, 0, 3), lives(1, 1, 5), lives(3, 2, 6)).sections
    section = np.repeat(np.arange(len(sections.spare)), np.diff(sections.member_first))
    for i in range(len(sections.size)):
        for r in range(sections.first[i], sections.first[i + 1]):
            for s in range(sections.start[r], sections.end[r]):
                (at,) = np.flatnonzero(sections.member_slot == sections.slot_first[r] + s - sections.start[r])
                assert (sections.member[at], section[at]) == (i, s)
