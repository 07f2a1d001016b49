"""Expressions over symbols: their normal form, exact evaluation, and proofs of comparisons."""

import ast
import random

import pytest

from memplan.extensions.shapes.verify_programs import value_of
from memplan.planner.errors import ProblemError
from memplan.programs.symbols.comparing import Comparer, samples
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.reading import parse_expression
from memplan.programs.symbols.sized import compile_sizes
from memplan.programs.symbols.space import Space, SymbolRange
from tests.support.symbolic import draw_size, draw_symbols, values_of_all_symbols

SPACE = {"b": SymbolRange(max=64), "n": SymbolRange(min=2, max=2048)}
SPACE["w"] = SymbolRange(min=32, max=1024, multiple_of=32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("align(201028*b*n, 64)", "201024*b*n + 64*((4*b*n + 63)//64)"),
        ("(b*w)//32", "b*(w/32)"),
        ("max(n, b)", "b + max(n - b, 0)"),
        ("min(n, b)", "n + b - max(b, n)"),
        ("ceil_div(n, 8)", "(n + 7)//8"),
        ("n % 4", "n - 4*(n//4)"),
        ("(n + b)**2", "n*n + 2*n*b + b*b"),
        ("FloorDiv(n, 2)*Max(b, 1)", "(n//2)*max(1, b)"),
    ],
)
def test_equal_expressions_have_the_same_normal_form(one: str, other: str) -> None:
    here = Space.from_symbols(SPACE)
    assert parse_expression(one, here, "size") == parse_expression(other, here, "size")


def test_expressions_evaluate_to_the_values_of_their_source_text() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        symbols = draw_symbols(draw)
        text = f"{draw_size(draw, list(symbols))} + {draw_size(draw, list(symbols))}"
        here = Space.from_symbols({name: SymbolRange(**each) for name, each in symbols.items()})
        form = parse_expression(text, here, "size")
        tree, again = (ast.parse(each, mode="eval").body for each in (text, here.text(form)))
        for values in samples(here, 20, seed):
            assert here.value(form, values) == value_of(tree, values) == value_of(again, values), text


def test_a_comparison_proved_for_all_values_holds_at_every_value() -> None:
    proved = 0
    for seed in range(80):
        draw = random.Random(seed)
        symbols = draw_symbols(draw, 2)
        for each in symbols.values():
            each["max"] = min(each["max"], each["min"] + 12 * each["multiple_of"])
        here = Space.from_symbols({name: SymbolRange(**each) for name, each in symbols.items()})
        compare = Comparer(here)
        left, right = (parse_expression(draw_size(draw, list(symbols)), here, "size") for _ in range(2))
        rows = {"symbols": symbols, "buffers": [{"id": "a", "size": 1, "start": 0, "end": 1}]}
        values = values_of_all_symbols(SymbolicProblem.model_validate(rows)) or []
        if compare.is_never_above(left, right):
            proved += 1
            assert all(here.value(left, each) <= here.value(right, each) for each in values)
    assert proved > 10


def test_comparisons_are_proved_for_unbounded_symbols() -> None:
    here = Space.from_symbols({"n": SymbolRange()})
    compare = Comparer(here)
    lower, upper = (parse_expression(text, here, "size") for text in ("64*((4*n + 63)//64)", "4*n + 63"))
    assert compare.is_never_above(lower, upper)
    assert not compare.is_never_above(parse_expression("n*n", here, "size"), parse_expression("1000*n", here, "size"))


@pytest.mark.parametrize(
    ("size", "symbol", "sentence"),
    [
        ("((n - 43)//32)*((m - 43)//32)", {"min": 107}, None),
        ("((n - 43)//32 - 1)*((m - 43)//32 + 3)", {"min": 107, "max": 9999}, None),
        ("(n - 3)*(n - 4)", {"max": 100_000}, None),  # The size is negative only between 3 and 4, and so at no integer.
        ("n*n - 2*m*n + m*m", {"max": 3000}, None),
        ("n*n - 10*n + 24", {"max": 100_000}, "must not be negative, and is -1 at n=5"),
        ("n*n - 6*n + 9", {}, "for which 'n' needs a 'max'"),
    ],
)
def test_only_sizes_that_may_be_negative_are_refused(size: str, symbol: dict[str, int], sentence: str | None) -> None:
    rows = [{"id": "a", "size": size, "start": 0, "end": 1}]
    problem = SymbolicProblem(symbols=dict.fromkeys("nm", symbol), buffers=rows)
    if sentence is None:
        assert compile_sizes(problem).count == 1
        return
    with pytest.raises(ProblemError) as error:
        compile_sizes(problem)
    assert sentence in str(error.value)
