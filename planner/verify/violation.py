"""Violations: broken rules that the verifier reports, each with the rule's name, which its check defines."""

from dataclasses import dataclass

from memplan.planner.errors import excerpt
from memplan.planner.model.field_docs import DescribedFields


@dataclass(frozen=True)
class Violation(DescribedFields):
    """A broken rule of a plan."""

    rule: str
    """The kind of the broken rule, such as `overlap`."""
    message: str
    """The broken rule as a sentence, with the values that break it."""
    first: int | str | None = None
    """The name of the buffer that breaks the rule; null if the rule is not about a buffer."""
    second: int | str | None = None
    """The name of the other buffer; null if the rule is not about two."""
    bytes: tuple[int, int] | None = None
    """The offsets that both use, as the half-open range [low, high]; null unless they share bytes."""
    time: tuple[int, int] | None = None
    """The time steps at which both are alive, as the half-open range [start, end]; null unless they share bytes in
    time."""


def buffer_violation(name: int | str, rule: str, sentence: str) -> Violation:
    """Return the violation for a rule that one buffer breaks."""
    return Violation(rule, f"buffer {excerpt(name)}: {sentence}", first=name)


def false_claim(name: str, truth: str, claim: object) -> Violation:
    """Return the violation for a claim of a plan that its placements contradict."""
    return Violation("false-claim", f"{name}: must be {truth}, got {excerpt(claim)}")
