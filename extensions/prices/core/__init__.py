"""The compiled loops of the search for prices: exact search of small pieces, annealing, and cuts from cliques."""

from pathlib import Path

from memplan.solvers.core.tables import Library

LIBRARY = Library(Path(__file__).parent)
