"""Flags of `memplan certificate` alone: the text that `checkers/check.py` reads, in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import refuse_unwritable, write

_TEXT = "Write the certificate here, if there is one; checkers/check.py checks it."


def _prepare(given: Given) -> None:
    refuse_unwritable(given.flags["output"])


def _finish(given: Given, answer: Any) -> Sequence[str]:
    if given.flags["output"] is not None and answer.text:
        write(given.flags["output"], answer.text.encode())
    return ()


LOCAL = Local(
    (flag("output", str | None, None, "--output", "-o", metavar="CERTIFICATE", help=_TEXT),),
    prepare=_prepare,
    finish=_finish,
    owns_output=True,
    says_lines=True,
)
