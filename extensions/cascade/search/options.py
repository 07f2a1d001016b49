"""The options of a search for cascades, and the combinations of a sweep over their values."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from memplan.planner.errors import ONE_OF_THEM, Break, add_way, excerpt, raise_rules
from memplan.planner.model.rows import MAX_BYTES, Bytes, Name, tuple_from_list
from memplan.planner.model.sizes import MacsRatio, parse_size, rule_error
from memplan.questions.question import QuestionOptions, Seconds

Options = TypeVar("Options", bound=QuestionOptions)
MOST_COMBINATIONS = 100
_APART = ("sweep", "time_limit_s", "point", "check", "objectives", "barriers")
"""The options that all combinations of a sweep share, so that sweeping them is refused."""
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def _parse_sweep(value: object) -> object:
    """Parse texts NAME=VALUE,VALUE to lists of values by option name; any other value is returned unchanged."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        return value
    values: dict[str, tuple[object, ...]] = {}
    for text in texts:
        name, is_named, listed = text.partition("=") if isinstance(text, str) else ("", "", "")
        if not is_named or not listed or name in values:
            form = "NAME=VALUE,VALUE, as in longest=1,2,4; values with commas are separated by ;"
            raise rule_error(f"must be {form}, each name once, got {excerpt(text)}")
        values[name.replace("-", "_")] = tuple(map(_parse_swept_value, listed.split(";" if ";" in listed else ",")))
    return values


def _parse_swept_value(text: str) -> object:
    word = text.strip()
    return _WORDS[word] if word in _WORDS else int(word) if word.isdecimal() and len(word) < 20 else word


Values = Annotated[tuple[bool | int | float | str, ...], Field(min_length=1), BeforeValidator(tuple_from_list)]
Sweep = Annotated[dict[Name, Values], BeforeValidator(_parse_sweep)]
"""The type of the values to sweep, by option name."""


def swept_options(options: Options, sweep: Mapping[str, Sequence[Any]]) -> list[tuple[dict[str, Any], Options]]:
    """Return every combination of swept values, with the options that result; the last swept option varies fastest."""
    for name in sweep:
        if name in _APART or name not in type(options).model_fields:
            names = ", ".join(sorted(type(options).model_fields.keys() - set(_APART)))
            raise_rules((("sweep",), f"must name options of a cascade ({names}), got {excerpt(name)}"))
    if (count := prod(map(len, sweep.values()))) > MOST_COMBINATIONS:
        raise_rules((("sweep",), f"must have at most {MOST_COMBINATIONS} combinations, got {count}"))
    shared = {name: getattr(options, name) for name in options.model_fields_set} | {"sweep": {}}
    chosen = (dict(zip(sweep, values, strict=True)) for values in product(*sweep.values()))
    return [(values, type(options).model_validate(shared | values)) for values in chosen]


Delivery = Literal["resident", "streamed"]
Objective = Literal["peak", "macs", "traffic"]
OrderName = Literal["several", "given", "breadth-first", "depth-first", "heads-early", "least-peak"]
FRONTS: tuple[tuple[Objective, ...], ...] = (("peak", "macs"), ("peak", "macs", "traffic"))
"""The sets of objectives for which a Pareto front can be computed."""
LONGEST = 60
"""The maximum number of operations in a region."""
WORST = 4.0
"""The maximum multiplications of a region, as a multiple of running each of its operations once as a whole."""
_STRIPE = re.compile(r"([0-9]{1,7})(?: ?x ?([0-9]{1,7}))?", re.ASCII)
_MOST_STRIPE = 1 << 20


