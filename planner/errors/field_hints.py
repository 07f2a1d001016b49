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
    **dict.fromkeys(("tensor_id", "tensor", "tensor_name", "buffer_id", "buffer", "key", "index"), "id"),
    **dict.fromkeys(("birth_time", "first_used", "first_time_created", "begin_time", "alloc_time", "def"), "start"),
    **dict.fromkeys(("death_time", "free_time", "stop", "until", "finish", "end_time"), "end"),
    **dict.fromkeys(("last_used", "last_time_used", "last_use"), "end, which is the first time after it"),
    **dict.fromkeys(("nbytes_aligned", "storage_size", "total_bytes", "size_hint_bytes", "mem_size"), "size"),
    **dict.fromkeys(
        ("mem_id", "mem_space", "memory_id", "pool_name", "pool_id", "device_id", "storage_scope"), "pools"
    ),
    **dict.fromkeys(("mem_offset", "pool_offset", "byte_offset", "addr", "pinned_offset", "fixed_offset"), "offset"),
    **dict.fromkeys(("view_of", "inplace_of", "shares_with", "base_buffer"), "alias_of"),
    **dict.fromkeys(("shape", "dtype", "dims"), "size, in bytes: elements times the bytes of one"),
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
    **dict.fromkeys(("pool_name", "memory", "region"), "name"),
    **dict.fromkeys(("size_hint_bytes", "limit", "length", "max_size", "bytes_available"), "size"),
    **dict.fromkeys(("start_address", "origin", "addr", "base_addr", "offset"), "base_address"),
    **dict.fromkeys(("read_cost", "latency", "write_cost", "cycles", "weight"), "cost"),
    **dict.fromkeys(("banks", "bank", "bank_bytes"), "bank_size"),
    **dict.fromkeys(("device_type", "device_id", "device_index", "target", "core", "gpu"), "device"),
    **dict.fromkeys(("holes", "reserved_ranges", "forbidden"), "reserved, a list of [offset, size]"),
}
_OF_PLACEMENTS = {
    **dict.fromkeys(("tensor_id", "tensor", "name", "buffer", "buffer_id"), "id"),
    **dict.fromkeys(("pool_name", "mem_id", "memory", "device", "mem_space", "pool_id"), "pool"),
    **dict.fromkeys(("address", "addr", "mem_offset", "byte_offset", "start"), "offset"),
}
_OF_PROBLEMS = {
    "tensors": "buffers",
    **dict.fromkeys(("nodes", "operations", "operators"), "ops of a graph, or functions of a program"),
    "allocations": "buffers",
    "capacity": "size of a pool, in pools",
    "size": "size of a pool, in pools",
    "alignment": "alignment of a pool or of buffers",
    **dict.fromkeys(("memories", "device_memory_pools", "memory_pools", "workspace_memory_pools", "devices"), "pools"),
    **dict.fromkeys(("buffer_info", "buffer_infos", "blocks", "specs", "values", "storages"), "buffers"),
    **dict.fromkeys(("intervals", "edges", "interference", "conflict_pairs"), "conflicts"),
    **dict.fromkeys(("profile", "seed", "accept", "deterministic"), "the option beside the problem"),
    "goal": "objective",
    "minimize": "objective",
    "time_limit": "time_limit_s, an option",
    "time_limit_s": "the option beside the problem",
    "solver": "the option beside the problem",
}
KNOWN_FIELDS = {
    "buffers": (
        *("id", "size", "start", "end", "lifetimes", "alignment", "pools", "offset", "traffic", "hint", "alias_of"),
        *("alias_offset", "relative", "no_cross", "offset_mod", "forbid_pools"),
    ),
    "pools": ("name", "size", "alignment", "base_address", "cost", "reserved", "bank_size", "device"),
    "placements": ("id", "pool", "offset"),
    "ops": ("in", "out", "work", "after", "may_overwrite", "regions", "name", "kind", "cost", "once"),
    "body": ("op", "inputs", "outputs", "temporaries", "body", "has_effects", "call", "branches", "trips"),
    "": ("format", "name", "interval", "buffers", "conflicts", "may_share", "bank", "together", "pools", "objective"),
}
_MEANT: Mapping[str, Mapping[str, str]] = {
    "buffers": _OF_BUFFERS,
    "pools": _OF_POOLS,
    "placements": _OF_PLACEMENTS,
    "body": {
        **dict.fromkeys(("reads", "in", "input", "args", "operands", "uses"), "inputs"),
        **dict.fromkeys(("writes", "out", "output", "results", "defs"), "outputs"),
        **dict.fromkeys(("scratch", "workspace", "temps"), "temporaries"),
    },
    "ops": {
        **dict.fromkeys(("inputs", "input", "reads", "args", "operands", "uses"), "in"),
        **dict.fromkeys(("outputs", "output", "writes", "results", "makes"), "out"),
        **dict.fromkeys(("scratch", "workspace", "temporaries"), "work"),
        **dict.fromkeys(("op", "type", "op_type"), "kind"),
    },
    "": _OF_PROBLEMS,
}


