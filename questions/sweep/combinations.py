"""The question `sweep`: costs and peaks for combinations of pool sizes, alignments and changes to a problem."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, TypeAdapter, ValidationError
from pydantic.json_schema import SkipJsonSchema

from memplan.planner.errors import TYPE_STEP, OptionError, excerpt, sentences
from memplan.planner.model.plan import Plan, PoolUse, Status, StopReason
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, Alignment, Bytes, Name, WireValue, tuple_from_list
from memplan.planner.model.sizes import parse_size, rule_error, size_text
from memplan.questions.inputs import EXAMPLE, PLAN, PROBLEM, read_plan_field
from memplan.questions.inputs.extent import Extent
from memplan.questions.inputs.values import Input, InputValues
from memplan.questions.plan.plan import PlanOptions, plan
from memplan.questions.question import (
    Answer,
    AnswerOfFile,
    ChartView,
    Control,
    Question,
    SearchOptions,
    Seconds,
    ignore_report,
)
from memplan.questions.reading.adapting import ProblemOptions, align_problem
from memplan.questions.sweep.grid import (
    CHANGES,
    MOST_COMBINATIONS,
    MOST_SIZES,
    Change,
    apply_changes,
    refuse_unknown,
    refuse_unknown_pools,
)
from memplan.solvers.portfolio.options import SolveOptions

SizesOf = Mapping[str, range | tuple[int, ...]]
"""The sizes of each swept pool in bytes, by pool name."""
FOUND = ("optimal", "feasible")
"""The statuses of combinations for which a plan was found."""
_REPORT_AFTER = 20
"""The number of combinations between two progress reports of a large sweep."""
_NOTED_PART = 20
"""The minimum time between two interim answers, as a multiple of the time taken to compute one."""
_FORM = "[NAME=]FROM:TO:STEP, as in sram=128KiB:1MiB:64KiB"


class SizeRange(WireValue):
    """Sizes of a pool in equal steps."""

    first: Bytes
    """The first size, in bytes."""
    last: Bytes
    """The largest allowed size, in bytes, which is included if a step reaches it."""
    step: Annotated[int, Field(gt=0, le=MAX_BYTES)]
    """The distance between two sizes, in bytes."""


SizeList = Annotated[tuple[Bytes, ...], Field(min_length=1, max_length=MOST_SIZES), BeforeValidator(tuple_from_list)]


def _kind_of_sizes(value: object) -> str | None:
    """Return a name for the type of `value`, by which pydantic validates it: a range or a list of sizes; else None."""
    return (
        f"{TYPE_STEP}range"
        if isinstance(value, dict | SizeRange)
        else f"{TYPE_STEP}list"
        if isinstance(value, list | tuple)
        else None
    )


_RULE = "must be a list of numbers of bytes, as [65536, 131072], or an object with first, last and step"
_RangeOrList = Annotated[
    Annotated[SizeRange, Tag(f"{TYPE_STEP}range")] | Annotated[SizeList, Tag(f"{TYPE_STEP}list")],
    Discriminator(_kind_of_sizes, custom_error_type="rule", custom_error_message=_RULE),
]
Sizes = Annotated[dict[Name, _RangeOrList], Field(min_length=1)]
_SIZES: TypeAdapter[dict[str, SizeRange | tuple[int, ...]]] = TypeAdapter(Sizes)


def _sizes_in_bytes(value: object) -> object:
    """Convert sizes such as `16`, `"16,64"` or a list of these to a tuple of bytes; return other values unchanged."""
    values = [value] if isinstance(value, (int, str)) else value
    if not isinstance(values, (list, tuple)):
        return value
    if not all(isinstance(each, (int, str)) for each in values):
        return tuple(values)
    parts = [part for each in values for part in (each.split(",") if isinstance(each, str) else [each])]
    try:
        return tuple(dict.fromkeys(parse_size(part) if isinstance(part, str) else part for part in parts))
    except ValueError as error:
        raise rule_error(str(error)) from None


class SweepOptions(SearchOptions, SolveOptions):
    """Options of `sweep`: the options of each plan, and the seconds for it."""

    each_s: Seconds = Field(1.0, description="Spend at most this part of the time limit on each combination.")
    alignments: Annotated[tuple[Alignment, ...], BeforeValidator(_sizes_in_bytes)] = Field(
        (), description="Also try these alignments of all buffers, each combined with everything else."
    )
    repetitions: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="Plan each combination this many times with other seeds, unless a plan is proved to be the best."
    )


class SweepRow(Answer):
    """One combination of a sweep: its plan's quality and use."""

    size: int | None = None
    """The size of the swept pool, in bytes; null unless a single pool is swept."""
    sizes: dict[str, int]
    """The size of each swept pool, in bytes, by the pool's name."""
    alignment: int | None = Field(None, exclude_if=lambda alignment: alignment is None)
    """The alignment of all buffers, in bytes; left out unless the sweep varies it."""
    changes: tuple[Change, ...] = Field((), exclude_if=lambda changes: not changes)
    """The changes of the problem; left out unless the sweep varies them."""
    status: Status
    """The status of the plan."""
    stop_reason: StopReason | None
    """Why the search for the plan stopped, as in a plan."""
    cost: float | None
    """The cost of the plan; null if there is none."""
    cost_lower_bound: float | None
    """No plan of this combination costs less; null if that is not known."""
    peak: int | None
    """The peak of the plan, in bytes; null without a plan."""
    lower_bound: int | None
    """No plan of this combination has a smaller peak, in bytes; null if that is not known."""
    pools: tuple[PoolUse, ...]
    """The use of each pool."""
    solver: str | None
    """The solver that found the plan."""
    reproducible: bool | None
    """True if the same options make the same plan again; null unless the search was deterministic."""

    def problem_of(self, problem: Problem) -> Problem:
        """Return the problem of this row: the swept problem with the row's sizes, alignment and changes."""
        changed = _change_problem(problem, self.alignment, self.changes)
        return changed.with_capacity(self.sizes) if self.sizes else changed


