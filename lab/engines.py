"""Engines by themselves, from greedy's plan, in processor seconds: python -m lab.engines [TABLE ...] [--write].

TABLE is `bound`, thirteen problems whose best plan is at the bound of live sets; `seeds`, MiniMalloc's, with five
seeds; `above`, those of the library whose best plan is above that bound; `plain`, each engine beside the published
program from the same start; and by the clock, one after the other: `limits`, drawn problems with drawn time limits, and
what comes late; `auto`, the problems with rules that `auto` answers better with engines than without. Without a TABLE
all of them are made; `--write` puts them into docs/integer-program.md. Progress goes to standard error. What was
measured of the same solvers is kept in the file `--results`, and is not measured again.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from statistics import geometric_mean, median
from unittest.mock import patch

from lab.support.engine_alone import ROOT, EngineRun, cpu_s, measured, problem_called
from lab.support.kept_results import KeptResults
from memplan.extensions.library.entries import ProblemLibrary
from memplan.solvers.portfolio import stages
from memplan.solvers.portfolio.solve import solve

ENGINES = ("cp-sat", "highs", "cbc")
NAMES = {"cp-sat": "CP-SAT", "highs": "HiGHS", "cbc": "CBC"}
PAGE = ROOT / "docs" / "integer-program.md"
MINIMALLOC = {letter: f"library/peak/problems/minimalloc-{letter.lower()}.csv" for letter in "ACDEFHJK"}
TIGHT = {f"tight{n:03}": f"perfect:n={n},steps={steps},seed={seed}" for n, steps, seed in (
    (20, 8, 1), (30, 10, 1), (40, 13, 4), (60, 20, 1), (100, 33, 1), (200, 66, 1)
)}  # fmt: skip
"""Perfect packings; as of `LOOSE`, the first seed of each with which greedy does not meet the bound."""
LOOSE = {"loose040": "loose:n=40,life=4,seed=3", "loose100": "loose:n=100,life=11.5,seed=2"}
LOOSE |= {"loose200": "loose:n=200,life=27,seed=3"}
THIRTEEN = TIGHT | LOOSE | {letter: MINIMALLOC[letter] for letter in "ADFK"}
ABOVE = "above-the-bound"
"""The source of the library's problems whose best plan is above the bound of live sets."""
SECONDS = {"bound": 20.0, "seeds": 10.0, "above": 5.0, "plain": 20.0, "limits": 0.0, "auto": 5.0}
"""The tables, and the seconds of a run, where nothing else is said; `limits` draws its own."""
SEEDS = 5
_LATE_S = 0.5
"""The time behind its limit after which a plan is late."""
_LEAST_S, _LONG_S = 0.01, 0.5
"""The least time that is compared, and that from which on a run of the published program is a long one."""

Cell = tuple[str, str, int]
"""A solver, a problem by its name, and a seed."""


def above() -> dict[str, str]:
    """Return the files of the problems above the bound, by name."""
    library = ProblemLibrary(ROOT / "library")
    rows = [entry for entry in library.entries() if entry.source == ABOVE]
    return {row.name.removeprefix(f"{ABOVE}-"): str(library.problem(row).relative_to(ROOT)) for row in rows}


def is_solved(run: EngineRun | None) -> bool:
    """Return whether a solver has proved its best plan, by the bound or its own claim, and no drawn order made it."""
    return run is not None and run.proved_s is not None and (run.by != "greedy" or run.best == run.start)


@dataclass(frozen=True)
class Measurement:
    """What is measured: the problems, by name, that `only` names (or all), by `solvers`, for `seconds` each."""

    results: KeptResults
    solvers: Sequence[str]
    seconds: float
    only: set[str]
    jobs: int
    count: int

    def chosen(self, problems: dict[str, str]) -> dict[str, str]:
        """Return the problems that are named, or all; of files of the library, unpacked."""
        ProblemLibrary(ROOT / "library").unpack()
        return {name: problem for name, problem in problems.items() if not self.only or name in self.only}

    def runs(self, problems: dict[str, str], cells: Sequence[Cell]) -> dict[Cell, EngineRun | None]:
        """Return the runs of cells, of which several are measured at once.

        What another run's plan refutes is no proof.
        """
        with ThreadPoolExecutor(self.jobs) as pool:
            runs = list(pool.map(lambda cell: self._run(problems[cell[1]], *cell), cells))
        best: dict[str, list[float]] = {}
        for run in runs:
            if run is not None and run.best:
                best[run.problem] = min(best.get(run.problem, run.best), run.best)
        false = [run is not None and run.best > best.get(run.problem, []) for run in runs]
        honest = [replace(run, proved_s=None) if run and no else run for run, no in zip(runs, false, strict=True)]
        return dict(zip(cells, honest, strict=True))

    def _run(self, problem: str, solver: str, name: str, seed: int) -> EngineRun | None:
        def measure() -> dict[str, object] | None:
            result = measured(solver, problem, self.seconds, seed)
            print(solver, name, seed, "failed" if result is None else result, file=sys.stderr, flush=True)
            return None if result is None else asdict(result)

        fields = self.results.value_of([solver, problem, seed, self.seconds], measure)
        return None if fields is None else EngineRun(**fields)


