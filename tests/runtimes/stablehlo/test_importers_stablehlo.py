"""Tests of the reader of StableHLO text, on programs that JAX 0.10.2 exported and on small handwritten programs."""

from pathlib import Path

import pytest

from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.programs.models.model_graph import graph_of_imported
from memplan.programs.operations.graph_variants import allow_overwriting
from memplan.programs.operations.order_check import peak_of
from memplan.programs.symbols.comparing import samples
from memplan.programs.symbols.sized import compile_sizes
from memplan.programs.symbols.space import SymbolRange

DUMPS = Path(__file__).parents[3] / "tests" / "dumps"


def dump(name: str) -> bytes:
    return (DUMPS / f"{name}.stablehlo.mlir").read_bytes()


def program(*lines: str, arguments: str = "%arg0: tensor<?x8xf32>", result: str = "tensor<?x8xf32>") -> bytes:
    header = f"  func.func public @main({arguments}) -> {result} {{"
    constant = "    %c = stablehlo.constant dense<1> : tensor<i32>"
    return "\n".join(["module @jit_f {", header, constant, *(f"    {line}" for line in lines), "  }", "}", ""]).encode()


def sizes(data: bytes, **dims: int) -> dict[str, int]:
    problem = read_model(data, options=ModelOptions(dims=dims)).problem
    return {str(row.id).removeprefix("main/"): row.size for row in problem.buffers if row.alias_of is None}


@pytest.mark.parametrize(
    ("name", "symbols", "ranges"),
    [
        ("attention", {"b": SymbolRange(), "n": SymbolRange(max=512)}, {"b": SymbolRange(max=30)}),
        ("convolution", {"b": SymbolRange(), "h": SymbolRange(min=32), "w": SymbolRange(min=4)}, {}),
        ("recurrent", {"t": SymbolRange(min=2), "b": SymbolRange()}, {"b": SymbolRange(max=64)}),
    ],
)
def test_sizes_are_expressions_of_the_symbols_named_by_jax(
    name: str, symbols: dict[str, SymbolRange], ranges: dict[str, SymbolRange]
) -> None:
    data = dump(name)
    assert detect(data) == "stablehlo"
    problem = read_symbolic(data, None, ranges)
    assert problem.symbols == symbols | ranges
    sized = compile_sizes(problem)
    for values in samples(sized.space, 4, seed=9)[-4:]:
        ids = (str(row.id).removeprefix("main/") for row in problem.buffers)
        assert dict(zip(ids, sized.sizes([values])[:, 0].tolist(), strict=True)) == sizes(data, **values)


def test_sizes_at_given_symbols_equal_those_of_the_exported_program() -> None:
    assert [size for name, size in sizes(dump("attention"), b=3, n=40).items() if name.startswith("dot_general")] == [
        *[4 * 3 * 40 * 64] * 3,
        4 * 3 * 4 * 40 * 40,
        4 * 3 * 4 * 40 * 16,
    ]
    convolution = sizes(dump("convolution"), b=2, h=37, w=5)
    expected = {"dynamic_conv.2": 4 * 2 * 19 * 20 * 8, "dynamic_reduce_window.3": 4 * 2 * 10 * 10 * 8}
    expected |= {"pad.4": 4 * 2 * 13 * 10 * 8, "concatenate.5": 4 * 2 * 13 * 20 * 8}
    assert convolution | expected == convolution


def test_a_while_loop_copies_no_values_that_stay_unchanged() -> None:
    recurrent = sizes(dump("recurrent"), b=2, t=5)
    assert [size for name, size in recurrent.items() if name.startswith("while")] == [64, 4 * 2 * 32, 4 * 5 * 2 * 32]
    assert recurrent["arg2"] == 128


