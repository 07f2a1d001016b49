"""Graphs of TVM's graph executor: outputs are planned again, each for itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.liveness.shadow import shadow
from memplan.solvers.portfolio.solve import solve
from memplan.systems.imported import Imported, ViewFacts
from memplan.systems.model_options import ModelOptions
from memplan.systems.reading import read_model
from tests.support.dump_files import graph, node, perceptron


def rows(found: Imported) -> dict[str, tuple[int | None, int | None, int]]:
    return {str(row.id).removeprefix("main/"): (row.start, row.end, row.size) for row in found.problem.buffers}


def test_outputs_are_alive_from_their_node_to_the_last_reader() -> None:
    found = read_model(perceptron(), options=ModelOptions(views="separate", alignment=1))
    assert rows(found) == {
        "x": (-1, 1, 256),
        "dense": (0, 2, 128),
        "reshape": (1, 3, 128),
        "relu": (2, 4, 128),
        "split:0": (3, 5, 64),
        "split:1": (3, 5, 64),
    }


def test_a_node_that_does_nothing_is_a_view() -> None:
    found = read_model(perceptron())
    assert found.views == ViewFacts(aliases=1, alias_bytes=128)
    assert [row.alias_of for row in found.problem.buffers if row.id == "main/reshape"] == ["main/dense"]


def test_weights_lie_apart_and_a_weight_that_is_given_back_is_copied() -> None:
    nodes = [node("x"), node("p0"), node("add", "fused_add", (0, 0, 0), (1, 0, 0))]
    found = read_model(graph(nodes, [(4,)] * 3, [0, 1, 2], [[2, 0, 0], [1, 0, 0]]))
    assert set(rows(found)) == {"x", "add", "#copy of p0"}
    assert found.operations is not None
    assert found.operations.functions["main"].constants == ("p0",)


def test_tvms_own_plan_is_its_storages_each_as_large_as_it_must_be() -> None:
    nodes = [node("x"), *(node(name, "fused", (k, 0, 0)) for k, name in enumerate("abc"))]
    found = read_model(graph(nodes, [(64,), (16,), (32,), (16,)], [0, 1, 2, 1], [[3, 0, 0]]))
    assert found.own_peak == 256 + 64 + 128
    plan = solve(found.problem)
    assert (plan.status, plan.peak) == ("optimal", 320)
    assert found.operations is not None
    assert shadow(found.operations, plan) == ()


def test_each_device_is_a_pool() -> None:
    nodes = [node("x"), node("copied", "__copy", (0, 0, 0)), node("same", "__nop", (1, 0, 0))]
    columns: dict[str, Any] = {"device_index": ["list_int", [1, 2, 2]]}
    found = read_model(graph(nodes, [(4,)] * 3, [0, 1, 1], [[2, 0, 0]], **columns))
    assert [pool.name for pool in found.problem.pools] == ["device 1, global", "device 2, global"]
    pools = {row.id: row.pools for row in found.problem.buffers if row.alias_of is None}
    assert pools == {"main/x": ("device 1, global",), "main/same": ("device 2, global",)}


def test_elements_take_whole_bytes() -> None:
    nodes = [node("x"), node("y", "fused", (0, 0, 0))]
    for dtype, size in (("int4", 5), ("float16x2", 20), ("bool", 5)):
        found = read_model(graph(nodes, [(5,)] * 2, [0, 1], [[1, 0, 0]], dtype), options=ModelOptions(alignment=1))
        assert {row.size for row in found.problem.buffers} == {size}


def test_outputs_of_nodes_with_one_name_have_names_of_their_own() -> None:
    nodes = [node("x"), node("y", "f", (0, 0, 0)), node("y", "f", (1, 0, 0))]
    found = read_model(graph(nodes, [(4,)] * 3, [0, 1, 2], [[2, 0, 0]]))
    assert list(rows(found)) == ["x", "y#1", "y#2"]


def changed(*path: Any, to: Any) -> bytes:
    whole = json.loads(perceptron())
    inside = whole
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = to
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            changed("node_row_ptr", 1, to=9),
            "node_row_ptr: must rise from 0, one number for each of 6 nodes and one more",
        ),
        (changed("nodes", 2, "op", to="op"), r'nodes\[2\].op: must be null or tvm_op, got "op"'),
        (changed("nodes", 2, "inputs", 0, to=[2, 0, 0]), r"nodes\[2\].inputs\[0\]: must be an output of a node before"),
        (changed("heads", 0, to=[5, 2, 0]), r"heads\[0\]: must be an output of a node before \(there are 6\)"),
        (changed("attrs", "storage_id", to=["list_int", [1]]), "attrs.storage_id: must have 7 entries"),
        (changed("attrs", "dltype", 1, 3, to="tensor"), r"attrs.dltype\[1\]\[3\]: must be a type such as int8"),
        (changed("attrs", "shape", 1, 3, to=[2**40, 2**40]), r"attrs.shape\[1\]\[3\]: must take at most"),
        (changed("attrs", "shape", 1, 3, to=[-1]), r"attrs.shape\[1\]\[3\]\[0\]: must be at least 0, got -1"),
        (changed("attrs", to={}), "attrs.dltype: is required"),
        (changed("nodes", 2, "name", to=""), r"nodes\[2\].name: must not be empty"),
        (b'{"nodes": [', "must be JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_model(data)
