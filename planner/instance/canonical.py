"""One content hash for all spellings of a problem, and the order of buffers that goes with it.

Names, the order of buffers, time stamps, hints, buffers of no bytes and a common divisor of all bytes make no
difference; whatever the optimum depends on does. Equal hashes mean isomorphic problems: the k-th buffers in their
canonical orders correspond. Another spelling of a problem may, rarely, get another hash: where buffers can hardly be
told apart by a large or very regular graph of explicit conflicts and other ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem

U64 = npt.NDArray[np.uint64]
_VERSION = b"memplan problem 1"
_HASHES: WeakKeyDictionary[Instance, str] = WeakKeyDictionary()
"""Those of instances that are in use: who looks a problem up and then solves it asks twice."""
_LOOKS = 2_000_000
"""How much is looked at, of buffers and ties between them, to tell buffers apart by their neighbours."""


def problem_hash(problem: Problem, instance: Instance | None = None, order: I64 | None = None) -> str:
    """Return `sha256:…` of all that matters in a problem.

    `instance` is the same, compiled, and `order` its canonical order, where they exist already.
    """
    found = compile_problem(problem) if instance is None else instance
    if found not in _HASHES:
        digest = sha256(_VERSION)
        for part in _content(found, canonical_order(found) if order is None else order):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        _HASHES[found] = f"sha256:{digest.hexdigest()}"
    return _HASHES[found]


def canonical_order(instance: Instance) -> I64:
    """Return the buffers of an instance in an order that depends on their content only, ties by position; (n,)."""
    colour = np.zeros(len(instance), dtype=np.uint64)
    for values in _columns(instance):
        colour = _mixed(colour, values)
    lifetimes = _mixed(_mixed(np.zeros(len(instance.start), dtype=np.uint64), instance.start), instance.end)
    colour = _mixed(colour, _sums(lifetimes, instance.first))
    relations = _relations(instance)
    if relations:
        colour = _told_apart(relations, colour)
    return np.argsort(colour, kind="stable")


def traffic_unit(instance: Instance) -> int:
    """Return by what all traffic can be divided: costs are then divided, too, and so the best choice stays the same.

    Weights of pairs in a common bank are costs that nothing divides, so beside them traffic counts as it is.
    """
    return 1 if len(instance.soft_pairs) else max(1, int(np.gcd.reduce(instance.traffic, initial=0)))


@dataclass(frozen=True, eq=False)
class _Relation:
    """What ties buffers to others: symmetric lists of them, with a weight each (0: none)."""

    first: I64
    neighbour: I64
    weight: U64 | None = None

    def around(self, values: U64) -> U64:
        """Return, for each buffer, the sum over its neighbours of their values, each stirred with the weight."""
        there = values[self.neighbour]
        return _sums(there if self.weight is None else _mixed(there, self.weight), self.first)


@dataclass(frozen=True, eq=False)
class _Classes:
    """What ties buffers in groups: the name of each one's group."""

    name: I64

    def around(self, values: U64) -> U64:
        """Return, for each buffer, the sum over the others of its group of their values."""
        total = np.zeros_like(values)
        np.add.at(total, self.name, values)
        return total[self.name] - values


def _relations(instance: Instance) -> list[_Relation | _Classes]:
    """Return what ties the buffers of an instance to each other, apart from lifetimes."""
    found: list[_Relation | _Classes] = [
        _Relation(first, neighbour)
        for first, neighbour in (
            (instance.conflict_first, instance.conflict),
            (instance.share_first, instance.share),
            (instance.bank_first, instance.bank_with),
        )
        if len(neighbour)
    ]
    if len(instance.soft_pairs):
        rows = np.concatenate((instance.soft_pairs, instance.soft_pairs[:, ::-1]))
        order = np.lexsort(rows.T[::-1])
        first = np.searchsorted(rows[order, 0], np.arange(len(instance) + 1))
        weight = np.tile(instance.soft_weight, 2)[order]
        found.append(_Relation(first, rows[order, 1], weight.view(np.uint64)))
    if "relative" in instance.features:
        found.append(_Classes(instance.anchor))
    if "together" in instance.features:
        found.append(_Classes(instance.colocation))
    return found


def _told_apart(relations: list[_Relation | _Classes], colour: U64) -> U64:
    """Refine colours by those of neighbours, until only interchangeable buffers are alike.

    Where others are still alike, one of them gets a colour of its own and all are refined again: if the problem is
    symmetric in them, it makes no difference which (colour refinement with individualization, as in nauty).
    """
    ties = sum(len(tie.neighbour if isinstance(tie, _Relation) else tie.name) for tie in relations)
    rounds = max(4, _LOOKS // (len(colour) + ties))
    kinds = 0
    for _ in range(rounds):
        for tie in relations:
            colour = _mixed(colour, tie.around(colour))
        found = len(np.unique(colour))
        if found == kinds:
            chosen = _one_of_many(relations, colour)
            if chosen is None:
                break
            colour[chosen] += np.uint64(1)
        kinds = found
    return colour


def _one_of_many(relations: list[_Relation | _Classes], colour: U64) -> int | None:
    """Return a buffer that is like others in colour but not interchangeable with all of them; None: there is none.

    Buffers of one colour are interchangeable where they are tied to the same others, among themselves all or none.
    """
    name = _mixed(np.zeros(len(colour), dtype=np.uint64), np.arange(len(colour)))
    order = np.argsort(colour, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(colour[order]) != 0))
    is_mixed = np.zeros(len(starts), dtype=np.bool_)
    for tie in relations:
        without = tie.around(name)
        differ = np.ones(len(starts), dtype=np.bool_)
        for neighbours in (without, without + name):
            mine = neighbours[order]
            differ &= np.minimum.reduceat(mine, starts) != np.maximum.reduceat(mine, starts)
        is_mixed |= differ
    return int(order[starts[is_mixed.argmax()]]) if is_mixed.any() else None


