"""Pack one pool of an instance in a given order, by the kernel: the rules of each pool, and the kernel's workspace.

First fit takes the lowest offset that is free, best fit the lowest of those in the smallest gap. A buffer that does not
fit below the capacity gets ABSENT, and the others go on without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isqrt

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.core.pack import BODY, DONE, NEEDED, TOP, PackOrder, PackRules, PackWorkspace, pack
from memplan.solvers.core.tables import Reference
from memplan.solvers.formulation.pair_rules import PairRules
from memplan.solvers.packing.rigid_bodies import Bodies

_FLAT_ALIVE = 16_000
"""The most buffers alive at a time, in the mean, for a flat pack."""


class Packer:
    """Packs pools of one instance; a `flag` that turns 1 stops it soon. For one thread.

    The `glued` pairs, of buffers that may share, have one offset wherever they can.
    """

    def __init__(self, instance: Instance, flag: I64, glued: Iterable[tuple[int, int]] = ()) -> None:
        self.instance, self.flag, self.glued = instance, flag, tuple(glued)
        self._bodies: dict[int, Bodies] = {}
        self._rules: dict[int, Reference[PackRules]] = {}
        self._workspaces: dict[int, Reference[PackWorkspace]] = {}
        self._block_lists: dict[int, I64] = {}

    def pack(self, q: int, order: I64, best_fit: bool = False) -> I64:
        """Place the buffers of `order` one after the other in pool `q`; return their offsets, in that order.

        A rigid group is in `order` as a whole, or not at all. Memory is linear: no pair of buffers is listed.
        """
        if q not in self._rules:
            self._bodies[q] = Bodies(self.instance, q, self.glued)
            rules = self._rules_of(q)
            self._rules[q] = Reference(rules)
            self._block_lists[q] = _empty_block_lists(rules, self.instance.n_live_sets)
            self._workspaces[q] = Reference(_new_workspace(rules, self._bodies[q].lead, self._block_lists[q]))
        _clear(self._workspaces[q].table, self._rules[q].table.reserved, self._block_lists[q])
        by_body, body_first = self._bodies[q].grouped(order)
        task = PackOrder(order[by_body], body_first, best_fit, self.flag, np.full(len(order), ABSENT))
        while pack(self._rules[q], self._workspaces[q], Reference(task)) != DONE:
            self._workspaces[q] = Reference(_larger(self._workspaces[q].table))
        found = np.empty_like(task.offsets)
        found[by_body] = task.offsets
        return column(found)

    def _rules_of(self, q: int) -> PackRules:
        instance, pool, bodies = self.instance, self.instance.pools[q], self._bodies[q]
        border_first, border = bodies.borders()
        pairs = PairRules.of(instance, q)
        width, is_flat = blocks(instance)
        return PackRules(
            distance=bodies.distance,
            size=instance.size,
            first=instance.first,
            start=instance.start,
            end=instance.end,
            lowest=bodies.lowest,
            highest=bodies.highest,
            step=bodies.step,
            page=np.ascontiguousarray(instance.page[q]),
            page_shift=np.ascontiguousarray(instance.page_shift[q]),
            pair_first=pairs.first,
            pair=pairs.other,
            clearance=pairs.clearance,
            grid=pairs.grid,
            share_first=instance.share_first,
            share=instance.share,
            border_first=border_first,
            border=border,
            reserved=pool.reserved,
            capacity=pool.capacity,
            bank=pool.bank,
            bank_shift=pool.bank_shift,
            width=width,
            is_flat=is_flat,
        )


def blocks(instance: Instance) -> tuple[int, bool]:
    """Return the width of the kernel's blocks, in live sets, and whether it packs flat, without a tree.

    Flat is quicker where lifetimes are much alike, and blocks are about as long as they are; but not where so many are
    alive at once that a list of them all costs more than a few of merged runs. Beside a tree, blocks are so narrow that
    few lifetimes start or end in one.
    """
    life = instance.end - instance.start
    m, n_sets = len(life), max(1, instance.n_live_sets)
    mean = float(life.mean()) if m else 1.0
    ordered = np.sort(life)
    if m and mean < 2 * int(ordered[(m - 1) // 2] + ordered[m // 2]) and m * mean <= _FLAT_ALIVE * n_sets:
        return max(8, round(mean)), True
    return max(1, min(128, 256 * n_sets // max(1, m))), False


def work(instance: Instance) -> int:
    """Estimate what packing all buffers once costs, in units of Search.work_limit; equal on every machine."""
    n, m = len(instance), len(instance.start)
    _, is_flat = blocks(instance)
    alive = int((instance.end - instance.start).sum()) // max(1, instance.n_live_sets)
    lists = isqrt(alive) if is_flat else 6
    return 1 + (n + m) * (6 + lists) // 16 + len(instance.conflict) // 64


def _empty_block_lists(rules: PackRules, n_live_sets: int) -> I64:
    """Return the lists of the blocks, empty, one after the other, with space for all that can be filed in each."""
    n_blocks = max(1, -(-n_live_sets // rules.width))
    opened = np.bincount(rules.start // rules.width, minlength=n_blocks)
    closed = np.bincount((rules.end - 1) // rules.width, minlength=n_blocks)
    most = np.cumsum(opened) - np.cumsum(closed) + closed if rules.is_flat else opened + closed
    return column(np.stack((np.cumsum(most) - most, np.zeros_like(most), most), axis=1))


def _new_workspace(rules: PackRules, lead: I64, block_lists: I64) -> PackWorkspace:
    """Allocate what a pack of all buffers needs at the most; `lead` names the body of each.

    Only what lists of runs take when they move is not known beforehand: see `_larger`. Memory that is not used costs
    nothing.
    """
    n_blocks, n_items = len(block_lists), int(block_lists[:, 2].sum())
    leaves = 1 if rules.is_flat else 1 << (n_blocks - 1).bit_length()
    files = (
        (rules.end - 1) // rules.width - rules.start // rules.width + 1 if rules.is_flat else np.full_like(rules.end, 2)
    )
    of_lives = np.append(0, np.cumsum(files))
    n_files = _most(of_lives[rules.first[1:]] - of_lives[rules.first[:-1]], lead)
    n_nodes = 0 if rules.is_flat else 2 * leaves.bit_length() * _most(np.diff(rules.first), lead)
    n_neighbours = _most(np.diff(rules.pair_first), lead)
    n_members = _most(np.ones_like(lead), lead)
    n_lists = n_files + 2 * n_nodes + 2 * n_members
    n_runs = len(rules.reserved) + n_neighbours + 64 + (0 if rules.is_flat else 4 * len(lead))
    names_others = n_neighbours > 0 or len(rules.share) > 0
    return PackWorkspace(
        block_lists=_rows(n_blocks, 3),
        node_lists=_rows(4 * leaves, 3),
        items=_rows(n_items, 4),
        runs=_rows(n_runs, 2),
        placed_at=np.empty(len(lead) if names_others else 0, np.int64),
        stamp=np.full(2 * leaves, ABSENT),
        lows=np.empty(n_neighbours, np.int64),
        highs=np.empty(n_neighbours, np.int64),
        files=_rows(n_files, 4),
        covers=_rows(n_nodes, 2),
        above=_rows(n_nodes, 2),
        walks=_rows(n_lists, 4),
        alive=_rows(n_files, 2),
        pages=_rows(n_members + len(rules.border), 4),
        levels=_rows(64, 3),
        stands=np.zeros(4, np.int64),
    )


def _most(counts: I64, lead: I64) -> int:
    """Return the largest sum over the buffers of one body."""
    sums = np.zeros_like(counts)
    np.add.at(sums, lead, counts)
    return int(sums.max(initial=0))


def _rows(count: int, columns: int) -> I64:
    return np.empty((count, columns), np.int64)


def _clear(workspace: PackWorkspace, reserved: I64, block_lists: I64) -> None:
    """Forget what was placed. Stamps stay, for their numbers go on."""
    workspace.block_lists[:] = block_lists
    workspace.node_lists.fill(0)
    workspace.placed_at.fill(ABSENT)
    workspace.runs[: len(reserved)] = reserved
    workspace.stands[BODY], workspace.stands[TOP] = 0, len(reserved) + len(workspace.lows)


def _larger(workspace: PackWorkspace) -> PackWorkspace:
    """Return a workspace with as many runs as are requested, and at least twice as many as before."""
    runs = _rows(max(2 * len(workspace.runs), int(workspace.stands[NEEDED])), 2)
    runs[: workspace.stands[TOP]] = workspace.runs[: workspace.stands[TOP]]
    return workspace._replace(runs=runs)
