"""Flags of `memplan replay` alone: the new plan in a file, and its sentences for people beside the JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.arguments import PlanOutput
from memplan.api.cli.flags import keyword
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import refuse_unwritable, write
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.verify.replay.replay import problem_in


def _prepare(given: Given) -> None:
    refuse_unwritable(given.flags["output"])
    if given.flags["output"] is not None:
        given.change(with_plan=True)


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["output"] is not None and answer.plan is not None:
        problem = problem_in(given.question["bundle"].problem.file)
        write(given.flags["output"], write_plan(answer.plan, problem, "json"))
    return ()


LOCAL = Local(
    (keyword("output", PlanOutput, None),), prepare=_prepare, finish=_finish, owns_output=True, says_lines=True
)
