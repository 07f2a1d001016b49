"""Wrapper code of inductor: its plan is read, a sound one is valid, and a buffer released early is named."""

from __future__ import annotations

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.verify.verifier import verify
from memplan.systems.imported import Imported
from memplan.systems.reading import detect, read_model

HEAD = "# AOT ID: ['0_inference']\nfrom torch._inductor.hooks import run_intermediate_hooks\n"


def wrapper(*lines: str) -> bytes:
    return (HEAD + "def call(args):\n    arg0_1, = args\n" + "".join(f"    {line}\n" for line in lines)).encode()


def violations(model: Imported) -> list[str]:
    assert model.own_plan is not None
    return [row.message for row in verify(model.problem, model.own_plan)]


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


def test_buffers_of_pools_are_read_with_their_bytes_and_times() -> None:
    data = wrapper(*POOLED)
    assert detect(data, "output_code.py") == "inductor"
    model = read_model(data)
    rows = {row.id: (row.size, row.start, row.end, row.pools) for row in model.problem.buffers}
    assert rows == {
        "buf0": (64, 4, 6, ("pool1",)),
        "buf1": (32, 5, 8, ("pool1",)),
        "buf2": (64, 7, 10, ("pool1",)),
    }
    assert (model.own_peak, violations(model)) == (96, [])


def test_an_output_under_a_second_name_whose_bytes_were_released_is_named() -> None:
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


def test_a_buffer_that_ends_behind_its_storage_is_named() -> None:
    lines = (
        "buf0 = empty_strided_cpu((8, ), (1, ), torch.int8)",
        "cpp_fused_0(arg0_1, buf0)",
        "buf1 = reinterpret_tensor(buf0, (16, ), (1, ), 0); del buf0  # reuse",
        "cpp_fused_1(buf1)",
    )
    (message,) = violations(read_model(wrapper(*lines)))
    assert '"buf1"' in message
    assert "8" in message


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("buf0 = empty_strided_cpu((s0, ), (1, ), torch.float32)",), 'sizes: must be numbers, got "s0"'),
        (("buf0 = empty_strided_cpu((4, ), (1, ), torch.odd)",), 'types: must be of a known size, got "odd"'),
        (("buf0 = empty_strided_cpu()",), "line 5: must be as inductor writes it"),
        (("return (arg0_1, )",), "must pass on buffers that it allocates"),
        (("return (",), "wrapper: must be Python"),
    ],
)
def test_what_is_no_plan_is_refused(lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_model(wrapper(*lines))
