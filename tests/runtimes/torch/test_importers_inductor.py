"""The readers of two PyTorch files: inductor's wrapper code and exported programs."""

import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memplan.extensions.torch.tests.drawn_wrappers import DIALECTS, draw_wrapper
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.verify.verifier import verify
from memplan.programs.models.model_graph import read_model_graph
from memplan.questions.reading import Reader, ReadOptions
from memplan.questions.verify.verify import verdict_on
from tests.runtimes.asked_file import live_peak
from tests.support.depth import seeds

HEAD = "# AOT ID: ['0_inference']\nfrom torch._inductor.hooks import run_intermediate_hooks\n"


def wrapper(*lines: str) -> bytes:
    return (HEAD + "def call(args):\n    arg0_1, = args\n" + "".join(f"    {line}\n" for line in lines)).encode()


def violations(model: ImportedProblem) -> list[str]:
    assert model.own_plan is not None
    return [row.message for row in verify(model.solved_problem, model.own_plan)]


POOLED = (
    "pool1 = empty_strided_cpu((96, ), (1, ), torch.uint8)",
    "buf0 = alloc_from_pool(pool1, 0, torch.float32, (4, 4), (4, 1))",
    "buf1 = alloc_from_pool(pool1, 64, torch.float32, (8, ), (1, ))",
    "cpp_fused_0(arg0_1, buf0)",
    "cpp_fused_1(reinterpret_tensor(buf0, (16, ), (1, ), 0), buf1)",
    "buf2 = buf0  # alloc",
    "extern_kernels.mm(buf1, arg0_1, out=buf2)",
    "del pool1, buf0, buf1",
    "return (buf2, )",
)


def test_buffers_in_pools_are_read_with_their_sizes_and_lifetimes() -> None:
    data = wrapper(*POOLED)
    assert detect(data, "output_code.py") == "inductor"
    model = read_model(data)
    rows = {row.id: (row.size, row.start, row.end, row.pools) for row in model.solved_problem.buffers}
    assert rows == {"buf0": (64, 4, 6, ("pool1",)), "buf1": (32, 5, 8, ("pool1",)), "buf2": (64, 7, 10, ("pool1",))}
    assert (model.own_peak, violations(model)) == (96, [])


def test_verification_names_an_output_view_whose_bytes_are_reused() -> None:
    lines = (
        "buf0 = empty_strided_cpu((4, 4), (4, 1), torch.float32)",
        "cpp_fused_0(arg0_1, buf0)",
        "buf1 = reinterpret_tensor(buf0, (16, ), (1, ), 0)",
        "buf2 = buf0; del buf0  # reuse",
        "cpp_fused_1(arg0_1, buf2)",
        "return (buf1, buf2, )",
    )
    (message,) = violations(read_model(wrapper(*lines)))
    assert message == 'buffers "buf0" and "buf2" share bytes [0, 64) of "buf0", but both are alive in [6, 8)'


