"""memplan inside the real ExecuTorch: programs are exported, planned, loaded and executed."""

import logging
import socket
import warnings
from typing import Any

import pytest

from memplan.extensions.torch.tests.late_imports import LateModule
from memplan.planner.foreign.reading import read_model
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.verify.verifier import verify
from memplan.runtimes.executorch.inside.algorithm import MemplanAlgorithm, OverwrittenWarning, OwnPlannerWarning, Source
from tests.support import public_problems
from tests.support.server import RunningServer

exir, runtime = LateModule("executorch.exir"), LateModule("executorch.runtime")
import torch  # noqa: E402  # which ExecuTorch requires

from memplan.extensions.torch.tests.torch_models import Attention, resnet  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


class Choice(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(32, 32)

    def forward(self, x: Any) -> Any:
        y = self.inner(x)
        chosen = torch.cond(x.sum() > 0, lambda z: self.inner(z).relu() + z, lambda z: z * 2, (y,))
        return chosen @ y.transpose(0, 1) + y.sum()


class Counter(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x: Any) -> Any:
        self.total.add_(x)
        return (self.total * 2).relu() + x


def export(model: Any, *inputs: Any, **options: Any) -> Any:
    torch.manual_seed(0)
    return torch.export.export(model.eval(), inputs, strict=False, **options)


def compile_program(program: Any, planning: Any, **options: Any) -> Any:
    return exir.to_edge(program).to_executorch(exir.ExecutorchBackendConfig(memory_planning_pass=planning, **options))


def planned_by(algorithm: Any, **options: Any) -> Any:
    return exir.passes.MemoryPlanningPass(memory_planning_algo=algorithm, **options)


def run(program: Any, *inputs: Any) -> Any:
    return runtime.Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)[0].clone()


def sizes(program: Any) -> list[int]:
    found: list[int] = program.executorch_program.execution_plan[0].non_const_buffer_sizes
    return found


@pytest.fixture(scope="module")
def attention() -> Any:
    torch.manual_seed(1)
    return Attention(32, 80).eval()


@pytest.fixture(scope="module")
def tokens() -> Any:
    torch.manual_seed(2)
    return torch.randn(24, 32)


@pytest.fixture(scope="module")
def greedy_program(attention: Any, tokens: Any) -> Any:
    return compile_program(export(attention, tokens), exir.passes.MemoryPlanningPass())


def test_a_planned_program_computes_the_same_in_less_memory(attention: Any, tokens: Any, greedy_program: Any) -> None:
    algorithm = MemplanAlgorithm()
    ours = compile_program(export(attention, tokens), planned_by(algorithm))
    (planned,) = algorithm.planned
    assert not verify(planned.problem, planned.plan)
    assert sizes(ours) == list(planned.bufsizes) == [0, planned.plan.peak]
    assert planned.plan.status == "optimal"
    assert sum(sizes(ours)) < sum(sizes(greedy_program))
    assert torch.equal(run(ours, tokens), run(greedy_program, tokens))
    torch.testing.assert_close(run(ours, tokens), attention(tokens))


@pytest.mark.deep
def test_exporting_resnet18_again_gives_the_recorded_problem() -> None:
    recorded = problem_hash(public_problems.problem("executorch/resnet18.csv"))
    algorithm = MemplanAlgorithm()
    planning = planned_by(algorithm)
    program = compile_program(export(resnet(18), torch.randn(1, 3, 224, 224)), planning)
    assert problem_hash(algorithm.planned[0].problem) == recorded
    assert problem_hash(read_model(program.buffer).problem) == recorded


@pytest.mark.deep
def test_a_suite_of_algorithms_uses_the_smaller_plan(attention: Any, tokens: Any, greedy_program: Any) -> None:
    algorithm = MemplanAlgorithm()
    suite = exir.memory_planning.MemoryPlanningAlgorithmSuite([exir.memory_planning.greedy, algorithm.plan_suite])
    ours = compile_program(export(attention, tokens), planned_by(suite))
    assert sizes(ours) == list(algorithm.planned[0].bufsizes)
    assert sum(sizes(ours)) < sum(sizes(greedy_program))
    assert torch.equal(run(ours, tokens), run(greedy_program, tokens))


