"""Splitting of request bodies into inputs (from JSON or files), options, and the terms of a job.

A body is a JSON object, the file of the first input, or a form with several files.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args

from memplan.api.options import NO_OPTIONS, Options
from memplan.files import prefix_file_name
from memplan.planner.errors import MAX_SHOWN, FormatError, InputError, OptionError, Sentence, add_way, excerpt, path_of
from memplan.planner.errors.did_you_mean import closest_word, did_you_mean, object_way, word_table
from memplan.planner.foreign.reading import detect
from memplan.planner.formats import FORMATS, memplan_json, minimalloc_csv
from memplan.planner.model.rows import WireValue
from memplan.questions import QUESTIONS
from memplan.questions.question import Question, QuestionOptions
from memplan.questions.question.wire import read_object

JSON, CSV, TEXT, BYTES = "application/json", "text/csv", "text/plain", "application/octet-stream"
FORM = "multipart/form-data"
TABLES = frozenset(module.MEDIA_TYPE for module in FORMATS.values()) - {JSON}
"""Media types, other than JSON, in which problems can be sent."""
PLAN = "plan"
LARGE_BYTES = 2**20
"""Bodies of more bytes are parsed by a child process, one at a time, because parsing holds the interpreter lock."""
_MOST_FIELDS = 64
"""The maximum number of fields of a body, and of parts of a form; no valid request has more."""
_FILE_NAME = re.compile(rb"@?[\w./\\~-]+\.\w{1,12}\s*")
_DISPOSITION = re.compile(rb'\b(name|filename)="([^"]*)"', re.IGNORECASE)


class TooLargeError(InputError):
    """The body, or the problem in it, exceeds a limit of this server."""


class MediaTypeError(InputError):
    """The body's media type, charset or encoding is not supported."""


@dataclass(frozen=True)
class SentFile:
    """The bytes of a file in a request, and its name if one was sent."""

    data: bytes
    name: str | None = None


@dataclass
class BodyParts:
    """The parts of a request body: inputs as JSON fields, inputs as files, options, and the terms of a job."""

    fields: dict[str, Any] = field(default_factory=dict)
    files: dict[str, SentFile] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class BodyShape:
    """The names that a request body of one question may contain, and the models of its options.

    question: the question of the request.
    inputs, required: the names of its inputs, and of its required inputs.
    own: the field names of the first input's JSON form, which may be the whole body.
    options: the model of the question's options.
    unsaid: the options that apply if a body has none.
    reading: the model of the options for reading files; None if the question has no such options.
    known: the names of all options, including those for reading.
    """

    question: Question[Any]
    inputs: tuple[str, ...]
    required: frozenset[str]
    own: frozenset[str]
    options: type[QuestionOptions]
    unsaid: QuestionOptions
    reading: type[WireValue] | None
    known: frozenset[str]

    def holds_first(self, name: str, value: object) -> bool:
        """Return True if a field has an unknown name, but the field's object has fields of the first input."""
        return isinstance(value, dict) and name not in self.own and not self.own.isdisjoint(value)

    def field_hint(self, name: str, value: object) -> str:
        """Return a hint that names the field probably intended by an unknown one; empty without a good guess."""
        if name == "kind" and isinstance(value, str) and (kind := closest_word(value, QUESTIONS)) is not None:
            return f" (did you mean POST /v1/jobs?kind={kind}?)"
        if name in self.own:
            return f" (did you mean {self.inputs[0]}.{name}?)"
        if near := did_you_mean(name, [*self.inputs, "options"]):
            return near
        return f" (did you mean {self.inputs[0]}?)" if self.holds_first(name, value) else ""


@cache
def body_shape(kind: str) -> BodyShape:
    """Return the expected shape of a question's request bodies."""
    question, inputs = QUESTIONS[kind], QUESTIONS[kind].inputs
    options = Options if kind == PLAN else question.options
    reading = next((each.reading for each in inputs if each.reading is not None), None)
    models = get_args(inputs[0].wire) or (inputs[0].wire,)
    return BodyShape(
        question,
        tuple(each.name for each in inputs),
        frozenset(each.name for each in inputs if each.required),
        frozenset(name for model in models for name in getattr(model, "model_fields", ())),
        options,
        NO_OPTIONS if kind == PLAN else options(),
        reading,
        frozenset(options.model_fields) | (reading.model_fields.keys() if reading else set()),
    )


