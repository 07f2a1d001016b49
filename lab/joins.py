"""Compare plans with those of related problems: `python -m lab.joins [COUNT [SEED]] [--workers N]`.

Each drawn problem combines two features. Its plan must not cost more than the plan of a stricter problem, than the plan
without its soft rules (with their weights paid), than the plan of half of the work, or than HiGHS's choice of memories
without offsets, each packed alone; and a looser problem must not have the more expensive plan. If reserved ranges are
written as borders of memories, or relative pairs as one buffer, the plan costs the same within 1 percent.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import highspy
import numpy as np

from lab.support.cases import run_cases
from lab.support.feature_pairs import PAIRS, Case
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.program import linear_program, write_program
from memplan.solvers.portfolio.solve import solve
from tests.support.oracle import check, touch_a_bank

_LIMIT_S = 5.0
"""The work of each search, in seconds of counted work; see the option `deterministic`."""
_NEAR = 1.01
Data = dict[str, Any]


def draw(seed: int) -> Case:
    """Return the case of two features, pools and costs whose number is `seed`; each second round has more buffers."""
    n = 30 + 7 * seed % 171 if _has_three(seed) else 10 + 7 * seed % 90
    return Case(PAIRS[seed % len(PAIRS)] - {"profile"} | {"pools", "cost"}, n, seed)


def case_data(case: Case) -> Data:
    """Return the case's problem as JSON; each second round has a third memory, and half as much in the first one."""
    data = case.problem().model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if _has_three(case.seed):
        fast, slow = data["pools"]
        middle = fast | {"name": "middle", "cost": 2.0}
        fast["size"] //= 2
        if "reserved" in fast:
            fast["reserved"] = fast["reserved"][:1]
        if "device" in slow:
            middle["device"] = 2
        data["pools"] = [fast, middle, slow]
    return data


def _has_three(seed: int) -> bool:
    return seed // len(PAIRS) % 2 == 1


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


def joined_pairs(data: Data) -> tuple[Data, Data]:
    """Return (the problem in which relative pairs live together and leave no gap, the same with a buffer a pair)."""
    rows = {row["id"]: row for row in data["buffers"]}
    upper = [row for row in data["buffers"] if "relative" in row]
    joined = dict(rows)
    for high in upper:
        low, gap = rows[high["relative"]["to"]], high["relative"]["offset"]
        times = [row.get("lifetimes") or [[row["start"], row["end"]]] for row in (low, high)]
        life = {"start": None, "end": None, "lifetimes": [[min(t[0][0] for t in times), max(t[-1][1] for t in times)]]}
        rows[low["id"]], rows[high["id"]] = low | life | {"size": gap}, high | life
        traffic = sum(row.get("traffic", 0) for row in (low, high))
        joined[low["id"]] = low | life | {"size": gap + high["size"], "traffic": traffic}
        del joined[high["id"]]
    return data | {"buffers": [*rows.values()]}, data | {"buffers": [*joined.values()]}


def choose_and_pack(data: Data) -> float | None:
    """Return the cost of HiGHS's choice of pools without offsets, each pool packed alone; None if one does not fit."""
    problem = Problem.model_validate(data)
    instance = compile_problem(problem)
    knapsack = Knapsack.from_instance(instance)
    assert knapsack is not None
    program = write_program(knapsack, knapsack.limits([pool.capacity for pool in instance.pools]), ())
    if program is None:
        return None
    lp, highs = linear_program(highspy, program), highspy.Highs()
    lp.integrality_ = [highspy.HighsVarType.kInteger] * lp.num_col_
    for name, value in (("output_flag", False), ("mip_rel_gap", 1e-4), ("time_limit", 20.0)):
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    highs.run()
    chosen = np.full(knapsack.homes.size, -1.0)
    chosen[program.cell] = highs.getSolution().col_value
    home = chosen.reshape(knapsack.homes.shape).argmax(axis=0)[knapsack.item]
    names = {place.id: place.pool for place in lift(problem, instance, home, np.zeros_like(home))}
    found = list[Placement]()
    for pool in data["pools"]:
        here = {i for i, name in names.items() if name == pool["name"]}
        plan = _plan(
            {
                name: [pair for pair in data.get(name, []) if here.issuperset(pair)]
                for name in ("conflicts", "may_share")
            }
            | {
                "bank": [
                    row for row in data.get("bank", []) if here.issuperset(row["buffers"]) and not row.get("weight")
                ]
            }
            | {"pools": [{name: value for name, value in pool.items() if name != "cost"}]}
            | {"buffers": [row | {"pools": None, "traffic": None} for row in data["buffers"] if row["id"] in here]}
        )
        if len(plan.placements) < len(here):
            return None
        found += plan.placements
    return _cost(problem, found)


