"""Flags of `memplan diff` alone: the page of two plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.arguments import StudyPage
from memplan.api.cli.flags import keyword
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import write
from memplan.planner.audit import verify
from memplan.planner.errors import OptionError


def _prepare(given: Given) -> None:
    """Raise OptionError where a problem is not known, or a plan is not one of it."""
    if given.flags["page_file"] is None:
        return
    for word in ("old", "new"):
        side, path = given.question[word], given.files[word]
        if side.problem is None:
            raise OptionError(f"page: needs the problem of {path}: give --{word}-problem")
        if violations := verify(side.problem, side.plan):
            raise OptionError(f"page: {path}: {violations[0].message}")


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["page_file"] is not None:
        # Imported here: few differences are looked at.
        from memplan.api.reports.page.comparison import PlanOf, comparison_page

        before, after = (
            PlanOf(given.question[word].problem, given.question[word].plan, Path(str(given.files[word])).name)
            for word in ("old", "new")
        )
        write(given.flags["page_file"], comparison_page(before, after, answer))
    return ()


LOCAL = Local((keyword("page_file", StudyPage, None),), files=("page_file",), prepare=_prepare, finish=_finish)
