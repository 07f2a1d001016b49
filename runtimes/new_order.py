"""The order of all operations in a file, for a given order of the operations in its graph.

The graph may lack some operations of the file, such as views and constants.
"""

from collections.abc import Container, Hashable, Iterable, Sequence
from itertools import pairwise

from memplan.planner.errors import OperationsError


def new_order(
    wanted: Sequence[int],
    reads: Sequence[Iterable[Hashable]],
    writes: Sequence[Iterable[Hashable]],
    in_turn: Container[int],
) -> list[int]:
    """Return an order of all operations of a file that follows `wanted`, an order of some of these operations.

    The prerequisites of an operation are the writers of its inputs. An operation outside `wanted`, such as a view or a
    constant, runs directly before the first operation that needs its output, or else at the end. Operations in
    `in_turn` have effects and must keep their relative order. If `wanted` is increasing, the file's order is returned.
    Raises OperationsError if the order breaks these rules.
    """
    maker = {value: v for v, row in enumerate(writes) for value in row}
    needs = [frozenset(maker[value] for value in row if maker.get(value, v) != v) for v, row in enumerate(reads)]
    order = _full_order(wanted, needs)
    _require_valid_order(order, needs, in_turn)
    return order


def _full_order(wanted: Sequence[int], needs: Sequence[frozenset[int]]) -> list[int]:
    """Return all operations in the order `wanted`, each after its `needs`. Raises OperationsError for a cycle."""
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
                raise OperationsError(f"order: must not form a cycle, got operation {u} before itself")
            elif not done[u]:
                waiting.add(u)
                stack.append((u, iter(sorted(needs[u]))))
    return order


def _require_valid_order(order: Sequence[int], needs: Sequence[frozenset[int]], in_turn: Container[int]) -> None:
    """Raise OperationsError unless all operations occur once, after their `needs`, and those `in_turn` in order."""
    if sorted(order) != list(range(len(needs))):
        raise OperationsError("order: must contain each operation of the file exactly once")
    done: set[int] = set()
    for v in order:
        if missing := needs[v] - done:
            raise OperationsError(f"order: must run operation {min(missing)} before {v}")
        done.add(v)
    for first, second in pairwise(v for v in order if v in in_turn):
        if first > second:
            raise OperationsError(f"order: must run operation {second} before {first}, as both have effects")