def test_verification_names_a_buffer_that_exceeds_its_storage() -> None:
    lines = (
        "buf0 = empty_strided_cpu((8, ), (1, ), torch.int8)",
        "cpp_fused_0(arg0_1, buf0)",
        "buf1 = reinterpret_tensor(buf0, (16, ), (1, ), 0); del buf0  # reuse",
        "cpp_fused_1(buf1)",
        "return ()",
    )
    (message,) = violations(read_model(wrapper(*lines)))
    assert '"buf1"' in message
    assert "8" in message


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            ("buf0 = empty_strided_cpu((s0, ), (1, ), torch.float32)", "f(buf0)", "return (buf0, )"),
            r"got none for s0; .*: dims=s0=1$",
        ),
        (("buf0 = empty_strided_cpu((2.5, ), (1, ), torch.float32)",), 'sizes: must be integers, got "2.5"'),
        (("if arg0_1: f(arg0_1)",), 'line 5: must not branch or loop, got "if"'),
        (("buf0 = empty_strided_cpu((4, ), (1, ), torch.odd)",), 'types: must have a known size, got "odd"'),
        (("buf0 = empty_strided_cpu()",), "line 5: must be as inductor writes it"),
        (("return (arg0_1, )",), "must use buffers that it allocates"),
        (("return (",), "wrapper: must be Python code"),
    ],
)
def test_a_malformed_wrapper_is_refused_with_its_line_or_field(lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_model(wrapper(*lines))


def test_verification_names_an_overwritten_view_of_an_external_kernels_result() -> None:
    lines = (
        "buf0 = extern_kernels.convolution(arg0_1, arg1_1, stride=(1, 1))",
        "assert_size_stride(buf0, (4, 6, 64, 64), (24576, 4096, 64, 1))",
        "buf1 = reinterpret_tensor(buf0, (98304, ), (1, ), 0)",
        "buf2 = empty_strided_cpu((4, 6, 64, 64), (24576, 4096, 64, 1), torch.float32)",
        "cpp_fused_relu_0(buf0, buf2)",
        "buf3 = buf0; del buf0  # reuse",
        "cpp_fused_sin_1(buf2, buf3)",
        "del buf2",
        "return (buf1, buf3, )",
    )
    model = read_model(wrapper(*lines))
    (message,) = violations(model)
    assert message.startswith('buffers "buf0" and "buf3" share bytes [0, 393216) of "buf0", but both are alive in')
    assert [finding.rule for finding in model.warnings] == ["unknown-reuse", "unknown-types"]


KERNEL = (
    "cpp_fused_2 = async_compile.cpp_pybinding([], '''void kernel(const float* in_ptr0, float* {name}) {{{body}}}''')"
)


@pytest.mark.parametrize(
    ("kernel", "peak", "warned"),
    [
        (KERNEL.format(name="out_ptr0", body=""), 1040, []),
        (KERNEL.format(name="in_out_ptr0", body=""), 2064, []),
        (KERNEL.format(name="out_ptr0", body="atomic_add(&out_ptr0[0], 1);"), 2064, []),
        ("", 2064, ["unknown-reuse"]),
        ("@triton.jit\ndef f(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):\n    pass", 2064, ["unknown-reuse"]),
        ("cpp_fused_2 = async_compile.triton('f', '''\n@triton.jit\n"
         "def f(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):\n    pass\n''', device_str='cuda')", 1040, []),
    ],
)  # fmt: skip
def test_a_reuse_whose_first_kernel_only_writes_starts_a_new_buffer(kernel: str, peak: int, warned: list[str]) -> None:
    lines = (
        "buf0 = empty_strided_cpu((256, ), (1, ), torch.float32)",
        "cpp_fused_0(arg0_1, buf0)",
        "buf1 = empty_strided_cpu((4, ), (1, ), torch.float32)",
        "cpp_fused_1(buf0, buf1)",
        "buf2 = empty_strided_cpu((256, ), (1, ), torch.float32)",
        "cpp_fused_3(buf1, buf2)",
        "buf3 = buf0; del buf0  # reuse",
        "cpp_fused_2(buf1, buf3)",
        "return (buf3, )",
    )
    lines = tuple(line.replace("_2(", "_2.run(") if "triton" in kernel else line for line in lines)
    model = read_model(f"{kernel}\n".encode() + wrapper(*lines), "output_code.py")
    assert live_peak(model.problem) == peak
    assert [finding.rule for finding in model.warnings] == warned
    assert (model.own_peak, violations(model)) == (2064, [])


def test_a_reuse_that_an_external_kernel_writes_as_out_argument_starts_a_new_buffer() -> None:
    lines = (
        "buf0 = empty_strided_cpu((4, 4), (4, 1), torch.float32)",
        "cpp_fused_0(arg0_1, buf0)",
        "buf1 = empty_strided_cpu((2, ), (1, ), torch.float32)",
        "cpp_fused_1(buf0, buf1)",
        "buf2 = buf0; del buf0  # reuse",
        "extern_kernels.mm(buf1, arg0_1, out=buf2)",
        "return (buf2, )",
    )
    rows = {row.id: (row.start, row.end) for row in read_model(wrapper(*lines)).problem.buffers}
    assert rows == {"buf0": (2, 5), "buf1": (4, 8), "buf2": (7, 9)}


def test_a_wrapper_with_storages_of_unknown_size_is_never_reported_as_valid() -> None:
    lines = (
        "buf0 = torch.ops.aten.sort.default(arg0_1)",
        "buf1 = buf0[0]",
        "buf2 = buf0[1]",
        "assert_size_stride(buf1, (8, ), (1, ), 'torch.ops.aten.sort.default')",
        "buf3 = empty_strided_cpu((8, ), (1, ), torch.float32)",
        "cpp_fused_0(buf1, buf2, buf3)",
    )
    seen, unseen = (*lines, "return (buf3, )"), "buf2 (line 5, torch.ops.aten.sort.default) are not known"
    reader = Reader(ReadOptions())
    problem = reader.problem(wrapper(*seen))
    assert [row.id for row in problem.buffers] == ["buf1", "buf3"]
    assert any(unseen in warning.message for warning in reader.warnings)
    with pytest.raises(FormatError, match=r"its plan has no known violation, but its validity is unknown: .* buf2"):
        reader.plan_inside(problem)
    wrong = wrapper(*lines, "buf4 = buf1  # reuse", "f(buf3, buf4)", "return (buf1, buf4)")
    again = Reader(ReadOptions())
    plan = again.plan_inside(again.problem(wrong))
    assert again.problem_of_plan is not None
    found = verdict_on(again.problem_of_plan, plan)
    assert (found.valid, len(found.violations)) == (False, 1)


def test_a_wrapper_has_one_arena_per_device_and_accepts_sizes_of_symbols() -> None:
    lines = (
        "s0 = arg0_1.size(0)",
        "buf0 = empty_strided_cuda((s0, 8), (8, 1), torch.float32)",
        "triton_0.run(arg0_1, buf0)",
        "buf1 = empty_strided_cpu((2*s0, ), (1, ), torch.int8)",
        "buf2 = empty_strided_cuda((s0, ), (1, ), torch.int8)",
        "triton_1.run(buf0, buf1, buf2)",
        "return (buf1, buf2, )",
    )
    model = read_model(wrapper(*lines), None, ModelOptions(dims={"s0": 4}))
    rows = {row.id: (row.size, row.pools) for row in model.problem.buffers}
    assert rows == {"buf0": (128, ("cuda",)), "buf1": (8, ("cpu",)), "buf2": (4, ("cuda",))}
    assert model.own_peak == 140
    with pytest.raises(OptionError, match=r'dims: must be a dimension that the wrapper names \(s0\), got "n"'):
        read_model(wrapper(*lines), None, ModelOptions(dims={"s0": 4, "n": 2}))


@pytest.mark.drawn
@pytest.mark.parametrize("version", DIALECTS)
def test_random_wrappers_of_each_version_have_the_drawn_storages_and_live_peak(version: str) -> None:
    for seed in seeds(10):
        drawn = draw_wrapper(seed, version)
        model = read_model(drawn.code)
        assert (violations(model), model.own_peak) == ([], drawn.storages), drawn.code.decode()
        assert live_peak(model.problem) == drawn.live, drawn.code.decode()
        assert violations(read_model(drawn.wrong)) != [], drawn.wrong.decode()


DATA = (Path(__file__).parents[3] / "tests" / "models" / "exported.pt2").read_bytes()
"""A program of a linear layer, a swap of its output's halves, their sums added to a buffer, relu and a reshape."""
DIMS = {"s77": 16}


def change_archive(change: Callable[[Any], None]) -> bytes:
    """Return the archive with its program changed in place by `change`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(DATA)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("models/model.json"):
                program = json.loads(content)
                change(program)
                content = json.dumps(program).encode()
            new.writestr(name, content)
    return out.getvalue()


def resize_program(program: Any, size: str) -> None:
    for row in program["graph_module"]["graph"]["tensor_values"].values():
        for dim in row["sizes"]:
            if "as_expr" in dim:
                dim["as_expr"]["expr_str"] = size


def test_an_exported_program_is_read_from_a_file_without_torch() -> None:
    assert detect(DATA) == "torch-export"
    found = read_model(DATA, "exported.pt2", ModelOptions(dims=DIMS, alignment=1))
    rows = {str(row.id).removeprefix("main/"): (row.size, row.intervals) for row in found.problem.buffers}
    told = {"b_count": (16, -1, 7), "x": (512, -1, 1), "linear": (256, 0, 2), "cat": (256, 1, 5)}
    told |= {"sum_1": (16, 2, 4), "relu": (256, 4, 7), "mul": (16, 5, 7)}
    assert rows == {name: (size, ((start, end),)) for name, (size, start, end) in told.items()}
    assert found.views.aliases == 3
    graph = read_model_graph(DATA, "exported.pt2", ModelOptions(dims=DIMS)).graph
    assert [row.kind for row in graph.ops] == ["fully_connected", "concat", "reduce_sum", "add", "relu", "mul"]


def test_symbolic_sizes_are_evaluated_and_malformed_sizes_refused() -> None:
    with pytest.raises(FormatError, match=r'got none for dimension "s77"; give it, for example: dims=s77=1$'):
        read_model(DATA, "exported.pt2")
    with pytest.raises(OptionError, match=r'dims: must be a dimension that the program names \(s77\), got "n"'):
        read_model(DATA, "exported.pt2", ModelOptions(dims={"n": 2}))
    # Strides of attention contain such an expression.
    square = "Sub(Pow(Symbol('s77', positive=True), Integer(2)), Integer(223))"
    sum_of_two = "Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(1))"
    for text in ("2*s77 + 1", sum_of_two, "Max(33, Mod(s77, 4))", square, "s77**2 - 223"):
        data = change_archive(partial(resize_program, size=text))
        found = read_model(data, "m.pt2", ModelOptions(dims=DIMS, alignment=1))
        assert {row.size for row in found.problem.buffers if row.id == "main/x"} == {33 * 8 * 4}
    for text in ("s77**s77**9", "s77**-1", "open('x')", "s77(", "-s77", "-" * 289 + "s77", "s77*" * 70 + "s77"):
        data = change_archive(partial(resize_program, size=text))
        with pytest.raises(InputError):
            read_model(data, "m.pt2", ModelOptions(dims=DIMS))


def test_an_archive_without_exactly_one_complete_program_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/data/aotinductor/models/x.so", "")
    with pytest.raises(FormatError, match="must contain exactly one program"):
        read_model(out.getvalue(), "m.pt2")
    with pytest.raises(FormatError, match="cut short"):
        read_model(DATA[:5000], "m.pt2")
    with pytest.raises(OptionError, match="dims: must be one size"):
        read_model(DATA, "m.pt2", ModelOptions(dims={"x": (4, 8)}))
