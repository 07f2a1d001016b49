"""Tests of the reader of ggml graphs: lifetimes, in-place operations, ggml's own plan, and symbolic dimensions."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.planner.errors import FormatError, InputError, OperationsError, OptionError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.verify.verifier import verify
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.symbols.space import SymbolRange
from memplan.solvers.portfolio.solve import solve

GRAPHS = Path(__file__).parents[3] / "tests" / "models" / "ggml"
BUFFERS = (
    {"buffer": 0, "size": 0, "type": "CPU", "alignment": 32, "computed": False},
    {"buffer": 1, "size": 4096, "type": "CPU", "alignment": 32, "computed": True},
)


def tensor(number: int, offset: int, size: int = 64, **fields: Any) -> dict[str, Any]:
    row = {"tensor": number, "name": f"t{number}", "type": "f32", "shape": [size // 4, 1, 1, 1], "bytes": size}
    return row | ({} if "view_of" in fields else {"buffer": 1, "offset": offset}) | fields


def node(number: int, op: str, *reads: int) -> dict[str, Any]:
    return {"node": number, "op": op, "reads": list(reads)}


def graph_bytes(*rows: dict[str, Any], **dim: int) -> bytes:
    header = {"format": "ggml-graph/1"} | ({"dim": dim} if dim else {})
    return "".join(f"{json.dumps(row)}\n" for row in (header, *BUFFERS, *rows)).encode()


def recorded_graph(name: str) -> bytes:
    return (GRAPHS / f"{name}.json").read_bytes()


def lifetimes(model: ImportedProblem) -> dict[str, tuple[int | None, int | None]]:
    return {str(row.id).removeprefix("main/"): (row.start, row.end) for row in model.problem.buffers}


def chain(second: str, *later: dict[str, Any]) -> bytes:
    """Return a graph file: an input, its product with a matrix, and an operation `second` that overwrites it."""
    tensors = [tensor(0, 0, input=True), tensor(1, 64), tensor(2, 64), tensor(3, 128, output=True)]
    return graph_bytes(*tensors, node(1, "MUL_MAT", 0), node(2, second, 1), node(3, "MUL_MAT", 2), *later)


def test_ggmls_own_peak_and_the_least_peak_of_lenet_are_those_measured_inside_ggml() -> None:
    model = read_model(recorded_graph("lenet"))
    plan = solve(model.problem)
    assert (len(model.problem.buffers), model.own_peak) == (11, 1_078_784)
    assert (plan.peak, plan.lower_bound) == (802_816, 802_816)
    assert read_model(recorded_graph("llama_block_two_memories")).own_peak == 28_896


def test_tensors_of_ggml_computed_in_place_share_one_buffer() -> None:
    assert lifetimes(read_model(chain("RELU"))) == {"t0": (-1, 1), "t1": (0, 3), "t3": (2, 4)}
    apart = read_model(chain("RELU"), options=ModelOptions(views="separate"))
    assert lifetimes(apart) == {"t0": (-1, 1), "t1": (0, 2), "t2": (1, 3), "t3": (2, 4)}


@pytest.mark.parametrize("data", [chain("MUL_MAT"), chain("RELU", node(3, "ADD", 3, 1))])
def test_verification_names_a_tensor_placed_over_a_tensor_that_is_still_read(data: bytes) -> None:
    model = read_model(data)
    assert model.own_plan is not None
    (violation, *_) = verify(model.problem, model.own_plan)
    assert '"main/t1" and "main/t2" share bytes [64, 128)' in str(violation.message)


def test_an_order_must_read_a_tensor_before_it_is_overwritten() -> None:
    tensors = [tensor(0, 0, input=True), tensor(1, 64), tensor(2, 128), tensor(3, 64), tensor(4, 192, output=True)]
    nodes = [node(1, "MUL_MAT", 0), node(2, "MUL_MAT", 1), node(3, "RELU", 1), node(4, "ADD", 2, 3)]
    graph = read_model_graph(graph_bytes(*tensors, *nodes)).graph
    assert peak_of(graph, (0, 1, 2, 3)) == 192
    with pytest.raises(OperationsError, match="must come after operation 1, got 2"):
        peak_of(graph, (0, 2, 1, 3))


def test_tensors_outside_ggmls_plan_are_state_if_written_and_weights_otherwise() -> None:
    tensors = [tensor(0, 0, buffer=0), tensor(1, 128, buffer=0, size=128), tensor(2, 0, view_of=1, at=64)]
    tensors += [tensor(3, 0), tensor(4, 0, view_of=1, at=64), tensor(5, 64, output=True)]
    nodes = [node(3, "MUL_MAT", 0), node(2, "VIEW", 1), node(4, "CPY", 3, 2), node(5, "MUL_MAT", 0, 1)]
    model = read_model(graph_bytes(*tensors, *nodes))
    found = {str(row.id): (row.size, row.persistent) for row in model.operations.functions["main"].buffers}
    assert found == {"t0": (64, False), "t1": (128, True), "t3": (64, False), "t5": (64, False)}
    assert (set(lifetimes(model)), model.own_peak) == ({"t1", "t3", "t5"}, 4096 + 128)


def test_a_dimension_with_graphs_at_several_sizes_is_a_symbol() -> None:
    data = recorded_graph("llama_block")
    problem = read_symbolic(data, "g.json", {"n_ctx": SymbolRange(min=32, max=4096, multiple_of=32)})
    assert {row.size for row in problem.buffers if "n_ctx" in str(row.size)} == {"4096*(n_ctx//32)", "1024*(n_ctx//32)"}
    with pytest.raises(FormatError, match="n_ctx: must have a size, got none; give it, for example: dims=n_ctx=32"):
        read_model(data)
    with pytest.raises(OptionError, match='dims: must be the dimension n_ctx, in which the graphs differ, got "n"'):
        read_model(data, options=ModelOptions(dims={"n": 8}))
    at, beyond = (read_model(data, options=ModelOptions(dims={"n_ctx": size})) for size in (96, 4096))
    assert at.own_plan is not None
    assert verify(at.problem, at.own_plan) == ()
    assert beyond.own_plan is None
    assert beyond.problem.buffers.size.sum() > 40 * at.problem.buffers.size.sum() / 3


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (graph_bytes({"tensor": 1}), r"line 4: name: is required"),
        (graph_bytes(tensor(1, 0)), r"line 4: must have the number 0, got 1"),
        (graph_bytes(tensor(0, 0, buffer=7)), r"line 4: buffer: must be one of the 2 row numbers above, got 7"),
        (graph_bytes(tensor(0, 0), node(0, "ADD", 5)), r"line 5: reads: must be one of the 1 row numbers above, got 5"),
        (graph_bytes(tensor(0, 0, view_of=0)), r"tensor 0: view_of: must be a tensor that is not a view, got 0"),
        (graph_bytes({"what": 1}), r"line 4: must be an object with one of format, node, tensor, buffer, got"),
        (graph_bytes() + b"{", r"line 4: must be JSON: "),
        (graph_bytes() + graph_bytes(), r"graphs: must have different sizes of the same dimension"),
        (graph_bytes(n=1) + graph_bytes(n=1), r"graphs: must have different sizes of the same dimension"),
        (graph_bytes(n=1) + graph_bytes(tensor(0, 0), n=2),
         r"graphs: must differ only in sizes, got a difference in tensors\[0\]"),
        (graph_bytes(tensor(0, 0, name="GPU#x#0"), tensor(1, 64), node(1, "RELU", 0)),
         r"must not be a copy between backe"),
    ],
)  # fmt: skip
def test_a_malformed_ggml_graph_is_refused_with_location_and_rule(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_model(data)


def test_sizes_are_refused_if_no_additional_graph_confirms_their_polynomial() -> None:
    graphs = b"".join(graph_bytes(tensor(0, 0, size=4 * n * n, input=True), node(0, "NONE"), n=n) for n in (8, 16, 24))
    with pytest.raises(FormatError, match=r'tensor "t0": bytes: must be a polynomial of n that further graphs'):
        read_model(graphs, options=ModelOptions(dims={"n": 32}))
    more = graphs + graph_bytes(tensor(0, 0, size=4 * 32 * 32, input=True), node(0, "NONE"), n=32)
    assert isinstance(read_model(more, options=ModelOptions(dims={"n": 40})), ImportedProgram)
