"""The page of `memplan schedule`."""

from __future__ import annotations

from typing import Any

from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.streams import PAGE


def _page(call: Invocation, answer: Any, _path: str) -> bytes:
    from memplan.api.reports.views import view

    return view("schedule")(call.title(), answer)


LOCAL = CommandExtras(beside={PAGE: _page})
