"""`memplan convert`: a problem, or a model that poses one, to another format."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from memplan.api.cli.arguments import Capacities, FileFormat, Problem, Quiet
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ViewsOfModel, model_options
from memplan.api.cli.streams import format_for, read_as, refuse_unwritable, say, write
from memplan.api.reports.sizes import spell_size, with_capacities
from memplan.planner import formats
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.importers import IMPORTERS, detect, read_model
from memplan.planner.importers.imported import Imported, Options
from memplan.planner.model.problem import Problem as MemoryProblem


def convert(
    problem_file: Problem,
    output: Annotated[str, typer.Argument(metavar="OUT", help="The file to write, or - for standard output.")],
    capacity: Capacities = None,
    written: Annotated[FileFormat | None, typer.Option("--format", help="By the file's name, or JSON.")] = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    operations: Annotated[
        bool, typer.Option("--operations", help="Write a model's operations, for liveness and shadow to read.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write a problem in another format, if that can say all of it; of a model, the problem that it poses."""
    wanted = format_for(output, None if written is None else written.value)
    refuse_unwritable(output)
    options = model_options(dim, views, alignment)
    read = read_as(problem_file, partial(_read, name=problem_file, options=options))
    if isinstance(read, Imported) and not quiet:
        _tell(read)
    if operations:
        write(output, _operations(read, wanted))
        return
    problem = with_capacities(read.problem if isinstance(read, Imported) else read, capacity or ())
    write(output, formats.FORMATS[wanted].write_problem(problem))


def _read(data: bytes, name: str, options: Options) -> Imported | MemoryProblem:
    if detect(data, name) is not None:
        return read_model(data, name, options)
    if options != Options():
        raise OptionError(f"dim, views, alignment: must be given for models only ({', '.join(IMPORTERS)})")
    return formats.read_problem(data, name)


def _operations(read: Imported | MemoryProblem, wanted: str) -> bytes:
    found = read.operations if isinstance(read, Imported) else None
    if found is None:
        raise OptionError("operations: must be asked of a file that tells operations, not lifetimes only")
    if wanted != "json":
        raise FormatError(f"must be JSON where operations are written, got {wanted}")
    return found.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _tell(read: Imported) -> None:
    for warning in read.warnings:
        say(f"memplan: warning: {warning.rule}: {warning.message}")
    if read.views.apart:
        size = spell_size(read.views.apart_bytes)
        say(f"memplan: {read.views.apart} views are buffers of their own, of {size} in all")
