"""Plans over a grid of pool sizes and over changed problems, which show how much each change saves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from memplan.planner.errors import OptionError, excerpt, sentences
from memplan.planner.formats import memplan_json
from memplan.planner.model.entries import entries_among
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.model.rows import Buffer, Id, Name, WireValue, tuple_from_list
from memplan.questions.inputs.extent import Extent
from memplan.questions.inputs.values import Input

MOST_SIZES = 1000
"""The maximum number of combinations of sizes in a sweep."""


@dataclass(frozen=True)
class SweepPoint:
    """The plan for one combination of pool sizes; `sizes` has the bytes of each swept pool, in their given order."""

    sizes: tuple[int, ...]
    plan: Plan


def plans_by_size(
    problem: Problem, sizes: Mapping[str, Iterable[int]], plan_one: Callable[[Problem, Plan | None], Plan]
) -> Iterator[SweepPoint]:
    """Yield a plan for each combination of pool sizes, from small to large; the last pool varies fastest.

    A plan is never worse than a plan in which no pool is larger: `plan_one(problem, start)` must return a plan that is
    no worse than `start`, a valid plan for smaller pools. Raises OptionError for an unknown pool, for no pool, and for
    more than MOST_SIZES combinations.
    """
    axes = [sorted(set(values)) for values in sizes.values()]
    count = prod(map(len, axes)) if axes else 0
    if not sizes or count > MOST_SIZES:
        raise OptionError(f"sweep: must have 1 to {MOST_SIZES} combinations of sizes, got {count}")
    plans: dict[tuple[int, ...], Plan] = {}
    for place in product(*(range(len(axis)) for axis in axes)):
        chosen = tuple(axis[k] for axis, k in zip(axes, place, strict=True))
        # A plan for smaller pools also fits larger ones, so start from it: then costs never rise with the size.
        starts = [plans[below] for below in _grid_neighbours(place, -1) if below in plans and is_found(plans[below])]
        start = min(starts, key=lambda plan: tuple(value or 0 for value in _plan_score(plan)), default=None)
        plans[place] = plan_one(set_sizes(problem, dict(zip(sizes, chosen, strict=True))), start)
        yield SweepPoint(chosen, plans[place])


def _grid_neighbours(place: tuple[int, ...], by: int) -> Iterator[tuple[int, ...]]:
    for axis in range(len(place)):
        yield (*place[:axis], place[axis] + by, *place[axis + 1 :])


def set_sizes(problem: Problem, sizes: Mapping[str, int]) -> Problem:
    """Return the problem with new sizes for some pools; raises OptionError for an unknown pool."""
    names = [row.name for row in problem.pools]
    for pool in sizes:
        if pool not in names:
            rule = f"must name a pool of the problem ({', '.join(names)}), got {excerpt(pool)}"
            raise OptionError.from_rule("sizes", rule)
    return problem.with_capacity(sizes)


def propagate_bounds(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Return the points (planned combinations) with lower bounds from larger pool sizes applied to smaller ones.

    A cost bound for a size also holds for every smaller size. A plan as good as an optimal plan for a larger size is
    optimal.
    """
    axes = [sorted(set(values)) for values in zip(*(point.sizes for point in points), strict=True)]
    plans: dict[tuple[int, ...], Plan] = {}
    # A bound for a size holds for every smaller size, so process sizes from the largest down.
    for point in reversed(points):
        place = tuple(axis.index(size) for axis, size in zip(axes, point.sizes, strict=True))
        plans[place] = point.plan
        for above in _grid_neighbours(place, 1):
            if above in plans:
                plans[place] = _apply_larger_bound(plans[above], plans[place])
    return [SweepPoint(point.sizes, plan) for point, plan in zip(points, reversed(plans.values()), strict=True)]


def _apply_larger_bound(larger: Plan, plan: Plan) -> Plan:
    """Return the plan with the cost bound, and perhaps the optimality, of a plan for larger pools."""
    # If the last pool matters besides the cost, a cost bound holds only for plans that use no more of the pool.
    if plan.profile == "balanced" or plan.weighted is not None:
        return plan
    if plan.cost is not None and larger.cost_lower_bound is not None:
        bound = max(larger.cost_lower_bound, plan.cost_lower_bound or 0.0)
        plan = plan.model_copy(update={"cost_lower_bound": min(bound, plan.cost)})
    if plan.status != "feasible" or larger.status != "optimal" or _plan_score(plan) != _plan_score(larger):
        return plan
    bounds = zip(plan.pools, larger.pools, strict=True)
    pools = tuple(use.model_copy(update={"lower_bound": its.lower_bound}) for use, its in bounds)
    proved = {"status": "optimal", "lower_bound": larger.lower_bound, "gap": 0.0, "proof": larger.proof, "pools": pools}
    return plan.model_copy(update=proved)


