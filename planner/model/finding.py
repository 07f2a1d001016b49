"""Lint findings: legal parts of a problem that are probably unintended."""

from dataclasses import dataclass

from memplan.planner.model.field_docs import DescribedFields

MAX_LISTED = 20
"""The maximum number of findings listed for one rule."""
REFUSED = "unknown-kernel"
"""The rule of a finding about operators that a model's runtime refuses in an arena of any size."""


@dataclass(frozen=True, slots=True)
class Finding(DescribedFields):
    """A legal part of a problem that is probably unintended."""

    rule: str
    """The kind of the finding, such as `never-alive`."""
    message: str
    """The finding as a sentence."""
    buffers: tuple[int | str, ...] = ()
    """The names of the buffers concerned, if any."""

    @property
    def is_unknown(self) -> bool:
        """True if the file lacks a fact that its reader cannot know, so that a plan may need more bytes."""
        return self.rule.startswith("unknown-")
