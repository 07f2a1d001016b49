"""Tables for the kernels that order operations; the C++ files are in this folder."""

from __future__ import annotations

from typing import NamedTuple

from memplan.extensions.networks.order.core import LIBRARY
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Flags, Rows


class Moves(NamedTuple):
    """n macros in one direction: from the start (`is_forward`), or taken back from the end.

    Macro v runs the steps step_first[v]:step_first[v + 1]. At step j, `hill[j]` bytes more are alive meanwhile, and
    `net[j]` bytes more afterwards, less the bytes of the tensors free[free_first[j]:free_first[j + 1]] whose other
    readers have all run. Only a tensor with two readers or more, none of which must run before another one, is listed
    so; the readers of tensor t are reader[reader_first[t]:reader_first[t + 1]]. The macros next[next_first[v]:...] wait
    for v, and v waits for before[before_first[v]:...], both in the direction of the search.

    Outputs of step j may be written over inputs: it has the choices over_first[j]:over_first[j + 1], and choice c has
    the tensors over[input_first[c]:input_first[c + 1]]. Where those in the set of bits b have no other reader left,
    gain[gain_first[c] + b] bytes fewer are alive while the step runs.

    `group` and `code` give the key of a state, a sum over groups of sums over macros: macros that differ by their names
    only may have equal codes.
    """

    step_first: I64  # (n + 1,)
    hill: I64
    net: I64
    free_first: I64
    free: I64
    size: I64  # (m,): bytes of each tensor
    reader_first: I64  # (m + 1,)
    reader: I64
    over_first: I64
    input_first: I64
    over: I64
    gain_first: I64
    gain: I64
    next_first: I64  # (n + 1,)
    next: I64
    before_first: I64  # (n + 1,)
    before: I64
    group: I64  # (n,)
    code: Rows  # (n, 2)
    is_forward: bool


FOUND, EXHAUSTED, STOPPED = 1, 0, -1
BY_VALLEY, BY_HILL = 0, 1
"""Rules for the branch that comes first: it can end with the fewest bytes alive, or rises most above its end."""


class Budget(NamedTuple):
    """The arguments and result of the search for an order whose peak is at most `budget`.

    Is there an order whose peak is at most `budget`, where `live` bytes are alive before the first macro in the
    direction of the search? Segments begin up to `depth` deep inside each other. `rule` says which branch comes first;
    a `seed` above 0 chooses among similar ones. flag[0] or `node_limit` ends it.
    """

    live: int
    budget: int
    depth: int
    rule: int
    seed: int
    node_limit: int
    order: I64  # (n,): filled, in the direction of the search, where one is found
    answer: I64  # (2,): nodes, and the least peak that was refused
    flag: I64  # (1,)


search_order = LIBRARY.kernel("search_order", tables=2)
"""`search_order(moves, budget)`: search for an order within a budget; return the outcome.

FOUND: `order` holds it. EXHAUSTED: no budget below answer[1] has one. STOPPED: by the limit or the flag.
"""


CUT, CUT_STOPPED = 1, -1


class Network(NamedTuple):
    """A flow network of n nodes: choosing a node requires all nodes that its arcs lead to.

    `gain[v]` and `price[v]` are what choosing node v brings and costs; the flow uses them up. Arc k leads to `to[k]`
    and can take `rest[k]` more; `back[k]` is the arc the other way. Only nodes with `is_open` count. On return the
    nodes with `level[v] >= 0` are the smallest best choice.
    """

    first: I64  # (n + 1,)
    to: I64
    back: I64
    rest: I64
    gain: I64  # (n,)
    price: I64  # (n,)
    is_open: Flags  # (n,)
    level: I64  # (n,)
    flag: I64  # (1,)


close_cheaply = LIBRARY.kernel("close_cheaply", tables=1)
"""`close_cheaply(network)`: find the choice with the largest gain less its cost.

Returns CUT, or CUT_STOPPED where flag[0] was set.
"""


FOLLOWED, FOLLOW_STOPPED = 1, -1


class Follow(NamedTuple):
    """A known order within a budget, and the order to stay near, both in the direction of the search.

    `live` bytes are alive before the first operation. near[v] is the place of operation v in the order to stay near.
    After `work` operations, the remaining ones run in the known order.
    """

    live: int
    budget: int
    work: int
    order: I64  # (n,)
    near: I64  # (n,)
    followed: I64  # (n,): filled
    flag: I64  # (1,)


follow_order = LIBRARY.kernel("follow_order", tables=2)
"""`follow_order(moves, follow)`: at each position, run the operation that is first in the other order and fits.

Returns FOLLOWED, or FOLLOW_STOPPED where flag[0] was set.
"""
