"""Any two features together, at all sizes, by all solvers and engines: `python -m lab.feature_pairs 2000 [SEED]`.

`tests/solvers/portfolio/test_feature_pairs.py` runs some of the cases. Prints a line for each complaint, and counts at
the end; the exit status is 1 if there are any.
"""

from __future__ import annotations

import sys
import time
import warnings

from memplan.solvers.portfolio.registry import SOLVERS
from tests.support.feature_pairs import PAIRS, SMALL, THRESHOLDS, Case, complaints

SIZES = (*range(2, SMALL + 1), *(n + more for n in THRESHOLDS for more in (0, 1)))
LIMIT_S = 0.2


def main(count: int, seed: int) -> int:
    """Go through so many cases, from a seed on; return the number of complaints."""
    warnings.simplefilter("error")  # a fault of a solver is one
    began, found = time.monotonic(), 0
    for k in range(seed, seed + count):
        # Sizes and pairs go around at paces without a common factor, so that in time each meets each.
        case = Case(PAIRS[k % len(PAIRS)], SIZES[k * 7 // len(PAIRS) % len(SIZES)], k)
        suited = [row for row in SOLVERS if row.is_installed and (row.at_most is None or case.n <= row.at_most)]
        solver = suited[k % len(suited)]
        for name, is_quick in (("auto", case.n > SMALL), (solver.name, not solver.is_isolated)):
            try:
                wrong = complaints(case, [name], LIMIT_S, is_quick=is_quick)
            except Exception as error:  # noqa: BLE001 - the others of the cases are tried
                wrong = [f"{case}: {name}: {type(error).__name__}: {error}"]
            found += len(wrong)
            for line in wrong:
                print(line, flush=True)
    print(f"{count} cases, {found} complaints, {time.monotonic() - began:.0f} s")
    return found


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
