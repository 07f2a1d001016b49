"""The two tables of Cadence's memory planning: the use of each memory, and the peak live bytes over all memories.

Headings and layout are those of print_memory_planning_info (pytorch/executorch v1.5.1,
backends/cadence/aot/memory_planning.py), so that programs that parse its tables can also parse these.
"""

from collections.abc import Sequence

from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.errors import excerpt
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_HEADINGS = ("Memory Space", "Base Address", "Memory Size (Bytes)", "Peak Memory Usage (Bytes)")
_HEADING_PADDING = 2
"""The minimum number of spaces added to the width of a column's heading."""


def memory_tables(problem: Problem, plan: Plan) -> str:
    """Return both tables as text; for a memory of unlimited size, the size column is empty."""
    rows = [
        (
            pool.name if pool.name.isprintable() else excerpt(pool.name),
            hex(pool.base_address),
            "" if pool.size is None else str(pool.size),
            str(use.used or 0),
        )
        for pool, use in zip(problem.pools, plan.pools, strict=True)
    ]
    peak = peak_over_time(problem)
    most, when = (str(plan.peak or 0), "Node unknown") if peak is None else (str(peak[0]), f"Node {peak[1]}")
    total = [("Peak memory usage across all spaces", f"{most} bytes", when)]
    return "\n".join([*_draw_table(rows, _HEADINGS, numbers=(2, 3)), "", *_draw_table(total), ""])


def peak_over_time(problem: Problem) -> tuple[int, int] | None:
    """Return the peak live bytes and the first time at which they occur; None if a buffer has no lifetime.

    Bytes that views share count once, so the peak is at most the sum of the uses of all memories. The peak may be below
    the use of a single memory with holes, although Cadence's docstring denies that.
    """
    table = problem.buffers
    has_no_time = (table.first[1:] == table.first[:-1]) & (table.size > 0)
    if any(i not in problem.roots for i in has_no_time.nonzero()[0].tolist()):
        return None
    loads = live_bytes(compile_problem(problem))
    most = max((load for _, load in loads), default=0)
    return most, next((time for time, load in loads if load == most), 0)


def _draw_table(rows: Sequence[Sequence[str]], headings: Sequence[str] = (), numbers: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table with borders; columns whose index is in `numbers` are right-aligned."""
    least = [len(heading) + _HEADING_PADDING for heading in headings] or [0] * len(rows[0])
    widths = [max(narrowest, *map(len, cells)) for narrowest, cells in zip(least, zip(*rows, strict=True), strict=True)]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.rjust(width) if k in numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(aligned)} |"

    def rule(mark: str) -> str:
        return f"+{'+'.join(mark * (width + 2) for width in widths)}+"

    head = [line(headings), rule("=")] if headings else []
    return [rule("-"), *head, *map(line, rows), rule("-")]
