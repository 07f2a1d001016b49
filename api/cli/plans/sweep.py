"""`memplan plan --sweep`: cost and peaks for each of many sizes of one pool, or of several."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from pydantic_core import to_json

from memplan.api.cli.interrupts import INTERRUPTED
from memplan.api.cli.progress import ProgressLine, run_in_thread
from memplan.api.cli.streams import is_terminal, warn, write
from memplan.capabilities.sizes import parse_size, size_text
from memplan.planner.errors import OptionError, shown
from memplan.planner.lint.problems import lint
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.sweep import MOST_SIZES, SweepPoint, informed, is_found, sweep, with_sizes

NOTHING_FITS = 1
_FORM = "[NAME=]FROM:TO:STEP, as in sram=128KiB:1MiB:64KiB"


@dataclass(frozen=True)
class SweepRequest:
    """The pools of a sweep, and the sizes of each in bytes."""

    sizes: Mapping[str, range]

    @classmethod
    def read(cls, texts: Sequence[str], problem: Problem) -> SweepRequest:
        """Read `NAME=FROM:TO:STEP` for each pool; TO is among the sizes if steps lead there. Raises OptionError.

        The name may be left out where there is one pool.
        """
        sizes: dict[str, range] = {}
        for text in texts:
            name, its = _pool_and_sizes(text, [pool.name for pool in problem.pools])
            if name in sizes:
                raise OptionError(f"sweep: must be given once for each pool, got {shown(name)} again")
            sizes[name] = its
        if (count := prod(map(len, sizes.values()))) > MOST_SIZES:
            raise OptionError(f"sweep: must have at most {MOST_SIZES} combinations of sizes, got {count}")
        return cls(sizes)

    @property
    def pools(self) -> tuple[str, ...]:
        """The names of the pools."""
        return tuple(self.sizes)


def _pool_and_sizes(text: str, names: Sequence[str]) -> tuple[str, range]:
    name, equals, sizes = text.rpartition("=")
    parts = sizes.split(":")
    if len(parts) != 3 or (equals and not name):
        raise OptionError(f"sweep: must be {_FORM}, got {shown(text)}")
    if not equals and len(names) > 1:
        raise OptionError(f"sweep: must name its pool where there are several, as {_FORM}, got {shown(text)}")
    if equals and name not in names:
        raise OptionError(f"sweep: must name a pool of the problem ({', '.join(names)}), got {shown(name)}")
    return name or names[0], _sizes(*parts)


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
        for point in sweep(problem, request.sizes, plan_one):
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


def as_json(points: Sequence[SweepPoint], pools: Sequence[str]) -> bytes:
    """Write the points as a list of objects, a line each."""
    return b"[" + b",\n ".join(to_json(point.facts(pools)) for point in points) + b"]\n"


def as_csv(points: Sequence[SweepPoint], pools: Sequence[str]) -> bytes:
    """Write the points as a table, with what is used of each pool and its bound in columns of their own."""
    text = io.StringIO(newline="")
    names = [use.name for use in points[0].plan.pools] if points else []
    told = ("status", "cost", "cost_lower_bound", "peak", "lower_bound")
    sizes = ["size"] if len(pools) == 1 else [f"{name} size" for name in pools]
    out = csv.writer(text, lineterminator="\n")
    out.writerow([*sizes, *told, *(f"{name} {what}" for name in names for what in ("used", "lower bound"))])
    for point in points:
        uses = (value for use in point.plan.pools for value in (use.used, use.lower_bound))
        out.writerow([*point.sizes, *map(point.facts(pools).__getitem__, told), *uses])
    return text.getvalue().encode()


def page_of(request: SweepRequest, problem: Problem, points: Sequence[SweepPoint]) -> bytes:
    """Return the page of a sweep, in which each size opens its plan; of several pools, over the sum of their sizes."""
    # Imported here: few sweeps are looked at.
    from memplan.api.reports.page.studies import sweep_page

    sized = ((point, dict(zip(request.pools, point.sizes, strict=True))) for point in points)
    planned = [(sum(sizes.values()), with_sizes(problem, sizes), point.plan) for point, sizes in sized]
    return sweep_page(problem.name or "sweep", " + ".join(request.pools), planned)


def show_points(points: Sequence[SweepPoint], pools: Sequence[str]) -> None:
    """Show the points to people, on standard error; columns that say nothing are left out."""
    # Tables for people need a library that a program's caller does not wait for.
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for pool in pools:
        table.add_column(f"size of {escape(pool)}", justify="right")
    table.add_column("status")
    names = [use.name for use in points[0].plan.pools] if points else []
    is_priced = any(point.plan.cost is not None for point in points)
    for heading in (*(("cost", "at least") if is_priced else ()), *(f"{escape(name)} used" for name in names)):
        table.add_column(heading, justify="right")
    for point in points:
        costs = (point.plan.cost, point.plan.cost_lower_bound) if is_priced else ()
        uses = ("" if use.used is None else f"{use.used:,}" for use in point.plan.pools)
        cells = ("" if cost is None else f"{cost:,.12g}" for cost in costs)
        table.add_row(*map(size_text, point.sizes), point.plan.status, *cells, *uses)
    Console(stderr=True, highlight=False).print(table)


@dataclass(frozen=True)
class SweepOutput:
    """How the points of a sweep are told: to a file or standard output, as a table, on a page."""

    output: str | None
    written: str
    is_table: bool
    quiet: bool
    page_file: str | None

    def tell(self, request: SweepRequest, problem: Problem, points: Sequence[SweepPoint]) -> None:
        """Write the points, and show them to people."""
        if self.page_file is not None:
            write(self.page_file, page_of(request, problem, points))
        if self.output is not None or not self.is_table:
            write(self.output, WRITERS[self.written](points, request.pools))
        if self.is_table or (is_terminal(sys.stdout) and not self.quiet):
            show_points(points, request.pools)


@dataclass(frozen=True)
class SweepRun:
    """A sweep, and how it is told."""

    request: SweepRequest
    output: SweepOutput

    def run(self, problem: Problem, options: Mapping[str, Any], control: SolveControl, line: ProgressLine) -> int:
        """Plan for all sizes, tell the points, and return the exit status."""
        points = run_sweep(self.request, problem, options, control, line)
        if not self.output.quiet:
            warn(lint(problem))
        self.output.tell(self.request, problem, points)
        return status_of(points, control.cancelled is not None and control.cancelled.is_set())


WRITERS: Mapping[str, Callable[[Sequence[SweepPoint], Sequence[str]], bytes]] = {"json": as_json, "csv": as_csv}
