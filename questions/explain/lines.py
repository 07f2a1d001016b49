"""The text lines of an explanation for people: the reason, the peaks, the repairs, and the bytes that changes save."""

from collections.abc import Iterator

from memplan.planner.bounds.reason_sentence import rule_text
from memplan.planner.errors import count_text, excerpt
from memplan.planner.model.plan import Explanation
from memplan.questions.explain.values import OrderRepair, OrderRepairs, RepairChange, Repairs, WhatIf

_ROWS = 20
"""The maximum number of buffers in a printed table."""


def lines_of_reason(reason: Explanation) -> Iterator[str]:
    """Yield the text lines of a reason: its kind, buffers and rules, the bytes needed, and a sufficient pool size."""
    text = "each of them is needed" if reason.irreducible else f"{reason.open_questions} of them may not be needed"
    yield f"kind         {reason.kind}, {text}"
    for name in reason.buffers:
        yield f"buffer       {excerpt(name)}"
    for rule in reason.rules:
        yield f"rule         {rule_text(rule)}"
    if reason.needed is not None and reason.capacity is not None:
        more = f"{reason.needed - reason.capacity:,} more than there are"
        yield f"needed       {reason.needed:>16,} bytes at least, {more}"
    if reason.would_do is not None:
        proof = "and no less" if reason.would_do.proved else "perhaps less"
        yield f"would do     {reason.would_do.size:>16,} bytes of pool {excerpt(reason.would_do.pool)}, {proof}"


def lines_of_repairs(found: Repairs) -> Iterator[str]:
    """Yield a line with the cost of each repair, repairs of operations first; without repairs, a line says so."""
    if found.of_operations is not None and found.of_operations.repairs:
        yield from _lines_of_operations(found.of_operations)
    for each in found.repairs:
        changes = " and ".join(map(change_text, each.changes))
        yield f"repair       {changes}: {count_text(each.cost_bytes, 'byte')} of traffic, peak {each.peak_after:,}"
    if found.status in ("none", "unknown"):
        text = "is enough" if found.proved else "was found to be enough"
        yield f"repair       none of at most {count_text(found.most_changes, 'change')} {text}"
    if found.of_operations is not None and not found.of_operations.repairs:
        yield from _lines_of_operations(found.of_operations)


def _lines_of_operations(found: OrderRepairs) -> Iterator[str]:
    """Yield a line per repair of operations, or a line that no repair is known, and a line per untried kind."""
    for each in found.repairs:
        cost = f"{each.extra_cost:,} more to compute, {each.extra_traffic:,} bytes of traffic"
        yield f"repair       {_operations_repair_text(each)}: {cost}, peak {each.peak_after:,}"
    if not found.repairs:
        text = "is enough" if found.proved else "was found to be enough"
        alive = f"at least {found.least_live_peak:,} bytes are alive in each"
        yield f"repair       no order of the operations {text}; {alive}"
    for reason in found.left_out:
        yield f"not tried    {reason}"


def _operations_repair_text(each: OrderRepair) -> str:
    """Return a phrase for a repair of operations, including the command that applies the repair."""
    if each.kind == "in-place":
        return "operations write over inputs that nothing reads later (`memplan plan --in-place`)"
    if each.kind == "recompute":
        return f"run {count_text(len(each.operations), 'operation')} again (`memplan order --recompute`)"
    if each.kind == "cascade":
        pairs = zip(each.operations[::2], each.operations[1::2], strict=True)
        ranges = ", ".join(f"{first} to {last}" for first, last in pairs)
        return f"run operations {ranges} in stripes (`memplan cascade`)"
    if each.kind == "reorder":
        return f"another order, {count_text(each.moves, 'operation')} elsewhere (`memplan order`)"
    return "the operations as they are"


def change_text(change: RepairChange) -> str:
    """Return a change to a problem as an imperative phrase."""
    name = excerpt(change.buffers[0])
    if change.kind == "in-place":
        return f"make {excerpt(change.buffers[1])} in place of {name}"
    if change.kind == "pool":
        return f"move {name} to {'another memory' if change.pool is None else 'pool ' + excerpt(change.pool)}"
    steps = count_text(change.steps or 0, "step")
    texts = {
        "spill": f"keep {name} elsewhere between its first and its last step",
        "unpin": f"unpin {name}",
        "alignment": f"align {name} to {change.value}",
        "earlier-end": f"end {name} {steps} earlier",
        "later-start": f"start {name} {steps} later",
    }
    return texts[change.kind]


def lines_of_worth(found: WhatIf) -> Iterator[str]:
    """Yield the lines of a what-if study: a table of buffers by bytes saved, then pools, pairs and rules."""
    size = "" if found.without_size is None else f" of a pool without end: {found.without_size:,} are too few"
    yield f"{found.status}: peak {found.peak or 0:,} bytes{size}"
    is_shrunk = any(row.gain_if_shrunk is not None for row in found.buffers)
    shrunk = f"{'if shrunk':>16}" if is_shrunk else ""
    yield f"{'buffer':<24}{'size':>16}{'if dropped':>16}{shrunk}{'may grow':>16}"
    for row in sorted(found.buffers, key=lambda row: (-row.gain_if_dropped[0], row.may_grow or 0))[:_ROWS]:
        grow = "" if row.may_grow is None else f"{row.may_grow:,}"
        least = "" if row.exact else " or more"
        shrunk = "" if row.gain_if_shrunk is None else f"{row.gain_if_shrunk[0]:,}"
        gains = f"{row.gain_if_dropped[0]:>16,}" + (f"{shrunk:>16}" if is_shrunk else "")
        yield f"{excerpt(row.id):<24}{row.size:>16,}{gains}{grow:>16}{least}"
    if len(found.buffers) > _ROWS:
        yield f"and {count_text(len(found.buffers) - _ROWS, 'other')}"
    for pool in found.pools:
        least = "" if pool.exact else " or more"
        yield f"{pool.more:,} bytes more in pool {excerpt(pool.pool)}: {pool.gain[0]:,.12g}{least}"
    for pair in found.pairs:
        a, b = map(excerpt, pair.buffers)
        apart = "nothing fits" if pair.loss_if_apart is None else f"{pair.loss_if_apart[0]:,g} more"
        yield f"{a} and {b} share bytes for {pair.cost:,}: free, {pair.gain_if_free[0]:,g} less; apart, {apart}"
    for rule in found.rules:
        yield f"without {rule_text(rule.rule)}: {rule.gain[0]:,}{'' if rule.exact else ' or more'}"
