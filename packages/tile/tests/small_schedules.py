"""Small graphs of tiled operations, drawn, and the best schedule of each, found by trying all of them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from itertools import combinations, product

import numpy as np
from memplan_tile.contest import ScheduleProblem
from memplan_tile.graph import Alternative, ScheduleStep, TileGraph, TileOperation
from memplan_tile.simulator import simulate_step
from memplan_tile.step_run import StepRun

from memplan.capabilities.schedule.form import Objective, Target

SIDES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)

DEPTH = int(os.environ.get("MEMPLAN_TESTS_DEPTH", "1"))
"""What the numbers of cases of the gate are multiplied by, before a release."""


def seeds(count: int, first: int = 0) -> range:
    """Return the seeds of a test that draws so many cases in the gate; it is marked `drawn`."""
    return range(first, first + count * DEPTH)


def drawn_schedule(seed: int, most: int = 6, sides: tuple[int, ...] = SIDES) -> ScheduleProblem:
    """Return a graph of up to so many operations on small tensors, and a small machine."""
    rng = random.Random(seed)
    pool = [rng.choice(sides) for _ in range(2)]
    shapes: list[tuple[int, int]] = []

    def tensor(shape: tuple[int, int], is_new: bool) -> int:
        known = [] if is_new else [t for t, other in enumerate(shapes) if other == shape]
        if known and rng.random() < 0.8:
            return rng.choice(known)
        shapes.append(shape)
        return len(shapes) - 1

    inputs, outputs, kinds = [], [], []
    for _ in range(rng.randint(1, most)):
        if shapes and rng.random() < 0.8:
            first = rng.randrange(len(shapes))
        else:
            first = tensor((rng.choice(pool), rng.choice(pool)), is_new=True)
        height, width = shapes[first]
        if rng.random() < 0.5:
            second = tensor((width, rng.choice(pool)), is_new=False)
            kinds.append("MatMul")
            inputs.append([first, second])
            outputs.append([tensor((height, shapes[second][1]), is_new=True)])
        else:
            others = [tensor((height, width), is_new=False) for _ in range(rng.randint(0, 1))]
            kinds.append("Pointwise")
            inputs.append([first, *others])
            outputs.append([tensor((height, width), is_new=True)])
    fields = {
        "widths": [width for _, width in shapes],
        "heights": [height for height, _ in shapes],
        "inputs": inputs,
        "outputs": outputs,
        "base_costs": [rng.randint(1, 40) for _ in kinds],
        "op_types": kinds,
        "fast_memory_capacity": rng.choice([40, 100, 300, 1000]),
        "slow_memory_bandwidth": rng.choice([1, 2, 5]),
        "native_granularity": [rng.choice([4, 8]), rng.choice([4, 8])],
    }
    return ScheduleProblem.model_validate(fields)


def with_alternatives(graph: TileGraph, seed: int) -> TileGraph:
    """Return a graph some of whose operations may be computed in another way, or in two others."""
    rng = random.Random(seed)

    def way(one: TileOperation) -> Alternative:
        native = rng.choice([None, (2, 4), (4, 2), (8, 8)])
        in_place = not one.is_product and rng.random() < 0.4
        return Alternative(rng.randint(1, 40), native, rng.choice([0, 0, 8, 30]), in_place)

    others = [tuple(way(one) for _ in range(rng.choice([0, 1, 1, 2]))) for one in graph.operations]
    changed = [replace(one, alternatives=ways) for one, ways in zip(graph.operations, others, strict=True)]
    return replace(graph, operations=tuple(changed))


def drawn_target(problem: ScheduleProblem, seed: int, rolls: bool = False) -> Target:
    """Return the machine of a problem, for some seeds with two copies, an alignment, a latency and bursts."""
    rng = random.Random(seed)
    fields = problem.target.model_dump() | {"rolls": rolls}
    if rng.random() < 0.5:
        fields["engine"]["copies"] = 2
        fields["memories"][0]["alignment"] = rng.choice([1, 4, 64])
        fields["links"][0]["latency"] = rng.choice([0, 3])
        fields["links"][0]["burst"] = rng.choice([1, 7, 64])
    if rng.random() < 0.5:
        fields["residency"] = "several steps"
    return Target.model_validate(fields)


def drawn_sharing(seed: int) -> ScheduleProblem:
    """Return one or two operations in which a tensor is read in several regions, on a machine that is small."""
    rng = random.Random(seed)
    side, kind = rng.choice([2, 3, 4, 6]), rng.randrange(4)
    rows: list[tuple[str, list[int]]] = [
        [("MatMul", [0, 0])],
        [("Pointwise", [0]), ("MatMul", rng.choice([[0, 1], [1, 0], [1, 1]]))],
        [("MatMul", [0, 0]), ("Pointwise", rng.choice([[0, 1], [1, 0], [1]]))],
        [("MatMul", [0, 0]), ("MatMul", rng.choice([[0, 1], [1, 0], [1, 1]]))],
    ][kind]
    sides = [side] * (len(rows) + 1)
    return ScheduleProblem.model_validate(
        {
            "widths": sides,
            "heights": sides,
            "inputs": [reads for _, reads in rows],
            "outputs": [[k + 1] for k in range(len(rows))],
            "base_costs": [rng.choice([1, 5, 100]) for _ in rows],
            "op_types": [word for word, _ in rows],
            "fast_memory_capacity": rng.randint(3, 3 * side * side),
            "slow_memory_bandwidth": rng.choice([1, 2]),
            "native_granularity": [rng.choice([2, 4, 8]), rng.choice([2, 4, 8])],
        }
    )


def least_of_all(graph: TileGraph, target: Target, objective: Objective, *, is_once: bool = False) -> float:
    """Return the least time, traffic or peak of all schedules, whose slices of the same bytes lie in one slot.

    Operations may run again, and steps may leave what nobody reads; not so where each runs `is_once`. The least peak is
    that of the schedule whose largest step is the smallest.
    """
    start = frozenset[int](), frozenset(graph.inputs), frozenset[int]()
    best, queue, known = {start: 0.0}, [(0.0, 0, start)], dict[object, float | None]()
    sets = [
        frozenset(some)
        for k in range(len(graph.operations))
        for some in combinations(range(len(graph.operations)), k + 1)
    ]
    while queue:
        value, _, state = heappop(queue)
        done, stored, resident = state
        if value > best[state]:
            continue
        if stored.issuperset(graph.outputs) and not (is_once and resident):
            return value
        for group in sets:
            made = {graph.operations[o].output for o in group}
            read = {t for o in group for t in graph.operations[o].inputs}
            if (is_once and group & done) or not read - made <= stored | resident:
                continue
            for ways in product(("", "write", "retain"), repeat=len(made)):
                chosen = dict(zip(sorted(made), ways, strict=True))
                written, retained = (
                    frozenset(t for t, way in chosen.items() if way == word) for word in ("write", "retain")
                )
                after = done | group if is_once else done
                later = {t for o in set(range(len(graph.operations))) - after for t in graph.operations[o].inputs}
                if not made - read <= written | retained or written & stored or (is_once and not retained <= later):
                    continue
                key = group, resident, written, retained
                if key not in known:
                    known[key] = _shared_step(graph, target, objective, key)
                cost, following = known[key], (after, stored | written, retained)
                if cost is None:
                    continue
                total = max(value, cost) if objective == "peak" else value + cost
                if total < best.get(following, float("inf")):
                    best[following] = total
                    heappush(queue, (total, len(known) + len(queue), following))
    return float("inf")


def _shared_step(
    graph: TileGraph,
    target: Target,
    objective: Objective,
    step: tuple[frozenset[int], frozenset[int], frozenset[int], frozenset[int]],
) -> float | None:
    """Return the least value of a step in all tilings, where slices of the same bytes lie in one slot."""
    group, resident, written, retained = step
    tip = graph.tensors[min(written | retained)]
    reduction = max((graph.reduction(o) for o in group if graph.operations[o].is_product), default=1)
    engine, found = target.engine, list[float]()
    sizes = _sizes(tip.width, engine.width), _sizes(tip.height, engine.height), _sizes(reduction, min(engine.native))
    for width, height, depth in product(*sizes):
        for is_by_rows in (True, False):
            order = _there_and_back(-(-tip.height // height), -(-tip.width // width), is_by_rows)
            tiled = ScheduleStep(tuple(sorted(group)), width, height, depth, order, tuple(sorted(retained)))
            run = StepRun(graph, target, tiled, resident, written)
            if any(run.violations()):
                continue
            figures = run.figures()
            slices = [(t, run._slices(region, t, np.array(order))) for t, region in run.outside]
            each = (
                (
                    {(t, *rows[:, k].tolist()) for t, rows in slices if rows[0, k] >= 0}
                    for k in range(slices[0][1].shape[1])
                )
                if slices
                else ()
            )
            most = max((sum((b - a) * (d - c) for _, a, b, c, d in some) for some in each), default=0)
            peak = most + sum(size for kind, _, size in figures.buffers if kind != "input")
            if peak <= target.capacity:
                found.append({"latency": figures.latency, "traffic": figures.traffic, "peak": peak}[objective])
    return min(found, default=None)


def least_latency(graph: TileGraph, target: Target) -> float | None:
    """Return the least time of all schedules in which each operation runs once, by the simulator alone.

    Steps are tried in every order; a tensor may be retained for the next step, or until its last reader where the
    target keeps tensors; tiles have sides of powers of two, or all of an axis.
    """
    best: dict[tuple[frozenset[int], frozenset[int]], float] = {}

    def rest(done: frozenset[int], resident: frozenset[int]) -> float:
        if len(done) == len(graph.operations):
            return 0.0
        key = done, resident
        if key not in best:
            found = float("inf")
            left = sorted(set(range(len(graph.operations))) - done)
            for size in range(1, len(left) + 1):
                for chosen in combinations(left, size):
                    group = frozenset(chosen)
                    if any(graph.predecessors[o] - group - done for o in group):
                        continue
                    kept = {t for t in resident if set(graph.readers[t]) - done - group}
                    if kept and not target.keeps:
                        continue
                    for retained in _retained(graph, group, done | group):
                        time = _step_time(graph, target, (group, resident, (*retained, *kept)))
                        if time is not None:
                            found = min(found, time + rest(done | group, frozenset((*retained, *kept))))
            best[key] = found
        return best[key]

    least = rest(frozenset(), frozenset())
    return None if least == float("inf") else least


def _retained(graph: TileGraph, group: frozenset[int], done: frozenset[int]) -> Iterator[tuple[int, ...]]:
    """Yield what a group may leave for the next step: tensors that are read later, and are no outputs of the graph."""
    made = [graph.operations[o].output for o in sorted(group)]
    wanted = [t for t in made if set(graph.readers.get(t, ())) - done]
    for size in range(len(wanted) + 1):
        yield from combinations(wanted, size)


def _step_time(
    graph: TileGraph, target: Target, step: tuple[frozenset[int], frozenset[int], tuple[int, ...]]
) -> float | None:
    """Return the least time of one step in all tilings; None where it is none.

    What others read, or nobody, is written unless it is retained.
    """
    group, resident, retained = step
    made = {graph.operations[o].output for o in group}
    written = frozenset(
        t for t in made - set(retained) if not set(graph.readers.get(t, ())) <= group or t in graph.outputs
    )
    tip = graph.tensors[min(written | made & set(retained))]
    reduction = max((graph.reduction(o) for o in group if graph.operations[o].is_product), default=1)
    engine, found = target.engine, []
    for width in _sizes(tip.width, engine.width):
        for height in _sizes(tip.height, engine.height):
            for depth in _sizes(reduction, min(engine.native)):
                for is_by_rows in (True, False):
                    order = _there_and_back(-(-tip.height // height), -(-tip.width // width), is_by_rows)
                    tile = ScheduleStep(tuple(sorted(group)), width, height, depth, order, retained)
                    for tiled in _kept_and_computed(graph, target, tile):
                        figures, wrong = simulate_step(graph, target, tiled, resident, written)
                        if figures is not None and not wrong:
                            found.append(figures.latency)
    return min(found, default=None)


def _kept_and_computed(graph: TileGraph, target: Target, step: ScheduleStep) -> Iterator[ScheduleStep]:
    """Yield a step with each way to compute its operations, and with each set of tensors that roll."""
    read = {t for o in step.operations for t in graph.operations[o].inputs}
    inner = sorted(read & {graph.operations[o].output for o in step.operations}) if target.rolls else []
    ways = list(product(*(range(len(graph.operations[o].ways)) for o in step.operations)))
    for size in range(len(inner) + 1):
        for rolls, chosen in product(combinations(inner, size), ways):
            yield replace(step, alternatives=chosen, rolls=rolls)


def _sizes(length: int, native: int) -> list[int]:
    most = min(length, native)
    return sorted({most} | {2**i for i in range(most.bit_length())})


def _there_and_back(rows: int, columns: int, is_by_rows: bool) -> tuple[int, ...]:
    places = product(range(rows), range(columns)) if is_by_rows else product(range(columns), range(rows))
    found = []
    for line, place in places:
        if is_by_rows:
            found.append(line * columns + (place if line % 2 == 0 else columns - 1 - place))
        else:
            found.append((place if line % 2 == 0 else rows - 1 - place) * columns + line)
    return tuple(found)
