"""Flags of `memplan certify` alone: the text that `checkers/check.py` reads, or what VeriPB does, in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import Given, Local
from memplan.api.cli.streams import STANDARD, refuse_unwritable, write
from memplan.planner.errors import OptionError

_TEXT = "Write the certificate here, if there is one; checkers/check.py checks it."


_VERIPB = (".opb", ".pbp")
_TO = "What is written: the certificate, or for one pool CERTIFICATE.opb and CERTIFICATE.pbp, which VeriPB checks."


def _prepare(given: Given) -> None:
    output = given.flags["output"]
    if given.flags["to"] is None:
        refuse_unwritable(output)
    elif output in (None, STANDARD):
        raise OptionError("output: must name the two files, without .opb and .pbp")
    else:
        for suffix in _VERIPB:
            refuse_unwritable(f"{output}{suffix}")


def _finish(given: Given, answer: Any) -> Sequence[str]:
    output = given.flags["output"]
    if output is None or not answer.text:
        return ()
    if given.flags["to"] is None:
        write(output, answer.text.encode())
        return ()
    # Imported here: few certificates are for VeriPB.
    from memplan.capabilities.certify.certify import for_veripb

    for suffix, text in zip(_VERIPB, for_veripb(given.question["problem"], answer), strict=True):
        write(f"{output}{suffix}", text.encode())
    return ()


LOCAL = Local(
    (
        flag("output", str | None, None, "--output", "-o", metavar="CERTIFICATE", help=_TEXT),
        flag("to", Literal["veripb"] | None, None, "--to", metavar="veripb", help=_TO),
    ),
    prepare=_prepare,
    finish=_finish,
    owns_output=True,
    says_lines=True,
)
