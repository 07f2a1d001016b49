"""The figures of a step on a target: its time, its transfers, and the slots of the fast memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

Slot = tuple[str, int, int]
"""A slot of a memory: its purpose in one word, its tensor, and its bytes."""


class Transfer(NamedTuple):
    """The transfers of one tensor over one link in a step: their number, and the bytes loaded or stored.

    `is_far` is True for the link between the second memory and the third one. For constants, `tensor` is the first
    output of their operation.
    """

    kind: str
    tensor: int
    is_far: bool
    bytes: int
    n_starts: int


@dataclass(frozen=True)
class StepFigures:
    """The time of a step, its traffic over all links, and its slots of the fast memory.

    latency: its time. traffic: the bytes over all links. buffers: the slots of the fast memory. transfers: the
    transfers of a step of a network. staged: the slots of the second memory, through which pieces from the third one
    pass.
    """

    latency: float
    traffic: int
    buffers: tuple[Slot, ...]
    transfers: tuple[Transfer, ...] = ()
    staged: tuple[Slot, ...] = ()

    @property
    def first_link_bytes(self) -> int:
        """The bytes over the link between the fast memory and the next one."""
        return self.traffic - sum(row.bytes for row in self.transfers if row.is_far)

    @property
    def peak(self) -> int:
        """The total bytes of all slots of the fast memory."""
        return sum(size for _, _, size in self.buffers)


@dataclass(frozen=True)
class Run:
    """The figures of consecutive steps, and their totals."""

    figures: Sequence[StepFigures]

    @property
    def latency(self) -> float:
        """The sum of the times of all steps."""
        return fsum(step.latency for step in self.figures)

    @property
    def traffic(self) -> int:
        """The bytes over all links in all steps."""
        return sum(step.traffic for step in self.figures)

    @property
    def peak(self) -> int:
        """The maximum number of bytes that a step needs in the fast memory."""
        return max((step.peak for step in self.figures), default=0)
