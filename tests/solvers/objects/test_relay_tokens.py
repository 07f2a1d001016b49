"""Relay's textures: which free one is taken, and that one which grows is not free again."""

from __future__ import annotations

import pytest

from memplan.solvers.objects.relay_tokens import FreeTextures, Token


def free(*sides: tuple[int, int]) -> FreeTextures:
    """Return free textures, numbered as they come."""
    textures = FreeTextures()
    for storage, (width, height) in enumerate(sides):
        textures.put(Token(storage, width, height))
    return textures


@pytest.mark.parametrize(
    ("sides", "is_reused"),
    [
        ((10, 10), True),
        ((10, 5), True),
        ((10, 2), True),
        ((10, 1), False),
        ((10, 59), True),  # 59 // 10 is 5, and 5 times is allowed
        ((10, 60), False),
        ((60, 10), False),
    ],
)
def test_no_side_is_more_than_five_times_the_others(sides: tuple[int, int], is_reused: bool) -> None:
    assert (free((10, 10)).take(*sides) is not None) == is_reused


def test_a_texture_grows_where_none_is_large_enough_and_is_then_not_free_again() -> None:
    textures = free((10, 10))
    grown = textures.take(9, 12)
    assert grown is not None
    assert (grown.width, grown.height) == (10, 12)
    textures.put(grown)
    assert textures.take(10, 10) is None


def test_a_texture_that_need_not_grow_is_preferred_and_of_those_the_closest() -> None:
    taken = free((20, 10), (11, 11), (9, 9)).take(10, 10)
    assert taken is not None
    assert taken.storage == 1
