"""`moves`: buffers that move between pools, with their accesses, and the rules that cannot be combined with them."""

from memplan.planner.errors import excerpt
from memplan.planner.model.constraints.kept import Breaks
from memplan.planner.model.problem_fields import ProblemFields

_REFUSED = ("may_share", "reuse", "same_offset", "equal_use")
"""The fields of problems whose rules speak of the one place of a buffer, or of the bytes that two buffers share."""


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each `given` and `kept_in` that does not name a pool of the problem."""
    for field in ("given", "kept_in"):
        for i, name in problem.buffers.rules[field].items():
            if name not in problem.pool_index:
                yield ("buffers", i, field), f"must name a pool of the problem, got {excerpt(name)}"


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each field that needs `moves`, or that cannot be combined with it."""
    rules = problem.buffers.rules
    if not problem.moves:
        for field in ("given", "kept_in"):
            for i in rules[field]:
                yield ("buffers", i, field), "must not be given without moves; name the only pool in pools instead"
        return
    if problem.objective != "cost":
        yield ("objective",), f"must be cost, or left out, with moves, got {excerpt(problem.objective)}"
    for field in _REFUSED:
        if getattr(problem, field):
            yield (field,), "must be left out with moves"
    for k, use in enumerate(problem.bank):
        if use.weight is not None:
            yield ("bank", k, "weight"), "must be left out with moves"
    for i in rules["relative"]:
        yield ("buffers", i, "relative"), "must be left out with moves; use alias_of for parts of one buffer"
    table = problem.buffers
    for i in range(len(table)):
        if len(table.intervals(i)) != 1:
            yield ("buffers", i, "lifetimes"), "must be one lifetime with moves; give start and end"
    for field in ("given", "kept_in"):
        for i, name in rules[field].items():
            if i in problem.roots:
                yield ("buffers", i, field), "must be given for the buffer that alias_of names"
            elif problem.pool_index[name] not in problem.allowed_pools(i):
                yield ("buffers", i, field), f"must be a pool that the buffer may use, got {excerpt(name)}"
