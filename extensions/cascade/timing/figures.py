"""The figures of a step on a target: its time, its transfers, and its slots (buffers) in the fast memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

Slot = tuple[str, int, int]
"""The type of a slot (buffer) in a memory: its purpose in one word, its tensor, and its bytes."""


class Transfer(NamedTuple):
    """The transfers of one tensor over one link in a step: how many there are, and how many bytes they move in total.

    `is_far` is True for the link between the second and the third memory. For an operation's constants, `tensor` is
    the operation's first output.
    """

    kind: str
    tensor: int
    is_far: bool
    bytes: int
    n_starts: int


@dataclass(frozen=True)
class StepFigures:
    """The figures of a step on a target: its time, its traffic in bytes, and its slots (buffers).

    latency: in the target's unit of time. traffic: over all links. buffers: the slots in the fast memory. transfers:
    the transfers of a network's step. staged: the slots in the second memory through which pieces from the third memory
    pass.
    """

    latency: float
    traffic: int
    buffers: tuple[Slot, ...]
    transfers: tuple[Transfer, ...] = ()
    staged: tuple[Slot, ...] = ()

    @property
    def first_link_bytes(self) -> int:
        """The bytes moved over the link between the fast memory and the next one."""
        return self.traffic - sum(row.bytes for row in self.transfers if row.is_far)

    @property
    def peak(self) -> int:
        """The total bytes of the step's slots in the fast memory."""
        return sum(size for _, _, size in self.buffers)


@dataclass(frozen=True)
class Run:
    """The figures of consecutive steps, with totals over all steps."""

    figures: Sequence[StepFigures]

    @property
    def latency(self) -> float:
        """The sum of the times of all steps."""
        return fsum(step.latency for step in self.figures)

    @property
    def traffic(self) -> int:
        """The bytes moved over all links in all steps."""
        return sum(step.traffic for step in self.figures)

    @property
    def peak(self) -> int:
        """The maximum of the bytes that the steps occupy in the fast memory."""
        return max((step.peak for step in self.figures), default=0)
