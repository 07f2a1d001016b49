"""ONNX models with symbols as dimensions: each size is an expression, which equals the concrete size for all values."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.numbers import SymbolicNumber, SymbolicNumbers, max_number, min_number
from memplan.programs.symbols.sized import compile_sizes
from memplan.programs.symbols.space import SymbolRange, Values
from tests.runtimes.onnx_models import model, node, value

EXPORTED = (Path(__file__).parents[3] / "tests" / "models" / "exported.pt2").read_bytes()
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


def attention() -> bytes:
    """Return self-attention as exporters write it, whose reshapes take their sizes from the shape of the input."""
    numbers = {"c0": 0, "c1": 1, "heads": 4, "width": 16, "last": -1, "to": 2**63 - 1, "half": 2}
    constants = {name: np.array([number]) for name, number in numbers.items()}
    constants |= {"w": np.ones((64, 64), np.float32), "table": np.ones((512, 64), np.float32)}
    rows = [
        ("Shape", "x", "shape"), ("Gather", "shape c0", "b"), ("Gather", "shape c1", "n"),
        ("Slice", "table c0 n c0", "places"), ("Add", "x places", "placed"), ("MatMul", "placed w", "q"),
        ("Concat", "b n heads width", "split"), ("Reshape", "q split", "apart"), ("Transpose", "apart", "turned"),
        ("Transpose", "turned", "flipped"), ("MatMul", "turned flipped", "scores"), ("Add", "scores mask", "masked"),
        ("Softmax", "masked", "weights"), ("MatMul", "weights turned", "mixed"), ("Transpose", "mixed", "back"),
        ("Mul", "heads width", "sixtyfour"), ("Concat", "b last sixtyfour", "joined"),
        ("Reshape", "back joined", "whole"), ("Div", "n half", "middle"),
        ("Slice", "whole c0 middle c1", "first"), ("Slice", "whole middle to c1", "second"),
        ("Concat", "first second", "exchanged"),
    ]  # fmt: skip
    attributes: dict[str, dict[str, Any]] = {
        "split": {"axis": 0}, "joined": {"axis": 0}, "exchanged": {"axis": 1}, "turned": {"perm": [0, 2, 1, 3]},
        "flipped": {"perm": [0, 1, 3, 2]}, "back": {"perm": [0, 2, 1, 3]},
    }  # fmt: skip
    nodes = [node(op, given, out, **attributes.get(out, {})) for op, given, out in rows]
    inputs = [value("x", ["batch", "sequence", 64]), value("mask", ["batch", 1, 1, "sequence"])]
    return model(nodes, inputs, [value("exchanged", None)], **constants)


def image() -> bytes:
    """Return a small network of images: strides, a pool, rows above each other, a resize and a pad."""
    constants = {"w": np.ones((8, 3, 3, 3), np.float32), "scales": np.array([1, 1, 2, 2], np.float32)}
    constants["pads"] = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    nodes = [
        node("Conv", "image w", "a", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", "c - scales", "d"),
        node("Concat", "d d", "e", axis=1),
        node("Pad", "e pads", "f"),
        node("Flatten", "f", "g"),
    ]
    return model(nodes, [value("image", [None, 3, "h h", "w?"])], [value("g", None)], **constants)


def relu_after(op: str, *shapes: list[Any], **attributes: object) -> bytes:
    """Return a model of one operator, whose output a Relu reads."""
    inputs = [value(f"x{k}", shape) for k, shape in enumerate(shapes)]
    names = " ".join(row.name for row in inputs)
    return model([node(op, names, "y", **attributes), node("Relu", "y", "z")], inputs, [value("z", None)])


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
def test_symbolic_sizes_equal_concrete_ones(data: bytes, ranges: dict[str, SymbolRange], names: dict[str, str]) -> None:
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
    data = relu_after("Concat", ["n", 4], ["past + 1", 4], axis=0)
    problem = read_symbolic(data, None, {"past": SymbolRange(max=99)})
    assert list(problem.symbols) == ["n", "past"]
    assert {str(row.id): row.size for row in problem.buffers}["main/y"] == "64*((16*n + 16*past + 15)//64) + 64"


@pytest.mark.parametrize(
    ("data", "ranges", "sentence"),
    [
        (EXPORTED, {"x": SymbolRange()}, 'symbol: must be a named dimension of the model (s77), got "x"'),
        (relu_after("NonZero", ["n"]), {}, 'value "y" of node[0] (NonZero): must have a shape that is known before'),
        (relu_after("Add", ["n", 4], ["m", 4]), {}, "node[0] (Add)"),
        (relu_after("Add", ["n", 4], ["m", 4]), {}, '"n" may have any value from 1; fewer values, such as symbol=n='),
        (relu_after("Conv", ["n", 3, "h", 9], [8, 3, 3, 3]), {}, "dimension 2 must be at least 0, which requires"),
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
    nodes = [node("Reshape", "x halves", "y"), node("Relu", "y", "z")]
    data = model(nodes, [value("x", ["n", 3])], [value("z", None)], halves=np.array([2, -1]))
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
    n = SymbolicNumbers({"n": SymbolRange(max=40)}).symbol("n")
    assert n >= 1 and n < 41 and 0 < n and not n > 40 and n == n + 1 - 1 and n != 41  # noqa: PT018, SIM300
    with pytest.raises(FormatError, match="must compare equally for all values, got n <= 7"):
        assert n < 8
    with pytest.raises(FormatError, match="must be divided by a number"):
        assert 64 // n
    assert str(64 * n * n // n) == "64*n"
    with pytest.raises(OptionError):
        read_symbolic(EXPORTED, None, {"s1": SymbolRange()})
