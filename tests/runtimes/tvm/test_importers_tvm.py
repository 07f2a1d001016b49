"""Tests of the readers of TVM's graphs and Relax programs: lifetimes, views, weights, and storages read as a plan."""

import re
import textwrap
from typing import Any

import pytest

from memplan.planner.errors import FormatError, OptionError
from memplan.planner.foreign.imported import ImportedProblem, ViewFacts
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.instance.canonical import problem_hash
from memplan.programs.lifetimes.shadow import shadow
from memplan.solvers.portfolio.solve import solve
from tests.support.dump_files import dump_bytes, graph, node, perceptron


def rows(found: ImportedProblem) -> dict[str, tuple[int | None, int | None, int]]:
    return {str(row.id).removeprefix("main/"): (row.start, row.end, row.size) for row in found.problem.buffers}


def test_an_output_is_alive_from_its_node_to_its_last_reader() -> None:
    expected = {"x": (-1, 1, 256), "dense": (0, 2, 128), "reshape": (1, 3, 128), "relu": (2, 4, 128)}
    expected |= {"split:0": (3, 5, 64), "split:1": (3, 5, 64)}
    assert rows(read_model(perceptron(), options=ModelOptions(views="separate", alignment=1))) == expected


def test_a_nop_node_of_tvm_is_read_as_a_view() -> None:
    found = read_model(perceptron())
    assert found.views == ViewFacts(aliases=1, alias_bytes=128)
    assert [row.alias_of for row in found.problem.buffers if row.id == "main/reshape"] == ["main/dense"]


def test_weights_are_not_planned_and_a_returned_weight_is_copied() -> None:
    nodes = [node("x"), node("p0"), node("add", "fused_add", (0, 0, 0), (1, 0, 0))]
    found = read_model(graph(nodes, [(4,)] * 3, [0, 1, 2], [[2, 0, 0], [1, 0, 0]]))
    assert (set(rows(found)), found.operations.functions["main"].constants) == ({"x", "add", "#copy of p0"}, ("p0",))


def test_tvms_own_peak_is_the_sum_of_its_storages() -> None:
    nodes = [node("x"), *(node(name, "fused", (k, 0, 0)) for k, name in enumerate("abc"))]
    found = read_model(graph(nodes, [(64,), (16,), (32,), (16,)], [0, 1, 2, 1], [[3, 0, 0]]))
    assert found.own_peak == 256 + 64 + 128
    plan = solve(found.problem)
    assert (plan.status, plan.peak, shadow(found.operations, plan)) == ("optimal", 320, ())


def test_each_device_of_a_graph_is_a_pool() -> None:
    nodes = [node("x"), node("copied", "__copy", (0, 0, 0)), node("same", "__nop", (1, 0, 0))]
    columns: dict[str, Any] = {"device_index": ["list_int", [1, 2, 2]]}
    found = read_model(graph(nodes, [(4,)] * 3, [0, 1, 1], [[2, 0, 0]], **columns))
    assert [pool.name for pool in found.problem.pools] == ["device 1, global", "device 2, global"]
    pools = {row.id: row.pools for row in found.problem.buffers if row.alias_of is None}
    assert pools == {"main/x": ("device 1, global",), "main/same": ("device 2, global",)}


def test_elements_of_tvm_tensors_take_whole_bytes() -> None:
    nodes = [node("x"), node("y", "fused", (0, 0, 0))]
    for dtype, size in (("int4", 5), ("float16x2", 20), ("bool", 5)):
        found = read_model(graph(nodes, [(5,)] * 2, [0, 1], [[1, 0, 0]], dtype), options=ModelOptions(alignment=1))
        assert {row.size for row in found.problem.buffers} == {size}


def test_outputs_of_nodes_with_equal_names_get_unique_names() -> None:
    nodes = [node("x"), node("y", "f", (0, 0, 0)), node("y", "f", (1, 0, 0))]
    assert list(rows(read_model(graph(nodes, [(4,)] * 3, [0, 1, 2], [[2, 0, 0]])))) == ["x", "y#1", "y#2"]


