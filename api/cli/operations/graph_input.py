"""Files that tell operations, as commands read them: models, programs whose order is tentative, graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from memplan.api.cli.model_options import ViewsOption, model_options
from memplan.api.cli.streams import read_as, refuse_unwritable, write
from memplan.planner.errors import OptionError, shown
from memplan.planner.exporters.reordered.write import write_reordered
from memplan.planner.importers import detect
from memplan.planner.importers.model_graph import ModelGraph, read_model_graph
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.graph_variants import with_overwriting, with_resident_counted
from memplan.solvers.order.regions import permuted

ModelFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model, a graph of operations or a program of tentative order, or - for standard input."
    ),
]
CountResident = Annotated[
    bool, typer.Option("--count-resident", help="Count weights, too: they lie in the memory that is planned.")
]
InPlace = Annotated[
    bool, typer.Option("--in-place", help="Operations that go element by element may write over their inputs.")
]

WriteModel = Annotated[
    str | None,
    typer.Option("--write", metavar="FILE", help="Write the model, ONNX or TFLite, in the new order."),
]


def refuse_unwritable_model(written: str | None, path: str, *, recompute: bool) -> None:
    """Raise InputError, before work is spent, where a model in another order cannot be written."""
    refuse_unwritable(written)
    if written is not None and recompute:
        raise OptionError("--write: must not be given with --recompute: a file's operations are not copied")
    if written is not None and written == path:
        raise OptionError(f"--write: must be another file than the model, got {shown(written)}")


def write_model(written: str, read: ModelGraph, path: str, ordered: OperationGraph, order: Sequence[int]) -> list[str]:
    """Write a model in an order of its graph, and return what to say about it; raises InputError."""
    if read.data is None:
        raise OptionError("--write: must be given for a model, got a graph or a program")
    found = write_reordered(read.data, path, permuted(ordered, order))
    write(written, found.data)
    return [f"memplan: {written} has not {what}" for what in found.left_out]


def graph_in(
    path: str,
    dims: Sequence[str] | None,
    views: ViewsOption | None,
    alignment: int | None,
    *,
    count_resident: bool = False,
    in_place: bool = False,
) -> ModelGraph:
    """Read the graph of operations of a file, or of standard input for `-`; raises InputError.

    `dims` and `views` must be given for models only; what is in a graph is not aligned anew.
    """
    model = model_options(dims, views, alignment)

    def read(data: bytes) -> ModelGraph:
        is_model = detect(data, path) is not None
        return read_model_graph(data, path, model if is_model else model.model_copy(update={"alignment": None}))

    found = read_as(path, read)
    graph = with_resident_counted(found.graph) if count_resident else found.graph
    return replace(found, graph=with_overwriting(graph) if in_place else graph)
