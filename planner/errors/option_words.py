"""Options by the words of others: what each is called here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

_WORDS: Mapping[str, tuple[str, ...]] = {
    "time-limit": ("timeout", "limit", "seconds", "time", "deadline", "max-time", "budget-s"),
    "output": ("out", "save", "to-file", "plan", "o", "output-file", "dest"),
    "capacity": (
        "ram",
        "memory",
        "size",
        "arena",
        "arena-size",
        "max-size",
        "memory-size",
        "sram",
        "budget",
        "limit",
        "device",
    ),
    "budget": ("ram", "memory", "size", "arena", "capacity", "max-size", "limit"),
    "alignment": ("align", "aligned"),
    "format": ("json", "csv", "table", "output-format", "as"),
    "solver": ("algorithm", "method", "engine", "strategy", "allocator", "planner", "backend"),
    "accept": ("gap", "mip-gap", "tolerance", "rel-gap", "good-enough"),
    "picture": ("svg", "png", "plot", "draw", "image", "chart"),
    "page": ("html", "report", "view"),
    "dim": ("shape", "batch", "batch-size", "dims", "dimension", "symbol"),
    "to": ("target", "format", "lang", "language"),
    "macs": ("extra", "recompute", "overhead"),
    "deterministic": ("reproducible", "no-random", "fixed"),
    "quiet": ("silent", "no-progress"),
    "scratch": ("workspace", "temp", "scratch-buffer"),
    "fit": ("capacity", "ram", "memory", "arena", "size", "budget"),
}
"""The words of others for options, which have `-` between their words."""
_OF_ANSWERS = dict.fromkeys(
    ("fields", "omit"), "of an answer: `fields` and `omit` stand in the query of its call, as ?fields=status,peak"
)
"""The words that belong to answers instead."""


def names_meant(word: str) -> Iterator[str]:
    """Yield the names of flags, without their dashes, that others call so."""
    plain = word.lower().replace("_", "-").removesuffix("-s")
    return (name for name, words in _WORDS.items() if plain in words)


def unknown_option(word: str, options: Collection[str]) -> str:
    """Say that an option is not known, and which one is meant, or which there are."""
    if word in _OF_ANSWERS:
        return f"is not a known field ({_OF_ANSWERS[word]})"
    fields = {field.replace("_", "-").removesuffix("-s").removesuffix("s"): field for field in options}
    meant = [fields[name] for name in names_meant(word) if name in fields]
    near = next(iter([*meant, *get_close_matches(word[:60].lower(), options, n=1)]), None)
    hint = f"did you mean {near}?" if near else f"the options are {', '.join(sorted(options))}"
    return f"is not a known field ({hint})"
