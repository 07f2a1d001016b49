"""Compare plans of buffers that move with brute force: `python -m lab.moves_agreement [COUNT [SEED]]`.

Each random problem has two to five buffers, two or three pools, at most six time steps, and some of all fields that
can be combined with `moves`. The cost of a plan is compared with the least cost of all plans, and each plan is carried
out by a simulation that reads only its JSON. The verifier must accept the plans of the brute force, and no plan that
the simulation refuses.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from math import inf, isclose

from lab.support.cases import run_cases
from memplan.planner.errors import MemplanError
from memplan.planner.formats.memplan_json import write_plan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.moves.prices import MovesChecker, Price
from memplan.solvers.portfolio.solve import solve
from tests.support.moved_answers import Row, simulate
from tests.support.moved_oracle import BruteForce

_HORIZON = 6


def draw(seed: int) -> Row:
    """Return a random problem; half of the seeds have two or three plain buffers, and little room."""
    rng = random.Random(seed)
    pools = [{"name": "a", "size": rng.randint(3, 9), "cost": rng.choice((0, 0, 1))}]
    pools += [{"name": "b", "size": rng.choice((4, 8, 16)), "cost": rng.choice((1, 2))}] * (rng.random() < 0.35)
    pools.append({"name": "c", "cost": rng.choice((1, 2, 4, 5.5)), "size": rng.choice((8, 16, None))})
    if rng.random() < 0.3:
        pools[-1]["direct"] = False
    names = [str(pool["name"]) for pool in pools]
    count = rng.choice((2, 2, 3, 3, 3, 4, 5))
    horizon = _HORIZON - (count > 3) - (len(pools) > 2)
    buffers = [_buffer(rng, f"t{k}", names, horizon) for k in range(count)]
    problem: Row = {"buffers": buffers, "pools": pools, "conflicts": [], "bank": [], "together": []}
    moves = {"lead": rng.choice((0, 0, 0, 1, 1, 2, 9))}
    if rng.random() < 0.3:
        moves["bytes_per_step"] = rng.randint(2, 8)
    problem["moves"] = True if moves == {"lead": 0} else moves
    for add in (_pin, _page, _alias, _pair, _tie):
        if rng.random() < 0.15:
            add(rng, problem)
    return problem


def _buffer(rng: random.Random, name: str, names: list[str], horizon: int) -> Row:
    start = rng.randint(0, horizon - 1)
    row: Row = {"id": name, "size": rng.randint(1, 5), "start": start, "end": rng.randint(start + 1, horizon)}
    if rng.random() < 0.3:
        row["start"], row["end"] = 0, horizon
    if rng.random() < 0.2:
        row["pools"] = sorted(rng.sample(names, rng.randint(1, len(names))))
    if rng.random() < 0.15:
        row["alignment"] = rng.choice((2, 4))
    for field, chance in (("given", 0.3), ("kept_in", 0.25)):
        if rng.random() < chance:
            row[field] = rng.choice(row.get("pools", names))
    if rng.random() < 0.8:
        times = [(time, kind) for time in range(row["start"], row["end"]) for kind in ("read", "write")]
        chosen = sorted(rng.sample(times, rng.randint(1, min(4, len(times)))))
        row["accesses"] = [_access(rng, time, kind) for time, kind in chosen]
        if rng.random() < 0.5:
            row["accesses"] = sorted({time for time, _ in chosen})
    return row


def _access(rng: random.Random, time: int, kind: str) -> Row:
    return {"time": time, "kind": kind} | ({"bytes": rng.randint(0, 9)} if rng.random() < 0.3 else {})


def _pin(rng: random.Random, problem: Row) -> None:
    row, pool = rng.choice(problem["buffers"]), rng.choice(problem["pools"])["name"]
    row |= {"offset": 0, "pools": [pool]}
    for field in ("given", "kept_in"):
        row.pop(field, None)


def _page(rng: random.Random, problem: Row) -> None:
    row, pool = rng.choice(problem["buffers"]), rng.choice(problem["pools"])
    row |= rng.choice(({"no_cross": 8}, {"end_at_most": row["size"] + rng.randint(0, 3)}))
    pool |= rng.choice(({"alignment": 2}, {"base_address": 2}, {"reserved": [[rng.randint(0, 3), 1]]}))


def _alias(rng: random.Random, problem: Row) -> None:
    root = rng.choice(problem["buffers"])
    start, end = sorted(rng.sample(range(root["start"], root["end"] + 1), 2))
    distance = rng.randint(0, root["size"] - 1)
    row = {"id": "view", "size": root["size"] - distance, "start": start, "end": end}
    row |= {"alias_of": root["id"], "alias_offset": distance, "accesses": [{"time": start, "kind": "read"}]}
    if not {"offset", "no_cross"} & {*root} and root.get("alignment", 1) == 1:
        problem["buffers"].append(row)


def _pair(rng: random.Random, problem: Row) -> None:
    pair = [row["id"] for row in rng.sample(problem["buffers"][: 2 + (rng.random() < 0.5)], 2)]
    if "view" not in pair:
        problem["conflicts"].append(pair)
        problem["bank"].append({"buffers": pair})
        problem["pools"][0]["bank_size"] = 2


def _tie(rng: random.Random, problem: Row) -> None:
    problem["together"].append([row["id"] for row in rng.sample(problem["buffers"], 2)])


def mutants(rng: random.Random, answer: Row, problem: Row) -> Iterator[Row]:
    """Yield plans with one change: in the offset, pool or time of a piece or a copy, or a row less or more."""
    names = [pool["name"] for pool in problem["pools"]]
    for _ in range(6):
        changed: Row = json.loads(json.dumps(answer))
        rows = changed["copies"] if changed["copies"] and rng.random() < 0.4 else changed["placements"]
        row = rng.choice(rows)
        field = rng.choice(sorted({*row} - {"id"}))
        if rng.random() < 0.15:
            rows.remove(row)
        elif field in ("pool", "from", "to"):
            row[field] = rng.choice(names)
        else:
            row[field] += rng.choice((-1, 1))
        if all(row["offset"] >= 0 for row in changed["placements"]):
            yield changed


def faults(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each false word of the answer, and for each plan on which verifier and simulation disagree."""
    data, rng = draw(seed), random.Random(seed)
    problem = Problem.model_validate(data)
    best = BruteForce(data)
    tally["none" if best.answer is None else "some"] += 1
    if best.answer is not None:
        tally["moved"] += bool(best.answer["copies"])
        yield from _disagreements(data, problem, best.answer, tally, must_be_right=True)
        for mutant in mutants(rng, best.answer, data):
            yield from _disagreements(data, problem, mutant, tally)
    if best.cost < inf:
        yield from _false_bounds(data, problem, best.cost, rng, tally)
    try:
        plan = solve(problem, time_limit_s=5)
    except MemplanError as error:
        yield f"{error}, but {best.cost} is enough"
        return
    tally[plan.status] += 1
    yield from false_words(data, problem, plan, best)


