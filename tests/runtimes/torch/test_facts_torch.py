"""Facts read from torch graphs other than bytes and order: kinds and attributes of operations."""

from types import SimpleNamespace

import pytest

from memplan.programs.models.model_graph import graph_of_imported
from memplan.runtimes.torch import fx
from memplan.runtimes.torch.facts import node_facts


def test_pads_that_torch_lists_last_axis_first_are_converted_to_axis_order() -> None:
    image = SimpleNamespace(meta={"val": SimpleNamespace(shape=(1, 3, 8, 8))})
    names = ("self", "pad")
    arguments = [SimpleNamespace(name=name, kwarg_only=False) for name in names]
    schema = SimpleNamespace(name="aten::constant_pad_nd", arguments=arguments)
    node = SimpleNamespace(name="pad", target=SimpleNamespace(_schema=schema), args=(image, (1, 2, 3, 4)), kwargs={})
    facts = node_facts(node, 0)
    assert (facts.kind, facts.attributes) == ("pad", {"pads": (0, 0, 3, 1, 0, 0, 4, 2)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_operations_of_exported_programs_have_kinds_and_attributes() -> None:
    torch = pytest.importorskip("torch")
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3, 2, 1, groups=3), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
    program = torch.export.export(layers.eval(), (torch.zeros(1, 3, 8, 8),)).run_decompositions()
    found = graph_of_imported(fx.read_exported(program)).graph
    assert [row.kind for row in found.ops] == ["depthwise_conv2d", "relu", "max_pool2d"]
    assert (found.ops[0].attributes["pads"], found.ops[2].attributes["strides"]) == ((1, 1, 1, 1), (2, 2))
    assert [found.tensors[k].role for k in found.resident] == ["weight", "weight"]
