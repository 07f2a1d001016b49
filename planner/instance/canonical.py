"""The hash of a problem's content, independent of its notation, and the canonical order of its buffers.

The hash ignores names, the order of buffers, time stamps, hints, zero-size buffers, and a common divisor of all bytes.
It depends on everything that affects the optimum, including the end of the address space if plans can reach it.
Problems with equal hashes are isomorphic: the k-th buffers of their canonical orders correspond. The converse can fail
for large or very regular graphs of explicit conflicts: isomorphic problems may then have different hashes.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from math import lcm
from struct import pack
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from pydantic_core import to_json

from memplan.planner.instance.columns import ALWAYS, Axis, Holds, distinct_values
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.contents import (
    U64,
    Groups,
    Neighbours,
    counting_columns,
    relations,
    requirement_columns,
    weights,
)
from memplan.planner.instance.instance import PLAIN, Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.columns import unique_values
from memplan.planner.model.moving import moves_of
from memplan.planner.model.problem import Problem

_VERSION = b"memplan problem 1"
_FEW = 1_000
"""The number of buffers up to which default columns are cached; larger ones would fill a server's memory."""
_NO_ROWS = b"<i8(0, 2)"
"""The hashed encoding of a pool without reserved ranges."""
_HASHES: WeakKeyDictionary[Instance, str] = WeakKeyDictionary()
"""The hashes of live instances, because both the cache look-up and the solution of a problem need the hash."""
_EXAMINED_AT_MOST = 2_000_000
"""The maximum number of buffers and relations examined to distinguish buffers by their neighbours."""
_SPLITMIX64 = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31)]
"""The multipliers and shifts of the hash function splitmix64."""
_FAR = 2.0**60
"""An eighth of the address space, in bytes; if best plans stay below it, the end of the address space is not hashed."""
_WITHOUT_WORD = "pages"
"""The only feature whose name is not hashed, as in version 1; no other feature has two columns per pool."""


def problem_hash(problem: Problem, instance: Instance | None = None, order: I64 | None = None) -> str:
    """Return the problem's hash, `sha256:...`, which covers everything that affects its best plans.

    `instance`, the compiled problem, and `order`, its canonical order, are computed unless they are given. The hash of
    a problem with `moves` also depends on names, times and the order of buffers.
    """
    if problem.moves:
        fields = problem.model_dump(mode="json", exclude_defaults=True, exclude={"name", "format", "read_with"})
        return f"sha256:{sha256(_VERSION + to_json(fields | {'moves': moves_of(problem).model_dump()})).hexdigest()}"
    compiled = compile_problem(problem) if instance is None else instance
    if compiled not in _HASHES:
        in_order = canonical_order(compiled) if order is None else order
        content = (
            _plain_content(compiled, in_order)
            if compiled.is_plain
            else map(_encode, _content_arrays(compiled, in_order))
        )
        digest = sha256(_VERSION)
        for part in content:
            digest.update(part)
        _HASHES[compiled] = f"sha256:{digest.hexdigest()}"
    return _HASHES[compiled]


def _encode(part: npt.NDArray[np.generic]) -> bytes:
    return f"{part.dtype.str}{part.shape}".encode() + part.tobytes()


def canonical_order(instance: Instance) -> I64:
    """Return an instance's buffers, (n,), in an order that depends only on their content; ties keep the given order."""
    if instance.is_plain:  # Columns must mix in the order of `requirement_columns`.
        both = _mixed_colours(np.zeros((2, len(instance)), dtype=np.uint64), np.stack((instance.size, instance.start)))
        own, lifetimes = _mixed_colours(both, np.stack((instance.pin, instance.end)))
        own = _mixed_colours(_mixed_colours(own, instance.alignment[0]), instance.lowest[0])
        return np.argsort(_mixed_colours(own, lifetimes), kind="stable")
    colour = np.zeros(len(instance), dtype=np.uint64)
    for values in requirement_columns(instance):
        colour = _mixed_colours(colour, values)
    lifetimes = _mixed_colours(
        _mixed_colours(np.zeros(len(instance.start), dtype=np.uint64), instance.start), instance.end
    )
    colour = _mixed_colours(
        colour, lifetimes if instance.has_one_lifetime_each else _list_sums(lifetimes, instance.first)
    )
    pairs = relations(instance)
    if pairs:
        colour = _refine_colours(pairs, colour)
    return np.argsort(colour, kind="stable")


