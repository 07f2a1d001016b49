"""Lower bounds on the price of large pieces, by a growing linear program of cuts that HiGHS solves in a child process.

HiGHS is not trusted: its multipliers are rounded to integers, and these integers prove each bound exactly.
"""

from typing import Any

import numpy as np

from memplan.extensions.prices.cuts import MOST_PAIRS, CutRows, cut_bounds
from memplan.extensions.prices.pieces import suits
from memplan.extensions.prices.search import hard_pieces
from memplan.planner.instance.instance import Instance
from memplan.solvers.core.tables import F64
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.search.incumbent import Search

NAME = "price-bounds"
_ROUNDS = 10_000
_WORK_PER_PAIR = 25
"""The work of one round of cuts, per priced pair of a piece, in units of Search.work_limit."""


def solve(instance: Instance, search: Search) -> None:
    """Report rising lower bounds on the cost to `search`, found by HiGHS for pieces with very many priced pairs."""
    if len(instance.priced_pairs) <= MOST_PAIRS or not suits(instance):
        return
    costs = Costs.from_instance(instance)
    proved = 0
    for piece in hard_pieces(instance):
        if len(piece.pairs) <= MOST_PAIRS:
            continue
        best = 0
        counted = max(1, search.work_limit // (_WORK_PER_PAIR * len(piece.pairs)))
        rounds = counted if search.deterministic else _ROUNDS
        for bound in cut_bounds(piece, search.seed, search.flag, rounds, _HighsProgram()):
            best = bound.bound
            search.offer_bound((costs.cost_of_steps(proved + best), *search.bound[1:]), NAME)
            if search.is_over:
                return
        proved += best


class _HighsProgram:
    """The linear program of a piece's cuts, which is solved again from its last basis after rows are added."""

    def __init__(self) -> None:
        """Start without a linear program, which the first call creates."""
        self.highs: Any = None
        self.n_rows = 0

    def __call__(self, rows: CutRows) -> tuple[F64, F64]:
        """Solve the program; return each row's multiplier and each pair's value, from 0 (apart) to 1 (meets)."""
        import highspy

        if self.highs is None:
            self.highs = highspy.Highs()
            self.highs.setOptionValue("output_flag", False)
            self.highs.setOptionValue("threads", 1)
            count = len(rows.price)
            self.highs.addVars(count, np.zeros(count), np.ones(count))
            self.highs.changeColsCost(count, np.arange(count, dtype=np.int32), rows.price.astype(np.float64))
        for pairs, value, least in rows.rows[self.n_rows :]:
            self.highs.addRow(1.0, highspy.kHighsInf, len(pairs), pairs.astype(np.int32), value / least)
        self.n_rows = len(rows.rows)
        self.highs.run()
        solution = self.highs.getSolution()
        sides = np.array([least for _, _, least in rows.rows])
        return np.array(solution.row_dual) / sides, np.array(solution.col_value)
