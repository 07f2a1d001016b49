"""Handmade plans whose claims are right or slightly wrong: costs, weights, gaps, pools, pairs, lifetimes."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from memplan import solve
from memplan.planner.model.buffer_table import column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Explanation, Plan, PoolUse, Proof, Reused, WeightedUse
from memplan.planner.model.problem import Problem

Case = tuple[Problem, Plan]
A: dict[str, Any] = {"id": "a", "size": 4, "start": 0, "end": 2}
B: dict[str, Any] = {"id": "b", "size": 3, "start": 1, "end": 3}
TWO = [{"name": "x", "size": 16, "cost": 2}, {"name": "y", "size": 16, "cost": 1}]


def table(*places: tuple[int | str, str, int]) -> PlacementTable:
    names = list(dict.fromkeys(pool for _, pool, _ in places))
    pools, offsets = [names.index(pool) for _, pool, _ in places], [offset for _, _, offset in places]
    return PlacementTable(tuple(name for name, _, _ in places), tuple(names), column(pools), column(offsets))


def _plan(**fields: Any) -> Plan:
    return Plan(**fields)


def wrong_claims() -> Iterator[Case]:
    yield from _empty_claims()
    yield from _pool_claims()
    yield from _goal_claims()
    yield from _weight_claims()
    yield from _pair_claims()
    proved = solve(alone := Problem(buffers=[A, B]))
    for proof in (Proof(kind="live-set", time=1, buffers=("a", "b")), Proof(kind="live-set", time=0, buffers=("b",))):
        yield alone, proved.model_copy(update={"proof": proof})


def _empty_claims() -> Iterator[Case]:
    problem = Problem(buffers=[A, B], pools=[{"size": 6}])
    claims: tuple[dict[str, Any], ...] = (
        *({}, {"peak": 7}, {"gap": 0.0}, {"cost": 1.0}, {"shared": (("a", "b"),)}),
        {"reused": (Reused(buffers=("a", "b"), cost=1),)},
        *({"pools": (use,)} for use in (PoolUse(name="default", used=1), PoolUse(name="nowhere"))),
        {"explanation": Explanation(message="", pool="default", missing_bytes=1, time=1, buffers=("a",))},
    )
    for status, claim in product(("unknown", "infeasible"), claims):
        yield problem, Plan.model_validate({"status": status}).model_copy(update=claim)


def _pool_claims() -> Iterator[Case]:
    problem = Problem(buffers=[A, B], pools=TWO)
    places = table(("a", "x", 0), ("b", "y", 0))
    x, y = PoolUse(name="x", used=4), PoolUse(name="y", used=3)
    for pools in (
        (x, y),
        (x, x),
        (x, PoolUse(name="z", used=3)),
        (x, PoolUse(name="y", used=3, size=16)),
        (x, PoolUse(name="y", used=3, size=8)),
        *((x, PoolUse(name="y", used=3, lower_bound=bound)) for bound in (2, 3, 4)),
    ):
        for status in ("feasible", "optimal"):
            yield problem, _plan(status=status, placements=places, pools=pools)


def _goal_claims() -> Iterator[Case]:
    """Yield plans with wrong costs, bounds and gaps of the first and of later objectives."""
    places, uses = table(("a", "x", 0), ("b", "y", 0)), (4, 3)
    for objective, profile in product(("peak", "cost", ("peak", "cost")), (None, "speed", "balanced")):
        problem = Problem(buffers=[A | {"traffic": 0}, B], pools=TWO, objective=objective)
        for status, bounds, least, cost in product(
            ("feasible", "optimal"), ((4, 2), (1, 2)), (None, 1.0, 3.0, 4.0), (None, 3.0)
        ):
            rows = zip("xy", uses, bounds, strict=True)
            pools = tuple(PoolUse(name=name, used=used, lower_bound=low) for name, used, low in rows)
            plan = _plan(
                status=status, placements=places, pools=pools, profile=profile, cost=cost, cost_lower_bound=least
            )
            for gap in (None, 0.0, 0.5, 2.0):
                yield problem, plan.model_copy(update={"gap": gap, "lower_bound": sum(bounds)})
        for limit in (2.0, 3.0, 4.0):
            yield problem, Plan(placements=places, cost_limit=limit)
    for size, bound, status, gap in product((0, 4), (None, 0, 2, 4, 5), ("feasible", "optimal"), (None, 0.0, 1.0)):
        problem = Problem(buffers=[A | {"size": size}])
        yield problem, _plan(status=status, placements=table(("a", "default", 0)), lower_bound=bound, gap=gap)


def _weight_claims() -> Iterator[Case]:
    problem = Problem(buffers=[A, B], pools=TWO)
    places = table(("a", "x", 0), ("b", "y", 0))
    for weights, total, least, status in product(
        ({"x": 1.0, "y": 2.0}, {"x": 1.0, "z": 2.0}), (9.0, 10.0), (None, 9.0, 10.0, 11.0), ("feasible", "optimal")
    ):
        weighted = WeightedUse(weights=weights, sum=total, lower_bound=least)
        for gap in (None, 1 / 9):
            yield problem, _plan(status=status, placements=places, weighted=weighted, gap=gap)


def _pair_claims() -> Iterator[Case]:
    """Yield plans whose reuse pairs do or do not pay a cost, with the orders that they require."""
    places = table(("a", "default", 0), ("b", "default", 0))
    for start, size, gap in product((2, 4), (3, 0), (False, True)):
        a = A | {"lifetimes": [[0, 2], [6, 8]]} if gap else A
        a = {key: value for key, value in a.items() if not gap or key not in ("start", "end")}
        priced = {"reuse": [{"pairs": [["a", "b"]], "cost": 3}], "objective": "cost"}
        b = B | {"size": size, "start": start, "end": start + 1}
        for rest, rows in product((priced, {}), ([a, b], [b, a])):
            problem = Problem.model_validate({"buffers": rows, **rest})
            yield problem, Plan(placements=places, cost=3.0)
            yield problem, Plan(placements=places, reused=())
            yield problem, Plan(placements=places, reused=(), cost=3.0)
            for profile in (None, "speed"):
                pools = (PoolUse(name="default", used=4, lower_bound=3),)
                yield problem, Plan(status="optimal", placements=places, pools=pools, profile=profile)
            for order in ((None, None), ("a", "b"), ("b", "a"), ("a", "a"), ("a", None)):
                row = Reused(buffers=("a", "b"), cost=3, first=order[0], then=order[1])
                yield problem, Plan(placements=places, reused=(row,))


def lifetime_cases(count: int) -> Iterator[Case]:
    """Yield plans of alternating, simultaneous and staircase lifetimes, some with one buffer moved or empty."""
    ways = {"turns": lambda k: (k, k + 2, 2 * (k % 2)), "pile": lambda k: (0, count, 2 * k)}
    ways |= {"stairs": lambda k: (k, k + 2, 2 * k)}
    for way, number in product(ways.values(), (0, 1, count // 2, count - 2, count - 1)):
        lives = [way(k) for k in range(count)]
        rows = [{"id": k, "size": 2, "start": start, "end": end} for k, (start, end, _) in enumerate(lives)]
        problem = Problem.model_validate({"buffers": rows})
        for moved in (0, -3, -1, 1):
            places = [(k, "default", max(0, at + moved * (k == number))) for k, (_, _, at) in enumerate(lives)]
            yield problem, Plan(placements=table(*places))
    rows = [{"id": k, "size": 8, "start": k, "end": 9} for k in range(3)]  # the last one is alive with both others
    placed = table(*((k, "default", at) for k, at in enumerate((12, 0, 6))))
    yield Problem.model_validate({"buffers": rows}), Plan(placements=placed)
    for sizes in ((4, 0), (0, 4)):
        rows = [A | {"size": sizes[0]}, B | {"size": sizes[1]}]
        problem = Problem.model_validate({"buffers": rows, "conflicts": [["a", "b"]]})
        for first, second in ((0, 2), (2, 0)):
            yield problem, Plan(placements=table(("a", "default", first), ("b", "default", second)))
