"""Reports of why nothing fits, for people."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.planner.errors import shown
from memplan.planner.model.plan import Explanation
from memplan.solvers.studies.explanation.sentences import rule_text
from memplan.solvers.studies.repairs.values import RepairChange, Repairs


def lines(status: str, found: Explanation | None, mended: Repairs | None = None) -> Iterator[str]:
    """Yield the rows of a table for people: the sentence, the members, the size that would do, and repairs."""
    yield from _of_reason(status, found)
    if mended is not None:
        yield from _of_repairs(mended)


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
