"""The options of a solve, defined once for Python, the command line, workers and the service."""

import re
from collections.abc import Mapping
from contextlib import suppress
from sys import float_info
from typing import Annotated, Any, get_args

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.model.problem import Problem, Profile, profile_of
from memplan.planner.model.problem_fields import PEAK_THEN_COST
from memplan.planner.model.rows import WireValue
from memplan.planner.systems import reference_planners
from memplan.solvers.portfolio import registry
from memplan.solvers.search.incumbent import Accept

DEFAULT_TIME_LIMIT_S = 10.0
MAX_TIME_LIMIT_S = 7 * 24 * 3600.0
_PERCENTAGE = r"^(fit|0|[1-9][0-9]{0,8}(\.[0-9]{1,9})?|[0-9]{1,9}(\.[0-9]{1,9})?%)$"


def percentage(value: str | float) -> float | None:
    """Return the percentage in a text such as "5%" or in a number, or None for any other text.

    Raises PydanticCustomError for a number between 0 and 1 without a % sign, which may be meant as a fraction.
    """
    try:
        percent = float(str(value).removesuffix("%"))
    except ValueError:
        return None
    if 0 < percent < 1 and not str(value).endswith("%"):
        rule = "must have a % sign below 1, got {shown} (did you mean {part:g}% or {percent:g}%?)"
        fields = {"shown": excerpt(value), "part": 100 * percent, "percent": percent}
        raise PydanticCustomError("rule", "{rule}", {"rule": rule.format(**fields)})
    return percent


