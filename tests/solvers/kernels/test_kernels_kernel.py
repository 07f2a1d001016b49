from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.tables import F64, U32, Flags, Rows, step
from tests.support.linked import linked


class Everything(NamedTuple):
    """A field of each kind that a table may have."""

    column: I64
    number: int
    rows: Rows
    factor: float
    marks: Flags
    is_on: bool
    weights: F64
    small: U32
    answer: I64


@step
def doubled(number: int) -> int:
    return 2 * number


def digest(left: Everything, right: Everything) -> int:
    """Write what was read on the right to the left."""
    left.answer[0] = doubled(right.column[1])
    left.answer[1] = right.number
    left.answer[2] = right.rows[1, 2] + right.rows.shape[0] + right.rows.shape[1]
    left.answer[3] = int(right.factor * 4)
    left.answer[4] = 10 * right.marks[0] + right.marks[1]
    left.answer[5] = 1 if right.is_on else 0
    left.answer[6] = int(right.weights[2] * 8)
    left.answer[7] = right.small[1]
    return left.number // right.number


def everything(**changed: Any) -> Everything:
    table = Everything(
        column=np.array([3, 2**61]),
        number=7,
        rows=np.arange(6).reshape(2, 3),
        factor=1.25,
        marks=np.array([True, False]),
        is_on=True,
        weights=np.array([0.0, 0.0, -0.125]),
        small=np.array([1, 2**32 - 1], dtype=np.uint32),
        answer=np.zeros(8, dtype=np.int64),
    )
    return table._replace(**changed)


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., int]:
    return linked(digest, tmp_path_factory.mktemp("digest"))


def test_a_compiled_kernel_sees_the_same_as_python_does(machine_code: Callable[..., int]) -> None:
    left, other, right = everything(number=-22), everything(number=-22), everything()
    assert digest(left, right) == machine_code(Reference(other), Reference(right)) == -4  # rounded down
    assert left.answer.tolist() == other.answer.tolist() == [2**62, 7, 10, 5, 10, 1, -1, 2**32 - 1]


def test_an_error_in_a_kernel_is_raised(machine_code: Callable[..., int]) -> None:
    with pytest.raises(RuntimeError, match="digest: a division by zero, or an index out of bounds"):
        machine_code(Reference(everything()), Reference(everything(number=0)))


@pytest.mark.parametrize(
    "changed",
    [
        {"column": np.zeros(2, dtype=np.int32)},
        {"column": np.zeros((2, 2), dtype=np.int64)},
        {"column": np.zeros(4, dtype=np.int64)[::2]},
        {"rows": np.zeros((2, 2), dtype=np.int64).T[:1]},
        {"weights": np.zeros(2, dtype=np.int64)},
    ],
    ids=["narrow", "an axis too many", "gaps", "other order", "no floats"],
)
def test_an_array_that_a_kernel_would_misread_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Everything: an array is"):
        Reference(everything(**changed))


@pytest.mark.parametrize("number", [2**63, 7.0], ids=["too large", "no int"])
def test_a_number_that_a_kernel_would_misread_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="Everything: a number is"):
        Reference(everything(number=number))


def test_a_whole_number_does_where_a_float_is_meant(machine_code: Callable[..., int]) -> None:
    table = everything(factor=3)
    machine_code(Reference(table), Reference(table))
    assert table.answer[3] == 12
