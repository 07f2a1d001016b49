"""Sweeps of the capability `cascade`: a search for each combination of values of some options, and what each finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from operator import le
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

from memplan.capabilities.capability import Answer, CapabilityOptions
from memplan.capabilities.cascade.search.points import CascadePoint
from memplan.capabilities.cascade.search.solve import CascadeResult
from memplan.capabilities.texts import refuse
from memplan.planner.errors import broken, shown
from memplan.planner.model.rows import Name, as_tuple

Kind = TypeVar("Kind", bound=CapabilityOptions)
MOST_COMBINATIONS = 100
_APART = ("sweep", "time_limit_s", "objectives", "barriers", "point", "check")
"""The options that are those of all combinations."""
_WORDS = {"yes": True, "true": True, "no": False, "false": False}
_FORM = "NAME=VALUE,VALUE, as in stripe=1,2,4 or channels=yes,no; values with commas are separated by ;"


def _values(value: object) -> object:
    """Return the values of each option by its name, of texts NAME=VALUE,VALUE, too."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        return value
    found: dict[str, tuple[object, ...]] = {}
    for text in texts:
        name, is_named, listed = text.partition("=") if isinstance(text, str) else ("", "", "")
        if not is_named or not listed or name in found:
            raise refuse(f"must be {_FORM}, each name once, got {shown(text)}")
        found[name.replace("-", "_")] = tuple(map(_value, listed.split(";" if ";" in listed else ",")))
    return found


def _value(text: str) -> object:
    word = text.strip()
    return _WORDS[word] if word in _WORDS else int(word) if word.isdecimal() and len(word) < 20 else word


Values = Annotated[tuple[bool | int | float | str, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Sweep = Annotated[dict[Name, Values], BeforeValidator(_values)]
"""The values of each option that is swept, by its name."""


class PointFigures(Answer):
    """The figures of a point, which is planned as the others are."""

    peak: int
    macs: int
    macs_ratio: float
    traffic: int
    runs: int
    slow_traffic: int | None = Field(None, exclude_if=lambda found: found is None)


class SweptPoint(PointFigures):
    """A point of a combination; it `is_best` if no other point of any combination is as good in all objectives."""

    is_best: bool


class SweptRow(Answer):
    """The values of the options that are swept, and the points found with them; by falling peak."""

    values: dict[str, bool | int | float | str]
    layers_peak: int
    points: tuple[SweptPoint, ...]


def combinations(options: Kind, sweep: Mapping[str, Sequence[Any]]) -> list[tuple[dict[str, Any], Kind]]:
    """Return the values of each combination with its options; raises OptionError."""
    for name in sweep:
        if name in _APART or name not in type(options).model_fields:
            known = ", ".join(sorted(type(options).model_fields.keys() - set(_APART)))
            broken((("sweep",), f"must name options of a cascade ({known}), got {shown(name)}"))
    if (count := prod(map(len, sweep.values()))) > MOST_COMBINATIONS:
        broken((("sweep",), f"must have at most {MOST_COMBINATIONS} combinations, got {count}"))
    given = {name: getattr(options, name) for name in options.model_fields_set} | {"sweep": {}}
    found = []
    for values in product(*sweep.values()):
        chosen = dict(zip(sweep, values, strict=True))
        found.append((chosen, type(options).model_validate(given | chosen)))
    return found


def figures_of(point: CascadePoint) -> PointFigures:
    """Return the figures of a point."""
    slow = point.slow_traffic if point.used else None
    return PointFigures.of(point, macs_ratio=round(point.macs_ratio, 6), slow_traffic=slow)


def swept_rows(
    found: Sequence[tuple[Mapping[str, Any], CascadeResult]], objectives: Sequence[str]
) -> tuple[SweptRow, ...]:
    """Return what each combination found."""
    best = _undominated({_costs(point, objectives) for _, result in found for point in result.points})
    rows = []
    for values, result in found:
        points = tuple(
            SweptPoint.of(figures_of(point), is_best=_costs(point, objectives) in best) for point in result.points
        )
        rows.append(SweptRow(values=dict(values), layers_peak=result.layers_peak, points=points))
    return tuple(rows)


def _costs(point: CascadePoint, objectives: Sequence[str]) -> tuple[int, ...]:
    return (*(getattr(point, name) for name in objectives), point.slow_traffic)


def _undominated(costs: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Return the costs for which no others are as low in all objectives."""
    found: list[tuple[int, ...]] = []
    for one in sorted(costs):  # what is as low in all comes before
        if not any(all(map(le, other, one)) for other in found):
            found.append(one)
    return set(found)


def best_of(found: Sequence[CascadeResult]) -> CascadeResult:
    """Return the result with the lowest peak, of these the one with the fewest multiplications, the first one."""
    having = [result for result in found if result.best is not None]
    return min(having, key=lambda result: (result.best.peak, result.best.macs)) if having else found[0]  # type: ignore[union-attr]


def swept_lines(rows: Sequence[SweptRow], combinations: int) -> Iterator[str]:
    """Yield a line for each combination: the least peak that it found, and what that costs."""
    if not rows:
        return
    cells = [[*rows[0].values, "least peak", "MACs", "traffic", ""]]
    for row in rows:
        values = map(value_text, row.values.values())
        if row.points:
            least = row.points[-1]
            said = [f"{least.peak:,}", f"{100 * (least.macs_ratio - 1):+.2f} %", f"{least.traffic:,}"]
            cells.append([*values, *said, "best" if least.is_best else ""])
        else:
            cells.append([*values, "none", "", "", ""])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    if len(rows) < combinations:
        yield f"{len(rows):,} of {combinations:,} combinations were searched in time"
    yield "the combination with the least peak:"


def value_text(value: bool | int | float | str) -> str:
    """Return a value as it is said for people."""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
