"""The parts that only `memplan verify` has: the plan inside a file, and the plan and page that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.flags import BROWSER, SAVE_PLAN, TABLE
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.local.beside_plan import open_page, plan_page
from memplan.api.cli.streams import PAGE, write
from memplan.api.reports.plan_formats import write_plan
from memplan.planner.errors import OptionError


def _prepare(call: Invocation) -> None:
    options: Any = call.options
    if call.flags["save_plan"] is not None:
        if not (options.better or options.again):
            raise OptionError("save-plan: must be given with --better or --again, whose plan it is")
        call.change(with_plans=True)


def _finish(call: Invocation, answer: Any) -> Sequence[str]:
    part = answer.better if answer.again is None else answer.again
    if call.flags["save_plan"] is not None and part is not None and part.plan is not None:
        write(call.flags["save_plan"], write_plan(part.plan, call.question["problem"], "json"))
    if call.opens:
        open_page(call, call.question["plan"])
    return ()


LOCAL = CommandExtras(
    (SAVE_PLAN,),
    formats=("json", TABLE, BROWSER),
    beside={PAGE: lambda call, _answer, _path: plan_page(call, call.question["plan"])},
    files=("save_plan",),
    prepare=_prepare,
    finish=_finish,
    says_lines=True,
)
