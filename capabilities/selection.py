"""The fields of an answer that a caller wants: those that are named, or all but those that are left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.did_you_mean import did_you_mean

NAMES = ("fields", "omit")
HELP = {
    "fields": "Only these fields of the answer's JSON, as status,peak, or all but some, as -placements.",
    "omit": "All fields of the answer's JSON but these, as placements.",
}
"""The sentences about the two, on every entrance."""


@dataclass(frozen=True)
class Selection:
    """Some of the fields of an answer that are `known`, in the answer's order."""

    names: frozenset[str]
    known: frozenset[str]

    @classmethod
    def of(cls, answer: type[Any], fields: Iterable[str] = (), omit: Iterable[str] = ()) -> Selection | None:
        """Return what is chosen of a model of answers by lists of names with commas; None where nothing is said.

        Raises OptionError for names that the answer has not.
        """
        models = get_args(answer) or (answer,)  # an answer may be of several models
        known = {name: None for model in models for name in model.model_json_schema(mode="serialization")["properties"]}
        names = [name.strip() for text in fields for name in text.split(",")]
        wanted = _known("fields", (name for name in names if name[:1] != "-"), known)
        others = (name for text in omit for name in text.split(","))
        left_out = [
            *_known("fields", (name[1:] for name in names if name[:1] == "-"), known),
            *_known("omit", others, known),
        ]
        if not wanted and not left_out:
            return None
        return cls(frozenset(wanted or known) - frozenset(left_out), frozenset(known))

    def write(self, content: bytes) -> bytes:
        """Return the JSON of an answer with these fields alone; raises OptionError for JSON that is another format."""
        found = from_json(content)
        if not isinstance(found, dict) or self.known.isdisjoint(found):
            raise OptionError("fields, omit: must be left out with another format, whose fields are not the answer's")
        return to_json(self.taken(found)) + b"\n"

    def taken(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return these fields of an answer."""
        return {name: value for name, value in content.items() if name in self.names}


def _known(option: str, given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names in an option; raises OptionError."""
    names = [name.strip() for name in given]
    for name in names:
        if name not in known:
            rule = f"must name fields of the answer ({', '.join(known)})"
            raise OptionError(f"{option}: {rule}, got {shown(name)}{did_you_mean(name, known)}")
    return names


def select_fields(answer: BaseModel, *, fields: Iterable[str] = (), omit: Iterable[str] = ()) -> dict[str, Any]:
    """Return some fields of an answer as JSON has them: those that are named, or all but those left out.

    Raises OptionError for names that the answer has not.
    """
    given = [[each] if isinstance(each, str) else each for each in (fields, omit)]
    chosen, content = Selection.of(type(answer), *given), answer.model_dump(mode="json", by_alias=True)
    return content if chosen is None else chosen.taken(content)
