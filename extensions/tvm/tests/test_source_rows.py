"""Tests inside TVM of the rows of the source documents; a test's name starts with its row, as in `tests/seeds`."""

from functools import cache
from typing import Any

import pytest

pytest.importorskip("tvm.relax", reason="needs the extra tvm")

import tvm
from relax_modules import BRANCHES, CONVOLUTIONS, TARGET, build_padded, chain, module_of, prepare_module
from tvm import relax, tirx, topi

from memplan import Buffer, Placement, Plan, Pool, Problem, verify
from memplan.extensions.tvm.lift import temporaries
from memplan.extensions.tvm.tensors import AllocatedTensor, Lifetimes
from memplan.planner.model.placement_table import PlacementTable
from memplan.tvm import LiftWorkspaces, PlanMemory, PlannedFunction, PoolInfo

pytestmark = [pytest.mark.tvm, pytest.mark.filterwarnings("ignore")]
CHAIN, PADDED, LIFTED, BRANCHED, OPEN = "chain", "padded", "lifted", "branches", "open"


@cache
def make_module(name: str) -> Any:
    if name == CHAIN:
        return prepare_module(module_of(chain, (24, 16)))
    if name == BRANCHED:
        return prepare_module(tvm.script.from_source(BRANCHES))
    if name == OPEN:
        return prepare_module(module_of(chain, (tirx.Var("n", "int64"), 16)))
    return prepare_module(module_of(build_padded, *CONVOLUTIONS), *([LiftWorkspaces()] if name == LIFTED else []))


def plan_module(module: Any, target: Any = TARGET, **options: Any) -> tuple[PlannedFunction, Any]:
    """Run PlanMemory on a module, and return memplan's plan of `main` and the planned module."""
    found: list[PlannedFunction] = []
    with target:
        after = PlanMemory(on_plan=found.append, **options)(module)
    return found[0], after


def lifetimes(module: Any, *, nests: bool = False) -> Lifetimes:
    kernels = [name for name, each in module.functions_items() if isinstance(each, tirx.PrimFunc)]
    return Lifetimes(module, module["main"], kernels, nests=nests)


def tensors(module: Any, **options: Any) -> list[AllocatedTensor]:
    return [each for each in lifetimes(module, **options).tensors if not each.escapes]


def workspaces(module: Any) -> list[int]:
    kernels = [each for _, each in module.functions_items() if isinstance(each, tirx.PrimFunc)]
    shapes = [[[int(length) for length in each.shape] for each in temporaries(kernel)] for kernel in kernels]
    return [sum(4 * a * b * c * d for a, b, c, d in rows) for rows in shapes]


def two_temporaries(x: Any) -> Any:
    first = topi.sum(topi.exp(x), axis=1, keepdims=True)
    return topi.add(topi.sum(topi.tanh(topi.add(x, first)), axis=1, keepdims=True), first)


