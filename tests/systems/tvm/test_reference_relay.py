"""Relay's storage tokens: the ids of its own tests, and the rules that make them."""

from __future__ import annotations

import pytest

from lab.relay_storages import (
    Bundle,
    Item,
    Operation,
    RelayCall,
    RelayParameter,
    Reshape,
    Storage,
    StorageAction,
    plan_storages,
)
from memplan.planner.model.problem import Problem
from memplan.solvers.objects.relay_tokens import TensorType
from memplan.solvers.portfolio.solve import solve


def floats(*shape: int) -> TensorType:
    return TensorType(shape)


def chain(*sizes: int) -> list[Operation]:
    """Return operations of which each takes what the one before it made; `t0` is a parameter."""
    first: list[Operation] = [RelayParameter("t0", TensorType((sizes[0],), "uint8"))]
    types = [TensorType((size,), "uint8") for size in sizes]
    return first + [RelayCall(f"t{i}", (f"t{i - 1}",), (types[i],)) for i in range(1, len(sizes))]


def test_two_temporaries_alternate_beside_the_parameters() -> None:
    # tests/python/relay/test_backend_graph_executor.py, test_plan_memory
    ten, one = floats(10), floats(1)
    operations: list[Operation] = [RelayParameter("x", ten), RelayParameter("y", one)]
    operations += [RelayCall("exp", ("y",), (one,)), RelayCall("z0", ("x", "exp"), (ten,))]
    operations += [RelayCall(f"z{i + 1}", (f"z{i}",), (ten,)) for i in range(5)]
    plan = plan_storages(operations, ["z5"])
    ids = [plan.ids[operation.name][0] for operation in operations]
    assert ids == [0, 1, 2, 3, 2, 3, 2, 3, 2]
    assert [storage.size for storage in plan.storages] == [40, 4, 40, 40]
    assert plan.total == 124
    assert plan.uses["exp"] == plan.uses["z0"] == plan.uses["z5"] == (1,)


def test_a_reshape_has_the_storage_of_its_input() -> None:
    # the same file, test_reshape_nop
    operations: list[Operation] = [
        RelayParameter("x", floats(10, 4)),
        RelayCall("abs", ("x",), (floats(10, 1, 4),)),
        Reshape("z0", "abs", floats(2, 20)),
        RelayCall("t1", ("abs",), (floats(10, 1, 4),)),
        RelayCall("z1", ("t1",), (floats(10, 1, 4),)),
        Reshape("z2", "t1", floats(1, 40)),
    ]
    plan = plan_storages(operations, ["z0", "z1", "z2"])
    assert [plan.ids[operation.name][0] for operation in operations] == [0, 1, 1, 2, 3, 2]
    assert plan.uses["abs"] == (2,)


def test_what_five_allocations_of_relax_need_with_and_without_planning() -> None:
    # tests/python/relax/test_analysis_estimate_memory_usage.py. TVM's report counts the two storages of 72 bytes; the
    # output, which the caller keeps, is a third.
    eight, ten = floats(8), floats(10)
    operations: list[Operation] = [
        RelayParameter("x", floats(2, 4)),
        RelayCall("exp", ("x",), (floats(2, 4),)),
        Reshape("flat", "exp", eight),
        RelayCall("relu", ("flat",), (eight,)),
        RelayCall("add", ("relu",), (eight,)),
        RelayCall("pad", ("add",), (ten,)),
        RelayCall("log", ("pad",), (ten,), may_reuse=False),
    ]
    plan = plan_storages(operations, ["log"])
    made = [operation for operation in operations if isinstance(operation, RelayCall)]
    assert sum(operation.outputs[0].size() for operation in made) == 176
    assert len(made) == 5
    assert [storage.size for storage in plan.storages[1:]] == [32, 40, 40]
    alone = plan_storages(operations, ["log"], match_range=0)
    assert len(alone.storages) == 6


def test_a_larger_storage_is_taken_first_and_of_those_the_smallest() -> None:
    operations: list[Operation] = [
        *(RelayParameter(f"p{i}", floats(1)) for i in range(3)),
        RelayCall("a", ("p0",), (TensorType((30,), "uint8"),)),
        RelayCall("b", ("p1",), (TensorType((10,), "uint8"),)),
        RelayCall("c", ("p2",), (TensorType((20,), "uint8"),)),
        RelayCall("end", ("a", "b", "c"), (TensorType((400,), "uint8"),)),
        RelayCall("next", ("end",), (TensorType((15,), "uint8"),)),
    ]
    plan = plan_storages(operations, ["next"])
    assert plan.ids["next"] == plan.ids["c"]


def test_where_none_is_large_enough_the_largest_grows() -> None:
    plan = plan_storages(chain(1, 10, 4, 25), ["t3"])
    assert plan.ids["t3"] == plan.ids["t1"]
    assert plan.storages[plan.ids["t1"][0]].size == 25


