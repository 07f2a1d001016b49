"""Values that never change: made as those of the standard library's frozen dataclasses, and refused as they are."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, field, replace
from functools import cached_property
from typing import Any

import pytest

from memplan.planner.fixed import fixed, fixed_value


@fixed
class Point:
    """A point."""

    x: int
    y: int = 2
    more: list[int] = field(default_factory=list)

    @cached_property
    def total(self) -> int:
        """The sum."""
        return self.x + self.y


@fixed
class Named(Point):
    """A point with a name."""

    name: str = "origin"


def test_values_can_be_given_by_position_by_name_and_by_default() -> None:
    point = Point(1, more=[3])
    assert (point.x, point.y, point.more, point.total) == (1, 2, [3], 3)
    assert Point(1).more is not Point(1).more
    assert vars(Named(1, name="a")) == {"x": 1, "y": 2, "more": [], "name": "a"}


def test_a_changed_copy_computes_its_cached_values_again() -> None:
    point = Point(1)
    assert point.total == 3
    assert replace(point, x=5).total == 7
    assert pickle.loads(pickle.dumps(point)).total == 3
    assert point != Point(1)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1})],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_wrong_values_are_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Point: must be given x, y, more, each once"):
        Point(*values, **named)


def test_fields_of_a_frozen_value_cannot_be_set_or_deleted() -> None:
    point: Any = Point(1)
    with pytest.raises(FrozenInstanceError, match=r"Point\.x: must not be changed"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match=r"Point\.x: must not be changed"):
        del point.x


def test_fixed_values_are_equal_and_shown_by_their_fields() -> None:
    @fixed_value
    class Size:
        rows: int
        columns: int = 1

    assert {Size(2), Size(2, 1), Size(3)} == {Size(3), Size(2)}
    assert Size(2) != Size(2, 2)
    assert repr(Size(2)).endswith("Size(rows=2, columns=1)")
    with pytest.raises(FrozenInstanceError):
        Size(2).rows = 3  # type: ignore[misc]