@cache
def emit_module(calls: int = 1) -> Any:
    """Return a module, built with `emit_te`, that calls one kernel `calls` times."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((32, 64), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = x
            for _ in range(calls):
                y = builder.emit_te(topi.add, x, builder.emit_te(two_temporaries, y))
            y = builder.emit_output(builder.emit(relax.op.exp(y)))
        builder.emit_func_output(y)
    return builder.get()


def test_s0_03_plans_of_tvm_exclude_temporaries_of_kernels() -> None:
    found, _ = plan_module(make_module(PADDED))
    assert sum(workspaces(make_module(PADDED))) > 0
    assert found.tensors == len(tensors(make_module(PADDED)))


def test_s0_04_one_plan_places_tensors_and_temporaries_of_kernels() -> None:
    plain, lifted = plan_module(make_module(PADDED))[0], plan_module(make_module(LIFTED))[0]
    assert lifted.tensors == plain.tensors + 3
    assert lifted.memplan == lifted.bound < plain.own + sum(workspaces(make_module(PADDED)))


def test_s0_05_bytes_of_workspaces_are_known_without_a_plan() -> None:
    assert sorted(filter(None, workspaces(make_module(PADDED)))) == [4 * c * 18 * 18 for c in (4, 8, 16)]


def test_s0_12_a_function_is_planned_into_one_storage() -> None:
    _, after = plan_module(make_module(CHAIN))
    assert all(each.size and 0 <= each.start < each.end for each in tensors(make_module(CHAIN)))
    assert after["main"].script().count("R.memory.alloc_storage") == 1


def test_s0_23_pools_have_names_and_sizes() -> None:
    _, after = plan_module(make_module(CHAIN), pools=[PoolInfo("fast", 2048), PoolInfo("slow")])
    text = after["main"].script()
    assert text.index("fast: R.Any = R.memory.alloc_storage") < text.index("slow: R.Any = R.memory.alloc_storage")


def test_s0_24_triples_of_a_planned_function_are_a_valid_plan() -> None:
    found, _ = plan_module(make_module(CHAIN), pools=[PoolInfo("fast", 2048), PoolInfo("slow")])
    allocated = lifetimes(make_module(CHAIN)).tensors
    rows = [(allocated[k], k) for k, _, _ in found.triples]
    buffers = [Buffer(id=k, size=each.size or 0, start=each.start, end=each.end) for each, k in rows]
    problem = Problem(buffers=buffers, pools=[Pool(name="fast", size=2048), Pool(name="slow")])
    placed = [Placement(id=k, pool=pool, offset=int(offset)) for k, pool, offset in found.triples]
    assert len({k for k, _, _ in found.triples}) == found.tensors
    assert verify(problem, Plan(status="feasible", placements=PlacementTable.from_rows(placed))).valid


def test_s0_33_the_target_c_gets_one_arena_of_the_lower_bound() -> None:
    found, after = plan_module(make_module(CHAIN), tvm.target.Target("c"))
    assert not found.reason
    assert after["main"].script().count("R.memory.alloc_storage") == 1
    assert f"R.memory.alloc_storage(R.shape([{found.bound}])" in after["main"].script()


def test_s2_01_lifetimes_are_counted_in_calls_or_in_loop_nests() -> None:
    of_calls, of_nests = (lifetimes(make_module(LIFTED), nests=nests) for nests in (False, True))
    assert [each.variable for each in of_calls.tensors] == [each.variable for each in of_nests.tensors]
    assert max(each.end for each in of_nests.tensors) > max(each.end for each in of_calls.tensors)


def test_s2_02_temporaries_are_lifted_into_relax() -> None:
    assert not any(workspaces(make_module(LIFTED)))
    assert len(tensors(make_module(LIFTED))) == len(tensors(make_module(PADDED))) + 3


def test_s2_03_modules_from_emit_te_are_planned() -> None:
    found, _ = plan_module(prepare_module(emit_module()))
    assert found.memplan <= found.own


def test_s2_04_lifetimes_by_nests_let_two_temporaries_share_bytes() -> None:
    module = prepare_module(emit_module(), LiftWorkspaces())
    assert plan_module(module, nests=True)[0].memplan < plan_module(module)[0].memplan


def test_s2_05_lifetimes_begin_with_the_first_use() -> None:
    rows = tensors(make_module(CHAIN))
    places = [each.index + 1 for each in rows]
    assert all(each.start > place for each, place in zip(rows, places, strict=True))


def test_s2_06_kernels_without_temporaries_are_unchanged() -> None:
    with TARGET:
        module = relax.transform.LegalizeOps()(module_of(chain, (4, 16)))
    tvm.ir.assert_structural_equal(LiftWorkspaces()(module), module)


def test_s2_07_several_temporaries_of_a_kernel_are_lifted() -> None:
    plain, lifted = (prepare_module(emit_module(), *lift) for lift in ((), (LiftWorkspaces(),)))
    assert len(tensors(lifted)) >= len(tensors(plain)) + 2


def test_s2_08_tensors_are_killed_after_their_last_use() -> None:
    _, after = plan_module(make_module(CHAIN))
    text = relax.transform.KillAfterLastUse()(after)["main"].script()
    assert text.rindex("R.memory.kill_tensor(tensor") > text.rindex("    add(tensor")


def test_s2_09_lifetimes_by_nests_need_no_more_bytes() -> None:
    functions = [each for _, each in make_module(PADDED).functions_items()]
    assert [len(temporaries(each)) for each in functions if isinstance(each, tirx.PrimFunc)]
    assert plan_module(make_module(LIFTED), nests=True)[0].memplan <= plan_module(make_module(LIFTED))[0].memplan


def test_s2_10_several_temporaries_have_different_lifetimes() -> None:
    rows = tensors(prepare_module(emit_module(), LiftWorkspaces()), nests=True)
    assert len({(each.start, each.end) for each in rows}) > 2


def test_s2_11_one_plan_needs_fewer_bytes_than_separate_workspaces() -> None:
    plain, nested = plan_module(make_module(PADDED))[0], plan_module(make_module(LIFTED), nests=True)[0]
    assert nested.memplan < plain.memplan + max(workspaces(make_module(PADDED)))


def test_s2_12_each_call_of_a_kernel_has_its_own_temporaries() -> None:
    counts = [len(tensors(prepare_module(emit_module(calls), LiftWorkspaces()))) for calls in (1, 2, 3)]
    assert counts[2] - counts[1] == counts[1] - counts[0] >= 4


def test_s4_01_the_pass_replaces_static_plan_block_memory() -> None:
    _, after = plan_module(make_module(CHAIN))
    assert after["main"].script().count("R.builtin.alloc_tensor") == 1  # the returned tensor
    assert "R.memory.alloc_tensor" in after["main"].script()


def test_s4_02_tensors_with_disjoint_lifetimes_share_whole_storages() -> None:
    found, _ = plan_module(make_module(CHAIN), offsets=False)
    assert len({pool for _, pool, _ in found.triples}) < found.tensors


def test_s4_03_a_whole_storage_has_the_bytes_of_its_largest_tensor() -> None:
    found, _ = plan_module(make_module(CHAIN), offsets=False)
    allocated, most = lifetimes(make_module(CHAIN)).tensors, dict[str, int]()
    for k, pool, _ in found.triples:
        most[pool] = max(most.get(pool, 0), allocated[k].size or 0)
    assert sum(most.values()) == found.memplan


def test_s4_04_reading_an_entry_of_a_tuple_extends_only_its_tensor() -> None:
    def build_tuple(builder: Any, inputs: list[Any]) -> Any:
        pair = builder.emit(relax.Tuple([builder.emit(each(inputs[0])) for each in (relax.op.exp, relax.op.sin)]))
        return builder.emit(relax.op.cos(builder.emit(relax.TupleGetItem(pair, 1))))

    first, second = tensors(prepare_module(module_of(build_tuple, (4, 16))))
    assert first.end < second.end


def test_s4_05_a_tensor_that_nothing_reads_is_alive_for_one_step() -> None:
    def build_orphan(builder: Any, inputs: list[Any]) -> Any:
        builder.emit(relax.op.sin(inputs[0]))
        return builder.emit(relax.op.exp(builder.emit(relax.op.cos(inputs[0]))))

    assert next(each.end - each.start for each in tensors(prepare_module(module_of(build_orphan, (4, 16))))) == 1


def test_s4_06_inputs_and_results_are_not_planned() -> None:
    module = make_module(CHAIN)
    every = lifetimes(module).tensors
    assert sum(each.escapes for each in every) == 1
    assert not {each.variable.name for each in every} & {each.name for each in module["main"].params}


def test_s4_07_whole_storages_are_reused_for_any_size() -> None:
    found, _ = plan_module(make_module(CHAIN), offsets=False)
    assert found.memplan <= found.own


def test_s4_08_sizes_follow_from_types_and_offsets_are_aligned() -> None:
    def halves(builder: Any, inputs: list[Any]) -> Any:
        flags = builder.emit(relax.op.greater(inputs[0], builder.emit(relax.op.exp(inputs[0]))))
        return builder.emit(relax.op.astype(builder.emit(relax.op.astype(flags, "float16")), "float32"))

    module = prepare_module(module_of(halves, (3, 5)))
    assert [each.size for each in tensors(module)] == [60, 15, 30]
    assert all(int(offset) % 64 == 0 for _, _, offset in plan_module(module)[0].triples)


def test_s4_09_an_unbounded_length_without_offsets_is_reported() -> None:
    assert all(each.size is None for each in tensors(make_module(OPEN)))
    planned, _ = plan_module(make_module(OPEN), offsets=False)
    assert planned.reason.startswith("it cannot be read: sizes have no bounds, and pointers")


def test_s4_10_offsets_of_variable_shapes_are_computed_at_run_time() -> None:
    found, after = plan_module(make_module(OPEN))
    assert found.at == {"n": 128}
    assert any(not isinstance(offset, int | tirx.IntImm) for _, _, offset in found.triples)
    assert "R.memory.alloc_storage(R.shape([T.max(n" in after["main"].script()


def test_s4_11_tensors_of_different_branches_share_bytes() -> None:
    found, _ = plan_module(make_module(BRANCHED))
    assert found.memplan == found.bound


def test_s4_12_a_function_that_cannot_be_planned_is_reported() -> None:
    with TARGET:
        early = relax.transform.LegalizeOps()(module_of(chain, (4, 16)))
    assert "R.call_tir is in the function" in plan_module(early)[0].reason


def test_s4_13_planned_functions_print_without_metadata() -> None:
    assert "metadata" not in plan_module(make_module(CHAIN))[1]["main"].script()


def test_s4_14_two_storages_alternate_and_reshapes_need_none() -> None:
    def alternating(builder: Any, inputs: list[Any]) -> Any:
        x = inputs[0]
        for _ in range(4):
            x = builder.emit(relax.op.exp(builder.emit(relax.op.reshape(x, (64,)))))
        return builder.emit(relax.op.sin(x))

    found, _ = plan_module(prepare_module(module_of(alternating, (4, 16))), offsets=False, pools=())
    assert found.tensors == 4
    assert found.own == found.memplan == 2 * 256 or found.reason == "memplan found no smaller one"
