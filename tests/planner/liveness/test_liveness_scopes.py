"""When buffers are alive, read from allocs and frees, and what is said of wrong ones."""

from __future__ import annotations

import pytest

from memplan.planner.errors import OperationsError
from memplan.planner.liveness import Reading, problem_of
from tests.support.programs import Statement, choice, function, loop, op, program

ALLOC, FREE = {"alloc": ["a"]}, {"free": ["a"]}
BY_SCOPE = Reading(liveness="scope")


def scope(*body: Statement, **others: Statement) -> tuple[tuple[int, int], ...]:
    (row,) = problem_of(program(function(*body, a=1), **others), BY_SCOPE).buffers
    return row.intervals


@pytest.mark.parametrize(
    ("body", "intervals"),
    [
        ([op(), ALLOC, op(), op("-> a"), op(), FREE, op()], ((1, 5),)),
        # Never allocated, it is there for the whole program; without a free, to the end of the block.
        ([op(), op("-> a"), op()], ((0, 3),)),
        ([op(), choice([ALLOC, op("-> a"), op()], [op()]), op()], ((1, 4),)),
        ([op(), op("->", ALLOC, op("-> a"), op()), op()], ((1, 4),)),
        ([op(), loop(ALLOC, op("-> a"), op()), op()], ((1, 4),)),
        # Each branch may free; what one frees is held by the other to the end.
        ([ALLOC, op("-> a"), choice([FREE, op()], [op("a ->"), FREE]), op()], ((0, 2), (4, 5))),
        ([ALLOC, op("-> a"), choice([FREE], []), op()], ((0, 2), (3, 4))),
        ([ALLOC, op("-> a"), FREE, op(), ALLOC, op("-> a"), FREE], ((0, 2), (4, 6))),
    ],
)
def test_a_scope_goes_from_alloc_to_free(body: list[Statement], intervals: tuple[tuple[int, int], ...]) -> None:
    assert scope(*body) == intervals


WRONG = [
    ("a use before", [op("-> a"), ALLOC], "must be allocated where it is used, got main/0"),
    ("a use behind", [ALLOC, FREE, op("-> a")], "must be allocated where it is used, got main/2"),
    ("a second alloc", [ALLOC, ALLOC, op("-> a")], "must be free where it is allocated, got main/1"),
    ("a second free", [ALLOC, op("-> a"), FREE, FREE], "must be allocated where it is freed, got main/3"),
    ("a free without alloc", [FREE, op("-> a")], "must be allocated where it is freed, got main/0"),
    (
        "an alloc in one branch only",
        [choice([ALLOC], []), op("-> a")],
        "must be allocated where it is used, got main/1",
    ),
    (
        "a free in one branch only",
        [ALLOC, choice([FREE], []), op("-> a")],
        "must be allocated where it is used, got main/2",
    ),
    (
        "a free in the next iteration",
        [ALLOC, loop(op("-> a"), FREE)],
        "must be allocated and freed in the same iteration, got main/1",
    ),
    (
        "an end inside of an operation that needs it",
        [ALLOC, op("-> a", op(), FREE)],
        "must be allocated where it is used, got main/1",
    ),
]


@pytest.mark.parametrize(("body", "rule"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
@pytest.mark.parametrize("reading", [Reading(), BY_SCOPE], ids=["usage", "scope"])
def test_uses_outside_of_scopes_are_errors_however_lifetimes_are_read(
    body: list[Statement], rule: str, reading: Reading
) -> None:
    with pytest.raises(OperationsError) as caught:
        problem_of(program(function(*body, a=1)), reading)
    assert caught.value.sentences == (f"main/a: {rule}",)
