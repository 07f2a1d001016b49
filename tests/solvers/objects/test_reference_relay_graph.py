"""Tensors as Relay's planner sees them: sizes, textures, and what makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.solvers.objects.relay_graph import TensorType
from memplan.solvers.objects.relay_tokens import FreeTextures, Token


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("float32", (10,), 40),
        ("float32", (), 4),
        ("int4", (3,), 3),
        ("int4x8", (3,), 12),
        ("bool", (5, 2), 10),
        ("boolx16", (3,), 6),
        ("bfloat16", (2, 3), 12),
        ("float16x4", (0, 7), 0),
    ],
)
def test_sizes_are_whole_bytes_an_element(dtype: str, shape: tuple[int, ...], size: int) -> None:
    assert TensorType(shape, dtype).size() == size


def texture(*shape: int, dtype: str = "float16", scope: str = "global.texture") -> TensorType:
    return TensorType(shape, dtype, scope, "adreno")


@pytest.mark.parametrize(
    ("kind", "sides"),
    [
        (texture(1, 8, 14, 10, 4), (10, 112)),
        (texture(64, 3, 7, 5, 4, scope="global.texture-weight"), (105, 64)),
        (texture(1, 14, 10, 8, 4, scope="global.texture-nhwc"), (80, 14)),
        (texture(6, 5, 4, scope="global.texture-nhwc"), (5, 6)),
    ],
)
def test_textures_are_flattened_to_width_and_height(kind: TensorType, sides: tuple[int, int]) -> None:
    assert kind.texture() == sides


SQUARE = texture(10, 10, 4)


@pytest.mark.parametrize(
    ("other", "is_reused"),
    [
        (SQUARE, True),
        (texture(5, 10, 4), True),
        (texture(2, 10, 4), True),
        (texture(1, 10, 4), False),
        (texture(59, 10, 4), True),  # 59 // 10 is 5, and 5 times is allowed
        (texture(60, 10, 4), False),
        (texture(10, 60, 4), False),
        (texture(10, 10, 4, dtype="float32"), False),
        (texture(10, 10, 4, scope="global.texture-weight"), False),
    ],
)
def test_textures_never_mix_scopes_or_types_nor_sides_more_than_five_times(other: TensorType, is_reused: bool) -> None:
    free, first = FreeTextures(), Token(SQUARE, storage=0)
    free.add(first)
    free.put(first)
    assert (free.take(Token(other, storage=1)) is not None) == is_reused


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"shape": ("n", 4)}, 'shape[0]: must be a number of at least 0, got "n"'),
        ({"shape": (4, -1)}, "shape[1]: must be a number of at least 0, got -1"),
        ({"shape": (4,), "dtype": "float"}, 'dtype: must be a type such as float32 or int8x4, got "float"'),
        (
            {"shape": (4,), "scope": "global.texture"},
            "shape: must have at least 2 axes in global.texture, got [4]",
        ),
        (
            {"shape": (4,), "scope": "local"},
            'scope: must be global, global.texture, global.texture-nhwc, global.texture-weight, got "local"',
        ),
    ],
)
def test_tensors_without_a_size_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as caught:
        TensorType(**wrong)
    assert caught.value.sentences == (sentence,)
