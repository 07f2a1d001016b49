"""What others add: rows that installed distributions declare as entry points, beside the rows of memplan's own tables.

A distribution adds to a table by an entry point of the group `memplan.TABLE`, such as
`[project.entry-points."memplan.systems"]` with `foo = "memplan_foo:SYSTEM"`. The groups, each with what a row is:

questions: a `memplan.capabilities.capability.Capability`.
systems: a `memplan.planner.systems.System`, whose readers, planners and writers are taken as well.
planners: a `memplan.planner.systems.ReferencePlanner`.
solvers: a `memplan.solvers.portfolio.registry.SolverRow`, which is never trusted, and runs where it is named.
kinds: an `OffsetKind`, a field of buffers by the name of the entry point.
checkers: the word and the function of `memplan.planner.verify.verifier.FIELD_RULES` for the kind of that name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from warnings import warn

_PREFIX = "memplan."


@dataclass(frozen=True)
class OffsetKind:
    """A constraint kind on single offsets: the type of its field's values, and what one means for an offset.

    `offsets` is that of `memplan.planner.model.constraints.kinds.ConstraintKind`. The modules with a kind and with its
    checker import nothing of `memplan.planner.model` at their top, which waits for the fields of buffers.
    """

    type: Any
    offsets: Callable[..., Any]


@cache
def extensions(table: str) -> Mapping[str, Any]:
    """Return the rows that others add to a table, by name; one that cannot be imported is named in a warning, and
    left out, whatever it raises.
    """
    if not _is_any_declared():
        return {}
    # Imported here: this takes longer than most plans do, and few have installed an extension.
    from importlib.metadata import entry_points

    rows: dict[str, Any] = {}
    for point in entry_points(group=f"{_PREFIX}{table}"):
        try:
            rows[point.name] = point.load()
        except Exception as error:  # noqa: BLE001 - code of others
            whose = "" if point.dist is None else f" of {point.dist.name} {point.dist.version}"
            reason = f"{type(error).__name__}: {error}"
            warn(f"{table} {point.name}{whose}: is left out, as it cannot be imported: {reason}", stacklevel=2)
    for name in rows.keys() - extensions("checkers").keys() if table == "kinds" else ():
        del rows[name]
        warn(f"kinds {name}: is left out, as no checker of that name says what is wrong with an offset", stacklevel=2)
    return rows


@cache
def _is_any_declared() -> bool:
    """Return True if an installed distribution declares an entry point for memplan."""
    return any(f"[{_PREFIX}".encode() in data for data in _declarations())


def _declarations() -> Iterator[bytes]:
    for folder in dict.fromkeys(sys.path):
        with suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with suppress(OSError):
                        yield Path(entry.path, "entry_points.txt").read_bytes()
