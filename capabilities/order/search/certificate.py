"""The certificate of an order's lower bound: by a state, a cut, or a complete search."""

from __future__ import annotations

from memplan.capabilities.capability import Answer
from memplan.capabilities.order import certificate_lines as orders
from memplan.capabilities.order.certificate_lines import TIME_LIMIT_S, OrderCertificate
from memplan.capabilities.order.search.searched import SearchTooLargeError, search_lines
from memplan.capabilities.order.search.solve import CutWitness, OrderResult, StateWitness
from memplan.planner.operations.graph import OperationGraph


class BoundCertificate(Answer):
    """The text that proves a bound without memplan, its length and its hash; or the reason why there is none."""

    format: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    text: str | None = None
    reason: str | None = None


def certify_order(
    graph: OperationGraph, result: OrderResult, *, time_limit_s: float = TIME_LIMIT_S
) -> OrderCertificate:
    """Return what proves, without memplan, that no order of a graph has a peak below the result's bound.

    A bound by a complete search has none where its states take more time than the limit, or more than 10 MB; one by a
    cut where outputs that may be written over inputs make the cut larger than a flow can show; neither has one where
    the operations have regions, whose orders it says nothing of. Its `reason` says so.
    """
    witness = result.witness
    if isinstance(witness, StateWitness):
        return orders.certify_state(graph, result.lower_bound, witness.done)
    if isinstance(witness, CutWitness):
        if graph.ops[witness.operation].regions:
            reason = f"the bound is by ops[{witness.operation}], whose regions have orders of their own"
            return OrderCertificate(result.lower_bound, reason=reason)
        return orders.certify_operation(graph, result.lower_bound, witness.operation, time_limit_s=time_limit_s)
    reason = f"the bound is by a complete search of {len(witness.operations)} operations"
    if any(graph.ops[k].regions for k in witness.operations):
        return OrderCertificate(result.lower_bound, reason=f"{reason}, whose regions have orders of their own")
    try:
        lines = search_lines(graph, result.lower_bound, witness.operations, witness.direction, time_limit_s)
    except SearchTooLargeError as why:
        return OrderCertificate(result.lower_bound, reason=f"{reason}: {why}")
    return orders.checked(graph, result.lower_bound, lines)


def bound_certificate(graph: OperationGraph, result: OrderResult, time_limit_s: float) -> BoundCertificate:
    """Return what an answer says of the certificate of an order's bound."""
    found = certify_order(graph, result, time_limit_s=min(TIME_LIMIT_S, time_limit_s))
    return BoundCertificate.of(found.facts(), text=found.text or None)