def faults(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each comparison that the plan of the case `seed` does not pass."""
    case = draw(seed)
    data = case_data(case)
    problem = Problem.model_validate(data)
    plan = _plan(data)
    cost = float("inf") if plan.cost is None else plan.cost
    tally[plan.status] += 1
    most = {"half of the work": _plan(data, _LIMIT_S / 2).cost, "choose and pack": choose_and_pack(data)}
    most |= {name: _plan(each).cost for name, each in stricter(data) if Problem.model_validate(each) != problem}
    hard = [entry for entry in data.get("bank", []) if not entry.get("weight")]
    if len(hard) < len(data.get("bank", [])):
        most["the plan without soft banks"] = _cost(problem, _plan(data | {"bank": hard}).placements)
    least = {name: _plan(each).cost for name, each in looser(data) if Problem.model_validate(each) != problem}
    ties = {name for row in [*data["buffers"], *data["pools"]] for name in row} | {name for name in data if data[name]}
    if "reserved" in ties and ties.isdisjoint({"bank", "relative", "alias_of", "offset", "alignment", "no_cross"}):
        other = _plan(split(data)).cost
        most["reserved ranges as borders"] = other and other * _NEAR
        least["reserved ranges as borders"] = other and other / _NEAR
    if "relative" in ties and ties.isdisjoint({"bank", "may_share", "conflicts", "alias_of"}):
        tied, joined = (_plan(each).cost for each in joined_pairs(data))
        most["joined pairs"] = joined
        if tied is not None and joined is not None and not 1 / _NEAR <= tied / joined <= _NEAR:
            yield f"{case}: {tied:,} for pairs without gaps, but {joined:,} for a buffer a pair"
    for name, known in most.items():
        if known is not None and cost > known * (1 + 1e-9):
            yield f"{case}: {cost:,} by {plan.solver}, but {known:,} by {name}"
    for name, known in least.items():
        if known is None or known > cost * (1 + 1e-9):
            yield f"{case}: {cost:,} by {plan.solver}, but {known:,} with {name}"


def _plan(data: Data, limit_s: float = _LIMIT_S) -> Plan:
    return solve(Problem.model_validate(data), deterministic=True, time_limit_s=limit_s)


def _cost(problem: Problem, plan: Sequence[Placement]) -> float | None:
    """Return the cost of a plan; None if it is not a plan of the problem."""
    if check(problem, plan):
        return None
    at, prices = {place.id: place for place in plan}, {pool.name: pool.cost for pool in problem.pools}
    rows = {row.id: row for row in problem.buffers}
    cost = sum((row.traffic or 0) * prices[at[i].pool] for i, row in rows.items() if row.size)
    for entry in problem.bank:
        i, j = entry.buffers
        if (
            entry.weight
            and at[i].pool == at[j].pool
            and touch_a_bank(problem, at[i], rows[i].size, at[j], rows[j].size)
        ):
            cost += entry.weight
    return float(cost)


if __name__ == "__main__":
    sys.exit(run_cases("joins", faults))
