"""The backend of torch.compile, and planned pools of inductor, compute the same outputs in no more bytes."""

import random
import tomllib
import warnings
from copy import deepcopy
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from memplan.extensions.torch.inside.inductor import planned_pools
from memplan.planner.errors import OptionError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # modules of other packages warn when they are imported
    pytest.importorskip("torch.fx", reason="needs torch")  # plain "torch" could match the folder of these tests
    import torch
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor import config
    from torch._inductor.decomposition import select_decomp_table
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._pytree import tree_leaves

    from memplan.extensions.torch.inside.backend import Partition, _choose_passes, _scheduled_peak, memplan
    from memplan.extensions.torch.inside.tracing import interpret
    from memplan.extensions.torch.tests.torch_counts import peak_of
    from memplan.extensions.torch.tests.torch_zoo import MODELS, Network

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("capacity", [None, "1B"])
@pytest.mark.parametrize("name", ["vgg", "mobilenet_v3", "gpt2", pytest.param("densenet", marks=pytest.mark.deep)])
def test_a_compiled_training_step_computes_the_same_bits_as_eager_mode(name: str, capacity: str | None) -> None:
    torch.manual_seed(1)
    model, inputs = MODELS[name]()
    model.eval()
    eager = deepcopy(model)
    torch._dynamo.reset()
    options = {"inner": "eager", "time_limit_s": 1.0, "capacity": capacity, "over": "warn"}
    compiled = torch.compile(model, backend=memplan, options=options)
    for each in (compiled, eager):
        each(*inputs).square().mean().backward()
    assert all(map(torch.equal, tree_leaves(compiled(*inputs)), tree_leaves(eager(*inputs))))
    for value, expected in zip(model.parameters(), eager.parameters(), strict=True):
        assert torch.equal(value.grad, expected.grad)


def test_a_compiled_graph_keeps_no_tensor_alive_after_its_run() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    torch._dynamo.reset()
    made = torch.compile(model, backend=memplan, options={"inner": "eager"})(torch.ones(2, 4))
    kept = StorageWeakRef(made.untyped_storage())
    del made
    assert kept.expired()


def test_inductors_partition_is_used_unless_it_exceeds_the_capacity() -> None:
    def layers(x: Any, *weights: Any) -> Any:
        for weight in weights:
            x = torch.tanh(x @ weight)
        return x.square().sum()

    peaks: list[int] = []

    def partition_joint(joint: Any, inputs: Any, **others: Any) -> Any:
        for capacity in (1 << 30, 1):
            parts = _choose_passes(Partition(capacity, 1.0, over="warn"), joint, inputs, others)
            peaks.append(max(_scheduled_peak(graph, is_backward=k > 0) for k, graph in enumerate(parts)))
        return parts

    backend = aot_autograd(fw_compiler=interpret, partition_fn=partition_joint, decompositions=select_decomp_table())
    torch._dynamo.reset()
    rows = torch.randn(512, 16, dtype=torch.float64)
    given = rows, *(torch.randn(16, 16, dtype=torch.float64, requires_grad=True) for _ in range(8))
    compiled = torch.compile(layers, backend=backend)
    assert all(map(torch.allclose, *[torch.autograd.grad(run(*given), given[1:]) for run in (compiled, layers)]))
    assert 8 * rows.nbytes <= peaks[0] < 12 * rows.nbytes
    assert peaks[1] < 0.8 * peaks[0]


@pytest.mark.parametrize("name", ["untied", pytest.param("unet", marks=pytest.mark.deep)])
def test_a_compiled_step_stays_within_its_capacity_or_warns(name: str) -> None:
    torch.manual_seed(1)
    inner, inputs = MODELS[name]()
    model = Network(lambda own, *given: own.inner(*given).square().mean(), inner=inner)
    model(*inputs).backward()
    there = 2 * sum(value.nbytes for value in model.parameters())
    there += sum(value.nbytes for value in (*model.buffers(), *inputs))
    whole, held = there + peak_of(lambda: model(*inputs).backward()), []
    for capacity in (2 * whole, whole, int(0.8 * whole), there):
        torch._dynamo.reset()
        options = {"inner": "eager", "capacity": capacity, "over": "warn", "time_limit_s": 1.0}
        compiled = torch.compile(model, backend=memplan, options=options)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            compiled(*inputs).backward()
        is_over = any("capacity: must hold each graph with its gradients" in str(each.message) for each in said)
        held.append(not is_over)
        assert is_over or there + peak_of(lambda run=compiled: run(*inputs).backward()) <= capacity
    assert (held[0], held[-1]) == (True, False)


