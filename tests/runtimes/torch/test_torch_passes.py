"""Reordering and recomputation of torch.fx modules: the graphs read from modules, and equal bits of the results."""

import warnings
from typing import Any

import pytest

from memplan import OperationsError, OrderOptions, order, order_operations
from memplan.planner.errors import FormatError
from memplan.runtimes.torch.graphs import flops_of, graph_of
from memplan.runtimes.torch.passes import clone_operations, reorder_module, reordered

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # modules of other packages warn when they are imported
    pytest.importorskip("torch.fx", reason="needs torch")  # plain "torch" could match the folder of these tests
    import torch
    from torch._subclasses import FakeTensorMode
    from torch.fx import symbolic_trace
    from torch.fx.experimental.proxy_tensor import make_fx

    from memplan.extensions.torch.inside.tracing import joint_graph, merge_passes

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def _convolutional_network() -> Any:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, padding=1),
        torch.nn.GELU(),
        torch.nn.Conv2d(8, 8, 3, padding=1),
        torch.nn.GELU(),
        torch.nn.Flatten(),
    )


def _traced_training_step(optimized: bool) -> tuple[Any, tuple[Any, ...]]:
    """Return a training step as a graph, and its arguments; if `optimized`, it changes parameters in place."""
    model = _convolutional_network()
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    state = {name: value.clone() for name, value in model.named_buffers()}

    def step(weights: dict[str, Any], x: Any) -> Any:
        leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
        copied = {k: v.clone() for k, v in state.items()}
        loss = torch.func.functional_call(model, (leaves, copied), (x,)).square().sum()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        if optimized:
            for value, gradient in zip(weights.values(), gradients, strict=True):
                value.sub_(gradient * 0.01)
            return loss
        return (loss, *gradients)

    x = torch.randn(2, 3, 8, 8)
    return make_fx(step)(parameters, x), (parameters, x)


def _results_of_run(module: Any, given: tuple[Any, ...]) -> list[Any]:
    """Run a module on copies of its arguments; return its results, followed by the parameters after the run."""
    weights = {name: value.clone() for name, value in given[0].items()}
    return [*torch.utils._pytree.tree_leaves(module(weights, *given[1:])), *weights.values()]


def test_items_of_a_tuple_are_taken_directly_after_its_operation() -> None:
    def smallest(x: Any) -> Any:
        values, places = torch.sort(x)
        return torch.neg(torch.exp(values)), places

    found = graph_of(make_fx(smallest, tracing_mode="fake")(torch.randn(8)))
    targets = [str(node.target) for node in reorder_module(found, range(3)).graph.nodes]
    assert ["getitem" in target for target in targets[2:4]] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("optimized", [False, True])
def test_a_training_step_computes_the_same_bits_after_reordering_and_recomputation(optimized: bool) -> None:
    module, given = _traced_training_step(optimized)
    expected = _results_of_run(module, given)
    found = graph_of(module, cost=flops_of)
    best = order_operations(found.graph, time_limit_s=5, deterministic=True)
    assert best.peak <= best.given_peak
    assert all(map(torch.equal, _results_of_run(reorder_module(found, best.order), given), expected))
    assert all(map(torch.equal, _results_of_run(reordered(module, deterministic=True), given), expected))
    frontier = order(found.graph, OrderOptions(recompute=True, points=3, time_limit_s=2, deterministic=True)).recomputed
    assert len(frontier.points) > 1
    for point in frontier.points:
        assert all(map(torch.equal, _results_of_run(clone_operations(found, point), given), expected))
    backward_first = list(reversed(range(len(found.nodes))))
    with pytest.raises(OperationsError, match="must come after"):
        reorder_module(found, backward_first)


def test_views_are_not_operations_and_costs_are_those_that_torch_counts() -> None:
    def compute_small(x: Any, w: Any) -> Any:
        return (x.t() @ w).view(-1).sin().reshape(2, 8)

    with FakeTensorMode():
        module = make_fx(compute_small)(torch.zeros(4, 4), torch.zeros(4, 4))
    found = graph_of(module, resident=["w_1"], cost=flops_of)
    assert [node.target.__name__ for node in found.nodes] == ["mm.default", "sin.default"]
    assert [row.cost for row in found.graph.ops] == [2 * 4 * 4 * 4, 16]
    assert (found.graph.size, found.graph.resident, found.graph.kept) == ((64, 64, 64, 64), (1,), (3,))


def test_operations_that_draw_random_numbers_run_only_once() -> None:
    def add_noise(x: Any) -> Any:
        kept = torch.rand_like(x)
        return (x * kept).sin() * kept

    assert [row.once for row in graph_of(make_fx(add_noise)(torch.zeros(4))).graph.ops] == [True, False, False, False]


def test_a_joint_graph_is_traced_on_fake_tensors_and_its_partition_merged() -> None:
    from copy import deepcopy

    from torch._functorch.partitioners import min_cut_rematerialization_partition

    with FakeTensorMode():
        w, x = torch.zeros(16, 16, requires_grad=True), torch.zeros(4, 16)
        joint, n_results = joint_graph(lambda x, w: (x @ w).sin().cos().sum(), (x, w))
    graph = graph_of(joint, cost=flops_of).graph
    assert n_results == 1
    assert len(graph.kept) == 2
    again = deepcopy(joint)
    inputs = [node.meta["val"] for node in again.graph.nodes if node.op == "placeholder"]
    given = {"num_fwd_outputs": 1, "static_lifetime_input_indices": []}
    forward, backward = min_cut_rematerialization_partition(again, inputs, **given)
    both = graph_of(merge_passes(forward, backward, n_results), cost=flops_of).graph
    assert len(both.kept) == 2
    assert sum(row.cost or 0 for row in both.ops) >= sum(row.cost or 0 for row in graph.ops)


def test_graphs_whose_nodes_call_modules_are_refused() -> None:
    with pytest.raises(FormatError, match="node"):
        graph_of(symbolic_trace(torch.nn.Sequential(torch.nn.ReLU())))
