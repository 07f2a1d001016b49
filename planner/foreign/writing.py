"""Plans as C, linkers, and other systems' runtimes take them; models with their operations in another order.

An exporter takes a layout, which exists for verified plans only, and the name of the file without its suffix; it gives
the bytes of files by suffix, "" for the one file that is requested by its whole name. Nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memplan.planner.extensions import imported
from memplan.planner.systems import systems

if TYPE_CHECKING:
    from memplan.planner.foreign.layout import VerifiedLayout
from memplan.planner.errors import FormatError
from memplan.planner.foreign.reading import detect
from memplan.planner.foreign.sequence import ReorderedFile, orders_in_file
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.systems import system_of

EXPORTERS: Mapping[str, str] = {target: where for each in systems() for target, where in each.writers.items()}
"""The targets that a plan can be exported to; `memplan convert` and `memplan plan` write tables."""


def export(target: str, layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return the files of a plan for a target; raises FormatError."""
    files: Mapping[str, bytes] = imported(EXPORTERS[target])(layout, stem)
    return files


def write_reordered(data: bytes, name: str | None, graph: OperationGraph) -> ReorderedFile:
    """Return a model's file with its operations as the graph lists them, and as its regions list those inside.

    The graph is one that was read of this file, put in another order. What it has not, such as views and constants,
    runs right before what needs it. Raises FormatError for a format whose order is not free, and OperationsError.
    """
    system = system_of(detect(data, name))
    if system is None or system.reorders is None:
        names = ", ".join(each.name for each in systems() if each.reorders)
        raise FormatError(f"must be of a format whose order is free ({names}), got {system.name if system else 'none'}")
    written: ReorderedFile = imported(system.reorders)(data, orders_in_file(graph))
    return written
