"""The findings of lint: legal parts of a problem that were probably not intended."""

from dataclasses import dataclass

MAX_LISTED = 20
"""The most findings that are listed for one rule."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A legal part of a problem that was probably not intended; `buffers` are the ids concerned, if any."""

    rule: str
    message: str
    buffers: tuple[int | str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """True if a fact is missing in the file and unknown to its reader, so that a plan may need more bytes."""
        return self.rule.startswith("unknown-")
