"""A finding of lint: something legal that was surely not meant."""

from dataclasses import dataclass

MAX_LISTED = 20
"""The most findings of one rule that are listed."""


@dataclass(frozen=True)
class Finding:
    """Something legal that was surely not meant, and the buffers that it is about, if any."""

    rule: str
    message: str
    buffers: tuple[int | str, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """True for what a file does not say and its reader does not know, so that a plan may need more bytes."""
        return self.rule.startswith("unknown-")
