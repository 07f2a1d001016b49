"""A finding of lint: something legal that was probably not intended."""

from dataclasses import dataclass

MAX_LISTED = 20
"""The most findings of one rule that are listed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something legal that was probably not intended, and the buffers concerned, if any."""

    rule: str
    message: str
    buffers: tuple[int | str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """True for a fact that the file omits and its reader cannot know; a plan may need more bytes."""
        return self.rule.startswith("unknown-")
