"""Cut an instance with one pool into independent components, for the exact search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.sections import Sections
from memplan.solvers.exact.sections import LaidOut, Lives, compile_sections


@dataclass(eq=False)
class Component:
    """Free buffers (positions in the instance) that neither a section nor a conflict by name ties to any other."""

    instance: Instance
    lives: Lives
    buffers: I64

    @cached_property
    def laid_out(self) -> LaidOut:
        """The component as the search reads it; made on first use, as most components are proved without."""
        return compile_sections(self.instance, self.lives, self.buffers)

    @property
    def sections(self) -> Sections:
        """The arrays that the search reads."""
        return self.laid_out.sections.table

    @cached_property
    def traits(self) -> dict[str, I64]:
        """The measures that orders compare: width in time (W), in sections (C), area (A), largest section total (T)."""
        laid_out, sections = self.laid_out, self.sections
        border = self._borders()[laid_out.base :]
        # Borders lie at halves between times, so twice the width is whole; the cap keeps areas in 62 bits.
        lasting = np.clip(2 * (border[sections.end] - border[sections.start]), 1, 2.0**40)
        width = np.add.reduceat(lasting.astype(np.int64), sections.first[:-1])
        area = np.minimum(width.astype(np.float64) * sections.size, 2.0**62).astype(np.int64)
        return {"W": width, "C": laid_out.span, "A": area, "T": laid_out.total}

    def _borders(self) -> npt.NDArray[np.float64]:
        """Return about when each section begins, and when the last one ends; cliques take no time."""
        times = self.instance.live_set_time.astype(np.float64)
        if len(times) == 0:
            return np.zeros(self.lives.n_sections + 1)
        between = (times[1:] + times[:-1]) / 2
        later = np.full(self.lives.n_sections - len(times) + 1, times[-1] + 1)
        return np.concatenate((times[:1] - 1, between, later))


def split(instance: Instance) -> list[Component]:
    """Return the independent components of an instance, in time order; pinned buffers are in none."""
    lives = _lives(instance)
    free = np.flatnonzero(instance.pin < 0)
    leftmost, rightmost = _hulls(len(instance), lives)
    left, right = leftmost[free], rightmost[free]
    a, b = _pairs(instance)
    # A conflict by name ties its two buffers over all the time between them.
    left = np.append(left, np.minimum(leftmost[a], leftmost[b]))
    right = np.append(right, np.maximum(rightmost[a], rightmost[b]))
    change = np.zeros(lives.n_sections + 2, dtype=np.int64)
    np.add.at(change, left + 1, 1)
    np.subtract.at(change, right, 1)
    # Border s, between the sections s - 1 and s, is crossed by what starts before it and ends after it.
    is_wall = np.cumsum(change)[: lives.n_sections] == 0
    component = np.cumsum(is_wall)[leftmost[free]]
    order = np.argsort(component, kind="stable")
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    return [Component(instance, lives, free[group]) for group in np.split(order, cuts) if len(group)]


def _pairs(instance: Instance) -> tuple[I64, I64]:
    """Return the conflicts by name between free buffers, each pair once."""
    if len(instance.conflict) == 0:
        return instance.conflict, instance.conflict
    a = np.repeat(np.arange(len(instance)), np.diff(instance.conflict_first))
    b = np.asarray(instance.conflict)
    kept = (a < b) & (instance.pin[a] < 0) & (instance.pin[b] < 0)
    return a[kept], b[kept]


def _lives(instance: Instance) -> Lives:
    """Return the lifetimes of the free buffers; cliques stand for those that have none, after the live sets."""
    if instance.is_plain:
        return Lives(instance.lifetime_buffer, instance.start, instance.end, instance.n_live_sets)
    free = instance.pin[instance.lifetime_buffer] < 0
    rows = [np.stack((instance.lifetime_buffer, instance.start, instance.end))[:, free]]
    timeless = np.flatnonzero((np.diff(instance.first) == 0) & (instance.pin < 0))
    section = instance.n_live_sets
    for clique in cliques(instance, timeless):
        at = np.full(len(clique), section)
        rows.append(np.stack((np.array(clique), at, at + 1)))
        section += 1
    lifetime_buffer, start, end = np.concatenate(rows, axis=1)
    order = np.argsort(lifetime_buffer, kind="stable")
    return Lives(lifetime_buffer[order], start[order], end[order], section)


def cliques(instance: Instance, timeless: I64) -> list[list[int]]:
    """Cover the buffers by cliques of the conflicts by name among them, the largest buffers first."""
    among = set(timeless.tolist())
    near = {
        i: among.intersection(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
        for i in among
    }
    by_size = sorted(among, key=lambda i: (-int(instance.size[i]), i))
    covered: set[int] = set()
    found: list[list[int]] = []
    for i in by_size:
        if i in covered:
            continue
        clique, common = [i], near[i]
        for j in by_size:
            if j in common:
                clique.append(j)
                common = common & near[j]
        covered.update(clique)
        found.append(clique)
    return found


def _hulls(n: int, lives: Lives) -> tuple[I64, I64]:
    """Return the first section of each buffer, and the one after its last."""
    leftmost, rightmost = np.full(n, lives.n_sections), np.zeros(n, dtype=np.int64)
    np.minimum.at(leftmost, lives.lifetime_buffer, lives.start)
    np.maximum.at(rightmost, lives.lifetime_buffer, lives.end)
    return leftmost, rightmost
