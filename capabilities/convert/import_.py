"""The capability `import`: the problem that a file of another system poses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field
from pydantic_core import to_json

from memplan.capabilities.adapting import ProblemOptions
from memplan.capabilities.capability import Answer, Capability, Control
from memplan.capabilities.foreign import ForeignOptions
from memplan.capabilities.inputs import FILE
from memplan.capabilities.reading import Reader, ReadOptions
from memplan.planner import formats
from memplan.planner.audit import verify
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import OperationGraph, write_graph
from memplan.systems import reading as importers
from memplan.systems.imported import Imported
from memplan.systems.model_graph import graph_of_imported
from memplan.systems.program_names import NO_NAMES, ProgramNames, names_read

_MOST_BYTES = 128 * 2**20
_MOST_VIOLATIONS = 10


class ImportCallOptions(ProblemOptions, ForeignOptions):
    """Options of an import."""

    names: bool = Field(False, description="Answer with the names that a program gives to times and buffers.")
    graph: bool = Field(
        False, description="Answer with the graph of operations, which order, recompute and cascade take."
    )


class ReaderWarning(Answer):
    """What the reader noticed, by the name of its rule."""

    rule: str
    message: str


class ImportAnswer(Answer):
    """The problem of a file, the plan inside it (None: it has none), and the peak that its own planner reached.

    `violations` say what is wrong with that plan, at most ten of them. `names` are there where they were asked for, and
    None where the file tells lifetimes only. So is `graph`.
    """

    names: ProgramNames | None = Field(NO_NAMES, exclude_if=lambda found: found == NO_NAMES)
    graph: OperationGraph | None = Field(None, exclude_if=lambda found: found is None)
    format: str
    own_peak: int | None
    violations: tuple[str, ...]
    warnings: tuple[ReaderWarning, ...]
    problem: Problem
    plan: Plan | None


def import_(
    file: bytes, options: ImportCallOptions = ImportCallOptions(), control: Control = Control()
) -> ImportAnswer:
    """Read a file of another system: the problem that a model, a dump or a log poses, and the plan inside, if any.

    A service reads the file in a process of its own, with limits of time and memory.
    """
    known = importers.detect(file, options.name) or formats.detect(file, options.name)
    given = {name: getattr(options, name) for name in ReadOptions.model_fields if hasattr(options, name)}
    reader = Reader(ReadOptions.model_construct(**given))
    problem, imported = reader.problem(file, options.name), reader.imported
    own_plan = None if imported is None else imported.own_plan
    return ImportAnswer(
        names=_names(file, imported) if options.names else NO_NAMES,
        graph=graph_of_imported(imported).graph if options.graph and imported is not None else None,
        format="operations" if known == "json" and imported is not None else known,
        own_peak=None if imported is None else imported.own_peak,
        violations=_violations(problem, own_plan),
        warnings=tuple(
            ReaderWarning(rule=warning.rule, message=warning.message)
            for warning in (() if imported is None else imported.warnings)
        ),
        problem=problem,
        plan=own_plan,
    )


def _violations(problem: Problem, plan: Plan | None) -> tuple[str, ...]:
    return () if plan is None else tuple(broken.message for broken in verify(problem, plan)[:_MOST_VIOLATIONS])


def _names(file: bytes, imported: Imported | None) -> ProgramNames | None:
    """Return the names that a program or several models give; None where there are none."""
    names = names_read(file, imported)
    return names if names.steps or names.models else None


def _written(found: ImportAnswer) -> bytes:
    """Write an answer, with its problem and its plan as their own writers do."""
    facts: dict[str, Any] = found.model_dump(exclude={"problem", "plan", "graph"})
    plan = b"null" if found.plan is None else memplan_json.write_plan(found.plan, found.problem).strip()
    written = memplan_json.write_problem(found.problem).strip()
    graph = b"" if found.graph is None else b',"graph":' + write_graph(found.graph).strip()
    return to_json(facts)[:-1] + graph + b',"problem":' + written + b',"plan":' + plan + b"}\n"


def lines(found: ImportAnswer) -> Iterator[str]:
    """Yield the lines for people, one a fact."""
    pools = len(found.problem.pools)
    yield f"{found.format}: {len(found.problem.buffers):,} buffers, {pools:,} pool{'' if pools == 1 else 's'}"
    if found.own_peak is not None:
        offsets = "" if found.plan else ", whose offsets are not in the file"
        yield f"its own plan takes {found.own_peak:,} bytes{offsets}"
    for violation in found.violations:
        yield f"its own plan is not valid: {violation}"
    for warning in found.warnings:
        yield f"warning: {warning.rule}: {warning.message}"


CAPABILITY = Capability(
    import_,
    inputs=(FILE,),
    lines=lines,
    most_bytes=_MOST_BYTES,
    write=_written,
    example={"file": "aWQsbG93ZXIsdXBwZXIsc2l6ZQphLDAsMyw2NApiLDEsNCwzMgo=", "options": {"name": "small.csv"}},
)
