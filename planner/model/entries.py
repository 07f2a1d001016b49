"""The entries (pairs, groups and objects) of a problem that name several buffers, for all constraint kinds."""

from collections.abc import Container, Mapping

from memplan.planner.model.problem_fields import BufferUse, ProblemFields, ReuseCost
from memplan.planner.model.rows import Id

Entry = tuple[Id, ...] | BufferUse | ReuseCost

FIELDS = tuple(name for name, field in ProblemFields.model_fields.items() if field.default == ())
"""The fields of a problem that list such entries."""


def entries_of(problem: ProblemFields) -> Mapping[str, tuple[Entry, ...]]:
    """Return the problem's non-empty lists of entries, by field name."""
    return {name: entries for name in FIELDS if (entries := getattr(problem, name))}


def entry_ids(entry: Entry) -> tuple[Id, ...]:
    """Return the ids of the buffers in an entry."""
    return entry if isinstance(entry, tuple) else entry.buffers


def forbids(entry: Entry) -> bool:
    """Return True if an entry states a hard rule; False if a plan may break it at a price."""
    return not isinstance(entry, ReuseCost) and getattr(entry, "weight", None) is None


def restrict_entry(entry: Entry, kept: Container[Id]) -> Entry | None:
    """Return an entry restricted to the buffers in `kept`, or None if fewer than two of its buffers remain."""
    if isinstance(entry, ReuseCost):
        return entry.restrict(kept)
    ids = entry_ids(entry)
    names = tuple(name for name in ids if name in kept)
    if len(names) == len(ids):
        return entry
    if len(names) < 2:
        return None
    return names if isinstance(entry, tuple) else entry.model_copy(update={"buffers": names})


def entries_among(problem: ProblemFields, kept: Container[Id]) -> dict[str, tuple[Entry, ...]]:
    """Return all entries by field, restricted to the buffers in `kept`; entries with fewer than two are omitted."""
    return {
        name: tuple(rest for entry in entries if (rest := restrict_entry(entry, kept)) is not None)
        for name, entries in entries_of(problem).items()
    }
