"""The table of other systems: readers of their files, their planners, and writers of their formats.

A system is registered by one row: a module with `SYSTEM`, which names further modules as `module:function`. These are
imported when they are used. `python -m lab.manual` makes the table of docs/reference.md from the rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from memplan.planner.extensions import extensions, import_object

SYSTEMS: Mapping[str, str] = {
    "c": "memplan.planner.foreign.c.system",
}
"""From a system's name to the module with its row; files are recognised in this order."""
ANY = frozenset({"capacity", "alignment", "cost"})
"""The features that a planner may ignore, as they cause no separate rule; the verifier finds violations."""


class FileReader(NamedTuple):
    """A format of files.

    name: the name of the format. recognises: a function that returns True for bytes that begin as files of this format
    alone do. where: the module with `read(data, options)`, and with `symbols(data)` if the reader has symbols.
    suffixes: the endings of the files' names. package: another project's package that parses the format; its import
    takes time. has_symbols: True if sizes are computed from dimensions that are symbols. options: the options for
    reading that this format has, but not every format. planner: the runtime's planner, for files that contain no plan.
    program: `module:function` that reads the operations of a file, if `read` gives its lifetimes only. of: for a format
    of plans, the format of the model that the plan needs, for `read_of(model, data, options)`.
    """

    name: str
    recognises: Callable[[bytes], bool]
    where: str
    suffixes: tuple[str, ...] = ()
    package: str | None = None
    has_symbols: bool = False
    options: frozenset[str] = frozenset()
    planner: str | None = None
    program: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReferencePlanner:
    """Another system's planner.

    name: the name for `--solver`, which begins with `reference:`. summary: its method, in some words. source: the
    repository, version, file and function that it reproduces. where: `module:function`, a
    `memplan.solvers.reference.tensors.Planner`. can: the features of problems that it can express, in the words of
    `memplan.solvers.portfolio.registry`; others are refused. other_names: what others call it, with spaces between.
    """

    name: str
    summary: str
    source: str
    where: str
    can: frozenset[str] = ANY
    other_names: str = ""

    def load(self) -> Any:
        """Return the planner's function, imported on this call."""
        return import_object(self.where)


class System(NamedTuple):
    """A system: the files that it reads and writes, and its planners.

    name: the name in `SYSTEMS`. title: its name for people. files: the files that are read, in words. readers: the
    formats of these files. planners: its planners, reimplemented. writers: from a target of `memplan convert` to the
    function that writes a verified layout for it. other_targets: from a target to what others call it, with spaces
    between. reorders: the function that writes a model with its operations in another order. rewrites: the function
    that returns a model that can be written in parts, as cascades are, a
    `memplan.extensions.cascade.writing.ModelInParts`. arena: the module with the rules of its runtime's arena, a
    `memplan.planner.foreign.arena.ArenaRules`. deploys: the function that brings a model into the form with the
    smallest arena: `(file, options, running)` of `memplan.extensions.files.convert` to its `Converted`.
    """

    name: str
    title: str
    files: str = ""
    readers: tuple[FileReader, ...] = ()
    planners: tuple[ReferencePlanner, ...] = ()
    writers: Mapping[str, str] = MappingProxyType({})
    other_targets: Mapping[str, str] = MappingProxyType({})
    reorders: str | None = None
    rewrites: str | None = None
    arena: str | None = None
    deploys: str | None = None


@cache
def systems() -> tuple[System, ...]:
    """Return the rows of all systems in order; systems of extensions come last."""
    return (*(import_module(where).SYSTEM for where in SYSTEMS.values()), *extensions("systems").values())


@cache
def file_readers() -> dict[str, FileReader]:
    """Return the formats of other systems' files by name, in the order in which files are recognised."""
    return {row.name: row for each in systems() for row in each.readers}


@cache
def reference_planners() -> dict[str, ReferencePlanner]:
    """Return the planners of all systems by name, and those added by extensions."""
    planners = [planner for each in systems() for planner in each.planners]
    return {planner.name: planner for planner in (*planners, *extensions("planners").values())}


def system_of(reader: str | None) -> System | None:
    """Return the system whose files have the format `reader`, or None."""
    return next((each for each in systems() if any(row.name == reader for row in each.readers)), None)
