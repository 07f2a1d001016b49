"""The compiled search for orders of stacking."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
