"""Error messages without their remedies, for tests of location and rule."""

import re
from collections.abc import Iterable

_WAY_OUT = re.compile(r"(?<!pool) \((?!first at|and )[^()]*(\([^()]*\)[^()]*)*\)$")


def rules(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return error messages without the remedies in brackets at their end."""
    return tuple(_WAY_OUT.sub("", sentence) for sentence in sentences)
