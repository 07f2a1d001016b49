"""Requests of questions: a body with its media type and its query, read once into inputs and options.

A body is JSON, the file that the first input is read from, or a form of several files. The same bytes are read so
wherever a question is answered, so that they may wait in a store and go to another machine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl

from pydantic import ValidationError

from memplan.api.options import NO_OPTIONS, Options
from memplan.api.reports.plan_formats import write_plan
from memplan.api.settings import Settings
from memplan.capabilities.adapting import adapted, aligned
from memplan.capabilities.bodies import read_object
from memplan.capabilities.capability import Capability, CapabilityOptions, Control
from memplan.capabilities.extent import MOST_EXPANDED, Extent, check_expanded
from memplan.capabilities.plan.answers import problem_in_heaps
from memplan.capabilities.question import Input, Question
from memplan.capabilities.reading import Reader, ReadOptions, validated
from memplan.capabilities.registry import CAPABILITIES
from memplan.capabilities.remembered import OF_PLANS, reading_of_plan, with_reading
from memplan.files import named
from memplan.planner.errors import MAX_SHOWN, FormatError, InputError, OptionError, path_of, sentences, shown
from memplan.planner.errors.did_you_mean import did_you_mean, unknown_option
from memplan.planner.formats import FORMATS, memplan_json, minimalloc_csv
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue, as_tuple
from memplan.systems.reading import detect

JSON, CSV, TEXT, BYTES = "application/json", "text/csv", "text/plain", "application/octet-stream"
FORM = "multipart/form-data"
TABLES = frozenset(module.MEDIA_TYPE for module in FORMATS.values()) - {JSON}
"""The media types of problems that are no JSON."""
PLAN = "plan"
TERMS = ("priority", "deadline_s")
"""The fields of a job's request beside its inputs and options."""
MOST_BUFFERS, MOST_CELLS, MOST_PAIRS = 5_000_000, 20_000_000, 100_000
"""The most buffers of a request, buffers times pools, and pairs that entries of `bank` make of few bytes."""
_LEAST_COUNTED = 5_000
_SHORT_CELLS = 3_000
_FILE_PART = 8
"""A file that is no table, such as a model, may have so many times the bytes of another body."""
_MOST_FIELDS = 64
"""More fields than any body has."""
_FILE_NAME = re.compile(rb"@?[\w./\\~-]+\.\w{1,12}\s*")
_DISPOSITION = re.compile(rb'\b(name|filename)="([^"]*)"', re.IGNORECASE)
M = TypeVar("M", bound=WireValue)
_NONE = Extent()


class TooLargeError(InputError):
    """The body, or what it is about, is larger than this server takes."""


class MediaTypeError(InputError):
    """The body's media type, its charset or its coding is not one that is read here."""


@dataclass(frozen=True)
class SentFile:
    """The bytes of a file and its name, where it has one."""

    data: bytes
    name: str | None = None


@dataclass
class _Parts:
    """The parts of a body: fields of inputs as JSON has them, files of inputs, options, and the terms of a job."""

    fields: dict[str, Any] = field(default_factory=dict)
    files: dict[str, SentFile] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class BodyShape:
    """The shape of bodies of a capability, worked out once.

    capability: the one that answers.
    inputs, required: the names of its inputs, and of those that it cannot do without.
    own: the fields that the first input has where it stands alone.
    options: the model of its options.
    unsaid: the options where nothing is said.
    reading: the model of the options for reading files, None where there are none.
    known: the names of all options.
    """

    capability: Capability[Any]
    inputs: tuple[str, ...]
    required: frozenset[str]
    own: frozenset[str]
    options: type[CapabilityOptions]
    unsaid: CapabilityOptions
    reading: type[WireValue] | None
    known: frozenset[str]

    def holds_first(self, name: str, value: object) -> bool:
        """Return True for an object that should have been the first input, under a name that is not known."""
        return isinstance(value, dict) and name not in self.own and not self.own.isdisjoint(value)


