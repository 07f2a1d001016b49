"""Requests of questions: a body, its media type and a query string, parsed once into inputs and options.

Every process parses a request in the same way, so a request can wait in a store and be answered by another machine.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from memplan.api.options import Options
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.api.request_bodies import (
    JSON,
    PLAN,
    TABLES,
    BodyParts,
    BodyShape,
    SentFile,
    TooLargeError,
    body_shape,
    check_once,
    missing_inputs,
    split_body,
)
from memplan.api.settings import Settings
from memplan.planner.errors import (
    MAX_SHOWN,
    FormatError,
    InputError,
    OptionError,
    excerpt,
    path_of,
    sentences_of_options,
)
from memplan.planner.errors.did_you_mean import unknown_option
from memplan.planner.foreign import reading as importers
from memplan.planner.formats import memplan_json, minimalloc_csv
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue, tuple_from_list
from memplan.questions import QUESTIONS
from memplan.questions.inputs.extent import MOST_EXPANDED, Extent, check_expanded
from memplan.questions.inputs.values import Input, InputValues, read_inputs
from memplan.questions.plan.answers import problem_in_heaps
from memplan.questions.plan.plan import PlanOptions
from memplan.questions.question import Question, QuestionOptions
from memplan.questions.question.wire import read_object, read_question
from memplan.questions.reading import OF_PLANS, Reader, ReadOptions

PLAN_HASH = "plan_hash"
"""The field that identifies the plan to keep by its hash, in place of the plan itself."""
TERMS = ("priority", "deadline_s")
"""The fields that a job's request may have besides its inputs and options."""
MOST_BUFFERS, MOST_CELLS, MOST_PAIRS = 5_000_000, 20_000_000, 100_000
"""Limits on what a few bytes can expand to: buffers, buffers times pools, and pairs made by `bank` entries."""
_LEAST_COUNTED = 5_000
_FILE_PART = 8
"""How many times larger than the limit for JSON and tables a file of another kind, such as a model, may be."""
_TIME_LIMIT = b"time_limit_s"
_STATED = re.compile(_TIME_LIMIT + rb'(?:=|"\s*:\s*)"?(\d{1,9}(?:\.\d*)?(?:e-?\d{1,2})?)', re.IGNORECASE)
_MOST_STATED = 16
"""The maximum number of time limits that are looked at in an unparsed body; none states more than one."""
M = TypeVar("M", bound=WireValue)
_NONE = Extent()


@dataclass(frozen=True, eq=False)
class ParsedRequest:
    """A parsed request, whose extent and options are checked, but whose inputs are not yet validated.

    kind: the name of its question.
    fields: the inputs sent as JSON, by name.
    files: the inputs sent as files, by name.
    options: the options of the question.
    reading: the options for reading files and adapting problems; None if the request has none.
    extent: the numbers of its rows, buffers, pools and pairs.
    terms: the terms of a job (its priority and deadline), as JSON.
    is_foreign: True if an input is a file of another system, which only a child process parses.
    """

    kind: str
    fields: Mapping[str, Any]
    files: Mapping[str, SentFile]
    options: QuestionOptions
    reading: WireValue | None
    extent: Extent
    terms: Mapping[str, Any]
    is_foreign: bool

    @property
    def question(self) -> Question[Any]:
        """The question that the request sends."""
        return QUESTIONS[self.kind]

    def drop_inputs(self) -> "ParsedRequest":
        """Return the request without its inputs' values; only the hash of a plan to keep remains."""
        keep = self.fields.get("keep")
        kept = {PLAN_HASH: keep[PLAN_HASH]} if isinstance(keep, dict) and PLAN_HASH in keep else None
        return replace(self, fields=dict.fromkeys(self.fields) | ({"keep": kept} if kept else {}), files={})

    @property
    def is_plain_plan(self) -> bool:
        """True if the plan cache may answer: the request wants one plan of a problem with pools, its only input."""
        if self.kind != PLAN or self.is_foreign or self.fields.keys() | self.files.keys() != {"problem"}:
            return False
        problem = self.fields.get("problem")
        is_other = isinstance(problem, dict) and (problem.get("kind") == "objects" or problem.get("moves"))
        is_other = is_other or (self.reading is not None and getattr(self.reading, "moves", None) is not None)
        return not is_other and isinstance(self.options, PlanOptions) and self.options.is_of_one_plan

    def reader(self) -> Reader:
        """Return a new reader of the inputs."""
        fields = {} if self.reading is None else dict(self.reading)
        names = set() if self.reading is None else set(self.reading.model_fields_set)
        return Reader(ReadOptions.model_construct(names, **dict(ReadOptions()) | fields))

    def input_values(self, reader: Reader | None = None) -> InputValues:
        """Return the validated inputs; `reader` also collects their warnings. Raises InputError."""
        if not self.files and self.reading is None and self.fields.keys().isdisjoint(OF_PLANS):
            return read_question(self.question, self.fields)

        def read(each: Input[Any], sent: Any, values: InputValues, files: Reader) -> Any:
            """Return the value of an input, read from a JSON field or a file of the request; raises InputError."""
            if not isinstance(sent, SentFile):
                return self._read_field(each, sent, values, files)
            if each.from_file is None:
                return each.from_json(memplan_json.parse(sent.data))
            try:
                return each.from_file(files, sent.data, sent.name or "-", values)
            except FormatError as error:
                raise error.prefix_name(each.name) from error

        return read_inputs(self.question.inputs, {**self.fields, **self.files}, read, reader or self.reader())

    def _read_field(self, each: Input[Any], sent: Any, values: InputValues, reader: Reader) -> Any:
        is_plain = self.reading is None and not reader.recorded
        if is_plain or each.reading is None or each.from_file is None or not isinstance(sent, dict):
            return each.from_json(sent)
        data = to_json(sent)
        # Parsing a file of another system may crash, so only a child process parses such a file; pass it on unparsed.
        return each.from_json(sent) if importers.detect(data) else each.from_file(reader, data, "-", values)

    def answer_bytes(self, values: InputValues, answer: Any) -> bytes:
        """Return the bytes of an answer about the inputs `values`; a plan in the requested format."""
        if isinstance(self.options, Options) and self.options.format is not None and isinstance(answer, Plan):
            return write_in(self.options.format, answer, problem_in_heaps(values["problem"], answer))
        return self.question.write(answer)


