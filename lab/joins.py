"""Compare plans for several memories with plans of related problems: `python -m lab.joins COUNT [SEED]`.

Each drawn problem has two rules, and each case tries all pairs of rules in turn. A plan must not cost more than the
plan of a stricter problem, than the plan without a soft rule (with its weights paid), than the same search with half of
its work, or than its own choice of memories, in which each memory is packed alone. A looser problem must not have the
more expensive plan. If a reserved range is written as the border of two memories, the plan costs the same within 1
percent.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

from lab.support.cases import run_cases
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.oracle import touch_a_bank

Data = dict[str, Any]
_LIMIT_S = 8.0
"""The work of each search; see the option `deterministic`."""
_NEAR = 1.01


def _add_alignments(data: Data, rng: random.Random) -> None:
    for row in data["buffers"]:
        row["alignment"] = rng.choice([1, 1, 1, 8])


def _add_distances(data: Data, _: random.Random) -> None:
    rows = data["buffers"]
    for i in range(0, len(rows) - 1, 10):
        rows[i + 1] |= {"relative": {"to": i, "offset": rows[i]["size"]}, "alignment": 1}
        rows[i]["alignment"] = 1
        rows[i + 1]["end"] = max(rows[i + 1]["end"], i + 3)


def _add_shares(data: Data, _: random.Random) -> None:
    rows, data["may_share"] = data["buffers"], []
    for i in range(3, len(rows) - 1, 5):
        rows[i]["end"] = i + 2
        rows[i + 1]["size"] = rows[i]["size"]
        data["may_share"].append([i, i + 1])


def _add_holes(data: Data, rng: random.Random) -> None:
    for row in data["buffers"]:
        if rng.random() < 0.3 and row["end"] - row["start"] >= 4:
            start, end = row.pop("start"), row.pop("end")
            row["lifetimes"] = [[start, start + 1], [end - 1, end]]


def _add_pages(data: Data, rng: random.Random) -> None:
    for row in data["buffers"]:
        if rng.random() < 0.4:
            row["no_cross"] = 64 if row["size"] > 32 or rng.random() < 0.5 else 32


def _add_reserved(data: Data, _: random.Random) -> None:
    data["pools"][0]["reserved"] = [[80, 16]]
    data["pools"][1]["reserved"] = [[160, 24]]


def _add_ends(data: Data, rng: random.Random) -> None:
    for row in data["buffers"]:
        if rng.random() < 0.3:
            row["end_at_most"] = 128


def _add_banks(data: Data, _: random.Random) -> None:
    for pool in data["pools"][:2]:
        pool["bank_size"] = 64
    data["bank"] = [{"buffers": [i, i + 1], "weight": 20} for i in range(2, len(data["buffers"]) - 1, 5)]


def _add_conflicts(data: Data, _: random.Random) -> None:
    data["conflicts"] = [[i, i + 15] for i in range(0, len(data["buffers"]) - 15, 4)]


def _add_groups(data: Data, _: random.Random) -> None:
    data["together"] = [[i, i + 1] for i in range(4, len(data["buffers"]) - 1, 5)]


def _confine(data: Data, rng: random.Random) -> None:
    for row in data["buffers"]:
        if rng.random() < 0.25:
            row["pools"] = [rng.choice(["tcm", "sram"]), "dram"]


RULES: dict[str, Callable[[Data, random.Random], None]] = {
    "alignments": _add_alignments,
    "distances": _add_distances,
    "shares": _add_shares,
    "holes": _add_holes,
    "pages": _add_pages,
    "reserved": _add_reserved,
    "ends": _add_ends,
    "banks": _add_banks,
    "conflicts": _add_conflicts,
    "groups": _add_groups,
    "pools": _confine,
}
PAIRS = tuple(combinations(RULES, 2))


def draw(seed: int, n: int, rules: tuple[str, ...]) -> Data:
    """Return the problem of `n` short-lived buffers in three memories with some rules, as a JSON object."""
    rng = random.Random(seed)
    rows = list[Data]()
    for i in range(n):
        size = rng.randrange(1, 65)
        end = i + rng.choice([2, 3, 3, 4, 5, 8, 20])
        traffic = size * rng.choice([1, 1, 2, 3])
        rows.append({"id": i, "size": size, "start": i, "end": end, "traffic": traffic})
    pools: list[Data] = [{"name": "tcm", "size": 160, "cost": 0}, {"name": "sram", "size": 288, "cost": 4}]
    data = {"objective": "cost", "pools": [*pools, {"name": "dram", "cost": 20}], "buffers": rows}
    for name, add in RULES.items():
        if name in rules:
            add(data, random.Random(f"{seed} {name}"))
    return data


def stricter(data: Data) -> dict[str, Data]:
    """Return problems of which each plan is a plan of the given problem at the same cost, by the change of a rule."""
    rows = data["buffers"]
    aligned = [
        {key: value for key, value in row.items() if key != "no_cross"}
        | ({"alignment": 1 << (row["size"] - 1).bit_length()} if "no_cross" in row else {})
        for row in rows
    ]
    filled = [
        {key: value for key, value in row.items() if key != "lifetimes"}
        | ({"start": row["lifetimes"][0][0], "end": row["lifetimes"][-1][1]} if "lifetimes" in row else {})
        for row in rows
    ]
    found = {"shares": {key: value for key, value in data.items() if key != "may_share"}}
    if not any("relative" in row for row in rows):  # Members of a group may not be able to have such alignments.
        found["pages"] = data | {"buffers": aligned}
    found |= {"holes": data | {"buffers": filled}}
    return {name: each for name, each in found.items() if each != data}


def split(data: Data) -> Data:
    """Return the problem in which each reserved range is the border between two memories."""
    pools, names = list[Data](), dict[str, list[str]]()
    for pool in data["pools"]:
        low, whole = 0, {key: value for key, value in pool.items() if key != "reserved"}
        for start, size in [*pool.get("reserved", []), [pool.get("size"), 0]]:
            name = f"{pool['name']}{low}"
            names.setdefault(pool["name"], []).append(name)
            pools.append(whole | {"name": name} | ({} if start is None else {"size": start - low}))
            low = (start or 0) + size
    rows = [
        row | ({"pools": [name for pool in row["pools"] for name in names[pool]]} if "pools" in row else {})
        for row in data["buffers"]
    ]
    return data | {"pools": pools, "buffers": rows}


def broken(seed: int, rules: tuple[str, ...], n: int, limit_s: float = _LIMIT_S) -> list[str]:
    """Return a line for each invariant that the plans of a drawn problem with these rules break."""

    def plan(data: Data, work_s: float = limit_s, **options: Any) -> Any:
        return solve(Problem.model_validate(data), deterministic=True, time_limit_s=work_s, **options)

    data = draw(seed, n, rules)
    own = plan(data)
    cost = float("inf") if own.cost is None else own.cost
    most = {f"half of the work: {own.solver}": plan(data, limit_s / 2).cost}
    most |= {f"stricter {name}": plan(each).cost for name, each in stricter(data).items()}
    if "banks" in rules:
        free = plan({key: value for key, value in data.items() if key != "bank"})
        most["without banks, clashes paid"] = free.cost and free.cost + _clashes(data, free)
    if "reserved" in rules and rules[0] != "ends" and rules[1] != "ends":
        other = plan(split(data)).cost
        most["reserved ranges as borders"] = other and other * _NEAR
    for name in rules:
        if name not in ("shares", "banks", "holes", "distances", "alignments"):
            looser = plan(draw(seed, n, tuple(each for each in rules if each != name))).cost
            if looser is not None and looser > cost * (1 + 1e-9):
                most[f"looser without {name}: {looser:,.0f}, at most {cost:,.0f}"] = -1.0
    return [
        f"{seed} {' and '.join(rules)}, {n} buffers: {cost:,.0f} ({own.solver}), but {known:,.0f} by {name}"
        for name, known in most.items()
        if known is not None and cost > known * (1 + 1e-9)
    ]


def _clashes(data: Data, plan: Any) -> float:
    problem = Problem.model_validate(data)
    at, size = {place.id: place for place in plan.placements}, {row.id: row.size for row in problem.buffers}
    pairs = ((row["weight"], *row["buffers"]) for row in data["bank"])
    return sum(weight for weight, i, j in pairs if touch_a_bank(problem, at[i], size[i], at[j], size[j]))


def faults(seed: int, tally: Counter[str]) -> list[str]:
    rules, n = PAIRS[seed % len(PAIRS)], 10 + 7 * seed % 90
    tally[" and ".join(rules)] += 1
    return broken(seed, rules, n)


if __name__ == "__main__":
    sys.exit(run_cases("joins", faults))
