"""Any two features together, at all sizes, by all solvers and engines: `python -m lab.feature_pairs 2000 [SEED]`.

`tests/solvers/portfolio/test_feature_pairs.py` runs some of the cases.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator

from lab.support.cases import run_cases
from memplan.solvers.portfolio.registry import SOLVERS
from tests.support.feature_pairs import PAIRS, SMALL, THRESHOLDS, Case, complaints

SIZES = (*range(2, SMALL + 1), *(n + more for n in THRESHOLDS for more in (0, 1)))
LIMIT_S = 0.2


def faults(k: int, tally: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with the plans of a case by `auto`, and by another solver."""
    warnings.simplefilter("error")  # a fault of a solver is one
    # Sizes and pairs go around at paces without a common factor, so that in time each meets each.
    case = Case(PAIRS[k % len(PAIRS)], SIZES[k * 7 // len(PAIRS) % len(SIZES)], k)
    suited = [row for row in SOLVERS if row.is_installed and (row.at_most is None or case.n <= row.at_most)]
    solver = suited[k % len(suited)]
    for name, is_quick in (("auto", case.n > SMALL), (solver.name, not solver.is_isolated)):
        tally[name] += 1
        try:
            yield from complaints(case, [name], LIMIT_S, is_quick=is_quick)
        except Exception as error:  # noqa: BLE001 - the others of the cases are tried
            yield f"{case}: {name}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(run_cases("feature_pairs", faults))
