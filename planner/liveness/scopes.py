"""Lifetimes by scope: from each alloc to the free that follows on every way through the program.

Without a free, a scope ends with the list of statements that its alloc is in. Without an alloc, it is the whole call.
"""

from __future__ import annotations

from collections.abc import Sequence

from memplan.planner.errors import OperationsError
from memplan.planner.liveness.timeline import BlockPart, BranchChoice, ProgramTimeline, StatementBlock
from memplan.planner.liveness.usage import Lifetime
from memplan.planner.liveness.uses import Use, items, within

_FREE, _HELD = frozenset({False}), frozenset({True})
Held = frozenset[bool]
"""The possible states of a variable at a point of the program: held (True), free (False), or both."""


def lifetime_by_scope(timeline: ProgramTimeline, root: int, uses: Sequence[Use]) -> Lifetime:
    """Return when a variable is alive by its scopes; `uses` are those of its family, in program order.

    Raises OperationsError for a use outside of them, for a second alloc or free, and for a scope that would go from
    one iteration of a loop into the next.
    """
    variable = timeline.variables[root]
    walk = _Walk(timeline, variable.id)
    if any(use.action in ("alloc", "free") for use in uses):
        walk.run(timeline.whole, uses, _FREE)
    elif variable.role != "temporary" or variable.is_persistent:
        walk.found.add(timeline.whole.start, timeline.whole.end)
    elif variable.activation:
        call = timeline.stretches[timeline.activations[variable.activation].stretch]
        walk.found.add(call.start, call.end)
    else:
        walk.found.add(0, timeline.steps)
    return walk.found


class _Walk:
    """Follows what may be held through the parts of the program's time in which a variable is named."""

    def __init__(self, timeline: ProgramTimeline, name: str) -> None:
        self.timeline, self.name = timeline, name
        self.found = Lifetime()

    def run(self, run: StatementBlock, uses: Sequence[Use], held: Held) -> Held:
        """Find the lifetime in a run; return what may be held behind it."""
        at = run.start
        for item in items(run, uses):
            if True in held:
                self.found.add(at, item.start)
            at = max(at, item.start)
            if item.part is None:
                held = self._step(item.uses[0], held)
            else:
                held = self._part(item.part, item.uses, held)
                at = item.end
        if True in held:
            self.found.add(at, run.end)
        return held

    def _step(self, use: Use, held: Held) -> Held:
        if use.action == "end":
            return _FREE
        if use.action == "alloc" and held != _FREE:
            raise self._error(use.stretch, "must be free where it is allocated")
        if use.action != "alloc" and held != _HELD:
            raise self._error(
                use.stretch, f"must be allocated where it is {'freed' if use.action == 'free' else 'used'}"
            )
        return _FREE if use.action == "free" else _HELD

    def _part(self, part: BlockPart, uses: Sequence[Use], held: Held) -> Held:
        if isinstance(part, BranchChoice):
            ends = [self._branch(branch, within(branch, uses), held) for branch in part.branches]
            return frozenset().union(*ends)
        end = self.run(part.body, uses, held)
        if end != held:
            raise self._error(part.path, "must be allocated and freed in the same iteration")
        return held

    def _branch(self, branch: StatementBlock, uses: Sequence[Use], held: Held) -> Held:
        if uses:
            return self.run(branch, uses, held)
        if True in held:
            self.found.add(branch.start, branch.end)
        return held

    def _error(self, where: int | str, rule: str) -> OperationsError:
        path = self.timeline.path(where) if isinstance(where, int) else where
        return OperationsError(f"{self.name}: {rule}, got {path}")