def test_unnamed_sizes_are_named_by_their_argument_and_axis() -> None:
    data = program(
        "%0 = stablehlo.tanh %arg0 : tensor<?x8xf32> loc(#loc3)",
        '%1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({',
        "^bb0(%a: tensor<f32>, %b: tensor<f32>):",
        "  %9 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>",
        "  stablehlo.return %9 : tensor<i1>",
        '}) : (tensor<?x8xf32>) -> tensor<?x8xf32> loc("sort"(#loc4))',
        "return %1 : tensor<?x8xf32>",
    )
    assert read_symbolic(data, "f.mlir", {}).symbols == {"arg0_0": SymbolRange()}
    assert sizes(data, **{"arg0.0": 10}) == {"arg0": 320, "tanh.1": 320, "sort.2": 320}
    with pytest.raises(
        FormatError, match=r'arg0.0: must have a size, got none for "arg0.0"; give it, for example: dims=arg0.0=1'
    ):
        sizes(data)
    with pytest.raises(OptionError, match=r"dims: must be a dimension that the program names \(arg0.0\), got"):
        sizes(data, n=4)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("%0 = stablehlo.mystery %arg0 : tensor<?x8xf32>", "line 4 (stablehlo.mystery): must be an operator with"),
        ("%0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<?x8xf32>",
         "line 4 (stablehlo.dynamic_reshape): must have sizes that follow from the sizes of arguments"),
        ("%0 = call @gone(%arg0) : (tensor<?x8xf32>) -> tensor<?x8xf32>", "must call a function of the module"),
        ("%0 = stablehlo.tanh %arg0 : !tuple", "line 4 (stablehlo.tanh): must have tensors as results"),
        ('%0 = "sdy.manual_computation"(%arg0) ({\n^bb0(%1: tensor<?x8xf32>):\nsdy.return %1 : tensor<8xf32>\n'
         '}) : (tensor<?x8xf32>) -> tensor<?x8xf32>', "must not contain operations, as it is unknown how often"),
        ("%0 = ?", "line 4: must be an operation of StableHLO"),
    ],
)  # fmt: skip
def test_an_operation_with_undetermined_results_is_refused_with_its_line(line: str, sentence: str) -> None:
    arguments = "%arg0: tensor<?x8xf32>, %arg1: tensor<2xi32>"
    with pytest.raises(InputError) as error:
        sizes(program(line, "return %0 : tensor<?x8xf32>", arguments=arguments), **{"arg0.0": 4})
    assert sentence in str(error.value)


def test_an_operator_without_a_shape_rule_is_accepted_if_its_result_type_is_static() -> None:
    data = program("%0 = stablehlo.mystery %arg0 : (tensor<?x8xf32>) -> tensor<4xf64>", "return %0 : tensor<4xf64>")
    assert sizes(data, **{"arg0.0": 4})["mystery.1"] == 64


