"""The files of `memplan certify`: the text that `checkers/check.py` reads, or what VeriPB does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.flags import flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.streams import refuse_unwritable, write

_OUTPUT = "Write the certificate here, if there is one; FILE.opb, of one pool, is what VeriPB checks, beside FILE.pbp."
_VERIPB = (".opb", ".pbp")


def _targets(call: Invocation) -> list[str]:
    """Return the files to write: two of them for VeriPB."""
    output = call.flags["output"]
    is_pair = output is not None and Path(output).suffix in _VERIPB
    return [str(Path(output).with_suffix(suffix)) for suffix in _VERIPB] if is_pair else [output] if output else []


def _prepare(call: Invocation) -> None:
    for path in _targets(call):
        refuse_unwritable(path)


def _finish(call: Invocation, answer: Any) -> Sequence[str]:
    targets = _targets(call) if answer.text else []
    texts = [answer.text]
    if len(targets) > 1:
        # Imported here: few certificates are for VeriPB.
        from memplan.capabilities.certify.certify import for_veripb

        texts = list(for_veripb(call.question["problem"], answer))
    for path, text in zip(targets, texts, strict=False):
        write(path, text.encode())
    return ()


LOCAL = CommandExtras(
    (flag("output", str | None, None, "--output", "-o", metavar="CERTIFICATE", help=_OUTPUT),),
    prepare=_prepare,
    finish=_finish,
    owns_output=True,
    says_lines=True,
)
