"""Tests of memplan's passes inside TVM: outputs are the same bits as with TVM's own plans, and no plan is larger."""

import importlib
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm.relax", reason="needs the extra tvm")

import tvm
from relax_modules import (
    BRANCHES,
    CONVOLUTIONS,
    TARGET,
    build_padded,
    chain,
    draw,
    fan,
    module_of,
    outputs,
    prepare_module,
)
from tvm import relax

import memplan.tvm
from memplan.tvm import OrderBindings, PlanMemory, PlanMemoryError, PlannedFunction, PoolInfo

pytestmark = [pytest.mark.tvm, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _restore_passes() -> Iterator[None]:
    yield
    memplan.tvm.uninstall()


def compare_plans(module: Any, *runs: tuple[np.ndarray[Any, Any], ...], **options: Any) -> PlannedFunction:
    """Assert that memplan's plan of `main` gives the same outputs as TVM's plan, and return memplan's plan."""
    found: list[PlannedFunction] = []
    memplan.tvm.uninstall()
    own = [outputs(module, *run) for run in runs]
    memplan.tvm.install(on_plan=found.append, **options)
    assert [outputs(module, *run) for run in runs] == own
    return next(each for each in found if each.name == "main")


def test_all_tensors_of_a_function_are_planned_at_the_lower_bound() -> None:
    planned = compare_plans(module_of(chain, (4, 16)), (draw(4, 16),))
    assert planned.bound == planned.memplan < planned.own
    assert not planned.reason
    assert planned.tensors > 10


def test_without_offsets_each_tensor_is_at_the_start_of_a_storage() -> None:
    planned = compare_plans(module_of(chain, (4, 16)), (draw(4, 16),), offsets=False)
    assert planned.memplan <= planned.own
    kept = prepare_module(module_of(chain, (4, 16)))
    with TARGET:
        text = PlanMemory(offsets=False)(kept)["main"].script()
    assert "ensure_zero_offset" not in text


def test_tvms_plan_is_kept_if_memplan_finds_no_smaller_plan() -> None:
    planned = compare_plans(module_of(lambda builder, x: builder.emit(relax.op.exp(x[0])), (4, 4)), (draw(4, 4),))
    assert planned.reason == "memplan found no smaller one"


def bounded_module(most: int) -> Any:
    return module_of(chain, (tvm.tirx.Var("n", "int64"), 16), bounds={"n": (1, most)})


def test_a_dimension_with_an_upper_bound_is_planned_for_this_bound() -> None:
    planned = compare_plans(bounded_module(32), *[(draw(n, 16),) for n in (1, 2, 7, 31, 32)])
    assert planned.at == {"n": 32}
    assert planned.memplan == planned.bound < planned.own


def test_the_runtime_refuses_symbol_values_above_the_bound() -> None:
    memplan.tvm.install()
    with pytest.raises(Exception, match="match_cast error"):
        outputs(bounded_module(32), draw(33, 16))


def test_offsets_are_expressions_of_a_dimension_without_a_bound() -> None:
    module = module_of(chain, (tvm.tirx.Var("n", "int64"), 16))
    planned = compare_plans(module, *[(draw(n, 16),) for n in (1, 3, 64, 100, 257)])
    assert planned.at == {"n": 128}
    assert planned.memplan == planned.bound < planned.own


def test_tensors_of_two_branches_share_bytes_and_outputs_are_correct() -> None:
    found: list[PlannedFunction] = []
    x, expected = draw(64), []
    for flag in (True, False):
        first = np.exp(x)
        a, c = -first, np.sin(first)
        expected.append(np.exp((np.exp(a) + a if flag else np.cos(c) * c) + first))
    memplan.tvm.install(on_plan=found.append)
    for flag, want in zip((True, False), expected, strict=True):
        got = np.frombuffer(outputs(tvm.script.from_source(BRANCHES), x, np.array(flag))[0], dtype=np.float32)
        np.testing.assert_allclose(got, want, rtol=1e-4)
    assert found[0].memplan == found[0].bound


def test_storages_are_allocated_from_the_given_pools() -> None:
    pools = [PoolInfo("fast", 2048), PoolInfo("slow")]
    module = module_of(chain, (24, 16))
    assert not compare_plans(module, (draw(24, 16),), pools=pools).reason
    with TARGET:
        text = PlanMemory(pools=pools)(prepare_module(module))["main"].script()
    assert "fast: R.Any = R.memory.alloc_storage" in text
    assert "slow: R.Any = R.memory.alloc_storage" in text


def test_pools_that_are_too_small_are_refused() -> None:
    rule = r"pool 'sram' lacks [\d,]+ bytes for alloc\d+ \([\d,]+ bytes\).*; increase its size_hint_bytes"
    with TARGET, pytest.raises(PlanMemoryError, match=rule):
        PlanMemory(pools=[PoolInfo("sram", 512)])(prepare_module(module_of(chain, (24, 16))))


def test_a_pool_of_size_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="pool 'sram': size_hint_bytes must be positive, got 0"):
        PoolInfo("sram", 0)


