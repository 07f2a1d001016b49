"""The question `certify`: it writes a certificate of a plan, which can be checked without memplan."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from pydantic import Field

from memplan.checkers import veripb
from memplan.planner.errors import OptionError, PlanError, count_text
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.audit import refuse_other_plan, verify
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.questions.inputs import PLAN, PROBLEM
from memplan.questions.question import AnswerOfFile, Control, PlanLink, Question, SearchOptions, Seconds
from memplan.solvers.certificates.certify import TIME_LIMIT_S, Certificate, add_certificate
from memplan.solvers.certificates.certify import certify as certificate_of
from memplan.solvers.portfolio.solve import solve

_MOST_TOLD = 10  # at most this many violations are listed in an error
_VERIPB: Any = veripb
"""Typed as Any because the checkers have no annotations: users read and run them without memplan."""


class CertifyOptions(SearchOptions):
    """Options of `certify`, in addition to those of all searches, such as the time limit."""

    proof_s: Seconds = Field(TIME_LIMIT_S, description="Spend at most this part of the time limit on the proof.")


class CertificateAnswer(AnswerOfFile):
    """The certificate of a plan, and the plan."""

    kind: Literal["live-set", "lemmas", "multipliers", "none"]
    """What the proof consists of: `live-set` (sets of conflicting buffers alone), `lemmas`, `multipliers` (Lagrange
    multipliers, for a cost), or `none` if nothing is proved."""
    text: str
    """The certificate, which is the input of `checkers/check.py`; empty if nothing is proved."""
    lemmas: int
    """The number of lemmas in it."""
    buffers: tuple[Id, ...]
    """The names of the buffers that the proof needs; the claims hold even without the others."""
    reason: str | None
    """Why nothing is proved; null if there is a certificate."""
    left_open: str | None
    """The claims of the plan that the certificate does not prove, and why; null if it proves all."""
    sha256: str | None
    """The SHA-256 hash of the text's bytes, as hexadecimal digits; null without a certificate."""
    plan: Plan
    """The plan that was given or, without one, made first."""


def certify(
    problem: Problem, plan: Plan | None = None, options: CertifyOptions = CertifyOptions(), control: Control = Control()
) -> CertificateAnswer:
    """Write a certificate that a plan is the best, or that nothing fits, which can be checked without memplan.

    If no plan is given, one is made first.
    """
    running = control.begin(options)
    if plan is not None:
        refuse_other_plan(problem, plan)
    if plan is not None and (violations := verify(problem, plan)):
        raise PlanError(*(f"plan: {violation.message}" for violation in violations[:_MOST_TOLD]))
    all_s = running.remaining_s  # Both shares must add up to the remaining time, so read the clock once.
    proof_s = min(options.proof_s, all_s / 2)
    if plan is None:
        plan = solve(
            problem,
            time_limit_s=all_s - proof_s,
            deterministic=options.deterministic,
            control=running.solve_control(keeping_s=proof_s),
        )
    left_s = min(options.proof_s, running.remaining_s)
    if problem.moves:
        # Few problems have moves, so import the module for them only here.
        from memplan.solvers.moves.certificate import certify_moves

        certificate = certify_moves(problem, plan, time_limit_s=left_s, cancelled=running.cancelled)
    else:
        certificate = certificate_of(problem, plan, time_limit_s=left_s, cancelled=running.cancelled)
    return CertificateAnswer.from_fields(certificate, sha256=certificate.facts().sha256, plan=plan)


def certify_plan(
    problem: Problem, plan: Plan, file: str, time_limit_s: float, cancelled: threading.Event
) -> tuple[Plan, Certificate]:
    """Return the plan with a reference to the certificate in `file`, and the certificate; both empty if unproved."""
    certificate = certificate_of(problem, plan, time_limit_s=time_limit_s, cancelled=cancelled)
    return add_certificate(plan, certificate, file if certificate.text else None), certificate


def veripb_files(problem: Problem, found: CertificateAnswer) -> tuple[str, str]:
    """Return (OPB formula, VeriPB proof) of a certified claim; raises OptionError if the proof has no translation."""
    try:
        formula, proof = _VERIPB.translate(write_problem(problem).decode(), found.text, found.buffers)
    except _VERIPB.NotCoveredError as error:
        raise OptionError(f"veripb: {error}") from None
    return formula, proof


def certificate_lines(found: CertificateAnswer) -> Iterator[str]:
    """Yield the text lines of the answer: the claim and its proof, or why there is no certificate."""
    if found.reason is not None:
        yield f"no certificate: {found.reason}"
        return
    claim = "nothing fits" if found.plan.peak is None else f"a peak of {found.plan.peak:,} bytes is the least"
    if len(found.plan.pools) > 1 and found.plan.peak is not None:
        claim = f"no plan is better{f' for {found.plan.profile}' * (found.plan.profile is not None)}"
    n_buffers = count_text(len(found.buffers), "buffer")
    head = found.text.split("\n")[2].split(" ")
    if head[0] == "moves":
        claim = f"no plan costs less than {float(Fraction(*map(int, head[1:]))):,.15g}"
    yield f"{claim}: by {found.kind}, {count_text(found.lemmas, 'lemma')} about {n_buffers}"
    if found.left_open is not None:
        yield f"left open: {found.left_open}"
    yield f"sha256 {found.sha256}, {len(found.text.encode()):,} bytes"


QUESTION = Question(
    certify,
    inputs=(PROBLEM, replace(PLAN, required=False, help="A plan of it, JSON or CSV; without one, it is planned.")),
    lines=certificate_lines,
    exit_status=lambda found: 1 if found.reason is not None else 0,
    exits={0: "there is a certificate", 1: "there is none"},
    takes_moves=True,
    status=lambda found: found.kind,
    example={"problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}},
    link=PlanLink("certificate", ("optimal", "infeasible"), "Make a certificate that others can check …"),
)
