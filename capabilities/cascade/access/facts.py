"""The facts about an operation from which its access maps follow: layouts of its tensors, attributes as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple


class Pixels(NamedTuple):
    """A shape as rows, columns and channels, of as many images as the batch has."""

    rows: int
    columns: int
    channels: int
    batch: int = 1


class UnknownAccess(Exception):  # noqa: N818  # no error: the operation becomes a barrier
    """The access maps of an operation do not follow from its facts; the message says why."""


def pixels_of(shape: tuple[int, ...], layout: str | None) -> Pixels | None:
    """Return a shape as rows, columns, channels and batch, by the letters of its axes; None where none are known."""
    if layout is None or len(layout) != len(shape):
        return None
    sizes = [prod(size for size, letter in zip(shape, layout, strict=True) if letter == axis) for axis in "HWCN"]
    return Pixels(*sizes)


def axis_of(axis: int, layout: str) -> int:
    """Return which of rows (0), columns (1) and channels (2) an axis is, -1 for the batch."""
    rank = len(layout)
    if not -rank <= axis < rank:
        raise UnknownAccess(f"axis {axis} of {rank}")
    return "HWC".find(layout[axis])


@dataclass(frozen=True)
class Facts:
    """An operation: its kind, its attributes, the shapes of its activations in and its output, and its layout.

    `layout` and `in_layout`, of the output and of the first input, have a letter for each axis.
    """

    kind: str
    attributes: Mapping[str, object]
    inputs: tuple[Pixels, ...]
    shapes: tuple[tuple[int, ...], ...]
    output: Pixels
    out_shape: tuple[int, ...]
    layout: str
    in_layout: str

    def integers(self, name: str, count: int, default: int | None = None) -> tuple[int, ...]:
        """Return an attribute of `count` integers, one standing for all; raises UnknownAccess."""
        value = self.attributes.get(name)
        if value is None and default is not None:
            return (default,) * count
        found = (value,) * count if isinstance(value, int) else value
        if not isinstance(found, tuple) or len(found) != count or not all(isinstance(one, int) for one in found):
            raise UnknownAccess(f"{name} must be {count} integers")
        return tuple(int(one) for one in found)

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an attribute that is an integer; raises UnknownAccess."""
        return self.integers(name, 1, default)[0]

    def list_of(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Return an attribute that is a list of integers; raises UnknownAccess."""
        value = self.attributes.get(name, default)
        if not isinstance(value, tuple) or not all(isinstance(one, int) for one in value):
            raise UnknownAccess(f"{name} must be integers")
        return tuple(int(one) for one in value)

    def by_axis(self, values: Mapping[int, int], default: int) -> tuple[int, int]:
        """Return numbers given by axes of the shape as those of rows and columns; none may be for the batch."""
        found = [(axis_of(axis, self.layout), value) for axis, value in values.items()]
        if any(which == -1 and value != default for which, value in found):
            raise UnknownAccess(f"{self.kind} of batches runs whole")
        by_axis = dict(found)
        return by_axis.get(0, default), by_axis.get(1, default)

    def word(self, name: str, default: str) -> str:
        """Return an attribute that is a word."""
        return str(self.attributes.get(name, default))

    def axis(self, name: str, default: int) -> int:
        """Return an attribute that is an axis, as rows (0), columns (1) or channels (2)."""
        return axis_of(self.integer(name, default), self.layout)