def _validate_accept(value: object) -> str | float | None:
    """Return a valid value of the option `accept`; raise PydanticCustomError for an invalid one."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= float_info.max
    if not (value is None or is_number or isinstance(value, str)):
        rule = "must be fit or a percentage such as 5%, got {shown}"
        raise PydanticCustomError("rule", rule, {"shown": excerpt(value)})
    percent = None if value is None else percentage(value)  # type: ignore[arg-type]  # `value` is a number or a text
    if not isinstance(value, str):
        return percent
    # Validation of `target` rejects any other percentage, so return such a value unchanged.
    is_other = percent is None or not 0 <= percent <= float_info.max
    return value if is_other or re.fullmatch(_PERCENTAGE, value) else f"{percent}%"


Accepted = Annotated[
    str | float | None,
    PlainValidator(_validate_accept),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _PERCENTAGE},
                {"type": "number", "minimum": 1},
                {"const": 0},
                {"type": "null"},
            ]
        }
    ),
]


ProfileChoice = Profile | str | Mapping[str, float]
"""A profile; `balanced+5%`, which lets costs exceed the least cost by 5 %; or weights by pool, for the least sum."""
_SLOWER = r"balanced\+([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%"
_PROFILES = get_args(Profile)
_OTHER_PROFILES = {
    "speed": "o3 o2 o1 ofast fast performance latency traffic",
    "size": "os oz small tiny memory space min minimal",
    "balanced": "default normal auto o0",
}


def profile_choice(value: object) -> ProfileChoice:
    """Return a profile in one form.

    It is given by name or as weights of pools, also in texts such as fast=3,slow=1. Raises OptionError for any other
    value.
    """
    if isinstance(value, str) and (value in _PROFILES or re.fullmatch(_SLOWER, value)):
        return value
    texts = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    pairs = [part.partition("=") for text in texts for part in str(text).split(",")]
    with suppress(ValueError, TypeError):
        named_weights = value if isinstance(value, Mapping) else {name: float(weight) for name, _, weight in pairs}
        weights = {str(name): float(weight) for name, weight in named_weights.items() if not isinstance(weight, bool)}
        # A name given twice would have two weights, so refuse such values.
        is_of_each = len(weights) == (len(named_weights) if isinstance(value, Mapping) else len(pairs))
        if weights and is_of_each and all(name and 0 < each <= 1e9 for name, each in weights.items()):
            return weights
    rule = "must be speed, balanced, balanced+5%, size, or weights of pools above 0, each once, such as fast=3,slow=1"
    hint = did_you_mean(value, _PROFILES, _OTHER_PROFILES) if isinstance(value, str) else ""
    raise OptionError(f"profile: {rule}, got {excerpt(value)}{hint}")


def profile_or_none(value: object) -> ProfileChoice | None:
    """Convert a profile to a `ProfileChoice`; None stays None. Raises PydanticCustomError for any other value."""
    try:
        return None if value is None else profile_choice(value)
    except OptionError as error:
        raise PydanticCustomError("rule", "{rule}", {"rule": str(error).removeprefix("profile: ")}) from None


PROFILE_SCHEMAS: list[dict[str, Any]] = [
    {"type": "string", "enum": [*_PROFILES]},
    {"type": "string", "pattern": f"^{_SLOWER}$"},
    {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}},
    {"type": "null"},
]
Profiled = Annotated[ProfileChoice | None, PlainValidator(profile_or_none), WithJsonSchema({"anyOf": PROFILE_SCHEMAS})]


class _NamesOfSolvers:
    """The JSON schema of the option `solver`, computed on demand, as it lists the names of all planners."""

    @staticmethod
    def __get_pydantic_json_schema__(*_: object) -> dict[str, Any]:
        """Return the schema as a list of all allowed names."""
        return {"type": "string", "enum": ["auto", *registry.BY_NAME, *reference_planners()]}


SolverName = Annotated[str, _NamesOfSolvers]


class SolveOptions(WireValue):
    """The options of a solve: time limit, solver, a sufficient quality, seed, and determinism.

    `accept` ends the search early: "fit" at the first plan that fits, "5%" or 5 at a plan within 5 % of the bound.
    Values below 1 need the percent sign. `deterministic` gives the same plan on every machine. `profile` sets the goals
    for several pools: `speed`, `balanced` (the default for the objective `peak`) or `size`. `balanced+5%` allows a cost
    of up to 5 % above the least cost for a smaller last pool. Weights of pools minimise the sum of the bytes used in
    each pool times its weight.
    """

    time_limit_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        DEFAULT_TIME_LIMIT_S, description="The time for the whole call, from reading the files to the answer."
    )
    solver: SolverName = Field(
        "auto",
        description="Use this solver alone. `memplan solvers` lists them; MODULE:FUNCTION is a planner of your own.",
    )
    accept: Accepted = Field(
        None,
        description="End the search with the first plan that fits (fit), or that has at most this gap: 5%, or 5 "
        "without the sign.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        0, description="The seed for everything that the search leaves to chance."
    )
    deterministic: bool = Field(
        False,
        description="Give the same answer on machines of the same kind: its work is counted, and no clock ends it.",
    )
    profile: Profiled = Field(
        None,
        description="How to use several pools: speed, balanced (the default) or size. With balanced+5%, the cost "
        "may be up to 5% above the least if the last pool is used less. With fast=3,slow=1, the sum of "
        "the bytes in each pool times its weight is minimised.",
    )

    @property
    def is_usual(self) -> bool:
        """True if the solver is `auto` and determinism is not required. Only then may a cached plan be the answer."""
        return self.solver == "auto" and not self.deterministic

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weight of a byte in each pool if the profile minimizes a weighted sum, or else None."""
        return self.profile if isinstance(self.profile, Mapping) else None

    @property
    def max_slowdown(self) -> float | None:
        """The percentage by which the cost may exceed the least cost, or None if the profile sets no such limit."""
        slower = re.fullmatch(_SLOWER, self.profile) if isinstance(self.profile, str) else None
        return None if slower is None else float(slower[1])

    def profile_of(self, problem: Problem) -> Profile | None:
        """Return the profile for a problem; it is `size` for reference planners, as they ignore costs.

        Raises OptionError for a profile that does not suit the problem.
        """
        if self.weights is not None:
            names = problem.pool_index
            if unknown := [name for name in self.weights if name not in names]:
                raise OptionError(
                    f"profile: must name pools of the problem ({', '.join(names)}), got {excerpt(unknown[0])}"
                )
            return profile_of(problem, "size")
        if problem.objective == PEAK_THEN_COST:
            if self.profile is not None:
                raise OptionError(f'profile: must not be given with objective ["peak", "cost"], got {self.profile}')
            return "size"  # Profile `size` first minimises the peak, as this objective requires.
        wanted = next((name for name in _PROFILES if str(self.profile).startswith(name)), None)
        if wanted is None and problem.objective == "peak" and ":" in self.solver:  # A colon marks a caller's planner.
            wanted = "size"
        # A solver chosen by name must prove every goal before it reports "optimal", so it gets the same profile.
        return profile_of(problem, wanted)

    def check(self) -> None:
        """Raise OptionError for an invalid option value.

        All entrances (ways to call memplan) call this. Seeds from Python and from workers may exceed the limit of seeds
        in JSON.
        """
        if not 0 <= self.seed < 2**63:
            raise OptionError(f"seed: must be at least 0 and below 2^63, got {excerpt(self.seed)}")
        if not 0 < self.time_limit_s <= MAX_TIME_LIMIT_S:
            raise OptionError(
                f"time_limit_s: must be above 0 and at most {MAX_TIME_LIMIT_S:.0f}, got {excerpt(self.time_limit_s)}"
            )
        self.target()

    def recorded_options(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name, as a deterministic plan records them."""
        return self.model_dump(mode="json", include=set(SolveOptions.model_fields), exclude_defaults=True)

    def target(self) -> Accept | None:
        """Return the quality at which the search may end early, or None to search for a proof; raises OptionError."""
        accept = self.accept
        if accept is None or accept == "fit":
            return None if accept is None else Accept()
        try:
            percent = float(accept.removesuffix("%") if isinstance(accept, str) else accept)
        except (ValueError, OverflowError):
            percent = -1.0
        if not 0 <= percent < float("inf"):
            raise OptionError(f"accept: must be fit or a percentage such as 5%, got {excerpt(accept)}")
        return Accept(percent / 100)
