"""The compiled search of orders of stacking."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
