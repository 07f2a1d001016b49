"""The affine map of one axis: from a range of an output to the range of an input that it reads."""

from __future__ import annotations

from typing import NamedTuple

MOST = 2**62


class Window(NamedTuple):
    """Output [a, b) reads input [floor((a * scale + low) / divisor), floor(((b - 1) * scale + high) / divisor) + 1).

    The range is cut to the input's size; it may be empty, where an output is made of padding alone.
    """

    scale: int = 1
    divisor: int = 1
    low: int = 0
    high: int = 0

    def source(self, first: int, end: int, size: int) -> tuple[int, int]:
        """Return the range of an input of `size` that output [first, end) reads; (0, 0) for none."""
        used = self.used(size)
        first, end = max(first, used[0]), min(end, used[1])
        if first >= end:
            return 0, 0
        a, b = self.reach(first, end)
        a, b = max(a, 0), min(b, size)
        return (a, b) if a < b else (0, 0)

    def reach(self, first: int, end: int) -> tuple[int, int]:
        """Return the range that output [first, end) reads of an input without borders; it may begin below 0."""
        return (first * self.scale + self.low) // self.divisor, ((end - 1) * self.scale + self.high) // self.divisor + 1

    def used(self, size: int) -> tuple[int, int]:
        """Return the range of an output that reads anything of an input of `size`, not padding alone."""
        if self.scale == 0:
            return 0, MOST
        return -(self.high // self.scale), (size * self.divisor - 1 - self.low) // self.scale + 1


SAME = Window()
"""Row y of the output reads row y of the input."""


def whole(size: int) -> Window:
    """Return the map of an output that reads all of an axis, whatever part of it is wanted."""
    return Window(0, 1, 0, size - 1)


def sliding(kernel: int, stride: int, dilation: int, before: int) -> Window:
    """Return the map of a convolution or pool, with `before` rows of padding."""
    return Window(stride, 1, -before, (kernel - 1) * dilation - before)


def transposed(kernel: int, stride: int, dilation: int, before: int) -> Window:
    """Return the map of a transposed convolution: tap k of input row r goes to output row r * stride - before + k."""
    reach = (kernel - 1) * dilation
    return Window(1, stride, before - reach + stride - 1, before)


def shifted(offset: int, step: int = 1) -> Window:
    """Return the map of a slice: output row y is input row offset + step * y; a pad or concat has offsets below 0."""
    return Window(step, 1, offset, offset)


def nearest(size: int, out: int) -> Window:
    """Return the map of a resize that takes row floor(y * size / out)."""
    return Window(size, out, 0, 0)


def nearest_centred(size: int, out: int) -> Window:
    """Return the map of a resize that takes the row nearest to (y + 1/2) * size / out - 1/2, ties either way."""
    # Either rounding of (2y + 1) * size / (2 * out) - 1/2: the hull of floor and ceil, cut where they agree.
    return Window(2 * size, 2 * out, size - 1, size)


def linear(size: int, out: int) -> Window:
    """Return the map of a linear resize with half-pixel centres, clamped at the borders."""
    return Window(2 * size, 2 * out, size - out, size + out)


def linear_corners(size: int, out: int) -> Window:
    """Return the map of a linear resize whose corners are those of the input."""
    if out == 1:
        return Window(0, 1, 0, 0)
    return Window(size - 1, out - 1, 0, out - 1)


def linear_asymmetric(size: int, out: int) -> Window:
    """Return the map of a linear resize of row y to y * size / out."""
    return Window(size, out, 0, out)


def blocks(factor: int) -> Window:
    """Return the map of depth-to-space: `factor` rows of the output from one of the input."""
    return Window(1, factor, 0, 0)


def gathered(factor: int) -> Window:
    """Return the map of space-to-depth: one row of the output from `factor` of the input."""
    return Window(factor, 1, 0, factor - 1)
