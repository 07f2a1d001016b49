"""The files of `memplan check`: reports, a page, the plan and the next baseline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.checks.reports import REPORTS
from memplan.api.cli.advice import CommandLine
from memplan.api.cli.flags import ON, SAVE_BASELINE, SAVE_PLAN, Flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.local.check_folder import check_many
from memplan.api.cli.streams import PAGE, format_for, suffix_of, write
from memplan.api.reports.plan_formats import write_plan
from memplan.planner.errors import OptionError
from memplan.planner.instance.audit import verify
from memplan.planner.model.sizes import UNLIMITED
from memplan.questions.check.budgets import read_budgets
from memplan.questions.plan.baseline import write_baseline

_BUDGETS = (
    "A TOML file with the budgets of all models in a folder, and how each is read: a table for "
    "each model, by its path, and [default] for what these leave out."
)


def _runs(line: CommandLine) -> int | None:
    """Check each model of a folder, or one model with a file of budgets."""
    return check_many(line, LOCAL)


def _prepare(call: Invocation) -> None:
    if call.files["baseline"] is not None and "baseline" not in call.question:
        call.say(f"{call.files['baseline']}: is made now, so that nothing is compared with it before the next check")
    format_for(call.flags["save_plan"])
    if call.flags["subject"] is None:
        call.change(subject=call.files["problem"])
    if call.has_output(PAGE):
        _refuse_no_comparison(call)
        call.change(differences=True)
    if call.flags["save_baseline"] is not None and not call.flags["budgets"] and "baseline" not in call.question:
        call.change(budgets=(UNLIMITED,))  # the result is the baseline of later checks
    has_files = any(call.flags[name] is not None for name in ("save_plan", "save_baseline"))
    call.change(with_plan=has_files or call.has_output(PAGE))


def _refuse_no_comparison(call: Invocation) -> None:
    """Raise OptionError if a compared plan has no known problem, or does not belong to it."""
    baseline = call.question.get("baseline")
    if baseline is None:
        raise OptionError("page: needs a baseline, whose plan is shown beside this one")
    problem = call.question.get("baseline_problem", baseline.problem)
    if problem is None:
        raise OptionError(f"page: needs the problem of {call.files['baseline']}: give --baseline-problem")
    if "problem" not in call.question:
        raise OptionError(f"page: needs the problem of {call.files['problem']}: give it, and the plan as --plan")
    if violations := verify(problem, baseline.plan):
        raise OptionError(f"page: {call.files['baseline']}: {violations[0].message}")


def _page(call: Invocation, answer: Any, _path: str) -> bytes | None:
    if answer.plan is None or answer.difference is None:
        return None
    from memplan.api.reports.views import PlanOf, view

    then, problem = call.question["baseline"], call.question["problem"]
    its = call.question.get("baseline_problem", then.problem)
    before = PlanOf(its, then.plan, Path(str(call.files["baseline"])).name)
    after = PlanOf(problem, answer.plan, Path(str(call.files["plan"] or call.files["problem"])).name)
    return view("comparison")(before, after, answer.difference)


def _finish(call: Invocation, answer: Any) -> Sequence[str]:
    if answer.plan is None or "problem" not in call.question:
        return ()
    problem, _ = read_budgets(call.flags["budgets"] or (), call.question["problem"])
    if (path := call.flags["save_plan"]) is not None:
        write(path, write_plan(answer.plan, problem, format_for(path)))
    if (path := call.flags["save_baseline"]) is not None and answer.pools:
        if "baseline" in call.question and os.path.realpath(path) == os.path.realpath(str(call.files["baseline"])):
            return (f"{path}: stays as it was, as it is compared with; without --baseline it is new",)
        write(path, write_baseline(problem, answer.plan))
    return ()


LOCAL = CommandExtras(
    (Flag("budgets_file", "--budgets", metavar="TOML", help=_BUDGETS), SAVE_PLAN, SAVE_BASELINE, ON),
    forms={suffix: lambda _call, answer, path: REPORTS[suffix_of(path)](answer) for suffix in REPORTS},
    beside={PAGE: _page},
    files=("save_plan", "save_baseline"),
    runs=_runs,
    prepare=_prepare,
    finish=_finish,
    says_lines=True,
)
