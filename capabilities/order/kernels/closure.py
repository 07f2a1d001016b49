"""The cheapest set that is closed under predecessors, as a maximum flow (Picard 1976; flow by Dinitz 1970)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.order.kernels import GROUP
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import Flags, step

CUT, CUT_STOPPED = 1, -1


class Network(NamedTuple):
    """A flow network of n nodes: a node that is chosen must have all nodes that its arcs lead to.

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
    arc: I64  # (n,): scratch
    queue: I64  # (n,): scratch
    path: I64  # (n,): scratch
    flag: I64  # (1,)


@step
def find_levels(network: Network) -> bool:
    """Count the arcs from a gain to each node; return False if no price can be reached."""
    head, tail, is_reached = 0, 0, False
    for node in range(len(network.gain)):
        network.level[node] = -1
        if network.is_open[node] and network.gain[node] > 0:
            network.level[node] = 0
            network.queue[tail] = node
            tail += 1
    while head < tail:
        node = network.queue[head]
        head += 1
        is_reached = is_reached or network.price[node] > 0
        for k in range(network.first[node], network.first[node + 1]):
            to = network.to[k]
            if network.rest[k] > 0 and network.is_open[to] and network.level[to] < 0:
                network.level[to] = network.level[node] + 1
                network.queue[tail] = to
                tail += 1
    return is_reached


@step
def send(network: Network, source: int) -> None:
    """Send what a node gains along shortest paths, until no path is left."""
    node, depth = source, 0
    while network.gain[source] > 0:
        if network.price[node] > 0:
            amount = min(network.gain[source], network.price[node])
            for k in range(depth):
                amount = min(amount, network.rest[network.path[k]])
            for k in range(depth):
                network.rest[network.path[k]] -= amount
                network.rest[network.back[network.path[k]]] += amount
            network.gain[source] -= amount
            network.price[node] -= amount
            node, depth = source, 0
            continue
        k, end = network.arc[node], network.first[node + 1]
        while k < end:
            to = network.to[k]
            if network.rest[k] > 0 and network.is_open[to] and network.level[to] == network.level[node] + 1:
                break
            k += 1
        network.arc[node] = k
        if k < end:
            network.path[depth] = k
            depth += 1
            node = network.to[k]
        elif depth == 0:
            return
        else:
            depth -= 1
            node = network.to[network.back[network.path[depth]]]
            network.arc[node] += 1


@partial(Kernel, group=GROUP)
def close_cheaply(network: Network) -> int:
    """Find the choice that brings most, less what it costs; return CUT, or CUT_STOPPED where flag[0] was set."""
    while find_levels(network):
        for node in range(len(network.gain)):
            network.arc[node] = network.first[node]
        for node in range(len(network.gain)):
            if network.flag[0] != 0:
                return CUT_STOPPED
            if network.level[node] == 0:
                send(network, node)
    return CUT
