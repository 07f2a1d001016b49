"""Relay's storage tokens as a planner: each buffer is at the start of a storage, which other buffers may use later.

A storage is requested when a buffer starts and released when the buffer ends. At each time step, releases come before
requests, both in the problem's order of buffers. Buffers that are never alive get offset 0 and no storage. Source: see
`memplan.runtimes.tvm.relay_tokens`. The module `relay_storages` plans the operations of a program instead.
"""

from dataclasses import dataclass
from math import lcm

from memplan.planner.model.problem import Problem
from memplan.runtimes.tvm.relay_tokens import FreeTokens, Token
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, Tensor, align, tensor_alignment, tensors


@dataclass(eq=False)
class _Storage:
    """A storage of Relay: its token, and the buffers placed in it."""

    token: Token
    tensors: list[Tensor]


def storage_tokens(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Place storages one after another in memory, and each buffer at the start of its storage."""
    placements = {tensor.position: (0, 0) for tensor in tensors(problem)}
    stuck: list[int] = []
    capacity, end = problem.pools[0].size, 0
    for storage in _storages_in_order(problem, stop_check):
        offset = align(end, lcm(*(tensor_alignment(problem, tensor, 0) for tensor in storage.tensors)))
        end = offset + storage.token.width
        placements.update((tensor.position, (0, offset)) for tensor in storage.tensors)
        if capacity is not None and end > capacity:
            stuck.extend(tensor.position for tensor in storage.tensors)
    return PlannerAnswer(placements, tuple(stuck))


def _storages_in_order(problem: Problem, stop_check: StopCheck) -> list[_Storage]:
    """Return the storages in order of creation; each has the buffers that use it."""
    live_storages = [tensor for tensor in tensors(problem) if tensor.start < tensor.end]
    events = [(tensor.start, True, i) for i, tensor in enumerate(live_storages)]
    events += [(tensor.end, False, i) for i, tensor in enumerate(live_storages)]
    storages: list[_Storage] = []
    free = FreeTokens()
    held: dict[int, Token] = {}
    for _, is_start, i in sorted(events):
        stop_check()
        if not is_start:
            free.put(held.pop(i))
            continue
        token = free.take(live_storages[i].size)
        if token is None:
            token = Token(len(storages), live_storages[i].size)
            storages.append(_Storage(token, []))
        held[i] = token
        storages[token.storage].tensors.append(live_storages[i])
    return storages
