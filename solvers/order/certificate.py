"""The certificate of an order's lower bound, where a state or a cut proves it."""

from __future__ import annotations

from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.certificates.orders import TIME_LIMIT_S, OrderCertificate, certify_operation, certify_state
from memplan.solvers.order.solve import CutWitness, OrderResult, StateWitness


def certify_order(
    graph: OperationGraph, result: OrderResult, *, time_limit_s: float = TIME_LIMIT_S
) -> OrderCertificate:
    """Return what proves, without memplan, that no order of a graph has a peak below the result's bound.

    A bound by a complete search has no certificate, and one by a cut has none where outputs that may be written over
    inputs make the cut larger than a flow can show, or where the cut's operation has regions, whose orders it says
    nothing of; its `reason` says so.
    """
    witness = result.witness
    if isinstance(witness, StateWitness):
        return certify_state(graph, result.lower_bound, witness.done)
    if isinstance(witness, CutWitness):
        if graph.ops[witness.operation].regions:
            reason = f"the bound is by ops[{witness.operation}], whose regions have orders of their own"
            return OrderCertificate(result.lower_bound, reason=reason)
        return certify_operation(graph, result.lower_bound, witness.operation, time_limit_s=time_limit_s)
    # No short rule of dominance is known for the millions of states of a complete search (decision 089).
    searched = len(witness.operations)
    reason = f"the bound is by a complete search of {searched} operations, which leaves nothing to check"
    return OrderCertificate(result.lower_bound, reason=reason)
