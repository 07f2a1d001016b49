"""The view of one plan: pools, buffers and their lifetimes as columns of a page document."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from memplan.api.reports.page.document import PageDocument
from memplan.capabilities.verify.verify import Verdict, verdict_on
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable
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

    Times are counted from the first of the problem, or are positions in the list of all where they lie too far apart;
    a buffer that has no lifetimes spans all of them, an alias those of what it lies in. Buffers that are not placed
    have the pool -1.
    """
    table = problem.buffers
    placed = PlacedBuffers.by(problem, plan.placements)
    aliases = sorted(table.aliases)
    roots = [problem.roots[i] for i in aliases]
    axis = _Axis(table)
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
            "root": document.column([root for root, _ in roots]),
            "distance": document.column([distance for _, distance in roots]),
        },
        "pins": document.column(np.flatnonzero(table.offset != ABSENT)),
        **_lifetimes(document, problem, axis),
        **_optional(document, problem),
        **_names(document, axis, names),
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
    answer: dict[str, Any] = found.model_dump(mode="json", include={"valid", "violations", "pools"})
    answer["count"] = len(found.violations)
    answer["violations"] = answer["violations"][:_LISTED]
    for pool in answer["pools"]:
        pool["time"] = None if pool["time"] is None else str(pool["time"])
        pool |= {key: str(value) for key, value in pool.items() if isinstance(value, int) and value > 2**53}
        pool["without"] = [[name, str(left)] for name, left in pool["without"]]
    if found.places is not None:
        answer["places"] = {name: document.column(values) for name, values in found.places}
    return answer


class _Axis:
    """The times of a page: steps after the first of the problem, or positions among all where those are too many."""

    def __init__(self, table: BufferTable) -> None:
        self.origin = int(table.start.min(initial=2**63 - 1)) if len(table.start) else 0
        self.last = int(table.end.max()) if len(table.end) else self.origin + 1
        self.known: I64 | None = None
        if self.last - self.origin > 2**53:
            self.known = np.unique(np.concatenate((table.start, table.end)))

    def steps(self, times: I64) -> npt.NDArray[Any]:
        """Return times as the page counts them."""
        return times - self.origin if self.known is None else np.searchsorted(self.known, times)

    def text(self, time: int) -> str:
        """Return a time of the program, of which the page takes `origin` away."""
        return str(time) if self.known is None else str(int(np.searchsorted(self.known, time)))

    def fields(self, document: PageDocument) -> dict[str, Any]:
        """Return what the page needs to write times as the problem does."""
        if self.known is None:
            return {"origin": str(self.origin)}
        return {"origin": "0", "times": document.texts([str(time) for time in self.known.tolist()])}


def _lifetimes(document: PageDocument, problem: Problem, axis: _Axis) -> dict[str, Any]:
    """Return lifetimes in the order of their starts: start, length, and the buffer that each is of."""
    table = problem.buffers
    start, end = axis.steps(table.start), axis.steps(table.end)
    timeless, rows = [], [(np.arange(len(start)), np.repeat(np.arange(len(table)), np.diff(table.first)))]
    for i in np.flatnonzero(np.diff(table.first) == 0).tolist():
        root = problem.roots.get(i, (i, 0))[0]
        lives = np.arange(table.first[root], table.first[root + 1])
        if len(lives):
            rows.append((lives, np.full(len(lives), i)))
        else:
            timeless.append(i)
    row, buffer = (np.concatenate(column) for column in zip(*rows, strict=True))
    whole = axis.steps(np.array([axis.origin, axis.last])).repeat(len(timeless)).reshape(2, -1)
    start, end = np.concatenate((start[row], whole[0])), np.concatenate((end[row], whole[1]))
    buffer = np.concatenate((buffer, np.array(timeless, dtype=np.int64)))
    order = np.argsort(start, kind="stable")
    return {
        **axis.fields(document),
        "life": {
            "start": document.column(start[order], is_sorted=True),
            "length": document.column((end - start)[order]),
            "buffer": document.column(buffer[order]),
        },
        "timeless": document.column(timeless),
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


def _names(document: PageDocument, axis: _Axis, names: ProgramNames) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if names.steps:
        steps = sorted(names.steps, key=lambda step: step.time)
        found["steps"] = {
            "time": [axis.text(step.time) for step in steps],
            "name": document.texts([step.name for step in steps]),
        }
    if names.spans:
        found["spans"] = [[span.kind, span.name, axis.text(span.start), axis.text(span.end)] for span in names.spans]
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
