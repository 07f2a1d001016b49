"""The reader of Cadence's memory configurations: the pools that it returns, and the errors that it raises."""

from __future__ import annotations

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.solvers.portfolio.solve import solve
from tests.support.dump_files import MEMORIES


def test_memories_are_read_as_pools_in_their_order() -> None:
    problem = read_model(MEMORIES).problem
    assert [(pool.name, pool.size, pool.alignment, pool.base_address) for pool in problem.pools] == [
        ("dram0", 1024, 64, 0x40000000),
        ("sysram", 65536, 16, 0x60000000),
    ]
    plan = solve(problem)
    assert {(row.id, row.pool) for row in plan.placements} == {("a", "dram0"), ("b", "sysram")}


def test_memories_without_names_and_alignments_get_defaults() -> None:
    problem = read_model(b'{"memory_sizes": [64, 128]}').problem
    assert [(pool.name, pool.size, pool.alignment, pool.base_address) for pool in problem.pools] == [
        ("memory 1", 64, 1, 0),
        ("memory 2", 128, 1, 0),
    ]
    assert len(problem.buffers) == 0


def test_the_option_dims_is_refused_for_a_description_of_memories() -> None:
    with pytest.raises(OptionError, match="dims: must not be given"):
        read_model(MEMORIES, None, ModelOptions(dims={"n": 1}))
