"""memplan inside the Cadence backend of the real ExecuTorch, with several memories of limited size."""

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from memplan.extensions.torch.tests.late_imports import LateModule
from memplan.runtimes.executorch.inside.algorithm import OwnPlannerWarning, Source

exir, runtime = LateModule("executorch.exir"), LateModule("executorch.runtime")
aot = "executorch.backends.cadence.aot"
memory_planning, algo = LateModule(f"{aot}.memory_planning"), LateModule(f"{aot}.memory_planning_algo")
utils, pass_utils = LateModule(f"{aot}.utils"), LateModule(f"{aot}.pass_utils")
constraints = LateModule(f"{aot}.memory_constraints")
cadence = LateModule("memplan.runtimes.executorch.inside.cadence")
import torch  # noqa: E402  # which ExecuTorch requires

from memplan.extensions.torch.tests.torch_models import Attention  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def memories(*sizes: int, last_alignment: int = 16) -> Any:
    return utils.MemoryConfig(memory_sizes=list(sizes), memory_alignments=[16] * (len(sizes) - 1) + [last_alignment])


def planning_of(config: Any, **options: Any) -> Any:
    return cadence.MemplanCadencePlanning(config, pass_utils.CompileMode.DEFAULT, **options)


@pytest.fixture(scope="module")
def config() -> Any:
    return memories(40_000, 2**20, last_alignment=64)


@pytest.fixture(scope="module")
def stock(attention: Any, tokens: Any, config: Any) -> Any:
    import executorch.backends.cadence.aot.ops_registrations  # noqa: F401  # defines the operators of its constraints

    planning = memory_planning.CadenceMemoryPlanning(config, pass_utils.CompileMode.DEFAULT, 0)
    return compile_model(attention, tokens, planning)


def compile_model(model: Any, x: Any, planning: Any) -> Any:
    program = torch.export.export(model, (x,), strict=False)
    return exir.to_edge(program).to_executorch(exir.ExecutorchBackendConfig(memory_planning_pass=planning))


def sizes(program: Any) -> list[int]:
    found: list[int] = program.executorch_program.execution_plan[0].non_const_buffer_sizes
    return found


@pytest.fixture(scope="module")
def attention() -> Any:
    torch.manual_seed(1)
    return Attention(64, 256).eval()


@pytest.fixture(scope="module")
def tokens() -> Any:
    torch.manual_seed(2)
    return torch.randn(1, 32, 64)


def test_memplan_spills_fewer_bytes_for_the_same_result(attention: Any, tokens: Any, config: Any, stock: Any) -> None:
    planning = planning_of(config)
    ours = compile_model(attention, tokens, planning)
    (planned,) = planning.algo.planned
    assert planned.plan.status == "optimal"
    assert sizes(ours) == list(planned.bufsizes)
    assert sizes(ours)[2] < sizes(stock)[2]
    found = runtime.Runtime.get().load_program(ours.buffer).load_method("forward").execute((tokens,))[0]
    torch.testing.assert_close(found.clone(), attention(tokens))


