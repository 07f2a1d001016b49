"""The tables of the lemma search, which proves that buffers do not fit into given capacities; see lemma_proof.hpp.

A state of the search limits where each of n buffers may be in p pools. Entry i * p + q is the least offset of buffer i
in pool q; it is FAR if the pool is excluded, and GONE once the buffer is placed. The state claims that the remaining
buffers cannot be placed within these limits. A lemma is a proved claim about some of the buffers. It refutes each state
whose limits for these buffers are at least as tight.
"""

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import CORE, Flags, Rows

FAR = 2**62
GONE = -1
FOUND, EXHAUSTED, STOPPED, TOO_LARGE = 1, 0, -1, -3
"""The outcomes: a placement; a proof that there is none; stopped; all placed but a component too large to search."""


class LemmaInstance(NamedTuple):
    """The `n` buffers and `p` pools of an instance, in units. Entry q * n + i of a column concerns buffer i in pool q.

    The offset o of an entry satisfies o % step == residue and o >= `lowest`. If `page` is not 0, the buffer must be
    inside one page of that size.
    """

    pools: int
    unit: int
    n_sets: int  # number of live sets of the instance
    has_ties: bool  # True if buffers may share bytes or form rigid groups
    source: I64  # (n,): row of each buffer in the problem
    size: I64
    pin: I64  # (n,): pinned offset of each buffer, or ABSENT if the buffer is not pinned
    anchor: I64
    allowed: Flags  # (p * n,): True if the buffer may be in the pool
    step: I64
    residue: I64
    lowest: I64
    page: I64  # (p * n,): size of the page that must contain the buffer, or 0 for no page
    page_shift: I64
    first: I64  # (n + 1,): start of each buffer's lifetimes, counted in live sets, then the end of the last
    start: I64
    end: I64
    time: I64  # (n_sets,): a time at which each live set is alive
    # (n + 1,): start of each buffer's conflicts (ascending, symmetric) in `pair`, then the end of the last
    pair_first: I64
    pair: I64
    share_first: I64  # (n + 1,): start of each buffer's sharing partners in `share`, then the end of the last
    share: I64
    reserved_first: I64  # (p + 1,): start of each pool's ranges in `reserved`, then the end of the last
    reserved: Rows


class LemmaQuestion(NamedTuple):
    """The input of a lemma search. `instance` is the address of a LemmaInstance."""

    instance: int
    capacity: I64  # (p,): the largest end of each pool, in units
    seed: int


class LemmaTurn(NamedTuple):
    """A turn (step) of the search, of at most `most` nodes. `answer` receives (total nodes, sets, members of sets)."""

    most: int
    flag: I64  # (1,): flag that stops the search once it is not 0
    offset: I64  # (n,): offset of each buffer, if a placement was found
    answer: I64  # (3,): nodes in all, number of sets, number of members of the sets


class LemmaSets(NamedTuple):
    """The `k` sets of pairwise conflicting buffers, pinned ones included, that a lemma search uses.

    The members are positions in the instance.
    """

    first: I64  # (k + 1,): start of each set's members in `member`, then the end of the last
    member: I64
    live: I64  # (k,): number of the live set with exactly the buffers of this set, or ABSENT
    free: I64  # (k * p,): units of each pool that neither reserved ranges nor the set's pinned members occupy


class LemmaLines(NamedTuple):
    """The text of a proof. Its lines are numbered after `sets` and `lemmas`, the counts of earlier sets and lemmas.

    `answer` receives (address of the text, its bytes, number of lemmas). `need` receives, for each entry of a state,
    the limit that the proof requires, or GONE if the proof does not use the entry.
    """

    sets: int
    lemmas: int
    need: I64  # (n * p,): limit that the proof requires of each entry of a state, or GONE for unused entries
    answer: I64  # (3,): address of the text, its number of bytes, number of lemmas


open_lemmas = CORE.kernel("open_lemmas", tables=1)
"""`open_lemmas(question)`: return the address of a search, which reads the question's arrays until it is closed."""
run_lemmas = CORE.kernel("run_lemmas", tables=2)
"""`run_lemmas(search, turn)`: search for one turn, and return the outcome. Raises MemoryError."""
lemma_sets = CORE.kernel("lemma_sets", tables=2)
"""`lemma_sets(search, sets)`: fill `sets` with the conflict sets of the search."""
lemma_lines = CORE.kernel("lemma_lines", tables=2)
"""`lemma_lines(search, lines)`: write the proof of an exhausted search; the text is valid until the next call."""
close_lemmas = CORE.kernel("close_lemmas", tables=1)
"""`close_lemmas(search)`: free the memory of a search."""
