"""Violations: broken rules that the verifier reports, each with the rule's name, which its check defines."""

from dataclasses import dataclass

from memplan.planner.errors import excerpt


@dataclass(frozen=True)
class Violation:
    """A broken rule of a plan.

    `first` and `second` are the ids of the buffers; `bytes` and `time` are the half-open ranges that they share.
    """

    rule: str
    message: str
    first: int | str | None = None
    second: int | str | None = None
    bytes: tuple[int, int] | None = None
    time: tuple[int, int] | None = None


def buffer_violation(name: int | str, rule: str, sentence: str) -> Violation:
    """Return the violation for a rule that one buffer breaks."""
    return Violation(rule, f"buffer {excerpt(name)}: {sentence}", first=name)


def false_claim(name: str, truth: str, claim: object) -> Violation:
    """Return the violation for a claim of a plan that its placements contradict."""
    return Violation("false-claim", f"{name}: must be {truth}, got {excerpt(claim)}")
