"""Make an instance smaller: the parts that have nothing to do with each other."""

from __future__ import annotations

import numpy as np

from planner.instance import Instance
from planner.table import I64


def parts(instance: Instance) -> tuple[I64, ...]:
    """Split the buffers into independent parts: no conflict crosses from one to another.

    Each part is an ascending array of positions; the parts are in the order of their first buffers. In one memory, best
    assignments of the parts make a best one of the whole. O(m log m) time for m lifetimes; their pairs are not listed.
    """
    label = _joined(np.arange(len(instance)), *_links(instance))
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return tuple(np.split(order, cuts)) if len(order) else ()


def _links(instance: Instance) -> tuple[I64, I64]:
    """Return pairs of buffers (as two arrays) that join just what conflicts join, fewer than m + the explicit ones.

    In the order of starts, a lifetime which starts before all earlier ones are over meets the one that lasts longest.
    """
    order = np.argsort(instance.start, kind="stable")
    start, end = instance.start[order], instance.end[order]
    longest = np.maximum.accumulate(end)
    is_new = np.append(True, longest[1:] > longest[:-1])[: len(order)]
    lasting = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
    meets = np.flatnonzero(start[1:] < longest[:-1])
    explicit = np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))
    first = np.concatenate((instance.owner[order[lasting[meets]]], explicit))
    return first, np.concatenate((instance.owner[order[meets + 1]], instance.conflict))


def _joined(label: I64, first: I64, second: I64) -> I64:
    """Return the least label that each buffer is joined to by pairs: labels sink along pairs, then along themselves."""
    while True:
        low = np.minimum(label[first], label[second])
        sunk = label.copy()
        np.minimum.at(sunk, label[first], low)
        np.minimum.at(sunk, label[second], low)
        while not np.array_equal(shorter := sunk[sunk], sunk):
            sunk = shorter
        if np.array_equal(sunk, label):
            return label
        label = sunk
