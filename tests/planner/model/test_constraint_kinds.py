"""The kinds that a problem asks for, by the fields that are declared for each."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.model.constraints import alias, bank, conflicts, may_share, relative, together
from memplan.planner.model.constraints.kept import OffsetRule
from memplan.planner.model.constraints.kinds import kinds_of, offset_rules
from memplan.planner.model.problem import Problem


def asked_for(more: dict[str, Any], **fields: Any) -> list[object]:
    """Return the first check of each kind that a problem of two buffers asks for, or what it says of b's offset."""
    rows = [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 0, "end": 2, **more}]
    problem = Problem.model_validate({"buffers": rows, **fields})
    of_offsets = [rule for _, rule in offset_rules(problem)[0]]
    return [*(kind.checks[0] for kind in kinds_of(problem) if kind.offsets is None), *of_offsets]


def test_plain_buffers_ask_for_no_kind() -> None:
    assert asked_for({"alignment": 4, "offset": 8}, pools=[{"name": "p", "size": 64}]) == []


@pytest.mark.parametrize(
    ("more", "fields", "kinds"),
    [
        ({"alias_of": "a"}, {}, [alias.unknown_names]),
        ({"relative": {"to": "a", "offset": 8}}, {}, [relative.unknown_names, together.unknown_names]),
        ({"no_cross": 16}, {}, [OffsetRule(page=16)]),
        ({"offset_mod": {"modulus": 8, "remainder": 3}}, {}, [OffsetRule(step=8, remainder=3)]),
        ({}, {"conflicts": [["a", "b"]]}, [conflicts.unknown_names]),
        ({}, {"may_share": [["a", "b"]]}, [may_share.unknown_names]),
        ({}, {"bank": [{"buffers": ["a", "b"]}]}, [bank.unknown_names]),
        ({}, {"together": [["a", "b"]]}, [together.unknown_names]),
    ],
)
def test_a_field_asks_for_its_kind(more: dict[str, Any], fields: dict[str, Any], kinds: list[object]) -> None:
    assert asked_for(more, **fields) == kinds
