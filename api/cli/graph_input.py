"""Files that tell operations, as commands read them: models, programs whose order is tentative, graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from memplan.api.cli.model_options import ViewsOption, model_options
from memplan.api.cli.streams import read_as
from memplan.planner.importers import detect
from memplan.planner.importers.model_graph import ModelGraph, read_model_graph
from memplan.planner.operations.graph_variants import with_overwriting, with_resident_counted

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
