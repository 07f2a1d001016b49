"""Problems whose best plan is above the bound of what is alive: python -m lab.above FOLDER [--seconds 2].

Each kind below is drawn with its sizes, twelve to sixty buffers, over the seeds; a problem is taken where `auto` proves
that its best plan is above the bound with which every search starts. They are written as
FOLDER/KIND/NAME, which `lab.library_problems` reads; `lab.engines above` asks engines to prove them by themselves.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from lab.families import pose
from memplan.planner import formats
from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve


class Kind(NamedTuple):
    """A kind of the library, a family of problems, and their sizes: `number` of each.

    Where only engines prove, two of which must say the same, `by_clock` gives them a minute.
    """

    library: str
    family: str
    sizes: tuple[str, ...]
    number: int
    by_clock: bool = False


KINDS = (
    Kind(
        "peak", "tight", ("n=12,live=4", "n=16,live=5", "n=22,live=5", "n=28,live=7", "n=36,live=7", "n=48,live=8"), 2
    ),
    Kind("peak", "aligned", ("n=12", "n=14", "n=16", "n=18", "n=20", "n=24"), 2),
    Kind("rules", "conflicting", ("n=12", "n=14", "n=16", "n=18", "n=20", "n=22"), 2),
    Kind("pools", "costly", ("n=12", "n=16", "n=20", "n=30", "n=40", "n=60"), 2),
    Kind("rules", "banked", ("n=12", "n=13", "n=14", "n=15", "n=16", "n=18"), 2, by_clock=True),
)
_TRIES = 40
"""The seeds that are tried for each size."""


def is_above(problem: Problem, plan: Plan) -> bool:
    """Return whether a plan is proved to be the best, and is above the first bound."""
    instance = compile_problem(problem)
    first = lower_bound(instance)
    if plan.status != "optimal" or plan.peak is None:
        return False
    if plan.cost is not None:
        return plan.cost > first.score[0] * (1 + 1e-9)
    return plan.peak > first.total * instance.unit


def write(folder: Path, kind: Kind, seconds: float) -> None:
    """Draw the problems of a kind, and write those that are taken."""
    for size in kind.sizes:
        taken = 0
        for seed in range(1, _TRIES + 1):
            name = f"{kind.family}:{size},seed={seed}"
            problem = pose(name)
            limit_s = 60.0 if kind.by_clock else seconds
            plan = solve(problem, time_limit_s=limit_s, deterministic=not kind.by_clock)
            if is_above(problem, plan):
                file = name.replace(":", "-").replace(",", "-").replace("=", "")
                path = folder / kind.library / f"{file}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(formats.memplan_json.write_problem(problem))
                by = plan.proof.by if plan.proof else None
                print(name, plan.peak, plan.cost, by, file=sys.stderr, flush=True)
                taken += 1
            if taken == kind.number:
                break
        else:
            print(f"{kind.family}:{size}: {taken} of {kind.number} in {_TRIES} seeds", file=sys.stderr)


def main() -> None:
    """Write the problems of all kinds, or of those that are named."""
    parser = argparse.ArgumentParser(description="Problems whose best plan is above the bound.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for kind in KINDS:
        if given.only in ("", kind.family):
            write(given.folder, kind, given.seconds)


if __name__ == "__main__":
    main()
