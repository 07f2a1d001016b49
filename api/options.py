"""Options of a plan over HTTP: the options of the search, and the format of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.questions.plan.plan import PlanOptions

if TYPE_CHECKING:
    PlanFormatName = str
else:
    PlanFormatName = Literal[tuple(PLAN_FORMATS)]


class Options(PlanOptions):
    """Options of a plan over HTTP; `format` overrides the Accept header."""

    format: PlanFormatName | None = Field(None, description="How the plan is written, whatever the Accept header says.")


NO_OPTIONS = Options.model_construct()
"""The options of a request that sets none."""