def test_temporaries_of_kernels_are_lifted_into_the_plan() -> None:
    arrays = tuple(draw(*shape, seed=k) for k, shape in enumerate(CONVOLUTIONS))
    module = module_of(build_padded, *CONVOLUTIONS)
    plain = compare_plans(module, arrays)
    lifted = compare_plans(module, arrays, lift=True)
    nested = compare_plans(module, arrays, lift=True, nests=True)
    assert lifted.tensors == nested.tensors == plain.tensors + 3
    assert nested.memplan < lifted.memplan
    assert plain.memplan < nested.memplan  # Only the lifted plan includes temporaries.


def test_temporaries_of_symbolic_sizes_are_lifted_into_the_plan() -> None:
    shapes = ((tvm.tirx.Var("n", "int64"), 4, 16, 16), *CONVOLUTIONS[1:])
    arrays = [draw(*shape, seed=k) for k, shape in enumerate(CONVOLUTIONS[1:])]
    module = module_of(build_padded, *shapes, bounds={"n": (1, 4)})
    runs = [(draw(size, 4, 16, 16), *arrays) for size in (1, 2, 4)]
    assert compare_plans(module, *runs, lift=True, nests=True).tensors == compare_plans(module, *runs).tensors + 3


def test_reordering_the_calls_lowers_the_peak() -> None:
    module, run = module_of(fan, (32, 32)), (draw(32, 32),)
    assert compare_plans(module, run, order=True).memplan < compare_plans(module, run).memplan


def test_calls_outside_dataflow_blocks_are_not_reordered() -> None:
    module = module_of(fan, (32, 32), dataflow=False)
    tvm.ir.assert_structural_equal(OrderBindings()(module), module)


def test_tensors_have_no_offsets_on_an_unknown_target() -> None:
    text = PlanMemory()(prepare_module(module_of(chain, (4, 16))))["main"].script()  # No target is set.
    assert "ensure_zero_offset" not in text


def test_tensors_of_captured_cuda_graphs_have_no_offsets() -> None:
    with TARGET, tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        text = PlanMemory()(prepare_module(module_of(chain, (4, 16))))["main"].script()
    assert "ensure_zero_offset" not in text


def test_the_log_names_the_functions_that_were_planned(caplog: pytest.LogCaptureFixture) -> None:
    with TARGET, caplog.at_level(logging.INFO, logger="memplan.tvm"):
        PlanMemory()(prepare_module(module_of(chain, (4, 16))))
    assert "bytes by TVM" in caplog.text
    assert "by memplan" in caplog.text


def test_tvms_plan_is_kept_for_an_unreadable_function(caplog: pytest.LogCaptureFixture) -> None:
    module = prepare_module(module_of(chain, (tvm.tirx.Var("n", "int64"), 16)))
    with TARGET, caplog.at_level(logging.WARNING, logger="memplan.tvm"):
        kept = PlanMemory(offsets=False)(module)
    tvm.ir.assert_structural_equal(kept, relax.transform.StaticPlanBlockMemory()(module))
    assert "whose plan is kept: it cannot be read: sizes have no bounds, and pointers of device 0" in caplog.text


def test_tvms_plan_is_kept_for_a_module_that_is_not_lowered(caplog: pytest.LogCaptureFixture) -> None:
    with TARGET:
        module = relax.transform.LegalizeOps()(module_of(chain, (4, 16)))
        with caplog.at_level(logging.WARNING, logger="memplan.tvm"):
            kept = PlanMemory()(module)
    tvm.ir.assert_structural_equal(kept, relax.transform.StaticPlanBlockMemory()(module))
    assert "it cannot be read: R.call_tir is in the function, so CallTIRRewrite has not run yet" in caplog.text


def test_import_fails_with_another_version_of_tvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm, "__version__", "0.28.0")
    with pytest.raises(ImportError, match=r"must be used with TVM 0\.27, got 0\.28\.0; TVM's own plan is kept"):
        importlib.reload(importlib.import_module("memplan.extensions.tvm.public"))


def test_uninstall_restores_tvms_pass() -> None:
    own = relax.transform.StaticPlanBlockMemory
    memplan.tvm.install(lift=True, order=True)
    assert relax.transform.StaticPlanBlockMemory is not own
    memplan.tvm.uninstall()
    assert relax.transform.StaticPlanBlockMemory is own


def test_install_refuses_wrong_options() -> None:
    with pytest.raises(TypeError, match="alignment"):
        memplan.tvm.install(alignment=64)
