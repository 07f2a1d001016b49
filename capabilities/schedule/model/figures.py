"""Steps of a schedule, and what running them costs: their times, transfers, and slots of the fast memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

Slot = tuple[str, int, int]
"""A word for the use of a slot, its tensor and its bytes."""


@dataclass(frozen=True)
class ScheduleStep:
    """One step: operations that run together, tile by tile, as one nest of loops.

    Tiles of the outputs are `width` columns by `height` rows, and products sum up `depth` elements at a time. `order`
    has the positions of the tiles, row by row, in the order in which they are made; None is row by row. `retained`
    are tensors that the step makes and leaves in the fast memory for the next step, and does not write, and those that
    stay there from steps before. `alternatives` says which of its ways computes each operation, by position; without,
    its own one. Tensors in `rolls` are made and read in the step, and keep what the next tile needs again.
    """

    operations: tuple[int, ...]
    width: int
    height: int
    depth: int
    order: tuple[int, ...] | None = None
    retained: tuple[int, ...] = ()
    alternatives: tuple[int, ...] = ()
    rolls: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepFigures:
    """The time of a step, the bytes that it moves over the link, and its slots of the fast memory."""

    latency: float
    traffic: int
    buffers: tuple[Slot, ...]

    @property
    def peak(self) -> int:
        """The bytes of all slots."""
        return sum(size for _, _, size in self.buffers)


@dataclass(frozen=True)
class Run:
    """The figures of steps that run one after the other."""

    figures: Sequence[StepFigures]

    @property
    def latency(self) -> float:
        """The time of all steps."""
        return fsum(step.latency for step in self.figures)

    @property
    def traffic(self) -> int:
        """The bytes over the link."""
        return sum(step.traffic for step in self.figures)

    @property
    def peak(self) -> int:
        """The most bytes in the fast memory."""
        return max((step.peak for step in self.figures), default=0)