class Sweep(AnswerOfFile):
    """The combinations of a sweep, with their plans (None if the answer came from a service)."""

    combinations: int
    """The number of combinations that were asked for."""
    points: tuple[SweepRow, ...]
    """The combinations that were planned in time; sizes vary fastest, then changes, then alignments."""
    plans: SkipJsonSchema[tuple[Plan, ...] | None] = Field(None, exclude=True)


def sweep(
    problem: Problem,
    sizes: SizesOf | None = None,
    changes: Sequence[Sequence[Change | Mapping[str, Any]]] = (),
    start: Plan | None = None,
    options: SweepOptions = SweepOptions(),
    control: Control = Control(),
) -> Sweep:
    """Plan a problem for many sizes of its pools, alignments and changes, and show what each of them is worth.

    If no pool of a combination is smaller than in another one, its plan is no worse. There may be 1,000 sizes. Changes
    are a list of lists, such as [[{"buffer": "a", "fields": {"size": 32}}, {"buffer": "a"}]], whose second change
    drops the buffer. Each combination makes one change from each list, and there may be 10,000 combinations. If a plan
    of the problem is given, searches start from it. For each combination with one pool in which this plan is valid, the
    peak is no higher than that of this plan.
    """
    running, sizes, changes = control.begin(options), sizes or {}, CHANGES.from_json(changes)
    if wrong := [name for name, values in sizes.items() if not isinstance(values, Iterable)]:
        raise OptionError(
            f"sizes: must have a list for each pool, as [65536, 131072], got none for {excerpt(wrong[0])}"
        )
    combinations = _combination_count(sizes, changes, options)
    refuse_unknown_pools(problem, sizes)
    rows: list[SweepRow] = []
    plans: list[Plan] = []
    noted_until = 0.0
    for alignment, chosen in product(options.alignments or (None,), product(*changes)):
        changed, first = _change_problem(problem, alignment, chosen), len(rows)
        for values in product(*(sorted(set(its)) for its in sizes.values())):
            if rows and (running.deadline.remaining_s <= 0 or running.cancelled.is_set()):
                break
            at = dict(zip(sizes, values, strict=True))
            # A plan for smaller pools also fits larger ones, so start from it: then costs never rise with the size.
            smaller = (
                plan
                for row, plan in zip(rows[first:], plans[first:], strict=True)
                if row.status in FOUND and all(row.sizes[name] <= size for name, size in at.items())
            )
            sized = changed.with_capacity(at) if at else changed
            plans.append(_best_plan(sized, min(smaller, key=_plan_rank, default=start), options, running))
            size = values[0] if len(values) == 1 else None
            rows.append(SweepRow.from_fields(plans[-1], size=size, sizes=at, alignment=alignment, changes=chosen))
            if combinations <= MOST_SIZES or len(rows) % _REPORT_AFTER == 0:
                running.report({"done": len(rows), "combinations": combinations})
            if running.note is not None and (began := time.monotonic()) >= noted_until:
                running.note(Sweep(combinations=combinations, points=tuple(rows), plans=tuple(plans)))
                noted_until = time.monotonic() + _NOTED_PART * (time.monotonic() - began)
    return Sweep(combinations=combinations, points=tuple(rows), plans=tuple(plans))


