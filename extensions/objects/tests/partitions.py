"""The minimum total size of shared objects, by brute force over all partitions, without using the tested code."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from memplan.planner.model.objects import ObjectBuffer, ObjectsProblem

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
