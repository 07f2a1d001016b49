"""Small problems from a seed that mix all constraints: rigid groups, sharing, pages, remainders, banks, colocation."""

import random
from typing import Any

from memplan.planner.errors import ProblemError
from memplan.planner.model.problem import Problem

RULES = ("relative", "alias", "page", "remainder", "forbidden", "pin", "alignment", "conflicts", "may_share", "bank")
ALL = (*RULES, "weights", "together", "holes", "reserved")


def tied_problem(seed: int, most: int = 6) -> Problem:
    """Return a problem of two to `most` buffers in one or two pools; each rule has a probability of 4 in 10."""
    return draw_tied_problem(random.Random(seed), most, f"seed {seed}")


def priced_tied_problem(seed: int, most: int = 5) -> Problem:
    """Return a random tied problem with reuse costs on pairs, and no other costs except those of pools."""
    rng, problem = random.Random(seed), tied_problem(seed, most)
    data = problem.model_dump(mode="json", exclude_defaults=True) | {"objective": "cost", "reuse": []}
    for _ in range(rng.randint(2, 4)):
        pairs = [rng.sample(range(len(problem.buffers)), 2) for _ in range(rng.randint(1, most))]
        data["reuse"].append({"pairs": pairs, "cost": rng.choice((1, 1, 2, 5))})
        if not _is_sound(data):
            data["reuse"].pop()
    return Problem.model_validate(data)


def draw_tied_problem(rng: random.Random, most: int, name: str | None = None) -> Problem:
    asked = {rule for rule in ALL if rng.random() < 0.4}
    names = rng.choice((["one"], ["fast", "slow"], ["fast", "slow"]))
    data: dict[str, Any] = {
        "name": name,
        "buffers": [],
        "pools": [_pool(rng, name, asked, is_last=name == names[-1]) for name in names],
        "objective": "cost" if "weights" in asked else rng.choice(("peak", "peak", "fit", "cost")),
    }
    for k in range(rng.randint(2, most)):
        row = _buffer(rng, k, asked)
        data["buffers"].append(row)
        for rule in _rules(rng, k, asked, names):
            data["buffers"][k] = row | rule
            if _is_sound(data):
                row = row | rule
        data["buffers"][k] = row
    for name, entry in _entries(rng, len(data["buffers"]), asked):
        data.setdefault(name, []).append(entry)
        if not _is_sound(data):
            data[name].pop()
    return Problem.model_validate(data)


def _is_sound(data: dict[str, Any]) -> bool:
    try:
        Problem.model_validate(data)
    except ProblemError:
        return False
    return True


def _pool(rng: random.Random, name: str, asked: set[str], is_last: bool) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": name, "cost": rng.choice((0, 1, 2.5))}
    if not is_last or rng.random() < 0.4:
        pool["size"] = rng.randint(4, 22)
    if "alignment" in asked or "page" in asked or "bank" in asked:
        pool |= {"alignment": rng.choice((1, 1, 2)), "base_address": rng.choice((0, 0, 1, 3, 6)), "device": name}
    if "reserved" in asked:
        pool["reserved"] = [[rng.randint(0, 10), rng.randint(1, 3)]]
    if ("bank" in asked or "weights" in asked) and rng.random() < 0.8:
        pool["bank_size"] = rng.choice((3, 4, 6, 8))
    return pool


def _buffer(rng: random.Random, k: int, asked: set[str]) -> dict[str, Any]:
    start = rng.randint(0, 4)
    row: dict[str, Any] = {"id": k, "size": rng.choice((0, 1, 2, 2, 3, 3, 4, 5, 6))}
    if "conflicts" in asked and rng.random() < 0.2:
        return row
    if "holes" in asked and rng.random() < 0.4:
        return row | {"lifetimes": [[start, start + 1], [start + 2, start + 3]]}
    return row | {"start": start, "end": start + rng.randint(1, 4)}


def _rules(rng: random.Random, k: int, asked: set[str], names: list[str]) -> list[dict[str, Any]]:
    """Return the random rules of one buffer, each as fields; `k` buffers come before it."""
    other, modulus = rng.randrange(max(1, k)), rng.choice((2, 3, 4, 6))
    drawn: dict[str, tuple[float, dict[str, Any]]] = {
        "alias": (0.2, {"alias_of": other, "alias_offset": rng.randint(0, 2), "size": rng.randint(0, 3)}),
        "relative": (0.4, {"relative": {"to": other, "offset": rng.randint(-6, 8)}}),
        "page": (0.5, {"no_cross": rng.choice((4, 5, 6, 8, 8))}),
        "remainder": (0.3, {"offset_mod": {"modulus": modulus, "remainder": rng.randrange(modulus)}}),
        "forbidden": (0.3, {"forbid_pools": [rng.choice(names)]}),
        "pin": (0.2, {"pools": [rng.choice(names)], "offset": rng.randint(0, 9)}),
        "alignment": (0.4, {"alignment": rng.choice((1, 2, 3, 4))}),
    }
    return [fields for rule, (chance, fields) in drawn.items() if rule in asked and rng.random() < chance]


def _entries(rng: random.Random, n: int, asked: set[str]) -> list[tuple[str, Any]]:
    """Return the random rules of pairs and sets of buffers, as (field of the problem, entry)."""
    found: list[tuple[str, Any]] = []
    for name in ("conflicts", "may_share"):
        found += [(name, rng.sample(range(n), 2)) for _ in range(rng.randint(1, 4) if name in asked else 0)]
    for name, weighted in (("bank", False), ("weights", True)):
        for _ in range(rng.randint(1, 2) if name in asked else 0):
            entry: dict[str, Any] = {"buffers": rng.sample(range(n), rng.randint(2, min(3, n)))}
            found.append(("bank", entry | {"weight": rng.choice((0, 1, 2.5, 7))} if weighted else entry))
    if "together" in asked:
        found.append(("together", rng.sample(range(n), rng.randint(1, min(3, n)))))
    return found