_F8, _I8 = "tensor<8xf32>", "tensor<8xi8>"
_QUANTISED = "tensor<8x!quant.uniform<i8:f32, 0.5:-128>>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"func.func @main() -> {_F8} {{\n %0 = stablehlo.iota dim = 0 : {_F8}\n return %0 : {_F8}\n}}",
            {"iota.0": 64}, id="no arguments, no module"),
        pytest.param(
            f"func.func @f(%a : {_F8}) {{\n stablehlo.custom_call @check(%a) : ({_F8}) -> ()\n func.return\n}}",
            {"a": 64}, id="no results"),
        pytest.param(
            f"func.func @main(%a: {_F8}) -> {_F8} {{ // as it was\n // a line of its own\n"
            f" %0 = stablehlo.tanh %a : {_F8} // behind\n return %0 : {_F8}\n}}",
            {"a": 64, "tanh.1": 64}, id="comments"),
        pytest.param(
            f"func.func @main(%a: {_F8}) -> {_QUANTISED} {{\n"
            f" %0 = stablehlo.uniform_quantize %a : ({_F8}) -> {_QUANTISED}\n return %0 : {_QUANTISED}\n}}",
            {"a": 64, "uniform_quantize.1": 64}, id="quantised types"),
        pytest.param(
            "func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
            " %0 = stablehlo.constant dense<[[1.0, 2.0],\n                            [3.0, 4.0]]> : tensor<2x2xf32>\n"
            " %1 = stablehlo.add %a,\n   %0\n   : tensor<2x2xf32>\n return %1 : tensor<2x2xf32>\n}",
            {"a": 64, "add.1": 64}, id="constants and operations over several lines"),
        pytest.param(
            f"func.func @main(%a: {_F8}) -> {_F8} {{\n %0 = stablehlo.abs %a : {_F8} %1, %2 ="
            f" stablehlo.optimization_barrier %0, %0 : {_F8}, {_F8} return %2 : {_F8} }}",
            {"a": 64, "abs.1": 64, "optimization_barrier.2": 64, "optimization_barrier.3": 64}, id="one line"),
        pytest.param(
            f"func.func @main(%p: tensor<i1>, %a: {_F8}) -> {_F8} {{\n"
            f' %r, %s = "stablehlo.if"(%p) ({{\n  %0 = stablehlo.tanh %a : {_F8}\n'
            f"  stablehlo.return %0, %a : {_F8}, {_F8}\n }}, {{\n  stablehlo.return %a, %a : {_F8}, {_F8}\n"
            f" }}) : (tensor<i1>) -> ({_F8}, {_F8})\n return %r : {_F8}\n}}",
            {"p": 64, "a": 64, "case.3": 64, "case.4": 64}, id="if with regions and two names"),
        pytest.param(
            f"func.func @main(%a: {_F8}) -> {_F8} {{\n"
            f' %0 = stablehlo.composite "b.c" %a {{\n  decomposition = @b.c.impl\n }} : ({_F8}) -> {_F8}\n'
            f" return %0 : {_F8}\n}}\nfunc.func private @b.c.impl(%x: {_F8}) -> {_F8} {{\n"
            f" %0 = stablehlo.exponential %x : {_F8}\n return %0 : {_F8}\n}}",
            {"a": 64, "exponential.1": 64}, id="composites with dots"),
        pytest.param(
            f'"builtin.module"() ({{\n "func.func"() <{{function_type = ({_F8}) -> {_F8}, sym_name = "main"}}> ({{\n'
            f'  ^bb0(%a: {_F8}):\n  %0 = "stablehlo.while"(%a) ({{\n   ^bb0(%x: {_F8}):\n'
            f'    %1 = "stablehlo.constant"() <{{value = dense<true> : tensor<i1>}}> : () -> tensor<i1>\n'
            f'    "stablehlo.return"(%1) : (tensor<i1>) -> ()\n  }}, {{\n   ^bb0(%y: {_F8}):\n'
            f'    %2 = "stablehlo.tanh"(%y) : ({_F8}) -> {_F8}\n    "stablehlo.return"(%2) : ({_F8}) -> ()\n'
            f'  }}) : ({_F8}) -> {_F8}\n  "func.return"(%0) : ({_F8}) -> ()\n }}) : () -> ()\n}}) : () -> ()',
            {"a": 64, "while.1": 64, "tanh.2": 64}, id="the generic form"),
        pytest.param(
            f"func.func @main(%t: !stablehlo.token, %a: {_F8}) -> !stablehlo.token {{\n"
            f" %0 = stablehlo.tuple %a, %a : tuple<{_F8}, {_F8}>\n"
            f" %1 = stablehlo.get_tuple_element %0[1] : (tuple<{_F8}, {_F8}>) -> {_F8}\n"
            f' %2:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> ({_I8}, !stablehlo.token)\n'
            f" %3 = stablehlo.negate %1 : {_F8}\n return %3, %3, %2#1 : {_F8}, {_F8}, !stablehlo.token\n}}",
            {"a": 64, "infeed.1": 64, "negate.2": 64}, id="tokens, tuples, one result twice"),
        pytest.param(
            "!t = tensor<?x4xf32, #stablehlo.bounds<8, ?>>\nfunc.func @main(%a: !t) -> !t {\n"
            " %0 = stablehlo.abs %a : !t\n return %0 : !t\n}",
            {"a": 128, "abs.1": 128}, id="bounds, named types"),
        pytest.param(
            f"func.func @main(%a: {_F8}) -> {_F8} {{\n %w = arith.constant dense<1.0> : {_F8}\n"
            f" %0 = stablehlo.add %a, %w : {_F8}\n return %0 : {_F8}\n}}",
            {"a": 64, "add.1": 64}, id="constants of arith"),
    ],
)  # fmt: skip
def test_syntax_variants_from_the_tests_of_openxla_are_read(text: str, expected: dict[str, int]) -> None:
    assert (detect(text.encode(), "f.mlir"), sizes(text.encode())) == ("stablehlo", expected)


def test_one_error_lists_all_missing_sizes_and_numeric_arguments() -> None:
    text = b"""func.func @main(%n: tensor<i32>, %a: tensor<?x?xf32>) -> tensor<?xf32> {
 // stablehlo
 %0 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
 %1 = stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
 return %1 : tensor<?xf32>
}"""
    with pytest.raises(FormatError, match=r"a.0, a.1: must have sizes.*dims=a.0=1 dims=a.1=1 dims=n=1$"):
        sizes(text)
    assert sizes(text, **{"a.0": 2, "a.1": 3, "n": 100})["dynamic_iota.3"] == 448


def test_a_warning_names_functions_that_are_not_planned() -> None:
    text = "\n".join(f"func.func @f{k}(%a: {_F8}) -> {_F8} {{\n return %a : {_F8}\n}}" for k in range(2))
    (warning,) = read_model(text.encode() + b"// stablehlo.x", "f.mlir").warnings
    assert "the plan covers only @f0, which does not call @f1" in warning.message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"module {{\n ml_program.global private mutable @w : {_F8}\n func.func @main(%a: {_F8}) {{\n return\n }}\n}}",
         "line 2 (ml_program.global): must not be a global: make it an argument of the function"),
        (f"func.func @main(%a: {_F8}) -> {_F8} {{\n cf.br ^bb1(%a : {_F8})\n^bb1(%0: {_F8}):\n return %0 : {_F8}\n}}",
         "line 3: must not have branches between blocks (cf.br)"),
        (f"func.func private @main({_F8}) -> {_F8}\n", "got functions without bodies"),
    ],
)  # fmt: skip
def test_unsupported_parts_of_mlir_are_refused_by_name(text: str, sentence: str) -> None:
    with pytest.raises(FormatError) as error:
        sizes(text.encode() + b"// stablehlo.x")
    assert sentence in str(error.value)


