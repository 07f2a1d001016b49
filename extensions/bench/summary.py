"""Summaries of result rows for each solver, on each instance and over all instances, and their report as text."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from statistics import mean, median, median_low

from memplan.extensions.bench.results import Result, latest_rows

SHORTEST_S = 1e-4
"""Shorter times, in seconds, are raised to this value, because their differences are noise of clock and pipes."""


def outcome_word(run: Result) -> str:
    """Return the outcome of a run as one word."""
    return run.status or "plan" if run.outcome == "plan" else run.outcome


def is_own(run: Result) -> bool:
    """Return True if the requested solver itself found the run's plan, instead of keeping the greedy plan."""
    if run.outcome != "plan" or run.solver == "auto" or "=" in run.solver or run.found_by is None:
        return run.outcome == "plan"
    return run.found_by.partition(":")[0] == run.solver.partition(":")[0]


@dataclass(frozen=True)
class Cell:
    """The runs of one solver on one instance, with medians over the seeds."""

    instance: str
    solver: str
    bound: float | None
    runs: tuple[Result, ...]

    @cached_property
    def plans(self) -> list[Result]:
        """The runs that found a valid plan."""
        return [run for run in self.runs if run.outcome == "plan"]

    @property
    def peak(self) -> float | None:
        """The median peak in bytes of the runs with a plan, or None if there are none."""
        return median_low([run.peak for run in self.plans if run.peak is not None]) if self.plans else None

    @property
    def ratio(self) -> float | None:
        """The median peak divided by the best lower bound, or None if either is missing."""
        return self.peak / self.bound if self.peak is not None and self.bound else None

    @property
    def n_solved(self) -> int:
        """The number of runs that `is_solved` counts as solved."""
        return sum(self.is_solved(run) for run in self.runs)

    def is_solved(self, run: Result) -> bool:
        """Return True if a run's peak is at the best lower bound of all runs, or if the run proved its plan optimal.

        A run that found that nothing fits is solved, too; `Summary.false_claims` lists wrong claims.
        """
        if run.outcome == "none":
            return run.status == "infeasible"
        if run.outcome != "plan" or run.peak is None or self.bound is None:
            return False
        return run.peak <= self.bound or (run.status == "optimal" and (run.lower_bound or 0) <= self.bound)

    @property
    def wall_time_s(self) -> float | None:
        """The median wall time, in seconds, of the runs with a plan."""
        return self._median_of("wall_time_s")

    @property
    def cpu_time_s(self) -> float | None:
        """The median CPU time, in seconds, of the runs with a plan."""
        return self._median_of("cpu_time_s")

    @property
    def peak_rss_bytes(self) -> float | None:
        """The median peak memory use, in bytes, of the runs with a plan."""
        return self._median_of("peak_rss_bytes")

    def _median_of(self, field: str) -> float | None:
        """Return the median of a result field over the runs with a plan; None if it is always missing."""
        values = [value for run in self.plans if (value := getattr(run, field)) is not None]
        return median(values) if values else None

    @property
    def outcomes(self) -> str:
        """The outcomes of the runs, such as `optimal`, or `2 optimal, 1 late`."""
        counts = Counter(map(outcome_word, self.runs))
        if len(counts) == 1:
            return next(iter(counts))
        return ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))

    def penalised_s(self, run: Result) -> float:
        """Return a run's PAR2 time in seconds: the wall time or, for an unsolved run, twice the time limit."""
        if not self.is_solved(run) or run.wall_time_s is None:
            return 2 * run.time_limit_s
        return max(run.wall_time_s, SHORTEST_S)


@dataclass(frozen=True)
class SolverLine:
    """The totals of a solver over all instances. `own` counts the plans that the solver found itself.

    `mean_ratio`, `cpu_s` and `wall_s` are geometric means over the shared instances: those for which every solver found
    a plan in every run. The means are None if no instance is shared.
    """

    solver: str
    runs: int
    plans: int
    own: int
    solved: int
    mean_ratio: float | None
    par2_s: float
    wall_s: float | None
    cpu_s: float | None


