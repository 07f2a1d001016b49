"""The facts that `convert` reports about its input file, and the model's best form for its runtime."""

from collections.abc import Iterable
from typing import Any

from memplan.extensions.files.convert.answer import RUNTIME, Converted, ReaderWarning
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.planner import formats
from memplan.planner.errors import FormatError, OptionError, excerpt
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.names_in_files import names_of_imported
from memplan.planner.foreign.program_names import NO_NAMES
from memplan.planner.instance.audit import verify
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import size_text
from memplan.planner.systems import system_of
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.models.model_graph import graph_of_imported
from memplan.questions.question import Control
from memplan.questions.reading import Reader

_MOST_VIOLATIONS = 10


def facts_of_source(file: bytes | Problem, problem: Problem, reader: Reader, target: str) -> Converted:
    """Return an answer with the facts about the input file: its format, its own plan and peak, and warnings."""
    if isinstance(file, Problem):
        return Converted(to=target, format=None)
    imported, name = reader.imported, reader.name
    if imported is None:
        return Converted(to=target, format=formats.detect(file, name))
    solved = imported.own_problem or problem
    broken = () if imported.own_plan is None else verify(solved, imported.own_plan)[:_MOST_VIOLATIONS]
    return Converted(
        to=target,
        format=importers.detect(file, name) or "operations",
        own_peak=imported.own_peak,
        violations=tuple(violation.message for violation in broken),
        warnings=warnings_of(imported, reader.warnings),
        plan=imported.own_plan if imported.own_problem is None else None,
    )


def warnings_of(imported: ImportedProblem, findings: Iterable[Finding] = ()) -> tuple[ReaderWarning, ...]:
    """Return the warnings of a file's reader, followed by the `findings` about the options, as ReaderWarnings."""
    every = dict.fromkeys((*imported.warnings, *findings))
    warnings = [ReaderWarning(rule=each.rule, message=each.message) for each in every]
    if imported.views.apart:
        text = f"{imported.views.apart} views are buffers of their own, of {size_text(imported.views.apart_bytes)}"
        warnings.append(ReaderWarning(rule="views-apart", message=text))
    return tuple(warnings)


def add_program(imported: ImportedProblem | None, found: Converted, target: str) -> Converted:
    """Return the answer with the operations or the graph of a file added. Raises OptionError without operations."""
    if not isinstance(imported, ImportedProgram):
        raise OptionError(f"to: requires a file with operations, not only lifetimes, for the target {target}")
    its = {"graph": graph_of_imported(imported).graph} if target == "graph" else {"operations": imported.operations}
    return found.model_copy(update=its)


def program_of(file: bytes | Problem, imported: ImportedProblem | None) -> dict[str, Any]:
    """Return the fields `names` and `graph` of an answer about a file's program; `names` is None without names."""
    names = NO_NAMES if isinstance(file, Problem) else names_of_imported(file, imported)
    fields: dict[str, Any] = {"names": names if names.steps or names.models else None}
    if isinstance(imported, ImportedProgram):
        fields["graph"] = graph_of_imported(imported).graph
    return fields


def deploy(file: bytes, options: ConvertOptions, running: Control) -> Converted:
    """Return a model in the best form (order, split) for its runtime. Raises FormatError without a known runtime."""
    is_json = file.lstrip()[:1] == b"{"
    system = None if is_json else system_of(importers.detect(file))
    if system is None or system.deploys is None:
        got = "JSON" if is_json else importers.detect(file) or f"a file that begins with {excerpt(file[:8])}"
        way = "--to c writes a plan of it" if system is None else "convert it to one first"
        raise FormatError(f"must be a TensorFlow Lite model (.tflite) for {RUNTIME}, got {got}; {way}")
    found: Converted = system.deploys(file, options, running)
    return found
