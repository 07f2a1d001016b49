"""Plans as C, linkers, and other systems' runtimes take them.

An exporter takes a layout, which exists for verified plans only, and the name of the file without its suffix; it gives
the bytes of files by suffix, "" for the one file that is requested by its whole name. Nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memplan.planner.extensions import import_object
from memplan.planner.systems import systems

if TYPE_CHECKING:
    from memplan.planner.foreign.layout import VerifiedLayout

EXPORTERS: Mapping[str, str] = {target: where for each in systems() for target, where in each.writers.items()}
"""The targets that a plan can be exported to; `memplan convert` and `memplan plan` write tables."""


def export(target: str, layout: VerifiedLayout, stem: str) -> Mapping[str, bytes]:
    """Return the files of a plan for a target; raises FormatError."""
    files: Mapping[str, bytes] = import_object(EXPORTERS[target])(layout, stem)
    return files
