"""Passes the file's name on, from which `memplan compare` infers its kind."""

from __future__ import annotations

from memplan.api.cli.flags import ON
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.local.several_files import more, run_each
from memplan.api.cli.streams import STANDARD


def _take_name(call: Invocation) -> None:
    path = call.files["file"]
    if call.flags["name"] is None and path != STANDARD:
        call.change(name=path)


LOCAL: CommandExtras = CommandExtras(
    (more("Further models, compared each by itself into -o FOLDER/."), ON),
    runs=lambda line: run_each(line, LOCAL),
    prepare=_take_name,
)
