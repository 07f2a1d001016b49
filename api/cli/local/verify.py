"""`memplan verify` alone: sentences beside its JSON, the plan inside of a file, and plans and pages that it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memplan.api.cli.arguments import SavePlan
from memplan.api.cli.flags import keyword
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.plan_output import OPEN, PAGE, show_page
from memplan.api.cli.streams import refuse_unwritable, write
from memplan.api.reports.plan_formats import write_plan
from memplan.capabilities.question import Question
from memplan.capabilities.reading import Reader
from memplan.planner.errors import OptionError


def _reads(reader: Reader, given: Mapping[str, Any]) -> Question | None:
    """Look for a plan inside of the file, where none comes with it."""
    reader.seeks_plan = given["plan"] is None
    return None


def _prepare(given: Given) -> None:
    output, options = given.flags["save_plan"], given.options
    refuse_unwritable(output)
    if output is not None:
        if not (options.better or options.again):  # type: ignore[attr-defined]  # those of verify
            raise OptionError("save-plan: must be given with better or again, whose plan it is")
        given.change(with_plans=True)


def _finish(given: Given, answer: Any) -> Sequence[str]:
    part = answer.better if answer.again is None else answer.again
    if given.flags["save_plan"] is not None and part is not None and part.plan is not None:
        write(given.flags["save_plan"], write_plan(part.plan, given.question["problem"], "json"))
    show_page(given, given.question["plan"])
    return ()


LOCAL = Local(
    (keyword("save_plan", SavePlan, None), PAGE, OPEN),
    files=("page_file",),
    reads=_reads,
    prepare=_prepare,
    finish=_finish,
    says_lines=True,
)
