"""The compiled searches for recomputation and for offloaded tensors."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
