"""The compiled search for cascades: ranges of steps, growth of regions, and fronts of sequences of regions."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
