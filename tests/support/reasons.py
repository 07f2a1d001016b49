"""Problems reduced to the members of an explanation; independent of the code that explains."""

from collections.abc import Collection
from typing import Any

from memplan.planner.model.plan import RuleMember
from memplan.planner.model.problem import Problem

Id = int | str
_FIELDS = ("offset", "alignment", "no_cross", "offset_mod", "end_at_most", "start_at_least", "pools", "forbid_pools")


def cut_down(problem: Problem, buffers: Collection[Id], rules: Collection[RuleMember]) -> Problem:
    """Return the problem reduced to some buffers, their aliases and rigid groups, and the named rules."""
    names = tied_buffers(problem, buffers)
    asked = {(rule.rule, rule.buffer) for rule in rules}
    rows = []
    for buffer in problem.buffers:
        if buffer.id in names:
            row = buffer.model_dump(exclude_defaults=True)
            pinned = {"pools", "forbid_pools"} if ("offset", buffer.id) in asked else set()
            gone = {name for name in _FIELDS if name in row and (name, buffer.id) not in asked} - pinned
            rows.append({name: value for name, value in row.items() if name not in gone})
    pools = []
    for pool in problem.pools:
        kept = [rule.value for rule in rules if rule.rule == "reserved" and rule.pool == pool.name]
        row = pool.model_dump(exclude_defaults=True) | {"reserved": kept}
        if ("pool_alignment", pool.name) not in {(rule.rule, rule.pool) for rule in rules}:
            row.pop("alignment", None)
        pools.append(row)
    pairs = {"conflicts": problem.conflicts, "may_share": problem.may_share, "together": (), "bank": ()}
    lists: dict[str, Any] = {name: [pair for pair in rows if names.issuperset(pair)] for name, rows in pairs.items()}
    for rule in rules:
        if rule.rule == "together":
            lists["together"].append([name for name in rule.buffers if name in names])
        if rule.rule == "bank":
            lists["bank"].append({"buffers": [name for name in rule.buffers if name in names]})
    return Problem.model_validate({"buffers": rows, "pools": pools, **lists})


def tied_buffers(problem: Problem, buffers: Collection[Id]) -> set[Id]:
    """Return the ids of some buffers, and of all buffers tied to them by aliases and distances."""
    ties = [(row.id, row.alias_of) for row in problem.buffers if row.alias_of is not None]
    ties += [(row.id, row.relative.to) for row in problem.buffers if row.relative is not None]
    found = set(buffers)
    while more := {end for tie in ties if found & set(tie) for end in tie} - found:
        found |= more
    return found
