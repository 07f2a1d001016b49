"""Programs in the wire format: the bytes of their buffers, and the example in the documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memplan.programs.operations.operations import DeclaredBuffer, operations_from


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("int8", [3, 5], 15),
        ("float32", [2, 3], 24),
        ("bfloat16", [7], 14),
        ("float8_e4m3fn", [7], 7),
        ("complex64", [2], 16),
        ("int4", [5], 3),
        ("uint2", [5], 2),
        ("bool", [5], 5),
        ("float32x4", [3], 48),
        ("int8", [], 1),
        ("int64", [0, 9], 0),
    ],
)
def test_a_declared_buffer_has_the_bytes_of_its_type_and_shape(dtype: str, shape: list[int], size: int) -> None:
    assert DeclaredBuffer.model_validate({"id": "a", "dtype": dtype, "shape": shape}).bytes == size


def test_the_json_program_in_liveness_md_is_valid() -> None:
    text = (Path(__file__).parents[3] / "docs" / "liveness.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert set(operations_from(json.loads(block)).functions) == {"main", "convolve"}
