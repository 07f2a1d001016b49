"""The tables of the lemma search, which proves that buffers do not fit certain capacities; see lemma_proof.hpp.

A state says of n buffers in p pools where each may still lie: the entry of buffer i and pool q, number i * p + q, is
the least offset that it may have there, FAR where it may not be there, and GONE once it lies somewhere. It claims that
the remaining buffers cannot be placed under these limits. A lemma is such a claim that is proved, for some of the
buffers; a state with limits on these that are no looser cannot be completed either.
"""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Flags, Rows

FAR = 2**62
GONE = -1
FOUND, EXHAUSTED, STOPPED, TOO_LARGE = 1, 0, -1, -3
"""Outcomes: a placement; a proof that there is none; stopped; all fit except a part too large to search."""


class LemmaInstance(NamedTuple):
    """The `n` buffers and `p` pools of an instance; all lengths and offsets in units. Row q * n + i: buffer i, pool q.

    Offsets o of a row have o % step == residue, are at least `lowest`, and lie on one page where there is one.
    """

    pools: int
    unit: int
    n_sets: int  # live sets
    has_ties: bool  # some that are alive together may share bytes, or are in one rigid group
    source: I64  # (n,)
    size: I64
    pin: I64  # ABSENT: none
    anchor: I64
    allowed: Flags  # (p * n,)
    step: I64
    residue: I64
    lowest: I64
    page: I64  # 0: none
    page_shift: I64
    first: I64  # (n + 1,): lifetimes, in live sets
    start: I64
    end: I64
    time: I64  # (n_sets,): a time in each
    pair_first: I64  # (n + 1,): conflicts by name, symmetric, ascending
    pair: I64
    share_first: I64  # (n + 1,): what may share bytes with it, symmetric
    share: I64
    reserved_first: I64  # (p + 1,)
    reserved: Rows


class LemmaQuestion(NamedTuple):
    """The arguments and result of deciding whether the buffers fit; `instance` is the address of a LemmaInstance."""

    instance: int
    capacity: I64  # (p,): the end that each pool may have, in units
    seed: int


class LemmaTurn(NamedTuple):
    """A turn: nodes to spend, and its result `answer`: (nodes in all, sets, their members)."""

    most: int
    flag: I64  # (1,)
    offset: I64  # (n,): the offsets of the buffers, if a placement was found
    answer: I64  # (3,)


class LemmaSets(NamedTuple):
    """The k sets of pairwise conflicting buffers: positions in the instance, including pinned ones."""

    first: I64  # (k + 1,)
    member: I64
    live: I64  # (k,): the live set that it is, or ABSENT
    free: I64  # (k * p,): the units below a capacity that neither pinned members nor reserved ranges take


class LemmaLines(NamedTuple):
    """The text of a proof, numbered after earlier sets and lemmas: `answer` is (address, bytes, lemmas).

    `need` is what the proof needs of each entry, GONE for nothing.
    """

    sets: int
    lemmas: int
    need: I64  # (n * p,)
    answer: I64  # (3,)


open_lemmas = CORE.kernel("open_lemmas", tables=1)
"""`open_lemmas(question)`: return the address of a search, which uses the question's arrays until it is closed."""
run_lemmas = CORE.kernel("run_lemmas", tables=2)
"""`run_lemmas(search, turn)`: search, and return the outcome. Raises MemoryError."""
lemma_sets = CORE.kernel("lemma_sets", tables=2)
"""`lemma_sets(search, sets)`: fill the table of sets."""
lemma_lines = CORE.kernel("lemma_lines", tables=2)
"""`lemma_lines(search, lines)`: write the proof of an exhausted search, valid until the next one is written."""
close_lemmas = CORE.kernel("close_lemmas", tables=1)
"""`close_lemmas(search)`: free a search."""
