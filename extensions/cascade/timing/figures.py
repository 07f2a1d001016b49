"""The figures of a step on a target: its time, its transfers, and the slots of the fast memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

Slot = tuple[str, int, int]
"""A slot of a memory: its purpose in a word, its tensor, and its bytes."""


class Transfer(NamedTuple):
    """The transfer of one tensor over one link in a step: starts, and bytes loaded or stored.

    `is_far` is True over the link between the second memory and the third one. The `tensor` of constants is the first
    one that their operation makes.
    """

    kind: str
    tensor: int
    is_far: bool
    bytes: int
    n_starts: int


@dataclass(frozen=True)
class StepFigures:
    """The time of a step, its traffic over all links, and its slots of the fast memory.

    latency: its time.
    traffic: the bytes over all links.
    buffers: the slots of the fast memory.
    transfers: what moves, of networks alone.
    staged: the slots of the second memory, through which pieces from the third one go.
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
        """The bytes of all slots of the fast memory together."""
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
        """The largest number of bytes that a step needs in the fast memory."""
        return max((step.peak for step in self.figures), default=0)
