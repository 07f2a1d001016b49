"""The report as plain text: a table of the runs, and one of the solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memplan.api.bench.reports.summary import Summary
from memplan.api.bench.results import Result

_INDENT = "  "
RUN_HEADER = (
    "instance",
    "buffers",
    "bound",
    "solver",
    "outcome",
    "solved",
    "peak",
    "peak/bound",
    "wall s",
    "CPU s",
    "RSS MB",
)
SOLVER_HEADER = ("solver", "runs", "plans", "solved", "peak/bound", "PAR2 s", "wall s", "CPU s")


def text_report(summary: Summary) -> str:
    """Return the whole report, in lines of plain text."""
    parts = [
        _run_table(summary),
        _table(SOLVER_HEADER, solver_rows(summary)),
        "\n".join(remarks(summary)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def run_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the cells of the first table: an instance and solver a row, medians over the seeds."""
    rows: list[tuple[str, ...]] = []
    for instance, results in summary.of_instance.items():
        buffers = next((str(row.buffers) for row in results if row.buffers is not None), "")
        for cell in (cell for (name, _), cell in summary.cells.items() if name == instance):
            rows.append(
                (
                    instance,
                    buffers,
                    _shown(cell.bound),
                    cell.solver,
                    cell.outcomes,
                    f"{cell.n_solved}/{len(cell.runs)}",
                    _shown(cell.peak),
                    _shown(cell.ratio, ".5f"),
                    _shown(cell.wall_time_s, ".4f"),
                    _shown(cell.cpu_time_s, ".4f"),
                    _shown(cell.peak_rss_bytes and cell.peak_rss_bytes / 1e6, ".0f"),
                )
            )
    return rows


def solver_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the cells of the second table: a solver a row, the best PAR2 first, and the virtual best."""
    return [
        (
            line.solver,
            str(line.runs),
            str(line.plans),
            str(line.solved),
            _shown(line.mean_ratio, ".5f"),
            _shown(line.par2_s, ".4f"),
            _shown(line.wall_s, ".4f"),
            _shown(line.cpu_s, ".4f"),
        )
        for line in (*summary.lines(), *filter(None, [summary.virtual_best()]))
    ]


def remarks(summary: Summary) -> list[str]:
    """Say how to read the tables, where the figures come from, and what went wrong."""
    shared, instances = len(summary.shared()), len(summary.of_instance)
    machines = sorted({row.machine for row in summary.rows if row.machine})
    versions = sorted({row.version for row in summary.rows if row.version})
    return [
        "Solved: a valid plan at the best bound that anybody proved.",
        "PAR2: mean wall time, where a run that is not solved counts twice its limit.",
        f"Other means: geometric, over the {shared} of {instances} instances that every solver planned in every run.",
        "The virtual best takes, for each instance, the best solver.",
        *(f"Machine: {machine}" for machine in machines),
        *(f"Version: {version}" for version in versions),
        *(f"FALSE CLAIM: {_run(row)}: bound {row.lower_bound}, {row.status}" for row in summary.false_claims()),
        *(f"{row.outcome}: {_run(row)}: {row.message}" for row in _without_plan(summary)),
        *(f"over its time limit: {_run(row)}: {row.wall_time_s:.2f} s" for row in summary.overruns()),
        *(
            f"above a known peak: {solver} on {', '.join(above)}"
            for solver in summary.solvers
            if (above := summary.above_known_peak(solver))
        ),
    ]


def _without_plan(summary: Summary) -> list[Result]:
    return [row for row in (*summary.rows, *summary.skipped) if row.outcome != "plan"]


def _run(row: Result) -> str:
    return f"{row.solver} on {row.instance}, seed {row.seed}"


def _shown(value: float | None, spec: str = "") -> str:
    return "-" if value is None else format(value, spec)


def _run_table(summary: Summary) -> str:
    """Set the runs under a line for each instance, so that names of files do not widen the table."""
    rows = run_rows(summary)
    header, *lines = _table(RUN_HEADER[3:], [row[3:] for row in rows]).split("\n")
    parts = [f"{_INDENT}{header}"]
    for k, (row, line) in enumerate(zip(rows, lines, strict=True)):
        if k == 0 or rows[k - 1][0] != row[0]:
            instance, buffers, bound = row[:3]
            parts.append(f"{instance}: {buffers or '?'} buffers, bound {bound}")
        parts.append(f"{_INDENT}{line}")
    return "\n".join(parts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set rows in columns: words to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    words = {"instance", "solver", "outcome"}
    return "\n".join(
        "  ".join(
            text.ljust(width) if name in words else text.rjust(width)
            for text, width, name in zip(line, widths, header, strict=True)
        ).rstrip()
        for line in lines
    )