def _neighbour_sums(relation: Neighbours | Groups, values: U64) -> U64:
    """Return, for each buffer, the sum of its neighbours' values modulo 2^64.

    If pairs of neighbours have weights, each value is mixed with the weight of the pair before it is added. For groups,
    the neighbours of a buffer are the other members of its group.
    """
    if isinstance(relation, Groups):
        total = np.zeros_like(values)
        np.add.at(total, relation.name, values)
        return total[relation.name] - values
    there = values[relation.neighbour]
    return _list_sums(there if relation.weight is None else _mixed_colours(there, relation.weight), relation.first)


def _refine_colours(ties: list[Neighbours | Groups], colour: U64) -> U64:
    """Refine colours by the neighbours' colours until only interchangeable buffers have equal colours.

    Buffers with equal colours may still not be interchangeable when the colours no longer change. Then one of them gets
    a new colour, and all colours are refined again. Where the problem is symmetric in these buffers, the result does
    not depend on the chosen buffer (colour refinement with individualization, as in nauty).
    """
    looks = sum(len(tie.name if isinstance(tie, Groups) else tie.neighbour) for tie in ties)
    rounds = max(4, _EXAMINED_AT_MOST // (len(colour) + looks))
    kinds = 0
    for _ in range(rounds):
        for tie in ties:
            colour = _mixed_colours(colour, _neighbour_sums(tie, colour))
        n_colours = len(unique_values(colour))
        # If a round distinguished no further buffers, one ambiguous buffer gets a new colour.
        if n_colours == kinds:
            chosen = _ambiguous_buffer(ties, colour)
            if chosen is None:
                break
            colour[chosen] += np.uint64(1)
        kinds = n_colours
    return colour


def _ambiguous_buffer(ties: list[Neighbours | Groups], colour: U64) -> int | None:
    """Return a buffer that is not interchangeable with all buffers of its colour; None if all are interchangeable.

    Buffers of one colour are interchangeable under two conditions: they have the same neighbours of other colours, and
    within the colour, either all pairs are neighbours or no pair is.
    """
    name = _mixed_colours(np.zeros(len(colour), dtype=np.uint64), np.arange(len(colour)))
    order = np.argsort(colour, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(colour[order]) != 0))
    is_mixed = np.zeros(len(starts), dtype=np.bool_)
    for tie in ties:
        without = _neighbour_sums(tie, name)
        differ = np.ones(len(starts), dtype=np.bool_)
        # Members of a clique have equal sums only if each member counts itself, so compare both kinds of sums.
        for neighbours in (without, without + name):
            mine = neighbours[order]
            differ &= np.minimum.reduceat(mine, starts) != np.maximum.reduceat(mine, starts)
        is_mixed |= differ
    return int(order[starts[is_mixed.argmax()]]) if is_mixed.any() else None


