"""Settings of torch's caching allocator, read from PYTORCH_CUDA_ALLOC_CONF or from a snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memplan.planner.errors import OptionError, excerpt

ROUNDING = 512
_MIB = 1 << 20
_INTERVALS = 16
"""The number of power-of-two size intervals with separate divisions, from 1 MiB upward; the last is unbounded."""
_ROW = r"(\w+)(?::(\[[^][]*\]|[^][,:]*))?"
_NAMES = ("expandable_segments", "max_split_size_mb", "roundup_power2_divisions", "garbage_collection_threshold")


@dataclass(frozen=True)
class AllocatorSettings:
    """The settings that affect the number of reserved bytes; sizes are in bytes.

    Blocks of at least `max_split_size` are not split. `divisions` gives, for each interval of sizes, the number of
    steps per power of two to which sizes are rounded up; 0 and 1 round to multiples of 512 bytes. While more than the
    fraction `threshold` of the capacity is reserved, free segments that were long unused are returned to the driver.
    """

    expandable: bool = False
    max_split_size: int | None = None
    divisions: tuple[int, ...] = (0,) * _INTERVALS
    threshold: float = 0.0

    def round_size(self, size: int) -> int:
        """Return the size in bytes of the block that serves a request of `size` bytes."""
        whole = -(-max(size, 1) // ROUNDING) * ROUNDING
        floor = size.bit_length() - 1
        parts = self.divisions[min(max(floor - 20, 0), _INTERVALS - 1)]
        if parts <= 1 or size <= ROUNDING * parts:
            return whole
        step = (1 << floor) >> (parts.bit_length() - 1)
        return -(-size // step) * step


def settings_of(text: str) -> AllocatorSettings:
    """Return the settings in a text such as "expandable_segments:True,max_split_size_mb:128".

    A name without a value means True. Raises OptionError for malformed texts and for settings that are not simulated.
    """
    pairs = dict(re.findall(_ROW, text)) if re.fullmatch(f"{_ROW}(,{_ROW})*", text) else {}
    if not pairs or not pairs.keys() <= {*_NAMES}:
        rule = f"must be cuda, plan, cpu, or settings as NAME:VALUE, of {', '.join(_NAMES)}"
        raise OptionError(f"allocator: {rule}, got {excerpt(text)}")
    try:
        most = pairs.get("max_split_size_mb")
        return AllocatorSettings(
            expandable=pairs.get("expandable_segments", "False").lower() in ("", "true"),
            max_split_size=None if most is None else int(most) * _MIB,
            divisions=_divisions(pairs.get("roundup_power2_divisions", "0")),
            threshold=float(pairs.get("garbage_collection_threshold", 0)),
        )
    except ValueError as error:
        raise OptionError(f"allocator: must have numbers for sizes and fractions, got {excerpt(text)}") from error


def settings_of_snapshot(rows: Mapping[str, Any]) -> AllocatorSettings:
    """Return the allocator settings that a snapshot records; missing settings get torch's defaults."""
    by_size, most = rows.get("roundup_power2_divisions"), rows.get("max_split_size")
    parts = list(by_size.values()) if isinstance(by_size, dict) else []
    is_whole = len(parts) == _INTERVALS and all(type(part) is int and 0 <= part < 1 << 10 for part in parts)
    threshold = rows.get("garbage_collection_threshold")
    return AllocatorSettings(
        expandable=rows.get("expandable_segments") is True,
        max_split_size=most if type(most) is int and most > 0 else None,
        divisions=tuple(parts) if is_whole else (0,) * _INTERVALS,
        threshold=threshold if isinstance(threshold, float) else 0.0,
    )


def _divisions(text: str) -> tuple[int, ...]:
    """Return the divisions of all intervals, from one number or a list such as [256:1,512:2,>:4] with sizes in MiB."""
    if not text.startswith("["):
        return (int(text),) * _INTERVALS
    divisions, last = [0] * _INTERVALS, -1
    for row in text.strip("[]").split(","):
        size, _, parts = row.partition(":")
        if size.strip() == ">":
            divisions[last + 1 :] = [int(parts)] * (_INTERVALS - last - 1)
            continue
        index = min(int(size).bit_length() - 1, _INTERVALS - 1)
        if last < 0:
            divisions[:index] = [int(parts)] * index
        divisions[index], last = int(parts), index
    return tuple(divisions)
