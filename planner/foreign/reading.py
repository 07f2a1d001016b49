"""Reading of other systems' models and dumps: a file's bytes become a problem, with one module per format.

No function opens a file. Some parsers are optional packages, so each is imported only by the function that needs it.
Unreadable bytes raise InputError.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from memplan.planner import formats
from memplan.planner.errors import OptionError, excerpt
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
    """Return the format of another system's file, by its content or else its suffix; None for any other file.

    Raises FormatError for a file of a known kind that memplan does not read; the message names the kind.
    """
    if formats.is_own(data):
        return None
    for format_name, reader in file_readers().items():
        if reader.recognises(data):
            return format_name
    refuse_other_files(data, name)
    return _format_of_name(name)


def _format_of_name(name: str | None) -> str | None:
    """Return the name of the foreign format that a file name's suffix denotes; None if no format has this suffix."""
    ending = (name or "").lower()
    return next(
        (format_name for format_name, reader in file_readers().items() if ending.endswith(reader.suffixes)), None
    )


def import_reader(name: str | None) -> None:
    """Import the reader for files with this name's suffix, and the package that the reader needs, if installed."""
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
    """Return (problem, imported); `imported` is the file's model or operations, None for a plain problem.

    A file is a problem, a model or dump of another system, or operations in memplan's format. `options` apply to
    models, and `interval` to a problem that does not state whether its ends are inclusive.
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
                rule = f"apply only to a problem's lifetimes, got {what}"
                raise OptionError(f"inclusive, half-open: {rule}", way="leave it out")
            return problem_from(value)
    return formats.read_problem(data, name, interval), None


def read_model(data: bytes, name: str | None = None, options: ModelOptions | None = None) -> ImportedProblem:
    """Parse the bytes of a model's file; the file's name only helps to detect the format. Raises InputError."""
    format_name = detect(data, name)
    if format_name is None:
        refuse_unknown(data)
    if options is None:
        from memplan.planner.foreign.model_options import ModelOptions

        options = ModelOptions()
    refuse_foreign_options(format_name, options)
    return read_format(format_name, data, options)


def refuse_foreign_options(format_name: str, options: ModelOptions) -> None:
    """Raise OptionError for a given option that the reader of the format `format_name` does not accept."""
    readers = file_readers()
    for name in sorted(frozenset[str]().union(*(row.options for row in readers.values()))):
        if name in readers[format_name].options or not options.is_set(name):
            continue
        theirs = [each.title for each in systems() if any(name in row.options for row in each.readers)]
        value = excerpt(options.model_dump(mode="json", include={name})[name])
        rule = f"applies only to files of {', '.join(theirs)}, got {value} for a file of {format_name}"
        raise OptionError.from_rule(name, rule, way="leave it out")


def model_of_plan(data: bytes) -> str | None:
    """Return the format of the model that is needed to read a plan's file; None if the file needs no model."""
    kind = detect(data)
    return None if kind is None else file_readers()[kind].of


def read_plan_as(data: bytes, model: bytes, options: ModelOptions) -> ImportedProblem:
    """Return a plan that can be read only with its model, whose bytes are `model`; raises InputError."""
    where = file_readers()[detect(data) or ""].where
    with stranger_bytes():
        imported: ImportedProblem = import_module(where).read_of(model, data, options)
        return imported


def _add_idle_views(model: ImportedProblem, options: ModelOptions) -> ImportedProblem:
    if not options.is_set("views") or model.views.apart or model.views.aliases:
        return model
    finding = Finding("no-effect", "views: the file has no views to keep apart, so the option has no effect", ())
    return replace(model, warnings=(*model.warnings, finding))


def read_format(name: str, data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return the model in a file of the format `name`; raises InputError."""
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
