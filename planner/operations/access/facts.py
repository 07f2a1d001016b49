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


def pixels_of(shape: tuple[int, ...], layout: str) -> Pixels | None:
    """Return a shape of images or sequences as rows, columns, channels and batch; None for more than four axes.

    Four axes are those of the layout, NHWC or NCHW; three are batch, rows and channels in NHWC, batch, channels and
    rows in NCHW; two are rows and channels.
    """
    if len(shape) in (3, 4):
        batch, *rest = shape
        order = (*rest[1:], rest[0]) if layout == "NCHW" else tuple(rest)
        return Pixels(order[0], order[1] if len(order) == 3 else 1, order[-1], batch)
    if len(shape) == 2:
        return Pixels(shape[0], 1, shape[1])
    return Pixels(1, 1, prod(shape)) if len(shape) < 2 else None


def axes_of(rank: int, layout: str) -> tuple[int, ...] | None:
    """Return for each axis of a shape which of rows (0), columns (1) and channels (2) it is, -1 for the batch."""
    first = layout == "NCHW"
    return {
        4: (-1, 2, 0, 1) if first else (-1, 0, 1, 2),
        3: (-1, 2, 0) if first else (-1, 0, 2),
        2: (0, 2),
        1: (2,),
    }.get(rank)


def axis_of(axis: int, rank: int, layout: str) -> int:
    """Return which of rows (0), columns (1) and channels (2) an axis is, -1 for the batch."""
    axis = axis + rank if axis < 0 else axis
    order = axes_of(rank, layout)
    if order is None or not 0 <= axis < rank:
        raise UnknownAccess(f"axis {axis} of {rank}")
    return order[axis]


@dataclass(frozen=True)
class Facts:
    """An operation: its kind, its attributes, the shapes of its activations in and its output, and its layout.

    `in_layout` is that of the first input, which a transposition changes.
    """

    kind: str
    attributes: Mapping[str, object]
    inputs: tuple[Pixels, ...]
    shapes: tuple[tuple[int, ...], ...]
    output: Pixels
    out_shape: tuple[int, ...]
    layout: str
    in_layout: str = "NHWC"

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
        found = {axis_of(axis, len(self.out_shape), self.layout): value for axis, value in values.items()}
        if found.get(-1, default) != default:
            raise UnknownAccess(f"{self.kind} of batches runs whole")
        return found.get(0, default), found.get(1, default)

    def word(self, name: str, default: str) -> str:
        """Return an attribute that is a word."""
        return str(self.attributes.get(name, default))

    def axis(self, name: str, default: int) -> int:
        """Return an attribute that is an axis, as rows (0), columns (1) or channels (2)."""
        return axis_of(self.integer(name, default), len(self.out_shape), self.layout)
