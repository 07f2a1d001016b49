"""In-place problems: expected aliases, and random programs executed on the bytes of their plan."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from memplan.planner.errors import OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.problem import Problem
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.models.over_inputs import bounds_in_place
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.operations.graph_facts import OperationFacts, TensorFacts
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.readers.draft import OperationsDraft
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds

SIZE = 64
Step = tuple[str, tuple[str, ...], str]
"""The kind, the inputs and the output of an operation; a view is the kind `reshape`."""


def program(steps: Sequence[Step], results: Sequence[str], params: Sequence[str] = ("x",)) -> ImportedProgram:
    draft = OperationsDraft("drawn", results, ModelOptions(), 1)
    for name in params:
        draft.declare(name, SIZE, "param")
        draft.describe(name, TensorFacts(name=name, shape=(SIZE,), dtype="int8"))
    for kind, inputs, output in steps:
        draft.declare(output, SIZE)
        shape = (1, SIZE) if kind == "reshape" else (SIZE,)
        draft.describe(output, TensorFacts(name=output, shape=shape, dtype="int8"))
        with draft.drawing(OperationFacts(name=kind, kind=kind)):
            if kind == "reshape":
                draft.view(kind, inputs[0], output)
            else:
                draft.operation(kind, inputs, (output,))
    return draft.make_program()


def aliases_of(problem: Problem) -> dict[str, str]:
    rows = (problem.buffers.fields(i) for i in range(len(problem.buffers)))
    return {str(row["id"])[5:]: str(row["alias_of"])[5:] for row in rows if "alias_of" in row}


def test_a_chain_of_operations_overwrites_its_first_input_unless_it_is_spared() -> None:
    model = program([("relu", ("x",), "a"), ("neg", ("a",), "b"), ("relu", ("b",), "y")], ["y"])
    assert aliases_of(model.problem_in_place(())) == {"a": "x", "b": "x", "y": "x"}
    for name in ("x", "main/x"):
        assert aliases_of(model.problem_in_place([name])) == {"b": "a", "y": "a"}
    assert (bounds_in_place(model), bounds_in_place(model, ["x"])) == ((2 * SIZE, SIZE), (2 * SIZE, 2 * SIZE))
    spared = model.problem_in_place(["x"]).buffers
    assert spared.fields(spared.ids.index("main/x"))["end"] == 4
    with pytest.raises(OptionError, match=r'^spare: must name a buffer, such as "main/x", .* got "z"$'):
        model.problem_in_place(["z"])


@pytest.mark.parametrize(
    ("steps", "results", "found"),
    [
        # An input that is read later, by another operation or through a view, is not overwritten.
        ([("relu", ("x",), "a"), ("add", ("x", "a"), "y")], ["y"], {"y": "x"}),
        ([("reshape", ("x",), "v"), ("relu", ("x",), "a"), ("conv", ("v",), "y")], ["a", "y"], {"v": "x"}),
        # A result is not overwritten, and neither is an input of an operation that is not element-wise.
        ([("relu", ("x",), "a"), ("relu", ("a",), "y")], ["a", "y"], {"a": "x"}),
        ([("conv", ("x",), "y")], ["y"], {}),
        # A view of an output that overwrites its input is an alias of that input, too.
        ([("relu", ("x",), "a"), ("reshape", ("a",), "v"), ("conv", ("v",), "y")], ["y"], {"a": "x", "v": "x"}),
        # An input that is also read through a view must not be overwritten.
        ([("reshape", ("x",), "v"), ("add", ("x", "v"), "y")], ["y"], {"v": "x"}),
    ],
)
def test_only_inputs_read_no_more_are_overwritten(steps: list[Step], results: list[str], found: dict[str, str]) -> None:
    assert aliases_of(program(steps, results).problem_in_place(())) == found


def draw_program(rng: random.Random) -> tuple[list[Step], list[str], list[str]]:
    params = ["x", "z"][: rng.randint(1, 2)]
    names, steps = [*params], list[Step]()
    for k in range(rng.randint(2, 8)):
        kind = rng.choice(["relu", "add", "add", "conv", "reshape"])
        steps.append((kind, tuple(rng.choice(names[-4:]) for _ in range(2 if kind == "add" else 1)), f"t{k}"))
        names.append(f"t{k}")
    return steps, sorted({names[-1], rng.choice(names[len(params) :])}), params


def values_from(
    steps: Sequence[Step], params: Sequence[str], wanted: Sequence[str], place: dict[str, int]
) -> dict[str, object]:
    """Execute steps on a memory of bytes; return the operands that each step reads, and the final `wanted` values."""
    memory: dict[int, object] = {}

    def write(name: str, value: object) -> None:
        memory.update(dict.fromkeys(range(place[name], place[name] + SIZE), value))

    def read(name: str) -> object:
        values = {memory.get(at) for at in range(place[name], place[name] + SIZE)}
        return values.pop() if len(values) == 1 else "bytes of several values"

    for name in params:
        write(name, name)
    found: dict[str, object] = {}
    for kind, inputs, output in steps:
        values = tuple(map(read, inputs))
        if kind != "reshape":
            write(output, (kind, values))
            found[output] = values
        elif place[output] != place[inputs[0]]:
            write(output, values[0])
    return found | {f"in the end {name}": read(name) for name in wanted}


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(40))
def test_random_programs_compute_the_same_in_place_and_keep_spared_buffers(seed: int) -> None:
    rng = random.Random(seed)
    steps, results, params = draw_program(rng)
    spared = params[: rng.randint(0, 1)]
    plan = solve(program(steps, results, params).problem_in_place(spared), time_limit_s=5)
    place = {str(row.id)[5:]: row.offset for row in plan.placements}
    # Place unread params, which the plan omits.
    place |= {name: 10**6 + k * SIZE for k, name in enumerate(params) if name not in place}
    apart = {name: k * SIZE for k, name in enumerate([*params, *(output for *_, output in steps)])}
    wanted = [*results, *spared]
    assert values_from(steps, params, wanted, place) == values_from(steps, params, wanted, apart)


def graph(names: Sequence[str] = ()) -> OperationGraph:
    ops = [{"in": [k], "out": [k + 1], "kind": "relu"} for k, _ in enumerate(pairwise(range(4)))]
    tensors = [{"name": name} for name in names]
    return graph_from({"size": [8] * 4, "kept": [3], "ops": ops} | ({"tensors": tensors} if tensors else {}))


@pytest.mark.parametrize("name", ["0", "tensor_0", "image", "main/image"])
def test_order_spares_a_tensor_given_by_name_or_number(name: str) -> None:
    given = graph() if name.endswith("0") else graph(["image", "a", "b", "c"])
    assert order(given, OrderOptions(in_place=True)).written_over[:1] == ((1, 0),)
    found = order(given, OrderOptions(in_place=True, spare=(name,)))
    assert (found.peak, found.written_over) == (16, ((2, 1), (3, 2)))