@cache
def body_shape(kind: str) -> BodyShape:
    """Return the shape of the bodies of a capability."""
    capability, inputs = CAPABILITIES[kind], CAPABILITIES[kind].inputs
    options = Options if kind == PLAN else capability.options
    reading = next((each.reading for each in inputs if each.reading is not None), None)
    models = get_args(inputs[0].wire) or (inputs[0].wire,)
    return BodyShape(
        capability,
        tuple(each.name for each in inputs),
        frozenset(each.name for each in inputs if each.required),
        frozenset(name for model in models for name in getattr(model, "model_fields", ())),
        options,
        NO_OPTIONS if kind == PLAN else options(),
        reading,
        frozenset(options.model_fields) | (reading.model_fields.keys() if reading else set()),
    )


@dataclass(frozen=True, eq=False)
class ParsedRequest:
    """A question that was sent: parsed and counted, its options checked, its inputs still to be read.

    kind, capability: the capability that answers it.
    fields: inputs by their names, as JSON has them.
    files: inputs that came as files.
    options: how it is to be answered.
    reading: how files are read and problems adapted, None where nothing is said of it.
    extent: how much it is about.
    terms: the terms of a job, as JSON has them.
    is_foreign: True where files of other systems are read, which is done in a process of its own.
    """

    kind: str
    capability: Capability[Any]
    fields: Mapping[str, Any]
    files: Mapping[str, SentFile]
    options: CapabilityOptions
    reading: WireValue | None
    extent: Extent
    terms: Mapping[str, Any]
    is_foreign: bool

    @property
    def is_plain_plan(self) -> bool:
        """True for the plan of a problem of pools and nothing else, which may be one that is known already."""
        if self.kind != PLAN or self.is_foreign or self.fields.keys() | self.files.keys() != {"problem"}:
            return False
        problem = self.fields.get("problem")
        is_of_objects = isinstance(problem, dict) and problem.get("kind") == "objects"
        return not is_of_objects and getattr(self.options, "heap_limit", None) is None

    def reader(self) -> Reader:
        """Return the reader of its inputs, which reads as a plan of the question remembers it; raises InputError."""
        given = {} if self.reading is None else dict(self.reading)
        plain = ReadOptions.model_construct(**dict(ReadOptions()) | given)
        sent = {name: file.data for name, file in self.files.items()} | dict(self.fields)
        plan = next((sent[name] for name in OF_PLANS if name in sent), None)
        is_read_so = any(each.reading is ReadOptions for each in self.capability.inputs)
        said = reading_of_plan(plan) if is_read_so else {}
        plan_hash = said.pop("problem_hash", None)
        known = self.reading.model_fields_set if self.reading is not None else ()
        unsaid = validated(ReadOptions, {name: value for name, value in said.items() if name not in known})
        options = plain.model_copy(update={name: getattr(unsaid, name) for name in unsaid.model_fields_set})
        return Reader(options, plain=plain if said else None, plan_hash=plan_hash)

    def question(self) -> Question:
        """Return the inputs, read and checked; raises InputError."""
        if not self.files and self.reading is None and self.fields.keys().isdisjoint(OF_PLANS):
            fields = self.fields
            return {
                each.name: each.from_json(fields[each.name]) for each in self.capability.inputs if each.name in fields
            }
        question: dict[str, Any] = {}
        reader = self.reader()
        for each in sorted(self.capability.inputs, key=lambda each: each.reads_last):
            if (file := self.files.get(each.name)) is not None and each.from_file is not None:
                value = _read_file(each, reader, file, question)
            elif each.name in self.fields:
                value = self._adapted(each.from_json(self.fields[each.name]), reader)
            else:
                value = None if each.absent is None or not self.files else each.absent(reader, question)
            if value is not None:
                question[each.name] = value
        return question

    def _adapted(self, value: Any, reader: Reader) -> Any:
        reading = reader.options
        if (self.reading is None and reader.plain is None) or not isinstance(value, Problem):
            return value
        if reader.plain is not None and problem_hash(value) == reader.plan_hash:
            return value
        reading.refuse_for_models()
        value = value if reading.alignment is None else aligned(value, reading.alignment)
        return adapted(value, None, reading)

    def answer(self, control: Control) -> tuple[bytes, str | None]:
        """Return the written answer of the capability, and its status; raises MemplanError.

        What the control notes on the way is written, too.
        """
        capability, question, note = self.capability, self.question(), control.note
        options = self.reader().options

        def written(answer: Any) -> tuple[bytes, str | None]:
            return self._write(question, with_reading(answer, options)), capability.status(answer)

        noting = None if note is None else lambda found: note(written(found))
        return written(capability.answered(question, self.options, replace(control, note=noting)))

    def _write(self, question: Question, answer: Any) -> bytes:
        if isinstance(self.options, Options) and self.options.format is not None and isinstance(answer, Plan):
            return write_in(self.options.format, answer, problem_in_heaps(question["problem"], answer))
        return self.capability.write(answer)