def _plan_score(plan: Plan) -> tuple[float | None, ...]:
    return plan.cost, *(use.used for use in reversed(plan.pools))


def is_found(plan: Plan) -> bool:
    """Return True if a solver found a plan, so that the plan has placements."""
    return plan.status in ("optimal", "feasible")


MOST_COMBINATIONS = 10_000
"""The maximum number of combinations in a sweep, which also limits the number of changes."""


class Change(WireValue):
    """A change of a sweep to a buffer or a pool."""

    buffer: Id | None = Field(None, exclude_if=lambda name: name is None)
    """The name of the changed buffer; left out if a pool changes."""
    pool: Name | None = Field(None, exclude_if=lambda name: name is None)
    """The name of the changed pool; left out if a buffer changes."""
    fields: dict[str, Any] | None = Field(None, exclude_if=lambda fields: fields is None)
    """The new values by field, such as {"size": 32}; without it, the buffer is dropped."""

    @property
    def text(self) -> str:
        """The change as a phrase, such as `conv1.size=32` or `without conv1`."""
        name = self.pool if self.buffer is None else self.buffer
        if self.fields is None:
            return f"without {name}"
        return " ".join(f"{name}.{field}={value}" for field, value in self.fields.items())


Axis = Annotated[tuple[Change, ...], Field(min_length=1), BeforeValidator(tuple_from_list)]
Grid = Annotated[tuple[Axis, ...], BeforeValidator(tuple_from_list)]
_GRID: TypeAdapter[tuple[tuple[Change, ...], ...]] = TypeAdapter(Grid)


def apply_changes(problem: Problem, changes: Sequence[Change]) -> Problem:
    """Return the problem after some changes; entries that name dropped buffers are restricted to the others.

    Raises OptionError for a change to an unknown buffer or pool, and ProblemError if the result is invalid.
    """
    if not changes:
        return problem
    refuse_unknown(problem, changes)
    rows = {row.id: dict(row) for row in problem.buffers}
    pools = {row.name: dict(row) for row in problem.pools}
    gone: set[int | str] = set()
    for change in changes:
        if change.pool is not None:
            pools[change.pool] |= change.fields or {}
        elif change.buffer is not None and change.fields is None:
            gone.add(change.buffer)
        elif change.buffer is not None:
            rows[change.buffer] |= change.fields or {}
    buffers = [Buffer.model_validate(row) for name, row in rows.items() if name not in gone]
    return replace_fields(
        problem, buffers=buffers, pools=[*pools.values()], **entries_among(problem, rows.keys() - gone)
    )


def refuse_unknown(problem: Problem, changes: Sequence[Change]) -> None:
    """Raise OptionError for a change to a buffer or pool that does not exist in the problem."""
    for change in changes:
        if (change.buffer is None) == (change.pool is None):
            raise OptionError("change: must name a buffer or a pool")
        if change.buffer is not None and change.buffer not in problem.index:
            raise OptionError(f"change: must name a buffer of the problem, got {excerpt(change.buffer)}")
        if change.pool is not None and change.pool not in problem.pool_index:
            raise OptionError(f"change: must name a pool of the problem, got {excerpt(change.pool)}")


def _changes_field(value: object) -> tuple[tuple[Change, ...], ...]:
    """Return the lists of changes in a field of a body; raises OptionError."""
    try:
        return _GRID.validate_python(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("changes",))) from error


def _changes_extent(value: object) -> Extent:
    """Return the extent of the changes in a body; raises OptionError for more than MOST_COMBINATIONS changes."""
    count = sum(len(axis) for axis in value if isinstance(axis, list)) if isinstance(value, list) else 0
    if count > MOST_COMBINATIONS:
        raise OptionError(f"changes: must have at most {MOST_COMBINATIONS} entries, got {count}")
    return Extent(count)


CHANGES = Input(
    "changes",
    Grid,
    _changes_field,
    lambda grid: _GRID.dump_python(grid, mode="json"),
    "A JSON file with lists of changes. Each combination makes one change of every list.",
    from_file=lambda _reader, data, _name, _question: _changes_field(memplan_json.parse(data)),
    extent=_changes_extent,
    about="Lists of changes. Each combination makes one change of every list.",
    required=False,
    named_by_flag=True,
)