def _columns(instance: Instance) -> Iterator[I64]:
    """Yield what each buffer is in itself, apart from its lifetimes: arrays of n."""
    yield instance.size
    yield instance.pin
    if instance.objective == "cost":
        yield instance.traffic // traffic_unit(instance)
    for q in range(len(instance.pools)):
        # Where a buffer may not lie, the memory's alignment is nothing to it.
        yield np.where(instance.allowed[q], instance.alignment[q], 0)
        yield np.where(instance.allowed[q], instance.residue[q], 0)
        if "pages" in instance.features:
            yield instance.page[q]
            yield instance.page_shift[q]
    if "relative" in instance.features:
        yield instance.distance


def _content(instance: Instance, order: I64) -> Iterator[npt.NDArray[np.generic]]:
    """Yield arrays that say all of an instance that matters, its buffers in canonical order."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    yield _word(instance.objective)
    yield np.array([len(instance), len(instance.unplaceable), len(instance.pools)], dtype="<i8")
    if len(instance) == 0:
        return
    for memory in instance.pools:
        yield np.array([memory.capacity if memory.is_limited else -1], dtype="<i8")
        yield memory.reserved.astype("<i8")
        if instance.objective == "cost":
            yield np.array([memory.cost], dtype="<f8")
    for values in _columns(instance):
        yield values[order].astype("<i8")
    rows, counts = _gathered(instance.first, order)
    yield counts.astype("<i8")
    yield instance.start[rows].astype("<i8")
    yield instance.end[rows].astype("<i8")
    yield from _tied(instance.conflict_first, instance.conflict, order, rank)
    yield from _constraints(instance, order, rank)


def _constraints(instance: Instance, order: I64, rank: I64) -> Iterator[npt.NDArray[np.generic]]:
    """Yield what constraints between buffers say, each with its word; nothing where there are none."""
    asked = instance.features
    for word, first, neighbour in (
        ("sharing", instance.share_first, instance.share),
        ("banks", instance.bank_first, instance.bank_with),
    ):
        if word in asked:
            yield _word(word)
            yield from _tied(first, neighbour, order, rank)
    for word, name in (("relative", instance.anchor), ("together", instance.colocation)):
        if word in asked:
            yield _word(word)
            least = np.full(len(order), len(order))
            np.minimum.at(least, name, rank)
            yield least[name][order].astype("<i8")
    if "bank-weights" in asked:
        yield _word("bank-weights")
        pairs = np.sort(rank[instance.soft_pairs], axis=1)
        rows = np.lexsort(pairs.T[::-1])
        yield pairs[rows].astype("<i8")
        yield instance.soft_weight[rows].astype("<f8")
    if not asked.isdisjoint({"banks", "bank-weights"}):
        yield np.array([(memory.bank, memory.bank_shift) for memory in instance.pools], dtype="<i8")


def _word(word: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(word.encode(), dtype=np.uint8)


def _tied(first: I64, neighbour: I64, order: I64, rank: I64) -> Iterator[npt.NDArray[np.generic]]:
    """Yield how many neighbours each buffer has, and which, in the canonical order."""
    rows, counts = _gathered(first, order)
    yield counts.astype("<i8")
    # One number a pair, n * first + second, sorts much faster than two keys.
    pairs = np.repeat(len(order) * np.arange(len(order)), counts) + rank[neighbour[rows]]
    yield (np.sort(pairs) % len(order)).astype("<i8")


def _gathered(first: I64, order: I64) -> tuple[I64, I64]:
    """Return the rows of lists `first[i]:first[i + 1]`, list after list in the given order, and each list's length."""
    counts = np.diff(first)[order]
    skipped = np.cumsum(counts) - counts
    return np.repeat(first[order] - skipped, counts) + np.arange(int(counts.sum())), counts


def _sums(values: U64, first: I64) -> U64:
    """Return the sum, modulo 2^64, of each list `values[first[i]:first[i + 1]]`."""
    total = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)))
    return total[first[1:]] - total[first[:-1]]


def _mixed(colour: U64, values: npt.NDArray[np.int64] | U64) -> U64:
    """Stir values into colours, so that different ones hardly ever come out equal (the steps of splitmix64)."""
    mixed = colour * np.uint64(0x9E3779B97F4A7C15) + values.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
