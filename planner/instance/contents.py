"""The columns of an instance that affect its best plans: each buffer's requirements, and relations between buffers.

A column belongs to them if its declaration names a feature of the instance. They follow the order of the declarations.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.columns import ALWAYS, Axis, Column, Holds
from memplan.planner.instance.instance import COLUMNS, F64, Bool, Instance
from memplan.planner.model.buffer_table import I64

U64 = npt.NDArray[np.uint64]


def traffic_unit(instance: Instance) -> int:
    """Return the greatest common divisor of all traffic; best plans stay best if costs are divided by it.

    If pairs of buffers have prices, which are not divided, the result is 1.
    """
    return 1 if len(instance.priced_pairs) else max(1, int(np.gcd.reduce(instance.traffic, initial=0)))


@cache
def counting_columns(features: frozenset[str]) -> Mapping[str, Column]:
    """Return the declarations of the columns that affect best plans, for instances with the given features."""
    return {name: column for name, column in COLUMNS.items() if column.counts in {ALWAYS, *features}}


@cache
def _number_columns_by_axis(features: frozenset[str]) -> list[tuple[Axis, list[str]]]:
    """Return the names of numeric columns that affect best plans, grouped into runs that share one axis.

    Each run is a pair (axis, names). Runs follow the order of the declarations; the column `allowed` is left out.
    """
    names = [
        (column.axis, name) for name, column in counting_columns(features).items() if column.holds is Holds.NUMBERS
    ]
    runs = groupby(names, key=lambda entry: entry[0])
    return [(axis, [name for _, name in run if name != "allowed"]) for axis, run in runs]


def requirement_columns(instance: Instance) -> Iterator[I64]:
    """Yield the requirements of the buffers, except lifetimes, as arrays with one entry per buffer, pool by pool."""
    for axis, names in _number_columns_by_axis(instance.features):
        if axis is Axis.BUFFER:
            for name in names:
                values = getattr(instance, name)
                yield values // traffic_unit(instance) if name == "traffic" else values
        elif axis is Axis.POOL_AND_BUFFER:
            # Requirements in a pool that the buffer may not use do not matter, so write 0, which is no alignment.
            masked = [np.where(instance.allowed, getattr(instance, name), 0) for name in names]
            yield from (values[q] for q in range(len(instance.pools)) for values in masked)


class Neighbours(NamedTuple):
    """Symmetric lists of neighbours: list i is neighbour[first[i]:first[i + 1]], whose entries may have weights."""

    first: I64
    neighbour: I64
    weight: U64 | None = None

    @property
    def has_others(self) -> Bool:
        """(n,): True for each buffer that has at least one neighbour."""
        return np.diff(self.first) > 0


class Groups(NamedTuple):
    """Groups of buffers; `name[i]` is the position of the member that represents buffer i's group."""

    name: I64

    @property
    def has_others(self) -> Bool:
        """(n,): True for each buffer whose group has other members."""
        return np.bincount(self.name, minlength=len(self.name))[self.name] > 1


def relations(instance: Instance) -> list[Neighbours | Groups]:
    """Return the relations between buffers, except lifetimes: lists, then pairs with weights, then groups."""
    pairs: list[Neighbours] = []
    groups: list[Groups] = []
    for name, column in counting_columns(instance.features).items():
        values = getattr(instance, name)
        if column.axis is Axis.LIST and len(values):
            pairs.append(Neighbours(getattr(instance, column.along), values))
        elif column.axis is Axis.PAIR and column.holds is Holds.BUFFERS:
            pairs.append(_symmetric_neighbours(values, weights(instance, name), len(instance)))
        elif column.holds is Holds.GROUPS:
            groups.append(Groups(values))
    return [*sorted(pairs, key=lambda each: each.weight is not None), *groups]


def weights(instance: Instance, pairs: str) -> F64 | I64:
    """Return the column of weights that belong to the rows of the pair column `pairs`."""
    beside = (name for name, column in COLUMNS.items() if column.along == pairs and name != pairs)
    weights_column: F64 | I64 = getattr(instance, next(beside))
    return weights_column


def _symmetric_neighbours(pairs: I64, weight: F64 | I64, n: int) -> Neighbours:
    rows = np.concatenate((pairs, pairs[:, ::-1]))
    order = np.lexsort(rows.T[::-1])
    first = np.searchsorted(rows[order, 0], np.arange(n + 1))
    return Neighbours(first, rows[order, 1], np.tile(weight, 2)[order].view(np.uint64))
