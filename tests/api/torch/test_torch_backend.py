"""The backend of torch.compile: the bits of eager mode, in any order and with operations that run again."""

from __future__ import annotations

import tomllib
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of others' modules, as they are loaded
    pytest.importorskip("torch.fx", reason="needs torch")  # the folder of these tests may be taken for torch itself
    import torch
    from torch.utils._pytree import tree_leaves

    from memplan.api.torch.backend import memplan
    from tests.support.torch_zoo import MODELS

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("capacity", [None, "1B"])
@pytest.mark.parametrize("name", ["vgg", "mobilenet_v3", "unet", "gpt2", "llama", "vit", "mixer", "densenet"])
def test_a_compiled_step_has_the_bits_of_eager_mode(name: str, capacity: str | None) -> None:
    torch.manual_seed(1)
    model, inputs = MODELS[name]()
    model.eval()
    eager = deepcopy(model)
    torch._dynamo.reset()
    options = {"inner": "eager", "time_limit_s": 1.0, "capacity": capacity}
    compiled = torch.compile(model, backend=memplan, options=options)
    for each in (compiled, eager):
        each(*inputs).square().mean().backward()
    assert all(map(torch.equal, tree_leaves(compiled(*inputs)), tree_leaves(eager(*inputs))))
    for value, expected in zip(model.parameters(), eager.parameters(), strict=True):
        assert torch.equal(value.grad, expected.grad)


def test_the_backend_is_found_by_its_name_and_refuses_what_it_does_not_know() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["torch_dynamo_backends"] == {"memplan": f"{memplan.__module__}:{memplan.__name__}"}
    for options, said in (({"budget": 1}, "must be of capacity"), ({"inner": "triton"}, "inner: must be one of")):
        torch._dynamo.reset()
        compiled: Any = torch.compile(torch.nn.ReLU(), backend=memplan, options=options)
        with pytest.raises(Exception, match=said):
            compiled(torch.zeros(2))
