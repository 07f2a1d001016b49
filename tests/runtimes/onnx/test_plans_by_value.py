"""Valid and invalid allocation plans of ONNX Runtime, compared with executions on values."""

import random
from dataclasses import dataclass, field

import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

from memplan.planner.errors import InputError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.verify.verifier import verify
from memplan.runtimes.onnx.allocation_plan import read_of
from tests.runtimes.onnx_models import printed_plan
from tests.support.depth import seeds

_VIEWS, _ELEMENTWISE = ("Reshape", "Identity"), ("Exp", "Relu", "Softmax", "Add")


@dataclass
class _Draft:
    """A model of values of so many rows, and a plan: where each value lies, and how the runtime says it."""

    rows: dict[str, int] = field(default_factory=lambda: {"x": 1})
    nodes: list[tuple[str, list[str], str]] = field(default_factory=list)
    outputs: set[str] = field(default_factory=set)
    home: dict[str, str] = field(default_factory=lambda: {"x": "x"})
    kinds: dict[str, str] = field(default_factory=lambda: {"x": "PreExisting"})

    def is_right(self) -> bool:
        """Return True if, run in the bytes of the plan, each node finds its inputs, and the caller the outputs."""
        held = {name: [""] * rows for name, rows in self.rows.items()}
        held["x"], value = ["x"], {name: name for name in self.rows}
        for op, inputs, name in self.nodes:
            if any(held[self.home[each]][: self.rows[each]] != [value[each]] * self.rows[each] for each in inputs):
                return False
            here, rows = self.home[name], self.rows[name]
            over = [each for each in inputs if self.home[each] == here]
            if over and op in _VIEWS:
                value[name] = value[inputs[0]]
                continue
            if over and (op not in _ELEMENTWISE or any(self.rows[each] != rows for each in over)):
                return False  # an overwritten input must not be read any more
            held[here][:rows] = [name] * rows
        return all(held[self.home[name]][: self.rows[name]] == [value[name]] * self.rows[name] for name in self.outputs)

    def model(self) -> bytes:
        nodes, shapes = [], []
        for op, inputs, name in self.nodes:
            more = [f"s{name}"] if op == "Reshape" else []
            shapes += [helper.make_tensor(each, TensorProto.INT64, [2], [8 * self.rows[name], 8]) for each in more]
            axis = {"axis": 0} if op == "Concat" else {}
            nodes.append(helper.make_node(op, [*inputs, *more], [name], name=name, **axis))
        of = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [8 * n, 8]) for name, n in self.rows.items()}
        ends = [of[name] for name in self.rows if name in self.outputs]
        inner = [of[name] for name in self.rows if name not in self.outputs and name != "x"]
        graph = helper.make_graph(nodes, "drawn", [of["x"]], ends, initializer=shapes, value_info=inner)
        opsets = [helper.make_opsetid("", 21)]
        data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
        return data


def draw_model(seed: int) -> _Draft:
    rng, draft = random.Random(seed), _Draft()
    for k in range(rng.randint(3, 7)):
        name, names = f"v{k}", list(draft.rows)
        op, first = rng.choice([*_ELEMENTWISE, "Concat", "Concat", *_VIEWS]), rng.choice(names[-3:])
        inputs, rows = [first], draft.rows[first]
        if op == "Concat":
            inputs.append(rng.choice(names))
            rows += draft.rows[inputs[1]]
        elif op == "Add":
            inputs.append(rng.choice([each for each in names if draft.rows[each] == rows]))
        draft.nodes.append((op, inputs, name))
        draft.rows[name] = rows
    names = list(draft.rows)
    draft.outputs = {names[-1], *(name for name in names[1:] if rng.random() < 0.25)}
    for op, inputs, name in draft.nodes:
        before = names[1 : names.index(name)]
        homes = [each for each in before if draft.home[each] == each and draft.rows[each] >= draft.rows[name]]
        if op in _VIEWS and inputs[0] != "x" and rng.random() < 0.8:
            draft.home[name] = draft.home[inputs[0]]
        elif homes and rng.random() < 0.6:
            draft.home[name] = rng.choice(homes)
        else:
            draft.home[name] = name
        own = "AllocateOutput" if name in draft.outputs else "Allocate"
        draft.kinds[name] = own if draft.home[name] == name else f"Reuse {names.index(draft.home[name])}"
    return draft


@pytest.mark.drawn
@pytest.mark.parametrize("part", seeds(5))
def test_verify_refuses_every_allocation_plan_that_computes_wrong_values(part: int) -> None:
    counts = {True: 0, False: 0}
    for seed in range(60 * part, 60 * part + 60):
        draft = draw_model(seed)
        try:
            plan = printed_plan(draft.kinds, [name for _, _, name in draft.nodes])
            read = read_of(draft.model(), plan, ModelOptions())
        except InputError:
            continue
        assert read.own_plan is not None
        is_valid = verify(read.problem, read.own_plan) == ()
        assert draft.is_right() or not is_valid, seed
        counts[is_valid] += 1
    assert min(counts.values()) >= 5, counts
