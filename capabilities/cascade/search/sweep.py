"""Sweeps of a cascade: values of some options, and the options of each of their combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field

from memplan.capabilities.capability import CapabilityOptions
from memplan.capabilities.texts import refuse
from memplan.planner.errors import broken, shown
from memplan.planner.model.rows import Name, as_tuple

Options = TypeVar("Options", bound=CapabilityOptions)
MOST_COMBINATIONS = 100
_APART = ("sweep", "time_limit_s", "point", "check", "objectives", "barriers")
"""The options that all combinations share."""
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


def _values(value: object) -> object:
    """Return the values of each option, of texts NAME=VALUE,VALUE, too."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        return value
    values: dict[str, tuple[object, ...]] = {}
    for text in texts:
        name, is_named, listed = text.partition("=") if isinstance(text, str) else ("", "", "")
        if not is_named or not listed or name in values:
            form = "NAME=VALUE,VALUE, as in longest=1,2,4; values with commas are separated by ;"
            raise refuse(f"must be {form}, each name once, got {shown(text)}")
        values[name.replace("-", "_")] = tuple(map(_value, listed.split(";" if ";" in listed else ",")))
    return values


def _value(text: str) -> object:
    word = text.strip()
    return _WORDS[word] if word in _WORDS else int(word) if word.isdecimal() and len(word) < 20 else word


Values = Annotated[tuple[bool | int | float | str, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Sweep = Annotated[dict[Name, Values], BeforeValidator(_values)]
"""The values of each option that is swept, by its name."""


def combinations(options: Options, sweep: Mapping[str, Sequence[Any]]) -> list[tuple[dict[str, Any], Options]]:
    """Return the values of each combination with its options, the last option's going fastest; raises OptionError."""
    for name in sweep:
        if name in _APART or name not in type(options).model_fields:
            names = ", ".join(sorted(type(options).model_fields.keys() - set(_APART)))
            broken((("sweep",), f"must name options of a cascade ({names}), got {shown(name)}"))
    if (count := prod(map(len, sweep.values()))) > MOST_COMBINATIONS:
        broken((("sweep",), f"must have at most {MOST_COMBINATIONS} combinations, got {count}"))
    shared = {name: getattr(options, name) for name in options.model_fields_set} | {"sweep": {}}
    chosen = (dict(zip(sweep, values, strict=True)) for values in product(*sweep.values()))
    return [(values, type(options).model_validate(shared | values)) for values in chosen]
