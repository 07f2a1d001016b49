"""Compiled search for cascades: ranges, growth of regions, fronts."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
