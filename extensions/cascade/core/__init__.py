"""The compiled loops of the search for cascades: step ranges, growth of regions, and Pareto fronts of their chains."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
