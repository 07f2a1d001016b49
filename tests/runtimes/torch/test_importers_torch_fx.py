"""Readers of PyTorch graphs in memory: exported programs, and joint training graphs of AOT autograd."""

import warnings
from typing import Any

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.imported import ImportedProblem, ViewFacts
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.lifetimes.shadow import shadow
from memplan.runtimes.torch.fx import read_exported, read_graph
from memplan.solvers.portfolio.solve import solve

with warnings.catch_warnings():
    # Modules of other packages emit warnings when they are imported.
    warnings.simplefilter("ignore")
    pytest.importorskip("torch", reason="needs torch")
    import torch

    from memplan.extensions.torch.tests.torch_models import Loss

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


class Function(torch.nn.Module):  # type: ignore[misc]  # the package is untyped
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def aot_export_module(*arguments: Any, **options: Any) -> Any:
    """Call torch's function of this name; its module is imported here because the import takes seconds."""
    from torch._functorch import aot_autograd

    return aot_autograd.aot_export_module(*arguments, **options)


def export(function: Any, *inputs: Any, **options: Any) -> Any:
    """Export a function or a module without decomposing its operations."""
    model = function if isinstance(function, torch.nn.Module) else Function(function)
    return torch.export.export(model, inputs, strict=False, **options)


def sizes(found: ImportedProblem) -> dict[str, int]:
    return {str(row.id).removeprefix("main/"): row.size for row in found.problem.buffers}


def statements(found: ImportedProblem) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    rows = (row.model_dump() for row in found.operations.functions["main"].body)
    return [(row["op"], row["inputs"], row["outputs"]) for row in rows]


X = torch.zeros(4, 8)


def test_the_result_of_every_operation_is_a_buffer() -> None:
    found = read_exported(export(lambda x: x.exp().sin(), X))
    exp, sin = ("aten.exp.default", ("inputs_0",), ("exp",)), ("aten.sin.default", ("exp",), ("sin",))
    assert (statements(found), sizes(found)) == ([exp, sin], {"inputs_0": 128, "exp": 128, "sin": 128})
    assert solve(found.problem).peak == 256


def test_a_view_shares_the_buffer_of_its_base() -> None:
    program = export(lambda x: x.exp().t().sin(), X)
    assert sizes(read_exported(program)).keys() == {"inputs_0", "exp", "sin"}
    assert read_exported(program).views == ViewFacts(aliases=1, alias_bytes=128)
    assert sizes(read_exported(program, ModelOptions(views="separate"))).keys() == {"inputs_0", "exp", "t", "sin"}


def test_views_in_a_list_share_the_buffer_of_their_base() -> None:
    found = read_exported(export(lambda x: torch.mul(*x.exp().chunk(2)), X))
    assert statements(found)[-1] == ("aten.mul.Tensor", ("exp",), ("mul",))


def test_a_reshape_of_a_contiguous_tensor_is_a_view() -> None:
    assert "reshape" not in sizes(read_exported(export(lambda x: x.exp().reshape(32).sin(), X)))
    assert sizes(read_exported(export(lambda x: x.exp().t().reshape(32).sin(), X)))["reshape"] == 128


def test_each_of_several_results_of_an_operation_is_a_buffer() -> None:
    found = read_exported(export(lambda x: x.exp().max(1).values.sin(), X))
    assert sizes(found) == {"inputs_0": 128, "exp": 128, "max_1:0": 64, "max_1:1": 64, "sin": 64}


def test_a_tensor_changed_in_place_counts_as_read_and_written() -> None:
    found = read_exported(export(lambda x: x.exp().add_(1).sin(), X))
    assert (statements(found)[1], solve(found.problem).peak) == (("aten.add_.Tensor", ("exp",), ("exp",)), 256)


def test_parameters_are_constants_unless_an_operation_changes_them() -> None:
    class Counter(torch.nn.Module):  # type: ignore[misc]  # the package is untyped
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4, 8))
            self.scale = torch.nn.Parameter(torch.ones(8))

        def forward(self, x: Any) -> Any:
            self.total.add_(x)
            return self.total * self.scale

    main = read_exported(export(Counter(), X)).operations.functions["main"]
    assert main.constants == ("p_scale",)
    assert [row.id for row in main.buffers if row.persistent] == ["b_total"]


def test_outputs_and_bases_of_output_views_are_results() -> None:
    found = read_exported(export(lambda x: (x.exp().t(), x.sin().cos()), X))
    assert found.operations.functions["main"].results == ("exp", "cos")


@pytest.mark.parametrize("views", ["alias", "separate"])
def test_the_plan_of_a_training_step_passes_its_shadow_execution(views: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Softmax(-1), torch.nn.Linear(16, 4))
    inputs = (torch.zeros(6, 8), torch.zeros(6, dtype=torch.int64))
    module, signature = aot_export_module(Loss(model), inputs, trace_joint=True, output_loss_index=0)
    found = read_graph(module, ModelOptions(views=views), set(signature.inputs_to_parameters))
    plan = solve(found.problem)
    assert (plan.status, shadow(found.operations, plan)) == ("optimal", ())


def test_symbolic_dimensions_require_sizes_given_by_name() -> None:
    program = export(lambda x: x.exp(), X, dynamic_shapes=(({0: torch.export.Dim("rows", min=2, max=64)},),))
    (name,) = map(str, program.range_constraints)
    assert sizes(read_exported(program, ModelOptions(dims={name: 16}))) == {"inputs_0": 512, "exp": 512}
    with pytest.raises(
        FormatError, match=rf'node "inputs_0": must have a known shape; give the size of {name} as a dim'
    ):
        read_exported(program)


def test_a_warning_names_nodes_whose_inner_memory_is_not_counted() -> None:
    def choose(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda y: y.exp(), lambda y: y.sin(), (x,)).cos()

    assert [warning.message for warning in read_exported(export(choose, X)).warnings] == [
        'node "cond": memory that cond allocates internally is not in the problem'
    ]


def test_a_graph_whose_nodes_call_modules_is_refused() -> None:
    module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    with pytest.raises(FormatError, match=r'node "input_1": must have its value in meta\["val"\]'):
        read_graph(module)