class Summary:
    """Result rows grouped by instance and solver; skipped runs are listed separately in `skipped`."""

    def __init__(self, results: Iterable[Result]) -> None:
        """Group the latest row of each run by instance and solver; a solver counts separately for each time limit."""
        rows = latest_rows(results)
        limits = {row.time_limit_s for row in rows}
        self.skipped = [row for row in rows if row.outcome == "skipped"]
        self.rows = [row for row in rows if row.outcome != "skipped"]
        self.of_instance: dict[str, list[Result]] = defaultdict(list)
        grouped: dict[tuple[str, str], list[Result]] = defaultdict(list)
        for row in self.rows:
            label = row.solver if len(limits) == 1 else f"{row.solver} ({row.time_limit_s:g} s)"
            self.of_instance[row.instance].append(row)
            grouped[row.instance, label].append(row)
        self.solvers = list(dict.fromkeys(solver for _, solver in grouped))
        self.cells = {key: Cell(*key, self.bound(key[0]), tuple(runs)) for key, runs in grouped.items()}

    def bound(self, instance: str) -> float | None:
        """Return an instance's best proved lower bound in bytes, or None; bounds above a plan's peak are ignored."""
        peaks = [row.peak for row in self.of_instance[instance] if row.outcome == "plan" and row.peak is not None]
        bounds = [row.lower_bound for row in self.of_instance[instance] if row.lower_bound is not None]
        return max((bound for bound in bounds if bound <= min(peaks, default=bound)), default=None)

    def false_claims(self) -> list[Result]:
        """Return the runs whose claims a valid plan refutes: a lower bound above its peak, or that no plan exists."""
        wrong = []
        for rows in self.of_instance.values():
            best = min((row.peak for row in rows if row.outcome == "plan" and row.peak is not None), default=None)
            wrong += [
                row
                for row in rows
                if best is not None and (row.status == "infeasible" or (row.lower_bound or 0) > best)
            ]
        return wrong

    def overruns(self) -> list[Result]:
        """Return the completed runs that exceeded their time limit by more than half a second."""
        return [row for row in self.rows if row.outcome != "late" and (row.wall_time_s or 0.0) > row.time_limit_s + 0.5]

    def improvable_instances(self, solver: str) -> list[str]:
        """Return the instances on which a solver's median peak is above the peak of a known plan."""
        return [
            instance
            for (instance, name), cell in self.cells.items()
            if name == solver and cell.peak is not None and cell.peak > min(_proved_peaks(cell), default=cell.peak)
        ]

    def shared_instances(self) -> list[str]:
        """Return the instances for which every solver found a plan in every run."""
        return [
            instance
            for instance, rows in self.of_instance.items()
            if all(row.outcome == "plan" for row in rows)
            and all((instance, solver) in self.cells for solver in self.solvers)
        ]

    def cells_of(self, instance: str) -> list[Cell]:
        """Return the cells of all solvers on an instance."""
        return [cell for (name, _), cell in self.cells.items() if name == instance]

    def lines(self) -> list[SolverLine]:
        """Return the totals of each solver, in ascending order of PAR2.

        PAR2 is the mean time, in which an unsolved run counts twice its time limit.
        """
        rows, shared = [], set(self.shared_instances())
        for solver in self.solvers:
            cells = [cell for (_, name), cell in self.cells.items() if name == solver]
            runs, plans = sum(len(cell.runs) for cell in cells), sum(len(cell.plans) for cell in cells)
            common = [cell for cell in cells if cell.instance in shared]
            line = SolverLine(
                solver,
                runs,
                plans,
                sum(is_own(run) for cell in cells for run in cell.runs),
                sum(cell.n_solved for cell in cells),
                mean_ratio=geometric_mean([cell.ratio for cell in common]),
                par2_s=mean(cell.penalised_s(run) for cell in cells for run in cell.runs),
                wall_s=geometric_mean([cell.wall_time_s for cell in common], SHORTEST_S),
                cpu_s=geometric_mean([cell.cpu_time_s for cell in common], SHORTEST_S),
            )
            rows.append(line)
        return sorted(rows, key=lambda line: line.par2_s)


def _proved_peaks(cell: Cell) -> list[float]:
    return [run.known_peak for run in cell.runs if run.known_peak is not None]


def geometric_mean(values: Iterable[float | None], at_least: float = 0.0) -> float | None:
    """Return the geometric mean of the values; None is ignored, and values below `at_least` are raised to it."""
    clipped = [max(value, at_least) for value in values if value is not None]
    return exp(mean(log(value) for value in clipped)) if clipped and min(clipped) > 0 else None


_INDENT = "  "
_RUNS = ("solver", "outcome", "by", "solved", "peak", "peak/bound", "wall s", "CPU s", "RSS MB")
_SOLVERS = ("solver", "runs", "plans", "own", "solved", "peak/bound", "PAR2 s", "wall s", "CPU s")


