"""Engines by themselves, from greedy's plan, in processor seconds: python -m lab.engines TABLE [--seconds 20] [...].

TABLE is `bound`, thirteen problems whose best plan is at the bound of live sets; `seeds`, MiniMalloc's, with five
seeds; `above`, those of the library whose best plan is above that bound; `plain`, each engine beside the published
program from the same start. The tables of docs/integer-program.md are made so; progress goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from statistics import geometric_mean, median

from lab.support.engine_alone import ROOT, EngineRun, measured
from memplan.api.library.entries import ProblemLibrary

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


def above() -> dict[str, tuple[str, float]]:
    """Return the file and the best value, in bytes, of the problems above the bound, by name."""
    library = ProblemLibrary(ROOT / "library")
    rows = [entry for entry in library.entries() if entry.source == ABOVE and entry.best is not None]
    return {row.name: (str(library.problem(row).relative_to(ROOT)), float(row.best or 0)) for row in rows}


def is_solved(run: EngineRun | None) -> bool:
    """Return whether a solver has proved its best plan, by the bound or its own claim."""
    return run is not None and run.proved_s is not None


def run(solver: str, name: str, problem: str, seconds: float, seed: int = 0) -> EngineRun | None:
    """Measure one cell, and say so."""
    found = measured(solver, problem, seconds, seed)
    print(solver, name, seed, "failed" if found is None else found, file=sys.stderr, flush=True)
    return found


def cell(found: EngineRun | None) -> str:
    """Return the seconds of a proof, or the best plan, in brackets where it is the start."""
    if found is None:
        return "failed"
    if found.proved_s is not None:
        return f"{found.proved_s:.1f}"
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
    small |= {name: file for name, (file, _) in list(above().items())[::4]}
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


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description="Engines by themselves.")
    parser.add_argument("table", choices=["bound", "seeds", "above", "plain"])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--solvers", default=",".join(ENGINES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    solvers, only = given.solvers.split(","), set(given.only.split(",")) - {""}
    if given.table == "seeds":
        seeds(solvers, given.seconds, given.seeds)
    elif given.table == "plain":
        plain(solvers, given.seconds)
    else:
        problems = THIRTEEN if given.table == "bound" else {name: file for name, (file, _) in above().items()}
        table({k: v for k, v in problems.items() if not only or k in only}, solvers, given.seconds)


if __name__ == "__main__":
    main()
