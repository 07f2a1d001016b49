"""The best plan so far as a start: values for the columns of a program."""

from __future__ import annotations

import numpy as np

from solvers.costs import Costs
from solvers.mip.boxes import Boxes
from solvers.mip.draft import F64, Program
from solvers.search import Assignment


def start_of(program: Program, boxes: Boxes, best: Assignment | None) -> F64 | None:
    """Return the values of a program's columns that say the same as the plan, or None where there is no plan.

    The plan is turned so that it keeps to the symmetry that the program has fixed; else an engine would reject it.
    """
    if best is None:
        return None
    pool, offset = _turned(boxes, best)
    return np.array([_value(program, boxes, pool, offset, at) for at in range(len(program.keys))])


def _turned(boxes: Boxes, best: Assignment) -> tuple[list[int], list[int]]:
    """Mirror the plan and exchange twins where the program wants it so."""
    pool, offset = best.pool.tolist(), best.offset.tolist()
    pair = boxes.mirror()
    if pair is not None and offset[pair[0]] > offset[pair[1]]:
        peak = int(best.score[-1])
        offset = [peak - at - boxes.all[b].size for b, at in enumerate(offset)]
    for members in _families(boxes):
        places = sorted((pool[b], offset[b]) for b in members)
        for b, (q, at) in zip(members, places, strict=True):
            pool[b], offset[b] = q, at
    return pool, offset


def _families(boxes: Boxes) -> list[list[int]]:
    """Return the groups of buffers that can be exchanged, each in ascending order."""
    family: dict[int, list[int]] = {}
    for a, b in boxes.twins():
        family[b] = family.setdefault(a, [a])
        family[b].append(b)
    return list({id(members): members for members in family.values()}.values())


def _value(program: Program, boxes: Boxes, pool: list[int], offset: list[int], at: int) -> float:
    """Return one column's value."""
    match program.keys[at]:
        case ("offset", int(b)):
            return _offset(boxes, offset, b) / program.scale
        case ("end", int(b)):
            return (_offset(boxes, offset, b) + boxes.all[b].size) / program.scale
        case ("peak", int(q)):
            ends = [offset[b] + boxes.all[b].size for b in range(boxes.n) if pool[b] == q]
            return max(max(ends, default=0) / program.scale, float(program.lower[at]))
        case ("in", int(q), int(b)):
            return float(pool[b] == q)
        case ("below", int(a), int(b)):
            together = _memory(boxes, pool, a) == _memory(boxes, pool, b)
            return float(together and _offset(boxes, offset, a) < _offset(boxes, offset, b))
        case ("multiple", int(q), int(b)):
            low, _ = boxes.all[b].span[q]
            return float((offset[b] - low) // boxes.all[b].step[q]) if pool[b] == q else 0.0
        case ("cost",):
            extra = Costs.of(boxes.instance).extra
            return sum(extra[b][q] for b, q in enumerate(pool)) / program.cost_scale
    raise AssertionError(program.keys[at])


def _memory(boxes: Boxes, pool: list[int], b: int) -> int:
    return pool[b] if b < boxes.n else next(iter(boxes.all[b].span))


def _offset(boxes: Boxes, offset: list[int], b: int) -> int:
    return offset[b] if b < boxes.n else boxes.all[b].lowest
