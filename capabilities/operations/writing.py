"""The files that orders and cascades become: a model in another order or in parts, and C."""

from __future__ import annotations

from collections.abc import Mapping

from memplan.capabilities.capability import CapabilityOptions
from memplan.capabilities.operations.cascade import CascadeOptions
from memplan.capabilities.operations.order import OrderAnswer
from memplan.capabilities.reading import Reader
from memplan.planner.errors import OptionError
from memplan.planner.exporters.cascades import PlacedCascade, write_cascade
from memplan.planner.exporters.reordered.sequence import ReorderedFile
from memplan.planner.exporters.reordered.write import write_reordered
from memplan.planner.exporters.rewritten.write import RewritableModel, rewritable
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.cascade.rewriting import best_rewriting
from memplan.solvers.cascade.solve import CascadeResult
from memplan.solvers.order.regions import permuted


def written_model(reader: Reader, found: OrderAnswer) -> ReorderedFile:
    """Return the model that was read with its operations in the order of an answer; raises InputError."""
    assert found.placed is not None, "an answer of this machine's own has its graph"
    result = found.placed.result
    return write_reordered(reader.data, reader.name, permuted(result.graph, result.order))


def c_files(result: CascadeResult, source: OperationGraph, name: str) -> Mapping[str, bytes]:
    """Return the last point of a result as files of C by their names, which begin with `name`; raises InputError."""
    if result.options.pools:
        raise OptionError("--pool: must not be given for C, which has one arena")
    point = result.points[-1]
    return write_cascade(
        PlacedCascade(point.cascade, point.offsets(), point.peak, result.options.alignment), source, name
    )


def model_in_parts(reader: Reader, graph: OperationGraph, options: CapabilityOptions) -> RewritableModel:
    """Return the model that was read as one that can be written in parts; raises InputError where it cannot."""
    assert isinstance(options, CascadeOptions)
    if reader.imported is None:
        raise OptionError("--write: must be given for a model, got a graph or a program")
    is_streamed = "streamed" in (options.input, options.output)
    if is_streamed or options.overlap == "sliding" or options.brick > 1 or options.pools:
        raise OptionError(
            "--write: must not be given with --input, --output, --overlap, --brick or --pool: no runtime has them"
        )
    return rewritable(reader.data, reader.name, graph, reader.options.dims)


def written_in_parts(model: RewritableModel, result: CascadeResult) -> tuple[bytes, str]:
    """Return the point that needs the least memory in parts as a file, and the sentence that says what it needs."""
    best = best_rewriting(result.points, model.cost)
    share = best.peak / result.layers_peak if result.layers_peak else 1.0
    return model.write(best.found), (
        f"{len(best.found.steps)} operations on parts, {best.peak} bytes alive at once "
        f"({share:.1%} of {result.layers_peak} layer by layer), {best.point.macs_ratio - 1:+.2%} MACs"
    )