def _read_file(each: Input[Any], reader: Reader, file: SentFile, question: Question) -> Any:
    """Return an input that is read from a file; raises InputError, which names it."""
    assert each.from_file is not None
    try:
        return each.from_file(reader, file.data, file.name or "-", question)
    except FormatError as error:
        said = (f"{each.name}: {text}" if text.startswith("must ") else text for text in error.sentences)
        raise FormatError(*said) from error


def write_in(plan_format: str, plan: Plan, problem: Problem) -> bytes:
    """Write a plan in a format; one without placements is JSON in any case."""
    return write_plan(plan, problem, plan_format if plan.status in ("optimal", "feasible") else "json")


def head_of(media: str, query: str) -> str:
    """Return the head of a request, which says how its body is read: its media type and its query."""
    return f"{media}\t{query}"


def parse_request(kind: str, head: str, body: bytes, *, terms: Collection[str] = TERMS) -> ParsedRequest:
    """Parse a request of a capability, count what it is about, and check its options; raises InputError.

    Nothing of its inputs is validated yet. `terms` may stand beside them.
    """
    shape, (media, _, query) = body_shape(kind), head.rpartition("\t")
    capability, parts = shape.capability, _parts(shape, media, body, terms)
    asked: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True) if query else ():
        asked.setdefault(name, []).append(value)
    if asked.keys() & {"name"} - shape.known:
        name = asked.pop("name")[-1]
        parts.files = {key: SentFile(file.data, file.name or name) for key, file in parts.files.items()}
    options, reading = _read_options(shape, parts, asked) if asked or parts.options else (shape.unsaid, None)
    given = parts.fields.keys() | parts.files.keys()
    if not shape.required <= given or capability.any_of:
        _check_inputs(capability, given, has_files=bool(parts.files))
    extent, is_foreign = _NONE, bool(parts.files) and media not in TABLES
    for each in capability.inputs:
        if each.name in parts.fields:
            found = each.extent(parts.fields[each.name])
            extent = found if extent is _NONE else extent.with_other(found)
            is_foreign |= each.is_foreign and (each.takes_bytes or isinstance(parts.fields[each.name], str))
    for file in parts.files.values():
        rows = file.data.count(b"\n") if minimalloc_csv.recognises(file.data) else 0
        extent = extent.with_other(Extent(rows, rows))
    check_extent(extent)
    return ParsedRequest(kind, capability, parts.fields, parts.files, options, reading, extent, parts.terms, is_foreign)


def check_extent(extent: Extent) -> None:
    """Refuse what makes too much of few bytes; raises TooLargeError and OperationsError."""
    if extent.n_expanded:
        check_expanded(extent, MOST_EXPANDED)
    count = max(extent.n_buffers, extent.n_expanded)
    cells = max(count, extent.n_pairs, _LEAST_COUNTED) * extent.n_pools
    for what, number, most in (
        ("buffers", count, MOST_BUFFERS),
        ("pairs that entries of bank make", extent.n_pairs, MOST_PAIRS),
        (f"buffers or pairs (at least {_LEAST_COUNTED} are counted) times pools", cells, MOST_CELLS),
    ):
        if number > most:
            raise TooLargeError(f"problem: {what} must be at most {most}, got {number}")


