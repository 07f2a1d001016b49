"""Parts that options say as text, such as 10%, and how a text is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from memplan.planner.errors import shown

_PART = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(%?)", re.ASCII)


def share_of(text: str) -> float | None:
    """Return the part that a text such as 10% or 0.1 says; None where it says none."""
    match = _PART.fullmatch(text.strip())
    return None if match is None else float(match[1]) / (100 if match[2] else 1)


def gap_text(gap: float | None) -> str:
    """Write how far something is above its bound, rounded up: what is not at it never reads as if it were."""
    return "unknown" if gap is None else f"{ceil(Fraction(repr(float(gap))) * 10_000) / 100:.2f}%"


def refuse(rule: str) -> PydanticCustomError:
    """Return the error of a value that breaks a rule."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule})


def _ratio(value: object) -> object:
    """Return a text such as +10% as a multiple of the multiplications layer by layer."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    share = share_of(text.removeprefix("+"))
    if share is not None and text.endswith("%"):
        return 1 + share
    if share is None or "." not in text or text.startswith("+"):  # 10 is ten times as many, and hardly meant so
        meant = "" if share is None else f" (did you mean +{text.removeprefix('+')}%?)"
        raise refuse(f"must be a share such as +10%, or a multiple such as 1.1, got {shown(value)}{meant}")
    return share


MacsRatio = Annotated[float, BeforeValidator(_ratio), Field(ge=1, le=1000, allow_inf_nan=False)]
"""A number of multiplications, as a multiple of others."""