@pytest.mark.parametrize(
    ("free", "wanted", "is_reused"),
    [(160, 10, True), (161, 10, False), (10, 160, True), (10, 175, True), (10, 176, False), (0, 0, True)],
)
def test_storages_are_reused_within_sixteen_times_either_way(free: int, wanted: int, is_reused: bool) -> None:
    plan = plan_storages(chain(1, free, 10_000, wanted), ["t3"])
    assert (plan.ids["t3"] == plan.ids["t1"]) == is_reused


def test_of_equal_free_storages_the_first_freed_is_reused_first() -> None:
    eight = TensorType((8,), "uint8")
    operations: list[Operation] = [
        RelayParameter("x", eight),
        RelayCall("a", ("x",), (eight,)),
        RelayCall("b", ("x",), (eight,)),
        RelayCall("c", ("b",), (eight,)),  # b is free
        RelayCall("d", ("a",), (TensorType((1000,), "uint8"),)),  # a is free
        RelayCall("e", ("d", "c"), (eight,)),
    ]
    assert plan_storages(operations, ["e"]).ids["e"] == (2,)


def test_an_unused_tensor_is_released_at_once() -> None:
    eight = TensorType((8,), "uint8")
    operations: list[Operation] = [
        RelayParameter("x", eight),
        RelayCall("a", ("x",), (eight, eight)),
        Item("kept", "a", 1),
    ]
    plan = plan_storages([*operations, RelayCall("b", ("kept",), (eight,))], ["b"])
    assert plan.uses["a"] == (0, 1)
    assert plan.ids["b"] == (1,)
    assert StorageAction("a", "release", 1, 8) in plan.steps


def test_tuples_share_the_tokens_of_their_fields() -> None:
    eight = TensorType((8,), "uint8")
    operations: list[Operation] = [
        RelayParameter("x", eight),
        RelayCall("a", ("x",), (eight,)),
        RelayCall("b", ("x",), (eight,)),
        Bundle("both", ("a", "b")),
        RelayCall("c", ("both",), (eight,)),
        RelayCall("d", ("c",), (eight,)),
    ]
    plan = plan_storages(operations, ["d"])
    assert plan.ids["both"] == (1, 2)
    assert plan.uses["both"] == (1, 1)
    assert plan.ids["d"] == (1,)


def test_parameters_and_results_are_never_given_away() -> None:
    operations: list[Operation] = [*chain(8, 8), RelayCall("t2", ("t0",), (TensorType((8,), "uint8"),))]
    assert plan_storages(operations, ["t1", "t2"]).ids == {"t0": (0,), "t1": (1,), "t2": (2,)}


def test_devices_never_share() -> None:
    gpu = TensorType((8,), "uint8", device="gpu")
    cpu = TensorType((8,), "uint8")
    operations: list[Operation] = [
        RelayParameter("x", cpu),
        RelayCall("a", ("x",), (cpu,)),
        RelayCall("b", ("a",), (gpu,)),
        RelayCall("c", ("b",), (gpu,)),
    ]
    plan = plan_storages(operations, ["c"])
    assert plan.ids["c"] == (3,)


@pytest.mark.parametrize(("alignment", "size"), [(1, 5), (4, 8), (8, 8)])
def test_storages_are_whole_bytes_words_or_double_words(alignment: int, size: int) -> None:
    operations: list[Operation] = [RelayParameter("x", TensorType((5,), "int8"))]
    assert plan_storages(operations, ["x"], storage_alignment=alignment).storages == (Storage(size, "cpu", "global"),)


def problem(*rows: tuple[int, int, int], alignment: int = 1, capacity: int | None = None) -> Problem:
    """Return buffers b0, b1, ... of (size, start, end)."""
    buffers = [{"id": f"b{i}", "size": size, "start": start, "end": end} for i, (size, start, end) in enumerate(rows)]
    return Problem.model_validate({"buffers": buffers, "pools": [{"alignment": alignment, "size": capacity}]})


def offsets(wanted: Problem) -> list[int]:
    return [row.offset for row in solve(wanted, solver="reference:relay-storage-tokens").placements]


def test_buffers_of_a_problem_lie_at_the_starts_of_storages_side_by_side() -> None:
    # b2 takes the larger of the free storages only because the other one is too small, and b3 takes that.
    assert offsets(problem((10, 0, 2), (6, 0, 2), (8, 2, 4), (3, 2, 4))) == [0, 10, 0, 10]


def test_a_storage_that_grows_moves_those_behind_it() -> None:
    assert offsets(problem((10, 0, 2), (6, 1, 5), (15, 3, 5))) == [0, 15, 0]


def test_storages_begin_at_multiples_of_the_alignment() -> None:
    assert offsets(problem((10, 0, 2), (6, 0, 2), alignment=8)) == [0, 16]


def test_storages_behind_the_capacity_are_named() -> None:
    # 12 bytes are enough, but the first storage stays beside the second one, which grows.
    plan = solve(problem((6, 0, 1), (6, 0, 1), (12, 1, 2), capacity=12), solver="reference:relay-storage-tokens")
    assert plan.status == "unknown"
    assert plan.explanation is not None
    assert plan.explanation.buffers == ("b1", "b2")
