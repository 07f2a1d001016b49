"""Declarations of an instance's columns.

Sub-instances, units, the canonical form and symmetry are derived from these declarations, so they handle a new column
correctly without further code.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import ABSENT, I64, freeze

I64_MAX = 2**63 - 1
ALWAYS, NEVER = "always", "never"


class Axis(Enum):
    """The axis of a column's entries in an instance with `n` buffers, `m` lifetimes and `p` pools."""

    WHOLE = "one value for the instance"
    POOL = "p values, a tuple"
    BUFFER = "(n,)"
    POOL_AND_BUFFER = "(p, n)"
    LIFETIME = "(m,), live sets by number"
    LIVE_SET = "(number of live sets,)"
    START = "(n + 1,), the first entry of each buffer's list in another column, and the end of the last list"
    LIST = "symmetric lists of buffers, one list after the other"
    PAIR = "(k,) or (k, 2), one entry or row for each of some pairs"


class Holds(Enum):
    """The meaning of a column's values: numbers, positions of buffers, or groups of buffers."""

    NUMBERS = "values of any other kind"
    BUFFERS = "positions of buffers, numbered again in a part"
    GROUPS = "for each buffer the position of one that names its group"


class Scale(Enum):
    """The rule by which a column is converted from bytes to units."""

    NONE = "not in bytes"
    EXACT = "bytes that the unit divides"
    OPTIONAL = "bytes, or ABSENT"
    STEP = "a divisor of bytes, at least 1"
    MOST = "bytes, rounded down, or I64_MAX"


class Column(NamedTuple):
    """The declaration of a column: the axis and the meaning of its values, and their effect on plans.

    counts: the feature that an instance must have for the column to affect its best plans.
    along: the name of the column with the starts of the lists (for LIST and LIFETIME) or with the pairs (for PAIR).
    free: the value for a buffer without requirements; in GROUPS, such a buffer is a separate group.
    """

    axis: Axis
    counts: str = NEVER
    scale: Scale = Scale.NONE
    holds: Holds = Holds.NUMBERS
    along: str = ""
    free: int = 0


def default_column(column: Column, n: int, pools: int) -> npt.NDArray[Any]:
    """Return a column for `n` buffers that restricts nothing; columns of lifetimes have no such default."""
    if column.holds is Holds.GROUPS:
        return np.arange(n)
    if column.axis is Axis.PAIR:
        if column.holds is Holds.BUFFERS:
            return np.zeros((0, 2), dtype=np.int64)
        return np.zeros(0) if column.scale is Scale.NONE else np.zeros(0, dtype=np.int64)
    shapes = {Axis.BUFFER: (n,), Axis.POOL_AND_BUFFER: (pools, n), Axis.START: (n + 1,), Axis.LIST: (0,)}
    shape = shapes[column.axis]
    return np.full(shape, column.free) if column.free else np.zeros(shape, dtype=np.int64)


def common_unit(declared: Mapping[str, Column], values: Mapping[str, Any], more: Iterable[I64]) -> int:
    """Return the largest unit, in bytes, that divides all offsets of some best plan.

    `more` has further numbers of bytes that the unit must divide. If buffers are moved down as far as possible, their
    offsets are sums of sizes, distances, clearances, ends of reserved ranges and lowest offsets, rounded up to
    alignments and to borders of pages and banks. A unit divides these offsets under two conditions: it divides all
    summands, and each alignment is a multiple or a divisor of it.
    """
    counted = [(column.scale, values[name]) for name, column in declared.items() if column.counts != NEVER]
    parts = [column_values for scale, column_values in counted if scale is Scale.EXACT]
    parts += [
        optional_values[optional_values != ABSENT] for scale, optional_values in counted if scale is Scale.OPTIONAL
    ]
    unit = gcd(*(int(np.gcd.reduce(part.ravel(), initial=0)) for part in (*parts, *more))) or 1
    steps = [step for scale, step_values in counted if scale is Scale.STEP for step in distinct_values(step_values)]
    # Reduce the unit until each step divides it or is a multiple of it, so that steps are whole numbers of units.
    while rest := [step for step in steps if unit % step and gcd(unit, step) != unit]:
        unit = gcd(unit, *rest)
    return unit


def distinct_values(values: I64) -> list[int]:
    """Return the distinct values in ascending order; fast if all values are equal."""
    if values.size and (least := int(values.min())) == int(values.max()):
        return [least]
    return sorted(set(values.ravel().tolist()))


def scale_column(column: Column, values: Any, unit: int) -> Any:
    """Return a column converted to units as a read-only array; `values`, in bytes, are copied only if they change."""
    if column.scale is Scale.MOST:
        if unit > 1 and int(values.min(initial=I64_MAX)) < I64_MAX:
            values = np.where(values == I64_MAX, I64_MAX, values // unit)
    elif unit > 1 and column.scale is not Scale.NONE:
        scaled = values // unit
        if column.scale is Scale.STEP:
            # Whole numbers of units satisfy every alignment that divides the unit, so replace such an alignment by 1.
            scaled[unit % values == 0] = 1
        elif column.scale is Scale.OPTIONAL:
            scaled[values == ABSENT] = ABSENT
        values = scaled
    return freeze(values) if isinstance(values, np.ndarray) else values
