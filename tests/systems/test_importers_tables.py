"""Traces of malloc, tables of idealloc, and memories of Cadence: what each row says, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.planner.errors import FormatError, InputError, OptionError, ProblemError
from memplan.planner.model.rows import MAX_TIME
from memplan.solvers.portfolio.solve import solve
from memplan.systems.imported import Imported, ImportOptions
from memplan.systems.reading import read_model
from tests.support.dump_files import INCLUSIVE, MEMORIES, TRACE

Row = tuple[int | None, int | None, int, int]


def rows(found: Imported) -> dict[Any, Row]:
    return {row.id: (row.start, row.end, row.size, row.alignment) for row in found.problem.buffers}


def test_each_call_is_a_step_and_a_block_that_is_used_again_is_another_buffer() -> None:
    assert rows(read_model(TRACE)) == {
        "0x10": (0, 2, 100, 16),
        "0x20": (1, 4, 50, 64),
        "0x20#2": (3, 5, 80, 16),
        "0x10#2": (4, 5, 7, 16),
    }


def test_a_block_that_moves_is_there_twice_while_it_does() -> None:
    found = read_model(b"event,ptr,new_ptr,bytes\nalloc,a,,8\nrealloc,a,b,9\nfree,b,,\nrealloc,(nil),a,3\nfree,0x0,,\n")
    assert rows(found) == {"a": (0, 2, 8, 16), "b": (1, 2, 9, 16), "a#2": (3, 5, 3, 16)}


def test_no_two_blocks_get_one_name() -> None:
    found = read_model(b"op,id,size\nnew,a#2,1\nnew,a,1\ndelete,a,\nnew,a,1\ndelete,a,\nnew,a,1\n")
    assert list(rows(found)) == ["a#2", "a", "a#3", "a#4"]


def test_an_option_aligns_all_blocks() -> None:
    aligned = rows(read_model(TRACE, options=ImportOptions(alignment=32)))
    assert {(size, alignment) for _, _, size, alignment in aligned.values()} == {
        (128, 32),
        (64, 32),
        (96, 32),
        (32, 32),
    }


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("free,a,", "line 2, column 'id': must be allocated before it is freed, got \"a\""),
        ("alloc,a,1\nalloc,a,1", "line 3, column 'id': must be allocated once before it is freed, got \"a\""),
        ("alloc,(nil),1", "line 2, column 'id': must not be null, got \"\\(nil\\)\""),
        ("alloc,a,", "line 2, column 'size': must be 0 to \\d+ bytes where there is a new block"),
        ("alloc,a,1\nmap,a,1", "line 3, column 'op': must be alloc, free or realloc, got \"map\""),
        ("alloc,a,x", "line 2, column 'size': must be an integer, got 'x'"),
    ],
)
def test_a_call_that_cannot_be_is_said_with_its_line(lines: str, sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        read_model(f"op,id,size\n{lines}\n".encode())


def test_a_trace_of_nothing_is_a_problem_of_nothing() -> None:
    assert solve(read_model(b"op,id,size\n").problem).peak == 0


def test_the_last_step_of_ideallocs_lifetimes_belongs_to_them() -> None:
    found = read_model(INCLUSIVE, "trace.in.csv")
    assert rows(found) == {"0": (0, 1, 64, 1), "1": (0, 4, 100, 1), "2": (1, 4, 32, 1)}
    assert found.own_peak == 164
    assert {row.offset for row in found.problem.buffers} == {None}
    assert solve(found.problem).peak == 164


def test_a_table_without_offsets_has_no_plan() -> None:
    assert read_model(b"id,lower,upper,size\na,0,0,4\n", "a.in.csv").own_peak is None
    assert read_model(b"id,lower,upper,size,offset\na,0,0,4,8\nb,0,0,4,\n", "a.in.csv").own_peak is None


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ("a,3,2,4", r"line 2, column 'upper': must be at least the first step \(3\), got 2"),
        (f"a,3,{MAX_TIME},4", f"line 2, column 'upper': must be less than {MAX_TIME}"),
        ("a,0,0,-4", "line 2, column 'size': must be at least 0, got -4"),
        ("a,0,0,4\na,0,0,4", "line 3, column 'id': must be unique, got 'a' again"),
    ],
)
def test_a_wrong_cell_is_said_with_its_place(cells: str, sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        read_model(f"id,lower,upper,size\n{cells}\n".encode(), "trace.in.csv")


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


@pytest.mark.parametrize(("data", "name"), [(TRACE, None), (INCLUSIVE, "a.in.csv"), (MEMORIES, None)])
def test_none_of_them_names_dimensions(data: bytes, name: str | None) -> None:
    with pytest.raises(OptionError, match="dim: must not be given"):
        read_model(data, name, ImportOptions(dims={"n": 1}))