def _combination_count(sizes: SizesOf, changes: Sequence[Sequence[Change]], options: SweepOptions) -> int:
    """Return the number of combinations; raises OptionError for none and for too many."""
    if not sizes and not changes and not options.alignments:
        raise OptionError(
            "sizes, changes, alignments: one of them is required, got none: "
            'as {"sizes": {"sram": [131072, 1048576]}}, or `--size 128KiB:1MiB:64KiB`'
        )
    count = prod(len(set(values)) for values in sizes.values())
    if count > MOST_SIZES:
        raise OptionError(f"sizes: must have at most {MOST_SIZES} combinations, got {count}")
    count *= prod(map(len, changes)) * (len(options.alignments) or 1)
    if count > MOST_COMBINATIONS:
        raise OptionError(f"sweep: must have at most {MOST_COMBINATIONS} combinations, got {count}")
    return count


def _change_problem(problem: Problem, alignment: int | None, changes: Sequence[Change]) -> Problem:
    changed = apply_changes(problem, changes)
    return changed if alignment is None else align_problem(changed, alignment)


def _best_plan(problem: Problem, start: Plan | None, options: SweepOptions, running: Control) -> Plan:
    """Return the best plan of several solves from `start`, each with another seed."""
    best: Plan | None = None
    for k in range(options.repetitions):
        control = replace(running.limit_to(options.each_s), report=ignore_report)
        fields = options.fields(*SolveOptions.model_fields)
        chosen = {"seed": options.seed + k, "time_limit_s": control.remaining_s, "explain_s": 0}
        answer = plan(problem, start, options=PlanOptions.model_construct(**fields | chosen), control=control)
        best = answer if best is None else min(best, answer, key=_plan_rank)
        if best.status in ("optimal", "infeasible"):
            break
    assert best is not None, "at least one repetition was planned"
    return best


def _plan_rank(plan: Plan) -> tuple[float, ...]:
    return plan.peak is None, plan.cost or 0.0, *(use.used or 0 for use in reversed(plan.pools))


def sweep_lines(found: Sweep) -> Iterator[str]:
    """Yield the lines of a text table, and a line if the time was too short for some combinations."""
    if found.points:
        rows = list(_table_rows(found.points))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(found.points) < found.combinations:
        yield f"{len(found.points):,} of {found.combinations:,} combinations were planned in time"


def _table_rows(points: Sequence[SweepRow]) -> Iterator[list[str]]:
    """Yield the heading and the rows of a text table, with one row per planned combination."""
    is_priced = any(point.cost is not None for point in points)
    priced = ["cost", "at least"] if is_priced else []
    first = points[0]
    yield [
        *(f"size of {_printable_name(pool)}" for pool in first.sizes),
        *(["alignment"] if first.alignment else []),
        *(["changes"] if first.changes else []),
        "status",
        *priced,
        *(f"{_printable_name(use.name)} used" for use in first.pools),
    ]
    for point in points:
        costs = (point.cost, point.cost_lower_bound) if is_priced else ()
        yield [
            *map(size_text, point.sizes.values()),
            *([f"{point.alignment:,}"] if point.alignment else []),
            *([", ".join(change.text for change in point.changes)] if point.changes else []),
            point.status,
            *("" if cost is None else f"{cost:,.12g}" for cost in costs),
            *("" if use.used is None else f"{use.used:,}" for use in point.pools),
        ]


def _refuse_wrong_sweep(values: InputValues, options: SweepOptions) -> None:
    """Raise InputError for too many combinations, for unknown names, or if the first changes give no valid problem."""
    changes = values.get("changes", ())
    _combination_count(values.get("sizes", {}), changes, options)
    refuse_unknown(values["problem"], [change for axis in changes for change in axis])
    apply_changes(values["problem"], [axis[0] for axis in changes])


def _printable_name(name: str) -> str:
    return name if name.isprintable() else excerpt(name)


def _sizes_field(value: object) -> SizesOf:
    """Return the sizes of each swept pool from a field of a body; raises OptionError for wrong or too many sizes."""
    try:
        size_list = _SIZES.validate_python(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("sizes",))) from error
    sizes: SizesOf = {
        name: its if isinstance(its, tuple) else range(its.first, its.last + 1, its.step)
        for name, its in size_list.items()
    }
    for name, its in sizes.items():
        if not len(its):
            raise OptionError(f"sizes.{name}: must have a last size of at least the first")
    if (count := prod(map(len, sizes.values()))) > MOST_SIZES:
        raise OptionError(f"sizes: must have at most {MOST_SIZES} combinations, got {count}")
    return sizes


def _sizes_json(sizes: SizesOf) -> dict[str, Any]:
    return {
        name: list(its) if isinstance(its, tuple) else {"first": its.start, "last": its.stop - 1, "step": its.step}
        for name, its in sizes.items()
    }


