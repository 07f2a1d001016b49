"""Pairs of problems that a cache might confuse, and checks that it transfers no wrong claims between them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isclose
from typing import Any

from memplan.planner.errors import InputError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from tests.support.renaming import Data, problem_data, rename, respell, retime, scale, shuffle
from tests.support.small_problems import small_problems

_LARGEST = 2**62


def _scale_to_limit(data: Data, rng: random.Random) -> Data:
    largest = max(row["size"] for row in data["buffers"]) or 1
    return scale(data, _LARGEST // (largest * rng.choice((1, 1, 2, 3, 5))) or 1)


def _shift_earlier(data: Data, rng: random.Random) -> Data:
    by = rng.choice((-(2**40), -3, 1, 2**50))
    rows = []
    for row in data["buffers"]:
        changes: Data = {name: row[name] + by for name in ("start", "end") if name in row}
        if "lifetimes" in row:
            changes["lifetimes"] = [[low + by, high + by] for low, high in row["lifetimes"]]
        rows.append(row | changes)
    return data | {"buffers": rows}


def _change_buffer(data: Data, rng: random.Random) -> Data:
    rows = [dict(row) for row in data["buffers"]]
    row = rng.choice(rows)
    numbers = [name for name, value in row.items() if isinstance(value, int) and name not in ("id", "alias_of")]
    absent = {"alignment": 4, "offset": 8, "no_cross": 16, "hint": 3, "traffic": 7}
    name = rng.choice([*numbers, *absent])
    row[name] = row[name] + rng.choice((-1, 1, 8)) if name in row else absent[name]
    return data | {"buffers": rows}


def _change_pool(data: Data, rng: random.Random) -> Data:
    pools = [dict(pool) for pool in data["pools"]]
    pool = rng.choice(pools)
    name = rng.choice(("size", "size", "alignment", "base_address", "bank_size", "cost", "reserved"))
    if name == "reserved":
        pool[name] = [*pool.get(name, ()), [rng.randint(0, 9), rng.randint(1, 3)]]
    elif name == "size" and rng.random() < 0.5:
        pool.pop(name, None) if name in pool else pool.update(size=rng.choice((6, 12, 2**62, 2**63 - 1)))
    else:
        pool[name] = max(0, pool.get(name, 1) + rng.choice((-1, 1, 3)))
        pool["device"] = pool["name"]
    return data | {"pools": pools}


def _change_problem(data: Data, rng: random.Random) -> Data:
    ids = [row["id"] for row in data["buffers"]]
    name = rng.choice(("objective", "conflicts", "may_share", "together"))
    if name == "objective":
        return data | {name: rng.choice([word for word in ("peak", "fit", "cost") if word != data.get(name, "peak")])}
    listed: list[Any] = data.get(name, [])
    return data | {name: listed[1:] if listed else [rng.sample(ids, 2)]}


TRANSFORMS: tuple[Callable[[Data, random.Random], Data], ...] = (
    lambda data, rng: scale(data, rng.choice((2, 3, 2**20))),
    _scale_to_limit,
    _scale_to_limit,
    lambda data, _: retime(data),
    _shift_earlier,
    lambda data, _: rename(data),
    shuffle,
    lambda data, rng: respell(data, rng, rng.choice((1, 2, 5))),
    _change_buffer,
    _change_pool,
    _change_problem,
)


def pairs(seed: int, count: int) -> Iterator[tuple[Problem, Problem]]:
    """Yield pairs of a problem and a transformed copy, half of them with the copy first."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        (problem,) = small_problems(rng.randrange(2**40), 1, most=4)
        try:
            other = Problem.model_validate(rng.choice(TRANSFORMS)(problem_data(problem), rng))
        except InputError:
            continue
        made += 1
        yield (problem, other) if rng.random() < 0.5 else (other, problem)


@dataclass
class Verdicts:
    """Comparisons of answers through a shared cache with answers of a service with an empty cache."""

    asked: int = 0
    weaker: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, told: Plan, fresh: Plan) -> None:
        """Compare a cached answer with a fresh one: neither peak may be below the other's lower bound."""
        self.asked += 1
        if told.status == "infeasible" or fresh.status == "infeasible":
            is_wrong = len(told.placements) > 0 and fresh.status == "infeasible"
            is_wrong |= told.status == "infeasible" and len(fresh.placements) > 0
        else:
            is_wrong = _contradicts(told, fresh) or _contradicts(fresh, told)
        self.weaker += told.status != "optimal" and fresh.status == "optimal"
        if is_wrong:
            self.wrong.append(f"{_brief(told)}, fresh: {_brief(fresh)}")


def _contradicts(one: Plan, other: Plan) -> bool:
    """Return True if one plan is below the lower bound that the other one claims.

    An optimal plan has the least cost, then the least use of the last pool, and so on to the first; the bound of a
    feasible plan is on the sum over the pools. With a profile, the use of the last pool is the least, and the cost and
    its bound are those among such plans; they are absent if there was no time for them.
    """
    if one.peak is None or other.status not in ("optimal", "feasible"):
        return False
    if one.profile is not None:
        last, least = (plan.pools[-1].used or 0 for plan in (one, other))
        if last != least or one.cost is None:
            return other.status == "optimal" and last < least
        return one.cost < (other.cost_lower_bound or 0.0) * (1 - 1e-9)
    if one.cost is not None or other.cost is not None:
        is_equal = isclose(one.cost or 0.0, other.cost or 0.0, rel_tol=1e-9)
        if not is_equal or other.status != "optimal":
            return (one.cost or 0.0) < (other.cost_lower_bound or 0.0) * (1 - 1e-9)
    if other.status == "optimal":
        mine, best = (tuple(pool.used or 0 for pool in reversed(plan.pools)) for plan in (one, other))
        return mine < best
    return one.peak < (other.lower_bound or 0)


def _brief(plan: Plan) -> str:
    return f"{plan.status} {plan.peak} >= {plan.lower_bound} (cost {plan.cost}, {plan.problem_hash})"
