"""The exceptions of memplan, and the error sentences that they carry.

```
MemplanError
├── InputError               input of the caller is wrong: exit status 2, HTTP 4xx
│   ├── FormatError          the bytes break the rules of their format
│   ├── ProblemError         a problem breaks rules; one sentence for each
│   ├── PlanError            a plan that is read back breaks rules
│   ├── OperationsError      operations, from which lifetimes follow, break rules
│   ├── OptionError          an option is wrong, or a solver cannot meet a requirement
│   │   ├── SolverFailedError  the solver that the caller named failed
│   │   └── TimeOverError    time ran out before there was an answer: HTTP 504
│   └── FileError            a file or a standard stream that cannot be read or written
└── InvalidPlanError         a solver made a plan that the verifier rejects: never shown as an answer
```

A sentence names object, rule and value: `buffers[3].end: must be greater than start (7), got 5`. An option within it is
a separate value, which each entrance writes in its own syntax: `dims=n=1` in requests and in Python, `--dim n=1` on a
command line. The check of a rule may add a remedy (`Way`): commands print it after the sentence, HTTP answers list it
under `hints`, and Python shows it as a note.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from memplan.planner.errors.did_you_mean import (
    byte_count_hint,
    closest_word,
    list_hint,
    object_way,
    unknown_field,
    unknown_option,
    value_hint,
    word_table,
)

MAX_SHOWN = 100
"""The maximum number of sentences in one error; further ones are replaced by "and more"."""
_MOST_BITS = 4096
_MOST_SHOWN = 60


class Option(NamedTuple):
    """An option that an error sentence mentions, by its field name in requests; each entrance writes its own syntax.

    The CLI, for example, writes a flag. If `value` is None, the option itself is meant; if it is empty, the option with
    any value.
    """

    field: str
    value: str | None = None

    def __str__(self) -> str:
        """Return the option as text in the syntax of requests: its field, with the value if there is one."""
        return f"{self.field}={self.value}" if self.value else self.field


class Way(str):
    """The remedy for a broken rule: what the caller can do. It is the last part of an error sentence."""

    __slots__ = ()


Sentence = str | tuple[str | Option, ...]
"""An error sentence: a string, or a tuple of parts if it mentions options or ends with a remedy."""


def add_way(rule: Sentence, way: str | None) -> Sentence:
    """Return a rule's sentence, followed by its remedy `way` if there is one."""
    return (*([rule] if isinstance(rule, str) else rule), Way(way)) if way else rule


class MemplanError(Exception):
    """The base class of all errors that memplan raises deliberately."""


class InputError(MemplanError):
    """The caller's input is wrong; `sentences` has one sentence per broken rule, in the syntax of requests.

    The argument `way` is the remedy for each sentence that has no remedy itself.
    """

    def __init__(self, *said: Sentence, way: str | None = None) -> None:
        """Store the sentences, each with the remedy `way`; the exception's text is the sentences without remedies."""
        self.said = tuple(add_way(each, way) for each in said)
        super().__init__("\n".join(self.sentences))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The error sentences without remedies, one per broken rule."""
        return tuple(rule for rule, _ in self.rules_with_ways(str))

    @property
    def ways(self) -> list[str]:
        """The distinct remedies for the broken rules."""
        return list(dict.fromkeys(way for _, way in self.rules_with_ways(str) if way is not None))

    def rules_with_ways(self, option: Callable[[Option], str]) -> Iterator[tuple[str, str | None]]:
        """Yield each sentence with its remedy, or None; the function `option` converts the options in it to text."""
        for each in self.said:
            parts = (each,) if isinstance(each, str) else each
            texts = (option(part) if isinstance(part, Option) else part for part in parts if not isinstance(part, Way))
            yield "".join(texts), next((part for part in parts if isinstance(part, Way)), None)

    def sentences_in_syntax(self, option: Callable[[Option], str]) -> Iterator[str]:
        """Yield each sentence as text; the function `option` converts the options in it to text.

        A sentence is followed by its remedy in brackets, unless an earlier sentence already ended with the same remedy.
        """
        ways = set[str | None]({None})
        for sentence, way in self.rules_with_ways(option):
            yield sentence if way in ways else f"{sentence} ({way})"
            ways.add(way)

    def prefix_place(self, place: str, write: Callable[[str], str] = str, beside: str = "") -> Self:
        """Return the error with `place` put before each sentence, except those that begin with the option `beside`.

        The function `write` converts the texts, but not the options or the remedy, of each changed sentence.
        """
        option = Option(beside)
        return type(self)(
            *(each if each[:1] == (option,) else prefix_sentence(place, each, write) for each in self.said)
        )

    @cached_property
    def __notes__(self) -> list[str]:  # type: ignore[override]  # BaseException declares a list, not a property
        """The remedies for the broken rules; Python prints these notes below the error."""
        return self.ways

    def prefix_name(self, name: str) -> Self:
        """Return the error with `name` before each sentence that begins with a rule, such as "must be"."""
        rules = ("must ", "cannot ", "needs ")
        places = (f"{name}: " if sentence.startswith(rules) else "" for sentence in self.sentences)
        return type(self)(*(prefix_sentence(place, each) for place, each in zip(places, self.said, strict=True)))


def prefix_sentence(place: str, sentence: Sentence, write: Callable[[str], str] = str) -> Sentence:
    """Return an error sentence with `place` before it; the function `write` converts texts, but no option or remedy."""
    if isinstance(sentence, str):
        return place + write(sentence)
    return place, *(part if isinstance(part, Option | Way) else write(part) for part in sentence)


class FormatError(InputError):
    """The bytes of a file break the rules of their format."""


class ProblemError(InputError):
    """A problem breaks one or more rules."""


class PlanError(InputError):
    """A plan that was read back breaks one or more rules."""


class OperationsError(InputError):
    """Operations, from which lifetimes follow, break one or more rules."""


class OptionError(InputError):
    """An option is wrong, or a solver cannot do what the problem requires."""

    @classmethod
    def from_rule(cls, field: str, *rule: str | Option, way: str | None = None) -> Self:
        """Return the error for an option that breaks a rule; `way` is the remedy."""
        return cls((Option(field), ": ", *rule), way=way)


class SolverFailedError(OptionError):
    """The solver that the caller named failed before it found a plan; the sentence includes the solver's error."""


