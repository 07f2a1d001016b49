"""Extensions: rows that installed distributions add to memplan's own tables by entry points.

A distribution adds to a table by an entry point of the group `memplan.TABLE`, such as
`[project.entry-points."memplan.planner.foreign"]` with `foo = "memplan_foo:SYSTEM"`. A row is all that is imported for it until
it is used, so its module is a small one. The groups, each with what a row is:

questions: a `memplan.questions.Row`, with its package.
forms: a `memplan.questions.Form`, of the problems of a question.
commands: a `memplan.questions.Command`, of the command line, that is no question's.
clusters: a `memplan.questions.Cluster`, of machines that run command lines, by the scheme of their addresses.
writers: a `memplan.questions.Writer`, of files that an answer becomes.
searches: a `memplan.questions.Search`, of answers that memplan alone does not look for.
views: a `memplan.questions.View`, of what writes a page of answers.
modules: the name of a module whose names a module of memplan has, `memplan.torch` or `memplan.tvm`.
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


class OffsetKind(NamedTuple):
    """A constraint kind on single offsets: the type of its field's values, and what one means for an offset.

    `offsets` is that of `memplan.planner.model.constraints.kinds.ConstraintKind`. The modules with a kind and with its
    checker import nothing of `memplan.planner.model` at their top, which waits for the fields of buffers.
    """

    type: Any
    offsets: Callable[..., Any]


def imported(where: str) -> Any:
    """Import the object named by `module:name` and return it."""
    module, name = where.split(":")
    return getattr(import_module(module), name)


@cache
def extensions(table: str) -> Mapping[str, Any]:
    """Return the rows that extensions add to a table, by name; one that fails to import is skipped with a warning."""
    rows: dict[str, Any] = {}
    for name, where, whose in _declared().get(f"{_PREFIX}{table}", ()):
        try:
            rows[name] = imported(where)
        except Exception as error:  # noqa: BLE001 - code of others
            reason = f"{type(error).__name__}: {error}"
            warn(f"{table} {name} of {whose}: is left out, as it cannot be imported: {reason}", stacklevel=2)
    for name in rows.keys() - extensions("checkers").keys() if table == "kinds" else ():
        del rows[name]
        warn(f"kinds {name}: is left out, as no checker of that name says what is wrong with an offset", stacklevel=2)
    return rows


def handed_out(module: str, name: str) -> Any:
    """Return the object that a distribution provides as a name of `memplan.MODULE`; raises ModuleNotFoundError."""
    if name.startswith("__"):
        raise AttributeError(name)
    if (where := extensions("modules").get(module)) is None:
        from memplan.planner.errors.extras import missing

        package = f"memplan_{module}"
        raise ModuleNotFoundError(f"memplan.{module}: {missing(package)}", name=package)
    return getattr(import_module(where), name)


@cache
def _declared() -> Mapping[str, list[tuple[str, str, str]]]:
    """Return the entry points for memplan by group: name, `module:attribute`, and the distribution with its version.

    The files are read here: `importlib.metadata` takes longer than most plans do, and parses those of all others.
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
