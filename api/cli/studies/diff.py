"""`memplan diff`: what came, went, changed and moved between two plans, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat, StudyPage, refuse_standard_twice
from memplan.api.cli.streams import read_as, read_problem, refuse_unwritable, wants_table, write
from memplan.api.reports.differences import facts, lines
from memplan.capabilities.plans.baseline import read_baseline_parts
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.studies.replanning.diff import diff as difference

DIFFERS = 1

PlanOf = Annotated[str, typer.Argument(help="A plan, JSON or CSV, or a baseline that holds problem and plan; or -.")]
ProblemOf = Annotated[str | None, typer.Option(metavar="FILE", help="The problem of a plan that is only a plan.")]


def diff(
    old: PlanOf,
    new: PlanOf,
    old_problem: ProblemOf = None,
    new_problem: ProblemOf = None,
    page_file: StudyPage = None,
    shown: ListFormat = None,
) -> None:
    """Compare two plans: buffers added, removed, resized and moved, with reasons, and the peaks.

    Sizes, lifetimes and reasons are told where the problems are known: a table holds its own. Exit status: 0 nothing
    moved, came or went, 1 something did, 2 wrong input.
    """
    refuse_standard_twice(old, new)
    refuse_unwritable(page_file)
    before, its = _read(old, old_problem)
    after, of_it = _read(new, new_problem)
    if page_file is not None:
        write(page_file, _page((old, before, its), (new, after, of_it)))
    found = difference(before, after, old_problem=its, new_problem=of_it)
    if wants_table(shown):
        write(None, "".join(f"{line}\n" for line in lines(found)).encode())
    else:
        write(None, to_json(facts(found)) + b"\n")
    raise typer.Exit(DIFFERS if found.moved or found.added or found.removed else 0)


def _page(*plans: tuple[str, Plan, Problem | None]) -> bytes:
    """Return the page of two plans; raises OptionError where a problem is not known, or a plan is not one of it."""
    # Imported here: few differences are looked at.
    from memplan.api.reports.page.comparison import PlanOf, comparison_page
    from memplan.planner.audit import verify

    shown = []
    for (path, plan, problem), word in zip(plans, ("old", "new"), strict=True):
        if problem is None:
            raise OptionError(f"page: needs the problem of {path}: give --{word}-problem")
        if violations := verify(problem, plan):
            raise OptionError(f"page: {path}: {violations[0].message}")
        shown.append(PlanOf(problem, plan, Path(path).name))
    return comparison_page(*shown)


def _read(path: str, problem_path: str | None) -> tuple[Plan, Problem | None]:
    """Read a plan, and its problem where that is known."""
    problem = None if problem_path is None else read_problem(problem_path)
    found: Any = read_as(path, lambda data: read_baseline_parts(data, path, problem))
    return found.plan, found.problem