ALLOCATED, PLANNED = dump_bytes("network_allocated.relax", "network_planned.relax")


def function(*lines: str, params: str = 'x: R.Tensor((4, "n"), dtype="float32")', attrs: str = "{}") -> bytes:
    """Return a Relax module whose `main` consists of `lines`, with `params` and `attrs`."""
    body = "".join(f"        {line}\n" for line in (f"R.func_attr({attrs})", "cls = Module", *lines))
    return f"""\
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main({params}) -> R.Object:
{body}""".encode()


def import_module(data: bytes, **options: Any) -> ImportedProblem:
    return read_model(data, options=ModelOptions(**{"dims": {"n": 16}} | options))


def sizes(found: ImportedProblem) -> dict[str, int]:
    return {str(row.id).removeprefix("main/"): row.size for row in found.problem.buffers}


def test_planned_storages_are_read_as_a_plan_of_the_same_problem() -> None:
    allocated, planned = read_model(ALLOCATED), read_model(PLANNED)
    assert problem_hash(allocated.problem) == problem_hash(planned.problem)
    assert allocated.own_peak is None
    assert (planned.own_peak, solve(planned.problem).peak) == (3136 + 2 * 21632 + 64 + 64, 2 * 21632)


def test_findings_report_workspaces_and_in_place_calls_that_are_not_planned() -> None:
    assert [each.rule for each in read_model(dump_bytes("mlp_fused.relax")[0]).warnings] == ["unknown-workspaces"]
    tied = 'lv = R.call_tir_inplace(cls.f, (x,), out_sinfo=R.Tensor((4, 16), dtype="float32"), inplace_indices=[0])'
    assert [each.rule for each in import_module(function(tied, "return lv")).warnings] == ["in-place-unused"]


def test_params_after_the_inputs_are_weights() -> None:
    assert set(sizes(read_model(ALLOCATED))) == {"image", "alloc", "alloc1", "alloc2", "alloc3", "alloc4"}
    params = 'x: R.Tensor((1,), "int8"), w: R.Tensor((2,), "int8")'
    data = function("return (x, w)", params=params, attrs='{"num_input": 1}')
    assert set(sizes(import_module(data, dims={}))) == {"x", "#copy of w"}


def test_values_in_tuples_and_views_are_planned() -> None:
    tensor = 'R.Tensor((4, n), dtype="float32")'
    lines = [
        "n = T.int64()",
        "with R.dataflow():",
        f"    a: {tensor} = R.nn.relu(x)",
        '    b: R.Tensor((n, 4), dtype="float32") = R.reshape(a, R.shape([n, 4]))',
        f'    c: R.Tuple({tensor}, R.Tensor((2,), dtype="int8")) = R.split(b)',
        "    d = c[1]",
        "    s: R.Shape = R.shape_of(a)",
        "    t = s, c[0]",
        "    e = t[1], a",
        "    R.output(d)",
        "return (e[0], e[1], d)",
    ]
    found = import_module(function(*lines))
    assert sizes(found) == {"x": 256, "a": 256, "b": 256, "c:0": 256, "c:1": 64}
    assert found.views == ViewFacts(aliases=1, alias_bytes=256)
    assert found.operations.functions["main"].results == ("c:0", "a", "c:1")


def test_a_packed_builtin_reshape_is_a_view() -> None:
    line = "y: R.Tensor((n, 4), dtype='float32') = R.call_packed('%s', a, R.shape([n, 4]))"
    first = "a: R.Tensor((4, n), dtype='float32') = R.f(x)"
    for name, aliases in (("vm.builtin.reshape", 1), ("own.reshape", 0)):
        assert import_module(function(first, line % name, "return y")).views.aliases == aliases


def test_each_named_dimension_needs_a_size() -> None:
    data = function("return x")
    assert sizes(import_module(data, alignment=1)) == {"x": 256}
    with pytest.raises(
        FormatError, match=r'line 7: must have a size, got none for "n"; give it, for example: dims=n=1'
    ):
        import_module(data, dims={})
    with pytest.raises(OptionError, match=r'must be a named dimension of the program \(n\), got "m"'):
        import_module(data, dims={"n": 1, "m": 1})


