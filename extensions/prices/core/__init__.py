"""Compiled search for prices of pairs: few places, annealed ejection, cuts from cliques."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