def write_in(plan_format: str, plan: Plan, problem: Problem) -> bytes:
    """Return the bytes of a plan in `plan_format`; a plan without placements is always written as JSON."""
    return PLAN_FORMATS[plan_format if plan.status in ("optimal", "feasible") else "json"].write(plan, problem)


def head_of(media: str, query: str) -> str:
    """Return a request's head: its media type and query string, which determine how the body is parsed."""
    return f"{media}\t{query}"


def parse_request(kind: str, head: str, body: bytes, *, terms: Collection[str] = TERMS) -> ParsedRequest:
    """Return a parsed request, with options checked, and buffers, pools and pairs counted; raises InputError.

    The inputs are not validated yet. Besides the inputs, a body may have the fields `terms`.
    """
    shape, (media, _, query) = body_shape(kind), head.rpartition("\t")
    question, parts = shape.question, split_body(shape, media, body, terms)
    asked: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True) if query else ():
        asked.setdefault(name, []).append(value)
    if asked.keys() & {"name"} - shape.known:
        name = asked.pop("name")[-1]
        parts.files = {key: SentFile(file.data, file.name or name) for key, file in parts.files.items()}
    options, reading = _read_options(shape, parts, asked) if asked or parts.options else (shape.unsaid, None)
    names = parts.fields.keys() | parts.files.keys()
    if (not shape.required <= names or question.any_of) and (
        breaks := missing_inputs(question, names, has_files=bool(parts.files))
    ):
        raise InputError(*breaks)
    options.refuse_idle(names)
    extent, is_foreign = _NONE, bool(parts.files) and media not in TABLES
    for each in question.inputs:
        if each.name in parts.fields:
            file_extent = each.extent(parts.fields[each.name])
            extent = file_extent if extent is _NONE else extent.combine(file_extent)
            is_foreign |= each.is_foreign and (each.takes_bytes or isinstance(parts.fields[each.name], str))
    for file in parts.files.values():
        rows = file.data.count(b"\n") if minimalloc_csv.recognises(file.data) else 0
        extent = extent.combine(Extent(rows, rows))
    check_extent(extent)
    return ParsedRequest(kind, parts.fields, parts.files, options, reading, extent, parts.terms, is_foreign)


def submissions_of(body: bytes) -> bytes:
    """Return the entries of `{"submissions": [...]}` as JSON, one per line; raises InputError."""
    if body.lstrip()[:1] == b"[":
        raise InputError('body: must be an object, got a list: write {"submissions": [...]}')
    try:
        content = read_object(body)
    except FormatError:
        first, _, more = body.strip().partition(b"\n")
        if more.strip() and first.startswith(b"{") and _is_json(first):
            way = "write `curl -H 'content-type: application/x-ndjson' --data-binary @FILE`"
            raise FormatError("body: must be one JSON object, got one on each line", way=way) from None
        raise
    if unknown := [name for name in content if name != "submissions"]:
        rule = "is not a known field: a batch has lines or a list of submissions; send one problem to /v1/plan"
        raise InputError(*(f"{excerpt(name)}: {rule}" for name in unknown[:10]))
    entries = content.get("submissions")
    if not isinstance(entries, list):
        got = excerpt(entries) if "submissions" in content else "nothing"
        raise InputError(f"submissions: must be a list, got {got}")
    for i, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(f"submissions[{i}]: must be an object, got {excerpt(entry)}")
    return b"\n".join(map(to_json, entries))


