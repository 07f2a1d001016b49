"""The file of `memplan certify`: the text that `checkers/check.py` reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.streams import refuse_unwritable, write


def _prepare(call: Invocation) -> None:
    if call.flags["output"] is not None:
        refuse_unwritable(call.flags["output"])


def _finish(call: Invocation, answer: Any) -> Sequence[str]:
    if answer.text and call.flags["output"] is not None:
        write(call.flags["output"], answer.text.encode())
    return ()


LOCAL = CommandExtras(
    (
        flag(
            "output",
            str | None,
            None,
            "--output",
            "-o",
            metavar="CERTIFICATE",
            help="Write the certificate here, if there is one.",
        ),
    ),
    prepare=_prepare,
    finish=_finish,
    owns_output=True,
    says_lines=True,
)
