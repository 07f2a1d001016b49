"""memplan's JSON: the format of problems and plans in files and over HTTP."""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from memplan.planner.errors import AS_UTF8, ONE_OF_THEM, FormatError, excerpt
from memplan.planner.model.intervals import Interval
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import PlanValue

SUFFIX = ".json"
MEDIA_TYPE = "application/json"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
IOPDDL = rb'"problem"\s*:\s*\{\s*(?:"name"\s*:\s*"[^"]*"\s*,\s*)?"nodes"\s*:'
"""The pattern of a problem in the IOPDDL format, whose outer key `problem` also occurs in memplan's requests."""
_KEYS = rb"buffers|pools|ops|size|kept|functions|entry|models|placements|symbols|problem"
_OWN = rb'(?:\xef\xbb\xbf)?\s*\{\s*(?!%s)"(?:format"\s*:\s*"(?:memplan/|operations-by-)|(?:%s)"\s*:)' % (IOPDDL, _KEYS)

_WORD = r"[-+\w.]+"
_NUMBER = r"([+-]?)(?:(\d*\.\d+)|0[xX]([0-9a-fA-F]{1,15})|(\d{1,18}))"
_FINITE = "a number, or leave the field out"
_PLAIN = frozenset({int, float, str, bool, type(None)})
"""The types of values that JSON represents without conversion."""
_CONSTANTS = {"true": "true", "false": "false", "none": "null", "undefined": "null", "nan": _FINITE}
_CONSTANTS |= {f"{sign}{name}": _FINITE for sign in ("", "+", "-") for name in ("inf", "infinity")}
"""Words of other languages, each with JSON's word for it or with advice if JSON has none."""
_OTHER_KIND = "is it another kind of text? JSON has no comments, no commas at the end, no '"
_WAYS = {
    "trailing characters": 'a file is one value; rows go into one list: {"buffers": [...]}',
    "recursion limit": "no file that memplan reads is nested so deeply: is it another kind of file?",
    "expected": _OTHER_KIND,
    "invalid": _OTHER_KIND,
}
"""Remedies for syntax errors, by the first words of the parser's message."""


def is_own(data: bytes) -> bool:
    """Return True if the bytes start with a JSON object whose first key is one of memplan's."""
    return re.match(_OWN, data) is not None


def recognises(data: bytes) -> bool:
    """Return True if the bytes start with a JSON object or list."""
    return data.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"[")


