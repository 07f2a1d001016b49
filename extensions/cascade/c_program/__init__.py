"""Cascades as C programs: loops over stripes, which call a kernel for each operation and use one planned arena."""

from collections.abc import Mapping
from importlib.resources import files

from memplan.extensions.cascade.access.from_graph import split_apart
from memplan.extensions.cascade.answer import CascadePoint
from memplan.extensions.cascade.c_program.program import StripedLoops
from memplan.extensions.cascade.c_program.reference import reference_source
from memplan.planner.errors import OptionError
from memplan.planner.foreign.c_names import prefix_of
from memplan.programs.operations.graph import OperationGraph

KERNELS = (
    *("memplan_cascade.h", "memplan_kernels.h", "memplan_kernels_loops.h"),
    *("memplan_kernels_int8.c", "memplan_kernels_float.c", "memplan_kernels_moves.c"),
)


def write_cascade(point: CascadePoint, source: OperationGraph, stem: str, alignment: int = 1) -> Mapping[str, bytes]:
    """Return the C files of a cascade, by file name.

    `stem.c` runs the operations of the point by calling one C function for each operation. `stem_reference.c` defines
    these functions for all kinds that have a reference kernel. `stem_values.h` declares the constants of these kernels.
    `source` is the graph that was searched. Raises OptionError for batches of several images.
    """
    if point.cascade.graph.layout == "batches":
        raise OptionError("batch: must be 1 for C, whose functions compute rows of one image")
    prefix = prefix_of(stem)
    program = StripedLoops(point, alignment, prefix)
    reference, values = reference_source(split_apart(source), program.called, prefix)
    sources = {
        f"{prefix}.h": program.header(),
        f"{prefix}.c": program.source(),
        f"{prefix}_reference.c": reference,
        f"{prefix}_values.h": values,
    }
    kernels = files(__name__) / "kernels"
    return {name: text.encode() for name, text in sources.items()} | {
        name: (kernels / name).read_bytes() for name in KERNELS
    }
