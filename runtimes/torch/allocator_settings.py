"""Settings of torch's caching allocator, read from PYTORCH_CUDA_ALLOC_CONF or from a snapshot."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memplan.planner.errors import OptionError, excerpt

ROUNDING = 512
_MIB = 1 << 20
_INTERVALS = 16
"""The number of power-of-two size intervals with separate divisions, from 1 MiB upward; the last is unbounded."""
_ROW = r"(\w+):(\[[^][]*\]|[^][,:]+)"
_NAMES = (
    "expandable_segments",
    "max_split_size_mb",
    "roundup_power2_divisions",
    "garbage_collection_threshold",
    "large_segment_size_mb",
    "max_non_split_rounding_mb",
)
_TEXTS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "last_allocator_settings")
_LEAST_SEGMENT = 10 * _MIB


@dataclass(frozen=True)
class AllocatorSettings:
    """The settings that affect the number of reserved bytes; sizes are in bytes.

    Blocks of at least `max_split_size` are not split. Such a block serves a smaller request only if the difference is
    less than `non_split_rounding`, by default `large_segment`, the size of a segment shared by large requests.

    `divisions` gives, for each interval of sizes, the number of steps per power of two to which sizes are rounded up; 0
    and 1 round to multiples of 512 bytes. While more than the fraction `threshold` of the capacity is reserved, free
    segments that were long unused are returned to the driver.
    """

    expandable: bool = False
    max_split_size: int | None = None
    divisions: tuple[int, ...] = (0,) * _INTERVALS
    threshold: float = 0.0
    large_segment: int = 20 * _MIB
    non_split_rounding: int | None = None

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

    Raises OptionError for malformed texts, for settings that are not simulated, and for values that torch refuses.
    """
    pairs = dict(re.findall(_ROW, text)) if re.fullmatch(f"{_ROW}(,{_ROW})*", text) else {}
    if not pairs or not pairs.keys() <= {*_NAMES}:
        rule = f"must be cuda, plan, cpu, or settings as NAME:VALUE, of {', '.join(_NAMES)}"
        raise OptionError(f"allocator: {rule}, got {excerpt(text)}")
    try:
        sizes = {name: int(pairs[name]) * _MIB for name in _NAMES if name.endswith("_mb") and name in pairs}
        divisions = _parse_divisions(pairs.get("roundup_power2_divisions", "[>:0]"))
        threshold = float(pairs.get("garbage_collection_threshold", "0.5"))
    except ValueError as error:
        raise OptionError(f"allocator: must have numbers for sizes and fractions, got {excerpt(text)}") from error
    large = sizes.get("large_segment_size_mb", AllocatorSettings.large_segment)
    least = dict.fromkeys(sizes, large) | {"large_segment_size_mb": _LEAST_SEGMENT + _MIB}
    rules = {f"{name} of at least {least[name] // _MIB}": size >= least[name] for name, size in sizes.items()}
    rules |= {
        "garbage_collection_threshold above 0 and below 1": 0 < threshold < 1,
        "expandable_segments:True or expandable_segments:False": pairs.get(_NAMES[0], "True") in ("True", "False"),
        "roundup_power2_divisions that are powers of two": all(map(_is_step_count, divisions)),
    }
    if broken := next((rule for rule, is_kept in rules.items() if not is_kept), None):
        raise OptionError(f"allocator: must have {broken}, because torch refuses other values, got {excerpt(text)}")
    return AllocatorSettings(
        expandable=pairs.get("expandable_segments") == "True",
        max_split_size=sizes.get("max_split_size_mb"),
        divisions=divisions,
        threshold=threshold if "garbage_collection_threshold" in pairs else 0.0,
        large_segment=large,
        non_split_rounding=sizes.get("max_non_split_rounding_mb"),
    )


def _is_step_count(parts: int) -> bool:
    return parts >= 0 and not parts & (parts - 1)


def settings_of_snapshot(rows: Mapping[str, Any]) -> AllocatorSettings:
    """Return the allocator settings that a snapshot records; missing settings get torch's defaults.

    Sizes that a snapshot has no field for are taken from its text of settings, which torch has accepted.
    """
    text = " ".join(text for name in _TEXTS if isinstance(text := rows.get(name), str))
    sizes = {name: int(size) * _MIB for name, size in re.findall(r"(\w+_mb):(\d{1,6})\b", text)}
    by_size, most = rows.get("roundup_power2_divisions"), rows.get("max_split_size")
    parts = list(by_size.values()) if isinstance(by_size, dict) else []
    is_whole = len(parts) == _INTERVALS and all(type(part) is int and 0 <= part < 1 << 10 for part in parts)
    threshold = rows.get("garbage_collection_threshold")
    large = max(sizes.get("large_segment_size_mb", AllocatorSettings.large_segment), _LEAST_SEGMENT)
    return AllocatorSettings(
        expandable=rows.get("expandable_segments") is True,
        max_split_size=most if type(most) is int and most > 0 else None,
        divisions=tuple(parts) if is_whole else (0,) * _INTERVALS,
        threshold=threshold if isinstance(threshold, float) else 0.0,
        large_segment=large,
        non_split_rounding=sizes.get("max_non_split_rounding_mb"),
    )


def _parse_divisions(text: str) -> tuple[int, ...]:
    """Return the rounding steps for each interval of sizes, from a number or a list such as [256:1,512:2,>:4]."""
    if not text.startswith("["):
        return (int(text) or -1,) * _INTERVALS  # Torch refuses 0 as a number but accepts 0 in a list.
    divisions, last = [0] * _INTERVALS, -1
    for row in text.strip("[]").split(","):
        size, _, parts = row.partition(":")
        if size.strip() == ">":
            divisions[last + 1 :] = [int(parts)] * (_INTERVALS - last - 1)
            continue
        if not _is_step_count(int(size)):
            raise ValueError(size)
        index = min(int(size).bit_length() - 1, _INTERVALS - 1)
        if last < 0:
            divisions[:index] = [int(parts)] * index
        divisions[index], last = int(parts), index
    return tuple(divisions)
