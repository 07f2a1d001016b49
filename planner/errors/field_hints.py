"""Fields by the words of others: what each is called here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from json import dumps

_OF_BUFFERS = {
    "lower": "start",
    "upper": "end",
    "first": "start",
    "begin": "start",
    "birth": "start",
    "last": 'end, with "interval": "closed" in the problem if it is a time of the lifetime',
    "death": "end",
    "lifetime": "start and end, or lifetimes, which is a list of pairs",
    "live_range": "start and end, or lifetimes, which is a list of pairs",
    "interval": "start and end, or lifetimes, which is a list of pairs",
    "size_bytes": "size",
    "bytes": "size",
    "nbytes": "size",
    "byte_size": "size",
    "length": "size",
    "name": "id",
    "align": "alignment",
    "address": "offset",
    "device": "pools",
    "memory": "pools",
    "pool": "pools",
    "pool_candidates": "pools",
    "conflicts": "conflicts of the problem, a list of pairs of ids",
    "conflicts_with": "conflicts of the problem, a list of pairs of ids",
    "alias": "alias_of",
}
_OF_POOLS = {
    "capacity": "size",
    "size_bytes": "size",
    "bytes": "size",
    "base": "base_address",
    "address": "base_address",
    "align": "alignment",
    "id": "name",
}
_OF_PROBLEMS = {
    "tensors": "buffers",
    "allocations": "buffers",
    "capacity": "size of a pool, in pools",
    "size": "size of a pool, in pools",
    "alignment": "alignment of a pool or of buffers",
    "memories": "pools",
    "time_limit": "time_limit_s, an option",
    "time_limit_s": "the option beside the problem",
    "solver": "the option beside the problem",
}
_KNOWN = {
    "buffers": (
        *("id", "size", "start", "end", "lifetimes", "alignment", "pools", "offset", "traffic", "hint", "alias_of"),
        *("alias_offset", "relative", "no_cross", "offset_mod", "forbid_pools"),
    ),
    "pools": ("name", "size", "alignment", "base_address", "cost", "reserved", "bank_size"),
    "": ("format", "name", "interval", "buffers", "conflicts", "may_share", "bank", "together", "pools", "objective"),
}
_MEANT: Mapping[str, Mapping[str, str]] = {"buffers": _OF_BUFFERS, "pools": _OF_POOLS, "": _OF_PROBLEMS}


def unknown_field(location: Sequence[str | int]) -> str:
    """Say that a field is not known and, if others call one of ours so, or it is nearly one, which one is meant."""
    words = [step for step in location if isinstance(step, str)]
    of = words[-2] if len(words) > 1 and words[-2] in _KNOWN else "" if len(words) == 1 else None
    if of is None or not words:
        return "is not a known field"
    meant = _MEANT[of].get(words[-1].lower())
    if meant is None:
        meant = next(iter(get_close_matches(words[-1][:60].lower(), _KNOWN[of], n=1, cutoff=0.75)), None)
    return "is not a known field" if meant in {None, words[-1]} else f"is not a known field (did you mean {meant}?)"


_SIZE = re.compile(r"([0-9]{1,18})(?:\.0*)? ?([KMG]?)(i?)(B|b|bytes?|)", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3}


def meant_number(value: object) -> str:
    """Say which number of bytes, or which number, a text most likely means; empty where that is not plain."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return ""
    number = int(match[1]) * 1024 ** _POWERS[match[2]]
    return f" (did you mean {number}{', without quotes' if not match[2] else ', in bytes'}?)"


def meant_list(value: object, key: str = "name") -> str:
    """Say how an object that stands where a list should is written as one; empty for what is no object or empty."""
    if not isinstance(value, Mapping) or not value:
        return ""
    if all(isinstance(row, Mapping) for row in value.values()):
        first = dumps(str(next(iter(value)))[:20])
        return f' (did you mean [{{"{key}": {first}, ...}}, ...], a list in which each says its {key}?)'
    return " (did you mean [{...}], a list of one?)"