def parse(data: bytes) -> Any:
    """Return the value of a JSON text; raises FormatError for invalid or ambiguous JSON.

    Duplicate keys, non-finite numbers, lone surrogates and text outside UTF-8 are refused.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"must be JSON in UTF-8, got byte 0x{data[error.start]:02x} at {error.start}", way=AS_UTF8
        ) from None
    if not text.strip():
        raise FormatError("must be JSON, got nothing")
    try:
        # Ids are distinct, so a cache of all texts, not only of keys, would be slower than none.
        value = from_json(data, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        found = _failure_text(text, str(error))
        way = (
            None if found.endswith(")") else next((_WAYS[word] for word in _WAYS if str(error).startswith(word)), None)
        )
        raise FormatError(f"must be JSON: {error}{found}", way=way) from None
    # The parser drops duplicate keys, so a text with duplicates has more colons than its parsed value has keys.
    # Most files have colons only after keys, so counting the keys usually proves that no key occurs twice.
    keys = _key_count(value) if isinstance(value, dict) else -1
    # Detecting duplicate keys by a parser hook is slow, so use the hook only if the counts of colons differ.
    if b"\\" in data or (data.count(b":") != keys and data.count(b":") != to_json(value).count(b":")):
        import json

        json.loads(text, object_pairs_hook=_refuse_duplicate_keys)
    return value


def _failure_text(text: str, error: str) -> str:
    at = re.search(r"line (\d+) column (\d+)", error)
    line, place = "".join(text.splitlines()[int(at[1]) - 1 :][:1]) if at else "", int(at[2]) if at else 0
    near = line[max(0, place - 20) : place + 20].strip()
    words = (word for word in re.finditer(_WORD, line) if word.start() < place <= word.end() + 1)
    return (f", in {excerpt(near)}" if near else "") + _likely_mistake(
        text, error, next((word[0] for word in words), "")
    )


def _likely_mistake(text: str, error: str, word: str) -> str:
    """Return a hint about the likely cause of a JSON syntax error at `word`; empty if there is no good guess."""
    if error.startswith("EOF"):
        return " (is it cut short? a bracket is not closed)"
    if "key must be a string" in error or "'" in text.lstrip()[:3]:
        return ' (keys and texts are in double quotes: {"buffers": []})'
    if word.lower() in _CONSTANTS:
        return f" (JSON has no {word}: write {_CONSTANTS[word.lower()]})"
    if (number := re.fullmatch(_NUMBER, word.replace("_", ""))) is not None:
        plain = number[2] or str(int(number[3] or number[4], 16 if number[3] else 10))
        plain = f"0{plain}" if plain.startswith(".") else plain
        return f" (JSON has no {word}: write {number[1].strip('+')}{plain})"
    is_comment = re.search(r"^[ \t]*(//|/\*|#)", text, re.MULTILINE) is not None
    return " (JSON has no comments: leave them out)" if is_comment else ""


def _key_count(value: dict[str, Any]) -> int:
    parts = [value, *[part for part in value.values() if type(part) is dict]]
    lists = [rows for part in parts for rows in part.values() if type(rows) is list]
    return sum(map(len, parts)) + sum([sum(map(len, rows)) for rows in lists if set(map(type, rows)) == {dict}])


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> None:
    """Raise FormatError if an object's (key, value) pairs have the same key twice."""
    if len(dict(pairs)) == len(pairs):
        return
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise FormatError(
                f"must be JSON in which no object repeats a key, got {excerpt(name)} twice", way=ONE_OF_THEM
            )
        seen.add(name)


def read_problem(data: bytes, interval: Interval | None = None) -> Problem:
    """Return the problem in a JSON text, which may also contain a plan for it; raises FormatError or ProblemError.

    `interval` applies to a problem that does not state whether its ends are inclusive.
    """
    value = parse(data)
    if isinstance(value, dict) and value.keys() == {"problem", "plan"}:
        value = value["problem"]
    refuse_unless_problem(value)
    if interval is not None and isinstance(value, dict):
        value.setdefault("interval", interval)
    return Problem.model_validate(value)


def write_problem(problem: Problem) -> bytes:
    """Return the JSON of a problem; absent and default values are omitted, but a stated `interval` is kept."""
    written = problem.model_dump_json(exclude_defaults=True)
    if "interval" in problem.model_fields_set:
        written = f'{{"interval":"{problem.interval}",{written[1:]}'
    return written.encode() + b"\n"


def read_plan(data: bytes, problem: Problem) -> Plan:
    """Return the plan in a JSON text; raises FormatError or PlanError.

    The text has the names of all buffers and pools, so `problem` is unused.
    """
    value = parse(data)
    refuse_unless_plan(value)
    return Plan.model_validate(value)


def write_plan(plan: Plan, problem: Problem) -> bytes:
    """Return the JSON of a plan; absent facts are null, and some fields are omitted if they are empty."""
    table = plan.placements
    pools = [f',"pool":{name},"offset":' for name in _json_names(table.pool_names)]
    rows = zip(_json_names(table.ids), map(pools.__getitem__, table.pool.tolist()), table.offset.tolist(), strict=True)
    if table.start is None or table.end is None:
        placements = ",".join([f'{{"id":{name}{pool}{offset}}}' for name, pool, offset in rows])
    else:
        times = zip(table.start.tolist(), table.end.tolist(), strict=True)
        pieces = [(*row, *each) for row, each in zip(rows, times, strict=True)]
        placements = ",".join([f'{{"id":{i}{q}{at},"start":{start},"end":{end}}}' for i, q, at, start, end in pieces])
    # pydantic takes twice as long to write placements, so write them here.
    # Quotes inside other texts are escaped, so the key with its quotes occurs exactly once and can be replaced.
    rare = ("profile", "weighted", "cost_limit", "options", "read_with", "findings", "heaps")
    unsaid = {name for name in rare if not getattr(plan, name)}
    rest = to_json(_json_value(plan, {"placements", *unsaid}), inf_nan_mode="null").decode()
    return rest.replace(',"shared":', f',"placements":[{placements}],"shared":', 1).encode() + b"\n"


