"""Constraints of models that Vela compiled for an Ethos-U, whose commands address memory at fixed distances.

The inputs of an Ethos-U operator are its commands, its constants, `scratch`, `scratch_fast`, and the actual inputs. The
commands address inputs and outputs relative to the start of `scratch`. Tensors that the file's plan puts into `scratch`
therefore keep their distance to it; where they share bytes, Vela knows their lifetimes. `scratch_fast` is the same
memory as `scratch` if it is the same tensor, or has the same offset and bytes; otherwise it is a second memory. Source:
ethos-u-vela 5.2.0, ethosu/vela/npu_serialisation.py and tflite_writer.py; tensorflow/tflite-micro 90b983c2b,
tensorflow/lite/micro/kernels/ethos_u/ethosu.cc.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Pool, Problem, replace_fields
from memplan.planner.model.rows import Buffer, Relative
from memplan.runtimes.tflite.model import Model, Operator

OPERATOR = "ethos-u"
"""The name of the custom operator into which Vela combines the operators that run on an Ethos-U."""
POOLS = ("arena", "scratch_fast")
"""The names of the pools if a model uses two memories: for most tensors, and for `scratch_fast`."""
_SCRATCH, _FAST = 2, 3


def add_regions(model: Model, imported: ImportedProblem) -> ImportedProblem:
    """Return an imported problem with the fixed distances and the pools that Vela's commands assume.

    A problem of a model without Ethos-U operators, or without offsets for its tensors, is returned unchanged.
    """
    offsets = model.offline_offsets
    operators = [operator for operator in model.subgraphs[0].operators if operator.name == OPERATOR]
    if not operators or offsets is None:
        return imported
    scratch, fast = _scratch_tensors(model, operators, offsets)
    places = {f"main/{tensor.id}": at for tensor, at in zip(model.tensors, offsets, strict=True) if at >= 0}
    apart = frozenset(f"main/{model.tensors[k].id}" for k in fast)
    problem = imported.problem
    rows = _fix_distances([*problem.buffers], [f"main/{model.tensors[k].id}" for k in scratch], places, apart)
    pools = problem.pools
    if apart:
        of = {False: POOLS[:1], True: POOLS[1:]}
        rows = [row if row.alias_of else row.model_copy(update={"pools": of[row.id in apart]}) for row in rows]
        pools = tuple(Pool(name=name) for name in POOLS)
    larger = replace_fields(problem, buffers=BufferTable.from_rows(rows), pools=pools)
    inside = tuple(row.id for row in rows if row.relative is not None)
    message = "a graph of operations counts buffers in Ethos-U's scratch, or in another memory, beside it"
    areas = (Finding("ethos-u-areas", message, inside),) if inside or apart else ()
    return replace(imported, source=larger, warnings=imported.warnings + areas, **_vela_plan_fields(imported, larger))


def _scratch_tensors(
    model: Model, operators: Sequence[Operator], offsets: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return two lists of Ethos-U working tensors, as indices: those in the arena, and those in a second memory."""
    main = model.subgraphs[0].tensors
    scratch, fast = dict[int, None](), dict[int, None]()
    for operator in operators:
        areas = [k if k >= 0 and not main[k].is_constant else None for k in operator.inputs[: _FAST + 1]]
        first, second = (areas[k] if len(areas) > k else None for k in (_SCRATCH, _FAST))
        if first is not None:
            scratch[first] = None
        if second is not None and second != first:
            is_one = first is not None and (main[first].shape, offsets[first]) == (main[second].shape, offsets[second])
            (scratch if is_one else fast)[second] = None
    return [*scratch], [k for k in fast if k not in scratch]


def _fix_distances(
    rows: list[Buffer], scratch: Sequence[str], places: dict[str, int], apart: frozenset[str]
) -> list[Buffer]:
    """Return all buffers, with a fixed distance to a tensor in `scratch` for each buffer that lies inside it.

    The distance is fixed only if both are alive together. `places` maps buffers to offsets in the file's plan. Buffers
    in `apart` are in the second memory and stay unchanged.
    """
    index = {row.id: i for i, row in enumerate(rows)}
    done = {index[name] for name in apart if name in index}
    for name in scratch:
        if name not in places or name not in index or rows[index[name]].size == 0:
            continue
        area, at = rows[index[name]], places[name]
        done.add(index[name])
        for i, row in enumerate(rows):
            distance = places.get(str(row.id), -1) - at
            is_in_it = row.id in places and distance < area.size and -distance < row.size
            if i not in done and is_in_it and row.size and row.alias_of is None and _are_alive_together(row, area):
                rows[i] = row.model_copy(update={"relative": Relative(to=area.id, offset=distance)})
                done.add(i)
    return rows


def _are_alive_together(one: Buffer, other: Buffer) -> bool:
    return any(a < d and c < b for a, b in one.intervals for c, d in other.intervals)


def _vela_plan_fields(imported: ImportedProblem, larger: Problem) -> dict[str, Any]:
    """Return the fields `own_plan` and `own_peak` (Vela's plan and peak) for the problem `larger` with pools."""
    plan = imported.own_plan
    if plan is None:
        return {}
    offsets = {row.id: row.offset for row in plan.placements}
    own_plan = plan_of_offsets(larger, offsets)
    ends = dict.fromkeys((pool.name for pool in larger.pools), 0)
    for row in own_plan.placements if own_plan is not None else ():
        ends[row.pool] = max(ends[row.pool], row.offset + int(larger.buffers.size[larger.index[row.id]]))
    return {"own_plan": own_plan, "own_peak": sum(ends.values())}
