"""Suggestions for mending broken rules, added to sentences that have none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memplan.planner.errors.did_you_mean import KNOWN_FIELDS

_SAID = (
    r"did you mean|JSON has no|such as|, as |as in|left out|the default|leave it out|`memplan|--|; |\(the |save the"
    r"|download|\?\)|:/|wrote it:"
)
"""Words that show that a sentence already suggests a remedy."""
_WAYS = [
    (r"must be greater than start", "the end is the first time step after the lifetime: do the two change places?"),
    (r"must be unique", "give each a name of its own, or leave one out"),
    (r"each key once|must not be given beside|must be named once", "leave one of them out"),
    (r"must be the id of a buffer|must name another buffer", "name another one of the buffers, or leave it out"),
    (r"trailing characters", 'a file is one value; rows go into one list: {"buffers": [...]}'),
    (
        r"must be JSON: (expected|invalid)",
        "is it another kind of text? JSON has no comments, no commas at the end, no '",
    ),
    (r"recursion limit", "nothing that is read here lies so deep: is it another kind of file?"),
    (r"options: must be an object", 'write {"time_limit_s": 5}'),
    (r"pools\[\d+\]: must be an object", 'write {"name": "sram", "size": 131072}'),
    (r"ops\[\d+\]: must be an object", 'write {"in": [0], "out": [1]}'),
    (r"(plan|keep): must be an object", "give what plan answered, as JSON"),
    (r"buffers\[\d+\]: must be an object", 'write {"id": "a", "size": 64, "start": 0, "end": 3}'),
    (r"sizes: must be an object", 'write {"sram": [65536, 131072]}, a list for each pool'),
    (
        r"^(body: |problem: |[^\[]*(json|input): )?must be an object",
        'write {"buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}]}',
    ),
    (r"^[^:]*: must not be empty$", "is it cut short, or still to be written? Make or fetch it again"),
    (r"must be a non-empty", 'write a name, as "conv1", or a number'),
    (r"(^|: )(model|program)\..*must not be empty", "is it cut short? Make or fetch it again"),
    (
        r"got the end of the text$|EOF while parsing|its last byte|was never closed|node of the streams$",
        "is it cut short? Make or fetch it again",
    ),
    (
        r"buffers: is required$",
        'give a problem, {"buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}]}, or a model',
    ),
    (r"names \(none\)|must be given for .* only, got|got a file that has no operations", "leave it out"),
    (
        r"must have the identifier|must have an identifier",
        "another version wrote it, or it is of another kind: export it again",
    ),
    (r"must not be empty", "name one, or leave it out"),
    (r"is a directory$", "name a file in it"),
    (r": file exists$", "it is a file, and a folder is written: name another"),
    (r"no such directory", "make it first, or write elsewhere"),
    (r"permission denied", "may this user read and write it? Or write elsewhere"),
    (r"must be text in UTF-8|JSON in UTF-8", "save it as UTF-8"),
    (r"must have \d+ cells", "each row has a cell for each column of the first line"),
    (r"comma-separated values", "is a quotation mark left open?"),
    (r"column '.*must be an integer|size.*must be an integer", "bytes and time steps are whole numbers, as 4096"),
    (r"^plan: is required", "what plan answers: an object with placements"),
    (r"must be made before it is read", "list the operation that makes it first, or name the tensor in given"),
    (r"must be the position of one", "positions count from 0"),
    (r"symbols: is required", 'as {"symbols": {"n": {"min": 1, "max": 64}}}: see docs/shapes.md'),
    (r"must be at least \d+, got -", "sizes, offsets, times and counts are not negative here"),
    (r"is required where (start|end) is", "give both, or lifetimes, as [[0, 3]]"),
    (r"must be the (model|program), a (\.\w+) file", "give the file that the plan was made of, with that ending"),
    (r"must be '", "write one of these, or leave it out for the default"),
]
_FIELDS = r"(?:^|: |\.)(\w+)\[\d+\]\.\w+: is not a known field$|(?:^|: )\w+: is not a known field$"


def ways(sentences: Iterable[str]) -> Iterator[str]:
    """Yield a remedy for each broken rule whose sentence has none, without repetition."""
    yield from dict.fromkeys(way for sentence in sentences if (way := _way(sentence)) is not None)


def with_ways(sentences: Iterable[str]) -> Iterator[str]:
    """Yield the sentences, each followed by its remedy where that was not given before."""
    ways = set[str | None]({None})
    for sentence in sentences:
        way = _way(sentence)
        yield sentence if way in ways else f"{sentence} ({way})"
        ways.add(way)


def _way(sentence: str) -> str | None:
    if (unknown := re.search(_FIELDS, sentence)) is not None:
        fields = KNOWN_FIELDS.get(unknown[1] or "")
        return None if fields is None else f"the fields of {unknown[1] or 'a problem'} are {', '.join(fields)}"
    if re.search(_SAID, sentence):
        return None
    return next((way for rule, way in _WAYS if re.search(rule, sentence)), None)
