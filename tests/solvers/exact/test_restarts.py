from __future__ import annotations

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.solvers.exact.components import split
from memplan.solvers.exact.restarts import (
    ABOVE,
    ABOVE_WIDE,
    AT_BOUND,
    CLEAN_ROUNDS,
    DIVE,
    DIVES,
    EARLY_NODES,
    EARLY_SHARE,
    LATE_SHARE,
    NOGOOD_BITS,
    PATIENCE,
    ROUNDS_BEFORE_DIVES,
    SHAKEN_DIVE,
    SHAKING,
    RestartSchedule,
    luby,
)
from memplan.solvers.kernels.exact.search import FOUND
from tests.support.tight_problems import full_load

CEILING, BOUND = 2000, 1000


def new_schedule(seed: int = 0) -> RestartSchedule:
    (component,) = split(compile_problem(full_load(1, n=30, live=6)))
    return RestartSchedule(component, np.random.default_rng(seed))


def test_the_first_round_of_a_line_from_nothing_finds_a_placement_at_the_ceiling() -> None:
    schedule = new_schedule()
    assert schedule.kind() == ABOVE
    limit, fraction = schedule.begin(ABOVE)
    capacity = schedule.capacity(ABOVE, fraction, BOUND, CEILING)
    assert capacity == CEILING
    outcome, _, offset = schedule.run(ABOVE, 0, capacity, limit, np.zeros(1, dtype=np.int64))
    assert outcome == FOUND
    assert (offset + schedule.component.sections.size).max() <= CEILING


def test_climbers_do_not_all_begin_with_the_same_orders() -> None:
    schedule, other = new_schedule(), new_schedule()
    other.is_first = False
    first = schedule.rank(AT_BOUND, 0)
    ranks = [other.rank(AT_BOUND, 0) for _ in range(10)]
    assert any((rank != first).any() for rank in ranks)
    assert all(sorted(rank) == list(range(len(first))) for rank in (first, *ranks))


def test_a_schedule_has_room_for_nogoods_as_it_needs_it_and_no_more_than_it_may_have() -> None:
    schedule, flag = new_schedule(), np.zeros(1, dtype=np.int64)
    rooms = []
    for nodes in (10, 1000, 10**9):
        schedule.nodes = nodes
        schedule.run(AT_BOUND, 0, BOUND, 1, flag)
        rooms.append(len(schedule.nogoods))
    assert rooms == [64, 4096, 1 << NOGOOD_BITS]


def test_a_round_asks_for_the_bound_or_for_less_than_the_lines_peak() -> None:
    schedule = new_schedule()
    schedule.start_descent(np.zeros(len(schedule.component.buffers), dtype=np.int64), 1100)
    assert schedule.capacity(AT_BOUND, 0.9, BOUND, CEILING) == BOUND
    for kind in (ABOVE, ABOVE_WIDE):
        asked = [schedule.capacity(kind, fraction, BOUND, CEILING) for fraction in (0.4, 0.7, 1.0)]
        assert asked == [1040, 1070, 1099]


def test_half_of_the_early_rounds_ask_for_the_bound_and_fewer_later() -> None:
    schedule = new_schedule()
    schedule.start_descent(np.zeros(len(schedule.component.buffers), dtype=np.int64), 1100)
    shares = []
    for schedule.nodes in (0, 10**9):
        kinds = []
        schedule.dive_nodes = schedule.nodes  # so that none is due
        for _ in range(400):
            kinds.append(schedule.kind())
            schedule.rounds[kinds[-1]] += 1
        assert set(kinds) == {AT_BOUND, ABOVE, ABOVE_WIDE}
        shares.append(kinds.count(AT_BOUND))
    assert 195 <= shares[0] <= 205
    assert 95 <= shares[1] <= 105


def test_dives_take_a_larger_share_of_the_first_nodes_and_none_once_something_is_ruled_out() -> None:
    schedule, limit = new_schedule(), EARLY_NODES * len(new_schedule().component.buffers)
    schedule.rounds[AT_BOUND] = ROUNDS_BEFORE_DIVES
    at_most = []
    for schedule.nodes in (limit, 2 * limit):
        schedule.dive_nodes = 0
        while schedule.kind() in DIVES:
            schedule.dive_nodes += 1
        at_most.append(schedule.dive_nodes / limit)
    assert np.allclose(at_most, [EARLY_SHARE, EARLY_SHARE + LATE_SHARE], atol=2 / limit)
    schedule.dive_nodes, schedule.is_proving = 0, True
    assert schedule.kind() not in DIVES


def test_each_run_of_a_dive_begins_with_fresh_weights_which_only_shaking_makes_uneven() -> None:
    schedule, flag = new_schedule(), np.zeros(1, dtype=np.int64)
    for kind in (DIVE, SHAKEN_DIVE):
        schedule.weights[kind][:] = 100.0
        schedule.run(kind, 0, BOUND, 1, flag)  # a search of one node weighs nothing
        assert np.abs(schedule.weights[kind] - 1).max() <= SHAKING
        assert (schedule.weights[kind] == 1).all() == (kind == DIVE)


def test_learnt_dives_mostly_take_the_order_and_the_end_of_time_that_leave_least_unplaced() -> None:
    schedule = new_schedule()
    for choices, left in zip(schedule.learnt, ((0.6, 0.6, 0.3, 0.6), (0.6, 0.3)), strict=True):
        choices[0], choices[1] = 10, 10 * np.array(left)
    drawn = [schedule._promising() for _ in range(200)]
    assert drawn.count((2, True)) > 190


def test_a_line_ends_when_it_takes_longer_for_the_next_placement_than_for_all_so_far() -> None:
    schedule = new_schedule()
    patience = PATIENCE * len(schedule.component.buffers)
    placement = np.zeros(len(schedule.component.buffers), dtype=np.int64)
    schedule.start_descent(placement, 1100)
    schedule.nodes = 3 * patience
    schedule.follow(ABOVE, placement, 1050)
    ends = []
    for schedule.nodes in (4 * patience, 6 * patience, 6 * patience + 1):
        ends.append(schedule.is_stalled)
    assert ends == [False, False, True]
    schedule.start_descent(None, CEILING)
    assert not schedule.is_stalled


def test_once_there_is_something_to_prove_runs_are_long_and_a_line_never_ends() -> None:
    schedule = new_schedule()
    schedule.start_descent(np.zeros(len(schedule.component.buffers), dtype=np.int64), 1100)
    first, _ = schedule.begin(ABOVE)
    schedule.start_descent(schedule.offset, 1100)
    schedule.rounds[ABOVE] = schedule.rounds[AT_BOUND] = CLEAN_ROUNDS
    short, _ = schedule.begin(ABOVE)
    assert short == 2 * first
    at_bound, _ = schedule.begin(AT_BOUND)
    schedule.start_descent(schedule.offset, 1100)
    schedule.is_proving, schedule.nodes = True, 10**9
    assert schedule.begin(ABOVE)[0] == 4 * short
    assert schedule.begin(AT_BOUND)[0] == at_bound
    assert not schedule.is_stalled


def test_luby_numbers() -> None:
    assert [luby(k) for k in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