def is_short(extent: Extent) -> bool:
    """Return True where reading and compiling take less time than handing them to a thread."""
    return extent.n_rows * extent.n_pools <= _SHORT_CELLS and not extent.n_expanded


def most_bytes(media: str, settings: Settings) -> int:
    """Return the most bytes of a body: of a file that is no table they are those of a model."""
    return settings.max_body_bytes if media in {JSON, *TABLES} else _FILE_PART * settings.max_body_bytes


def check_time_limit(options: CapabilityOptions, settings: Settings) -> None:
    """Refuse a time limit above the server's; raises OptionError."""
    if options.time_limit_s > settings.max_time_limit_s:
        most_s = settings.max_time_limit_s
        raise OptionError(f"time_limit_s: must be at most {most_s:g} on this server, got {shown(options.time_limit_s)}")


def _parts(shape: BodyShape, media: str, body: bytes, terms: Collection[str]) -> _Parts:
    """Split a body; raises InputError."""
    first = shape.capability.inputs[0]
    if media.startswith(FORM):
        return _parts_of_form(shape, media, body)
    if media != JSON:
        if media == CSV and memplan_json.recognises(body):
            raise FormatError(f"body: must be CSV, and looks like JSON: send it with content-type: {JSON}")
        return _Parts(files={first.name: SentFile(body)})
    content = _object(body)
    if len(content) > _MOST_FIELDS and not first.takes_bytes:
        raise InputError(f"body: must have at most {_MOST_FIELDS} fields, got {len(content)}")
    rest = content.keys() - {"options"}
    is_alone = bool(rest) and rest.isdisjoint(shape.inputs) and len(shape.required) < 2
    if is_alone and not any(shape.holds_first(name, content[name]) for name in rest - shape.own):
        if first.takes_bytes:
            return _Parts(files={first.name: SentFile(body)})
        if "buffers" in rest - shape.own:
            raise InputError(f"{first.name}: must not be a problem of buffers: /v1/{PLAN} takes one")
        parts = _taken(shape, content, shape.own, terms)
        parts.fields = {first.name: content}
        return parts
    parts = _taken(shape, content, shape.inputs, terms)
    if unknown := [name for name in content if name not in shape.inputs][:MAX_SHOWN]:
        meant = f" (did you mean {first.name}?)"
        raise InputError(
            *_lacking(shape.capability, content),
            *(
                f"{path_of((name,))}: is not a known field"
                + (did_you_mean(name, [*shape.inputs, "options"]) or shape.holds_first(name, content[name]) * meant)
                for name in unknown
            ),
        )
    for name, value in content.items():
        if isinstance(value, dict) and isinstance(value.get(name), dict):
            raise InputError(f"{name}.{name}: must not lie in {name}: leave one of the two out")
    parts.fields = content
    return parts


def _taken(shape: BodyShape, content: dict[str, Any], kept: Collection[str], terms: Collection[str]) -> _Parts:
    """Take the options and the terms out of the fields of a body, where they stand beside the inputs, too."""
    options = content.pop("options", {})
    if not isinstance(options, dict):
        raise OptionError(f"options: must be an object, got {shown(options)}")
    parts = _Parts(options=dict(options))
    for name in content.keys() & shape.known - set(kept):
        _check_once(name, parts.options, "options and beside the inputs")
        parts.options[name] = content.pop(name)
    parts.terms = {name: content.pop(name) for name in terms if name in content}
    return parts


def _object(body: bytes) -> dict[str, Any]:
    """Parse a body that must be an object of JSON; raises FormatError, which says what else it seems to be."""
    try:
        return read_object(body)
    except FormatError:
        if not body.strip():
            raise FormatError("body: must not be empty, as in `curl --json @FILE`") from None
        if _FILE_NAME.fullmatch(body):
            name = body.decode().strip().removeprefix("@")
            raise FormatError(f"body: must be what is in a file, got its name: write `--json @{name}`") from None
        if minimalloc_csv.recognises(body):
            raise FormatError(f"body: must be JSON, and looks like CSV: send it with content-type: {CSV}") from None
        with named("body"):
            if (kind := detect(body)) is not None:
                rule = f"must be JSON, and looks like a file of {kind}: send it with content-type: {BYTES}"
                raise FormatError(rule) from None
        raise