_VALUES = {
    "size": "bytes, as 4096",
    "start": "the time step from which it is alive, as 0",
    "end": "the first time step after it, as 3",
    "alignment": "offsets are its multiples, as 16; left out, 1",
    "offset": "bytes from the start of the pool, as 64; left out, it is chosen",
    "id": 'a name, as "conv1"',
    "name": 'a name, as "sram"',
    "base_address": "the address of its first byte, 536870912 for 0x20000000",
    "cost": "of a byte of traffic, as 4.0; left out, 0",
    "to": "the id of another one",
    "lifetimes": "a list of pairs, as [[0, 3]]",
    **dict.fromkeys(("conflicts", "may_share"), 'a list of pairs of ids, as [["a", "b"]]'),
    "together": 'a list of lists of ids, as [["a", "b"]]',
    "reserved": "a list of pairs of an offset and a size, as [[0, 1024]]",
    "interval": "whether the end is a time of the lifetime; left out, half-open: it is not",
    "placements": 'a list, as [{"id": "a", "pool": "sram", "offset": 0}]',
    **dict.fromkeys(("in", "out"), "a list of the positions of tensors, as [0]"),
    "alias_of": "the id of the one that it lies in; left out, it has a place of its own",
}
"""What the fields of rows are to be given, by their names."""


def meant_value(location: Sequence[str | int], said: str) -> str:
    """Say what the field of a row is to be given, where nothing that is said of its value shows that."""
    field = next((step for step in reversed(location) if isinstance(step, str)), "")
    if field not in _VALUES or (field in ("name", "size") and len(location) < 3) or "did you mean" in said:
        return ""
    return f" ({_VALUES[field].partition('; left out')[0] if said == 'is required' else _VALUES[field]})"


def unknown_field(location: Sequence[str | int]) -> str:
    """Say that a field is not known and, if others call one of ours so, or it is nearly one, which one is meant."""
    words = [step for step in location if isinstance(step, str)]
    of = words[-2] if len(words) > 1 and words[-2] in KNOWN_FIELDS else "" if len(words) == 1 else None
    if of is None or not words:
        return "is not a known field"
    meant = meant_field(of, words[-1])
    return "is not a known field" if meant in {None, words[-1]} else f"is not a known field (did you mean {meant}?)"


def meant_field(of: str, word: str) -> str | None:
    """Return the field of buffers, pools, placements or, for "", problems that others call so, or that is near."""
    near = get_close_matches(word[:60].lower(), KNOWN_FIELDS[of], n=1, cutoff=0.75)
    return _MEANT[of].get(word.lower(), next(iter(near), None))


_SIZE = re.compile(r"([0-9]{1,18})(?:\.0*)? ?([KMG]?)(i?)(B|b|bytes?|)", re.ASCII)
_OTHER_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,15}|[1-9][0-9]{0,2}(?:[,_][0-9]{3}){1,4}", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3}


def meant_number(value: object) -> str:
    """Say which number of bytes, or which number, a text most likely means; empty where that is not plain."""
    if isinstance(value, float) and value.is_integer():
        return f" (did you mean {value:.0f}?)"
    if isinstance(value, str) and _OTHER_NUMBER.fullmatch(value.strip()):
        return f" (did you mean {int(value.replace(',', '').replace('_', ''), 0)}?)"
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return ""
    number = int(match[1]) * 1024 ** _POWERS[match[2]]
    return f" (did you mean {number}{', without quotes' if not match[2] else ', in bytes'}?)"


def meant_list(value: object, key: str = "name") -> str:
    """Say how an object that stands where a list should is written as one; empty for what is no object or empty."""
    if isinstance(value, str):
        return f" (did you mean [{dumps(value[:40])}]?)"
    if not isinstance(value, Mapping) or not value:
        return ""
    if all(isinstance(row, Mapping) for row in value.values()):
        first = dumps(str(next(iter(value)))[:20])
        return f' (did you mean [{{"{key}": {first}, ...}}, ...], a list in which each says its {key}?)'
    return " (did you mean [{...}], a list of one?)"
