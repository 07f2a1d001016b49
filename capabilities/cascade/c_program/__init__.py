"""Cascades for C: loops over stripes that call a kernel for each operation, in an arena as it was planned."""

from memplan.capabilities.cascade.c_program.files import write_cascade
from memplan.capabilities.cascade.c_program.program import PlacedCascade

__all__ = ["PlacedCascade", "write_cascade"]
