"""Engines by themselves, from greedy's plan, in processor seconds: python -m lab.engines TABLE [--seconds 20] [...].

TABLE is `bound`, thirteen problems whose best plan is at the bound of live sets; `seeds`, MiniMalloc's, with five
seeds; `above`, those of the library whose best plan is above that bound; `plain`, each engine beside the published
program from the same start; `limits`, drawn problems with drawn time limits, and what comes late; `auto`, the
problems with rules that `auto` answers better with engines than without, by the clock. The tables of
docs/integer-program.md are made so; progress goes to standard error. `--results FILE` keeps each run of an engine by
itself as a line of JSON, and takes from there what was run before.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from math import inf
from pathlib import Path
from statistics import geometric_mean, median
from unittest.mock import patch

from lab.support.engine_alone import ROOT, EngineRun, cpu_s, measured, problem_called
from memplan.api.library.entries import ProblemLibrary
from memplan.solvers.portfolio import stages
from memplan.solvers.portfolio.solve import solve

ENGINES = ("cp-sat", "highs", "cbc")
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
_LATE_S = 0.5
"""The time behind its limit after which a plan is late."""
_RESULTS: list[Path] = []
"""The file that keeps runs, if there is one."""


def above() -> dict[str, str]:
    """Return the files of the problems above the bound, by name."""
    library = ProblemLibrary(ROOT / "library")
    rows = [entry for entry in library.entries() if entry.source == ABOVE]
    return {row.name.removeprefix(f"{ABOVE}-"): str(library.problem(row).relative_to(ROOT)) for row in rows}


def is_solved(run: EngineRun | None) -> bool:
    """Return whether a solver has proved its best plan, by the bound or its own claim, and no drawn order made it."""
    return run is not None and run.proved_s is not None and (run.by != "greedy" or run.best == run.start)


def run(solver: str, name: str, problem: str, seconds: float, seed: int = 0) -> EngineRun | None:
    """Measure one cell, unless it was before with as much time, or solved; and report it."""
    lines = [line for file in _RESULTS if file.exists() for line in file.read_text().splitlines()]
    for given_s, before in ((fields.pop("given_s"), EngineRun(**fields)) for fields in map(json.loads, lines)):
        is_same = (before.solver, before.problem, before.seed) == (solver, problem, seed)
        if is_same and (given_s == seconds or (before.proved_s or inf) <= seconds <= given_s):
            return before
    result = measured(solver, problem, seconds, seed)
    print(solver, name, seed, "failed" if result is None else result, file=sys.stderr, flush=True)
    if result is not None:
        for file in _RESULTS:
            with file.open("a") as rows:
                rows.write(json.dumps(asdict(result) | {"given_s": seconds}) + "\n")
    return result


def cell(found: EngineRun | None) -> str:
    """Return the seconds of a proof, starred where a drawn order made the plan; else that, bracketed if the start."""
    if found is None:
        return "failed"
    if found.proved_s is not None:
        return f"{found.proved_s:.1f}{'' if is_solved(found) else '*'}"
    first = f"{found.best[0]:g}" if found.best else "none"
    return f"({first})" if found.best == found.start else first


def table(problems: dict[str, str], solvers: Iterable[str], seconds: float) -> None:
    """Print what solvers make of problems, and how many each proves."""
    print(f"| problem | n | greedy | bound | {' | '.join(solvers)} |\n|{'---|' * (4 + len(list(solvers)))}", flush=True)
    proved = dict.fromkeys(solvers, 0)
    for name, problem in problems.items():
        runs = [run(solver, name, problem, seconds) for solver in solvers]
        for solver, found in zip(solvers, runs, strict=True):
            proved[solver] += is_solved(found)
        one = next((each for each in runs if each is not None), None)
        facts = [one.n, f"{one.start[0]:g}" if one.start else "none", f"{one.bound[0]:g}"] if one else ["", "", ""]
        print(f"| {name} | {' | '.join(map(str, [*facts, *map(cell, runs)]))} |", flush=True)
    print(f"| proved of {len(problems)} | | | | {' | '.join(map(str, proved.values()))} |")


def seeds(solvers: Iterable[str], seconds: float, count: int) -> None:
    """Print the median time of each of MiniMalloc's problems, and how many seeds solve it."""
    for solver in solvers:
        print(f"| {solver} | n | solved of {count} | median, s | worst, s |\n|---|---|---|---|---|", flush=True)
        for name, problem in MINIMALLOC.items():
            runs = [run(solver, name, problem, seconds, seed) for seed in range(count)]
            times = [each.proved_s if each is not None and each.proved_s is not None else seconds for each in runs]
            n = next((each.n for each in runs if each is not None), "")
            print(
                f"| {name} | {n} | {sum(map(is_solved, runs))} | {median(times):.2f} | {max(times):.2f} |", flush=True
            )