def time_or_best(run: EngineRun | None) -> str:
    """Return the seconds of a proof, starred where a drawn order made the plan; else that, bracketed if the start."""
    if run is None:
        return "failed"
    if run.proved_s is not None:
        return f"{run.proved_s:.1f}{'' if is_solved(run) else '*'}"
    first = f"{run.best[0]:,.0f}" if run.best else "none"
    return f"({first})" if run.best == run.start else first


def table(heads: Sequence[object], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table."""
    return [f"| {' | '.join(map(str, row))} |" for row in (heads, ["---"] * len(heads), *rows)]


def bound(measurement: Measurement) -> list[str]:
    """Return what solvers make of problems at the bound, and how many each proves."""
    problems, rows = measurement.chosen(THIRTEEN), []
    runs = measurement.runs(problems, [(solver, name, 0) for name in problems for solver in measurement.solvers])
    for name in problems:
        mine = [runs[solver, name, 0] for solver in measurement.solvers]
        one = next((each for each in mine if each is not None), None)
        facts = (one.n, f"{one.start[0]:,.0f}", f"{one.bound[0]:,.0f}") if one and one.start else ("", "", "")
        rows.append((name, *facts, *map(time_or_best, mine)))
    proved = [sum(is_solved(runs[solver, name, 0]) for name in problems) for solver in measurement.solvers]
    rows.append((f"proved of {len(problems)}", "", "", "", *proved))
    return table(("problem", "n", "greedy", "bound", *(NAMES[solver] for solver in measurement.solvers)), rows)


def seeds(measurement: Measurement) -> list[str]:
    """Return, of CP-SAT, the median time of each of MiniMalloc's problems, and how many seeds solve it."""
    problems, rows = measurement.chosen(MINIMALLOC), []
    runs = measurement.runs(problems, [("cp-sat", name, seed) for name in problems for seed in range(SEEDS)])
    for name in problems:
        mine = [runs["cp-sat", name, seed] for seed in range(SEEDS)]
        times = [each.proved_s if each is not None and each.proved_s is not None else inf for each in mine]
        shown = [f"{value:.2f}" if value < inf else "" for value in (median(times), max(times))]
        rows.append((name, next((each.n for each in mine if each is not None), ""), sum(map(is_solved, mine)), *shown))
    return table(("problem", "buffers", f"of {SEEDS} seeds", "median, s", "worst, s"), rows)


def proofs(measurement: Measurement) -> list[str]:
    """Return how many of the problems above the bound each solver proves, by their kind."""
    problems = measurement.chosen(above())
    runs = measurement.runs(problems, [(solver, name, 0) for name in problems for solver in measurement.solvers])
    kinds: dict[str, list[str]] = {}
    for name in problems:
        kinds.setdefault(name.partition("-")[0], []).append(name)
    rows: list[Sequence[object]] = []
    for kind, names in {**kinds, "all": list(problems)}.items():
        proved = [sum(is_solved(runs[solver, name, 0]) for name in names) for solver in measurement.solvers]
        rows.append((kind, len(names), *proved))
    return table(("kind", "problems", *(NAMES[solver] for solver in measurement.solvers)), rows)


def plain(measurement: Measurement) -> list[str]:
    """Return how many times faster engines are than on the published program, the import of the engine left out."""
    small = {name: problem for name, problem in THIRTEEN.items() if name not in MINIMALLOC}
    small |= {name: file for name, file in above().items() if name.startswith("tight-")}
    problems, rows = measurement.chosen(small), []
    both = [each for solver in measurement.solvers for each in (solver, f"plain-{solver}")]
    runs = measurement.runs(problems, [(solver, name, 0) for name in problems for solver in both])
    for solver in measurement.solvers:
        pairs = [(runs[solver, name, 0], runs[f"plain-{solver}", name, 0]) for name in problems]
        counts = [sum(is_solved(pair[k]) for pair in pairs) for k in (0, 1)]
        # What is open has taken its limit, at least.
        times = [[_solved_s(run, measurement.seconds) for run in pair] for pair in pairs if any(map(is_solved, pair))]
        on_both = [pair for pair in times if max(pair) < measurement.seconds]
        on_long = [pair for pair in on_both if pair[1] >= _LONG_S]
        means: list[object] = []
        for some in (on_both, on_long, times):
            means += (len(some), f"{geometric_mean(slow / fast for fast, slow in some):.1f}" if some else "")
        rows.append((NAMES[solver], len(problems), *counts, *means))
    heads = ("engine", "problems", "proves", "published proves", "both", "faster", f"both, {_LONG_S} s up", "faster")
    return table((*heads, "either", "faster"), rows)


def _solved_s(run: EngineRun | None, seconds: float) -> float:
    if run is None or run.proved_s is None or not is_solved(run):
        return seconds
    return max(_LEAST_S, run.proved_s - run.import_s)


def limits(measurement: Measurement) -> list[str]:
    """Return how many of drawn solves, with limits of 0.3 to 3 s, are late or without a plan, and how late they are.

    Beside the clock stands the processor time, which other work on the machine does not lengthen.
    """
    chance, problems, rows = random.Random(0), THIRTEEN | above(), []
    for solver in measurement.solvers:
        solves = []
        for _ in range(measurement.count):
            name, limit_s = chance.choice(list(problems)), chance.uniform(0.3, 3.0)
            solve_it = partial(_limited, solver, problems[name], limit_s)
            solves.append(measurement.results.value_of(["limits", solver, problems[name], limit_s], solve_it))
        over, over_cpu, has_plan, is_own = zip(*solves, strict=True)
        late = sum(each > _LATE_S for each in over)
        counts = (len(solves), late, len(solves) - sum(has_plan), sum(is_own))
        rows.append((NAMES[solver], *counts, f"{max(over):.2f}", f"{max(over_cpu):.2f}"))
    return table(("engine", "solves", "late", "no plan", "the engine's", "latest, s", "in CPU s"), rows)


def _limited(solver: str, problem: str, limit_s: float) -> tuple[float, float, bool, bool]:
    """Return how late a plan is, by the clock and the processor, whether there is one, and whether the engine's."""
    its_problem, began, began_cpu = problem_called(problem), time.monotonic(), cpu_s()
    plan = solve(its_problem, solver=solver, time_limit_s=limit_s)
    over, over_cpu = time.monotonic() - began - limit_s, cpu_s() - began_cpu - limit_s
    print(solver, problem, f"{limit_s:.2f} {over:+.2f}", plan.status, plan.solver, file=sys.stderr, flush=True)
    return over, over_cpu, bool(plan.placements), plan.solver == solver


def auto(measurement: Measurement) -> list[str]:
    """Return the problems with rules that `auto` answers better with engines: proves, or plans with a lower peak."""
    library, better, own = ProblemLibrary(ROOT / "library"), [], []
    entries = {entry.name: entry for entry in library.entries("rules")}
    chosen = measurement.chosen({name: str(library.problem(entry)) for name, entry in entries.items()})
    for name, problem in chosen.items():
        answers = [
            measurement.results.value_of(
                ["auto", name, measurement.seconds, *without], partial(_by_auto, problem, measurement.seconds, without)
            )
            for without in ((), ENGINES)
        ]
        print(name, answers, file=sys.stderr, flush=True)
        best, other = ((status != "optimal", peak or inf) for status, peak, _ in answers)
        if best < other:
            better.append(name)
            if answers[0][2] in ENGINES:
                own.append(name)
    listed = [(", ".join(f"`{name}`" for name in some), len(some)) for some in (better, own)]
    rows = [("better with engines", *listed[0][::-1]), ("of these, an engine's plan", *listed[1][::-1])]
    return table((f"of {len(chosen)}", "problems", "names"), rows)


def _by_auto(problem: str, seconds: float, without: Sequence[str]) -> tuple[str, int | None, str]:
    """Return the status, the peak and the finder of a plan by `auto`, some solvers left out."""
    suits = stages._suits
    # The one place where a search is chosen.
    with patch.object(stages, "_suits", lambda row, instance: row.name not in without and suits(row, instance)):
        plan = solve(problem_called(problem), time_limit_s=seconds)
    return plan.status, plan.peak, plan.solver or ""


TABLES: dict[str, Callable[[Measurement], list[str]]] = {
    "bound": bound, "seeds": seeds, "above": proofs, "plain": plain, "limits": limits, "auto": auto
}  # fmt: skip


def write(name: str, lines: Sequence[str]) -> None:
    """Put a table into the page, between its mark and `<!-- end -->`."""
    begin = f"<!-- engines: {name} -->\n"
    new = f"{begin}\n" + "\n".join(lines) + "\n\n<!-- end -->"
    PAGE.write_text(re.sub(f"{begin}.*?<!-- end -->", lambda _: new, PAGE.read_text(), flags=re.DOTALL))


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description="Engines by themselves.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--solvers", default=",".join(ENGINES))
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", type=int, default=67)
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir(), "memplan-engines.jsonl"))
    given = parser.parse_args()
    results, only = KeptResults(given.results), set(given.only.split(",")) - {""}
    for name in given.tables or TABLES:
        seconds = SECONDS[name] if given.seconds is None else given.seconds
        measurement = Measurement(results, given.solvers.split(","), seconds, only, given.jobs, given.count)
        lines = TABLES[name](measurement)
        print(f"{name}, {seconds:g} s\n", *lines, "", sep="\n", flush=True)
        if given.write:
            write(name, lines)


if __name__ == "__main__":
    main()
