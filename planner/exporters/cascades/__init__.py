"""Cascades for C: loops over stripes that call a kernel for each operation, in an arena as it was planned."""

from memplan.planner.exporters.cascades.files import write_cascade
from memplan.planner.exporters.cascades.program import PlacedCascade

__all__ = ["PlacedCascade", "write_cascade"]
