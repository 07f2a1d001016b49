"""Small graphs of tiled operations, drawn, and the best schedule of each, found by trying all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

from memplan.capabilities.schedule.model.contest import ScheduleProblem
from memplan.capabilities.schedule.model.figures import ScheduleStep
from memplan.capabilities.schedule.model.graph import Alternative, TileGraph, TileOperation
from memplan.capabilities.schedule.model.simulator import simulate_step
from memplan.capabilities.schedule.model.target import Target

SIDES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)


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