def _is_json(data: bytes) -> bool:
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def check_extent(extent: Extent) -> None:
    """Raise TooLargeError or OperationsError if a small body expands to too many buffers or pairs."""
    if extent.n_expanded:
        check_expanded(extent, MOST_EXPANDED)
    count = max(extent.n_buffers, extent.n_expanded)
    cells = max(count, extent.n_pairs, _LEAST_COUNTED) * extent.n_pools
    for what, number, most in (
        ("buffers", count, MOST_BUFFERS),
        ("pairs from entries of bank", extent.n_pairs, MOST_PAIRS),
        (f"buffers or pairs (counted as at least {_LEAST_COUNTED}) times pools", cells, MOST_CELLS),
    ):
        if number > most:
            raise TooLargeError(f"problem: must have at most {most} {what}, got {number}")


def max_bytes(media: str, settings: Settings) -> int:
    """Return the maximum size of a body in bytes, which is larger for model files than for JSON and tables."""
    return settings.max_body_bytes if media in {JSON, *TABLES} else _FILE_PART * settings.max_body_bytes


def stated_time_limit_s(kind: str, head: str, body: bytes, settings: Settings) -> float:
    """Return an unparsed request's time limit in seconds: the longest that its query and body seem to state.

    If they state none, the question's default applies. The result is at most the server's maximum.
    """
    found = list[float]()
    for data in (head.partition("\t")[2].encode(), body):
        at = -1
        while (at := data.find(_TIME_LIMIT, at + 1)) >= 0:
            if (stated := _STATED.match(data, at)) is not None and float(stated[1]) > 0:
                found.append(float(stated[1]))
            if len(found) > _MOST_STATED:
                return settings.max_time_limit_s
    return min(max(found, default=body_shape(kind).unsaid.time_limit_s), settings.max_time_limit_s)


def check_time_limit(options: QuestionOptions, settings: Settings) -> None:
    """Raise OptionError if a time limit exceeds the server's maximum."""
    if options.time_limit_s > settings.max_time_limit_s:
        most_s = settings.max_time_limit_s
        raise OptionError(
            f"time_limit_s: must be at most {most_s:g} on this server, got {excerpt(options.time_limit_s)}"
        )


def _read_options(
    shape: BodyShape, parts: BodyParts, asked: Mapping[str, Sequence[str]]
) -> tuple[QuestionOptions, WireValue | None]:
    """Return a request's options and reading options (or None), from body and query (`asked`); raises OptionError."""
    asked = query_values((shape.options, *([] if shape.reading is None else [shape.reading])), parts.options, asked)
    if of_body := [name for name in asked if name in shape.inputs]:
        raise OptionError(*(f"{name}: must be in the body" for name in of_body))
    if unknown := [name for name in (*parts.options, *asked) if name not in shape.known]:
        raise OptionError(*(f"{path_of((name,))}: {unknown_option(name, shape.known)}" for name in unknown[:MAX_SHOWN]))
    options = merged_options(shape.options, parts.options, asked)
    about_reading = [name for name in (*parts.options, *asked) if name not in shape.options.model_fields]
    if shape.reading is None or not about_reading:
        return options, None
    return options, merged_options(shape.reading, parts.options, asked)


def query_values(
    models: Iterable[type[WireValue]], inside: Mapping[str, Any], asked: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return the options of a query (`asked`), after checking that the body (`inside`) does not have the same options.

    Raises OptionError for an option in both, but drops default values in the query: generated clients send them.
    """
    found = {name: said for name, said in asked.items() if name not in inside or not _is_default(models, name, said)}
    for name in found:
        check_once(name, inside, "the body and in the query")
    return found


def merged_options(model: type[M], inside: Mapping[str, Any], asked: Mapping[str, Sequence[str]]) -> M:
    """Return an option model with the values from a body and a query; raises OptionError."""
    # A generated client sends an empty list as the text [].
    lists = {name: [x for x in values if x != "[]"] for name, values in asked.items() if takes_list(model, name)}
    texts = {name: values for name, values in asked.items() if name in model.model_fields and name not in lists}
    if repeated := [name for name, values in texts.items() if len(values) > 1]:
        raise OptionError(
            *(f"{path_of((name,))}: must be given once, got {len(texts[name])} values" for name in repeated[:MAX_SHOWN])
        )
    try:
        fields = {name: value for name, value in inside.items() if name in model.model_fields} | lists
        merged = model.model_validate(fields)
        if not texts:
            return merged
        options = model.model_validate_strings({name: values[0] for name, values in texts.items()})
    except ValidationError as error:
        raise OptionError(*sentences_of_options(error, model.model_fields)) from error
    return options if not fields else merged.model_copy(update={name: getattr(options, name) for name in texts})


def _is_default(models: Iterable[type[WireValue]], name: str, said: Sequence[str]) -> bool:
    for model in models:
        if name in model.model_fields:
            try:
                return bool(getattr(merged_options(model, {}, {name: said}), name) == getattr(model(), name))
            except OptionError:
                return False
    return False


def takes_list(model: type[BaseModel], name: str) -> bool:
    """Return True if an option is a list of texts, which a query gives by repeating the option."""
    field = model.model_fields.get(name)
    return field is not None and any(getattr(each, "func", None) is tuple_from_list for each in field.metadata)
