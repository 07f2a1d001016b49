"""Compare plans for two memories with plans of related problems: `python -m lab.joins [COUNT [SEED]] [--workers N]`.

Each drawn problem combines two features. Its plan must not cost more than the plan of a stricter problem, than the plan
without its soft rules (with their weights paid), or than the plan of half of the work; and a looser problem must not
have the more expensive plan. If reserved ranges are written as borders of memories, the plan costs the same within 1
percent.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lab.support.cases import run_cases
from lab.support.feature_pairs import PAIRS, Case
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support.oracle import touch_a_bank

_LIMIT_S = 2.0
"""The work of each search, in seconds of counted work; see the option `deterministic`."""
_NEAR = 1.01
Data = dict[str, Any]


def draw(seed: int) -> Case:
    """Return the case of two features, pools and costs whose number is `seed`."""
    return Case(PAIRS[seed % len(PAIRS)] - {"profile"} | {"pools", "cost"}, 10 + 7 * seed % 90, seed)


def stricter(data: Data) -> Iterator[tuple[str, Data]]:
    """Yield (change, problem): each plan of the problem is a plan of the given one, at the same cost."""
    filled = [
        row
        if len(row.get("lifetimes", [])) < 2
        else row | {"lifetimes": [[row["lifetimes"][0][0], row["lifetimes"][-1][1]]]}
        for row in data["buffers"]
    ]
    aligned = [
        row | ({"no_cross": None, "alignment": 1 << (row["size"] - 1).bit_length()} if row.get("no_cross") else {})
        for row in data["buffers"]
    ]
    yield "no sharing", data | {"may_share": []}
    yield "no holes", data | {"buffers": filled}
    if not any("alignment" in row or "relative" in row or "offset" in row for row in data["buffers"]):
        yield "alignments for pages", data | {"buffers": aligned}


def looser(data: Data) -> Iterator[tuple[str, Data]]:
    """Yield (change, problem): each plan of the given problem is a plan of the problem, at the same cost."""
    yield "no conflicts", data | {"conflicts": []}
    yield (
        "no pages",
        data | {"buffers": [row | ({"no_cross": None} if "no_cross" in row else {}) for row in data["buffers"]]},
    )
    yield "no reserved ranges", data | {"pools": [pool | {"reserved": []} for pool in data["pools"]]}
    yield "no hard banks", data | {"bank": [entry for entry in data.get("bank", []) if entry.get("weight")]}


def split(data: Data) -> Data:
    """Return the problem in which each reserved range is the border between two memories."""
    pools, names = list[Data](), dict[str, list[str]]()
    for pool in data["pools"]:
        low = 0
        for start, size in [*pool.get("reserved", []), [pool.get("size"), 0]]:
            names.setdefault(pool["name"], []).append(f"{pool['name']}{low}")
            room = {} if start is None else {"size": start - low}
            pools.append(
                {key: pool[key] for key in ("cost", "alignment") if key in pool}
                | room
                | {"name": f"{pool['name']}{low}"}
            )
            low = (start or 0) + size
    homes = [
        {"pools": [name for pool in row["pools"] for name in names[pool]]} if row.get("pools") else {}
        for row in data["buffers"]
    ]
    return data | {"pools": pools, "buffers": [row | home for row, home in zip(data["buffers"], homes, strict=True)]}


def faults(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each comparison that the plan of the case `seed` does not pass."""
    case = draw(seed)
    problem = case.problem()
    data = problem.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    plan = _plan(data)
    cost = float("inf") if plan.cost is None else plan.cost
    tally[plan.status] += 1
    most = {"half of the work": _plan(data, _LIMIT_S / 2).cost}
    most |= {name: _plan(each).cost for name, each in stricter(data) if Problem.model_validate(each) != problem}
    soft = [entry for entry in data.get("bank", []) if entry.get("weight")]
    if soft:
        free = _plan(data | {"bank": [entry for entry in data["bank"] if entry not in soft]})
        most["the plan without soft banks"] = free.cost and free.cost + _clashes(problem, soft, free)
    ties = ("relative", "alias_of", "offset", "alignment", "no_cross")
    is_tied = any(name in row for row in [*data["buffers"], *data["pools"]] for name in ties)
    if any("reserved" in pool for pool in data["pools"]) and "bank" not in data and not is_tied:
        other = _plan(split(data)).cost
        most["reserved ranges as borders"] = other and other * _NEAR
    least = {name: _plan(each).cost for name, each in looser(data) if Problem.model_validate(each) != problem}
    for name, known in most.items():
        if known is not None and cost > known * (1 + 1e-9):
            yield f"{case}: {cost:,} by {plan.solver}, but {known:,} by {name}"
    for name, known in least.items():
        if known is None or known > cost * (1 + 1e-9):
            yield f"{case}: {cost:,} by {plan.solver}, but {known:,} with {name}"


def _plan(data: Data, limit_s: float = _LIMIT_S) -> Plan:
    return solve(Problem.model_validate(data), deterministic=True, time_limit_s=limit_s)


def _clashes(problem: Problem, soft: list[Data], plan: Plan) -> float:
    at, size = {place.id: place for place in plan.placements}, {row.id: row.size for row in problem.buffers}
    pairs = [(entry["weight"], *entry["buffers"]) for entry in soft]
    return float(sum(weight for weight, i, j in pairs if touch_a_bank(problem, at[i], size[i], at[j], size[j])))


if __name__ == "__main__":
    sys.exit(run_cases("joins", faults))
