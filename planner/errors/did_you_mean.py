"""Suggestions for unknown words, from a table of words that other tools use, or else the most similar known word."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

OtherWords = Mapping[str, str]
"""A table of synonyms: a known word, or several, maps to words that other tools use, separated by spaces."""

KNOWN_FIELDS = dict[str, Collection[str]]()
"""The known fields by the list whose rows have them; "" denotes problems. Models register their fields here."""
_SIZE = r"(?a)([0-9]{1,18})(?:\.0*)? ?([kKMG]?)(i?)(B|b|bytes?|)"
_OTHER_NUMBER = r"(?a)0[xX][0-9a-fA-F]{1,15}|[1-9][0-9]{0,2}(?:[,_][0-9]{3}){1,4}"
_POWER_OF_TEN = r"(?a)[0-9]{1,6}(?:\.[0-9]{1,6})?[eE]\+?[0-9]{1,2}"
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3}


@cache
def word_table(of: str) -> OtherWords:
    """Return the table `of` of the file other_words.toml, such as synonyms that other tools use for memplan's fields.

    The name of a list, such as `buffers`, selects synonyms for fields of the list's rows, and an empty name those for a
    problem. Other tables are `options` (flags), `values`, `attributes`, `required`, `examples` and `objects`.
    """
    from tomllib import loads

    text = Path(__file__).with_name("other_words.toml").read_text(encoding="utf-8")
    return cast(OtherWords, loads(text).get(of or "problem", {}))


def closest_word(word: str, words: Iterable[str], others: OtherWords | None = None, cutoff: float = 0.6) -> str | None:
    """Return the known word that `word` most likely means; None if no known word is similar.

    `others` maps known words to synonyms; `cutoff` is the minimum similarity, from 0 to 1.
    """
    from difflib import get_close_matches

    plain = word[:60].lower()
    by_table = (right for right, wrong in (others or {}).items() if plain in wrong.split(" "))
    return next(by_table, None) or next(iter(get_close_matches(plain, list(words), n=1, cutoff=cutoff)), None)


def did_you_mean(word: str, words: Iterable[str], others: OtherWords | None = None, cutoff: float = 0.6) -> str:
    """Return ` (did you mean X?)`, or an empty text if no known word is similar."""
    suggestion = closest_word(word, words, others, cutoff)
    return "" if suggestion is None else f" (did you mean {suggestion}?)"


def register_fields(of: str, *models: Any) -> None:
    """Register the JSON field names of the classes `models`, which describe the rows in the list `of`."""
    fields = (field.alias or name for model in models for name, field in model.model_fields.items())
    KNOWN_FIELDS[of] = tuple(dict.fromkeys(fields))


def closest_field(of: str, word: str) -> str | None:
    """Return the field that `word` most likely means.

    It is a field of rows in the list `of` or, if `of` is empty, of a problem.
    """
    return closest_word(word, KNOWN_FIELDS[of], word_table(of), cutoff=0.75)


def unknown_field(location: Sequence[str | int], fields: Collection[str]) -> tuple[str, str | None]:
    """Return the error sentence for an unknown field, and its remedy or None.

    The sentence suggests the most likely field. `fields` are the known fields of the outermost object.
    """
    *of, word = [step for step in location if isinstance(step, str)]
    rows, rule = of[-1] if of else "", "is not a known field"
    is_of_problem = "buffers" in fields
    is_known = rows in KNOWN_FIELDS and (bool(of) or is_of_problem)
    if is_known and (suggestion := closest_field(rows, word)) not in {None, word}:
        return f"{rule} (did you mean {suggestion}?)", None
    if not of and fields and not is_of_problem:
        return rule + (did_you_mean(word, fields) or f" (the fields here are {', '.join(fields)})"), None
    names = f"the fields of {rows or 'a problem'} are {', '.join(KNOWN_FIELDS[rows])}" if is_known else None
    return rule, names


def unknown_option(word: str, options: Collection[str]) -> str:
    """Return the error sentence for an unknown option; it suggests the most likely option or else lists all options."""
    if word == "fields":
        return "is not a known field (`fields` belongs in the query, as ?fields=status,peak)"
    fields = {field.replace("_", "-").removesuffix("-s").removesuffix("s"): field for field in options}
    plain = word.lower().replace("_", "-").removesuffix("-s")
    if plain in ("threads", "num-threads", "jobs", "workers"):
        return "is not a known field (the environment variable MEMPLAN_THREADS sets it)"
    suggestion = closest_word(
        plain, (), {fields[flag]: wrong for flag, wrong in word_table("options").items() if flag in fields}
    )
    near = fields.get(plain) or suggestion or closest_word(word, options)
    hint = f"did you mean {near}?" if near else f"the options are {', '.join(sorted(options))}"
    return f"is not a known field ({hint})"


def value_hint(location: Sequence[str | int], said: str) -> str:
    """Return a hint in brackets about valid values of a field; empty if the sentence `said` already suggests one."""
    examples = word_table("examples")
    *of, field = ["", *(step for step in location if isinstance(step, str))]
    field = f"{of[-1]}.{field}" if of and f"{of[-1]}.{field}" in examples else field
    if of[-1:] == ["symbols"]:
        return ' (its range, as {"min": 1, "max": 64})'
    if field not in examples or (field in ("name", "size", "to") and len(location) < 3) or "did you mean" in said:
        return ""
    if field == "format" and "/" not in said:  # The examples are for a file's `format`, not for an option.
        return ""
    return f" ({examples[field].partition('; ')[0] if said == 'is required' else examples[field]})"


def object_way(name: str) -> str | None:
    """Return a text that shows how to write an object of the list or field `name` ("" for the whole file), or None."""
    return word_table("objects").get(name)


def byte_count_hint(value: object) -> str:
    """Return a hint with the number of bytes that a value such as "4KiB" most likely means; empty if unclear."""
    if isinstance(value, float) and value.is_integer():
        return f" (did you mean {value:.0f}?)"
    if isinstance(value, str) and re.fullmatch(_OTHER_NUMBER, value.strip()):
        return f" (did you mean {int(value.replace(',', '').replace('_', ''), 0)}?)"
    if isinstance(value, str) and re.fullmatch(_POWER_OF_TEN, value.strip()) and float(value).is_integer():
        return f" (did you mean {float(value):.0f}?)"
    match = re.fullmatch(_SIZE, value.strip()) if isinstance(value, str) else None
    if match is None:
        return ""
    number = int(match[1]) * 1024 ** _POWERS[match[2]]
    return f" (did you mean {number}{', without quotes' if not match[2] else ', in bytes'}?)"


def list_hint(value: object, key: str = "name") -> str:
    """Return a hint that shows the given string or object written as a list; empty for any other value."""
    from json import dumps

    if isinstance(value, str):
        return f" (did you mean [{dumps(value[:40])}]?)"
    if not isinstance(value, Mapping) or not value:
        return ""
    if all(isinstance(row, Mapping) for row in value.values()):
        first = dumps(str(next(iter(value)))[:20])
        return f' (did you mean [{{"{key}": {first}, ...}}, ...], a list in which each entry states its {key}?)'
    return " (did you mean [{...}], a list of one?)"