def _parts_of_form(shape: BodyShape, media: str, body: bytes) -> _Parts:
    """Split a form, which has a file for each input, and options; raises InputError."""
    boundary = re.search(r'boundary="?([^";,]+)', media)
    if boundary is None:
        raise MediaTypeError(f"content-type: must have the boundary of a form, got {shown(media)}")
    parts, inputs = _Parts(), shape.inputs
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary[1].encode())[1:-1]:
        head, _, data = part.partition(b"\r\n\r\n")
        said = {key.decode().lower(): value.decode(errors="replace") for key, value in _DISPOSITION.findall(head)}
        name = inputs[0] if said.get("name") == "file" and "file" not in inputs else said.get("name", "")
        _check_once(name, parts.files | parts.options, "several parts of the form")
        if name in inputs:
            parts.files[name] = SentFile(data, said.get("filename"))
        elif name == "options":
            parts.options |= read_object(data)
        else:
            known = f"{', '.join(inputs)} or options"
            raise InputError(f"form: must have parts named {known}, got {shown(name)}{did_you_mean(name, inputs)}")
    return parts


def _check_once(name: str, known: Collection[str], where: str) -> None:
    if name in known:
        raise OptionError(f"{path_of((name,))}: must be given once, got it in {where}")


def _read_options(
    shape: BodyShape, parts: _Parts, asked: Mapping[str, Sequence[str]]
) -> tuple[CapabilityOptions, WireValue | None]:
    """Return the options of a request, and those for reading it; raises OptionError."""
    for name in asked:
        _check_once(name, parts.options, "the body and in the query")
    if unknown := [name for name in (*parts.options, *asked) if name not in shape.known]:
        raise OptionError(*(f"{path_of((name,))}: {unknown_option(name, shape.known)}" for name in unknown[:MAX_SHOWN]))
    options = _merged(shape.options, parts.options, asked)
    about_reading = [name for name in (*parts.options, *asked) if name not in shape.options.model_fields]
    if shape.reading is None or not about_reading:
        return options, None
    return options, _merged(shape.reading, parts.options, asked)


def _merged(model: type[M], inside: Mapping[str, Any], asked: Mapping[str, Sequence[str]]) -> M:
    """Return the options of a model that a body and a query say; raises OptionError."""
    lists = {name: values for name, values in asked.items() if _takes_list(model, name)}
    texts = {name: values for name, values in asked.items() if name in model.model_fields and name not in lists}
    if repeated := [name for name, values in texts.items() if len(values) > 1]:
        raise OptionError(
            *(f"{path_of((name,))}: must be given once, got {len(texts[name])} values" for name in repeated[:MAX_SHOWN])
        )
    try:
        told = {name: value for name, value in inside.items() if name in model.model_fields} | lists
        found = model.model_validate(told)
        if not texts:
            return found
        said = model.model_validate_strings({name: values[0] for name, values in texts.items()})
    except ValidationError as error:
        raise OptionError(*sentences(error, options=model.model_fields)) from error
    return said if not told else found.model_copy(update={name: getattr(said, name) for name in texts})


def _takes_list(model: type[WireValue], name: str) -> bool:
    """Return True for a list of texts, which a query may have several of."""
    found = model.model_fields.get(name)
    return found is not None and any(getattr(each, "func", None) is as_tuple for each in found.metadata)


def _check_inputs(capability: Capability[Any], given: Collection[str], *, has_files: bool) -> None:
    """Raise InputError where an input is lacking."""
    if breaks := _lacking(capability, given, has_files=has_files):
        raise InputError(*breaks)


def _lacking(capability: Capability[Any], given: Collection[str], *, has_files: bool = False) -> list[str]:
    breaks = [
        f"{each.name}: is required"
        for each in capability.inputs
        if each.required and each.name not in given and not (has_files and each.absent is not None)
    ]
    if capability.any_of and not set(given) & set(capability.any_of):
        breaks.append(f"{' or '.join(capability.any_of)}: one of them is required, got neither")
    return breaks
