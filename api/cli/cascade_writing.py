"""`memplan cascade --write`: a model whose operations run in parts, as the best of the points says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from memplan.api.cli.model_options import model_options
from memplan.api.cli.streams import write
from memplan.planner.errors import OptionError, shown
from memplan.planner.exporters.rewritten.write import RewritableModel, rewritable
from memplan.planner.importers.model_graph import ModelGraph
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.rewriting import best_rewriting
from memplan.solvers.cascade.solve import CascadeResult

WriteParts = Annotated[
    str | None,
    typer.Option(
        "--write",
        metavar="FILE",
        help="Write the model, ONNX or TFLite, in parts: the point that needs least so, or --point.",
    ),
]


def model_to_write(
    written: str, read: ModelGraph, path: str, dims: Sequence[str] | None, options: CascadeOptions, brick: int
) -> RewritableModel:
    """Return a model that can be written in parts; raises InputError, before work is spent, where it cannot."""
    if written == path:
        raise OptionError(f"--write: must be another file than the model, got {shown(written)}")
    if read.data is None:
        raise OptionError("--write: must be given for a model, got a graph or a program")
    if options.input == "streamed" or options.output == "streamed" or options.sliding or brick > 1:
        raise OptionError(
            "--write: must not be given with --input, --output, --overlap or --brick: no runtime has them"
        )
    return rewritable(read.data, path, read.graph, model_options(dims, None, None).dims)


def write_best(written: str, model: RewritableModel, result: CascadeResult) -> str:
    """Write the point that needs the least memory in parts, and return what to say about it."""
    best = best_rewriting(result.points, model.cost)
    write(written, model.write(best.found))
    share = best.peak / result.layers_peak if result.layers_peak else 1.0
    return (
        f"memplan: {written}: {len(best.found.steps)} operations on parts, {best.peak} bytes alive at once "
        f"({share:.1%} of {result.layers_peak} layer by layer), {best.point.macs_ratio - 1:+.2%} MACs"
    )
