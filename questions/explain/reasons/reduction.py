"""Reduction of an infeasible set: by stretches of time, and by deletion.

With fewer buffers, and with fewer rules, nothing is ever harder to fit; so one pass of questions is enough for a set
from which nothing can be left out (Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991, call it irreducible).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from memplan.questions.explain.questions.queries import Answer

Item = TypeVar("Item")
Query = Callable[[list[Item]], Answer]


def shortest_stretch(count: int, fails: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return (first, last), the shortest stretch of `count` live sets that does not fit, by 2 log2(count) questions.

    All of them together do not fit.
    """
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(0, middle) else (middle + 1, high)
    last, low = high, 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fails(middle, last) else (low, middle - 1)
    return low, last


def delete_unneeded(
    items: Sequence[Item], query: Query[Item], report: Callable[[list[Item]], None]
) -> tuple[list[Item], int]:
    """Return a subset of items that still fails, and how many of them are not proved to be needed.

    One pass covers the items, in chunks that double where they can be left out and halve where they cannot; items that
    stayed open are tried again at the end, when fewer are left. `report` is called with each smaller list.
    """
    items_left, at, size = list(items), 0, max(1, len(items) // 2)
    unsure: list[Item] = []
    while at < len(items_left):
        size = min(size, len(items_left) - at)
        trial = items_left[:at] + items_left[at + size :]
        answer = query(trial)
        if answer == "no":
            # A removable item was one of many, so more are tried at once.
            items_left, size = trial, size * 2
            report(items_left)
        elif size > 1:
            size //= 2
        else:
            # The member is kept and counted as open. Once others are gone, the question may be easier.
            if answer == "open":
                unsure.append(items_left[at])
            at += 1
    still_open = 0
    for item in unsure:
        trial = [other for other in items_left if other != item]
        answer = query(trial)
        if answer == "no":
            items_left = trial
            report(items_left)
        still_open += answer == "open"
    return items_left, still_open
