"""memplan's own JSON: the wire format of problems and plans."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
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
"""The first keys of a problem in the IOPDDL format, which has a field with the same name as one of memplan's."""
_KEYS = rb"buffers|pools|ops|size|kept|functions|entry|models|placements|symbols|problem"
_OWN = rb'(?:\xef\xbb\xbf)?\s*\{\s*(?!%s)"(?:format"\s*:\s*"(?:memplan/|operations-by-)|(?:%s)"\s*:)' % (IOPDDL, _KEYS)

_WORD = r"[-+\w.]+"
_NUMBER = r"([+-]?)(?:(\d*\.\d+)|0[xX]([0-9a-fA-F]{1,15})|(\d{1,18}))"
_FINITE = "a number, or leave the field out"
_PLAIN = frozenset({int, float, str, bool, type(None)})
"""The types of values that JSON can represent directly."""
_CONSTANTS = {"true": "true", "false": "false", "none": "null", "undefined": "null", "nan": _FINITE}
_CONSTANTS |= {f"{sign}{name}": _FINITE for sign in ("", "+", "-") for name in ("inf", "infinity")}
"""What others write where JSON has another word, or none."""
_OTHER_KIND = "is it another kind of text? JSON has no comments, no commas at the end, no '"
_WAYS = {
    "trailing characters": 'a file is one value; rows go into one list: {"buffers": [...]}',
    "recursion limit": "nothing that is read here lies so deep: is it another kind of file?",
    "expected": _OTHER_KIND,
    "invalid": _OTHER_KIND,
}
"""The remedies for the faults that pydantic's parser finds, by the beginnings of its messages."""


def is_own(data: bytes) -> bool:
    """Return True if the bytes begin as an object whose first key is one of memplan's own."""
    return re.match(_OWN, data) is not None


def recognises(data: bytes) -> bool:
    """Return True if the bytes begin as an object or a list."""
    return data.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"[")


