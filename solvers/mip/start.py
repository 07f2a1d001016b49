"""Warm starts: the best plan so far, converted to the column values of an engine's program."""

import numpy as np

from memplan.planner.instance.objective import cost_mask
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, IntegerProgram

_SLACK = 1e-9


def start_of(program: IntegerProgram, boxes: Boxes, pool: I64, offset: I64) -> F64:
    """Return the values of a program's columns for a plan, as a warm start of an engine.

    The plan is mirrored and permuted to match the symmetry that the program fixes, because an engine would reject it
    otherwise.
    """
    return _column_values(program, boxes, *_apply_symmetry(program, boxes, pool.tolist(), offset.tolist()))


def is_feasible_start(program: IntegerProgram, boxes: Boxes, pool: I64, offset: I64) -> bool:
    """Return True if a plan, without changes for symmetry, satisfies all rows and limits of the program."""
    values = _column_values(program, boxes, pool.tolist(), offset.tolist())
    sums = np.append(0.0, np.cumsum(program.value * values[program.index]))[program.first]
    is_in = (program.lower <= values) & (values <= program.upper)
    rows = np.diff(sums)
    slack = _SLACK * max(1.0, float(np.abs(sums).max()))
    return bool(is_in.all() and (rows >= program.row_lower - slack).all() and (rows <= program.row_upper + slack).all())


def _column_values(program: IntegerProgram, boxes: Boxes, pool: list[int], offset: list[int]) -> F64:
    return np.array([_column_value(program, boxes, pool, offset, at) for at in range(len(program.keys))])


def _apply_symmetry(
    program: IntegerProgram, boxes: Boxes, pool: list[int], offset: list[int]
) -> tuple[list[int], list[int]]:
    """Return the (pool, offset) lists of a plan, changed to match the symmetry that the program fixes.

    The plan may be mirrored, and interchangeable buffers may be swapped.
    """
    pair = boxes.mirror()
    if pair is not None and program.lower[program.at["below", *pair]] == 1 and offset[pair[0]] > offset[pair[1]]:
        peak = max(at + boxes.all[b].size for b, at in enumerate(offset))
        offset = [peak - at - boxes.all[b].size for b, at in enumerate(offset)]
    for members in _twin_groups(boxes):
        places = sorted((pool[b], offset[b]) for b in members)
        for b, (q, at) in zip(members, places, strict=True):
            pool[b], offset[b] = q, at
    return pool, offset


def _twin_groups(boxes: Boxes) -> list[list[int]]:
    family: dict[int, list[int]] = {}
    for a, b in boxes.twins():
        family[b] = family.setdefault(a, [a])
        family[b].append(b)
    return list({id(members): members for members in family.values()}.values())


def _column_value(program: IntegerProgram, boxes: Boxes, pool: list[int], offset: list[int], at: int) -> float:
    """Return the value that column `at` of a program has for a plan."""
    match program.keys[at]:
        case ("offset", int(b)):
            return _box_offset(boxes, offset, b) / program.scale
        case ("end", int(b)):
            return (_box_offset(boxes, offset, b) + boxes.all[b].size) / program.scale
        case ("peak", int(q)):
            ends = [offset[b] + boxes.all[b].size for b in range(boxes.n) if pool[b] == q]
            return max(max(ends, default=0) / program.scale, float(program.lower[at]))
        case ("height", int(q), int(t)):
            return _height(program, boxes, pool, offset, q, t)
        case ("over", int(q)):
            return sum(_height(program, boxes, pool, offset, q, t) for t in range(len(boxes.crowds)))
        case ("in", int(q), int(b)):
            return float(pool[b] == q)
        case ("below", int(a), int(b)):
            return float(_is_below(boxes, pool, offset, a, b))
        case ("shared", int(a), int(b)):
            return float(pool[a] == pool[b] and offset[a] == offset[b])
        case ("multiple", int(q), int(b)):
            low, _ = boxes.all[b].span[q]
            return float((offset[b] - low) // boxes.all[b].step[q]) if pool[b] == q else 0.0
        case ("page", int(q), int(b)):
            shift, page = int(boxes.instance.page_shift[q, b]), int(boxes.instance.page[q, b])
            return float((offset[b] + shift) // page) if pool[b] == q else 0.0
        case ("above", int(k), int(q), int(b)):
            return float(pool[b] == q and offset[b] >= boxes.barred_ranges(q, b)[k][1])
        case ("bank", int(q), int(b)):
            return float(_touched_banks(boxes, offset, q, b)[0]) if pool[b] == q else 0.0
        case ("past", int(q), int(b)):
            return float(_touched_banks(boxes, offset, q, b)[1]) if pool[b] == q else float(program.upper[at])
        case ("parted", int(q), int(a), int(b)):
            is_parted = (
                pool[a] == pool[b] == q
                and _touched_banks(boxes, offset, q, a)[1] <= _touched_banks(boxes, offset, q, b)[0]
            )
            return float(is_parted)
        case ("apart", int(a), int(b)):
            return float(_box_offset(boxes, offset, a) + boxes.all[a].size <= _box_offset(boxes, offset, b))
        case ("paid", int(k), int(_), int(_)):
            return float(k in _costly_pairs(boxes, pool, offset))
        case ("cost",):
            return (
                Costs.from_instance(boxes.instance).plan_steps(pool, _costly_pairs(boxes, pool, offset))
                / program.cost_scale
            )
    raise AssertionError(program.keys[at])


def _height(program: IntegerProgram, boxes: Boxes, pool: list[int], offset: list[int], q: int, t: int) -> float:
    ends = [offset[b] + boxes.all[b].size for b in boxes.crowds[t] if pool[b] == q]
    return max(0.0, max(ends, default=0) / program.scale - float(program.lower[program.at["peak", q]]))


def _is_below(boxes: Boxes, pool: list[int], offset: list[int], a: int, b: int) -> bool:
    end = _box_offset(boxes, offset, a) + boxes.all[a].size
    return _box_pool(boxes, pool, a) == _box_pool(boxes, pool, b) and end <= _box_offset(boxes, offset, b)


def _touched_banks(boxes: Boxes, offset: list[int], q: int, b: int) -> tuple[int, int]:
    pool, low = boxes.instance.pools[q], offset[b]
    last = low + boxes.all[b].size - 1
    return (low + pool.bank_shift) // pool.bank, (last + pool.bank_shift) // pool.bank + 1


def _costly_pairs(boxes: Boxes, pool: list[int], offset: list[int]) -> list[int]:
    return list(np.flatnonzero(cost_mask(boxes.instance, column(pool), column(offset))).tolist())


def _box_pool(boxes: Boxes, pool: list[int], b: int) -> int:
    return pool[b] if b < boxes.n else next(iter(boxes.all[b].span))


def _box_offset(boxes: Boxes, offset: list[int], b: int) -> int:
    return offset[b] if b < boxes.n else boxes.all[b].min_offset
