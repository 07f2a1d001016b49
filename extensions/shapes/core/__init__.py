"""The compiled search for stacking orders, in which each buffer is placed on earlier ones."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
