"""Operations as Relay's planner sees them: sizes, textures, and what makes no sense."""

from __future__ import annotations

import pytest

from lab.relay_storages import Operation, RelayCall, RelayParameter, Storage, plan_storages
from memplan.solvers.objects.relay_tokens import TensorType

BUFFER = TensorType((1,), "uint8")


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


SQUARE = texture(10, 10, 4)


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
    assert plan_storages([RelayParameter("x", kind)], ["x"]).storages == (Storage(0, "adreno", kind.scope, sides),)


def textures(*types: TensorType) -> list[tuple[int, ...]]:
    """Return the ids of a chain of calls: the third may have the storage of the first, and so on."""
    operations: list[Operation] = [RelayParameter("t", TensorType((1,), "uint8"))]
    operations += [RelayCall(f"t{i}", ("t" if i == 0 else f"t{i - 1}",), (kind,)) for i, kind in enumerate(types)]
    plan = plan_storages(operations, [operations[-1].name])
    return [plan.ids[operation.name] for operation in operations[1:]]


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
        (TensorType((10, 10, 4), "float16"), False),
    ],
)
def test_textures_never_mix_scopes_or_types_nor_sides_more_than_five_times(other: TensorType, is_reused: bool) -> None:
    first, _, third = textures(SQUARE, BUFFER, other)
    assert (first == third) == is_reused


def test_a_texture_grows_where_none_is_large_enough_and_is_then_not_free_again() -> None:
    operations: list[Operation] = [RelayParameter("t", BUFFER)]
    kinds = (SQUARE, BUFFER, texture(12, 9, 4), BUFFER, SQUARE)
    operations += [RelayCall(f"t{i}", ("t" if i == 0 else f"t{i - 1}",), (kind,)) for i, kind in enumerate(kinds)]
    plan = plan_storages(operations, ["t4"])
    first, grown, last = (plan.ids[name][0] for name in ("t0", "t2", "t4"))
    assert first == grown != last
    assert plan.storages[first].texture == (10, 12)


def test_a_texture_that_need_not_grow_is_preferred_and_of_those_the_closest() -> None:
    makers: list[Operation] = [RelayParameter("t", BUFFER)]
    sizes = {"wide": texture(10, 20, 4), "close": texture(11, 11, 4), "small": texture(9, 9, 4)}
    calls = [RelayCall(name, ("t",), (kind,)) for name, kind in sizes.items()]
    end = [RelayCall("end", tuple(sizes), (BUFFER,)), RelayCall("next", ("end",), (SQUARE,))]
    plan = plan_storages([*makers, *calls, *end], ["next"])
    assert plan.ids["next"] == plan.ids["close"]
