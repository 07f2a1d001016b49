"""Flags of `memplan check` alone: reports, the plan and the next baseline in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.checks.reports import REPORTS
from memplan.api.cli.advice import CommandLine
from memplan.api.cli.arguments import SaveBaseline, SavePlan, StudyPage
from memplan.api.cli.flags import flag, keyword
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.check_folder import check_many
from memplan.api.cli.streams import format_for, refuse_unwritable, write
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.check.budgets import read_budgets
from memplan.capabilities.check.check import CAPABILITY, lines
from memplan.capabilities.plan.baseline import write_baseline
from memplan.planner.audit import verify
from memplan.planner.errors import OptionError, shown

_BUDGETS = "What each model of a folder may use, and how it is read: a table for each by its path, and [default]."
_REPORT = f"Write a report: {', '.join(REPORTS)}; repeat it."


def _runs(line: CommandLine) -> int | None:
    """Check each model of a folder, or one with a file of budgets."""
    for path in line.given["report"] or ():
        if Path(path).suffix not in REPORTS:
            raise OptionError(f"report: must end in {', '.join(REPORTS)}, got {shown(path)}")
        refuse_unwritable(path)
    return check_many(line, LOCAL)


def _prepare(given: Given) -> None:
    if given.files["baseline"] is not None and "baseline" not in given.question:
        given.say(f"{given.files['baseline']}: is made now, so that nothing is compared with it before the next check")
    refuse_unwritable(given.flags["save_baseline"])
    format_for(given.flags["save_plan"], None)
    refuse_unwritable(given.flags["save_plan"])
    if given.flags["subject"] is None:
        given.change(subject=given.files["problem"])
    if given.flags["page_file"] is not None:
        _refuse_no_comparison(given)
        given.change(differences=True)
    names = ("save_plan", "save_baseline", "page_file")
    given.change(with_plan=any(given.flags[name] is not None for name in names))


def _refuse_no_comparison(given: Given) -> None:
    """Raise OptionError where a problem of one of the two plans is not known, or a plan is not one of it."""
    baseline = given.question.get("baseline")
    if baseline is None:
        raise OptionError("page: needs a baseline, whose plan is shown beside this one")
    problem = given.question.get("baseline_problem", baseline.problem)
    if problem is None:
        raise OptionError(f"page: needs the problem of {given.files['baseline']}: give --baseline-problem")
    if "problem" not in given.question:
        raise OptionError(f"page: needs the problem of {given.files['problem']}: give it, and the plan as --plan")
    if violations := verify(problem, baseline.plan):
        raise OptionError(f"page: {given.files['baseline']}: {violations[0].message}")


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if answer.plan is None or "problem" not in given.question:
        return ()
    problem, _ = read_budgets(given.flags["budgets"] or (), given.question["problem"])
    if (path := given.flags["save_plan"]) is not None:
        write(path, write_plan(answer.plan, problem, format_for(path, None)))
    if given.flags["save_baseline"] is not None and answer.pools:
        write(given.flags["save_baseline"], write_baseline(problem, answer.plan))
    if given.flags["page_file"] is not None and answer.difference is not None:
        # Imported here: few differences are looked at.
        from memplan.api.reports.page.comparison import PlanOf, comparison_page

        then = given.question["baseline"]
        its = given.question.get("baseline_problem", then.problem)
        before = PlanOf(its, then.plan, Path(str(given.files["baseline"])).name)
        after = PlanOf(problem, answer.plan, Path(str(given.files["plan"] or given.files["problem"])).name)
        write(given.flags["page_file"], comparison_page(before, after, answer.difference))
    return ()


def _shows(given: Given, answer: Any) -> bool:
    """Write the reports in place of the JSON on standard output, where there are some."""
    for path in given.flags["report"] or ():
        write(path, REPORTS[Path(path).suffix](answer))
    if not given.flags["report"]:
        return False
    if given.flags["output"] is not None:
        write(given.flags["output"], CAPABILITY.write(answer))
    for line in () if given.flags["quiet"] else lines(answer):
        given.say(line)
    return True


LOCAL = Local(
    (
        flag("budgets_file", str | None, None, "--budgets", metavar="TOML", help=_BUDGETS),
        keyword("save_plan", SavePlan, None),
        flag("report", list[str] | None, None, "--report", metavar="REPORT", help=_REPORT),
        keyword("save_baseline", SaveBaseline, None),
        keyword("page_file", StudyPage, None),
    ),
    files=("page_file",),
    runs=_runs,
    prepare=_prepare,
    finish=_finish,
    shows=_shows,
    says_lines=True,
)
