"""The rules of a problem that can be part of a reason, and subproblems with only some buffers and rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memplan.planner.instance.legal_offsets import families
from memplan.planner.model.buffer_table import ABSENT, I64, RARE_FIELDS, Bool, BufferTable, column
from memplan.planner.model.columns import read_only
from memplan.planner.model.entries import FIELDS, entries_of, entry_ids, forbids, restrict_entry
from memplan.planner.model.plan import RuleMember
from memplan.planner.model.problem import Pool, Problem, replace_fields

_IN_ORDER = tuple(name for name in reversed(FIELDS) if name not in ("conflicts", "may_share"))
"""The fields whose entries can be dropped from a problem, in the order in which dropping is tried."""
_OF_OFFSETS = tuple(name for name in RARE_FIELDS if name not in ("relative", "forbid_pools"))
"""The rare buffer fields that restrict offsets. `relative` is not among them: it joins two buffers into one body."""


@dataclass(frozen=True)
class ProblemRule:
    """A rule of a problem: `kind` is the name of its field, and the positions identify the object that it restricts.

    `buffer` and `pool` are positions of a buffer or pool. `entry` is the position in a pool's reserved ranges, or in a
    field of the problem whose entries concern several buffers. A position that does not apply is ABSENT.
    """

    kind: str
    buffer: int = ABSENT
    pool: int = ABSENT
    entry: int = ABSENT

    def member(self, problem: Problem) -> RuleMember:
        """Return the rule as a member of an explanation, with ids and names instead of positions."""
        table, i = problem.buffers, self.buffer
        if self.kind == "reserved":
            pool = problem.pools[self.pool]
            return RuleMember(rule=self.kind, pool=pool.name, value=tuple(pool.reserved[self.entry]))
        if self.kind == "pool_alignment":
            pool = problem.pools[self.pool]
            return RuleMember(rule=self.kind, pool=pool.name, value=pool.alignment)
        if self.kind in FIELDS:
            return RuleMember(rule=self.kind, buffers=entry_ids(getattr(problem, self.kind)[self.entry]))
        values: dict[str, int | tuple[str, ...] | tuple[int, ...]] = {
            "offset": int(table.offset[i]),
            "alignment": int(table.alignment[i]),
            "pools": table.pool_choices[int(table.pool_choice[i])],
            **{field: rows.get(i, 0) for field, rows in table.rules.items()},
        }
        return RuleMember(rule=self.kind, buffer=table.ids[i], value=values[self.kind])


def rules_of(problem: Problem, kept: Bool) -> list[ProblemRule]:
    """Return the rules that restrict the buffers in the mask `kept`, and all rules of the pools.

    A pinned buffer keeps its pool, because its offset refers to that pool. So the rule that lists its allowed pools can
    be dropped only together with the pin.
    """
    return [*_pool_rules(problem), *_entry_rules(problem, kept), *_buffer_rules(problem, kept)]


def _pool_rules(problem: Problem) -> Iterator[ProblemRule]:
    for q, pool in enumerate(problem.pools):
        for k, (_, size) in enumerate(pool.reserved):
            if size > 0:
                yield ProblemRule("reserved", pool=q, entry=k)
        if pool.alignment > 1:
            yield ProblemRule("pool_alignment", pool=q)


def _entry_rules(problem: Problem, kept: Bool) -> Iterator[ProblemRule]:
    for field in _IN_ORDER:
        for k, entry in enumerate(getattr(problem, field)):
            # An entry with weights only adds costs, so dropping the entry cannot make a problem feasible.
            if forbids(entry) and sum(bool(kept[problem.index[name]]) for name in entry_ids(entry)) > 1:
                yield ProblemRule(field, entry=k)


def _buffer_rules(problem: Problem, kept: Bool) -> Iterator[ProblemRule]:
    """Yield the rules of single kept buffers (a mask (n,)): pins, alignments, and rules on offsets and on pools."""
    table = problem.buffers
    has_choice = len(problem.pools) > 1
    for i in np.flatnonzero(kept & (table.offset >= 0)).tolist():
        yield ProblemRule("offset", buffer=i)
    for i in np.flatnonzero(kept & (table.alignment > 1)).tolist():
        yield ProblemRule("alignment", buffer=i)
    for field in _OF_OFFSETS:
        for i in table.rules[field]:
            if kept[i]:
                yield ProblemRule(field, buffer=i)
    for i in np.flatnonzero(kept & (table.pool_choice > 0)).tolist() if has_choice else ():
        yield ProblemRule("pools", buffer=i)
    for i in table.rules["forbid_pools"] if has_choice else ():
        if kept[i]:
            yield ProblemRule("forbid_pools", buffer=i)


_COLUMNS = ("size", "alignment", "offset", "traffic", "hint", "pool_choice")


def body_of_each_buffer(problem: Problem) -> I64:
    """Return, for each buffer, the position of the buffer that represents its body, as an array (n,).

    A body is a maximal set of buffers at fixed distances: a buffer with its aliases and its rigid group.
    """
    families_ = families(problem)
    if problem.rigid_leads:
        lead = np.arange(len(problem.buffers))
        for i, (lowest, _) in problem.rigid_leads.items():
            lead[i] = lowest
        families_ = lead[families_]
    return families_


def subproblem(problem: Problem, kept: Bool, dropped: Iterable[ProblemRule] = ()) -> Problem:
    """Return the subproblem with only the kept buffers, a mask (n,), and without the removed rules.

    Fixed distances remain. The subproblem serves only to decide feasibility, so weights of `bank` entries, which forbid
    nothing, are left out.
    """
    rules: defaultdict[str, list[ProblemRule]] = defaultdict(list)
    for rule in dropped:
        rules[rule.kind].append(rule)
    table = filter_rows(_remove_rules(problem.buffers, rules), kept)
    fields: dict[str, Any] = {"buffers": table, "pools": _pools_without_rules(problem.pools, rules), "objective": "fit"}
    fields |= _restricted_entries(problem, set(table.ids), rules)
    return replace_fields(problem, **fields)


def resize_buffer(problem: Problem, i: int, size: int) -> Problem:
    """Return the problem with another size for buffer `i`; raises ProblemError if an alias then does not fit."""
    sizes = np.array(problem.buffers.size)
    sizes[i] = size
    return replace_fields(problem, buffers=replace(problem.buffers, size=column(sizes)))


def filter_rows(table: BufferTable, kept: Bool) -> BufferTable:
    """Return the table with only the kept rows (a mask (n,)); positions of buffers are renumbered."""
    chosen = np.flatnonzero(kept)
    if len(chosen) == len(table):
        return table
    counts = np.diff(table.first)
    lives = np.repeat(kept, counts)
    rare = {"aliases": table.aliases, **table.rules}
    position = {int(i): k for k, i in enumerate(chosen)} if any(rare.values()) else {}
    columns: dict[str, Any] = {name: column(getattr(table, name)[chosen]) for name in _COLUMNS}
    rules = {name: {position[i]: value for i, value in rows.items() if i in position} for name, rows in rare.items()}
    return replace(
        table,
        ids=tuple(table.ids[i] for i in chosen.tolist()),
        first=column(np.concatenate(([0], np.cumsum(counts[chosen])))),
        start=column(table.start[lives]),
        end=column(table.end[lives]),
        aliases=read_only(rules.pop("aliases")),
        rules=read_only(rules),
        **columns,
    )


def _remove_rules(table: BufferTable, rules: Mapping[str, list[ProblemRule]]) -> BufferTable:
    """Return the table without the given rules; a pinned buffer keeps its pools unless its pin is removed."""
    changed: dict[str, Any] = {}
    loose = {rule.buffer for rule in rules.get("offset", ())}
    rules = {
        kind: [
            rule for rule in some if not kind.endswith("pools") or table.offset[rule.buffer] < 0 or rule.buffer in loose
        ]
        for kind, some in rules.items()
    }
    for kind, name, free in (("offset", "offset", ABSENT), ("alignment", "alignment", 1), ("pools", "pool_choice", 0)):
        if rows := [rule.buffer for rule in rules.get(kind, ())]:
            values = np.array(getattr(table, name))
            values[rows] = free
            changed[name] = column(values)
    gone = {(kind, rule.buffer) for kind in table.rules.keys() & rules.keys() for rule in rules[kind]}
    if gone:
        rest = {
            name: {i: value for i, value in rows.items() if (name, i) not in gone} for name, rows in table.rules.items()
        }
        changed["rules"] = read_only(rest)
    return replace(table, **changed) if changed else table


def _pools_without_rules(pools: tuple[Pool, ...], rules: Mapping[str, list[ProblemRule]]) -> tuple[Pool, ...]:
    """Return the pools without the reserved ranges and alignments among the given rules."""
    gone = {(rule.pool, rule.entry) for rule in rules.get("reserved", ())}
    loose = {rule.pool for rule in rules.get("pool_alignment", ())}
    if not gone and not loose:
        return pools
    return tuple(
        pool.model_copy(
            update={
                "reserved": tuple(row for k, row in enumerate(pool.reserved) if (q, k) not in gone),
                "alignment": 1 if q in loose else pool.alignment,
            }
        )
        for q, pool in enumerate(pools)
    )


def _restricted_entries(
    problem: Problem, names: set[int | str], rules: Mapping[str, list[ProblemRule]]
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, entries in entries_of(problem).items():
        dropped = {rule.entry for rule in rules.get(name, ())}
        binding = (entry for k, entry in enumerate(entries) if k not in dropped and forbids(entry))
        fields[name] = tuple(
            names_left for entry in binding if (names_left := restrict_entry(entry, names)) is not None
        )
    return fields
