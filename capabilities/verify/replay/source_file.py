"""The file that a problem was read from, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from memplan.systems.imported import ModelOptions


@dataclass(frozen=True)
class SourceFile:
    """The bytes of a file, the name that it had, sizes of pools set besides, and what the ends of lifetimes mean.

    `inclusive` is None where only the file says it; `model` is how a model is read.
    """

    data: bytes
    name: str | None = None
    capacity: tuple[str, ...] = ()
    inclusive: bool | None = None
    model: ModelOptions = field(default_factory=ModelOptions)
