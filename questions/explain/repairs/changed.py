"""The problems that result from sets of changes; repairs are found by planning them."""

from collections.abc import Iterable
from typing import Any

from memplan.planner.model.entries import entries_among, entries_of, entry_ids
from memplan.planner.model.problem import Problem
from memplan.questions.explain.values import RepairChange

OUT, IN = "#out", "#in"
_OF_ALIASES = {"id", "size", "alignment", "start", "end", "lifetimes", "traffic", "pools", "forbid_pools", "hint"}
"""The buffer fields that an alias may also have; a buffer with other fields would lose a rule as an alias."""


class ChangedProblems:
    """The problems that result from applying sets of changes to one problem."""

    def __init__(self, problem: Problem) -> None:
        """Store the fields of all buffers, and the ids that entries name."""
        self.problem = problem
        self.rows = {name: problem.buffers.fields(i) for i, name in enumerate(problem.buffers.ids)}
        # An entry that names an alias also binds its outer buffer, so a buffer in an entry must not become an alias.
        entries = (entry for each in entries_of(problem).values() for entry in each)
        self.named = {name for entry in entries for name in entry_ids(entry)}
        self.fields = {name: getattr(problem, name) for name in Problem.model_fields} | {"objective": "fit"}

    def apply_changes(self, changes: Iterable[RepairChange]) -> Problem:
        """Return the problem after changes to distinct buffers; the result serves only to decide feasibility."""
        rows: dict[int | str, dict[str, Any] | None] = dict(self.rows)
        more: list[dict[str, Any]] = []
        pairs = list(self.problem.may_share)
        for change in changes:
            name = change.buffers[0]
            row = dict(self.rows[name])
            if change.kind == "in-place":
                other = change.buffers[1]
                second = dict(self.rows[other])
                # For equal sizes, an alias is equivalent to a sharing pair and easier for solvers, so make an alias.
                is_like = row["size"] == second["size"] and row.get("alignment", 1) % second.get("alignment", 1) == 0
                if is_like and second.keys() <= _OF_ALIASES and self.named.isdisjoint((name, other)):
                    rows[other] = {key: value for key, value in second.items() if key != "hint"} | {"alias_of": name}
                else:
                    pairs.append((name, other))
                continue
            if change.kind == "spill":
                more += _spilled_rows(row)
            rows[name] = _change_row(row, change)
        rows_left = [row for row in rows.values() if row is not None]
        return Problem.model_validate(
            self.fields
            | {"buffers": rows_left + more}
            | self._restricted_entries({row["id"] for row in rows_left}, pairs)
        )

    def _restricted_entries(self, names: set[int | str], pairs: list[Any]) -> dict[str, Any]:
        fields = {"may_share": [pair for pair in pairs if names.issuperset(pair)]} if pairs else {}
        return {**entries_among(self.problem, names), **fields}


def original_id(name: int | str, index: Any) -> int | str:
    """Return the original buffer's id; `name` may be the id of one half of a spilled buffer."""
    if name in index or not isinstance(name, str):
        return name
    for plain in (name.removesuffix(OUT), name.removesuffix(IN)):
        if plain in index:
            return plain
        # Adding the suffix turned an integer id into a string, so convert the string back.
        if plain != name and plain.lstrip("-").isdigit() and int(plain) in index:
            return int(plain)
    return name


def _change_row(row: dict[str, Any], change: RepairChange) -> dict[str, Any] | None:
    """Return the fields of a buffer after a change; None if the change removes the buffer."""
    if change.kind == "spill" or (change.kind == "pool" and change.pool is None):
        return None
    if change.kind == "unpin":
        return {key: value for key, value in row.items() if key != "offset"}
    if change.kind == "alignment":
        return row | {"alignment": change.value}
    if change.kind == "pool":
        # A pinned offset refers to the old pool, so remove the offset.
        fields = {key: value for key, value in row.items() if key not in ("forbid_pools", "offset")}
        return fields | {"pools": (change.pool,)}
    start, end = _time_span(row)
    steps = change.steps or 0
    start, end = (start, end - steps) if change.kind == "earlier-end" else (start + steps, end)
    return {key: value for key, value in row.items() if key != "lifetimes"} | {"start": start, "end": end}


def _time_span(row: dict[str, Any]) -> tuple[int, int]:
    spans = row.get("lifetimes") or ((row["start"], row["end"]),)
    return min(start for start, _ in spans), max(end for _, end in spans)


def _spilled_rows(row: dict[str, Any]) -> list[dict[str, Any]]:
    start, end = _time_span(row)
    fields = {key: value for key, value in row.items() if key not in ("start", "end", "lifetimes", "hint")}
    return [
        fields | {"id": f"{row['id']}{OUT}", "start": start, "end": start + 1},
        fields | {"id": f"{row['id']}{IN}", "start": end - 1, "end": end},
    ]
