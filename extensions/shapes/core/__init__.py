"""The compiled search for stacking orders, which place each buffer on the buffers before it."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
