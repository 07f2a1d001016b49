"""The capability `verify`: whether a plan is valid for a problem, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import EXAMPLE, EXAMPLE_PLAN, PLAN, PROBLEM
from memplan.planner.audit import verify as violations_of
from memplan.planner.lint.foreign import lint_plan
from memplan.planner.model.plan import Findings, Plan, ProofKind
from memplan.planner.model.problem import Problem
from memplan.planner.verify.violation import Violation

_BY_SEARCH = ("search", "engines")


class Verdict(Answer):
    """The verdict on a plan of a problem: valid or not, and its violations.

    `findings` are legal but surely not meant; `unrepeated` is the kind of its proof where that is not made again.
    """

    valid: bool
    violations: tuple[Violation, ...]
    findings: Findings = ()
    placements: int = 0
    unrepeated: ProofKind | None = None


def verify(
    problem: Problem, plan: Plan, options: CapabilityOptions = CapabilityOptions(), control: Control = Control()
) -> Verdict:
    """Verify a plan: every violation, with both buffers, the bytes and the time.

    What the plan claims of itself must be so, too. A proof by search is not repeated.
    """
    del options, control  # it takes no time that a limit could end
    violations = violations_of(problem, plan)
    is_repeated = plan.proof is None or plan.proof.kind not in _BY_SEARCH
    return Verdict(
        valid=not violations,
        violations=violations,
        findings=lint_plan(problem, plan.placements),
        placements=len(plan.placements),
        unrepeated=None if is_repeated or plan.proof is None else plan.proof.kind,
    )


def lines(found: Verdict) -> Iterator[str]:
    """Yield the lines for people, one a violation or finding."""
    for violation in found.violations:
        yield f"{violation.rule}: {violation.message}"
    for finding in found.findings:
        yield f"warning: {finding.rule}: {finding.message}"
    if found.valid:
        note = "" if found.unrepeated is None else "; its proof by search is not repeated"
        yield f"valid, {found.placements:,} placements{note}"


CAPABILITY = Capability(
    verify,
    inputs=(PROBLEM, PLAN),
    lines=lines,
    exit_status=lambda found: 0 if found.valid else 3,
    exits={0: "the plan is valid", 3: "it is not"},
    # Whether a plan is right is seen faster than a worker is found, and callers verify plans of any size.
    is_brief=lambda _extent, _options: True,
    most_bytes=128 * 2**20,
    example={"problem": EXAMPLE, "plan": EXAMPLE_PLAN},
)
