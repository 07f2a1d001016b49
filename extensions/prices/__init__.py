"""The price of shared bytes: pieces of a problem, exact search, annealing, and cuts that prove lower bounds."""

from memplan.questions import Search

PRICE_LINES = Search("memplan.extensions.prices.proofs:price_lines")
NARROW_PRICES = Search("memplan.extensions.prices.proofs:is_narrow")
