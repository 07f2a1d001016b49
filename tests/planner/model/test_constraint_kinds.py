"""The kinds that a problem asks for, by the fields that are declared for each."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.model.constraints import alias, bank, conflicts, may_share, no_cross, relative, together
from memplan.planner.model.constraints.kinds import kinds_of
from memplan.planner.model.problem import Problem


def asked_for(more: dict[str, Any], **fields: Any) -> list[object]:
    """Return the first check of each kind that a problem of two buffers asks for, or its columns."""
    rows = [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 0, "end": 2, **more}]
    kinds = kinds_of(Problem.model_validate({"buffers": rows, **fields}))
    return [kind.checks.get(0, kind.columns) for kind in kinds]


def test_plain_buffers_ask_for_no_kind() -> None:
    assert asked_for({"alignment": 4, "offset": 8}, pools=[{"name": "p", "size": 64}]) == []


@pytest.mark.parametrize(
    ("more", "fields", "kinds"),
    [
        ({"alias_of": "a"}, {}, [alias.unknown_names]),
        ({"relative": {"to": "a", "offset": 8}}, {}, [relative.unknown_names, together.unknown_names]),
        ({"no_cross": 16}, {}, [no_cross.columns]),
        ({}, {"conflicts": [["a", "b"]]}, [conflicts.unknown_names]),
        ({}, {"may_share": [["a", "b"]]}, [may_share.unknown_names]),
        ({}, {"bank": [{"buffers": ["a", "b"]}]}, [bank.unknown_names]),
        ({}, {"together": [["a", "b"]]}, [together.unknown_names]),
    ],
)
def test_a_field_asks_for_its_kind(more: dict[str, Any], fields: dict[str, Any], kinds: list[object]) -> None:
    assert asked_for(more, **fields) == kinds
