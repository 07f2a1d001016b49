"""The view of one plan: pools, buffers and their lifetimes as columns of a page document."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from memplan.api.reports.page.document import PageDocument
from memplan.capabilities.verify.verify import Verdict, verdict_on
from memplan.planner.model.buffer_table import ABSENT, BufferTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import MOST_PAIRS
from memplan.systems.program_names import NO_NAMES, ProgramNames

_NAMED_AT_MOST = 10_000
_IN_COLUMNS = {"id", "size", "start", "end", "lifetimes", "alignment", "traffic", "alias_of", "alias_offset"}
"""The fields of buffers that a page has in columns; a table that it saves has the others as JSON."""
_LISTED = 200
"""The violations that a page lists."""


MOST_PAIRS_OF_MANY = 50_000
"""The pairs of buffers that are compared for one plan of a page with many."""


def add_plan(
    document: PageDocument, problem: Problem, plan: Plan, *, title: str = "plan", names: ProgramNames = NO_NAMES
) -> None:
    """Add the view of a plan to a page document."""
    document.add(plan_view(document, problem, plan, title=title, names=names))


def plan_view(
    document: PageDocument,
    problem: Problem,
    plan: Plan,
    *,
    title: str = "plan",
    names: ProgramNames = NO_NAMES,
    most_pairs: int = MOST_PAIRS,
) -> dict[str, Any]:
    """Return the view of a plan, with what `verify` finds of it, whose columns are packed into the document.

    Times are counted from the first of the problem, and lifetimes are in the order of their starts. What follows from
    that, such as the lifetimes of aliases without any, the page finds (`static/plan_model.js`), as it also reads
    problems in JSON. Buffers that are not placed have the pool -1.
    """
    table = problem.buffers
    placed = PlacedBuffers.by(problem, plan.placements)
    aliases = sorted(table.aliases)
    origin = int(table.start.min(initial=2**63 - 1)) if len(table.start) else 0
    return {
        "kind": "plan",
        "title": title,
        "pools": _pools(problem, plan),
        "plan": _facts(plan),
        "inspection": _inspection(document, verdict_on(problem, plan, most_pairs=most_pairs)),
        "ids": document.texts(table.ids),
        "size": document.column(table.size),
        "pool": document.column(placed.pool),
        "offset": document.column(np.where(placed.pool >= 0, placed.offset, 0)),
        "aliases": {
            "buffer": document.column(aliases),
            "of": document.column([problem.index[table.aliases[i][0]] for i in aliases]),
            "distance": document.column([table.aliases[i][1] for i in aliases]),
        },
        "pins": document.column(np.flatnonzero(table.offset != ABSENT)),
        **_lifetimes(document, table, origin),
        **_optional(document, problem),
        **_names(document, names),
    }


def _pools(problem: Problem, plan: Plan) -> list[dict[str, Any]]:
    uses = {use.name: use for use in plan.pools}
    found = []
    for pool in problem.pools:
        use = uses.get(pool.name)
        row: dict[str, Any] = {"name": pool.name, "size": pool.size, "base_address": pool.base_address}
        row |= {"bank_size": pool.bank_size, "reserved": pool.reserved, "alignment": pool.alignment}
        row |= {"used": None if use is None else use.used, "lower_bound": None if use is None else use.lower_bound}
        found.append({key: value for key, value in row.items() if value is not None} | _exact(row))
    return found


def _facts(plan: Plan) -> dict[str, Any]:
    """Return what a plan claims, as the wire format writes it, without its placements."""
    facts: dict[str, Any] = plan.model_dump(
        mode="json", exclude_none=True, exclude={"placements", "pools", "shared", "bank_clashes"}
    )
    for name in ("proof", "explanation"):
        if name in facts and len(facts[name].get("buffers", ())) > _NAMED_AT_MOST:
            facts[name]["buffers"] = facts[name]["buffers"][:_NAMED_AT_MOST]
    return facts | _exact(facts)


def _exact(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return as texts, under `exact`, the integers that JavaScript's numbers are too coarse for."""
    found = {key: str(value) for key, value in facts.items() if isinstance(value, int) and value > 2**53}
    return {"exact": found} if found else {}


def _inspection(document: PageDocument, found: Verdict) -> dict[str, Any]:
    """Return what was found of a plan: times and what JavaScript's numbers are too coarse for as texts."""
    answer: dict[str, Any] = found.model_dump(mode="json", include={"valid", "violations", "claims", "pools"})
    answer["count"] = len(found.violations)
    answer["violations"] = answer["violations"][:_LISTED]
    for pool in answer["pools"]:
        pool["time"] = None if pool["time"] is None else str(pool["time"])
        pool |= {key: str(value) for key, value in pool.items() if isinstance(value, int) and value > 2**53}
        pool["without"] = [[name, str(left)] for name, left in pool["without"]]
    if found.places is not None:
        answer["places"] = {name: document.column(values) for name, values in found.places}
    return answer


def _lifetimes(document: PageDocument, table: BufferTable, origin: int) -> dict[str, Any]:
    """Return lifetimes in the order of their starts: start, counted from `origin`, length, and the buffer of each."""
    start, end = table.start, table.end
    if len(start) and int(end.max()) - origin >= 2**63:
        start, end = start.astype(object), end.astype(object)
    order = np.argsort(start, kind="stable")
    is_far = start.dtype == object
    since, length = (start - origin)[order], (end - start)[order]
    return {
        "origin": str(origin),
        "life": {
            "start": document.texts([str(time) for time in since]) if is_far else document.column(since, True),
            "length": document.texts([str(time) for time in length]) if is_far else document.column(length),
            "buffer": document.column(np.repeat(np.arange(len(table)), np.diff(table.first))[order]),
        },
    }


def _optional(document: PageDocument, problem: Problem) -> dict[str, Any]:
    table = problem.buffers
    found: dict[str, Any] = {}
    if (table.alignment != 1).any():
        found["alignment"] = document.column(table.alignment)
    if (table.traffic != ABSENT).any():
        found["traffic"] = document.column(table.traffic)
    some = np.flatnonzero((table.offset != ABSENT) | (table.hint != ABSENT) | (table.pool_choice != 0)).tolist()
    rows = sorted({*some, *chain.from_iterable(table.rules.values())})
    found["rest"] = {
        "problem": problem.model_dump_json(exclude_defaults=True, exclude={"buffers", "interval"}),
        "of": document.column(rows),
        "text": document.texts([table[i].model_dump_json(exclude_defaults=True, exclude=_IN_COLUMNS) for i in rows]),
    }
    return found


def _names(document: PageDocument, names: ProgramNames) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if names.steps:
        steps = sorted(names.steps, key=lambda step: step.time)
        found["steps"] = {
            "time": [str(step.time) for step in steps],
            "name": document.texts([step.name for step in steps]),
        }
    if names.spans:
        found["spans"] = [[span.kind, span.name, str(span.start), str(span.end)] for span in names.spans]
    for key, values in (
        ("roles", names.roles),
        ("operations", names.operations),
        ("types", names.types),
        ("models", names.models),
    ):
        if values:
            known = {value: k for k, value in enumerate(dict.fromkeys(values))}
            found[key] = {
                "of": document.column([known[value] for value in values]),
                "names": document.texts([*known]),
            }
    return found
