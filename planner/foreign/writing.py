"""Exports of plans for C, linkers, and the runtimes of other systems.

An exporter takes a layout, which exists for verified plans only, and the file name without suffix. It returns the
files' bytes by suffix; "" denotes the file name as requested. No function opens a file.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memplan.planner.extensions import import_object
from memplan.planner.model.moving import refuse_moves
from memplan.planner.systems import systems

if TYPE_CHECKING:
    from memplan.planner.foreign.layout import VerifiedLayout

EXPORTERS: Mapping[str, str] = {target: where for each in systems() for target, where in each.writers.items()}
"""The exporter of each target as `module:function`; tables and JSON are written elsewhere."""
_OF_MOVES = ("c",)
"""The targets that can express pieces of buffers and copies between them."""


def export(target: str, layout: "VerifiedLayout", stem: str) -> Mapping[str, bytes]:
    """Return the files of a plan for a target, as bytes by suffix; raises FormatError."""
    if target not in _OF_MOVES:
        refuse_moves(layout.problem, f"for the target {target}")
    files: Mapping[str, bytes] = import_object(EXPORTERS[target])(layout, stem)
    return files
