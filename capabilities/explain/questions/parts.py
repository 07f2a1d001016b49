"""Parts of a problem: some of its buffers, without some of its rules; valid, as the whole is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from memplan.capabilities.explain.questions.rules import ProblemRule
from memplan.planner.instance.legal_offsets import families
from memplan.planner.model.buffer_table import ABSENT, I64, Bool, BufferTable, column
from memplan.planner.model.columns import read_only
from memplan.planner.model.entries import among, entries_of, forbids
from memplan.planner.model.problem import Pool, Problem

_COLUMNS = ("size", "alignment", "offset", "traffic", "hint", "pool_choice")


def bodies(problem: Problem) -> I64:
    """Return, for each buffer, the position of the one that names its body, (n,).

    A body is what cannot be taken apart: a buffer with its aliases, and with its rigid group.
    """
    found = families(problem)
    if problem.rigid:
        lead = np.arange(len(problem.buffers))
        for i, (lowest, _) in problem.rigid.items():
            lead[i] = lowest
        found = lead[found]
    return found


def part(problem: Problem, kept: Bool, dropped: Iterable[ProblemRule] = ()) -> Problem:
    """Return the problem of the kept buffers (n,), whole bodies, without the dropped rules; anything that fits will do.

    Weights of banks are left out, as they forbid nothing.
    """
    rules: defaultdict[str, list[ProblemRule]] = defaultdict(list)
    for rule in dropped:
        rules[rule.kind].append(rule)
    table = kept_rows(_without(problem.buffers, rules), kept)
    fields: dict[str, Any] = {"buffers": table, "pools": _pools(problem.pools, rules), "objective": "fit"}
    fields |= _entries(problem, set(table.ids), rules)
    return remade(problem, fields)


def remade(problem: Problem, fields: Mapping[str, Any]) -> Problem:
    """Return the problem with other fields, which must be valid together; nothing is checked."""
    same = {name: getattr(problem, name) for name in Problem.model_fields}
    return Problem.model_construct(**{**same, **fields})


def kept_rows(table: BufferTable, kept: Bool) -> BufferTable:
    """Return the kept rows of a table, (n,)."""
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


def _without(table: BufferTable, rules: Mapping[str, list[ProblemRule]]) -> BufferTable:
    """Return the table without some rules of its rows."""
    changed: dict[str, Any] = {}
    for kind, name, free in (("offset", "offset", ABSENT), ("alignment", "alignment", 1), ("pools", "pool_choice", 0)):
        if rows := [rule.buffer for rule in rules.get(kind, ())]:
            values = np.array(getattr(table, name))
            values[rows] = free
            changed[name] = column(values)
    gone = {(kind, rule.buffer) for kind in table.rules.keys() & rules.keys() for rule in rules[kind]}
    if gone:
        left = {
            name: {i: value for i, value in rows.items() if (name, i) not in gone} for name, rows in table.rules.items()
        }
        changed["rules"] = read_only(left)
    return replace(table, **changed) if changed else table


def _pools(pools: tuple[Pool, ...], rules: Mapping[str, list[ProblemRule]]) -> tuple[Pool, ...]:
    """Return the pools without some of their rules."""
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


def _entries(problem: Problem, names: set[int | str], rules: Mapping[str, list[ProblemRule]]) -> dict[str, Any]:
    """Return the entries of the problem that are about kept buffers."""
    found: dict[str, Any] = {}
    for name, entries in entries_of(problem).items():
        dropped = {rule.entry for rule in rules.get(name, ())}
        binding = (entry for k, entry in enumerate(entries) if k not in dropped and forbids(entry))
        found[name] = tuple(left for entry in binding if (left := among(entry, names)) is not None)
    return found
