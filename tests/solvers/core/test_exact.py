from __future__ import annotations

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem
from memplan.solvers.core.exact import EXHAUSTED, FOUND, FULL, LEAST, NODES, STOPPED, ExactRun, State, search
from memplan.solvers.core.sections import Sections
from memplan.solvers.core.tables import Reference
from memplan.solvers.exact.components import split
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import pins_collide
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.tight_problems import FEATURES, full_load, tight_problem

NO_NOGOODS = np.zeros((0, 4), dtype=np.int64)
MANY_NODES = 10**6


def new_nogoods() -> I64:
    return np.zeros((1 << 8, 4), dtype=np.int64)  # few, so that rows are overwritten


def ask(
    sections: Sections,
    capacity: int,
    nogoods: I64 = NO_NOGOODS,
    is_thorough: bool = False,
    node_limit: int = MANY_NODES,
    state: State | None = None,
    flag: int = 0,
    guide: I64 | None = None,
    from_right: bool = False,
) -> tuple[int, int, int, I64]:
    n, k = len(sections.size), len(sections.spare)
    run = ExactRun(
        nogoods=nogoods,
        rank=np.argsort(np.argsort(-sections.size, kind="stable"), kind="stable"),
        guide=np.full(n, -1) if guide is None else guide,
        weight=np.ones(k),
        capacity=capacity,
        skip_weight=1.0,
        from_right=from_right,
        node_limit=node_limit,
        is_thorough=is_thorough,
        flag=np.array([flag]),
        offset=np.full(n, -1),
        answer=np.zeros(2, dtype=np.int64),
    )
    state = State.for_sections(sections) if state is None else state
    outcome = search(Reference(sections), Reference(state), Reference(run))
    return outcome, int(run.answer[NODES]), int(run.answer[LEAST]), run.offset


def least_capacity(instance: Instance, *, nogoods: I64, is_thorough: bool) -> int:
    """The least capacity that all parts fit in, climbing from 0 by what the kernel says is needed."""
    least = 0
    for part in split(instance):
        while True:
            outcome, _, need, _ = ask(part.sections, least, nogoods, is_thorough)
            if outcome == FOUND:
                break
            assert outcome == EXHAUSTED
            assert need > least
            least = need
    return least


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
def test_the_kernel_finds_a_placement_where_there_is_one_and_only_there(feature: str) -> None:
    for seed in seeds(20):
        problem = tight_problem(seed, feature)
        instance, least = compile_problem(problem), oracle.best_score(problem)
        if pins_collide(instance, Packer(instance, np.zeros(1, dtype=np.int64))) or least is None:
            assert least is None
            continue
        pinned = int((instance.pin + instance.size)[instance.pin >= 0].max(initial=0))
        end = int(least[0]) // instance.unit
        for capacity in range(max(pinned, end - 3), end + 2):
            runs = [ask(part.sections, capacity) for part in split(instance)]
            assert all(outcome == FOUND for outcome, *_ in runs) == (capacity >= end), (seed, capacity)
            assert all(capacity < need <= end for outcome, _, need, _ in runs if outcome == EXHAUSTED), (seed, capacity)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(8))
def test_nogoods_and_a_thorough_search_change_no_optimum(seed: int) -> None:
    instance = compile_problem(full_load(seed, n=18))
    optima = {
        least_capacity(instance, nogoods=nogoods, is_thorough=is_thorough)
        for nogoods in (NO_NOGOODS, new_nogoods())
        for is_thorough in (False, True)
        if len(split(instance)) == 1 or len(nogoods) == 0
    }
    assert len(optima) == 1


def test_nogoods_save_nodes() -> None:
    (part,) = split(compile_problem(full_load(3, n=20)))
    sections = part.sections
    load = int(sections.size[sections.member[: sections.member_first[1]]].sum())
    _, without, _, _ = ask(sections, load)
    _, with_them, _, _ = ask(sections, load, new_nogoods())
    assert with_them < without


def test_offsets_that_are_found_keep_neighbours_apart_and_under_the_capacity() -> None:
    for seed in range(20):
        (part, *_) = split(compile_problem(full_load(seed, n=20)))
        sections = part.sections
        capacity = int(sections.size.sum())
        outcome, _, _, offset = ask(sections, capacity)
        assert outcome == FOUND
        end = offset + sections.size
        assert offset.min() == 0
        assert end.max() <= capacity
        for i in range(len(end)):
            near = sections.neighbour[sections.neighbour_first[i] : sections.neighbour_first[i + 1]]
            assert ((end[near] <= offset[i]) | (end[i] <= offset[near])).all()


def test_a_guide_comes_before_the_order() -> None:
    rows = [{"id": k, "start": 0, "end": 2, "size": size} for k, size in enumerate((3, 2, 4))]
    (part,) = split(compile_problem(Problem.model_validate({"buffers": rows})))
    assert ask(part.sections, 9)[-1].tolist() == [4, 7, 0]
    for guide in ([0, 3, 5], [2, 0, 5], [6, 0, 2]):
        assert ask(part.sections, 9, guide=np.array(guide))[-1].tolist() == guide


def test_a_raised_flag_stops_the_kernel() -> None:
    (part,) = split(compile_problem(full_load(1, n=30, live=6)))
    outcome, nodes, _, _ = ask(part.sections, 1000, flag=1)
    assert outcome == STOPPED
    assert nodes <= 256


def test_the_node_limit_stops_the_kernel() -> None:
    (part,) = split(compile_problem(full_load(1, n=30, live=6)))
    assert ask(part.sections, 1000, node_limit=50)[:2] == (STOPPED, 50)


@pytest.mark.parametrize("name", ["log", "frame", "option"])
def test_a_state_with_too_little_room_is_full_and_one_with_more_gives_the_same_answer(name: str) -> None:
    (part,) = split(compile_problem(full_load(2, n=24)))
    state = State.for_sections(part.sections)
    small = state._replace(**{name: getattr(state, name)[:10].copy()})
    assert ask(part.sections, 1000, state=small)[0] == FULL
    assert ask(part.sections, 1000, state=state)[:3] == ask(part.sections, 1000)[:3]
