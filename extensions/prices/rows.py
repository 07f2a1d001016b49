"""The two solvers for prices, as rows of the registry of solvers."""

from memplan.solvers.portfolio.rows import EVERYTHING, SolverRow

_CAN = EVERYTHING | {"banks", "bank-weights", "reuse", "clearances"}
PRICES = SolverRow(
    "prices",
    "pairs with a price: few places exactly, annealed ejection, cuts from cliques; a pool for each buffer",
    "memplan.extensions.prices.search:solve",
    can=_CAN,
    is_trusted=True,
    at_most=4_000,
    must_have=frozenset({"cost"}),
    quick="memplan.extensions.prices.search:begin",
    suits="memplan.extensions.prices.pieces:suits",
)
PRICE_BOUNDS = SolverRow(
    "price-bounds",
    "cuts from cliques for very many pairs with a price, by HiGHS",
    "memplan.extensions.prices.bounds:solve",
    can=_CAN,
    needs=("highspy",),
    is_isolated=True,
    is_trusted=True,
    at_most=4_000,
    must_have=frozenset({"cost"}),
)
