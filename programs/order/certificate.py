"""Certificates that no order of operations has a lower peak, by a state, a flow, or a complete search.

While an operation runs, the set of finished operations contains all predecessors of the operation and of the set. The
minimum of the live bytes over all such sets is a minimum cut, which a flow of the same value proves.
`checkers/order.py`, which is independent of memplan, checks the certificate.
"""

import hashlib
import time
from typing import Any

import numpy as np

from memplan.checkers import order as checker
from memplan.planner.errors import count_text
from memplan.programs.operations.graph import OperationGraph, write_graph
from memplan.programs.order.answer import BoundCertificate, CutWitness, NeedWitness, OrderAnswer, StateWitness
from memplan.programs.order.core.kernels import CUT, close_cheaply
from memplan.programs.order.search.cuts import ENDLESS, FlowArcs
from memplan.programs.order.search.searched import SearchTooLargeError, search_lines
from memplan.solvers.core.tables import Reference
from memplan.solvers.search.meanwhile import polling_flag

FORMAT = "memplan-order/1"
TIME_LIMIT_S = 30.0
_CHECKER: Any = checker
"""The checker, which has no type annotations because it also runs without memplan."""


def certify_order(
    graph: OperationGraph, answer: OrderAnswer, *, time_limit_s: float = TIME_LIMIT_S
) -> BoundCertificate:
    """Return a certificate, checkable without memplan, that no order of a graph has a peak below the answer's bound.

    The certificate is absent, with a `reason`, in three cases: a complete search exceeds the time limit or 10 MB,
    overwriting outputs make the cut larger than a flow can prove, or operations have regions, whose orders a
    certificate does not cover.
    """
    witness, least = answer.witness, answer.lower_bound
    assert witness is not None
    if isinstance(witness, StateWitness):
        return _checked_certificate(graph, least, [" ".join(["state", *map(str, sorted(witness.done))])])
    if isinstance(witness, CutWitness | NeedWitness):
        if graph.ops[witness.operation].regions:
            reason = f"the bound is by ops[{witness.operation}], whose regions have orders of their own"
            return BoundCertificate(reason=reason)
        flow = _flow_lines(graph, witness.operation, time_limit_s)
        if flow is None:
            return BoundCertificate(reason="no flow was found in time")
        return _checked_certificate(graph, least, [f"while {witness.operation}", *flow])
    reason = f"the bound is by a complete search of {count_text(len(witness.operations), 'operation')}"
    if any(graph.ops[k].regions for k in witness.operations):
        return BoundCertificate(reason=f"{reason}, whose regions have orders of their own")
    try:
        return _checked_certificate(
            graph, least, search_lines(graph, least, witness.operations, witness.direction, time_limit_s)
        )
    except SearchTooLargeError as why:
        return BoundCertificate(reason=f"{reason}: {why}")


def _checked_certificate(graph: OperationGraph, least: int, lines: list[str]) -> BoundCertificate:
    text = "\n".join([FORMAT, f"least {least}", *lines]) + "\n"
    try:
        _CHECKER.check(write_graph(graph).decode(), text.splitlines())
    except _CHECKER.Refused as refused:
        return BoundCertificate(reason=f"the checker does not accept what was found: {refused}")
    data = text.encode()
    return BoundCertificate(format=FORMAT, bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), text=text)


def _flow_lines(graph: OperationGraph, operation: int, time_limit_s: float) -> list[str] | None:
    """Return the lines that state a maximum flow for an operation, one for each arc; None if the time is over.

    The nodes are operations, tensors, and one sink for `operation` and all operations that must run after it.
    """
    n = len(graph.ops)
    sink = n + len(graph.size)
    before, after = _forced_neighbours(graph, operation)
    where = [sink if k in after or k == operation else k for k in range(n)]
    arcs: list[tuple[int, int, int]] = []
    words: list[str | None] = []
    gain, price = np.zeros(sink + 1, np.int64), np.zeros(sink + 1, np.int64)
    price[sink] = ENDLESS
    for tensor, size in enumerate(graph.working_bytes):
        maker, node = graph.maker[tensor], n + tensor
        # A tensor written only after the operation is not alive while it runs, so skip the tensor.
        if size == 0 or (maker is not None and where[maker] == sink):
            continue
        if maker is None or maker in before:
            gain[node] = size
        else:
            arcs.append((maker, node, size))
            words.append(None)
        users = [k for k in graph.readers[tensor] if k not in before]
        arcs += [(node, where[k], ENDLESS) for k in users]
        words += [f"t {tensor} {k}" for k in users]
        if tensor in graph.permanent_tensors:
            arcs.append((node, sink, ENDLESS))
            words.append(f"t {tensor} -")
    for k in range(n):
        for j in graph.predecessors[k] if where[k] == k and k not in before else ():
            if j not in before:
                arcs.append((k, j, ENDLESS))
                words.append(f"o {k} {j}")
    flow, ends_at = FlowArcs(sink + 1, arcs), time.monotonic() + time_limit_s
    with polling_flag(lambda: time.monotonic() > ends_at) as flag:
        network = flow.network(gain, price, np.ones(sink + 1, np.bool_), flag)
        if close_cheaply(Reference(network)) != CUT:
            return None
    sent = network.rest[flow.backward].tolist()
    return [f"{word} {size}" for word, size in zip(words, sent, strict=True) if word is not None and size]


def _forced_neighbours(graph: OperationGraph, operation: int) -> tuple[set[int], set[int]]:
    before, after = {operation}, {operation}
    for k in range(operation, -1, -1):
        if k in before:
            before.update(graph.predecessors[k])
    for k in range(operation + 1, len(graph.ops)):
        if not after.isdisjoint(graph.predecessors[k]):
            after.add(k)
    return before - {operation}, after - {operation}
