"""Few orders, of which the least peak is taken at each value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def fewest(worst: Sequence[float]) -> int:
    """Return the index of the first ratio that is optimal, if one is, else that is within 0.02 % of the least."""
    enough = 1.0 if min(worst) <= 1 else min(worst) + 0.0002
    return next(i for i, ratio in enumerate(worst) if ratio <= enough)


def cover(ratios: NDArray[np.float64], count: int) -> list[int]:
    """Return so many rows with the least worst minimum, greedily and then by swaps; the mean decides between equals."""

    def scored(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = rows.max(axis=-1) + 0.3 * rows.mean(axis=-1)
        return scores

    chosen: list[int] = []
    for _ in range(count):
        covered = ratios[chosen].min(axis=0) if chosen else np.full(ratios.shape[1], np.inf)
        chosen.append(int(scored(np.minimum(ratios, covered)).argmin()))
        for j in range(len(chosen)):
            others = [each for i, each in enumerate(chosen) if i != j]
            covered = ratios[others].min(axis=0) if others else np.full(ratios.shape[1], np.inf)
            chosen[j] = int(scored(np.minimum(ratios, covered)).argmin())
    return chosen
