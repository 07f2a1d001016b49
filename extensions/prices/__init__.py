"""The price of sharing bytes: pieces, exact search of few places, annealed ejection, and cuts that prove bounds."""

from memplan.questions import Search

PRICE_LINES = Search("memplan.extensions.prices.proofs:price_lines")
NARROW_PRICES = Search("memplan.extensions.prices.proofs:is_narrow")
