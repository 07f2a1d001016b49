"""Text for terminals: summaries of plans, tables of pools and solvers, and bar charts of live bytes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memplan.api.reports.solver_facts import OF_OTHERS, SolverFacts
from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.errors import excerpt, shorten
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.moving import as_pieces
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import size_text
from memplan.planner.verify.peak_growth import Id, LiveSet, occupancies
from memplan.questions.plan.answers import headline, moved_lines

_CHART_COLUMNS, _CHART_ROWS = 64, 6
_MEMBERS_TOLD = 5
_LONGEST_NAME = 40
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def show_plan(problem: Problem, plan: Plan, stream: TextIO, completed: Callable[[str], str] | None) -> None:
    """Write a plan's summary: status, peak, bound, pools, buffers alive at each peak, advice, and live bytes.

    `completed` adds file names to the commands that the advice suggests; without it, no advice is written.
    """
    console = Console(file=stream, highlight=False)
    console.print(escape(headline(plan)), soft_wrap=True)
    for line in moved_lines(plan):
        console.print(escape(line), soft_wrap=True)
    problem, plan = as_pieces(problem, plan)
    if plan.status in ("optimal", "feasible"):
        console.print(pool_table(problem, plan))
    for line in chain(peak_lines(problem, plan), map(completed, advice(problem, plan)) if completed else ()):
        console.print(escape(line), soft_wrap=True)
    for line in live_bytes_chart([] if problem.moves else live_bytes(compile_problem(problem))):
        console.print(escape(line), soft_wrap=True)


def _peak_text(plan: Plan) -> str:
    least = None if plan.kept is None else plan.kept.peak_without_keeping
    return "fewer bytes" if least is None else f"{least:,} bytes"


def peak_lines(problem: Problem, plan: Plan) -> Iterator[str]:
    """Yield one line per used pool that lists the buffers alive at the pool's fullest time, largest first."""
    if plan.status not in ("optimal", "feasible"):
        return
    for name, pool in occupancies(problem, plan).items():
        if pool.used:
            yield f"at the peak of {display_name(name)}{_live_set_text(pool.live_set, pool.sizes, pool.used)}"


def _live_set_text(live: LiveSet, sizes: Mapping[Id, int], used: int) -> str:
    when = "" if live.time is None else f", time {live.time}"
    text = ", ".join(f"{display_name(name)} ({sizes[name]:,})" for name in live.buffers[:_MEMBERS_TOLD])
    others = live.buffers[_MEMBERS_TOLD:]
    more = f" and {len(others):,} more ({sum(sizes[name] for name in others):,})" if others else ""
    above = f"; {used - live.bytes:,} above them" if used > live.bytes else ""
    if used < live.bytes:
        above = f"; some share bytes, {live.bytes - used:,} of these {live.bytes:,}"
    return f"{when}: {text}{more}{above}"


def advice(problem: Problem, plan: Plan) -> Iterator[str]:
    """Yield advice on how to obtain a missing plan or to prove an unproved one."""
    if plan.status == "infeasible":
        yield "`memplan explain --repairs 3` names what is in the way, and what would help"
    elif plan.status == "unknown" and plan.stop_reason == "time_limit":
        yield "a longer --time-limit may find a plan"
    elif plan.status == "feasible" and plan.gap:
        yield (
            "less is not ruled out: a longer --time-limit may find it, or prove that there is none"
            if plan.kept is None or not plan.kept.proved
            else f"the fewest moves within --accept are proved; without old places, {_peak_text(plan)} would do"
        )


def show_solvers(facts: Iterable[SolverFacts]) -> None:
    """Print a table of memplan's solvers, and one of the reference planners, to standard error."""
    own, others = Table(box=None, pad_edge=False), Table(box=None, pad_edge=False)
    for heading in ("solver", "installed", "proves", "what it is", "cannot do"):
        own.add_column(heading)
    others.add_column(OF_OTHERS, no_wrap=True)
    others.add_column("what it is")
    for solver in facts:
        if solver.source is not None:
            others.add_row(solver.name.removeprefix(OF_OTHERS), escape(solver.summary))
            continue
        lacks = ", ".join(solver.lacks) or "-"
        own.add_row(solver.name, _yes_or_no(solver.installed), _yes_or_no(solver.proves), escape(solver.summary), lacks)
    console = Console(stderr=True, highlight=False)
    for table in (own, others):
        console.print(table)


def pool_table(problem: Problem, plan: Plan) -> Table:
    """Return a table with one row per pool: its name, base address, size, peak and lower bound, all in bytes."""
    table = Table(box=None, pad_edge=False)
    table.add_column("pool")
    for heading in ("base address", "size", "peak", "", "lower bound"):
        table.add_column(heading, justify="right")
    for pool, use in zip(problem.pools, plan.pools, strict=True):
        size = "unlimited" if pool.size is None else f"{pool.size:,}"
        bound = "" if use.lower_bound is None else f"{use.lower_bound:,}"
        used = use.used or 0
        table.add_row(escape(pool.name), f"{pool.base_address:#x}", size, f"{used:,}", size_text(used), bound)
    return table


def live_bytes_chart(loads: list[tuple[int, int]]) -> list[str]:
    """Return the lines of a bar chart of live bytes over time; `loads` has (time, live bytes) for each live set.

    If there are more live sets than columns, each column shows the maximum of several. A character has eight levels.
    """
    most = max((load for _, load in loads), default=0)
    if most == 0:
        return []
    n_columns = min(_CHART_COLUMNS, len(loads))
    highest = [0] * n_columns
    for k, (_, load) in enumerate(loads):
        column = k * n_columns // len(loads)
        highest[column] = max(highest[column], load)
    eighths = [-(-load * 8 * _CHART_ROWS // most) for load in highest]
    rows = [
        "".join(_EIGHTHS[min(8, max(0, height - 8 * row))] for height in eighths).rstrip()
        for row in reversed(range(_CHART_ROWS))
    ]
    when = next(time for time, load in loads if load == most)
    span = f"from time {loads[0][0]} to {loads[-1][0]}"
    return [f"live bytes {span}: at most {most:,} ({size_text(most)}), at time {when}", *rows]


def display_name(name: Id) -> str:
    """Return a name for one terminal line: long names lose their middle, and unprintable ones are quoted."""
    text = str(name) if str(name).isprintable() else excerpt(name)
    return shorten(text, _LONGEST_NAME)


def _yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"
