"""The page of `memplan explain`: what does not fit, or a plan, and the plan of each repair."""

from __future__ import annotations

from typing import Any

from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.streams import PAGE


def _page(call: Invocation, answer: Any, _path: str) -> bytes:
    from memplan.api.reports.views import view

    return view("explain")(call.title(), call.question["problem"], answer)


LOCAL = CommandExtras(
    beside={PAGE: _page},
    needs_plans=(PAGE,),
    prepare=lambda call: call.change(with_plans=True) if call.has_output(PAGE) else None,
)
