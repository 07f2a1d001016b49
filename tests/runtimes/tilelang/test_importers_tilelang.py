"""Tests of the reader of TileLang kernels: buffers, memories, and bytes that a loop reuses while they are read."""

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.verify.verifier import verify

KERNEL = """# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(X: T.Buffer((4096,), "float32")):
        T.func_attr({"address_map": {a: 0, b: PLACE, c: 1024}, "size_map": {a: 512, b: 512, c: 512}})
        cid = T.launch_thread("blockIdx.x", 16)
        a = T.allocate([128], "float32", "shared")
        with T.allocate([128], "float32", "shared") as b:
            c = T.allocate([128], "float32", "wmma.accumulator")
            c_1 = T.Buffer((128,), "float32", data=c, scope="wmma.accumulator")
BODY
"""


def pointer(name: str, kind: int) -> str:
    return f'T.tvm_access_ptr(T.type_annotation("float32"), {name}, 0, 128, {kind})'


def step(writes: str, *reads: str) -> str:
    return f'T.call_extern("handle", "tl::add", {", ".join([writes, *(pointer(name, 1) for name in reads)])})'


def kernel(place: int, *lines: str) -> bytes:
    return KERNEL.replace("PLACE", str(place)).replace("BODY", "\n".join(f"{12 * ' '}{row}" for row in lines)).encode()


def messages(data: bytes) -> list[str]:
    model = read_model(data)
    assert model.own_plan is not None
    return [row.message for row in verify(model.problem, model.own_plan)]


LOOP = (step(pointer("a", 2)), "for i in T.serial(8):", "    " + step(pointer("c", 2), "a"))


def test_verification_names_a_buffer_whose_bytes_a_loop_reuses_while_reading_it() -> None:
    lines = (*LOOP, "    " + step(pointer("b", 2), "c"), "    " + step(pointer("X.data", 2), "b"))
    assert detect(kernel(512, *lines), "kernel.txt") == "tilelang"
    model = read_model(kernel(512, *lines))
    pools = {"main/a": ("shared",), "main/b": ("shared",), "main/c": ("wmma.accumulator",)}
    assert {str(row.id): row.pools for row in model.problem.buffers} == pools
    assert (model.own_peak, messages(kernel(512, *lines))) == (1024 + 1536, [])
    message = 'buffers "main/a" and "main/b" share bytes [256, 512) of "shared", but both are alive in [2, 4)'
    assert messages(kernel(256, *lines)) == [message]
    after = (*LOOP, step(pointer("b", 2), "c"), step(pointer("X.data", 2), "b"))
    assert messages(kernel(0, *after)) == []


def test_element_accesses_are_reads_or_writes_and_a_bare_name_counts_as_both() -> None:
    model = read_model(kernel(0, "c_1[0] = T.float32(0)", "if c_1[0] < cid:", "    c_1[1] = c_1[0]", "T.evaluate(c)"))
    assert [(row.start, row.end) for row in model.problem.buffers] == [(0, 4)]


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b'@T.prim_func\ndef f(:\n"address_map": {', "must be TVMScript"),
        (
            kernel(0).replace(b"def main", b"def other") + kernel(0),
            "must contain exactly one kernel with an address_map",
        ),
        (kernel(0).replace(b"a: 0, b: 0", b'a: 0, b: "x"'), "address_map: must map each buffer to an integer"),
        (kernel(0).replace(b'"size_map"', b'"sizes"'), "size_map: must map each buffer to an integer"),
        (kernel(0).replace(b"b: 512", b"d: 512"), 'buffer "b": must have a memory and a size in size_map'),
        (kernel(0).replace(b"b: 512", b"b: 99999999999999999999"), 'buffer "b": must be 0 to .* bytes, got 9'),
    ],
)
def test_a_tilelang_kernel_with_missing_facts_is_refused(data: bytes, rule: str) -> None:
    with pytest.raises(FormatError, match=rule):
        read_model(data)
