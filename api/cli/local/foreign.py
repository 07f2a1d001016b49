"""Commands that read a file of another system themselves: its name tells its format."""

from __future__ import annotations

from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import STANDARD


def _prepare(given: Given) -> None:
    path = given.files["file"]
    if given.flags["name"] is None and path != STANDARD:
        given.change(name=path)


LOCAL = Local(prepare=_prepare)