def _parse_stripe(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value, 0
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    match = _STRIPE.fullmatch(value.strip())
    if match is None:
        raise rule_error(f"must be rows, or rows x columns, such as 4 or 6x6, got {excerpt(value)}")
    return int(match[1]), int(match[2] or 0)


def _parse_goals(value: object) -> object:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        return value
    return tuple(word for text in texts for word in (text.split(",") if isinstance(text, str) else [text]))


def _parse_memories(value: object) -> object:
    rows = value.split(",") if isinstance(value, str) else value
    return tuple(map(_parse_memory, rows)) if isinstance(rows, (list, tuple)) else value


def _parse_memory(row: object) -> object:
    """Return a memory as a pair of name and size, from NAME=SIZE or an object; any other value is unchanged."""
    if isinstance(row, Mapping) and row.keys() == {"name", "size"}:
        return row["name"], row["size"]
    if not isinstance(row, str):
        return tuple(row) if isinstance(row, list) else row
    name, is_named, size = row.rpartition("=")
    if not is_named or not name:
        raise rule_error(f"must be NAME=SIZE, a fast memory and then a slow one, got {excerpt(row)}")
    try:
        return name, parse_size(size)
    except ValueError as error:
        raise rule_error(str(error)) from error


def _parse_position(position: object) -> object:
    if not isinstance(position, str) or position == "all":
        return position
    if re.fullmatch(r"-?[0-9]{1,9}", position, re.ASCII) is None:
        raise rule_error(f"must be a position, such as 0 or -1, or all, got {excerpt(position)}")
    return int(position)


class CascadeOptions(QuestionOptions):
    """Options of the question `cascade`."""

    time_limit_s: Seconds = Field(
        60.0, description="The answer comes within this time, which the search and all plans share."
    )
    fit: Bytes | None = Field(None, description="Show only points whose peak is at most this size.")
    macs: MacsRatio | None = Field(
        None, description="Allow at most this many multiplications, compared with running layer by layer: +10% or 1.1."
    )
    input: Delivery = Field(
        "resident", description="Whether inputs lie in memory as a whole (resident) or come in pieces (streamed)."
    )
    output: Delivery = Field(
        "resident", description="Whether outputs lie in memory as a whole (resident) or leave in pieces (streamed)."
    )
    overlap: Literal["none", "sliding"] = Field(
        "none", description="With sliding, the output of a region may grow into an input that is no longer needed."
    )
    objectives: Annotated[tuple[Objective, ...], BeforeValidator(_parse_goals)] = Field(
        FRONTS[0], description="The goals of the front. A point is shown if no other one is as good in all of them."
    )
    pools: Annotated[tuple[tuple[str, int], ...], BeforeValidator(_parse_memories)] = Field(
        (), description="Plan into two memories. Give the fast one first, then the slow one: fast=64KiB and slow=1MiB."
    )
    alignment: int = Field(1, description="Round buffers up to multiples of this many bytes, a power of two.")
    brick: Annotated[int, Field(ge=1, le=1 << 20)] = Field(
        1, description="Pad the number of channels to a multiple of this."
    )
    stripe: Annotated[tuple[int, int], BeforeValidator(_parse_stripe)] | None = Field(
        None, description="Cut regions only into stripes of this many rows, such as 4, or into tiles, such as 6x6."
    )
    longest: Annotated[int, Field(ge=1, le=LONGEST)] = Field(
        LONGEST, description="Run at most this many operations in one region, which limits how deep a cascade may be."
    )
    rolling: bool = Field(
        True,
        description="Keep the edges of tensors from step to step. Without this, each step computes again what it "
        "reads.",
    )
    orders: OrderName = Field(
        "several", description="Search several orders of the operations, or only the one that is named."
    )
    barriers: Annotated[tuple[str, ...], BeforeValidator(tuple_from_list)] = Field(
        (),
        description="Run this operation as a whole, so that no region crosses it. Name it by its position, its "
        "name, or the tensor that it makes. May be repeated.",
    )
    sweep: Sweep = Field(
        {},
        description="Search once for each of these values of an option: longest=1,2,4 or rolling=yes,no. May be "
        "repeated, for all combinations.",
    )
    point: Annotated[int | Literal["all"], BeforeValidator(_parse_position)] | None = Field(
        None,
        description="Include the problem and the plan of one point in the answer, or those of all points. 0 is the "
        "first point, and -1 the one of the least peak.",
    )
    check: bool = Field(
        False,
        description="Execute the points, or the one that `point` names, in their planned arenas, and compare "
        "all values with the layer-by-layer result.",
    )

    @property
    def is_sliding(self) -> bool:
        """True if the output of a region may grow into an input that is no longer needed."""
        return self.overlap == "sliding"

    def max_macs(self, once: int) -> int:
        """Return the maximum multiplications, given those of a layer-by-layer run (`once`); 2^62 without a limit."""
        return 2**62 if self.macs is None else int(once * self.macs + 0.5)

    @model_validator(mode="after")
    def _require_compatible_options(self) -> "CascadeOptions":
        """Return the options; raise a validation error for values out of range and for excluded combinations."""
        wrong, (rows, columns) = list[Break](), self.stripe or (1, 0)
        if not (1 <= rows <= _MOST_STRIPE and 0 <= columns <= _MOST_STRIPE):
            rule = f"must be at least 1 row, and at most {_MOST_STRIPE} rows or columns"
            wrong.append((("stripe",), f"{rule}, got {self.stripe}"))
        if self.objectives not in FRONTS:
            wrong.append(
                (("objectives",), f"must be peak,macs or peak,macs,traffic, got {','.join(self.objectives)!r}")
            )
        if not 1 <= self.alignment <= 1 << 30 or self.alignment & (self.alignment - 1):
            wrong.append((("alignment",), f"must be a power of two of at most 2^30, got {self.alignment}"))
        if self.pools and (len(self.pools) != 2 or len(dict(self.pools)) != 2):
            wrong.append(
                (("pools",), f"must be two memories with different names, fast and slow, got {len(self.pools)}")
            )
        for name, size in self.pools:
            if not 0 <= size <= MAX_BYTES:
                wrong.append((("pools",), f"{name} must have from 0 to {MAX_BYTES} bytes, got {size}"))
        if self.pools and self.is_sliding:
            rule = "must not be given together with sliding, which supports one memory only"
            wrong.append((("pools",), add_way(rule, ONE_OF_THEM)))
        if wrong:
            raise_rules(*wrong)
        if self.sweep:
            swept_options(self, self.sweep)
        return self
