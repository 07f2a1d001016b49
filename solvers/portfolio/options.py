"""The options of a solve, written out once: for Python, the command, workers and the service."""

from __future__ import annotations

import re
from sys import float_info
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from memplan.planner.errors import OptionError, shown
from memplan.planner.model.problem import Problem, Profile, profile_of
from memplan.planner.model.rows import Name, WireValue
from memplan.planner.systems import reference_planners
from memplan.solvers.portfolio import registry
from memplan.solvers.search.incumbent import Accept

DEFAULT_TIME_LIMIT_S = 10.0
MAX_TIME_LIMIT_S = 7 * 24 * 3600.0
_PERCENTAGE = r"^(fit|[0-9]{1,9}(\.[0-9]{1,9})?%?)$"


def _accept(value: object) -> str | float | None:
    if isinstance(value, str) and not re.fullmatch(_PERCENTAGE, value):
        try:
            percent = float(value.removesuffix("%"))
        except ValueError:
            return value
        return percent if 0 <= percent <= float_info.max else value
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= float_info.max:
        return float(value)
    raise PydanticCustomError("rule", "must be fit or a percentage such as 5%, got {shown}", {"shown": shown(value)})


Accepted = Annotated[
    str | float | None,
    PlainValidator(_accept),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _PERCENTAGE},
                {"type": "number", "minimum": 0},
                {"type": "null"},
            ]
        }
    ),
]


def _weights(given: object) -> object:
    """Return weights that were given as texts, `fast=3`, as a mapping."""
    pairs = [str(text).partition("=") for text in given] if isinstance(given, tuple | list) else []
    try:
        return {name: float(weight) for name, _, weight in pairs} if pairs else given
    except ValueError:
        raise PydanticCustomError(
            "rule", "must be pools with weights, fast=3, got {shown}", {"shown": shown(given)}
        ) from None


Weights = Annotated[dict[Name, Annotated[float, Field(gt=0, le=1e9)]], Field(min_length=1), BeforeValidator(_weights)]


class _NamesOfSolvers:
    """Describes names of solvers in schemas, which alone need all reference planners."""

    @staticmethod
    def __get_pydantic_json_schema__(*_: object) -> dict[str, Any]:
        return {"type": "string", "enum": ["auto", *registry.BY_NAME, *reference_planners()]}


SolverName = Annotated[str, _NamesOfSolvers]


class SolveOptions(WireValue):
    """The options of a solve: time limit, solver, what is good enough, seed, and if clocks may decide anything.

    `accept` ends the search early: "fit" at any plan that fits, "5%" or 5 within that many percent above the bound.
    `deterministic` gives the same plan on every machine. `profile` says what several pools are for: `speed`, `balanced`
    (the default where the objective is the peak) or `size`. Of several pools, `minimise` makes the sum of what they
    use, times their weights, as small as can be; `max_slowdown`, for `balanced`, lets the cost be so many percent above
    the least one for a smaller last pool.
    """

    time_limit_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        DEFAULT_TIME_LIMIT_S, description="Seconds until the answer, all in all."
    )
    solver: SolverName = Field(
        "auto", description="Which solver; `memplan solvers` lists them. A planner of your own: MODULE:FUNCTION."
    )
    accept: Accepted = Field(
        None, description="Be content with any plan that fits (fit), or with this gap in percent: 5% or 5."
    )
    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(0, description="For what the search leaves to chance.")
    deterministic: bool = Field(False, description="The same answer on every machine: count work, not time.")
    profile: Profile | None = Field(
        None, description="What several pools are for: speed, balanced (the default) or size."
    )

    minimise: Weights | None = Field(None, description="The weight of a byte of each pool, fast=3: the least sum.")
    max_slowdown: Annotated[float, Field(ge=0, le=1e6)] | None = Field(
        None, description="The percent that costs may be above the least for less use of the last pool."
    )

    def profile_of(self, problem: Problem) -> Profile | None:
        """Return the profile that a problem is planned by; solvers that are named get none by default.

        Raises OptionError.
        """
        wanted = self.profile
        if self.minimise is not None:
            names = problem.pool_index
            if unknown := [name for name in self.minimise if name not in names]:
                raise OptionError(
                    f"minimise: must name pools of the problem ({', '.join(names)}), got {shown(unknown[0])}"
                )
            wanted = self._only("minimise", "size")
        if self.max_slowdown is not None:
            wanted = self._only("max_slowdown", "balanced")
        return profile_of(problem, wanted) if wanted is not None or self.solver == "auto" else None

    def _only(self, name: str, profile: Profile) -> Profile:
        """Return the profile that an option belongs to; raises OptionError where it comes with another."""
        if self.profile not in (None, profile) or None not in (self.minimise, self.max_slowdown):
            both = "max_slowdown" if name == "minimise" else "minimise"
            other = both if self.profile in (None, profile) else f"profile {self.profile}"
            raise OptionError(f"{name}: must come with profile {profile} or with none, got {other}")
        return profile

    def check(self) -> None:
        """Raise OptionError for a wrong value.

        Checked is what every way in has in common; seeds from Python, and of workers, may be larger than those of JSON.
        """
        if not 0 <= self.seed < 2**63:
            raise OptionError(f"seed: must be at least 0 and below 2^63, got {shown(self.seed)}")
        if not 0 < self.time_limit_s <= MAX_TIME_LIMIT_S:
            raise OptionError(
                f"time_limit_s: must be above 0 and at most {MAX_TIME_LIMIT_S:.0f}, got {shown(self.time_limit_s)}"
            )
        if self.profile not in (None, *get_args(Profile)):
            raise OptionError(f"profile: must be speed, balanced or size, got {shown(self.profile)}")
        self.target()

    def recorded(self) -> dict[str, Any] | None:
        """Return the options that a plan of a deterministic search says it was made with; None for another search."""
        if not self.deterministic:
            return None
        return self.model_dump(mode="json", include=set(SolveOptions.model_fields), exclude_defaults=True)

    def target(self) -> Accept | None:
        """Return when a plan is good enough, None where only a proof is; raises OptionError."""
        accept = self.accept
        if accept is None or accept == "fit":
            return None if accept is None else Accept()
        try:
            percent = float(accept.removesuffix("%") if isinstance(accept, str) else accept)
        except (ValueError, OverflowError):
            percent = -1.0
        if not 0 <= percent < float("inf"):
            raise OptionError(f"accept: must be fit or a percentage such as 5%, got {shown(accept)}")
        return Accept(percent / 100)