def test_executorch_finds_no_overlap_in_our_plan(attention: Any, tokens: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):  # At this level, the pass checks every plan for reused storage.
        compile_program(export(attention, tokens), planned_by(MemplanAlgorithm()))
    assert any("reuses storage for" in record.message for record in caplog.records)


@pytest.mark.deep
def test_a_program_planned_by_a_service_computes_the_same_result(
    server: RunningServer, attention: Any, tokens: Any, greedy_program: Any
) -> None:
    algorithm = MemplanAlgorithm(Source(f"http://127.0.0.1:{server.port}", time_limit_s=5))
    ours = compile_program(export(attention, tokens), planned_by(algorithm))
    assert algorithm.planned[0].plan is not None
    assert torch.equal(run(ours, tokens), run(greedy_program, tokens))


@pytest.mark.deep
def test_executorchs_planner_is_used_if_no_service_answers(attention: Any, tokens: Any, greedy_program: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        algorithm = MemplanAlgorithm(Source(f"http://127.0.0.1:{taken.getsockname()[1]}", patience_s=0))
        planning = planned_by(algorithm)
        with pytest.warns(OwnPlannerWarning, match="planned by ExecuTorch itself: .http://127"):
            ours = compile_program(export(attention, tokens), planning)
    assert algorithm.planned[0].plan is None
    assert sizes(ours) == sizes(greedy_program)
    torch.testing.assert_close(run(ours, tokens), attention(tokens))


@pytest.mark.deep
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_branch_of_a_planned_conditional_computes_the_result_of_the_model(sign: float) -> None:
    torch.manual_seed(3)
    model, x = Choice().eval(), sign * torch.rand(8, 32)
    algorithm = MemplanAlgorithm()
    ours = compile_program(export(model, x), planned_by(algorithm))
    *submodules, whole = algorithm.planned
    assert len(submodules) == 2
    assert sizes(ours) == [0, max(planned.bufsizes[1] for planned in submodules) + (whole.plan.peak or 0)]
    torch.testing.assert_close(run(ours, x), model(x))


class Choices(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        first = torch.cond(x.sum() > 0, lambda z: z * z + z, lambda z: z - 1, (x,))
        second = torch.cond(x.sum() < 9, lambda z: self.inner(z) * z, lambda z: z - 2, (x,))
        return first - 2 * torch.cond(second.sum() < 0, lambda z: (z + 5) * 2, lambda z: z * 3 + 1, (second,))

    def inner(self, x: Any) -> Any:
        nearby = torch.cond(x.sum() > 3, lambda z: z * 7 + z, lambda z: z + 2, (x,))
        return nearby * torch.cond(x.sum() < 3, lambda z: (z - 7) * z, lambda z: (z - 2) * 4, (x,))


@pytest.mark.deep
def test_results_of_a_conditional_are_not_overwritten_by_the_next_one() -> None:
    model, planning = Choices(), planned_by(MemplanAlgorithm())
    ours = compile_program(export(model, torch.zeros(4, 4)), planning)
    for value in (-1.0, 0.1, 0.2, 0.5, 1.0):
        x = torch.full((4, 4), value)
        torch.testing.assert_close(run(ours, x), model(x))


@pytest.mark.deep
def test_a_suite_warns_about_a_conditional_that_overwrites_the_result_of_another() -> None:
    algorithm = MemplanAlgorithm()
    suite = exir.memory_planning.MemoryPlanningAlgorithmSuite([exir.memory_planning.greedy, algorithm.plan_suite])
    with pytest.warns(OverwrittenWarning, match="results of 'cond' are overwritten while 'cond_1' runs"):
        compile_program(export(Choices(), torch.ones(4, 4)), planned_by(suite))


@pytest.mark.deep
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_mutable_buffer_keeps_its_value_between_executions(is_shared: bool) -> None:
    model, x = Counter(), torch.ones(8)
    program = export(model, x)
    planning = planned_by(MemplanAlgorithm(), share_mutable_buffers=is_shared)
    method = runtime.Runtime.get().load_program(compile_program(program, planning).buffer).load_method("forward")
    for count in (1, 2, 3):
        torch.testing.assert_close(method.execute((x,))[0].clone(), torch.full((8,), 2.0 * count + 1))


@pytest.mark.deep
def test_memory_is_planned_for_the_upper_bounds_of_dynamic_shapes() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(32, 80), torch.nn.ReLU(), torch.nn.Linear(80, 32)).eval()
    length = torch.export.Dim("length", min=2, max=48)
    program = export(model, torch.randn(24, 32), dynamic_shapes=({0: length},))
    shapes = exir.passes.sym_shape_eval_pass.ConstraintBasedSymShapeEvalPass()
    ours = compile_program(program, planned_by(MemplanAlgorithm()), sym_shape_eval_pass=shapes)
    for rows in (3, 24, 48):
        x = torch.randn(rows, 32)
        torch.testing.assert_close(run(ours, x), model(x))


@pytest.mark.deep
def test_inputs_and_outputs_owned_by_the_caller_are_not_planned(attention: Any, tokens: Any) -> None:
    with_all, without = MemplanAlgorithm(), MemplanAlgorithm()
    program = export(attention, tokens)
    compile_program(program, planned_by(with_all))
    compile_program(program, planned_by(without, alloc_graph_input=False, alloc_graph_output=False))
    assert len(with_all.planned[0].problem.buffers) == len(without.planned[0].problem.buffers) + 2


@pytest.mark.deep
def test_padding_is_added_to_a_memory_that_a_delegate_uses(attention: Any, tokens: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    algorithm = MemplanAlgorithm()
    edge = exir.to_edge_transform_and_lower(export(attention, tokens), partitioner=[XnnpackPartitioner()])
    ours = edge.to_executorch(exir.ExecutorchBackendConfig(memory_planning_pass=planned_by(algorithm)))
    (planned,) = algorithm.planned
    assert sizes(ours) == [0, (planned.plan.peak or 0) + 64]
    torch.testing.assert_close(run(ours, tokens), attention(tokens))


def graph_of(*specs: Any) -> Any:
    graph = torch.fx.Graph()
    for k, spec in enumerate(specs):
        graph.placeholder(f"x{k}").meta["spec"] = spec
    graph.output(()).meta["spec"] = ()
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def spec_of(count: int, *, mem_id: int | None = None) -> Any:
    spec = exir.tensor.TensorSpec(torch.float32, torch.Size([count]))
    spec.mem_id = mem_id
    return spec


@pytest.mark.deep
def test_specs_of_different_devices_are_placed_in_different_memories() -> None:
    near, far = spec_of(16), spec_of(32)
    far.device = exir.memory_planning.DeviceType.CUDA
    module = graph_of(near, far)
    options: dict[str, Any] = {"enable_non_cpu_memory_planning": True}
    assert exir.memory_planning.apply_algo(MemplanAlgorithm(), module, 16, **options) == [0, 64, 128]
    assert (near.mem_id, far.mem_id, near.mem_offset, far.mem_offset) == (1, 2, 0, 0)
    (device,) = module.meta["non_const_buffer_device"]
    assert device.buffer_idx == 2


@pytest.mark.deep
def test_a_spec_inside_the_storage_of_another_gets_the_same_relative_offset_as_from_greedy() -> None:
    base, part, other = spec_of(32), spec_of(8), spec_of(16)
    part.storage_base, part.storage_base_offset = base, 64
    module = graph_of(base, part, other)
    assert exir.memory_planning.apply_algo(MemplanAlgorithm(), module, 16) == [0, 192]
    assert part.mem_offset == base.mem_offset + 64
    own = exir.memory_planning.greedy(16, [base, part, other], module, None).spec_dict
    assert own[part].mem_offset == own[base].mem_offset + 64


@pytest.mark.deep
def test_a_spec_stays_in_the_memory_that_a_pass_assigned() -> None:
    near, far = spec_of(16), spec_of(32, mem_id=3)
    assert exir.memory_planning.apply_algo(MemplanAlgorithm(), graph_of(near, far), 16) == [0, 64, 0, 128]
    assert far.mem_id == 3
