"""The extent of a request: its numbers of rows, counted in the parsed JSON before validation and compilation."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from math import comb
from typing import Any, NamedTuple

from memplan.planner.errors import OperationsError, excerpt

MOST_EXPANDED = 200_000
"""The maximum number of statements and buffers of an expanded program in a request; a server may set a lower limit."""
_DEEPEST = 3
"""The maximum depth of objects around a problem, graph or program; a file in a bundle has depth two."""


class Extent(NamedTuple):
    """The counts of a request that a server limits; `n_rows` is the total number of rows.

    `n_pairs` is the number of buffer pairs in entries of `bank`. `n_expanded` is the number of statements and buffers
    of a program after its calls are expanded.
    """

    n_rows: int = 0
    n_buffers: int = 0
    n_pools: int = 1
    n_pairs: int = 0
    n_expanded: int = 0

    def combine(self, other: "Extent") -> "Extent":
        """Return the extent of two inputs together: the sum of their rows, and the larger of each other count."""
        _, *most = map(max, self, other)
        return Extent(self.n_rows + other.n_rows, *most)


def extent_of(value: object, depth: int = 0) -> Extent:
    """Return the extent of all problems, graphs and programs in a JSON value, in time linear in its rows.

    An invalid value counts as empty, because the reader that validates it reports the fault.
    """
    if not isinstance(value, dict):
        return Extent()
    if isinstance(functions := value.get("functions"), dict):
        n_expanded = _expanded_count(functions, value.get("entry", "main"))
        return Extent(n_expanded, 0, len(_list_in_field(value, "pools")) or 1, 0, n_expanded)
    if "ops" in value:
        return Extent(
            len(_list_in_field(value, "size")) + len(_list_in_field(value, "ops")), len(_list_in_field(value, "size"))
        )
    if isinstance(models := value.get("models"), dict):
        return _models_extent({name: extent_of(model, depth + 1) for name, model in models.items()}, value)
    if "buffers" in value:
        n_buffers = len(_list_in_field(value, "buffers"))
        n_pairs = sum(
            comb(len(_list_in_field(use, "buffers")), 2)
            for use in _list_in_field(value, "bank")
            if isinstance(use, dict)
        )
        return Extent(n_buffers + n_pairs, n_buffers, len(_list_in_field(value, "pools")) or 1, n_pairs)
    extent = Extent(len(_list_in_field(value, "placements")))
    for inner in value.values() if depth < _DEEPEST else ():
        if isinstance(inner, dict):
            extent = extent.combine(extent_of(inner, depth + 1))
    return extent


def _models_extent(models: dict[str, Extent], value: dict[str, Any]) -> Extent:
    """Return the extent of an application: the rows of its models, and the buffer pairs of concurrent models."""
    counts = {name: each.n_buffers or each.n_expanded for name, each in models.items()}
    groups = [group for group in _list_in_field(value, "together") if isinstance(group, list)]
    groups += [list(counts)] if isinstance(value.get("after"), dict) else []
    own = [[counts.get(name, 0) for name in group if isinstance(name, str)] for group in groups]
    n_pairs = sum((sum(each) ** 2 - sum(count**2 for count in each)) // 2 for each in own)
    total = sum(counts.values())
    n_pools = max((each.n_pools for each in models.values()), default=1)
    n_expanded = sum(each.n_expanded for each in models.values())
    n_rows = sum(each.n_rows for each in models.values())
    return Extent(n_rows + n_pairs, total, len(_list_in_field(value, "pools")) or n_pools, n_pairs, n_expanded)


def check_expanded(extent: Extent, most: int) -> None:
    """Raise OperationsError if a program expands to more than `most` statements and buffers."""
    if extent.n_expanded > most:
        from memplan.planner.foreign.programs import TOO_MANY

        raise OperationsError(f"functions: {TOO_MANY.format(most=most)}, got {excerpt(extent.n_expanded)}")


def _list_in_field(value: dict[str, Any], name: str) -> list[Any]:
    rows = value.get(name)
    return rows if isinstance(rows, list) else []


def _expanded_count(functions: dict[str, Any], entry: object) -> int:
    """Return the number of statements and buffers of the entry function after all calls are expanded."""
    own: dict[str, int] = {}
    calls: dict[str, list[str]] = {}
    for name, function in functions.items():
        inside = list(_statements(_list_in_field(function, "body"))) if isinstance(function, dict) else []
        own[name] = len(inside) + (len(_list_in_field(function, "buffers")) if isinstance(function, dict) else 0)
        called = (statement.get("call") for statement in inside if isinstance(statement, dict))
        calls[name] = [callee for callee in called if isinstance(callee, str) and callee in functions]
    count: dict[str, int] = {}
    try:
        for name in TopologicalSorter(calls).static_order():
            count[name] = own[name] + sum(count[callee] for callee in calls[name])
    except CycleError:
        return sum(own.values())
    return count.get(entry, 0) if isinstance(entry, str) else 0


def _statements(body: list[Any]) -> Iterator[object]:
    bodies = [body]
    while bodies:
        for statement in bodies.pop():
            yield statement
            if isinstance(statement, dict):
                branches = (branch for branch in _list_in_field(statement, "branches") if isinstance(branch, list))
                bodies += [_list_in_field(statement, "body"), _list_in_field(statement, "loop"), *branches]
