"""Certificates by complete search that no order has a lower peak: merges of operations, then a line per state.

As docs/order.md defines them, states consist of macros (merged operations), forced segments, and interchangeable twins.
They are enumerated with the steps of the checker in `checkers/searched.py`, which verifies each of them.
"""

import time
from itertools import pairwise
from typing import Any

from memplan.checkers import order as order_checker
from memplan.checkers import searched as checker
from memplan.programs.operations.graph import OperationGraph, write_graph
from memplan.programs.order.search.macros import MacroGraph, macro_graph
from memplan.programs.order.search.parts import OrderPart, parts_of
from memplan.programs.order.search.twins import twins_of

MOST_BYTES = 10_000_000
_CHECKER: Any = checker
_GRAPHS: Any = order_checker
"""The checkers, which have no type annotations because they also run without memplan."""
_DEPTH, _ALLOWED = 6, 100
"""The maximum nesting depth of segments, and the maximum number of macros tried for one segment."""
_Reached = tuple[list[int], int, int]
"""The type of a step of the search: the macros that ran, the state after them, and the live bytes in that state."""


class SearchTooLargeError(Exception):
    """Raised if a search has too many states for a certificate; the message is the reason."""


def search_lines(
    graph: OperationGraph, least: int, operations: tuple[int, ...], direction: str, time_limit_s: float
) -> list[str]:
    """Return a certificate's lines, which prove that no order has a peak below `least`.

    The orders are those of the given consecutive operations. Raises SearchTooLargeError if the certificate takes more
    time or more bytes than allowed.
    """
    ends_at = time.monotonic() + time_limit_s
    reduced = macro_graph(graph)
    inside = set(operations)
    part = next(part for part in parts_of(reduced) if inside.issuperset(_first_operations(reduced, part)))
    return _Search(graph, reduced, part, least - 1, direction).lines(ends_at)


def _first_operations(reduced: MacroGraph, part: OrderPart) -> list[int]:
    return [reduced.macros[v].operations[0] for v in part.members]


class _Search:
    """The enumeration of a part's states within a budget of bytes, in one direction of the order."""

    def __init__(
        self, graph: OperationGraph, reduced: MacroGraph, part: OrderPart, budget: int, direction: str
    ) -> None:
        """Begin with the state at the start or, backwards, at the end of the part; `reduced` is the graph of macros."""
        macros = _CHECKER.Macros(_GRAPHS.Graph(write_graph(graph).decode()))
        for u, v in reduced.joins:
            macros.join(u, v)
        names = _first_operations(reduced, part)
        self._first_operations, self._budget, self._branched = names, budget, 0
        self._states = _CHECKER.Search(macros, names, direction == "forward", budget)
        self._found = [f"join {u} {v}" for u, v in reduced.joins]
        self._found.append(" ".join(["search", direction, *map(str, names)]))
        moves = part.moves(direction == "forward").table
        self._next = {
            name: [names[w] for w in moves.next[moves.next_first[v] : moves.next_first[v + 1]].tolist()]
            for v, name in enumerate(names)
        }
        for same in twins_of(part):
            for a, b in pairwise(sorted(same)):
                pairs = [(names[v], names[w]) for v, w in zip(a, b, strict=True)]
                try:
                    self._states.swap(pairs)
                except _CHECKER.Refused:
                    # The checker refuses to swap macros whose operations differ, so leave such a swap out of the proof.
                    continue
                self._found.append(" ".join(["swap", *(f"{v}:{w}" for v, w in pairs)]))
        self._bytes = sum(map(len, self._found)) + len(self._found)

    def lines(self, ends_at: float) -> list[str]:
        """Return the lines of the certificate for all states; raises SearchTooLargeError for too many states."""
        states = self._states
        while states.at < len(states.waiting):
            if time.monotonic() > ends_at:
                raise SearchTooLargeError(f"the search reached {len(states.waiting)} states in time, and more remain")
            state = states.next_state()
            if swaps := self._canonical_swaps(state):
                self._add_lines("as", swaps)
                states.rename(state, swaps)
            elif run := self._forced_macros(state):
                self._add_lines("run", run[0])
                states.reach(*run[1:])
            else:
                self._branched += 1
                states.branch(state)
        self._add_lines("", [])
        return self._found

    def _add_lines(self, word: str, numbers: list[int]) -> None:
        for entry in [("all", [self._branched])] * bool(self._branched) + [(word, numbers)] * bool(numbers):
            self._found.append(" ".join([entry[0], *map(str, entry[1])]))
            self._bytes += len(self._found[-1]) + 1
        self._branched = 0
        if self._bytes > MOST_BYTES:
            raise SearchTooLargeError(f"the certificate of its states takes more than {MOST_BYTES // 1_000_000} MB")

    def _canonical_swaps(self, state: int) -> list[int]:
        """Return, in order, the swaps of alike macros (twins) that turn a state into its canonical form."""
        used: list[int] = []
        before = -1
        while before != len(used):
            before = len(used)
            for k in range(len(self._states.swaps)):
                image = self._states.swap_macros(state, k)
                if image < state:
                    state = image
                    used.append(k)
        return used

    def _forced_macros(self, state: int) -> _Reached | None:
        """Return macros that can run next without a loss and the state after them; None if the search must branch."""
        row: list[int] = []
        alive = self._states.alive[state]
        reached: _Reached | None = ([], state, alive)
        while reached is not None:
            row += reached[0]
            _, state, alive = reached
            segments = (self._segment(state, alive, v, alive, _DEPTH, [_ALLOWED]) for v in self._first_operations)
            reached = next((some for some in segments if some is not None), None)
        return (row, state, alive) if row else None

    def _segment(self, state: int, alive: int, head: int, base: int, depth: int, allowed: list[int]) -> _Reached | None:
        """Find macros that begin with `head` and end with at most `base` live bytes; None if none are found.

        Return the macros, the state after them, and its live bytes. Sequences nest at most `depth` deep, and the search
        tries at most `allowed[0]` macros.
        """
        reached = self._states.step(state, alive, head)
        allowed[0] -= 1
        if reached is None or reached[1] > self._budget:
            return None
        row, (state, _, alive) = [head], reached
        while alive > base:
            waiting = dict.fromkeys(w for v in row for w in self._next[v] if w not in row)
            inner = None
            for v in waiting if depth >= 0 else ():
                if allowed[0] <= 0:
                    return None
                inner = self._segment(state, alive, v, alive, depth - 1, allowed)
                if inner is not None:
                    break
            if inner is None:
                return None
            row += inner[0]
            _, state, alive = inner
        return row, state, alive
