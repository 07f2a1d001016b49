"""Reports of why nothing fits, for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from memplan.planner.errors import shown
from memplan.planner.model.plan import Explanation
from memplan.solvers.studies.explanation.sentences import rule_text
from memplan.solvers.studies.repairs.orders import OrderRepair, OrderRepairs
from memplan.solvers.studies.repairs.values import RepairChange, Repairs


def lines(
    status: str, found: Explanation | None, mended: Repairs | None = None, orders: OrderRepairs | None = None
) -> Iterator[str]:
    """Yield the rows of a table for people: the sentence, the members, the size that would do, and repairs."""
    yield from _of_reason(status, found)
    if mended is not None:
        yield from _of_repairs(mended)
    if orders is not None:
        yield from _of_orders(orders)


def facts_of_orders(orders: OrderRepairs, *, with_plans: bool = False) -> dict[str, Any]:
    """Return what a program is told of repairs of operations, which are positions in the graph; with plans, if asked.

    A plan is one of the `problem` beside it, that of the changed program.
    """
    return {
        "status": "repaired" if orders.repairs else "none" if orders.proved else "unknown",
        "repairs": [
            {
                "kind": each.kind,
                "operations": each.operations,
                "order": each.order or None,
                "moves": each.moves,
                "extra_cost": each.extra_cost,
                "extra_traffic": each.extra_traffic,
                "live_peak": each.live_peak,
                "peak_after": each.peak,
                "verified": True,
            }
            | ({"regions": [asdict(region) for region in each.regions]} if each.regions else {})
            | ({"problem": each.problem, "plan": each.plan} if with_plans else {})
            for each in orders.repairs
        ],
        "least_live_peak": orders.least,
        "proved": orders.proved,
        "left_out": orders.left_out,
    }


def _of_orders(orders: OrderRepairs) -> Iterator[str]:
    for each in orders.repairs:
        cost = f"{each.extra_cost:,} more to compute, {each.extra_traffic:,} bytes of traffic"
        yield f"repair       {_order_text(each)}: {cost}, peak {each.peak:,}"
    if not orders.repairs:
        known = "is enough" if orders.proved else "was found to be enough"
        yield f"repair       no order of the operations {known}; at least {orders.least:,} bytes are alive in each"
    for reason in orders.left_out:
        yield f"not tried    {reason}"


def _order_text(repair: OrderRepair) -> str:
    """Say a repair of operations in some words."""
    if repair.kind == "swap":
        return "swap operations {} and {}".format(*repair.operations)
    if repair.kind == "recompute":
        return f"run {len(repair.operations)} operations again (memplan order --recompute)"
    if repair.kind == "cascade":
        pairs = zip(repair.operations[::2], repair.operations[1::2], strict=True)
        ranges = ", ".join(f"{first} to {last}" for first, last in pairs)
        return f"run operations {ranges} in stripes (memplan cascade)"
    if repair.kind == "reorder":
        return f"another order, {repair.moves} operations elsewhere (memplan order)"
    return "the operations as they are"


def _of_reason(status: str, found: Explanation | None) -> Iterator[str]:
    yield f"{status}: {found.message if found else 'all buffers have a place'}"
    if found is None or found.kind is None:
        return
    known = "each of them is needed" if found.irreducible else f"{found.open_questions} of them may not be needed"
    yield f"kind         {found.kind}, {known}"
    for name in found.buffers:
        yield f"buffer       {shown(name)}"
    for rule in found.rules:
        yield f"rule         {rule_text(rule)}"
    if found.needed is not None and found.capacity is not None:
        yield f"needed       {found.needed:>16,} bytes at least, {found.needed - found.capacity:,} more than there are"
    if found.would_do is not None:
        proof = "and no less" if found.would_do.proved else "perhaps less"
        yield f"would do     {found.would_do.size:>16,} bytes of pool {shown(found.would_do.pool)}, {proof}"


def _of_repairs(mended: Repairs) -> Iterator[str]:
    for repair in mended.repairs:
        changes = " and ".join(map(change_text, repair.changes))
        yield f"repair       {changes}: {repair.cost_bytes:,} bytes of traffic, peak {repair.peak_after:,}"
    if mended.status in ("none", "unknown"):
        known = "is enough" if mended.proved else "was found to be enough"
        yield f"repair       none of at most {mended.most_changes} changes {known}"


def change_text(change: RepairChange) -> str:
    """Say a change in some words."""
    name = shown(change.buffers[0])
    if change.kind == "in-place":
        return f"make {shown(change.buffers[1])} in place of {name}"
    if change.kind == "pool":
        return f"move {name} to {'another memory' if change.pool is None else 'pool ' + shown(change.pool)}"
    texts = {
        "spill": f"keep {name} elsewhere between its first and its last step",
        "unpin": f"unpin {name}",
        "alignment": f"align {name} to {change.value}",
        "earlier-end": f"end {name} {change.steps} steps earlier",
        "later-start": f"start {name} {change.steps} steps later",
    }
    return texts[change.kind]