def _false_bounds(data: Row, problem: Problem, cost: float, rng: random.Random, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each bound above the least cost that random prices prove."""
    checker, rules = MovesChecker(problem), data["moves"]
    for _ in range(8):
        prices = [
            Price(q, time, rng.randint(1, 12), rng.random() < 0.6)
            for q, pool in enumerate(data["pools"])
            for time in rng.sample(range(_HORIZON), rng.randint(0, 2))
            if pool["size"] is not None
        ]
        if rules is not True and "bytes_per_step" in rules:
            prices.append(Price(None, rng.randrange(_HORIZON), rng.randint(1, 4)))
        proved = checker.bound(rng.choice((1, 4)), prices, 10_000 * checker.parts)
        near = checker.bound(proved.scale, prices, proved.bound + rng.randint(1, 20))
        tally["tight"] += isclose(max(proved.cost, near.cost), cost)
        if max(proved.cost, near.cost) > cost * (1 + 1e-9):
            yield f"bound {max(proved.cost, near.cost)} above {cost} by {prices}"


def _disagreements(
    data: Row, problem: Problem, answer: Row, tally: Counter[str], must_be_right: bool = False
) -> Iterator[str]:
    simulated = simulate(data, answer)
    said = Row(answer) | {"cost": simulated.cost}
    found = verify(problem, Plan.model_validate(said))
    tally["refused" if found else "accepted"] += 1
    if bool(found) != bool(simulated.faults) or (must_be_right and found):
        yield f"verifier {[each.message for each in found]}, simulation {simulated.faults}: {answer}"
    if must_be_right and not isclose(simulated.cost, answer["cost"]):
        yield f"the brute force's plan costs {simulated.cost}: {answer}"


def false_words(data: Row, problem: Problem, plan: Plan, best: BruteForce) -> Iterator[str]:
    """Yield a line for each false word of a plan."""
    if plan.status == "infeasible" and best.answer is not None:
        yield f"infeasible, but there is {best.answer}"
    if plan.cost_lower_bound is not None and plan.cost_lower_bound > best.cost * (1 + 1e-9):
        yield f"bound {plan.cost_lower_bound} above {best.cost}"
    if len(plan.placements) == 0:
        if plan.status not in ("infeasible", "unknown"):
            yield f"{plan.status} without placements"
        return
    simulated = simulate(data, json.loads(write_plan(plan, problem)))
    yield from simulated.faults
    yield from (each.message for each in verify(problem, plan))
    if plan.cost is None or not isclose(plan.cost, simulated.cost, abs_tol=1e-9):
        yield f"cost {plan.cost}, but {simulated.cost} is spent"
    if plan.status == "optimal" and simulated.cost > best.cost * (1 + 1e-9):
        yield f"optimal at {simulated.cost}, but {best.cost} is enough by {best.answer}"
    if simulated.cost < best.cost * (1 - 1e-9):
        yield f"cheaper ({simulated.cost}) than the least of the brute force ({best.cost})"


def main() -> int:
    """Run the comparison on random problems, and return the exit status."""
    return run_cases("moves_agreement", faults, count=2000)


if __name__ == "__main__":
    sys.exit(main())
