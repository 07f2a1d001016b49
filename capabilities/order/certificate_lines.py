"""Certificates of the bytes that no order of operations is below: a state of each order, or a flow around an operation.

While an operation runs, some operations have run: those that must, and others, closed under what must run before. The
fewest bytes alive meanwhile, over all these sets, are a minimum cut; the flow that is as large proves it. What is
written is checked by `checkers/order.py`, which knows nothing of memplan.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from memplan.checkers import order as checker
from memplan.planner.model.plan import CertificateFacts
from memplan.planner.operations.graph import OperationGraph, write_graph

FORMAT = "memplan-order/1"
TIME_LIMIT_S = 30.0
_CHECKER: Any = checker
"""It has no types: it is for people without memplan."""
_ENDLESS = 2**63


@dataclass(frozen=True)
class OrderCertificate:
    """A text that proves that no order has fewer than `least` bytes alive at once; or the reason why there is none."""

    least: int
    text: str = ""
    reason: str | None = None

    def facts(self, file: str | None = None) -> CertificateFacts:
        """Return what a report says of it; `file` is where it was written."""
        if not self.text:
            return CertificateFacts(reason=self.reason)
        data = self.text.encode()
        return CertificateFacts(format=FORMAT, bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), file=file)


def certify_state(graph: OperationGraph, least: int, done: Collection[int]) -> OrderCertificate:
    """Return the certificate of a bound that a state has through which each order comes."""
    return checked(graph, least, [" ".join(["state", *map(str, sorted(done))])])


def certify_operation(
    graph: OperationGraph, least: int, operation: int, *, time_limit_s: float = TIME_LIMIT_S
) -> OrderCertificate:
    """Return the certificate of a bound that holds while an operation runs, by a flow."""
    flow = _Flow(graph, operation, time.monotonic() + time_limit_s)
    if not flow.run():
        return OrderCertificate(least, reason="no flow was found in time")
    return checked(graph, least, [f"while {operation}", *flow.lines()])


def checked(graph: OperationGraph, least: int, lines: list[str]) -> OrderCertificate:
    """Return the certificate that some lines are, if the checker takes it."""
    text = "\n".join([FORMAT, f"least {least}", *lines]) + "\n"
    try:
        _CHECKER.check(write_graph(graph).decode(), text.splitlines())
    except _CHECKER.Refused as refused:
        return OrderCertificate(least, reason=f"the checker does not accept what was found: {refused}")
    return OrderCertificate(least, text)


@dataclass(eq=False)
class _Flow:
    """A largest flow from what has run before an operation to what has not, by shortest paths in layers (Dinic 1970).

    Nodes are operations, tensors behind them, and two ends; arc k and k ^ 1 are the two directions of one.
    """

    graph: OperationGraph
    operation: int
    ends_at: float
    to: list[int] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)
    word: list[tuple[str, int, str] | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        graph, n = self.graph, len(self.graph.ops)
        self.source, self.sink = n + len(graph.size), n + len(graph.size) + 1
        self.arcs: list[list[int]] = [[] for _ in range(self.sink + 1)]
        before, after = _around(graph, self.operation)
        after.add(self.operation)
        # What surely has run is one node, what surely has not is another.
        where = [self.source if k in before else self.sink if k in after else k for k in range(n)]
        for tensor, size in enumerate(graph.counted):
            maker = graph.maker[tensor]
            start = self.source if maker is None else where[maker]
            users = [k for k in graph.readers[tensor] if where[k] != self.source]
            # Made after the operation: not alive while it runs.
            if size == 0 or start == self.sink:
                continue
            self._join(start, n + tensor, size, None)
            for k in users:
                self._join(n + tensor, where[k], _ENDLESS, ("t", tensor, str(k)))
            if tensor in graph.lasting:
                self._join(n + tensor, self.sink, _ENDLESS, ("t", tensor, "-"))
        for k in range(n):
            for j in graph.predecessors[k] if where[k] == k else ():
                if where[j] == j:
                    self._join(k, j, _ENDLESS, ("o", k, str(j)))

    def _join(self, a: int, b: int, room: int, word: tuple[str, int, str] | None) -> None:
        for start, end, rest, said in ((a, b, room, word), (b, a, 0, None)):
            self.arcs[start].append(len(self.to))
            self.to.append(end)
            self.rest.append(rest)
            self.word.append(said)

    def run(self) -> bool:
        """Send all that can be sent; False where the time was too short."""
        while (level := self._levels())[self.sink] >= 0:
            if time.monotonic() >= self.ends_at:
                return False
            self._block(level, [0] * len(self.arcs))
        return True

    def _levels(self) -> list[int]:
        level = [-1] * len(self.arcs)
        level[self.source] = 0
        waiting = deque([self.source])
        while waiting:
            a = waiting.popleft()
            for k in self.arcs[a]:
                if self.rest[k] and level[self.to[k]] < 0:
                    level[self.to[k]] = level[a] + 1
                    waiting.append(self.to[k])
        return level

    def _block(self, level: list[int], at: list[int]) -> None:
        """Send along shortest paths until none is left."""
        path: list[int] = []
        node = self.source
        while True:
            if node == self.sink:
                sent = min(self.rest[k] for k in path)
                for k in path:
                    self.rest[k] -= sent
                    self.rest[k ^ 1] += sent
                path, node = [], self.source
            elif at[node] < len(self.arcs[node]):
                k = self.arcs[node][at[node]]
                if self.rest[k] and level[self.to[k]] == level[node] + 1:
                    path.append(k)
                    node = self.to[k]
                else:
                    at[node] += 1
            elif path:
                node = self.to[path.pop() ^ 1]
                at[node] += 1
            else:
                return

    def lines(self) -> list[str]:
        """Return what flows, a line an arc."""
        words = enumerate(self.word)
        return [f"{w[0]} {w[1]} {w[2]} {self.rest[k ^ 1]}" for k, w in words if w is not None and self.rest[k ^ 1]]


def _around(graph: OperationGraph, operation: int) -> tuple[set[int], set[int]]:
    """Return the operations that must run before one, and those that must run after it."""
    before, after = {operation}, {operation}
    for k in range(operation, -1, -1):
        if k in before:
            before.update(graph.predecessors[k])
    for k in range(operation + 1, len(graph.ops)):
        if not after.isdisjoint(graph.predecessors[k]):
            after.add(k)
    return before - {operation}, after - {operation}
