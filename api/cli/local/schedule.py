"""The flag that only `memplan schedule` has: a page to look into the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.order import PAGE
from memplan.api.cli.streams import write


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["page"] is not None:
        # Imported here: few schedules are looked at.
        from memplan.api.reports.page.studies import schedule_page

        write(given.flags["page"], schedule_page(Path(given.files["problem"] or "").name, answer))
    return ()


LOCAL = Local(flags=(PAGE,), files=("page",), finish=_finish)
