"""`memplan cascade --write`: a model whose operations run in parts, as the best of the points says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from memplan.api.cli.model_options import model_options
from memplan.api.cli.streams import say, write
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
    written: str | None, read: ModelGraph, path: str, dims: Sequence[str] | None, options: CascadeOptions, brick: int
) -> RewritableModel | None:
    """Return a model that can be written in parts, None where none is asked for.

    Raises InputError, before work is spent, where it cannot be written.
    """
    if written is None:
        return None
    if written == path:
        raise OptionError(f"--write: must be another file than the model, got {shown(written)}")
    if read.data is None:
        raise OptionError("--write: must be given for a model, got a graph or a program")
    if options.input == "streamed" or options.output == "streamed" or options.sliding or brick > 1 or options.pools:
        raise OptionError(
            "--write: must not be given with --input, --output, --overlap, --brick or --pool: no runtime has them"
        )
    return rewritable(read.data, path, read.graph, model_options(dims, None, None).dims)


def write_best(written: str | None, model: RewritableModel | None, result: CascadeResult) -> None:
    """Write the point that needs the least memory in parts, where one is asked for and found, and say what it needs."""
    if written is None or model is None or not result.points:
        return
    best = best_rewriting(result.points, model.cost)
    write(written, model.write(best.found))
    share = best.peak / result.layers_peak if result.layers_peak else 1.0
    say(
        f"memplan: {written}: {len(best.found.steps)} operations on parts, {best.peak} bytes alive at once "
        f"({share:.1%} of {result.layers_peak} layer by layer), {best.point.macs_ratio - 1:+.2%} MACs"
    )
