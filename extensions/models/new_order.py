"""The order of all operations of a file, given an order of a graph that omits some of them."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from itertools import pairwise

from memplan.planner.errors import OperationsError


def new_order(
    wanted: Sequence[int],
    reads: Sequence[Iterable[Hashable]],
    writes: Sequence[Iterable[Hashable]],
    in_turn: Container[int],
) -> list[int]:
    """Return an order of all operations: `wanted`, each after its prerequisites, then the rest.

    An operation needs the operations that write its inputs; operations `in_turn` have effects and stay in their order.
    An operation that is not in `wanted`, such as a view or a constant, runs right before the first one that needs it.
    If `wanted` is the order of the file, so is the order returned. Raises OperationsError if an operation comes before
    its prerequisites.
    """
    maker = {value: v for v, row in enumerate(writes) for value in row}
    needs = [frozenset(maker[value] for value in row if maker.get(value, v) != v) for v, row in enumerate(reads)]
    order = _full_order(wanted, needs)
    _refuse_wrong(order, needs, in_turn)
    return order


def _full_order(wanted: Sequence[int], needs: Sequence[frozenset[int]]) -> list[int]:
    if all(first < second for first, second in pairwise(wanted)):
        return list(range(len(needs)))
    done = [False] * len(needs)
    order: list[int] = []
    for first in (*wanted, *range(len(needs))):
        stack = [] if done[first] else [(first, iter(sorted(needs[first])))]
        waiting = {first}
        while stack:
            v, readers = stack[-1]
            u = next(readers, None)
            if u is None:
                done[v] = True
                order.append(v)
                stack.pop()
            elif u in waiting and not done[u]:
                raise OperationsError(f"order: must not need operation {u} before itself")
            elif not done[u]:
                waiting.add(u)
                stack.append((u, iter(sorted(needs[u]))))
    return order


def _refuse_wrong(order: Sequence[int], needs: Sequence[frozenset[int]], in_turn: Container[int]) -> None:
    if sorted(order) != list(range(len(needs))):
        raise OperationsError("order: must name each operation of the file once")
    done: set[int] = set()
    for v in order:
        if missing := needs[v] - done:
            raise OperationsError(f"order: must run operation {min(missing)} before {v}")
        done.add(v)
    for first, second in pairwise(v for v in order if v in in_turn):
        if first > second:
            raise OperationsError(f"order: must keep operation {second} before {first}, which has effects, too")
