"""The failures that the exact search remembers: components, between two walls, that need more than some capacity.

Whether a component fits depends on its unplaced buffers and their lows alone, so a row (key, key, need) holds in every
node, restart and order. A key is the sum of c + a * low over the unplaced buffers, modulo 2^64, with random a and c for
each: a multilinear hash. Two states that differ agree in one key with probability 2^(z - 64), where 2^z divides all
their differences; in both keys, which are compared whole, with the square of that.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from memplan.solvers.kernels.exact.state import State
from memplan.solvers.kernels.tables import Rows, step

NOGOOD_COLUMNS = 4


@step
def component(state: State, section: int) -> tuple[int, int, int, int]:
    """Return the sections (left, right) between the walls around one of them, and the keys of what is unplaced."""
    left, right = section, section + 1
    while left > 0 and state.crossing[left] > 0:
        left -= 1
    while right < len(state.left) and state.crossing[right] > 0:
        right += 1
    key_a, key_b = 0, 0
    for s in range(left, right):
        key_a += state.key[s, 0]
        key_b += state.key[s, 1]
    return left, right, key_a, key_b


@step
def known_failure(
    state: State, nogoods: Rows, capacity: int, touched_left: int, touched_right: int
) -> tuple[int, int, int]:
    """Return (left, right, need) of a component among the touched sections that is known not to fit; need 0: none."""
    if len(nogoods) == 0:
        return 0, 0, 0
    k = len(state.left)
    left = touched_left
    while left > 0 and state.crossing[left] > 0:
        left -= 1
    while left < touched_right:
        key_a, key_b = state.key[left, 0], state.key[left, 1]
        right = left + 1
        while right < k and state.crossing[right] > 0:
            key_a += state.key[right, 0]
            key_b += state.key[right, 1]
            right += 1
        row = slot(nogoods, key_a)
        if nogoods[row, 0] == key_a and nogoods[row, 1] == key_b and nogoods[row, 2] > capacity:
            return left, right, nogoods[row, 2]
        left = right
    return 0, 0, 0


@step
def slot(nogoods: Rows, key: int) -> int:
    """Return the row for a key; the upper bits are the random ones where all lows are even numbers."""
    return (key ^ (key >> 32)) & (len(nogoods) - 1)


@step
def remember(nogoods: Rows, key_a: int, key_b: int, need: int) -> None:
    """Keep that a component needs a capacity of at least `need`; the newest of a row stays."""
    if len(nogoods) == 0:
        return
    row = slot(nogoods, key_a)
    nogoods[row, 0], nogoods[row, 1], nogoods[row, 2] = key_a, key_b, need


def enlarged(nogoods: Rows, rows: int) -> Rows:
    """Return a table of 2^b rows, more than there are, with all that is known."""
    larger, known = np.zeros((rows, NOGOOD_COLUMNS), dtype=np.int64), nogoods[nogoods[:, 2] > 0]
    larger[slot(larger, cast(int, known[:, 0]))] = known  # all keys at once
    return larger