def test_a_warning_states_that_values_which_follow_from_constants_are_not_planned() -> None:
    body = " %c = arith.constant 3 : i32\n %0 = stablehlo.add %c, %c : tensor<i32>\n"
    text = f"func.func @main() -> tensor<i32> {{\n{body} return %0 : tensor<i32>\n}}"
    (warning,) = read_model(text.encode(), "f.mlir").warnings
    assert "values that follow from constants (1, of 4 bytes) are not in the plan" in warning.message
    text = text.replace("@main()", "@main(%a: tensor<i32>)")
    assert read_model(text.encode(), "f.mlir").warnings == ()


def test_elementwise_operations_may_overwrite_inputs_of_equal_size() -> None:
    kind = "tensor<1024xf32>"
    steps = [("exponential", "%0", "%arg0"), ("sine", "%1", "%0"), ("cosine", "%2", "%1")]
    lines = [f"{made} = stablehlo.{name} {given} : {kind}" for name, made, given in steps]
    data = program(*lines, f"return %2 : {kind}", arguments=f"%arg0: {kind}", result=kind)
    given = graph_of_imported(read_model(data)).graph
    assert [peak_of(graph, range(3)) for graph in (given, allow_overwriting(given))] == [8192, 4096]
    convert = b"stablehlo.convert %0 : (tensor<1024xf32>) -> tensor<1024xf16>"
    wide = data.replace(b"stablehlo.sine %0 : tensor<1024xf32>", convert)
    narrow = allow_overwriting(graph_of_imported(read_model(wide.replace(b"return %2", b"return %1"))).graph)
    assert [row.may_overwrite for row in narrow.ops[:2]] == [((0, 0),), ()]


def test_a_finding_names_donated_arguments() -> None:
    kind = "tensor<8xf32>"
    arguments = f"%arg0: {kind} {{tf.aliasing_output = 0 : i32}}, %arg1: {kind} {{jax.buffer_donor = true}}"
    line = f"%0 = stablehlo.add %arg0, %arg1 : {kind}"
    (finding,) = read_model(program(line, f"return %0 : {kind}", arguments=arguments, result=kind)).warnings
    assert finding.rule == "unused-donation"
    assert "%arg0 (tf.aliasing_output = 0), %arg1 (jax.buffer_donor = true)" in finding.message


def test_spaces_after_colons_and_arrows_are_optional() -> None:
    lines = (
        "%0 = stablehlo.constant dense<1.0> : tensor<256xf32>",
        "%1 = stablehlo.add %arg0, %0 : tensor<256xf32>",
        '%2 = "stablehlo.negate"(%1) : (tensor<256xf32>) -> tensor<256xf32>',
        "%3 = stablehlo.custom_call @f(%2) : (tensor<256xf32>) -> tensor<256xf32>",
        "return %3 : tensor<256xf32>",
    )
    spaced = program(*lines, arguments="%arg0: tensor<256xf32>", result="tensor<256xf32>")
    close = spaced.replace(b" : ", b" :").replace(b" -> ", b"->")
    assert close != spaced
    assert read_model(close).problem == read_model(spaced).problem
    assert len(sizes(close)) == 4


@pytest.mark.parametrize(("returned", "peak"), [("%r", 8192), ("%r, %base", 12288)])
def test_a_slice_update_may_overwrite_an_operand_that_is_not_read_later(returned: str, peak: int) -> None:
    kind, one = "tensor<1024xi32>", "tensor<i32>"
    lines = (
        f"%one = stablehlo.constant dense<1> : {kind}",
        f"%base = stablehlo.add %x, %one : {kind}",
        f"%part = stablehlo.slice %base [0:1023] : ({kind}) -> tensor<1023xi32>",
        f"%r = stablehlo.dynamic_update_slice %base, %part, %c : ({kind}, tensor<1023xi32>, {one}) -> {kind}",
        f"return {returned} : {', '.join([kind] * len(returned.split(',')))}",
    )
    result = kind if "," not in returned else f"({kind}, {kind})"
    imported = read_model(program(*lines, arguments=f"%x: {kind}", result=result))
    graph = allow_overwriting(graph_of_imported(imported).graph)
    assert peak_of(graph, range(len(graph.ops))) == peak
