"""Flags and files that only `memplan recompute` has: a page of its points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.order import PAGE, title_of
from memplan.api.cli.streams import write


def _prepare(given: Given) -> None:
    given.refuse_remote("page")


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["page"] is not None:
        # Imported here: few points are looked at.
        from memplan.api.reports.page.studies import recompute_page

        write(given.flags["page"], recompute_page(title_of(given, answer.name), answer.graph, answer.frontier))
    return ()


LOCAL = Local(flags=(PAGE,), files=("page",), prepare=_prepare, finish=_finish)
