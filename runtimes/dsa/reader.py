"""Reader of dsa-solver's problems, with reserved ranges, live intervals, conflicts and costs for sharing bytes.

```
{"instance": "kernel", "problem": {"pools": [{"id": 2, "name": "Mat", "capacity": 524288, "reserved_ranges": []}],
 "buffers": [{"id": 0, "size": 2048, "alignment": 32, "allowed_pools": [2],
              "live_intervals": [{"lower": 55, "upper": 145}]}],
 "constraints": {"separations": [], "colocations": [], "temporal_exclusions": [], "pinned_allocations": []},
 "cost_model": {"reuse_penalties": [{"first": 0, "second": 1, "cost": 1}]},
 "objective": {"terms": ["capacity_overflow", "reuse_cost"]}}}
```

A separation becomes a conflict, and a colocation becomes a relative placement at the same offset. A temporal exclusion
is a pair that may share bytes although its intervals overlap. If there are any, lifetimes are dropped, and all other
overlapping pairs become conflicts. Alias classes and pipeline groups are ignored, because they do not restrict plans.
Source: tonibohnlein/dsa-solver, commit a8d1257.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, refuse_dims
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats.memplan_json import parse
from memplan.planner.model.problem import Problem

Row = Mapping[str, Any]
Pairs = list[tuple[int, int]]


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a dsa-solver problem. Raises FormatError or ProblemError, and OptionError if the options give dimensions."""
    refuse_dims(options, "problems of dsa-solver")
    document: Any = parse(data)
    try:
        problem = _problem_fields(document["problem"], options)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise FormatError(
            f"problem: must be a dsa-solver problem, with buffers and their live_intervals: {error}"
        ) from error
    return ImportedProblem(Problem.model_validate({"name": document.get("instance"), **problem}))


def _problem_fields(given: Row, options: ModelOptions) -> dict[str, Any]:
    """Return the fields of the memplan problem that is equivalent to the dsa-solver problem `given`."""
    rules = given.get("constraints", {})
    excluded = _id_pairs(rules.get("temporal_exclusions", ()))
    pools = {pool["id"]: pool for pool in given["pools"]}
    rows = {row["id"]: _buffer_fields(row, pools, options) for row in given["buffers"]}
    conflicts = _id_pairs(rules.get("separations", ()))
    for pin in rules.get("pinned_allocations", ()):
        rows[pin["buffer"]]["offset"] = pin["offset"]
        if pin.get("exclusive_for_all_time"):
            conflicts += [(pin["buffer"], other) for other in rows if other != pin["buffer"]]
    for first, second in _id_pairs(rules.get("colocations", ())):
        _join_groups(rows, first, second)
    if excluded:
        conflicts += _overlapping_pairs(rows, {frozenset(pair) for pair in excluded})
        for row in rows.values():
            row["lifetimes"] = None
    prices: dict[int, Pairs] = {}
    for row in given.get("cost_model", {}).get("reuse_penalties", ()):
        prices.setdefault(row["cost"], []).append((row["first"], row["second"]))
    return {
        "buffers": [{name: value for name, value in row.items() if value is not None} for row in rows.values()],
        "conflicts": conflicts,
        "reuse": [{"pairs": pairs, "cost": cost} for cost, pairs in sorted(prices.items()) if cost],
        "pools": [_pool_fields(pool) for pool in given["pools"]],
        "objective": _objective_name(given.get("objective", {}).get("terms", ()), has_prices=any(prices)),
    }


def _buffer_fields(row: Row, pools: Mapping[int, Row], options: ModelOptions) -> dict[str, Any]:
    return {
        "id": row["id"],
        "size": row["size"],
        "alignment": options.alignment or row.get("alignment", 1),
        "pools": [pools[pool]["name"] for pool in row["allowed_pools"]],
        "lifetimes": [(interval["lower"], interval["upper"]) for interval in row["live_intervals"]],
    }


def _join_groups(rows: Mapping[int, dict[str, Any]], first: int, second: int) -> None:
    lead = _group_root(rows, second)
    if lead != _group_root(rows, first):
        rows[lead]["relative"] = {"to": first, "offset": 0}


def _group_root(rows: Mapping[int, dict[str, Any]], buffer: int) -> int:
    while "relative" in rows[buffer]:
        buffer = rows[buffer]["relative"]["to"]
    return buffer


def _pool_fields(pool: Row) -> dict[str, Any]:
    reserved = [(part["begin"], part["end"] - part["begin"]) for part in pool.get("reserved_ranges", ())]
    return {"name": pool["name"], "size": pool.get("capacity"), "reserved": reserved}


def _id_pairs(rows: Iterable[Row]) -> Pairs:
    return [(row["first"], row["second"]) for row in rows]


def _overlapping_pairs(rows: Mapping[int, dict[str, Any]], excluded: set[frozenset[int]]) -> Pairs:
    return [
        (i, j)
        for i, j in combinations(rows, 2)
        if frozenset((i, j)) not in excluded
        and any(a < d and c < b for a, b in rows[i]["lifetimes"] for c, d in rows[j]["lifetimes"])
    ]


def _objective_name(terms: Sequence[str], has_prices: bool) -> str:
    """Return memplan's objective that equals the given terms of dsa-solver. Raises ValueError for unknown terms."""
    if "reuse_cost" in terms:
        return "cost" if has_prices else "fit"
    if not set(terms) <= {"capacity_overflow", "total_peak", "max_peak"}:
        raise ValueError(
            f"objective.terms: must be peaks or capacity_overflow and reuse_cost, got {excerpt(list(terms))}"
        )
    return "peak" if set(terms) & {"total_peak", "max_peak"} else "fit"
