"""Parts that options say as text, such as 10%, and how a text is refused."""

from __future__ import annotations

import re

from pydantic_core import PydanticCustomError

_PART = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(%?)", re.ASCII)


def share_of(text: str) -> float | None:
    """Return the part that a text such as 10% or 0.1 says; None where it says none."""
    match = _PART.fullmatch(text.strip())
    return None if match is None else float(match[1]) / (100 if match[2] else 1)


def refuse(rule: str) -> PydanticCustomError:
    """Return the error of a value that breaks a rule."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule})
