from __future__ import annotations

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.solvers.exact.components import split
from memplan.solvers.exact.restarts import ABOVE, ABOVE_WIDE, AT_BOUND, PATIENCE, RestartSchedule, luby
from memplan.solvers.kernels.exact import FOUND
from tests.support.tight_problems import full_load

CEILING, BOUND = 2000, 1000


def new_ladder(seed: int = 0) -> RestartSchedule:
    (part,) = split(compile_problem(full_load(1, n=30, live=6)))
    return RestartSchedule(part, np.random.default_rng(seed))


def test_the_first_round_of_a_line_from_nothing_finds_a_placement_at_the_ceiling() -> None:
    ladder = new_ladder()
    assert ladder.kind() == ABOVE
    limit, fraction = ladder.begin(ABOVE)
    capacity = ladder.capacity(ABOVE, fraction, BOUND, CEILING)
    assert capacity == CEILING
    outcome, _, offset = ladder.run(ABOVE, 0, capacity, limit, np.zeros(1, dtype=np.int64))
    assert outcome == FOUND
    assert (offset + ladder.part.sections.size).max() <= CEILING


def test_climbers_do_not_all_begin_with_the_same_orders() -> None:
    ladder, other = new_ladder(), new_ladder()
    other.is_first = False
    assert (ladder.rank(AT_BOUND, 0) == ladder.orders[0]).all()
    ranks = [other.rank(AT_BOUND, 0) for _ in range(10)]
    assert any((rank != ladder.orders[0]).any() for rank in ranks)
    assert all(sorted(rank) == sorted(ladder.orders[0]) for rank in ranks)


def test_a_round_asks_for_the_bound_or_for_less_than_the_lines_peak() -> None:
    ladder = new_ladder()
    ladder.start_line(np.zeros(len(ladder.part.buffers), dtype=np.int64), 1100)
    assert ladder.capacity(AT_BOUND, 0.9, BOUND, CEILING) == BOUND
    for kind in (ABOVE, ABOVE_WIDE):
        asked = [ladder.capacity(kind, fraction, BOUND, CEILING) for fraction in (0.4, 0.7, 1.0)]
        assert asked == [1040, 1070, 1099]


def test_half_of_the_early_rounds_ask_for_the_bound_and_fewer_later() -> None:
    ladder = new_ladder()
    ladder.start_line(np.zeros(len(ladder.part.buffers), dtype=np.int64), 1100)
    shares = []
    for ladder.nodes in (0, 10**9):
        kinds = []
        for _ in range(400):
            kinds.append(ladder.kind())
            ladder.rounds[kinds[-1]] += 1
        assert set(kinds) == {AT_BOUND, ABOVE, ABOVE_WIDE}
        shares.append(kinds.count(AT_BOUND))
    assert 195 <= shares[0] <= 205
    assert 95 <= shares[1] <= 105


def test_a_line_ends_when_it_takes_longer_for_the_next_placement_than_for_all_so_far() -> None:
    ladder = new_ladder()
    patience = PATIENCE * len(ladder.part.buffers)
    placement = np.zeros(len(ladder.part.buffers), dtype=np.int64)
    ladder.start_line(placement, 1100)
    ladder.nodes = 3 * patience
    ladder.follow(ABOVE, placement, 1050)
    ends = []
    for ladder.nodes in (4 * patience, 6 * patience, 6 * patience + 1):
        ends.append(ladder.is_stalled)
    assert ends == [False, False, True]
    ladder.start_line(None, CEILING)
    assert not ladder.is_stalled


def test_once_there_is_something_to_prove_runs_are_long_and_a_line_never_ends() -> None:
    ladder = new_ladder()
    ladder.start_line(np.zeros(len(ladder.part.buffers), dtype=np.int64), 1100)
    short, _ = ladder.begin(ABOVE)
    at_bound, _ = ladder.begin(AT_BOUND)
    ladder.start_line(ladder.offset, 1100)
    ladder.is_proving, ladder.nodes = True, 10**9
    assert ladder.begin(ABOVE)[0] == 4 * short
    assert ladder.begin(AT_BOUND)[0] == at_bound
    assert not ladder.is_stalled


def test_luby_numbers() -> None:
    assert [luby(k) for k in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
