"""The flag that only `memplan shapes` has: a page of the peak over each symbol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.local.order import PAGE
from memplan.api.cli.streams import write
from memplan.capabilities.shapes.shapes import ShapesAnswer


def _finish(given: Given, answer: ShapesAnswer) -> Sequence[str]:
    if given.flags["page"] is None:
        return ()
    if not answer.curves:
        return ("no page: no symbol has several values",)
    # Imported here: few answers are looked at.
    from memplan.api.reports.page.studies import shapes_page

    write(given.flags["page"], shapes_page(Path(given.files["problem"] or "").name, answer.curves))
    return ()


LOCAL = Local(flags=(PAGE,), files=("page",), finish=_finish)
