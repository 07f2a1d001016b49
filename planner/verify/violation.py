"""The rules of plans by name, and how the verifier says that one is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memplan.planner.errors import shown

Rule = Literal[
    "unknown-buffer",
    "repeated-buffer",
    "unplaced-buffer",
    "unknown-pool",
    "pool-not-allowed",
    "misaligned",
    "past-capacity",
    "reserved-range",
    "pin-missed",
    "straddles",
    "wrong-remainder",
    "alias-misplaced",
    "relative-misplaced",
    "not-together",
    "bank-clash",
    "overlap",
    "conflict",
    "false-claim",
    "not-all-listed",
]


@dataclass(frozen=True)
class Violation:
    """A broken rule of a plan; `first` and `second` are buffers, `bytes` and `time` half-open ranges they share."""

    rule: Rule
    message: str
    first: int | str | None = None
    second: int | str | None = None
    bytes: tuple[int, int] | None = None
    time: tuple[int, int] | None = None


def about(name: int | str, rule: Rule, sentence: str) -> Violation:
    """Say that a buffer breaks a rule."""
    return Violation(rule, f"buffer {shown(name)}: {sentence}", first=name)


def false_claim(name: str, truth: str, claim: object) -> Violation:
    """Say that a plan claims what its placements contradict."""
    return Violation("false-claim", f"{name}: must be {truth}, got {shown(claim)}")
