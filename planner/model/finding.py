"""Lint findings: legal parts of a problem that are probably unintended."""

from dataclasses import dataclass

MAX_LISTED = 20
"""The maximum number of findings listed for one rule."""
REFUSED = "unknown-kernel"
"""The rule of a finding about operators that a model's runtime refuses in an arena of any size."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A legal part of a problem that is probably unintended; `buffers` are the ids concerned, if any."""

    rule: str
    message: str
    buffers: tuple[int | str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """True if the file lacks a fact that its reader cannot know, so that a plan may need more bytes."""
        return self.rule.startswith("unknown-")
