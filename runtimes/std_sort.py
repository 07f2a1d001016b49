"""libstdc++'s `std::sort`, for reimplemented C++ planners whose result depends on how it orders equal elements."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_SMALL = 16
"""Introsort leaves ranges of at most this many elements to the final insertion sort."""


def std_sorted(values: list[T], less: Callable[[T, T], bool]) -> list[T]:
    """Return the values in the order of `std::sort`: introsort with median of three, then insertion sort.

    Source: gcc 12, libstdc++-v3/include/bits/stl_algo.h: std::sort. The original changes to heap sort after 2 log2(n)
    levels. This function does not, because no known input of the planners reaches that depth.
    """
    row = list(values)
    _introsort(row, 0, len(row), less)
    for i in range(1, len(row)):
        value, k = row[i], i
        if i < _SMALL and less(value, row[0]):
            row[1 : i + 1], row[0] = row[:i], value
            continue
        while k and less(value, row[k - 1]):
            row[k] = row[k - 1]
            k -= 1
        row[k] = value
    return row


def _introsort(row: list[T], first: int, last: int, less: Callable[[T, T], bool]) -> None:
    while last - first > _SMALL:
        _median_to_first(row, first, first + 1, first + (last - first) // 2, last - 1, less)
        cut = _partition(row, first + 1, last, first, less)
        _introsort(row, cut, last, less)
        last = cut


def _median_to_first(row: list[T], to: int, a: int, b: int, c: int, less: Callable[[T, T], bool]) -> None:
    if less(row[a], row[b]):
        middle = b if less(row[b], row[c]) else c if less(row[a], row[c]) else a
    else:
        middle = a if less(row[a], row[c]) else c if less(row[b], row[c]) else b
    row[to], row[middle] = row[middle], row[to]


def _partition(row: list[T], low: int, high: int, pivot: int, less: Callable[[T, T], bool]) -> int:
    """Move entries not greater than the entry at `pivot` to the front; return the position of the first greater one."""
    while True:
        while less(row[low], row[pivot]):
            low += 1
        high -= 1
        while less(row[pivot], row[high]):
            high -= 1
        if low >= high:
            return low
        row[low], row[high] = row[high], row[low]
        low += 1
