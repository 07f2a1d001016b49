"""Wrappers written by the installed torch: all their storages are read, and their own plans are valid."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from memplan.planner.foreign.reading import read_model
from memplan.planner.verify.verifier import verify

torch = pytest.importorskip("torch", reason="needs the extra executorch")
IGNORED = ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings(*IGNORED)]


def network() -> Callable[..., Any]:
    parts = torch.nn
    features = [parts.Conv2d(3, 8, 3), parts.BatchNorm2d(8), parts.ReLU(), parts.Flatten(), parts.Linear(288, 16)]
    model: Callable[..., Any] = parts.Sequential(*features, parts.Softmax(-1)).eval()
    return model


def products(a: Any, b: Any) -> tuple[Any, Any]:
    return torch.relu(a @ b).sin().sum(0), (a @ b).cos()


def count_nonzero(x: Any) -> Any:
    return torch.cumsum(torch.nonzero(x > 0).float(), 0)


CASES: dict[str, tuple[Callable[[], Callable[..., Any]], tuple[tuple[int, ...], ...]]] = {
    "network": (network, ((2, 3, 8, 8),)),
    "products": (lambda: products, ((40, 40), (40, 40))),
    "attention": (lambda: torch.nn.functional.scaled_dot_product_attention, ((1, 2, 16, 8),) * 3),
    "of a size that values decide": (lambda: count_nonzero, ((10,),)),
}


@pytest.mark.parametrize("name", CASES)
def test_all_storages_of_a_wrapper_are_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import async_compile, config
    from torch._inductor.utils import run_and_get_code

    # Only the text of a wrapper is read, so that its kernels need not be compiled; each of them does nothing.
    monkeypatch.setattr(async_compile.AsyncCompile, "cpp_pybinding", lambda *_: lambda *_: None)
    make, shapes = CASES[name]
    torch._dynamo.reset()
    with config.patch({"force_disable_caches": True, "cpp.vec_isa_ok": True}), torch.no_grad():
        _, codes = run_and_get_code(torch.compile(make()), *(torch.randn(shape) for shape in shapes))
    assert codes
    for code in codes:
        read = read_model(code.encode(), "output_code.py")
        assert read.own_plan is not None
        assert verify(read.solved_problem, read.own_plan) == ()
        made = set(re.findall(r"^\s+(buf\d+) = empty_strided", code, re.MULTILINE))
        made |= set(re.findall(r"assert_size_stride\((buf\d+), ", code))
        assert made <= {str(row.id).partition("#")[0] for row in read.solved_problem.buffers}, code