def _json_names(names: Sequence[int | str]) -> list[int | str]:
    text = "".join([name for name in names if isinstance(name, str)])
    if text.isprintable() and '"' not in text and "\\" not in text:
        return [f'"{name}"' if isinstance(name, str) else name for name in names]
    return [to_json(name).decode() for name in names]


def _json_value(value: Any, left_out: Container[str] = ()) -> Any:
    """Return a value with its models converted to JSON objects, without the fields in `left_out`.

    pydantic's serializer would do the same, but building the serializer takes longer than solving a small problem.
    """
    kind: type[object] = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return value if _PLAIN.issuperset(map(type, value)) else [_json_value(each) for each in value]
    if isinstance(value, PlanValue):
        return {
            field.alias or name: _json_value(getattr(value, name))
            for name, field in type(value).model_fields.items()
            if name not in left_out and (field.exclude_if is None or not field.exclude_if(getattr(value, name)))
        }
    return value.rows() if kind is PlacementTable else value


def refuse_unless_problem(value: object) -> None:
    """Raise FormatError if a JSON document is recognised as something other than a problem."""
    if isinstance(value, list):
        raise FormatError('must be an object, {"buffers": [...]}, got a list')
    if isinstance(value, Mapping) and ("buffers" not in value or "symbols" in value):
        kind = _document_kind(value)
        if kind is not None:
            raise FormatError(f"must be a problem, got {kind}")


def are_offsets(value: Mapping[Any, Any]) -> bool:
    """Return True for a non-empty object that only maps buffers to offsets; it is not a complete plan."""
    return bool(value) and "placements" not in value and all(isinstance(offset, int) for offset in value.values())


def refuse_unless_plan(value: object) -> None:
    """Raise FormatError if a JSON document is recognised as something other than a plan."""
    if isinstance(value, Mapping) and "placements" not in value:
        reads = "a list of offsets, which `memplan verify PROBLEM FILE` reads"
        offsets = reads if are_offsets(value) else _document_kind(value)
        kind = "a problem, which `memplan plan FILE` plans" if "buffers" in value else offsets
        if kind is not None:
            raise FormatError(f"must be a plan, which has placements, got {kind}")


def refuse_unless_operations(value: object) -> None:
    """Raise FormatError if a JSON document is recognised as something other than operations."""
    if isinstance(value, Mapping) and "functions" not in value:
        _refuse_other_kind(value, "operations, which have functions")


def refuse_unless_graph(value: object) -> None:
    """Raise FormatError if a JSON document is recognised as something other than a graph of operations."""
    if isinstance(value, Mapping) and "ops" not in value:
        _refuse_other_kind(value, "a model, operations, or a graph of operations, which has ops")


def _refuse_other_kind(value: Mapping[str, Any], wanted: str) -> None:
    """Raise FormatError if a JSON document is a problem or of another known kind; `wanted` names the required kind."""
    is_problem = "buffers" in value
    kind = (
        "a problem, which has no operations and which `memplan plan FILE` reads"
        if is_problem
        else _document_kind(value)
    )
    if kind is not None:
        raise FormatError(f"must be {wanted}, got {kind}")


def _document_kind(value: Mapping[str, Any]) -> str | None:
    """Return a document's kind and the command that reads it, as text; None if the kind is unknown."""
    if "symbols" in value and "buffers" in value:
        return "a problem whose sizes are expressions, which `memplan shapes` plans for all values"
    if "placements" in value:
        return "a plan, which `memplan verify PROBLEM FILE` checks, and shows with --format page"
    if "functions" in value:
        return "operations, which `memplan liveness FILE` and `memplan plan FILE` read"
    if "ops" in value:
        return "a graph of operations, which `memplan order FILE` and `memplan plan FILE --order best` read"
    if "problem" in value:
        return "a request to the service, whose problem is in the field problem"
    return None
