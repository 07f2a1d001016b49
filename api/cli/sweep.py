"""`memplan plan --sweep`: cost and peaks for each of many sizes of one pool."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import to_json

from memplan.api.cli.interrupts import INTERRUPTED
from memplan.api.cli.progress import ProgressLine, run_in_thread
from memplan.api.reports.sizes import parse_size, size_text
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.sweep import SweepPoint, informed, is_found, sweep, with_size

NOTHING_FITS = 1
MOST_SIZES = 1000
_FORM = "[NAME=]FROM:TO:STEP, as in sram=128KiB:1MiB:64KiB"


@dataclass(frozen=True)
class SweepRequest:
    """The pool of a sweep, and its sizes in bytes."""

    pool: str
    sizes: range

    @classmethod
    def read(cls, text: str, problem: Problem) -> SweepRequest:
        """Read `NAME=FROM:TO:STEP`; TO is among the sizes if steps lead there. Raises OptionError.

        The name may be left out where there is one pool.
        """
        name, equals, sizes = text.rpartition("=")
        parts = sizes.split(":")
        if len(parts) != 3 or (equals and not name):
            raise OptionError(f"sweep: must be {_FORM}, got {shown(text)}")
        names = [pool.name for pool in problem.pools]
        if not equals and len(names) > 1:
            raise OptionError(f"sweep: must name its pool where there are several, as {_FORM}, got {shown(text)}")
        if equals and name not in names:
            raise OptionError(f"sweep: must name a pool of the problem ({', '.join(names)}), got {shown(name)}")
        return cls(name or names[0], _sizes(*parts))


def _sizes(first: str, last: str, step: str) -> range:
    try:
        low, high, width = map(parse_size, (first, last, step))
    except ValueError as error:
        raise OptionError(f"sweep: {error}") from None
    if width == 0:
        raise OptionError(f"sweep: must go in steps of at least 1 byte, got {shown(step)}")
    if high < low:
        raise OptionError(f"sweep: must not end below {shown(first)}, where it starts, got {shown(last)}")
    if (high - low) // width >= MOST_SIZES:
        raise OptionError(f"sweep: must have at most {MOST_SIZES} sizes, got {(high - low) // width + 1}")
    return range(low, high + 1, width)


def run_sweep(
    request: SweepRequest, problem: Problem, options: Mapping[str, Any], control: SolveControl, line: ProgressLine
) -> list[SweepPoint]:
    """Plan for each size in turn, with the time limit of the options each, until all is done or cancelled."""
    started = time.monotonic()
    points: list[SweepPoint] = []

    def plan_one(sized: Problem, known: Plan | None) -> Plan:
        return solve(sized, **options, control=replace(control, deadline=None, start=known))

    def work() -> None:
        for point in sweep(problem, request.pool, request.sizes, plan_one):
            points.append(point)
            if control.cancelled is not None and control.cancelled.is_set():
                return

    run_in_thread(work, lambda: line.draw(time.monotonic() - started))
    line.erase()
    return informed(points)


def status_of(points: Sequence[SweepPoint], was_interrupted: bool) -> int:
    """Return the exit status: 0 if there is a plan for any size."""
    if was_interrupted:
        return INTERRUPTED
    return 0 if any(is_found(point.plan) for point in points) else NOTHING_FITS


def row(point: SweepPoint) -> dict[str, Any]:
    """Return the facts about one size: the quality of its plan, and its use in bytes; None if not known."""
    plan = point.plan
    return {
        "size": point.size,
        "status": plan.status,
        "stop_reason": plan.stop_reason,
        "cost": plan.cost,
        "cost_lower_bound": plan.cost_lower_bound,
        "peak": plan.peak,
        "lower_bound": plan.lower_bound,
        "pools": [use.model_dump() for use in plan.pools],
        "solver": plan.solver,
    }


def as_json(points: Sequence[SweepPoint]) -> bytes:
    """Write the points as a list of objects, a line each."""
    return b"[" + b",\n ".join(to_json(row(point)) for point in points) + b"]\n"


def as_csv(points: Sequence[SweepPoint]) -> bytes:
    """Write the points as a table, with what is used of each pool and its bound in columns of their own."""
    text = io.StringIO(newline="")
    names = [use.name for use in points[0].plan.pools] if points else []
    told = ("size", "status", "cost", "cost_lower_bound", "peak", "lower_bound")
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*told, *(f"{name} {what}" for name in names for what in ("used", "lower bound"))])
    for point in points:
        uses = (value for use in point.plan.pools for value in (use.used, use.lower_bound))
        out.writerow([*(row(point)[name] for name in told), *uses])
    return text.getvalue().encode()


def page_of(request: SweepRequest, problem: Problem, points: Sequence[SweepPoint]) -> bytes:
    """Return the page of a sweep, in which each size opens its plan."""
    # Imported here: few sweeps are looked at.
    from memplan.api.reports.page.studies import sweep_page

    planned = [(point.size, with_size(problem, request.pool, point.size), point.plan) for point in points]
    return sweep_page(problem.name or "sweep", request.pool, planned)


def show_points(points: Sequence[SweepPoint], pool: str) -> None:
    """Show the points to people, on standard error."""
    # Tables for people need a library that a program's caller does not wait for.
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(f"size of {escape(pool)}", justify="right")
    table.add_column("status")
    names = [use.name for use in points[0].plan.pools] if points else []
    for heading in ("cost", "at least", *(f"{escape(name)} used" for name in names)):
        table.add_column(heading, justify="right")
    for point in points:
        costs = (point.plan.cost, point.plan.cost_lower_bound)
        uses = ("" if use.used is None else f"{use.used:,}" for use in point.plan.pools)
        cells = ("" if cost is None else f"{cost:,.12g}" for cost in costs)
        table.add_row(size_text(point.size), point.plan.status, *cells, *uses)
    Console(stderr=True, highlight=False).print(table)


WRITERS: Mapping[str, Callable[[Sequence[SweepPoint]], bytes]] = {"json": as_json, "csv": as_csv}
