"""ONNX models with symbols as dimensions: each size is an expression, which equals the concrete size for all values."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, TensorProto, helper, numpy_helper

from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.extensions.shapes.symbols.comparing import samples
from memplan.extensions.shapes.symbols.numbers import SymbolicNumber, SymbolicNumbers, max_number, min_number
from memplan.extensions.shapes.symbols.sized import compile_sizes
from memplan.extensions.shapes.symbols.space import SymbolRange, Values
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model

EXPORTED = (Path(__file__).parents[4] / "tests" / "models" / "exported.pt2").read_bytes()
RELAX = b"""# from tvm.script import ir as I
# from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), dtype="float32"), y: R.Tensor(("n", "m"), dtype="float16")) -> R.Object:
        n = T.int64()
        m = T.int64()
        lv: R.Tensor((n * m, 3), dtype="float32") = R.nn.relu(x, y)
        gv: R.Tensor((n + 1, 8 * m), dtype="float32") = R.add(lv, x)
        return gv
"""


def number(name: str, *values: int) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model_bytes(graph: GraphProto) -> bytes:
    return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())


def attention() -> bytes:
    """Return self-attention as exporters write it, whose reshapes take their sizes from the shape of the input."""
    constants = [
        *(number(f"c{k}", k) for k in (0, 1)), number("heads", 4), number("width", 16), number("last", -1),
        number("to", 2**63 - 1), number("half", 2),
        numpy_helper.from_array(np.ones((64, 64), np.float32), "w"),
        numpy_helper.from_array(np.ones((512, 64), np.float32), "table"),
    ]  # fmt: skip
    rows = [
        ("Shape", ["x"], "shape"), ("Gather", ["shape", "c0"], "b"), ("Gather", ["shape", "c1"], "n"),
        ("Slice", ["table", "c0", "n", "c0"], "places"), ("Add", ["x", "places"], "placed"),
        ("MatMul", ["placed", "w"], "q"), ("Concat", ["b", "n", "heads", "width"], "split"),
        ("Reshape", ["q", "split"], "apart"), ("Transpose", ["apart"], "turned"),
        ("MatMul", ["turned", "flipped"], "scores"), ("Transpose", ["turned"], "flipped"),
        ("Add", ["scores", "mask"], "masked"), ("Softmax", ["masked"], "weights"),
        ("MatMul", ["weights", "turned"], "mixed"), ("Transpose", ["mixed"], "back"),
        ("Concat", ["b", "last", "sixtyfour"], "joined"), ("Mul", ["heads", "width"], "sixtyfour"),
        ("Reshape", ["back", "joined"], "whole"), ("Div", ["n", "half"], "middle"),
        ("Slice", ["whole", "c0", "middle", "c1"], "first"), ("Slice", ["whole", "middle", "to", "c1"], "second"),
        ("Concat", ["first", "second"], "exchanged"),
    ]  # fmt: skip
    order = [*range(9), 10, 9, *range(11, 15), 16, 15, *range(17, 22)]
    attributes: dict[str, dict[str, Any]] = {
        "split": {"axis": 0}, "joined": {"axis": 0}, "exchanged": {"axis": 1}, "turned": {"perm": [0, 2, 1, 3]},
        "flipped": {"perm": [0, 1, 3, 2]}, "back": {"perm": [0, 2, 1, 3]},
    }  # fmt: skip
    nodes = [
        helper.make_node(op, given, [out], **attributes.get(out, {})) for op, given, out in map(rows.__getitem__, order)
    ]
    inputs = [
        helper.make_tensor_value_info("x", 1, ["batch", "sequence", 64]),
        helper.make_tensor_value_info("mask", 1, ["batch", 1, 1, "sequence"]),
    ]
    graph = helper.make_graph(
        nodes, "attention", inputs, [helper.make_tensor_value_info("exchanged", 1, None)], constants
    )
    return model_bytes(graph)


def image() -> bytes:
    """Return a small network of images: strides, a pool, rows above each other, a resize and a pad."""
    weight = numpy_helper.from_array(np.ones((8, 3, 3, 3), np.float32), "w")
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Resize", ["c", "", "scales"], ["d"]),
        helper.make_node("Concat", ["d", "d"], ["e"], axis=1),
        helper.make_node("Pad", ["e", "pads"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]),
    ]
    inputs = [helper.make_tensor_value_info("image", 1, [None, 3, "h h", "w?"])]
    outputs = [helper.make_tensor_value_info("g", 1, None)]
    graph = helper.make_graph(nodes, "image", inputs, outputs, [weight, scales, number("pads", 0, 0, 1, 1, 0, 0, 1, 1)])
    return model_bytes(graph)


def node(op: str, *shapes: list[object], **attributes: object) -> bytes:
    inputs = [helper.make_tensor_value_info(f"x{k}", 1, shape) for k, shape in enumerate(shapes)]
    made = [
        helper.make_node(op, [row.name for row in inputs], ["y"], **attributes),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    graph = helper.make_graph(made, "g", inputs, [helper.make_tensor_value_info("z", 1, None)])
    return model_bytes(graph)


def plain_sizes(data: bytes, dims: Values) -> dict[str, int]:
    problem = read_model(data, options=ModelOptions(dims=dict(dims))).problem
    return {str(row.id): row.size for row in problem.buffers if row.alias_of is None}


@pytest.mark.parametrize(
    ("data", "ranges", "names"),
    [
        (attention(), {"batch": SymbolRange(max=9), "sequence": SymbolRange(min=4, max=512, multiple_of=2)}, {}),
        (
            image(),
            {"h h": SymbolRange(min=8, max=300, multiple_of=4), "w?": SymbolRange(min=8, max=90)},
            {"image_0": "image.0", "h_h": "h h", "w_": "w?"},
        ),
        (EXPORTED, {}, {}),
        (RELAX, {"n": SymbolRange(max=70)}, {}),
    ],
)
def test_each_symbolic_size_evaluates_to_the_size_of_the_concrete_model(
    data: bytes, ranges: dict[str, SymbolRange], names: dict[str, str]
) -> None:
    problem = read_symbolic(data, None, ranges)
    sized = compile_sizes(problem)
    for values in samples(sized.space, 4, seed=9)[-4:]:
        found = dict(zip((str(row.id) for row in problem.buffers), sized.sizes([values])[:, 0].tolist(), strict=True))
        assert found == plain_sizes(data, {names.get(name, name): value for name, value in values.items()})
    assert sum(isinstance(row.size, str) for row in problem.buffers) >= 3


def test_the_range_of_a_symbol_comes_from_the_caller_or_else_from_the_file() -> None:
    assert read_symbolic(EXPORTED, None, {}).symbols == {"s77": SymbolRange(min=2, max=64)}
    given = SymbolRange(min=4, multiple_of=4)
    assert read_symbolic(EXPORTED, None, {"s77": given}).symbols == {"s77": given}
    assert read_symbolic(RELAX, None, {}).symbols == {"m": SymbolRange(), "n": SymbolRange()}
    assert read_symbolic(RELAX, None, {}, ModelOptions(dims={"m": 3})).symbols == {"n": SymbolRange()}


def test_a_dimension_may_be_an_expression_of_other_dimensions() -> None:
    problem = read_symbolic(node("Concat", ["n", 4], ["past + 1", 4], axis=0), None, {"past": SymbolRange(max=99)})
    assert list(problem.symbols) == ["n", "past"]
    assert {str(row.id): row.size for row in problem.buffers}["main/y"] == "64*((16*n + 16*past + 15)//64) + 64"


@pytest.mark.parametrize(
    ("data", "ranges", "sentence"),
    [
        (EXPORTED, {"x": SymbolRange()}, 'symbol: must be a named dimension of the model (s77), got "x"'),
        (node("NonZero", ["n"]), {}, 'value "y" of node[0] (NonZero): must have a shape that is known before'),
        (node("Add", ["n", 4], ["m", 4]), {}, "node[0] (Add)"),
        (node("Add", ["n", 4], ["m", 4]), {}, '"n" may have any value from 1; fewer values, such as symbol=n=1..1024'),
        (node("Conv", ["n", 3, "h", 9], [8, 3, 3, 3]), {}, "dimension 2 must be at least 0, which requires larger"),
        (b"\x00\x00\x00\x00ET12", {}, "must be a problem in JSON, or a model whose dimensions have names (relax, onnx"),
    ],
)  # fmt: skip
def test_a_size_without_an_expression_is_refused_and_the_error_names_its_operator(
    data: bytes, ranges: dict[str, SymbolRange], sentence: str
) -> None:
    with pytest.raises(InputError) as error:
        read_symbolic(data, None, ranges)
    assert sentence in str(error.value)


def test_a_model_whose_structure_depends_on_symbol_values_is_refused() -> None:
    halves = [number("halves", 2, -1)]
    inputs = [helper.make_tensor_value_info("x", 1, ["n", 3])]
    nodes = [helper.make_node("Reshape", ["x", "halves"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("z", 1, None)], halves)
    data = model_bytes(graph)
    with pytest.raises(FormatError):
        read_symbolic(data, None, {"n": SymbolRange(max=9)})
    assert read_symbolic(data, None, {"n": SymbolRange(min=2, max=8, multiple_of=2)})


def test_arithmetic_on_symbols_agrees_with_arithmetic_on_numbers() -> None:
    numbers = SymbolicNumbers({"n": SymbolRange(max=40), "m": SymbolRange(min=2, max=60, multiple_of=2)})
    draw = random.Random(5)
    for _ in range(200):
        steps = [draw.choice("+-*/%<>") for _ in range(6)]
        others = [draw.choice(["n", "m", draw.randint(1, 9)]) for _ in steps]

        def compute(n: int, m: int, steps: list[str] = steps, others: list[object] = others) -> int:
            total = n
            for step, other in zip(steps, others, strict=True):
                by = {"n": n, "m": m}.get(str(other), other)
                assert isinstance(by, int)
                plain = by if not isinstance(other, str) else 7
                match step:
                    case "+":
                        total = total + by
                    case "-":
                        total = by - total
                    case "*":
                        total = plain * total
                    case "/":
                        total = total // plain
                    case "%":
                        total = total % plain
                    case "<":
                        total = min_number(total, by)
                    case _:
                        total = max_number(by, total)
            return total

        found = compute(numbers.symbol("n"), numbers.symbol("m"))
        for values in samples(numbers.space, 3):
            value = numbers.space.value(found.form, values) if isinstance(found, SymbolicNumber) else found
            assert value == compute(values["n"], values["m"])


def test_a_comparison_that_depends_on_symbol_values_is_refused() -> None:
    numbers = SymbolicNumbers({"n": SymbolRange(max=40)})
    n = numbers.symbol("n")
    assert n >= 1 and n < 41 and 0 < n and not n > 40 and n == n + 1 - 1 and n != 41  # noqa: PT018, SIM300
    with pytest.raises(FormatError, match="must compare equally for all values, got n <= 7"):
        assert n < 8
    with pytest.raises(FormatError, match="must be divided by a number"):
        assert 64 // n
    assert str(64 * n * n // n) == "64*n"
    with pytest.raises(OptionError):
        read_symbolic(EXPORTED, None, {"s1": SymbolRange()})