def _content_arrays(instance: Instance, order: I64) -> Iterator[npt.NDArray[np.generic]]:
    """Yield the arrays of an instance that affect its best plans, with buffers in canonical order."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    yield _encoded_word(instance.objective)
    yield np.array([len(instance), len(instance.unplaceable), len(instance.pools)], dtype="<i8")
    if len(instance) == 0:
        return
    for pool, capacity in zip(instance.pools, _encoded_capacities(instance), strict=True):
        yield np.array([capacity], dtype="<i8")
        yield pool.reserved.astype("<i8")
        if "cost" in instance.features:
            yield np.array([pool.cost], dtype="<f8")
    for values in requirement_columns(instance):
        yield values[order].astype("<i8", copy=False)
    if "intervals" in instance.features:
        yield from (ranges.astype("<i8") for ranges in instance.barred_ranges)
    # Most instances have one lifetime per buffer, so skip looking up positions in lists.
    has_one_each = instance.has_one_lifetime_each
    rows, counts = (order, np.ones_like(order)) if has_one_each else _gather_rows(instance.first, order)
    for values in (counts, instance.start[rows], instance.end[rows]):
        yield values.astype("<i8", copy=False)
    yield from _relation_arrays(instance, order, rank)
    if not instance.features.isdisjoint({"banks", "bank-weights"}):
        yield np.array([(pool.bank, pool.bank_shift) for pool in instance.pools], dtype="<i8")


def _plain_content(instance: Instance, order: I64) -> Iterator[bytes]:
    n = len(instance)
    head, zeros, ones, pins, after = _plain_columns(n) if n <= _FEW else _plain_columns.__wrapped__(n)
    rows = np.stack((instance.size, instance.alignment[0], instance.start, instance.end))[:, order]
    size, alignment, start, end = (head + row.tobytes() for row in rows.astype("<i8", copy=False))
    yield _encode(_encoded_word(instance.objective))
    yield b"<i8(3,)%b<i8(1,)%b" % (pack("<3q", n, 0, 1), pack("<q", *_encoded_capacities(instance)))
    yield from (_NO_ROWS, size, pins, alignment, zeros, ones, start, end, after)


@lru_cache(maxsize=64)
def _plain_columns(n: int) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    zeros, ones = np.zeros(n, dtype="<i8"), np.ones(n, dtype="<i8")
    none = _encode(zeros)
    return f"<i8{zeros.shape}".encode(), none, _encode(ones), _encode(-ones), none + _encode(zeros[:0])


def _encoded_capacities(instance: Instance) -> list[int]:
    """Return the capacity of each pool, in units, for the hash; -1 if no best plan reaches the pool's end.

    A pool without a size ends at the end of the address space. Its end is not a multiple of the unit, so the hash
    includes it only if plans can reach it. Consider the offsets above the last pinned buffer and the last forbidden or
    reserved range. If an empty range there is twice as long as the common multiple of all alignments, pages and banks,
    the buffers above it can move down by this multiple.
    """
    if all(pool.is_limited for pool in instance.pools):
        return [pool.capacity for pool in instance.pools]
    steps = distinct_values(instance.alignment) if "alignment" in instance.features else [1]
    if "pages" in instance.features:
        steps += distinct_values(instance.page[instance.page > 0])
    step = lcm(*steps, *(pool.bank for pool in instance.pools if pool.bank))
    spread = instance.max_clearance if "clearances" in instance.features else 0.0
    if "relative" in instance.features:
        spread += float(instance.distance.sum(dtype=np.float64))
    # Counting pinned buffers, which cannot move, only raises this limit, so simply add up the sizes of all buffers.
    total = float(instance.size.sum(dtype=np.float64))
    reachable = total + instance.fixed_end + spread + 2.0 * (len(instance) + 1) * min(step, 2**64)
    is_encoded = reachable * instance.unit >= _FAR
    return [pool.capacity if pool.is_limited or is_encoded else -1 for pool in instance.pools]


def _relation_arrays(instance: Instance, order: I64, rank: I64) -> Iterator[npt.NDArray[np.generic]]:
    """Yield the arrays of relations between buffers, each preceded by the name of its feature."""
    wordless = {ALWAYS, *PLAIN, _WITHOUT_WORD}
    for name, column in counting_columns(instance.features).items():
        values = getattr(instance, name)
        if column.holds is Holds.NUMBERS:
            continue
        if column.counts not in wordless:
            yield _encoded_word(column.counts)
            wordless.add(column.counts)
        if column.axis is Axis.LIST and len(values) == 0:
            yield np.zeros(len(order), dtype="<i8")
            yield values.astype("<i8")
        elif column.axis is Axis.LIST:
            yield from _adjacency_columns(getattr(instance, column.along), values, order, rank)
        elif column.holds is Holds.GROUPS:
            least = np.full(len(order), len(order))
            np.minimum.at(least, values, rank)
            yield least[values][order].astype("<i8")
        else:
            pairs = np.sort(rank[values], axis=1)
            rows = np.lexsort(pairs.T[::-1])
            yield pairs[rows].astype("<i8")
            beside = weights(instance, name)[rows]
            yield beside.astype(beside.dtype.newbyteorder("<"))
    for word in sorted(instance.features - wordless):
        yield _encoded_word(word)


def _encoded_word(word: str | tuple[str, ...]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(" ".join([word] if isinstance(word, str) else word).encode(), dtype=np.uint8)


def _adjacency_columns(first: I64, neighbour: I64, order: I64, rank: I64) -> Iterator[npt.NDArray[np.generic]]:
    rows, counts = _gather_rows(first, order)
    yield counts.astype("<i8")
    # Sorting pairs by two keys is much slower, so sort single numbers n * first + second.
    pairs = np.repeat(len(order) * np.arange(len(order)), counts) + rank[neighbour[rows]]
    yield (np.sort(pairs) % len(order)).astype("<i8")


def _gather_rows(first: I64, order: I64) -> tuple[I64, I64]:
    counts = np.diff(first)[order]
    skipped = np.cumsum(counts) - counts
    return np.repeat(first[order] - skipped, counts) + np.arange(int(counts.sum())), counts


def _list_sums(values: U64, first: I64) -> U64:
    total = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)))
    return total[first[1:]] - total[first[:-1]]


def _mixed_colours(colour: U64, values: npt.NDArray[np.int64] | U64) -> U64:
    mixed = colour * _SPLITMIX64[0]
    mixed += values.view(np.uint64)
    mixed ^= mixed >> _SPLITMIX64[1]
    mixed *= _SPLITMIX64[2]
    mixed ^= mixed >> _SPLITMIX64[3]
    mixed *= _SPLITMIX64[4]
    mixed ^= mixed >> _SPLITMIX64[5]
    return mixed
