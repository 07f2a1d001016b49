"""The options of an explanation, one model for the reason, the repairs and what single changes are worth."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from memplan.capabilities.capability import SearchOptions, Seconds
from memplan.capabilities.explain.values import KINDS, ChangeKind
from memplan.capabilities.plan.reason import REASON_S
from memplan.planner.model.rows import MAX_BYTES, as_tuple

MOST_CHANGES = 4
"""The most changes that a repair may have: more are no repair, but another program."""


class ExplainOptions(SearchOptions):
    """Options of an explanation."""

    explain_s: Seconds = Field(REASON_S, description="Of these, the seconds for the reason.")
    study_s: Seconds = Field(5.0, description="Of these, the seconds for repairs, and as many for what-if.")
    repairs: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="Look for so many repairs, too: the fewest changes with which it fits."
    )
    most_changes: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = Field(3, description="The most changes of a repair.")
    kinds: Annotated[tuple[ChangeKind, ...], BeforeValidator(as_tuple), Field(min_length=1)] = Field(
        KINDS, description=f"The kinds of changes of repairs: {', '.join(KINDS)}."
    )
    with_plans: bool = Field(False, description="Answer with the plan of each repair, too.")
    what_if: bool = Field(
        False,
        description="Count what single changes are worth, too: each buffer dropped or grown, bytes of a pool,"
        " each rule left out.",
    )
    shrunk_to: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="With what-if, each buffer at this part of its size, too: 0.5."
    )
    more: Annotated[int, Field(gt=0, lt=MAX_BYTES)] = Field(
        1024, description="With what-if, the bytes of a pool whose worth is wanted."
    )