def test_the_scratch_memory_of_convolutions_counts_toward_the_capacity() -> None:
    model, image = torch.nn.Conv2d(256, 256, 3, padding=1), torch.ones(1, 256, 4, 4)
    model(image).sum().backward()
    there: int = 2 * sum(value.nbytes for value in model.parameters()) + image.nbytes

    def peak_within(capacity: int) -> int:
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=memplan, options={"inner": "eager", "capacity": capacity})
        compiled(image).sum().backward()
        return there + peak_of(lambda: compiled(image).sum().backward())

    peak = peak_within(10 * there)
    assert peak_within(int(1.2 * peak)) <= 1.2 * peak
    with pytest.raises(Exception, match="capacity: must hold each graph"):
        peak_within(int(0.98 * peak))


@pytest.mark.parametrize("trains", [True, False])
def test_a_capacity_that_is_too_small_raises_an_error(trains: bool) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(torch.nn.Linear(64, 64), backend=memplan, options={"inner": "eager", "capacity": "16KiB"})
    with torch.set_grad_enabled(trains), pytest.raises(Exception, match=r"capacity: must hold each graph .*\(16 KiB\)"):
        compiled(torch.ones(8, 64))


def test_torch_finds_the_backend_by_its_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    rows = project["entry-points"]["torch_dynamo_backends"]
    found = [EntryPoint(name, value, "torch_dynamo_backends") for name, value in rows.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: EntryPoints(found))
    torch._dynamo.reset()
    torch._dynamo.backends.registry._discover_entrypoint_backends.cache_clear()
    torch._dynamo.backends.registry._discover_entrypoint_backends()
    compiled = torch.compile(torch.nn.ReLU(), backend="memplan", options={"inner": "eager"})
    assert torch.equal(compiled(torch.tensor([-1.0, 2.0])), torch.tensor([0.0, 2.0]))


@pytest.mark.parametrize(
    ("options", "said"), [({"budget": 1}, "budget"), ({"inner": "triton"}, "inner: must be .*inductor")]
)
def test_unknown_options_of_the_backend_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        memplan(None, (), options=options)


def _layers(x: Any, weight: Any) -> Any:
    """Return the output of layers with sizes that grow with the rows and fixed ones, all multiples of 64 elements."""
    for _ in range(1):
        square = weight @ weight.t()
        x = torch.relu(x @ square) @ weight + torch.relu(x @ weight)
        x = x @ weight.t()
    return x


def test_planned_pools_are_no_larger_than_their_trees_and_outputs_are_equal() -> None:
    torch.manual_seed(2)
    draw, weight = random.Random(3), torch.randn(64, 128) / 16
    # Vectorization is disabled, since torch would compile a probe for each vector unit of the machine.
    plainly = {"force_disable_caches": True, "cpp.vec_isa_ok": False}
    with planned_pools(2.0) as pools, torch.no_grad(), config.patch(plainly):
        compiled = torch.compile(_layers, dynamic=True)
        for rows in (40, 17):
            given = torch.randn(rows, 64)
            assert torch.allclose(compiled(given, weight), _layers(given, weight), atol=1e-5)
    assert any(pool.is_planned for pool in pools)
    for pool in pools:
        for _ in range(20):
            values = {name: draw.randint(2, 500) for name in pool.tree.free_symbols | pool.bytes.free_symbols}
            assert int(pool.bytes.subs(values)) <= int(pool.tree.subs(values))
