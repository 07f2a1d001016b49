"""What the verifier says, and what its parts read: where the buffers of a plan lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import shown
from memplan.planner.model.buffer_table import I64

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


@dataclass(frozen=True, eq=False)
class Seats:
    """Where the buffers lie, in the problem's order; `pool` is ABSENT for one that is in none of the problem's."""

    pool: I64
    offset: I64
    end: npt.NDArray[np.uint64]  # exact: below 2^63 + 2^62, which passes int64


def about(name: int | str, rule: Rule, sentence: str) -> Violation:
    """Say that a buffer breaks a rule."""
    return Violation(rule, f"buffer {shown(name)}: {sentence}", first=name)


def false_claim(name: str, truth: str, claim: object) -> Violation:
    """Say that a plan claims what its placements contradict."""
    return Violation("false-claim", f"{name}: must be {truth}, got {shown(claim)}")
