"""Tables whose rows come from extensions, which are part of memplan or of another installed distribution.

`memplan` registers the rows of its own floors (`memplan.extensions.TABLES`). Another distribution adds a row to a
table by an entry point of the group `memplan.TABLE`, such as `[project.entry-points."memplan.systems"]` with `foo =
"memplan_foo:SYSTEM"`. memplan imports the row's module whenever it reads the table, so that module should be small.

The tables have these rows. questions: a `memplan.questions.Row`. systems: a `memplan.planner.systems.System` with its
readers, planners and writers. planners: a `memplan.planner.systems.ReferencePlanner`. solvers: a
`memplan.solvers.portfolio.registry.SolverRow`, which runs only if a caller names it, and whose proofs are not trusted.
kinds: an `OffsetKind`, which becomes a field of buffers with the entry point's name. checkers: the rule's name and the
function in `memplan.planner.verify.verifier.FIELD_RULES` for the kind of the same name.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar
from warnings import warn

_PREFIX = "memplan."
_own: dict[str, list[Callable[[], Mapping[str, Any]]]] = {}
"""For each table, the functions that return the rows of memplan's own floors."""
P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """A function that an extension adds, such as a search or a page; its caller declares its name and its type.

    The extension adds a row to the table `hooks`: the name, and `module:function`, which is imported when it is called.
    """

    def __init__(self, name: str) -> None:
        """Declare the hook of this name."""
        self.name = name

    @property
    def is_there(self) -> bool:
        """True if an extension has added the function."""
        return self.name in extensions("hooks")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; raises KeyError if no extension has added it."""
        found: Callable[P, R] = import_object(extensions("hooks")[self.name])
        return found(*args, **kwargs)


class OffsetKind(NamedTuple):
    """A constraint kind of an extension that restricts the offset of each buffer separately.

    `type` is the type of its field in a buffer. The function `offsets` converts a value of this field to allowed
    offsets, as in `memplan.planner.model.constraints.kinds.ConstraintKind`. The modules of a kind and its checker must
    not import `memplan.planner.model` at their top, because that package imports the kinds.
    """

    type: Any
    offsets: Callable[..., Any]


def register(tables: Mapping[str, Callable[[], Mapping[str, Any]]]) -> None:
    """Register, for each table, the function that returns the rows of one of memplan's own floors."""
    for table, rows in tables.items():
        _own.setdefault(table, []).append(rows)


def import_object(where: str) -> Any:
    """Return the imported object that a text `module:name` denotes."""
    module, name = where.split(":")
    return getattr(import_module(module), name)


@cache
def extensions(table: str) -> Mapping[str, Any]:
    """Return a table's rows by name, from all extensions.

    memplan's own row replaces a row of the same name from another distribution. A row of another distribution that
    cannot be imported is left out with a warning.
    """
    rows: dict[str, Any] = {name: row for rows_of in _own.get(table, ()) for name, row in rows_of().items()}
    for name, where, whose in _entry_points().get(f"{_PREFIX}{table}", ()):
        if table in _own and name in rows:
            continue
        try:
            rows[name] = import_object(where)
        except Exception as error:  # noqa: BLE001 - third-party code may raise any error
            reason = f"{type(error).__name__}: {error}"
            warn(f"{table} {name} of {whose}: is left out, as it cannot be imported: {reason}", stacklevel=2)
    for name in rows.keys() - extensions("checkers").keys() if table == "kinds" else ():
        del rows[name]
        warn(f"kinds {name}: is left out, because no checker of that name can explain a wrong offset", stacklevel=2)
    return rows


@cache
def _entry_points() -> Mapping[str, list[tuple[str, str, str]]]:
    """Return memplan's entry points by group, each as (name, `module:attribute`, distribution and version).

    The files are read directly, because `importlib.metadata` parses all distributions, which takes longer than making
    most plans.
    """
    found: dict[str, list[tuple[str, str, str]]] = {}
    for whose, text in _entry_point_files():
        group = ""
        for line in map(str.strip, text.splitlines()):
            if line.startswith("["):
                group = line.strip("[]")
            elif group.startswith(_PREFIX) and "=" in line:
                name, _, where = line.partition("=")
                found.setdefault(group, []).append((name.strip(), where.strip(), whose))
    return found


def _entry_point_files() -> Iterator[tuple[str, str]]:
    """Yield (name and version, text of entry_points.txt) for each distribution with entry points for memplan.

    If several distributions have the same name, only the first on the import path counts.
    """
    seen = set()
    for folder in dict.fromkeys(sys.path):
        with suppress(OSError), os.scandir(folder or ".") as entries:
            # Readers are tried in the order of their names, so sort the names to get the same order on every machine.
            for entry in sorted(entries, key=lambda entry: entry.name):
                stem, _, kind = entry.name.rpartition(".")
                if kind not in ("dist-info", "egg-info"):
                    continue
                with suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb", 0) as file:  # noqa: PTH123 - fast
                    data = file.read()
                    name, _, version = stem.partition("-")
                    if f"[{_PREFIX}".encode() in data and name not in seen:
                        seen.add(name)
                        yield f"{name.replace('_', '-')} {version}", data.decode()
