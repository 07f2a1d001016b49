"""The table of other systems: readers of their files, their planners, and writers of their formats.

A system is registered by one row: a module with `SYSTEM`, which names further modules as `module:function`. These
modules are imported on first use. `python -m lab.manual` generates the table in docs/reference.md from the rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from memplan.planner.extensions import Hook, extensions, import_object

SYSTEMS: Mapping[str, str] = {"c": "memplan.planner.foreign.c.system"}
"""The module with the row of each system, by the system's name; files are recognised in this order."""
ANY = frozenset({"capacity", "alignment", "cost"})
"""The features that a planner may ignore, because they add no rule of their own; the verifier finds violations."""


class FileReader(NamedTuple):
    """A file format of another system, and its reader.

    name: the name of the format. recognises: a function that returns True only for bytes that start like a file of this
    format. where: the module with `read(data, options)`, and with `symbols(data)` if the format has symbolic
    dimensions.
    suffixes: the suffixes of file names. package: a third-party package that parses the format and is slow to import.
    has_symbols: True if sizes are computed from symbolic dimensions. options: the reading options that this format has
    and some others lack. planner: the runtime's own planner, for files without a plan. program: `module:function` that
    reads a file's operations, if `read` returns lifetimes only. of: for a format of plans, the format of the model that
    the plan requires, read by `read_of(model, data, options)`.
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
    """Another system's planner, reimplemented for comparison.

    name: its name for `--solver`, which begins with `reference:`. summary: its method in a few words. source: the
    repository, version, file and function that it reproduces. where: a `memplan.solvers.reference.tensors.Planner`, as
    `module:function` or as a hook. can: the features of problems that it supports, in the terms of
    `memplan.solvers.portfolio.registry`; problems with other features are refused. other_names: its further names,
    separated by spaces.
    """

    name: str
    summary: str
    source: str
    where: str | Hook[..., Any]
    can: frozenset[str] = ANY
    other_names: str = ""

    def load(self) -> Any:
        """Return the planner's function, imported from its module."""
        return self.where if isinstance(self.where, Hook) else import_object(self.where)


class System(NamedTuple):
    """A system: the files that it reads and writes, and its planners.

    name: its name in `SYSTEMS`. title: its name for people. files: a description of the files that memplan reads.
    readers: the formats of these files. planners: its planners, reimplemented. writers: for each target of `memplan
    convert`, the function that writes a verified layout. other_targets: for each target, its further names, separated
    by spaces.
    reorders: the function that writes a model with its operations in a new order. rewrites: the hook that returns a
    model that can be written in parts, as cascades are. arena: the module with the rules of its runtime's arena: a
    `memplan.planner.foreign.arena.ArenaRules`. deploys: the hook `(file, options, running)` that returns a model in the
    form with the smallest arena.
    """

    name: str
    title: str
    files: str = ""
    readers: tuple[FileReader, ...] = ()
    planners: tuple[ReferencePlanner, ...] = ()
    writers: Mapping[str, str] = MappingProxyType({})
    other_targets: Mapping[str, str] = MappingProxyType({})
    reorders: str | None = None
    rewrites: Hook[..., Any] | None = None
    arena: str | None = None
    deploys: Hook[..., Any] | None = None


@cache
def systems() -> tuple[System, ...]:
    """Return the rows of all systems, memplan's own systems first and those of extensions last."""
    return (*(import_module(where).SYSTEM for where in SYSTEMS.values()), *extensions("systems").values())


@cache
def file_readers() -> dict[str, FileReader]:
    """Return the readers of other systems' files by format name, in the order in which files are recognised."""
    return {row.name: row for each in systems() for row in each.readers}


@cache
def reference_planners() -> dict[str, ReferencePlanner]:
    """Return all planners by name: first those of systems, then the planners that extensions add."""
    planners = [planner for each in systems() for planner in each.planners]
    return {planner.name: planner for planner in (*planners, *extensions("planners").values())}


def system_of(reader: str | None) -> System | None:
    """Return the system whose files have the format `reader`; None if no system has that format."""
    return next((each for each in systems() if any(row.name == reader for row in each.readers)), None)
