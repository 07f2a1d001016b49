"""The certificate of a plan, for `memplan plan --certificate`."""

from __future__ import annotations

import threading

from memplan.api.cli.streams import say, write
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


def certified(
    problem: Problem, answer: Plan, file: str | None, time_limit: float, cancelled: threading.Event, quiet: bool
) -> Plan:
    """Write the certificate of a plan, where a file is given, and return the plan with what it says of that."""
    if file is None:
        return answer
    # Imported here: few plans are asked for one.
    from memplan.solvers.certificates.certify import certify, with_certificate

    certificate = certify(problem, answer, time_limit_s=time_limit, cancelled=cancelled)
    if certificate.text:
        write(file, certificate.text.encode())
    elif not quiet:
        say(f"memplan: no certificate: {certificate.reason}")
    return with_certificate(answer, certificate, file if certificate.text else None)
