"""Macros as the searches of orders run them, and the state that running and taking back a macro changes."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.tables import Rows, step


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

    `group` and `code` give the key of a state, see `turn`: macros that differ by their names only may have equal codes.
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


class Prefix(NamedTuple):
    """The macros that have run so far, and what follows from them.

    `left[t]` counts the readers of tensor t that have not run, from the start; `waits[v]` counts the macros that v
    waits for; `ready[:number[READY]]` lists the macros that can run, `spot[v]` is where v stands in it (-1: it waits;
    -2 - k: it has run, and stood at k). `log[:number[LOGGED]]` is the order so far.
    """

    left: I64  # (m,)
    waits: I64  # (n,)
    ready: I64  # (n + 1,)
    spot: I64  # (n,)
    log: I64  # (n + 1,)
    number: I64  # (7,), see below
    key: I64  # (2,): the key of the set of macros that have run
    group_key: Rows  # (n, 2)
    segment: Rows  # (levels, 6): the segments that are open, see `grow`


LIVE, READY, LOGGED, REFUSED, ALLOWED, HILL, VALLEY = range(7)
"""The columns of `number`: bytes alive; lengths; the least peak that a budget refused; steps left to segments; the peak
of the segment that was tried last and the bytes alive at its end."""

_SHIFT_30, _SHIFT_27, _SHIFT_31 = 2**34 - 1, 2**37 - 1, 2**33 - 1  # masks: a shift to the right keeps the sign
_ODD, _FIRST, _SECOND = -7046029254386353131, -4658895280553007687, -7723592293110705685


@step
def saved(moves: Moves, prefix: Prefix, j: int) -> int:
    """Return the bytes of outputs that a step writes over inputs, just before its tensors are freed or taken back."""
    total = 0
    for choice in range(moves.over_first[j], moves.over_first[j + 1]):
        bits, bit = 0, 1
        for i in range(moves.input_first[choice], moves.input_first[choice + 1]):
            if prefix.left[moves.over[i]] == (1 if moves.is_forward else 0):
                bits += bit
            bit += bit
        total += moves.gain[moves.gain_first[choice] + bits]
    return total


@step
def run(moves: Moves, prefix: Prefix, macro: int) -> int:
    """Run a macro that is ready; return the most bytes alive meanwhile."""
    number, ready, spot, left = prefix.number, prefix.ready, prefix.spot, prefix.left
    live: int = number[LIVE]
    top = live
    first, end = moves.step_first[macro], moves.step_first[macro + 1]
    if moves.is_forward:
        for j in range(first, end):
            top = max(top, live + moves.hill[j] - saved(moves, prefix, j))
            live += moves.net[j]
            for k in range(moves.free_first[j], moves.free_first[j + 1]):
                tensor = moves.free[k]
                left[tensor] -= 1
                if left[tensor] == 0:
                    live -= moves.size[tensor]
    else:
        for back in range(end - first):
            j = end - 1 - back
            less = saved(moves, prefix, j)
            for k in range(moves.free_first[j], moves.free_first[j + 1]):
                tensor = moves.free[k]
                if left[tensor] == 0:
                    live += moves.size[tensor]
                left[tensor] += 1
            live -= moves.net[j]
            top = max(top, live + moves.hill[j] - less)
    number[LIVE] = live
    number[READY] -= 1
    at, last = spot[macro], ready[number[READY]]
    ready[at], spot[last] = last, at
    spot[macro] = -2 - at
    for k in range(moves.next_first[macro], moves.next_first[macro + 1]):
        following = moves.next[k]
        prefix.waits[following] -= 1
        if prefix.waits[following] == 0:
            ready[number[READY]] = following
            spot[following] = number[READY]
            number[READY] += 1
    prefix.log[number[LOGGED]] = macro
    number[LOGGED] += 1
    return top


@step
def take_back(moves: Moves, prefix: Prefix) -> None:
    """Take the last macro of the log back. The list of ready macros is what it was before, in the same order."""
    number, ready, spot, left = prefix.number, prefix.ready, prefix.spot, prefix.left
    number[LOGGED] -= 1
    macro = prefix.log[number[LOGGED]]
    first, end = moves.next_first[macro], moves.next_first[macro + 1]
    for back in range(end - first):
        following = moves.next[end - 1 - back]
        if prefix.waits[following] == 0:
            number[READY] -= 1
            spot[following] = -1
        prefix.waits[following] += 1
    at = -2 - spot[macro]
    if at < number[READY]:
        moved = ready[at]
        ready[number[READY]], spot[moved] = moved, number[READY]
    ready[at], spot[macro] = macro, at
    number[READY] += 1
    live = number[LIVE]
    for j in range(moves.step_first[macro], moves.step_first[macro + 1]):
        live += -moves.net[j] if moves.is_forward else moves.net[j]
        for k in range(moves.free_first[j], moves.free_first[j + 1]):
            tensor = moves.free[k]
            if moves.is_forward:
                if left[tensor] == 0:
                    live += moves.size[tensor]
                left[tensor] += 1
            else:
                left[tensor] -= 1
                if left[tensor] == 0:
                    live -= moves.size[tensor]
    number[LIVE] = live


@step
def mixed(value: int) -> int:
    """Return a number that has nothing visible in common with the given one (the finalizer of splitmix64)."""
    value += _ODD
    value = (value ^ (value >> 30 & _SHIFT_30)) * _FIRST
    value = (value ^ (value >> 27 & _SHIFT_27)) * _SECOND
    return value ^ ((value >> 31) & _SHIFT_31)


@step
def turn(moves: Moves, prefix: Prefix, macro: int, times: int) -> None:
    """Change the key of the state by a macro that has run (`times` is 1), or that was taken back (-1).

    The key is a sum over groups, so that it is the same when two groups with equal codes change places, and a group's
    own key is a sum over its macros, so that macros with equal codes may do so too.
    """
    group = moves.group[macro]
    for k in range(2):
        prefix.key[k] -= mixed(prefix.group_key[group, k])
        prefix.group_key[group, k] += times * moves.code[macro, k]
        prefix.key[k] += mixed(prefix.group_key[group, k])
