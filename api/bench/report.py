"""The report as plain text: a table of the runs, one of the solvers, and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memplan.api.bench.results import Result
from memplan.api.bench.summary import Cell, Summary

_INDENT = "  "
_RUNS = ("solver", "outcome", "solved", "peak", "peak/bound", "wall s", "CPU s", "RSS MB")
_SOLVERS = ("solver", "runs", "plans", "solved", "peak/bound", "PAR2 s", "wall s", "CPU s")


def text_report(summary: Summary) -> str:
    """Return the whole report, in lines of plain text."""
    parts = [_run_table(summary), _table(_SOLVERS, _solver_rows(summary)), "\n".join(remarks(summary))]
    return "\n\n".join(part for part in parts if part) + "\n"


def remarks(summary: Summary) -> list[str]:
    """Say how to read the tables, where the figures come from, and what went wrong."""
    shared, instances = len(summary.shared()), len(summary.of_instance)
    machines = sorted({row.machine for row in summary.rows if row.machine})
    versions = sorted({row.version for row in summary.rows if row.version})
    without_plan = [row for row in (*summary.rows, *summary.skipped) if row.outcome != "plan"]
    return [
        "Solved: a valid plan at the best bound that anybody proved.",
        "PAR2: mean wall time, where a run that is not solved counts twice its limit.",
        f"Other means: geometric, over the {shared} of {instances} instances that every solver planned in every run.",
        *(f"Machine: {machine}" for machine in machines),
        *(f"Version: {version}" for version in versions),
        *(f"FALSE CLAIM: {_run(row)}: bound {row.lower_bound}, {row.status}" for row in summary.false_claims()),
        *(f"{row.outcome}: {_run(row)}: {row.message}" for row in without_plan),
        *(f"over its time limit: {_run(row)}: {row.wall_time_s:.2f} s" for row in summary.overruns()),
        *(
            f"above a known peak: {solver} on {', '.join(above)}"
            for solver in summary.solvers
            if (above := summary.above_known_peak(solver))
        ),
    ]


def _run_table(summary: Summary) -> str:
    """Set the runs under a line for each instance, so that names of files do not widen the table."""
    cells = [cell for instance in summary.of_instance for cell in summary.of(instance)]
    header, *lines = _table(_RUNS, map(_run_row, cells)).split("\n")
    parts = [f"{_INDENT}{header}"]
    for k, (cell, line) in enumerate(zip(cells, lines, strict=True)):
        if k == 0 or cells[k - 1].instance != cell.instance:
            counts = (row.buffers for row in summary.of_instance[cell.instance] if row.buffers is not None)
            parts.append(f"{cell.instance}: {next(counts, '?')} buffers, bound {_shown(cell.bound)}")
        parts.append(f"{_INDENT}{line}")
    return "\n".join(parts)


def _run_row(cell: Cell) -> tuple[str, ...]:
    """Return the words of a solver on an instance: medians over the seeds."""
    solved, peak = f"{cell.n_solved}/{len(cell.runs)}", (_shown(cell.peak), _shown(cell.ratio, ".5f"))
    times = _shown(cell.wall_time_s, ".4f"), _shown(cell.cpu_time_s, ".4f")
    memory = _shown(cell.peak_rss_bytes and cell.peak_rss_bytes / 1e6, ".0f")
    return cell.solver, cell.outcomes, solved, *peak, *times, memory


def _solver_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the words of each solver, the best PAR2 first."""
    rows = []
    for line in summary.lines():
        counts = map(str, (line.runs, line.plans, line.solved))
        times = (_shown(seconds, ".4f") for seconds in (line.par2_s, line.wall_s, line.cpu_s))
        rows.append((line.solver, *counts, _shown(line.mean_ratio, ".5f"), *times))
    return rows


def _run(row: Result) -> str:
    return f"{row.solver} on {row.instance}, seed {row.seed}"


def _shown(value: float | None, spec: str = "") -> str:
    return "-" if value is None else format(value, spec)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set rows in columns: words to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if name in ("solver", "outcome") else text.rjust(width)
            for text, width, name in zip(line, widths, header, strict=True)
        ).rstrip()
        for line in lines
    )
