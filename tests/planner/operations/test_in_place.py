"""In place: which outputs are written over which inputs, and what the check of an order makes of it."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from memplan.planner.operations.graph import graph_from
from memplan.planner.operations.graph_variants import with_overwriting
from memplan.planner.operations.in_place import written_over, written_over_along
from memplan.planner.operations.order_check import bytes_along, bytes_beside, peak_of

ADD: dict[str, Any] = {"in": [0, 1], "out": [2], "may_overwrite": [[0, 0], [0, 1]]}


def test_the_last_reader_writes_its_output_over_the_input() -> None:
    graph = graph_from({"size": [8, 8, 8], "ops": [{"in": [0]}, ADD]})
    assert written_over(graph, 1, {0}) == {2: 0}
    assert bytes_along(graph, [0, 1]) == [16, 16]
    assert written_over_along(graph, [1, 0]) == {2: 1}
    assert bytes_beside(graph, {0}, 1) == 16


@pytest.mark.parametrize(
    "change",
    [
        {"kept": [0, 1]},
        {"resident": [0, 1]},
        {"size": [7, 7, 8]},
        {"size": [8, 8, 0]},
        {"given": [0, 1], "ops": [{**ADD, "out": [2, 0, 1]}]},
        {"ops": [ADD, {"in": [0, 1]}]},
        {"given": [2]},
    ],
)
def test_nothing_is_written_over_what_is_needed_or_too_small(change: dict[str, Any]) -> None:
    graph = graph_from({"size": [8, 8, 8], "ops": [ADD], **change})
    assert written_over(graph, 0, set()) == {}


def test_outputs_that_compete_take_the_most_bytes_together() -> None:
    pairs = [[0, 0], [0, 1], [1, 0], [2, 0]]
    graph = graph_from({"size": [9, 9, 5, 6, 7], "ops": [{"in": [0, 1], "out": [2, 3, 4], "may_overwrite": pairs}]})
    assert written_over(graph, 0, set()) == {2: 1, 4: 0}
    assert peak_of(graph, [0]) == 9 + 9 + 6


def test_a_chain_of_outputs_stays_in_one_place() -> None:
    ops = [{"in": [k], "out": [k + 1], "may_overwrite": [[0, 0]]} for k in range(3)]
    graph = graph_from({"size": [9, 9, 5, 5], "ops": ops})
    assert written_over_along(graph, [0, 1, 2]) == {1: 0, 2: 1, 3: 2}
    assert bytes_along(graph, [0, 1, 2]) == [9, 9, 5]


@pytest.mark.parametrize(
    ("kind", "tensors", "others", "expected"),
    [
        ("add", [[2, 4], [2, 4], [2, 4]], {}, ((0, 0), (0, 1))),
        ("add", [[4], [2, 4], [2, 4]], {}, ((0, 1),)),
        ("add", [[2, 4], [4, 2], [2, 4]], {}, ((0, 0),)),
        ("conv", [[2, 4], [2, 4], [2, 4]], {}, ()),
        ("add", [[2, 4], [2, 4], [2, 4]], {"kept": [0]}, ((0, 1),)),
        ("add", [[2, 4], [2, 4], [2, 4]], {"resident": [1]}, ((0, 0),)),
    ],
)
def test_what_goes_element_by_element_may_overwrite_inputs_of_its_form(
    kind: str, tensors: list[list[int]], others: dict[str, Any], expected: tuple[tuple[int, int], ...]
) -> None:
    facts = [{"shape": shape, "dtype": "int8"} for shape in tensors]
    sizes = [prod(shape) for shape in tensors]
    row = {"in": [0, 1], "out": [2], "kind": kind}
    found = with_overwriting(graph_from({"size": sizes, "ops": [row], "tensors": facts, **others}))
    assert found.ops[0].may_overwrite == expected