def text_report(summary: Summary) -> str:
    """Return the whole report as text: a table of runs, a table of solvers, and remarks."""
    parts = [_run_table(summary), text_table(_SOLVERS, _solver_rows(summary)), "\n".join(remarks(summary))]
    return "\n\n".join(part for part in parts if part) + "\n"


def remarks(summary: Summary) -> list[str]:
    """Return remarks that explain the tables, name machines and versions, and list failed runs."""
    shared, instances = len(summary.shared_instances()), len(summary.of_instance)
    machines = sorted({row.machine for row in summary.rows if row.machine})
    versions = sorted({row.version for row in summary.rows if row.version})
    without_plan = [row for row in (*summary.rows, *summary.skipped) if row.outcome != "plan"]
    return [
        "Solved: a valid plan at the best bound that anybody proved, or nothing fits.",
        *(["Cost: the peak and its bound are those of the cost."] * any(row.counts for row in summary.rows)),
        "Own: plans that the solver found itself; a named engine starts from one of greedy, and may find none.",
        "PAR2: mean wall time, where a run that is not solved counts twice its limit.",
        f"Other means: geometric, over the {shared} of {instances} instances that every solver planned in every run.",
        *(f"Machine: {machine}" for machine in machines),
        *(
            ["Times of different machines are beside each other here, and say nothing of solvers."]
            * (len(machines) > 1)
        ),
        *(f"Version: {version}" for version in versions),
        *(f"FALSE CLAIM: {_run_text(row)}: bound {row.lower_bound}, {row.status}" for row in summary.false_claims()),
        *(f"{row.outcome}: {_run_text(row)}: {row.message}" for row in without_plan),
        *(f"over its time limit: {_run_text(row)}: {row.wall_time_s:.2f} s" for row in summary.overruns()),
        *(
            f"above a known peak: {solver} on {', '.join(above)}"
            for solver in summary.solvers
            if (above := summary.improvable_instances(solver))
        ),
    ]


def _run_table(summary: Summary) -> str:
    """Return the table of runs, in which each instance has a heading line, so that long names do not widen a column."""
    cells = [cell for instance in summary.of_instance for cell in summary.cells_of(instance)]
    header, *lines = text_table(_RUNS, map(_run_row, cells)).split("\n")
    parts = [f"{_INDENT}{header}"]
    for k, (cell, line) in enumerate(zip(cells, lines, strict=True)):
        if k == 0 or cells[k - 1].instance != cell.instance:
            counts = (row.buffers for row in summary.of_instance[cell.instance] if row.buffers is not None)
            what = "cost, bound" if any(row.counts for row in summary.of_instance[cell.instance]) else "bound"
            parts.append(f"{cell.instance}: {next(counts, '?')} buffers, {what} {_format_value(cell.bound)}")
        parts.append(f"{_INDENT}{line}")
    return "\n".join(parts)


def _run_row(cell: Cell) -> tuple[str, ...]:
    solved, peak = f"{cell.n_solved}/{len(cell.runs)}", (_format_value(cell.peak), _format_value(cell.ratio, ".5f"))
    times = _format_value(cell.wall_time_s, ".4f"), _format_value(cell.cpu_time_s, ".4f")
    memory = _format_value(cell.peak_rss_bytes and cell.peak_rss_bytes / 1e6, ".0f")
    return cell.solver, cell.outcomes, _finder_and_prover(cell.runs), solved, *peak, *times, memory


def _finder_and_prover(runs: Iterable[Result]) -> str:
    makers = Counter((str(run.found_by).partition(":")[0], run.proved_by) for run in runs if run.found_by is not None)
    finder, proved = max(makers, key=lambda pair: makers[pair], default=("-", None))
    return finder if proved in (None, finder) else f"{finder}, {proved}"


def _solver_rows(summary: Summary) -> list[tuple[str, ...]]:
    rows = []
    for line in summary.lines():
        counts = map(str, (line.runs, line.plans, line.own, line.solved))
        times = (_format_value(seconds, ".4f") for seconds in (line.par2_s, line.wall_s, line.cpu_s))
        rows.append((line.solver, *counts, _format_value(line.mean_ratio, ".5f"), *times))
    return rows


def _run_text(row: Result) -> str:
    return f"{row.solver} on {row.instance}, seed {row.seed}"


def _format_value(value: float | None, spec: str = "") -> str:
    return "-" if value is None else format(value, spec)


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as text, with words left-aligned and numbers right-aligned in their columns."""
    lines = [header, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if name in ("solver", "outcome", "by") else text.rjust(width)
            for text, width, name in zip(line, widths, header, strict=True)
        ).rstrip()
        for line in lines
    )
