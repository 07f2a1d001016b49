"""Memories of Cadence: what each row says, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.planner.errors import FormatError, InputError, OptionError, ProblemError
from memplan.solvers.portfolio.solve import solve
from memplan.systems.model_options import ModelOptions
from memplan.systems.reading import read_model
from tests.support.dump_files import MEMORIES


def test_memories_become_pools_in_their_order() -> None:
    problem = read_model(MEMORIES).problem
    assert [(pool.name, pool.size, pool.alignment, pool.base_address) for pool in problem.pools] == [
        ("dram0", 1024, 64, 0x40000000),
        ("sysram", 65536, 16, 0x60000000),
    ]
    plan = solve(problem)
    assert {(row.id, row.pool) for row in plan.placements} == {("a", "dram0"), ("b", "sysram")}


def test_memories_need_sizes_only() -> None:
    problem = read_model(b'{"memory_sizes": [64, 128]}').problem
    assert [(pool.name, pool.size, pool.alignment, pool.base_address) for pool in problem.pools] == [
        ("memory 1", 64, 1, 0),
        ("memory 2", 128, 1, 0),
    ]
    assert len(problem.buffers) == 0


@pytest.mark.parametrize(
    ("changes", "kind", "sentence"),
    [
        ({"memory_names": ["a"]}, FormatError, r"memory_names: must have as many entries as memory_sizes \(2\), got 1"),
        ({"memory_names": ["a", "a"]}, ProblemError, r'pools\[1\].name: must be unique, got "a" again'),
        ({"memory_sizes": []}, FormatError, "memory_sizes: must not be empty"),
        ({"memory_alignments": [0, 1]}, FormatError, r"memory_alignments\[0\]: must be at least 1, got 0"),
        ({"MemorySpace": 1}, FormatError, "MemorySpace: is not a known field"),
        ({"buffers": [{"id": "a"}]}, FormatError, r"buffers\[0\].size: is required"),
    ],
)
def test_what_is_wrong_with_memories_is_said(changes: dict[str, Any], kind: type[InputError], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        read_model(json.dumps(json.loads(MEMORIES) | changes).encode())


def test_memories_name_no_dimensions() -> None:
    with pytest.raises(OptionError, match="dims: must not be given"):
        read_model(MEMORIES, None, ModelOptions(dims={"n": 1}))
