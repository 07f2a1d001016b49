"""Reports of why nothing fits, for people."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.planner.errors import shown
from memplan.planner.model.plan import Explanation
from memplan.solvers.studies.explanation.sentences import rule_text


def lines(status: str, found: Explanation | None) -> Iterator[str]:
    """Yield the rows of a table for people: the sentence, the buffers and rules, and the size that would do."""
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
