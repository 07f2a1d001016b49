"""The capability `verify`: whether a plan is valid for a problem, what is wrong with it, and what was not checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import EXAMPLE, EXAMPLE_PLAN, PLAN, PROBLEM
from memplan.capabilities.question import Input, Question
from memplan.capabilities.reading import Reader
from memplan.planner.audit import verify as violations_of
from memplan.planner.errors import FormatError, shown
from memplan.planner.lint.foreign import lint_plan
from memplan.planner.model.plan import Findings, Plan, ProofKind
from memplan.planner.model.problem import Problem
from memplan.planner.verify.violation import Violation
from memplan.solvers.certificates import verdicts
from memplan.solvers.certificates.verdicts import By, ProofText

_BY_SEARCH = ("search", "engines")


class ClaimCheck(Answer):
    """A claim of a plan, by the name of its field, and what checked it: None where nothing did."""

    claim: str
    by: By | None


class Verdict(Answer):
    """The verdict on a plan of a problem: valid or not, and its violations.

    `claims` are those of the plan, each with what checked it; none where it is not valid. `proved` is what the checker
    says of a certificate. `findings` are legal but surely not meant; `unrepeated` is the kind of its proof where that
    is not made again.
    """

    valid: bool
    violations: tuple[Violation, ...]
    findings: Findings = ()
    placements: int = 0
    unrepeated: ProofKind | None = None
    claims: tuple[ClaimCheck, ...] = ()
    proved: str | None = None


def verify(
    problem: Problem,
    plan: Plan,
    certificate: ProofText | str | None = None,
    options: CapabilityOptions = CapabilityOptions(),
    control: Control = Control(),
) -> Verdict:
    """Verify a plan: every violation, with both buffers, the bytes and the time; and which of its claims were checked.

    What the plan claims of itself must be so, too. A proof by search is not repeated; a certificate is checked.
    """
    del options, control  # it takes no time that a limit could end
    violations, proved = violations_of(problem, plan), None
    proof = ProofText(certificate) if isinstance(certificate, str) else certificate
    if proof is not None:
        proved = verdicts.prove(problem, proof)
        violations += tuple(verdicts.contradictions(plan, proof, proved))
        if proved.kind is None:
            violations += (Violation("false-claim", f"certificate: {proved.sentence}"),)
    claims = {} if violations else verdicts.checks(problem, plan, proof, proved)
    is_repeated = plan.proof is None or plan.proof.kind not in _BY_SEARCH or claims.get("status") == "certificate"
    return Verdict(
        valid=not violations,
        violations=violations,
        findings=lint_plan(problem, plan.placements),
        placements=len(plan.placements),
        unrepeated=None if is_repeated or plan.proof is None else plan.proof.kind,
        claims=tuple(ClaimCheck(claim=claim, by=by) for claim, by in claims.items()),
        proved=None if proved is None else proved.sentence,
    )


def lines(found: Verdict) -> Iterator[str]:
    """Yield the lines for people, one a violation or finding; then what was checked, by what, and what was not."""
    for violation in found.violations:
        yield f"{violation.rule}: {violation.message}"
    for finding in found.findings:
        yield f"warning: {finding.rule}: {finding.message}"
    if not found.valid:
        yield "`memplan replan` keeps what is right, and moves the rest"
        return
    note = "" if found.unrepeated is None else "; its proof by search is not repeated"
    yield f"valid, {found.placements:,} placements{note}"
    for by in get_args(By):
        if names := [each.claim for each in found.claims if each.by == by]:
            yield f"checked by the {by}: {', '.join(names)}"
    if names := [each.claim for each in found.claims if each.by is None]:
        yield f"not checked: {', '.join(names)}"
    if found.proved is not None:
        yield found.proved


def _certificate_in(value: object) -> ProofText:
    if not isinstance(value, str):
        raise FormatError(f"certificate: must be a text, got {shown(value)}")
    return ProofText(value)


def _certificate_file(reader: Reader, data: bytes, _name: str, _question: Question) -> ProofText:
    """Return a certificate with the file of the problem beside it, unless that is a model."""
    is_plain = reader.imported is None
    try:
        problem = reader.data.decode() if is_plain else None
        return ProofText(data.decode(), problem, reader.options.interval)
    except UnicodeDecodeError:
        raise FormatError("must be a certificate, a text") from None


CERTIFICATE = Input(
    "certificate",
    str,
    _certificate_in,
    lambda proof: proof.text,
    "What proves the plan: checked with the file of the problem.",
    from_file=_certificate_file,
    required=False,
    named_by_flag=True,
    reads_last=True,
)
CAPABILITY = Capability(
    verify,
    inputs=(PROBLEM, PLAN, CERTIFICATE),
    lines=lines,
    exit_status=lambda found: 0 if found.valid else 3,
    exits={0: "the plan is valid", 3: "it is not"},
    # Whether a plan is right is seen faster than a worker is found, and callers verify plans of any size.
    is_brief=lambda _subject, _options: True,
    most_bytes=128 * 2**20,
    example={"problem": EXAMPLE, "plan": EXAMPLE_PLAN},
)