class TimeOverError(OptionError):
    """The time limit is too short for any answer; the sentence states how far the computation had come."""


class FileError(InputError):
    """A file or a standard stream cannot be read or written."""


class UnbuiltError(MemplanError, ImportError):
    """The compiled core is missing from the package, or this machine cannot load it."""


class ReaderFaultError(MemplanError):
    """A reader failed with an unexpected exception, which is a fault of memplan; the message names the line of code."""


class InvalidPlanError(MemplanError):
    """The verifier rejected a plan that a solver made."""


Location = Sequence[str | int]


Break = tuple[Location, Sentence]
"""The location of a broken rule within the input, and the rule's sentence."""


def raise_rules(*breaks: Break, way: str | None = None) -> NoReturn:
    """Raise a ValidationError with one error per broken rule; for use within pydantic validators.

    `way` is the remedy for every rule that has no remedy itself.
    """
    details: list[InitErrorDetails] = [
        {
            "type": PydanticCustomError("rule", "{sentence}", {"sentence": rule, "way": its_way}),
            "loc": tuple(location),
            "input": None,
        }
        for location, sentence in breaks
        for rule, its_way in InputError(sentence, way=way).rules_with_ways(str)
    ]
    raise ValidationError.from_exception_data("rule", details)


def sentence_of_error(fault: Mapping[str, Any]) -> Sentence:
    """Return the sentence, with a remedy, of an error that a pydantic validator of memplan raised."""
    return add_way(fault["msg"], fault.get("ctx", {}).get("way"))


NEGATIVE = "sizes, offsets, times and counts are not negative here"
CUT_OFF = "is the file cut short? Make or fetch it again"
ONE_OF_THEM = "leave one of them out"
LEFT_OUT = "write one of these, or leave the field out for the default"
AS_UTF8 = "save it as UTF-8"
OTHER_KIND = "the file is of another version or kind: export it again"
"""Remedies for rules that several readers check."""


def unique_rule(got: str, first: str) -> Sentence:
    """Return the error sentence for a repeated name `got`, which the earlier object at the path `first` already has."""
    return add_way(f"must be unique, got {got} again (first {first})", "give each a different name, or leave one out")


def duplicate_rule(got: str, first: str) -> Sentence:
    """Return the error sentence for a name `got` that occurs twice in a list, first at the path `first`."""
    return add_way(f"must be named only once, got {got} again (first at {first})", ONE_OF_THEM)


