"""Changed problems, and the minimum number of moves by brute force, for tests of re-planning."""

import random
from itertools import combinations
from typing import Any

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from tests.support.oracle import best_score

Id = int | str


def rows_of(problem: Problem) -> dict[str, Any]:
    return dict(problem.model_dump(mode="json", exclude_defaults=True))


def change_problem(problem: Problem, seed: int, share: float, step: int = 1) -> Problem:
    """Return a problem with a share of its buffers removed, resized to a multiple of a step, lengthened or doubled."""
    rng = random.Random(seed)
    document = rows_of(problem)
    rows, new = document["buffers"], []
    gone: set[int] = set()
    for i in rng.sample(range(len(rows)), max(1, round(len(rows) * share))):
        kind, row = rng.choice(["remove", "resize", "lengthen", "add"]), rows[i]
        if kind == "remove" and len(rows) - len(gone) > 1:
            gone.add(i)
        elif kind == "resize":
            row["size"] = max(step, round(row["size"] * rng.choice([0.75, 1.25])) // step * step)
        elif kind == "lengthen" and "end" in row:
            row["end"] += max(1, (row["end"] - row["start"]) // 3)
        elif kind == "add":
            new.append({key: value for key, value in row.items() if key != "offset"} | {"id": f"new {row['id']}"})
    document["buffers"] = [row for i, row in enumerate(rows) if i not in gone] + new
    if gone:
        lost = {rows[i]["id"] for i in gone}
        document["conflicts"] = [pair for pair in document.get("conflicts", []) if not lost & set(pair)]
    return Problem.model_validate(document)


def min_moves(problem: Problem, old: Plan, ends: dict[str, int]) -> int | None:
    """Return the minimum number of buffers that must leave their old offsets, by trying all sets that may stay.

    `ends` limits each pool, in bytes. Returns None if nothing fits.
    """
    document = rows_of(problem)
    document["objective"] = "fit"
    document["pools"] = [row | {"size": ends[row["name"]]} for row in document.get("pools", [{"name": "default"}])]
    known = {row.id: row for row in old.placements if row.id in problem.index}
    for count in range(len(known) + 1):
        for leave in combinations(known, count):
            pinned = _pin_places(document, {name: known[name] for name in known if name not in leave})
            if pinned is not None and best_score(pinned) is not None:
                return count
    return None


def _pin_places(document: dict[str, Any], stays: dict[Id, Any]) -> Problem | None:
    """Return the problem with old placements pinned; None if a pool or another pin forbids one of them."""
    rows = []
    for row in document["buffers"]:
        place = stays.get(row["id"])
        if place is not None:
            allowed = set(row.get("pools", [place.pool])) - set(row.get("forbid_pools", ()))
            if place.pool not in allowed or row.get("offset", place.offset) != place.offset:
                return None
            row = row | {"offset": place.offset, "pools": [place.pool]}
        rows.append(row)
    return Problem.model_validate(document | {"buffers": rows})
