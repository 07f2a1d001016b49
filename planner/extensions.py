"""Extensions: the rows that memplan's own extensions, and installed distributions of others, add to tables of the base.

`memplan.extensions.TABLES` has those of memplan's own, which `memplan` registers. A distribution of others adds to a
table by an entry point of the group `memplan.TABLE`, such as `[project.entry-points."memplan.systems"]` with
`foo = "memplan_foo:SYSTEM"`. A row is all that is imported for it until it is used, so its module is a small one. The
groups, each with what a row is:

questions: a `memplan.questions.Row`.
systems: a `memplan.planner.systems.System`, whose readers, planners and writers are taken as well.
planners: a `memplan.planner.systems.ReferencePlanner`.
solvers: a `memplan.solvers.portfolio.registry.SolverRow`, which is never trusted, and runs where it is named.
kinds: an `OffsetKind`, a field of buffers by the name of the entry point.
checkers: the word and the function of `memplan.planner.verify.verifier.FIELD_RULES` for the kind of that name.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple
from warnings import warn

_PREFIX = "memplan."
_own: dict[str, Callable[[], Mapping[str, Any]]] = {}
"""By table, the function that returns the rows of memplan's own extensions."""


class OffsetKind(NamedTuple):
    """A constraint kind on single offsets: the type of its field's values, and what one means for an offset.

    `offsets` is that of `memplan.planner.model.constraints.kinds.ConstraintKind`. The modules with a kind and with its
    checker import nothing of `memplan.planner.model` at their top, which waits for the fields of buffers.
    """

    type: Any
    offsets: Callable[..., Any]


def register(tables: Mapping[str, Callable[[], Mapping[str, Any]]]) -> None:
    """Add the functions that return the rows of memplan's own extensions, by table."""
    _own.update(tables)


def import_object(where: str) -> Any:
    """Import the object named by `module:name` and return it."""
    module, name = where.split(":")
    return getattr(import_module(module), name)


@cache
def extensions(table: str) -> Mapping[str, Any]:
    """Return the rows that extensions add to a table, by name, memplan's own first; own names take precedence.

    A row of others that fails to import is left out with a warning.
    """
    rows: dict[str, Any] = dict(_own[table]()) if table in _own else {}
    for name, where, whose in _entry_points().get(f"{_PREFIX}{table}", ()):
        if table in _own and name in rows:
            continue
        try:
            rows[name] = import_object(where)
        except Exception as error:  # noqa: BLE001 - code of others
            reason = f"{type(error).__name__}: {error}"
            warn(f"{table} {name} of {whose}: is left out, as it cannot be imported: {reason}", stacklevel=2)
    for name in rows.keys() - extensions("checkers").keys() if table == "kinds" else ():
        del rows[name]
        warn(f"kinds {name}: is left out, as no checker of that name says what is wrong with an offset", stacklevel=2)
    return rows


@cache
def _entry_points() -> Mapping[str, list[tuple[str, str, str]]]:
    """Return the entry points for memplan by group: name, `module:attribute`, and the distribution with its version.

    The files are read here: `importlib.metadata` takes longer than most plans, and parses all distributions.
    """
    found: dict[str, list[tuple[str, str, str]]] = {}
    for whose, text in _declarations():
        group = ""
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                group = line.strip("[]")
            elif group.startswith(_PREFIX) and "=" in line:
                name, _, where = line.partition("=")
                found.setdefault(group, []).append((name.strip(), where.strip(), whose))
    return found


def _declarations() -> Iterator[tuple[str, str]]:
    """Yield each installed distribution that declares entry points for memplan, the first of a name, and the file."""
    seen = set()
    for folder in dict.fromkeys(sys.path):
        with suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):  # files are recognised in this order
                stem, _, kind = entry.name.rpartition(".")
                if kind not in ("dist-info", "egg-info"):
                    continue
                with suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb", 0) as file:  # noqa: PTH123 - in half
                    data = file.read()
                    name, _, version = stem.partition("-")
                    if f"[{_PREFIX}".encode() in data and name not in seen:
                        seen.add(name)
                        yield f"{name.replace('_', '-')} {version}", data.decode()
