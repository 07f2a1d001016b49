"""The files of `memplan certify`, and the certificate beside a plan, for `checkers/check.py` or VeriPB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.api.cli.flags import Flag
from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.api.cli.running import graceful_interrupts
from memplan.api.cli.streams import CERTIFICATE, refuse_unwritable, suffix_of, write
from memplan.planner.model.plan import Plan
from memplan.solvers.processes.apart import run_in_thread

_OUTPUT = (
    "Write the certificate to this file, if there is one. For one pool, FILE.opb is a formula for "
    "VeriPB, with its proof in FILE.pbp."
)
_VERIPB = (".opb", ".pbp")


def _targets(call: Invocation) -> list[str]:
    """Return the files to write; VeriPB needs two."""
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
        from memplan.questions.certify.certify import for_veripb

        texts = list(for_veripb(call.question["problem"], answer))
    for path, text in zip(targets, texts, strict=False):
        write(path, text.encode())
    return ()


def certified_plan(call: Invocation, answer: Plan) -> Plan:
    """Write the certificate of a plan, and return the plan with the facts about it."""
    (path, *_) = (path for path in call.outputs if suffix_of(path) == CERTIFICATE)
    from memplan.questions.certify.certify import certified

    with graceful_interrupts() as cancelled:
        limit_s = max(0.01, min(call.options.time_limit_s, call.left_s()))
        problem = call.question["problem"]
        plan, certificate = run_in_thread(lambda: certified(problem, answer, path, limit_s, cancelled))
    if certificate.text:
        write(path, certificate.text.encode())
    else:
        call.said.append(f"no certificate: {certificate.reason}")
    return plan


LOCAL = CommandExtras(
    (Flag("output", "--output", "-o", metavar="CERTIFICATE", help=_OUTPUT),),
    prepare=_prepare,
    finish=_finish,
    owns_output=True,
    says_lines=True,
)