def split_body(shape: BodyShape, media: str, body: bytes, terms: Collection[str]) -> BodyParts:
    """Return the parts of a request body, split by its media type; raises InputError."""
    first = shape.question.inputs[0]
    if media.startswith(FORM):
        return _split_form(shape, media, body)
    if media != JSON:
        if media == CSV and memplan_json.recognises(body):
            raise FormatError(f"body: must be CSV, but looks like JSON: send it with content-type: {JSON}")
        return BodyParts(files={first.name: SentFile(body)})
    if first.from_file is not None and body.lstrip()[:1] == b"[" and _is_foreign(body):
        return BodyParts(files={first.name: SentFile(body)})
    content = _json_object(body)
    if len(content) > _MOST_FIELDS and not first.takes_bytes:
        raise InputError(f"body: must have at most {_MOST_FIELDS} fields, got {len(content)}")
    rest = content.keys() - {"options"}
    is_alone = bool(rest) and rest.isdisjoint(shape.inputs) and len(shape.required) < 2
    if is_alone and not any(shape.holds_first(name, content[name]) for name in rest - shape.own):
        if first.takes_bytes:
            return BodyParts(files={first.name: SentFile(body)})
        if first.from_file is not None and not rest <= shape.own and _is_foreign(body):
            return BodyParts(files={first.name: SentFile(body)})
        if not {"buffers", PLAN, "problem"}.isdisjoint(rest - shape.own):
            raise InputError(f"{first.name}: must not be a problem with buffers: send it to /v1/{PLAN}")
        if "buffers" in shape.own and not {"graph", "ops"}.isdisjoint(rest):
            raise InputError(f"{first.name}: must not be a graph of operations: send it to /v1/order or /v1/cascade")
        parts = _take_options(shape, content, shape.own, terms)
        parts.fields = {first.name: content}
        return parts
    parts = _take_options(shape, content, shape.inputs, terms)
    if unknown := [name for name in content if name not in shape.inputs][:MAX_SHOWN]:
        if "buffers" in unknown and "problem" in shape.inputs and "problem" not in content:
            beside = ", ".join(f'"{name}": ...' for name in shape.inputs if name in {"plan", *content})
            raise InputError(f'buffers: must be inside problem, as {{"problem": {{"buffers": [...]}}, {beside}}}')
        raise InputError(
            *missing_inputs(shape.question, content),
            *(f"{path_of((name,))}: is not a known field{shape.field_hint(name, content[name])}" for name in unknown),
        )
    for name, value in content.items():
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            raise InputError(f"{name}.{name}: must not be nested in {name}: leave out one level")
    parts.fields = content
    return parts


def _is_foreign(body: bytes) -> bool:
    with prefix_file_name("body"):
        return detect(body) is not None


def _take_options(
    shape: BodyShape, content: dict[str, Any], kept: Collection[str], terms: Collection[str]
) -> BodyParts:
    """Remove the options and terms from a body's fields, and return them; options may also be next to the inputs.

    Fields in `kept` belong to an input, so they stay even if an option has the same name.
    """
    options = content.pop("options", {})
    if not isinstance(options, dict):
        raise OptionError(f"options: must be an object, got {excerpt(options)}", way=object_way("options"))
    parts = BodyParts(options=dict(options))
    for name in content.keys() & shape.known - set(kept):
        check_once(name, parts.options, "options and next to the inputs")
        parts.options[name] = content.pop(name)
    parts.terms = {name: content.pop(name) for name in terms if name in content}
    return parts


def _json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body contains; any other body raises FormatError, with a guess of its format."""
    try:
        return read_object(body)
    except FormatError:
        if not body.strip():
            raise FormatError("body: must not be empty: send a problem with `curl --json @FILE`") from None
        if _FILE_NAME.fullmatch(body):
            name = body.decode().strip().removeprefix("@")
            raise FormatError(f"body: must be the content of a file, got its name: write `--json @{name}`") from None
        if minimalloc_csv.recognises(body):
            raise FormatError(f"body: must be JSON, but looks like CSV: send it with content-type: {CSV}") from None
        with prefix_file_name("body"):
            if (kind := detect(body)) is not None:
                rule = f"must be JSON, but looks like a file of {kind}: send it with content-type: {BYTES}"
                raise FormatError(rule) from None
        raise


def _split_form(shape: BodyShape, media: str, body: bytes) -> BodyParts:
    """Return the parts of a form, which has a file per input and a field for options; raises InputError."""
    boundary = re.search(r'boundary="?([^";,]+)', media)
    if boundary is None:
        raise MediaTypeError(f"content-type: must state the boundary of the form, got {excerpt(media)}")
    parts, inputs = BodyParts(), shape.inputs
    for number, part in enumerate(_form_parts(body, b"\r\n--" + boundary[1].encode())):
        if number >= _MOST_FIELDS:
            raise InputError(f"form: must have at most {_MOST_FIELDS} parts, got more")
        head, _, data = part.partition(b"\r\n\r\n")
        parameters = {key.decode().lower(): value.decode(errors="replace") for key, value in _DISPOSITION.findall(head)}
        name = inputs[0] if parameters.get("name") == "file" and "file" not in inputs else parameters.get("name", "")
        check_once(name, parts.files | parts.options, "several parts of the form")
        if name in inputs:
            parts.files[name] = SentFile(data, parameters.get("filename"))
        elif name == "options":
            parts.options |= read_object(data)
        else:
            names = f"{', '.join(inputs)} or options"
            hint = (
                did_you_mean(name, inputs)
                or f' (options go into the query, as ?{name}=..., or into the part "options")'
            )
            raise InputError(f"form: must have parts named {names}, got {excerpt(name)}{hint}")
    return parts


def _form_parts(body: bytes, border: bytes) -> Iterator[bytes]:
    begin = 0 if body.startswith(border[2:]) else body.find(border) + 2
    while begin != 1 and (end := body.find(border, begin := begin + len(border) - 2)) >= 0:
        yield body[begin:end]
        begin = end + 2


def check_once(name: str, known: Collection[str], where: str) -> None:
    """Raise OptionError if a name is among the names already given; `where` says where the request has it twice."""
    if name in known:
        raise OptionError(f"{path_of((name,))}: must be given once, got it twice: in {where}")


def missing_inputs(question: Question[Any], given: Collection[str], *, has_files: bool = False) -> list[Sentence]:
    """Return one sentence for each required input that a request lacks."""
    breaks = [
        add_way(f"{each.name}: is required", word_table("required").get(each.name))
        for each in question.inputs
        if each.required and each.name not in given and not (has_files and each.absent is not None)
    ]
    if question.any_of and not set(given) & set(question.any_of):
        breaks.append(f"{' or '.join(question.any_of)}: one of them is required, got neither")
    return breaks
