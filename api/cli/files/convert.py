"""`memplan convert`: a problem, or a model that poses one, to another format."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from memplan.api.cli.arguments import Capacities, FileFormat, Inclusive, ProblemFile, Quiet
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.streams import format_for, problem_in, read_as, refuse_unwritable, say, warn, write
from memplan.capabilities.sizes import size_text, with_capacities
from memplan.planner import formats
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.importers.imported import Imported
from memplan.planner.importers.model_graph import graph_of_imported
from memplan.planner.operations.graph import write_graph


def convert(
    problem_file: ProblemFile,
    output: Annotated[str, typer.Argument(metavar="OUT", help="The file to write, or - for standard output.")],
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    written: Annotated[FileFormat | None, typer.Option("--format", help="By the file's name, or JSON.")] = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    operations: Annotated[
        bool, typer.Option("--operations", help="Write a model's operations, for liveness and shadow to read.")
    ] = False,
    graph: Annotated[
        bool, typer.Option("--graph", help="Write a model's graph of operations, for order to read.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write a problem in another format, if that can say all of it; of a model, the problem that it poses."""
    wanted = format_for(output, written)
    refuse_unwritable(output)
    options = model_options(dim, views, alignment, scratch).model_copy(update={"facts": graph})
    reader = partial(problem_in, name=problem_file, options=options, inclusive=inclusive)
    problem, imported = read_as(problem_file, reader)
    if imported is not None and not quiet:
        _tell(imported)
    if graph:
        write(output, _graph(imported, wanted))
        return
    if operations:
        write(output, _operations(imported, wanted))
        return
    write(output, formats.FORMATS[wanted].write_problem(with_capacities(problem, capacity or ())))


def _graph(imported: Imported | None, wanted: str) -> bytes:
    if imported is None:
        raise OptionError("graph: must be asked of a model, got a problem")
    if wanted != "json":
        raise FormatError(f"must be JSON where a graph is written, got {wanted}")
    return write_graph(graph_of_imported(imported).graph)


def _operations(imported: Imported | None, wanted: str) -> bytes:
    found = None if imported is None else imported.operations
    if found is None:
        raise OptionError("operations: must be asked of a file that tells operations, not lifetimes only")
    if wanted != "json":
        raise FormatError(f"must be JSON where operations are written, got {wanted}")
    return found.model_dump_json(exclude_defaults=True).encode() + b"\n"


def _tell(imported: Imported) -> None:
    warn(imported.warnings)
    if imported.views.apart:
        size = size_text(imported.views.apart_bytes)
        say(f"memplan: {imported.views.apart} views are buffers of their own, of {size} in all")