def parse(data: bytes) -> Any:
    """Parse a JSON text; raises FormatError for anything ambiguous.

    That is: duplicate keys, numbers that are not finite, lone surrogates, and text that is not JSON in UTF-8.
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
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        found = _failure_text(text, str(error))
        way = (
            None if found.endswith(")") else next((_WAYS[word] for word in _WAYS if str(error).startswith(word)), None)
        )
        raise FormatError(f"must be JSON: {error}{found}", way=way) from None
    # A dropped key also drops a colon; only escaped colons could hide that. In most files, the keys of the problem, of
    # the objects next to it, and of its rows account for all colons.
    keys = _keys_near_the_top(value) if isinstance(value, dict) else -1
    # Parsing again with a hook is slow, so only text that may hide a repeated key is parsed again.
    if b"\\" in data or (data.count(b":") != keys and data.count(b":") != to_json(value).count(b":")):
        import json

        json.loads(text, object_pairs_hook=_keys_are_given_once)
    return value


def _failure_text(text: str, error: str) -> str:
    """Return the text at the position where parsing failed, and the likely mistake."""
    at = re.search(r"line (\d+) column (\d+)", error)
    line, place = "".join(text.splitlines()[int(at[1]) - 1 :][:1]) if at else "", int(at[2]) if at else 0
    near = line[max(0, place - 20) : place + 20].strip()
    words = (word for word in re.finditer(_WORD, line) if word.start() < place <= word.end() + 1)
    return (f", in {excerpt(near)}" if near else "") + _likely_mistake(
        text, error, next((word[0] for word in words), "")
    )


def _likely_mistake(text: str, error: str, word: str) -> str:
    """Return the likely mistake at the position where parsing failed, or at the word found there."""
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


def _keys_near_the_top(value: dict[str, Any]) -> int:
    """Return the number of keys in an object, in the objects inside it, and in objects in their lists."""
    parts = [value, *[part for part in value.values() if type(part) is dict]]
    lists = [rows for part in parts for rows in part.values() if type(rows) is list]
    return sum(map(len, parts)) + sum([sum(map(len, rows)) for rows in lists if set(map(type, rows)) == {dict}])


def _keys_are_given_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) == len(pairs):
        return
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise FormatError(
                f"must be JSON with each key once in an object, got {excerpt(name)} again", way=ONE_OF_THEM
            )
        seen.add(name)


def read_problem(data: bytes, interval: Interval | None = None) -> Problem:
    """Read a problem, alone or together with its plan; raises FormatError or ProblemError.

    `interval` applies to a problem that does not state its own.
    """
    value = parse(data)
    if isinstance(value, dict) and value.keys() == {"problem", "plan"}:
        value = value["problem"]
    refuse_unless_problem(value)
    if interval is not None and isinstance(value, dict):
        value.setdefault("interval", interval)
    return Problem.model_validate(value)


def write_problem(problem: Problem) -> bytes:
    """Write a problem without absent and default values; an explicit `interval` is kept."""
    written = problem.model_dump_json(exclude_defaults=True)
    if "interval" in problem.model_fields_set:
        written = f'{{"interval":"{problem.interval}",{written[1:]}'
    return written.encode() + b"\n"


def read_plan(data: bytes, problem: Problem) -> Plan:
    """Read a plan; raises FormatError or PlanError. The problem is not needed, as the plan contains all names."""
    value = parse(data)
    refuse_unless_plan(value)
    return Plan.model_validate(value)


def write_plan(plan: Plan, problem: Problem) -> bytes:
    """Write a plan; absent facts are null, and findings are left out where lint found nothing."""
    table = plan.placements
    pools = [f',"pool":{name},"offset":' for name in _json_names(table.pool_names)]
    rows = zip(_json_names(table.ids), map(pools.__getitem__, table.pool.tolist()), table.offset.tolist(), strict=True)
    placements = ",".join([f'{{"id":{name}{pool}{offset}}}' for name, pool, offset in rows])
    # Rows by themselves, as pydantic takes twice as long; the quotes of other texts are escaped.
    unsaid = {
        name
        for name in ("profile", "weighted", "cost_limit", "options", "read_with", "findings", "heaps")
        if not getattr(plan, name)
    }
    rest = to_json(_json_value(plan, {"placements", *unsaid}), inf_nan_mode="null").decode()
    return rest.replace(',"shared":', f',"placements":[{placements}],"shared":', 1).encode() + b"\n"


def _json_names(names: Sequence[int | str]) -> list[int | str]:
    """Return numbers, and names as JSON writes them."""
    text = "".join([name for name in names if isinstance(name, str)])
    if text.isprintable() and '"' not in text and "\\" not in text:
        return [f'"{name}"' if isinstance(name, str) else name for name in names]
    return [to_json(name).decode() for name in names]


def _json_value(value: Any, left_out: Container[str] = ()) -> Any:
    """Return a value with its models as JSON objects.

    pydantic's serializer of plans is equivalent, but takes longer to build than a small plan takes to solve.
    """
    kind: type[object] = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return value if _PLAIN.issuperset(map(type, value)) else [_json_value(each) for each in value]
    if isinstance(value, PlanValue):
        return {
            name: _json_value(field)
            for name, is_unsaid in _fields(type(value))
            if name not in left_out and not is_unsaid(field := getattr(value, name))
        }
    return value.rows() if kind is PlacementTable else value


@cache
def _fields(kind: type[PlanValue]) -> tuple[tuple[str, Callable[[Any], bool]], ...]:
    """Return the fields of a class, and for each the function that decides whether its value is left out."""
    return tuple((name, field.exclude_if or _is_never_unsaid) for name, field in kind.model_fields.items())


def _is_never_unsaid(value: object) -> bool:
    return False


def refuse_unless_problem(value: object) -> None:
    """Raise FormatError for a document that is clearly not meant to be a problem."""
    if isinstance(value, list):
        raise FormatError('must be an object, {"buffers": [...]}, got a list')
    if isinstance(value, Mapping) and ("buffers" not in value or "symbols" in value):
        kind = _kind(value)
        if kind is not None:
            raise FormatError(f"must be a problem, got {kind}")


def are_offsets(value: Mapping[Any, Any]) -> bool:
    """Return True for an object that maps buffers to offsets, which is not a plan."""
    return bool(value) and "placements" not in value and all(isinstance(offset, int) for offset in value.values())


def refuse_unless_plan(value: object) -> None:
    """Raise FormatError for a document that is clearly not meant to be a plan."""
    if isinstance(value, Mapping) and "placements" not in value:
        reads = "a list of offsets, which `memplan verify PROBLEM FILE` reads"
        offsets = reads if are_offsets(value) else _kind(value)
        kind = "a problem, which `memplan plan FILE` plans" if "buffers" in value else offsets
        if kind is not None:
            raise FormatError(f"must be a plan, which has placements, got {kind}")


def refuse_unless_operations(value: object) -> None:
    """Raise FormatError for a document that is clearly not meant to be operations."""
    if isinstance(value, Mapping) and "functions" not in value:
        _refuse(value, "operations, which have functions")


def refuse_unless_graph(value: object) -> None:
    """Raise FormatError for a document that is clearly not meant to be a graph of operations."""
    if isinstance(value, Mapping) and "ops" not in value:
        _refuse(value, "a model, operations, or a graph of operations, which has ops")


def _refuse(value: Mapping[str, Any], wanted: str) -> None:
    is_problem = "buffers" in value
    kind = "a problem, which has no operations and which `memplan plan FILE` reads" if is_problem else _kind(value)
    if kind is not None:
        raise FormatError(f"must be {wanted}, got {kind}")


def _kind(value: Mapping[str, Any]) -> str | None:
    """Return the kind of a document and the command that reads it, or None if it is unknown."""
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
