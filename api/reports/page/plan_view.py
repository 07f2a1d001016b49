"""The view of one plan: pools, buffers and their lifetimes as columns of a page document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from memplan.api.reports.page.document import PageDocument
from memplan.capabilities.files.program_names import NO_NAMES, ProgramNames
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers

_NAMED_AT_MOST = 10_000


def add_plan(
    document: PageDocument, problem: Problem, plan: Plan, *, title: str = "plan", names: ProgramNames = NO_NAMES
) -> None:
    """Add the view of a plan to a page document."""
    document.add(plan_view(document, problem, plan, title=title, names=names))


def plan_view(
    document: PageDocument, problem: Problem, plan: Plan, *, title: str = "plan", names: ProgramNames = NO_NAMES
) -> dict[str, Any]:
    """Return the view of a plan, whose columns are packed into the document.

    Times are counted from the first of the problem; a buffer that has no lifetimes spans all of them. Buffers that are
    not placed have the pool -1.
    """
    table = problem.buffers
    placed = PlacedBuffers.by(problem, plan.placements)
    aliases = sorted(table.aliases)
    roots = [problem.roots[i] for i in aliases]
    return {
        "kind": "plan",
        "title": title,
        "pools": _pools(problem, plan),
        "plan": _facts(plan),
        "ids": document.texts(table.ids),
        "size": document.column(table.size),
        "pool": document.column(placed.pool),
        "offset": document.column(np.where(placed.pool >= 0, placed.offset, 0)),
        "aliases": {
            "buffer": document.column(aliases),
            "root": document.column([root for root, _ in roots]),
            "distance": document.column([distance for _, distance in roots]),
        },
        "pins": document.column(np.flatnonzero(table.offset != ABSENT)),
        **_lifetimes(document, problem),
        **_optional(document, problem),
        **_names(document, problem, names),
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


def _lifetimes(document: PageDocument, problem: Problem) -> dict[str, Any]:
    """Return lifetimes in the order of their starts: start, length, and the buffer that each is of."""
    table = problem.buffers
    count = np.diff(table.first)
    buffer = np.repeat(np.arange(len(table)), count)
    start, end = table.start, table.end
    origin = int(start.min()) if len(start) else 0
    last = int(end.max()) if len(end) else origin + 1
    rows = _relative(start, origin), _relative(end, origin)
    if (timeless := np.flatnonzero(count == 0)).size:
        buffer = np.concatenate((buffer, timeless))
        zeros = np.zeros(len(timeless), dtype=np.uint64)
        rows = np.concatenate((rows[0], zeros)), np.concatenate((rows[1], zeros + np.uint64(last - origin)))
    order = np.argsort(rows[0], kind="stable")
    return {
        "origin": str(origin),
        "life": {
            "start": document.column(rows[0][order], is_sorted=True),
            "length": document.column((rows[1] - rows[0])[order]),
            "buffer": document.column(buffer[order]),
        },
        "timeless": document.column(timeless),
    }


def _relative(times: I64, origin: int) -> npt.NDArray[np.uint64]:
    """Return times as steps after the origin: they are below 2^64, which passes int64."""
    return times.astype(np.uint64) - np.uint64(origin % 2**64)


def _optional(document: PageDocument, problem: Problem) -> dict[str, Any]:
    table = problem.buffers
    found: dict[str, Any] = {}
    if (table.alignment != 1).any():
        found["alignment"] = document.column(table.alignment)
    if (table.traffic != ABSENT).any():
        found["traffic"] = document.column(table.traffic)
    if problem.may_share:
        found["may_share"] = True
    if problem.conflicts:
        pairs = problem.conflicts[: 10 * _NAMED_AT_MOST]
        found["conflicts"] = document.column([problem.index[name] for pair in pairs for name in pair])
    return found


def _names(document: PageDocument, problem: Problem, names: ProgramNames) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if names.steps:
        steps = sorted(names.steps, key=lambda step: step.time)
        found["steps"] = {
            "time": [str(step.time) for step in steps],
            "name": document.texts([step.name for step in steps]),
        }
    if names.spans:
        found["spans"] = [[span.kind, span.name, str(span.start), str(span.end)] for span in names.spans]
    for key, values in (("roles", names.roles), ("operations", names.operations), ("types", names.types)):
        if values:
            known = {value: k for k, value in enumerate(dict.fromkeys(values))}
            found[key] = {
                "of": document.column([known[value] for value in values]),
                "names": document.texts([*known]),
            }
    return found