@pytest.mark.deep
def test_cadences_planner_is_used_if_no_service_answers(attention: Any, tokens: Any, config: Any, stock: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        planning = planning_of(config, source=Source(f"http://127.0.0.1:{taken.getsockname()[1]}", patience_s=0))
        with pytest.warns(OwnPlannerWarning, match="planned by ExecuTorch itself: .http://127"):
            ours = compile_model(attention, tokens, planning)
    assert sizes(ours) == sizes(stock)


@pytest.mark.deep
def test_specs_that_do_not_fit_raise_a_failure_with_the_reason(attention: Any, tokens: Any) -> None:
    with pytest.raises(utils.MemoryPlanningAlgoFailure, match="memplan: "):
        compile_model(attention, tokens, planning_of(memories(1024, 4096, last_alignment=64)))


class ConstrainedGraph:
    """A graph of specs without operations, and the constraints that Cadence's passes may place on them."""

    def __init__(self, *counts: int, sizes: tuple[int, ...] = (256, 4096)) -> None:
        self.graph = torch.fx.Graph()
        self.nodes = [self.graph.placeholder(f"x{k}") for k in range(len(counts))]
        for node, count in zip(self.nodes, counts, strict=True):
            node.meta["spec"] = exir.tensor.TensorSpec(torch.int8, torch.Size([count]))
            node.meta["spec"].lifetime = [0, 3]
        config = memories(*sizes)
        self.algorithm = cadence.MemplanCadenceAlgorithm(config)
        self.state = algo.MemoryPlanningState(config)
        self.constraints = constraints.MemConstraints()

    def plan(self, *taken: int) -> list[tuple[int, int]]:
        """Plan the specs and return the memory and offset of each; submodules use `taken` bytes of each memory."""
        specs = [node.meta["spec"] for node in self.nodes]
        module = SimpleNamespace(input_mem_buffer_sizes=list(taken))
        self.algorithm.plan_with_constraints(specs, module, None, self.state, self.constraints)
        return [(spec.mem_id, spec.mem_offset) for spec in specs]


@pytest.mark.deep
def test_a_pinned_spec_is_placed_in_its_memory_and_at_its_offset() -> None:
    asked = ConstrainedGraph(64, 64)
    asked.constraints.add_absolute_placement_constraint(asked.nodes[0], 2, 128)
    asked.constraints.add_absolute_placement_constraint(asked.nodes[1], 2)
    assert (asked.plan(), asked.state.bufsizes) == ([(2, 128), (2, 0)], [0, 0, 192])


@pytest.mark.deep
def test_a_spec_is_not_placed_in_a_blocked_memory() -> None:
    asked = ConstrainedGraph(64, 64)
    asked.constraints.add_mem_id_to_blocklist(asked.nodes[1].meta["spec"], 1)
    assert asked.plan() == [(1, 0), (2, 0)]


@pytest.mark.deep
def test_a_spec_blocked_from_all_memories_raises_a_failure() -> None:
    asked = ConstrainedGraph(64, sizes=(256,))
    asked.constraints.add_mem_id_to_blocklist(asked.nodes[0].meta["spec"], 1)
    with pytest.raises(utils.MemoryPlanningAlgoFailure, match="must be allowed in at least one memory, got none"):
        asked.plan()


@pytest.mark.deep
def test_a_spec_relative_to_a_pinned_spec_keeps_its_distance() -> None:
    asked = ConstrainedGraph(128, 32)
    asked.constraints.add_absolute_placement_constraint(asked.nodes[0], 2, 64)
    asked.constraints.add_relative_placement_constraint(asked.nodes[0], asked.nodes[1], offset=16)
    assert asked.plan() == [(2, 64), (2, 80)]
    assert not asked.constraints.relative_loc_constraints_exist()


@pytest.mark.deep
def test_bytes_of_submodules_are_kept_free_and_counted_in_sizes() -> None:
    asked = ConstrainedGraph(64)
    assert (asked.plan(0, 80, 32), asked.state.bufsizes) == ([(1, 80)], [0, 144, 32])


@pytest.mark.deep
def test_the_rounded_end_of_a_spec_must_be_within_its_memory() -> None:
    # 48 bytes end at 48, which is the memory's size rounded down to the alignment.
    assert ConstrainedGraph(48, sizes=(60, 4096)).plan() == [(1, 0)]
    assert ConstrainedGraph(49, sizes=(60, 4096)).plan() == [(2, 0)]


@pytest.mark.deep
def test_the_plan_minimises_the_bytes_in_the_last_memory() -> None:
    asked = ConstrainedGraph(
        160, 144, 96, sizes=(256, 4096)
    )  # a greedy planner by size places 160 and 96 in the first memory and spills 144 bytes
    places = asked.plan()
    assert asked.state.bufsizes[2] == min(400 - 256, 144)
    assert sorted(mem_id for mem_id, _ in places) == [1, 1, 2]
