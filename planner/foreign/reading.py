"""Reading of models and dumps of other systems: from the bytes of a file to a problem, with one module for each format.

No function opens a file. The function that needs a format's parser, an extra, imports it. Bytes that cannot be read
raise an InputError.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from memplan.planner import formats
from memplan.planner.errors import OptionError
from memplan.planner.foreign.imported import stranger_bytes
from memplan.planner.formats import memplan_json, minimalloc_csv
from memplan.planner.formats.other_files import refuse_other_files, refuse_unknown
from memplan.planner.model.finding import Finding
from memplan.planner.systems import file_readers as file_readers
from memplan.planner.systems import systems

if TYPE_CHECKING:
    from memplan.planner.foreign.imported import ImportedProblem
    from memplan.planner.foreign.model_options import ModelOptions
    from memplan.planner.model.intervals import Interval
    from memplan.planner.model.problem import Problem


def detect(data: bytes, name: str | None = None) -> str | None:
    """Return the name of the format of another system's file, by its content or else by its suffix; None for other
    files.

    Raises FormatError, which names the kind of file, if it is known and memplan does not read it.
    """
    if formats.is_own(data):
        return None
    for format_name, reader in file_readers().items():
        if reader.recognises(data):
            return format_name
    refuse_other_files(data, name)
    return _format_of_name(name)


def _format_of_name(name: str | None) -> str | None:
    ending = (name or "").lower()
    return next(
        (format_name for format_name, reader in file_readers().items() if ending.endswith(reader.suffixes)), None
    )


def load(name: str | None) -> None:
    """Import the reader for files of such a name, and its package if that is installed."""
    if (name or "").lower().endswith(minimalloc_csv.SUFFIX):
        return
    if (format_name := _format_of_name(name)) is not None:
        reader = file_readers()[format_name]
        import_module(reader.where)
        if (package := reader.package) is not None:
            with suppress(ModuleNotFoundError):
                import_module(package)


def read_problem(
    data: bytes, name: str | None = None, options: ModelOptions | None = None, interval: Interval | None = None
) -> tuple[Problem, ImportedProblem | None]:
    """Return the problem in the bytes of a file, and the imported model or operations, if it has them; raises
    InputError.

    A file is a problem, a model or dump of another system, or memplan's own operations. `options` are for reading
    models, and `interval` is for a problem that does not state its own.
    """
    if detect(data, name) is not None:
        imported = read_model(data, name, options)
        return imported.problem, imported
    if (b'"functions"' in data or b'"models"' in data) and formats.detect(data, name) == "json":
        value = memplan_json.parse(data)
        from memplan.planner.foreign.programs import poses_a_problem, problem_from

        if poses_a_problem(value):
            if interval is not None:
                what = "operations, whose lifetimes are known" if "functions" in value else "several models"
                rule = f"must be given for a problem's lifetimes, got {what}"
                raise OptionError(f"inclusive, half-open: {rule}", way="leave it out")
            return problem_from(value)
    return formats.read_problem(data, name, interval), None


def read_model(data: bytes, name: str | None = None, options: ModelOptions | None = None) -> ImportedProblem:
    """Return the model in the bytes of a file, whose name is a hint; raises InputError."""
    format_name = detect(data, name)
    if format_name is None:
        refuse_unknown(data)
    if options is None:
        from memplan.planner.foreign.model_options import ModelOptions

        options = ModelOptions()
    refuse_of_others(format_name, options)
    return read_as(format_name, data, options)


def refuse_of_others(format_name: str, options: ModelOptions) -> None:
    """Raise OptionError if an option is given that this format does not have."""
    readers = file_readers()
    for name in sorted(frozenset[str]().union(*(row.options for row in readers.values()))):
        if name in readers[format_name].options or not options.says(name):
            continue
        theirs = [each.title for each in systems() if any(name in row.options for row in each.readers)]
        rule = f"must be given for files of {', '.join(theirs)} only, got one of {format_name}"
        raise OptionError.from_rule(name, rule, way="leave it out")


def model_of_plan(data: bytes) -> str | None:
    """Return the format of the model that a plan's file refers to, and without which it cannot be read; else None."""
    kind = detect(data)
    return None if kind is None else file_readers()[kind].of


def read_plan_as(data: bytes, model: bytes, options: ModelOptions) -> ImportedProblem:
    """Return a plan that can only be read with its model, whose bytes are `model`; raises InputError."""
    where = file_readers()[detect(data) or ""].where
    with stranger_bytes():
        imported: ImportedProblem = import_module(where).read_of(model, data, options)
        return imported


def _add_idle_views(model: ImportedProblem, options: ModelOptions) -> ImportedProblem:
    """Return a model with a finding where `views` was given, and its file has no views to keep apart."""
    if not options.says("views") or model.views.apart or model.views.aliases:
        return model
    finding = Finding("no-effect", "views: the file has none that could be apart, so that the plan is as without", ())
    return replace(model, warnings=(*model.warnings, finding))


def read_as(name: str, data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return a model in the format `name`; raises InputError."""
    from memplan.planner.foreign.imported import OpenSizesError, add_size_advice

    def read(options: ModelOptions) -> ImportedProblem:
        model: ImportedProblem = import_module(file_readers()[name].where).read(data, options)
        return model

    with stranger_bytes():
        try:
            return _add_idle_views(read(options), options)
        except OpenSizesError as error:
            refusal = add_size_advice(error, options, read)
        raise refusal