def read_sizes(texts: tuple[str, ...], values: InputValues) -> SizesOf:
    """Return the sizes of each swept pool, given as `NAME=FROM:TO:STEP`; TO is included if a step reaches it.

    The name may be omitted if the problem has only one pool. Raises OptionError.
    """
    sizes: dict[str, range] = {}
    for text in texts:
        name, its = _pool_and_sizes(text, [pool.name for pool in values["problem"].pools])
        if name in sizes:
            raise OptionError(f"size: must be given once for each pool, got {excerpt(name)} again")
        sizes[name] = its
    if (count := prod(map(len, sizes.values()))) > MOST_SIZES:
        raise OptionError(f"size: must have at most {MOST_SIZES} combinations, got {count}")
    return sizes


def _pool_and_sizes(text: str, names: Sequence[str]) -> tuple[str, range]:
    """Return the pool and the sizes that a text [NAME=]FROM:TO:STEP denotes; raises OptionError."""
    name, equals, sizes = text.rpartition("=")
    parts = sizes.split(":")
    if len(parts) != 3 or (equals and not name):
        raise OptionError(f"size: must be {_FORM}, got {excerpt(text)}")
    if not equals and len(names) > 1:
        raise OptionError(f"size: must name a pool if there are several, as {_FORM}, got {excerpt(text)}")
    if equals and name not in names:
        rule = f"must name a pool of the problem ({', '.join(names)}), got {excerpt(name)}"
        raise OptionError(f"size: {rule}, such as {names[0]}={sizes}")
    return name or names[0], _size_range(*parts)


def _size_range(first: str, last: str, step: str) -> range:
    """Return the sizes in bytes from `first` up to `last` in equal steps; raises OptionError."""
    try:
        low, high, width = map(parse_size, (first, last, step))
    except ValueError as error:
        raise OptionError(f"size: {error}") from None
    if width == 0:
        raise OptionError(f"size: must have steps of at least 1 byte, got {excerpt(step)}")
    if high < low:
        meant = f"(did you mean {last}:{first}:{step}?)"
        raise OptionError(f"size: must not end below {excerpt(first)}, where it starts, got {excerpt(last)} {meant}")
    if (high - low) // width >= MOST_SIZES:
        raise OptionError(f"size: must have at most {MOST_SIZES} sizes, got {(high - low) // width + 1}")
    return range(low, high + 1, width)


def _sizes_extent(value: object) -> Extent:
    """Return the extent of the sizes in a body; raises OptionError if a sweep may not have so many."""
    fields = value if isinstance(value, dict) else {}
    count = max((len(its) for its in fields.values() if isinstance(its, list)), default=0)
    for what, many in (("pools", len(fields)), ("sizes", count)):
        if many > MOST_SIZES:
            raise OptionError(f"sizes: must have at most {MOST_SIZES} {what}, got {many}")
    return Extent(len(fields) + count)


def _refuse_capacity(sizes: SizesOf, values: InputValues, options: ProblemOptions) -> None:
    """Raise OptionError if the capacity of the only pool is given although its size is swept."""
    pools = values["problem"].pools
    if options.capacity and len(pools) == 1 and pools[0].name in sizes and "@" not in options.capacity[0]:
        rule = f"must be left out if the size of the only pool is swept, got {excerpt(options.capacity[0])}"
        raise OptionError.from_rule("capacity", rule)


SIZES = Input[SizesOf](
    "sizes",
    Sizes,
    _sizes_field,
    _sizes_json,
    "The sizes of a pool as first, last and step: 128KiB:1MiB:64KiB. Repeat it for several pools.",
    from_text=read_sizes,
    extent=_sizes_extent,
    refuse=_refuse_capacity,
    required=False,
    metavar="[NAME=]FROM:TO:STEP",
    about="The sizes of each swept pool, by its name: a list of bytes, or a range.",
)
START = replace(
    PLAN,
    name="start",
    help="A plan of the problem from which all searches start.",
    from_json=lambda value: read_plan_field(value, "start"),
    required=False,
    named_by_flag=True,
)
_POOLS = [{"name": "sram", "size": 64}, {"name": "dram", "cost": 1}]
QUESTION = Question(
    sweep,
    inputs=(PROBLEM, SIZES, CHANGES, START),
    lines=sweep_lines,
    check=_refuse_wrong_sweep,
    exit_status=lambda found: 0 if any(point.status in FOUND for point in found.points) else 1,
    exits={0: "there is a plan for some combination", 1: "nothing fits in any"},
    status=lambda _: "done",
    takes_moves=True,
    example={
        "problem": EXAMPLE | {"pools": _POOLS, "objective": "cost"},
        "sizes": {"sram": {"first": 0, "last": 128, "step": 64}},
        "changes": [[{"buffer": "conv1", "fields": {"size": 32}}, {"buffer": "conv1"}]],
        "options": {"alignments": [1, 16]},
    },
    view=ChartView("size", "peak", ("size", "peak"), is_planned=True),
)
