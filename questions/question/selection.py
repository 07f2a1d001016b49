"""Selection of fields of an answer: either the named fields, or all fields except the named ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean, word_table

FIELDS = "fields"
HELP = "Only these fields of the answer's JSON, as status,peak, or all but some, as -placements."


class Selection(NamedTuple):
    """A selection of an answer's fields: the selected `names`, among all `known` fields."""

    names: frozenset[str]
    known: frozenset[str]

    @classmethod
    def from_names(cls, answer: type[Any], fields: Iterable[str], formats: Sequence[str] = ()) -> Selection | None:
        """Return the selection that comma-separated lists of field names denote; None if there are no names.

        If the option also accepts `formats`, errors list them too. Raises OptionError for an unknown field.
        """
        # A union of models has several members, so collect the fields of all of them.
        models = get_args(answer) or (answer,)
        field_names = {name: None for model in models for name in _json_field_names(model)}
        names = [name.strip() for text in fields for name in text.split(",")]
        for name in (each.removeprefix("-") for each in names):
            if name in formats:
                raise OptionError(f"format: must be one form, or fields, got {excerpt(','.join(names))}: name one form")
            if name not in field_names:
                option, or_format = ("format", f" {', '.join(formats)}, or") if formats else (FIELDS, "")
                rule = f"{option}: must name{or_format} fields of the answer ({', '.join(field_names)})"
                meant = did_you_mean(name, (*formats, *field_names), word_table("values") if formats else None)
                raise OptionError(f"{rule}, got {excerpt(name)}{meant}")
        wanted = {name for name in names if name[:1] != "-"}
        left_out = {name[1:] for name in names if name[:1] == "-"}
        return cls(frozenset(wanted or field_names) - left_out, frozenset(field_names)) if names else None

    def write(self, content: bytes) -> bytes:
        """Return an answer's JSON with only the selected fields; raises OptionError for content that is not JSON."""
        fields = from_json(content)
        if not isinstance(fields, dict) or self.known.isdisjoint(fields):
            raise OptionError(f"{FIELDS}: must be left out if the format's fields differ from the answer's")
        return to_json(self.select(fields)) + b"\n"

    def select(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the selected fields of an answer's JSON object, in the object's order."""
        return {name: value for name, value in content.items() if name in self.names}


def _json_field_names(model: type[BaseModel]) -> Iterable[str]:
    schema = model.model_json_schema(mode="serialization")
    names: Iterable[str] = schema.get("$defs", {}).get(model.__name__, schema)["properties"]
    return names


def select_fields(answer: BaseModel, fields: Iterable[str] = ()) -> dict[str, Any]:
    """Return some fields of an answer as JSON values: the named fields, or all but the names with a minus.

    Parameters
    ----------
    answer : BaseModel
        An answer of memplan.
    fields : iterable of str
        Names of its fields, such as "peak" or "-placements".

    Returns
    -------
    dict
        The fields by their names in JSON.

    Raises
    ------
    OptionError
        If the answer has no such field.
    """
    chosen = Selection.from_names(type(answer), [fields] if isinstance(fields, str) else fields)
    content = answer.model_dump(mode="json", by_alias=True)
    return content if chosen is None else chosen.select(content)