def buffer_name_rule(name: object, rule: str = "must be the id of a buffer") -> Sentence:
    """Return the error sentence for a `name` that is not a buffer's id, or that breaks another `rule` on buffers."""
    return add_way(f"{rule}, got {excerpt(name)}", "name another buffer, or leave the field out")


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural: `1 buffer`, `2,000 buffers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def excerpt(value: object) -> str:
    """Return a value as JSON on one line, cut to at most 60 characters."""
    # Python prints long integers slowly or refuses to, so show only their first digits.
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"{'-' if value < 0 else ''}{abs(value) >> (value.bit_length() - 64):#x}... of {value.bit_length()} bits"
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    import json

    # A value out of a pickle may contain one list any number of times, so show only as many parts as a line can.
    value = _first_parts(value, [_MOST_SHOWN])
    try:
        text = json.dumps(value, ensure_ascii=False)
        if not text.isprintable():  # JSON may contain control characters, so escape them
            text = json.dumps(value)
    except (TypeError, ValueError):
        text = _repr_or_type(value)
    return shorten(text, _MOST_SHOWN)


def shorten(text: str, most: int, mark: str = "...") -> str:
    """Return a text of at most `most` characters; a longer text keeps both ends, and `mark` replaces its middle."""
    head = (most - len(mark) + 1) // 2
    return text if len(text) <= most else f"{text[:head]}{mark}{text[head + len(mark) - most :]}"


def _first_parts(value: object, left: list[int]) -> object:
    left[0] -= 1
    if isinstance(value, dict):
        return {key: _first_parts(each, left) for key, each in value.items() if left[0] > 0}
    if isinstance(value, list | tuple):
        parts = [_first_parts(each, left) for each in value if left[0] > 0]
        return tuple(parts) if isinstance(value, tuple) else parts
    return value


def escape_controls(text: str) -> str:
    """Return a text from outside with unprintable characters escaped, so that the text cannot control a terminal."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def _repr_or_type(value: object) -> str:
    try:
        return repr(value)
    # Python refuses to print a value that contains an integer with too many digits, so name the value's type instead.
    except ValueError:
        return type(value).__name__


def path_of(location: Location) -> str:
    """Return a location as a path: `("buffers", 3, "end")` is `buffers[3].end`."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            name = step if 0 < len(step) <= 60 and step.isprintable() else excerpt(step)
            path += f".{name}" if path else name
    return path


def _value_sentence(rule: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda error: f"{rule.format(**error.get('ctx', {}))}, got {excerpt(error['input'])}"


def _list_hint(error: Mapping[str, Any]) -> str:
    if error["loc"][-1:] in (("budgets",), ("capacity",)) and isinstance(given := error["input"], (Mapping, int)):
        texts = [str(given)] if isinstance(given, int) else [f"{name}={size}" for name, size in given.items()]
        return f" (did you mean {texts}?)".replace("'", '"') if texts else ""
    return "" if error["loc"] and isinstance(error["loc"][-1], int) else list_hint(error["input"])


def _choice_sentence(error: Mapping[str, Any]) -> str:
    text = _value_sentence("must be {expected}")(error)
    # A caller does not confuse one version number with a similar one, so suggest no version number.
    is_version = error["loc"][-1:] == ("format",)
    choices = () if is_version else re.findall(r"'([^']*)'", error["ctx"]["expected"])
    near = closest_word(str(error["input"]), choices, cutoff=0.75)
    return text if near is None else f"{text} (did you mean {near}?)"


_SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "is required",
    "int_type": lambda error: f"must be an integer, got {excerpt(error['input'])}{byte_count_hint(error['input'])}",
    "int_parsing": lambda error: _value_sentence("must be an integer")(error) + byte_count_hint(error["input"]),
    "int_parsing_size": _value_sentence("must be an integer of at most 64 bits"),
    "int_from_float": lambda error: (
        f"must be an integer, got {excerpt(error['input'])}{byte_count_hint(error['input'])}"
    ),
    "float_type": lambda error: (
        _value_sentence("must be a number")(error) + byte_count_hint(str(error["input"]).removesuffix("s"))
    ),
    "float_parsing": lambda error: (
        _value_sentence("must be a number")(error) + byte_count_hint(str(error["input"]).removesuffix("s"))
    ),
    "finite_number": _value_sentence("must be a finite number"),
    "string_type": _value_sentence("must be a string"),
    "bool_type": _value_sentence("must be true or false"),
    "bool_parsing": _value_sentence("must be true or false"),
    "string_too_short": _value_sentence("must not be empty"),
    "string_pattern_mismatch": _value_sentence("must match {pattern}"),
    "list_type": lambda error: f"must be a list, got {excerpt(error['input'])}{_list_hint(error)}",
    "tuple_type": lambda error: f"must be a list, got {excerpt(error['input'])}{_list_hint(error)}",
    "too_short": _value_sentence("must not be empty"),
    "too_long": _value_sentence("must have at most {max_length} entries"),
    "model_type": _value_sentence("must be an object"),
    "model_attributes_type": _value_sentence("must be an object"),
    "dict_type": _value_sentence("must be an object"),
    "greater_than": _value_sentence("must be greater than {gt}"),
    "greater_than_equal": _value_sentence("must be at least {ge}"),
    "less_than": _value_sentence("must be less than {lt}"),
    "less_than_equal": _value_sentence("must be at most {le}"),
    "literal_error": _choice_sentence,
    "enum": _value_sentence("must be {expected}"),
    "json_invalid": _value_sentence("must be JSON: {error}"),
    "json_type": _value_sentence("must be a text of JSON"),
}


def _object_way(error: Mapping[str, Any]) -> str | None:
    """Return a text that shows how to write the object or row at an error's location; None if unknown."""
    names = [step for step in error["loc"] if isinstance(step, str)]
    return object_way(names[-1] if names else "")


_WAYS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "missing": lambda error: word_table("required").get(error["loc"][-1]),
    "model_type": _object_way,
    "model_attributes_type": _object_way,
    "dict_type": _object_way,
    "string_too_short": lambda _: "name one, or leave it out",
    "too_short": lambda _: "name one, or leave it out",
    "greater_than_equal": lambda error: NEGATIVE if str(error["input"])[:1] == "-" else None,
    "literal_error": lambda _: LEFT_OUT,
    "enum": lambda _: LEFT_OUT,
}
"""Remedies for pydantic's errors by type, used where the sentence has none."""


def sentences(error: ValidationError, root: Location = (), fields: Collection[str] = ()) -> tuple[Sentence, ...]:
    """Return the sentences for a pydantic error, each beginning with the path of the wrong value.

    `root` is put before each location. `fields` are the known fields of the outermost object.
    """
    rows = ((path_of(entry["loc"]), text) for entry, text in _errors_with_sentences(error, fields, root))
    return tuple(prefix_sentence(f"{path}: ", text) if path else text for path, text in rows)


def sentences_of_options(error: ValidationError, options: Mapping[str, Any]) -> tuple[Sentence, ...]:
    """Return the sentences for a pydantic error about options, each with the default or description of its option."""
    said = list[Sentence]()
    for entry, sentence in _errors_with_sentences(error):
        path, name = path_of(entry["loc"]), str(entry["loc"][0]) if entry["loc"] else ""
        if (about := options.get(name)) is None:
            rule = unknown_option(name, options) if entry["type"] == "extra_forbidden" else sentence
            said.append(prefix_sentence(f"{path}: ", rule) if path else rule)
            continue
        ((rule, way),) = InputError(sentence).rules_with_ways(str)
        has_hint = any(words in rule for words in ("did you mean", "such as", "as in", "the default"))
        default = "" if has_hint else _default_or_purpose(about, is_rule=entry["type"] == "rule")
        said.append(add_way((Option(name), f"{path.removeprefix(name)}: {rule}{default}"), None if default else way))
    return tuple(said)


def _default_or_purpose(about: Any, *, is_rule: bool) -> str:
    """Return an option's default in brackets, or its description if it has no default; empty if it has neither.

    The description follows the advice to leave the option out. This advice is omitted if the option is required, or if
    `is_rule` is true: then the value breaks a rule of this option, and another value may be the remedy.
    """
    default = about.get_default(call_default_factory=True)
    if default not in (None, (), {}, ...):
        return f" (the default is {default})"
    left_out = "" if about.is_required() or is_rule else "leave it out; what it does: "
    return f" ({left_out}{about.description})" if about.description else ""


TYPE_STEP = "\0"
"""The first character of the name of a type in a choice of types, which no location in the input contains."""


def _input_location(location: Location) -> tuple[int | str, ...]:
    return tuple(step for step in location if isinstance(step, int) or not step.startswith(TYPE_STEP))


def _errors_with_sentences(
    error: ValidationError, fields: Collection[str] = (), root: Location = ()
) -> Iterator[tuple[Mapping[str, Any], Sentence]]:
    """Yield each pydantic error (at most MAX_SHOWN) with its sentence; `root` is put before the error's location."""
    faults = [each | {"loc": _input_location((*root, *each["loc"]))} for each in error.errors(include_url=False)]
    rows_with: dict[tuple[str, ...], int] = {}
    for entry in faults[:MAX_SHOWN]:
        kind = entry["type"]
        if kind == "rule":
            yield entry, sentence_of_error(entry)
            continue
        if kind == "extra_forbidden":  # report an unknown field once, however many rows contain it
            field = tuple(step for step in entry["loc"] if isinstance(step, str))
            rows_with[field] = rows_with.get(field, 0) + 1
            if rows_with[field] == 1:
                yield entry, add_way(*unknown_field(entry["loc"], fields))
            continue
        say = _SENTENCES.get(kind)
        text = f"{entry['msg']}, got {excerpt(entry['input'])}" if say is None else say(entry)
        text += value_hint(entry["loc"], text)
        yield entry, add_way(text, None if text.endswith(")") or kind not in _WAYS else _WAYS[kind](entry))
    if len(faults) > MAX_SHOWN:
        yield {"loc": (), "type": "rule"}, "and more"  # Validators stop early, so no total is known.