def plain(solvers: Iterable[str], seconds: float) -> None:
    """Print how many times faster engines are than on the published program, over what both solve."""
    small = {name: problem for name, problem in THIRTEEN.items() if name not in MINIMALLOC}
    small |= {name: file for name, file in above().items() if name.startswith("tight-")}
    print("| engine | solved | plain | both | times faster |\n|---|---|---|---|---|", flush=True)
    for solver in solvers:
        pairs = []
        counts = [0, 0]
        for name, problem in small.items():
            ours, published = (run(each, name, problem, seconds) for each in (solver, f"plain-{solver}"))
            counts[0] += is_solved(ours)
            counts[1] += is_solved(published)
            if ours and published and ours.proved_s is not None and published.proved_s is not None:
                pairs.append(max(published.proved_s, 0.01) / max(ours.proved_s, 0.01))
        mean = f"{geometric_mean(pairs):.1f}" if pairs else ""
        print(f"| {solver} | {counts[0]} | {counts[1]} | {len(pairs)} | {mean} |", flush=True)


def limits(solvers: Iterable[str], count: int, seed: int) -> None:
    """Print how many of drawn solves, with limits of 0.3 to 3 s, are late or without a plan, and how late they are.

    Beside the clock stands the processor time, which other work on the machine does not lengthen.
    """
    chance, problems = random.Random(seed), THIRTEEN | above()
    heads = ("engine", "solves", "late", "no plan", "of the engine", "latest, s", "in cpu s")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for solver in solvers:
        over, over_cpu, without, own = [], [], 0, 0
        for _ in range(count):
            name, limit_s = chance.choice(list(problems)), chance.uniform(0.3, 3.0)
            problem, began, began_cpu = problem_called(problems[name]), time.monotonic(), cpu_s()
            plan = solve(problem, solver=solver, time_limit_s=limit_s)
            over.append(time.monotonic() - began - limit_s)
            over_cpu.append(cpu_s() - began_cpu - limit_s)
            without += not plan.placements
            own += plan.solver == solver
            print(solver, name, f"{limit_s:.2f} {over[-1]:+.2f}", plan.status, plan.solver, file=sys.stderr, flush=True)
        cells = [solver, count, sum(each > _LATE_S for each in over), without, own]
        print(f"| {' | '.join(map(str, cells))} | {max(over):.2f} | {max(over_cpu):.2f} |", flush=True)


def auto(seconds: float, only: set[str]) -> None:
    """Print the problems with rules that `auto` answers better with engines: proves, or plans with a lower peak."""
    library, suits = ProblemLibrary(ROOT / "library"), stages._suits
    print("| problem | with engines | by | without |\n|---|---|---|---|", flush=True)
    for entry in library.entries("rules"):
        if only and entry.name not in only:
            continue
        plans = []
        for left_out in ((), ENGINES):
            # The one place where a search is chosen.
            is_chosen = partial(
                lambda without, row, instance: row.name not in without and suits(row, instance), left_out
            )
            with patch.object(stages, "_suits", is_chosen):
                plans.append(solve(problem_called(str(library.problem(entry))), time_limit_s=seconds))
        cells = [f"{plan.peak}, {plan.status}" for plan in plans]
        print(entry.name, cells, file=sys.stderr, flush=True)
        best, other = ((plan.status != "optimal", plan.peak or inf) for plan in plans)
        if best < other:
            by = f"{plans[0].solver}, {plans[0].proof.by if plans[0].proof else ''}"
            print(f"| {entry.name} | {cells[0]} | {by} | {cells[1]} |", flush=True)


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description="Engines by themselves.")
    parser.add_argument("table", choices=["bound", "seeds", "above", "plain", "limits", "auto"])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--solvers", default=",".join(ENGINES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--count", type=int, default=67)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    solvers, only = given.solvers.split(","), set(given.only.split(",")) - {""}
    _RESULTS[:] = [given.results] if given.results else []
    if given.table == "seeds":
        seeds(solvers, given.seconds, given.seeds)
    elif given.table == "plain":
        plain(solvers, given.seconds)
    elif given.table == "auto":
        auto(given.seconds, only)
    elif given.table == "limits":
        limits(solvers, given.count, seed=0)
    else:
        problems = THIRTEEN if given.table == "bound" else above()
        table({k: v for k, v in problems.items() if not only or k in only}, solvers, given.seconds)


if __name__ == "__main__":
    main()
