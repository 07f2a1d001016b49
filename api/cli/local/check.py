"""`memplan check`: check a model against its budgets, and write reports, a page, the plan and the next baseline."""

import os
from pathlib import Path
from typing import Any

from memplan.api.checks.reports import REPORTS
from memplan.api.cli.advice import CommandLine
from memplan.api.cli.asking import Call, answer_of_call, end_call, read_call, write_answer, write_beside
from memplan.api.cli.flags import ON, SAVE_BASELINE, SAVE_PLAN, Flag
from memplan.api.cli.local.check_folder import apply_budgets, check_folder, is_folder
from memplan.api.cli.question_command import command_of
from memplan.api.cli.streams import PAGE, format_for, suffix_of, write_output
from memplan.api.reports.plan_formats import write_plan
from memplan.planner.errors import OptionError
from memplan.planner.instance.audit import verify
from memplan.planner.model.sizes import UNLIMITED
from memplan.questions.check.budgets import read_budgets
from memplan.questions.check.check import QUESTION, CheckOptions
from memplan.questions.plan.baseline import write_baseline

_BUDGETS = (
    "A TOML file with the budgets of all models in a folder, and how each is read: a table for "
    "each model, by its path, and [default] for what these leave out."
)


@command_of(
    QUESTION,
    *(Flag("budgets_file", "--budgets", metavar="TOML", help=_BUDGETS), SAVE_PLAN, SAVE_BASELINE, ON),
    forms=REPORTS,
    beside=(PAGE,),
)
def check(line: CommandLine) -> int:
    """Check one model with its table of the budgets file, or each model of a folder; return the exit status."""
    if is_folder(line):
        return check_folder(line)
    call = read_call(apply_budgets(line))
    _adjust_options(call)
    answer = answer_of_call(call)
    told = [each.model_copy(update={"message": line.complete(each.message)}) for each in answer.failures]
    answer = answer.model_copy(update={"failures": tuple(told)})  # Reports need commands that run as they are written.
    write_answer(
        call, answer, {suffix: lambda path: REPORTS[suffix_of(path)](answer) for suffix in REPORTS}, says_lines=True
    )
    write_beside(call, {PAGE: lambda _path: _comparison_page(call, answer)})
    _save_files(call, answer)
    return end_call(call, answer)


def _adjust_options(call: Call) -> None:
    """Set the options of a check that follow from its flags: a page needs differences, a saved file needs the plan."""
    if call.files["baseline"] is not None and "baseline" not in call.values:
        call.say(f"{call.files['baseline']}: is a new baseline, so only the next check can compare with it")
        call.change(tolerance=CheckOptions().tolerance)
    format_for(call.flags["save_plan"])
    if call.flags["subject"] is None:
        call.change(subject=call.files["problem"])
    if call.has_output(PAGE):
        _require_comparable_baseline(call)
        call.change(differences=True)
    if call.flags["save_baseline"] is not None and not call.flags["budgets"] and "baseline" not in call.values:
        call.change(budgets=(UNLIMITED,))  # The first run only saves a baseline, so accept any size.
    has_files = any(call.flags[name] is not None for name in ("save_plan", "save_baseline"))
    call.change(with_plan=call.flags["with_plan"] or has_files or call.has_output(PAGE))


def _require_comparable_baseline(call: Call) -> None:
    """Raise OptionError unless the page can compare two plans.

    It needs a baseline with a valid plan, and the problems of both the baseline and the new plan.
    """
    baseline = call.values.get("baseline")
    if baseline is None:
        raise OptionError("page: requires a baseline, because the page compares the baseline's plan with the new one")
    problem = call.values.get("baseline_problem", baseline.problem)
    if problem is None:
        raise OptionError(
            f"page: requires the problem of {call.files['baseline']}: give this problem as --baseline-problem"
        )
    if "problem" not in call.values:
        rule = "the problem as input and the plan as --plan"
        raise OptionError(
            f"page: must show the same problem as {call.files['problem']}; to get such a page, give {rule}"
        )
    if violations := verify(problem, baseline.plan):
        raise OptionError(f"page: {call.files['baseline']}: {violations[0].message}")


def _comparison_page(call: Call, answer: Any) -> bytes | None:
    """Return the page that compares the baseline's plan with the new one; None without both plans."""
    if answer.plan is None or answer.difference is None:
        return None
    from memplan.api.reports.views import PlanOf, comparison_page

    then, problem = call.values["baseline"], call.values["problem"]
    its = call.values.get("baseline_problem", then.problem)
    before = PlanOf(its, then.plan, Path(str(call.files["baseline"])).name)
    after = PlanOf(problem, answer.plan, Path(str(call.files["plan"] or call.files["problem"])).name)
    return comparison_page(before, after, answer.difference)


def _save_files(call: Call, answer: Any) -> None:
    """Write the plan and the next baseline to the files that the flags name."""
    if answer.plan is None or "problem" not in call.values:
        return
    problem, _ = read_budgets(call.flags["budgets"] or (), call.values["problem"])
    if (path := call.flags["save_plan"]) is not None:
        write_output(path, write_plan(answer.plan, problem, format_for(path)))
    if (path := call.flags["save_baseline"]) is not None and answer.pools:
        if "baseline" in call.values and os.path.realpath(path) == os.path.realpath(str(call.files["baseline"])):
            call.said.append(
                f"{path}: is unchanged, because it is the baseline of this check; to replace it, omit --baseline"
            )
        else:
            write_output(path, write_baseline(problem, answer.plan))