def test_a_module_needs_a_function_main_or_only_one() -> None:
    data = function("return x")
    twice = data + data.split(b"class Module:\n")[1].replace(b"def main", b"def other")
    assert sizes(import_module(twice)) == {"x": 256}
    with pytest.raises(FormatError, match=r'a function main, or only one function, .* got \["first", "other"\]'):
        import_module(twice.replace(b"def main", b"def first"))


FUSED = """
    @R.function(private=True)
    def fused(x: R.Tensor((64,), dtype="float32")) -> R.Tensor((64,), dtype="float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            y: R.Tensor((64,), dtype="float32") = R.exp(x)
            gv: R.Tensor((64,), dtype="float32") = R.sin(y)
            R.output(gv)
        return gv
"""


def test_a_call_of_a_fused_operator_is_one_kernel() -> None:
    data = function('y: R.Tensor((64,), dtype="float32") = cls.fused(x)', "return y") + FUSED.encode()
    assert sizes(import_module(data)) == {"x": 256, "y": 256}
    with pytest.raises(FormatError, match="must not call another Relax function"):
        import_module(data.replace(b'"Primitive": True', b'"global_symbol": "fused"'))


TOLD = [
    'lv = R.call_tir(cls.f, (x,), out_sinfo=R.Tensor((4, "n * 2"), dtype="float32"))',
    'pair = R.call_packed("g", lv, sinfo_args=(R.Tensor((n + 1,), dtype="int8"), R.Tensor((3,), dtype="int8")))',
    "return pair",
]


def test_the_stated_type_of_a_call_is_the_size_of_its_result() -> None:
    assert sizes(import_module(function(*TOLD))) == {"x": 256, "lv": 512, "pair:0": 64, "pair:1": 64}


def test_allocations_with_named_arguments_are_read_like_positional_ones() -> None:
    names = {"allocated": ALLOCATED, "planned": PLANNED}
    for data in names.values():
        named = re.sub(rb', 0, R.str\("global"\), R.dtype\("(\w+)"\)', rb', virtual_device_index=0, dtype="\1"', data)
        named = re.sub(rb', R.dtype\("(\w+)"\), 0, R.str\("global"\)', rb', dtype="\1", runtime_device_index=0', named)
        assert named != data
        first, second = read_model(data), read_model(named)
        assert (first.problem, first.own_plan, first.own_peak) == (second.problem, second.own_plan, second.own_peak)


def test_python_code_may_contain_only_one_module() -> None:
    module = function("return x").decode().split("\n\n", 1)[1].replace("@I.ir", "@tvm.script.ir")
    inside = textwrap.indent(module, "    ")
    source = f"# a licence\nimport tvm\n\ndef test_it():\n{inside}\n    check(Module)\n"
    assert sizes(import_module(source.encode())) == {"x": 256}
    with pytest.raises(FormatError, match=r"must have one module .keep the module to plan.*line 6.*line 16"):
        import_module(f"{source}\n{inside.replace('class Module', 'class Expected')}".encode())


def test_a_size_with_too_many_operations_is_refused() -> None:
    with pytest.raises(FormatError, match="line 10: must be computed in at most 50 steps"):
        import_module(function("y: R.Tensor((" + "1 + " * 2000 + "1,), 'int8') = R.f(x)"))


@pytest.mark.parametrize("attrs", ["", ', "attrs": {"mxnet_version": ["int", 10300]}'])
def test_the_refusal_of_an_uncompiled_graph_names_nnvm_and_mxnet(attrs: str) -> None:
    nodes = '[{"op": "null", "name": "data", "inputs": []}, {"op": "dense", "name": "fc", "inputs": [[0, 0, 0]]}]'
    graph = f'{{"nodes": {nodes}, "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]]{attrs}}}'
    with pytest.raises(FormatError, match=r"got an uncompiled graph of NNVM, or a symbol file of MXNet") as caught:
        read_model(graph.encode())
    assert "compile it with TVM" in str(caught.value.__notes__ if hasattr(caught.value, "__notes__") else caught.value)
