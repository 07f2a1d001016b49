"""The macros of a part, as the searches of orders run them; moves.hpp."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows


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
